"""Ranges of columns, learned privately."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from discreet.bounds import Array, Bounds
from discreet.checks import truth
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.tabular import allows_blank
from discreet.mechanisms.learned_columns import LearnedColumns, UnknownRange
from discreet.preprocessing.transformer import (
    PARAMETERS,
    PrivateTransformer,
    TransformerPlan,
    per_column,
)


class LearnedBounds:
    """What a fit leaves behind."""

    low_: Array
    high_: Array
    bounds_: Bounds


class PrivateBounds(LearnedBounds, OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]
    __doc__ = f"""Ranges of columns with a privacy guarantee, and clipping to them.

    Each end of each range is searched for on a public ladder of numbers that grows by one
    per cent a step, so no bound is needed beforehand. Pure epsilon-privacy; every end that
    is not declared gets the same share. It aims at ``coverage`` of the values, or at less
    where noise could not tell the extremes apart.

    Parameters
    ----------
    epsilon
        Privacy budget of one fit.
    delta
        0 for pure privacy. With many columns a delta gives each end more of epsilon.
    coverage
        Share of the values of a column that its range shall hold.
    low, high
        Ends that are known cost nothing: one for all columns, a list with one per column
        (None is learned), or a mapping by name.
    unit
        Public size of numbers, one for all columns or one for each: ends are found to one
        per cent of themselves or of the unit, whichever is larger.
    scale
        Whether ``transform`` maps ranges to [-1, 1] as well, so that the next step may
        declare ``Bounds(features=(-1, 1))``.
    missing
        ``"refuse"`` rows with a missing value (NaN), or ``"blank"``: a missing value counts
        for nothing, and stays missing. Noise is then up to twice as large.{PARAMETERS}

    Attributes
    ----------
    low_, high_
        The ends, one per column.
    bounds_
        The ranges as :class:`~discreet.Bounds`, with the names of columns if there are any.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    PrivateQuantile : A quantile of columns whose ranges are known.

    References
    ----------
    Durfee, *Unbounded differentially private quantile and maximum estimation*, NeurIPS 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import PrivateBounds
    >>> ages = np.random.default_rng(0).uniform(18, 90, size=(5000, 1))
    >>> ranges = PrivateBounds(epsilon=0.5, low=0, random_state=0).fit(ages)
    >>> bool(85 < ranges.high_[0] < 95), ranges.guarantee_.delta
    (True, 0.0)
    """

    delta: float = 0.0
    coverage: float = 0.99
    low: Any = None
    high: Any = None
    unit: Any = 1.0
    scale: bool = False
    missing: str = "refuse"

    _algorithm: ClassVar[str] = "unbounded-quantile"

    def _plan(self, count: int, n_rows: int | None) -> TransformerPlan:
        size = self._size(n_rows)
        truth("scale", self.scale)
        secret, names = allows_blank(self.missing), getattr(self, "feature_names_in_", None)
        units = per_column("unit", self.unit, count, names)
        asked = zip(
            per_column("low", self.low, count, names),
            per_column("high", self.high, count, names),
            [1.0 if unit is None else unit for unit in units],
            strict=True,
        )
        learned = LearnedColumns(
            budget=self._budget(),
            neighbours=self.neighbours,
            rows=size,
            ranges={
                str(j): UnknownRange(low=low, high=high, unit=unit, secret=secret)
                for j, (low, high, unit) in enumerate(asked)
                if low is None or high is None
            },
            coverage=self.coverage,
        )
        scan = learned.scan(next(iter(learned.ranges)), upper=True)
        if learned.too_few:
            self._few("an end may lie anywhere between zero and the largest value")
        facts = {
            "algorithm": self._algorithm,
            "ends": len(learned.events),
            "epsilon of each": learned.each,
            "aims at the quantile": scan.share / 1024,
            "ranks too early, 19 in 20 <=": scan.early,
        }
        return TransformerPlan(facts, self._claim(learned.event, learned.theorem), learned)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the ranges of the columns of ``X``; ``y`` is ignored."""
        X = self._numbers(X, reset=True)
        plan = self.plan(X.shape[1], X.shape[0])
        learned, (random, claim) = plan.mechanism, self._random(plan.guarantee)
        names = getattr(self, "feature_names_in_", None)
        low = per_column("low", self.low, X.shape[1], names)
        high = per_column("high", self.high, X.shape[1], names)
        with charged(self, self.ledger, claim, self._algorithm):
            for j, column in enumerate(X.T):
                if str(j) in learned.ranges:
                    low[j], high[j] = learned.range(str(j), column, random)
        self.low_, self.high_ = np.array(low, dtype=float), np.array(high, dtype=float)
        pairs: Any = list(zip(self.low_.tolist(), self.high_.tolist(), strict=True))
        features: Any = pairs if names is None else dict(zip(names, pairs, strict=True))
        self.bounds_ = Bounds(features=features)
        self.guarantee_ = claim
        return self

    def transform(self, X: Any) -> Array:
        """Return rows clipped to the ranges, and scaled to [-1, 1] if asked for."""
        rows: Array = np.clip(self._numbers(X, reset=False), self.low_, self.high_)
        if not self.scale:
            return rows
        middle, half = 0.5 * self.low_ + 0.5 * self.high_, 0.5 * self.high_ - 0.5 * self.low_
        scaled: Array = np.clip((rows - middle) / half, -1.0, 1.0)
        return scaled
