"""What a kind of column declares, and how its cells become features.

Each cell is encoded by itself, with declared values only. So encoding costs no
privacy: nothing about one row can depend on another row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from numbers import Number
from typing import Any, ClassVar, Self, cast

import numpy as np

from discreet.bounds import Array, Interval
from discreet.errors import InvalidParameter

RULES = ("refuse", "blank", "indicator")
"""What may happen to a cell that cannot be read, besides a value that stands for it."""

PRIVATE = "private"
"""Stands for what is not known and is learned with a share of the budget."""

UNREADABLE = object()
"""A cell of a line that has too many or too few of them."""

UNIT: Interval = (-1.0, 1.0)
"""Range of an indicator: symmetric, so that 0 stays 0."""


def number(cell: Any) -> float:
    """Return a cell as a number, NaN for what is none.

    >>> number(" 4.5 "), number("1_000"), number(None), number(True)
    (4.5, nan, nan, 1.0)
    """
    if isinstance(cell, str):
        cell = cell.strip()
        # Python reads 1_0 and digits of other scripts as numbers; no other reader of CSV does.
        if "_" in cell or not cell.isascii():
            return math.nan
    elif isinstance(cell, np.generic) and cell.dtype.kind in "mM":
        return math.nan
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def numbers(cells: Any) -> Array:
    """Return cells as finite numbers, NaN for all others.

    >>> numbers(["41", "n/a", "inf"])
    array([41., nan, nan])
    """
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf":
        values = cells.astype(np.float64)
    else:
        values = np.fromiter(map(number, cells), np.float64, len(cells))
    values[~np.isfinite(values)] = np.nan
    return values


def text(cell: Any) -> str | None:
    """Return a cell as text, empty for a missing one; None for what cannot be read.

    >>> text(" office "), text(None), text(2.0), text(True)
    ('office', '', '2', 'True')
    """
    if isinstance(cell, str):
        return cell.strip()
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):  # of pandas
        return ""
    if not isinstance(cell, Number | np.bool_):
        return None
    if cell != cell:
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))  # whole numbers are held as floats where some are missing
    return str(cell)


@dataclass(frozen=True, repr=False)
class Column:
    """A declared column; see the kinds.

    Parameters
    ----------
    missing
        What happens to a cell that is empty or cannot be read: ``"refuse"`` stops,
        ``"blank"`` lets the row count for nothing, ``"indicator"`` gives such cells a
        feature of their own, and any other value stands for the cell. None takes the
        rule of the schema.
    """

    missing: Any = field(default=None, kw_only=True)

    key: ClassVar[str]
    """The key that declares this kind in a schema file."""

    options: ClassVar[tuple[str, ...]] = ("missing",)
    """Further keys that may stand beside it."""

    wants: ClassVar[str]
    """What a cell should be, in words."""

    numeric: ClassVar[bool] = False
    """Whether cells are numbers, so that a file may write them with a decimal comma."""

    def __post_init__(self) -> None:
        if self.missing is None or self._rule_is_named():
            return
        if np.isnan(self.values([self.missing])).any():
            raise InvalidParameter(
                f"missing must be one of {', '.join(map(repr, RULES))}, or a value that the column "
                f"declares and that stands for a missing one. This one is not {self.wants}.",
                parameter="missing",
            )

    def __repr__(self) -> str:
        # What bases declare comes first, and is said last.
        held = [(f.name, getattr(self, f.name)) for f in sorted(fields(self), key=_said_last)]
        said = [f"{name}={value!r}" for name, value in held if value is not None]
        return f"{type(self).__name__}({', '.join(said)})"

    def _rule_is_named(self) -> bool:
        return isinstance(self.missing, str) and self.missing in RULES

    # What a kind says.

    @classmethod
    def read(cls, value: Any, **options: Any) -> Self:
        """Return the column declared by the key of its kind, such as ``ordinal = [...]``."""
        found: Self = cast(Any, cls)(value, **options)
        return found

    def values(self, cells: Any) -> Array:
        """Return one number per cell; NaN where it cannot be read."""
        raise NotImplementedError

    def features(self, name: str, rule: Any) -> dict[str, Interval]:
        """Return the features the column becomes, each with its range."""
        raise NotImplementedError

    def spread(self, values: Array, rule: Any) -> Array:
        """Return the features of the numbers of :meth:`values`."""
        raise NotImplementedError

    @property
    def private(self) -> bool:
        """Whether something about the column is not declared but to be learned privately."""
        return False

    def stand_in(self) -> Column:
        """Return a declared column of the same shape, for planning without data."""
        return self

    @property
    def label(self) -> Interval | None:
        """Range of the column as the target of a regression."""
        return None

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """Classes of the column as the target of a classification."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        raise NotImplementedError

    # What follows from it.

    def rule(self, default: str) -> Any:
        """Return what happens to missing cells, given the rule of the schema."""
        return default if self.missing is None else self.missing

    def encode(self, cells: Any, rule: Any) -> Array:
        """Return the features of cells; NaN where one is missing and nothing stands for it."""
        return self.spread(self._filled(cells, rule), rule)

    def labels(self, cells: Any, rule: Any) -> tuple[Any, Any]:
        """Return cells as labels, and which of them are usable."""
        values = self._filled(cells, rule)
        usable = ~np.isnan(values)
        if self.classes is None:
            return values, usable
        found = np.asarray(self.classes)[np.where(usable, values, 0.0).astype(np.int64)]
        return found, usable

    def _filled(self, cells: Any, rule: Any) -> Array:
        values = self.values(cells)
        if isinstance(rule, str) and rule in RULES:
            return values
        return np.where(np.isnan(values), self.values([rule])[0], values)

    def _described(self, **facts: Any) -> dict[str, Any]:
        """Return what differs from the defaults of the kind, besides its own key."""
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name in self.options}
        return facts | {name: value for name, value in rest.items() if value is not None}


class NumberColumn(Column):
    """A column that becomes one number, and perhaps an indicator of missing cells."""

    @property
    def interval(self) -> Interval:
        """Range of the number."""
        return UNIT

    def features(self, name: str, rule: Any) -> dict[str, Interval]:
        """Return the number's range, and that of the indicator."""
        found = {name: self.interval}
        return found | ({f"{name} missing": UNIT} if rule == "indicator" else {})

    def spread(self, values: Array, rule: Any) -> Array:
        """Return one column, or two: a missing number is the middle of its range."""
        if rule != "indicator":
            return values[:, None]
        lost, (low, high) = np.isnan(values), self.interval
        # The middle becomes 0 inside, so number and indicator are no longer than one column.
        return np.column_stack([np.where(lost, 0.5 * low + 0.5 * high, values), lost])


@dataclass(frozen=True, repr=False)
class ChoiceColumn(Column):
    """A column of declared values, encoded as one indicator per value: a block of norm 1.

    Parameters
    ----------
    baseline
        A value without an indicator, so that coefficients of the others are differences from
        it. Intervals need one beside an intercept. None leaves no value out.
    """

    baseline: Any = field(default=None, kw_only=True)

    options = ("other", "baseline", "missing")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.baseline is None:
            return
        if isinstance(self.baseline, str):
            object.__setattr__(self, "baseline", self.baseline.strip())
        if isinstance(self.baseline, bool) or self.baseline not in self.choices:
            raise InvalidParameter(
                "baseline must be one of the declared values.", parameter="baseline"
            )

    @property
    def choices(self) -> tuple[Any, ...]:
        """The declared values."""
        raise NotImplementedError

    @property
    def classes(self) -> tuple[Any, ...]:
        """The declared values."""
        return self.choices

    def values(self, cells: Any) -> Array:
        """Return the place of each cell among the declared values."""
        other = cast(Any, self).other  # which every kind declares
        place = None if other is None else self.choices.index(other)
        return positions(cells, self.choices, place)

    def features(self, name: str, rule: Any) -> dict[str, Interval]:
        """Return one indicator per value, and one for missing cells."""
        found = {f"{name}={c}": UNIT for c in self.choices if c != self.baseline}
        return found | ({f"{name} missing": UNIT} if rule == "indicator" else {})

    def spread(self, values: Array, rule: Any) -> Array:
        """Return one indicator column per value; a NaN row for a missing one."""
        count = len(self.choices)
        width = count + (rule == "indicator")
        table = np.eye(count + 1, width)
        if rule != "indicator":
            table[count] = np.nan
        if self.baseline is not None:
            table = np.delete(table, self.choices.index(self.baseline), axis=1)
        index = np.where(np.isnan(values), count, values).astype(np.int64)
        encoded: Array = table[index]
        return encoded


def _said_last(held: Field[Any]) -> int:
    """Return where a field stands when a column is printed."""
    return ("baseline", "missing").index(held.name) + 1 if held.kw_only else 0


def positions(cells: Any, choices: Sequence[Any], other: int | None = None) -> Array:
    """Return the place of each cell among declared values, NaN for none.

    Parameters
    ----------
    cells
        What was read.
    choices
        Declared values, all text or all numbers.
    other
        Place of cells that hold something else, if there is one.

    Examples
    --------
    >>> positions(["yes", " no", "?", ""], ("no", "yes"))
    array([ 1.,  0., nan, nan])
    >>> positions([1.0, "2", 7], (1, 2, 3), other=2)
    array([0., 1., 2.])
    """
    at: dict[Any, float] = {choice: float(k) for k, choice in enumerate(choices)}
    if not isinstance(choices[0], str):
        values: Any = numbers(cells)
        rest = math.nan if other is None else float(other)
        return np.array([math.nan if v != v else at.get(v, rest) for v in values.tolist()])
    found: dict[Any, float] = {None: math.nan, "": at.get("", math.nan)}
    rest = math.nan if other is None else float(other)
    return np.fromiter(
        (found[t] if t in found else at.get(t, rest) for t in map(text, cells)),
        np.float64,
        len(cells),
    )


def declared_choices(given: Any, what: str, least: int = 2) -> tuple[Any, ...]:
    """Return values that a column declares, all text or all numbers, each once.

    Parameters
    ----------
    given
        A list.
    what
        How they are called.
    least
        How many there must be.

    Examples
    --------
    >>> declared_choices(["low ", "high"], "categories")
    ('low', 'high')
    """
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Sequence | np.ndarray):
        raise InvalidParameter(f'{what} must be a list, e.g. ["no", "yes"].', parameter=what)
    values = [v.item() if isinstance(v, np.generic) else v for v in given]
    if len(values) < least:
        raise InvalidParameter(f"{what} must be a list of at least two.", parameter=what)
    if all(isinstance(v, str) for v in values):
        found: tuple[Any, ...] = tuple(v.strip() for v in values)
    elif all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
        found = tuple(values)
    else:
        raise InvalidParameter(
            f"{what} must be all text or all numbers. Write true and false as text, the way the "
            "file spells them, or declare boolean = true.",
            parameter=what,
        )
    if not all(number(str(v)) == v for v in found if not isinstance(v, str)):
        raise InvalidParameter(
            f"{what} hold a number that no cell is read as: cells are read in float64, and NaN "
            "equals nothing. Declare long numbers as text.",
            parameter=what,
        )
    if len(set(found)) < len(found):
        raise InvalidParameter(f"{what} hold a value twice.", parameter=what)
    return found
