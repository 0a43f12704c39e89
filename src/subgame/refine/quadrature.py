"""Points and weights of the quadrature for the integral of Brown & Sandholm 2017, eq. (3)."""

from __future__ import annotations

import math

import numpy as np

HERMITE_X, _weights = np.polynomial.hermite.hermgauss(64)
HERMITE_W = _weights / math.sqrt(math.pi)
_nodes, _weights = np.polynomial.legendre.leggauss(64)
_t, _s = (1 + _nodes) / 2, (1 - _nodes) / 2  # u = t^3 / (t^3 + s^3): smooth at both ends
LOGIT_X = 3 * np.log(_t / _s)
LOGIT_W = _weights / 2 * 3 * (_t * _s) ** 2 / (_t**3 + _s**3) ** 2
