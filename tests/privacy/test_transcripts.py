"""The privacy loss of every listed algorithm and every estimator that adds noise, exactly.

Half the noise or half the claim shows as a factor of two.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from listed import CASES as LISTED
from listed import applies, planned, unclipped, weaker
from transcripts import allowed, transcript_loss

from discreet.accounting import Budget, Gaussian
from discreet.algorithms import ALGORITHMS
from discreet.algorithms.perturbation.correction import Correction
from discreet.auditing import Pair, worst_pair
from discreet.auditing.pairs import blank, canary, source_of
from discreet.bounds import NEIGHBOURS, Bounds
from discreet.data import Bounding
from discreet.defaults import Asked, recommend
from discreet.defaults.learned_clip import LearnedClipPlan, ResidualSize
from discreet.losses import Clipped, Huber, Logistic, Squared
from discreet.noise import Seeded
from discreet.problem import Plan, Problem
from discreet.sets import AllSpace, L2Ball

ELSEWHERE = {
    "exponential-sampling": "algorithms/sampling/test_exponential_sampling.py",
    "frank-wolfe": "algorithms/frank_wolfe/test_frank_wolfe.py",
    "localization": "algorithms/sampling/test_localization.py",
    "purification": "algorithms/test_purification.py",
    "support-selection": "algorithms/support/test_support_selection.py",
}
"""Algorithms that choose or sample instead of adding noise to sums, and where their laws are
computed exactly."""

CASES = [case for case in LISTED if case[0] not in ELSEWHERE]

SHOWN = 0.7
"""Part of the claim that a run shows, at least: half the noise shows more than all of it."""


def shown(plan: Plan, claim: Any = None, pair: Pair | None = None) -> float:
    """The part of the claim that a run of a plan shows."""
    pair = worst_pair(plan.problem) if pair is None else pair
    found = transcript_loss(
        lambda source: plan.run(source, Seeded(3)).weights, (pair.first, pair.second)
    )
    return found / allowed(plan.guarantee if claim is None else claim)


@pytest.mark.parametrize(("name", "relation", "pure"), CASES)
def test_a_run_shows_nearly_all_that_is_claimed_and_no_more(
    name: str, relation: str, pure: bool
) -> None:
    assert SHOWN < shown(applies(name, relation, pure)) <= 1 + 1e-9


@pytest.mark.parametrize(("name", "relation", "pure"), CASES)
def test_half_the_noise_is_caught(name: str, relation: str, pure: bool) -> None:
    plan = applies(name, relation, pure)
    wrong = planned(name, relation, pure, 2.0)
    assert shown(wrong, plan.guarantee) > 1.1


@pytest.mark.parametrize(("name", "pure"), sorted({(n, p) for n, _, p in CASES}))
def test_a_wrong_relation_is_caught(name: str, pure: bool) -> None:
    plan = applies(name, "replace-one", pure)
    wrong = planned(name, "zero-out", pure)
    assert shown(wrong, plan.guarantee, worst_pair(plan.problem)) > 1.1


@pytest.mark.parametrize(("name", "pure"), sorted({(n, p) for n, _, p in CASES}))
def test_a_row_against_a_blank_one_shows_half_as_much_as_against_its_opposite(
    name: str, pure: bool
) -> None:
    plan = applies(name, "replace-one", pure)
    problem, one = plan.problem, canary(plan.problem, 0)
    others = [one.second] * (problem.n_rows - 1)
    pair = Pair(
        source_of(problem, [one.first, *others]), source_of(problem, [blank(problem), *others]), ""
    )
    assert 0.4 * SHOWN < shown(plan, pair=pair) < 0.75


def test_a_blank_row_that_counts_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = applies("noisy-gradient", "zero-out", False)
    apply = Bounding.apply

    def counted(self: Any, source: Any, **options: Any) -> Any:
        rows = apply(self, source, **options)
        gone = ~np.asarray(rows.X).any(axis=1)
        rows.X[gone], rows.y[gone], rows.weight[gone] = -1.0, 1.0, 1.0
        return rows

    monkeypatch.setattr(Bounding, "apply", counted)
    assert shown(plan) > 1.1


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CASES}))
def test_a_row_that_is_not_clipped_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = applies(name, "zero-out", False)
    usual = shown(plan)
    unclipped(monkeypatch)
    found = shown(plan)
    # Otherwise gradients are clipped too, and the row moves them no further.
    assert found > 1.1 or found == pytest.approx(usual, rel=1e-6)


@pytest.mark.parametrize("loss", [Huber(threshold=0.05), Squared(), Logistic()], ids=repr)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)], ids=str)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_newton_steps_after_a_run_cost_what_they_claim(
    loss: Any, budget: Budget, relation: Any
) -> None:
    """Their plans need two million rows; the steps themselves do not."""
    problem = Problem(
        loss=loss,
        bounds=Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1)),
        constraint=L2Ball(radius=0.5) if loss.quadratic else AllSpace(),
        n_features=2,
        n_rows=4,
        neighbours=relation,
    )
    steps, pair = Correction(problem, budget), worst_pair(problem)

    def run(source: Any) -> Any:
        return steps.fitted(problem.bound(source), np.zeros(2), Seeded(1))

    found = transcript_loss(run, (pair.first, pair.second)) / allowed(budget)
    assert found <= 1 + 1e-9
    # Not at once: the steepest slope of the logistic loss and its largest curvature, or
    # the residuals of a whole ball.
    assert found > (0.9 if isinstance(loss, Huber) else 0.25)


def two_runs(relation: Any, budget: Budget, n_rows: int = 2) -> LearnedClipPlan:
    """A plan that learns its clip, for so few rows that small clips are linear."""
    problem = Problem(
        loss=Clipped(loss=Squared(), clip=1.0),
        bounds=Bounds(row_norm=1.0, label=(-1, 1)),
        n_features=1,
        n_rows=n_rows,
        neighbours=relation,
    )
    asked = Asked(algorithm="learned-clip", free_clip=True, norm_guess=0.02)
    plan = recommend(problem, budget, asked)
    assert isinstance(plan, LearnedClipPlan)
    return plan


@pytest.mark.parametrize("n_rows", [2, 64])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)], ids=str)
@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_whichever_clip_is_learned_both_runs_cost_what_they_claim(
    relation: str, budget: Budget, n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = two_runs(relation, budget, n_rows)
    wrong = two_runs(relation, weaker(budget, 2.0), n_rows)
    found = []
    for number in range(len(plan.clips)):
        monkeypatch.setattr(LearnedClipPlan, "clip", lambda self, size, number=number: number)
        found.append(shown(plan))
        if number < len(plan.clips) // 2:
            assert shown(wrong, plan.guarantee) > 1.1
    assert max(found) <= 1 + 1e-9
    # Where residuals are hardly clipped, losses curve and the worst row pulls less than it may.
    assert min(found[: len(found) // 2]) > 0.9


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)], ids=str)
def test_a_size_of_residuals_with_too_little_noise_is_caught(
    budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = two_runs("zero-out", budget)
    monkeypatch.setattr(LearnedClipPlan, "clip", lambda self, size: 0)
    noise = ResidualSize.noise.func  # type: ignore[attr-defined]

    def less(self: ResidualSize) -> Any:
        cost = self.cost
        strong = type(cost)(cost.multiplier / 8 if isinstance(cost, Gaussian) else 8 * cost.epsilon)
        return noise(replace(self, cost=strong))

    assert shown(plan) <= 1 + 1e-9
    monkeypatch.setattr(ResidualSize, "noise", property(less))
    assert shown(plan) > 1.02


def test_every_algorithm_is_looked_at_here_or_has_exact_tests_of_its_own() -> None:
    assert set(ELSEWHERE) < set(ALGORITHMS)
    for path in ELSEWHERE.values():
        assert (Path(__file__).parents[1] / path).exists()
