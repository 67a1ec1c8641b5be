"""What a server makes of reports: a model, and nothing it could learn beyond them.

Reports are public once they are sent. Everything here works on them alone, so it costs no further
privacy, and counts of reports may be published.

*Linear.* ``M`` and ``b`` are the means of the reports about second moments and about products with
the label, each scaled to be unbiased. A coordinate of ``M`` has variance ``t^2 = B^2 / (d n)`` at
most, so the noise of the matrix has norm ``t sqrt(2 p)`` about, and ``w = (M+ + t sqrt(p) I)^-1 b``
with the negative eigenvalues of ``M`` set to zero.

*Logistic.* Each round moves the weights against the mean of its reports of the gradient, ``w <-
project(w - s g)``, and the model is the mean of the weights after the steps of the second half.
Let ``L`` be the row norm, ``D`` the radius, ``m`` the reports in each of ``T`` rounds and
``N = L^2 B^2 / m``. With ``s <= 2 / L^2`` a step brings the squared distance to the best weights
down by ``2 s excess - 2 s^2 N`` in the mean. After the first half it is ``D^2 + T s^2 N`` at most,
so that the mean excess per person is at most ``D^2 / (s T) + 2 s N``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.accounting import Guarantee
from discreet.bounds import Array
from discreet.checks import integer
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.local.randomizer import directions, report_norm
from discreet.local.reporter import Query, Report, part_of
from discreet.local.spec import Spec

BATCH = 4096


@dataclass(frozen=True)
class LocalModel:
    """A linear or logistic model fitted from reports.

    Parameters
    ----------
    coef_, intercept_
        In the units of the records. The intercept is the middle of the label range; to fit one,
        let devices append a constant to their records.
    stderr_
        Standard errors of the coefficients of a linear model, by the noise of the reports.
    n_reports_
        How many reports were used.
    guarantee_
        What each person was guaranteed.
    """

    spec: Spec
    coef_: Array
    intercept_: float
    stderr_: Array | None
    n_reports_: int
    guarantee_: Guarantee

    def predict(self, X: Array) -> Array:
        """Return predicted labels, one for each row."""
        z = np.asarray(X, dtype=np.float64) @ self.coef_
        if self.spec.model == "linear":
            return np.asarray(z + self.intercept_)
        return np.where(z > 0, self.spec.label[1], self.spec.label[0])


class Aggregator:
    """Collects reports of one specification and fits its model.

    Parameters
    ----------
    spec
        The specification the devices answer.
    persons
        For a logistic model, about how many persons will answer in all: the length of steps
        depends on it.

    Examples
    --------
    >>> from discreet.local import Reporter
    >>> spec = Spec(model="linear", n_features=1, row_norm=1.0, label=(-1, 1), epsilon=4.0)
    >>> aggregator = Aggregator(spec)
    >>> aggregator.add(Reporter(spec).report([1.0], 1.0) for _ in range(2000))
    2000
    >>> bool(abs(aggregator.solve().coef_[0] - 1.0) < 0.3)
    True
    """

    def __init__(self, spec: Spec, *, persons: int | None = None) -> None:
        if not isinstance(spec, Spec):
            raise InvalidParameter(f"spec must be a Spec. Got {type(spec).__name__} instead.")
        self.spec = spec
        self.refused = 0
        """Reports that were not used: of another specification or round, damaged or repeated."""
        self._seen: set[bytes] = set()
        self._steps: list[Array] = []
        self._weights = np.zeros(spec.n_features)
        self._used = 0
        self._clear()
        if spec.model == "logistic":
            if persons is None:
                raise InvalidParameter(
                    "persons is not set. The steps of a logistic model depend on it. Pass about "
                    "how many persons will answer in all."
                )
            self._step = step_length(spec, integer("persons", persons))

    def _clear(self) -> None:
        self._sums = [np.zeros(d) for d in self.spec.sizes]
        self._counts = [0 for _ in self.spec.sizes]

    def query(self) -> Query:
        """Return what to ask now."""
        if self.spec.model == "linear":
            return Query()
        if self.round == self.spec.rounds:
            raise Incompatible("All rounds of this specification are over. Call solve().")
        return Query(self.round, tuple(float(v) for v in self._weights))

    @property
    def round(self) -> int:
        """The round that is open, counted from 0."""
        return len(self._steps)

    def add(self, reports: Iterable[Report | bytes]) -> int:
        """Take reports, as objects or as bytes, and return how many could be used.

        Those of another specification or round, damaged ones and repetitions are left out and
        counted in ``refused``: one bad report must not stop the study.
        """
        used, fresh = 0, []
        for report in reports:
            fresh.append(report)
            if len(fresh) == BATCH:
                used += self._add(fresh)
                fresh = []
        return used + self._add(fresh)

    def _add(self, reports: list[Report | bytes]) -> int:
        kept: list[Report] = []
        for given in reports:
            try:
                report = given if isinstance(given, Report) else Report.from_bytes(given)
            except InvalidData:
                continue
            good = report.digest == self.spec.digest and report.seed not in self._seen
            if good and report.round == (self.round if self.spec.model == "logistic" else 0):
                self._seen.add(report.seed)
                kept.append(report)
        for part, dim in enumerate(self.spec.sizes):
            mine = [r for r in kept if part_of(self.spec, r.seed) == part]
            if mine:
                told = np.array([float(r.sign) for r in mine])
                self._sums[part] += told @ directions([r.seed for r in mine], dim)
                self._counts[part] += len(mine)
        self.refused += len(reports) - len(kept)
        self._used += len(kept)
        return len(kept)

    def _mean(self, part: int) -> Array:
        if self._counts[part] == 0:
            raise Incompatible("There are no reports to fit from yet. Call add with reports.")
        scale = report_norm(self.spec.epsilon, self.spec.sizes[part])
        return np.asarray(self._sums[part] * (scale / self._counts[part]))

    def step(self, reports: Iterable[Report | bytes] = ()) -> Query | None:
        """End a round of a logistic model; return the next query, or None after the last."""
        if self.spec.model != "logistic":
            raise Incompatible("A linear model has no rounds. Call add, then solve.")
        self.query()
        self.add(reports)
        moved = self._weights - self._step * self.spec.row_norm * self._mean(0)
        self._weights = self._projected(moved)
        self._steps.append(self._weights)
        self._clear()
        return None if self.round == self.spec.rounds else self.query()

    def _projected(self, weights: Array) -> Array:
        norm, radius = float(np.linalg.norm(weights)), self.spec.radius
        return weights if radius is None or norm <= radius else weights * (radius / norm)

    def solve(self) -> LocalModel:
        """Fit the model from the reports so far."""
        if self.spec.model == "linear":
            low, high = self.spec.label
            coef, errors = self._solve_linear((high - low) / 2 / self.spec.row_norm)
            return self._model(self._projected(coef), (high + low) / 2, errors)
        if not self._steps:
            raise Incompatible("No round is over yet. Call step with the reports of the first.")
        return self._model(np.mean(self._steps[self.round // 2 :], axis=0), 0.0, None)

    def _solve_linear(self, unit: float) -> tuple[Array, Array]:
        p, b = self.spec.n_features, self._mean(1)
        i, j = np.triu_indices(p)
        matrix = np.zeros((p, p))
        matrix[i, j] = matrix[j, i] = self._mean(0) / np.where(i == j, 1.0, math.sqrt(2.0))
        spread = [
            report_norm(self.spec.epsilon, d) / math.sqrt(d * n)
            for d, n in zip(self.spec.sizes, self._counts, strict=True)
        ]
        values, vectors = np.linalg.eigh(matrix)
        damped = np.maximum(values, 0.0) + spread[0] * math.sqrt(p)
        inverse = (vectors / damped) @ vectors.T
        w = inverse @ b
        # Noise of M times w, and of b.
        noise = spread[0] ** 2 / 2 * (w @ w * np.eye(p) + np.outer(w, w))
        noise += spread[1] ** 2 * np.eye(p)
        errors = np.sqrt(np.diag(inverse @ noise @ inverse))
        return unit * w, unit * errors

    def _model(self, coef: Array, middle: float, errors: Array | None) -> LocalModel:
        return LocalModel(
            spec=self.spec,
            coef_=coef,
            intercept_=middle,
            stderr_=errors,
            n_reports_=self._used,
            guarantee_=self.spec.guarantee,
        )


def step_length(spec: Spec, persons: int) -> float:
    """Return the steps of a logistic model with the least bound.

    >>> spec = Spec(model="logistic", n_features=5, row_norm=1.0, label=(0, 1), epsilon=1.0,
    ...             radius=4.0, rounds=30)
    >>> round(step_length(spec, 100_000), 4)
    2.0
    """
    assert spec.radius is not None
    reports = max(1, persons // spec.rounds)
    noise = spec.row_norm * report_norm(spec.epsilon, spec.n_features)
    return min(2 / spec.row_norm**2, spec.radius / noise * math.sqrt(reports / (2 * spec.rounds)))
