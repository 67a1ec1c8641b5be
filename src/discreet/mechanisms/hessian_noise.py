"""Noise on a sum of second derivatives, or of squared gradients, rounding in the sensitivity.

Theorem. One row adds a positive semidefinite matrix whose trace, hence whose Frobenius
norm, is at most ``terms.trace``, or ``terms.lipschitz^2`` for the square ``g g'`` of a gradient.
Two such matrices have a nonnegative inner product, so under replace-one the sums are at most
``sqrt(2)`` of that apart, and otherwise once that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting import Budget
from discreet.accounting.utility import mean_squared_noise
from discreet.bounds import Array
from discreet.data import block_rows, gamma
from discreet.mechanisms.release_noise import release_noise
from discreet.noise import Gaussian, Grid, Noise, Randomness, release
from discreet.problem import Problem

_TAIL = 20.0  # deviations that must fit on the grid beside the sum


@dataclass(frozen=True)
class HessianNoise:
    """Noise on a Hessian, in orthonormal coordinates of symmetric matrices.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> from discreet.noise import Seeded
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=2.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> noise = HessianNoise.gaussian(problem, 5.0, n_rows=1000)
    >>> round(noise.scale, 3)
    5.0
    >>> noisy = noise.add(np.eye(3), Seeded(0))
    >>> bool((noisy == noisy.T).all())
    True
    """

    noise: Noise
    scale: float
    spectral: float
    """About the largest eigenvalue of the noise."""

    @classmethod
    def gaussian(
        cls,
        problem: Problem,
        multiplier: float,
        *,
        n_rows: int,
        shifting: bool = False,
        squares: bool = False,
    ) -> HessianNoise:
        """Return Gaussian noise of ``multiplier`` times the distance of neighbouring sums.

        With ``squares`` those are sums of ``g g'`` over the gradients of rows.
        """
        p = problem.dimension
        part = squared_gradient(problem) if squares else one_row(problem)
        size = p * (p + 1) // 2
        apart = _apart(problem, part, n_rows=n_rows, shifting=shifting)
        reach = max(2 * n_rows * part, _TAIL * multiplier * apart)
        grid = Grid.choose(sensitivity=apart, dim=size, norm="l2", reach=reach)
        sigma = multiplier * grid.surcharged(apart, size)  # privacy: rounding is paid for
        return cls(Gaussian(sigma=sigma, grid=grid), sigma, sigma * math.sqrt(2 * p))

    @classmethod
    def pure(
        cls, problem: Problem, epsilon: float, *, n_rows: int, shifting: bool = False
    ) -> HessianNoise:
        """Return gamma-radius noise that costs ``epsilon``."""
        p = problem.dimension
        size, apart = p * (p + 1) // 2, sensitivity(problem, n_rows=n_rows, shifting=shifting)
        reach = max(2 * n_rows * one_row(problem), _TAIL * size * apart / epsilon)
        noise = release_noise(apart, Budget(epsilon), dimension=size, kind="gamma", reach=reach)
        each = math.sqrt(mean_squared_noise("gamma", noise.scale, size) / size)
        return cls(noise.noise, noise.scale, each * math.sqrt(2 * p))

    def add(self, matrix: Array, random: Randomness) -> Array:
        """Return a symmetric matrix on the grid with noise added."""
        upper = np.triu_indices(len(matrix))
        # privacy: off-diagonal entries count twice in the norm, hence the root of two.
        scale = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
        noisy = np.zeros_like(matrix)
        noisy[upper] = release(matrix[upper] * scale, self.noise, random) / scale
        return np.asarray(noisy + np.triu(noisy, 1).T)


def one_row(problem: Problem) -> float:
    """Return a bound on the norm of one row's part in a Hessian, with room for its rounding."""
    return problem.terms.trace * (1 + 2.0**-30)


def squared_gradient(problem: Problem) -> float:
    """Return a bound on the norm of ``g g'`` for one row's gradient ``g``, rounding included."""
    return problem.terms.lipschitz**2 * (1 + 2.0**-30)


def rounding(problem: Problem, *, n_rows: int, shifting: bool = False) -> float:
    """Return a bound on what rounding adds to the distance of neighbouring Hessians.

    Where rows keep their positions all blocks but one are the same to the last bit.
    """
    return _rounding(one_row(problem), problem.dimension, n_rows, shifting)


def _rounding(part: float, p: int, n_rows: int, shifting: bool) -> float:
    """Return what rounding adds, for parts of at most that norm."""
    # Blocks of compiled sums are as long as sparse ones.
    sizes = block_rows(p), block_rows(p, sparse=True)
    inside = gamma(max(sizes) + 8) * (n_rows if shifting else min(max(sizes), n_rows))
    return 2.1 * part * (inside + gamma(n_rows / min(sizes) + 1) * n_rows)


def sensitivity(problem: Problem, *, n_rows: int, shifting: bool = False) -> float:
    """Return the largest Frobenius distance of computed Hessians of neighbours."""
    return _apart(problem, one_row(problem), n_rows=n_rows, shifting=shifting)


def _apart(problem: Problem, part: float, *, n_rows: int, shifting: bool) -> float:
    """Return the largest distance of sums of semidefinite matrices of at most that norm."""
    # privacy: two semidefinite parts differ by at most sqrt(2) times the longer one.
    apart = math.sqrt(2) if problem.neighbours == "replace-one" else 1.0
    unit = problem.per_unit * part
    return apart * unit + _rounding(part, problem.dimension, n_rows, shifting)
