"""Ridge regression of several labels at once: one release of second moments for all.

The moments ``sum x x'`` are shared, so K outputs cost far less noise than K fits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.bounds import Bounds
from discreet.checks import integer
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidData
from discreet.estimators.linear import AnyAlgorithm, LinearModel, PrivateRegressor
from discreet.estimators.shared.base import assuming
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.reading import read_rows, read_weights
from discreet.losses import SquaredVector
from discreet.problem import Plan, Problem

ALGORITHM = "sufficient-statistics"


def outputs_of(y: Any) -> int:
    """Return the number of labels of a row.

    >>> outputs_of([1.0, 2.0]), outputs_of([[1.0, 2.0, 3.0]]), outputs_of([[1.0], [2.0]])
    (1, 3, 1)
    """
    shape: tuple[int, ...] = ()
    if hasattr(y, "shape"):
        shape = tuple(y.shape)
    elif isinstance(y, list | tuple) and y and isinstance(y[0], list | tuple | np.ndarray):
        shape = (len(y), len(y[0]))
    return int(shape[1]) if len(shape) == 2 and shape[1] else 1


class SeveralOutputs(AnyAlgorithm, PrivateRegressor):
    """Regressors of one label or several; not used directly."""

    _several = True

    def plan(
        self, n_features: int | None = None, n_rows: int | None = None, *, n_outputs: int = 1
    ) -> Plan:
        """Price a fit with no data: noise, expected error and guarantee.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. A schema knows the number of features.
        n_outputs
            Number of labels of a row.
        """
        if integer("n_outputs", n_outputs, minimum=1) == 1:
            return super().plan(n_features, n_rows)
        bounds = self._declared_bounds(integer("n_features", n_features, minimum=1))
        owner = self._declaring(n_rows)
        problem = owner._several_problem(bounds, int(n_features or 0), n_rows, n_outputs)
        return owner._planned(assuming(problem))

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model privately.

        Parameters
        ----------
        X
            Rows, as every regressor takes them.
        y
            Labels, clipped to ``bounds.label``: one for each row, or an array with a column
            for each of several outputs, all in that range. None takes the column ``target``
            of ``X``.
        groups
            Whom every row belongs to, as for other regressors; of one output only.

        Returns
        -------
        self
            With ``coef_``, ``intercept_`` and ``guarantee_``; of several outputs each has a
            row of ``coef_``.
        """
        count = outputs_of(y)
        if count == 1:
            return super().fit(X, y, groups)
        if groups is not None:
            raise Incompatible(
                "groups are for one output, and y has several. Fit each output by itself."
            )
        X, y = self._read_several(X, y, reset=True)
        problem = self._several_problem(self._bounds_of(X), X.shape[1], X.shape[0], count)
        weights = self._released(assuming(problem), ArraySource(X, y))
        coef, intercept = problem.bounding.coefficients(weights)
        self.coef_, self.intercept_ = np.ascontiguousarray(coef.T), np.asarray(intercept)
        return self

    def _read_several(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        if self.schema is not None:
            raise Incompatible(
                "A schema names one target, and y has several columns. Encode the table by "
                "schema.encoder() and pass bounds=schema.bounds_for(...), or fit each label."
            )
        options = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
        return read_rows(self, X, y, multi_output=True, y_numeric=True, reset=reset, **options)  # type: ignore[no-any-return]

    def _several_problem(
        self, bounds: Bounds, n_features: int, n_rows: int | None, count: int
    ) -> Problem:
        unlike = {"clip": None, "inference": None, "missing": "refuse", "rows_per_group": None}
        for name, usual in unlike.items():
            if getattr(self, name, usual) not in (usual, False):
                raise Incompatible(
                    f"{name} is for one output, and y has several. Leave it out, or fit each "
                    "output by itself.",
                    parameter=name,
                )
        problem = LinearModel._problem(self, bounds, n_features, n_rows)
        return replace(problem, loss=SquaredVector(dim=count))

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        if problem.loss.outputs == 1:
            return super()._plan(problem, budget)
        if self.algorithm not in ("auto", ALGORITHM):
            raise Incompatible(
                f"Several outputs are fitted by {ALGORITHM!r} only. Leave algorithm out, or fit "
                "each output by itself.",
                parameter="algorithm",
            )
        from discreet.algorithms import SufficientStatistics

        settings = dict(self.settings or {}) | {"strength": self._strength()}
        return SufficientStatistics(**settings).plan(problem, budget)

    def _scored(self, X: Any, y: Any, weights: Any) -> tuple[Any, Any]:
        if outputs_of(y) == 1:
            return super()._scored(X, y, weights)
        check_is_fitted(self)
        if np.ndim(self.coef_) != 2 or len(self.coef_) != outputs_of(y):
            raise InvalidData(
                "y must have as many columns as the labels that were fitted. Give one column for "
                "each."
            )
        _, y = self._read_several(X, y, reset=False)
        return y, None if weights is None else read_weights(weights, len(y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
