"""Logistic regression where noise drowns the data: short noisy descent, capped slopes.

With few rows for the budget, what matters is not to chase noise. Gradient
descent stopped early leaves weak directions of the data alone, at less bias in
the strong ones than a ridge term of the same effect; and capping the slope at
1/2, in the way that keeps logits calibrated, halves the noise. Both only pay
when noise is the problem, which public facts tell: the number of rows against
the noise a sum of gradients must carry.

The constants were chosen by looking at results on the Adult and synthetic
problems of ``benchmarks/problems.py``, so results there are not independent.
Privacy is that of :class:`~discreet.algorithms.NoisyGradient` whatever they are.
"""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.accounting import Budget
from discreet.algorithms.base import ENOUGH_ROWS, Problem, rows_against_noise
from discreet.algorithms.noisy_gradient import NoisyGradient, NoisyGradientPlan
from discreet.checks import positive
from discreet.losses import CappedLogistic

NORM_GUESS = 25.0
"""Norm of the weights to reach, in units of one over the row norm."""

TIME = 15.0
"""Descent time in units of one over the usual curvature, after which nothing is gained."""


def early_stopping(
    problem: Problem, budget: Budget, norm_guess: float | None = None
) -> NoisyGradientPlan | None:
    """Return the plan of a short descent, or None where the data speaks louder than noise.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.types import Bounds
    >>> def plan(rows):
    ...     problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                       n_features=100, n_rows=rows)
    ...     return early_stopping(problem, Budget(0.1, 1e-6))
    >>> plan(30_000).steps > 100, plan(3_000_000) is None
    (True, True)
    """
    n, p, norm = problem.n_rows, problem.dimension, problem.row_norm
    ratio = rows_against_noise(problem, budget)
    if n is None or ratio > ENOUGH_ROWS:
        return None
    size = n / ratio
    capped = replace(problem, loss=CappedLogistic(cap=0.5))
    guess = NORM_GUESS / norm if norm_guess is None else positive("norm_guess", norm_guess)
    usual = 0.1 * n * norm**2 / p
    time = min(guess / (capped.terms.lipschitz * size), TIME / usual)
    # Rows rarely all point one way, so steps may be a few times the worst case's length.
    steps = math.ceil(time * n * capped.terms.smoothness / 3.0)
    steps = min(max(steps, 100), 1500)
    settings = NoisyGradient(
        steps=steps, step=time / steps, rule="smooth", output="weighted", norm_guess=guess
    )
    return settings.plan(capped, budget)
