"""The Gaussian mechanism: its exact privacy profile and the noise it needs.

``shift`` is sensitivity divided by the standard deviation of the noise. The
folded profile is the one of a shift whose sign the neighbour may choose after
seeing the noise; it appears in objective perturbation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
from scipy.special import erf, erfcx, log_ndtr, ndtr, ndtri

from discreet.bounds import Array
from discreet.checks import between, nonnegative, positive
from discreet.errors import InvalidParameter

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
# Beyond these the curve is 0 or 1 to double precision; capping avoids overflow.
_FAR, _LARGE = 1e3, 1e4
# privacy: a Gaussian tail is never exactly 0, so underflow must not claim pure privacy.
TINY = 1e-300


def two_sided(nonnegative_side: Callable[[Array], Array], epsilons: Array) -> Array:
    """Extend a profile known for epsilon >= 0 in both directions to every real epsilon.

    ``D(-x) = 1 - exp(-x) + exp(-x) D(x)`` when ``D`` bounds both directions.

    >>> two_sided(lambda e: np.zeros_like(e), np.array([-1.0, 1.0])).round(4)
    array([0.6321, 0.    ])
    """
    below = epsilons < 0
    if not below.any():
        return _share(nonnegative_side(epsilons))
    size = np.abs(epsilons)
    values = _share(nonnegative_side(size))
    return np.where(below, -np.expm1(-size) + np.exp(-size) * values, values)


def _share(values: Array) -> Array:
    # Searches ask for one number many times, and np.clip takes longer to start.
    return np.asarray(np.minimum(np.maximum(values, 0.0), 1.0) + 0.0)


def gaussian_profile(epsilons: Array, shift: float) -> Array:
    """Return :func:`gaussian_delta` at every element of ``epsilons``.

    >>> gaussian_profile(np.array([0.0, 1.0]), 1.0).round(6)
    array([0.382925, 0.126937])
    """
    if shift == 0:
        return np.maximum(0.0, -np.expm1(np.minimum(epsilons, 0.0)))
    if shift > _LARGE:
        return np.ones_like(epsilons)

    def right(size: Array) -> Array:
        centre = np.minimum(size, (_FAR + shift) * shift) / shift
        near, far = shift / 2 - centre, -shift / 2 - centre
        density = np.exp(-(near**2) / 2)
        if shift >= 0.1:
            tail = density * erfcx(-far / math.sqrt(2)) / 2
            return np.asarray(np.maximum(ndtr(near) - tail, TINY))
        # For small shifts the two terms agree in their leading digits, so integrate the
        # derivative 1 + x M(x) of the Mills ratio M between them instead of subtracting.
        x = far[..., None] + shift * (_NODES + 1) / 2
        slope = 1 + x * math.sqrt(math.pi / 2) * erfcx(x / -math.sqrt(2))
        area = (slope @ _WEIGHTS) * shift / 2
        return np.asarray(np.maximum(density / math.sqrt(2 * math.pi) * area, TINY))

    return two_sided(right, epsilons)


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Return the smallest delta of the Gaussian mechanism at ``epsilon``.

    ``Phi(s/2 - e/s) - exp(e) Phi(-s/2 - e/s)`` (Balle and Wang 2018), for any
    real ``epsilon`` and ``shift >= 0``, without cancellation.

    >>> round(gaussian_delta(1.0, 1 / 3.730631634816), 12)
    1e-05
    """
    return float(gaussian_profile(np.array([_real(epsilon)]), _shift(shift))[0])


def folded_profile(epsilons: Array, shift: float, plain: Array | None = None) -> Array:
    """Return :func:`folded_delta` at every element of ``epsilons``.

    ``plain`` may hold :func:`gaussian_profile` of the same, where it is known already.

    >>> folded_profile(np.array([1.0]), 2.0).round(6)
    array([0.876317])
    """
    if shift > _LARGE:
        return np.ones_like(epsilons)
    log_tail = (
        math.log1p(-erf(shift / math.sqrt(2))) if shift < 1 else math.log(2) + log_ndtr(-shift)
    )
    low = -np.expm1(np.minimum(epsilons, shift**2 / 2) + log_tail)
    plain = gaussian_profile(epsilons, shift) if plain is None else plain
    return np.clip(np.where(epsilons >= shift**2 / 2, 2 * plain, low), 0.0, 1.0)


def folded_delta(epsilon: float, shift: float) -> float:
    """Return ``E (1 - exp(epsilon - s|Z| - s^2/2))_+`` for a standard normal ``Z``.

    It equals ``2 * gaussian_delta`` when ``epsilon >= s^2/2``.

    >>> round(folded_delta(1.0, 2.0), 10)
    0.8763174595
    """
    return float(folded_profile(np.array([_real(epsilon)]), _shift(shift))[0])


def least(
    feasible: Callable[[float], bool], limit: float = 1e300, accuracy: float = 4e-16
) -> float:
    """Return the smallest positive number that is feasible, from the feasible side.

    ``feasible`` must be monotone: once true, true for everything larger.
    Returns infinity when nothing up to ``limit`` is feasible; ``accuracy`` is relative.

    >>> round(least(lambda v: v * v >= 2), 12)
    1.414213562373
    """
    high = 1.0
    while not feasible(high):
        high *= 4
        if high > limit:
            return math.inf
    low = high / 4
    while feasible(low):
        high, low = low, low / 4
        if low < 1e-300:
            return high
    while high > low * (1 + accuracy):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


def lowered(delta: float) -> float:
    """Return a delta for noise to be calibrated to, a little below the one that is meant.

    >>> 0.0 < 1e-6 - lowered(1e-6) < 1e-16
    True
    """
    # privacy: float64 may find a delta smaller than it is, by some 1e-12 of it.
    return delta * (1.0 - 2.0**-36)


def smallest_feasible(
    value: Callable[[float], float],
    bound: float,
    *,
    limit: float = 1e300,
    start: float = 1.0,
    step: float = 0.25,
    accuracy: float = 1e-12,
) -> float:
    """Return the smallest positive number whose value is within a bound, from the feasible side.

    ``value`` must fall. It takes far fewer evaluations than :func:`least`, which
    only asks whether a number is feasible, and the fewer the better the guess ``start``. The
    first ``step`` away from it, relative, should be about how far off the guess may be.
    The number is at most ``accuracy`` too large, relative to itself. Returns infinity when
    nothing up to ``limit`` is feasible.

    >>> round(smallest_feasible(lambda v: 2 / v, 0.5), 9)
    4.0
    """
    goal, value = math.log(bound), cache(value)

    def over(log: float) -> float:
        return math.log(max(value(math.exp(log)), 1e-320)) - goal

    at = math.log(start)
    up = over(at) > 0.0
    while True:
        next_one = min(at + step, math.log(limit)) if up else max(at - step, -690.0)
        if (over(next_one) > 0.0) != up:
            break
        if next_one == at:
            return math.inf if up else min(start, math.exp(at))
        at, step = next_one, 3.0 * step
    low, high = sorted((at, next_one))
    before, last = sorted((low, high), key=lambda log: -abs(over(log)))
    while True:
        fall = (over(low) - over(high)) / (high - low)
        # Curves fall ever faster, so the root is no further from the feasible end than this.
        if high - low <= accuracy or -over(high) <= accuracy * fall:
            break
        apart = over(before) - over(last)
        step = over(last) * (last - before) / apart + 0.2 * accuracy if apart else math.inf
        middle = last + step
        if not low < middle < high or abs(step) > abs(last - before) / 2:
            middle = (low + high) / 2
        before, last = last, middle
        low, high = (middle, high) if over(middle) > 0.0 else (low, middle)
    found = math.exp(high)
    # privacy: the root of a rounded curve may lie on either side; what is returned is feasible,
    # by its value itself, because logarithms round too.
    nudge = 0.4 * accuracy
    while not value(found) <= bound:
        found, nudge = found * (1.0 + nudge), 2.0 * nudge
    return found


def gaussian_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest standard deviation for sensitivity 1 at (epsilon, delta).

    Parameters
    ----------
    epsilon
        At least 0.
    delta
        Strictly between 0 and 1.

    Examples
    --------
    >>> round(gaussian_multiplier(1.0, 1e-5), 9)
    3.730631635
    """
    return _multiplier(nonnegative("epsilon", epsilon), between("delta", delta, 0, 1))


@lru_cache(maxsize=1024)
def _multiplier(epsilon: float, delta: float) -> float:
    delta = lowered(delta)

    def value(sigma: float) -> float:
        return gaussian_delta(epsilon, 1 / sigma)

    # Noise is enough where the loss exceeds epsilon with probability delta; a start near it.
    far = -float(ndtri(delta))
    start = 0.4 / delta
    if epsilon > 0:
        start = min(start, max(far + math.sqrt(far**2 + 2 * epsilon), 1e-9) / (2 * epsilon))
    found = smallest_feasible(value, delta, start=min(start, 1e299), step=0.1)
    # Bisection finds the last digits; away from what was found its answers are known.
    below, above = found * (1 - 1e-11), found * (1 + 1e-12)
    return least(lambda sigma: sigma >= above or (sigma > below and value(sigma) <= delta))


def folded_multiplier(epsilon: float, delta: float) -> float:
    """Return the smallest standard deviation for sensitivity 1 with the folded profile.

    >>> round(folded_multiplier(1.0, 1e-5), 3)
    3.884
    """
    epsilon, delta = positive("epsilon", epsilon), between("delta", delta, 0, 1)
    delta = lowered(delta)
    return least(lambda sigma: folded_delta(epsilon, 1 / sigma) <= delta)


def _real(epsilon: float) -> float:
    if not -math.inf < epsilon < math.inf:
        raise InvalidParameter(f"epsilon must be finite. Got {epsilon!r} instead.")
    return float(epsilon)


def _shift(shift: float) -> float:
    if not shift >= 0:
        raise InvalidParameter(f"shift must be at least 0. Got {shift!r} instead.")
    return float(shift)
