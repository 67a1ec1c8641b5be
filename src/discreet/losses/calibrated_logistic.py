"""The logistic loss with gradients capped row by row that still estimates the logit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit, logit

from discreet.accounting.terms import LossTerms
from discreet.bounds import Array, unit_roundoff
from discreet.checks import positive
from discreet.losses.base import Loss, Regularity, Target, scalar_regularity
from discreet.losses.logistic import curvature_far_out
from discreet.losses.scalar import ScalarSlope, exp


def _slope(z: float, y: float) -> float:
    sign = 1.0 if y > 0.0 else -1.0
    m, cap = sign * z, abs(y)
    small: float = exp(-abs(m))
    most = 1.0 / (1.0 + small)
    size = (small if m > 0.0 else 1.0) * (cap if cap < most else most)
    return -sign * size


def _slope_over(z: Array, y: Array) -> Array:
    """Write the slope over ``z``; as in ``_slope``, one exponential for everything."""
    right = y * z > 0.0
    np.abs(z, out=z)
    np.negative(z, out=z)
    small = np.exp(z, out=z)
    size = small + 1.0
    np.divide(1.0, size, out=size)
    np.minimum(size, np.abs(y), out=size)
    np.multiply(size, np.where(right, small, 1.0), out=z)
    np.copysign(z, y, out=z)
    return np.negative(z, out=z)


def _quick_slope(z: Array, flip: Array, inverse: Array) -> Array:
    """Write the slope over ``z``, given ``-sign(y)`` and one over the cap.

    With ``e = exp(m)`` it is one over the larger of ``1 + e`` and ``max(1, e)`` over the cap. Its
    last bit may be above the cap, which sums cut.
    """
    z *= flip
    np.negative(z, out=z)
    np.exp(z, out=z)
    capped = np.maximum(z, 1.0)
    capped *= inverse
    z += 1.0
    np.maximum(z, capped, out=z)
    return np.divide(flip, z, out=z)


@dataclass(frozen=True, kw_only=True)
class CalibratedLogistic(Loss):
    """The logistic loss, weighted down where the gradient in ``w`` would exceed ``clip``.

    A row of norm ``||x||`` has the cap ``B = clip / ||x||``. Its slope is the
    logistic one times ``min(1, B (1 + exp(-|z|)))``, so at margin ``m = y z`` it is
    at most ``B``, or ``B exp(-m)`` for ``m > 0``. The weight is the same for both
    labels, so the minimiser of the expected loss is the logit of the class
    probability. Short rows keep more of their loss, and below ``clip`` all of it. A
    ``clip`` below half the row norm makes the gradients of long and short rows more
    alike.

    Labels carry the cap as their size; see :meth:`attach`.

    Parameters
    ----------
    clip
        Largest norm of one row's gradient.

    Examples
    --------
    >>> loss = CalibratedLogistic(clip=0.5)
    >>> y = loss.attach(np.ones(3), np.array([1.0, 0.7, 0.4]))
    >>> loss.slope(np.array([-3.0, -3.0, -3.0]), y).round(4)
    array([-0.5   , -0.7143, -0.9526])
    """

    name: ClassVar[str] = "calibrated-logistic"
    probabilities: ClassVar[bool] = True
    target: ClassVar[Target] = "sign"
    slopes_in_float32: ClassVar[bool] = True

    clip: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "clip", positive("clip", self.clip))

    def attach(self, y: Array, norms: Array) -> Array:
        """Return ``y`` times the cap; ``norms`` must not be below the true row norms.

        A row of norm zero gets the largest cap there is a use for.
        """
        # Beyond 1 a cap changes nothing.
        safe = np.maximum(norms, self.clip / 2.0)
        # privacy: rounded down, so that cap * norm stays at most clip in real arithmetic.
        return y * (self.clip / safe * (1.0 - 4.0 * unit_roundoff()))

    def value(self, z: Array, y: Array) -> Array:
        m, part, c, t = self._pieces(z, y)
        return part * _capped(m, c, t)

    def slope(self, z: Array, y: Array) -> Array:
        return _slope_over(np.array(z, dtype=np.float64), y)

    def bare_slope(self) -> tuple[float, Callable[..., Array], float]:
        return 1.0, _quick_slope, 1.0

    def bare_labels(self, y: Array) -> tuple[Array, ...]:
        # privacy: a warning would tell of rows that are long.
        with np.errstate(divide="ignore", over="ignore"):
            return np.copysign(1.0, -y), 1.0 / np.abs(y)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, ()

    def curvature(self, z: Array, y: Array) -> Array:
        m, part, c, t = self._pieces(z, y)
        right = c * np.exp(-np.maximum(m, t))
        middle = np.where(m > t, right, expit(m) * expit(-m))
        return part * np.where(m < -t, 0.0, middle)

    def curvature_near(self, z: Array, y: Array, slack: Array) -> Array:
        return curvature_far_out(z, slack, 0.5)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(1.0, 1.0), smoothness=0.5, one_signed=True)

    def terms(
        self, *, row_norm: float, label: float, reach: float, weight: float = 1.0
    ) -> LossTerms:
        """Return the constants in ``w``: gradients at most ``clip``, curvature of long rows."""
        cap = self.clip / positive("row_norm", row_norm)
        # privacy: a row of norm r and cap B has at most r^2 times the curvature B for B < 1/2 and
        # max(1/4, 1 - B) otherwise. With B = clip / r that grows with r, so the longest row has
        # the most; the last factor makes up for the rounding of norms and caps.
        most = cap if cap < 0.5 else max(0.25, 1.0 - cap)
        most *= positive("weight", weight) * row_norm**2 * (1.0 + 2.0**-20)
        terms = self._terms(row_norm, label, reach, weight, self.clip)
        return replace(terms, smoothness=most, trace=most)

    @staticmethod
    def _pieces(z: Array, y: Array) -> tuple[Array, Array, Array, Array]:
        """Return margins, and rows as parts of a capped logistic loss: part, cap and knot."""
        cap = np.abs(y)
        # Beyond a margin of -36 the logistic slope is 1 to the last bit.
        c = np.clip(cap, 0.5, 1.0 - 2.0**-52)
        return np.sign(y) * z, np.minimum(1.0, 2.0 * cap), c, logit(c)


def _capped(m: Array, c: Array, t: Array) -> Array:
    """Return the value of the capped logistic loss at margin ``m``, cap ``c`` and knot ``t``."""
    edge = np.logaddexp(0.0, t)
    left = edge - c * (m + t)
    right = edge - t + c * (np.exp(-np.maximum(m, t)) - np.exp(-t))
    return np.where(m < -t, left, np.where(m > t, right, np.logaddexp(0.0, -m)))
