"""Private medians and quantiles, drawn exactly.

The exponential mechanism with the pinball loss of one column is a piecewise
exponential law, drawn in closed form: pure epsilon, no noise added, one sort.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from discreet.accounting import BoundedRange, Budget, Composed, Guarantee
from discreet.algorithms.base import SIDE_CHANNELS
from discreet.algorithms.oscillation import MOST_ROWS
from discreet.checks import between, one_of
from discreet.errors import InvalidData, InvalidParameter
from discreet.estimators.base import (
    DEFAULT_LABEL,
    SCHEMA_PUBLIC,
    UndeclaredBounds,
    warn_caller,
    warn_of_budget,
)
from discreet.estimators.persistence import Portable, whole
from discreet.estimators.reading import read_rows
from discreet.noise import Randomness, as_randomness
from discreet.samplers import PiecewiseLinear
from discreet.types import NEIGHBOURS, Array, Bounds, Interval, Neighbours

THEOREM = "exponential mechanism (McSherry, Talwar 2007) with the pinball loss, in closed form"


def quantile_scale(quantile: float, epsilon: float, neighbours: str, rows: int, size: int) -> float:
    """Return the constant of the density, per lattice step.

    One value changes the summed pinball loss by amounts that differ by at most
    ``max(q, 1 - q)`` ranges between two points; replacing it, by one range,
    because outside the two values both losses have the same slope.

    >>> round(1 / quantile_scale(0.9, 1.0, "zero-out", 1000, 2**20) / 2**20, 6)
    0.9
    >>> round(1 / quantile_scale(0.9, 1.0, "replace-one", 1000, 2**20) / 2**20, 6)
    1.0
    """
    one = 1.0 if neighbours == "replace-one" else max(quantile, 1.0 - quantile)
    # privacy: four rounded scores enter a ratio; see PiecewiseLinear.pinball for their error.
    return epsilon / ((one * (1.0 + 2.0**-40) + 4.0 * 2.0**-48 * rows) * size)


def draw_quantile(
    values: Array,
    quantile: float,
    limits: Interval,
    epsilon: float,
    neighbours: str,
    random: Randomness,
) -> float:
    """Return one private quantile of a column, a point of a public lattice on ``limits``.

    Values are clipped to the limits; those that are not numbers count as blank.

    >>> from discreet.noise import Seeded
    >>> v = np.repeat([2.0, 4.0, 6.0], 500)
    >>> round(draw_quantile(v, 0.5, (0.0, 10.0), 1.0, "zero-out", Seeded(0)), 1)
    4.0
    """
    rows = MOST_ROWS if neighbours == "add-remove" else values.size
    if values.size > MOST_ROWS:
        raise InvalidData(f"Quantiles take at most {MOST_ROWS} rows.")
    low, high = limits
    if not math.isfinite(high - low):
        # privacy: values could not be put on the lattice, and sums of their places would overflow.
        raise InvalidParameter("bounds.features is too wide for float64. Rescale the column.")
    size = 2 ** min(40, 60 - rows.bit_length())  # sums of twice all indices stay below 2**62
    inside = np.clip(values[~np.isnan(values)], low, high)
    # privacy: every value is put on the lattice by itself, so neighbours stay neighbours.
    index = np.rint((inside - low) / (high - low) * (size - 1)).astype(np.int64)
    scale = quantile_scale(quantile, epsilon, neighbours, rows, size)
    law = PiecewiseLinear.pinball(index, size=size, quantile=quantile, scale=scale)
    return float(low + (high - low) * (law.draw(random) / (size - 1)))


class FittedQuantiles:
    """What a fit leaves behind."""

    quantiles_: Array
    guarantee_: Guarantee
    algorithm_: str
    n_features_in_: int


class Quantiles(FittedQuantiles, Portable):
    """One quantile of every column; not used directly."""

    epsilon: float = 1.0
    bounds: Bounds | dict[str, Any] | None = None
    neighbours: Neighbours = "zero-out"
    random_state: Any = None

    _arrays: ClassVar[tuple[str, ...]] = ("quantiles_", "feature_names_in_")

    @whole
    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the quantiles of the columns of ``X``; ``y`` is ignored."""
        X = read_rows(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        quantile = between("quantile", self.quantile, 0.0, 1.0)
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        ranges = self._ranges(X.shape[1])
        budget = Budget(self.epsilon)
        warn_of_budget(type(self).__name__, budget)
        share = budget.epsilon / X.shape[1]
        random = as_randomness(self.random_state)
        # privacy: a row holding anything unreadable is blank as a whole.
        X = np.where(np.isnan(X).any(axis=1, keepdims=True), np.nan, X)
        self.quantiles_ = np.array(
            [
                draw_quantile(column, quantile, limits, share, self.neighbours, random)
                for column, limits in zip(X.T, ranges, strict=True)
            ]
        )
        self.algorithm_ = "exponential-sampling"
        events = (BoundedRange(share),) * X.shape[1]
        self.guarantee_ = Guarantee(
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=self.neighbours,
            event=events[0] if len(events) == 1 else Composed(events),
            theorem=THEOREM,
            assumptions=(SIDE_CHANNELS, SCHEMA_PUBLIC),
            secure=random.secure,
        )
        return self

    def _ranges(self, n_features: int) -> tuple[Interval, ...]:
        bounds = Bounds.of(self.bounds).in_order(getattr(self, "feature_names_in_", None))
        if bounds.features is None:
            warn_caller(
                f"{type(self).__name__}: bounds does not declare features (values are clipped to "
                f"{DEFAULT_LABEL}). Declare them from public knowledge, e.g. "
                "bounds=Bounds(features=(0, 120)).",
                UndeclaredBounds,
            )
            bounds = replace(bounds, features=DEFAULT_LABEL)
        self.bounds_ = bounds
        ranges = bounds.ranges(n_features)
        assert ranges is not None
        return ranges

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self.random_state is None
        return tags

    @property
    def quantile(self) -> float:
        """Which quantile."""
        raise NotImplementedError


class PrivateQuantile(Quantiles):
    """A quantile of every column, with pure epsilon-privacy.

    Columns share the budget equally. The expected excess of the summed pinball
    loss of a column is at most its range times ``max(q, 1 - q)`` over its
    epsilon, whatever the data is. A row with a missing value (NaN) in any
    column counts for nothing in all of them, and nothing tells so.

    Parameters
    ----------
    quantile
        Which quantile, between 0 and 1.
    epsilon
        Privacy budget of one fit.
    bounds
        Declared :class:`~discreet.Bounds` with ``features``, or a mapping of
        them. Values are clipped to them; they are never read from the data.
    neighbours
        ``"zero-out"``, ``"replace-one"`` or ``"add-remove"``.
    random_state
        None draws from the operating system. A seed makes the fit repeatable
        and the guarantee says ``secure=False``.

    Attributes
    ----------
    quantiles_
        One number per column.
    guarantee_
        What the release promises.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateQuantile
    >>> ages = np.arange(1000).reshape(-1, 1) / 10
    >>> bounds = Bounds(features=(0, 120))
    >>> model = PrivateQuantile(quantile=0.9, bounds=bounds, random_state=0).fit(ages)
    >>> bool(abs(model.quantiles_[0] - 90) < 10), model.guarantee_.delta
    (True, 0.0)
    """

    quantile: float = 0.5


class PrivateMedian(Quantiles):
    """The median of every column, with pure epsilon-privacy.

    A row with a missing value (NaN) in any column counts for nothing in all of
    them, and nothing tells so.

    Parameters
    ----------
    epsilon, bounds, neighbours, random_state
        As in :class:`PrivateQuantile`.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateMedian
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(2000, 1))
    >>> model = PrivateMedian(bounds=Bounds(features=(0, 10)), random_state=0).fit(X)
    >>> bool(abs(model.quantiles_[0] - 5.0) < 0.5)
    True
    """

    @property
    def quantile(self) -> float:
        """One half."""
        return 0.5
