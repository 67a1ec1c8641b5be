"""A column of dates, or of dates with a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np

from discreet.bounds import Array, Interval
from discreet.errors import InvalidParameter
from discreet.schema.column import NumberColumn

DAY = 86_400.0


@dataclass(frozen=True, repr=False)
class Date(NumberColumn):
    """Dates, with or without a time; one feature, the days since the first date.

    Dates outside the declared range are clipped to it. Time zones are
    ignored: dates are those of the clock that wrote them. A date cannot be a target.

    Parameters
    ----------
    first, last
        The range, as text such as ``"2020-01-31"`` or as dates.
    format
        How text is read, as :meth:`datetime.datetime.strptime` takes it, such as
        ``"%d.%m.%Y"``. None reads ISO 8601: ``2020-01-31``, ``2020-01-31 12:30``.
    missing
        See :class:`~discreet.schema.column.Column`; a date stands for missing cells.

    Examples
    --------
    >>> Date("2020-01-01", "2020-12-31").encode(["2020-01-03", "soon"], "blank")
    array([[ 2.], [nan]])
    """

    first: Any
    last: Any
    format: str | None = None

    key = "date"
    options = ("format", "missing")
    wants = "a date"

    def __post_init__(self) -> None:
        if self.format is not None and not isinstance(self.format, str):
            raise InvalidParameter("format must be text, e.g. '%d.%m.%Y'.", parameter="format")
        for name in ("first", "last"):
            found = _moment(getattr(self, name), None)
            if found is None:
                raise InvalidParameter(
                    f"{name} must be a date, e.g. '2020-01-31'.", parameter="date"
                )
            object.__setattr__(self, name, found)
        if not self.first < self.last:
            raise InvalidParameter("date must have first < last.", parameter="date")
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Date:
        """Return the column declared by ``date = [first, last]``."""
        if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 2:
            raise InvalidParameter("date must be a pair [first, last].", parameter="date")
        return cls(*value, **options)

    @property
    def interval(self) -> Interval:
        """Days from the first date to the last."""
        return 0.0, (self.last - self.first).total_seconds() / DAY

    def values(self, cells: Any) -> Array:
        """Return the days since the first date."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
            since: Array = (cells - np.datetime64(self.first)) / np.timedelta64(1, "D")
            return since
        moments = (_moment(cell, self.format) for cell in cells)
        days = (math.nan if m is None else (m - self.first).total_seconds() / DAY for m in moments)
        return np.fromiter(days, np.float64, len(cells))

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        ends = [end.isoformat().removesuffix("T00:00:00") for end in (self.first, self.last)]
        found = self._described(date=ends)
        if isinstance(self.missing, date):
            found["missing"] = self.missing.isoformat()
        return found


def _moment(cell: Any, format: str | None) -> datetime | None:
    """Return a cell as a moment of a clock, None for what is none."""
    found: datetime | None
    try:
        if isinstance(cell, str):
            text = cell.strip()
            found = datetime.strptime(text, format) if format else datetime.fromisoformat(text)
        elif isinstance(cell, np.datetime64):
            found = cell.astype("datetime64[us]").item()
        elif isinstance(cell, datetime):  # pandas has one of its own for missing dates
            found = cell if cell == cell else None
        elif isinstance(cell, date):
            found = datetime(cell.year, cell.month, cell.day)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return None if found is None else found.replace(tzinfo=None)
