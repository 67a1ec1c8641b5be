"""From Renyi and zero-concentrated privacy to (epsilon, delta) and back.

All conversions use the same relation (Canonne, Kamath and Steinke 2020): a
Renyi bound ``r`` of order ``a`` gives
``log delta = (a - 1)(r - epsilon + log(1 - 1/a)) - log a``.
Every order gives a valid answer, so a coarse search can only be loose.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from discreet.accounting.gaussian_profile import TINY, least, lowered
from discreet.bounds import Array
from discreet.checks import between, positive

# privacy: float64 finds a delta too small by some 1e-12 of it, which ``lowered`` allows for, and
# by more where epsilon is huge; there this allows for it.
_MORE = 1.0 + 2.0**-40
_LOG_ORDERS = np.linspace(math.log(1e-4), math.log(1e7), 64)


def rdp_delta(rdp: Callable[[float], float], epsilon: float) -> float:
    """Return the best delta at ``epsilon`` of a mechanism with Renyi curve ``rdp``.

    Parameters
    ----------
    rdp
        Bound on the Renyi divergence of every order above 1; may be infinite.
    epsilon
        Any real number.

    Examples
    --------
    >>> round(math.log10(rdp_delta(lambda order: 0.03 * order, 1.0)), 2)
    -5.07
    """

    def exponent(log_order: float) -> float:
        gap = math.exp(log_order)
        bound = rdp(1 + gap)
        if not math.isfinite(bound):
            return math.inf
        return gap * (bound - epsilon + math.log(gap / (1 + gap))) - math.log1p(gap)

    values = [exponent(t) for t in _LOG_ORDERS]
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        return 1.0
    around = (_LOG_ORDERS[max(best - 1, 0)], _LOG_ORDERS[min(best + 1, len(values) - 1)])
    found = minimize_scalar(exponent, bounds=around, method="bounded", options={"xatol": 1e-7})
    return max(math.exp(min(0.0, values[best], float(found.fun))), TINY)


def zcdp_profile(epsilons: Array, rho: float) -> Array:
    """Return :func:`zcdp_delta` at every nonnegative element of ``epsilons``.

    >>> zcdp_profile(np.array([1.0]), 0.1).round(6)
    array([0.008933])
    """
    if epsilons.size == 1:
        low = np.full_like(epsilons, _log_order(float(epsilons.flat[0]), rho))
        return _at_order(low, epsilons, rho)
    # The exponent is strictly convex in the order; bisect its derivative.
    low, high = np.full_like(epsilons, -40.0), np.full_like(epsilons, 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        gap = np.exp(middle)
        slope = (2 * gap + 1) * rho - epsilons - np.log1p(1 / gap)
        low, high = np.where(slope < 0, middle, low), np.where(slope < 0, high, middle)
    return _at_order(low, epsilons, rho)


def _log_order(epsilon: float, rho: float) -> float:
    """Bisect for one epsilon: plain numbers take a tenth of the time of arrays."""
    low, high = -40.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        gap = math.exp(middle)
        falls = (2 * gap + 1) * rho - epsilon - math.log1p(1 / gap) < 0
        low, high = (middle, high) if falls else (low, middle)
    return low


def _at_order(log_gap: Array, epsilons: Array, rho: float) -> Array:
    gap = np.exp(log_gap)
    exponent = gap * (rho * (1 + gap) - epsilons - np.log1p(1 / gap)) - np.log1p(gap)
    return np.maximum(np.exp(np.minimum(exponent, 0.0)), TINY)


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Return the best delta at ``epsilon`` of a rho-zCDP mechanism.

    >>> round(math.log10(zcdp_delta(0.0305565952, 1.0)), 6)
    -5.0
    """
    rho = positive("rho", rho)
    return float(zcdp_profile(np.array([float(epsilon)]), rho)[0])


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the smallest epsilon at ``delta`` of a rho-zCDP mechanism.

    >>> round(zcdp_epsilon(0.0305565952, 1e-5), 6)
    1.0
    """
    rho, delta = positive("rho", rho), lowered(between("delta", delta, 0, 1))
    return _MORE * least(lambda epsilon: zcdp_delta(rho, epsilon) <= delta)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho whose zCDP implies (epsilon, delta).

    >>> round(zcdp_rho(1.0, 1e-5), 10)
    0.0305565952
    """
    epsilon, delta = positive("epsilon", epsilon), lowered(between("delta", delta, 0, 1))
    return 1 / (_MORE * least(lambda inverse: zcdp_delta(1 / inverse, epsilon) <= delta))
