"""Check an exact equilibrium: ``python check_certificate.py FILE``. It needs nothing but Python."""

import json
import sys
from fractions import Fraction
from typing import Any


def check(certificate: dict[str, Any]) -> Fraction:
    """The game's value, or a ValueError that says what is wrong."""
    plans = [[Fraction(weight) for weight in side["plan"]] for side in certificate["players"]]
    wins = []
    for p, side in enumerate(certificate["players"]):
        plan, values, known = plans[p], [Fraction(0)] * len(plans[p]), {0}
        if plan[0] != 1 or min(plan) < 0:
            raise ValueError(f"The plan of player {p} has no probabilities.")
        for name, parent, sequences, _ in side["infosets"]:
            if parent not in known or known & set(sequences):
                raise ValueError(f"Infoset {name} of player {p} is not in a tree.")
            known.update(sequences)
            if plan[parent] != sum(plan[q] for q in sequences):
                raise ValueError(f"The plan of player {p} does not add up at {name}.")
        for row, col, payoff in certificate["payoffs"]:
            mine, theirs, sign = (row, col, 1) if p == 0 else (col, row, -1)
            values[mine] += sign * Fraction(payoff) * plans[1 - p][theirs]
        for _, parent, sequences, _ in reversed(side["infosets"]):  # a best response
            values[parent] += max(values[q] for q in sequences)
        wins.append(values[0])
    if not wins[0] == -wins[1] == Fraction(certificate["value"]):
        raise ValueError(f"Best responses win {wins[0]} and {wins[1]}: this is no equilibrium.")
    return wins[0]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(f"The value is {check(json.load(file))}; both plans are an exact equilibrium.")
