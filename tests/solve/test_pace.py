"""A solve stops before its time is over, also if iterations become slower on the way."""

from __future__ import annotations

from random import Random

from subgame.solve.limits import PIECES, Pace


class Machine:
    """Iterations take a hundredth of the budget, at times up to `PIECES` times as long."""

    def __init__(self, seed: int) -> None:
        self.time, self.random, self.ran = 0.0, Random(seed), 0

    def now(self) -> float:
        return self.time

    def advance(self, done: int, count: int) -> None:
        assert done == self.ran
        self.ran += count
        slower = self.random.choice((1.0, 1.0, 1.0, 0.99 * PIECES))
        self.time += 0.01 * slower * count


def test_the_budget_is_kept_on_a_busy_machine() -> None:
    for seed in range(100):
        machine = Machine(seed)
        done = Pace(1.0, machine.now).run(10**6, 50, machine.advance)
        assert machine.time < 1.0 + 0.01 * PIECES  # by at most the last iteration
        assert machine.time > 0.8
        assert done == machine.ran > 10


def test_the_first_iteration_is_always_run() -> None:
    machine = Machine(0)
    assert Pace(1e-6, machine.now).run(100, 5, machine.advance) == 1


def test_without_a_limit_of_time_all_are_run() -> None:
    machine = Machine(0)
    assert Pace(None, machine.now).run(103, 5, machine.advance) == machine.ran == 103
