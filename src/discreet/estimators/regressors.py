"""Private linear regressors.

Labels are mapped to [-1, 1] inside, features likewise; penalties, thresholds
and the norm guess act in that scaled domain and coefficients come back in the
user's units.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget
from discreet.bounds import Array, Bounds
from discreet.checks import nonnegative, positive
from discreet.defaults import residual_clip
from discreet.errors import InvalidParameter, MissingBound
from discreet.estimators.linear import AnyAlgorithm, Penalised, PrivateRegressor, RidgePenalty
from discreet.estimators.several_outputs import SeveralOutputs
from discreet.estimators.shared.intervals import INFERENCE, WithIntervals
from discreet.estimators.shared.parameters import (
    ALGORITHM,
    BASSILY,
    CHAUDHURI,
    COMMON,
    FITTED,
    GUESS,
    INTERCEPT,
    PENALTIES,
    REDBERG,
)
from discreet.losses import Clipped, Huber, Loss, Poisson, Squared
from discreet.problem import Problem
from discreet.regularizers import ElasticNet, Regularizer

_PARAMETERS = COMMON + ALGORITHM + INTERCEPT + GUESS


class LeastSquares(PrivateRegressor):
    """Regressors by squares, with residuals clipped somewhere; not used directly."""

    clip: float | None = None
    _typical: ClassVar[bool] = True

    def _penalty(self) -> float | None:
        """Slope of an elastic net, on the scale of a mean over rows."""
        return None

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        clip = 1.0 if self.clip is None else positive("clip", self.clip)
        return Clipped(loss=Squared(), clip=clip * row_norm)

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        problem = super()._problem(bounds, n_features, n_rows)
        if self.clip is not None:
            return problem
        clip = residual_clip(problem, Budget(self.epsilon, self.delta), self._penalty())
        return replace(problem, loss=Clipped(loss=Squared(), clip=clip * problem.typical_norm))


class PrivateRidge(WithIntervals, SeveralOutputs, Penalised, RidgePenalty, LeastSquares):
    __doc__ = f"""Ridge regression with a privacy guarantee.

    Residuals beyond ``clip`` half label ranges are counted linearly: that is
    what bounds the influence of one row without bounding the weights. Unless you
    state it, a first run for a small part of the budget tells how large residuals are,
    and a second one is clipped by that. With
    ``algorithm="sufficient-statistics"`` residuals are not clipped and one pass
    over the data is enough; ``"auto"`` takes it when ``clip`` is so large that
    noise on second moments has the smaller error bound. Below 1,000 rows per unit of
    noise it takes noisy gradient steps, and below 100 no first run. Several labels for
    each row, an array ``y`` of two dimensions, are fitted by noisy second moments at
    once; all of them lie in ``bounds.label``.
{_PARAMETERS}
    alpha
        Ridge strength on the sum of half squared residuals, as in scikit-learn but
        on labels, and rows whose ranges are declared, in [-1, 1]; the plan raises
        it where privacy or noise needs more. None and 0 ask for none.
    clip
        Residual, in half label ranges, from which a row of typical norm counts
        linearly. None learns it from a first run, where ``algorithm`` is ``"auto"`` or
        ``"learned-clip"``. Else, with few rows, and with groups, it takes
        :func:`~discreet.defaults.residual_clip`, from 1/8 where noise dominates to 1 where rows
        are many; with very many no residual is clipped.{PENALTIES}{INFERENCE}{FITTED}

    See Also
    --------
    PrivateHuberRegressor : robust to outlying labels
    PrivateElasticNet : a penalty that selects features
    PrivateLasso : many features

    References
    ----------{CHAUDHURI}{REDBERG}
    Wang, *Revisiting differentially private linear regression*, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(0, 10, 2000).reshape(-1, 1)
    >>> bounds = Bounds(features=(0, 10), label=(0, 30))
    >>> model = PrivateRidge(epsilon=2.0, bounds=bounds, random_state=0).fit(X, 3 * X.ravel())
    >>> bool(abs(model.predict([[5.0]])[0] - 15) < 2)
    True
    >>> model.fit(X, np.column_stack([3 * X, 30 - 3 * X])).predict([[5.0]]).shape
    (1, 2)
    """

    _clips_residuals: ClassVar[bool] = True


class PrivateElasticNet(AnyAlgorithm, LeastSquares):
    __doc__ = f"""Linear regression with an elastic-net penalty and a privacy guarantee.

    Minimises ``1/(2n) ||y - Xw||^2 + alpha l1_ratio ||w||_1 + alpha (1 -
    l1_ratio)/2 ||w||^2`` in the scaled domain, with residuals beyond ``clip``
    half label ranges counted linearly.
{_PARAMETERS}
    alpha, l1_ratio
        Penalty and its l1 share, as in scikit-learn, but on rows and labels in
        [-1, 1], where scikit-learn's 1.0 would leave no weight.
    clip
        Residual, in half label ranges, from which a row of typical norm counts
        linearly. None takes :func:`~discreet.defaults.residual_clip`, from 1/8 where
        noise dominates and the penalty is small to 1; with very many rows
        no residual is clipped.{FITTED}

    See Also
    --------
    PrivateRidge : without a penalty on absolute values
    PrivateLasso : many features

    References
    ----------
    Kifer, Smith, Thakurta, *Private convex empirical risk minimization and high-dimensional
    regression*, 2012.{BASSILY}

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateElasticNet
    >>> X = np.linspace(-1, 1, 500).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateElasticNet(alpha=0.01, bounds=bounds).fit(X, X.ravel())
    >>> model.coef_.shape
    (1,)
    """

    alpha: float = 0.001
    l1_ratio: float = 0.5

    def _penalty(self) -> float:
        return self.alpha

    def _regularizer(self, n_rows: int | None) -> Regularizer:
        if n_rows is None:
            raise MissingBound(
                "n_rows is not set. The penalty of PrivateElasticNet is scaled by the number of "
                "rows, which is secret under add-remove neighbours. Pass n_rows=..., a declared "
                "size."
            )
        alpha = n_rows * positive("alpha", self.alpha)
        ratio = nonnegative("l1_ratio", self.l1_ratio)
        if ratio > 1.0:
            raise InvalidParameter(f"l1_ratio must lie between 0 and 1. Got {ratio!r} instead.")
        return ElasticNet(l1=alpha * ratio, l2=alpha * (1.0 - ratio))


class PrivateHuberRegressor(WithIntervals, AnyAlgorithm, Penalised, RidgePenalty, PrivateRegressor):
    __doc__ = f"""Robust linear regression with a privacy guarantee.
{_PARAMETERS}
    threshold
        Residual, in half label ranges, from which errors count linearly.
    alpha
        Ridge strength on the sum scale, in the scaled domain; the plan raises it
        where privacy or noise needs more. None and 0 ask for none.{PENALTIES}{INFERENCE}{FITTED}

    See Also
    --------
    PrivateRidge : squared losses
    PrivateQuantileRegressor : medians and other quantiles

    References
    ----------{CHAUDHURI}{REDBERG}

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateHuberRegressor
    >>> X = np.linspace(-1, 1, 1000).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateHuberRegressor(epsilon=1.0, bounds=bounds).fit(X, X.ravel() / 2)
    >>> model.guarantee_.neighbours
    'zero-out'
    """

    threshold: float = 0.25

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Huber(threshold=self.threshold)


class PrivatePoissonRegressor(
    WithIntervals, AnyAlgorithm, Penalised, RidgePenalty, PrivateRegressor
):
    __doc__ = f"""Regression of counts with a logarithmic link and a privacy guarantee.

    Minimises ``exp(z) - y z`` in ``z = <x, w>``, continued linearly where ``|z|``
    exceeds ``limit``. Labels are clipped to ``bounds.label`` and to 0 from below.
{_PARAMETERS}
    limit
        Largest logarithm of a rate that is trusted; noise grows with its exponential.
        None takes the logarithm of the largest declared count, at least 1.
    alpha
        Ridge strength on the sum scale, in the scaled domain; the plan raises it
        where privacy needs more. None lets the plan choose.{PENALTIES}{INFERENCE}{FITTED}

    See Also
    --------
    PrivateRidge : numbers that are not counts

    References
    ----------{CHAUDHURI}{REDBERG}

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivatePoissonRegressor
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> y = np.random.default_rng(0).poisson(np.exp(X.ravel()))
    >>> bounds = Bounds(features=(-1, 1), label=(0, 10))
    >>> model = PrivatePoissonRegressor(epsilon=4.0, bounds=bounds, random_state=0).fit(X, y)
    >>> bool(1.5 < model.predict([[0.9]])[0] < 4.0)
    True
    """

    limit: float | None = None

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Poisson(limit=self._trusted(bounds))

    def _trusted(self, bounds: Bounds) -> float:
        if self.limit is not None:
            return positive("limit", self.limit)
        most = math.e if bounds.label is None else bounds.label[1]
        return max(1.0, math.log(max(most, 1.0)))

    def predict(self, X: Any) -> Array:
        """Return the expected count of every row."""
        scores = self._scores(X)
        limit = self._trusted(self.bounds_)
        return np.exp(np.clip(scores, -limit, limit))
