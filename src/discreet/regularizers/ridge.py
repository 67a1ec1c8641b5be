"""No penalty, and the squared norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import nonnegative
from discreet.regularizers.base import Regularizer


@dataclass(frozen=True)
class Zero(Regularizer):
    """No penalty.

    Examples
    --------
    >>> Zero().prox(np.array([1.0, -2.0]), 0.5)
    array([ 1., -2.])
    """

    name: ClassVar[str] = "zero"
    zero: ClassVar[bool] = True
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def steepness(self, dim: int) -> float:
        return 0.0

    def value(self, w: Array) -> float:
        return 0.0

    def prox(self, w: Array, step: float) -> Array:
        return w


@dataclass(frozen=True, kw_only=True)
class Ridge(Regularizer):
    """The squared norm ``(strength / 2) ||w||^2``, strongly convex with modulus ``strength``.

    References
    ----------
    Hoerl, Kennard, *Ridge regression*, Technometrics 12 (1970).

    Examples
    --------
    >>> Ridge(strength=1.0).prox(np.array([2.0]), 1.0)
    array([1.])
    """

    strength: float = 1.0
    name: ClassVar[str] = "ridge"
    separable: ClassVar[bool] = True
    smooth: ClassVar[bool] = True

    def __post_init__(self) -> None:
        nonnegative("strength", self.strength)

    @property
    def strong_convexity(self) -> float:
        return self.strength

    @property
    def kernel(self) -> Regularizer:
        return Zero()

    def value(self, w: Array) -> float:
        return 0.5 * self.strength * float(np.sum(w * w))

    def prox(self, w: Array, step: float) -> Array:
        return w / (1.0 + step * self.strength)
