"""How bounded rows are stored: float64, or float32 for rows that come in float32.

Bounds hold for what is stored. Rows are made a little shorter than their limit
before they are rounded to float32, by more than rounding can add, and norms are
rounded up by as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data.norms import TINY
from discreet.data.storage.source import Source

NARROW_ROUNDOFF = math.ldexp(1.0, -24)
"""The largest relative error of one rounding in float32."""

NARROW_RANGE = math.ldexp(1.0, 30)
"""Norms and clips up to this, and down to its inverse, are far from the ends of float32."""


@dataclass(frozen=True)
class Storage:
    """What storing rows with fewer digits asks of their bounds.

    Parameters
    ----------
    dtype
        Type of the stored numbers.
    shrink
        Factor on the limit of a row before its numbers are rounded.
    growth
        Factor by which rounding can make a row longer.
    tiny
        Rows shorter than this become zero, because their digits could get lost.

    Examples
    --------
    >>> NARROW.shrink * NARROW.growth < 1.0
    True
    """

    dtype: Any
    shrink: float
    growth: float
    tiny: float

    def below(self, value: float) -> float:
        """Return the largest stored number that is not above a positive ``value``.

        >>> NARROW.below(0.1) < 0.1 == WIDE.below(0.1)
        True
        """
        near = self.dtype(value)
        # Compared in float64: numpy would round the value as well.
        return float(near if float(near) <= value else np.nextafter(near, self.dtype(0.0)))


WIDE = Storage(np.float64, 1.0, 1.0, TINY)
# privacy: rounding adds at most u to a norm, relatively; so the stored row is within its limit.
NARROW = Storage(
    np.float32, 1.0 - 4.0 * NARROW_ROUNDOFF, 1.0 + 2.0 * NARROW_ROUNDOFF, math.ldexp(1.0, -60)
)


def in_range(*sizes: float) -> bool:
    """Return whether sizes are so far from the ends of float32 that nothing is lost there.

    >>> in_range(1.0, 1e-3), in_range(1e-30)
    (True, False)
    """
    return all(1.0 / NARROW_RANGE <= size <= NARROW_RANGE for size in sizes)


def storage_of(source: Source, limit: float, intercept: float) -> Storage:
    """Return how rows of that norm and intercept are stored; all of it is public.

    >>> from discreet.data.storage.source import ArraySource
    >>> storage_of(ArraySource(np.ones((2, 1), dtype=np.float32)), 1.0, 0.0) is NARROW
    True
    """
    # A source that does not say its type is taken to have float64.
    same = getattr(source, "dtype", None) == np.float32
    return NARROW if same and in_range(limit, intercept or limit) else WIDE
