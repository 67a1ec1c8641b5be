"""Limits on each coordinate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter
from discreet.sets.base import ConvexSet

Limit = float | tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Box(ConvexSet):
    """Weights between ``low`` and ``high``, coordinate by coordinate.

    Each limit is one number for all coordinates or one number per coordinate;
    infinite limits are allowed, so ``Box(low=0.0, high=inf)`` asks for
    nonnegative weights. For matrices, one limit per row or per entry.

    Examples
    --------
    >>> Box(low=-1.0, high=(1.0, 2.0)).project(np.array([-3.0, 3.0]))
    array([-1.,  2.])
    """

    low: Limit = -1.0
    high: Limit = 1.0
    name: ClassVar[str] = "box"
    closed_form: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            object.__setattr__(self, side, _limit(side, getattr(self, side)))
        low, high = np.asarray(self.low), np.asarray(self.high)
        if low.ndim and high.ndim and low.size != high.size:
            raise InvalidParameter(
                f"low has {low.size} limits but high has {high.size}. Give the same number."
            )
        if not np.all((low <= high) & (low < np.inf) & (high > -np.inf)):
            raise InvalidParameter(
                "low must be at most high, below inf, and high above -inf, in every coordinate: "
                "otherwise the box is empty."
            )

    def limits(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return ``low`` and ``high`` as arrays of the given shape.

        >>> Box(low=0.0, high=2.0).limits((2,))
        (array([0., 0.]), array([2., 2.]))
        """
        return _spread(self.low, shape), _spread(self.high, shape)

    def meet(self, other: ConvexSet) -> ConvexSet | None:
        if not isinstance(other, Box):
            return None
        low, high = np.maximum(self.low, other.low), np.minimum(self.high, other.high)
        return Box(low=low.tolist(), high=high.tolist())

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        low, high = self.limits(shape)
        return bool((high > low).all())

    def project(self, w: Array) -> Array:
        return np.clip(w, *self.limits(w.shape))

    def minimize_linear(self, g: Array) -> Array:
        low, high = self.limits(g.shape)
        # Where g is zero any point will do; the one nearest to zero is finite.
        corner = np.where(g > 0, low, np.where(g < 0, high, np.clip(0.0, low, high)))
        if not np.isfinite(corner).all():
            raise Incompatible(
                "A linear function has no minimum over this box because a limit is infinite. "
                "Give finite limits."
            )
        return corner

    def support(self, g: Array) -> float:
        low, high = self.limits(g.shape)
        used = g != 0
        return float(np.sum(np.where(g > 0, high, low)[used] * g[used]))

    def _flat(self, dim: int) -> tuple[Array, Array]:
        """Return the limits of ``dim`` entries, which may be several columns of weights."""
        given = max(np.size(self.low), np.size(self.high))
        return self.limits((given, dim // given) if dim % given == 0 and given > 1 else (dim,))

    def radius(self, dim: int) -> float:
        low, high = self._flat(dim)
        return float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))

    def diameter(self, dim: int) -> float:
        low, high = self._flat(dim)
        return float(np.linalg.norm(high - low))

    def gaussian_width(self, dim: int) -> float:
        if math.isinf(self.diameter(dim)):
            return math.inf
        # sup |<b, w>| = |<b, centre>| + <|b|, half>, and E|b_j| = sqrt(2 / pi).
        low, high = self._flat(dim)
        centre, half = (low + high) / 2.0, (high - low) / 2.0
        return math.sqrt(2.0 / math.pi) * float(np.linalg.norm(centre) + half.sum())


def _limit(side: str, value: float | Sequence[float]) -> Limit:
    array = np.asarray(value, dtype=np.float64)
    if array.ndim > 1 or array.size == 0 or np.isnan(array).any():
        raise InvalidParameter(
            f"{side} must be a number or a sequence of numbers, none of them NaN."
        )
    return float(array) if array.ndim == 0 else tuple(array.tolist())


def _spread(limit: Limit, shape: tuple[int, ...]) -> Array:
    array = np.asarray(limit, dtype=np.float64)
    if array.ndim == 0:
        return np.full(shape, array)
    if array.size == math.prod(shape):
        return array.reshape(shape)
    if len(shape) == 2 and array.size == shape[0]:
        return np.repeat(array, shape[1]).reshape(shape)
    raise InvalidParameter(
        f"The box has {array.size} limits but the weights have shape {shape}. Give one limit, or "
        "one per coordinate."
    )
