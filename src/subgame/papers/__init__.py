"""The papers' experiments, reproduced: one key each, the paper's figures beside ours.

    >>> from subgame import papers
    >>> print(*papers.KEYS)
    coin-toss burch2014-fig3 burch2014-fig4 burch2014-cfr-d burch2014-fig5 brown2017-table2
    brown2017-table1 brown2017-table3 brown2017-table4 brown2017-table5 brown2017-fig7
    no-limit-leduc-sizes kubicek2026-refined brown2018-rps-plus brown2018-fig2
    brown2018-fig2-one-bet libratus-endgames

A quick run takes seconds; a full one is what `docs/results` holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.papers.report import Report
from subgame.papers.settings import Progress

__all__ = ["KEYS", "Progress", "Report", "Reproduction", "reproduce"]

BROWN = "Brown & Sandholm 2017"
DEPTH = "Brown, Sandholm & Amos 2018"
BURCH = "Burch, Johanson & Bowling 2014"
KUBICEK = "Kubíček, Lisý & Sandholm 2026"


@dataclass(frozen=True)
class Reproduction:
    """An experiment of a paper that can be run again."""

    key: str
    paper: str
    what: str
    takes: str
    """How long a full run takes."""
    module: str
    needs_torch: bool = False
    """Whether it runs on PyTorch, the optional extra."""
    budgeted: bool = False
    """Whether a full run is cut to a budget of CPU seconds, and can be stopped and resumed."""
    resumable: bool = False
    """Whether it can be stopped and resumed, cell by cell."""
    entry: str = "run"
    """The function of the module."""

    def run(
        self,
        quick: bool = False,
        seed: int = 0,
        progress: Progress | None = None,
        budget: float | None = None,
        keep: Path | None = None,
    ) -> Report:
        """Run it. `progress` is called with the current step and the share of the work done.

        What a long run has found so far goes to the file `keep`, from which it is resumed.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise ArgumentError("seed", f"must be a whole number of at least 0, not {seed}.")
        options: dict[str, Any] = {}
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
        module = import_module(self.module)  # imported only now, because it is slow
        report: Report = getattr(module, self.entry)(quick, seed, progress, **options)
        return report


KEYS: dict[str, Reproduction] = {
    made.key: made
    for made in (
        Reproduction(
            "coin-toss", BROWN, "every number of Coin Toss", "a second", "subgame.papers.coin_toss"
        ),
        Reproduction(
            "burch2014-fig3",
            BURCH,
            "Leduc re-solved from kept values, safe and unsafe",
            "15 minutes",
            "subgame.papers.burch2014_fig3",
        ),
        Reproduction(
            "burch2014-fig4",
            BURCH,
            "Leduc solved by CFR-D",
            "45 minutes for half of it, three CPU hours for all (--budget, --keep)",
            "subgame.papers.burch2014_fig4",
            budgeted=True,
        ),
        Reproduction(
            "burch2014-cfr-d",
            BURCH,
            "CFR-D to 0.001 chips on Leduc, and its memory",
            "6 minutes",
            "subgame.papers.burch2014_cfrd",
        ),
        Reproduction(
            "burch2014-fig5",
            BURCH,
            "an abstract strategy of Leduc, re-solved",
            "3 minutes",
            "subgame.papers.burch2014_fig5",
        ),
        Reproduction(
            "brown2017-table2",
            BROWN,
            "off-tree bets in flop hold'em, on a GPU",
            "8 minutes",
            "subgame.papers.brown2017_table2",
            needs_torch=True,
        ),
        *(
            Reproduction(
                f"brown2017-{name}",
                BROWN,
                f"subgames of {what}, on a GPU",
                takes,
                "subgame.papers.brown2017_tables",
                needs_torch=True,
                resumable=True,
                entry=name,
            )
            for name, what, takes in (
                ("table1", "the finest blueprints in buckets", "half an hour"),
                ("table3", "small flop hold'em in buckets", "5 minutes"),
                ("table4", "large flop hold'em in buckets", "12 minutes"),
                ("table5", "turn hold'em in buckets", "an hour"),
                ("fig7", "small flop hold'em with scaled gifts", "2 minutes"),
            )
        ),
        Reproduction(
            "no-limit-leduc-sizes",
            BROWN,
            "every bet size answered, nested and translated",
            "4 minutes",
            "subgame.papers.no_limit_leduc",
        ),
        Reproduction(
            "kubicek2026-refined",
            KUBICEK,
            "refined equilibria of gadget games",
            "2 minutes",
            "subgame.papers.kubicek2026",
        ),
        Reproduction(
            "brown2018-rps-plus",
            DEPTH,
            "RPS+ to depth one, one value and several",
            "10 seconds",
            "subgame.papers.brown2018",
        ),
        Reproduction(
            "brown2018-fig2",
            DEPTH,
            "an off-tree bet answered to a depth limit, on a GPU",
            "4 minutes",
            "subgame.papers.brown2018_fig2",
            needs_torch=True,
        ),
        Reproduction(
            "brown2018-fig2-one-bet",
            DEPTH,
            "the same with one bet before the flop",
            "3 minutes",
            "subgame.papers.brown2018_fig2_one_bet",
            needs_torch=True,
        ),
        Reproduction(
            "libratus-endgames",
            BROWN,
            "every technique on two endgames of Libratus",
            "8 minutes",
            "subgame.papers.libratus_endgames",
        ),
    )
}
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
