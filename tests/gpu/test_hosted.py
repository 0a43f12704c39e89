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
from subgame.games.holdem.cards import Deck
from subgame.solve.schedule import parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton  # noqa: E402
from watching_door import Watch  # noqa: E402

from subgame.engines.torch import TorchRangeEngine, pinned  # noqa: E402
from subgame.engines.torch import memory as quotes  # noqa: E402
from subgame.engines.torch import storage as keeping  # noqa: E402
from subgame.engines.torch.doors import Doors  # noqa: E402
from subgame.engines.torch.memory import BUFFERS  # noqa: E402
from subgame.engines.torch.offload import Ferry, Hosted, Queue  # noqa: E402
from subgame.engines.torch.storage import Storage  # noqa: E402
from subgame.engines.torch.torch_ops import Mind  # noqa: E402

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
"""Each schedule, with a door before the one or the other player or none."""
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def wide() -> RangeTree:
    return compile_range_tree(WIDE)


def started(sweeps: Any, schedule: str, seed: int = 5) -> Any:
    """Memories with numbers in them, the same wherever they lie."""
    plan, rng = parse(schedule), np.random.default_rng(seed)
    memories = tuple(sweeps.memory(p, predictive=plan.predictive) for p in (0, 1))
    for memory in memories:
        for part in memory:
            for block in part.blocks:
                drawn = torch.from_numpy(rng.random(tuple(block.shape), dtype=np.float32))
                block.copy_(drawn.to(sweeps.device))
    return memories


def every(block: Any) -> Any:
    return keeping.peek(block, slice(0, block.shape[1])).cpu().numpy()


def assert_same(one: Any, other: Any) -> None:
    for p in (0, 1):
        for a, b in zip(one[p], other[p], strict=True):
            for mine, yours in zip(a.blocks, b.blocks, strict=True):
                np.testing.assert_array_equal(every(mine), every(yours))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("schedule", "door"), CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_home_changes_no_bit(
    wide: RangeTree, kind: Storage, schedule: str, door: int, device: str
) -> None:
    plan, sides, seen = parse(schedule), [], []
    homes: tuple[Any, Any] = ("device", "host")
    for home in homes:
        engine = TorchRangeEngine(wide, device, storage=kind, home=home)
        memories = started(engine, schedule)
        watch = Watch(wide, door) if door >= 0 else None
        for first in (11, 13):  # as solvers do, some at a time
            discounts = plan.discounts(first, 3)
            engine.iterate(memories, discounts, plan.alternating, watch, plan.responder)
        sides.append(memories)
        judged = [engine.respond(1 - p, engine.plan(p, memories[p].average)).slots for p in (0, 1)]
        mine, yours = (memory.average for memory in memories)
        judged.append(engine.values(0, mine, engine.plan(1, yours)))
        seen.append([*judged, *(watch.seen if watch else [])])
    assert len(sides[1][0].regret.blocks[-1].pieces) >= 3
    assert isinstance(sides[1][0].average.blocks[-1], Hosted)
    assert not isinstance(sides[1][0].average.blocks[0], Hosted)
    assert_same(*sides)
    for a, b in zip(*seen, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", sorted(GAMES))
def test_every_board_a_slice(name: str) -> None:
    """The smallest pieces there are, of one board, with players who hold different hands."""
    tree = compile_range_tree(GAMES[name])
    sides = []
    homes: tuple[Any, Any] = ("device", "host")
    for home in homes:
        engine = TorchRangeEngine(tree, "cpu", scratch=1, home=home)
        memories = started(engine, "pdcfr+")
        engine.iterate(memories, parse("pdcfr+").discounts(11, 4), True)
        sides.append(memories)
    assert engine.boards == 1
    assert_same(*sides)


@pytest.mark.parametrize("kind", KINDS)
def test_fused_kernels_work_on_pieces(kind: Storage) -> None:
    """Strides and ends of pieces are what kernels are told: no address lies outside of them."""
    tree = compile_range_tree(GAMES["suits"])
    sides = []
    with numpy_triton.installed():
        homes: tuple[Any, Any] = ("device", "host")
        for home in homes:
            engine = TorchRangeEngine(
                tree, "cpu", storage=kind, fused=True, graphs=False, home=home
            )
            memories = started(engine, "pcfr+")
            engine.iterate(memories, parse("pcfr+").discounts(11, 2), True)
            best = engine.respond(0, engine.plan(1, memories[1].average)).slots
            sides.append((*memories, best))
    assert_same(*(side[:2] for side in sides))
    np.testing.assert_array_equal(sides[0][2], sides[1][2])


@pytest.mark.parametrize("kind", KINDS)
def test_stages_with_gadgets_before_their_roots(kind: Storage) -> None:
    game = sg.holdem.nlfh(2000, 50, 100, "preflop: 1x / cap 1; flop: 1x / cap 1", "JQKA", "chs")
    engine, streets = (
        TorchRangeEngine(compile_range_tree(game), "cpu"),
        grow(game, grow(game)[0].leaves),
    )
    plan, sides, rng = parse("dcfr"), [], np.random.default_rng(2)
    homes: tuple[Any, Any] = ("device", "host")
    shape = (len(streets[0].roots), engine.levels[-1].units, engine.levels[-1].hands[0].wide)
    ours, alternative = (torch.from_numpy(rng.random(shape)) for _ in range(2))
    for home in homes:
        stage = engine.stage(streets, storage=kind, home=home)
        assert stage.stage(streets).home == home  # as here
        weight = stage.opposing(1, ours)
        door = Doors("leave", 1, weight, alternative)
        memories = started(stage, "dcfr")
        stage.run(memories, plan.discounts(11, 4), plan.alternating, (ours, weight), door)
        paid = stage.judge(1, None, memories[0].average, ours)
        sides.append(
            (
                *memories,
                [
                    paid,
                    door.regret,
                    *stage.worths(1, memories[0].average, ours),
                    *stage.reaches(0, memories[0].average, ours),
                ],
            )
        )
    assert len(memories[0].regret.blocks[0].pieces) > 1
    assert_same(*(side[:2] for side in sides))
    for a, b in zip(sides[0][2], sides[1][2], strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_strategies_come_and_go(wide: RangeTree, kind: Storage) -> None:
    inside, outside = (
        TorchRangeEngine(wide, "cpu", storage=kind, home=home) for home in get_args(quotes.Home)
    )
    probs = sg.Strategy.random(wide, seed=1).probs
    for p in (0, 1):
        a, b = inside.memory(p), outside.memory(p)
        a.average.read(probs[p])
        b.average.read(probs[p])
        np.testing.assert_array_equal(a.average.numpy(), b.average.numpy())
        assert keeping.kind_of(b.average.blocks[-1]) == kind
        kept = np.asarray(a.average)  # as a checkpoint does
        a.regret[:], b.regret[:] = kept, kept
        np.testing.assert_array_equal(np.asarray(a.regret), np.asarray(b.regret))
        made = outside.from_cpu(p, probs[p])  # in float32: what is judged is not rounded
        assert keeping.kind_of(made.blocks[-1]) == "float32"
        np.testing.assert_array_equal(made.numpy(), inside.from_cpu(p, probs[p]).numpy())
        plans = [one.plan(1 - p, probs[1 - p]) for one in (inside, outside)]
        np.testing.assert_array_equal(
            inside.values(p, probs[p], plans[0]), outside.values(p, probs[p], plans[1])
        )


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_read_and_written_like_tensors(kind: Storage) -> None:
    shape, device = (4, 70, 32), torch.device("cpu")
    values = torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    plain, block = keeping.blank(kind, shape, device), Hosted(kind, shape, 32, device)
    assert block.pieces == [slice(0, 32), slice(32, 64), slice(64, 70)]
    for one in (plain, block):
        one[:] = values
    whole = plain[:].float().clone()

    def same(given: Any, want: Any) -> None:
        torch.testing.assert_close(given, want, rtol=0, atol=0)

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
    uneven = Hosted("float32", shape, 7, device).copy_(block)
    same(uneven[:], whole)
    same(block.copy_(plain)[:], plain[:].float())
    block.landed[0] = object()
    assert not block.zero_()[:].any()
    assert block.data_ptr() != other.data_ptr()


# Memory --------------------------------------------------------------------------------------
def test_a_quote_says_what_is_taken(wide: RangeTree) -> None:
    """In host memory to the byte; of buffers on the device as well."""
    for kind in KINDS:
        for schedule in ("dcfr", "pcfr+(alternating=false)"):
            plan = parse(schedule)
            engine = TorchRangeEngine(wide, "cpu", storage=kind, home="host")
            options = {"predictive": plan.predictive, "alternating": plan.alternating}
            quote = engine.quote(**options)
            assert quote.home == "host"
            assert "in host memory, from where" in str(quote)
            memories = started(engine, schedule)
            engine.iterate(memories, plan.discounts(11, 3), plan.alternating)
            engine.respond(0, engine.plan(1, memories[1].average))
            kept = [*memories, *([engine._spare] if engine._spare else [])]
            parts = [part for memory in kept for part in memory if part.blocks]
            if engine._spare:  # its average is that of the memory itself
                parts = list({id(part): part for part in parts}.values())
            assert quote.host == sum(part.blocks[-1].raw.nbytes for part in parts)
            staged = engine._needs().staging(engine.boards, predictive=plan.predictive)
            assert len(engine.ferry.slabs) == BUFFERS
            assert {len(slab) for slab in engine.ferry.slabs} == {staged}
            above = 0
            for part in parts:
                for block in part.blocks[:-1]:
                    actions, units, hands = block.shape
                    above += keeping.stored_bytes(kind, actions, units * hands)
            tables = sum(frame.tables for frame in engine.frames)
            assert quote.device > above + tables + BUFFERS * staged
            inside = TorchRangeEngine(wide, "cpu", storage=kind, home="device").quote(**options)
            assert (inside.home, inside.host) == ("device", 0)
            assert str(inside).endswith("on the device")


def test_a_limit_is_kept_by_going_out_of_core(
    wide: RangeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quotes, "PIECES", 2)
    inside = TorchRangeEngine(wide, "cpu", storage="bfloat16")
    assert inside.home == "device"
    need = inside.quote().device
    assert TorchRangeEngine(wide, "cpu", storage="bfloat16", memory_limit=need).home == "device"
    seen = set()
    for limit in np.linspace(need - 1, need / 9, 20):
        try:
            engine = TorchRangeEngine(wide, "cpu", storage="bfloat16", memory_limit=limit)
        except sg.MemoryLimitError as error:
            assert "needs at least" in str(error)  # noqa: PT017
            assert "with regrets and averages in host memory" in str(error)  # noqa: PT017
            continue
        assert engine.home == "host"
        assert engine.quote().device <= limit
        if engine.boards > 1:
            assert engine.quote(predictive=True).device <= limit
        seen.add(engine.boards)
    assert {1, 32} < seen
    with pytest.raises(sg.MemoryLimitError, match="needs about"):
        TorchRangeEngine(wide, "cpu", home="device", memory_limit="1KB")
    stage = TorchRangeEngine(wide, "cpu").stage(
        wide.streets, memory_limit=need
    )  # float32 needs more
    assert stage.home == "host"
    assert stage.quote().device <= need


def test_what_fits_neither_is_refused(wide: RangeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    assert quotes.available() > 1 << 20
    monkeypatch.setattr(quotes, "available", lambda: 1000.0)
    TorchRangeEngine(wide, "cpu")
    with pytest.raises(sg.MemoryLimitError, match=r"of host memory beside .* and 1000 B are there"):
        TorchRangeEngine(wide, "cpu", home="host")


def test_refusals_are_sentences(wide: RangeTree) -> None:
    with pytest.raises(sg.SubgameError, match="on the 'device' or the 'host', not 'disk'"):
        TorchRangeEngine(wide, "cpu", home="disk")  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match="on the 'device' or the 'host', not 'disk'"):
        TorchRangeEngine(wide, "cpu").stage(wide.streets, home="disk")  # type: ignore[arg-type]
    with pytest.raises(sg.SubgameError, match="number of bytes"):
        TorchRangeEngine(wide, "cpu", memory_limit=-1)
    one = TorchRangeEngine(wide, "cpu", home="host")
    other = TorchRangeEngine(wide, "cpu", home="host", scratch=1)
    assert one.boards != other.boards
    reach = one.slots(wide.players[1].reach, torch.float64)
    with pytest.raises(sg.SubgameError, match="cut differently"):
        one.judge(0, one.blank(0), other.blank(1), reach)


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
    raw = pinned.host_bytes(10_000, device)
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
    with pytest.raises(sg.MemoryLimitError, match=r"would not pin 9\.8 KiB of host memory"):
        pinned.host_bytes(10_000, device)


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


class Log(Ferry):
    """A ferry whose streams are clocked, and the steps they took."""

    def __init__(self, device: Any) -> None:
        super().__init__(device)
        self.steps: list[Any] = []
        self.here = Clocked("here", self)
        self._ways = Clocked("in", self), Clocked("out", self)

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
        found = 0
        for k, (name, _, reads, writes) in enumerate(self.steps):
            mine = spans(reads), spans(writes)
            own = self.steps[k][1][name]
            for other, clock, more, others in self.steps[k + 1 :]:
                theirs = spans(more), spans(others)
                met = touch(mine[1], theirs[0] + theirs[1]) or touch(mine[0], theirs[1])
                if met and other != name and clock.get(name, 0) < own:
                    found += 1
        return found


def parts(block: Any) -> list[Any]:
    return [block.ints, block.scales] if isinstance(block, keeping.Scaled) else [block]


def spans(tensors: list[Any]) -> list[tuple[int, int]]:
    return [(t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors]


def touch(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> bool:
    return any(a < d and c < b for a, b in one for c, d in other)


def raced(tree: RangeTree, schedule: str, kind: Storage = "float32") -> tuple[Log, int]:
    engine, plan = TorchRangeEngine(tree, "cpu", storage=kind, home="host"), parse(schedule)
    engine.ferry = log = Log(engine.device)
    memories = started(engine, schedule)
    engine.iterate(memories, plan.discounts(11, 3), plan.alternating, None, plan.responder)
    engine.respond(0, engine.plan(1, memories[1].average))
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


def test_who_breaks_off_leaves_the_ferry_in_order() -> None:
    device = torch.device("cpu")
    ferry, block = Ferry(device), Hosted("float32", (2, 9, 32), 2, device)
    block[:] = torch.arange(2 * 9 * 32.0).view(2, 9, 32)
    places: Any = [SimpleNamespace(units=units) for units in block.pieces]
    mind, none = Mind(block), Mind(None)
    trip: Any = ferry.carry(places, mind, none, learns=True)
    next(trip)[1].weights.zero_()
    trip.close()
    again: Any = ferry.carry(places, mind, none, learns=False)
    got = [own.weights.clone() for _, own, _ in again]
    assert torch.equal(torch.cat(got, 1), block[:])
    assert torch.equal(block[:], torch.arange(2 * 9 * 32.0).view(2, 9, 32))
