"""Nested solving of hold'em: every off-tree bet answered on all boards at once.

What `answers` does history by history on small trees. The opponent has more bet
sizes than our blueprint; where she takes one, the rest of the game with the smaller game's sizes
is solved behind a gadget (Brown & Sandholm 2017, Sec. 6). All off-tree bets of one street that
follow the same part of what is known are one *stage* (`engines.torch.batch`): as many roots as
there are such bets, on every board. What is solved joins the known, and is searched for further
off-tree bets.

Values are the opponent's, normalised: what she gets given that she came.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from subgame.engines.torch.batch import Blocks, Sweeps
from subgame.engines.torch.doors import Doors, Kind
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.torch_ops import Place, TorchOps
from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.refine.gadgets import Gadget
from subgame.refine.nested.translation import ActionMapping, answer, heard
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.betting_tree import Street, decisions, grow

Tensor = Any
TINY = 1e-100
ROUNDING = 1e-5
"""Weights below this share of the greatest are taken for none: kernels are single precision."""
History = tuple[str, ...]


@dataclass(frozen=True)
class Wider(Holdem):
    """Hold'em in which one player has other bet sizes than her opponent."""

    wider: BetSizes = field(default_factory=BetSizes)
    seat: int = 0

    def actions(self, betting: Betting) -> tuple[str, ...]:
        return betting.actions(self.wider if betting.player == self.seat else self.bets)

    @property
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters, "wider": str(self.wider), "seat": self.seat}


def widened(game: Holdem, wider: BetSizes | str, seat: int) -> Wider:
    """`game` with the bet sizes `wider` for the player `seat`."""
    sizes = BetSizes.parse(wider) if isinstance(wider, str) else wider
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return Wider(**own, wider=sizes, seat=seat)


@dataclass(frozen=True)
class Spot:
    """An off-tree bet: where the opponent makes it, and what it is."""

    street: int  # of the part it follows
    decision: int  # hers, there
    before: Betting
    action: str

    @property
    def after(self) -> Betting:
        return self.before.child(self.action)


@dataclass(eq=False)
class Part:
    """A solved part of the game: the blueprint, or answers to some off-tree bets."""

    sweeps: Sweeps
    streets: list[Street]
    sigma: tuple[Blocks, Blocks]
    reach: tuple[Tensor, Tensor]  # [root, unit, hand] at its roots
    worth: list[Tensor]  # [row, unit, hand] what the opponent can get, street by street
    gift: Tensor  # [root, unit, hand] what she gave up on the way
    depth: int = 0


class GadgetInputs(NamedTuple):
    """What gadgets before some off-tree bets need. Axes: root, unit, hand."""

    ours: Tensor  # our reach
    weight: Tensor  # of the opponent's hands: pi_{-i}
    cbv: Tensor  # CBV~: her best in the smaller game, the off-tree bet excluded
    gift: Tensor
    hers: Tensor | None  # her reach where she bets; None where it is not needed

    @property
    def alternative(self) -> Tensor:
        return self.cbv + self.gift


@dataclass(frozen=True)
class BoardAnswer:
    """How some off-tree bets were answered. Axes: root, unit, hand."""

    bets: tuple[str, ...]  # histories, the off-tree bet last
    depth: int
    weight: Tensor
    alternative: Tensor  # with gifts
    values: Tensor  # what she can get after the bet now, within the smaller game
    seconds: float

    @property
    def smallest_margin(self) -> float:
        """Of any root infoset that we ever come to, in chips."""
        margin = (self.alternative - self.values)[self.weight > 0]
        return float(margin.min())


@dataclass
class BoardNest:
    """Plays a blueprint of a smaller game in one with more bets for the opponent."""

    engine: TorchRangeEngine
    """Of the blueprint's tree."""
    blueprint: tuple[Blocks, Blocks]
    wider: BetSizes
    player: int
    gadget: Gadget
    schedule: Schedule
    iterations: int
    expensive: bool = False
    parts: list[Part] = field(default_factory=list)
    answers: list[BoardAnswer] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.gadget.door == "none" and not self.expensive:
            raise SubgameError(
                "Unsafe needs the probability with which she comes, which an off-tree bet does not "
                "have; solve from before it (expensive)."
            )
        if self.gadget.door == "random" or self.gadget.estimate:
            raise SubgameError(f"{self.gadget.name} has no place in nested solving; see `nest`.")
        self.small = self.engine.tree.holdem
        self.large = widened(self.small, self.wider, 1 - self.player)

    def run(self) -> None:
        """Answer all off-tree bets."""
        engine, kind = self.engine, self.engine.torch.float64
        one, two = (engine.slots(side.reach, kind) for side in engine.tree.players)
        waiting = [self._part(engine, engine.tree.streets, self.blueprint, (one, two))]
        while waiting:
            part = waiting.pop()
            self.parts.append(part)
            waiting.extend(self._answer(part))

    # One part --------------------------------------------------------------------------------
    def _spots(self, part: Part) -> Iterator[list[Spot]]:
        """Off-tree bets of the opponent, street by street."""
        for s, street in enumerate(part.streets):
            o = 1 - self.player
            found = [
                Spot(s, j, state, action)
                for j, state in enumerate(street.states[o])
                for action in self.large.actions(state)
                if action not in street.actions[o][j]
            ]
            if found:
                yield found

    def _part(
        self,
        sweeps: Sweeps,
        streets: list[Street],
        sigma: tuple[Blocks, Blocks],
        reach: tuple[Tensor, Tensor],
        gift: Tensor | None = None,
        depth: int = 0,
    ) -> Part:
        p, o = self.player, 1 - self.player
        worth = sweeps.worths(o, sigma[p], reach[p])
        none = sweeps.torch.zeros_like(reach[o]) if gift is None else gift
        return Part(sweeps, streets, sigma, reach, worth, none, depth)

    def _answer(self, part: Part) -> Iterator[Part]:
        """Solve what follows every off-tree bet of a part."""
        groups = list(self._spots(part))
        if not groups:
            return
        p, o, stack = self.player, 1 - self.player, self.engine.torch.stack
        ours = part.sweeps.reaches(p, part.sigma[p], part.reach[p])
        gifts = self._gifts(part, ours)
        hers = part.sweeps.reaches(o, part.sigma[o], part.reach[o]) if self.expensive else []
        for spots in groups:
            s = spots[0].street
            street = part.streets[s]
            reach = stack([ours[s][street.at[o][spot.decision][p]] for spot in spots])
            weight = reliable(part.sweeps.opposing(o, reach, s))
            best = stack(
                [part.worth[s][_choices(street, o, spot.decision)].amax(0) for spot in spots]
            )
            above = [street.parent[o][spot.decision] for spot in spots]
            inputs = GadgetInputs(
                reach,
                weight,
                ratio(best, weight),
                gifts[s][above],
                hers[s][above] if self.expensive else None,
            )
            yield self._solve(spots, inputs, part.depth + 1)

    def _gifts(self, part: Part, ours: list[Tensor]) -> list[Tensor]:
        """Per street ``[row, unit, hand]`` what she gave up on the way to each of her rows.

        2017, Sec. 5: the best of CBV(I, a) minus CBV(I, a'), normalised at I, so that subgames
        below together never take more than it ("split"). Nothing the blueprint knows is solved
        again here, so that all its actions count, not only those that end the hand.
        """
        o, out = 1 - self.player, []
        sweeps, entry = part.sweeps, part.gift
        for s, street in enumerate(part.streets):
            scale = 0.0 if self.gadget.gifts == "none" else self.gadget.scale
            gift = given_up(
                sweeps.places[s],
                street,
                o,
                part.worth[s],
                ours[s],
                sweeps.enter(o, entry, s),
                scale,
            )
            out.append(gift)
            entry = gift[sweeps.levels[s].bets[o].leaves]
        return out

    def _solve(self, spots: list[Spot], inputs: GadgetInputs, depth: int) -> Part:
        """Behind a gadget, the rest of the game after some off-tree bets of one street."""
        began = time.perf_counter()
        p, o, plan = self.player, 1 - self.player, self.schedule
        after = streets = grow(self.small, [spot.after for spot in spots])
        if self.expensive:
            added = {spot.before.history: spot.action for spot in spots}
            streets = grow(
                self.small,
                [spot.before for spot in spots],
                lambda state: (*self.small.actions(state), added[state.history]),
            )
        stage = self.engine.stage(streets)
        door = None
        # Only the shape of our range matters; kernels like numbers near one.
        size = inputs.ours.amax(2, keepdim=True).clamp(min=TINY)
        ours, weight = inputs.ours / size, inputs.weight / size
        hers = weight  # of no meaning where a door says how she enters
        if self.gadget.door == "none":
            assert inputs.hers is not None
            # Where the blueprint never brings her, she is taken to come with everything alike.
            never = (inputs.hers * (inputs.weight > 0)).sum(2, keepdim=True) <= 0
            hers = stage.torch.where(never, stage.torch.ones_like(inputs.hers), inputs.hers)
        else:
            kind: Kind = "leave" if self.gadget.door == "leave" else "choose"
            door = Doors(
                kind,
                o,
                weight,
                inputs.alternative,
                predictive=plan.predictive,
                refined=self.gadget.refined,
            )
        one, two = (stage.memory(q, predictive=plan.predictive) for q in (0, 1))
        discounts = plan.discounts(1, self.iterations + 1)
        both = (ours, hers) if p == 0 else (hers, ours)
        stage.run((one, two), discounts, plan.alternating, both, door)
        sigma, hers = (one.average, two.average), (inputs.weight > 0).to(inputs.weight.dtype)
        if self.expensive:
            hers = self._taken(stage, streets[0], spots, sigma[o], inputs.hers)
            stage = self.engine.stage(after)
            mine, yours = (_moved(stage.blank(q), sigma[q], after, streets, q) for q in (0, 1))
            sigma = (mine, yours)
        both = (inputs.ours, hers) if p == 0 else (hers, inputs.ours)
        part = self._part(stage, after, sigma, both, inputs.gift, depth)
        values = ratio(part.worth[0][: len(spots)], inputs.weight)
        bets = tuple(str(spot.after) for spot in spots)
        self.answers.append(
            BoardAnswer(
                bets, depth, inputs.weight, inputs.alternative, values, time.perf_counter() - began
            )
        )
        return part

    def _taken(
        self, stage: Sweeps, street: Street, spots: list[Spot], sigma: Blocks, reach: Tensor
    ) -> Tensor:
        """[root, unit, hand] the opponent's reach of bets that expensive solves have added."""
        o = 1 - self.player
        reached = stage.reaches(o, sigma, reach)[0]
        first = {
            home: j for j, home in reversed(list(enumerate(street.first_root[o])))
        }  # at the roots
        rows = [
            street.first[o][first[k]] + street.actions[o][first[k]].index(spot.action)
            for k, spot in enumerate(spots)
        ]
        return reached[rows]

    # The whole -------------------------------------------------------------------------------
    def strategy(self, sweeps: Sweeps, streets: list[Street]) -> Blocks:
        """Our strategy in the larger game, put together from all parts."""
        return joined(
            sweeps, streets, [(part.streets, part.sigma[self.player]) for part in self.parts]
        )


def joined(
    sweeps: Sweeps, streets: list[Street], parts: Sequence[tuple[list[Street], Blocks]]
) -> Blocks:
    """A strategy over `streets` from parts of it: every decision from the first that has it."""
    p = parts[0][1].player
    made, where = sweeps.blank(p), [decisions(known, p) for known, _ in parts]
    for s, street in enumerate(streets):
        for j, state in enumerate(street.states[p]):
            k = next(k for k, index in enumerate(where) if state.history in index)
            known, sigma = parts[k]
            there, i = where[k][state.history]
            made.blocks[s][edges(street, p, j)] = sigma.blocks[there][edges(known[there], p, i)]
    return made


def translated(
    blueprint: Blocks,
    known: list[Street],
    game: Holdem,
    into: tuple[Sweeps, list[Street]],
    how: ActionMapping,
) -> Blocks:
    """A blueprint of `game` that takes off-tree bets for bets it knows, in a larger game.

    A CFR average is a realization plan (how often we come to an action and take it), so that the
    translating player's plan is the mean of those of all she may take the betting for.
    """
    p, (sweeps, streets) = blueprint.player, into
    made = sweeps.blank(p)
    index = decisions(known, p)
    for s, street in enumerate(streets):
        for j, state in enumerate(street.states[p]):
            for line, share in _heard(game, state.history, p, how):
                if line.history not in index:
                    raise SubgameError(
                        f"A bet of '{state}' is taken for a check or call, after which the hand in "
                        "the translating player's head is another; on boards that is not followed."
                    )
                where, k = index[line.history]
                there = edges(known[where], p, k)
                made.blocks[s][edges(street, p, j)] += share * blueprint.blocks[where][there]
    return made


def solved(
    engine: TorchRangeEngine, sweeps: Sweeps, plan: Schedule, iterations: int
) -> tuple[Blocks, Blocks]:
    """Averages of CFR on the boards of `engine`, with the betting of `sweeps`."""
    one, two = (sweeps.memory(p, predictive=plan.predictive) for p in (0, 1))
    first, second = (engine.slots(side.reach, engine.torch.float32) for side in engine.tree.players)
    discounts = plan.discounts(1, iterations + 1)
    sweeps.run((one, two), discounts, plan.alternating, (first, second))
    return one.average, two.average


def lost(sweeps: Sweeps, sigma: Blocks, engine: TorchRangeEngine) -> float:
    """What a best response in the larger game of `sweeps` wins against `sigma`, in chips."""
    p, o, kind = sigma.player, 1 - sigma.player, engine.torch.float64
    ours, hers = (engine.slots(engine.tree.players[q].reach, kind) for q in (p, o))
    won = sweeps.worths(o, sigma, ours)[0][0, 0, : hers.shape[2]]
    return float(won @ hers[0, 0]) / engine.tree.deals


def _heard(
    game: Holdem, actions: History, player: int, how: ActionMapping
) -> Iterator[tuple[Betting, float]]:
    """What a line of betting may be taken for in the smaller game, and how likely."""
    real = game.start()
    lines = [(real, 1.0)]
    for action in actions:
        if action == "/":
            continue
        said, own, further = real.bet(action), real.player == player, []
        for line, share in lines:
            names = game.actions(line)
            bets = [line.bet(name) for name in names]
            taken = {answer(said, bets): 1.0} if own else heard(bets, said, how)
            further += [(line.child(names[k]), share * part) for k, part in taken.items()]
        lines, real = further, real.child(action)
    yield from lines


def given_up(
    place: Place,
    street: Street,
    o: int,
    worth: Tensor,
    ours: Tensor,
    entry: Tensor,
    scale: float = 1.0,
) -> Tensor:
    """[row, unit, hand] what player `o` gave up on the way to each of her rows of a street.

    `worth` are her rows' values, `ours` is our reach of our rows, `entry` what she gave up before.
    """
    ops = TorchOps(worth.device)
    gift = worth.new_zeros(worth.shape)
    gift[: len(street.roots)] = entry
    for j, parent in enumerate(street.parent[o]):
        rows = _choices(street, o, j)
        gift[rows] = gift[parent]
        if scale:
            weight = reliable(ops.opposing(place, o, ours[street.at[o][j][1 - o]][None]))
            gift[rows] += scale * ratio(worth[rows].amax(0) - worth[rows], weight)
    return gift


def ratio(values: Tensor, weight: Tensor) -> Tensor:
    """Values given that she came; 0 where we never do."""
    return (values / weight.clamp(min=TINY)) * (weight > 0)


def reliable(weight: Tensor) -> Tensor:
    """Weights without those that are rounding: sums over nearly all hands cancel out."""
    return weight * (weight > ROUNDING * weight.amax(2, keepdim=True))


def _choices(street: Street, p: int, j: int) -> slice:
    """The rows of a decision's actions."""
    return slice(street.first[p][j], street.first[p][j] + len(street.actions[p][j]))


def edges(street: Street, p: int, j: int) -> slice:
    """The same in `Blocks`, which hold no roots."""
    first = street.first[p][j] - len(street.roots)
    return slice(first, first + len(street.actions[p][j]))


def _moved(
    into: Blocks, sigma: Blocks, streets: list[Street], source: list[Street], p: int
) -> Blocks:
    """A strategy of `source` in the part of it that lies in `streets`, root by root."""
    for s, (street, whole) in enumerate(zip(streets, source, strict=True)):
        found = {
            (home, state.history): j
            for j, (home, state) in enumerate(
                zip(whole.first_root[p], whole.states[p], strict=True)
            )
        }
        for j, state in enumerate(street.states[p]):
            there = edges(whole, p, found[street.first_root[p][j], state.history])
            into.blocks[s][edges(street, p, j)] = sigma.blocks[s][there]
    return into
