"""How numbers are rounded to sixteen bits, the same on every device."""

from __future__ import annotations

TOP = 32766
"""What the greatest number becomes: one less than the most, for chance may add one."""
LEAST = 1e-30
"""A row of zeros has this as its greatest number."""
MIX = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))
"""How the bits of a place and an iteration are mixed to chance: by shifts and factors in turn. All
below 2^31: Triton likes that."""
