"""Noise that can be taken away: releases from private to accurate, paid once.

Every path ``v_1, v_2, ..., v_T`` of releases has two properties. Each ``v_t``
alone has the law of a fresh release at level ``t``; and ``v_1 .. v_{t-1}`` are
a random function of ``v_t``. So a prefix costs what its last release costs.

======================  =====================================  ==============
class                   noise at a level                       arithmetic
======================  =====================================  ==============
IntegerLaplaceReduction discrete Laplace, one coin each        exact
LaplaceReduction        Laplace, one coin each, O(p) memory    floating point
GammaReduction          density exp(-|z|_2 / scale)            floating point
BrownianReduction       Gaussian                               floating point
======================  =====================================  ==============

References
----------
Koufogiannis, Han, Pappas, *Gradual release of sensitive data under
differential privacy*, 2016. Ligett, Neel, Roth, Waggoner, Wu, *Accuracy
first*, 2017. Whitehouse, Ramdas, Wu, Rogers, *Brownian noise reduction*, 2022.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.adaptive.discrete import discrete_laplace, keep_coins
from discreet.bounds import Array
from discreet.checks import positive
from discreet.errors import InvalidParameter
from discreet.noise import Randomness
from discreet.noise.rounded_draws import normal

FLOATING_POINT = "noise is drawn in floating point: its low-order bits are not covered by the proof"
"""Assumption of every path that is not drawn in exact integers."""


def check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return the levels as increasing positive floats.

    >>> check_levels([0.5, 1])
    (0.5, 1.0)
    """
    found = tuple(positive("levels", level) for level in levels)
    if not found or any(a >= b for a, b in pairwise(found)):
        raise InvalidParameter("levels must be given in increasing order, each one once.")
    return found


def geometric_levels(
    top: float, *, ratio: float = math.sqrt(2.0), count: int = 23
) -> tuple[float, ...]:
    """Return ``count`` levels that grow by ``ratio`` and end at ``top``.

    >>> [round(level, 3) for level in geometric_levels(2.0, ratio=2.0, count=3)]
    [0.5, 1.0, 2.0]
    """
    positive("top", top)
    return check_levels([top * ratio ** (k + 1 - count) for k in range(count)])


def uniform(n: int, random: Randomness) -> Array:
    """Return ``n`` numbers in (0, 1], in floating point."""
    return np.asarray((random.words(n).astype(np.float64) + 0.5) * 2.0**-64)


def gaussian(n: int, random: Randomness) -> Array:
    """Return ``n`` standard normal numbers, in floating point."""
    return normal(random.words(n))[0]


@dataclass(frozen=True)
class _Weighted:
    """A scale of noise for every coordinate, and the levels."""

    weights: Array
    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=np.float64)
        sound = weights.ndim == 1 and weights.size and (np.isfinite(weights) & (weights > 0)).all()
        if not sound:
            raise InvalidParameter("weights must be a vector of positive finite numbers.")
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "levels", check_levels(self.levels))


@dataclass(frozen=True)
class IntegerLaplaceReduction(_Weighted):
    """Discrete Laplace noise on whole numbers, without any rounding.

    Coordinate ``j`` at level ``e`` carries noise of law ``exp(-|k| e / w_j)``.
    With discrete laws of scales ``a > b`` the noise at ``a`` is the noise at
    ``b``, kept with probability ``(sinh(1/2a) / sinh(1/2b))^2``, or that plus a
    fresh draw at ``a``: the generating functions agree.

    Parameters
    ----------
    weights
        ``w`` with ``sum_j |f_j(D) - f_j(D')| / w_j <= 1`` for all neighbours.
    levels
        Increasing epsilons; level ``t`` and all before it cost ``levels[t]``.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> path = IntegerLaplaceReduction(np.array([1000.0, 500.0]), (0.1, 1.0, 10.0))
    >>> [bool((v % 1 == 0).all()) for v in path.path(np.zeros(2), Seeded(0))]
    [True, True, True]
    """

    def path(self, value: Array, random: Randomness) -> Iterator[Array]:
        """Yield the releases of whole numbers ``value``, most private first."""
        _same_shape(value, self.weights)
        # Coordinates of one weight share their laws; what changes on the way down is kept.
        groups = [np.flatnonzero(self.weights == w) for w in np.unique(self.weights)]
        noise = np.empty_like(self.weights)
        top = self.levels[-1]
        for group in groups:
            noise[group] = discrete_laplace(self.weights[group[0]] / top, len(group), random)
        changes = []
        for low, high in zip(self.levels[-2::-1], self.levels[:0:-1], strict=True):
            places, jumps = [], []
            for group in groups:
                above, below = self.weights[group[0]] / low, self.weights[group[0]] / high
                # privacy: one coin per coordinate; a shared coin would reveal the vector
                moved = group[~keep_coins(above, below, len(group), random)]
                places.append(moved)
                jumps.append(discrete_laplace(above, len(moved), random))
            where, size = np.concatenate(places), np.concatenate(jumps)
            noise[where] += size
            changes.append((where, size))
        yield value + noise
        for where, size in reversed(changes):
            noise[where] -= size
            yield value + noise


@dataclass(frozen=True)
class LaplaceReduction(_Weighted):
    """Laplace noise that shrinks step by step, in memory of one vector.

    Levels are visited from private to accurate and need no end: the step from
    rate ``c`` to ``a`` draws the finer noise given the coarser one.

    Parameters
    ----------
    weights, levels
        As for :class:`IntegerLaplaceReduction`.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> path = LaplaceReduction(np.ones(3), (0.1, 1e9))
    >>> last = list(path.path(np.array([1.0, 2.0, 3.0]), Seeded(0)))[-1]
    >>> last.round(6)
    array([1., 2., 3.])
    """

    def path(self, value: Array, random: Randomness) -> Iterator[Array]:
        """Yield the releases of ``value``, most private first."""
        _same_shape(value, self.weights)
        level = self.levels[0]
        sign = np.where(uniform(value.size, random) < 0.5, -1.0, 1.0)
        noise = -sign * np.log(uniform(value.size, random)) / level
        yield value + self.weights * noise
        for finer in self.levels[1:]:
            noise = refine(noise, level, finer, random)
            level = finer
            yield value + self.weights * noise


def refine(noise: Array, rate: float, finer: float, random: Randomness) -> Array:
    """Return Laplace noise of rate ``finer`` given the noise of a smaller ``rate``.

    >>> from discreet.noise import Seeded
    >>> x = refine(np.full(4000, 0.7), 0.5, 2.0, Seeded(0))
    >>> bool(abs((x == 0.7).mean() - 0.0875) < 0.02)
    True
    """
    gap, both = finer - rate, finer + rate
    sign, r = np.where(noise < 0, -1.0, 1.0), np.abs(noise)
    fade, rise = np.exp(-gap * r), -np.expm1(-gap * r)
    keep = uniform(r.size, random) <= rate / finer * fade
    masses = np.array([np.full_like(r, 1 / both), rise / gap, fade / both])
    edges = np.cumsum(masses, axis=0)
    pick = uniform(r.size, random) * edges[2]
    u = uniform(r.size, random)
    tail = np.log(u) / both
    inner = np.clip(-np.log1p(-u * rise) / gap, 0.0, r)
    drawn = np.where(pick <= edges[0], tail, np.where(pick <= edges[1], inner, r - tail))
    return np.where(keep, noise, sign * drawn)


@dataclass(frozen=True)
class GammaReduction:
    """Noise of density ``exp(-e |z|_2 / sensitivity)`` that can be taken away.

    Jumps are shared by all coordinates: they come at rate ``p + 1`` per unit of
    log epsilon, and one at scale ``b`` is ``sqrt(2 U) N(0, I)`` with ``U``
    exponential of mean ``b^2``; the characteristic function
    ``(1 + b^2 |s|^2)^(-(p+1)/2)`` of the noise is the product of theirs.

    Parameters
    ----------
    sensitivity
        Largest l2 distance between neighbours' values.
    levels
        Increasing epsilons.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> path = GammaReduction(1.0, (0.1, 1e9))
    >>> list(path.path(np.array([1.0, 2.0]), Seeded(0)))[-1].round(6)
    array([1., 2.])
    """

    sensitivity: float
    levels: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity))
        object.__setattr__(self, "levels", check_levels(self.levels))

    def path(self, value: Array, random: Randomness) -> Iterator[Array]:
        """Yield the releases of ``value``, most private first."""
        p, noise = value.size, gaussian(value.size, random)
        _same_shape(value, noise)
        radius = -np.log(uniform(p, random)).sum() * self.sensitivity / self.levels[-1]
        noise *= radius / np.linalg.norm(noise)
        stack = [noise]
        for low, high in zip(self.levels[-2::-1], self.levels[:0:-1], strict=True):
            depths = _arrivals(math.log(high / low), p + 1, random)
            # A jump at depth d below the higher level has the scale of that level.
            scales = self.sensitivity / high * np.exp(depths)
            sizes = scales * np.sqrt(-2 * np.log(uniform(len(depths), random)))
            noise = noise + sizes @ gaussian(len(depths) * p, random).reshape(-1, p)
            stack.append(noise)
        while stack:
            yield value + stack.pop()


@dataclass(frozen=True)
class BrownianReduction:
    """Gaussian noise of shrinking variance.

    Parameters
    ----------
    sensitivity
        Largest l2 distance between neighbours' values.
    costs
        Increasing zCDP costs: ``rho = sensitivity^2 / (2 variance)``.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> path = BrownianReduction(1.0, (0.1, 1e18))
    >>> list(path.path(np.array([1.0, 2.0]), Seeded(0)))[-1].round(6)
    array([1., 2.])
    """

    sensitivity: float
    costs: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitivity", positive("sensitivity", self.sensitivity))
        object.__setattr__(self, "costs", check_levels(self.costs))

    def path(self, value: Array, random: Randomness) -> Iterator[Array]:
        """Yield the releases of ``value``, most private first."""
        t = self.sensitivity**2 / (2 * self.costs[0])
        noise = math.sqrt(t) * gaussian(value.size, random)
        _same_shape(value, noise)
        yield value + noise
        for cost in self.costs[1:]:
            s = self.sensitivity**2 / (2 * cost)
            fresh = math.sqrt(s * (t - s) / t) * gaussian(value.size, random)
            noise, t = s / t * noise + fresh, s
            yield value + noise


def _arrivals(length: float, rate: float, random: Randomness) -> Array:
    """Return the times of a Poisson process up to ``length``."""
    times = np.zeros(1)
    while times[-1] < length:
        gaps = -np.log(uniform(16 + int(1.2 * rate * length), random)) / rate
        times = np.concatenate([times, times[-1] + np.cumsum(gaps)])
    return times[1:][times[1:] < length]


def _same_shape(value: Array, like: Array) -> None:
    if value.shape != like.shape or not np.isfinite(value).all():
        raise InvalidParameter(f"value must be a finite vector of {like.size} numbers.")
