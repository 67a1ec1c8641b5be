"""Private Frank-Wolfe over any bounded set, with Gaussian noise on the gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Gaussian, Guarantee, gaussian_multiplier
from discreet.algorithms.frank_wolfe.common import (
    MARGIN,
    NAME,
    assumptions,
    iterate,
    rounded_rows,
)
from discreet.bounds import Array
from discreet.data import Source, block_rows, gamma
from discreet.noise import Gaussian as GaussianNoise
from discreet.noise import Grid, Randomness, release
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    releasing,
)
from discreet.tuned.algorithms import FRANK_WOLFE_CURVATURE


@dataclass(frozen=True)
class GaussianFrankWolfePlan(CalibratedPlan):
    """A calibrated run over any bounded set, with Gaussian noise on gradients."""

    algorithm: ClassVar[str] = NAME
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    steps: int

    @cached_property
    def sensitivity(self) -> float:
        """How far one row moves the computed gradient of the sum."""
        rows = rounded_rows(self.problem)
        block = block_rows(self.problem.dimension, sparse=True)
        terms, dim = self.problem.terms, self.problem.dimension
        # privacy: sums are rounded, and so is the margin of a row that moved to another position.
        margin = terms.smoothness * self.problem.constraint.radius(dim) * gamma(dim + 8)
        rounding = 2.0 * rows * (terms.lipschitz * gamma(block + 32) + margin)
        return MARGIN * (self.problem.apart * terms.lipschitz + rounding)

    @cached_property
    def _multiplier(self) -> float:
        return gaussian_multiplier(self.budget.epsilon, self.budget.delta)

    @cached_property
    def noise(self) -> GaussianNoise:
        """The noise on one gradient."""
        dim = self.problem.dimension
        reach = 2.0 * rounded_rows(self.problem) * self.problem.terms.lipschitz
        grid = Grid.choose(sensitivity=self.sensitivity, dim=dim, norm="l2", reach=reach)
        paid = grid.surcharged(self.sensitivity, dim, "l2")
        # privacy: that many Gaussian releases of this multiplier are one of the whole budget's.
        sigma = paid * self._multiplier * math.sqrt(self.steps)
        return GaussianNoise(sigma=sigma, grid=grid)

    @cached_property
    def curvature(self) -> float:
        """Curvature constant of the mean loss over the set."""
        diameter = self.problem.constraint.diameter(self.problem.dimension)
        return self.problem.terms.smoothness * diameter**2

    @cached_property
    def width(self) -> float:
        """Gaussian width of the set."""
        return self.problem.constraint.gaussian_width(self.problem.dimension)

    def default_steps(self) -> int:
        """Return the steps that minimise the bound on the excess at usual curvature."""
        assert self.problem.n_rows is not None
        noise = self.sensitivity * self._multiplier * self.width / self.problem.n_rows
        return max(
            1, math.ceil(math.pow(2.0 * self.curvature / FRANK_WOLFE_CURVATURE / noise, 2.0 / 3.0))
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        cost = Gaussian(self._multiplier)
        return guarantee_for(self, cost, "frank-wolfe/gaussian", *assumptions(self.problem))

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) over the set."""
        assert self.problem.n_rows is not None
        optimisation = 2.0 * self.problem.n_rows * self.curvature / (self.steps + 1)
        return optimisation + 2.0 * self.noise.sigma * self.width

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "steps": self.steps,
            "sensitivity": self.sensitivity,
            "gaussian noise scale": self.noise.sigma,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Release noisy gradients and follow the set's linear oracle."""
        problem, rows = self.problem, self.problem.bound(source)
        start = problem.constraint.project(np.zeros(problem.shape))

        def vertex(weights: Array) -> Array:
            noisy = release(rows.gradient(problem.loss, weights), self.noise, random)
            return problem.constraint.minimize_linear(noisy)

        return iterate(start, self.steps, vertex)
