"""Private linear regressors.

Labels are mapped to [-1, 1] inside, features likewise; penalties, thresholds
and the norm guess act in that scaled domain and coefficients come back in the
user's units.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.accounting import Budget
from discreet.bounds import Array, Bounds
from discreet.checks import nonnegative, positive
from discreet.defaults import choose
from discreet.defaults.descent import descent
from discreet.errors import InvalidParameter, MissingBound
from discreet.estimators.linear import Chosen, Descended, Penalised, PrivateRegressor, Ridged
from discreet.estimators.parameters import ALGORITHM, COMMON, FITTED, GUESS, INTERCEPT, PENALTIES
from discreet.losses import Clipped, Huber, Loss, Poisson, Squared
from discreet.problem import Plan, Problem, rows_against_noise
from discreet.regularizers import ElasticNet, Regularizer

_PARAMETERS = COMMON + ALGORITHM + INTERCEPT + GUESS


def usual_clip(problem: Problem, budget: Budget) -> float:
    """Return where residuals of a ridge regression are clipped unless the user says.

    Noise grows with the clip ``c`` and bias falls with it: by ``1 / c^2`` if
    nothing but the variance of residuals is known, against noise of square
    ``c^2 / q^2`` with ``q`` rows for one of noise. So ``c`` grows like the root
    of ``q``. Its constant and ends were chosen on artificial data only.

    Parameters
    ----------
    problem, budget
        Public facts; the loss of the problem does not matter.

    Examples
    --------
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=10, n_rows=20_000)
    >>> [round(usual_clip(problem, Budget(e, 1e-6)), 3) for e in (0.1, 1.0, 8.0)]
    [0.125, 0.193, 0.492]
    """
    return min(1.0, max(0.125, math.sqrt(rows_against_noise(problem, budget)) / 200))


def penalised_clip(problem: Problem, budget: Budget, alpha: float) -> float:
    """Return where residuals of an elastic net are clipped unless the user says.

    A penalty holds back noise by itself, so with many rows clipping has less to
    save than it costs: up to 1000 rows for one of noise it fades. A penalty of
    slope ``alpha`` also outweighs what a small clip leaves of the gradients, so
    the clip grows with it. Constants were chosen on artificial data and seen to
    fit four public data sets (``benchmarks/README.md``).

    Parameters
    ----------
    problem, budget
        Public facts; the loss of the problem does not matter.
    alpha
        The penalty on the scale of a mean over rows.

    Examples
    --------
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=10, n_rows=5000)
    >>> [round(penalised_clip(problem, Budget(e, 1e-6), 1e-3), 3) for e in (0.1, 1.0, 8.0)]
    [0.125, 0.374, 1.0]
    >>> [penalised_clip(problem, Budget(0.1, 1e-6), alpha) for alpha in (0.01, 0.1)]
    [0.32, 1.0]
    """
    return min(1.0, max(0.125, rows_against_noise(problem, budget) / 1000, 32 * alpha))


class LeastSquares(PrivateRegressor):
    """Regressors by squares, with residuals clipped somewhere; not used directly."""

    clip: float | None = None

    def _usual_clip(self, problem: Problem, budget: Budget) -> float:
        return usual_clip(problem, budget)

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        clip = 1.0 if self.clip is None else positive("clip", self.clip)
        return Clipped(loss=Squared(), clip=clip * row_norm)

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        problem = super()._problem(bounds, n_features, n_rows)
        if self.clip is not None:
            return problem
        clip = self._usual_clip(problem, Budget(self.epsilon, self.delta))
        return replace(problem, loss=Clipped(loss=Squared(), clip=clip * problem.row_norm))


class PrivateRidge(Descended, Ridged, LeastSquares):
    __doc__ = f"""Ridge regression with a privacy guarantee.

    Residuals beyond ``clip`` half label ranges are counted linearly: that is
    what bounds the influence of one row without bounding the weights. With
    ``algorithm="sufficient-statistics"`` residuals are not clipped and one pass
    over the data is enough; ``"auto"`` takes it when ``clip`` is so large that
    noise on second moments promises the smaller error. Where rows neither drown in
    noise nor are plenty it takes noisy gradient steps.
{_PARAMETERS}
    alpha
        Ridge strength on the sum of half squared residuals, as in scikit-learn but
        on labels, and rows whose ranges are declared, in [-1, 1]; the plan raises
        it where privacy needs more. None lets the plan choose.
    clip
        Residual, in half label ranges, from which a row of full norm counts
        linearly. None takes :func:`usual_clip`, from 1/8 where noise dominates
        to 1 where rows are plenty.{PENALTIES}{FITTED}

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(0, 10, 2000).reshape(-1, 1)
    >>> bounds = Bounds(features=(0, 10), label=(0, 30))
    >>> model = PrivateRidge(epsilon=2.0, bounds=bounds, random_state=0).fit(X, 3 * X.ravel())
    >>> bool(abs(model.predict([[5.0]])[0] - 15) < 2)
    True
    """

    def _is_left_to_the_plan(self) -> bool:
        return self.clip is None and super()._is_left_to_the_plan()

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        plan = super()._plan(problem, budget)
        if self.algorithm != "auto" or math.isinf(plan.expected_excess):
            return plan
        # Clipped residuals need less noise than second moments unless clip is large.
        other = choose(
            "sufficient-statistics",
            problem,
            budget,
            strength=self._strength(),
            norm_guess=self.norm_guess,
        )
        return min(plan, other, key=lambda p: p.expected_excess)


class PrivateElasticNet(Chosen, LeastSquares):
    __doc__ = f"""Linear regression with an elastic-net penalty and a privacy guarantee.

    Minimises ``1/(2n) ||y - Xw||^2 + alpha l1_ratio ||w||_1 + alpha (1 -
    l1_ratio)/2 ||w||^2`` in the scaled domain, with residuals beyond ``clip``
    half label ranges counted linearly.
{_PARAMETERS}
    alpha, l1_ratio
        Penalty and its l1 share, as in scikit-learn, but on rows and labels in
        [-1, 1], where scikit-learn's 1.0 would leave no weight.
    clip
        Residual, in half label ranges, from which a row of full norm counts
        linearly. None takes :func:`penalised_clip`, from 1/8 where noise
        dominates and the penalty is small to 1 elsewhere.{FITTED}

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

    def _usual_clip(self, problem: Problem, budget: Budget) -> float:
        return penalised_clip(problem, budget, self.alpha)

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        # Steps leave noise on all weights, which a penalty charges for: where it is fainter than
        # noise, less than objective perturbation loses by its ridge (``benchmarks/README.md``).
        faint = self.alpha * rows_against_noise(problem, budget) < 1.0
        asked = self.algorithm != "auto" or self.norm_guess is not None
        found = descent(problem, budget) if faint and not asked else None
        return super()._plan(problem, budget) if found is None else found

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


class PrivateHuberRegressor(Descended, Ridged, PrivateRegressor):
    __doc__ = f"""Robust linear regression with a privacy guarantee.
{_PARAMETERS}
    threshold
        Residual, in half label ranges, from which errors count linearly.
    alpha
        Ridge strength on the sum scale, in the scaled domain; the plan raises it
        where privacy needs more. None lets the plan choose.{PENALTIES}{FITTED}

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


class PrivatePoissonRegressor(Chosen, Penalised, Ridged, PrivateRegressor):
    __doc__ = f"""Regression of counts with a logarithmic link and a privacy guarantee.

    Minimises ``exp(z) - y z`` in ``z = <x, w>``, continued linearly where ``|z|``
    exceeds ``limit``. Labels are clipped to ``bounds.label`` and to 0 from below.
{_PARAMETERS}
    limit
        Largest logarithm of a rate that is trusted; noise grows with its exponential.
        None takes the logarithm of the largest declared count, at least 1.
    alpha
        Ridge strength on the sum scale, in the scaled domain; the plan raises it
        where privacy needs more. None lets the plan choose.{PENALTIES}{FITTED}

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
        limit = self._trusted(self.bounds_)
        return np.exp(np.clip(self._scores(X), -limit, limit))
