"""Shapes from which the bounds of objective perturbation are assembled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr

from discreet.types import Array

_GRID = np.linspace(0.0, 1.0, 9)
# exp of more than this is no use as a weight, and 700 overflows.
_LARGEST = 600.0


def anchored(curve: Callable[[Array], Array], epsilons: Array, start: float) -> Array:
    """Continue a bound that holds from ``start`` on to every smaller epsilon.

    >>> anchored(lambda e: 0.0 * e, np.array([0.0, 1.0]), 1.0).round(4)
    array([0.6321, 0.    ])
    """
    if math.isinf(start):
        return np.ones_like(epsilons)
    first = min(1.0, float(curve(np.array([start]))[0]))
    # privacy: profiles are convex in exp(epsilon) and reach 1 at 0, so they lie below
    # the chord from there to the first point where a bound is known.
    gap = np.minimum(epsilons - start, 0.0)
    # privacy: never less than the first value; differences from 1 could round it away to 0.
    chord = -np.expm1(gap) + np.exp(gap) * first
    return np.where(epsilons >= start, curve(np.maximum(epsilons, start)), chord)


def through_common(
    appear: Callable[[Array], Array],
    vanish: Callable[[Array], Array],
    epsilons: Array,
    start: float,
) -> Array:
    """Bound a replacement by passing through the records both sides share.

    ``min over e of appear(e) + exp(e) vanish(epsilon - e)`` with ``e >= start``:
    every ``e`` is valid, so a grid refined around its best point is.

    >>> still = lambda e: np.where(e >= 0.5, 0.0, 1.0)
    >>> through_common(still, still, np.array([1.0]), 0.0)
    array([0.])
    """
    low, high = np.minimum(start, epsilons), epsilons
    best = np.ones_like(epsilons)
    for _ in range(8):
        width = high - low
        first = np.minimum(low[..., None] + width[..., None] * _GRID, _LARGEST)
        rest = np.maximum(epsilons[..., None] - first, 0.0)
        values = appear(first) + np.exp(first) * vanish(rest)
        at = np.argmin(values, axis=-1)[..., None]
        best = np.minimum(best, np.take_along_axis(values, at, axis=-1)[..., 0])
        centre = np.take_along_axis(first, at, axis=-1)[..., 0]
        low, high = np.maximum(low, centre - width / 8), np.minimum(high, centre + width / 8)
    return best


def folded_rdp(shift: float, order: float) -> float:
    """Return the Renyi bound of the loss ``shift |Z| + shift^2/2``.

    >>> round(folded_rdp(0.25, 2.0), 10)
    0.2426631052
    """
    tail = math.log(2) + float(log_ndtr((order - 1) * shift))
    return order * shift**2 / 2 + tail / (order - 1)


def kinked_rdp(kink: float, shift: float, order: float) -> float:
    """Return the Renyi bound of the loss ``max(kink, shift Z + shift^2/2)``.

    >>> round(kinked_rdp(0.1, 0.25, 2.0), 9)
    0.177269897
    """
    a, z = order, (kink - shift**2 / 2) / shift
    below = (a - 1) * kink + log_ndtr(z)
    above = a * (a - 1) * shift**2 / 2 + log_ndtr((a - 1) * shift - z)
    return float(np.logaddexp(below, above)) / (a - 1)
