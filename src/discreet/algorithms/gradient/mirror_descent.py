"""Noisy mirror descent: gradient steps in the geometry of the set.

Each step solves ``min over w of step <noisy gradient, w> + B(w, w_t)`` for a
Bregman divergence ``B``; a mean of the iterates is released.

Privacy is that of noisy gradient descent: the noise is the same. Let ``psi`` be
1-strongly convex in a norm, ``D >= B(w*, w_0)`` and ``N`` the mean square dual
norm of the noise of a step. On a simplex of ``p`` vertices ``D`` and ``N`` grow
with ``log p`` only.

Theorem (smooth). If the objective is ``b``-smooth in the norm, the step ``s = 1 /
(b + sqrt(N T / (2 D)))`` and the mean of the iterates *after* their steps have an
expected excess of at most ``b D / T + sqrt(2 D N / T)``. *Proof.* With ``d`` the
step taken and ``x`` the noise, smoothness, convexity and the three-point identity
bound the excess after a step by ``(B_t - B_(t+1)) / s + <x, w* - w_t> - <x, d> - (1
- s b) |d|^2 / (2 s)``. The second term has mean zero, and the last two add up to
``s |x|^2 / (2 (1 - s b))`` at most. The mean over all steps is ``D / (s T) + s N /
(2 (1 - s b))``, and this ``s`` minimises it.

Theorem (Lipschitz; Talwar, Thakurta, Zhang 2014). With ``G`` bounding the
gradients in the dual norm, the step ``sqrt(D / (T (G^2 + N)))`` and the mean of the
iterates *before* their steps have at most ``2 sqrt(D (G^2 + N) / T)``.

As ``N`` grows like ``T``, the smooth rule is done after about ``b sqrt(D T / N)``
steps, the other after ``G^2 T / N``: for many rows that is far more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, logsumexp

from discreet.accounting import Budget, Event, Guarantee, gaussian_multiplier
from discreet.algorithms.gradient.step_rules import affordable
from discreet.bounds import Array
from discreet.checks import integer
from discreet.data import Source
from discreet.data.cluster import sums_of
from discreet.errors import Incompatible, InvalidParameter
from discreet.mechanisms.batches import FullBatch
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows, size_assumed
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    norm_guess_of,
    releasing,
)
from discreet.tuned.algorithms import MIRROR_REST


class Entropy:
    """Multiplicative steps on the simplex of sum ``total``.

    >>> Entropy(1.0).point(np.array([0.0, np.log(3.0)])).round(6)
    array([0.25, 0.75])
    """

    def __init__(self, total: float) -> None:
        self.total = total

    def point(self, dual: Array) -> Array:
        """Return the weights of a dual point."""
        return np.asarray(self.total * np.exp(dual - logsumexp(dual)))

    def scale(self) -> float:
        """Return what a unit of gradient moves a dual point by."""
        return 1 / self.total

    def divergence(self, dimension: int, norm_guess: float) -> float:
        return self.total**2 * math.log(max(dimension, 2))

    def noise(self, dimension: int) -> float:
        """Return the mean square dual norm of standard noise, or a bound on it."""
        return 2 * math.log(2 * dimension) + 1

    def dual_norm(self, row: Array) -> float:
        """Return the dual norm of a vector."""
        return float(np.abs(row).max())


class PNorm:
    """Half the squared ``q``-norm, on all space, ``1 < q <= 2``.

    >>> PNorm(2.0).point(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    def __init__(self, q: float) -> None:
        if not 1 < q <= 2:
            raise InvalidParameter(f"power must lie in (1, 2]. Got {q!r} instead.")
        self.q, self.dual = q, q / (q - 1)

    def point(self, dual: Array) -> Array:
        size = np.abs(dual)
        norm = float(np.linalg.norm(size.ravel(), self.dual))
        if norm == 0:
            return np.zeros_like(dual)
        # The gradient of half the squared dual norm, in a form that cannot overflow.
        return np.asarray(np.sign(dual) * (size / norm) ** (self.dual - 1) * norm)

    def scale(self) -> float:
        # psi = ||w||_q^2 / (2 (q - 1)) is 1-strongly convex.
        return self.q - 1

    def divergence(self, dimension: int, norm_guess: float) -> float:
        return norm_guess**2 / (2 * (self.q - 1))

    def noise(self, dimension: int) -> float:
        r = self.dual
        moment = r / 2 * math.log(2) + float(gammaln((r + 1) / 2)) - math.log(math.pi) / 2
        return math.exp(2 * (math.log(dimension) + moment) / r) + 1

    def dual_norm(self, row: Array) -> float:
        return float(np.linalg.norm(row, self.dual))


@dataclass(frozen=True, kw_only=True)
class MirrorDescent:
    """Noisy full-batch steps by entropy on a simplex, by a p-norm elsewhere.

    Parameters
    ----------
    power
        The ``q`` of the norm on all space, in (1, 2]; by default ``1 + 1/log p``,
        which suits sparse weights. Not with a simplex.
    steps
        Number of steps; by default what the bound asks for, capped by the work. Smooth losses
        need fewer than losses with corners.
    norm_guess
        Public guess of the ``q``-norm of good weights; only accuracy depends on it.

    Examples
    --------
    >>> from discreet.sets import Simplex
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=50, n_rows=1000, constraint=Simplex())
    >>> MirrorDescent(steps=100).plan(problem, Budget(1.0, 1e-6)).facts()["geometry"]
    'entropy'
    """

    name: ClassVar[str] = "mirror-descent"
    needs_delta: ClassVar[bool] = True

    power: float | None = None
    steps: int | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> MirrorDescentPlan:
        """Calibrate a run from public values."""
        if budget.delta == 0 or problem.n_rows is None or problem.neighbours == "add-remove":
            raise Incompatible("mirror-descent needs delta > 0 and a public number of rows.")
        if problem.regularizer.value(np.ones(problem.shape)) != 0:
            raise Incompatible("mirror-descent takes no penalty; use noisy-gradient.")
        geometry: Entropy | PNorm
        axes = problem.constraint.axis_vertices
        if axes is not None and not axes.signed:
            if self.power is not None:
                raise Incompatible("On a simplex the geometry is entropy; leave power out.")
            geometry = Entropy(axes.size)
        elif problem.constraint.whole_space:
            usual = 1 + 1 / max(1.0, math.log(problem.dimension))
            geometry = PNorm(usual if self.power is None else self.power)
        else:
            raise Incompatible(
                f"mirror-descent steps on a simplex or on all space, not on "
                f"{problem.constraint.name}. Use noisy-gradient."
            )
        if self.steps is not None:
            integer("steps", self.steps)
        return MirrorDescentPlan(problem, budget, self, geometry)


@dataclass(frozen=True)
class MirrorDescentPlan(CalibratedPlan):
    """A calibrated run of noisy mirror descent."""

    algorithm: ClassVar[str] = MirrorDescent.name
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    config: MirrorDescent
    geometry: Entropy | PNorm

    @property
    def _n(self) -> int:
        assert self.problem.n_rows is not None
        return self.problem.n_rows

    @cached_property
    def _norm_guess(self) -> float:
        return norm_guess_of(self.problem, self.config.norm_guess)

    @property
    def smooth(self) -> bool:
        """Whether the steps are those of the smooth rule."""
        return math.isfinite(self.problem.terms.smoothness)

    @cached_property
    def _shorter(self) -> float:
        """The longest row in the dual norm of the geometry, over the longest in the Euclidean one.

        Constants of a loss of ``<x, w>`` are in proportion to it; vectors of such products have
        one for each output, so there it is 1.
        """
        problem, norm = self.problem, self.problem.row_norm
        if problem.loss.outputs > 1:
            return 1.0
        if problem.bounds.features is None:
            return 1.0
        # Declared ranges are mapped into [-1, 1]; the intercept is the last entry.
        row = np.ones(problem.dimension)
        row[problem.n_features :] = problem.intercept
        return min(self.geometry.dual_norm(row), norm) / norm

    @property
    def _smoothness(self) -> float:
        return self._n * self.problem.terms.smoothness * self._shorter**2

    @property
    def _slope(self) -> float:
        return self._n * self.problem.terms.lipschitz * self._shorter

    @cached_property
    def steps(self) -> int:
        """Number of steps."""
        if self.config.steps is not None:
            return self.config.steps
        p = self.problem.dimension
        unit = self.problem.apart * gaussian_multiplier(self.budget.epsilon, self.budget.delta)
        spread = (unit * self.problem.terms.lipschitz) ** 2 * self.geometry.noise(p)
        wanted = self._slope**2 / spread
        if self.smooth:
            wanted = self._smoothness * math.sqrt(self._divergence / (2 * spread)) / MIRROR_REST
        return max(1, math.ceil(min(wanted, affordable(self._n * p))))

    @cached_property
    def noise(self) -> GradientNoise:
        """The noise of a step."""
        z = FullBatch().multiplier(self.budget, self.steps, self.problem.neighbours)
        return GradientNoise.gaussian(
            self.problem.terms.lipschitz,
            z,
            self.problem,
            n_rows=most_rows(self.problem),
            shifting=self.problem.size_is_declared,
        )

    @cached_property
    def event(self) -> Event:
        """What all steps cost together."""
        neighbours = self.problem.neighbours
        z = FullBatch().multiplier(self.budget, self.steps, neighbours)
        return FullBatch().event(z, self.steps, neighbours)

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.event, "mirror-descent", *size_assumed(self.problem))

    @cached_property
    def _noise_square(self) -> float:
        return self.noise.scale**2 * self.geometry.noise(self.problem.dimension)

    @property
    def _square(self) -> float:
        return self._slope**2 + self._noise_square

    @property
    def step(self) -> float:
        """Length of the steps."""
        if self.smooth:
            spread = math.sqrt(self._noise_square * self.steps / (2 * self._divergence))
            return 1 / (self._smoothness + spread)
        return math.sqrt(self._divergence / (self.steps * self._square))

    @cached_property
    def _divergence(self) -> float:
        return self.geometry.divergence(self.problem.dimension, self._norm_guess)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm."""
        if self.smooth:
            noise = math.sqrt(2 * self._divergence * self._noise_square / self.steps)
            return self._smoothness * self._divergence / self.steps + noise
        return 2 * math.sqrt(self._divergence * self._square / self.steps)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        geometry = self.geometry
        return {
            "algorithm": self.algorithm,
            "geometry": "entropy" if isinstance(geometry, Entropy) else f"{geometry.q:.4g}-norm",
            "steps": self.steps,
            "rule": "smooth" if self.smooth else "lipschitz",
            "clip": self.problem.terms.lipschitz,
            "noise scale of a step": self.noise.scale,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Take the steps and release the mean of the path."""
        problem, clip = self.problem, self.problem.terms.lipschitz
        size = self.step * self.geometry.scale()
        dual, total = np.zeros(problem.shape), np.zeros(problem.shape)
        drawn = self.noise.stream(problem.shape, random)
        rows, shifting = problem.bound(source, narrow=True), problem.size_is_declared
        with sums_of(rows, problem.loss, shifting=shifting) as sums:
            for _ in range(self.steps):
                w = self.geometry.point(dual)
                dual = dual - size * self.noise.cover(sums.full(w, clip), next(drawn))
                total += self.geometry.point(dual) if self.smooth else w
        return problem.constraint.project(total / self.steps)
