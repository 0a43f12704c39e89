"""Trees larger than the device: regrets and averages in host memory, some boards at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.errors import MemoryLimitError
from subgame.games.holdem.cards import Deck
from subgame.memory import available
from subgame.solve.schedule import parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton  # noqa: E402
from watcher import Watcher, solver  # noqa: E402

from subgame.engines.torch import (  # noqa: E402
    TorchRangeEngine,
    memory,
    offload,
)
from subgame.engines.torch import storage as keeping  # noqa: E402
from subgame.engines.torch.blocks import from_numpy  # noqa: E402
from subgame.engines.torch.memory import BUFFERS, Placement  # noqa: E402
from subgame.engines.torch.offload import OffloadedBlock, Offloader, Queue  # noqa: E402
from subgame.engines.torch.storage import Storage  # noqa: E402
from subgame.engines.torch.torch_ops import StreetNumbers  # noqa: E402

TWELVE = Deck("JQKA", "chs")
WIDE = sg.holdem.endgame("Qs Kh Ac", 4, 6, ("*", "*:0.7,AA"), "all: a / cap 1", deck=TWELVE)
"""72 rivers: three slices where integers share scales."""
KINDS: list[Storage] = list(get_args(Storage))
SCHEDULES = [
    "dcfr",
    "cfr+",
    "pcfr+",
    "cfr+(alternating=false)",
    "pcfr+(alternating=false)",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
]
CASES = [*((name, -1) for name in SCHEDULES), ("dcfr", 1), ("cfr+(alternating=false)", 0)]
"""Each schedule, with a learner that lets the one or the other player in, or none."""
PLACEMENTS: list[Placement] = ["device", "host"]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def wide() -> RangeTree:
    return compile_range_tree(WIDE)


def drawn_into(run: Any, seed: int = 5) -> Any:
    """Numbers in all that is kept, the same wherever it lies."""
    rng = np.random.default_rng(seed)
    for part in (part for regrets in run.pair for part in regrets if part is not None):
        for block in part.blocks:
            drawn = torch.from_numpy(rng.random(tuple(block.shape), dtype=np.float32))
            block.copy_(drawn.to(run.engine.device))
    return run


def started(engine: Any, schedule: str, learner: Any = None, reach: Any = (None, None)) -> Any:
    return drawn_into(solver(engine, parse(schedule), learner, reach))


def every(block: Any) -> Any:
    return keeping.peek(block, slice(0, block.shape[1])).cpu().numpy()


def assert_same(one: Any, other: Any) -> None:
    for p in (0, 1):
        for a, b in zip(one.pair[p], other.pair[p], strict=True):
            if a is None:
                continue
            for mine, yours in zip(a.blocks, b.blocks, strict=True):
                np.testing.assert_array_equal(every(mine), every(yours))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("kind", "schedule", "enterer"),
    [(kind, *case) for k, kind in enumerate(KINDS) for case in CASES[k :: len(KINDS)]],
)
def test_where_numbers_lie_changes_no_bit(
    wide: RangeTree, kind: Storage, schedule: str, enterer: int, device: str
) -> None:
    plan, sides, seen = parse(schedule), [], []
    for placement in PLACEMENTS:
        graphs = None if enterer < 0 else False
        engine = TorchRangeEngine(wide, device, storage=kind, placement=placement, graphs=graphs)
        learner = Watcher(engine, enterer) if enterer >= 0 else None
        run = started(engine, schedule, learner)
        for first in (11, 13):  # as solvers do, some at a time
            run.advance(plan.discounts(first, 3), 1)
        sides.append(run)
        mine, yours = (regrets.average for regrets in run.pair)
        responses = [
            engine.respond(1, engine.plan(0, mine)),
            engine.respond(0, engine.plan(1, yours)),
        ]
        responses.append(engine.values(0, mine, engine.plan(1, yours)))
        strategies = [np.asarray(engine.behaviour(p, run.pair[p].average)) for p in (0, 1)]
        rates = engine.rates(plan.discounts(15, 1), 15)[0]
        strategies += [np.asarray(engine.current(p, run.pair[p], rates)) for p in (0, 1)]
        watched = learner.seen if learner else []
        seen.append([*(response.roots for response in responses), *strategies, *watched])
    assert len(sides[1].pair[0].regret.blocks[-1].pieces) >= 3
    assert isinstance(sides[1].pair[0].average.blocks[-1], OffloadedBlock)
    assert not isinstance(sides[1].pair[0].average.blocks[0], OffloadedBlock)
    assert_same(*sides)
    for a, b in zip(*seen, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_every_board_a_slice(name: str) -> None:
    """The smallest pieces there are, of one board, with players who hold different hands."""
    tree = compile_range_tree(GAMES[name])
    sides = []
    for placement in PLACEMENTS:
        engine = TorchRangeEngine(tree, "cpu", scratch=1, placement=placement)
        sides.append(started(engine, "pdcfr+"))
        sides[-1].advance(parse("pdcfr+").discounts(11, 4), 1)
    assert engine.boards == 1
    assert_same(*sides)


@pytest.mark.parametrize("kind", KINDS)
def test_fused_kernels_work_on_pieces(kind: Storage) -> None:
    """Strides and ends of pieces are what kernels are told: no address lies outside of them."""
    tree = compile_range_tree(GAMES["suits"])
    sides, values = [], []
    with numpy_triton.installed():
        for placement in PLACEMENTS:
            engine = TorchRangeEngine(
                tree, "cpu", storage=kind, triton=True, graphs=False, placement=placement
            )
            run = started(engine, "pcfr+")
            run.advance(parse("pcfr+").discounts(11, 1), 1)
            values.append(engine.respond(0, engine.plan(1, run.pair[1].average)).roots)
            sides.append(run)
    assert_same(*sides)
    np.testing.assert_array_equal(values[0], values[1])


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_subgames_with_a_learner(kind: Storage) -> None:
    game = sg.holdem.nlfh(2000, 50, 100, "preflop: 1x / cap 1; flop: 1x / cap 1", "JQKA", "chs")
    engine, streets = (
        TorchRangeEngine(compile_range_tree(game), "cpu"),
        grow(game, grow(game)[0].leaves),
    )
    plan, sides, seen, rng = parse("dcfr"), [], [], np.random.default_rng(2)
    boards, hands = engine.levels[-1].units, engine.levels[-1].hands[0].wide
    ours = rng.random((len(streets[0].roots) * boards, hands))
    for placement in PLACEMENTS:
        batch = engine.stage(streets, storage=kind, placement=placement)
        assert batch.stage(streets).placement == placement  # as here
        learner = Watcher(batch, 1)
        run = started(batch, "dcfr", learner, (ours, None))
        run.advance(plan.discounts(11, 4), 1)
        sides.append(run)
        average, reach = run.pair[0].average, run.reach[0]
        results = [
            torch.from_numpy(batch.respond(1, batch.plan(0, average, ours)).roots),
            *batch.row_values(1, average, reach),
            *batch.row_reach(0, average, reach),
        ]
        seen.append([*results, *map(torch.tensor, learner.seen)])
    assert len(sides[1].pair[0].regret.blocks[0].pieces) > 1
    assert_same(*sides)
    for a, b in zip(*seen, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_strategies_come_and_go(wide: RangeTree, kind: Storage) -> None:
    inside, outside = (
        TorchRangeEngine(wide, "cpu", storage=kind, placement=placement) for placement in PLACEMENTS
    )
    probs = sg.Strategy.random(wide, seed=1).probs
    for p in (0, 1):
        a, b = inside.regrets(p), outside.regrets(p)
        assert a.average is not None
        assert b.average is not None
        a.average[:] = probs[p]
        b.average[:] = probs[p]
        np.testing.assert_array_equal(a.average.numpy(), b.average.numpy())
        assert keeping.kind_of(b.average.blocks[-1]) == kind
        kept = np.asarray(a.average)  # as a checkpoint does
        a.regret[:], b.regret[:] = kept, kept
        np.testing.assert_array_equal(np.asarray(a.regret), np.asarray(b.regret))
        made = from_numpy(outside, p, probs[p])  # in float32: what is evaluated is not rounded
        assert keeping.kind_of(made.blocks[-1]) == "float32"
        np.testing.assert_array_equal(made.numpy(), from_numpy(inside, p, probs[p]).numpy())
        plans = [one.plan(1 - p, probs[1 - p]) for one in (inside, outside)]
        np.testing.assert_array_equal(
            inside.values(p, probs[p], plans[0]).roots, outside.values(p, probs[p], plans[1]).roots
        )


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_read_and_written_like_tensors(kind: Storage) -> None:
    shape, device = (4, 70, 32), torch.device("cpu")
    values = torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    plain, block = keeping.blank(kind, shape, device), OffloadedBlock(kind, shape, 32, device)
    assert block.pieces == [slice(0, 32), slice(32, 64), slice(64, 70)]
    for one in (plain, block):
        one[:] = values
    whole = plain[:].float().clone()

    def same(got: Any, want: Any) -> None:
        torch.testing.assert_close(got, want, rtol=0, atol=0)

    same(block[:], whole)
    same(block[2], whole[2])
    same(*(keeping.load(one, slice(1, 3), torch.float64) for one in (block, plain)))
    for units in (slice(0, 70), slice(5, 6), slice(3, 65), slice(64, 70)):
        same(keeping.peek(block, units), whole[:, units])
    other = block.clone()
    for one in (plain, other):
        one[1] = whole[2]
        one[2:4] += whole[0:2]
    same(other[:], plain[:].float())
    same(block[:], whole)  # as before
    uneven = OffloadedBlock("float32", shape, 7, device).copy_(block)
    same(uneven[:], whole)
    same(block.copy_(plain)[:], plain[:].float())
    block.landed[0] = object()
    assert not block.zero_()[:].any()
    assert block.raw.data_ptr() != other.raw.data_ptr()


# Memory --------------------------------------------------------------------------------------
def test_an_estimate_says_what_is_taken(wide: RangeTree) -> None:
    """In host memory to the byte; of buffers on the device as well."""
    for kind in KINDS:
        for schedule in ("dcfr", "pcfr+(alternating=false)"):
            plan = parse(schedule)
            engine = TorchRangeEngine(wide, "cpu", storage=kind, placement="host")
            options = {"predictive": plan.predictive, "alternating": plan.alternating}
            estimate = engine.estimate(**options)
            assert estimate.placement == "host"
            run = started(engine, schedule)
            run.advance(plan.discounts(11, 3), 1)
            engine.respond(0, engine.plan(1, run.pair[1].average))
            kept = [*run.pair, *([engine._spare] if engine._spare else [])]
            parts = [part for regrets in kept for part in regrets if part is not None]
            assert estimate.host == sum(part.blocks[-1].raw.nbytes for part in parts)
            staged = engine.needs.staging(engine.boards, predictive=plan.predictive)
            assert len(engine.offloader.slabs) == BUFFERS
            assert {len(slab) for slab in engine.offloader.slabs} == {staged}
            above = 0
            for part in parts:
                for block in part.blocks[:-1]:
                    actions, units, hands = block.shape
                    above += keeping.stored_bytes(kind, actions, units * hands)
            tables = sum(frame.tables for frame in engine.frames)
            assert estimate.device > above + tables + BUFFERS * staged
            inside = TorchRangeEngine(wide, "cpu", storage=kind, placement="device")
            said = inside.estimate(**options)
            assert (said.placement, said.host) == ("device", 0)


def test_a_limit_is_kept_by_going_out_of_core(
    wide: RangeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PIECES", 2)
    inside = TorchRangeEngine(wide, "cpu", storage="bfloat16")
    assert inside.placement == "device"
    need = inside.estimate().device
    assert (
        TorchRangeEngine(wide, "cpu", storage="bfloat16", memory_limit=need).placement == "device"
    )
    seen = set()
    for limit in np.linspace(need - 1, need / 9, 20):
        try:
            engine = TorchRangeEngine(wide, "cpu", storage="bfloat16", memory_limit=limit)
        except MemoryLimitError as error:
            assert "needs at least" in str(error)  # noqa: PT017
            assert "with regrets and averages in host memory" in str(error)  # noqa: PT017
            continue
        assert engine.placement == "host"
        assert engine.estimate().device <= limit
        if engine.boards > 1:
            assert engine.estimate(predictive=True).device <= limit
        seen.add(engine.boards)
    assert {1, 32} < seen
    with pytest.raises(MemoryLimitError, match="needs about"):
        TorchRangeEngine(wide, "cpu", placement="device", memory_limit="1KB")
    stage = TorchRangeEngine(wide, "cpu").stage(
        wide.streets, memory_limit=need
    )  # float32 needs more
    assert stage.placement == "host"
    assert stage.estimate().device <= need


def test_what_fits_neither_is_refused(wide: RangeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert available() > 1 << 20
    monkeypatch.setattr(memory, "available", lambda: 1000.0)
    TorchRangeEngine(wide, "cpu")
    with pytest.raises(MemoryLimitError, match=r"of host memory beside .* only 1000 B are free"):
        TorchRangeEngine(wide, "cpu", placement="host")


def test_refusals_are_sentences(wide: RangeTree) -> None:
    with pytest.raises(sg.SubgameError, match="on the 'device' or the 'host', not 'disk'"):
        TorchRangeEngine(wide, "cpu", placement="disk")  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match="on the 'device' or the 'host', not 'disk'"):
        TorchRangeEngine(wide, "cpu").stage(wide.streets, placement="disk")  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match="number of bytes"):
        TorchRangeEngine(wide, "cpu", memory_limit=-1)
    one = TorchRangeEngine(wide, "cpu", placement="host")
    other = TorchRangeEngine(wide, "cpu", placement="host", scratch=1)
    assert one.boards != other.boards
    with pytest.raises(sg.SubgameError, match="have different parts"):
        one.values(0, one.blank(0), one.plan(1, other.blank(1)))


class Cudart:
    """Pins pages, or says that it cannot."""

    def __init__(self, answer: int) -> None:
        self.answer, self.held = answer, dict[int, int]()

    def cudaHostRegister(self, at: int, count: int, flags: int) -> int:
        self.held[at] = count
        return self.answer

    def cudaHostUnregister(self, at: int) -> int:
        del self.held[at]
        return 0


def test_pages_are_pinned_as_long_as_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    system, device = Cudart(0), SimpleNamespace(type="cuda")
    monkeypatch.setattr(torch.cuda, "cudart", lambda: system)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    raw = offload.host_bytes(10_000, device)
    assert not raw.any()
    part = raw[256:512].view(torch.float32)
    assert system.held == {raw.data_ptr(): 10_000}
    assert raw.data_ptr() % 4096 == 0
    del raw
    gc.collect()
    assert len(system.held) == 1
    assert part.fill_(1).sum() == 64
    del part
    gc.collect()
    assert not system.held
    system.answer = 2
    with pytest.raises(MemoryLimitError, match=r"could not pin 9\.8 KiB of host memory"):
        offload.host_bytes(10_000, device)


# Order ---------------------------------------------------------------------------------------
class Clocked(Queue):
    """A stream that knows what certainly came before each of its steps."""

    def __init__(self, name: str, log: Log) -> None:
        super().__init__(None)
        self.name, self.log = name, log
        self.clock: dict[str, int] = {}

    def wait(self, event: Any) -> None:
        for name, at in (event or {}).items():
            self.clock[name] = max(self.clock.get(name, 0), at)

    def mark(self) -> Any:
        return dict(self.clock)

    def step(self, reads: list[Any], writes: list[Any]) -> None:
        self.clock[self.name] = self.clock.get(self.name, 0) + 1
        self.log.steps.append((self.name, dict(self.clock), reads, writes))

    def copy(self, into: Any, source: Any) -> None:
        super().copy(into, source)
        self.step([source], [into])


class Log(Offloader):
    """An off-loader whose streams are clocked, and the steps they took."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.steps: list[Any] = []
        self.here = Clocked("here", self)
        self._in_and_out = Clocked("in", self), Clocked("out", self)

    def _here(self) -> Queue:
        return self.here

    def carry(self, places: Any, mine: Any, theirs: Any, *, learns: bool) -> Iterator[Any]:
        for place, own, other in super().carry(places, mine, theirs, learns=learns):
            blocks = [*own, *other]
            raws = [part for block in blocks if block is not None for part in parts(block)]
            count = sum(len(parts(block)) for block in own if block is not None)
            self.here.step(raws, raws[:count] if learns else [])
            yield place, own, other

    def races(self) -> int:
        """Pairs of steps on the same bytes, one of which writes, that nothing keeps in order."""
        count = 0
        steps = [(*step[:2], spans(step[2]), spans(step[3])) for step in self.steps]
        for k, (name, at, reads, writes) in enumerate(steps):
            for other, clock, more, others in steps[k + 1 :]:
                if other != name and clock.get(name, 0) < at[name]:
                    count += touch(writes, more + others) or touch(reads, others)
        return count


def parts(block: Any) -> list[Any]:
    return [block.ints, block.scales] if isinstance(block, keeping.Scaled) else [block]


def spans(tensors: list[Any]) -> list[tuple[int, int]]:
    return [(t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors]


def touch(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return any(a < d and c < b for a, b in one for c, d in other)


def raced(tree: RangeTree, schedule: str, kind: Storage = "float32") -> tuple[Log, int]:
    engine, plan = TorchRangeEngine(tree, "cpu", storage=kind, placement="host"), parse(schedule)
    engine.offloader = log = Log(engine.device)
    run = started(engine, schedule)
    run.advance(plan.discounts(11, 3), 1)
    engine.respond(0, engine.plan(1, run.pair[1].average))
    return log, log.races()


@pytest.mark.parametrize("schedule", ["dcfr", "pcfr+", "cfr-br(responder=0)"])
def test_copies_wait_for_what_they_need_and_for_nothing_else(schedule: str) -> None:
    tree = compile_range_tree(GAMES["nlfh"])
    log, races = raced(tree, schedule)
    assert races == 0
    # What comes waits for the work before last, at most: it comes beside the work on the last one.
    done = behind = 0
    for name, clock, _, _ in log.steps:
        done += name == "here"
        if name == "in" and done > BUFFERS:
            behind += 1
            assert clock["here"] < done
    assert behind > 100


@pytest.mark.parametrize("broken", ["_free", "landed", "came"])
def test_a_wait_that_is_left_out_is_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail."""
    real = Clocked.wait

    def wait(self: Clocked, event: Any) -> None:
        blind = {"_free": ("in", "here"), "landed": ("in", "out"), "came": ("here", "in")}[broken]
        if self.name == blind[0] and event:
            event = {name: at for name, at in event.items() if name != blind[1]}
        real(self, event)

    monkeypatch.setattr(Clocked, "wait", wait)
    assert raced(compile_range_tree(GAMES["nlfh"]), "dcfr")[1] > 0


def test_who_breaks_off_leaves_the_offloader_in_order() -> None:
    device = torch.device("cpu")
    offloader, block = Offloader(device), OffloadedBlock("float32", (2, 9, 32), 2, device)
    block[:] = torch.arange(2 * 9 * 32.0).view(2, 9, 32)
    places: Any = [SimpleNamespace(units=units) for units in block.pieces]
    kept, none = StreetNumbers(block), StreetNumbers(None)
    trip: Any = offloader.carry(places, kept, none, learns=True)
    next(trip)[1].weights.zero_()
    trip.close()
    again: Any = offloader.carry(places, kept, none, learns=False)
    got = [own.weights.clone() for _, own, _ in again]
    assert torch.equal(torch.cat(got, 1), block[:])
    assert torch.equal(block[:], torch.arange(2 * 9 * 32.0).view(2, 9, 32))
