"""A fit and a noisy Hessian: what they cost together, and what is released."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from discreet.accounting import Budget, Gaussian, gaussian_multiplier
from discreet.algorithms import NoisyGradient, ObjectivePerturbation, OutputPerturbation
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible
from discreet.inference import CurvaturePlan, arriving_steps, curvature_release, with_curvature
from discreet.losses import Clipped, Huber, Logistic, Loss, Poisson, Quantile, Softmax, Squared
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge
from discreet.sets import L2Ball

BUDGET = Budget(1.0, 1e-6)


def problem(**changes: Any) -> Problem:
    given: dict[str, Any] = {"loss": Logistic(), "bounds": Bounds(row_norm=1.0, classes=(0, 1))}
    return Problem(**(given | {"n_features": 3, "n_rows": 4000} | changes))


def planned(
    algorithm: Any = None, budget: Budget = BUDGET, target: str = "table", **changes: Any
) -> CurvaturePlan:
    chosen = ObjectivePerturbation() if algorithm is None else algorithm
    task = problem(**changes)
    return with_curvature(lambda part: chosen.plan(task, part), budget, target, 0.2)


class Bumpy(Huber):
    """A loss that declares nothing of its curvature."""

    proved_convex = True


OTHERS: dict[str, tuple[Loss, Bounds]] = {
    "logistic": (Logistic(), Bounds(row_norm=1.0, classes=(0, 1))),
    "huber": (Huber(threshold=0.25), Bounds(row_norm=1.0, label=(-1, 1))),
    "poisson": (Poisson(limit=1.0), Bounds(row_norm=1.0, label=(0, 2))),
    "clipped": (Clipped(loss=Squared(), clip=0.5), Bounds(row_norm=1.0, label=(-1, 1))),
}


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_fit_and_hessian_cost_the_budget_together(relation: str) -> None:
    descent = NoisyGradient(**arriving_steps(problem(neighbours=relation)))
    for algorithm in (None, descent) if relation == "zero-out" else (descent,):
        plan = planned(algorithm, neighbours=relation)
        assert plan.event.events[-1] == Gaussian(plan.multiplier)
        assert plan.guarantee.epsilon == 1.0
        assert plan.event.delta(1.0) <= 1e-6
        assert plan.event.delta(0.9) > 1e-6  # nothing much is left over
        assert "inference/curvature" in plan.guarantee.theorem
    # Gaussian noise throughout: squares of signal-to-noise ratios add up, checked by hand.
    whole = 1 / gaussian_multiplier(1.0, 1e-6)
    fit_alone = 1 / gaussian_multiplier(plan.fit.budget.epsilon, 1e-6)
    assert fit_alone**2 + plan.multiplier**-2 <= whole**2
    assert fit_alone**2 + plan.multiplier**-2 > 0.999 * whole**2


def test_no_pair_of_neighbours_has_hessians_further_apart() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for relation, apart in (("zero-out", 0.25), ("replace-one", 0.25 * 2**0.5)):
        descent = NoisyGradient(**arriving_steps(problem()))
        plan = planned(descent, neighbours=relation)
        claim = plan.hessian.scale / plan.multiplier
        worst = 0.0
        for weights in (np.zeros(3), random.normal(size=3) * 4):
            slopes = expit(rows @ weights)
            parts = (slopes * (1 - slopes))[:, None, None] * rows[:, :, None] * rows[:, None, :]
            moved = parts if relation == "zero-out" else parts[:, None] - parts[None]
            worst = max(worst, float(np.sqrt((moved**2).sum(axis=(-2, -1))).max()))
        assert worst <= claim
        assert worst > 0.98 * apart
        assert claim == pytest.approx(apart, rel=1e-3)


def test_the_hessian_has_the_noise_that_is_paid_for() -> None:
    random = np.random.default_rng(1)
    X, y = random.uniform(-0.5, 0.5, (4000, 3)), random.integers(0, 2, 4000)
    plan, noise = planned(), Seeded(2)
    found = []
    for _ in range(60):
        held: Any = plan.run(ArraySource(X, y), noise).inference
        slopes = expit(X @ held.weights)
        exact = (X * (slopes * (1 - slopes))[:, None]).T @ X
        found.append(held.hessian - exact)
    draws = np.array(found)
    diagonal = draws[:, range(3), range(3)].ravel() / plan.hessian.scale
    beside = draws[:, [0, 0, 1], [1, 2, 2]].ravel() / plan.hessian.scale * 2**0.5
    for sample in (diagonal, beside):
        assert stats.kstest(sample, "norm").pvalue > 1e-4
        assert stats.kstest(2 * sample, "norm").pvalue < 1e-4
    assert held.noise == plan.hessian.scale


def test_the_ridge_of_the_table_is_the_one_that_was_asked_for() -> None:
    free = planned()
    assert free.ridge == 0.0 < free.fit.strength
    regularised = planned(ObjectivePerturbation(strength=50.0)).explained()
    assert regularised.fit.strength == 50.0
    own = planned(regularizer=Ridge(strength=30.0))
    assert own.ridge == 30.0 == own.fit.strength
    step = planned(NoisyGradient(strength=20.0, sampler="full", rule="heavy-ball"))
    assert step.ridge == 20.0


def test_what_has_no_known_law_is_refused() -> None:
    with pytest.raises(Incompatible, match="delta > 0"):
        planned(budget=Budget(1.0))
    with pytest.raises(Incompatible, match="no other noise"):
        planned(ObjectivePerturbation(noise="gamma"))
    with pytest.raises(Incompatible, match="output-perturbation"):
        planned(OutputPerturbation(strength=1.0))
    for part in ({"regularizer": L1(strength=1.0)}, {"constraint": L2Ball(radius=1.0)}):
        with pytest.raises(Incompatible, match="ridge as the only penalty"):
            planned(**part)
    numbers = {"bounds": Bounds(row_norm=1.0, label=(-1, 1))}
    descent = NoisyGradient(sampler="full")
    with pytest.raises(Incompatible, match="Use smoothed-quantile"):
        planned(descent, loss=Quantile(), **numbers)
    with pytest.raises(Incompatible, match="one output"):
        planned(loss=Softmax(n_classes=3), bounds=Bounds(row_norm=1.0, classes=(0, 1, 2)))
    with pytest.raises(Incompatible, match="rises once"):
        planned(loss=Bumpy(), **numbers)
    with pytest.raises(Incompatible, match="n_rows"):
        planned(loss=Huber(), n_rows=None, neighbours="add-remove", **numbers)
    for settings, said in (
        ({"sampler": "poisson", "batch": 100}, "all rows"),
        ({"line_search": 2}, "plain steps"),
        ({"rule": "strongly-convex", "strength": 5.0}, "without projection"),
        ({"clip": 0.1}, "not clipped"),
    ):
        with pytest.raises(Incompatible, match=said):
            planned(NoisyGradient(**({"sampler": "full"} | settings)))


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_squared_gradients_are_paid_for_where_no_model_tells_them(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    descent = NoisyGradient(**arriving_steps(problem(neighbours=relation)))
    plan = planned(descent, target="robust", neighbours=relation)
    assert plan.event.events[-2:] == (Gaussian(plan.multiplier),) * 2
    assert plan.event.delta(1.0) <= 1e-6 < plan.event.delta(0.9)
    whole = 1 / gaussian_multiplier(1.0, 1e-6)
    fit_alone = 1 / gaussian_multiplier(plan.fit.budget.epsilon, 1e-6)
    assert 0.999 * whole**2 < fit_alone**2 + 2 * plan.multiplier**-2 <= whole**2
    assert not planned(descent, target="population", neighbours=relation).squares
    # Where no curve is tried the fit gets four fifths of epsilon and delta, and both matrices the
    # rest together: their ratios of signal to noise are those of one matrix that costs it.
    monkeypatch.setattr(curvature_release, "GAINS", ())
    own = planned(descent, target="robust", neighbours=relation)
    assert own.fit.guarantee.epsilon == pytest.approx(0.8)
    rest = gaussian_multiplier(0.2, 2e-7)
    assert 0.999 * rest**-2 < 2 * own.multiplier**-2 <= rest**-2
    assert own.event.delta(1.0) <= 1e-6


@pytest.mark.parametrize("name", OTHERS)
def test_no_pair_of_neighbours_has_squared_gradients_further_apart(name: str) -> None:
    loss, bounds = OTHERS[name]
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)) / 2
    X[:100] /= np.linalg.norm(X[:100], axis=1, keepdims=True)
    ends = (0.0, 1.0) if bounds.classes else bounds.label
    assert ends is not None
    y = random.choice(ends, size=200)
    for relation, more in (("zero-out", 1.0), ("replace-one", 2**0.5)):
        task = problem(loss=loss, bounds=bounds, neighbours=relation, n_rows=200)
        plan = planned(NoisyGradient(**arriving_steps(task)), target="robust", loss=loss,
                       bounds=bounds, neighbours=relation, n_rows=200)  # fmt: skip
        claim, alone = plan.middle.scale / plan.multiplier, replace(task, n_rows=1)
        worst = 0.0
        for weights in (np.zeros(3), np.array([9.0, 0.0, 0.0]), np.array([0.0, -9.0, 0.0])):
            parts = [
                alone.bound(ArraySource(X[[i]], y[[i]])).squared_gradients(loss, weights)
                for i in range(200)
            ]
            moved = np.array(parts)
            if relation == "replace-one":
                moved = moved[:, None] - moved[None]
            worst = max(worst, float(np.sqrt((moved**2).sum(axis=(-2, -1))).max()))
        assert worst <= claim
        assert claim == pytest.approx(more * plan.problem.terms.lipschitz**2, rel=1e-3)
        assert worst > 0.9 * claim  # the claim is attained, so half of it would be caught


def test_squared_gradients_have_the_noise_that_is_paid_for() -> None:
    random = np.random.default_rng(3)
    X, y = random.uniform(-0.5, 0.5, (4000, 3)), random.uniform(-1, 1, 4000)
    loss, bounds = OTHERS["huber"]
    plan, noise = planned(target="population", loss=loss, bounds=bounds), Seeded(4)
    found = []
    for _ in range(60):
        held: Any = plan.run(ArraySource(X, y), noise).inference
        slopes = np.clip(X @ held.weights - y, -0.25, 0.25)
        found.append(held.middle - (X * slopes[:, None] ** 2).T @ X)
        assert held.middle_noise == plan.middle.scale
    draws = np.array(found)
    diagonal = draws[:, range(3), range(3)].ravel() / plan.middle.scale
    beside = draws[:, [0, 0, 1], [1, 2, 2]].ravel() / plan.middle.scale * 2**0.5
    for sample in (diagonal, beside):
        assert stats.kstest(sample, "norm").pvalue > 1e-4
        assert stats.kstest(2 * sample, "norm").pvalue < 1e-4
