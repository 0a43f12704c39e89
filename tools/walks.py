"""How far one has to read: `python tools/walks.py [--json] [--show] [SOURCES ...]`.

Four data are followed through the package as a reader would follow them: a blueprint through
`refine`, gadget inputs, a spot from the command to the kernels, a decision of the agent. Each is an
operation that runs under a profiler, in a process of its own. Two things are counted, each as files
and as returns, which are steps into a file that was left before:

* the *path*: the functions on the stack where the kernels are called first, from the outermost on;
* *everything*: all functions that are called, each where it is called first, and once.

Imports, the bodies of classes and comprehensions do not count. Of gadget inputs only functions
count that take or return them, and there is no path, because they are followed through four
operations.

SOURCES are folders that contain the package, so that several commits can be compared; without one
it is `src` of this checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = "subgame"
HERE = Path(__file__).parent.parent / "src"
INPUTS = "GadgetInputs"


class ArrivedError(BaseException):
    """The walk has come to its end."""


class Walk:
    """The functions of the package that an operation calls, in the order of their first calls."""

    def __init__(self, takes: str = "", ends: bool = False) -> None:
        """`takes` is a type: only functions that take or return it are read. A walk that `ends`
        ends at the kernels."""
        self.takes, self.ends = takes, ends
        self.functions: dict[tuple[str, str], None] = {}
        self.path: list[str] = []
        self._importing: list[FrameType] = []

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        file = file_of(frame)
        if not file or event not in ("call", "return"):
            return
        name = frame.f_code.co_name
        if name == "<module>":
            if event == "call":
                self._importing.append(frame)
            elif frame in self._importing:
                self._importing.remove(frame)
            return
        if self._importing or name.startswith("<"):
            return
        if not self.takes or self._has(frame, event, value):
            self.functions.setdefault((file, frame.f_code.co_qualname))
        is_kernel = file.startswith("engines/") and name in ("sweep", "iterate", "loop")
        if is_kernel and event == "call" and not self.path:
            self.path = stack(frame)
            if self.ends:
                raise ArrivedError

    def _has(self, frame: FrameType, event: str, value: object) -> bool:
        values = frame.f_locals.values() if event == "call" else [value]
        return any(type(item).__name__ == self.takes for item in values)

    def run(self, operation: Callable[[], object]) -> dict[str, Any]:
        """The measures of an operation."""
        sys.setprofile(self)
        try:
            with redirect_stdout(StringIO()):
                operation()
        except ArrivedError:
            pass
        finally:
            sys.setprofile(None)
        every = counted([file for file, _ in self.functions])
        return {"path": {} if self.takes else counted(self.path), "everything": every}


def file_of(frame: FrameType) -> str:
    """The file of a frame inside the package; "" for others."""
    before, inside, file = frame.f_code.co_filename.rpartition(f"/{PACKAGE}/")
    return file if inside and before else ""


def stack(frame: FrameType | None) -> list[str]:
    """The files of the package on the stack, from the outermost function on."""
    files = []
    while frame is not None:
        if file_of(frame) and not frame.f_code.co_name.startswith("<"):
            files.append(file_of(frame))
        frame = frame.f_back
    return files[::-1]


def counted(steps: list[str]) -> dict[str, Any]:
    """How many files a walk has, and how often it comes back to one."""
    walk = [file for k, file in enumerate(steps) if k == 0 or file != steps[k - 1]]
    files = set(walk)
    return {
        "files": len(files),
        "returns": len(walk) - len(files),
        "functions": len(steps),
        "walk": walk,
    }


def blueprint() -> dict[str, Any]:
    """A blueprint of Leduc through `refine`."""
    import subgame as sg

    tree = sg.compile(sg.games.load("leduc"))
    uniform = sg.Strategy.uniform(tree)
    sg.exploitability(tree, uniform)
    return Walk().run(
        lambda: sg.refine(
            tree, uniform, at="after the board card", technique="maxmargin", iterations=5
        )
    )


def inputs() -> dict[str, Any]:
    """Gadget inputs: subgames refined on both kinds of tree, and off-tree bets answered."""
    import subgame as sg
    from subgame.games.holdem.cards import Deck

    def endgame(board: str, bets: str) -> sg.PublicTree:
        deck = Deck("TJQKA", "hs")
        return sg.compile(sg.holdem.endgame(board, 4, 12, ("*", "*"), bets, deck=deck))

    def kuhn(bets: str) -> sg.PublicTree:
        return sg.compile(sg.games.load(f"no-limit-kuhn(stack=6, bets={bets})"))

    leduc, turn = sg.compile(sg.games.load("leduc")), endgame("QsJhThKs", "all: 1x / cap 1")
    river = "QsJhThKsAh"
    nested = [
        (endgame(river, "all: 0.5x 1x / cap 1"), endgame(river, "all: 1x / cap 1")),
        (kuhn("all"), kuhn("fcpa")),
    ]

    def operation() -> None:
        for tree, at in ((leduc, "after the board card"), (turn, "after the river")):
            uniform = sg.Strategy.uniform(tree)
            sg.refine(tree, uniform, at=at, technique="reach-maxmargin", player=0, iterations=2)
        for wide, narrow in nested:
            sg.nest(wide, sg.Strategy.uniform(narrow), technique="maxmargin", iterations=2)

    return Walk(INPUTS).run(operation)


def spot() -> dict[str, Any]:
    """A spot from the command to the kernels."""
    from subgame.cli import main

    words = "endgame --board QsJh2h8d3c --pot 100 --stack 200 --bets 1x --iterations 2 --json"

    return Walk(ends=True).run(lambda: main(words.split()))


def decision() -> dict[str, Any]:
    """A decision of the agent on the turn, after the streets before it."""
    from subgame.games import load
    from subgame.play.blueprint_agent import BlueprintAgent

    try:
        module = import_module("subgame.play.hunl.agent")
    except ImportError:  # where it was once
        module = import_module("subgame.play.holdem_agent")
    from subgame.play.agent import Event

    game = load("hunl")
    agent = module.HoldemAgent(
        game,
        BlueprintAgent(game).blueprint,
        bets="turn: 0.75x / cap 1; river: 0.75x / cap 1",
        limited="flop: 0.75x / cap 1",
        iterations=2,
        seconds=None,
    )
    agent.begin(seat=0, seed=0)
    for player, action in ((1, "r250"), (0, "c"), (-1, "Jh9sTs"), (0, "c"), (1, "c"), (-1, "Qs")):
        agent.observe(Event(player, action))
    infoset = "AsAh | Jh 9s Ts Qs | r250c/cc/"
    return Walk().run(lambda: agent.act(infoset, ("c", "r375")))


WALKS = {
    "a blueprint through refine": blueprint,
    "gadget inputs": inputs,
    "a spot from the command to the kernels": spot,
    "a decision of the agent": decision,
}


def walked(name: str, sources: Path) -> dict[str, Any]:
    """A walk in another process, with the package of a folder; kernels are compiled beforehand."""
    environment = os.environ | {"PYTHONPATH": str(sources.resolve())}
    command = [sys.executable, __file__, "--walk", name]
    for _ in range(2):
        text = subprocess.check_output(command, env=environment, text=True)
    answer: dict[str, Any] = json.loads(text.splitlines()[-1])
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--json", action="store_true", help="print the measures as JSON")
    parser.add_argument("--show", action="store_true", help="print the files in their order")
    parser.add_argument("--walk", choices=WALKS, help="one walk, with the package on the path")
    options = parser.parse_args()
    if options.walk:
        print(json.dumps(WALKS[options.walk]()))
        return
    walks = {name: [walked(name, place) for place in options.sources] for name in WALKS}
    if options.json:
        print(json.dumps(walks, indent=1))
        return
    for name, columns in walks.items():
        print(name)
        for kind in ("path", "everything"):
            rows = [one[kind] for one in columns if one[kind]]
            shown = (f"{row['files']} files, {row['returns']} returns" for row in rows)
            print(f"  {kind}: {'; '.join(shown) or '-'}")
            if options.show:
                print("\n".join("    " + " -> ".join(row["walk"]) for row in rows))


if __name__ == "__main__":
    main()
