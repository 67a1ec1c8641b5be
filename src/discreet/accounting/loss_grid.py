"""Privacy losses on a grid: what curves become when many releases are added up.

A curve ``D`` of a pair of laws is convex in ``exp(epsilon)``. Joined by straight lines
between grid points it is the curve of a worse pair, whose losses lie on the grid
(Doroshenko and others, *Connect the Dots*, 2022). Losses of releases one after the other
add up, so their masses are convolved.

A loss ``-x`` of a pair is a loss ``x`` of the exchanged pair, ``exp(-x)`` times as likely.
So the masses below zero come from the curve of the exchanged pair above zero, where it is
small, and nothing is lost by subtracting numbers near 1.

Transforms round by a share of the largest mass, which hides tails far below it. So masses
may be tilted: multiplied by ``exp(tilt * loss - log_scale)``, which makes those around a
chosen loss the largest. Tilted masses are convolved like others, and what rounding may
hide shrinks with the tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import fft

from discreet.bounds import Array

_LEAST_ORDER, _ORDERS = 2.0**-8, 16
"""Smallest exponent of the bounds on tails, over the width of a sum, and how many there are."""

ROUNDING = 1e-14
"""What transforms may hide of a sum of masses, for each of them; measured well below."""

_VANISHING = 1e-60
"""Powers in a transform that are left out: what they add is far below what rounding hides."""

_RAISED = 2.0**-42
"""What a tilted mass may be off by, relatively."""


@dataclass(frozen=True, eq=False)
class LossGrid:
    """Masses of the losses ``gap * (first + i)`` and of an infinite one.

    Parameters
    ----------
    gap, first
        The first loss is ``gap * first``.
    masses
        Masses times ``exp(tilt * loss - log_scale)``.
    infinite
        Mass of an infinite loss, not tilted.
    lost
        Most that is missing from sums over tilted masses.
    tilt, log_scale
        How masses are tilted; 0 for plain masses.

    Examples
    --------
    >>> from discreet.accounting.gaussian_profile import gaussian_profile
    >>> curve = gaussian_profile(0.01 * np.arange(1000), 0.5)
    >>> twice = LossGrid.joined(0.01, curve, curve).repeated(2, 1e-15)
    >>> one = np.ones(1)
    >>> bool(abs(twice.deltas(one) / gaussian_profile(one, 0.5 * 2**0.5) - 1) < 1e-3)
    True
    """

    gap: float
    first: int
    masses: Array
    infinite: float
    lost: float = 0.0
    tilt: float = 0.0
    log_scale: float = 0.0

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

    @cached_property
    def values(self) -> Array:
        """The finite losses."""
        return np.asarray(self.gap * (self.first + np.arange(len(self.masses), dtype=np.float64)))

    def log_moment(self, tilt: float) -> float:
        """Return the logarithm of the mean of ``exp(tilt * loss)`` over finite losses, or more.

        >>> LossGrid(0.5, 0, np.array([0.0, 1.0]), 0.0).log_moment(3.0)
        1.5
        """
        top = tilt * float(self.values[-1])
        return math.log(max(float(self.masses @ np.exp(tilt * self.values - top)), 1e-300)) + top

    def tilted(self, tilt: float) -> LossGrid:
        """Return the same losses with their masses tilted, which they must not be before.

        >>> LossGrid(0.5, 0, np.array([0.5, 0.5]), 0.0).tilted(2.0).masses.round(4)
        array([0.2689, 0.7311])
        """
        log_scale = self.log_moment(tilt)
        with np.errstate(divide="ignore"):
            masses = np.exp(np.log(self.masses) + tilt * self.values - log_scale)
        # privacy: masses and their scale are rounded, so the scale is raised.
        return replace(self, masses=masses, tilt=tilt, log_scale=log_scale + _RAISED)

    def repeated(self, times: int, tail: float) -> LossGrid:
        """Return the losses of so many equal releases, all but ``tail`` of their masses."""
        if times == 1:
            return self
        low, high = self._window(times, tail)
        size = fft.next_fast_len(high - low + 1, real=True)
        # Positions on a circle that holds the window once.
        places = (self.first + np.arange(len(self.masses))) % size
        circle = np.bincount(places, self.masses, size)
        sums = fft.irfft(_power(fft.rfft(circle), times), size)
        masses = np.maximum(np.roll(sums, -(low % size))[: high - low + 1], 0.0)
        return replace(
            self,
            first=low,
            masses=masses,
            infinite=-math.expm1(times * math.log1p(-self.infinite)) if self.infinite < 1 else 1.0,
            # privacy: what lies beyond the window has come back at another place of the circle.
            lost=times * (self.lost + ROUNDING) + tail,
            log_scale=times * self.log_scale,
        )

    def followed_by(self, other: LossGrid) -> LossGrid:
        """Return the losses of both releases, which share their grid and tilt."""
        n = len(self.masses) + len(other.masses) - 1
        size = fft.next_fast_len(n, real=True)
        both = fft.rfft(self.masses, size) * fft.rfft(other.masses, size)
        masses = np.maximum(fft.irfft(both, size)[:n], 0.0)
        return replace(
            self,
            first=self.first + other.first,
            masses=masses,
            infinite=self.infinite + other.infinite - self.infinite * other.infinite,
            lost=self.lost + other.lost + ROUNDING,
            log_scale=self.log_scale + other.log_scale,
        )

    def deltas(self, epsilons: Array) -> Array:
        """Return the curve: the mean of ``1 - exp(epsilon - loss)`` where that is positive."""
        # A loss of epsilon itself adds nothing, so rounding may put it on either side.
        at = np.searchsorted(self.values, epsilons, side="right")
        first = int(at.min(initial=len(self.masses)))
        beyond, weighted = self._sums(first)
        at = at - first
        # privacy: weights that have vanished must not meet an infinite factor.
        factor = np.exp(np.minimum(epsilons, 700.0))
        found = np.maximum(beyond[at] - factor * weighted[at], 0.0)
        if self.tilt:
            # privacy: sums of tilted masses are off by a share of themselves.
            found = found * (1.0 + 2.0**-30)
        return np.asarray(self.infinite + found + self.hidden(epsilons))

    def _sums(self, first: int) -> tuple[Array, Array]:
        """Return sums of plain masses from each loss on, and of the same times ``exp(-loss)``.

        Of the losses from the one numbered ``first`` on.
        """
        values, masses = self.values[first:], self.masses[first:]
        exponents = self._exponents(values)
        # privacy: a weight that is capped is too small, and makes the curve too large.
        weights = np.exp(np.minimum(exponents - values, 700.0))
        # From the last on, so that small masses are added up before large ones.
        sums = (np.cumsum((masses * w)[::-1])[::-1] for w in (np.exp(exponents), weights))
        beyond, weighted = (np.append(part, 0.0) for part in sums)
        return beyond, weighted

    def hidden(self, epsilons: Array) -> Array:
        """Return how much of the curve pays for masses that may be missing.

        >>> LossGrid(1.0, 0, np.ones(1), 0.0, lost=1e-14).hidden(np.zeros(1))
        array([1.e-14])
        """
        # privacy: what is missing above epsilon counts by no more than its scale there.
        return self.lost * np.exp(self._exponents(epsilons))

    def _exponents(self, losses: Array) -> Array:
        """Return the logarithm of what makes tilted masses plain ones."""
        # Capped where a curve is above 1 whatever its masses are.
        return np.minimum(self.log_scale - self.tilt * losses, 600.0)

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


def _power(numbers: Array, times: int) -> Array:
    """Return powers of complex numbers of at most about 1; vanishing ones are zero."""
    result = np.zeros_like(numbers)
    # Most vanish, and far below what transforms round by: they are not worth their logarithms.
    some = numbers.real**2 + numbers.imag**2 > _VANISHING ** (2.0 / times)
    result[some] = numbers[some] ** float(times)
    return result
