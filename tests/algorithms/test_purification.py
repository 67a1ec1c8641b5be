"""Purification: its theorem on worst pairs by summation, and its runs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient, Purification, purification
from discreet.algorithms.purification import MIXING, PurificationPlan
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible
from discreet.losses import Hinge, Logistic
from discreet.noise import Seeded
from discreet.problem import Problem, Release
from discreet.sets import Box, L2Ball


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Hinge(),
        "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
        "n_features": 20,
        "n_rows": 5000,
        "constraint": L2Ball(radius=2.0),
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def worst_log_ratio(plan: object, mixing: float) -> float:
    """One dimension: the law of uniform mixture plus Laplace noise for a (0, delta) pair."""
    R, scale = plan.half_width, plan.noise.scale  # type: ignore[attr-defined]
    delta = plan.inner.guarantee.delta  # type: ignore[attr-defined]
    x = np.linspace(-3 * R, 3 * R, 3001)

    def smoothed(points: list[tuple[float, float]]) -> np.ndarray:
        spikes = sum(w * np.exp(-np.abs(x - at) / scale) / (2 * scale) for at, w in points)
        # The Laplace law integrated over the cube, for the uniform part.
        cdf = lambda t: np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.abs(t)) / 2)  # noqa: E731
        flat = (cdf((x + R) / scale) - cdf((x - R) / scale)) / (2 * R)
        return np.asarray((1 - mixing) * spikes + mixing * flat)

    worst = 0.0
    for near, far in ((0.0, R), (-R, R), (0.0, 0.1 * R)):
        one = smoothed([(near, 1.0 - delta), (far, delta)])
        two = smoothed([(near, 1.0)])
        worst = max(worst, float(np.max(np.abs(np.log(one) - np.log(two)))))
    return worst


def test_an_unlikely_jump_is_hidden_by_mixture_and_noise() -> None:
    task = problem(n_features=1)
    inner = NoisyGradient().plan(task, Budget(1.0, 2.0**-6 / MIXING))
    plan = PurificationPlan(task, Budget(2.0), inner, 6)
    assert worst_log_ratio(plan, 1 / MIXING) <= 1.0  # epsilon' alone: the pair has epsilon 0
    # Planted: without the uniform part the jump shows.
    assert worst_log_ratio(plan, 0.0) > 2.0


def test_constants_of_the_theorem() -> None:
    plan = Purification().plan(problem(), Budget(1.0))
    delta, p = plan.inner.guarantee.delta, 20
    D = 2 * p * 2.0 * (delta * MIXING) ** (1 / p)
    assert plan.distance == pytest.approx(2 * D, rel=1e-4)
    assert plan.distance >= 2 * D
    assert plan.noise.scale >= plan.distance / 0.1
    assert plan.guarantee.event.delta(1.0) == 0.0
    assert plan.inner.guarantee.epsilon == pytest.approx(0.9)


def test_it_beats_pure_noisy_gradients_where_it_is_meant_to() -> None:
    ours = Purification().plan(problem(), Budget(1.0)).expected_excess
    assert ours < NoisyGradient().plan(problem(), Budget(1.0)).expected_excess


def test_runs_mix_in_uniform_points(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    source = ArraySource(X, (X[:, 0] > 0).astype(int))
    task = problem(n_features=2, n_rows=3000, loss=Logistic())
    plan = Purification(inner="objective-perturbation").plan(task, Budget(4.0))
    random = Seeded(1)
    weights = np.array([plan.run(source, random).weights for _ in range(60)])
    assert np.mean(weights @ [1.0, 0.0] > 0.5) > 0.85
    assert (np.linalg.norm(weights, axis=1) <= 2 * (1 + 1e-9)).all()
    # With every second point uniform the mixture shows: half of those lie on the wrong side.
    monkeypatch.setattr(purification, "MIXING", 2)
    weights = np.array([plan.run(source, random).weights for _ in range(120)])
    assert 10 < np.sum(weights[:, 0] < 0) < 55


def test_results_outside_the_cube_are_moved_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Purification().plan(problem(n_features=3), Budget(1.0))

    class Far:
        """An inner plan whose results are off."""

        guarantee = plan.inner.guarantee

        def run(self, *given: object) -> Release:
            return Release(np.array([50.0, -50.0, 0.5]), self.guarantee)

    seen = []
    monkeypatch.setattr(purification, "release", lambda x, *rest: seen.append(x) or x)
    replace(plan, inner=Far()).run(ArraySource(np.zeros((1, 3)), np.zeros(1)), Seeded(0))
    assert np.array_equal(seen[0], [plan.half_width, -plan.half_width, 0.5])


def test_refusals() -> None:
    with pytest.raises(Incompatible, match="double precision"):
        Purification().plan(problem(n_features=2000), Budget(1.0))
    with pytest.raises(Incompatible, match="bounded"):
        Purification().plan(problem(constraint=Box(low=0.0, high=math.inf)), Budget(1.0))


def test_the_distance_covers_the_cube_that_points_are_drawn_from() -> None:
    plan = Purification().plan(
        problem(n_features=2, n_rows=1000, constraint=L2Ball(radius=3.0)), Budget(1.0)
    )
    assert plan.half_width >= 3.0
    step = plan.noise.grid.step
    # Cells of the outermost steps reach half a step further.
    drawn = (math.ceil(plan.half_width / step) + 0.5) * step
    assert plan.distance >= 4 * 2 * drawn * (plan.inner.guarantee.delta * MIXING) ** 0.5
