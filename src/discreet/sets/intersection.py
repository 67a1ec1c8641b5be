"""Intersections of sets, where an exact projection is known.

Projecting on one set and then on another does not give the nearest point of
both, so only these cases are offered:

- boxes with boxes, and balls of one norm with each other: again such a set;
- a Euclidean ball with a box: the nearest point is ``clip(c w)`` for the
  largest ``c <= 1`` that meets the ball;
- a simplex with a box: the nearest point is ``clip(w - t)`` for the one ``t``
  that meets the sum.

Both scalars are found in closed form between two breakpoints of ``clip``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter
from discreet.sets.base import ConvexSet


@dataclass(frozen=True, kw_only=True)
class Intersection(ConvexSet):
    """The points that lie in every one of ``sets``; refused if projection is not exact.

    Sizes are the smallest of the parts' sizes, hence upper bounds.

    Examples
    --------
    >>> from discreet.sets import Box, L2Ball
    >>> both = Intersection(sets=(L2Ball(radius=1.0), Box(low=0.0, high=1.0)))
    >>> both.project(np.array([3.0, -4.0]))
    array([1., 0.])
    """

    sets: tuple[ConvexSet, ...]
    parts: tuple[ConvexSet, ...] = field(init=False, repr=False, compare=False)
    name: ClassVar[str] = "intersection"

    def __post_init__(self) -> None:
        parts = _merged(self.sets)
        if len(parts) != 1 and _kinds(parts) not in _PAIRS:
            names = " with ".join(part.name for part in parts) or "nothing"
            raise Incompatible(
                f"No exact projection is known for the intersection of {names}. Use a box with a "
                "box, an l2-ball or a simplex, or balls of one norm."
            )
        object.__setattr__(self, "parts", parts)

    @property
    def closed_form(self) -> bool:
        return all(part.closed_form for part in self.parts)

    def project(self, w: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0].project(w)
        return _PAIRS[_kinds(self.parts)][0](*self.parts, w)

    def minimize_linear(self, g: Array) -> Array:
        if len(self.parts) == 1:
            return self.parts[0].minimize_linear(g)
        return _PAIRS[_kinds(self.parts)][1](*self.parts, g)

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        first, inner = self.parts[0], self.parts[-1].project(np.zeros(shape))
        # A box that touches the ball in one point has no interior in common with it.
        touching = first.norm == "l2" and np.linalg.norm(inner) >= first.radius(inner.size)
        return not touching and all(part.has_interior(shape) for part in self.parts)

    def radius(self, dim: int) -> float:
        return min(part.radius(dim) for part in self.parts)

    def diameter(self, dim: int) -> float:
        return min(part.diameter(dim) for part in self.parts)

    def gaussian_width(self, dim: int) -> float:
        return min(part.gaussian_width(dim) for part in self.parts)


def _merged(sets: tuple[ConvexSet, ...]) -> tuple[ConvexSet, ...]:
    """Replace sets of one kind by their intersection, and put a box last."""
    parts: list[ConvexSet] = []
    for one in sets:
        for new in one.parts if isinstance(one, Intersection) else (one,):
            for i, old in enumerate(parts):
                both = _pair_merged(old, new)
                if both is not None:
                    parts[i] = both
                    break
            else:
                parts.append(new)
    return tuple(sorted(parts, key=lambda part: part.separable))


def _kinds(parts: tuple[ConvexSet, ...]) -> tuple[str, ...]:
    """Name the sets of a pair by what a formula needs to know of them."""
    return tuple(
        "box"
        if part.separable
        else "simplex"
        if part.axis_vertices is not None and not part.axis_vertices.signed
        else part.norm or part.name
        for part in parts
    )


def _pair_merged(a: ConvexSet, b: ConvexSet) -> ConvexSet | None:
    if a == b or b.whole_space:
        return a
    if a.whole_space:
        return b
    return a.meet(b)


def _switch(points: Array, holds: Callable[[float], bool]) -> tuple[float, float]:
    """Return the neighbouring points between which ``holds`` goes from true to false.

    It must hold at the first point; where it holds at the last, that is returned twice.
    """
    points = np.unique(points)
    low, high = 0, len(points)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(float(points[middle])) else (low, middle)
    return float(points[low]), float(points[min(high, len(points) - 1)])


def _ball_box(radius: float, box: ConvexSet, direction: Array, most: float) -> Array:
    """Return ``clip(c * direction)`` for the largest ``c <= most`` that lies in the ball."""
    low, high = box.limits(direction.shape)

    def at(c: float) -> Array:
        return np.clip(c * direction, low, high)

    nearest = np.clip(0.0, low, high)
    if np.linalg.norm(nearest) > radius:
        raise InvalidParameter(
            "The ball and the box have no point in common. Enlarge the radius or the box."
        )
    moving = direction != 0.0
    far = np.where(direction > 0.0, high, low)
    corner = at(most) if math.isfinite(most) else np.where(moving, far, nearest)
    if np.linalg.norm(corner) <= radius:
        return np.asarray(corner)
    limits = np.concatenate([low[moving], high[moving]])
    breaks = limits / np.tile(direction[moving], 2)
    inside = breaks[(breaks > 0.0) & (breaks < most) & np.isfinite(breaks)]
    ends = [0.0, most] if math.isfinite(most) else [0.0]
    start, stop = _switch(np.append(inside, ends), lambda c: float(np.linalg.norm(at(c))) <= radius)
    # Between two breakpoints the same coordinates are free, so the norm fixes c.
    middle = (start + stop) / 2.0 if stop > start else 2.0 * start + 1.0
    free = (low < middle * direction) & (middle * direction < high) & moving
    rest = max(0.0, _square_minus_squares(radius, at(middle)[~free]))
    scale = math.sqrt(rest) / float(np.linalg.norm(direction[free]))
    return at(max(start, scale))


def _square_minus_squares(a: float, b: Array) -> float:
    """Return ``a^2 - sum b^2`` correctly rounded, since the square root magnifies errors."""
    values = np.append(b, a)
    # Dekker's product: every square is the sum of two floats.
    split = 134217729.0 * values
    head = split - (split - values)
    tail = values - head
    squares = values * values
    errors = ((head * head - squares) + 2.0 * head * tail) + tail * tail
    signs = np.append(-np.ones_like(b), 1.0)
    return math.fsum(np.concatenate([signs * squares, signs * errors]).tolist())


def _simplex_limits(total: float, box: ConvexSet, shape: tuple[int, ...]) -> tuple[Array, Array]:
    low, high = box.limits(shape)
    low, high = np.maximum(low, 0.0), np.minimum(high, total)
    if (low > high).any() or not low.sum() <= total <= high.sum():
        raise InvalidParameter(
            "The simplex and the box have no point in common. Widen the box or change the total."
        )
    return low, high


def _simplex_box_project(total: float, box: ConvexSet, w: Array) -> Array:
    low, high = _simplex_limits(total, box, w.shape)

    def at(t: float) -> Array:
        return np.clip(w - t, low, high)

    breaks = np.concatenate([(w - high).ravel(), (w - low).ravel()])
    start, stop = _switch(breaks, lambda t: float(at(t).sum()) >= total)
    middle = (start + stop) / 2.0
    free = (low < w - middle) & (w - middle < high)
    if not free.any():
        return at(start)
    # Measured from the middle of the segment, so that a common shift of w costs no digits.
    excess = float(at(middle).sum()) - total
    return at(middle + excess / int(np.count_nonzero(free)))


def _simplex_box_linear(total: float, box: ConvexSet, g: Array) -> Array:
    low, high = _simplex_limits(total, box, g.shape)
    # Fill the cheapest coordinates first.
    order = np.argsort(g, axis=None, kind="stable")
    room = (high - low).ravel()[order]
    before = np.cumsum(room) - room
    filled = low.ravel().copy()
    filled[order] += np.clip(total - low.sum() - before, 0.0, room)
    return filled.reshape(g.shape)


_PAIRS: dict[tuple[str, ...], tuple[Callable[..., Array], Callable[..., Array]]] = {
    ("l2", "box"): (
        lambda ball, box, w: _ball_box(ball.radius(w.size), box, w, 1.0),
        lambda ball, box, g: _ball_box(ball.radius(g.size), box, -g, math.inf),
    ),
    ("simplex", "box"): (
        lambda simplex, box, w: _simplex_box_project(simplex.axis_vertices.size, box, w),
        lambda simplex, box, g: _simplex_box_linear(simplex.axis_vertices.size, box, g),
    ),
}
