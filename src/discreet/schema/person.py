"""A column that says whom a row belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer
from discreet.errors import InvalidParameter
from discreet.schema.column import Column, text


@dataclass(frozen=True, repr=False)
class Person(Column):
    """Identifiers: rows with the same one belong to one group, such as a person.

    The column is not a feature. A fit by a schema that has one protects all rows of a group
    together, and a group counts as at most ``rows`` rows. A row without an identifier counts
    for nothing. Identifiers are compared as text.

    Parameters
    ----------
    rows
        Public number of rows that one group counts for at most.

    Examples
    --------
    >>> Person(rows=5).identifiers([7, "7", None, "b"])
    ['7', '7', None, 'b']
    """

    rows: int

    key = "group"
    options = ("rows",)
    wants = "an identifier"

    def __post_init__(self) -> None:
        integer("rows", self.rows)
        if self.missing is not None:
            raise InvalidParameter("A row without an identifier is blank; leave missing out.")

    @classmethod
    def read(cls, value: Any, **options: Any) -> Person:
        """Return the column declared by ``group = true, rows = 5``."""
        if value is not True:
            raise InvalidParameter("group must be true, e.g. person = { group = true, rows = 5 }.")
        if "rows" not in options:
            raise InvalidParameter(
                "rows is not set: how many rows one group counts for at most. Declare it from "
                "public knowledge, e.g. person = { group = true, rows = 5 }."
            )
        return cls(**options)

    def identifiers(self, cells: Any) -> list[str | None]:
        """Return cells as text, None for those that are empty or no text."""
        return [text(cell) or None for cell in cells]

    def values(self, cells: Any) -> Array:
        """Return NaN: an identifier is not a number."""
        return np.full(len(cells), np.nan)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return {"group": True, "rows": self.rows}
