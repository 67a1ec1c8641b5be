"""Exact coins and discrete laws: no probability here is a rounded one.

Draws are made in float64 with an error bound. Where the bound leaves a draw
open, the same uniform is continued with further bits and compared in
multi-precision arithmetic, as in :mod:`discreet.noise.rounded_draws`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf
from mpmath.libmp import from_float, from_int, mpf_div, mpf_exp, mpf_neg, to_fixed

from discreet.bounds import Array
from discreet.checks import positive
from discreet.errors import InvalidParameter
from discreet.noise import Randomness
from discreet.noise.grid import MOST_STEPS
from discreet.noise.rounded_draws import REL, draw_exactly, nearest, tail_bits

_REACH = 178.0  # P(G > 178 scale) < 2**-256


def geometric(scale: float, n: int, random: Randomness) -> Array:
    """Return ``n`` whole numbers with ``P(G >= k) = exp(-k / scale)``, exactly.

    >>> from discreet.noise import Seeded
    >>> draws = geometric(5.0, 2000, Seeded(0))
    >>> bool(abs(draws.mean() - 1 / np.expm1(1 / 5.0)) < 0.5)
    True
    """
    scale = positive("scale", scale)
    if scale * _REACH > MOST_STEPS or scale < 2.0**-10:
        raise InvalidParameter(
            "scale must lie between 2**-10 and 2**43 units. Use an epsilon or max_epsilon that is "
            "less extreme, or a coarser or finer unit."
        )

    def tail(k: int, precision: int) -> tuple[int, int]:
        power = mpf_neg(mpf_div(from_int(k), from_float(scale), precision + 32))
        middle = int(to_fixed(mpf_exp(power, precision + 32), precision))
        return middle - 16, middle + 16

    bits = tail_bits(random.words(n))
    position = bits.astype(np.float64)
    y = np.log((position + 0.5) * 2.0**-63)
    np.negative(y, out=y)
    error = (y + 1) * REL + 1 / np.maximum(position, 1.0)
    error[position < 1] = np.inf
    # floor(E * scale) for an exponential E; half a unit down turns floor into rint.
    k, open_ = nearest(y * scale - 0.5, error * scale + 2.0**-40)
    for i in open_:
        k[i] = draw_exactly(int(bits[i]), tail, int(max(k[i], 0)), random)
    return k + 0.0


def discrete_laplace(scale: float, n: int, random: Randomness) -> Array:
    """Return ``n`` whole numbers with ``P(k)`` proportional to ``exp(-|k| / scale)``, exactly.

    >>> from discreet.noise import Seeded
    >>> bool((discrete_laplace(2.0, 100, Seeded(0)) % 1 == 0).all())
    True
    """
    # The difference of two independent geometric variables has exactly this law.
    return geometric(scale, n, random) - geometric(scale, n, random)


def keep_probability(above: float, below: float) -> float:
    """Return the chance that noise of scale ``above`` stays as it was at scale ``below``.

    >>> round(keep_probability(5.0, 2.0), 8)
    0.15723098
    """
    return (math.sinh(1 / (2 * above)) / math.sinh(1 / (2 * below))) ** 2


def keep_coins(above: float, below: float, n: int, random: Randomness) -> npt.NDArray[np.bool_]:
    """Return ``n`` coins that show True with exactly that probability.

    >>> from discreet.noise import Seeded
    >>> bool(abs(keep_coins(5.0, 2.0, 4000, Seeded(0)).mean() - 0.157) < 0.03)
    True
    """
    words = random.words(n)
    edge = keep_probability(above, below) * 2.0**64
    gap = words.astype(np.float64) - edge
    heads: npt.NDArray[np.bool_] = gap < 0
    for i in np.flatnonzero(np.abs(gap) < 2.0**24):  # float64 decides the others for certain
        heads[i] = _exact_coin(int(words[i]), above, below, random)
    return heads


def _exact_coin(bits: int, above: float, below: float, random: Randomness) -> bool:
    length = 64
    while True:
        with mp.workprec(length + 96):
            chance: Any = mp.sinh(1 / (2 * mpf(above))) / mp.sinh(1 / (2 * mpf(below)))
            middle = int(mp.floor(mp.ldexp(chance**2, length + 32)))
        if (bits + 1) << 32 <= middle - 16:
            return True
        if bits << 32 >= middle + 16:
            return False
        # privacy: continue this coin; a fresh one would favour the easy outcomes.
        bits, length = bits << 64 | int(random.words(1)[0]), length + 64
