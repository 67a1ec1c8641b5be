"""Gaussian noise on a grid, rounded exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from mpmath.libmp import from_float, from_int, mpf_div, mpf_erfc, mpf_mul, mpf_sqrt, to_fixed

from discreet.bounds import Array
from discreet.checks import positive
from discreet.noise.grid import Grid, fitting_ratio
from discreet.noise.randomness import Randomness
from discreet.noise.rounded_draws import chunks, draw_exactly, nearest, normal, tail_bits

_REACH = 19.0  # P(|Z| > 19 sigma) < 2**-256


def normal_tail(k: int, unit: object, precision: int) -> int:
    """Return ``2**precision * P(|N| > (k - 1/2) / unit)`` to within 16."""
    work = precision + 32
    x = mpf_div(from_int(2 * k - 1), mpf_mul(unit, mpf_sqrt(from_int(8), work)), work)
    return int(to_fixed(mpf_erfc(x, work), precision))


@dataclass(frozen=True)
class Gaussian:
    """Independent normal noise of standard deviation ``sigma``, rounded to a grid.

    Each coordinate is exactly ``step * rint(Z / step)`` for an ideal normal
    ``Z``; see :mod:`discreet.noise.rounded_draws` for how and why.

    Parameters
    ----------
    sigma
        Standard deviation.
    grid
        The grid the noise lies on.

    Examples
    --------
    >>> from discreet.noise import Grid, Seeded
    >>> noise = Gaussian(2.0, Grid(step=0.5, reach=8.0))
    >>> z = noise.sample((1000,), Seeded(0))
    >>> bool((z % 0.5 == 0).all()), bool(abs(z.std() - 2) < 0.2)
    (True, True)
    """

    sigma: float
    grid: Grid

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        fitting_ratio("sigma", self.sigma, self.grid, _REACH)

    def sample(self, shape: tuple[int, ...], random: Randomness) -> Array:
        """Return an array of independent draws, all multiples of the grid's step."""
        ratio = self.sigma / self.grid.step
        out = np.empty(math.prod(shape))
        for part in chunks(out.size):
            words = random.words(part.stop - part.start)
            y, error = normal(words)
            y *= ratio
            error *= ratio
            k, open_ = nearest(y, error)
            for i, bits in zip(open_, tail_bits(words[open_]), strict=True):
                size = draw_exactly(int(bits), self._tail, int(abs(k[i])), random)
                k[i] = math.copysign(size, k[i])
            # privacy: the sign of a zero would tell apart values that round to zero.
            k += 0.0
            np.multiply(k, self.grid.step, out=out[part])
        return out.reshape(shape)

    def _tail(self, k: int, precision: int) -> tuple[int, int]:
        middle = normal_tail(k, from_float(self.sigma / self.grid.step), precision)
        return middle - 16, middle + 16

    def displacement(self, dim: int) -> float:
        """Return a bound on the distance between the drawn and the ideal vector."""
        return self.grid.displacement(dim)
