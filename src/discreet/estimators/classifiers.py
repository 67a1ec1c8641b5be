"""Private linear classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, softmax

from discreet.accounting import Budget
from discreet.algorithms import Algorithm, Plan, Problem
from discreet.algorithms.early_stopping import early_stopping
from discreet.checks import one_of, positive
from discreet.estimators.base import PrivateClassifier
from discreet.losses import Hinge, HuberisedHinge, Logistic, Loss, Softmax
from discreet.regularizers import Regularizer
from discreet.sets import ConvexSet
from discreet.types import Array, Bounds

_PARAMETERS = """
    Parameters
    ----------
    epsilon, delta
        Privacy budget of one fit. ``delta=0`` asks for pure epsilon-privacy.
    bounds
        Declared :class:`~discreet.Bounds`, or a mapping of them. Rows are
        clipped to them; they are never read from the data.
    neighbours
        ``"zero-out"``, ``"replace-one"`` or ``"add-remove"``.
    algorithm
        Name of an algorithm, an instance of one, or ``"auto"``: the one with
        the smallest expected error by public facts.
    C
        Inverse of the ridge strength, as in scikit-learn; the plan raises the
        strength where privacy needs more. None lets the plan choose.
    regularizer, constraint
        Further penalty and hard constraint on the weights, in the scaled domain.
    fit_intercept, intercept_scaling
        Whether to append a constant feature, and its size as a fraction of the
        row norm. The intercept is penalised like every weight.
    norm_guess
        Public guess of the norm of good weights in the scaled domain. Only
        accuracy depends on it.
    n_rows
        Declared size of the data; used under ``add-remove`` only.
    random_state
        None draws from the operating system. A seed makes the fit repeatable
        and the guarantee says ``secure=False``.
"""


class PrivateLogisticRegression(PrivateClassifier):
    __doc__ = f"""Logistic regression with a privacy guarantee, binary or multinomial.
{_PARAMETERS}
    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discreet import Bounds, PrivateLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bounds = Bounds(features=[(0, 4 * h) for h in [9] * 30], classes=(0, 1))
    >>> model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=bounds).fit(X, y)
    >>> model.guarantee_.epsilon
    1.0
    """

    _multinomial: ClassVar[bool] = True

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | dict[str, Any] | None = None,
        neighbours: str = "zero-out",
        algorithm: str | Algorithm = "auto",
        C: float | None = None,
        regularizer: Regularizer | None = None,
        constraint: ConvexSet | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        norm_guess: float | None = None,
        n_rows: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.algorithm = algorithm
        self.C = C
        self.regularizer = regularizer
        self.constraint = constraint
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.norm_guess = norm_guess
        self.n_rows = n_rows
        self.random_state = random_state

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        assert bounds.classes is not None
        return Logistic() if len(bounds.classes) == 2 else Softmax(n_classes=len(bounds.classes))

    def _strength(self) -> float | None:
        return None if self.C is None else 1.0 / positive("C", self.C)

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        settings = (self.C, self.regularizer, self.constraint)
        plain = problem.loss == Logistic() and all(s is None for s in settings)
        if self.algorithm == "auto" and plain and problem.n_rows is not None and budget.delta > 0:
            early = early_stopping(problem, budget, self.norm_guess)
            if early is not None:
                return early
        return super()._plan(problem, budget)

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            ones = expit(scores)
            return np.column_stack([1.0 - ones, ones])
        probabilities: Array = softmax(scores, axis=1)
        return probabilities

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of every class for every row."""
        return np.log(self.predict_proba(X))


class PrivateLinearSVC(PrivateClassifier):
    __doc__ = f"""Linear support vector classifier with a privacy guarantee.

    By default uses the huberised hinge loss, which rounds the corner of the
    hinge over ``width`` on either side of margin 1. More than two classes are
    fitted one against the rest, and the budget is split over the fits.
{_PARAMETERS}
    loss
        ``"huberised-hinge"``, or ``"hinge"`` with its corner, for which
        ``"auto"`` takes noisy gradient steps.
    width
        Half the width of the rounded corner.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLinearSVC
    >>> X = np.repeat([[1.0], [-1.0]], 200, axis=0)
    >>> y = np.repeat(["yes", "no"], 200)
    >>> bounds = Bounds(row_norm=1.0, classes=("no", "yes"))
    >>> PrivateLinearSVC(epsilon=1.0, bounds=bounds).fit(X, y).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        bounds: Bounds | dict[str, Any] | None = None,
        neighbours: str = "zero-out",
        algorithm: str | Algorithm = "auto",
        C: float | None = None,
        loss: str = "huberised-hinge",
        width: float = 0.5,
        regularizer: Regularizer | None = None,
        constraint: ConvexSet | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 0.5,
        norm_guess: float | None = None,
        n_rows: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.neighbours = neighbours
        self.algorithm = algorithm
        self.C = C
        self.loss = loss
        self.width = width
        self.regularizer = regularizer
        self.constraint = constraint
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.norm_guess = norm_guess
        self.n_rows = n_rows
        self.random_state = random_state

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        if one_of("loss", self.loss, ("huberised-hinge", "hinge")) == "hinge":
            return Hinge()
        return HuberisedHinge(width=self.width)

    def _strength(self) -> float | None:
        return None if self.C is None else 1.0 / positive("C", self.C)
