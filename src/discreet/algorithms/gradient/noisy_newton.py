"""Noisy Newton steps in two variants.

``"hessian"`` releases the Hessian with symmetric Gaussian noise, floors its
eigenvalues and steps by its inverse (Avella-Medina, Bradshaw, Loh 2023).
``"double-noise"`` keeps the Hessian secret: it releases the noisy gradient
``g``, then ``(H + floor)^-1 g`` with noise of its own (Ganesh, Haghifam, Steinke,
Thakurta 2023).

Theorem. One row adds ``c x x'`` with ``0 <= c ||x||^2 <= h``. The Frobenius norm
of the Hessian moves by ``h`` under zero-out, by ``sqrt(2) h`` under replace-one.
The second release moves by ``||g|| h / (floor (floor + h))`` under either
(Sherman-Morrison). All releases are Gaussian and compose exactly. Convergence
is fast near the minimum; no bound on the excess is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.accounting import Budget, Event, Gaussian, Guarantee, gaussian_multiplier
from discreet.bounds import Array, rows_apart, unit_roundoff
from discreet.checks import integer, one_of, positive
from discreet.data import Rows, Source
from discreet.data.cluster import sums_of
from discreet.errors import Incompatible
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows, size_assumed
from discreet.mechanisms.hessian_noise import HessianNoise, one_row, rounding
from discreet.noise import Gaussian as GaussianNoise
from discreet.noise import Grid, Randomness, release
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    norm_guess_of,
    releasing,
)
from discreet.sets import L2Ball

VARIANTS = ("hessian", "double-noise")


def solve_sensitivity(norm: float, curvature: float, floor: float) -> float:
    """Return how far ``(H + floor)^-1 g`` can move for a gradient ``g`` of that norm.

    >>> round(solve_sensitivity(1.0, 0.25 * 1.3**2, 0.7), 7)
    0.5377028
    """
    return norm * curvature / (floor * (floor + curvature))


@dataclass(frozen=True, kw_only=True)
class NoisyNewton:
    """Few steps, each with a noisy gradient and a noisy use of the curvature.

    Parameters
    ----------
    variant
        ``"hessian"`` or ``"double-noise"``.
    steps
        Number of Newton steps.
    floor
        Least curvature a step divides by; by default from the size of the
        noise.
    norm_guess
        Radius of the ball the iterates stay in without a bounded set.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> plan = NoisyNewton().plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.guarantee.event.delta(1.0), 12)
    1e-06
    """

    name: ClassVar[str] = "noisy-newton"
    needs_delta: ClassVar[bool] = True

    variant: str = "hessian"
    steps: int = 8
    floor: float | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> NoisyNewtonPlan:
        """Calibrate a run from public values."""
        one_of("variant", self.variant, VARIANTS)
        integer("steps", self.steps)
        if self.floor is not None:
            positive("floor", self.floor)
        if budget.delta == 0 or problem.neighbours == "add-remove" or problem.n_rows is None:
            raise Incompatible("noisy-newton needs delta > 0 and a public number of rows.")
        if problem.grouping is not None and self.variant != "hessian":
            raise Incompatible(
                "With groups of rows noisy-newton takes variant='hessian' alone. Leave variant out."
            )
        if not (problem.terms.scalar and math.isfinite(problem.terms.smoothness)):
            raise Incompatible("noisy-newton needs a smooth loss of one output.")
        if problem.regularizer.value(np.ones(problem.shape)) != 0:
            raise Incompatible("noisy-newton takes no penalty; use noisy-gradient.")
        plan = NoisyNewtonPlan(problem, budget, self)
        if self.variant == "double-noise" and not plan.solve_rounding <= plan.floor:
            # privacy: a solve could fail, or be further off than is paid for, and rows would decide
            raise Incompatible(
                f"floor must be at least {plan.solve_rounding:.3g} here: rounding of the Hessian "
                "may take that much curvature away. Leave floor out, or use variant='hessian'."
            )
        return plan


@dataclass(frozen=True)
class NoisyNewtonPlan(CalibratedPlan):
    """A calibrated run of noisy Newton steps."""

    algorithm: ClassVar[str] = NoisyNewton.name
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    config: NoisyNewton

    @cached_property
    def _multiplier(self) -> float:
        """Multiplier of every single release: two a step, all alike."""
        one = gaussian_multiplier(self.budget.epsilon, self.budget.delta)
        return one * math.sqrt(2 * self.config.steps) * (1 + 2.0**-50)

    @property
    def _shifting(self) -> bool:
        return self.problem.size_is_declared

    @cached_property
    def noise(self) -> GradientNoise:
        """The noise of a gradient."""
        assert self.problem.n_rows is not None
        z = rows_apart(self.problem.neighbours) * self._multiplier
        clip = self.problem.terms.lipschitz
        return GradientNoise.gaussian(
            clip, z, self.problem, n_rows=most_rows(self.problem), shifting=self._shifting
        )

    @cached_property
    def _curvature(self) -> float:
        """Bound on one row's part in the Hessian, with a margin for its rounding."""
        return one_row(self.problem)

    @cached_property
    def matrix_noise(self) -> HessianNoise:
        """The noise of a Hessian."""
        assert self.problem.n_rows is not None
        rows = most_rows(self.problem)
        return HessianNoise.gaussian(
            self.problem, self._multiplier, n_rows=rows, shifting=self._shifting
        )

    @cached_property
    def floor(self) -> float:
        """Least curvature a step divides by."""
        if self.config.floor is not None:
            return positive("floor", self.config.floor)
        p, guess = self.problem.dimension, norm_guess_of(self.problem, self.config.norm_guess)
        if self.config.variant == "hessian":
            # The spectral norm of the noise is about this; less would amplify it.
            return self.matrix_noise.spectral
        assert self.problem.n_rows is not None
        longest = self.problem.n_rows * self.problem.terms.lipschitz
        # Even for the longest gradient the noise on a step stays below a quarter of the guess.
        noise = longest * self._curvature * self._multiplier * math.sqrt(p)
        return math.sqrt(4 * noise / guess)

    @cached_property
    def solve_rounding(self) -> float:
        """How far the matrices that neighbours' solves invert may be from exact ones, together."""
        n, p = self.problem.n_rows, self.problem.dimension
        assert n is not None
        size = p * n * self._curvature
        # privacy: the whole of both sums, not only what differs between them, and both solves.
        return rounding(self.problem, n_rows=n, shifting=True) + 64 * p * unit_roundoff() * (
            size + self.floor
        )

    @property
    def event(self) -> Event:
        """What all releases cost together."""
        return Gaussian(self._multiplier / math.sqrt(2 * self.config.steps))

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.event, "noisy-newton", *size_assumed(self.problem))

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "variant": self.config.variant,
            "steps": self.config.steps,
            "floor": self.floor,
            "noise scale of a gradient": self.noise.scale,
            "noise scale of a Hessian": self.matrix_noise.scale,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Take the steps and release the last iterate."""
        problem, rows = self.problem, self.problem.bound(source, remote=True)
        bounded = math.isfinite(problem.constraint.radius(problem.dimension))
        guess = norm_guess_of(problem, self.config.norm_guess)
        inside = problem.constraint if bounded else L2Ball(radius=guess)
        w = inside.project(np.zeros(problem.shape))
        step = self._by_hessian if self.config.variant == "hessian" else self._by_double_noise
        with sums_of(rows, problem.loss, shifting=self._shifting) as sums:
            for _ in range(self.config.steps):
                total = sums.full(w, problem.terms.lipschitz)
                gradient = self.noise.add(total, random)
                w = inside.project(w - step(rows, w, gradient, random))
        return w

    def _by_hessian(self, rows: Rows, w: Array, gradient: Array, random: Randomness) -> Array:
        hessian = rows.hessian(self.problem.loss, w, shifting=self._shifting)
        values, vectors = np.linalg.eigh(self.matrix_noise.add(hessian, random))
        return np.asarray(vectors @ ((vectors.T @ gradient) / np.maximum(values, self.floor)))

    def _by_double_noise(self, rows: Rows, w: Array, gradient: Array, random: Randomness) -> Array:
        hessian = rows.hessian(self.problem.loss, w)
        hessian[np.diag_indices_from(hessian)] += self.floor
        point = cho_solve(cho_factor(hessian), gradient)
        norm = float(np.linalg.norm(gradient)) * (1 + 2.0**-40)
        sensitivity = solve_sensitivity(norm, self._curvature, self.floor)
        # privacy: an error of r/2 in a matrix moves its solution by |g| r / (2 floor (floor - r/2))
        # at most, and r is at most the floor.
        sensitivity += 2 * norm * self.solve_rounding / self.floor**2
        reach = max(norm / self.floor, 20 * self._multiplier * sensitivity)
        grid = Grid.choose(sensitivity=sensitivity, dim=len(w), norm="l2", reach=reach)
        sigma = self._multiplier * grid.surcharged(sensitivity, len(w))
        return release(point, GaussianNoise(sigma=sigma, grid=grid), random)
