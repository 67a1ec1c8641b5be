"""Every listed algorithm keeps its promise under attack, and a broken one is caught.

An algorithm is covered by being listed. What it cannot run is what it refuses. Problems
are as small as they can be and nearly linear, so that what one row can move is what the
proofs allow for, and a run takes a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import pytest

from discreet import AuditReport, audit
from discreet.accounting import Budget, Gaussian, Guarantee, epsilon_at, gaussian_multiplier
from discreet.algorithms import ALGORITHMS, Plan, Problem
from discreet.auditing.bounds import is_gaussian
from discreet.data import Bounding
from discreet.errors import BudgetTooSmall, Incompatible, MissingBound
from discreet.losses import Huber, Squared
from discreet.noise import NOISES
from discreet.sets import AllSpace, L1Ball
from discreet.types import NEIGHBOURS, Bounds

CONFIDENCE = 1 - 5e-7
"""Of one audit: a hundred of them raise a false alarm with probability below 1e-4."""

RUNS = 100
"""Runs on each neighbour. Seeds are fixed, so that every outcome repeats."""

FACTOR = 8.0
"""By how much budgets of planted faults are too large."""

PARTS: tuple[dict[str, Any], ...] = (
    {"loss": Huber(threshold=0.05), "constraint": L1Ball(radius=0.5)},
    {"loss": Huber(threshold=0.05), "constraint": AllSpace()},
    {"loss": Squared(), "constraint": L1Ball(radius=1.0)},
    {"loss": Squared(), "constraint": AllSpace()},
)
"""Problems to try in turn. Huber losses are linear here, so that the canary always pulls."""

SHORT = ({"steps": 1}, {"steps": 1, "batch": 1, "passes": 1})
"""Settings to try in turn, as far as an algorithm has them: few steps lose little of a row."""

CASES = [(n, r, pure) for n in sorted(ALGORITHMS) for r in NEIGHBOURS for pure in (False, True)]


@dataclass(frozen=True)
class Claiming:
    """A plan that claims something else than it should."""

    plan: Plan
    guarantee: Guarantee

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)


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
                    n_rows=2,
                    neighbours=relation,  # type: ignore[arg-type]
                    **parts,
                )
                return algorithm.plan(problem, budget)
            except (Incompatible, MissingBound, BudgetTooSmall):
                continue
    return None


def budget_of(plan: Plan | None, pure: bool, factor: float = 1.0) -> Budget:
    """The budget at which few runs tell most: larger for Gaussian curves than for others."""
    if pure:
        return Budget(factor)
    if plan is None or not is_gaussian(plan.guarantee.event):
        return Budget(factor, 1e-6)
    multiplier = gaussian_multiplier(5.0, 1e-5) / factor
    return Budget(epsilon_at(Gaussian(multiplier), 1e-5), 1e-5)


@cache
def planned(name: str, relation: str, pure: bool, factor: float = 1.0) -> Plan | None:
    """The plan of an algorithm for its budget, or for one that is too large by a factor."""
    first = made(name, relation, Budget(1.0, 0.0 if pure else 1e-6))
    return made(name, relation, budget_of(first, pure, factor))


def attacked(plan: Any, runs: int = RUNS) -> AuditReport:
    return audit(plan, runs=runs, confidence=CONFIDENCE, random_state=1)


def applies(name: str, relation: str, pure: bool) -> Plan:
    plan = planned(name, relation, pure)
    if plan is None:
        pytest.skip("the algorithm refuses it")
    return plan


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_is_audited_under_the_relation_it_is_made_for(name: str) -> None:
    for relation in ("zero-out", "replace-one"):
        assert planned(name, relation, False) is not None, relation
    # Without delta and with secret sizes some refuse whatever they are given; then they say so.
    settings = (Budget(1.0), Budget(100.0), Budget(1.0, 1e-6))
    for relation, pure in (("zero-out", True), ("add-remove", False), ("add-remove", True)):
        if planned(name, relation, pure) is None:
            refusals = [made(name, relation, b) for b in settings if (b.delta == 0) == pure]
            assert not any(refusals), (relation, pure)


@pytest.mark.parametrize(("name", "relation", "pure"), CASES)
def test_no_algorithm_spends_more_than_it_claims(name: str, relation: str, pure: bool) -> None:
    plan = applies(name, relation, pure)
    found = attacked(plan)
    assert plan.guarantee.neighbours == relation
    assert not found.violated, str(found)


@pytest.mark.parametrize(("name", "relation", "pure"), CASES)
def test_a_budget_that_is_too_large_is_caught(name: str, relation: str, pure: bool) -> None:
    plan, wrong = applies(name, relation, pure), planned(name, relation, pure, FACTOR)
    assert wrong is not None
    found = attacked(Claiming(wrong, plan.guarantee))
    assert found.violated, str(found)


def half(draw: Any) -> Any:
    return lambda *args: draw(*args) / 2


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_half_the_noise_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = applies(name, "zero-out", False)
    if not is_gaussian(plan.guarantee.event):
        pytest.skip("its curve is not attained")
    for noise in NOISES.values():
        monkeypatch.setattr(noise, "sample", half(noise.sample))
    assert attacked(plan, runs=5 * RUNS).violated


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_wrong_relation_is_caught(name: str) -> None:
    plan, wrong = applies(name, "replace-one", False), applies(name, "zero-out", False)
    if not is_gaussian(plan.guarantee.event):
        pytest.skip("its curve is not attained")

    class Wrong(Claiming):
        problem = plan.problem

    assert attacked(Wrong(wrong, plan.guarantee), runs=5 * RUNS).violated


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_a_row_that_is_not_clipped_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = applies(name, "zero-out", False)
    bounded = Bounding.apply

    def unbounded(self: Bounding, source: Any, **options: Any) -> Any:
        return bounded(replace(self, bounds=replace(self.bounds, row_norm=1e3)), source, **options)

    monkeypatch.setattr(Bounding, "apply", unbounded)
    assert attacked(plan).violated
