"""Categories of columns, learned privately."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.bounds import Array, Bounds
from discreet.errors import InvalidData
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.mechanisms.learned_columns import LearnedColumns
from discreet.preprocessing.transformer import PARAMETERS, PrivateTransformer, TransformerPlan
from discreet.schema import Categories
from discreet.schema.column import UNIT, text
from discreet.schema.frames import column_names, read_columns


class LearnedCategories:
    """What a fit leaves behind."""

    categories_: list[tuple[str, ...]]
    bounds_: Bounds


class PrivateCategories(LearnedCategories, PrivateTransformer):
    __doc__ = f"""Categories of columns with a privacy guarantee, and their indicators.

    A value is kept by a coin whose chance grows with the number of rows that hold it. The
    chance is the largest that (epsilon, delta) allows, so values of few rows are dropped.
    All other cells become ``other``, which always exists. Columns share the budget.

    Parameters
    ----------
    epsilon, delta
        Privacy budget of one fit; delta must be above 0.
    other
        Name of the category of all cells that hold anything else, missing ones too.{PARAMETERS}

    Attributes
    ----------
    categories_
        The kept values of every column in the order of their text, ``other`` last.
    bounds_
        :class:`~discreet.Bounds` of the indicators, for the next step.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    Schema : ``categories = "private"`` learns them within the budget of a fit.

    References
    ----------
    Desfontaines, Voss, Gipson, Mandayam, *Differentially private partition selection*, PoPETs
    2022.

    Examples
    --------
    >>> from discreet import PrivateCategories
    >>> jobs = {{"job": ["office"] * 300 + ["field"] * 200 + ["lighthouse"]}}
    >>> encoder = PrivateCategories(epsilon=1.0, delta=1e-6).fit(jobs)
    >>> encoder.get_feature_names_out().tolist()
    ['job=field', 'job=office', 'job=other']
    >>> encoder.transform({{"job": ["lighthouse"]}})
    array([[0., 0., 1.]])
    """

    delta: float = 1e-6
    other: str = "other"

    _algorithm: ClassVar[str] = "partition-selection"

    def _plan(self, count: int, n_rows: int | None) -> TransformerPlan:
        size = self._size(n_rows)
        Categories([self.other], other=self.other)  # refuses what is no name
        learned = LearnedColumns(
            budget=self._budget(),
            neighbours=self.neighbours,
            rows=size,
            ranges={},
            categories=tuple(str(j) for j in range(count)),
        )
        if learned.too_few:
            self._few("no value will be kept")
        selection = learned.selection
        facts = {
            "algorithm": self._algorithm,
            "columns": count,
            "epsilon of each": learned.each,
            "rows for a chance of 1/2": selection.count_for(0.5),
            "rows for a chance of .99": selection.count_for(0.99),
        }
        return TransformerPlan(facts, self._claim(learned.event, learned.theorem), learned)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories of the columns of ``X``; ``y`` is ignored."""
        self._forget()
        columns, names = _columns(X)
        self.n_features_in_ = len(columns)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        plan = self.plan(len(columns), len(columns[0]))
        learned, (random, claim) = plan.mechanism, self._random(plan.guarantee)
        with charged(self, self.ledger, claim, self._algorithm):
            kept = [learned.named(str(j), cells, random) for j, cells in enumerate(columns)]
        self.categories_ = [
            (*(value for value in found if value != self.other), self.other) for found in kept
        ]
        width = sum(map(len, self.categories_))
        self.bounds_ = Bounds(features=(UNIT,) * width, row_norm=math.sqrt(len(columns)))
        self.guarantee_ = claim
        return self

    def transform(self, X: Any) -> Array:
        """Return one indicator per category; each column has exactly one that is 1."""
        check_is_fitted(self)
        columns, _ = _columns(X, getattr(self, "feature_names_in_", None))
        if len(columns) != self.n_features_in_:
            raise InvalidData(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        parts = []
        for cells, found in zip(columns, self.categories_, strict=True):
            at: dict[str | None, int] = {value: k for k, value in enumerate(found)}
            index = [at.get(cell, len(found) - 1) for cell in cells]
            parts.append(np.eye(len(found))[np.array(index, dtype=np.int64)])
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the indicators, such as ``job=office``."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        pairs = zip(names, self.categories_, strict=True)
        return np.array([f"{name}={value}" for name, found in pairs for value in found], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def _columns(X: Any, wanted: Any = None) -> tuple[list[list[str | None]], list[str] | None]:
    """Return the cells of every column as text, and the names of columns if there are any."""
    names = column_names(X)
    if names is not None:
        if not all(isinstance(name, str) for name in names):
            raise InvalidData("Names of columns must be text. Rename them, as with map(str, ...).")
        names = names if wanted is None else list(wanted)
        held = read_columns(X, names)
        cells: list[Any] = [held[name] for name in names]
    else:
        try:
            table = np.asarray(X, dtype=object)
        except ValueError:
            table = np.empty(0, dtype=object)
        if table.ndim != 2 or not table.shape[1]:
            # In words that scikit-learn's checks look for.
            raise InvalidData(
                "Expected 2D array: one row per sample, one column per feature. Reshape your data, "
                "with X.reshape(-1, 1) for a single feature, or X.to_frame() for a series."
            )
        cells = list(table.T)
    if not cells or not len(cells[0]):
        raise InvalidData("X has no rows. Pass at least one.")
    return [[text(cell) for cell in column] for column in cells], names
