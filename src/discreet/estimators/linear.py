"""Linear models: what they share, and how a classifier and a regressor are fitted."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.bounds import Array, Bounds
from discreet.checks import nonnegative, positive, truth
from discreet.data import belonging, clipped_rows
from discreet.data.row_products import one_by_one
from discreet.defaults import Asked, recommend
from discreet.errors import InvalidParameter
from discreet.estimators.shared.base import (
    PrivateEstimator,
    assuming,
    numbered,
    with_poor_scores,
)
from discreet.estimators.shared.charging import stands_alone
from discreet.estimators.shared.classes import check_class_weight, read_classes, row_weights
from discreet.estimators.shared.conditional import available_where
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.streamed import source_of
from discreet.losses import Loss
from discreet.problem import Algorithm, Plan, Problem
from discreet.regularizers import Regularizer, Zero
from discreet.sets import AllSpace, ConvexSet


class LinearModel(PrivateEstimator):
    """Weights for features, and perhaps an intercept; not used directly."""

    fit_intercept: bool = True
    intercept_scaling: float = 0.5

    _each_alike = False

    # What a particular estimator says about its model.

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        raise NotImplementedError

    def _strength(self) -> float | None:
        """Ridge strength asked for, on the sum scale; None leaves it to the plan."""
        return None

    def _regularizer(self, n_rows: int | None) -> Regularizer:
        return Zero()

    def _constraint(self) -> ConvexSet:
        return AllSpace()

    def _reach(self, bounds: Bounds, n_features: int) -> float:
        """Return the size that the intercept's constant is measured by: the typical norm."""
        # With ranges every feature is mapped into [-1, 1].
        longest = math.sqrt(n_features) if bounds.row_norm is None else bounds.row_norm
        return longest if bounds.typical_norm is None else min(longest, bounds.typical_norm)

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        size, reach, intercept = self._size(n_rows), self._reach(bounds, n_features), 0.0
        if truth("fit_intercept", self.fit_intercept):
            intercept = reach * positive("intercept_scaling", self.intercept_scaling)
        return Problem(
            loss=self._loss(bounds, math.hypot(reach, intercept)),
            bounds=bounds,
            n_features=n_features,
            n_rows=size,
            neighbours=self.neighbours,
            constraint=self._constraint(),
            regularizer=self._regularizer(size),
            intercept=intercept,
            grouping=self._grouping(),
        )

    def _bounds_of(self, X: Any) -> Bounds:
        bounds = super()._bounds_of(X)
        if bounds.features is not None and bounds.centred is None:
            # privacy: the type of the rows is public, and no noise depends on this.
            self.bounds_ = replace(bounds, centred=bool(self.fit_intercept) and not sp.issparse(X))
        return self.bounds_

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._rows(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        # New rows are cut like those the model was fitted to: it knows nothing of others.
        return np.asarray(
            self._product(clipped_rows(self.bounds_, X)) + self.intercept_, dtype=np.float64
        )

    def _product(self, X: Any) -> Any:
        if not self._each_alike:
            return X @ self.coef_.T
        coef: Any = self.coef_
        coef = coef.toarray() if sp.issparse(coef) else coef
        return X @ coef.T if sp.issparse(X) else one_by_one(np.ascontiguousarray(X), coef.T)

    def _alike_anywhere(self) -> Self:
        """Return a copy whose scores of a row have the same bits wherever the row stands."""
        found = copy.copy(self)
        found._each_alike = True
        return found

    def to_sklearn(self) -> Any:
        """Return a plain scikit-learn model with the released weights, for exporters.

        It predicts alike for rows within the declared bounds; it clips no others, nor
        counts that exceed a limit. Where there is a schema it takes encoded rows. The
        guarantee holds for it, but stays here.
        """
        from discreet.estimators.shared.as_sklearn import as_sklearn

        return as_sklearn(self)


class AnyAlgorithm(LinearModel):
    """Models that any fitting algorithm may fit."""

    algorithm: str | Algorithm = "auto"
    settings: dict[str, Any] | None = None
    norm_guess: float | None = None

    _clips_residuals: ClassVar[bool] = False
    """Whether ``clip=None`` leaves the clip of residuals to the plan."""

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        # A part of the budget shares it with the other parts.
        whole = budget == self._budget()
        asked = Asked(
            algorithm=self.algorithm,
            settings=self.settings,
            strength=self._strength(),
            norm_guess=self.norm_guess,
            alone=stands_alone(self) and whole,
            free_clip=self._clips_residuals and getattr(self, "clip", None) is None,
            # privacy: a fit after a count has a point and no curve, which many fits need.
            counts=whole and not getattr(self, "_searched", False),
        )
        return recommend(problem, budget, asked)


class Penalised(LinearModel):
    """Models with a further penalty or a hard constraint."""

    regularizer: Regularizer | None = None
    constraint: ConvexSet | None = None

    def _regularizer(self, n_rows: int | None) -> Regularizer:
        if self.regularizer is None:
            return Zero()
        if not isinstance(self.regularizer, Regularizer):
            raise InvalidParameter(
                "regularizer must be a penalty of discreet.regularizers, such as "
                f"L1(strength=1.0). Got {type(self.regularizer).__name__} instead."
            )
        return self.regularizer

    def _constraint(self) -> ConvexSet:
        if self.constraint is None:
            return AllSpace()
        if not isinstance(self.constraint, ConvexSet):
            raise InvalidParameter(
                "constraint must be a set of discreet.sets, such as L2Ball(radius=1.0). "
                f"Got {type(self.constraint).__name__} instead."
            )
        return self.constraint


class RidgePenalty(LinearModel):
    """Models with a ridge strength that the plan may choose."""

    alpha: float | None = None

    def _strength(self) -> float | None:
        return None if self.alpha is None else nonnegative("alpha", self.alpha)


class PrivateClassifier(ClassifierMixin, LinearModel):  # type: ignore[misc]
    """Linear classifiers: one release for all classes, or one against the rest."""

    _labels = "classes"
    _multinomial: ClassVar[bool] = False

    def _weigh(self) -> Callable[[Any], Any] | None:
        """Return what tells the weights of rows by the numbers of their classes; None for 1."""
        return None

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X
            Rows: array, sparse matrix or data frame of numbers; with a schema any
            data frame, Arrow table or mapping of columns. Rows that are not in memory
            are read part by part: a path of Parquet files, a data set of pyarrow or a
            collection of Dask, see ``docs/scale.md``.
        y
            Class labels, or the name of their column where ``X`` is not in memory. None
            takes the column ``target`` of ``X``.
        groups
            Whom every row belongs to, if ``rows_per_group`` is set; a row without an
            identifier counts for nothing. A column of the schema may say so instead.

        Returns
        -------
        self
            With ``coef_``, ``intercept_``, ``classes_`` and ``guarantee_``.
        """
        groups = self._identified(X, groups)
        X, y = self._gathered(X, y)
        bounds = self._bounds_of(X)
        self.classes_, index, assumptions = read_classes(type(self).__name__, bounds, y)
        # Labels become 0..K-1; a loss for two classes fits one class against the rest.
        n_classes, fits = self._fits(len(self.classes_))
        source = belonging(source_of(X, index, self._weigh()), groups)
        problem = self._problem(numbered(bounds, n_classes), X.shape[1], self._counted(source))
        weights = self._released(assuming(problem, *assumptions), source, fits)
        coef, intercept = problem.bounding.coefficients(weights)
        self.coef_, self.intercept_ = np.atleast_2d(coef.T), np.atleast_1d(intercept)
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

    @available_where(lambda self: hasattr(self, "predict_proba"))
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of every class for every row."""
        found: Array = np.log(cast(Any, self).predict_proba(X))
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy; that of rows which were fitted is not covered by the guarantee."""
        y, weights = self._scored(X, y, sample_weight)
        return float(super().score(X, y, weights))


class ClassWeights(PrivateClassifier):
    """Classifiers that may weigh classes; not used directly."""

    class_weight: dict[Any, float] | None = None

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        check_class_weight(self.class_weight)
        return super()._problem(bounds, n_features, n_rows)

    def _weigh(self) -> Callable[[Any], Any] | None:
        # privacy: workers of a cluster get a copy, so nothing of the estimator may hang on it.
        return partial(row_weights, self.class_weight, self.classes_)


class PrivateRegressor(RegressorMixin, LinearModel):  # type: ignore[misc]
    """Linear regressors."""

    _labels = "real"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X
            Rows: array, sparse matrix or data frame of numbers; with a schema any
            data frame, Arrow table or mapping of columns. Rows that are not in memory
            are read part by part: a path of Parquet files, a data set of pyarrow or a
            collection of Dask, see ``docs/scale.md``.
        y
            Labels, clipped to ``bounds.label``, or the name of their column where ``X`` is
            not in memory. None takes the column ``target`` of ``X``.
        groups
            Whom every row belongs to, if ``rows_per_group`` is set; a row without an
            identifier counts for nothing. A column of the schema may say so instead.

        Returns
        -------
        self
            With ``coef_``, ``intercept_`` and ``guarantee_``.
        """
        groups = self._identified(X, groups)
        X, y = self._gathered(X, y)
        bounds, source = self._bounds_of(X), belonging(source_of(X, y), groups)
        problem = self._problem(bounds, X.shape[1], self._counted(source))
        weights = self._released(assuming(problem), source)
        self.coef_, self.intercept_ = problem.bounding.coefficients(weights)
        return self

    def predict(self, X: Any) -> Array:
        """Return the prediction for every row, in the label's units."""
        return self._scores(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2; that of rows which were fitted is not covered by the guarantee."""
        y, weights = self._scored(X, y, sample_weight)
        return float(super().score(X, y, weights))

    def __sklearn_tags__(self) -> Any:
        # The two hundred rows of scikit-learn's checks allow no good score at epsilon 1.
        return with_poor_scores(super().__sklearn_tags__())
