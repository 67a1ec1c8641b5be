"""Prefix sums by the square root of the summing matrix.

``A = C C`` with ``C`` lower triangular Toeplitz; its coefficients are those of
``(1 - x)**(-1/2)`` (Fichtenberger, Henzinger, Upadhyay 2023). No Toeplitz
factorisation has a smaller largest error, but memory grows with the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.noise.prefix.strategy import Coder, Strategy, stacked_norm


@dataclass(frozen=True)
class Toeplitz(Strategy):
    """The square root of the summing matrix; keeps every vector of the stream.

    Parameters
    ----------
    horizon
        Number of vectors the stream may have.

    Examples
    --------
    >>> Toeplitz(5).coefficients.tolist()
    [1.0, 0.5, 0.375, 0.3125, 0.2734375]
    >>> round(Toeplitz(1024).sensitivity(), 6)
    1.80902
    """

    @cached_property
    def coefficients(self) -> Array:
        """First column of ``C``: 1, 1/2, 3/8, ..."""
        k = np.arange(1, self.horizon)
        return np.concatenate([[1.0], np.cumprod(1.0 - 1.0 / (2.0 * k))])

    @cached_property
    def _variances(self) -> Array:
        return np.cumsum(self.coefficients**2)

    def sensitivity(self, participations: int = 1, separation: int = 1) -> float:
        """Return how far ``C x`` moves when some vectors move by 1."""
        # Outwards: the running product is off by at most one rounding a factor.
        outwards = 1.0 + 4.0 * self.horizon * unit_roundoff()
        return stacked_norm(self.coefficients, participations, separation) * outwards

    def touched(self, participations: int = 1) -> int:
        """Return the number of rows of ``C`` a data row can enter: all."""
        return self.horizon

    @property
    def gain(self) -> float:
        """Largest sum of a row of ``C``."""
        return float(self.coefficients.sum())

    @property
    def rounding(self) -> float:
        """Bound on the float64 error of a row of ``C x`` for vectors of norm 1."""
        return 2.0 * (self.horizon + 2) * unit_roundoff() * self.gain

    def variance(self, step: int) -> float:
        """Return the variance of the prefix at ``step``."""
        return float(self._variances[step - 1])

    def coder(self, shape: tuple[int, ...]) -> ToeplitzCoder:
        """Return the running form."""
        return ToeplitzCoder(self, shape)


class ToeplitzCoder(Coder):
    """Every vector so far, and every noisy row so far."""

    growing = True

    def __init__(self, strategy: Toeplitz, shape: tuple[int, ...]) -> None:
        empty = np.zeros((0, *shape))
        super().__init__({"vectors": empty}, {"rows": empty})
        self._reversed = strategy.coefficients[::-1].copy()

    def encode(self, x: Array) -> Array:
        """Return the next row of ``C x``."""
        self.secret["vectors"] = _appended(self.secret["vectors"], x, self.steps)
        return self._product(self.secret["vectors"], self.steps + 1)[None]

    def decode(self, noisy: Array) -> Array:
        """Return the next row of ``C`` times the noisy rows."""
        self.public["rows"] = _appended(self.public["rows"], noisy[0], self.steps)
        self.steps += 1
        return self._product(self.public["rows"], self.steps)

    def _product(self, past: Array, steps: int) -> Array:
        return np.tensordot(self._reversed[len(self._reversed) - steps :], past[:steps], 1)


def _appended(past: Array, x: Array, steps: int) -> Array:
    """Put ``x`` at index ``steps``, doubling the room when there is none left."""
    if steps == len(past):
        room = np.zeros((max(16, 2 * steps), *past.shape[1:]))
        room[:steps] = past
        past = room
    past[steps] = x
    return past
