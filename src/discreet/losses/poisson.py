"""Regression of counts with a logarithmic link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.checks import positive
from discreet.errors import InvalidParameter
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.scalar import ScalarSlope, exp


def _slope(z: float, y: float, limit: float) -> float:
    rate: float = exp(min(max(z, -limit), limit))
    return rate - y


@dataclass(frozen=True, kw_only=True)
class Poisson(Loss):
    """The Poisson loss ``exp(z) - y z``, continued linearly beyond ``|z| = limit``.

    The continuation keeps it convex with a continuous slope
    ``exp(clip(z, -limit, limit)) - y`` in ``[-label, exp(limit)]`` and
    curvature at most ``exp(limit)``. The log-rate of the model is thereby
    trusted only up to ``limit``, which must be a public constant.

    References
    ----------
    McCullagh, Nelder, *Generalized linear models*, 2nd edition (1989). The
    continuation follows the extension argument of Kifer, Smith, Thakurta,
    COLT 2012.

    Examples
    --------
    >>> Poisson(limit=3.0).slope(np.array([0.0, 1e4]), np.array([2.0, 2.0])).round(3)
    array([-1.   , 18.086])
    """

    limit: float = 3.0
    name: ClassVar[str] = "poisson"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    target: ClassVar[Target] = "count"

    def __post_init__(self) -> None:
        # exp(limit) is a constant of the privacy proof and has to stay a usable number.
        if positive("limit", self.limit) > 50.0:
            raise InvalidParameter(
                f"limit must be at most 50. Got {self.limit!r}: noise grows with exp(limit). "
                "Give the largest log-rate that is plausible."
            )

    def value(self, z: Array, y: Array) -> Array:
        inner = np.clip(z, -self.limit, self.limit)
        return np.exp(inner) * (1.0 + z - inner) - y * z

    def slope(self, z: Array, y: Array) -> Array:
        return np.exp(np.clip(z, -self.limit, self.limit)) - y

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, (self.limit,)

    def curvature(self, z: Array, y: Array) -> Array:
        return np.where(np.abs(z) < self.limit, np.exp(np.clip(z, -self.limit, self.limit)), 0.0)

    def curvature_near(self, z: Array, y: Array, slack: Array) -> Array:
        # Beyond the limit only the rounding of exp is left, for which certificates take a bend
        # times the offset below.
        curved = np.abs(z) < self.limit * (1.0 + 2.0**-50) + 1.01 * slack
        rounding = 2.0 * unit_roundoff() * self.offset()
        rate = np.exp(np.clip(z + 1.01 * slack, -self.limit, self.limit))
        return np.where(curved, rate, rate * rounding / (slack + rounding))

    def regularity(self, *, label: float, reach: float) -> Regularity:
        top = min(self.limit, reach)
        return scalar_regularity(
            slopes=(max(0.0, label - math.exp(-top)), math.exp(top)), smoothness=math.exp(top)
        )

    def slope_inverse(self, level: Array, y: Array) -> Array:
        low, high = math.exp(-self.limit), math.exp(self.limit)
        rate = level + y
        return crossing(rate, low, high, np.log(np.clip(rate, low, high)))

    def offset(self) -> float:
        # exp is off by up to two units in the last place of a number below the smoothness.
        return 2.0
