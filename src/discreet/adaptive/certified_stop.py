"""The certificate stop: ridge regression that proves its own accuracy.

Second moments are released under shrinking noise. At every level a bound on
the excess risk is computed from released values and public constants alone, so
stopping at the first bound below the target is post-processing: it costs what
the last level costs and nothing for the decision.

With ``||B|| <= a`` and ``||b|| <= c`` for the noise of a level, ``k = max(strength,
eigmin(A) - a)`` is a lower bound on the curvature of the true objective, ``A``
the noisy one, and for any ``w`` computed from released values

    J(w) - min J <= (||A w - z|| + a ||w|| + c)^2 / (2 k),

without the first term for the minimiser over the ball. The levels are declared
in advance, so one union bound covers all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import Approximate, Pure
from discreet.adaptive.brownian import grid_loss
from discreet.adaptive.noise_quantiles import gaussian_quantiles, laplace_quantiles
from discreet.adaptive.noise_reduction import FLOATING_POINT, geometric_levels
from discreet.adaptive.outcome import AdaptivePlan, Costs, Step, Try
from discreet.adaptive.paths import Noise, StatisticsPath
from discreet.adaptive.task import Task
from discreet.bounds import Array
from discreet.checks import between, integer, one_of, positive
from discreet.data import Source
from discreet.errors import BudgetTooSmall
from discreet.noise import Randomness
from discreet.solvers.trust_region import trust_region


@dataclass(frozen=True, kw_only=True)
class Certificate(AdaptivePlan):
    """Ridge regression that stops when released values prove the target.

    Parameters
    ----------
    task
        With the squared loss.
    target
        Excess risk per row.
    failure
        Probability that some certificate is wrong.
    max_epsilon
        Largest epsilon to reserve. By default what always suffices.
    count
        Number of levels. They grow by one ratio from :attr:`least` to what is
        reserved: more of them stop closer to the mark, but each takes its part
        of ``failure``.
    noise, delta
        ``"laplace"``, exact and pure; or ``"brownian"``, floating point, which
        needs delta.

    Examples
    --------
    >>> from discreet.problem import Problem
    >>> from discreet.losses import Squared
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=38, n_rows=100_000, neighbours="replace-one")
    >>> plan = Certificate(task=Task(problem=problem, strength=500.0, row_l1=1.0), target=0.05)
    >>> round(plan.reserved[0], 3)
    0.179
    """

    task: Task
    target: float
    failure: float = 0.1
    max_epsilon: float | None = None
    count: int = 24
    noise: Noise = "laplace"
    delta: float = 0.0

    def __post_init__(self) -> None:
        positive("target", self.target)
        between("failure", self.failure, 0, 1)
        integer("count", self.count, minimum=2)
        one_of("noise", self.noise, ("laplace", "brownian"))

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """Norms that the noise matrix and vector stay below, per unit of noise scale."""
        quantiles = laplace_quantiles if self.noise == "laplace" else gaussian_quantiles
        p = self.task.problem.dimension
        return quantiles(p, self.failure / (2 * self.count))

    def _norms_at(self, scale: float, path: StatisticsPath) -> tuple[float, float]:
        matrix, vector = self._norms
        unit = path.moments.row_scale
        return matrix * scale * unit**2, vector * scale * unit * path.moments.label_scale

    def _epsilon(self, norm: float, curvature: float) -> float:
        """Return the epsilon at which weights of that norm are certified."""
        task = self.task
        trial = StatisticsPath(task=task, levels=(1.0,), noise=self.noise, delta=self.delta)
        a, c = self._norms_at(1.0, trial)
        ratio = trial.sensitivity * (a * norm + c)
        ratio /= math.sqrt(2 * curvature * task.n * self.target)
        if self.noise == "laplace":
            return ratio * (1 + 1e-9)
        return grid_loss(ratio**2 / 2 * (1 + 1e-9), self.delta, self.count)

    @cached_property
    def enough(self) -> float:
        """The epsilon at which every data set has its certificate."""
        return self._epsilon(self.task.radius, self.task.strength)

    @cached_property
    def least(self) -> float:
        """The epsilon below which no data set has one that holds.

        A certificate is at least that of zero weights without residual, at the
        largest curvature: the trace of the second moments over the dimension.
        """
        task = self.task
        trace = task.most * task.weight * task.problem.row_norm**2
        return self._epsilon(0.0, task.strength + trace / task.problem.dimension)

    @cached_property
    def path(self) -> StatisticsPath:
        """The levels, from the first that can do to what is enough or to the cap."""
        top = self.enough if self.max_epsilon is None else min(self.enough, self.max_epsilon)
        if top <= self.least:
            raise BudgetTooSmall(
                f"No data can be certified below epsilon = {self.least:.3g}, but max_epsilon = "
                f"{top:g}. Raise max_epsilon or allow a larger max_error."
            )
        ratio = (top / self.least) ** (1 / (self.count - 1))
        levels = geometric_levels(top, ratio=ratio, count=self.count)
        return StatisticsPath(task=self.task, levels=levels, noise=self.noise, delta=self.delta)

    @property
    def reserved(self) -> tuple[float, float]:
        """Epsilon and delta that no run exceeds."""
        return self.path.levels[-1], self.delta

    @cached_property
    def costs(self) -> Costs:
        """How a run is accounted for."""
        exact = self.noise == "laplace"
        top = self.path.levels[-1]
        return Costs(
            self.task.problem,
            self.delta,
            top,
            Pure(top) if exact else Approximate(top, self.delta),
            "accuracy-first/certified-stop",
            () if exact else (FLOATING_POINT,),
        )

    @property
    def method(self) -> str:
        """Name of the method."""
        return "certificate"

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "method": self.method,
            "levels": len(self.path.levels),
            "first level": self.path.levels[0],
            "reserved epsilon": self.reserved[0],
            "may end without a model": self.enough > self.reserved[0],
            "test epsilon": self.test_epsilon,
            "radius": self.task.radius,
            "strength": self.task.strength,
        }

    def _tries(
        self, source: Source, random: Randomness, validation: Source | None
    ) -> Iterator[Try]:
        task, path = self.task, self.path
        released = path.statistics(source, random)
        for level, scale, (matrix, vector) in zip(path.levels, path.scales, released, strict=True):
            weights, bound = certified(
                matrix + task.strength * np.eye(len(vector)),
                vector,
                *self._norms_at(scale, path),
                strength=task.strength,
                radius=task.radius,
            )
            step = Step(level, bound <= task.n * self.target, bound / task.n)
            yield Try(step, weights, total=level, model=level)


def certified(
    matrix: Array,
    vector: Array,
    matrix_noise: float,
    vector_noise: float,
    *,
    strength: float,
    radius: float,
) -> tuple[Array, float]:
    """Return the weights with the smallest certificate, and that bound on their excess.

    Parameters
    ----------
    matrix, vector
        Noisy second moments, the ridge strength on the diagonal.
    matrix_noise, vector_noise
        Bounds on the norms of the noise.
    strength
        Known curvature of the true objective.
    radius
        Of a ball that holds the true minimiser.

    Examples
    --------
    >>> w, bound = certified(np.eye(2) * 100, np.array([50.0, 0.0]), 1.0, 1.0,
    ...                      strength=1.0, radius=9.0)
    >>> w.round(3), round(bound, 5)
    (array([0.5, 0. ]), 0.01136)
    """
    values, basis = np.linalg.eigh(matrix)
    curvature = max(strength, float(values[0]) - matrix_noise)
    best = trust_region(matrix, vector, radius)
    size = matrix_noise * float(np.linalg.norm(best)) + vector_noise
    turned = basis.T @ vector
    # Shrunken solutions (A + mu)^-1 z leave a residual mu w but multiply less noise; the last
    # one is all but zero, and zero itself closes the list.
    ends = 1e-3 * matrix_noise + 1e-12 * float(np.abs(values).max())
    grid = np.geomspace(ends, 1e3 * (float(np.abs(values).max()) + matrix_noise), 60)
    grid = grid[grid > -1.001 * values[0]]
    shrunk = turned / (values + grid[:, None])
    norms = np.append(np.linalg.norm(shrunk, axis=1), 0.0)
    residuals = np.append(grid * norms[:-1], np.linalg.norm(turned))
    sizes = residuals + matrix_noise * norms + vector_noise
    k = int(np.argmin(sizes))
    if sizes[k] < size:
        best = basis @ shrunk[k] if k < len(grid) else np.zeros_like(vector)
        size = float(sizes[k])
    return best, size**2 / (2 * curvature)
