"""Constants of the stochastic rounding to 16 bits, the same on every device."""

from __future__ import annotations

TOP = 32766
"""The integer of the largest number: one less than the maximum, because rounding up may add one."""
LEAST = 1e-30
"""The smallest value that is taken as the largest number; it keeps the scale of zeros positive."""
MIX = ((16, 0x21F0AAAD), (15, 0x735A2D97), (15, 1))
"""Shifts and factors of the hash that makes a random number of an index and an iteration. All are
below 2^31, so that Triton takes them as 32-bit integers."""
