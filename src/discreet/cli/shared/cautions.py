"""Cautions about a budget, and about rows that are too few for it; they stop nothing."""

from __future__ import annotations

from discreet.accounting import Budget
from discreet.problem import Problem, rows_remark


def cautions(budget: Budget, rows: int | None = None, problem: Problem | None = None) -> list[str]:
    """Return what should be said about a budget before it is spent.

    Parameters
    ----------
    budget
        What is about to be spent.
    rows
        Number of rows, where it is public.
    problem
        What it is spent on, where one budget fits one model.

    Examples
    --------
    >>> cautions(Budget(1.0, 1e-6), 5000)
    []
    >>> cautions(Budget(1.0, 1e-3), 5000)
    ['caution: delta = 0.001 is not below one over the number of rows, ... smaller delta.']
    """
    remarks = [*budget.remarks(rows)]
    few = None if problem is None else rows_remark(problem, budget)
    return [f"caution: {remark}" for remark in remarks + ([few] if few else [])]
