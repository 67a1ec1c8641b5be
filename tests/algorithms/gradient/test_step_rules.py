"""Steps for losses with corners: how long to descend, momentum, and its bound."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient, ObjectivePerturbation
from discreet.algorithms.gradient import typical_steps
from discreet.algorithms.gradient.step_rules import Facts
from discreet.algorithms.gradient.typical_steps import Typical
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Absolute, Hinge, HuberisedHinge, Loss, SmoothedQuantile
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L2Ball

FACTS = Facts(
    n_rows=10_000,
    dimension=16,
    lipschitz=1.0,
    smoothness=math.inf,
    strength=0.0,
    distance=60.0,
    reach=60.0,
    unit=16 * 8.0**2,
    growth=1,
    margin=1.0,
)


def plan_of(loss: Loss, n: int, p: int, budget: Budget, **settings: Any) -> Any:
    labels: Any = {"classes": (0, 1)} if loss.target == "sign" else {"label": (-1, 1)}
    constraint = {k: settings.pop(k) for k in ("constraint",) if k in settings}
    bounds = Bounds(row_norm=1.0, **labels)
    problem = Problem(loss=loss, bounds=bounds, n_features=p, n_rows=n, **constraint)
    return NoisyGradient(**settings).plan(problem, budget)


def test_time_depends_on_noise_and_prediction_alone() -> None:
    rule, usual = Typical(), typical_steps.CORNER_PREDICTION / 8.0
    assert rule.time(FACTS, 600) == pytest.approx(usual)
    for other in (
        replace(FACTS, n_rows=30_000),
        replace(FACTS, distance=200.0),
        replace(FACTS, dimension=64, unit=64 * 8.0**2),
    ):
        assert rule.time(other, 600) == pytest.approx(usual)
        assert rule.time(other, 900) == pytest.approx(usual)
    assert rule.time(replace(FACTS, unit=4 * FACTS.unit), 600) == pytest.approx(usual / 2)
    # Where noise drowns the rows, and where rows are so many that weak directions are all that is
    # left to fit, the time is shorter.
    assert rule.time(replace(FACTS, n_rows=1000), 600) < usual
    assert rule.time(replace(FACTS, n_rows=10**6), 600) < usual
    # A norm that is known counts both ways.
    assert rule.time(replace(FACTS, distance=2.0), 600) == pytest.approx(2.0 / (4 * 8.0))
    known = replace(FACTS, margin=math.inf, distance=30.0)
    assert rule.time(known, 600) == pytest.approx(30.0 / (4 * 8.0))


def test_scales_cancel() -> None:
    # Rows ten times longer need weights a tenth as long, and steps a hundredth.
    longer = replace(
        FACTS, lipschitz=10.0, margin=0.1, bend=100.0, unit=100 * FACTS.unit, distance=6.0
    )
    rule = Typical()
    assert rule.steps(longer) == pytest.approx(rule.steps(FACTS))
    assert rule.size(longer, 600, 0, 0.0) == pytest.approx(rule.size(FACTS, 600, 0, 0.0) / 100)
    assert rule.bound(longer, 600) == pytest.approx(rule.bound(FACTS, 600))


def test_steps_stay_short_where_rows_are_many() -> None:
    rule, many = Typical(), replace(FACTS, n_rows=10**7, target="real")
    steps = round(rule.steps(many))
    m = rule.momentum(steps)
    assert steps == typical_steps.CORNER_MOST
    assert rule.size(many, steps, 0, 0.0) == pytest.approx((1 + m) / (1 - m) / (8 * 10**7))
    # Few steps leave nothing to average, so they go without momentum.
    assert rule.momentum(30) == 0.0 < rule.momentum(100) < rule.momentum(600) == 0.9


def test_momentum_is_the_heavy_ball() -> None:
    rng, n, p = np.random.default_rng(0), 200, 3
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
    plan = plan_of(Hinge(), n, p, Budget(1.0, 1e-6), steps=40, step=1e-3, momentum=0.8)
    released = plan.run(ArraySource(X, y), Seeded(5)).weights
    w, direction, path = np.zeros(p), np.zeros(p), []
    drawn, sign = plan.noise.stream((p,), Seeded(5)), 2.0 * y - 1
    for _ in range(40):
        path.append(w)
        exact = -(X.T @ (sign * (sign * (X @ w) < 1)))
        direction = 0.8 * direction + 0.2 * plan.noise.cover(exact, next(drawn))
        w = w - 1e-3 * direction
    weight = np.arange(1.0, 41.0)
    assert released == pytest.approx(weight @ np.array(path) / weight.sum(), abs=1e-6)


@pytest.mark.parametrize("inside", [False, True])
def test_bound_with_momentum_counts_what_momentum_costs(
    inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All rows say "further, up to 1". Ten steps with much momentum hardly get there, so that the
    # bound for plain steps of the same length is false.
    monkeypatch.setattr(typical_steps, "CORNER_WINDOWS", 1.0)
    n = 100
    settings: dict[str, Any] = {"constraint": L2Ball(radius=1.0)} if inside else {}
    plan = plan_of(
        Hinge(), n, 1, Budget(0.115, 1e-6), steps=10, norm_guess=1.0, output="mean", **settings
    )
    assert (plan.rule.name, plan.momentum) == ("typical", 0.9)
    source = ArraySource(np.ones((n, 1)), np.r_[np.ones(n, dtype=int)])
    found = [float(plan.run(source, Seeded(s)).weights[0]) for s in range(300)]
    excess = n * np.mean(np.maximum(0.0, 1.0 - np.array(found)))
    facts = plan.facts_of_noise
    size = plan.rule.size(facts, 10, 0, 0.0)
    plain = facts.distance**2 / (2 * size * 10) + size * facts.square(10, ridge=False) / 2
    assert plain < excess < plan.bound
    # Twice that for averages in which late iterates count more; none for another momentum.
    late = plan_of(Hinge(), n, 1, plan.budget, steps=10, norm_guess=1.0, **settings)
    # But never more than the loss can vary in a set.
    assert late.bound == pytest.approx(min(2 * plan.bound, 2 * n) if inside else 2 * plan.bound)
    own = plan_of(Hinge(), n, 1, plan.budget, steps=10, momentum=0.5, norm_guess=1.0)
    assert own.bound == math.inf


@pytest.mark.parametrize("epsilon", [0.2, 0.5])
@pytest.mark.parametrize("kind", ["hinge", "absolute"])
def test_corners_are_better_left_than_smoothed(kind: str, epsilon: float) -> None:
    rng, n, p = np.random.default_rng(11), 4000, 12
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    z = X @ rng.normal(size=p) * (3.0 if kind == "hinge" else 0.3)
    if kind == "hinge":
        raw = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
        loss: Loss = Hinge()
        y = 2.0 * raw - 1
        smoothed: list[Loss] = [HuberisedHinge(width=h) for h in (0.1, 0.5)]
    else:
        raw = y = np.clip(z + 0.3 * rng.standard_t(3, size=n), -1, 1)
        loss, smoothed = Absolute(), [SmoothedQuantile(width=h) for h in (0.05, 0.25)]
    budget = Budget(epsilon, 1e-6)
    plan = plan_of(loss, n, p, budget)

    def mean_loss(plan: Any) -> float:
        released = [plan.run(ArraySource(X, raw), Seeded(s)).weights for s in range(4)]
        return float(np.mean([loss.value(X @ w, y).mean() for w in released]))

    mine = mean_loss(plan)
    for other in smoothed:
        rival = ObjectivePerturbation().plan(replace(plan.problem, loss=other), budget)
        assert mine < mean_loss(rival)
