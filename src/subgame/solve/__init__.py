"""Solving: schedules, the CFR loop, evaluation, linear programs. Called, it is `solver.solve`."""

from subgame._verbs import callable_package

callable_package(__name__, "subgame.solve.solver", "solve")
