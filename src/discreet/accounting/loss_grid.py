"""Privacy losses on a grid: what curves become when many releases are added up.

A curve ``D`` of a pair of laws is convex in ``exp(epsilon)``. Joined by straight lines
between grid points it is the curve of a worse pair, whose losses lie on the grid
(Doroshenko and others, *Connect the Dots*, 2022). Losses of releases one after the other
add up, so their masses are convolved.

A loss ``-x`` of a pair is a loss ``x`` of the exchanged pair, ``exp(-x)`` times as likely.
So the masses below zero come from the curve of the exchanged pair above zero, where it is
small, and nothing is lost by subtracting numbers near 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from discreet.bounds import Array

_LEAST_ORDER, _ORDERS = 2.0**-8, 16
"""Smallest exponent of the bounds on tails, over the width of a sum, and how many there are."""


@dataclass(frozen=True, eq=False)
class LossGrid:
    """Masses of the losses ``gap * (first + i)`` and of an infinite one.

    Examples
    --------
    >>> from discreet.accounting.gaussian_profile import gaussian_profile
    >>> curve = gaussian_profile(0.01 * np.arange(1000), 0.5)
    >>> twice = LossGrid.joined(0.01, curve, curve).repeated(2, 1e-15)
    >>> bool(abs(twice.deltas(np.array([1.0])) / gaussian_profile(1.0, 0.5 * 2**0.5) - 1) < 1e-3)
    True
    """

    gap: float
    first: int
    masses: Array
    infinite: float

    @classmethod
    def joined(cls, gap: float, right: Array, exchanged: Array) -> LossGrid:
        """Return the losses of a curve joined by lines, from ``gap * i`` on.

        Parameters
        ----------
        gap
            Distance of grid points.
        right
            The curve at nonnegative grid points; what lies beyond the last is infinite.
        exchanged
            That of the exchanged pair.
        """
        above, below = _masses(gap, right), _masses(gap, exchanged)
        below *= np.exp(-gap * np.arange(1.0, len(below) + 1.0))
        # privacy: what the curve keeps beyond its last point is a loss without end.
        infinite = min(1.0, max(0.0, float(right[-1])))
        zero = 1.0 - infinite - float(above.sum()) - float(below.sum())
        # privacy: only now, so that masses which rounding made negative are added, not moved.
        masses = np.maximum(np.concatenate([below[::-1], [zero], above]), 0.0)
        return cls(gap, -len(below), masses, infinite)

    @property
    def values(self) -> Array:
        """The finite losses."""
        return np.asarray(self.gap * (self.first + np.arange(len(self.masses), dtype=np.float64)))

    def repeated(self, times: int, tail: float) -> LossGrid:
        """Return the losses of so many equal releases, all but ``tail`` of their masses."""
        if times == 1:
            return self
        low, high = self._window(times, tail)
        size = fft.next_fast_len(high - low + 1, real=True)
        # Positions on a circle that holds the window once.
        places = (self.first + np.arange(len(self.masses))) % size
        circle = np.bincount(places, self.masses, size)
        sums = fft.irfft(fft.rfft(circle) ** times, size)
        masses = np.maximum(np.roll(sums, -(low % size))[: high - low + 1], 0.0)
        finite = (1.0 - self.infinite) ** times
        # privacy: what lies beyond the window has come back at another place of the circle.
        return LossGrid(self.gap, low, masses, min(1.0, 1.0 - finite + tail))

    def followed_by(self, other: LossGrid) -> LossGrid:
        """Return the losses of both releases, which share their grid."""
        n = len(self.masses) + len(other.masses) - 1
        size = fft.next_fast_len(n, real=True)
        both = fft.rfft(self.masses, size) * fft.rfft(other.masses, size)
        masses = np.maximum(fft.irfft(both, size)[:n], 0.0)
        infinite = 1.0 - (1.0 - self.infinite) * (1.0 - other.infinite)
        return LossGrid(self.gap, self.first + other.first, masses, infinite)

    def deltas(self, epsilons: Array) -> Array:
        """Return the curve: the mean of ``1 - exp(epsilon - loss)`` where that is positive."""
        base = float(epsilons.min(initial=1e300))
        start = int(np.clip(base / self.gap - self.first, 0, len(self.masses)))
        masses, losses = self.masses[start:], self.values[start:]
        # From the last on, so that small masses are added up before large ones.
        beyond = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        weighted = masses * np.exp(np.minimum(base - losses, 0.0))
        weighted = np.append(np.cumsum(weighted[::-1])[::-1], 0.0)
        # A loss of epsilon itself adds nothing, so rounding may put it on either side.
        at = np.searchsorted(losses, epsilons, side="right")
        # privacy: weights that have vanished must not meet an infinite factor.
        factor = np.exp(np.minimum(epsilons - base, 700.0))
        found = beyond[at] - factor * weighted[at]
        return np.asarray(self.infinite + np.maximum(found, 0.0))

    def _window(self, times: int, tail: float) -> tuple[int, int]:
        """Return positions outside of which a sum of losses has at most the mass ``tail``."""
        losses = self.first + np.arange(len(self.masses), dtype=np.float64)
        total = max(float(self.masses.sum()), 1e-300)
        mean = float(losses @ self.masses) / total
        spread = math.sqrt(float((losses - mean) ** 2 @ self.masses) / total * times) + 1.0
        ends = []
        for sign in (1.0, -1.0):
            # Chernoff: the mass beyond b is at most the mean of exp(t (sum - b)), for any t > 0.
            top = losses[-1] if sign > 0 else -losses[0]
            t = _LEAST_ORDER / spread
            powers, bounds = np.exp(t * (sign * losses - top)), [times * top]
            for _ in range(_ORDERS):
                # privacy: what vanished in exponentials and powers is less than the last term.
                log = math.log(float(self.masses @ powers) + 1e-290)
                bounds.append((times * (log + t * top) - math.log(tail / 2)) / t)
                t, powers = 2.0 * t, powers * powers
            ends.append(min(bounds))
        low = math.floor(-ends[1])
        return low, max(low, math.ceil(ends[0]))


def _masses(gap: float, curve: Array) -> Array:
    """Return the masses of positive losses of a curve, given at 0 and at those losses."""
    drops = -np.diff(curve)
    masses = drops / -math.expm1(-gap)
    masses[:-1] -= drops[1:] / math.expm1(gap)
    return np.asarray(masses)
