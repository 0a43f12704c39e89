"""`BlueprintAgent`: plays a stored blueprint of hold'em, and translates bets that it does not know.

>>> from subgame.blueprints.recipe import BlueprintRecipe
>>> from subgame.blueprints.stored import StoredBlueprint
>>> from subgame.blueprints.training import Trainer
>>> from subgame.games.holdem import hunl
>>> from subgame.play import match
>>> cards = {"ranks": "9TJQKA", "suits": "cd"}
>>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
>>> made = StoredBlueprint.of(Trainer(recipe))
>>> game = hunl(400, bets="all: 0.5x 1x a", ranks="9TJQKA", suits="cd")
>>> match(game, [BlueprintAgent(game, made), "call"], hands=10).hands
10
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.translation import ActionMapping
from subgame.play.agent import Mixed, Policy, draw
from subgame.play.one_bet import call_or_fold, followed_reach
from subgame.play.strategies import Translated

SEPARATOR = " | "
"""Between hand, board and betting in the name of an infoset."""
PRICED = 100
"""Answers by price that are kept."""


class _Stored(Mixed):
    """Plays a blueprint in the game that it was made for."""

    def __init__(self, blueprint: StoredBlueprint) -> None:
        self.blueprint, deck = blueprint, blueprint.game.deck
        self.cards = {deck.card_name(card): card for card in range(deck.size)}
        self.hands = {deck.hand_name(hand): hand for hand in range(deck.num_hands)}
        self.decisions: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        hand, board, (actions, rows) = self._place(infoset)
        return draw(
            self.random, actions, rows[:, self.blueprint.cards.of_hand(board, hand)].tolist()
        )

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        _, board, (actions, rows) = self._place(infosets[0])
        hands = [self.hands[infoset.partition(SEPARATOR)[0]] for infoset in infosets]
        units = rows[:, self.blueprint.cards.of(board)[hands]].astype(np.float64)
        return Policy(actions, (units / units.sum(0)).T)

    def _place(
        self, infoset: str
    ) -> tuple[int, tuple[int, ...], tuple[tuple[str, ...], NDArray[Any]]]:
        """The hand and the board of an infoset; the actions there and [action, bucket] units."""
        hand, board, text = infoset.split(SEPARATOR)
        decision_rows = self.decisions.get(text)
        if decision_rows is None:
            made = self.blueprint
            decision = made.decision(made.game.start().play(text))
            rows = np.asarray(made.rows(decision))  # a plain view is read faster than a memory map
            decision_rows = self.decisions[text] = made.tree.actions(decision), rows
        return self.hands[hand], tuple([self.cards[card] for card in board.split()]), decision_rows


class BlueprintAgent(Translated):
    """Plays a blueprint in a game of the same cards, stacks and blinds, with any bets.

    `blueprint` is a `StoredBlueprint` or its file, by default the one that comes with the package.
    The opponent's bets are translated by `how`; see `Translated`. A bet that is unlike all those of
    the blueprint is called or folded to by its price (`subgame.play.one_bet`).
    """

    def __init__(
        self,
        game: Game,
        blueprint: StoredBlueprint | str | Path | None = None,
        how: str | ActionMapping = "pseudo-harmonic",
        name: str = "blueprint",
    ) -> None:
        made = blueprint if isinstance(blueprint, StoredBlueprint) else loaded(blueprint)
        if not isinstance(game, Holdem) or _frame(game) != _frame(made.game):
            raise SubgameError(
                f"The blueprint {made.recipe.name} was made for {made.game}; it cannot play {game}."
            )
        stored = _Stored(made)
        super().__init__(stored, made.game, game, how, name)
        self.game, self.blueprint, self.menu, self.stored = game, made, made.actions, stored
        self._priced: dict[tuple[str, str, str], Policy] = {}

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        if self._here() is not None and not self.unlike:
            return super().act(infoset, legal)
        policy = self.policy((infoset,), legal)
        return draw(self.random, policy.actions, policy.probabilities[0].tolist())

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        if self._here() is not None and not self.unlike:
            return super().policy(infosets, legal)
        board, _, actions = infosets[0].partition(SEPARATOR)[2].partition(SEPARATOR)
        key = board, actions, str(self.abstract)
        if key not in self._priced:
            self._priced[key] = self._by_price(board)
            while len(self._priced) > PRICED:
                self._priced.pop(next(iter(self._priced)))
        priced = self._priced[key]
        hands = [self.stored.hands[infoset.partition(SEPARATOR)[0]] for infoset in infosets]
        return Policy(priced.actions, priced.probabilities[hands])

    def _by_price(self, board: str) -> Policy:
        """What is done with every hand of the deck; see `subgame.play.one_bet`.

        Ranges are those before the bet, as far as the blueprint has them.
        """
        cards = tuple([self.stored.cards[card] for card in board.split()])
        before = self.abstract.history[:-1] if self.unlike else self.abstract.history
        stands = self.blueprint.game.start().play("".join(before))
        reach = followed_reach(self.blueprint, cards, stands)
        answer = call_or_fold(self.game, cards, self.real, reach)
        return Policy(answer.actions, answer.probabilities)


@lru_cache(maxsize=4)
def loaded(path: str | Path | None = None) -> StoredBlueprint:
    """The blueprint of a file; one in memory serves all agents."""
    return StoredBlueprint.load(path)


def _frame(game: Holdem) -> tuple[object, ...]:
    """What a blueprint cannot translate."""
    return game.deck, game.rules, game.board, game.start()
