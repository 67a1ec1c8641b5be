"""What slopes of one number are made of when a compiler reads them.

See :meth:`discreet.losses.Loss.scalar_slope`. Everything here is plain
arithmetic, which compilers turn into vector instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

ScalarSlope: TypeAlias = Callable[..., float]
"""A function of ``z``, ``y`` and the parameters of the loss."""

_INVERSE_LOG_2 = 1.4426950408889634
# The logarithm of 2 in two parts, the first short enough for exact products.
_LOG_2 = 6.93147180369123816490e-01
_LOG_2_REST = 1.90821492927058770002e-10


def exp(x: Any) -> Any:
    """Return ``e^x`` to two units in the last place, with ``x`` cut to ``[-708, 709]``.

    A ``x`` that is not a number counts as -708.

    >>> float(exp(0.0)), round(float(exp(1.0)), 12), float(exp(-1e9)) < 1e-307
    (1.0, 2.718281828459, True)
    """
    x = x if x > -708.0 else -708.0
    x = x if x < 709.0 else 709.0
    k = np.rint(x * _INVERSE_LOG_2)
    r = (x - k * _LOG_2) - k * _LOG_2_REST
    s = r * r
    # The Taylor series, even and odd powers apart so that they do not wait for each other. |r| is
    # at most log(2) / 2, so what is left out is below rounding.
    even = 2.08767569878681e-09
    even = even * s + 2.755731922398589e-07
    even = even * s + 2.48015873015873e-05
    even = even * s + 0.001388888888888889
    even = even * s + 0.041666666666666664
    even = even * s + 0.5
    odd = 1.6059043836821613e-10
    odd = odd * s + 2.505210838544172e-08
    odd = odd * s + 2.7557319223985893e-06
    odd = odd * s + 0.0001984126984126984
    odd = odd * s + 0.008333333333333333
    odd = odd * s + 0.16666666666666666
    power = 1.0 + (r + (s * even + s * r * odd))
    # The bits of the float 2^k.
    bits = (np.int64(np.int32(k)) + np.int64(1023)) << np.int64(52)
    return power * np.int64(bits).view(np.float64)
