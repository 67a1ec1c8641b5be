"""The noise of an evaluation, and the law of a sum of several draws of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaincc, gammaln, ndtr, ndtri

from discreet.bounds import Array
from discreet.noise import Gaussian, Grid, Laplace, Noise

STEP = 2.0**-21
"""Rows' parts are whole multiples of this, so sums of them are exact and need no surcharge."""

REACH = 2.0**29
"""Largest sum that is told apart from larger ones."""


@dataclass(frozen=True)
class NoiseLaw:
    """Gaussian or Laplace noise of one scale on every number of a block.

    Parameters
    ----------
    kind
        ``"gaussian"``, whose scale is the standard deviation, or ``"laplace"``.
    scale
        In units of what is released.

    Examples
    --------
    >>> NoiseLaw("gaussian", 2.0).deviation, NoiseLaw("laplace", 1.0).deviation
    (2.0, 1.4142135623730951)
    """

    kind: str
    scale: float

    @property
    def deviation(self) -> float:
        """Standard deviation of one draw."""
        return self.scale if self.kind == "gaussian" else math.sqrt(2.0) * self.scale

    def noise(self) -> Noise:
        """Return the noise itself, on the grid that all blocks share."""
        return (Gaussian if self.kind == "gaussian" else Laplace)(self.scale, Grid(STEP, REACH))

    def cdf(self, z: Any, terms: int = 1) -> Array:
        """Return the chance that so many draws add up to at most ``z``.

        >>> [round(float(NoiseLaw(kind, 1.0).cdf(0.0, 5)), 12) for kind in ("gaussian", "laplace")]
        [0.5, 0.5]
        """
        x = np.asarray(z, dtype=np.float64) / self.scale
        if self.kind == "gaussian":
            return np.asarray(ndtr(x / math.sqrt(terms)))
        # A Laplace draw is the difference of two exponential waiting times. In a race of two
        # Poisson clocks of one rate, each to ring `terms` times, the later one lacks j rings
        # when the earlier is done with a chance of C(2m-1-j, m-j) / 2^(2m-j), and the sum of
        # the draws is then a sum of j waiting times.
        m, j = terms, np.arange(1, terms + 1)
        log = gammaln(2 * m - j) - gammaln(m - j + 1) - gammaln(m) - (2 * m - j) * math.log(2.0)
        above = np.exp(log) @ gammaincc(j[:, None], np.abs(np.atleast_1d(x))[None, :])
        return np.asarray(np.where(np.atleast_1d(x) > 0, 1.0 - above, above).reshape(x.shape))

    def critical(self, level: float) -> float:
        """Return how many standard deviations make an interval of that level.

        Laplace noise has heavier tails than a normal law; one draw alone is allowed for.

        >>> round(NoiseLaw("gaussian", 1.0).critical(0.95), 2)
        1.96
        """
        normal = float(ndtri(0.5 + level / 2))
        return normal if self.kind == "gaussian" else max(normal, -math.log1p(-level) / 2**0.5)
