"""`Frozen`: what frozen dataclasses share."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, eq=False, repr=False)
class Frozen:
    """A frozen dataclass whose copies and pickles have its fields, and not what it has cached."""

    def __getstate__(self) -> dict[str, object]:
        return {each.name: getattr(self, each.name) for each in fields(self)}
