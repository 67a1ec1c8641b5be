"""What both kinds of private Frank-Wolfe share: the steps and the size of roundings."""

from __future__ import annotations

import math
from collections.abc import Callable

from discreet.bounds import Array
from discreet.problem import Problem

NAME = "frank-wolfe"

MARGIN = 1.0 + 2.0**-20
"""Covers the rounding of weights, margins and slopes in the bound on a slope."""

MOST_ROWS = 2**20
"""Rows that rounding is paid for under add-remove, where the true number is secret."""

MOST_STEPS = 2**15
"""Steps a default run never exceeds; absurd budgets and tens of millions of rows ask for more."""


def largest_entry(problem: Problem) -> float:
    """Return the largest entry of a bounded row, intercept included."""
    bounds = problem.bounds
    # privacy: declared ranges are mapped into [-1, 1]; a norm bounds every entry.
    body = 1.0 if bounds.features is not None else math.inf
    if bounds.row_norm is not None:
        body = min(body, bounds.row_norm)
    return max(body, problem.intercept)


def rounded_rows(problem: Problem) -> int:
    """Return the number of rows that the rounding of sums is paid for.

    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> rounded_rows(Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                      n_features=3, n_rows=100, neighbours="add-remove"))
    1048576
    """
    assert problem.n_rows is not None
    if problem.size_is_declared:
        return max(MOST_ROWS, 2 * problem.n_rows)
    return problem.n_rows


def assumptions(problem: Problem) -> tuple[str, ...]:
    """Return what the guarantee of a run assumes beside the usual."""
    if not problem.size_is_declared:
        return ()
    return (f"the data has at most {rounded_rows(problem)} rows (for the rounding of sums)",)


def iterate(weights: Array, steps: int, vertex: Callable[[Array], Array]) -> Array:
    """Run the steps from ``weights``; ``vertex`` maps an iterate to the next vertex."""
    for k in range(steps):
        step = 2.0 / (k + 2.0)
        weights = (1.0 - step) * weights + step * vertex(weights)
    return weights
