"""Solving: schedules, the CFR loop, evaluation, linear programs. Called, it is `solver.solve`."""
