"""The fused kernels' text, run by NumPy: the same numbers as plain PyTorch, and no address astray.

What Triton makes of them is checked on a GPU, by ``python benchmarks/gpu_check``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

import numpy_triton  # noqa: E402

from gpu_check import agreement as check_agreement  # noqa: E402
from gpu_check.measure import Scale  # noqa: E402
from subgame.engines.contract import Mode, Regrets  # noqa: E402
from subgame.engines.rounding import WIDTH  # noqa: E402
from subgame.engines.torch.batch import RangeBatch  # noqa: E402
from subgame.engines.torch.layout import SEGMENT, Hands, Level, Tables, betting  # noqa: E402
from subgame.engines.torch.memory import Needs  # noqa: E402
from subgame.engines.torch.storage import Storage  # noqa: E402
from subgame.engines.torch.torch_ops import Place  # noqa: E402
from subgame.engines.torch.traversal import Sweep  # noqa: E402
from subgame.games import holdem  # noqa: E402
from subgame.tree.ranges.betting_tree import grow  # noqa: E402


@pytest.fixture
def triton() -> Iterator[None]:
    with numpy_triton.installed():
        yield


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize("name", ["river", "raked", "nlfh"])
def test_kernels_say_what_plain_pytorch_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_agreement, "NAMED", ("cfr", "pcfr+", "dcfr(tremble=0.01)"))
    errors = check_agreement.agreement("cpu", (name,), 1)
    assert max(errors[name].values()) < 1e-5


@pytest.mark.usefixtures("triton")
def test_kernels_round_as_plain_pytorch_does() -> None:
    """All but where the arithmetic before differs in its last bit."""
    cases = check_agreement.rounding("cpu", ("river", "turn"), 2)
    for name, case in cases.items():
        if name != "seed":
            assert case["bits"] < 1.1
            assert case["share"] < 0.01


@pytest.mark.usefixtures("triton")
def test_doors_before_kernels() -> None:
    errors = check_agreement.gadgets("cpu", "preflop: none; flop: 1x / cap 1", 1, 3)
    assert max(far for name, far in errors.items() if name != "seed") < 1e-5


@dataclass
class Large:
    """A street of a whole game: boards and hands, padded; hands of the street above."""

    units: int
    wide: int
    up: int


WHOLE = [Large(1, 1344, 0), Large(1755, 1184, 1344), Large(63193, 1152, 1184)]


def imagined(bets: str, storage: Storage) -> RangeBatch:
    """Turn hold'em in full, on a device without memory."""
    from subgame.engines.torch.fused import FusedOps

    class Ops(FusedOps):
        def _put(self, array: Any) -> Any:
            return torch.from_numpy(array)  # what says where to read is needed

    levels, places = [], []
    for s, (street, size) in enumerate(zip(grow(holdem.nlth(bets=bets)), WHOLE, strict=True)):
        one = (size.units, size.wide)
        shapes = {
            "above": one,
            "below": (size.units, size.up),
            "orbit": (*one, 16 if s < 2 else 0),
            "cards": (*one, 2),
            "lists": (size.units, 64, 64),
            "bounds": (*one, 2),
            "spots": (*one, 4),
            "same": one,
        }
        kinds = {name: np.int32 if name == "above" else np.int16 for name in shapes}
        none = {name: np.broadcast_to(kinds[name](0), shape) for name, shape in shapes.items()}
        held = np.full(size.units, size.wide)
        hands = Hands(size.wide, held, held, Tables(**none))
        segments = np.array(
            [(k, min(k + SEGMENT, size.units)) for k in range(0, size.units, SEGMENT)]
        )
        above = WHOLE[s - 1].units if s else 1
        at = np.linspace(0, len(segments), above + 1).astype(np.int64)
        weight = np.ones(size.units)
        level = Level(
            size.units,
            s == 2,
            betting(street),
            (hands, hands),
            weight,
            np.zeros(0, np.int64),
            segments,
            at,
        )
        tables = Tables(
            *(
                torch.empty(
                    shape, dtype=torch.int32 if name == "above" else torch.int16, device="meta"
                )
                for name, shape in shapes.items()
            )
        )
        every = slice(0, size.units)
        places.append(Place(level, (tables, tables), torch.empty(size.units, device="meta"), every))
        levels.append(level)
    ops = Ops(torch.device("meta"))
    needs = Needs([level.frame for level in levels], storage, 48 << 30, True, False)
    tree: Any = SimpleNamespace(deals=1.0)
    return RangeBatch(tree, levels, places, ops, needs)


@pytest.mark.usefixtures("triton")
@pytest.mark.parametrize(
    ("bets", "storage"), [(holdem.spots.NLTH_BETS, "float32"), (Scale.two_sizes, "int16")]
)
def test_addresses_of_the_largest_trees(bets: str, storage: Storage) -> None:
    """More than 2^32 numbers a block: the first and last programs of every kernel, both ways."""
    numpy_triton.Kernel.corners = True
    engine = imagined(bets, storage)
    pair = engine.regrets(0), engine.regrets(1)
    rates = torch.zeros(WIDTH)
    seen = numpy_triton.Pointer.farthest = [0]
    reach = torch.zeros((1, 1, 1326), device="meta")
    for p, (mine, theirs) in enumerate((pair, pair[::-1])):
        engine.traverse(Sweep(p, Mode.LEARN, mine, theirs, rates, rates, reach, reach))
        farthest = mine.regret.blocks[-1].shape
        assert seen[0] >= (farthest[0] - 1) * farthest[1] * farthest[2]
        assert seen[0] > 2**31
    still = Regrets(pair[0].average, None, None)
    double = rates.double()
    engine.traverse(Sweep(1, Mode.BEST, still, still, double, double, None, reach.double()))
