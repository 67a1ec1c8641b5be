"""Noisy descent that stops where noise alone would carry the weights as far as good ones lie.

Descent along noisy gradients has one number that matters, its *time*: the sum of
the lengths of its steps. Directions in which the data curves by more than one
over the time are fitted, the others are left alone, at less bias in the strong
ones than a ridge term of the same effect. Full-batch noise moves the weights
equally far however the time is cut into steps.

Noise moves each weight alike, so what is compared with good weights is how far it
moves one of them: ``REACH`` over the typical norm of rows, times the root of the number of
weights for all. The more rows there are per unit of noise, the weaker the
directions worth fitting, so the reach grows with their cube root. A guess of the
norm that the user states takes its place.

Steps are as many as it takes to be stable with ``MOMENTUM`` at most, and at least
``STEPS``, so that the average of the path is one over many windows of momentum.
Momentum is what these steps need and no more: the less of it, the sooner the
average forgets each noise. Where weights are so many that the time is too short to fit
even a usual direction, nothing is forgotten, and an average would only be behind the
last iterate. So for logistic regression that one is released, after ``STEPS_SHORT`` steps
at least.

The length of weights of logistic regression is then fitted once more by a line
search along their direction (:mod:`discreet.algorithms.gradient.line_search`): where
rows are few, for a part of the budget that falls with the number of weights;
with more rows it changes the length only where that is clear.

Privacy is that of :class:`~discreet.algorithms.NoisyGradient` whatever these
choices are.
"""

from __future__ import annotations

import math
from typing import Any

from discreet.algorithms.gradient import NoisyGradient
from discreet.checks import positive
from discreet.defaults.case import Case
from discreet.mechanisms.batches import rows_of_a_step
from discreet.problem import Problem
from discreet.tuned.algorithms import NEWTON_ROWS
from discreet.tuned.defaults import (
    DRAWN,
    LEAST_RATE,
    LINE_SEARCH,
    LINE_SEARCH_CONSERVATIVE,
    LINE_SEARCH_WEIGHTS,
    LONGEST,
    MOMENTUM,
    MOST_RATE,
    PASSES,
    REACH,
    REACH_LEAST,
    REACH_ROWS,
    REGIONS,
    STEPS,
    STEPS_SHORT,
    USUAL,
    WIDE,
    WINDOWS,
    WORK,
)


def early_stopped(case: Case, surrogate: Problem) -> NoisyGradient:
    """Return the settings of a descent stopped early.

    Parameters
    ----------
    case
        Public facts; the number of rows is known or declared.
    surrogate
        The problem of the case, with capped gradients if the loss is logistic.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.bounds import Bounds
    >>> from discreet.defaults.capping import capped
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=100, n_rows=30_000)
    >>> case = Case(problem, Budget(0.1, 1e-6))
    >>> found = early_stopped(case, capped(case))
    >>> found.steps, found.sampler, round(found.norm_guess, 1), round(found.momentum, 2)
    (150, 'full', 16.6, 0.64)
    """
    problem, ratio = case.problem, case.rows_per_noise
    n, p, norm = problem.n_rows, problem.dimension, problem.row_norm
    assert n is not None
    guess = reach(problem, ratio)
    if case.asked.norm_guess is not None:
        guess = min(positive("norm_guess", case.asked.norm_guess), LONGEST / problem.typical_norm)
    # No further than where noise alone would carry the weights to the guessed norm.
    time = guess * ratio / (n * surrogate.terms.lipschitz)
    bend = n * surrogate.terms.smoothness
    logit = surrogate.loss.target == "sign"
    if logit:
        # The curvature where it starts, if gradients of the longest rows are capped.
        bend = (
            n * 0.25 * norm**2 * min(1.0, 2 * surrogate.terms.lipschitz / problem.terms.lipschitz)
        )
    # Heavy-ball steps are stable up to 2 (1 + m) / (1 - m) over the curvature; half of that.
    # Of regressions no line search mends the length afterwards, and an average is shorter.
    short = logit and time * bend < USUAL * p
    least = STEPS_SHORT if short else STEPS
    swings = time * bend
    steps = math.ceil(swings * (1.0 - MOMENTUM) / (1.0 + MOMENTUM))
    # With more steps there is room for more momentum and as many windows of it.
    steps = max(least, min(steps, math.ceil(math.sqrt(WINDOWS * swings / 2.0))))
    swing = max(1.0, time / steps * bend)
    found: dict[str, Any] = {}
    if logit:
        few = case.region == REGIONS[0]
        part = LINE_SEARCH / (p + LINE_SEARCH_WEIGHTS) if few else LINE_SEARCH_CONSERVATIVE
        found = {"line_search": math.ceil(steps * part), "conservative": not few}
    return NoisyGradient(
        steps=steps,
        step=time / steps,
        momentum=(swing - 1.0) / (swing + 1.0),
        rule="smooth",
        output="last" if short else "weighted",
        strength=case.asked.strength or None,
        norm_guess=guess,
        **found,
        **rows_of_a_step(_rate(n, p, steps, ratio), n),
    )


def _rate(rows: int, weights: int, steps: int, ratio: float) -> float:
    """Return the part of the rows in a step: all, or as many as drawing them adds little noise.

    The variance that a draw adds to a step is that of the noise times the square of ``ratio``
    over rows, steps and the rate, or less.
    """
    work = rows * min(weights, WIDE) * steps
    rate = max(WORK / work, LEAST_RATE, ratio**2 / (DRAWN * rows * steps))
    rate = rate if rate < MOST_RATE else 1.0
    # With rows in plenty only those in groups descend. The largest data is not read forever.
    many = rows >= NEWTON_ROWS and ratio >= REGIONS[-2].below
    return min(rate, PASSES / steps) if many else rate


def reach(problem: Problem, ratio: float, *, capped: bool = True) -> float:
    """Return the norm of weights to reach with so many rows per unit of noise.

    Where gradients are not capped, noise goes with the longest rows, and so does the reach.
    """
    label = problem.bounding.label_bound
    each = REACH[problem.loss.target] * (label if math.isfinite(label) else 1.0)
    each *= max(REACH_LEAST, math.cbrt(ratio / REACH_ROWS))
    return min(each * math.sqrt(problem.dimension), LONGEST) / (
        problem.typical_norm if capped else problem.row_norm
    )
