"""Random hands of no-limit hold'em, played step by step beside PokerKit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from subgame.games.holdem.rules import Betting, NoLimit

DEALING = ("HOLE_DEALING", "CARD_BURNING", "BOARD_DEALING")


def random_rules(rng: random.Random, last: str = "river") -> NoLimit:
    """Stacks that are often too short for the blinds, or very unequal."""
    stacks = (rng.randint(1, 60), rng.choice([rng.randint(1, 60), 400]))
    return NoLimit(stacks, rng.choice([(1, 2), (5, 10), (1, 3)]), last=last)


def their_state(pokerkit: Any, rules: NoLimit, holes: Sequence[str] = ()) -> Any:
    """PokerKit's hand by the same rules; with `holes` boards are dealt by hand, else by itself."""
    by_hand = {"RUNOUT_COUNT_SELECTION", *(DEALING if holes else ())}
    automatic = tuple(
        automation for automation in pokerkit.Automation if automation.name not in by_hand
    )
    game = pokerkit.NoLimitTexasHoldem(automatic, True, 0, rules.blinds, rules.blinds[1])
    state = pokerkit.State(
        game.automations,
        game.deck,
        game.hand_types,
        game.streets[: rules.last_street + 1],
        game.betting_structure,
        True,
        0,
        rules.blinds,
        0,
        rules.stacks,
        2,
    )
    for hole in holes:
        state.deal_hole(hole)
    return state


def agree(mine: Betting, theirs: Any) -> None:
    """Whoever is to act, both see the same chips and the same bets to choose from."""
    assert mine.player == theirs.actor_index
    assert mine.behind == tuple(theirs.stacks)
    assert mine.bets == tuple(theirs.bets)
    assert mine.pot == theirs.total_pot_amount
    assert mine.street == theirs.street_index
    assert mine.to_call == theirs.checking_or_calling_amount
    assert mine.least_raise == theirs.min_completion_betting_or_raising_to_amount
    assert mine.most_raise == theirs.max_completion_betting_or_raising_to_amount


def act(mine: Betting, theirs: Any, rng: random.Random) -> str:
    """Compare both, take a random action in theirs, and give its name."""
    agree(mine, theirs)
    least, most = mine.least_raise, mine.most_raise
    choices = ["c", "c", "f" if mine.to_call else "c"]
    if least is not None and most is not None:
        choices += [f"r{least}", f"r{rng.randint(int(least), int(most))}"]
    action = rng.choice(choices)
    if action == "f":
        theirs.fold()
    elif action == "c":
        theirs.check_or_call()
    else:
        theirs.complete_bet_or_raise_to(int(action[1:]))
    return action
