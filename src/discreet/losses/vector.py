"""What losses of a vector of labels share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.checks import integer
from discreet.losses.base import Loss, Regularity, Target


@dataclass(frozen=True, kw_only=True)
class VectorLoss(Loss):
    """A loss of ``z - y``, of ``dim`` coordinates, whose slope is a multiple of it."""

    dim: int = 2
    target: ClassVar[Target] = "vector"

    def __post_init__(self) -> None:
        integer("dim", self.dim, minimum=2)

    @property
    def outputs(self) -> int:
        return self.dim

    def _regularity(self, lipschitz: float, smoothness: float) -> Regularity:
        return Regularity(
            lipschitz=lipschitz,
            smoothness=smoothness,
            trace=self.dim * smoothness,
            rank=self.dim,
            one_signed=False,
            slopes=(lipschitz, lipschitz),
            vertices=(),
            scalar=False,
            self_bounded=False,
        )
