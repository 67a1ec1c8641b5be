"""Softmax regression where noise blurs the usual directions of the data: noisy descent.

Objective perturbation of softmax pays for a slope up to ``sqrt(2)`` and for a
curvature of rank K - 1, by noise and by a strength it cannot do without.
Noisy gradient sums are clipped at slope 1, which few rows exceed, and descent
stopped early leaves weak directions alone at less bias than that strength. So
it is the better one until every usual direction stands out from noise. From
there on clipped rows bias it, and one solve is faster.
"""

from __future__ import annotations

import math
from dataclasses import replace

from discreet.accounting import Budget
from discreet.algorithms.gradient import NoisyGradient, NoisyGradientPlan
from discreet.mechanisms.batches import rows_of_a_step
from discreet.problem import Problem, rows_against_noise

CLEAR = 100.0
"""Rows against noise, per root of weights, from which usual directions stand out.

Chosen on artificial problems (``benchmarks/README.md``); only accuracy depends on it.
"""

WORK = 5e9
"""Products of a run above which steps take batches of rows."""

LEAST_RATE = 0.05
"""Smallest part of the rows in a batch."""


def softmax_descent(
    problem: Problem, budget: Budget, norm_guess: float | None = None
) -> NoisyGradientPlan | None:
    """Return the plan of a descent, or None where the data speaks clearly.

    Examples
    --------
    >>> from discreet.losses import Softmax
    >>> from discreet.bounds import Bounds
    >>> def plan(rows):
    ...     problem = Problem(loss=Softmax(n_classes=10), n_features=50, n_rows=rows,
    ...                       bounds=Bounds(row_norm=1.0, classes=tuple(range(10))))
    ...     return softmax_descent(problem, Budget(1.0, 1e-6))
    >>> plan(3000).steps, plan(3000).sampler.rate, plan(1_000_000)
    (100, 1.0, None)
    """
    n, p = problem.n_rows, problem.dimension
    if n is None or rows_against_noise(problem, budget) > CLEAR * math.sqrt(p):
        return None
    settings = NoisyGradient(sampler="full", rule="heavy-ball", norm_guess=norm_guess)
    plan = settings.plan(problem, budget)
    rate = max(WORK / (n * p * plan.rule.steps(plan.usual_facts)), LEAST_RATE)
    return replace(settings, **rows_of_a_step(rate, n)).plan(problem, budget)
