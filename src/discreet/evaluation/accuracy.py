"""An exact interval for a share of rows that is counted under noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, xlog1py, xlogy

from discreet.bounds import Array
from discreet.evaluation.estimate import Estimate

_REACH = 9.0  # Bernoulli sums stray further than this, in deviations and rows, below 1e-15


def exact_share(
    counted: float, n_rows: int, cdf: Callable[[Array], Array], *, level: float, noise: float
) -> Estimate:
    """Return a share and an interval that holds its level for any number of rows.

    ``counted`` is the number of rows with a property, plus noise. Let ``G_p`` be
    the law of that sum when each of ``n_rows`` independent rows has the property
    with probability ``p``. It is continuous and falls in ``p``, so
    ``G_p(counted)`` is uniform at the true ``p`` and those ``p`` where it lies in
    the middle ``level`` are an interval that covers with exactly that probability.

    Parameters
    ----------
    counted
        What was released.
    n_rows
        Number of rows, none of them blank.
    cdf
        Law of the noise.
    level
        Of the interval.
    noise
        Standard deviation of the noise, in rows.

    Examples
    --------
    >>> from discreet.evaluation.laws import NoiseLaw
    >>> print(exact_share(80.0, 100, NoiseLaw("gaussian", 1e-3).cdf, level=0.95, noise=1e-3))
    0.8000 (0.7131 to 0.8698)
    """

    def chance(p: float) -> float:
        far = _REACH * np.sqrt(n_rows * p * (1.0 - p)) + _REACH**2
        low, high = max(0.0, n_rows * p - far), min(float(n_rows), n_rows * p + far)
        k = np.arange(np.floor(low), np.ceil(high) + 1.0)
        log = xlogy(k, p) + xlog1py(n_rows - k, -p) - gammaln(k + 1.0) - gammaln(n_rows - k + 1.0)
        masses = np.exp(log - log.max())
        return float(masses @ cdf(counted - k) / masses.sum())

    tail = (1.0 - level) / 2.0
    value = float(np.clip(counted / n_rows, 0.0, 1.0))
    low, high = _crossing(chance, 1.0 - tail), _crossing(chance, tail)
    return Estimate(value, min(low, value), max(high, value), noise / n_rows, exact=True)


def _crossing(chance: Callable[[float], float], at: float) -> float:
    """Return where a falling function of [0, 1] passes a value, or the nearer end."""
    low, high = 0.0, 1.0
    if chance(low) <= at:
        return low
    if chance(high) >= at:
        return high
    return float(brentq(lambda p: chance(p) - at, low, high, xtol=1e-10))
