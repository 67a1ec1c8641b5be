"""Descent where noise neither drowns the rows nor fades beside them.

Objective perturbation needs a ridge in proportion to its noise, which pulls all weights to
zero, strong directions of the data and weak ones alike. A descent with momentum that stops where
noise becomes visible leaves only the weak ones alone. Where noise drowns the rows a ridge is the
safer guess, and with rows in plenty it vanishes, while a descent still stops somewhere. The ends
were chosen on artificial regressions and seen to fit five public data sets
(``benchmarks/README.md``); privacy is that of :class:`~discreet.algorithms.NoisyGradient` whatever
they are.
"""

from __future__ import annotations

from discreet.accounting import Budget
from discreet.algorithms.gradient import NoisyGradient, NoisyGradientPlan
from discreet.problem import Problem, rows_against_noise

DROWNED, PLENTY = 30.0, 1000.0
"""Rows against noise between which a descent does better than objective perturbation."""


def descent(problem: Problem, budget: Budget) -> NoisyGradientPlan | None:
    """Return the plan of a descent, or None where another algorithm does better.

    Examples
    --------
    >>> from discreet.losses import Huber
    >>> from discreet.bounds import Bounds
    >>> def plan(rows):
    ...     problem = Problem(loss=Huber(threshold=0.25), n_features=10, n_rows=rows,
    ...                       bounds=Bounds(row_norm=1.0, label=(-1, 1)))
    ...     return descent(problem, Budget(1.0, 1e-6))
    >>> plan(100), plan(2000).rule.name, plan(100_000)
    (None, 'heavy-ball', None)
    """
    if budget.delta == 0.0 or problem.n_rows is None:
        return None
    between = DROWNED <= rows_against_noise(problem, budget) <= PLENTY
    return NoisyGradient().plan(problem, budget) if between else None
