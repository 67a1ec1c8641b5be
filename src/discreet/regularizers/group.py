"""The group lasso."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import nonnegative
from discreet.regularizers.base import Regularizer
from discreet.sets.groups import Groups, checked_groups, group_norms


@dataclass(frozen=True, kw_only=True)
class Group(Regularizer):
    """The sum of group norms ``strength * sum_g ||w_g||_2``.

    ``groups`` is a block size, or the group number of each coordinate; see
    :func:`~discreet.sets.groups.group_labels`.

    References
    ----------
    Yuan, Lin, *Model selection and estimation in regression with grouped
    variables*, JRSS B 68 (2006).

    Examples
    --------
    >>> Group(strength=2.5, groups=2).prox(np.array([3.0, 4.0, 1.0]), 1.0)
    array([1.5, 2. , 0. ])
    """

    strength: float = 1.0
    groups: Groups = 2
    name: ClassVar[str] = "group"

    def __post_init__(self) -> None:
        nonnegative("strength", self.strength)
        object.__setattr__(self, "groups", checked_groups(self.groups))

    @property
    def norm(self) -> str:
        return f"group {self.groups}"

    def steepness(self, dim: int) -> float:
        # Sums of group norms are at most those of absolute values.
        return self.strength * math.sqrt(dim)

    def value(self, w: Array) -> float:
        return self.strength * float(np.sum(group_norms(w, self.groups)[0]))

    def prox(self, w: Array, step: float) -> Array:
        norms, labels = group_norms(w, self.groups)
        kept = np.maximum(norms - step * self.strength, 0.0)
        return w * (kept / np.where(norms > 0.0, norms, 1.0))[labels]
