"""A constraint set written as a regularizer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.regularizers.base import Regularizer
from discreet.sets.base import ConvexSet


@dataclass(frozen=True, kw_only=True)
class Indicator(Regularizer):
    """Zero inside ``constraint`` and infinite outside; its prox is the projection.

    A point counts as inside when projection moves it by less than ``1e-9`` of
    its norm.

    Examples
    --------
    >>> from discreet.sets import L2Ball
    >>> Indicator(constraint=L2Ball(radius=1.0)).value(np.array([3.0, 4.0]))
    inf
    """

    constraint: ConvexSet
    name: ClassVar[str] = "indicator"

    @property
    def indicated(self) -> ConvexSet:
        return self.constraint

    def value(self, w: Array) -> float:
        moved = float(np.linalg.norm(self.constraint.project(w) - w))
        return 0.0 if moved <= 1e-9 * max(1.0, float(np.linalg.norm(w))) else math.inf

    def prox(self, w: Array, step: float) -> Array:
        return self.constraint.project(w)
