"""The one slow, readable oracle that every kernel is compared with.

Plain recursion over the histories of a game: dictionaries and Python floats, no arrays, and
nothing imported from the compiler or the solvers. A strategy is infoset -> action -> probability;
a profile holds one strategy for each player: ``profile[player][infoset][action]``.

Notation, for a player i: pi_i(h) is the product of i's own probabilities on the way to history h,
pi_-i(h) that of everybody else's, chance included. By perfect recall pi_i is the same at every
history of one of i's infosets, and is then written pi_i(I). "Counterfactual" quantities of an
infoset are weighted by pi_-i and not normalised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from subgame.games.base import CHANCE, TERMINAL, Game, State

Strategy = dict[str, dict[str, float]]
"""Infoset -> action -> number: probabilities, and likewise regrets or values."""

Profile = Sequence[Strategy]
"""One strategy for each player."""

PLAYERS = (0, 1)


class Random(Protocol):
    """What `Oracle.random_profile` draws from: `random.Random` or `numpy.random.Generator`."""

    def random(self) -> float: ...


@dataclass(slots=True, eq=False)
class Node:
    """One history. `chance` is filled at chance nodes, `returns` at terminal ones."""

    player: int
    infoset: str = ""
    actions: tuple[str, ...] = ()
    children: dict[str, Node] = field(default_factory=dict)
    chance: dict[str, float] = field(default_factory=dict)
    returns: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Rule:
    """A member of the CFR family; `Oracle.cfr` says what each field does."""

    alpha: float
    beta: float
    gamma: float
    predictive: bool = False
    prediction: float = 1.0
    alternating: bool = True
    later: tuple[float, float] | None = None
    """Alpha and beta from iteration `ramp` on; until then they change linearly."""
    ramp: int = 1
    responder: int = -1
    """The player who answers best on every iteration and does not learn; -1 for none."""

    def discount(self, t: int, regret: float) -> float:
        """By what iteration t multiplies a regret left by iteration t - 1."""
        exponent = self.alpha if regret > 0 else self.beta
        if self.later is not None:
            exponent += min(t / self.ramp, 1) * (self.later[regret <= 0] - exponent)
        if t == 1 or exponent == math.inf:  # at t = 1 there is no old regret
            return 1.0
        if exponent == -math.inf:
            return 0.0
        power: float = float(t - 1) ** exponent
        return power / (power + 1)


RULES = {
    "cfr": Rule(math.inf, math.inf, 0, alternating=False),
    "cfr+": Rule(math.inf, -math.inf, 1),
    "lcfr": Rule(1, 1, 1),
    "dcfr": Rule(1.5, 0, 2),
    "pcfr+": Rule(math.inf, -math.inf, 2, predictive=True),
    "pdcfr+": Rule(2.3, -math.inf, 5, predictive=True),
    "sapcfr+": Rule(math.inf, -math.inf, 2, predictive=True, prediction=1 / 3),
}

MORE_RULES = {
    "hs-dcfr": Rule(1.1, 0, 4, later=(2.2, 0.25), ramp=150),
    "cfr-br(responder=0)": Rule(math.inf, -math.inf, 1, responder=0),
    "cfr-br(responder=1)": Rule(math.inf, -math.inf, 1, responder=1),
}
"""Rules whose exponents change, and rules in which one player answers best."""


@dataclass(frozen=True)
class Snapshot:
    """Where CFR stands after iteration t; the next iteration will play `current`."""

    t: int
    current: tuple[Strategy, Strategy]
    average: tuple[Strategy, Strategy]
    regrets: tuple[Strategy, Strategy]
    """R_t, as accumulated: negative entries are kept even where the next discount drops them."""
    sums: tuple[Strategy, Strategy]
    """S_t, the average strategy before normalisation."""


class Oracle:
    """A game expanded once into plain nodes, and everything that is asked of it."""

    def __init__(self, game: Game) -> None:
        self.infosets: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
        """For each player: infoset -> actions, in the order of a depth-first walk."""
        self.parents: tuple[dict[str, tuple[str, str] | None], ...] = ({}, {})
        """For each player: infoset -> the player's previous infoset and action."""
        self.histories: tuple[dict[str, list[Node]], dict[str, list[Node]]] = ({}, {})
        """For each player: infoset -> its nodes."""
        self.root = self._expand(game.new_initial_state(), (None, None))

    def _expand(self, state: State, last: tuple[tuple[str, str] | None, ...]) -> Node:
        player = state.current_player()
        if player == TERMINAL:
            returns = state.returns()
            assert abs(sum(returns)) < 1e-9, f"not zero-sum: {returns} at {state}"
            return Node(player, returns=(float(returns[0]), float(returns[1])))
        if player == CHANCE:
            chance = dict(state.chance_outcomes())
            assert abs(sum(chance.values()) - 1) < 1e-9, f"chance does not sum to 1 at {state}"
            node = Node(player, actions=tuple(chance), chance=chance)
            node.children = {a: self._expand(state.child(a), last) for a in chance}
            return node

        infoset = state.information_state(player)
        assert infoset is not None, f"no information state where {player} acts: {state}"
        actions = list(state.legal_actions())
        known = self.infosets[player].setdefault(infoset, actions)
        assert known == actions, f"{infoset!r} has actions {known} and {actions}"
        parent = self.parents[player].setdefault(infoset, last[player])
        assert parent == last[player], f"no perfect recall at {infoset!r}"
        node = Node(player, infoset, tuple(actions))
        self.histories[player].setdefault(infoset, []).append(node)
        for action in actions:
            here = tuple((infoset, action) if i == player else last[i] for i in PLAYERS)
            node.children[action] = self._expand(state.child(action), here)
        return node

    # Profiles

    def uniform(self) -> tuple[Strategy, Strategy]:
        """Every action of an infoset equally often."""
        return self._both(lambda actions: dict.fromkeys(actions, 1 / len(actions)))

    def random_profile(self, rng: Random) -> tuple[Strategy, Strategy]:
        """At each infoset a point drawn uniformly from the simplex; all probabilities positive."""

        def draw(actions: list[str]) -> dict[str, float]:
            weights = {a: 1e-9 - math.log(1 - rng.random()) for a in actions}
            return _normalised(weights)

        return self._both(draw)

    def _both(self, make: _Make) -> tuple[Strategy, Strategy]:
        first, second = (
            {infoset: make(actions) for infoset, actions in self.infosets[player].items()}
            for player in PLAYERS
        )
        return first, second

    # Values

    def expected_value(self, profile: Profile) -> float:
        """What player 0 is paid on average; player 1 is paid its negative."""

        def value(node: Node) -> float:
            if node.player == TERMINAL:
                return node.returns[0]
            probs = _probs(node, profile)
            return sum(probs[a] * value(node.children[a]) for a in node.actions)

        return value(self.root)

    def own_reach(self, profile: Profile, player: int) -> dict[str, float]:
        """pi_i(I) at each of the player's infosets."""
        reach: dict[str, float] = {}
        for infoset in self.infosets[player]:  # parents come before their children
            parent = self.parents[player][infoset]
            if parent is None:
                reach[infoset] = 1.0
            else:
                above, action = parent
                reach[infoset] = reach[above] * profile[player][above][action]
        return reach

    def counterfactual_reach(self, profile: Profile, player: int) -> dict[str, float]:
        """The sum of pi_-i(h) over the histories of each of the player's infosets."""
        reach = self._reach_of_others(profile, player)
        return {
            infoset: sum(reach[node] for node in nodes)
            for infoset, nodes in self.histories[player].items()
        }

    def counterfactual_values(self, profile: Profile, player: int) -> Strategy:
        """v(I, a): the sum over h in I of pi_-i(h) times the player's value after h, a."""
        values: Strategy = {
            infoset: dict.fromkeys(actions, 0.0)
            for infoset, actions in self.infosets[player].items()
        }

        def value(node: Node, others: float) -> float:
            if node.player == TERMINAL:
                return node.returns[player]
            probs = _probs(node, profile)
            total = 0.0
            for action in node.actions:
                if node.player == player:
                    below = value(node.children[action], others)
                    values[node.infoset][action] += others * below
                else:
                    below = value(node.children[action], others * probs[action])
                total += probs[action] * below
            return total

        value(self.root, 1.0)
        return values

    # Best responses

    def best_response_value(self, profile: Profile, player: int) -> float:
        """What the player is paid for answering the other one's strategy best."""
        return self._best_response(profile, player)[0]

    def best_response(self, profile: Profile, player: int) -> Strategy:
        """The best answer at every infoset; the first of actions that are equally good."""
        chosen = self._best_response(profile, player)[2]
        return {
            infoset: {action: float(action == chosen[infoset]) for action in actions}
            for infoset, actions in self.infosets[player].items()
        }

    def counterfactual_best_response(self, profile: Profile, player: int) -> dict[str, float]:
        """The sum over h in I of pi_-i(h) times the value of h to a player at best from I on.

        Given at every infoset of the player, also where a best response would never go.
        """
        return self._best_response(profile, player)[1]

    def narrowest_choice(self, profile: Profile, player: int) -> float:
        """By how much a best response prefers its action to the next best one, at the least.

        In chips, over the infosets that the others reach. Where it is 0, rounding may choose.
        """
        reach = self._reach_of_others(profile, player)
        leads = [math.inf]
        for infoset, worth in self._best_response(profile, player)[3].items():
            reached = sum(reach[node] for node in self.histories[player][infoset])
            if reached > 0 and len(worth) > 1:
                best, second = sorted(worth.values(), reverse=True)[:2]
                leads.append((best - second) / reached)
        return min(leads)

    def _best_response(
        self, profile: Profile, player: int
    ) -> tuple[float, dict[str, float], dict[str, str], Strategy]:
        """The value, then by infoset: the value, the action, and the values of all actions."""
        reach = self._reach_of_others(profile, player)
        at_infoset: dict[str, float] = {}
        best_action: dict[str, str] = {}
        worths: Strategy = {}
        known: dict[Node, float] = {}

        def solve(infoset: str) -> None:
            nodes = self.histories[player][infoset]
            worths[infoset] = worth = {
                action: sum(reach[node] * value(node.children[action]) for node in nodes)
                for action in self.infosets[player][infoset]
            }
            best_action[infoset] = max(worth, key=lambda action: worth[action])
            at_infoset[infoset] = worth[best_action[infoset]]

        def value(node: Node) -> float:
            if node.player == TERMINAL:
                return node.returns[player]
            if node not in known:
                if node.player == player:
                    if node.infoset not in best_action:
                        solve(node.infoset)
                    known[node] = value(node.children[best_action[node.infoset]])
                else:
                    probs = _probs(node, profile)
                    known[node] = sum(probs[a] * value(node.children[a]) for a in node.actions)
            return known[node]

        total = value(self.root)
        for infoset in self.infosets[player]:
            if infoset not in best_action:
                solve(infoset)
        values = {infoset: at_infoset[infoset] for infoset in self.infosets[player]}
        return total, values, best_action, worths

    def exploitability(self, profile: Profile) -> tuple[tuple[float, float], float]:
        """Each player's gain by a best response, and the mean of the two (NashConv / 2)."""
        value = self.expected_value(profile)
        first = self.best_response_value(profile, 0) - value
        second = self.best_response_value(profile, 1) + value
        return (first, second), (first + second) / 2

    def _reach_of_others(self, profile: Profile, player: int) -> dict[Node, float]:
        """pi_-i(h) of every history."""
        reach: dict[Node, float] = {}

        def walk(node: Node, others: float) -> None:
            reach[node] = others
            probs = _probs(node, profile) if node.player not in (TERMINAL, player) else {}
            for action, child in node.children.items():
                walk(child, others * probs.get(action, 1.0))

        walk(self.root, 1.0)
        return reach

    # CFR

    def cfr(self, iterations: int, rule: Rule) -> list[Snapshot]:
        """Tabular CFR from the uniform profile; the snapshot of iteration t is at index t - 1.

        Iteration t = 1, 2, ... has at each infoset, with sigma_t its strategy:

        - r_t(I, a) = v(I, a) - sum_b sigma_t(I, b) v(I, b), v counterfactual values;
        - R_t(I, a) = d R_{t-1}(I, a) + r_t(I, a), where d = (t-1)^x / ((t-1)^x + 1) and x is
          alpha where R_{t-1}(I, a) > 0, else beta (inf: d = 1; -inf: d = 0);
        - S_t(I, a) = ((t-1)/t)^gamma S_{t-1}(I, a) + pi_i(I) sigma_t(I, a), the average strategy
          before it is normalised (gamma = inf: the last iterate);
        - sigma_{t+1} proportional to max(Q, 0), uniform where that is 0 everywhere. Q is R_t, or
          when predictive d R_t + prediction r_t with the d that iteration t + 1 applies to R_t.

        Alternating: player 0 moves on to sigma_{t+1} first and player 1 answers that; otherwise
        both answer sigma_t. With a responder (CFR-BR) sigma_t of that player is a best response to
        the other's sigma_t.

        Where two actions of an infoset are exactly as good, rounding decides the sign of a
        regret: kernels that add in another order may then leave this trajectory.
        """
        sigma = self.uniform()
        regrets = self._both(lambda actions: dict.fromkeys(actions, 0.0))
        sums = self._both(lambda actions: dict.fromkeys(actions, 0.0))
        snapshots: list[Snapshot] = []
        for t in range(1, iterations + 1):
            if rule.responder >= 0:
                p = 1 - rule.responder
                best = self.best_response(sigma, 1 - p)
                sigma = (sigma[0], best) if p == 0 else (best, sigma[1])
                learnt = self._update(t, rule, p, sigma, regrets[p], sums[p])
                sigma = (learnt, best) if p == 0 else (best, learnt)
            elif rule.alternating:
                sigma = self._update(t, rule, 0, sigma, regrets[0], sums[0]), sigma[1]
                sigma = sigma[0], self._update(t, rule, 1, sigma, regrets[1], sums[1])
            else:
                first = self._update(t, rule, 0, sigma, regrets[0], sums[0])
                second = self._update(t, rule, 1, sigma, regrets[1], sums[1])
                sigma = first, second
            average = _normalised_all(sums[0]), _normalised_all(sums[1])
            snapshots.append(
                Snapshot(
                    t,
                    sigma,
                    average,
                    (_copy(regrets[0]), _copy(regrets[1])),
                    (_copy(sums[0]), _copy(sums[1])),
                )
            )
        return snapshots

    def _update(
        self, t: int, rule: Rule, player: int, sigma: Profile, regrets: Strategy, sums: Strategy
    ) -> Strategy:
        """Accumulate the player's regrets and strategy in place; return the next strategy."""
        values = self.counterfactual_values(sigma, player)
        reach = self.own_reach(sigma, player)
        after: Strategy = {}
        for infoset, actions in self.infosets[player].items():
            now, v = sigma[player][infoset], values[infoset]
            old, total = regrets[infoset], sums[infoset]
            mean = sum(now[a] * v[a] for a in actions)
            basis: dict[str, float] = {}
            for a in actions:
                instant = v[a] - mean
                old[a] = rule.discount(t, old[a]) * old[a] + instant
                total[a] = ((t - 1) / t) ** rule.gamma * total[a] + reach[infoset] * now[a]
                basis[a] = old[a]
                if rule.predictive:
                    basis[a] = rule.discount(t + 1, old[a]) * old[a] + rule.prediction * instant
            after[infoset] = _normalised({a: max(basis[a], 0.0) for a in actions})
        return after


class _Make(Protocol):
    def __call__(self, actions: list[str], /) -> dict[str, float]: ...


def _probs(node: Node, profile: Profile) -> dict[str, float]:
    return node.chance if node.player == CHANCE else profile[node.player][node.infoset]


def _normalised(weights: dict[str, float]) -> dict[str, float]:
    """In proportion to the weights; uniform where they sum to 0."""
    total = sum(weights.values())
    if total <= 0:
        return dict.fromkeys(weights, 1 / len(weights))
    return {action: weight / total for action, weight in weights.items()}


def _normalised_all(weights: Strategy) -> Strategy:
    return {infoset: _normalised(row) for infoset, row in weights.items()}


def _copy(table: Strategy) -> Strategy:
    return {infoset: dict(row) for infoset, row in table.items()}
