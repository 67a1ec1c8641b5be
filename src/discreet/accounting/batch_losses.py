"""Losses of one random batch with Gaussian noise, as grids.

See :mod:`discreet.accounting.subsampling` for the pairs that they are of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr

from discreet.accounting.gaussian_profile import TINY, gaussian_profile
from discreet.accounting.loss_grid import LossGrid
from discreet.bounds import Array, Neighbours

# Cells that the losses of one batch spread over, about: enough of them, and the most.
_ENOUGH, _CELLS = 2**15, 2**18
_DEVIATION = 2**18  # most cells that the standard deviation of all spreads over, about
_RAISED = 2.0**-34  # what curves of one batch may be off by, relatively
# Beyond this noise the losses of Poisson batches are too small for the grids, which then fail.
_MOST = 1e8


def poisson_profiles(
    epsilons: Array, multiplier: float, rate: float, neighbours: Neighbours
) -> tuple[Array, ...]:
    """Return ``D`` of one Poisson batch and of the exchanged pair at nonnegative epsilons.

    Under replace-one the exchanged pair has the same curve, which then is returned once.

    >>> with_row, without = poisson_profiles(np.array([0.0, 0.1]), 1.0, 0.1, "zero-out")
    >>> with_row.round(6), without.round(6)
    (array([0.038292, 0.018472]), array([3.8292e-02, 8.0000e-06]))
    """
    shift = 1.0 / multiplier
    if neighbours != "replace-one":
        with_row = rate * gaussian_profile(np.log1p(np.expm1(epsilons) / rate), shift)
        # Its loss has no more than -log(1 - q); below, the loss of the plain pair that leads to x.
        left = rate + np.expm1(-epsilons)
        plain = -np.log(np.where(left > 0.0, left / rate, 1.0))
        without = np.exp(epsilons) * np.maximum(left, 0.0) * gaussian_profile(plain, shift)
        return with_row, without
    # Losses are x where sinh(v) = a sinh(x/2), v = z - x/2, at z in units of the shift's inverse.
    log_a = shift**2 / 2 + math.log1p(-rate) - math.log(rate)
    half = np.maximum(epsilons / 2, TINY)
    log_sinh = half + np.log(-np.expm1(-2 * half)) - math.log(2) + log_a
    z = (half + np.logaddexp(np.logaddexp(0.0, 2 * log_sinh) / 2, log_sinh)) / shift
    # P above z less exp(x) Q above z; every term is at most 1.
    entered = rate * ndtr(shift - z)
    above = entered - rate * np.exp(epsilons + log_ndtr(-shift - z))
    above -= (1 - rate) * np.exp(np.log(-np.expm1(-2 * half)) + epsilons + log_ndtr(-z))
    # privacy: the terms agree in their leading digits far out, so pay for their rounding.
    return (above + (4.0 + z * z) * 2.0**-51 * entered,)


def fixed_size_profile(epsilons: Array, multiplier: float, rate: float) -> Array:
    """Return ``D`` of one batch of fixed size at nonnegative epsilons.

    >>> fixed_size_profile(np.array([0.0]), 2.0, 0.1).round(6)
    array([0.038292])
    """
    amplified = np.log1p(np.expm1(np.minimum(epsilons, 700.0)) / rate)
    return rate * gaussian_profile(amplified, 2.0 / multiplier)


@lru_cache(maxsize=8)
def poisson_losses(
    multiplier: float, rate: float, steps: int, neighbours: Neighbours, reached: float, tail: float
) -> tuple[LossGrid, ...]:
    """Return the losses of one Poisson batch, a share ``reached`` of them with twice the shift.

    >>> len(poisson_losses(2.0, 0.1, 1, "zero-out", 0.0, 1e-18))
    2
    """
    # privacy: less noise costs no less, so the curve of less noise serves for more.
    multiplier = min(multiplier, _MOST)

    def profiles(epsilons: Array) -> tuple[Array, ...]:
        plain = poisson_profiles(epsilons, multiplier, rate, neighbours)
        if reached == 0.0:
            return plain
        doubled = poisson_profiles(epsilons, multiplier / 2, rate, neighbours)
        return tuple((1 - reached) * a + reached * b for a, b in zip(plain, doubled, strict=True))

    return _joined(profiles, _gap(multiplier, rate, steps), tail / steps)


@lru_cache(maxsize=8)
def fixed_size_losses(
    multiplier: float, rate: float, steps: int, tail: float
) -> tuple[LossGrid, ...]:
    """Return the losses of one batch of fixed size.

    >>> len(fixed_size_losses(2.0, 0.1, 1, 1e-18))
    1
    """

    def profiles(epsilons: Array) -> tuple[Array]:
        return (fixed_size_profile(epsilons, multiplier, rate),)

    return _joined(profiles, _gap(multiplier / 2, rate, steps), tail / steps)


def _gap(multiplier: float, rate: float, steps: int) -> float:
    """Return a grid step well below the spread of one batch's loss and of the sum of all."""
    shift = 1.0 / multiplier
    spread = min(shift, rate * math.sqrt(math.expm1(min(shift**2, 60.0))))
    # One batch's loss reaches about this far.
    reach = math.log1p(rate * math.expm1(min(10 * shift + shift**2 / 2, 700.0)))
    whole = spread * math.sqrt(steps)
    fine = min(spread / 12, max(whole / 2048, reach / _ENOUGH))
    # The last terms keep memory bounded.
    return max(fine, reach / _CELLS, whole / _DEVIATION)


def _joined(
    profiles: Callable[[Array], tuple[Array, ...]], gap: float, tail: float
) -> tuple[LossGrid, ...]:
    """Return the losses of one batch up to a tail, in either order of the pair.

    ``profiles`` gives its curves at nonnegative epsilons: of a pair and of its exchange,
    or one for both.
    """
    reach = gap
    # Several reaches at once; those too far out may overflow, and are not asked for then.
    with np.errstate(over="ignore", invalid="ignore"):
        while True:
            further = np.multiply.accumulate([reach] + [1.25] * 16)
            above = np.max(profiles(further), axis=0) > tail
            reach = float(further[-1 if above.all() else np.argmin(above)])
            if not above.all():
                break
    # privacy: curves are rounded, and a share of their error comes back from every batch.
    curves = [
        (1.0 + _RAISED) * curve for curve in profiles(gap * np.arange(math.ceil(reach / gap) + 1.0))
    ]
    # A curve ends at the first point at which it is negligible.
    halves = [curve[: 1 + np.count_nonzero(curve > tail)] for curve in curves]
    return tuple(
        LossGrid.joined(gap, half, other) for half, other in zip(halves, halves[::-1], strict=True)
    )
