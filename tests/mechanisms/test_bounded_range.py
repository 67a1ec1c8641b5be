"""How strongly each of several choices may depend on scores: what a budget allows, and no more."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting import ZCDP, BoundedRange, Budget, Composed, Event, Pure
from discreet.mechanisms.bounded_range import MOST_ROUNDS, per_round


def together(eta: float, rounds: int) -> Event:
    return BoundedRange(eta) if rounds == 1 else Composed((BoundedRange(eta),) * rounds)


@pytest.mark.parametrize("rounds", [1, 2, 7, MOST_ROUNDS, MOST_ROUNDS + 1, 400])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-9), Budget(6.0, 1e-3)])
def test_choices_cost_the_budget_and_the_event_covers_them(budget: Budget, rounds: int) -> None:
    eta, event = per_round(budget, rounds)
    exact = together(eta, rounds).delta(budget.epsilon)
    assert exact <= budget.delta
    assert event.delta(budget.epsilon) <= budget.delta * (1 + 1e-9)
    for epsilon in (0.3 * budget.epsilon, budget.epsilon):
        assert event.delta(epsilon) >= together(eta, rounds).delta(epsilon) * (1 - 1e-6)
    if rounds <= MOST_ROUNDS:  # little of the budget is wasted
        assert together(1.01 * eta, rounds).delta(budget.epsilon) > budget.delta


@pytest.mark.parametrize("rounds", range(1, 40))
def test_choices_of_any_range_never_pass_what_they_claim(rounds: int) -> None:
    """Each costs ``eta**2 / 2``, in real arithmetic."""
    eta, event = per_round(Budget(0.1, 1e-3), rounds, bounded=False)
    if isinstance(event, ZCDP):
        assert rounds * Fraction(eta) ** 2 / 2 <= Fraction(event.rho)
    else:
        assert rounds <= 4


def test_without_delta_epsilons_add_up() -> None:
    assert per_round(Budget(1.0), 4) == (0.25, Pure(1.0))
    eta, event = per_round(Budget(1.0, 1e-6), 1, bounded=False)
    assert (eta, event) == (1.0, Pure(1.0))
