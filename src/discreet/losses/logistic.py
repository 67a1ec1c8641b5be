"""Logistic regression with labels -1 and +1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, lambertw, logit

from discreet.bounds import Array
from discreet.losses.base import Loss, Regularity, Target, scalar_regularity
from discreet.losses.scalar import ScalarSlope, exp

_PULL = float(lambertw(math.exp(-1.0)).real)  # the largest m / (1 + exp(m))


def _slope(z: float, y: float) -> float:
    m = y * z
    small: float = exp(-abs(m))
    top = small if m > 0.0 else 1.0
    return -y * top / (1.0 + small)


def _twice_slope(half: Array, y: Array) -> Array:
    """Write twice the slope over half of ``z``."""
    # Several times as fast as expit, and as exact but for slopes near zero.
    np.tanh(half, out=half)
    half -= y
    return half


def curvature_far_out(z: Array, slack: Array, most: float) -> Array:
    """Return bounds on a curvature of at most ``exp(-|z|)`` and ``most`` within ``slack`` of ``z``.

    >>> curvature_far_out(np.array([0.0, 50.0]), np.zeros(2), 0.25) < 0.26
    array([ True,  True])
    """
    # privacy: the last factor is for the rounding of the exponential.
    return np.minimum(most, np.exp(slack - np.abs(z)) * (1.0 + 2.0**-30))


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss ``log(1 + exp(-y z))`` of a label ``y`` in {-1, +1}.

    The slope lies in (-1, 0) times ``y`` and the curvature is
    ``|f'| (1 - |f'|) <= 1/4``. This self-bounded structure lets objective
    perturbation pay nothing for its Jacobian. It needs hard labels, so soft
    labels are not offered.

    References
    ----------
    Chaudhuri, Monteleoni, Sarwate, *Differentially private empirical risk
    minimization*, JMLR 12 (2011).

    Examples
    --------
    >>> Logistic().value(np.array([0.0, -2.0]), np.array([1.0, 1.0])).round(4)
    array([0.6931, 2.1269])
    """

    name: ClassVar[str] = "logistic"
    proved_convex: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    probabilities: ClassVar[bool] = True
    pull: ClassVar[float | None] = _PULL
    target: ClassVar[Target] = "sign"
    slopes_in_float32: ClassVar[bool] = True

    def value(self, z: Array, y: Array) -> Array:
        return np.logaddexp(0.0, -y * z)

    def slope(self, z: Array, y: Array) -> Array:
        flip = -y
        out = np.asarray(flip * z, dtype=np.float64)
        expit(out, out=out)
        out *= flip
        return out

    def bare_slope(self) -> tuple[float, Callable[[Array, Array], Array], float]:
        return 0.5, _twice_slope, 0.5

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, ()

    def curvature(self, z: Array, y: Array) -> Array:
        return np.asarray(expit(z) * expit(-z))

    def curvature_near(self, z: Array, y: Array, slack: Array) -> Array:
        return curvature_far_out(z, slack, 0.25)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        # privacy: the Lipschitz constant stays 1 even within a finite reach, because the
        # self-bounded proof needs the whole range of the slope.
        return scalar_regularity(
            slopes=(1.0, 1.0), smoothness=0.25, one_signed=True, self_bounded=True
        )

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return np.asarray(-y * logit(np.clip(-y * level, 0.0, 1.0)))
