"""The ball of the group norm, which favours few active groups."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.sets.base import Ball, expected_max_chi
from discreet.sets.groups import Groups, checked_groups, group_labels, group_norms
from discreet.sets.simplex import simplex_threshold


@dataclass(frozen=True, init=False, repr=False)
class GroupBall(Ball):
    """Weights whose group norms add up to at most ``radius``.

    ``groups`` is a block size, or the group number of each coordinate; see
    :func:`~discreet.sets.groups.group_labels`. The Gaussian width is
    ``radius * E max_g ||b_g||``.

    Examples
    --------
    >>> GroupBall(radius=1.0, groups=2).project(np.array([3.0, 4.0, 0.5]))
    array([0.6, 0.8, 0. ])
    """

    groups: Groups
    name: ClassVar[str] = "group-ball"
    closed_form: ClassVar[bool] = True

    def __init__(self, *, radius: float, groups: Groups) -> None:
        super().__init__(radius=radius)
        object.__setattr__(self, "groups", checked_groups(groups))

    def __repr__(self) -> str:
        return f"GroupBall(radius={self.size!r}, groups={self.groups!r})"

    @property
    def norm(self) -> str:
        return f"group {self.groups}"

    def project(self, w: Array) -> Array:
        norms, labels = group_norms(w, self.groups)
        if float(norms.sum()) <= self.size:
            return w
        kept = np.maximum(norms - simplex_threshold(norms, self.size), 0.0)
        return w * (kept / np.where(norms > 0.0, norms, 1.0))[labels]

    def minimize_linear(self, g: Array) -> Array:
        norms, labels = group_norms(g, self.groups)
        best = int(np.argmax(norms))
        if norms[best] == 0.0:
            return np.zeros_like(g)
        return np.where(labels == best, g * (-self.size / norms[best]), 0.0)

    def gaussian_width(self, dim: int) -> float:
        sizes = np.bincount(group_labels(self.groups, dim))
        return self.size * expected_max_chi(Counter(sizes.tolist()))
