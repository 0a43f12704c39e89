"""What is fuzzed: the readers of the package, valid inputs for each, and how inputs are changed.

A target is called with a text or bytes. It may raise `SubgameError` and nothing else.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import subgame as sg
from subgame import gambit
from subgame.abstraction.cards import Abstraction, abstract
from subgame.blueprints.recipe import DEFAULT, BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.cli import main
from subgame.cli.options import read_table
from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.imports import read_spot
from subgame.games.holdem.libratus import read as read_libratus
from subgame.memory import parse_bytes
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.flop_network import INPUTS, FlopNetwork
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.log import match_log
from subgame.play.protocols.acpc import MatchState
from subgame.play.protocols.histories import read_acpc, read_history, read_phh
from subgame.play.protocols.http import read_answer
from subgame.play.protocols.slumbot import Told
from subgame.refine.sequence.decompose import SequenceCompact, trunk_of
from subgame.refine.verbs.decompose import compact
from subgame.solve.schedule import parse as parse_schedule
from subgame.solve.solver import Run
from subgame.spots import report as rows
from subgame.spots.endgame import load as load_spot
from subgame.spots.endgame import save as save_spot
from subgame.spots.flops import Flop
from subgame.spots.lines import follow_line
from subgame.spots.locks import Lock, merging
from subgame.tree.ranges.tree import range_tree

EFG = """EFG 2 R "Pick" { "A" "B" } "a comment"
c "deal" 1 "" { "x" 1/2 "y" 0.5 } 0
p "" 1 1 "one" { "l" "r" } 0
t "" 1 "win" { 1, -1 }
p "" 2 1 "two" { "u" "d" } 0
t "" 2 "loss" { -1, 1 }
t "" 0
p "" 1 1 "one" { "l" "r" } 0
t "" 1
p "" 2 1 "two" { "u" "d" } 0
t "" 2
t "" 3 "some" { 3/2, -1.5 }
"""
ACPC_LINES = (
    "MATCHSTATE:1:31:r300r900c/r1800:|JdTc/6dJc9c",
    "MATCHSTATE:0:30:cc/r250c/r500c/r1250c:9s8h|9c6h/8c8d5c/6s/2d",
)
ACPC_LOGS = (
    "# a comment\nSTATE:0:r300f:AsKs|2c2d:-100|100:A|B\nSTATE:1:f:AsKs|2c2d:50|-50:B|A\n",
    "STATE:2:r20000c///:KhJh|9c5s/6c6sQs/Qh/5c:20000|-20000:B|A\nSCORE:1|-1:A|B\n",
)
MATCH_LOG = (
    '{"format":"subgame-match-1","game":"hunl(stack=1000, small_blind=5, big_blind=10)",'
    '"agents":["A","B"]}\n{"hand":0,"seats":[0,1],'
    '"moves":[[-1,"AsKs"],[-1,"2c2d"],[1,"r30"],[0,"c"],[-1,"3c4c5c"],[0,"r50"],[1,"f"]],"won":30}\n'
)
PHH = """variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [50, 100]
min_bet = 100
starting_stacks = [20000, 20000]
actions = ['d dh p1 AsKs', 'd dh p2 2c2d', 'p2 cbr 300', 'p1 f']
players = ['A', 'B']
"""
SLUMBOT = (
    '{"action": "b200c/kk/", "client_pos": 1, "hole_cards": ["As", "Ks"], "token": "t", '
    '"board": ["2c", "3c", "4c", "5d"]}',
    '{"action": "b200f", "client_pos": 0, "hole_cards": ["As", "Ks"], "board": [], '
    '"bot_hole_cards": ["2c", "3c"], "winnings": -100}',
)
TABLE = '{"K": {"p": 0.25, "b": 0.75}, "Kpb": {"p": 0, "b": 1}, "Qb": {"p": 1e-1, "b": 0.9}}'
LIBRATUS = "-round 4\n-board 7s9h9cTc2d\n-pot 200\n-reach " + "0.5 1 0 1e-3 " * 663 + "\n"
COMMANDS = (
    "solve kuhn --schedule dcfr --iterations 5 --seed 3 --memory-limit 1GiB --json",
    "solve 'liars-dice(dice=1, faces=3)' --seconds 1 --target 1e-3 --out a.safetensors",
    "solve leduc --resume none.ckpt --checkpoint b.ckpt --plot c.png --device cpu",
    "exploit kuhn uniform --seed 4 --json",
    "exploit coin-toss --blueprint paper",
    "refine leduc uniform --at 'after round 1' --technique unsafe,resolve --gap 0.1 --player 0",
    "refine coin-toss --blueprint paper --at Play --scale 0.5 --no-split --schedule lp",
    "endgame --board 'Qs Jh 2h 8d' --pot 100 --stack 100/80 --oop 66+,AKs --ip random --bets 1x",
    "endgame --board Qs8h2h8d3c --pot 20 --stack 50 --target 1% --storage int16 --threads 1",
    "limit leduc uniform --at 'after round 1' --continuations biased --count 3 --penalty 0.1",
    "games --json",
    "reproduce --json",
)
TOKENS = (
    *"()[]{}:;,./\\|+-*=%<>\"'`~!?#$&@_^ \t\n\r\0",
    *("0", "1", "-1", "9" * 30, "9" * 400, "9" * 5000, "1e308", "1e999", "-0.0", "0x10", "1_0"),
    *("nan", "inf", "-inf", "None", "True", "null", "true", "[[[[", "((((", "}}}}", "1/0", "0/0"),
    *("\x1b[31m", "\x7f", "\ufeff", "\u202e", "é", "٣", "²", "𝟙", "\ud800", "\udcff", "ß", "İ"),
    *("AA", "AKs", "22+", "T9o:0.5", "a", "x", "r", "cap", "all", "flop", "--json", "--", "-h"),
    *(".efg", ".json", ".safetensors", "/dev/zero", "/dev/null", "/", "..", "~", "*" * 300),
)


IMPORTS = (
    '{"startingPot": 60, "effectiveStack": 90, "oopRiverBet": "50, 2e", "ipRiverRaise": "3x", '
    '"donkOption": 1, "board": [43, 38, 2, 25, 4], "rakePercent": 5, "addedLines": "X>B50"}',
    '{"starting_pot": 60, "effective_stack": 90, "river_bet_sizes": [["50%", "2.5x"], ["a", ""]], '
    '"flop": "QsJh2h", "turn": "8d", "river": "3c", "range": ["AA", "KK:0.5"]}',
    "set_pot 50\nset_effective_stack 200\nset_board Qs,Jh,2h,8d,3c\nset_range_ip AA\n"
    "set_bet_sizes oop,river,bet,50\nset_bet_sizes ip,river,allin\nset_allin_threshold 0.67",
    "set_range OOP AA\nset_range IP KK\nset_board QsJh2h8d3c\nset_eff_stack 100\n"
    "set_pot 0 0 40\nadd_line 0 20 60\nset_rake 0.05 3",
    "#Range0#AA\n#Range1#KK\n#Board#Qs Jh 2h 8d 3c\n#Pot#55\n#EffectiveStacks#97\n"
    "#RiverConfig.BetSize#33 75\n#RiverConfigIP.AddAllin#True\n#AllinThreshold#67",
)


@dataclass(frozen=True)
class Target:
    """A reader and inputs that it accepts; `cost` is about how many milliseconds one takes."""

    name: str
    call: Callable[[Any], object]
    seeds: tuple[str | bytes, ...]
    cost: float = 0.02


def texts(folder: Path) -> list[Target]:
    """The readers of texts."""
    kuhn = sg.compile(sg.games.load("kuhn"))
    river = sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 200, bets="river: 0.5x 1x a")

    def efg(text: str) -> None:
        sg.compile(gambit.loads(text))

    def table(text: str) -> None:
        sg.Strategy.from_table(kuhn, read_table(written(folder / "table.json", text)))

    def libratus(text: str) -> None:
        read_libratus(written(folder / "endgame.txt", text))

    whole = sg.holdem.hunl()

    def history(text: str) -> None:
        read_history(written(folder / "match.jsonl", text))

    def slumbot(text: str) -> None:
        Told.of(read_answer("here", text.encode("utf-8", "surrogatepass")), whole)

    return [
        Target("acpc", lambda text: MatchState.parse(text, whole), ACPC_LINES, 0.05),
        Target("acpc log", lambda text: read_acpc(text, whole), ACPC_LOGS, 0.3),
        Target("match log", history, (MATCH_LOG,), 0.5),
        Target("phh", read_phh, (PHH,), 3.0),
        Target("slumbot", slumbot, SLUMBOT, 0.1),
        Target(
            "ranges",
            sg.holdem.Range.parse,
            (
                "AA, KQs+, A5s-A2s, T9o:0.5, AhKh",
                "random:0.25,22-77",
                "JTs-54s 22+",
                "*",
                "[50]AA[/50]",
            ),
            0.3,
        ),
        Target(
            "bets",
            sg.holdem.BetSizes.parse,
            (
                "flop: 0.5x 1x a; turn: 1x a / raise 2.5r; cap 4",
                "preflop: 1x / cap 1; river: 100 2.5bb 33% a",
                "all: 0.5x 1x a; cap 4",
                "oop turn: 50% e 2e150% / donk none; ip: 1x; merge 10%; force-all-in 0.15",
                "river: 1x; add c r50 r175; remove c / c",
            ),
        ),
        Target("board", lambda text: DECK.parse(text, what="board"), ("Qs Jh 2h", "QsJh2h8d3c")),
        Target("line", lambda text: follow_line(river, text), ("c r50 r150", "r200 f", "cc")),
        Target(
            "locks",
            lambda text: merging(river, [Lock.parse(text)]),
            ("bet 50: KK = call 75%, fold 25%; 99-66 = fold 100%", "start: AA = bet 50 1"),
            1.0,
        ),
        Target("imports", lambda text: read_spot(text).game(), IMPORTS, 3.0),
        Target("schedule", parse_schedule, ("dcfr(alpha=1.5, beta=0)", "cfr+", "mccfr", "HS-DCFR")),
        Target(
            "game",
            sg.games.load,
            (
                *("liars-dice(dice=1, faces=5)", "goofspiel(cards=3, order=random)", "rps+"),
                *("no-limit-kuhn(bets=0.5x 1x a, stack=5)", "nlfh(stack=200)"),
                *("a.efg", "b.py:Game(n=1)"),
            ),
            2.0,
        ),
        Target("memory", parse_bytes, ("500MB", "1.5 GiB", "8gib", "100")),
        Target("efg", efg, (EFG, EFG.replace("\n", " "), 'EFG 2 R "t" { "A" "B" } t "" 0'), 1.0),
        Target("table", table, (TABLE, "{}"), 0.3),
        Target("libratus", libratus, (LIBRATUS,), 3.0),
        Target("command", command, COMMANDS, 10.0),
    ]


def files(folder: Path) -> list[Target]:
    """The readers of safetensors files."""
    kuhn = sg.compile(sg.games.load("kuhn"))
    river = sg.compile(sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 100, ("AA", "KK"), "river: a"))
    path = folder / "saved.safetensors"

    def strategy(data: bytes) -> None:
        sg.Strategy.load(written(path, data), kuhn)

    def strategy_alone(data: bytes) -> None:
        sg.Strategy.load(written(path, data))

    def checkpoint(data: bytes) -> None:
        Run(kuhn, parse_schedule("cfr+")).load(written(path, data))

    def spot(data: bytes) -> None:
        load_spot(written(path, data), memory_limit="100MB")

    sg.Strategy.random(kuhn).save(path)
    kept = path.read_bytes()
    sg.solve(kuhn, "cfr+", iterations=3, checkpoint=folder / "run.safetensors")
    state = (folder / "run.safetensors").read_bytes()
    save_spot(sg.Strategy.uniform(river), path)
    return [
        Target("strategy", strategy, (kept,), 0.3),
        Target("strategy alone", strategy_alone, (kept,), 2.0),
        Target("checkpoint", checkpoint, (state, kept), 0.5),
        Target("spot", spot, (path.read_bytes(),), 5.0),
    ]


RECIPE = """name = "tiny"
[game]
stack = 400
ranks = "9TJQKA"
suits = "cd"
last = "river"
[bets]
all = "a / cap 1"
cap = 3
[buckets]
flop = 6
turn = 6
river = 6
[training]
method = "public"
schedule = "lcfr"
boards = 8
iterations = 20
hours = 0.5
seed = 1
prune = 0.01
"""
CARD = '{"seconds of training": 0.0, "exploitability": [1.5, 2], "boards": 3}'


def logs(folder: Path) -> list[Target]:
    """The readers of logs, recipes and result cards."""
    head = {"game": "kuhn", "agents": ["A", "B"], "seed": 0}
    path, flops = folder / "log.jsonl", [Flop("QsJh2h"), Flop("8h8d7h")]
    log = match_log(path, head)
    log.append([{"hand": 0, "seats": [0, 1], "won": 1.5}, {"hand": 1, "won": -1}])
    log.close()

    def match(text: str) -> None:
        match_log(written(path, text), head).close()

    def spot(board: str) -> Holdem:
        return sg.holdem.endgame(board, 20, 10, ("AA", "KK"), "postflop: a")

    def report(text: str) -> None:
        rows.logged(written(folder / "rows.jsonl", text))
        rows.check_log(folder / "rows.jsonl", flops, spot, 20.0)

    first = {"first": "QsJh2h", "game": str(spot("QsJh2h")), "target": 20.0, "lines": [*rows.LINES]}
    lines = "".join(f"{json.dumps(row)}\n" for row in (first, {"flop": "8h8d7h", "weight": 4}))
    return [
        Target("log", match, (path.read_text(),), 0.3),
        Target("report log", report, (lines,), 4.0),
        Target("recipe", BlueprintRecipe.parse, (RECIPE, DEFAULT.read_text()), 0.3),
    ]


def trained(folder: Path) -> list[Target]:
    """The readers of abstractions, blueprints, tables and networks."""
    tree = range_tree(sg.compile(sg.holdem.nlfh(ranks="JQKA", suits="hs"), merge="boards"))
    trainer = Trainer(BlueprintRecipe.parse(RECIPE), threads=1)
    blueprint, path = StoredBlueprint.of(trainer), folder / "trained.safetensors"
    packed = folder / "trained.npz"
    leduc = trunk_of(sg.games.load("leduc"), "after round 1")

    def of(save: Callable[[Path], object], at: Path = path) -> tuple[bytes, ...]:
        save(at)
        return (at.read_bytes(),)

    def stored(data: bytes) -> None:
        read = StoredBlueprint.load(written(path, data))
        read.range_strategy(read.game.new_initial_state())

    def card(text: str) -> None:
        written(folder / "carded.card.json", text)
        StoredBlueprint.load(folder / "carded.safetensors")

    blueprint.save(folder / "carded.safetensors")
    table = PreflopValues.make(blueprint, 2)
    layer = np.zeros((INPUTS, CHOICES), np.float32), np.zeros(CHOICES, np.float32)
    net = FlopNetwork(blueprint, [layer], {"made": "for a test"})
    whole = sg.compile(sg.games.load("leduc"))
    kept = compact(whole, sg.Strategy.uniform(whole), at="after round 1")
    buckets = abstract(tree, {"flop": 5})
    return [
        Target(
            "buckets",
            lambda data: Abstraction.load(written(packed, data), tree),
            of(buckets.save, packed),
            2.0,
        ),
        Target("blueprint", stored, of(blueprint.save), 1.0),
        Target("result card", card, (CARD,), 4.0),
        Target(
            "training",
            lambda data: Trainer.load(written(path, data), threads=1),
            of(trainer.save),
            5.0,
        ),
        Target(
            "preflop values",
            lambda data: PreflopValues.load(written(path, data), blueprint),
            of(table.save),
            1.0,
        ),
        Target(
            "flop network",
            lambda data: FlopNetwork.load(written(path, data), blueprint),
            of(net.save),
            1.0,
        ),
        Target(
            "compact",
            lambda data: SequenceCompact.load(written(path, data), leduc),
            of(kept.save),
            1.0,
        ),
    ]


def written(path: Path, data: str | bytes) -> Path:
    """The file with this content."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    path.write_bytes(raw)
    return path


def command(line: str) -> None:
    """Run a command line up to the first game that it compiles."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    said, failed = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(failed):
        code = main([word for word in words if word not in ("demo", "bench")])
    assert code in (0, 2), (code, failed.getvalue())
    if code == 2:
        assert failed.getvalue().count("\n") == 1 or "nodes; solving needs" in failed.getvalue()
        assert len(failed.getvalue()) < 3_000
        assert not {"\x1b", "\x07"} & {*failed.getvalue()}


def refuse(*_: object, **__: object) -> None:
    """In place of `subgame.compile`, so that no game is solved."""
    raise SubgameError("Only the command line is tested.")


# Changes -------------------------------------------------------------------------------------
def inputs(target: Target, seed: int) -> Iterator[str | bytes]:
    """Changed inputs without end, the same for the same seed."""
    rng = random.Random(f"{target.name} {seed}")
    while True:
        start = rng.choice(target.seeds)
        if isinstance(start, bytes):
            yield (changed_zip if start[:2] == b"PK" else changed_file)(rng, start)
        else:
            yield changed(rng, start, [seed for seed in target.seeds if isinstance(seed, str)])


def changed(rng: random.Random, text: str, others: list[str]) -> str:
    """The text after one or a few changes."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        match rng.randrange(8):
            case 0:
                text = text[:i] + text[j:]
            case 1:
                text = text[:i] + rng.choice(TOKENS) + text[i:]
            case 2:
                text = text[:i] + rng.choice(TOKENS) + text[j:]
            case 3:
                text = text[:j] + text[i:j] * rng.choice((1, 2, 50)) + text[j:]
            case 4:
                other = rng.choice(others)
                text = text[:i] + other[rng.randrange(len(other) + 1) :]
            case 5:
                text = text[:i] + chr(rng.choice((rng.randrange(256), rng.randrange(0x10FFFF))))
            case 6:
                text = text[:i] + text[i : i + 1].swapcase() + text[i + 1 :]
            case _:
                digits = [k for k, letter in enumerate(text) if letter.isdigit()]
                k = rng.choice(digits) if digits else 0
                text = text[:k] + rng.choice(TOKENS) + text[k + 1 :]
        text = text[:20_000]
    return text


def changed_zip(rng: random.Random, data: bytes) -> bytes:
    """A file of NumPy's arrays with another head, array or bytes."""
    if rng.randrange(2):
        at = rng.randrange(len(data))
        more = rng.randbytes(rng.choice((1, 4, 8)))
        return data[:at] + (more + data[at + 8 :] if rng.randrange(4) else b"")
    with np.load(io.BytesIO(data)) as result:
        arrays = dict(result)
    name = rng.choice(list(arrays))
    match rng.randrange(4):
        case 0:
            others = ["{}", "[]", '{"a": 1}', str(arrays["head"])]
            arrays["head"] = np.array(changed(rng, str(arrays["head"]), others))
        case 1:
            arrays[name] = rng.choice(ARRAYS)
        case 2:
            del arrays[name]
        case _:
            arrays[name + rng.choice(("x", " ", "1"))] = arrays.pop(name)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


ARRAYS = (
    *(np.zeros(shape, kind) for shape in ((), 0, 3, (2, 2)) for kind in ("i4", "f8", "U2", "c8")),
    np.full((2, 2), np.nan),
    np.full((2, 2), 2**40),
)
"""What may be in a file in place of an array."""


def changed_file(rng: random.Random, data: bytes) -> bytes:
    """A safetensors file with another header, other bytes or another length."""
    size = int.from_bytes(data[:8], "little")
    match rng.randrange(4):
        case 0:  # the header is changed as a text, and its length is right
            header = changed(rng, data[8 : 8 + size].decode(), ["{}", "[]", '{"a": 1}'])
            raw = header.encode("utf-8", "surrogatepass")
            return len(raw).to_bytes(8, "little") + raw + data[8 + size :]
        case 1:
            at = rng.randrange(len(data))
            return data[:at] + rng.randbytes(rng.choice((1, 4, 8))) + data[at + 8 :]
        case 2:
            return data[: rng.randrange(len(data))]
        case _:
            return rng.randrange(2**64).to_bytes(8, "little") + data[8:]
