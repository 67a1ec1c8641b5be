"""Minimisation of smooth functions: Newton steps with a reused Hessian.

A Hessian is factorised once and corrected by the gradients seen since (L-BFGS
with the factor as its first guess). It is computed afresh only when the
remaining passes it would save cost more than it does. The start comes from a
sample of the rows. In high dimension steps come from conjugate gradients.

Nothing here is released: only a point with a certificate leaves
:func:`solve_smooth`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discreet.algorithms.objective import Objective, failed, norm, settle
from discreet.errors import NotCertified
from discreet.types import Array

DENSE = 1500
"""Largest number of weights for which a Hessian is formed."""

STRIDE = 16
"""Each level of the warm start uses one row in this many."""

STEPS = 300
"""Steps after which a solver gives up, with an error."""


@dataclass
class Metric:
    """A factorised Hessian together with corrections from later gradients."""

    factor: tuple[Array, bool]
    pairs: list[tuple[Array, Array]] = field(default_factory=list)

    @classmethod
    def of(cls, matrix: Array) -> Metric:
        """Factorise a positive semidefinite matrix, shifted slightly if singular."""
        shift = 0.0
        mean = float(np.trace(matrix)) / len(matrix)
        while True:
            try:
                return cls(cho_factor(matrix + shift * np.eye(len(matrix)), check_finite=False))
            except LinAlgError:
                shift = max(1e-12 * mean, 16.0 * shift, 1e-300)

    def solve(self, g: Array) -> Array:
        """Return the corrected inverse times ``g``."""
        q, used = g.ravel().copy(), []
        for s, y in reversed(self.pairs):
            a = (s @ q) / (s @ y)
            q -= a * y
            used.append((s, y, a))
        q = cho_solve(self.factor, q, check_finite=False)
        for s, y, a in reversed(used):
            q += (a - (y @ q) / (s @ y)) * s
        return q.reshape(g.shape)

    def learn(self, s: Array, y: Array) -> None:
        """Remember a step and the change of the gradient along it."""
        s, y = s.ravel(), y.ravel()
        if s @ y > 1e-12 * norm(s) * norm(y):
            self.pairs = [*self.pairs[-19:], (s, y)]


@dataclass(frozen=True)
class Point:
    """A point with what is known there; ``error`` is inf unless certified."""

    w: Array
    value: float
    gradient: Array
    error: float = math.inf


def solve_smooth(objective: Objective, room: float) -> Array:
    """Return a point whose gradient certainly has norm at most ``room``."""
    start, metric = _warm_start(objective)

    def done(point: Point, decrement: float) -> bool:
        return settle(norm(point.gradient), point.error, room) if point.error < math.inf else False

    return _descend(objective, start, metric, room, done).w


def _warm_start(objective: Objective) -> tuple[Array, Metric | None]:
    """Return a rough minimiser, and the metric there, from a sample of the rows."""
    size = objective.linear.size
    if size > DENSE or objective.rows.n_rows < 20 * STRIDE * size:
        return np.zeros_like(objective.linear), None
    sample = objective.sample(STRIDE)
    start, metric = _warm_start(sample)
    # The sample's own minimiser is about this far from the true one: solving it further is vain.
    enough = STRIDE * size / 16.0
    try:
        point = _descend(sample, start, metric, 0.0, lambda _, decrement: decrement**2 <= enough)
    except NotCertified:
        return np.zeros_like(objective.linear), None
    return point.w, Metric.of(sample.hessian(point.w))


def _descend(
    objective: Objective,
    w: Array,
    metric: Metric | None,
    room: float,
    done: Callable[[Point, float], bool],
) -> Point:
    """Take Newton steps until ``done``, given a point and the size of its Newton step."""
    dense = w.size <= DENSE
    # A Hessian costs about this many gradients.
    price = 2.0 + w.size / 40.0
    value, gradient = objective.evaluate(w)
    point, certify = Point(w, value, gradient), False
    for _ in range(STEPS):
        if dense:
            metric = metric or Metric.of(objective.hessian(point.w))
            step = -metric.solve(point.gradient)
        else:
            step = -_conjugate_gradients(objective, point)
        decrement = math.sqrt(max(-float(np.sum(step * point.gradient)), 0.0))
        if done(point, decrement):
            return point
        # Once a step changes the value by less than its rounding, values are of no use; gradients
        # with a certificate cost the same and are what is needed in the end.
        certify = certify or decrement**2 <= 1e-9 * (1.0 + abs(point.value))
        if point.error == math.inf and norm(point.gradient) <= 0.5 * room:
            point = Point(point.w, point.value, *objective.certified(point.w))
            continue
        new = _line_search(objective, point, step, certify and room > 0, room)
        if new is None:
            if certify and (metric is None or not metric.pairs):
                raise failed()
            certify, metric = True, None
            continue
        if metric is not None:
            old = point.gradient
            metric.learn(new.w - point.w, new.gradient - old)
            rate = norm(new.gradient) / max(norm(old), 1e-300)
            if _worth_refreshing(rate, norm(new.gradient), room, price):
                metric = None
        point = new
    raise failed()


def _worth_refreshing(rate: float, residual: float, room: float, price: float) -> bool:
    if rate >= 0.5:
        return True
    digits = math.log(max(residual / room, 1.0)) if room > 0 else 0.0
    return digits / -math.log(max(rate, 1e-12)) > price + 3.0


def _line_search(
    objective: Objective, point: Point, step: Array, certify: bool, room: float
) -> Point | None:
    """Return a point along ``step`` where the slope has dropped, or None.

    The slope along the line of a convex function only grows, so it brackets
    the minimum; values are compared as well while they mean something.
    """
    slope = float(np.sum(step * point.gradient))
    (low, below), (high, above), t = (0.0, slope), (math.inf, 0.0), 1.0
    for _ in range(60):
        w = point.w + t * step
        if certify:
            value, (gradient, error) = point.value, objective.certified(w)
        else:
            (value, gradient), error = objective.evaluate(w), math.inf
        now = float(np.sum(step * gradient))
        rose = value > point.value + 1e-12 * (1.0 + abs(point.value))
        if norm(gradient) + error <= room or (not rose and 0.9 * slope <= now <= -0.5 * slope):
            return Point(w, value, gradient, error)
        if not rose and now < 0.0:
            low, below = t, now
        else:
            high, above = t, max(now, -slope)
        if high == math.inf:
            t *= 4.0
        elif high - low <= 1e-10 * high:
            break
        else:
            t = low + (high - low) * min(max(below / (below - above), 0.1), 0.9)
    return None


def _conjugate_gradients(objective: Objective, point: Point) -> Array:
    """Return an approximate solution ``d`` of ``H d = gradient``."""
    g = point.gradient
    goal = min(0.1, math.sqrt(norm(g)) * 1e-3 + 1e-3) * norm(g)
    d, r = np.zeros_like(g), g.copy()
    direction, square = r.copy(), float(np.sum(r * r))
    for _ in range(200):
        if math.sqrt(square) <= goal:
            break
        turned = objective.product(point.w, direction)
        bend = float(np.sum(direction * turned))
        if bend <= 0.0:
            break
        length = square / bend
        d += length * direction
        r -= length * turned
        new = float(np.sum(r * r))
        direction, square = r + (new / square) * direction, new
    return d if d.any() else g
