"""The nuclear norm of a matrix of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import nonnegative
from discreet.regularizers.base import Regularizer
from discreet.sets.nuclear_ball import singular_values


@dataclass(frozen=True, kw_only=True)
class Nuclear(Regularizer):
    """The sum of singular values times ``strength``; its prox thresholds them.

    References
    ----------
    Cai, Candes, Shen, *A singular value thresholding algorithm for matrix
    completion*, SIAM Journal on Optimization 20 (2010).

    Examples
    --------
    >>> Nuclear(strength=1.0).prox(np.diag([3.0, 0.5]), 1.0).round(6)
    array([[2., 0.],
           [0., 0.]])
    """

    strength: float = 1.0
    name: ClassVar[str] = "nuclear"
    norm: ClassVar[str | None] = "nuclear"

    def __post_init__(self) -> None:
        nonnegative("strength", self.strength)

    def steepness(self, dim: int) -> float:
        # There are no more singular values than entries.
        return self.strength * math.sqrt(dim)

    def value(self, w: Array) -> float:
        return self.strength * float(np.sum(singular_values(w)[1]))

    def prox(self, w: Array, step: float) -> Array:
        left, values, right = singular_values(w)
        kept = np.maximum(values - step * self.strength, 0.0)
        return np.asarray((left * kept) @ right)
