"""A column of yes and no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.errors import InvalidParameter
from discreet.schema.column import NumberColumn, declared_choices, positions, text

NO, YES = ("false", "no", "f", "n", "0"), ("true", "yes", "t", "y", "1")
"""Words that are read where none are declared, in capital letters too."""


@dataclass(frozen=True, repr=False)
class Boolean(NumberColumn):
    """Yes or no; one feature, -1 for no and 1 for yes.

    As a target: the two classes, ``False`` and ``True`` or the declared words.

    Parameters
    ----------
    no, yes
        The words in the cells. By default true, yes, t, y and 1 are read, and false,
        no, f, n and 0, in any case.
    missing
        See :class:`~discreet.schema.column.Column`; one of the words stands for missing
        cells.

    Examples
    --------
    >>> Boolean().encode(["Yes", "0", "?"], "blank")
    array([[ 1.], [-1.], [nan]])
    """

    no: str | None = None
    yes: str | None = None

    key = "boolean"
    wants = "yes or no"

    def __post_init__(self) -> None:
        if (self.no is None) != (self.yes is None):
            raise InvalidParameter("boolean needs both words, or none.", parameter="boolean")
        if self.no is not None:
            no, yes = declared_choices([self.no, self.yes], "boolean")
            object.__setattr__(self, "no", no)
            object.__setattr__(self, "yes", yes)
        super().__post_init__()

    @classmethod
    def read(cls, value: Any, **options: Any) -> Boolean:
        """Return the column declared by ``boolean = true`` or ``boolean = [no, yes]``."""
        if value is True:
            return cls(**options)
        words = declared_choices(value, "boolean")
        if len(words) != 2:
            raise InvalidParameter(
                'boolean must be true, or two words such as ["no", "yes"].', parameter="boolean"
            )
        return cls(*words, **options)

    @property
    def classes(self) -> tuple[Any, ...]:
        """No and yes."""
        return (False, True) if self.no is None else (self.no, self.yes)

    def values(self, cells: Any) -> Array:
        """Return 0 for no and 1 for yes."""
        if self.no is not None:
            return positions(cells, (self.no, self.yes))
        if isinstance(cells, np.ndarray) and cells.dtype.kind == "b":
            return cells.astype(np.float64)
        at = dict.fromkeys(NO, 0.0) | dict.fromkeys(YES, 1.0)
        words = ((text(cell) or "").lower() for cell in cells)
        return np.fromiter((at.get(word, np.nan) for word in words), np.float64, len(cells))

    def spread(self, values: Array, rule: Any) -> Array:
        """Return -1 for no and 1 for yes."""
        return super().spread(2.0 * values - 1.0, rule)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(boolean=True if self.no is None else [self.no, self.yes])
