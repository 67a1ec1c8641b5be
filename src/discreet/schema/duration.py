"""A column of durations."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np

from discreet.bounds import Array, Interval, interval
from discreet.checks import one_of
from discreet.schema.column import NumberColumn, number

SECONDS = {
    "seconds": 1.0,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86_400.0,
    "weeks": 604_800.0,
}
"""Units of a duration."""

_CLOCK = re.compile(
    r"(?P<sign>-?)(?:(?P<days>\d+) days?,? ?)?"
    r"(?:(?P<hours>\d+):(?P<minutes>\d\d)(?::(?P<seconds>\d\d(?:\.\d+)?))?)?"
)
_ISO = re.compile(
    r"(?P<sign>-?)P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True, repr=False)
class Duration(NumberColumn):
    """Durations, clipped to a declared range; one feature, in the declared unit.

    Cells are durations of a data frame, numbers in the unit, or text such as
    ``12:30``, ``3 days 04:00:00`` and ``P3DT4H``. As a target: a regression.

    Parameters
    ----------
    low, high
        Ends of the range, in the unit.
    unit
        ``"seconds"``, ``"minutes"``, ``"hours"``, ``"days"`` or ``"weeks"``.
    missing
        See :class:`~discreet.schema.column.Column`; a number stands for missing cells.

    Examples
    --------
    >>> Duration(0, 48, "hours").encode(["12:30", "P1D", "7", "long"], "blank").ravel()
    array([12.5, 24. ,  7. ,  nan])
    """

    low: float
    high: float
    unit: str = "days"

    key = "duration"
    options = ("unit", "missing")
    wants = "a duration"
    numeric = True

    def __post_init__(self) -> None:
        low, high = interval("duration", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        one_of("unit", self.unit, SECONDS)
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Duration:
        """Return the column declared by ``duration = [low, high]``."""
        return cls(*interval("duration", value), **options)

    @property
    def interval(self) -> Interval:
        """The declared range."""
        return self.low, self.high

    @property
    def label(self) -> Interval:
        """The declared range."""
        return self.interval

    def values(self, cells: Any) -> Array:
        """Return the durations in the unit."""
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "m":
            seconds: Array = cells / np.timedelta64(1_000_000, "us")
            return seconds / SECONDS[self.unit]
        return np.fromiter((self._value(cell) for cell in cells), np.float64, len(cells))

    def _value(self, cell: Any) -> float:
        if isinstance(cell, np.timedelta64):
            cell = cell.astype("timedelta64[us]").item()
        if isinstance(cell, timedelta):  # pandas has one of its own for missing durations
            return cell.total_seconds() / SECONDS[self.unit] if cell == cell else math.nan
        plain = number(cell)
        if math.isfinite(plain) or not isinstance(cell, str):
            return plain if math.isfinite(plain) else math.nan
        return _seconds(cell.strip()) / SECONDS[self.unit]

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(duration=[self.low, self.high])


def _seconds(text: str) -> float:
    found = _CLOCK.fullmatch(text) or _ISO.fullmatch(text)
    parts = {} if found is None else {k: v for k, v in found.groupdict().items() if v}
    sign = -1.0 if parts.pop("sign", "") else 1.0
    if not parts:
        return math.nan
    return sign * sum(float(value) * SECONDS[unit] for unit, value in parts.items())
