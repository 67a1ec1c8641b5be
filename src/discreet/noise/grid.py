"""The grid every release lives on.

A value ``x`` is released as ``step * (rint(x / step) + rint(Z / step))``.
Because the first term is an integer, the sum equals ``rint`` of the ideal
continuous release of ``rint(x / step)``: rounding is post-processing, low-order
bits carry nothing, and continuous accounting applies. The price is that
rounding ``x`` may move neighbours apart by one step a coordinate, which
:meth:`Grid.surcharged` adds to the sensitivity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer, nonnegative, one_of, positive
from discreet.errors import InvalidParameter, NotCertified

# Value and noise each stay below 2^51 steps, so every sum is an exact float64 integer.
MOST_STEPS = 2.0**51

# Relative to the sensitivity: a step finer than the first gains nothing and slows exact rounding,
# and the surcharge of many coordinates stays below the second.
_FINEST, _AIM = 2.0**-24, 2.0**-16
_LIMIT = 2.0**-6  # surcharge refused
_STEPS_APART: dict[str, Callable[[int], float]] = {
    "l2": math.sqrt,
    "l1": float,
    "linf": lambda dim: 1.0,
}


@dataclass(frozen=True)
class Grid:
    """Multiples of a public step, up to a public reach.

    Parameters
    ----------
    step
        Distance between grid points, a power of two.
    reach
        Values are clipped to ``[-reach, reach]``, coordinate by coordinate.

    Examples
    --------
    >>> grid = Grid(step=0.25, reach=2.0)
    >>> grid.round(np.array([0.3, -9.0])).tolist()
    [0.25, -2.0]
    >>> Grid.choose(sensitivity=1.0, dim=4, reach=100.0).step == 2.0**-24
    True
    """

    step: float
    reach: float

    def __post_init__(self) -> None:
        step, reach = positive("step", self.step), nonnegative("reach", self.reach)
        if math.frexp(step)[0] != 0.5 or not 2.0**-900 <= step <= 2.0**900:
            raise InvalidParameter("step must be a power of two between 2**-900 and 2**900.")
        if reach / step > MOST_STEPS:
            raise InvalidParameter(
                "reach is more than 2**51 steps, where float64 no longer holds every grid "
                "point. Use a larger step or a smaller reach."
            )
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "reach", reach)

    @classmethod
    def choose(cls, *, sensitivity: float, dim: int, norm: str = "l2", reach: float) -> Grid:
        """Return a grid with steps of about 2**-24 of the sensitivity.

        With so many coordinates that rounding them would add more than 2**-16 to the
        sensitivity, steps are smaller.

        Parameters
        ----------
        sensitivity
            How far neighbours may be apart before rounding.
        dim
            Number of coordinates.
        norm
            The norm of the sensitivity: ``"l2"``, ``"l1"`` or ``"linf"``.
        reach
            Largest magnitude a coordinate may have; a wide reach coarsens the step.
        """
        sensitivity = positive("sensitivity", sensitivity)
        reach = nonnegative("reach", reach)
        apart = _STEPS_APART[one_of("norm", norm, _STEPS_APART)](integer("dim", dim))
        step = 2.0 ** math.floor(math.log2(sensitivity * min(_FINEST, _AIM / apart)))
        while reach / step > MOST_STEPS:
            step *= 2
        if apart * step > _LIMIT * sensitivity:
            raise InvalidParameter(
                "Values and noise reach too far for this sensitivity: float64 has no grid that "
                "is both wide and fine enough, and rounding would cost more than 1/64 of the "
                "sensitivity. Use a larger epsilon, a smaller reach, or fewer coordinates."
            )
        return cls(step, reach)

    def surcharged(self, sensitivity: float, dim: int, norm: str = "l2") -> float:
        """Return the sensitivity of the rounded value, never rounded down.

        >>> Grid(step=0.25, reach=1.0).surcharged(1.0, 4, "l2")
        1.5000000000000002
        """
        # privacy: |rint(a) - rint(b)| <= |a - b| + 1 in every coordinate; clipping contracts.
        sensitivity = nonnegative("sensitivity", sensitivity)
        apart = _STEPS_APART[one_of("norm", norm, _STEPS_APART)](integer("dim", dim))
        return math.nextafter(sensitivity + math.nextafter(apart, math.inf) * self.step, math.inf)

    def round(self, x: Array) -> Array:
        """Return ``x`` clipped to the reach and moved to the nearest grid point."""
        x = np.asarray(x, dtype=np.float64)
        if not np.isfinite(x).all():
            raise NotCertified(
                "The value to release is not finite, so no noise can cover it and nothing "
                "was released. Bound the rows, or add strength to the problem."
            )
        # Division and product by a power of two are exact, so only rint rounds.
        whole: Array = np.rint(np.minimum(np.maximum(x, -self.reach), self.reach) / self.step)
        # privacy: adding 0.0 turns -0.0 into 0.0; the sign of a zero is a data bit.
        return (whole + 0.0) * self.step

    def displacement(self, dim: int) -> float:
        """Return the furthest that rounding moves a vector in Euclidean norm.

        >>> Grid(step=0.5, reach=1.0).displacement(4) >= 0.5
        True
        """
        return math.nextafter(math.sqrt(integer("dim", dim)), math.inf) * self.step / 2


def fitting_ratio(name: str, scale: float, grid: Grid, tail: float) -> float:
    """Return ``scale / grid.step`` if noise of that scale fits the grid.

    ``tail * scale`` is what the noise exceeds with probability below 2**-256; it
    must stay below 2**51 steps, so that sums with values are exact.

    >>> fitting_ratio("sigma", 1.0, Grid(0.5, 1.0), 19.0)
    2.0
    """
    ratio = scale / grid.step
    if ratio * tail > MOST_STEPS:
        raise InvalidParameter(
            "The noise is too wide: float64 cannot hold its tail in whole steps of the grid. Use "
            f"a larger epsilon (a smaller {name}), or a grid with a larger step."
        )
    if ratio < 2.0**-10:
        raise InvalidParameter(
            "The noise is too narrow: below 1/1024 of the grid's step nearly all noise would round "
            f"to zero. Use a smaller epsilon (a larger {name}), or a grid with a smaller step."
        )
    return ratio
