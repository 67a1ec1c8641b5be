"""The words every room shares: arrays, neighbour relations and declared bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from discreet.checks import finite, positive
from discreet.errors import InvalidParameter

Array: TypeAlias = npt.NDArray[np.float64]

Neighbours: TypeAlias = Literal["zero-out", "replace-one", "add-remove"]

NEIGHBOURS: dict[str, str] = {
    "zero-out": "one row against a blank row that adds nothing; the number of rows is public",
    "replace-one": "one row against any other row; the number of rows is public",
    "add-remove": "one row more or less; the number of rows is secret",
}
"""The neighbour relations, each with what it protects."""

Interval: TypeAlias = tuple[float, float]


def interval(name: str, value: object) -> Interval:
    """Return ``value`` as a pair of floats with ``low < high``.

    >>> interval("label", [0, 10])
    (0.0, 10.0)
    """
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise InvalidParameter(f"{name} must be a pair (low, high).")
    if len(value) != 2:
        raise InvalidParameter(f"{name} must be a pair (low, high). Got {len(value)} values.")
    low, high = finite(f"{name} low", value[0]), finite(f"{name} high", value[1])
    if not low < high:
        raise InvalidParameter(f"{name} must have low < high. Got ({low!r}, {high!r}) instead.")
    return low, high


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What is declared about the rows before any of them is read.

    Rows are forced inside these bounds by clipping, so they hold whatever the
    data is. They must come from public knowledge, never from the data.

    Parameters
    ----------
    row_norm
        Longest Euclidean norm of a row, after ``features`` has scaled it.
        Longer rows are scaled down.
    features
        Range of every feature in the user's units: one ``(low, high)`` pair
        for all features, or one pair per feature. Features are mapped to
        ``[-1, 1]`` inside and coefficients come back in the user's units.
    label
        Range ``(low, high)`` of the label of a regression.
    classes
        Every class a label may have.
    weight
        Largest weight a row may carry.

    Examples
    --------
    >>> Bounds(row_norm=1.0).row_norm
    1.0
    >>> Bounds(features=[(0, 120), (40, 200)], label=(0, 10)).features
    ((0.0, 120.0), (40.0, 200.0))
    """

    row_norm: float | None = None
    features: tuple[Interval, ...] | Interval | None = None
    label: Interval | None = None
    classes: tuple[Any, ...] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("weight", positive("weight", self.weight))
        if self.row_norm is not None:
            put("row_norm", positive("row_norm", self.row_norm))
        if self.label is not None:
            put("label", interval("label", self.label))
        if self.classes is not None:
            classes = tuple(c.item() if isinstance(c, np.generic) else c for c in self.classes)
            if len(set(classes)) != len(classes) or len(classes) < 2:
                raise InvalidParameter("classes must hold at least two different labels.")
            put("classes", classes)
        if self.features is not None:
            given: Sequence[Any] = tuple(self.features)
            if len(given) == 2 and all(isinstance(v, int | float | np.number) for v in given):
                put("features", interval("features", given))
            else:
                put("features", tuple(interval(f"features[{j}]", v) for j, v in enumerate(given)))

    def ranges(self, n_features: int) -> tuple[Interval, ...] | None:
        """Return one range per feature, or None when none is declared.

        >>> Bounds(features=(0, 1)).ranges(2)
        ((0.0, 1.0), (0.0, 1.0))
        """
        if self.features is None:
            return None
        if isinstance(self.features[0], float):
            return (self.features,) * n_features
        if len(self.features) != n_features:
            raise InvalidParameter(
                f"bounds.features has {len(self.features)} ranges but there are "
                f"{n_features} features."
            )
        return self.features

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
                f"bounds must be a Bounds or a mapping. Got {type(value).__name__} instead."
            )
        known = {f.name for f in fields(cls)}
        for name in value:
            if name not in known:
                raise InvalidParameter(f"bounds has no field {name!r}; it has {sorted(known)}.")
        return cls(**value)


def unit_roundoff() -> float:
    """Return u, the largest relative error of one rounding in float64.

    >>> unit_roundoff() == 2.0**-53
    True
    """
    return math.ldexp(1.0, -53)
