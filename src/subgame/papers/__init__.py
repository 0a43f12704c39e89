"""The papers' experiments, reproduced: one key each, the paper's figures beside ours.

    >>> from subgame import papers
    >>> print(*papers.KEYS)
    coin-toss burch2014-fig3 burch2014-fig4 burch2014-cfr-d burch2014-fig5 brown2017-table2
    brown2017-table1 brown2017-table3 brown2017-table4 brown2017-table5 brown2017-fig7
    no-limit-leduc-sizes kubicek2026-refined zhang2021-klss li2026-vad-cfr meng2025-rtcfr
    zhang2025-ireg brown2018-rps-plus brown2018-fig2 brown2018-fig2-one-bet brown2018-preflop
    brown2018-table1 brown2018-lbr libratus-endgames moravcik2016-fig5 flop-agent

A quick run takes seconds; a full one is what `docs/results` holds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.papers.report import Found, Progress, Report, command, notes_of

__all__ = ["KEYS", "Progress", "Report", "Reproduction", "reproduce"]

BROWN = "Brown & Sandholm 2017"
DEPTH = "Brown, Sandholm & Amos 2018"
BURCH = "Burch, Johanson & Bowling 2014"
LI = "Li, Schultz, Hennes & Lanctot 2026"
MENG = "Meng et al. 2025"
KUBICEK = "Kubíček, Lisý & Sandholm 2026"
ZHANG = "Zhang & Sandholm 2021"
INCREASING = "Zhang, Anagnostides & Sandholm 2025"
MORAVCIK = "Moravčík et al. 2016"
TITLES = {
    LI: "Discovering Multiagent Learning Algorithms with Large Language Models",
    MENG: "Efficient Last-Iterate Convergence in Solving Extensive-Form Games",
    ZHANG: "Subgame Solving without Common Knowledge",
    INCREASING: "Scale-Invariant Regret Matching and Online Learning with Optimal Convergence: "
    "Bridging Theory and Practice in Zero-Sum Games",
    BROWN: "Safe and Nested Subgame Solving for Imperfect-Information Games",
    DEPTH: "Depth-Limited Solving for Imperfect-Information Games",
    BURCH: "Solving Imperfect Information Games Using Decomposition",
    MORAVCIK: "Refining Subgames in Large Imperfect Information Games",
    KUBICEK: "Equilibrium Refinements Improve Subgame Solving in Imperfect-Information Games",
}


@dataclass(frozen=True)
class Reproduction:
    """An experiment of a paper that can be run again.

    >>> from subgame.papers import KEYS
    >>> "coin-toss" in KEYS
    True
    """

    key: str
    """Its name; the module of the same name has the experiment, `run`, and notes on it."""
    paper: str
    takes: str
    """How long a full run takes."""
    what: str
    besides: str = ""
    """What to cite besides the paper's title."""
    needs_torch: bool = False
    """Whether it runs on PyTorch, the optional extra."""
    budgeted: bool = False
    """Whether a full run is cut to a budget of CPU seconds, and can be stopped and resumed."""
    resumable: bool = False
    """Whether it can be stopped and resumed, cell by cell."""
    choices: Mapping[str, type] = field(default_factory=dict)
    """What else can be chosen for a run, by name: a number or a text."""
    module: str = ""
    """The module, where it has another name than the key."""
    entry: str = "run"
    """The function of the module."""

    def run(
        self, quick: bool = False, seed: int = 0, progress: Progress | None = None, **asked: Any
    ) -> Report:
        """Run it. `progress` is called with the current step and the share of the work done.

        What else is `asked` for are arguments of `options`.
        """
        options = self.options(quick, seed, **asked)

        from subgame.solve.solver import whole_solves

        began = time.perf_counter()
        name = self.module or self.key.replace("-", "_")
        module = import_module(f"subgame.papers.{name}")  # imported only now, because it is slow
        tell = progress or (lambda what, share: None)
        with whole_solves():
            results: Found = getattr(module, self.entry)(quick, seed, tell, **options)
        return Report(
            key=self.key,
            paper=f"{self.paper}, {TITLES[self.paper]}{self.besides}",
            what=self.what,
            rows=results.rows,
            data=results.data,
            command=command(self.key, quick, seed, options),
            seed=seed,
            settings={**results.settings, "quick": quick},
            notes=notes_of(module),
            seconds=time.perf_counter() - began,
        )

    def options(
        self,
        quick: bool = False,
        seed: int = 0,
        budget: float | None = None,
        keep: Path | None = None,
        chosen: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        """The options of the experiment's function; an error if one cannot be given.

        What a long run has found so far goes to the file `keep`, from which it is resumed.
        `chosen` are values for some of its `choices`.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ArgumentError("seed", f"must be a whole number of at least 0, not {seed}.")
        options: dict[str, Any] = self._choice(chosen or {})
        if budget is not None:
            if not self.budgeted or quick:
                raise SubgameError(
                    f"{'A quick run' if self.budgeted else self.key} has no budget; a full run of "
                    f"{' or '.join(k for k, r in KEYS.items() if r.budgeted)} has."
                )
            if not 0 < budget < float("inf"):
                wants = f"must be a number of seconds above 0, not {budget:g}."
                raise ArgumentError("budget", wants)
            options["budget"] = budget
        if keep is not None:
            if not (self.budgeted or self.resumable):
                raise SubgameError(f"{self.key} cannot be resumed; run it again without --keep.")
            options["keep"] = keep
        return options

    def _choice(self, chosen: Mapping[str, str]) -> dict[str, object]:
        """The values that were chosen, each of its kind."""
        out = {}
        for name, text in chosen.items():
            if name not in self.choices:
                known = ", ".join(self.choices) or "nothing else can be chosen"
                raise SubgameError(f"{self.key} has no setting '{name}'; it has: {known}.")
            try:
                out[name] = self.choices[name](text)
            except ValueError:
                raise ArgumentError(name, f"must be a whole number, not {text}.") from None
        return out


ON_GPU = partial(Reproduction, needs_torch=True)


BUCKETED = tuple(
    ON_GPU(
        f"brown2017-{name}", BROWN, *about, resumable=True, module="brown2017_tables", entry=name
    )
    for name, *about in (
        ("table1", "13 minutes", "subgames of the finest blueprints in buckets, on a GPU"),
        ("table3", "5 minutes", "subgames of small flop hold'em in buckets, on a GPU"),
        ("table4", "6 minutes", "subgames of large flop hold'em in buckets, on a GPU"),
        ("table5", "13 minutes", "subgames of turn hold'em in buckets, on a GPU"),
        ("fig7", "2 minutes", "subgames of small flop hold'em with scaled gifts, on a GPU"),
    )
)
AGENTS = tuple(
    Reproduction(
        f"brown2018-{name}",
        DEPTH,
        takes,
        what,
        budgeted=True,
        resumable=True,
        choices={"processes": int, "contests": str},
        module="brown2018_agent",
        entry=name,
    )
    for name, takes, what in (
        ("table1", "7 to 14 CPU hours (--budget, --keep)", "the agent for whole hold'em"),
        ("lbr", "5 to 10 CPU hours (--budget, --keep)", "local best response to the agent"),
    )
)
MARGINS = Reproduction(
    "moravcik2016-fig5",
    MORAVCIK,
    "about 12 hours on one core, shared by all; less with --set iterations=1000",
    "margins of river subgames of the default blueprint",
    resumable=True,
    choices={"iterations": int, "subgames": int, "schedule": str, "processes": int},
)
FLOP_AGENT = ON_GPU(
    "flop-agent",
    DEPTH,
    "5 minutes",
    "the agent in flop hold'em, exactly evaluated, on a GPU",
    ", Sec. 6; the agent in a game in which its exploitability can be computed",
    resumable=True,
)
EXPERIMENTS = (
    Reproduction("coin-toss", BROWN, "a second", "every number of Coin Toss"),
    Reproduction(
        "burch2014-fig3", BURCH, "15 minutes", "Leduc re-solved from kept values, safe and unsafe"
    ),
    Reproduction(
        "burch2014-fig4",
        BURCH,
        "45 minutes for half of it, three CPU hours for all (--budget, --keep)",
        "Leduc solved by CFR-D",
        budgeted=True,
    ),
    Reproduction(
        "burch2014-cfr-d", BURCH, "6 minutes", "CFR-D to 0.001 chips on Leduc, and its memory"
    ),
    Reproduction("burch2014-fig5", BURCH, "3 minutes", "an abstract strategy of Leduc, re-solved"),
    ON_GPU(
        "brown2017-table2",
        BROWN,
        "24 minutes",
        "off-tree bets in flop hold'em, on a GPU",
        resumable=True,
        choices={"rows": str, "schedule": str, "blueprint": int, "subgames": int, "expensive": int},
    ),
    *BUCKETED,
    Reproduction(
        "no-limit-leduc-sizes",
        BROWN,
        "4 minutes",
        "every bet size answered, nested and translated",
        ", Sec. 6; Ganzfried & Sandholm 2013, Action Translation in Extensive-Form Games with "
        "Large Action Spaces",
    ),
    Reproduction("kubicek2026-refined", KUBICEK, "2 minutes", "refined equilibria of gadget games"),
    Reproduction("zhang2021-klss", ZHANG, "5 minutes", "subgames cut by order of knowledge"),
    Reproduction("li2026-vad-cfr", LI, "1 minute", "VAD-CFR beside older rules"),
    Reproduction("meng2025-rtcfr", MENG, "1 minute", "RTCFR+, whose last strategy converges"),
    Reproduction("zhang2025-ireg", INCREASING, "4 minutes", "IREG-PRM+, built from its abstract"),
    Reproduction(
        "brown2018-rps-plus",
        DEPTH,
        "10 seconds",
        "RPS+ to depth one, one value and several",
        ", Sections 2 and 4",
    ),
    ON_GPU(
        "brown2018-fig2", DEPTH, "4 minutes", "an off-tree bet answered to a depth limit, on a GPU"
    ),
    ON_GPU(
        "brown2018-fig2-one-bet",
        DEPTH,
        "3 minutes",
        "the same with one bet before the flop",
        module="brown2018_fig2",
        entry="one_bet",
    ),
    ON_GPU(
        "brown2018-preflop",
        DEPTH,
        "10 minutes",
        "whole hold'em to the end of its first round, on a GPU",
        ", Sections 4 and 6.2",
        resumable=True,
    ),
    *AGENTS,
    Reproduction(
        "libratus-endgames",
        BROWN,
        "8 minutes",
        "every technique on two endgames of Libratus",
        "; endgames from github.com/Sandholm-Lab/LibratusEndgames",
    ),
    MARGINS,
    FLOP_AGENT,
)
KEYS = {experiment.key: experiment for experiment in EXPERIMENTS}
"""Key -> what can be run again."""


def reproduce(
    key: str, *, quick: bool = False, seed: int = 0, progress: Progress | None = None
) -> Report:
    """Reproduce an experiment of a paper and report its figures beside ours.

    >>> report = reproduce("coin-toss")
    >>> report.data["largest_difference"] < 1e-9
    True
    """
    if key not in KEYS:
        raise did_you_mean("reproduction", key, KEYS)
    return KEYS[key].run(quick, seed, progress)
