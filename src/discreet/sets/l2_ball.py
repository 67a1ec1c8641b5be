"""The Euclidean ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.sets.base import Ball


@dataclass(frozen=True, init=False, repr=False)
class L2Ball(Ball):
    """Weights of Euclidean norm at most ``radius``; for matrices, the Frobenius norm.

    The Gaussian width is ``radius * sqrt(2) * Gamma((p+1)/2) / Gamma(p/2)``.

    Examples
    --------
    >>> L2Ball(radius=2.0).project(np.array([0.0, 5.0]))
    array([0., 2.])
    """

    name: ClassVar[str] = "l2-ball"
    closed_form: ClassVar[bool] = True
    norm: ClassVar[str | None] = "l2"

    def project(self, w: Array) -> Array:
        norm = float(np.linalg.norm(w))
        return w if norm <= self.size else w * (self.size / norm)

    def minimize_linear(self, g: Array) -> Array:
        norm = float(np.linalg.norm(g))
        return np.zeros_like(g) if norm == 0.0 else g * (-self.size / norm)

    def gaussian_width(self, dim: int) -> float:
        log_ratio = math.lgamma((dim + 1) / 2.0) - math.lgamma(dim / 2.0)
        return self.size * math.sqrt(2.0) * math.exp(log_ratio)
