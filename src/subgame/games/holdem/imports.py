"""Spots that other solvers describe, read as starting points.

| program | what is read |
| --- | --- |
| postflop-solver, wasm-postflop | settings as JSON: pot, stack, rake, sizes, thresholds, lines |
| TexasSolver | the commands of its console: ``set_pot``, ``set_range_ip``, ``set_bet_sizes`` … |
| PioSOLVER | the commands of a script: ``set_range``, ``set_board``, ``set_pot``, ``add_line`` … |
| PioSOLVER | the settings of its tree builder: ``#Board#``, ``#FlopConfig.BetSize#`` … |

What a file says and we cannot say is named in `Imported.left_out`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from os import PathLike
from typing import Any

from subgame.errors import SubgameError, read_text
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import NoLimit
from subgame.games.holdem.sizes import STREETS, read_chips
from subgame.games.holdem.spots import SpotForm

FORMATS = (
    "settings of postflop-solver or wasm-postflop (JSON), commands of TexasSolver, or a script or "
    "settings of PioSOLVER"
)
SEATS = ("oop", "ip")
_JSON_STREETS = ("Flop", "Turn", "River")
_PIO_SIZES = {"bet": "BetSize", "raise": "RaiseSize", "donk": "DonkBetSize"}
_SILENT = re.compile(
    r"(build_tree|start_solve|go|clear_lines|end|estimate_.*|set_thread.*|set_accuracy|"
    r"set_max_iteration|set_print_interval|set_use_isomorphism|set_dump_rounds|dump_.*|set_iso.*|"
    r"set_recalc_accuracy|set_end_string|is_ready|free_tree|set_algorithm|set_info_freq|"
    r"load_.*|wait_for_solver|stop|exit|show_.*|calc_.*|ignore_.*)"
)


@dataclass
class Imported:
    """What a file says about a spot, in the words of ``subgame endgame``."""

    program: str
    said: dict[str, str] = field(default_factory=dict)
    """board, pot, stack, oop, ip, bets, rake and rake_cap, as far as they are given."""
    left_out: list[str] = field(default_factory=list)
    """Sentences on what could not be taken over."""

    def game(self) -> Holdem:
        """The spot, if the file describes all of it."""
        for key in ("board", "pot", "stack"):
            if key not in self.said:
                raise SubgameError(f"The {self.program} file does not give the {key} of the spot.")
        said = self.said
        return SpotForm(
            said["board"],
            said["pot"],
            said["stack"],
            said.get("oop", "random"),
            said.get("ip", "random"),
            said.get("bets", "none"),
            rake=said.get("rake", 0.0),
            rake_cap=said.get("rake_cap", math.inf),
        ).game()


def read_file(path: str | PathLike[str]) -> Imported:
    """The spot of a file of another solver."""
    return read_spot(read_text(path, FORMATS), str(path))


def read_spot(text: str, name: str = "the text") -> Imported:
    """The spot of a text in the format of another solver; `name` is for errors.

    >>> commands = "set_pot 60", "set_effective_stack 200", "set_board Qs,Jh,2h,8d,3c"
    >>> ranges = "set_range_ip QQ,AK", "set_range_oop AA,KQ"
    >>> spot = read_spot("\\n".join([*commands, *ranges, "set_bet_sizes oop,river,bet,50"]))
    >>> spot.game().rules.pot, spot.left_out
    (60, [])
    """
    if text.lstrip()[:1] in ("{", "["):
        return _Json(name).read(text)
    if re.search(r"^\s*#[\w.]+#", text, re.MULTILINE) and not re.search(
        r"^\s*set_range\s", text, re.MULTILINE
    ):
        return _PioSettings(name).read(text)
    if re.search(r"^\s*(set_effective_stack|set_range_(ip|oop)|set_bet_sizes)\b", text, re.M):
        return _Texas(name).read(text)
    if re.search(r"^\s*(set_range|set_eff_stack|set_pot|set_board|add_line)\b", text, re.M):
        return _PioScript(name).read(text)
    raise SubgameError(f"{name} has none of the known forms: {FORMATS}.")


@dataclass
class _Reader:
    """What the readers share: sizes by player and street, and errors that name the file."""

    name: str
    sizes: dict[tuple[str, str, str], list[str]] = field(default_factory=dict)
    """(player, street, "bet", "raise" or "donk") -> sizes."""

    def fail(self, what: str, value: object, wanted: str) -> SubgameError:
        shown = str(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        return SubgameError(f"{self.name}: {what} must be {wanted}, not '{shown}'.")

    def number(self, what: str, value: object) -> str:
        """A number that is not negative, as text."""
        text = str(value).strip()
        try:
            fine = not isinstance(value, bool) and 0 <= float(text) < float("inf")
        except ValueError:
            fine = False
        if not fine:
            raise self.fail(what, value, "a number of at least 0")
        return text

    def share(self, what: str, number: object, per: float = 100) -> str:
        """A share of one, from a number in `per` parts; "" if it is 0."""
        value = float(self.number(what, number)) / per
        return f"{value:.12g}" if value else ""

    def range_text(self, what: str, text: object) -> str:
        """A range's text, checked."""
        try:
            return _canonical(str(text))
        except SubgameError as error:
            raise SubgameError(f"{self.name}: {what}: {error.sentence}") from None

    def board_text(self, what: str, cards: object) -> str:
        text = str(cards).replace(",", " ")
        try:
            return DECK.name(DECK.parse(text, what="board"))
        except SubgameError as error:
            raise SubgameError(f"{self.name}: {what}: {error.sentence}") from None

    def size_list(self, what: str, text: object, *, raises: bool) -> list[str]:
        """Sizes as these programs write them: 50 or 50% of the pot, 2.5x the bet, a, 2e, 100c."""
        out: list[str] = []
        for token in re.findall(r"[^\s,;]+", str(text or "").lower()):
            equal = re.fullmatch(r"(\d*)e(\d+(?:\.\d+)?)?%?", token)
            if token in ("a", "allin", "all-in"):
                size = "a"
            elif equal:
                size = f"{equal[1]}e" + (f"{equal[2]}%" if equal[2] else "")
            elif re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", token) and float(token.rstrip("%")) > 0:
                size = token if token.endswith("%") else f"{token}%"
            elif raises and re.fullmatch(r"(\d+\.?\d*|\.\d+)x", token):
                size = f"{token[:-1]}r"
            elif not raises and re.fullmatch(r"[1-9]\d*c", token):
                size = token[:-1]
            else:
                raise self.fail(what, token, "sizes such as 50, 50%, 2.5x (raises), 100c, 2e or a")
            if size not in out:
                out.append(size)
        return out

    def bets(self, options: Mapping[str, str], lines: Iterable[str] = ()) -> str:
        """The text of `BetSizes`."""
        clauses: list[str] = []
        streets = [street for _, street, _ in self.sizes]
        for street in STREETS[1:]:
            for seat in SEATS if street in streets else ():
                kinds = {k: self.sizes.get((seat, street, k)) for k in ("bet", "donk", "raise")}
                parts = [" ".join(kinds["bet"] or ()) or "none"]
                if kinds["donk"] is not None and seat == "oop":
                    parts.append("donk " + (" ".join(kinds["donk"]) or "none"))
                parts.append("raise " + (" ".join(kinds["raise"] or ()) or "none"))
                if parts == ["none", "raise none"]:
                    parts = ["none"]
                clauses.append(f"{seat} {street}: {' / '.join(parts)}")
        clauses.append("postflop: none")
        clauses += [f"{name} {value}" for name, value in options.items() if value]
        return "; ".join((*clauses, *lines))


@lru_cache(maxsize=16)
def _canonical(text: str) -> str:
    return str(Range.parse(text))


class _Json(_Reader):
    """Settings of wasm-postflop (camel case) and postflop-solver (snake case)."""

    def read(self, text: str) -> Imported:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SubgameError(f"{self.name} is not JSON: {error}.") from None
        if not isinstance(document, dict):
            raise self.fail("the JSON", document, "an object with settings")
        inner = document.get("value", document)
        fields: dict[str, Any] = inner if isinstance(inner, dict) else document
        for part in ("card_config", "tree_config"):
            if isinstance(fields.get(part), dict):
                fields = fields | fields[part]
        snake = any(key in fields for key in ("starting_pot", "effective_stack", "flop_bet_sizes"))
        made = Imported("postflop-solver" if snake else "wasm-postflop")
        pot, stack = (
            ("starting_pot", "effective_stack")
            if snake
            else (
                "startingPot",
                "effectiveStack",
            )
        )
        for key, name in ((pot, "pot"), (stack, "stack")):
            if key not in fields:
                raise SubgameError(f"{self.name} has no {key}, so it is not the fields of a spot.")
            made.said[name] = self.number(key, fields[key])
        self._cards(fields, made)
        options = self._snake(fields, made) if snake else self._camel(fields, made)
        made.said["bets"] = self.bets(options, self._lines(fields))
        return made

    def _cards(self, fields: Mapping[str, Any], made: Imported) -> None:
        board = fields.get("board")
        if board is None:
            parts = [fields.get(street) for street in ("flop", "turn", "river")]
            board = [part for part in parts if part not in (None, "", "NOT_DEALT", 255)]
        cards = board if isinstance(board, list) else [board]
        if cards and all(isinstance(c, int) and 0 <= c < DECK.size for c in cards):
            cards = [DECK.card_name(card) for card in cards]
        if cards:
            made.said["board"] = self.board_text("the board", " ".join(map(str, cards)))
        both = fields.get("range") or fields.get("ranges") or (None, None)
        if not isinstance(both, list | tuple) or len(both) != 2:
            raise self.fail("range", both, "two ranges, out of position first")
        for seat, listed in zip(SEATS, both, strict=True):
            text = fields.get(f"{seat}_range", fields.get(f"{seat}Range", listed))
            if text is not None:
                made.said[seat] = self.range_text(f"the range of {seat}", text)

    def _camel(self, fields: Mapping[str, object], made: Imported) -> dict[str, str]:
        donk = bool(fields.get("donkOption"))
        for seat in SEATS:
            for street in _JSON_STREETS:
                for kind in ("Bet", "Raise"):
                    key = f"{seat}{street}{kind}"
                    sizes = self.size_list(key, fields.get(key), raises=kind == "Raise")
                    self.sizes[seat, street.lower(), kind.lower()] = sizes
        for street in _JSON_STREETS[1:] if donk else ():
            key = f"oop{street}Donk"
            self.sizes["oop", street.lower(), "donk"] = self.size_list(
                key, fields.get(key), raises=False
            )
        self._rake(made, fields.get("rakePercent", 0), 100, fields.get("rakeCap", 0))
        return self._thresholds(fields, "AllIn", 100)

    def _snake(self, fields: Mapping[str, object], made: Imported) -> dict[str, str]:
        for street in STREETS[1:]:
            both = fields.get(f"{street}_bet_sizes")
            if both is None:
                continue
            if not isinstance(both, list | tuple) or len(both) != 2:
                raise self.fail(f"{street}_bet_sizes", both, "two entries, out of position first")
            for seat, entry in zip(SEATS, both, strict=True):
                pair = [entry.get("bet"), entry.get("raise")] if isinstance(entry, dict) else entry
                pair = [pair, ""] if isinstance(pair, str) else pair
                if not isinstance(pair, list | tuple) or len(pair) != 2:
                    raise self.fail(f"{street}_bet_sizes", entry, "bet sizes and raise sizes")
                for kind, sizes in zip(("bet", "raise"), pair, strict=True):
                    key = f"{street}_bet_sizes, {seat} {kind}"
                    texts = self.size_list(key, sizes, raises=kind == "raise")
                    self.sizes[seat, street, kind] = texts
            donk = fields.get(f"{street}_donk_sizes")
            if donk is not None:
                donk = donk.get("donk") if isinstance(donk, dict) else donk
                texts = self.size_list(f"{street}_donk_sizes", donk, raises=False)
                self.sizes["oop", street, "donk"] = texts
        self._rake(made, fields.get("rake_rate", 0), 1, fields.get("rake_cap", 0))
        plain = {re.sub("_(.)", lambda m: m[1].upper(), key): item for key, item in fields.items()}
        return self._thresholds(plain, "Allin", 1)

    def _thresholds(self, fields: Mapping[str, object], all_in: str, per: float) -> dict[str, str]:
        named = {
            "force-all-in": f"force{all_in}Threshold",
            "add-all-in": f"add{all_in}Threshold",
            "merge": "mergingThreshold",
        }
        return {name: self.share(key, fields.get(key, 0), per) for name, key in named.items()}

    def _rake(self, made: Imported, rate: object, per: float, cap: object) -> None:
        share = self.share("the rake", rate, per)
        if share:
            made.said["rake"] = share
            if float(self.number("the rake cap", cap)):
                made.said["rake_cap"] = str(cap)

    def _lines(self, fields: Mapping[str, object]) -> Iterator[str]:
        """``X>B50>R150|X`` as wasm-postflop writes lines; amounts are totals on the street."""
        for key, verb in (("addedLines", "add"), ("removedLines", "remove")):
            for line in filter(None, re.split(r"[,\s]+", str(fields.get(key) or ""))):
                if not re.fullmatch(r"([FXC]|[BRA]\d+)([>|]([FXC]|[BRA]\d+))*", line):
                    raise self.fail(key, line, "lines such as X>B50>R150")
                moves = re.sub("[BRA]", "r", line.replace("X", "c").replace("C", "c"))
                yield f"{verb} {re.sub('[>|]', ' ', moves.replace('F', 'f'))}"


class _Commands(_Reader):
    """Programs that are told a spot line by line: a command and its words."""

    made: Imported

    def commands(self, text: str) -> Iterator[tuple[str, list[str]]]:
        for line in text.splitlines():
            words = line.split()
            if words and not words[0].startswith("#"):
                yield words[0].lower(), words[1:]

    def leave(self, command: str) -> None:
        if not _SILENT.fullmatch(command):
            sentence = f"The command {command} was left out."
            if sentence not in self.made.left_out:
                self.made.left_out.append(sentence)

    def one(self, command: str, words: list[str]) -> str:
        if len(words) != 1:
            raise self.fail(command, " ".join(words), "followed by one value")
        return words[0]


class _Texas(_Commands):
    """The commands of TexasSolver's console."""

    def read(self, text: str) -> Imported:
        self.made = made = Imported("TexasSolver")
        options: dict[str, str] = {}
        for command, words in self.commands(text):
            if command in ("set_pot", "set_effective_stack"):
                key = "pot" if command == "set_pot" else "stack"
                made.said[key] = self.number(command, self.one(command, words))
            elif command == "set_board":
                made.said["board"] = self.board_text(command, " ".join(words))
            elif command in ("set_range_ip", "set_range_oop"):
                made.said[command[10:]] = self.range_text(command, " ".join(words))
            elif command == "set_bet_sizes":
                self._size(" ".join(words))
            elif command == "set_allin_threshold":
                value = self.number(command, self.one(command, words))
                options["all-in"] = value if 0 < float(value) < 1 else ""
            else:
                self.leave(command)
        made.said["bets"] = self.bets(options)
        return made

    def _size(self, text: str) -> None:
        """``oop,flop,bet,50,100`` or ``ip,river,allin``."""
        seat, street, kind, *sizes = [*re.split(r"[\s,]+", text.strip().lower()), "", ""]
        if seat not in SEATS or street not in STREETS[1:]:
            raise self.fail("set_bet_sizes", text, "a player, a street, a kind and sizes")
        if kind == "allin":
            for verb in ("bet", "raise"):
                self.sizes.setdefault((seat, street, verb), []).append("a")
        elif kind in ("bet", "raise", "donk"):
            texts = self.size_list("set_bet_sizes", " ".join(sizes), raises=kind == "raise")
            before = self.sizes.setdefault((seat, street, kind), [])
            before[:] = [*dict.fromkeys([*texts, *before])]
        else:
            raise self.fail("set_bet_sizes", text, "bet, raise, donk or allin after the street")


class _PioScript(_Commands):
    """The commands of a PioSOLVER script. Its tree consists of the lines that are added."""

    def read(self, text: str) -> Imported:
        self.made = made = Imported("PioSOLVER")
        lines: dict[str, list[list[str]]] = {"add": [], "remove": []}
        for command, words in self.commands(text):
            if command == "set_range":
                seat = words[0].lower() if words else ""
                if seat not in SEATS:
                    raise self.fail(command, seat, "followed by OOP or IP and a range")
                made.said[seat] = self.range_text(command, " ".join(words[1:]))
            elif command == "set_board":
                made.said["board"] = self.board_text(command, " ".join(words))
            elif command == "set_eff_stack":
                made.said["stack"] = self.number(command, self.one(command, words))
            elif command == "set_pot":
                made.said["pot"] = self._pot(words)
            elif command == "set_rake":
                self._rake(words)
            elif command in ("add_line", "remove_line"):
                lines[command.removesuffix("_line")].append(words)
            else:
                self.leave(command)
        made.said["bets"] = self.bets({}, [*self._lines(lines)])
        return made

    def _pot(self, words: list[str]) -> str:
        """``set_pot 0 0 55``: the bets of OOP and IP on this street, and the pot before them."""
        if len(words) != 3 or any(float(self.number("set_pot", word)) for word in words[:2]):
            raise self.fail("set_pot", " ".join(words), "0 0 and the pot, with no bets open")
        return self.number("set_pot", words[2])

    def _rake(self, words: list[str]) -> None:
        numbers = [float(self.number("set_rake", word)) for word in words]
        if len(numbers) < 2:
            raise self.fail("set_rake", " ".join(words), "a share and a cap")
        if numbers[0]:
            self.made.said["rake"] = words[0]
            if numbers[1]:
                self.made.said["rake_cap"] = words[1]

    def _lines(self, lines: Mapping[str, list[list[str]]]) -> Iterator[str]:
        """Lines of totals that the acting player has put in since the start of the tree."""
        said = self.made.said
        if not any(lines.values()):
            return
        if "board" not in said or "stack" not in said:
            raise SubgameError(f"{self.name}: lines need set_board and set_eff_stack.")
        street = STREETS[len(said["board"]) // 2 - 2]
        stack = read_chips(said["stack"], "stack")
        start = NoLimit((stack, stack), (0, 1), street, 2).start()
        done: set[str] = set()
        for verb, word_lists in lines.items():
            for words in word_lists:
                here = start
                for word in words:
                    total = read_chips(word, f"line {' '.join(words)}") + 1  # half of the pot of 2
                    try:
                        here = here.child(self._move(here, total))
                    except SubgameError as error:
                        what = f"{verb}_line {' '.join(words)}"
                        raise SubgameError(f"{self.name}: {what}: {error}") from None
                if here.history and f"{verb} {here}" not in done:
                    done.add(f"{verb} {here}")
                    yield f"{verb} {here}"

    def _move(self, here: Any, total: Any) -> str:
        put = [s + b for s, b in zip(here.staked, here.bets, strict=True)]
        if total == max(put) or here.is_over:
            return "c"
        return f"r{total - here.staked[here.player]}"


class _PioSettings(_Reader):
    """The settings of PioSOLVER's tree builder, such as ``#FlopConfig.BetSize#50``."""

    def read(self, text: str) -> Imported:
        settings = dict(re.findall(r"^\s*#([\w.]+)#(.*?)\s*$", text, re.MULTILINE))
        made = Imported("PioSOLVER")
        for key, name in (("Pot", "pot"), ("EffectiveStacks", "stack")):
            if key in settings:
                made.said[name] = self.number(f"#{key}#", settings[key])
        if settings.get("Board"):
            made.said["board"] = self.board_text("#Board#", settings["Board"])
        for seat, key in zip(SEATS, ("Range0", "Range1"), strict=True):
            if settings.get(key):
                made.said[seat] = self.range_text(f"#{key}#", settings[key])
        for street in _JSON_STREETS:
            for seat, config in zip(SEATS, (f"{street}Config", f"{street}ConfigIP"), strict=True):
                self._street(settings, seat, street.lower(), config)
        if settings.get("Rake.Enabled") == "True":
            made.said["rake"] = self.number("#Rake.Fraction#", settings.get("Rake.Fraction", "0"))
            if float(self.number("#Rake.Cap#", settings.get("Rake.Cap", "0"))):
                made.said["rake_cap"] = settings["Rake.Cap"]
        options = {"all-in": self.share("#AllinThreshold#", settings.get("AllinThreshold", "100"))}
        options["all-in"] = "" if float(options["all-in"] or 1) >= 1 else options["all-in"]
        if settings.get("MergeSimilarBets") == "True":
            merge = settings.get("MergeSimilarBetsThreshold", "0")
            options["merge"] = self.share("#MergeSimilarBetsThreshold#", merge)
        made.said["bets"] = self.bets(options)
        asked = ("RemovedLines", "ExtraLines", "ForceOOPBet", "ForceIPBet", "CapEnabled")
        for key in (*asked, "UseUnifiedBetAfterRaise", "ICM.Enabled"):
            if settings.get(key, "") not in ("", "False"):
                made.left_out.append(f"The setting #{key}# was left out.")
        known = (*_PIO_SIZES.values(), "AddAllin")
        for key, value in settings.items():
            street, _, name = key.partition(".")
            of_street = re.fullmatch(r"(Flop|Turn|River)Config(IP)?", street)
            if of_street and name not in known and value not in ("", "False"):
                made.left_out.append(f"The setting #{key}# was left out.")
        if settings.get("AddAllinOnlyIfLessThanThisTimesThePot", "").isdecimal():
            made.left_out.append(
                "All-in is added wherever AddAllin is set, however large it is; write "
                "'add-all-in 2.5' in the bet sizes to add it only up to 2.5 times the pot."
            )
        return made

    def _street(self, settings: Mapping[str, str], seat: str, street: str, config: str) -> None:
        if not any(key.startswith(f"{config}.") for key in settings):
            return
        for kind, key in _PIO_SIZES.items():
            text = settings.get(f"{config}.{key}", "")
            sizes = self.size_list(f"#{config}.{key}#", text, raises=kind == "raise")
            if kind == "donk" and not sizes:
                continue
            if settings.get(f"{config}.AddAllin") == "True" and kind != "donk" and "a" not in sizes:
                sizes.append("a")
            self.sizes[seat, street, kind] = sizes
