"""Paths of models from private to accurate.

A model at a level is a function of one noisy release at that level, so a path
of models costs what its last release costs (noise reduction), or the sum of
all (fresh noise). ``levels`` are what a prefix costs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.accounting import output_sensitivity
from discreet.adaptive.brownian import grid_cost
from discreet.adaptive.noise_reduction import (
    BrownianReduction,
    GammaReduction,
    IntegerLaplaceReduction,
    check_levels,
)
from discreet.adaptive.task import Task
from discreet.algorithms.perturbation import SecondMoments, stein_strength
from discreet.bounds import Array, unit_roundoff
from discreet.checks import one_of
from discreet.data import Source
from discreet.errors import Incompatible
from discreet.noise import Grid, Randomness
from discreet.solvers.trust_region import trust_region

Noise = Literal["laplace", "gamma", "brownian"]
NOISES = ("laplace", "gamma", "brownian")


@dataclass(frozen=True, kw_only=True)
class Path(ABC):
    """Models of one task at increasing levels.

    Parameters
    ----------
    task
        What the models are for.
    levels
        Increasing epsilons, declared in advance.
    noise
        ``"laplace"`` in exact integers; ``"gamma"`` and ``"brownian"`` in
        floating point.
    delta
        For ``"brownian"``.
    """

    task: Task
    levels: tuple[float, ...]
    noise: Noise = "laplace"
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", check_levels(self.levels))
        one_of("noise", self.noise, NOISES)

    @property
    def costs(self) -> tuple[float, ...]:
        """The zCDP costs of Brownian noise, declared through the losses they lead to."""
        if not self.delta > 0:
            raise Incompatible("Brownian noise needs delta > 0. Pass delta, or noise='laplace'.")
        return tuple(grid_cost(level, self.delta, len(self.levels)) for level in self.levels)

    @abstractmethod
    def models(self, source: Source, random: Randomness) -> Iterator[Array]:
        """Yield a model for every level."""


@dataclass(frozen=True, kw_only=True)
class StatisticsPath(Path):
    """Ridge models from second moments under shrinking noise (CovNR).

    The task has the squared loss. Laplace noise uses the l1 norm of rows, the
    others the l2 norm.
    """

    @cached_property
    def moments(self) -> SecondMoments:
        """The statistics, on a lattice wide enough for the largest noise."""
        task = self.task
        plain = replace(SecondMoments.of(task.problem, row_l1=task.row_l1), capacity=task.most)
        coarse = plain.l1_sensitivity(task.problem.neighbours) / self.levels[0]
        return replace(plain, coarse=max(1.0, coarse))

    @cached_property
    def sensitivity(self) -> float:
        """Distance of neighbours' statistics in the norm of the noise, in scaled units."""
        neighbours, moments = self.task.problem.neighbours, self.moments
        if self.noise == "laplace":
            return moments.l1_sensitivity(neighbours)
        p = moments.dimension
        rounding = 8 * unit_roundoff() * moments.capacity * p
        return moments.l2_sensitivity(neighbours) + rounding

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """Scale of the noise at every level, in scaled units."""
        if self.noise == "brownian":
            return tuple(self.sensitivity / math.sqrt(2 * cost) for cost in self.costs)
        return tuple(self.sensitivity / level for level in self.levels)

    def _spread(self, scale: float) -> tuple[float, float]:
        """Return standard deviations of the noise on matrix and vector, in real units."""
        p, unit = self.moments.dimension, self.moments.row_scale
        size = p * (p + 3) // 2
        each = {"laplace": math.sqrt(2.0), "gamma": math.sqrt(size + 1), "brownian": 1.0}
        vector = each[self.noise] * scale
        # Laplace noise is halved off the diagonal, where nearly all entries are.
        matrix = scale if self.noise == "laplace" else vector
        return matrix * unit**2, vector * unit * self.moments.label_scale

    def statistics(self, source: Source, random: Randomness) -> Iterator[tuple[Array, Array]]:
        """Yield the noisy matrix and vector of every level, in real units."""
        moments, p = self.moments, self.moments.dimension
        gram, cross = moments.integers(self.task.problem, source)
        upper = np.triu_indices(p, 1)
        double = 1.0 if self.noise == "laplace" else math.sqrt(2.0)
        value = np.concatenate([np.diag(gram), double * gram[upper], cross])
        for released in self._reduction(len(upper[0])).path(value, random):
            scaled = released * moments.unit
            matrix = np.diag(scaled[:p])
            matrix[upper] = scaled[p : -p or None] / double
            matrix = np.triu(matrix) + np.triu(matrix, 1).T
            scale = moments.row_scale
            yield matrix * scale**2, scaled[-p:] * (scale * moments.label_scale)

    def _reduction(
        self, pairs: int
    ) -> IntegerLaplaceReduction | GammaReduction | BrownianReduction:
        size = self.sensitivity / self.moments.unit
        if self.noise == "brownian":
            return BrownianReduction(size, self.costs)
        if self.noise == "gamma":
            return GammaReduction(size, self.levels)
        p = self.moments.dimension
        # privacy: off-diagonal entries count twice in |x|_1^2, so half the noise is enough
        weights = np.concatenate([np.full(p, size), np.full(pairs, size / 2), np.full(p, size)])
        return IntegerLaplaceReduction(weights, self.levels)

    def models(self, source: Source, random: Randomness) -> Iterator[Array]:
        """Yield the minimiser over the ball of every noisy objective, shrunk as noise calls for.

        The strength is chosen from released values by Stein's estimate, so it
        is post-processing. Without it the models of noisy levels lie far out
        on the ball's surface, and levels are spent until they come back.
        """
        task, eye = self.task, np.eye(self.moments.dimension)
        for scale, (matrix, vector) in zip(
            self.scales, self.statistics(source, random), strict=True
        ):
            strength = stein_strength(matrix, vector, *self._spread(scale), least=task.strength)
            yield trust_region(matrix + strength * eye, vector, task.radius)


@dataclass(frozen=True, kw_only=True)
class OutputPath(Path):
    """Models that are the minimiser plus shrinking noise, projected (OutputNR).

    The task has any loss.
    """

    @cached_property
    def sensitivity(self) -> float:
        """Largest l2 distance between computed minimisers of neighbours."""
        task = self.task
        return output_sensitivity(
            task.lipschitz, task.strength, task.tolerance, task.problem.neighbours
        )

    @cached_property
    def grid(self) -> Grid:
        """The grid of the integer noise, wide enough for the largest of it."""
        p = self.task.problem.dimension
        l1 = math.sqrt(p) * self.sensitivity
        grid = Grid.choose(sensitivity=l1, dim=p, norm="l1", reach=2 * self.task.radius)
        step = grid.step
        while l1 / self.levels[0] / step > 2.0**42:
            step *= 2
        return Grid(step, grid.reach)

    def models(self, source: Source, random: Randomness) -> Iterator[Array]:
        """Yield the projected noisy minimisers."""
        task = self.task
        point = task.minimiser(task.problem.bound(source)).ravel()
        if self.noise == "brownian":
            path = BrownianReduction(self.sensitivity, self.costs).path(point, random)
        elif self.noise == "gamma":
            path = GammaReduction(self.sensitivity, self.levels).path(point, random)
        else:
            p, grid = task.problem.dimension, self.grid
            l1 = math.sqrt(p) * (1 + 4 * unit_roundoff()) * self.sensitivity
            paid = grid.surcharged(l1, p, "l1")  # privacy: rounding is in the sensitivity
            whole = grid.round(point) / grid.step
            exact = IntegerLaplaceReduction(np.full(p, paid / grid.step), self.levels)
            path = (v * grid.step for v in exact.path(whole, random))
        for released in path:
            yield task.project(released.reshape(task.problem.shape))
