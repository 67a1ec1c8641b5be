"""fit: validate, bound, plan, run. Shared by every estimator.

An estimator holds public configuration. ``fit`` turns it into a
:class:`~discreet.algorithms.Problem`, plans, runs, and keeps the released
weights in the user's units together with the guarantee they carry.
"""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Guarantee
from discreet.bounds import Array, Bounds, Neighbours, typical_norm
from discreet.checks import LEAST_SIZE, MOST_SIZE, moderate, row_count
from discreet.data import Source
from discreet.data.missing import missing_labels, neutral
from discreet.errors import InvalidData, InvalidParameter, TooFewRows, WeakBudget
from discreet.estimators.shared.charging import charged, scored, warn_caller
from discreet.estimators.shared.claims import LABELS_PUBLIC, SCHEMA_PUBLIC
from discreet.estimators.shared.grouped import Grouped
from discreet.estimators.shared.learning import LearnedFirst, learns
from discreet.estimators.shared.reading import UNLIKE, check_scored, read_rows, read_weights
from discreet.estimators.shared.streamed import streamed
from discreet.estimators.shared.tabular import allows_blank, put_back, set_aside
from discreet.ledger import Ledger
from discreet.noise import as_randomness
from discreet.problem import Plan, Problem, Release, rows_remark, with_randomness
from discreet.problem.one_against_rest import one_against_rest

DEFAULT_LABEL = (-3.0, 3.0)


class UndeclaredBounds(UserWarning):
    """A bound was not declared, so a fixed public default clips the data."""


def warn_of_budget(owner: str, budget: Budget, rows: int | None = None) -> None:
    """Warn of a budget that protects little.

    >>> warn_of_budget("Model", Budget(1.0, 1e-6), 5000)
    """
    for remark in budget.remarks(rows):
        warn_caller(f"{owner}: {remark}", WeakBudget)


def warn_of_classes(owner: str, taken: str) -> None:
    """Warn that no classes are declared, and of what is taken instead.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_of_classes("Model", "two classes are planned for")
    >>> print(seen[0].message)
    Model: bounds does not declare classes, so two classes are planned for. Pass ...
    """
    warn_caller(
        f"{owner}: bounds does not declare classes, so {taken}. Pass bounds=Bounds(classes=...).",
        UndeclaredBounds,
    )


def numbered(bounds: Bounds, count: int) -> Bounds:
    """Return bounds whose labels are the numbers of so many classes.

    >>> numbered(Bounds(classes=("no", "yes")), 2).classes
    (0, 1)
    """
    return replace(bounds, classes=tuple(range(count)))


def assuming(problem: Problem, *assumptions: str) -> Problem:
    """Return the problem with what an estimator assumes, which its guarantee then says."""
    return replace(problem, assumptions=tuple(dict.fromkeys((SCHEMA_PUBLIC, *assumptions))))


class Fitted:
    """What a fit leaves behind."""

    coef_: Array
    intercept_: Any
    guarantee_: Guarantee
    algorithm_: str
    settings_: dict[str, Any]
    n_rows_: int | None
    bounds_: Bounds
    n_features_in_: int
    classes_: Any


class PrivateEstimator(Fitted, Grouped):
    """Common ground of all estimators; not used directly."""

    epsilon: float = 1.0
    delta: float = 1e-6
    bounds: Bounds | dict[str, Any] | None = None
    neighbours: Neighbours = "zero-out"
    n_rows: int | None = None
    target: str | None = None
    missing: str = "refuse"
    random_state: Any = None
    ledger: Ledger | None = None

    _labels: ClassVar[str]
    _warns_of_noise: ClassVar[bool] = True
    """Whether noise grows with the number of weights, so that it outweighs few rows."""

    _typical: ClassVar[bool] = False
    """Whether the default caps gradients of rows longer than the typical norm."""

    # From configuration to a plan: no data here.

    def plan(self, n_features: int | None = None, n_rows: int | None = None) -> Plan:
        """Price a fit with no data: noise, expected error and guarantee.

        Where classes are not declared two are planned for; a fit to more runs
        another plan.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. A schema knows the number of features. Under
            ``add-remove`` neighbours ``n_rows`` is a declared size, like the
            estimator's own.
        """
        if learns(self):
            return LearnedFirst.plan(self, n_features, n_rows)
        return self._planned(*self._public_problem(n_features, n_rows))

    def _public_problem(self, n_features: int | None, n_rows: int | None) -> tuple[Problem, int]:
        """Return what is to be solved by public facts, and in how many fits."""
        n_features = self._feature_count(n_features)
        bounds, fits = self._declared_bounds(n_features), 1
        assumptions: tuple[str, ...] = ()
        if self._labels == "classes":
            if bounds.classes is None:
                warn_of_classes(type(self).__name__, "two are planned for; a fit takes those seen")
                assumptions = (LABELS_PUBLIC,)
            count, fits = self._fits(2 if bounds.classes is None else len(bounds.classes))
            bounds = numbered(bounds, count)
        problem = self._declaring(n_rows)._problem(bounds, n_features, n_rows)
        return assuming(problem, *assumptions), fits

    def _declaring(self, n_rows: int | None) -> Self:
        """Return this estimator with that size declared, where the true one is secret."""
        if self.neighbours != "add-remove" or n_rows is None:
            return self
        size = row_count("n_rows", n_rows)
        if self.n_rows == size:
            return self
        if self.n_rows is not None:
            raise InvalidParameter(
                "n_rows of the plan differs from n_rows of the estimator, which a fit under "
                "add-remove neighbours counts on. Give both the same, or one of them."
            )
        declared = copy.copy(self)
        declared.n_rows = size
        return declared

    def _planned(self, problem: Problem, fits: int = 1) -> Plan:
        """Return the plan of one fit, or of one for every class."""
        budget = self._budget()
        remark = rows_remark(problem, budget) if self._warns_of_noise else None
        if remark is not None:
            warn_caller(f"{type(self).__name__}: {remark}", TooFewRows)
        if fits == 1:
            return self._plan(problem, budget)
        return one_against_rest(lambda part: self._plan(problem, part), budget, fits)

    def _budget(self) -> Budget:
        budget = Budget(self.epsilon, self.delta)
        for name, value in self.get_params(deep=False).items():
            # Refused here in words, and not by an overflow somewhere in a plan.
            size = isinstance(value, float) and name != "delta" and value != 0.0
            if size and not LEAST_SIZE <= abs(value) <= MOST_SIZE:
                moderate(name, value)
        return budget

    def _declared_bounds(self, n_features: int) -> Bounds:
        """Return what is declared about columns, whatever their order."""
        return self._completed(replace(self._given_bounds(), names=None), n_features)

    def _bounds_of(self, X: Any) -> Bounds:
        """Return and note the bounds of the columns that were just read, in their order."""
        names = getattr(self, "feature_names_in_", None)
        bounds = self._given_bounds()
        self.bounds_ = self._completed(bounds.in_order(names), X.shape[1])
        return self.bounds_

    def _completed(self, bounds: Bounds, n_features: int) -> Bounds:
        """Fill what is undeclared with fixed public defaults, and say so."""
        if bounds.weight != 1.0:
            raise InvalidParameter(
                f"bounds.weight must be 1 for {type(self).__name__}, which takes no weights of "
                "rows: a larger one would add noise for nothing. Leave it out."
            )
        missing, examples = [], []
        if bounds.row_norm is None and bounds.features is None:
            bounds, meaning = self._undeclared_rows(bounds, n_features)
            missing.append(meaning)
            examples.append("features=[(0, 120), (40, 200)]")
        if self._labels == "real" and bounds.label is None:
            bounds = replace(bounds, label=DEFAULT_LABEL)
            missing.append(f"label (labels are clipped to {DEFAULT_LABEL})")
            examples.append("label=(0, 10)")
        if missing:
            warn_caller(
                f"{type(self).__name__}: bounds does not declare {'; '.join(missing)}. Noise is "
                "scaled to these bounds and they are never read from the data. Declare them "
                f"from public knowledge, e.g. bounds=Bounds({', '.join(examples)}).",
                UndeclaredBounds,
            )
        if not self._typical:
            return replace(bounds, typical_norm=None)
        if bounds.row_norm is None and bounds.typical_norm is None:
            return replace(bounds, typical_norm=typical_norm(n_features))
        return bounds

    def _undeclared_rows(self, bounds: Bounds, n_features: int) -> tuple[Bounds, str]:
        """Return bounds with the default for rows, and what it means."""
        declared = replace(bounds, row_norm=math.sqrt(n_features))
        return declared, "row_norm or features (rows are scaled down to norm sqrt(n_features))"

    def _size(self, n_rows: int | None) -> int | None:
        """Return the public size of the data, if there is one."""
        if self.n_rows is not None:
            row_count("n_rows", self.n_rows)
        size = self.n_rows if self.neighbours == "add-remove" else n_rows
        size = None if size is None else row_count("n_rows", size)
        warn_of_budget(type(self).__name__, self._budget(), size)
        return size

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        raise NotImplementedError

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        raise NotImplementedError

    # The rows.

    def _released(self, problem: Problem, source: Source, fits: int = 1) -> Array:
        """Plan and run; keep what was run, to ask for it again by name, and return the weights."""
        plan = self._planned(problem, fits)
        release = self._run(plan, source)
        self.algorithm_ = plan.algorithm
        # privacy: parameters of a plan, which exists before a row is read.
        self.settings_ = dict(getattr(plan, "settings", {}))
        # privacy: public by the relation, or declared: a secret number is not in a problem.
        self.n_rows_ = plan.problem.n_rows
        self.guarantee_ = release.guarantee
        return release.weights

    def _run(self, plan: Plan, source: Source) -> Release:
        """Run a plan, charged to the ledger if there is one."""
        random = as_randomness(self.random_state)
        claim = with_randomness(plan.guarantee, random)
        with charged(self, self.ledger, claim, plan.algorithm):
            return plan.run(source, random)

    def _validated(self, X: Any, y: Any = None, *, reset: bool = True) -> tuple[Any, Any]:
        """Return rows and labels of a fit or a score; NaN or None where one may be missing."""
        bounds = self._given_bounds()
        if self.schema is not None:
            return self._read_table(X, y, labelled=True, reset=reset)
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}
        lost = None
        if allows_blank(self.missing):
            options["ensure_all_finite"] = "allow-nan"
            y, lost = set_aside(y, self._labels, bounds)
        X, y = read_rows(self, X, y, y_numeric=self._labels == "real", reset=reset, **options)
        if lost is None and missing_labels(y).any():
            raise InvalidData(UNLIKE)
        return X, put_back(y, lost)

    def _gathered(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return rows and labels of a fit; rows that are not in memory as what they are."""
        bounds = self._given_bounds()
        found = streamed(
            X, y, schema=self.schema, target=self.target, named=bounds.names,
            blank=allows_blank(self.missing),
        )  # fmt: skip
        if found is None:
            return self._validated(X, y)
        # privacy: weights of one fit must never stand beside the guarantee of another.
        self._forget()
        if found.target is None:
            raise InvalidData(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None. Pass the name of its column."
            )
        self.n_features_in_ = found.shape[1]
        if found.tables.named:
            self.feature_names_in_ = np.array(found.names, dtype=object)
        return found, None

    def _rows(self, X: Any, **options: Any) -> Any:
        """Return rows without labels; by default those to predict, with nothing missing."""
        new = not options.get("reset", False)
        if self.schema is not None:
            X, _ = self._read_table(X, reset=not new)
        elif not allows_blank(self.missing):
            return read_rows(self, X, **({"reset": False} | options))
        else:
            given = {"reset": False, "ensure_all_finite": "allow-nan"} | options
            X = read_rows(self, X, **given)
        return neutral(self.bounds_, X) if new else X

    def _scored(self, X: Any, y: Any, weights: Any) -> tuple[Any, Any]:
        """Return labels and weights of rows that are scored, read here first."""
        check_is_fitted(self)
        scored(self)
        # privacy: the messages of scikit-learn's metrics quote labels and count rows.
        _, y = self._validated(X, y, reset=False)
        if missing_labels(y).any():
            raise InvalidData("A row that is scored has no label. Give every row one.")
        if self._labels == "classes":
            check_scored(y, self.classes_)
        return y, None if weights is None else read_weights(weights, len(y))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "blank"
        tags.non_deterministic = self.random_state is None
        return tags


def with_poor_scores(tags: Any) -> Any:
    """Return scikit-learn's tags with the note that its small data sets may score badly.

    >>> from sklearn.utils import get_tags
    >>> from discreet import PrivateLinearSVC
    >>> with_poor_scores(get_tags(PrivateLinearSVC())).classifier_tags.poor_score
    True
    """
    for kind in (tags.classifier_tags, tags.regressor_tags):
        if kind is not None:
            kind.poor_score = True
    return tags
