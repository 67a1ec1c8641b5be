"""Composition through privacy loss distributions, and basic composition.

Both work from each event's own curve, so they need nothing but ``delta``.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache, reduce

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import Curve, Event, Pure
from discreet.accounting.gaussian_profile import least, two_sided
from discreet.accounting.loss_grid import ROUNDING, LossGrid
from discreet.bounds import Array

_TAIL = 1e-16
_REACH = 300.0
_ANY = 1e15  # above every epsilon of a budget
_STEPS = 200  # budgets are split in hundredths, and halves of them again
_CLEAR = 1e3  # how far above what may be hidden a curve is clear
_PASSES = 30  # over all points, after which a hull is found point by point
_CELLS = 400  # of a chain's first curve; eight times as many change delta by less than a thousandth


def profile_of(event: Event, epsilons: Array) -> Array:
    """Return the event's delta at every epsilon of an array.

    >>> profile_of(Pure(1.0), np.array([1.0]))
    array([0.])
    """
    if isinstance(event, Curve):
        return two_sided(event.profile, epsilons)
    return np.array([event.delta(float(e)) for e in epsilons])


def convex_hull(positions: Array, values: Array) -> Array:
    """Return the largest convex sequence below ``values`` at increasing positions.

    >>> convex_hull(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.9, 0.0]))
    array([1. , 0.5, 0. ])
    """
    keep: npt.NDArray[np.intp] = np.arange(len(positions))
    for _ in range(_PASSES):
        across, up = np.diff(positions[keep]), np.diff(values[keep])
        bent = np.flatnonzero(~(up[:-1] * across[1:] < up[1:] * across[:-1]))
        if not len(bent):
            return values + 0.0 if len(keep) == len(values) else _joined(positions, values, keep)
        # No point above a line between two others is on the hull, whether or not these are.
        keep = np.delete(keep, bent + 1)
    x, y, hull = positions[keep].tolist(), values[keep].tolist(), [0]
    for k in range(1, len(x)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (y[j] - y[i]) * (x[k] - x[j]) < (y[k] - y[j]) * (x[j] - x[i]):
                break
            hull.pop()
        hull.append(k)
    return _joined(positions, values, keep[hull])


def _joined(positions: Array, values: Array, keep: npt.NDArray[np.intp]) -> Array:
    return np.asarray(np.interp(positions, positions[keep], values[keep]))


def pld_delta(events: tuple[Event, ...], epsilon: float) -> float:
    """Return delta of the adaptive composition by privacy loss distributions.

    The true profile is convex in ``exp(epsilon)``, so joining any valid grid
    values (and their convex hull) by straight lines stays above it. Returns 1
    when a curve is unknown or too wide to discretise.

    >>> from discreet.accounting.events import Laplace
    >>> pld_delta((Laplace(2.0), Laplace(2.0)), 1.0) < 1e-4
    True
    """
    return pld_bound(events, epsilon)[0]


def pld_bound(events: tuple[Event, ...], epsilon: float) -> tuple[float, bool]:
    """Return :func:`pld_delta`, and whether it is about the best that the curves allow.

    It is for smooth curves on a fine grid, where it is far above what rounding may hide.

    >>> from discreet.accounting.events import Laplace
    >>> pld_bound((Laplace(2.0), Laplace(2.0)), 2.0)[1]
    False
    """
    counted = Counter(events)
    composed = _composed(tuple(sorted(counted.items(), key=lambda item: repr(item[0]))))
    if composed is None:
        return 1.0, False
    losses, fine = composed
    found = min(1.0, float(losses.deltas(np.array([epsilon]))[0]))
    smooth = all(isinstance(event, Curve) and event.smooth for event in counted)
    return found, smooth and fine and _CLEAR * (losses.lost + losses.infinite) < found < 1.0


def chain_delta(events: tuple[Event, ...], epsilon: float) -> float:
    """Return delta of two events or more one after the other, from their curves alone.

    All curves but the last, joined by straight lines in ``exp(epsilon)``, are those
    of losses on a grid; the last is averaged over their sum. Any order is valid; it
    is best to start with an event that is not the largest, nor much smaller than
    those that follow. Much quicker to start than :func:`pld_delta`, so plans can be
    calibrated with it.

    >>> from discreet.accounting.events import Gaussian
    >>> round(chain_delta((Gaussian(2.0), Gaussian(2.0)), 1.0), 4)
    0.0396
    """
    *before, last = events
    reaches = [_reach(event, _TAIL) for event in before]
    gap = 2.0 * reaches[0] / _CELLS
    if not all(0 < reach < min(_REACH, 100.0 * _CELLS * gap) for reach in reaches):
        return 1.0
    parts = (_discretised(*part, gap) for part in zip(before, reaches, strict=True))
    losses = reduce(LossGrid.followed_by, parts)
    total = losses.infinite + losses.masses @ profile_of(last, epsilon - losses.values)
    # privacy: no less than the losses have lost, for the last average rounds as well.
    return min(1.0, float(total) + len(events) * ROUNDING)


def basic_delta(events: tuple[Event, ...], epsilon: float) -> float:
    """Return delta by adding epsilons and deltas, over the best split on a grid.

    Equal events also share their part of epsilon evenly, whatever the grid.

    >>> from discreet.accounting.events import Approximate
    >>> basic_delta((Pure(0.5), Pure(0.25)), 0.75)
    0.0
    >>> round(basic_delta((Approximate(1 / 3, 1e-6),) * 3, 1.0), 12)
    3e-06
    """
    counted = Counter(events)
    found = _split(counted, epsilon)
    # Losses that have an end cost there what they cost at any larger epsilon.
    ended = {e: n for e, n in counted.items() if _has_end(e) and e.delta(epsilon) <= _floor(e)}
    left = epsilon - math.fsum(n * _end(e) for e, n in ended.items())
    if ended and left >= 0:
        paid = math.fsum(n * _floor(e) for e, n in ended.items())
        found = min(found, paid + _split(counted - Counter(ended), left))
    # Pure epsilons that miss epsilon by a rounding cost no more than that.
    pure = math.fsum(n * _pure_epsilon(e) for e, n in counted.items())
    return min(Pure(pure).delta(epsilon) if math.isfinite(pure) else 1.0, found)


def _split(counted: Counter[Event], epsilon: float) -> float:
    """Return the least sum of deltas over splits of epsilon on a grid."""
    grid = np.linspace(0.0, epsilon, _STEPS + 1)
    total: Array | None = None
    for event, count in counted.items():
        even = count * profile_of(event, grid / count)
        curve = np.minimum(_power(profile_of(event, grid), count), even)
        total = curve if total is None else _best_split(total, curve)
    return 0.0 if total is None else float(total[-1])


def _best_split(first: Array, second: Array) -> Array:
    return np.array([np.min(first[: k + 1] + second[k::-1]) for k in range(len(first))])


def _power(curve: Array, count: int) -> Array:
    half = curve if count == 1 else _power(curve, count // 2)
    if count == 1:
        return half
    whole = _best_split(half, half)
    return _best_split(whole, curve) if count % 2 else whole


def _has_end(event: Event) -> bool:
    return not (isinstance(event, Curve) and event.smooth)


@lru_cache(maxsize=256)
def _floor(event: Event) -> float:
    """Return the delta that an event has at any epsilon, however large."""
    return event.delta(_ANY)


@lru_cache(maxsize=256)
def _end(event: Event) -> float:
    """Return the smallest epsilon at which an event costs no more than at any larger one."""
    floor = _floor(event)
    return least(lambda e: event.delta(e) <= floor) if event.delta(0.0) > floor else 0.0


def _pure_epsilon(event: Event) -> float:
    """Return the smallest epsilon with delta exactly 0, or infinity."""
    return math.inf if _floor(event) > 0 else _end(event)


def _reach(event: Event, tail: float) -> float:
    """Return an epsilon beyond which the curve falls by at most ``tail``."""
    powers = 2.0 ** np.arange(-39.0, math.ceil(math.log2(_REACH)) + 1)
    zero, *values, floor = profile_of(event, np.concatenate([[0.0], powers, [_REACH]]))
    if floor >= 1:
        return math.inf
    if zero <= floor + tail:
        return 0.0
    high = float(powers[np.argmax(np.asarray(values) <= floor + tail)])
    # The ends of 64 equal parts of the octave below.
    parts = high / 2 * (1 + np.arange(1, 65) / 64)
    return float(parts[np.argmax(profile_of(event, parts) <= floor + tail)])


@lru_cache(maxsize=64)
def _composed(counted: tuple[tuple[Event, int], ...]) -> tuple[LossGrid, bool] | None:
    total = sum(count for _, count in counted)
    reaches = [_reach(event, _TAIL / total) for event, _ in counted]
    spread = math.sqrt(sum(c * r * r for (_, c), r in zip(counted, reaches, strict=True)))
    if not 0 < spread < _REACH:
        return None
    # Fine enough for the narrowest event, coarse enough to keep memory bounded.
    narrowest = min(r for r in reaches if r > 0)
    gap = max(spread / 2**17, min(spread / 2**14, narrowest / 100))
    parts = (
        _discretised(event, reach, gap).repeated(count, _TAIL)
        for (event, count), reach in zip(counted, reaches, strict=True)
    )
    return reduce(LossGrid.followed_by, parts), gap <= narrowest / 100


def _discretised(event: Event, reach: float, gap: float) -> LossGrid:
    cells = max(1, math.ceil(reach / gap))
    right: Array = gap * np.arange(cells + 1, dtype=np.float64)
    epsilons = np.concatenate([-right[:0:-1], right])
    # privacy: the point (exp(-inf), 1) belongs to every profile and anchors the hull.
    positions = np.concatenate([[0.0], np.exp(epsilons)])
    values = np.concatenate([[1.0], _mirrored(event, right)])
    half = np.clip(convex_hull(positions, values)[1 + cells :], 0.0, 1.0)
    # Curves of events bound a pair and its exchange alike.
    return LossGrid.joined(gap, half, half)


def _mirrored(event: Event, right: Array) -> Array:
    """Return the event's delta at epsilons from zero on, and before these at their negatives."""
    if not isinstance(event, Curve):
        return profile_of(event, np.concatenate([-right[:0:-1], right]))
    values = two_sided(event.profile, right)
    return np.concatenate([two_sided(lambda e: values[:0:-1], -right[:0:-1]), values])
