"""Logistic regression where noise drowns the data: noisy descent, capped slopes, stopped early.

With few rows for the budget, what matters is not to chase noise. Gradient
descent stopped early leaves weak directions of the data alone, at less bias in
the strong ones than a ridge term of the same effect; and capping gradients, in
the way that keeps logits calibrated, lessens the noise. Both only pay when
noise is the problem, which public facts tell: the number of rows against the
noise a sum of gradients must carry. Momentum makes a few hundred steps go as
far as thousands, and batches make them cheap on many rows.

Where rows are few indeed, how long the weights should be is fitted once more,
along their direction (:mod:`discreet.algorithms.gradient.line_search`), for a part of the
budget that falls with the number of weights. With more rows the length found is
right, unless classes nearly separate: these want longer weights than a short
descent gives. So a few looks change the length where that is clear, and only
there.

The longer the descent, the farther noise moves every weight on the way, and
with it the margins; weights that fit such margins on average are too long. The
shorter it is, the more of its mean is the way itself. What balances the two is
to move a weight by about ``REACH`` over the row norm, whatever the numbers of
rows and weights (``benchmarks/descent_length.py``). Two kinds of real data want
more. Few columns often separate the classes well, so weights are large; little
is lost where noise drowns the rows anyhow. And with more rows, weak directions
become worth fitting, which data with many columns have; the later part of the
descent then counts more.

Privacy is that of :class:`~discreet.algorithms.NoisyGradient` whatever these
choices are.
"""

from __future__ import annotations

import math

from discreet.accounting import Budget
from discreet.algorithms.gradient import NoisyGradient, NoisyGradientPlan
from discreet.checks import positive
from discreet.defaults.capping import capped
from discreet.mechanisms.batches import rows_of_a_step
from discreet.problem import Problem, rows_against_noise

REACH = 3.0
"""How far noise may move one weight, in units of one over the row norm."""

NORM = 20.0
"""Norm of the weights to reach, in the same units, where noise drowns the rows of few columns."""

DROWNED = 50.0
"""Rows against noise up to which that is the norm; beyond, it falls with their root."""

SEEN = 2.0
"""Rows against noise, for each weight, below which all that would be too far."""

FEW_ROWS = 400.0
"""Rows against noise below which the length is fitted and weak directions are left alone."""

COLUMNS = 0.08
"""The same as ``REACH`` for each weight there is, where rows are not few."""

FARTHEST = 110.0
"""Norm of the weights to reach, in the same units, at most."""

MOMENTUM = 0.9
"""Part of the last direction that a step keeps."""

FEWEST = 500
"""Steps, at least."""

LOOKS = 2.0
"""Looks at the length for every so many steps: the number of weights and ``OTHERS``."""

OTHERS = 5.0
"""So that looks stay few where weights are few."""

CAUTIOUS_LOOKS = 0.03
"""Looks for every step where rows are not few."""

WORK = 2e9
"""Products of a run above which steps take batches of rows."""

LEAST_RATE = 0.02
"""Smallest part of the rows in a batch."""


def early_stopping(
    problem: Problem, budget: Budget, norm_guess: float | None = None
) -> NoisyGradientPlan | None:
    """Return the plan of a short descent, or None where the data speaks louder than noise.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> def plan(rows):
    ...     problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                       n_features=100, n_rows=rows)
    ...     return early_stopping(problem, Budget(0.1, 1e-6))
    >>> plan(30_000).steps, round(plan(500_000).sampler.rate, 2), plan(3_000_000)
    (500, 0.04, None)
    """
    n, p, norm = problem.n_rows, problem.dimension, problem.row_norm
    if n is None:
        return None
    ratio = rows_against_noise(problem, budget)
    few = ratio < FEW_ROWS
    surrogate = capped(problem, budget)
    if surrogate is None:
        return None
    root = math.sqrt(p)
    usual = max(REACH * root, NORM * min(1.0, math.sqrt(DROWNED / ratio)))
    usual *= min(1.0, math.sqrt(ratio / root / SEEN))
    guess = usual if few else max(usual, COLUMNS * p * root)
    if norm_guess is not None:
        guess = positive("norm_guess", norm_guess) * norm
    guess = min(guess, FARTHEST) / norm
    # No further than where noise alone would carry the weights to the guessed norm.
    time = guess * ratio / (n * surrogate.terms.lipschitz)
    # Gradients of the longest rows start at half their norm; a smaller clip slows these down.
    pace = min(1.0, 2.0 * surrogate.terms.lipschitz / problem.terms.lipschitz)
    # Heavy-ball steps are stable up to 2 (1 + m) / (1 - m) over the curvature, 1/4 a row at most
    # where it starts.
    stable = 2.0 * (1.0 + MOMENTUM) / (1.0 - MOMENTUM) / (0.25 * pace * n * norm**2)
    steps = max(FEWEST, math.ceil(time / stable))
    rate = max(WORK / (n * p * steps), LEAST_RATE)
    settings = NoisyGradient(
        steps=steps,
        step=time / steps,
        momentum=MOMENTUM,
        rule="smooth",
        output="mean" if few else "weighted",
        norm_guess=guess,
        looks=math.ceil(steps * (LOOKS / (p + OTHERS) if few else CAUTIOUS_LOOKS)),
        cautious=not few,
        **rows_of_a_step(rate, n),
    )
    return settings.plan(surrogate, budget)
