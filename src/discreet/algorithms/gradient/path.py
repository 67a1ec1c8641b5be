"""The steps of noisy gradient descent: where data is read, and where iterates go next."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from discreet.algorithms.gradient.averages import Average
from discreet.bounds import Array
from discreet.data import Rows
from discreet.data.clipped import ClippedSums, Index
from discreet.noise import Randomness
from discreet.sets import L2Ball

if TYPE_CHECKING:
    from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan


class Ask(NamedTuple):
    """The sum that a step needs: over which rows, where, clipped how, and whether they count."""

    chosen: Index | None
    at: Array
    clip: float
    counted: bool


def descend(plan: NoisyGradientPlan, rows: Rows, sums: ClippedSums, random: Randomness) -> Array:
    """Take the steps of a plan and return the average of the path it releases."""
    path = steps_of(plan, rows, random)
    try:
        index, at, clip, counted = next(path)
        while True:
            found: Any = (sums.counted if counted else sums.batch)(index, at, clip)
            index, at, clip, counted = path.send(found)
    except StopIteration as end:
        return np.asarray(end.value)


def steps_of(
    plan: NoisyGradientPlan, rows: Rows, random: Randomness, *, stocked: bool = False
) -> Generator[Ask, Any, Array]:
    """Take the steps of a plan: yield what sum each needs, and return the average it releases.

    With ``stocked`` the noise of all steps is drawn before the first one.
    """
    facts, rule, steps, rate = plan.facts_of_noise, plan.rule, plan.steps, plan.sampler.rate
    average, momentum, seen = Average(plan.output, steps), plan.momentum, 0.0
    w = slow = plan.start
    clip, noise, constant, move = plan.clip, plan.noise, plan.config.step, _mover(plan)
    if plan.hidden is not None:
        constant = plan.hidden.step  # privacy: the step that was certified
    constant = constant or (rule.size(facts, steps, 0, 0.0) if rule.constant else None)
    length = constant or 0.0
    drawn = noise.stream(w.shape, random)
    if stocked:
        drawn = iter(list(islice(drawn, steps)))
    ahead = Average("weighted", steps) if rule.extrapolates else None
    after = rule.after_step or plan.output == "last"
    for k in range(steps):
        if not after:
            average.add(k, slow)
        at = slow if ahead is None else ahead.value + (slow - ahead.value) * (2 / (k + 2))
        index = plan.sampler.draw(rows, random)
        # privacy: the only exit of data; divided by the public rate, never by the batch.
        if plan.adaptive is None:
            total = yield Ask(index, at, clip, False)
            gradient = noise.cover(total, next(drawn)) / rate
        else:
            total, short = yield Ask(index, at, clip, True)
            gradient = noise.add(total, random) / rate
            clip = plan.adaptive.next_clip(clip, short, _held(rows, index), random)
            clip = min(clip, plan.clip)
            noise = plan.noise_at(clip)
        if rule.ridge_in_gradient:
            gradient = gradient + plan.strength * slow
        if not constant:
            seen += float(np.sum(gradient * gradient)) if rule.remembers else 0.0
            length = rule.size(facts, steps, k, seen)
        w = move(w, gradient, length)
        # Without a set or a penalty these are the iterates of the heavy ball.
        slow = momentum * slow + (1.0 - momentum) * w
        if ahead is not None:
            ahead.add(k, slow)
        if after:
            average.add(k, slow)
    return np.asarray(average.value)


def _mover(plan: NoisyGradientPlan) -> Callable[[Array, Array, float], Array]:
    """Return the map from an iterate, its noisy gradient and a length to the next iterate."""
    problem = plan.problem
    if plan.hidden is not None:
        # privacy: the certified map is exactly a gradient step and a projection.
        return lambda w, g, size: problem.constraint.project(w - size * (g + plan.strength * w))
    if plan.rule.ridge_in_gradient:
        bounded = math.isfinite(problem.constraint.radius(problem.dimension))
        inside = problem.constraint if bounded else L2Ball(radius=plan.norm_guess)
        return lambda w, g, size: inside.project(w - size * g)

    def proximal(w: Array, gradient: Array, size: float) -> Array:
        shrink = 1.0 + size * plan.added_strength
        return plan.prox((w - size * gradient) / shrink, size / shrink)

    return proximal


def _held(rows: Rows, index: Index | None) -> int:
    """Return the number of rows in a sum that are not blank."""
    weight = rows.weight if index is None else rows.weight[index]
    return int(np.count_nonzero(weight))
