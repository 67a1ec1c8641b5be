"""Principal components, learned privately."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from discreet.algorithms.perturbation import NoisyCovariance
from discreet.bounds import Array, Bounds
from discreet.checks import integer, truth
from discreet.data import ArraySource
from discreet.errors import InvalidParameter
from discreet.estimators.shared.base import assuming
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.losses import Squared
from discreet.preprocessing.transformer import PARAMETERS, PrivateTransformer, TransformerPlan
from discreet.problem import Problem

CONSTANT = 0.5
"""Size of the appended constant, as a share of the row norm: that of an intercept."""

CLEAR = 2.0
"""How many times the edge of the noise an eigenvalue has to be, to count."""


class LearnedComponents:
    """What a fit leaves behind."""

    components_: Array
    explained_variance_: Array
    mean_: Array
    noise_edge_: float
    n_components_: int
    bounds_: Bounds


class PrivatePCA(
    LearnedComponents,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    PrivateTransformer,
):
    __doc__ = f"""Principal components with a privacy guarantee.

    The matrix of second moments is released once, with noise; components, their number,
    mean and explained variance follow from it. Only this map is released: transformed rows
    are as personal as the rows themselves.

    Parameters
    ----------
    n_components
        How many components are kept: a number, ``"auto"`` for those that stand clear of the
        noise (at least one), or None for all.
    epsilon, delta
        Privacy budget of one fit; ``delta=0`` asks for pure epsilon-privacy. As a step
        before a model, give it the smaller part of the budget.
    bounds
        Declared :class:`~discreet.Bounds` with ``row_norm``, ``features`` or both. Rows are
        clipped to them, new rows too. With ``features`` components are those of columns
        scaled to [-1, 1].
    centred
        Whether the mean is taken away. It comes from the same release: a constant of half
        the row norm is appended to each row, which adds a quarter to the noise.{PARAMETERS}

    Attributes
    ----------
    components_
        One row per component, in the scaled domain; orthonormal, the strongest first.
    explained_variance_
        Released variance along every component. Noise adds about ``noise_edge_ / n``.
    noise_edge_
        Size of the largest eigenvalue that noise alone would have, on the scale of sums.
    mean_
        Released mean in the scaled domain; zeros if not centred.
    n_components_
        How many components are kept.
    bounds_
        :class:`~discreet.Bounds` that the next step can declare: components do not make rows
        longer, so it is the row norm of the input.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    PrivateStandardScaler : Scales columns with a guarantee; a plain one would leak.

    References
    ----------
    Dwork, Talwar, Thakurta, Zhang, *Analyze Gauss*, STOC 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(20_000, 1)) * [0.3, 0.3, 0.0] + rng.normal(0, 0.01, (20_000, 3))
    >>> pca = PrivatePCA(n_components="auto", bounds=Bounds(row_norm=1.0), random_state=0).fit(X)
    >>> pca.n_components_, np.abs(pca.components_[0]).round(1).tolist()
    (1, [0.7, 0.7, 0.0])
    """

    n_components: int | str | None = None
    delta: float = 1e-6
    bounds: Bounds | dict[str, Any] | None = None
    centred: bool = True

    _algorithm: ClassVar[str] = "noisy-covariance"

    def _plan(self, count: int, n_rows: int | None) -> TransformerPlan:
        size = self._known_size(n_rows)
        self._asked(count)
        covariance = NoisyCovariance(self._problem(count, size), self._budget())
        edge = covariance.deviation * math.sqrt(2.0 * count)
        if edge > 0.5 * size * covariance.moments.row_norm**2:
            self._few("noise is stronger than any component can be")
        facts = {
            "algorithm": self._algorithm,
            "sensitivity": covariance.sensitivity * covariance.moments.row_scale**2,
            f"{covariance.noise.kind} noise scale": covariance.deviation,
            "edge of the noise, per row": edge / size,
        }
        return TransformerPlan(facts, covariance.guarantee, covariance)

    def _asked(self, n_features: int) -> int | None:
        """Return how many components are asked for; None leaves it to the release."""
        if self.n_components == "auto":
            return None
        if isinstance(self.n_components, str):
            raise InvalidParameter(
                'n_components must be a number, "auto" or None.', parameter="n_components"
            )
        if self.n_components is None:
            return n_features
        return integer("n_components", self.n_components, maximum=n_features)

    def _declared(self) -> Bounds:
        given = Bounds.of(self.bounds)
        names = getattr(self, "feature_names_in_", None)
        ordered = given.in_order(names) if names is not None else replace(given, names=None)
        # Labels are not looked at; the squared loss wants to know their size.
        return replace(ordered, label=(-1.0, 1.0), classes=None)

    def _problem(self, n_features: int, n_rows: int) -> Problem:
        problem = Problem(
            loss=Squared(),
            bounds=self._declared(),
            n_features=n_features,
            n_rows=n_rows,
            neighbours=self.neighbours,
        )
        if truth("centred", self.centred):
            problem = replace(problem, intercept=CONSTANT * problem.row_norm)
        return assuming(problem)

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the components of the rows of ``X``; ``y`` is ignored."""
        X = self._numbers(X, reset=True)
        plan, p = self.plan(X.shape[1], X.shape[0]), X.shape[1]
        random, claim = self._random(plan.guarantee)
        covariance: NoisyCovariance = plan.mechanism
        with charged(self, self.ledger, claim, self._algorithm):
            matrix = covariance.released(ArraySource(X, np.zeros(len(X))), random)
        # Everything below is made of the release and of public numbers.
        constant, size = covariance.problem.intercept, float(covariance.problem.n_rows or 0)
        if constant and self.neighbours == "add-remove":
            size = max(1.0, float(matrix[p, p]) / constant**2)
        mean = matrix[:p, p] / (constant * size) if constant else np.zeros(p)
        values, vectors = np.linalg.eigh(matrix[:p, :p] - size * np.outer(mean, mean))
        values, vectors = values[::-1], vectors[:, ::-1].T
        self.noise_edge_ = covariance.deviation * math.sqrt(2.0 * p)
        asked = self._asked(p)
        kept = max(1, int((values > CLEAR * self.noise_edge_).sum())) if asked is None else asked
        # The sign of a component means nothing: its largest entry is positive.
        signs = np.sign(vectors[np.arange(p), np.abs(vectors).argmax(axis=1)])
        self.components_ = (vectors * signs[:, None])[:kept]
        self.explained_variance_ = np.maximum(values[:kept], 0.0) / size
        self.n_components_, self.mean_ = kept, mean
        self.bounds_ = Bounds(row_norm=self._problem(p, len(X)).bounding._limit)
        self.guarantee_ = claim
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: Any) -> Array:
        """Return clipped rows along the components."""
        X = self._numbers(X, reset=False)
        bounding = self._problem(X.shape[1], len(X)).bounding
        rows = bounding.apply(ArraySource(X, np.zeros(len(X)))).X[:, : X.shape[1]]
        found: Array = (rows - self.mean_) @ self.components_.T
        return found
