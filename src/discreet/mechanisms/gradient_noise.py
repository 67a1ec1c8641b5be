"""The noise of one gradient step, on a grid, with rounding inside the sensitivity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.accounting import Budget
from discreet.bounds import Array, rows_apart
from discreet.data.clipped import MOST_ROWS
from discreet.mechanisms.group_sums import rounding_of
from discreet.mechanisms.release_noise import release_noise
from discreet.noise import Gaussian, Grid, Noise, Randomness, release
from discreet.problem import Problem

_TAIL = 20.0  # deviations that must fit on the grid beside the sum


FEW_ROWS = f"the data has at most 2^{MOST_ROWS.bit_length() - 1} rows, for rounding bounds"


def size_assumed(problem: Problem) -> tuple[str, ...]:
    """Return what the noise of sums takes for granted about a secret number of rows."""
    return (FEW_ROWS,) if problem.size_is_declared else ()


def most_rows(problem: Problem) -> int:
    """Return the most rows a sum may have."""
    return MOST_ROWS if problem.size_is_declared or problem.n_rows is None else problem.n_rows


@dataclass(frozen=True)
class GradientNoise:
    """Noise for a sum of clipped gradients.

    ``row`` is the largest norm of the part of one row, or of one group where that is
    protected, rounding errors of the sum and of the grid included; two neighbouring sums
    are at most ``rows_apart * row`` apart.
    """

    noise: Noise
    row: float
    scale: float
    mean_square: float

    @classmethod
    def gaussian(
        cls, clip: float, multiplier: float, problem: Problem, *, n_rows: int, shifting: bool
    ) -> GradientNoise:
        """Return Gaussian noise of ``multiplier`` times the largest row."""
        p, unit = problem.dimension, problem.per_unit * clip
        rounding = rounding_of(clip, problem, n_rows=n_rows, shifting=shifting)
        # privacy: no coordinate of the sum exceeds n times the clip, so this range cuts nothing.
        reach = max(n_rows * clip, _TAIL * multiplier * unit) * 1.01
        grid = Grid.choose(sensitivity=unit, dim=p, norm="l2", reach=reach)
        row = grid.surcharged(unit + rounding, p, "l2")  # privacy: rounding is paid for
        sigma = multiplier * row
        return cls(Gaussian(sigma=sigma, grid=grid), row, sigma, p * sigma**2)

    @classmethod
    def pure(
        cls, clip: float, epsilon: float, problem: Problem, *, n_rows: int, shifting: bool
    ) -> GradientNoise:
        """Return gamma-radius noise that costs ``epsilon``."""
        rounding = rounding_of(clip, problem, n_rows=n_rows, shifting=shifting)
        unit = problem.per_unit * clip
        sensitivity = rows_apart(problem.neighbours) * (unit + rounding)
        noise = release_noise(
            sensitivity,
            Budget(epsilon),
            dimension=problem.dimension,
            kind="gamma",
            reach=max(n_rows * clip, _TAIL * problem.dimension * sensitivity / epsilon) * 1.01,
        )
        return cls(noise.noise, unit + rounding, noise.scale, noise.mean_square)

    def add(self, total: Array, random: Randomness) -> Array:
        """Return a sum on the grid with noise added."""
        return release(total, self.noise, random)

    def stream(self, shape: tuple[int, ...], random: Randomness) -> Iterator[Array]:
        """Yield the noise of one step after the other, for :meth:`cover`.

        Gaussian noise has independent coordinates, so that of many small steps
        is drawn at once.
        """
        many = 1
        if isinstance(self.noise, Gaussian):
            many = max(1, 4096 // math.prod(shape))
        while True:
            yield from self.noise.sample((many, *shape) if many > 1 else shape, random).reshape(
                many, *shape
            )

    def cover(self, total: Array, drawn: Array) -> Array:
        """Return a sum on the grid plus noise of :meth:`stream`, an exact sum."""
        return self.noise.grid.round(total) + drawn
