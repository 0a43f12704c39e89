"""Estimates of a match over both ranges, beside what the two strategies win exactly.

    python benchmarks/range_match_bias.py --deals 200000 --jobs 2 --out docs/results

Two stages of a training on a small deck play each other by `RangeMatch`, with values of a third.
What the first wins is also summed up over all boards and all hands, which needs no sampling. Both
the estimate by AIVAT and that in chips alone have this mean. The second has such heavy tails that
its interval says little.
"""

from __future__ import annotations

import argparse
import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.compare import head_to_head_on
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.papers.report import provenance
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.match import Estimate
from subgame.play.range_match import RangeMatch
from subgame.solve.workers import own_cores, stopping

RECIPE = BlueprintRecipe(
    "tiny", "all: 1x a / cap 2", (None, 6, 6, 6), 2000, ranks="9TJQKA", suits="cd"
)
CHUNK = 1000
"""Deals that a process plays at once."""


@cache
def stages() -> tuple[StoredBlueprint, ...]:
    """Three stages of one training."""
    trainer, made = Trainer(RECIPE), []
    for _ in range(3):
        trainer.advance(6)
        made.append(StoredBlueprint.of(trainer))
    return tuple(made)


@cache
def match(seed: int) -> RangeMatch:
    """The last stage against the first; bets are never taken for others by chance."""
    first, middle, last = stages()
    how = "deterministic-pseudo-harmonic"
    agents = [BlueprintAgent(RECIPE.game, made, how) for made in (last, first)]
    return RangeMatch(RECIPE.game, agents, BlueprintValues(middle), seed=seed)


def played(seed: int, begin: int) -> NDArray[np.float64]:
    """[deal, 2] what the first agent wins in some deals, by AIVAT and in chips."""
    pairs = [match(seed).pair(number) for number in range(begin, begin + CHUNK)]
    return np.array([(pair.aivat, pair.plain) for pair in pairs])


def exact() -> float:
    """What the first agent wins, over all hands and boards; the order of a flop does not matter."""
    first, _, last = stages()
    cards = range(RECIPE.game.deck.size)
    boards = [
        (*flop, turn, river)
        for flop in itertools.combinations(cards, 3)
        for turn, river in itertools.permutations(sorted(set(cards) - set(flop)), 2)
    ]
    return float(np.mean(head_to_head_on(last, first, boards)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deals", type=int, default=200_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("docs/results"), help="a folder")
    options = parser.parse_args()
    begins = range(0, options.deals, CHUNK)
    with stopping(own_cores(options.jobs)) as pool:
        parts = list(pool.map(played, itertools.repeat(options.seed), begins))
    won = np.concatenate(parts)[: options.deals]
    aivat, plain = (Estimate.of(column.tolist()) for column in won.T)
    command = f"python benchmarks/range_match_bias.py --deals {options.deals} --seed {options.seed}"
    result = {
        "title": "A match over both ranges, beside the exact value",
        **provenance(command),
        "seed": options.seed,
        "unit": "mbb/h",
        "deals": options.deals,
        "exact": exact(),
        "AIVAT": {"mean": aivat.mean, "interval95": aivat.interval95},
        "chips alone": {"mean": plain.mean, "interval95": plain.interval95},
    }
    text = json.dumps(result, indent=1) + "\n"
    (options.out / "range-match-bias.json").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
