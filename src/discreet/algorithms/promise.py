"""The guarantee of a plan that spends its whole budget."""

from __future__ import annotations

from typing import Protocol

from discreet.accounting import Budget, Event, Guarantee
from discreet.algorithms.base import ASSUMED, Problem


class Budgeted(Protocol):
    """A plan that was calibrated to a budget."""

    @property
    def problem(self) -> Problem: ...

    @property
    def budget(self) -> Budget: ...


def promise(plan: Budgeted, event: Event, theorem: str, *assumed: str) -> Guarantee:
    """Return what a run of the plan guarantees: its budget, for the problem's neighbours."""
    return Guarantee(
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        neighbours=plan.problem.neighbours,
        event=event,
        theorem=theorem,
        assumptions=tuple(dict.fromkeys((*ASSUMED, *assumed, *plan.problem.assumptions))),
    )
