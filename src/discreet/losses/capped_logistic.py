"""The logistic loss with a capped slope that still estimates the logit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from discreet.bounds import Array
from discreet.checks import between
from discreet.errors import InvalidParameter
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.logistic import far_bend
from discreet.losses.scalar import ScalarSlope, exp


def _slope(z: float, y: float, cap: float, knot: float) -> float:
    m = y * z
    small: float = exp(-abs(m))
    right = cap * small
    top = small if m > 0.0 else 1.0
    size = right if m > knot else top / (1.0 + small)
    return -y * (cap if m < -knot else size)


@dataclass(frozen=True, kw_only=True)
class CappedLogistic(Loss):
    """The logistic loss, changed beyond ``|z| = t = logit(cap)`` so that no slope exceeds ``cap``.

    With margin ``m = y z`` the slope is ``-cap`` for ``m < -t``, the logistic
    ``-1/(1 + exp(m))`` between, and ``-cap exp(-m)`` for ``m > t``. Slopes at
    ``m`` and ``-m`` keep the ratio ``exp(-m)``, so the minimiser of the expected
    loss is the logit of the class probability, as for the logistic loss: wrong
    rows count less, and right rows count less to match. Cutting the slope alone
    (:class:`Clipped`) would overstate every logit.

    A cap of 1/2 halves the noise of clipped gradient sums. The curvature is at
    most ``max(1/4, 1 - cap)`` and jumps at ``t``.

    Parameters
    ----------
    cap
        Largest slope, at least 1/2 and below 1.

    Examples
    --------
    >>> loss = CappedLogistic(cap=0.5)
    >>> loss.slope(np.array([-3.0, 0.0, 1.0]), np.ones(3)).round(4)
    array([-0.5   , -0.5   , -0.1839])
    """

    name: ClassVar[str] = "capped-logistic"
    target: ClassVar[Target] = "sign"

    cap: float = 0.5

    def __post_init__(self) -> None:
        cap = between("cap", self.cap, 0.0, 1.0)
        if cap < 0.5:
            raise InvalidParameter(
                f"cap must be at least 1/2, the slope at margin 0. Got {cap!r} instead."
            )
        object.__setattr__(self, "cap", cap)

    @property
    def _knot(self) -> float:
        return math.log(self.cap / (1.0 - self.cap))

    def value(self, z: Array, y: Array) -> Array:
        m, t, c = y * z, self._knot, self.cap
        edge = np.logaddexp(0.0, t)
        left = edge - c * (m + t)
        right = edge - t + c * (np.exp(-np.maximum(m, t)) - math.exp(-t))
        return np.where(m < -t, left, np.where(m > t, right, np.logaddexp(0.0, -m)))

    def slope(self, z: Array, y: Array) -> Array:
        m, t, c = y * z, self._knot, self.cap
        right = c * np.exp(-np.maximum(m, t))
        return -y * np.where(m < -t, c, np.where(m > t, right, expit(-m)))

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, (self.cap, self._knot)

    def curvature(self, z: Array, y: Array) -> Array:
        m, t, c = y * z, self._knot, self.cap
        right = c * np.exp(-np.maximum(m, t))
        middle = np.where(m > t, right, expit(m) * expit(-m))
        return np.where(m < -t, 0.0, middle)

    def bend(self, z: Array, y: Array, slack: Array) -> Array:
        return far_bend(z, slack, max(0.25, 1.0 - self.cap))

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(
            slopes=(self.cap, self.cap), smoothness=max(0.25, 1.0 - self.cap), one_signed=True
        )

    def slope_inverse(self, level: Array, y: Array) -> Array:
        signed, t, c = y * level, self._knot, self.cap
        size = np.clip(-signed, 1e-300, c)
        m = np.where(size < 1.0 - c, np.log(c / size), np.clip(-logit(size), -t, t))
        return y * crossing(signed, -c, 0.0, m)
