"""`Frozen`: what frozen dataclasses share."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, eq=False, repr=False)
class Frozen:
    """A frozen dataclass whose copies and pickles have its fields, and not what it has cached."""

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}
