"""Logistic regression where noise outweighs the data: noisy descent, capped slopes, stopped early.

With few rows for the budget, what matters is not to chase noise. Gradient
descent stopped early leaves weak directions of the data alone, at less bias in
the strong ones than a ridge term of the same effect; and capping gradients, in
the way that keeps logits calibrated, lessens the noise. Both only pay when
noise is the problem, which public facts tell: the number of rows against the
noise a sum of gradients must carry. Momentum makes a few hundred steps go as
far as thousands, and batches make them cheap on many rows.

Where rows are few indeed, how long the weights should be is fitted once more,
by a line search along their direction (:mod:`discreet.algorithms.gradient.line_search`), for a
part of the
budget that falls with the number of weights. With more rows the length found is
right, unless classes nearly separate: these want longer weights than a short
descent gives. So a short line search changes the length where that is clear,
and only there.

The longer the descent, the farther noise moves every weight on the way, and
with it the margins; weights that fit such margins on average are too long. The
shorter it is, the more of its mean is the way itself. What balances the two is
to move a weight by about ``REACH`` over the row norm, whatever the numbers of
rows and weights (``benchmarks/descent_length.py``). Two kinds of real data want
more. Few columns often separate the classes well, so weights are large; little
is lost where noise outweighs the rows anyhow. And with more rows, weak directions
become worth fitting, which data with many columns have; the later part of the
descent then counts more.

Privacy is that of :class:`~discreet.algorithms.NoisyGradient` whatever these
choices are.
"""

from __future__ import annotations

import math

from discreet.algorithms.gradient import NoisyGradient
from discreet.checks import positive
from discreet.defaults.case import Case
from discreet.mechanisms.batches import rows_of_a_step
from discreet.problem import Problem
from discreet.tuned.defaults import (
    LEAST_RATE,
    LINE_SEARCH,
    LINE_SEARCH_CAUTIOUS,
    LINE_SEARCH_WEIGHTS,
    LONGEST,
    MOMENTUM,
    NORM,
    NORM_ROWS,
    REACH,
    REACH_A_COLUMN,
    REGIONS,
    ROWS_A_WEIGHT,
    STEPS,
    WORK,
)


def early_stopped(case: Case, surrogate: Problem) -> NoisyGradient:
    """Return the settings of a short descent on the problem with capped gradients.

    Parameters
    ----------
    case
        Public facts; the number of rows is known or declared.
    surrogate
        The problem of the case with capped gradients.

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
    >>> found.steps, found.sampler, round(found.norm_guess, 1)
    (500, 'full', 30.0)
    """
    problem, ratio = case.problem, case.rows_per_noise
    n, p, norm = problem.n_rows, problem.dimension, problem.row_norm
    assert n is not None
    few = case.region in REGIONS[:2]
    guess = min(_reach(ratio, p, few=few), LONGEST) / norm
    if case.asked.norm_guess is not None:
        guess = min(positive("norm_guess", case.asked.norm_guess), LONGEST / norm)
    # No further than where noise alone would carry the weights to the guessed norm.
    time = guess * ratio / (n * surrogate.terms.lipschitz)
    # Gradients of the longest rows start at half their norm; a smaller clip slows these down.
    pace = min(1.0, 2.0 * surrogate.terms.lipschitz / problem.terms.lipschitz)
    # Heavy-ball steps are stable up to 2 (1 + m) / (1 - m) over the curvature, 1/4 a row at most
    # where it starts.
    stable = 2.0 * (1.0 + MOMENTUM) / (1.0 - MOMENTUM) / (0.25 * pace * n * norm**2)
    steps = max(STEPS, math.ceil(time / stable))
    searched = LINE_SEARCH / (p + LINE_SEARCH_WEIGHTS) if few else LINE_SEARCH_CAUTIOUS
    return NoisyGradient(
        steps=steps,
        step=time / steps,
        momentum=MOMENTUM,
        rule="smooth",
        output="mean" if few else "weighted",
        strength=case.asked.strength or None,
        norm_guess=guess,
        line_search=math.ceil(steps * searched),
        cautious=not few,
        **rows_of_a_step(max(WORK / (n * p * steps), LEAST_RATE), n),
    )


def _reach(ratio: float, weights: int, *, few: bool) -> float:
    """Return the norm of the weights to reach, in units of one over the row norm."""
    root = math.sqrt(weights)
    usual = max(REACH * root, NORM * min(1.0, math.sqrt(NORM_ROWS / ratio)))
    usual *= min(1.0, math.sqrt(ratio / root / ROWS_A_WEIGHT))
    return usual if few else max(usual, REACH_A_COLUMN * weights * root)
