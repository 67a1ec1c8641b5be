"""No constraint at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.sets.base import ConvexSet


@dataclass(frozen=True)
class AllSpace(ConvexSet):
    """Every vector: projection does nothing and every size is infinite.

    Examples
    --------
    >>> AllSpace().radius(3)
    inf
    """

    name: ClassVar[str] = "all-space"
    closed_form: ClassVar[bool] = True
    whole_space: ClassVar[bool] = True

    def project(self, w: Array) -> Array:
        return w

    def minimize_linear(self, g: Array) -> Array:
        raise Incompatible(
            "A linear function has no minimum over all space. Give a bounded constraint, "
            "such as L2Ball(radius=...)."
        )

    def support(self, g: Array) -> float:
        return math.inf if g.any() else 0.0

    def radius(self, dim: int) -> float:
        return math.inf

    def diameter(self, dim: int) -> float:
        return math.inf

    def gaussian_width(self, dim: int) -> float:
        return math.inf
