"""Placeholder."""

from __future__ import annotations

from typing import Any

RangeExpansion: Any = None
