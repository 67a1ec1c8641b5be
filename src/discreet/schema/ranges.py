"""A column of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.bounds import Array, Interval, interval
from discreet.schema.column import NumberColumn, numbers


@dataclass(frozen=True, repr=False)
class Range(NumberColumn):
    """Numbers, clipped to a declared range and mapped to [-1, 1] inside.

    As a target: a regression.

    Parameters
    ----------
    low, high
        Ends of the range, from public knowledge.
    missing
        See :class:`~discreet.schema.column.Column`; a number stands for missing cells.

    Examples
    --------
    >>> Range(0, 100).encode(["41", "n/a"], "blank")
    array([[41.], [nan]])
    >>> Range(0, 100).encode(["41", "n/a"], "indicator")
    array([[41.,  0.], [50.,  1.]])
    """

    low: float
    high: float

    key = "range"
    wants = "a finite number"
    numeric = True

    def __post_init__(self) -> None:
        low, high = interval("range", (self.low, self.high))
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Range:
        """Return the column declared by ``range = [low, high]``."""
        return cls(*interval("range", value), **options)

    @property
    def interval(self) -> Interval:
        """The declared range."""
        return self.low, self.high

    @property
    def label(self) -> Interval:
        """The declared range."""
        return self.interval

    def values(self, cells: Any) -> Array:
        """Return the numbers."""
        return numbers(cells)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(range=[self.low, self.high])
