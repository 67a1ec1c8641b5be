"""A column of whole numbers that are codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.bounds import interval
from discreet.checks import integer
from discreet.errors import InvalidParameter
from discreet.schema.column import ChoiceColumn

MOST_CODES = 10_000
"""Beyond these a column has more indicators than a fit has use for."""


@dataclass(frozen=True, repr=False)
class Codes(ChoiceColumn):
    """Whole numbers from first to last that are codes, not amounts; one indicator for each.

    As a target: the classes.

    Parameters
    ----------
    first, last
        Smallest and largest code.
    other
        Code of cells that hold any other number, one of the declared ones.
    baseline
        A code without an indicator, as of :class:`Categories`.
    missing
        See :class:`~discreet.schema.column.Column`; a code stands for missing cells.

    Examples
    --------
    >>> Codes(1, 3).encode(["3", "7"], "blank")
    array([[ 0.,  0.,  1.], [nan, nan, nan]])
    """

    first: int
    last: int
    other: int | None = None

    key = "codes"
    wants = "a declared code"

    def __post_init__(self) -> None:
        first, last = integer("codes", self.first, -(10**9)), integer("codes", self.last, -(10**9))
        if not first < last <= first + MOST_CODES - 1:
            raise InvalidParameter(
                f"codes must be [first, last] with first < last, and at most {MOST_CODES:,} codes.",
                parameter="codes",
            )
        if self.other is not None and self.other not in self.choices:
            raise InvalidParameter("other must be one of the declared codes.", parameter="other")
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Codes:
        """Return the column declared by ``codes = [first, last]``."""
        interval("codes", value)
        return cls(*value, **options)

    @property
    def choices(self) -> tuple[int, ...]:
        """Every code."""
        return tuple(range(self.first, self.last + 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(codes=[self.first, self.last])
