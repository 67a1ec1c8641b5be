"""The words every room shares: arrays, neighbour relations and declared bounds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.checks import LEAST_SIZE, MOST_SIZE, finite, moderate, one_of, truth
from discreet.errors import InvalidParameter
from discreet.tuned.defaults import TYPICAL

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

Neighbours: TypeAlias = Literal["zero-out", "replace-one", "add-remove"]

NEIGHBOURS: dict[str, str] = {
    "zero-out": "one row against a blank row that adds nothing; the number of rows is public",
    "replace-one": "one row against any other row; the number of rows is public",
    "add-remove": "one row more or less; the number of rows is secret",
}
"""The neighbour relations, each with what it protects."""


_GROUPS: dict[str, str] = {
    "zero-out": "all rows of one group, such as a person, against blank rows; how many rows each "
    "group has is public",
    "replace-one": "all rows of one group, such as a person, against any others; the number of "
    "groups is public",
    "add-remove": "one group, such as a person, more or less; the number of groups is secret",
}


def neighbours_mean(neighbours: str, unit: str = "row") -> str:
    """Return what a neighbour relation protects, in words.

    >>> neighbours_mean("add-remove", "group")
    'one group, such as a person, more or less; the number of groups is secret'
    """
    return (_GROUPS if unit == "group" else NEIGHBOURS)[neighbours]


def unit_means(unit: str) -> str:
    """Return what is protected, in words for readers: all rows of a group are a person's.

    >>> unit_means("row"), unit_means("group")
    ('row', 'person (all rows of one group)')
    """
    return "person (all rows of one group)" if unit == "group" else unit


def rows_apart(neighbours: str) -> int:
    """Return how many rows' parts a sum over all rows can move by.

    >>> rows_apart("zero-out"), rows_apart("replace-one")
    (1, 2)
    """
    # privacy: a replacement takes one row's part away and adds another's
    return 2 if one_of("neighbours", neighbours, NEIGHBOURS) == "replace-one" else 1


Interval: TypeAlias = tuple[float, float]

_FEATURES = (
    "features must be one pair (low, high) for all features, or a list with one pair for each, "
    "e.g. features=[(0, 120), (40, 200)]."
)


def interval(name: str, value: object) -> Interval:
    """Return ``value`` as a pair of floats with ``low < high``, of sizes that can be squared.

    >>> interval("label", [0, 10])
    (0.0, 10.0)
    """
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise InvalidParameter(f"{name} must be a pair (low, high).", parameter=name)
    if len(value) != 2:
        raise InvalidParameter(
            f"{name} must be a pair (low, high). Got {len(value)} values.", parameter=name
        )
    low, high = finite(f"{name} low", value[0]), finite(f"{name} high", value[1])
    if not low < high:
        raise InvalidParameter(
            f"{name} must have low < high. Got ({low!r}, {high!r}) instead.", parameter=name
        )
    if max(-low, high) > MOST_SIZE or high - low < LEAST_SIZE:
        raise InvalidParameter(
            f"{name} must lie within {-MOST_SIZE:g} and {MOST_SIZE:g} and be at least "
            f"{LEAST_SIZE:g} wide: squares and products of other numbers do not fit into float64. "
            f"Got ({low!r}, {high!r}) instead. Choose other units.",
            parameter=name,
        )
    return low, high


def _is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA answers no comparison
        return True


def _labels(value: object) -> tuple[Any, ...]:
    """Return the classes of a label as plain values."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidParameter("classes must be a list of labels, e.g. classes=('no', 'yes').")
    labels = tuple(c.item() if isinstance(c, np.generic) else c for c in value)
    if any(not isinstance(c, Hashable) or isinstance(c, tuple) for c in labels):
        raise InvalidParameter("classes must hold labels, not lists of them.")
    if any(_is_missing(c) for c in labels):
        raise InvalidParameter("classes must not hold missing values. Give them a label instead.")
    if len(set(labels)) != len(labels) or len(labels) < 2:
        raise InvalidParameter("classes must hold at least two different labels.")
    if len({isinstance(c, str) for c in labels}) > 1:
        raise InvalidParameter("classes must be all text or all numbers, as labels are.")
    return labels


def _ranges(value: object) -> tuple[Interval, ...] | Interval:
    """Return one range for all features, or one for each."""
    if isinstance(value, str | bytes | Set) or not isinstance(value, Iterable):
        raise InvalidParameter(_FEATURES)
    given = tuple(value)
    numbers = [isinstance(v, int | float | np.number) for v in given]
    if len(given) == 2 and all(numbers):
        return interval("features", given)
    if not given or any(numbers):
        raise InvalidParameter(_FEATURES)
    return tuple(interval(f"features[{j}]", v) for j, v in enumerate(given))


@dataclass(frozen=True, kw_only=True, repr=False)
class Bounds:
    """What is declared about the rows before any of them is read.

    Rows are forced inside these bounds by clipping, so they hold whatever the
    data is. They must come from public knowledge, never from the data.

    Parameters
    ----------
    row_norm
        Longest Euclidean norm of a row, after ``features`` has scaled it.
        Longer rows are scaled down. With ranges, None scales no row
        down, and no row is longer than the square root of the number of features.
    typical_norm
        Norm that most rows have, after ``features`` has scaled them. Rows stay as they
        are. Where a default caps gradients, longer rows count for less, and the guess of
        the weights is scaled to it. With ranges alone, None means the square root of the
        longest norm for logistic regression and least squares, where categories of a
        schema count in full. Otherwise it means ``row_norm``.
    features
        Range of every feature in the user's units: one ``(low, high)`` pair
        for all features, or one pair per feature, in their order or by the names
        of the columns: ``{"age": (17, 90), "size": (40, 200)}``. Features are
        mapped into ``[-1, 1]`` inside and coefficients come back in the user's
        units. See ``centred`` for what becomes of 0. ``"private"`` lets an estimator
        learn all ranges with a share of its budget.
    label
        Range ``(low, high)`` of the label of a regression.
    classes
        Every class a label may have.
    weight
        Largest weight a row may carry.
    names
        Column of every range; a mapping of ``features`` sets it.
    centred
        Whether ``low`` becomes -1, the middle of a range 0 and ``high`` 1. If not,
        0 stays 0 and the end further from it becomes 1 or -1. None means: centred
        where the model has an intercept and rows are dense. A range such as
        ``(-1, 1)`` has its middle at 0, so 0 stays 0 in any case: declare it for an
        indicator, or for any column that is 0 in most rows.

    Examples
    --------
    >>> Bounds(row_norm=1.0).row_norm
    1.0
    >>> Bounds(features=[(0, 120), (40, 200)], label=(0, 10)).features
    ((0.0, 120.0), (40.0, 200.0))
    >>> Bounds(features={"age": (0, 120)}, classes=("no", "yes"))
    Bounds(features={'age': (0.0, 120.0)}, classes=('no', 'yes'))
    """

    row_norm: float | None = None
    typical_norm: float | None = None
    features: tuple[Interval, ...] | Interval | None = None
    label: Interval | None = None
    classes: tuple[Any, ...] | None = None
    weight: float = 1.0
    names: tuple[str, ...] | None = None
    centred: bool | None = None

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("weight", moderate("weight", self.weight))
        if self.centred is not None:
            put("centred", truth("centred", self.centred))
        if self.row_norm is not None:
            put("row_norm", moderate("row_norm", self.row_norm))
        if self.typical_norm is not None:
            put("typical_norm", moderate("typical_norm", self.typical_norm))
        if self.label is not None:
            put("label", interval("label", self.label))
        if self.classes is not None:
            put("classes", _labels(self.classes))
        features: object = self.features
        if isinstance(features, Mapping):
            if not features:
                raise InvalidParameter(
                    "bounds.features names no column. Give every column its range, e.g. "
                    "features={'age': (17, 90)}, or leave features out."
                )
            if not all(isinstance(name, str) for name in features):
                raise InvalidParameter("bounds.features takes names of columns as text.")
            put("names", tuple(features))
            pairs = [interval(f"features[{name!r}]", pair) for name, pair in features.items()]
            put("features", tuple(pairs))
        elif features is not None and features != "private":
            put("features", _ranges(features))
        if self.names is not None:
            put("names", self._checked_names(self.names))

    def _checked_names(self, names: Iterable[str]) -> tuple[str, ...]:
        given = () if isinstance(names, str) else tuple(names)
        different = len(set(map(str, given))) == len(given) > 0
        if not (different and all(isinstance(name, str) for name in given)):
            raise InvalidParameter("bounds.names must be different names of columns, as text.")
        if self.features is None or self.ranges(len(given)) != self.features:
            raise InvalidParameter("bounds.names needs bounds.features with one range per name.")
        return given

    @property
    def private(self) -> bool:
        """Whether ranges of features are to be learned privately."""
        return isinstance(self.features, str)

    def in_order(self, names: Sequence[str] | None) -> Bounds:
        """Return bounds whose ranges stand in the order of these columns, without names.

        >>> Bounds(features={"age": (17, 90), "size": (40, 200)}).in_order(["size", "age"]).features
        ((40.0, 200.0), (17.0, 90.0))
        """
        if self.names is None:
            return self
        if names is None:
            raise InvalidParameter(
                "bounds.features names columns, but X has no column names that are text. Pass a "
                "data frame (in a Pipeline by set_output(transform='pandas')), or one (low, high) "
                "pair per column in their order."
            )
        # Names of columns are public, so they may be told.
        missing = [n for n in names if n not in self.names]
        unknown = [n for n in self.names if n not in set(names)]
        if missing or unknown:
            raise InvalidParameter(
                "bounds.features must name every column of X and no other. Without a range: "
                f"{missing}. Not in X: {unknown}."
            )
        declared: dict[str, Any] = dict(zip(self.names, self.features or (), strict=True))
        return replace(self, features=tuple(declared[n] for n in names), names=None)

    def ranges(self, n_features: int) -> tuple[Interval, ...] | None:
        """Return one range per feature, or None when none is declared.

        >>> Bounds(features=(0, 1)).ranges(2)
        ((0.0, 1.0), (0.0, 1.0))
        """
        if self.features is None:
            return None
        if self.private:
            raise InvalidParameter(
                "bounds.features is private, and only estimators learn ranges, with a share of "
                "their budget. Declare them here, or find them with PrivateBounds.",
                parameter="bounds",
            )
        if isinstance(self.features[0], float):
            return (self.features,) * n_features
        if len(self.features) != n_features:
            raise InvalidParameter(
                f"bounds.features has {len(self.features)} ranges but there are "
                f"{n_features} features."
            )
        return self.features

    def __repr__(self) -> str:
        declared = self.to_dict()
        if self.names is not None:
            declared["features"] = dict(
                zip(declared.pop("names"), self.features or (), strict=True)
            )
        return f"Bounds({', '.join(f'{name}={value!r}' for name, value in declared.items())})"

    def to_dict(self) -> dict[str, Any]:
        """Return the declared bounds as plain JSON values.

        >>> Bounds(row_norm=2).to_dict()
        {'row_norm': 2.0}
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v for k, v in values.items() if v is not None and not (k == "weight" and v == 1)}

    @classmethod
    def of(cls, value: Bounds | Mapping[str, Any] | None) -> Bounds:
        """Return ``value`` as Bounds; a mapping is read as keyword arguments.

        >>> Bounds.of({"row_norm": 1}) == Bounds(row_norm=1.0)
        True
        """
        if value is None:
            return cls()
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise InvalidParameter(
                f"bounds must be a Bounds or a mapping. Got {type(value).__name__} instead; ranges "
                "of features are given as Bounds(features=...)."
            )
        known = {f.name for f in fields(cls)}
        for name in value:
            if name not in known:
                raise InvalidParameter(f"bounds has no field {name!r}; it has {sorted(known)}.")
        return cls(**value)


def typical_norm(numbers: int, categories: int = 0) -> float:
    """Return the norm that rows of so many columns are taken to have.

    Ranges are wide for most rows, the more so the more columns there are, so the numbers of a row
    count as the root of the norm they may have. Of the indicators of a category one is set, so it
    has norm 1 in any case.

    >>> typical_norm(1), round(typical_norm(100), 2), round(typical_norm(16, categories=5), 2)
    (1.0, 3.16, 3.0)
    """
    return math.sqrt(categories + numbers**TYPICAL)


def unit_roundoff() -> float:
    """Return u, the largest relative error of one rounding in float64.

    >>> unit_roundoff() == 2.0**-53
    True
    """
    return math.ldexp(1.0, -53)
