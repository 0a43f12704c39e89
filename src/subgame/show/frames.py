"""Data frames of pandas, which is optional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from subgame.errors import SubgameError


def data_frame(
    rows: Iterable[Mapping[str, object]], columns: Sequence[str] | None = None
) -> object:
    """A pandas data frame with a line per row; an error says what to install without pandas."""
    try:
        import pandas
    except ImportError:
        raise SubgameError(
            "A data frame needs pandas, which is not installed: pip install pandas."
        ) from None
    return pandas.DataFrame(list(rows), columns=columns)
