"""Private models for many features, of which few matter.

Features are mapped to [-1, 1] inside and labels likewise; radii, thresholds
and noise levels act in that scaled domain and coefficients come back in the
user's units. Sparse matrices stay sparse.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe, SupportSelection
from discreet.bounds import Array, Bounds
from discreet.checks import integer, positive
from discreet.defaults import Asked, over_l1_ball, recommend
from discreet.estimators.linear import (
    ClassWeights,
    LinearModel,
    PrivateRegressor,
    RidgePenalty,
)
from discreet.estimators.shared.base import with_poor_scores
from discreet.estimators.shared.charging import warn_caller
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.parameters import CLASS_WEIGHT, COMMON, FITTED, GUESS
from discreet.estimators.shared.probabilities import separate_probabilities
from discreet.losses import Clipped, Huber, Logistic, Loss, Squared
from discreet.problem import Plan, Problem
from discreet.sets import AllSpace, ConvexSet, L1Ball

DEFAULT_FEATURE = (-3.0, 3.0)

_PARAMETERS = f"""{COMMON}
    fit_intercept, intercept_scaling
        Whether to append a constant feature, and its size as a fraction of the
        largest bounded entry."""


class NoStableSupport(UserWarning):
    """The rows did not agree on a support, so the model has no features."""


class SparseModel(LinearModel):
    """Common ground of sparse models; not used directly."""

    _warns_of_noise = False  # noise grows with the logarithm of the number of features

    def _undeclared_rows(self, bounds: Bounds, n_features: int) -> tuple[Bounds, str]:
        declared = replace(bounds, features=DEFAULT_FEATURE)
        return declared, f"features (every feature is clipped to {DEFAULT_FEATURE})"

    def _reach(self, bounds: Bounds, n_features: int) -> float:
        """Return the largest bounded entry, which the intercept's constant is measured by."""
        if bounds.features is None:
            assert bounds.row_norm is not None
            return bounds.row_norm
        return 1.0

    def __sklearn_tags__(self) -> Any:
        # A few hundred rows, as in scikit-learn's own checks, are too few to choose features by.
        return with_poor_scores(super().__sklearn_tags__())

    def sparsify(self) -> Self:
        """Store ``coef_`` as a sparse matrix; predictions stay the same."""
        check_is_fitted(self)
        self.coef_ = sp.csr_array(np.atleast_2d(self.coef_))
        return self

    def densify(self) -> Self:
        """Store ``coef_`` as an array again."""
        check_is_fitted(self)
        coef: Any = self.coef_
        if sp.issparse(coef):
            dense = coef.toarray()
            self.coef_ = dense if self._labels == "classes" else dense.ravel()
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted model as plain JSON values."""
        check_is_fitted(self)
        if sp.issparse(self.coef_):
            return copy.copy(self).densify().to_dict()
        return super().to_dict()

    def _product(self, X: Any) -> Any:
        product = super()._product(X)
        if not sp.issparse(self.coef_):
            return product
        dense = product.toarray() if sp.issparse(product) else np.asarray(product)
        return dense if self._labels == "classes" else dense.ravel()


class FrankWolfeModel(SparseModel):
    """Models over the l1 ball, by private Frank-Wolfe or in one solve; not used directly."""

    radius: float | None = None
    steps: int | None = None
    stale: float | None = None

    def _constraint(self) -> ConvexSet:
        return AllSpace() if self.radius is None else L1Ball(radius=self.radius)

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        algorithm = FrankWolfe(steps=self.steps, stale=self.stale)
        if self.radius is None:
            problem = replace(problem, constraint=algorithm.fitting_ball(problem, budget))
        return over_l1_ball(problem, budget, algorithm)


class PrivateLasso(FrankWolfeModel, PrivateRegressor):
    __doc__ = f"""Least squares with a bounded l1 norm and a privacy guarantee.

    Minimises the squared error over weights of l1 norm at most ``radius`` by
    private Frank-Wolfe, so at most ``steps`` weights are not zero and the error
    grows only with the logarithm of the number of features. If that would take
    as many steps as there are features, the fit uses noisy second moments instead: one
    pass over the rows, and closer to the minimum.
{_PARAMETERS}
    radius
        Largest l1 norm of the weights, intercept included, in the scaled domain.
    threshold
        Residual, in half label ranges, from which errors count linearly; None
        for squared errors throughout.
    steps
        Number of steps of Frank-Wolfe; None chooses it, or another algorithm, from public values.
    stale
        See :class:`~discreet.algorithms.FrankWolfe`; used with ``threshold``.{FITTED}

    See Also
    --------
    PrivateElasticNet : fewer features
    PrivateSparseRegression : a privately selected support

    References
    ----------
    Talwar, Thakurta, Zhang, *Nearly optimal private LASSO*, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLasso
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 100))
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateLasso(epsilon=4.0, bounds=bounds, steps=3, random_state=0)
    >>> int(np.abs(model.fit(X, X[:, 7]).coef_).argmax())
    7
    """

    radius: float = 1.0
    threshold: float | None = None
    intercept_scaling: float = 1.0

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Squared() if self.threshold is None else Huber(threshold=self.threshold)


class PrivateSparseLogisticRegression(FrankWolfeModel, ClassWeights):
    __doc__ = f"""Logistic regression with a bounded l1 norm and a privacy guarantee.

    Private Frank-Wolfe over the l1 ball, and objective perturbation where that would take as
    many steps as there are features; see :class:`PrivateLasso`. More than
    two classes are fitted one against the rest, and all fits together cost the
    budget.
    The intercept's constant is small by default: it is not zero in any row, and
    a large one would be chosen again and again.

    Take it if you need a model of few features. For predictions alone,
    :class:`PrivateLogisticRegression` takes sparse rows too and had the smaller loss on text
    at every epsilon tried.
{_PARAMETERS}
    radius
        Largest l1 norm of the weights, intercept included, in the scaled
        domain; None takes the root of the number of steps.
    steps
        Number of steps of Frank-Wolfe; None chooses it, or another algorithm, from public values.
    stale
        Margin by which a sparse row may be out of date: fast steps on sparse
        data, see :class:`~discreet.algorithms.FrankWolfe`.{CLASS_WEIGHT}{FITTED}

    See Also
    --------
    PrivateLogisticRegression : predictions, from sparse rows too
    PrivateLasso : numbers

    References
    ----------
    Talwar, Thakurta, Zhang, *Nearly optimal private LASSO*, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateSparseLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 100))
    >>> bounds = Bounds(features=(-1, 1), classes=(0, 1))
    >>> model = PrivateSparseLogisticRegression(epsilon=4.0, bounds=bounds, steps=3, random_state=0)
    >>> int(np.abs(model.fit(X, (X[:, 7] > 0).astype(int)).coef_).argmax())
    7
    """

    intercept_scaling: float = 0.1

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row."""
        return separate_probabilities(self.decision_function(X))


class PrivateSparseRegression(SparseModel, RidgePenalty, PrivateRegressor):
    __doc__ = f"""Regression on a privately chosen support, with a privacy guarantee.

    Spends ``share`` of the budget on choosing ``size`` features and the rest on
    a fit with those alone. ``stages_`` says what each stage cost and ``support_``
    which features it chose. Residuals beyond ``clip`` half label ranges are
    counted linearly.
{_PARAMETERS}
    selector
        ``"votes"``, ``"exponential"``, ``"forward"`` or ``"stability"``; see
        :class:`~discreet.algorithms.SupportSelection`. The last may find no
        stable support: then there is a warning and the model has no features.
    size
        Number of features; 5, or all if there are fewer, by default.
    share
        Share of the budget spent on the choice.
    blocks, vote_noise, noise_level
        Of the voting selectors: number of blocks, noise on votes, and a guess
        of the labels' noise.
    radius
        Of the scored selectors: norm of the weights considered.
    alpha
        Ridge strength of the fit on the sum scale, in the scaled domain; None lets
        the plan choose.
    clip
        Residual, in half label ranges, from which a row of full norm counts
        linearly.{GUESS}{FITTED}

    See Also
    --------
    PrivateLasso : an l1 ball
    PrivateSparseLogisticRegression : classes

    References
    ----------
    Kifer, Smith, Thakurta, *Private convex empirical risk minimization and high-dimensional
    regression*, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateSparseRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(4000, 50))
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateSparseRegression(epsilon=8.0, size=1, bounds=bounds, random_state=0)
    >>> model.fit(X, X[:, 7]).support_.tolist()
    [7]
    """

    selector: str = "votes"
    size: int | None = None
    share: float = 0.5
    blocks: int | None = None
    vote_noise: str | None = None
    noise_level: float = 0.05
    radius: float = 1.0
    clip: float = 1.0
    norm_guess: float | None = None

    _saved: ClassVar[tuple[str, ...]] = (*SparseModel._saved, "stages_")

    @property
    def support_(self) -> Any:
        """Indices of the chosen features."""
        check_is_fitted(self)
        return np.unique(self.coef_.nonzero()[-1])

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Choose a support and fit on it, privately.

        Takes what every regressor takes; ``support_`` and ``stages_`` tell of the choice.
        """
        super().fit(X, y, groups)
        self.stages_ = self._selection().stages(self._budget())
        if self.selector == "stability" and not self.support_.size:
            warn_caller(
                "The blocks of rows did not agree on a support, so the model has no features. The "
                "budget is spent. Ask for fewer features, or use another selector.",
                NoStableSupport,
            )
        return self

    def _reach(self, bounds: Bounds, n_features: int) -> float:
        size = min(n_features, 5 if self.size is None else integer("size", self.size))
        root = math.sqrt(size) if bounds.features is not None else math.inf
        return min(root, bounds.row_norm or math.inf)

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Clipped(loss=Squared(), clip=positive("clip", self.clip) * row_norm)

    def _selection(self) -> SupportSelection:
        return SupportSelection(
            selector=self.selector,
            size=self.size,
            share=self.share,
            blocks=self.blocks,
            noise=self.vote_noise,
            noise_level=self.noise_level,
            radius=self.radius,
            strength=self._strength(),
            norm_guess=self.norm_guess,
        )

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        return recommend(problem, budget, Asked(algorithm=self._selection()))
