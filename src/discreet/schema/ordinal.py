"""A column of levels in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.bounds import Array
from discreet.schema.column import NumberColumn, declared_choices, positions


@dataclass(frozen=True, repr=False)
class Ordinal(NumberColumn):
    """Levels in order, from the lowest; one feature, with equal steps from -1 to 1.

    As a target: the classes.

    Parameters
    ----------
    levels
        At least two, all text or all numbers, the lowest first.
    missing
        See :class:`~discreet.schema.column.Column`; a level stands for missing cells.

    Examples
    --------
    >>> Ordinal(["low", "middle", "high"]).encode(["high", "middle"], "refuse")
    array([[1.], [0.]])
    """

    levels: Sequence[Any]

    key = "ordinal"
    wants = "a declared level"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", declared_choices(self.levels, "ordinal"))
        super().__post_init__()

    @property
    def classes(self) -> tuple[Any, ...]:
        """The levels."""
        return tuple(self.levels)

    def values(self, cells: Any) -> Array:
        """Return the place of each cell among the levels."""
        return positions(cells, self.levels)

    def spread(self, values: Array, rule: Any) -> Array:
        """Return equal steps from -1 to 1."""
        return super().spread(2.0 * values / (len(self.levels) - 1) - 1.0, rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(ordinal=list(self.levels))
