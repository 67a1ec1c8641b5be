"""Steps with momentum: the time they add up to, their stability, and what it saves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.accounting import Budget, Gaussian, epsilon_at, gaussian_multiplier
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient.heavy_ball import HeavyBall
from discreet.algorithms.gradient.step_rules import Smooth
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.tuned.algorithms import (
    BLUR,
    HEAVY_BALL_SHARE,
    HEAVY_BALL_STEPS,
    HEAVY_BALL_TIME,
    HEAVY_BALL_WINDOWS,
)

BUDGET = Budget(1.0, 1e-6)


def problem(n_rows: int = 4000, n_features: int = 10, **facts: object) -> Problem:
    return Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=n_features,
        n_rows=n_rows,
        **facts,  # type: ignore[arg-type]
    )


def data(n: int, p: int, norm: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p)) * np.linspace(1.0, 0.2, p)
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = rng.normal(size=p)
    y = rng.random(n) < 1 / (1 + np.exp(-X @ (norm * w / np.linalg.norm(w))))
    return X, y.astype(int)


def risk(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.logaddexp(0, -(2 * y - 1) * (X @ w)).mean())


@pytest.mark.parametrize(
    ("n_rows", "n_features", "limit"),
    [(2000, 40, "blur"), (10_000, 40, "sight"), (20_000, 10, "patience"), (300, 40_000, "guess")],
)
def test_the_time_is_set_by_noise(n_rows: int, n_features: int, limit: str) -> None:
    """What the docstring says, from first principles: noise alone goes as far as aimed."""
    plan = NoisyGradient().plan(problem(n_rows, n_features), BUDGET)
    assert isinstance(plan.rule, HeavyBall)
    release = gaussian_multiplier(1.0, 1e-6)  # the deviation of one release of a sum
    noise = math.sqrt(n_features) * release
    times = {
        "blur": BLUR["sign"] * math.sqrt(n_features) / noise,
        "sight": HEAVY_BALL_SHARE * n_rows / noise**2,
        "patience": HEAVY_BALL_TIME * n_features / (n_rows / 4),
        "guess": 60.0 / noise,
    }
    time = min(max(times["blur"], times["sight"]), times["patience"], times["guess"])
    assert time == times[limit]
    size = plan.rule.size(plan.facts_of_noise, plan.steps, 0, 0.0)
    assert size * plan.steps == pytest.approx(time, rel=1e-2)
    # Noise of T steps of that size, each of deviation sqrt(T) times that of one release.
    assert size * plan.steps * noise <= 60.0 * 1.01


def test_steps_grow_as_the_root_and_stay_stable() -> None:
    counts = []
    for n_features in (20, 80):
        config = NoisyGradient(rule="heavy-ball")
        plan = config.plan(problem(10_000_000, n_features), BUDGET)
        length = HEAVY_BALL_TIME * n_features  # time times the largest curvature
        counts.append(plan.rule.steps(plan.usual_facts))
        assert counts[-1] == pytest.approx(math.sqrt(HEAVY_BALL_WINDOWS * length / 2), rel=0.03)
    assert counts[1] == pytest.approx(2 * counts[0], rel=0.03)
    for steps in (1, 30, 1000):
        plan = NoisyGradient(rule="heavy-ball", steps=steps).plan(problem(100_000), BUDGET)
        m = plan.momentum
        assert 0.0 < m < 1.0
        size = plan.rule.size(plan.facts_of_noise, steps, 0, 0.0)
        assert size * 100_000 / 4 < 2 * (1 + m) / (1 - m)
    assert NoisyGradient().plan(problem(50), BUDGET).steps == HEAVY_BALL_STEPS


def test_iterates_converge_when_all_rows_are_alike() -> None:
    """One direction carries everything: the worst case for the length of steps."""
    X = np.zeros((50_000, 5))
    X[:, 0] = 1.0
    y = (np.arange(50_000) % 4 != 0).astype(int)
    for steps in (None, 60):
        config = NoisyGradient(rule="heavy-ball", output="last", steps=steps)
        plan = config.plan(problem(50_000, 5), Budget(8.0, 1e-6))
        weights = plan.run(ArraySource(X, y), Seeded(0)).weights
        assert weights[0] == pytest.approx(np.log(3), abs=0.1)


def test_few_steps_do_what_thousands_of_plain_ones_do() -> None:
    X, y = data(2000, 10, 12.0)
    task = problem(2000)
    best = minimize(lambda v: risk(X, y, v), np.zeros(10)).fun
    heavy = NoisyGradient().plan(task, BUDGET)
    facts = heavy.facts_of_noise
    time = heavy.rule.size(facts, heavy.steps, 0, 0.0) * heavy.steps
    curved = time * 2000 / 4
    assert curved > 5 * heavy.steps
    plain = NoisyGradient(
        rule="smooth", steps=math.ceil(curved), step=1 / 500, output="weighted"
    ).plan(task, BUDGET)
    found = {}
    for name, plan in {"heavy": heavy, "plain": plain}.items():
        runs = [plan.run(ArraySource(X, y), Seeded(s)).weights for s in range(5)]
        found[name] = float(np.mean([risk(X, y, w) for w in runs])) - best
    assert found["heavy"] < 1.5 * found["plain"]
    # As many plain steps, as long as they may be, get nowhere near.
    short = NoisyGradient(rule="smooth", steps=heavy.steps, norm_guess=60.0).plan(task, BUDGET)
    stuck = risk(X, y, short.run(ArraySource(X, y), Seeded(0)).weights) - best
    assert stuck > 2 * found["heavy"]


@pytest.mark.parametrize("sampler", ["full", "poisson", "fixed-size"])
def test_the_plan_keeps_the_budget_and_promises_nothing(sampler: str) -> None:
    batch = None if sampler == "full" else 2000
    plan = NoisyGradient(sampler=sampler, batch=batch).plan(problem(), BUDGET)
    assert plan.rule.name == "heavy-ball"
    assert epsilon_at(plan.event, 1e-6) <= 1.0 + 1e-6
    assert plan.bound == math.inf
    assert plan.facts()["momentum"] == plan.momentum > 0.5
    if sampler == "full":
        assert isinstance(plan.event, Gaussian)
        plain = NoisyGradient(rule="smooth", steps=plan.steps).plan(problem(), BUDGET)
        assert plan.noise == plain.noise


def test_momentum_may_be_set_and_left_out() -> None:
    assert NoisyGradient(momentum=0.3).plan(problem(), BUDGET).momentum == 0.3
    assert NoisyGradient(momentum=0.0).plan(problem(), BUDGET).momentum == 0.0
    assert NoisyGradient(step=0.1).plan(problem(), BUDGET).momentum == 0.0
    assert NoisyGradient(rule="smooth").plan(problem(), BUDGET).momentum == 0.0
    slow = Smooth().steps(NoisyGradient().plan(problem(), BUDGET).usual_facts)
    assert slow > 10 * NoisyGradient().plan(problem(), BUDGET).steps
