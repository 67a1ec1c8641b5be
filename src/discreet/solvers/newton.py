"""Minimisation of smooth functions: Newton steps with a reused Hessian.

A Hessian is factorised once and corrected by the gradients seen since (L-BFGS
with the factor as its first guess). It is computed afresh only when the
remaining passes it would save cost more than it does. The start comes from a
sample of the rows. In high dimension steps come from conjugate gradients. Squared losses of few
columns are known near that start from two readings (:mod:`discreet.solvers.nearby`).

Nothing here is released: only a point with a certificate leaves
:func:`solve_smooth`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discreet.bounds import Array
from discreet.errors import NotCertified
from discreet.solvers.nearby import nearby
from discreet.solvers.objective import Objective, certainly_below, failed, norm

DENSE = 1500
"""Largest number of weights for which a Hessian is formed."""

STRIDE = 16
"""Each level of the warm start uses one row in this many, or in a power of two times it."""

SAMPLE = 2**22
"""Most rows of a level: they are copied, so more would take memory that grows with the data."""

ENOUGH = 0.5
"""Share of the tolerance that rounding may take before slower code bounds it more closely."""

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
        return np.asarray(q.reshape(g.shape))

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
    if metric is not None:
        close = nearby(objective, start, metric.solve)
        if close is not None:
            return _descend(close, start, None, room).w
    return _descend(objective, start, metric, room).w


def _warm_start(objective: Objective) -> tuple[Array, Metric | None]:
    """Return a rough minimiser, and the metric there, from a sample of the rows."""
    size = objective.linear.size
    if size > DENSE or objective.rows.n_rows < 20 * STRIDE * size:
        return np.zeros_like(objective.linear), None
    stride = STRIDE
    while objective.rows.n_rows > SAMPLE * stride:
        stride *= 2
    sample = objective.sample(stride)
    try:
        point = _descend(sample, *_warm_start(sample), room=0.0)
    except NotCertified:
        return np.zeros_like(objective.linear), None
    return point.w, Metric.of(sample.hessian(point.w))


def _descend(objective: Objective, w: Array, metric: Metric | None, room: float) -> Point:
    """Take Newton steps down to a certified gradient of ``room``; roughly if that is 0."""
    # A Hessian costs about this many gradients.
    price = 2.0 + w.size / 40.0
    certify, exact = room > 0.0 and objective.quickly_certified, False
    first = (0.0, *objective.certified(w, ENOUGH * room)) if certify else objective.evaluate(w)
    point = Point(w, *first)
    for _ in range(STEPS):
        if point.error < math.inf and certainly_below(norm(point.gradient), point.error, room):
            return point
        if w.size > DENSE:
            step, exact = -_conjugate_gradients(objective, point), True
        else:
            if metric is None:
                metric, exact = Metric.of(objective.hessian(point.w)), True
            step = -metric.solve(point.gradient)
        decrement = max(-float(np.sum(step * point.gradient)), 0.0)
        # A sample's minimiser is much further than this from the true one: going on is vain.
        if room == 0.0 and decrement <= w.size:
            return point
        if point.error == math.inf and norm(point.gradient) <= 0.5 * room:
            point = Point(point.w, point.value, *objective.certified(point.w, ENOUGH * room))
            continue
        # Once a step changes the value by less than its rounding, values are of no use; gradients
        # with a certificate cost the same and are what is needed in the end.
        certify = certify or (room > 0.0 and decrement <= 1e-9 * (1.0 + abs(point.value)))
        new = _line_search(objective, point, step, certify, room)
        if new is None:
            if exact and (certify or room == 0.0):
                raise failed()
            certify, metric = room > 0.0, None
            continue
        if metric is not None:
            metric.learn(new.w - point.w, new.gradient - point.gradient)
            rate = norm(new.gradient) / max(norm(point.gradient), 1e-300)
            if _worth_refreshing(rate, norm(new.gradient), room, price):
                metric = None
        point, exact = new, False
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
            value, (gradient, error) = point.value, objective.certified(w, ENOUGH * room)
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
    goal = 0.03 * norm(g)
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
