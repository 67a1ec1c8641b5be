"""Exponential densities on runs of integers: exact draws and exact sums.

On ``i = 0 .. count - 1`` with probability proportional to ``exp(-slope * i)``
the binary digits of ``i`` are independent coins, with log-odds ``-slope *
2**b``, as long as ``count`` is a power of two; otherwise what lies beyond
``count`` is drawn again. So a draw needs fair bits and exact coins only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp, mpf

from discreet.bounds import Array, Integers
from discreet.noise import Randomness, signs


def truncated(slope: Array, counts: Integers, random: Randomness) -> Integers:
    """Return one integer per slope, exactly from its truncated geometric law.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> truncated(np.array([50.0, -50.0]), np.array([8, 8]), Seeded(0)).tolist()
    [0, 7]
    """
    index = np.zeros(slope.size, np.int64)
    open_ = np.arange(slope.size)
    digits = np.frexp((counts - 1).astype(np.float64))[1]  # bits of the largest index
    while open_.size:
        width = digits[open_]
        owner = np.repeat(np.arange(open_.size), width)
        place = np.arange(owner.size) - np.repeat(np.cumsum(width) - width, width)
        # Scaling by a power of two is exact, so the coins have exactly the odds of the digits.
        odds = -np.ldexp(np.abs(slope[open_])[owner], place)
        drawn = np.zeros(open_.size, np.int64)
        if owner.size:
            heads = signs(np.maximum(odds, -1e300), random)
            np.add.at(drawn, owner, heads.astype(np.int64) << place)
        index[open_] = drawn
        open_ = open_[drawn >= counts[open_]]
    return np.where(slope < 0.0, counts - 1 - index, index)


def log_sum(slope: Array, counts: Integers) -> Array:
    """Return ``log sum_i exp(-slope * t_i)`` with ``t_i = i - (count - 1) / 2``.

    Measured from the middle it is even in the slope and has no cancellation;
    the error is below ``2**-48 (2 + |slope| count + log count)``.

    >>> log_sum(np.array([0.0]), np.array([8])).round(6)
    array([2.079442])
    """
    return np.log(counts) + _log_sinhc(0.5 * slope * counts) - _log_sinhc(0.5 * slope)


def mean_offset(slope: Array, counts: Integers) -> Array:
    """Return the mean of the same law, measured from the middle; a rough float64 value.

    >>> mean_offset(np.array([0.0, 50.0]), np.array([8, 8])).round(2) + 0.0
    array([ 0.  , -3.98])
    """
    turns = slope * counts
    small = np.abs(turns) < 1e-3
    safe = np.where(small, 1.0, turns)
    return np.asarray(counts * np.where(small, -turns / 12.0, 1.0 / safe - 0.5 / np.tanh(safe / 2)))


def exact_log_sum(slope: float, count: int) -> Any:
    """Return the same sum at mpmath's working precision."""
    if slope == 0.0 or count == 1:
        return mp.log(count)
    half = mpf(abs(slope)) / 2
    return mp.log(mp.sinh(half * count) / mp.sinh(half))


def _log_sinhc(x: Array) -> Array:
    """Return ``log(sinh(x) / x)``."""
    size = np.abs(x)
    small = size < 1e-2
    safe = np.where(small, 1.0, size)
    far = safe + np.log(-np.expm1(-2.0 * safe)) - np.log(2.0 * safe)
    square = np.where(small, size, 0.0) ** 2
    near = square / 6.0 - square**2 / 180.0 + square**3 / 2835.0
    return np.where(small, near, far)
