"""The schema file: what is declared about the columns before any row is read.

Each cell is encoded by itself, with declared values only, so that encoding
costs no privacy: nothing about one row can depend on another row.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.bounds import NEIGHBOURS, Array, Bounds, Interval, interval
from discreet.checks import moderate, one_of, row_count
from discreet.cli.parser import suggestion
from discreet.errors import InvalidParameter

MISSING = ("refuse", "blank")

_KEYS = ("neighbours", "missing", "row_norm", "n_rows", "columns")


@dataclass(frozen=True)
class Numeric:
    """A column of numbers, clipped to a declared range."""

    name: str
    range: Interval

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features the column becomes."""
        return (self.name,)

    @property
    def ranges(self) -> tuple[Interval, ...]:
        """Range of each of these features."""
        return (self.range,)

    def encode(self, cells: Sequence[str | None]) -> Array:
        """Return one column of numbers; NaN for a cell that is not a finite number.

        >>> Numeric("age", (0.0, 100.0)).encode(["41", "n/a"])
        array([[41.], [nan]])
        """
        values = np.fromiter(map(_number, cells), np.float64, len(cells))
        values[~np.isfinite(values)] = np.nan
        return values[:, None]

    def labels(self, cells: Sequence[str | None]) -> tuple[Any, Any]:
        """Return the cells as labels of a regression, and which of them are usable."""
        values = self.encode(cells)[:, 0]
        return values, ~np.isnan(values)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema."""
        return {"range": list(self.range)}


@dataclass(frozen=True)
class Categorical:
    """A column of declared categories, encoded as one indicator per category."""

    name: str
    categories: tuple[str, ...] | tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features the column becomes."""
        return tuple(f"{self.name}={c}" for c in self.categories)

    @property
    def ranges(self) -> tuple[Interval, ...]:
        """Range of each of these features; symmetric, so that an absent category stays 0."""
        return ((-1.0, 1.0),) * len(self.categories)

    def index(self, cells: Sequence[str | None]) -> Any:
        """Return the position of each cell among the categories, -1 for none.

        >>> Categorical("smoker", ("no", "yes")).index(["yes", " no", "?"])
        array([ 1,  0, -1])
        """
        at: dict[Any, int] = {c: k for k, c in enumerate(self.categories)}
        key = _text if isinstance(self.categories[0], str) else _number
        return np.fromiter((at.get(key(c), -1) for c in cells), np.int64, len(cells))

    def encode(self, cells: Sequence[str | None]) -> Array:
        """Return one indicator column per category; a NaN row for an undeclared one."""
        index = self.index(cells)
        table = np.vstack([np.eye(len(self.categories)), np.full(len(self.categories), np.nan)])
        encoded: Array = table[index]  # -1 picks the NaN row
        return encoded

    def labels(self, cells: Sequence[str | None]) -> tuple[Any, Any]:
        """Return the cells as class labels, and which of them are usable."""
        index = self.index(cells)
        return np.asarray(self.categories)[index], index >= 0

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema."""
        return {"categories": list(self.categories)}


Column = Numeric | Categorical


@dataclass(frozen=True, kw_only=True)
class Schema:
    """Declared columns, and how rows are treated.

    Parameters
    ----------
    columns
        Every column that may be read, the target included.
    neighbours
        Which data sets count as neighbours.
    missing
        ``"refuse"`` stops at a cell that cannot be read; ``"blank"`` lets a
        row with such a cell count for nothing.
    row_norm
        Longest norm of an encoded row; by default the longest there can be.
    n_rows
        Declared size of the data; used under ``add-remove`` only.

    Examples
    --------
    >>> schema = Schema.from_dict({"columns": {"age": {"range": [0, 100]},
    ...                                        "smoker": {"categories": ["no", "yes"]}}})
    >>> schema.bounds("smoker")
    Bounds(row_norm=1.0, features=((0.0, 100.0),), classes=('no', 'yes'))
    """

    columns: tuple[Column, ...]
    neighbours: str = "zero-out"
    missing: str = "refuse"
    row_norm: float | None = None
    n_rows: int | None = None

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema from a TOML file."""
        try:
            return cls.from_dict(tomllib.loads(path.read_text(encoding="utf-8-sig")))
        except UnicodeDecodeError:
            raise InvalidParameter(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
        except ValueError as error:
            raise InvalidParameter(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Read a schema from plain values; unknown keys are refused."""
        for key in content:
            if key not in _KEYS:
                raise InvalidParameter(
                    f"A schema has no key {key!r}; it has {', '.join(_KEYS)}."
                    + suggestion(key, _KEYS)
                    + " Columns are declared below a line [columns]." * ("columns" not in content)
                )
        columns = content.get("columns")
        if not isinstance(columns, Mapping) or not columns:
            raise InvalidParameter(
                "A schema declares its columns, e.g. [columns] and age = {range = [0, 120]}."
            )
        schema = cls(
            columns=tuple(_column(name, facts) for name, facts in columns.items()),
            neighbours=one_of("neighbours", content.get("neighbours", "zero-out"), NEIGHBOURS),
            missing=one_of("missing", content.get("missing", "refuse"), MISSING),
            row_norm=_optional(moderate, "row_norm", content),
            n_rows=_optional(row_count, "n_rows", content),
        )
        if schema.missing == "blank" and schema.neighbours == "replace-one":
            raise InvalidParameter(
                "missing = 'blank' needs neighbours = 'zero-out' or 'add-remove': a blank row "
                "is what those relations compare with."
            )
        if schema.neighbours == "add-remove" and schema.n_rows is None:
            raise InvalidParameter(
                "neighbours = 'add-remove' keeps the number of rows secret, and the plan needs a "
                "size. Declare one that is no secret: n_rows = ..."
            )
        return schema

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        values = {key: getattr(self, key) for key in _KEYS if getattr(self, key) is not None}
        return values | {"columns": {c.name: c.to_dict() for c in self.columns}}

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        for column in self.columns:
            if column.name == name:
                return column
        names = [c.name for c in self.columns]
        raise InvalidParameter(
            f"The schema declares no column {name!r}. Add it under [columns]."
            + suggestion(name, names)
        )

    def features(self, target: str) -> tuple[Column, ...]:
        """Return every column but the target."""
        self.column(target)
        found = tuple(c for c in self.columns if c.name != target)
        if not found:
            raise InvalidParameter(
                "The schema declares no column besides the target. Add the features under "
                "[columns]."
            )
        return found

    def names(self, target: str) -> list[str]:
        """Return the names of the encoded features, in their order.

        >>> columns = {"job": {"categories": ["none", "other"]}, "age": {"range": [0, 100]}}
        >>> Schema.from_dict({"columns": columns}).names("age")
        ['job=none', 'job=other']
        """
        return [name for column in self.features(target) for name in column.names]

    def bounds(self, target: str) -> Bounds:
        """Return what the schema declares about encoded rows."""
        features, label = self.features(target), self.column(target)
        # A number is at most 1 after scaling and of the indicators of a column only one is 1,
        # so no row is longer than this and the default clips nothing.
        longest = math.sqrt(len(features))
        return Bounds(
            row_norm=longest if self.row_norm is None else self.row_norm,
            features=tuple(r for c in features for r in c.ranges),
            label=label.range if isinstance(label, Numeric) else None,
            classes=label.categories if isinstance(label, Categorical) else None,
        )


def _column(name: str, facts: Any) -> Column:
    if name in _KEYS and not isinstance(facts, Mapping):
        raise InvalidParameter(
            f"{name!r} stands below [columns], where it is read as a column. Move it above that "
            "line."
        )
    if not isinstance(facts, Mapping) or set(facts) not in ({"range"}, {"categories"}):
        raise InvalidParameter(
            f"Column {name!r} needs either range = [low, high] or categories = [...], and "
            "nothing else."
        )
    if "range" in facts:
        return Numeric(name, interval(f"The range of column {name!r}", facts["range"]))
    given = facts["categories"]
    if not isinstance(given, list) or len(given) < 2:
        raise InvalidParameter(f"Column {name!r} needs a list of at least two categories.")
    if all(isinstance(c, str) for c in given):
        categories: Any = tuple(_text(c) for c in given)
    elif all(isinstance(c, int | float) and not isinstance(c, bool) for c in given):
        categories = tuple(given)
    else:
        raise InvalidParameter(
            f"The categories of column {name!r} must be all text or all numbers. Write true and "
            "false as text, the way the file spells them."
        )
    if not all(_number(str(c)) == c for c in categories if not isinstance(c, str)):
        raise InvalidParameter(
            f"The categories of column {name!r} hold a number that no cell is read as: cells are "
            "read in float64, and NaN equals nothing. Declare long numbers as text."
        )
    if len(set(categories)) < len(categories):
        raise InvalidParameter(f"Column {name!r} declares a category twice.")
    return Categorical(name, categories)


def _optional(check: Any, key: str, content: Mapping[str, Any]) -> Any:
    return None if content.get(key) is None else check(key, content[key])


def _text(cell: str | None) -> str | None:
    return None if cell is None else cell.strip()


def _number(cell: str | None) -> float:
    text = "" if cell is None else cell.strip()
    # Python reads 1_0 and digits of other scripts as numbers; no other reader of CSV does.
    if "_" in text or not text.isascii():
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan
