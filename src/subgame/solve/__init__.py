"""Solving: schedules, the CFR loop, evaluation, the linear program. Called, it is `solver.solve`."""
