"""Cautions about a budget; they stop nothing."""

from __future__ import annotations

from discreet.accounting import Budget


def cautions(budget: Budget, rows: int | None = None) -> list[str]:
    """Return what should be said about a budget before it is spent.

    Parameters
    ----------
    budget
        What is about to be spent.
    rows
        Number of rows, where it is public.

    Examples
    --------
    >>> cautions(Budget(1.0, 1e-6), 5000)
    []
    >>> cautions(Budget(1.0, 1e-3), 5000)
    ['caution: delta = 0.001 is not below one over the number of rows, ... smaller delta.']
    """
    return [f"caution: {remark}" for remark in budget.remarks(rows)]
