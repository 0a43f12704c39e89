"""Compile the kernels of a wheel: object code for common processors, so that users compile nothing.

    python tools/build_kernels.py FOLDER

writes ``FOLDER/<target>/<entry>.o`` for all targets and every kernel that solves, evaluates or
refines hold'em and sequence trees, and ``FOLDER/sources``, the hash of the sources. The target need
not be of the builder's architecture.

The build hook (`hatch_build.py`) puts the folder into the wheel as
`subgame/engines/numba/shipped`. `native.TARGETS` says which processors run which code. It takes two
minutes of one core.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import subgame as sg
from subgame.engines.contract import Mode
from subgame.engines.factory import engine
from subgame.engines.numba import native
from subgame.engines.numba.native import Kernel
from subgame.engines.numba.objects import Target, object_codes
from subgame.engines.numba.ranges import STORAGES
from subgame.games.holdem.cards import Deck
from subgame.solve.cfr import Cfr

TARGETS = {
    "x86_64-v4": Target("x86_64-unknown-linux-gnu", "x86-64-v4", ""),
    "x86_64-v3": Target("x86_64-unknown-linux-gnu", "x86-64-v3", ""),
    "armv8.2": Target("aarch64-unknown-linux-gnu", "generic", "+neon,+lse"),
}
"""LLVM's names of `native.TARGETS`."""
assert TARGETS.keys() == native.TARGETS.keys()


def used() -> dict[tuple[str, str, Any], Kernel]:
    """Every kernel and the kinds of arguments it is called with, by using all operations.

    The kernels themselves do nothing meanwhile.
    """
    result: dict[tuple[str, str, Any], Kernel] = {}

    def noted(self: Kernel, kind: Any) -> Any:
        result[self.module, self.name, kind] = self
        return lambda address: 0

    usual, native.Kernel._entry = native.Kernel._entry, noted  # type: ignore[method-assign]
    try:
        for storage in STORAGES:
            use(range_tree(), storage)
            rows(range_tree(), storage)
        use(sg.compile(sg.games.load("kuhn")), "float32")
    finally:
        native.Kernel._entry = usual  # type: ignore[method-assign]
    return result


def range_tree() -> sg.PublicTree:
    """A tiny turn."""
    game = sg.holdem.endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    return sg.compile(game, merge=False)


def use(tree: sg.PublicTree, storage: str) -> None:
    """Learn and evaluate on a tree."""
    run = engine(tree, storage=storage)
    for predictive in (False, True):
        cfr = Cfr(run, predictive=predictive)
        cfr.advance(np.ones((3, 3)), 1, check=run.can_check)
        rates = run.rates(np.ones((1, 3)), 1)[0]
        reach = run.roots(0), run.roots(1)
        run.sweep(0, Mode.LEARN, cfr.pair, (rates, rates), reach)
        run.current(0, cfr.pair[0], rates)
    average = cfr.pair[0].average
    assert average is not None
    sigma = run.behaviour(0, average)
    for played in (sigma, run.weights(0, average)):
        run.values(0, played, run.plan(1, played))
        run.respond(0, run.plan(1, played))
    run.responses((sigma, run.behaviour(1, cfr.pair[1].average)))


def rows(tree: sg.PublicTree, storage: str) -> None:
    """Evaluate single streets of a hold'em tree, as gadgets do."""
    run: Any = engine(tree, storage=storage)
    sigma = sg.Strategy.uniform(tree).probs
    reach = run.row_reach(0, sigma[0], run.roots(0))
    run.row_values(0, sigma[1], run.roots(1))
    run.opposing(1, reach[0], 0)


def build(folder: Path) -> None:
    """Write the object code of all kernels for all targets."""
    for (_, name, kind), kernel in sorted(used().items(), key=lambda item: str(item[0])):
        entry = native.entry_name(kernel, kind)
        codes = object_codes(kernel.dispatcher.py_func, kind, entry, list(TARGETS.values()))
        for target, code in zip(TARGETS, codes, strict=True):
            (folder / target).mkdir(parents=True, exist_ok=True)
            (folder / target / f"{entry}.o").write_bytes(code)
        print(f"{name}: {', '.join(f'{len(code):,}' for code in codes)} bytes", flush=True)
    (folder / "sources").write_text(native._sources())


if __name__ == "__main__":
    build(Path(sys.argv[1]))
