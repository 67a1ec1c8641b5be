"""A column of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.bounds import Array, Interval, interval
from discreet.checks import finite, moderate
from discreet.errors import InvalidParameter
from discreet.schema.column import PRIVATE, UNIT, NumberColumn, numbers


@dataclass(frozen=True, repr=False)
class Range(NumberColumn):
    """Numbers, clipped to a declared range and mapped to [-1, 1] inside.

    As a target: a regression.

    Parameters
    ----------
    low, high
        Ends of the range, from public knowledge; ``"private"`` for one that is to be
        learned with a share of the budget of a fit. ``Range("private")`` learns both.
    unit
        Of a range that is learned, the public size of numbers: ends are found to one per
        cent of themselves or of the unit, whichever is larger. 1 by default.
    missing
        See :class:`~discreet.schema.column.Column`; a number stands for missing cells.

    Examples
    --------
    >>> Range(0, 100).encode(["41", "n/a"], "blank")
    array([[41.], [nan]])
    >>> Range(0, 100).encode(["41", "n/a"], "indicator")
    array([[41.,  0.], [50.,  1.]])
    >>> Range(0, "private").private
    True
    """

    low: float | str
    high: float | str = PRIVATE
    unit: float | None = None

    key = "range"
    options = ("unit", "missing")
    wants = "a finite number"
    numeric = True

    def __post_init__(self) -> None:
        if self.unit is not None:
            if not self.private:
                raise InvalidParameter(
                    "unit goes with a range that is private; this one is declared. Leave it out.",
                    parameter="unit",
                )
            object.__setattr__(self, "unit", moderate("unit", self.unit))
        ends = {"low": self.low, "high": self.high}
        if not self.private:
            ends = dict(zip(ends, interval("range", (self.low, self.high)), strict=True))
        for name, end in ends.items():
            object.__setattr__(self, name, end if end == PRIVATE else finite("range", end))
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Range:
        """Return the column declared by ``range = [low, high]``, each perhaps ``"private"``."""
        if value == PRIVATE:
            return cls(PRIVATE, **options)
        if isinstance(value, list | tuple) and len(value) == 2 and PRIVATE in value:
            return cls(*value, **options)
        return cls(*interval("range", value), **options)

    @property
    def private(self) -> bool:
        """Whether an end is to be learned."""
        return PRIVATE in (self.low, self.high)

    def stand_in(self) -> Range:
        """Return the column with a range that may stand for any other."""
        return self.with_range(*UNIT) if self.private else self

    def with_range(self, low: float, high: float) -> Range:
        """Return the column with this range."""
        return Range(low, high, missing=self.missing)

    @property
    def interval(self) -> Interval:
        """The declared range."""
        # Whatever reads values of a column that is to be learned asks for its stand-in or result.
        return UNIT if self.private else (float(self.low), float(self.high))

    @property
    def label(self) -> Interval:
        """The declared range."""
        return self.interval

    def values(self, cells: Any) -> Array:
        """Return the numbers."""
        return numbers(cells)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        both = self.low == self.high == PRIVATE
        return self._described(range=PRIVATE if both else [self.low, self.high])
