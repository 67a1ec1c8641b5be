"""Penalties on the sum of absolute values, with or without a ridge part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import nonnegative
from discreet.regularizers.base import Regularizer


@dataclass(frozen=True, kw_only=True)
class L1(Regularizer):
    """The sum of absolute values ``strength * ||w||_1``; its prox is a soft threshold.

    References
    ----------
    Tibshirani, *Regression shrinkage and selection via the lasso*, JRSS B 58
    (1996).

    Examples
    --------
    >>> L1(strength=1.0).prox(np.array([3.0, -0.5]), 1.0)
    array([ 2., -0.])
    """

    strength: float = 1.0
    name: ClassVar[str] = "l1"
    norm: ClassVar[str | None] = "l1"
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        nonnegative("strength", self.strength)

    def steepness(self, dim: int) -> float:
        return self.strength * math.sqrt(dim)

    def value(self, w: Array) -> float:
        return self.strength * float(np.sum(np.abs(w)))

    def prox(self, w: Array, step: float) -> Array:
        return np.copysign(np.maximum(np.abs(w) - step * self.strength, 0.0), w)


@dataclass(frozen=True, kw_only=True)
class ElasticNet(Regularizer):
    """The elastic net ``l1 * ||w||_1 + (l2 / 2) ||w||^2``.

    References
    ----------
    Zou, Hastie, *Regularization and variable selection via the elastic net*,
    JRSS B 67 (2005).

    Examples
    --------
    >>> ElasticNet(l1=1.0, l2=1.0).prox(np.array([3.0, -0.5]), 1.0)
    array([ 1., -0.])
    """

    l1: float = 1.0
    l2: float = 1.0
    name: ClassVar[str] = "elastic-net"
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        nonnegative("l1", self.l1)
        nonnegative("l2", self.l2)

    @property
    def strong_convexity(self) -> float:
        return self.l2

    @property
    def kernel(self) -> Regularizer:
        return L1(strength=self.l1)

    def value(self, w: Array) -> float:
        return self.kernel.value(w) + 0.5 * self.l2 * float(np.sum(w * w))

    def prox(self, w: Array, step: float) -> Array:
        return self.kernel.prox(w, step) / (1.0 + step * self.l2)
