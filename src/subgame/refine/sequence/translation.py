"""Action translation along the histories of sequence trees; see `verbs.translate`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from subgame.engines.arrays import Floats
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.rules import Bet
from subgame.games.holdem.translation import ActionMapping, answer, translated
from subgame.tree.public_tree import PublicTree, Side
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy


@runtime_checkable
class Sized(Protocol):
    """A state that says how large its bets are, as those of `subgame.games.no_limit` do."""

    def bet(self, action: str) -> Bet | None:
        """Its size in fractions of the pot; None for what is no bet, check or call."""


class _Lines:
    """A tree's histories with the size of every action, looked up once per infoset."""

    def __init__(self, tree: PublicTree) -> None:
        self.h: Histories = sequence_tree(tree).walked
        self.player = self.h.player.tolist()
        self.infoset = self.h.infoset.tolist()
        self.known: dict[tuple[int, int], list[Bet | None]] = {}

    def bets(self, at: int) -> list[Bet | None]:
        """The sizes of the actions at a history where somebody acts."""
        p, i = self.player[at], self.infoset[at]
        if (p, i) not in self.known:
            state = self.h.state(int(self.h.tables[p].first[i]))
            if not isinstance(state, Sized):
                raise SubgameError(
                    f"{self.h.game} does not say how large its bets are, so they cannot be "
                    "translated; its states need a method bet(action)."
                )
            self.known[p, i] = [state.bet(action) for action in self.h.tables[p].actions[i]]
        return self.known[p, i]

    def steps(self) -> list[dict[int | str, int]]:
        """[h] from the number of an action, or the name of an outcome, to what follows it."""
        out: list[dict[int | str, int]] = [{} for _ in range(len(self.h))]
        for at, above in enumerate(self.h.parent.tolist()):
            if above >= 0:
                dealt = self.player[above] == CHANCE
                key = self.h.labels[self.h.edge[at]] if dealt else int(self.h.action[at])
                out[above][key] = at
        return out


Belief = dict[int, float]
"""Where the hand of the smaller game may be: its history -> how likely the translating player alone
(the mapping's coin flips, own choices) brings it there, after what the others did."""


def translate_histories(tree: SequenceTree, strategy: Strategy, how: ActionMapping) -> list[Floats]:
    """Both players' weights over a sequence tree; see `translate`."""
    ours, real = _Lines(strategy.tree), _Lines(tree)
    return [_Translator(strategy, ours, how, p).weights(real, tree.players[p]) for p in (0, 1)]


def _places(side: Side) -> list[int]:
    """From the game's own number of an infoset to the tree's."""
    numbers: list[int] = np.argsort(side.origin).tolist()
    return numbers


class _Translator:
    """Player `p` with a strategy of the smaller game, following a hand of it."""

    def __init__(self, strategy: Strategy, ours: _Lines, how: ActionMapping, p: int) -> None:
        self.ours, self.how, self.p = ours, how, p
        self.steps = ours.steps()
        side = strategy.tree.players[p]
        self.sigma = [strategy.probs[p][side.sequences(i)].tolist() for i in _places(side)]

    def weights(self, real: _Lines, side: Side) -> Floats:
        """[q] the player's realisation weights in the larger tree, along every history."""
        out, place, h = np.zeros(side.num_sequences), _places(side), real.h
        beliefs: list[Belief] = []  # of the histories above and at the current one
        branches: list[list[Belief]] = []
        depth: list[int] = []
        parents, actions = h.parent.tolist(), h.action.tolist()
        for at, (above, action) in enumerate(zip(parents, actions, strict=True)):
            level = 0 if above < 0 else depth[above] + 1
            depth.append(level)
            del beliefs[level:], branches[level:]
            if above < 0:
                beliefs.append({0: 1.0})
            elif real.player[above] == CHANCE:
                beliefs.append(self.dealt(beliefs[-1], h.labels[h.edge[at]]))
            else:
                beliefs.append(branches[-1][action])
            branches.append(self.branches(real, at, beliefs[level]))
            if real.player[at] == self.p:
                sums = [sum(branch.values()) for branch in branches[level]]
                out[side.sequences(place[real.infoset[at]])] = sums
        return out

    def branches(self, real: _Lines, at: int, belief: Belief) -> list[Belief]:
        """The belief after each action at the real history `at`."""
        player = real.player[at]
        if player < 0:
            return []
        bets = real.bets(at)
        out: list[Belief] = [{} for _ in bets]
        for place, weight in belief.items():
            turn, steps = self.ours.player[place] == player, self.steps[place]
            if not turn:  # the player checks and calls; the opponent changes nothing
                acts = [answer(Bet(0), bets)] if player == self.p else range(len(bets))
                moves = [(k, place, 1.0) for k in acts]
            elif player == self.p:
                moves = self._chosen(place, bets)
            else:
                known = self.ours.bets(place)
                moves = [
                    (k, steps[i], share)
                    for k, bet in enumerate(bets)
                    for i, share in translated(known, bet, self.how).items()
                ]
            for k, after, share in moves:
                out[k][after] = out[k].get(after, 0.0) + weight * share
        return out

    def _chosen(self, place: int, bets: list[Bet | None]) -> list[tuple[int, int, float]]:
        """(real action, place afterwards, probability) of each choice of the smaller strategy."""
        sigma, ours = self.sigma[self.ours.infoset[place]], self.ours.bets(place)
        return [
            (answer(ours[mine], bets), self.steps[place][mine], share)
            for mine, share in enumerate(sigma)
            if share > 0
        ]

    def dealt(self, belief: Belief, outcome: str) -> Belief:
        """The belief after chance's move; a hand of the smaller game that is over stays."""
        out: Belief = {}
        for place, weight in belief.items():
            while self.ours.player[place] >= 0:
                place = self.steps[place][answer(Bet(0), self.ours.bets(place))]
            if self.ours.player[place] == CHANCE and outcome not in self.steps[place]:
                raise SubgameError(
                    f"{self.ours.h.game} is not a smaller version of the game: '{outcome}' cannot "
                    "be dealt in it."
                )
            after = self.steps[place].get(outcome, place)
            out[after] = out.get(after, 0.0) + weight
        return out
