"""Support vector losses with labels -1 and +1: the hinge and its smoothed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import positive
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.scalar import ScalarSlope


def _hinge_slope(z: float, y: float) -> float:
    return -y if y * z < 1.0 else 0.0


def _huberised_slope(z: float, y: float, width: float) -> float:
    share = (1.0 + width - y * z) / (2.0 * width)
    return -y * min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class Hinge(Loss):
    """The hinge loss ``max(0, 1 - y z)``: slope between 0 and ``-y``, not smooth.

    Objective perturbation needs curvature bounds and refuses it; use
    :class:`HuberisedHinge` there. Output perturbation and localization accept it.

    References
    ----------
    Cortes, Vapnik, *Support-vector networks*, Machine Learning 20 (1995).

    Examples
    --------
    >>> Hinge().value(np.array([-1.0, 0.5, 2.0]), np.array([1.0, 1.0, 1.0]))
    array([2. , 0.5, 0. ])
    """

    name: ClassVar[str] = "hinge"
    proved_convex: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    smoothed: ClassVar[str | None] = "huberised-hinge"
    target: ClassVar[Target] = "sign"

    def value(self, z: Array, y: Array) -> Array:
        return np.maximum(0.0, 1.0 - y * z)

    def slope(self, z: Array, y: Array) -> Array:
        return np.where(y * z < 1.0, -y, 0.0)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _hinge_slope, ()

    def curvature(self, z: Array, y: Array) -> Array:
        return np.zeros_like(z)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(1.0, 1.0), smoothness=math.inf, one_signed=True)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return y * crossing(y * level, -1.0, 0.0, np.ones_like(y))

    def corner(self, y: Array) -> tuple[Array, Array, Array]:
        return y, np.minimum(-y, 0.0), np.maximum(-y, 0.0)  # at y, since labels are -1 and 1

    def rounded(self, width: float) -> tuple[Loss, float]:
        return HuberisedHinge(width=width), 1.0


@dataclass(frozen=True, kw_only=True)
class HuberisedHinge(Loss):
    """The hinge loss with its corner rounded over ``[1 - width, 1 + width]``.

    With ``m = y z`` and ``h = width`` it is 0 for ``m > 1 + h``,
    ``(1 + h - m)^2 / (4 h)`` within ``h`` of 1, and ``1 - m`` below. The slope
    lies between 0 and ``-y``; the curvature is at most ``1 / (2 h)``.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate, *Differentially private empirical risk
    minimization*, JMLR 12 (2011).

    Examples
    --------
    >>> HuberisedHinge(width=0.5).value(np.array([-1.0, 1.0]), np.array([1.0, 1.0]))
    array([2.   , 0.125])
    """

    width: float = 0.5
    name: ClassVar[str] = "huberised-hinge"
    proved_convex: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    target: ClassVar[Target] = "sign"

    def __post_init__(self) -> None:
        positive("width", self.width)

    def _share(self, z: Array, y: Array) -> Array:
        return np.clip((1.0 + self.width - y * z) / (2.0 * self.width), 0.0, 1.0)

    def value(self, z: Array, y: Array) -> Array:
        share = self._share(z, y)
        return share * (1.0 + self.width - y * z) - self.width * share**2

    def slope(self, z: Array, y: Array) -> Array:
        return -y * self._share(z, y)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _huberised_slope, (self.width,)

    def curvature(self, z: Array, y: Array) -> Array:
        return np.where(np.abs(1.0 - y * z) < self.width, 0.5 / self.width, 0.0)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(1.0, 1.0), smoothness=0.5 / self.width, one_signed=True)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        signed = y * level
        return y * crossing(signed, -1.0, 0.0, 1.0 + self.width + 2.0 * self.width * signed)

    def offset(self) -> float:
        return 1.0 + self.width
