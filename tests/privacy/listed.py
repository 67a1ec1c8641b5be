"""Plans of every listed algorithm on problems that show what one row can move.

An algorithm is covered by being listed. What it cannot run is what it refuses. Problems are as
small as they can be and nearly linear, so that what one row can move is what the proofs allow for,
and a run takes a millisecond.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from inspect import signature
from typing import Any

import pytest

from discreet.accounting import Budget, Gaussian, epsilon_at, gaussian_multiplier
from discreet.algorithms import ALGORITHMS
from discreet.bounds import NEIGHBOURS, Bounds
from discreet.data import Bounding
from discreet.errors import BudgetTooSmall, Incompatible, MissingBound
from discreet.losses import Huber, Squared
from discreet.problem import Plan, Problem

EPSILONS, DISTANCE = (7.0, 4.0, 2.0, 1.0, 0.5), 0.52
"""The audited epsilon is the first at which the claim keeps neighbours closer than that, in total
variation: few runs refute it then."""

PARTS: tuple[dict[str, Any], ...] = (
    {"loss": Huber(threshold=0.05), "n_rows": 2},
    {"loss": Squared(), "n_rows": 2},
    {"loss": Huber(threshold=0.05), "n_rows": 64},
)
"""Problems to try in turn. Huber losses are linear here, so that the canary always pulls."""

SHORT = (
    {"steps": 2, "norm_guess": 0.02},
    {"steps": 2, "norm_guess": 0.02, "batch": 1, "passes": 1},
)
"""Settings to try in turn, as far as an algorithm has them: few steps lose little of a row."""

CASES = [(n, r, pure) for n in sorted(ALGORITHMS) for r in NEIGHBOURS for pure in (False, True)]


def made(name: str, relation: str, budget: Budget) -> Plan | None:
    """The first plan the algorithm does not refuse, or None."""
    for parts in PARTS:
        for settings in SHORT:
            known = signature(ALGORITHMS[name]).parameters
            algorithm = ALGORITHMS[name](**{k: v for k, v in settings.items() if k in known})
            try:
                problem = Problem(
                    bounds=Bounds(row_norm=1.0, label=(-1, 1)),
                    n_features=1,
                    neighbours=relation,  # type: ignore[arg-type]
                    **parts,
                )
                return algorithm.plan(problem, budget)
            except (Incompatible, MissingBound, BudgetTooSmall):
                continue
    return None


def weaker(budget: Budget, factor: float) -> Budget:
    """A budget at which noise is smaller by a factor: the fault that every algorithm can have."""
    if budget.delta == 0:
        return Budget(factor * budget.epsilon)
    multiplier = gaussian_multiplier(budget.epsilon, budget.delta) / factor
    return Budget(epsilon_at(Gaussian(multiplier), budget.delta), budget.delta)


@cache
def planned(name: str, relation: str, pure: bool, factor: float = 1.0) -> Plan | None:
    """The plan for a budget at which few runs tell most, or for one too large by a factor."""
    for epsilon in EPSILONS:
        budget = Budget(epsilon, 0.0 if pure else 1e-6)
        plan = made(name, relation, budget)
        if plan is not None and plan.guarantee.event.delta(0.0) <= DISTANCE:
            return plan if factor == 1 else made(name, relation, weaker(budget, factor))
    return None


def applies(name: str, relation: str, pure: bool) -> Plan:
    plan = planned(name, relation, pure)
    if plan is None:
        pytest.skip("the algorithm refuses it")
    return plan


def unclipped(patch: pytest.MonkeyPatch) -> None:
    """Let rows be far longer than their bound."""
    bounded = Bounding.apply

    def unbounded(self: Bounding, source: Any, **options: Any) -> Any:
        return bounded(replace(self, bounds=replace(self.bounds, row_norm=1e3)), source, **options)

    patch.setattr(Bounding, "apply", unbounded)
