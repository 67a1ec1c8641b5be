"""fit: validate, bound, plan, run. Shared by every estimator.

An estimator holds public configuration. ``fit`` turns it into a
:class:`~discreet.algorithms.Problem`, plans, runs, and keeps the released
weights in the user's units together with the guarantee they carry.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from discreet.accounting import Budget, Guarantee
from discreet.accounting.events import Composed
from discreet.algorithms import Algorithm, Plan, Problem, choose
from discreet.checks import positive
from discreet.data import ArraySource
from discreet.errors import InvalidData
from discreet.estimators.persistence import Portable
from discreet.losses import Loss
from discreet.noise import as_randomness
from discreet.regularizers import Regularizer, Zero
from discreet.sets import AllSpace, ConvexSet
from discreet.types import Array, Bounds

DEFAULT_LABEL = (-3.0, 3.0)
LABELS_PUBLIC = "the set of labels is public"
SCHEMA_PUBLIC = "whether the data passes the schema check (finite, known classes) is public"


class UndeclaredBounds(UserWarning):
    """A bound was not declared, so a fixed public default clips the data."""


class PrivateEstimator(Portable, BaseEstimator):  # type: ignore[misc]
    """Common ground of all estimators; not used directly."""

    epsilon: float
    delta: float
    bounds: Bounds | dict[str, Any] | None
    neighbours: str
    algorithm: str | Algorithm
    fit_intercept: bool
    intercept_scaling: float
    norm_guess: float | None
    n_rows: int | None
    random_state: Any

    coef_: Array
    intercept_: Any
    guarantee_: Guarantee
    algorithm_: str
    n_features_in_: int

    _labels: ClassVar[str]

    # What a particular estimator says about its model.

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        raise NotImplementedError

    def _strength(self) -> float | None:
        """Ridge strength asked for, on the sum scale; None leaves it to the plan."""
        return None

    def _regularizer(self, n_rows: int | None) -> Regularizer:
        return getattr(self, "regularizer", None) or Zero()

    def _constraint(self) -> ConvexSet:
        return getattr(self, "constraint", None) or AllSpace()

    # From configuration to a plan: no data here.

    def plan(self, n_features: int, n_rows: int | None = None) -> Plan:
        """Price a fit with no data: noise, expected error and guarantee.

        With one class against the rest this is the plan of one of the fits.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. Under ``add-remove`` neighbours the
            estimator's own ``n_rows`` is used instead.
        """
        bounds, budget = self._declared_bounds(n_features), self._budget()
        if self._labels == "classes":
            count, fits = self._fits(2 if bounds.classes is None else len(bounds.classes))
            bounds = replace(bounds, classes=tuple(range(count)))
            budget = Budget(budget.epsilon / fits, budget.delta / fits)
        return self._plan(self._problem(bounds, n_features, n_rows), budget)

    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def _declared_bounds(self, n_features: int) -> Bounds:
        """Fill what is undeclared with fixed public defaults, and say so."""
        bounds, missing = Bounds.of(self.bounds), []
        if bounds.row_norm is None and bounds.features is None:
            bounds = replace(bounds, row_norm=math.sqrt(n_features))
            missing.append("row_norm or features (rows are scaled down to norm sqrt(n_features))")
        if self._labels == "real" and bounds.label is None:
            bounds = replace(bounds, label=DEFAULT_LABEL)
            missing.append(f"label (labels are clipped to {DEFAULT_LABEL})")
        if missing:
            warnings.warn(
                f"{type(self).__name__}: bounds does not declare {'; '.join(missing)}. Noise is "
                "scaled to these bounds and they are never read from the data. Declare them "
                "from public knowledge, e.g. bounds=Bounds(features=[(0, 120), (40, 200)]).",
                UndeclaredBounds,
                stacklevel=4,
            )
        return bounds

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        size = self.n_rows if self.neighbours == "add-remove" else n_rows
        norm, intercept = bounds.row_norm, 0.0
        if norm is None:
            norm = math.sqrt(n_features)  # every feature is mapped into [-1, 1]
        if self.fit_intercept:
            intercept = norm * positive("intercept_scaling", self.intercept_scaling)
        return Problem(
            loss=self._loss(bounds, math.hypot(norm, intercept)),
            bounds=bounds,
            n_features=n_features,
            n_rows=size,
            neighbours=self.neighbours,  # type: ignore[arg-type]
            constraint=self._constraint(),
            regularizer=self._regularizer(size),
            intercept=intercept,
        )

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        return choose(
            self.algorithm,
            problem,
            budget,
            strength=self._strength(),
            norm_guess=self.norm_guess,
        )

    # The rows.

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            y_numeric=self._labels == "real",
        )
        return X, y

    def _seal(self, guarantee: Guarantee, *assumptions: str) -> Guarantee:
        return replace(guarantee, assumptions=(*guarantee.assumptions, SCHEMA_PUBLIC, *assumptions))

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        scores: Array = np.asarray(X @ self.coef_.T + self.intercept_, dtype=np.float64)
        return scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Linear classifiers: one release for all classes, or one against the rest."""

    _labels = "classes"
    _multinomial: ClassVar[bool] = False
    classes_: Any

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X
            Rows: array, sparse matrix or data frame of numbers.
        y
            Class labels.

        Returns
        -------
        self
            With ``coef_``, ``intercept_``, ``classes_`` and ``guarantee_``.
        """
        X, y = self._validated(X, y)
        check_classification_targets(y)
        bounds, assumptions = self._declared_bounds(X.shape[1]), []
        seen = np.unique(y)
        if bounds.classes is None:
            self.classes_ = seen
            assumptions.append(LABELS_PUBLIC)
            warnings.warn(
                f"{type(self).__name__}: bounds does not declare classes, so the set of labels "
                "seen in the data is treated as public. Pass bounds=Bounds(classes=...).",
                UndeclaredBounds,
                stacklevel=2,
            )
        else:
            self.classes_ = np.unique(np.asarray(bounds.classes))
            if not np.isin(seen, self.classes_).all():
                raise InvalidData(
                    "y holds labels that are not among the declared bounds.classes. Declare "
                    "every class a label may have."
                )
        if len(self.classes_) < 2:
            raise InvalidData(
                f"{type(self).__name__} needs at least two classes; y holds one class only. "
                "Declare bounds=Bounds(classes=...)."
            )
        # Labels become 0..K-1; a loss for two classes fits one class against the rest.
        index = np.searchsorted(self.classes_, y)
        n_classes, fits = self._fits(len(self.classes_))
        targets = [index] if fits == 1 else [(index == k).astype(np.int64) for k in range(fits)]
        budget, random = self._budget(), as_randomness(self.random_state)
        share = Budget(budget.epsilon / fits, budget.delta / fits)
        encoded = replace(bounds, classes=tuple(range(n_classes)))
        problem = self._problem(encoded, X.shape[1], X.shape[0])
        plan = self._plan(problem, share)
        coefs, intercepts, guarantees = [], [], []
        for labels in targets:
            release = plan.run(ArraySource(X, labels), random)
            coef, intercept = problem.bounding.coefficients(release.weights)
            coefs.append(np.atleast_2d(coef.T))
            intercepts.append(np.atleast_1d(intercept))
            guarantees.append(release.guarantee)
        self.coef_, self.intercept_ = np.vstack(coefs), np.concatenate(intercepts)
        self.algorithm_ = plan.facts()["algorithm"]
        # privacy: a row enters every fit, so the fits' budgets add up
        events = tuple(g.event for g in guarantees)
        event = events[0] if len(events) == 1 else Composed(events)
        self.guarantee_ = self._seal(
            replace(guarantees[0], epsilon=budget.epsilon, delta=budget.delta, event=event),
            *assumptions,
        )
        return self

    def _fits(self, n_classes: int) -> tuple[int, int]:
        """Return the classes of one fit and the number of fits."""
        return (n_classes, 1) if n_classes == 2 or self._multinomial else (2, n_classes)

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes: one column, or one per class."""
        scores = self._scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """Return the class of every row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Linear regressors."""

    _labels = "real"

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X
            Rows: array, sparse matrix or data frame of numbers.
        y
            Labels, clipped to ``bounds.label``.

        Returns
        -------
        self
            With ``coef_``, ``intercept_`` and ``guarantee_``.
        """
        X, y = self._validated(X, y)
        problem = self._problem(self._declared_bounds(X.shape[1]), X.shape[1], X.shape[0])
        plan = self._plan(problem, self._budget())
        release = plan.run(ArraySource(X, y), as_randomness(self.random_state))
        self.coef_, self.intercept_ = problem.bounding.coefficients(release.weights)
        self.algorithm_ = plan.facts()["algorithm"]
        self.guarantee_ = self._seal(release.guarantee)
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction for every row, in the label's units."""
        return self._scores(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # The two hundred rows of scikit-learn's checks promise no good score at epsilon 1.
        tags.regressor_tags.poor_score = True
        return tags
