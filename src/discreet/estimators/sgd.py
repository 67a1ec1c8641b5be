"""Estimators fitted by noisy gradient steps: any loss, corners included."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.bounds import Array, Bounds
from discreet.checks import nonnegative, one_of
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible, InvalidParameter
from discreet.estimators.linear import (
    AnyAlgorithm,
    ClassWeights,
    Penalised,
    PrivateRegressor,
    RidgePenalty,
)
from discreet.estimators.shared.base import PrivateEstimator, assuming
from discreet.estimators.shared.conditional import available_where
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.intervals import INFERENCE, WithIntervals
from discreet.estimators.shared.parameters import (
    ALGORITHM,
    BASSILY,
    CLASS_WEIGHT,
    COMMON,
    FITTED,
    GUESS,
    INTERCEPT,
    PENALTIES,
)
from discreet.estimators.shared.probabilities import joint_probabilities, separate_probabilities
from discreet.inference import arriving_steps
from discreet.losses import (
    LOSSES,
    Absolute,
    EuclideanDistance,
    Loss,
    Quantile,
)
from discreet.problem import Plan, Problem
from discreet.sets import L2Ball

_STEPS = """
    sampler, batch, cap
        Rows of a step: ``"full"``, ``"poisson"`` or ``"fixed-size"``, how many, and
        how many at most. ``"auto"`` takes all rows, or batches where that would take
        too long. Without delta only full-batch steps are taken.
    steps, clip
        Number of steps and bound on the norm of a row's gradient; by default
        chosen from public values.
    alpha
        Ridge strength on the sum scale, in the scaled domain."""

_REST = PENALTIES + INTERCEPT + GUESS

_KNOWN = INFERENCE + FITTED


def _named(loss: str | Loss, targets: tuple[str, ...]) -> Loss:
    """Return a loss by name or as given, if its labels are of the right kind."""
    found = LOSSES.get(loss) if isinstance(loss, str) else loss
    if isinstance(found, Loss) and found.target in targets:
        return found
    known = {name: value for name, value in LOSSES.items() if value.target in targets}
    if isinstance(loss, str):
        one_of("loss", loss, known)
    if not isinstance(loss, Loss):
        raise InvalidParameter(f"loss must be one of {sorted(known)}, or an instance of Loss.")
    raise Incompatible(f"{loss.name} has the wrong kind of labels. Use one of {sorted(known)}.")


class _Stepped(Penalised):
    """What the estimators of any loss share."""

    sampler: str = "auto"
    batch: int | None = None
    cap: int | None = None
    steps: int | None = None
    clip: float | None = None
    alpha: float = 0.0
    norm_guess: float | None = None

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        settings: dict[str, Any] = {
            "sampler": self.sampler,
            "batch": self.batch,
            "cap": self.cap,
            "steps": self.steps,
            "clip": self.clip,
            "strength": nonnegative("alpha", self.alpha),
            "norm_guess": self.norm_guess,
        }
        if getattr(self, "inference", None) is not None and self.steps is None:
            settings |= arriving_steps(problem)
        asked = Asked(algorithm=NoisyGradient.name, settings=settings)
        return recommend(problem, budget, asked)


class PrivateSGDClassifier(WithIntervals, _Stepped, ClassWeights):
    __doc__ = f"""Linear classifier of any registered loss, by noisy gradient steps.

    A loss of one output fits more than two classes one against the rest, and
    all fits together cost the budget; ``"softmax"`` fits all at once.
{COMMON}
    loss
        Name or instance of a loss for classes, such as ``"hinge"``,
        ``"logistic"``, ``"huberised-hinge"`` or ``"softmax"``.{CLASS_WEIGHT}{_STEPS}{_REST}{_KNOWN}

    See Also
    --------
    PrivateLogisticRegression : defaults for probabilities
    PrivateStreamClassifier : rows that arrive over time

    References
    ----------{BASSILY}
    Abadi et al., *Deep learning with differential privacy*, 2016.

    Examples
    --------
    >>> from discreet import Bounds
    >>> X = np.repeat([[1.0], [-1.0]], 300, axis=0)
    >>> y = np.repeat(["yes", "no"], 300)
    >>> bounds = Bounds(row_norm=1.0, classes=("no", "yes"))
    >>> PrivateSGDClassifier(bounds=bounds, random_state=0).fit(X, y).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """

    loss: str | Loss = "hinge"

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        loss = _named(self.loss, ("sign", "index"))
        assert bounds.classes is not None
        return loss.for_classes(len(bounds.classes))

    def _fits(self, n_classes: int) -> tuple[int, int]:
        return (n_classes, 1) if n_classes == 2 or self._is_joint() else (2, n_classes)

    def _is_joint(self) -> bool:
        return _named(self.loss, ("sign", "index")).target == "index"

    def _tells_chances(self) -> bool:
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        return isinstance(loss, Loss) and loss.probabilities

    @available_where(_tells_chances)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row; logistic and softmax losses."""
        found = joint_probabilities if self._is_joint() else separate_probabilities
        return found(self.decision_function(X))


class PrivateSGDRegressor(WithIntervals, _Stepped, PrivateRegressor):
    __doc__ = f"""Linear regressor of any registered loss, by noisy gradient steps.
{COMMON}
    loss
        Name or instance of a loss for numbers, such as ``"squared"``,
        ``"absolute"``, ``"huber"`` or ``"quantile"``. Labels are mapped to
        [-1, 1] inside.{_STEPS}{_REST}{_KNOWN}

    See Also
    --------
    PrivateRidge : defaults for squared losses
    PrivateStreamRegressor : rows that arrive over time

    References
    ----------{BASSILY}
    Abadi et al., *Deep learning with differential privacy*, 2016.

    Examples
    --------
    >>> from discreet import Bounds
    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateSGDRegressor(loss="absolute", bounds=bounds, random_state=0)
    >>> bool(abs(model.fit(X, X.ravel() / 2).predict([[0.8]])[0] - 0.4) < 0.2)
    True
    """

    loss: str | Loss = "squared"

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return _named(self.loss, ("real",))


class PrivateQuantileRegressor(AnyAlgorithm, Penalised, RidgePenalty, PrivateRegressor):
    __doc__ = f"""Linear regression for a quantile of the label, with a privacy guarantee.

    Uses the pinball loss itself, not a smoothed form.
{COMMON}
    quantile
        Which quantile, strictly between 0 and 1.
    alpha
        Ridge strength on the sum scale, in the scaled domain; None lets the plan
        choose.{ALGORITHM}{_REST}{FITTED}

    See Also
    --------
    PrivateQuantile : quantiles of one column
    PrivateHuberRegressor : means, robust to outlying labels

    References
    ----------{BASSILY}

    Examples
    --------
    >>> from discreet import Bounds
    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateQuantileRegressor(quantile=0.9, bounds=bounds).fit(X, X.ravel() / 2)
    >>> model.algorithm_
    'noisy-gradient'
    """

    quantile: float = 0.5

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return Quantile(quantile=self.quantile)


class PrivateGeometricMedian(PrivateEstimator):
    __doc__ = f"""The point with the smallest sum of distances to the rows.

    Rows are clipped to the declared ranges (or norm) and mapped into the unit
    ball by one common scale, since distances do not allow one per coordinate.
{COMMON}

    Attributes
    ----------
    coef_
        The released point.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    PrivateMedian : one column

    References
    ----------{BASSILY}

    Examples
    --------
    >>> from discreet import Bounds
    >>> rows = np.tile([[1.0, 3.0], [1.0, 3.0], [9.0, 9.0]], (500, 1))
    >>> model = PrivateGeometricMedian(bounds=Bounds(features=(0, 10)), random_state=0).fit(rows)
    >>> bool(np.linalg.norm(model.center_ - [1.0, 3.0]) < 0.5)
    True
    """

    _labels = "rows"

    @property
    def center_(self) -> Array:
        """The released point, in the user's units."""
        return self.coef_

    def _frame(self, bounds: Bounds, n_features: int) -> tuple[Array, Array, Array, float]:
        """Return low, high, centre and the common scale, all public."""
        ranges = bounds.ranges(n_features)
        if ranges is None:
            assert bounds.row_norm is not None
            far = np.full(n_features, np.inf)
            return -far, far, np.zeros(n_features), bounds.row_norm
        low, high = np.array(ranges).T
        return low, high, (low + high) / 2, float(np.linalg.norm(high - low)) / 2

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        one = n_features == 1
        return Problem(
            loss=Absolute() if one else EuclideanDistance(dim=n_features),
            bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0) if one else None),
            n_features=1,
            n_rows=self._size(n_rows),
            neighbours=self.neighbours,
            constraint=L2Ball(radius=1.0),
            grouping=self._grouping(),
        )

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        return recommend(problem, budget, Asked(algorithm=NoisyGradient.name))

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Find the median privately.

        Parameters
        ----------
        X
            Rows: array or data frame of numbers.
        y
            Not used.
        groups
            Whom every row belongs to, if ``rows_per_group`` is set.

        Returns
        -------
        self
            With ``center_`` and ``guarantee_``.
        """
        groups = self._identified(X, groups)
        X = self._rows(X, dtype=np.float64, reset=True)
        bounds = self._bounds_of(X)
        low, high, centre, scale = self._frame(bounds, X.shape[1])
        # privacy: each row is mapped on its own; the algorithm clips the result again.
        with np.errstate(over="ignore"):  # a row that overflows is blank, and no warning tells so
            rows = (np.clip(X, low, high) - centre) / scale
        labels = rows if X.shape[1] > 1 else rows.ravel()
        source = ArraySource(np.ones((len(rows), 1)), labels, groups=groups)
        problem = self._problem(bounds, X.shape[1], self._counted(source))
        self.coef_ = centre + scale * self._released(assuming(problem), source).ravel()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags
