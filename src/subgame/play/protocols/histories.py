"""Hands written down as PHH and as ACPC logs, and read again.

PHH is the Poker Hand History format (Kim 2024) that PokerKit reads and writes. It is written here;
every hand that is read as PHH is played through PokerKit, so that its rules check ours.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from subgame import games
from subgame.errors import SubgameError, did_you_mean, read_text, unreadable
from subgame.games.base import CHANCE, TERMINAL
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import NoLimit
from subgame.games.holdem.sizes import MOST_CHIPS
from subgame.games.holdem.spots import hunl
from subgame.play.log import FORMAT, as_lines, read_log
from subgame.play.match import Estimate, Hand
from subgame.play.protocols.acpc import (
    log_line,
    moves_of,
    played,
    player_names,
    read_log_line,
    rebuilt,
    score_line,
    seats_of,
    whole_game,
)
from subgame.play.protocols.client import read_policies
from subgame.play.protocols.notation import PHH, shown
from subgame.play.scoring import aivat_result, score_recorded

Progress = Callable[[int, int], None]
BY_HAND = {"RUNOUT_COUNT_SELECTION", "HOLE_DEALING", "CARD_BURNING", "BOARD_DEALING"}
"""What PokerKit would do by itself and we do."""
ACTIONS = {
    "Folding": PHH.fold,
    "CheckingOrCalling": PHH.call,
    "CompletionBettingOrRaisingTo": PHH.bet,
}
"""How PHH writes PokerKit's operations."""


class History(NamedTuple):
    """Hands between two agents."""

    game: Holdem
    names: tuple[str, str]
    """Of agent 0 and agent 1."""
    hands: list[Hand]


def pokerkit() -> Any:
    """PokerKit, or an error that says how to install it."""
    try:
        return import_module("pokerkit")
    except ImportError:
        raise SubgameError(
            "Hand histories need the package pokerkit: pip install 'subgame[histories]'."
        ) from None


# PokerKit.


def replay(game: Holdem, hand: Hand) -> Any:
    """Play a hand through PokerKit, and give its final state.

    Every action must be legal there and by the player who acts there; what is won must be equal.

    >>> from subgame.play import Always, play_hand
    >>> game = games.load("hunl")
    >>> hand = play_hand(game, (Always("call"), Always("raise")), number=0)
    >>> state = replay(game, hand)
    >>> state.status, sum(state.payoffs)
    (False, 0)
    """
    state = _their_state(game.rules)
    betting, dealt = game.start(), 0
    try:
        for player, action in hand.moves:
            if player == CHANCE:
                if dealt >= 2:
                    state.burn_card("??")
                    state.deal_board(action)
                else:
                    state.deal_hole(action)
                dealt += 1
                continue
            if player != state.actor_index:
                raise ValueError(f"player {player} acts, where it is {state.actor_index}'s turn")
            _do(state, PHH.write(betting, action))
            betting = betting.child(action)
    except ValueError as error:
        raise SubgameError(f"Hand {hand.number} breaks a rule of PokerKit: {error}.") from None
    won = state.payoffs[hand.seats.index(0)]
    if state.status or won != hand.won:
        raise SubgameError(
            f"In hand {hand.number} agent 0 wins {hand.won:g} chips; by PokerKit it is {won}."
        )
    return state


def _do(state: Any, action: str) -> None:
    if action == PHH.fold:
        state.fold()
    elif action == PHH.call:
        state.check_or_call()
    else:
        state.complete_bet_or_raise_to(int(action.removeprefix(PHH.bet)))


def _their_game(rules: NoLimit) -> Any:
    kit = pokerkit()
    automatic = tuple(automation for automation in kit.Automation if automation.name not in BY_HAND)
    return kit.NoLimitTexasHoldem(automatic, True, 0, rules.blinds, rules.blinds[1])


def _their_state(rules: NoLimit) -> Any:
    game = _their_game(rules)
    streets = game.streets[: rules.last_street + 1]
    return pokerkit().State(
        game.automations,
        game.deck,
        game.hand_types,
        streets,
        game.betting_structure,
        True,
        0,
        rules.blinds,
        0,
        rules.stacks,
        2,
    )


# PHH.


def write_phh(history: History, progress: Progress | None = None) -> Iterator[str]:
    """The hands as tables of a .phhs file."""
    game, names, rules = history.game, player_names(history.names), history.game.rules
    if rules.last != "river":
        raise SubgameError(f"PHH has no name for games that end on the {rules.last}.")
    fields = {
        "variant": "NT",
        "ante_trimming_status": False,
        "antes": [0, 0],
        "blinds_or_straddles": [*rules.blinds],
        "min_bet": rules.blinds[1],
        "starting_stacks": [*rules.stacks],
    }
    for k, hand in enumerate(history.hands, 1):
        players = [names[seat] for seat in hand.seats]
        table = fields | {"actions": phh_actions(game, hand), "hand": hand.number}
        lines = (f"{key} = {_toml(value)}" for key, value in (table | {"players": players}).items())
        yield "\n".join((f"[{k}]", *lines, "", ""))
        if progress is not None:
            progress(k, len(history.hands))


def phh_actions(game: Holdem, hand: Hand) -> list[str]:
    """A hand in the notation of PHH: deals, actions, and the hands at the showdown.

    Both hands are shown as soon as nobody can bet any more, first by who bet last on that street.
    """
    betting, bettor = game.start(), 0
    dealt, written = list[str](), list[str]()
    for player, action in hand.moves:
        if player == CHANCE:
            where = "db" if len(dealt) >= 2 else f"dh p{len(dealt) + 1}"
            dealt.append(action)
            written.append(f"d {where} {action}")
            continue
        written.append(f"p{player + 1} {PHH.write(betting, action)}")
        before, betting = betting, betting.child(action)
        bettor = bettor if action in "fc" else player
        if betting.is_showdown:
            written += [f"p{p + 1} sm {dealt[p]}" for p in (bettor, 1 - bettor)]
        elif betting.street > before.street:
            bettor = 0  # without a bet the first to act
    return written


def _toml(value: Any) -> str:
    """A value of PHH's fields."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


def read_phh(text: str, progress: Progress | None = None) -> History:
    """The hands of a .phhs or .phh file: heads-up no-limit hold'em, both hands known."""
    kit = pokerkit()
    several = text.lstrip().startswith("[")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fields that PokerKit does not know
            histories = (
                [*kit.HandHistory.loads_all(text)] if several else [kit.HandHistory.loads(text)]
            )
    except Exception as error:  # of many kinds
        raise SubgameError(f"PokerKit cannot read this PHH: {error}.") from None
    if not histories:
        raise SubgameError("The PHH has no hands.")
    rules = _rules_of(histories[0])
    small, big = (int(blind) for blind in rules.blinds)
    game = hunl(int(rules.stacks[0]), small, big)
    players = histories[0].players or ("player 1", "player 2")
    names = player_names((players[0], players[1]))
    hands = []
    for k, history in enumerate(histories):
        if _rules_of(history) != rules:
            raise SubgameError(f"Hand {k} of the PHH has other stacks or blinds than the first.")
        number = history.hand if isinstance(history.hand, int) else k
        seats = seats_of(player_names(history.players or players), names)
        hands.append(_hand_of(game, history, number, seats))
        if progress is not None:
            progress(k + 1, len(histories))
    return History(game, names, hands)


def _rules_of(history: Any) -> NoLimit:
    """The rules of a hand in PHH; only heads-up no-limit hold'em without antes."""
    try:
        stacks = tuple(map(_chips, history.starting_stacks))
        blinds = tuple(sorted(map(_chips, history.blinds_or_straddles)))
        plain = (
            history.variant == "NT" and len(stacks) == len(blinds) == 2 and not any(history.antes)
        )
        if plain and stacks[0] == stacks[1]:
            return NoLimit((stacks[0], stacks[1]), (blinds[0], blinds[1]))
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise SubgameError(
        "Only heads-up no-limit hold'em (variant NT) with equal stacks, two blinds and no antes, "
        "all in whole chips, can be read."
    )


def _chips(number: Any) -> int:
    """A whole number of chips; a huge one, such as 1e999999, is not even written out."""
    if not 0 <= number <= MOST_CHIPS or number % 1:
        raise ValueError
    return int(number)


def _hand_of(game: Holdem, history: Any, number: int, seats: tuple[int, int]) -> Hand:
    """A hand of PokerKit's as one of ours."""
    betting, board = game.start(), list[str]()
    hands = ["", ""]
    state = _done_by_pokerkit(game.rules, history.actions, number)
    for step in state.operations:
        kind = type(step).__name__
        if kind == "HoleDealing":
            hands[step.player_index] += "".join(map(repr, step.cards))
        elif kind == "BoardDealing":
            board += map(repr, step.cards)
        elif kind in ACTIONS:
            if step.player_index != betting.player:
                raise SubgameError(f"In hand {number} the wrong player acts after '{betting}'.")
            amount = getattr(step, "amount", "") if kind == "CompletionBettingOrRaisingTo" else ""
            betting = betting.child(PHH.read(betting, f"{ACTIONS[kind]}{amount}"))
    if "?" in "".join(hands) or "" in hands or not betting.is_over:
        raise SubgameError(f"Hand {number} is not over, or does not show both hands.")
    last = game.rules.last_street if betting.is_showdown else betting.street
    cards = game.deck.parse("".join(board), counts=(BOARD_CARDS[last],), what="board")
    ended = rebuilt(game, (hands[0], hands[1]), cards, betting)
    won = ended.returns()
    if state.status or list(won) != [float(payoff) for payoff in state.payoffs]:
        raise SubgameError(
            f"In hand {number} PokerKit pays {state.payoffs}; by our rules it is {won}."
        )
    return Hand(number, seats, moves_of(ended), won[seats.index(0)])


def _done_by_pokerkit(rules: NoLimit, actions: Any, number: int) -> Any:
    """PokerKit's state after the actions of a hand in PHH.

    PokerKit would mend what is missing, and for some wrong hands does not end. We mend nothing.
    """
    state, parse = _their_state(rules), import_module("pokerkit.notation").parse_action
    try:
        for action in actions:
            if action.split()[1:2] == ["sm"]:
                continue  # hands are shown by themselves
            if action.startswith("d db"):
                state.burn_card("??")
            parse(state, action)
    except Exception as error:  # PokerKit raises errors of many kinds
        raise SubgameError(f"Hand {number} breaks a rule of PokerKit: {error}.") from None
    return state


# ACPC.


def write_acpc(history: History) -> Iterator[str]:
    """The hands as lines of a log of the ACPC's dealer."""
    for hand in history.hands:
        yield log_line(history.game, hand, history.names) + "\n"
    yield score_line(sum(hand.won for hand in history.hands), history.names) + "\n"


def read_acpc(text: str, game: Holdem) -> History:
    """The hands of a log of the ACPC's dealer; comments are left out."""
    lines = [line for line in text.splitlines() if line and line[0] not in "#;"]
    states = [line for line in lines if not line.startswith("SCORE:")]
    if not states:
        raise SubgameError("The log has no line STATE:hand:betting:cards:won:players.")
    players = states[0].rpartition(":")[2].split("|")
    if len(players) != 2:
        raise SubgameError(f"'{shown(states[0])}' does not name two players.")
    names = player_names(players)
    return History(game, names, [read_log_line(game, line, names) for line in states])


# AIVAT.


def with_policies(history: History, path: str | Path) -> History:
    """The hands with the policies that an agent recorded at a dealer (`subgame acpc --log`).

    The agent is the player who sat where the log says.
    """
    recorded, hands = read_policies(path), list[Hand]()
    for hand in history.hands:
        seat, kept = recorded.get(hand.number, (0, ()))
        both = (kept, ()) if hand.seats[seat] == 0 else ((), kept)
        hands.append(replace(hand, policies=both if kept else ()))
    if not any(hand.policies for hand in hands):
        raise SubgameError(f"{path} has no policies of these hands.")
    return history._replace(hands=hands)


def estimated(
    history: History, blueprint: str | None = None, progress: Progress | None = None
) -> tuple[History, Estimate, Estimate]:
    """The hands with their estimates by AIVAT; the first agent's result by them, and by chips.

    The hands must have recorded policies of one of the agents.
    """
    scored = score_recorded(history.game, history.hands, blueprint, progress)
    scale = history.game.unit[1]
    plain = Estimate.of([scale * hand.won for hand in scored])
    return history._replace(hands=scored), aivat_result(history.game, scored, False), plain


# Files.


def read_history(path: str | Path, game: Holdem | None = None) -> History:
    """The hands of a file: .jsonl of a match, .phh or .phhs, .log of the ACPC's dealer.

    >>> import tempfile
    >>> from subgame.play import match
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = f"{folder}/match.jsonl"
    ...     result = match("hunl", ["call", "fold"], hands=4, seed=1, log=log)
    ...     len(read_history(log).hands)
    4
    """
    kind = Path(path).suffix
    if kind == ".jsonl":
        head, records = read_log(path)
        try:
            one, two = head["agents"]
            own = whole_game(games.load(str(head["game"])))
            hands = [_checked(own, k, record) for k, record in enumerate(records, 2)]
        except SubgameError as error:
            raise SubgameError(f"{path}: {error.sentence}") from None
        except (KeyError, TypeError, ValueError):
            raise unreadable(path, "is not a log of a match", "a log of subgame match") from None
        return History(own, (str(one), str(two)), hands)
    if kind not in KINDS:
        raise did_you_mean("kind of history", kind or str(path), KINDS)
    text = read_text(path, "hands in PHH" if kind != ".log" else "a log of the ACPC's dealer")
    try:
        return read_acpc(text, game or hunl()) if kind == ".log" else read_phh(text)
    except SubgameError as error:
        raise SubgameError(f"{path}: {error.sentence}") from None


KINDS = (".jsonl", ".phhs", ".phh", ".log")


def _checked(game: Holdem, line: int, record: dict[str, Any]) -> Hand:
    """The hand in a line of a log; the rules must pay what it says."""
    try:
        hand = Hand.of(record)
        if sorted(hand.seats) != [0, 1]:
            raise SubgameError(f"The agents in the seats must be 0 and 1, not {hand.seats}.")
        ended = played(game, hand)
        if ended.current_player() != TERMINAL:
            raise SubgameError("The hand is not over.")
        won = ended.returns()[hand.seats.index(0)]
        if won != hand.won:
            raise SubgameError(f"Agent 0 wins {hand.won:g} chips; by the rules it is {won:g}.")
    except SubgameError as error:
        raise SubgameError(f"Line {line}: {error.sentence}") from None
    return hand


def write_history(history: History, path: str | Path, progress: Progress | None = None) -> None:
    """Write hands to a file, by its suffix: .phhs, .log (ACPC) or .jsonl."""
    from subgame.tree.files import replacing

    kind = Path(path).suffix
    head = {"format": FORMAT, "game": str(history.game), "agents": list(history.names)}
    writers: dict[str, Callable[[], Iterable[str]]] = {
        ".phhs": lambda: write_phh(history, progress),
        ".log": lambda: write_acpc(history),
        ".jsonl": lambda: [as_lines([head, *(hand.record() for hand in history.hands)])],
    }
    if kind not in writers:
        raise did_you_mean("kind of history", kind or str(path), writers)
    with replacing(Path(path)) as new, open(new, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(writers[kind]())


def check_hands(history: History, progress: Progress | None = None) -> int:
    """Replay every hand through PokerKit; the number of hands. A broken rule is an error."""
    for k, hand in enumerate(history.hands, 1):
        replay(history.game, hand)
        if progress is not None:
            progress(k, len(history.hands))
    return len(history.hands)
