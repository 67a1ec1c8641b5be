"""Coins of exactly the chance that was asked for.

A float64 evaluation with an error bound decides nearly every coin. Where it
cannot, further bits of the *same* uniform are drawn and compared in
multi-precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from discreet.bounds import Array
from discreet.errors import NotCertified
from discreet.noise.randomness import Randomness

Mask = npt.NDArray[np.bool_]


def finite_scores(values: Array) -> Array:
    """Return a vector of finite numbers, or refuse without naming any."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size or not np.isfinite(x).all():
        raise NotCertified(
            "The scores of a private choice are not finite numbers, so no choice was made. Bound "
            "the rows."
        )
    return x


def signs(log_odds: Array, random: Randomness) -> Mask:
    """Return independent coins, each true with probability ``1 / (1 + exp(-log_odds))``.

    >>> from discreet.noise import Seeded
    >>> signs(np.array([60.0, -60.0]), Seeded(0))
    array([ True, False])
    """
    odds = finite_scores(log_odds)
    words = random.words(odds.size)
    u = words.astype(np.float64) * 2.0**-64
    with np.errstate(over="ignore"):
        chance = 1.0 / (1.0 + np.exp(-odds))
    # privacy: a coin is decided in float64 only if no error could turn it over.
    error = 2.0**-51 + 2.0**-46 * (1.0 + np.abs(odds)) * np.minimum(chance, 1.0 - chance)
    heads = u < chance
    for i in np.flatnonzero(~(np.abs(u - chance) > error)):
        heads[i] = _flip_exactly(int(words[i]), partial(_chance, float(odds[i])), random)
    return heads


def _chance(log_odds: float) -> Any:
    return 1 / (1 + mp.exp(-mpf(log_odds)))


def below_exp(exponent: float, error: float, exact: Callable[[], Any], random: Randomness) -> bool:
    """Return true with probability exactly ``exp(exponent)``, for exponents of at most 0.

    Parameters
    ----------
    exponent, error
        The exponent in float64 and a bound on its distance from the exact one.
    exact
        Returns the exact exponent at mpmath's working precision; called only
        when ``error`` leaves the coin open.
    random
        Where the bits come from.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> below_exp(-1e-9, 1e-12, lambda: mpf(-1e-9), Seeded(0))
    True
    """
    bits = int(random.words(1)[0])
    chance, u = math.exp(min(exponent, 0.0)), bits * 2.0**-64
    if abs(u - chance) > 2.0**-50 + 2.0 * error:
        return u < chance
    return _flip_exactly(bits, lambda: mp.exp(exact()), random)


def below_exps(rate: float, counts: npt.NDArray[np.int64], random: Randomness) -> Mask:
    """Return independent coins, each true with probability exactly ``min(1, exp(-rate * count))``.

    Parameters
    ----------
    rate
        A positive number.
    counts
        One whole number per coin, of size below 2**53.
    random
        Where the bits come from.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> below_exps(1.0, np.array([-3, 0, 900]), Seeded(0))
    array([ True,  True, False])
    """
    words = random.words(counts.size)
    u = words.astype(np.float64) * 2.0**-64
    exponent = -rate * np.maximum(counts, 0).astype(np.float64)
    chance = np.exp(exponent)
    # privacy: a coin is decided in float64 only if no error could turn it over.
    error = 2.0**-51 + 2.0**-46 * (1.0 - exponent) * chance
    heads = (u < chance) | (counts <= 0)
    for i in np.flatnonzero(~(np.abs(u - chance) > error) & (counts > 0)):
        heads[i] = _flip_exactly(int(words[i]), partial(_exp, rate, int(counts[i])), random)
    return heads


def _exp(rate: float, count: int) -> Any:
    return mp.exp(-mpf(rate) * count)


def coin(chance: Callable[[], Any], random: Randomness) -> bool:
    """Return true with probability exactly ``chance()``, computed at mpmath's working precision.

    >>> from discreet.noise import Seeded
    >>> coin(lambda: mpf(1), Seeded(0)), coin(lambda: mpf(0), Seeded(0))
    (True, False)
    """
    return _flip_exactly(int(random.words(1)[0]), chance, random)


def geometric(rate: float, random: Randomness) -> int:
    """Return a whole number that is at least ``k`` with probability exactly ``exp(-rate * k)``.

    It is ``floor(E / rate)`` of a standard exponential ``E``, drawn from the bits of one uniform.

    >>> from discreet.noise import Seeded
    >>> geometric(800.0, Seeded(0))
    0
    """
    bits, length = int(random.words(1)[0]), 64
    while True:
        # The uniform lies in [bits, bits + 1] / 2**length.
        with mp.workprec(length + 128):
            ends = [-mp.log(mp.ldexp(b, -length)) / mpf(rate) for b in (bits + 1, bits or 1)]
            pad = mp.ldexp(1, -length)
            low, high = mp.floor(ends[0] - pad), mp.floor(ends[1] + pad)
        # privacy: nothing is returned before the known bits leave one number only.
        if bits and low == high:
            return max(int(low), 0)
        bits, length = bits << 64 | int(random.words(1)[0]), length + 64


def _flip_exactly(bits: int, chance: Callable[[], Any], random: Randomness) -> bool:
    """Return whether a uniform that begins with 64 known bits is below an exact chance."""
    length = 64
    while True:
        with mp.workprec(length + 128):
            scaled = mp.ldexp(chance(), length)
            pad = mp.ldexp(1, -32)
            if bits + 1 <= scaled - pad:
                return True
            if bits >= scaled + pad:
                return False
        # privacy: continue the same draw; a fresh one would favour clear outcomes.
        bits, length = bits << 64 | int(random.words(1)[0]), length + 64
