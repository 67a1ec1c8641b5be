"""The law of noisy gradient descent near its minimiser: spread, and what is left of the way.

Steps ``v <- (v - eta_k (g(u) + xi_k)) / (1 + eta_k Delta)`` with independent Gaussian ``xi_k`` of
deviation ``sigma``, taken at ``u``: the last iterate, its moving average (momentum), or a point
ahead (acceleration). Where ``g`` is linear with derivative ``H``, everything is linear in the
noise and in the start, and the eigenvectors of ``H`` do not mix. So for each eigenvalue ``h`` the
state ``(v, slow, ahead, average)`` obeys ``x <- B_k(h) x + c_k xi_k``, its covariance ``S <- B_k S
B_k' + sigma^2 c_k c_k'``, and the part of the first distance that is left is what the same map
makes of ``(1, 1, 0, 0)``. The released average is the last entry.

A logistic slope is not linear, and iterates swing about the minimiser. With variance ``v`` of a
row's margin the mean slope is off by ``v/2`` times its second derivative, ``-tanh(z/2)`` times the
first one, at most ``z/2`` in size: what is averaged lies between 0 and ``v/4`` of its length too
far out. Half of that is taken off, and the other half must be small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.algorithms.gradient import NoisyGradientPlan
from discreet.bounds import Array
from discreet.problem import Problem

WAY = 20.0
"""Sum of all steps, in units of one over the usual curvature: weaker directions by five arrive."""

MOMENTUM = 0.9
"""Part of the last direction that a step keeps; with it a step may be 19 times longer."""


def arriving_steps(problem: Problem) -> dict[str, Any]:
    """Return settings of a descent that arrives, and swings no longer than it has to.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> arriving_steps(problem)["steps"]
    200
    """
    curvature = (problem.n_rows or 0) * problem.terms.smoothness
    if not 0 < curvature < math.inf:
        return {"sampler": "full"}  # which is refused, in words, by the plan
    time = WAY / problem.usual_curvature
    # Half of the longest step that is stable if all rows point one way.
    longest = (1 + MOMENTUM) / (1 - MOMENTUM) / curvature
    steps = max(200, math.ceil(time / longest))
    # Other rules choose their momentum, and diverge with steps of this length.
    settings = {"rule": "heavy-ball", "momentum": MOMENTUM, "step": time / steps}
    return settings | {"sampler": "full", "steps": steps, "output": "tail"}


def shares_of(output: str, steps: int) -> Array:
    """Return the part of the average that each iterate takes when it comes in.

    >>> shares_of("mean", 3)
    array([1.        , 0.5       , 0.33333333])
    """
    k = np.arange(steps)
    weight = {
        "mean": np.ones(steps),
        "tail": (k >= steps // 2) * 1.0,
        "weighted": k + 1.0,
        "last": (k == steps - 1) * 1.0,
    }[output]
    return np.asarray(weight / np.maximum(np.cumsum(weight), 1e-300))


def law_of_descent(plan: NoisyGradientPlan, curvatures: Array) -> tuple[Array, Array, Array]:
    """Return the variance of what is released, the part of the way left, and iterates' variance.

    Parameters
    ----------
    plan
        Full-batch steps of a length that does not depend on the rows, without projection.
    curvatures
        Eigenvalues of the Hessian without the ridge, one direction each.
    """
    rule, steps, m = plan.rule, plan.steps, plan.momentum
    after = rule.after_step or plan.output == "last"
    shares, h = shares_of(plan.output, steps), np.asarray(curvatures, dtype=np.float64)
    state, spread = np.zeros((len(h), 4)), np.zeros((len(h), 4, 4))
    state[:, :2] = 1.0
    for k in range(steps):
        size = plan.config.step or rule.size(plan.facts_of_noise, steps, k, 0.0)
        shrink = 1.0 / (1.0 + size * plan.strength)
        part = 2 / (k + 2) if rule.extrapolates else 1.0
        move = np.tile(np.eye(4), (len(h), 1, 1))
        move[:, 0, 0] = shrink
        move[:, 0, 1] = -shrink * size * h * part
        move[:, 0, 2] = -shrink * size * h * (1.0 - part)
        move[:, 1] = (1.0 - m) * move[:, 0]
        move[:, 1, 1] += m
        kick = -shrink * size * np.array([1.0, 1.0 - m, 0.0, 0.0])
        ahead = 2 / (k + 2)  # the weighted mean of iterates so far, itself and the newest
        take_in = np.eye(4)
        take_in[2, 1:3] = ahead, 1.0 - ahead
        mean = np.eye(4)
        mean[3, 1], mean[3, 3] = shares[k], 1.0 - shares[k]
        first, last = (np.eye(4), take_in @ mean) if after else (mean, take_in)
        whole, kick = last @ move @ first, last @ kick
        state = np.einsum("hij,hj->hi", whole, state)
        spread = whole @ spread @ whole.transpose(0, 2, 1) + np.outer(kick, kick)
    square = plan.noise.scale**2
    return square * spread[:, 3, 3], state[:, 3], square * spread[:, 1, 1]
