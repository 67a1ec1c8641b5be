"""Means and deviations of columns, learned privately."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from discreet.bounds import Array, Bounds
from discreet.checks import moderate
from discreet.data import clipped_rows
from discreet.errors import MissingBound
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.tabular import allows_blank
from discreet.mechanisms.column_moments import ColumnMoments
from discreet.preprocessing.transformer import PARAMETERS, PrivateTransformer, TransformerPlan


class LearnedScale:
    """What a fit leaves behind."""

    mean_: Array
    var_: Array
    scale_: Array
    bounds_: Bounds


class PrivateStandardScaler(LearnedScale, OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]
    __doc__ = f"""Centre and scale columns, with a privacy guarantee.

    Sums and sums of squares of all columns are released once, with noise. Rows are
    scaled by them and then scaled down to a public norm, so the next step can declare
    ``Bounds(row_norm=...)`` before anything is read.

    Parameters
    ----------
    epsilon, delta
        Privacy budget of one fit; ``delta=0`` asks for pure epsilon-privacy.
    bounds
        Declared :class:`~discreet.Bounds` with ``features``, or a mapping of them. Values
        are clipped to them. :class:`PrivateBounds` finds ranges that nobody knows.
    row_norm
        Longest norm of a row after scaling; by default the square root of the number of
        columns.
    missing
        ``"refuse"`` rows with a missing value (NaN), or ``"blank"``: such a row counts for
        nothing, and the number of the others is released with noise.{PARAMETERS}

    Attributes
    ----------
    mean_, var_, scale_
        Released mean, variance and standard deviation of every column.
    bounds_
        :class:`~discreet.Bounds` of scaled rows, for the next step.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    PrivateBounds : Finds the ranges that this transformer needs.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateStandardScaler
    >>> X = np.random.default_rng(0).normal(40.0, 5.0, size=(20_000, 1))
    >>> scaler = PrivateStandardScaler(epsilon=1.0, bounds=Bounds(features=(0, 100)))
    >>> scaler = scaler.set_params(random_state=0).fit(X)
    >>> bool(abs(scaler.mean_[0] - 40) < 0.5), bool(abs(scaler.scale_[0] - 5) < 0.5)
    (True, True)
    """

    delta: float = 1e-6
    bounds: Bounds | dict[str, Any] | None = None
    row_norm: float | None = None
    missing: str = "refuse"

    _algorithm: ClassVar[str] = "column-moments"

    def _plan(self, count: int, n_rows: int | None) -> TransformerPlan:
        size = self._known_size(n_rows)
        self._norm(count)
        if Bounds.of(self.bounds).features is None:
            raise MissingBound(
                "bounds does not declare features. Noise is scaled to the ranges of columns, and "
                "reading them from the data would leak. Pass bounds=Bounds(features=...), or put "
                "PrivateBounds before this step and declare what it scales to.",
                parameter="bounds",
            )
        moments = ColumnMoments(
            budget=self._budget(),
            neighbours=self.neighbours,
            columns=count,
            rows=size,
            counted=self.neighbours == "add-remove" or allows_blank(self.missing),
        )
        deviation = moments.deviation / size
        if deviation > 0.1:
            self._few("noise is more than a tenth of half a range")
        facts = {
            "algorithm": self._algorithm,
            "sensitivity": moments.sensitivity,
            f"{moments.noise.kind} noise scale": moments.noise.scale,
            "noise of a mean, in half ranges": deviation,
        }
        claim = self._claim(moments.noise.event, "column-moments")
        return TransformerPlan(facts, claim, moments)

    def _norm(self, columns: int) -> float:
        return math.sqrt(columns) if self.row_norm is None else moderate("row_norm", self.row_norm)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means and deviations of the columns of ``X``; ``y`` is ignored."""
        X = self._numbers(X, reset=True)
        plan = self.plan(X.shape[1], X.shape[0])
        declared = Bounds.of(self.bounds).in_order(getattr(self, "feature_names_in_", None))
        low, high = np.array(declared.ranges(X.shape[1])).T
        middle, half = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
        random, claim = self._random(plan.guarantee)
        with charged(self, self.ledger, claim, self._algorithm):
            # privacy: each cell is clipped and scaled by itself, and clipped again inside.
            scaled = (np.clip(X, low, high) - middle) / half
            mean, variance = plan.mechanism.draw(scaled, random)
        self.mean_, self.var_ = middle + half * mean, half**2 * variance
        self.scale_ = np.sqrt(self.var_)
        self.bounds_ = Bounds(row_norm=self._norm(X.shape[1]))
        self.guarantee_ = claim
        return self

    def transform(self, X: Any) -> Array:
        """Return rows centred, scaled and no longer than ``row_norm``."""
        X = (self._numbers(X, reset=False) - self.mean_) / self.scale_
        lost = np.isnan(X)
        rows: Array = clipped_rows(self.bounds_, np.where(lost, 0.0, X))
        rows[lost] = np.nan
        return rows
