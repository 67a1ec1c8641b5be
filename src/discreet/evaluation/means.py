"""Metrics that are means over rows of a bounded quantity, and R2."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.bounds import Array
from discreet.evaluation.estimate import Estimate, around, unknown
from discreet.evaluation.laws import NoiseLaw
from discreet.evaluation.released_sums import SPREAD
from discreet.evaluation.table import ENOUGH


@dataclass(frozen=True)
class Size:
    """The number of rows that sums are divided by, and the noise it carries."""

    value: float
    noise: float = 0.0

    @property
    def enough(self) -> bool:
        """Whether it is safe to divide by."""
        return self.value >= max(1.0, ENOUGH * self.noise)


@dataclass(frozen=True)
class Mean:
    """The mean of values in [0, 1], its noise and its deviation from row to row."""

    value: float
    noise: float
    spread: float

    @classmethod
    def of(cls, first: float, second: float, law: NoiseLaw, size: Size) -> Mean:
        """Return the mean from the centred sums of values and of their squares.

        >>> Mean.of(10.0, 0.0, NoiseLaw("gaussian", 1.0), Size(100.0)).value
        0.6
        """
        shift, beyond = first / size.value, second / SPREAD / size.value
        mean = 0.5 + shift
        noise = math.hypot(law.deviation, shift * size.noise) / size.value
        of_square = math.hypot(law.deviation / SPREAD, beyond * size.noise) / size.value
        # One deviation of its own noise is added, or noise would often make it far too small.
        variance = 0.5 + beyond - mean**2 + math.hypot(of_square, 2.0 * mean * noise)
        # A mean in [0, 1] bounds the variance whatever noise says of it.
        away = min(max(abs(shift) - noise, 0.0), 0.5)
        return cls(mean, noise, math.sqrt(min(max(variance, 0.0), 0.25 - away**2)))


def mean_estimate(
    block: Array, law: NoiseLaw, size: Size, *, level: float, low: float, high: float
) -> Estimate:
    """Return the mean of a quantity that lies in [low, high].

    Parameters
    ----------
    block
        Centred sums of the quantity, scaled to [0, 1], and of its square.
    law
        Their noise.
    size
        Number of rows.
    level
        Of the interval.
    low, high
        Ends of the quantity.

    Examples
    --------
    >>> import numpy as np
    >>> law, size = NoiseLaw("gaussian", 1.0), Size(10_000.0)
    >>> print(mean_estimate(np.zeros(2), law, size, level=0.95, low=0.0, high=10.0))
    5.0000 (4.9020 to 5.0980)
    """
    if not size.enough:
        return unknown((low, high))
    mean, width = Mean.of(float(block[0]), float(block[1]), law, size), high - low
    return around(
        low + width * mean.value,
        noise=width * mean.noise,
        sampling=width * mean.spread / math.sqrt(size.value),
        critical=law.critical(level),
        limits=(low, high),
    )


def r2_estimate(
    block: Array, law: NoiseLaw, size: Size, *, level: float, residual: float, reach: float
) -> Estimate:
    """Return the share of the labels' variance that predictions explain.

    Parameters
    ----------
    block
        Sums of squared residuals, of squared labels (each with its square) and of labels.
    law
        Their noise.
    size
        Number of rows.
    level
        Of the interval.
    residual
        Bound on residuals.
    reach
        Half the range of labels.

    Examples
    --------
    >>> import numpy as np
    >>> block = np.array([-450.0, -245.0, -200.0, -150.0, 0.0])  # residuals .05, labels .3
    >>> law, size = NoiseLaw("gaussian", 1e-9), Size(1000.0)
    >>> round(r2_estimate(block, law, size, level=0.95, residual=1.0, reach=1.0).value, 3)
    0.833
    """
    limits = (-math.inf, 1.0)
    if not size.enough:
        return unknown(limits)
    error = Mean.of(float(block[0]), float(block[1]), law, size)
    square = Mean.of(float(block[2]), float(block[3]), law, size)
    centre, noise = float(block[4]) / size.value, law.deviation / size.value
    variance = square.value - centre**2
    # The divisor: squares of labels, less the square of their mean.
    if variance < ENOUGH * noise * math.hypot(1.0, 2.0 * centre):
        return unknown(limits)
    unit = (residual / reach) ** 2
    ratio = error.value / variance
    # Errors of the number of rows cancel but for the part that centring puts in.
    counted = size.noise / size.value * (0.5 - ratio * (0.5 + centre**2))
    slopes = math.sqrt(1.0 + ratio**2 + (2.0 * ratio * centre) ** 2)
    # How errors and labels vary together is not released, so their deviations are added up.
    labels = square.spread + 2.0 * abs(centre) * math.sqrt(max(variance, 0.0))
    rows = (error.spread + ratio * labels) / math.sqrt(size.value)
    return around(
        1.0 - unit * ratio,
        noise=unit * math.hypot(slopes * noise, counted) / variance,
        sampling=unit * abs(rows) / variance,
        critical=law.critical(level),
        limits=limits,
    )
