"""Laplace noise on a grid, rounded exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from mpmath.libmp import from_float, from_int, mpf_div, mpf_exp, mpf_shift, to_fixed

from discreet.bounds import Array
from discreet.checks import positive
from discreet.noise.grid import Grid, fitting_ratio
from discreet.noise.randomness import Randomness
from discreet.noise.rounded_draws import REL, chunks, draw_exactly, nearest, tail_bits

_REACH = 178.0  # P(|Z| > 178 scale) < 2**-256


@dataclass(frozen=True)
class Laplace:
    """Independent noise of density ``exp(-|z| / scale) / (2 scale)``, rounded to a grid.

    Each coordinate is exactly ``step * rint(Z / step)`` for an ideal ``Z``.
    The magnitude is ``-log V``: ``V`` in float64 is within 2u of its known bits
    and the logarithm within 8u relative, so the float64 error is below
    ``REL * (1 + |z|)`` plus ``1 / b`` for the unknown bits (notation of
    :mod:`discreet.noise.rounded_draws`).

    Parameters
    ----------
    scale
        Mean magnitude.
    grid
        The grid the noise lies on.

    Examples
    --------
    >>> from discreet.noise import Grid, Seeded
    >>> noise = Laplace(2.0, Grid(step=0.5, reach=8.0))
    >>> z = noise.sample((1000,), Seeded(0))
    >>> bool((z % 0.5 == 0).all()), bool(abs(abs(z).mean() - 2) < 0.3)
    (True, True)
    """

    scale: float
    grid: Grid

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        fitting_ratio("scale", self.scale, self.grid, _REACH)

    def sample(self, shape: tuple[int, ...], random: Randomness) -> Array:
        """Return an array of independent draws, all multiples of the grid's step."""
        ratio = self.scale / self.grid.step
        out = np.empty(math.prod(shape))
        for part in chunks(out.size):
            words = random.words(part.stop - part.start)
            bits = tail_bits(words)
            position = bits.astype(np.float64)
            y = np.log((position + 0.5) * 2.0**-63)
            np.negative(y, out=y)
            error = (y + 1) * REL + 1 / np.maximum(position, 1.0)
            error[position < 1] = np.inf
            k, open_ = nearest(y * ratio, error * ratio)
            for i in open_:
                k[i] = draw_exactly(int(bits[i]), self._tail, int(k[i]), random)
            k *= self.grid.step
            np.copysign(k, words.view(np.int64), out=out[part])
        out += 0.0  # no negative zeros: see Gaussian.sample
        return out.reshape(shape)

    def _tail(self, k: int, precision: int) -> tuple[int, int]:
        twice = mpf_div(
            from_int(1 - 2 * k), from_float(self.scale / self.grid.step), precision + 32
        )
        middle = int(to_fixed(mpf_exp(mpf_shift(twice, -1), precision + 32), precision))
        return middle - 16, middle + 16

    def displacement(self, dim: int) -> float:
        """Return a bound on the distance between the drawn and the ideal vector."""
        return self.grid.displacement(dim)
