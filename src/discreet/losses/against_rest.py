"""Several classes by a loss for two: the sum over the classes of each against the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer
from discreet.errors import Incompatible
from discreet.losses.base import Loss, Regularity, Target
from discreet.losses.hinge import Hinge


@dataclass(frozen=True, kw_only=True)
class AgainstRest(Loss):
    """The sum over classes ``k`` of ``f(z_k; s_k)``, ``s_k`` being 1 for ``k = y`` and else -1.

    Its minimiser with a ridge has one column per class, the minimiser of that class against the
    rest. A row enters every column, so the slope is ``sqrt(K)`` times as long as that of ``f``.

    References
    ----------
    Rifkin, Klautau, *In defense of one-vs-all classification*, JMLR 5 (2004).

    Examples
    --------
    >>> AgainstRest(each=Hinge(), n_classes=3).value(np.zeros((1, 3)), np.array([2.0]))
    array([3.])
    """

    each: Loss = field(default_factory=Hinge)
    n_classes: int = 3
    name: ClassVar[str] = "against-rest"
    target: ClassVar[Target] = "index"

    def __post_init__(self) -> None:
        integer("n_classes", self.n_classes, minimum=2)
        if self.each.target != "sign" or self.each.inner is not self.each:
            raise Incompatible(f"{self.each.name} is not an unclipped loss of two classes.")

    @property
    def outputs(self) -> int:
        return self.n_classes

    @property
    def proved_convex(self) -> bool:
        return self.each.proved_convex

    @property
    def nonnegative(self) -> bool:
        return self.each.nonnegative

    @property
    def pull(self) -> float | None:
        return None if self.each.pull is None else self.n_classes * self.each.pull

    def signs(self, y: Array) -> Array:
        """Return the label of every row in the fit of every class, shape ``(n, K)``."""
        return np.where(y[:, None] == np.arange(self.n_classes), 1.0, -1.0)

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(self.each.value(z, self.signs(y)).sum(axis=1))

    def slope(self, z: Array, y: Array) -> Array:
        return self.each.slope(z, self.signs(y))

    def curvature(self, z: Array, y: Array) -> Array:
        return self.each.curvature(z, self.signs(y))[:, :, None] * np.eye(self.n_classes)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        k, one = self.n_classes, self.each.regularity(label=1.0, reach=reach)
        return Regularity(
            lipschitz=math.sqrt(k) * one.lipschitz,
            smoothness=one.smoothness,
            trace=k * one.smoothness,
            rank=k,
            one_signed=False,
            slopes=(max(one.slopes),) * 2,
            vertices=(),
            scalar=False,
            self_bounded=False,
        )
