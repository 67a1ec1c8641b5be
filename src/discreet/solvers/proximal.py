"""Minimisation with a constraint or a penalty that is not smooth.

Proximal Newton steps on a reused Hessian, whose quadratic models are solved by
an accelerated proximal method without touching the rows; accelerated proximal
gradient on the rows themselves in high dimension.

The certificate. For any point ``v`` and ``t = prox(v, 1/M)`` the vector
``M (v - t)`` is a subgradient at ``t`` of penalty plus constraint, so
``grad(t) + M (v - t)`` is one of the whole objective. The point returned is
``t`` itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data import prox_error
from discreet.sets import ConvexSet
from discreet.solvers.newton import DENSE, STEPS
from discreet.solvers.objective import Objective, certainly_below, failed, norm

Prox = Callable[[Array, float], Array]
Penalty = Callable[[Array], float]
Certify = Callable[[Objective, Prox, Array, Array, float, float], Array | None]

MODEL_STEPS = 20_000
"""Steps on a quadratic model, each without a pass over the rows."""


def solve_composite(
    objective: Objective,
    penalty: Penalty,
    prox: Prox,
    room: float,
    accept: Certify | None = None,
) -> Array:
    """Return a point with a certified subgradient of norm at most ``room``.

    Another rule to ``accept`` a point may prove that it is ``room / strength`` from the minimiser.
    """
    if objective.linear.size <= DENSE:
        return _proximal_newton(objective, penalty, prox, room, accept or certify)
    return _accelerated(objective, prox, room, accept or certify)


def certify(
    objective: Objective, prox: Prox, w: Array, gradient: Array, curvature: float, room: float
) -> Array | None:
    """Return the proximal point of ``w`` if it is certainly within ``room``, else None."""
    bend = objective.smoothness(w)
    # A step about as long as the point at most: rounding errors grow with it.
    curvature = max(curvature, min(bend, norm(gradient) / max(norm(w), 1e-300)))
    v = w - gradient / curvature
    t = prox(v, 1.0 / curvature)
    exact, error = objective.certified(t)
    u = unit_roundoff()
    # privacy: the true prox is at most this far from the computed one, so the gradient there
    # differs by at most the smoothness times it.
    slip = prox_error(t.size) * (norm(v) + norm(t))
    bend = objective.smoothness(t) + curvature + objective.strength
    error += slip * bend + 4.0 * u * (norm(exact) + curvature * norm(v - t))
    residual = norm(exact + curvature * (v - t)) * (1.0 + (t.size + 4) * u)
    return t if certainly_below(residual, error, room) else None


def certify_in(
    domain: ConvexSet,
    objective: Objective,
    prox: Prox,
    w: Array,
    gradient: Array,
    curvature: float,
    room: float,
) -> Array | None:
    """Return a projection that is certainly within ``room / strength`` of the minimiser, else None.

    For sets of exact linear minimisation. With ``g`` the gradient at ``t`` in the set, strong
    convexity gives ``strength ||t - t*||^2 <= <g, t - t*> <= max over x of <g, t - x>``.
    """
    v = w - gradient / curvature
    t = prox(v, 1.0 / curvature)
    exact, error = objective.certified(t)
    u, size, wide = unit_roundoff(), norm(exact), domain.diameter(t.size) * (1.0 + 1e-12)
    # privacy: t is this far from a point of the set, at which the gradient is this much off.
    off = domain.outside(v, t)
    error += off * (objective.smoothness(t) + objective.strength)
    gap = float(np.sum(exact * (t - domain.minimize_linear(exact))))
    gap += 8.0 * (t.size + 4) * u * size * (wide + 2.0 * domain.radius(t.size))
    gap += size * off + error * (wide + off)
    if not (objective.strength > 0.0 and math.isfinite(gap)):
        return None
    distance = math.sqrt(max(gap, 0.0) / objective.strength) + off
    return t if distance * objective.strength * (1.0 + 1e-9) <= room else None


def _proximal_newton(
    objective: Objective, penalty: Penalty, prox: Prox, room: float, accept: Certify
) -> Array:
    w = prox(np.zeros_like(objective.linear), 1.0)
    value, gradient = objective.evaluate(w)
    value += penalty(w)
    matrix, top, fresh = None, 0.0, False
    goal = 0.5 * room
    for _ in range(STEPS):
        if matrix is None:
            matrix, fresh = objective.hessian(w), True
            top = 1.01 * float(np.linalg.eigvalsh(matrix)[-1])
            # A flat piece of a loss has no curvature, and a step has to have some length.
            top = max(top, 1e-9 * objective.smoothness(w), 1e-100)
        residual = top * norm(w - prox(w - gradient / top, 1.0 / top))
        if residual <= goal:
            found = accept(objective, prox, w, gradient, top, room)
            if found is not None:
                return found
            goal *= 0.25
        target = solve_model(matrix, top, w, gradient, prox, 0.01 * residual)
        step = target - w
        fall = float(np.sum(gradient * step)) + penalty(target) - penalty(w)
        moved = _search(objective, penalty, w, value, step, fall)
        if moved is None:
            if fresh:
                break
            matrix = None
            continue
        w, value, gradient, full = moved
        after = top * norm(w - prox(w - gradient / top, 1.0 / top))
        if not full or after > 0.1 * residual:
            if fresh and full and after > 0.9 * residual and after <= goal * 100:
                break
            matrix = None
        fresh = False
    # Rounding stops progress: this is as good as it gets, so it passes or nothing does.
    found = accept(objective, prox, w, gradient, top, room)
    if found is None:
        raise failed()
    return found


def _search(
    objective: Objective, penalty: Penalty, w: Array, value: float, step: Array, fall: float
) -> tuple[Array, float, Array, bool] | None:
    """Return a lower point along ``step`` and whether the full step was taken."""
    slack = 1e-11 * (1.0 + abs(value))
    t = 1.0
    while t > 1e-10:
        new = w + t * step
        smooth, gradient = objective.evaluate(new)
        total = smooth + penalty(new)
        if total <= value + 1e-4 * t * min(fall, 0.0) + slack:
            return new, total, gradient, t == 1.0
        t *= 0.5
    return None


def solve_model(
    matrix: Array, top: float, w: Array, gradient: Array, prox: Prox, goal: float
) -> Array:
    """Minimise the quadratic model around ``w`` plus penalty, to a residual of ``goal``."""

    def slope(v: Array) -> Array:
        turned: Array = (matrix @ (v - w).ravel()).reshape(w.shape)
        return gradient + turned

    x, v, momentum = w, w, 1.0
    for _ in range(MODEL_STEPS):
        new = prox(v - slope(v) / top, 1.0 / top)
        if top * norm(new - v) <= goal:
            return new
        x, v, momentum = _momentum(x, v, new, momentum)
    return x


def _momentum(x: Array, v: Array, new: Array, momentum: float) -> tuple[Array, Array, float]:
    """Return the next pair of points of an accelerated method, restarted when it overshoots."""
    if float(np.sum((v - new) * (new - x))) > 0.0:
        return new, new, 1.0
    after = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
    return new, new + ((momentum - 1.0) / after) * (new - x), after


def _accelerated(objective: Objective, prox: Prox, room: float, accept: Certify) -> Array:
    """Accelerated proximal gradient with backtracking and restarts."""
    x = prox(np.zeros_like(objective.linear), 1.0)
    v, momentum, goal = x, 1.0, 0.25 * room
    top = objective.smoothness(x) / 64.0
    for _ in range(MODEL_STEPS):
        value, gradient = objective.evaluate(v)
        while True:
            new = prox(v - gradient / top, 1.0 / top)
            move = new - v
            bound = value + float(np.sum(gradient * move)) + 0.5 * top * norm(move) ** 2
            if objective.evaluate(new)[0] <= bound + 1e-12 * (1.0 + abs(value)):
                break
            top *= 2.0
        if top * norm(move) <= goal:
            found = accept(objective, prox, v, gradient, top, room)
            if found is not None:
                return found
            goal *= 0.25
        x, v, momentum = _momentum(x, v, new, momentum)
    raise failed()
