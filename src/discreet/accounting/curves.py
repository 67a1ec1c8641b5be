"""Shapes from which the bounds of objective perturbation are assembled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import expit, log_ndtr

from discreet.bounds import Array

# Calls cost more than points: for one epsilon few rounds of many points, for several many of few.
_FINE, _COARSE = (np.linspace(0.0, 1.0, 129), 2), (np.linspace(0.0, 1.0, 17), 3)
_NODES = 33
_MARGINS = np.linspace(-36.0, 36.0, 4097)
_PARTS, _BENDS = expit(_MARGINS), expit(_MARGINS) * expit(-_MARGINS)
_TURNS = np.tanh(_MARGINS / 2)
# exp of more than this is no use as a weight, and 700 overflows.
_LARGEST = 600.0


def anchored(curve: Callable[[Array], Array], epsilons: Array, start: float) -> Array:
    """Continue a bound that holds from ``start`` on to every smaller epsilon.

    >>> anchored(lambda e: 0.0 * e, np.array([0.0, 1.0]), 1.0).round(4)
    array([0.6321, 0.    ])
    """
    if math.isinf(start):
        return np.ones_like(epsilons)
    if np.all(epsilons >= start):
        return curve(epsilons)
    first = min(1.0, float(curve(np.array([start]))[0]))
    # privacy: profiles are convex in exp(epsilon) and reach 1 at 0, so they lie below
    # the chord from there to the first point where a bound is known.
    gap = np.minimum(epsilons - start, 0.0)
    # privacy: never less than the first value; differences from 1 could round it away to 0.
    chord = -np.expm1(gap) + np.exp(gap) * first
    return np.where(epsilons >= start, curve(np.maximum(epsilons, start)), chord)


def logistic_loss(noise: Array, kappa: float) -> Array:
    """Bound one record's privacy loss by the loss ``noise`` that the tilt alone would have.

    ``max over q in [0, 1] of q noise + log(1 + kappa q (1 - q))``: where the
    logistic loss has the share ``q`` of its steepest slope, its curvature is
    ``q (1 - q)`` of the squared row, and ``kappa`` is that square over the strength.

    >>> logistic_loss(np.array([0.0, 0.5, 1.0]), 1.0).round(4)
    array([0.2231, 0.5485, 1.    ])
    """
    if math.isinf(kappa):
        return np.full_like(noise, math.inf)
    losses, noises = _tangents(kappa)
    # privacy: the bound is convex in the noise, so its chords lie above it.
    return np.where(noise >= kappa, noise, np.maximum(np.interp(noise, noises, losses), noise))


def logistic_noise(losses: Array, kappa: float, spent: float = 0.0) -> Array:
    """Return the most noise loss that ``logistic_loss(noise) + spent * noise`` may hide.

    The inverse of :func:`logistic_loss` for ``spent == 0``.

    >>> logistic_noise(np.array([0.5485, 1.0]), 1.0).round(3)
    array([0.5, 1. ])
    """
    if math.isinf(kappa):
        return np.full_like(losses, -math.inf)
    found, noises = _tangents(kappa)
    total = found + spent * noises if spent else found
    # privacy: the inverse of a convex bound is concave, so its chords lie below it.
    inner = np.minimum(np.interp(losses, total, noises), losses / (1 + spent))
    return np.where(losses >= (1 + spent) * kappa, losses / (1 + spent), inner)


@lru_cache(maxsize=32)
def _tangents(kappa: float) -> tuple[Array, Array]:
    """Return exact points of the logistic bound: losses and noises, both increasing."""
    bends = kappa * _BENDS
    noises = kappa * _TURNS / (1 + bends)
    losses = _PARTS * noises + np.log1p(bends)
    ends = np.concatenate([[0.0], losses, [kappa]]), np.concatenate([[-kappa], noises, [kappa]])
    return np.maximum.accumulate(ends[0]), np.maximum.accumulate(ends[1])


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

    def bound(at: Array, first: Array) -> Array:
        first = np.minimum(first, _LARGEST)
        return appear(first) + np.exp(first) * vanish(np.maximum(at - first, 0.0))

    if epsilons.size <= 2 * _NODES:
        return _refined(bound, epsilons, start, *(_FINE if epsilons.size == 1 else _COARSE))[0]
    # A few are searched; where others pass lies between where those do.
    nodes = np.sort(epsilons, axis=None)[np.linspace(0, epsilons.size - 1, _NODES).astype(int)]
    least, where = _refined(bound, nodes, start, *_COARSE)
    some = least < 1.0
    if not some.any():
        return np.ones_like(epsilons)
    shared = np.interp(epsilons, nodes[some], where[some])
    # privacy: every point between is valid.
    return np.minimum(bound(epsilons, np.clip(shared, np.minimum(start, epsilons), epsilons)), 1.0)


def _refined(
    bound: Callable[[Array, Array], Array],
    epsilons: Array,
    start: float,
    grid: Array,
    rounds: int,
) -> tuple[Array, Array]:
    """Return the least of a bound at each epsilon on a grid that is refined, and where it is."""
    low, high = np.minimum(start, epsilons), epsilons
    best, where = np.ones_like(epsilons), epsilons
    for _ in range(rounds):
        width = (high - low) / (len(grid) - 1)
        points = low[..., None] + (high - low)[..., None] * grid
        values = bound(epsilons[..., None], points)
        least = values.min(axis=-1)
        centre = low + (high - low) * grid[values.argmin(axis=-1)]
        where, best = np.where(least < best, centre, where), np.minimum(best, least)
        low, high = np.maximum(low, centre - width), np.minimum(high, centre + width)
    return best, where


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
