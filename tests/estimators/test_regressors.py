"""Where regressors by squares clip their residuals, and what that saves."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet import Bounds, PrivateElasticNet, PrivateRidge
from discreet.accounting import Budget
from discreet.data import ArraySource
from discreet.defaults import residual_clip
from discreet.noise import Seeded
from discreet.problem import rows_against_noise
from discreet.solvers.minimize import minimise

BOUNDS = Bounds(features=(-1, 1), label=(-1, 1))


def clip_of(model: Any, rows: int) -> float:
    problem = model.plan(8, rows).problem
    return float(problem.loss.clip / problem.typical_norm)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_an_elastic_net_clips_where_noise_dominates_and_the_penalty_is_small(delta: float) -> None:
    def clip(alpha: float, rows: int) -> float:
        return clip_of(PrivateElasticNet(alpha=alpha, delta=delta, bounds=BOUNDS), rows)

    assert clip(1e-3, 100) == pytest.approx(0.125)
    assert clip(0.01, 100) == pytest.approx(0.32)
    assert clip(0.1, 100) == pytest.approx(1.0)
    between = PrivateElasticNet(alpha=1e-3, delta=delta, bounds=BOUNDS).plan(8, 6000).problem
    ratio = rows_against_noise(between, Budget(1.0, delta))
    assert 125 < ratio < 1000
    assert clip(1e-3, 6000) == pytest.approx(ratio / 1000)
    assert clip(1e-3, 10**5) == pytest.approx(1.0)
    assert clip(1e-3, 10**8) == pytest.approx(2.0 * between.row_norm / between.typical_norm)


def test_a_clip_that_is_asked_for_is_taken() -> None:
    for kind in (PrivateElasticNet, PrivateRidge):
        assert clip_of(kind(clip=0.7, bounds=BOUNDS), 100) == pytest.approx(0.7)


def test_a_ridge_clips_by_noise_alone() -> None:
    problem, budget = PrivateRidge(bounds=BOUNDS).plan(8, 6000).problem, Budget(1.0, 1e-6)
    wanted = residual_clip(problem, budget) * problem.typical_norm
    assert problem.loss.clip == pytest.approx(wanted)  # type: ignore[attr-defined]
    assert residual_clip(problem, budget) < residual_clip(problem, budget, 1e-3)


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_an_elastic_net_descends_where_its_penalty_is_below_the_noise(relation: str) -> None:
    def took(alpha: float, rows: int, **settings: Any) -> str:
        model = PrivateElasticNet(alpha=alpha, bounds=BOUNDS, neighbours=relation, **settings)
        return str(model.plan(3, rows).facts()["algorithm"])

    problem = PrivateElasticNet(bounds=BOUNDS, neighbours=relation).plan(3, 4000).problem
    level = 1.0 / rows_against_noise(problem, Budget(1.0, 1e-6))
    assert took(0.99 * level, 4000) == "noisy-gradient"
    assert took(1.01 * level, 4000) == "objective-perturbation"
    for other in ({"delta": 0.0}, {"algorithm": "objective-perturbation"}):
        assert took(0.99 * level, 4000, **other) == "objective-perturbation"
    # A ridge that was asked for is no reason to take steps.
    for alpha, rows in product((0.03, 0.1, 1.0), (1000, 10_000, 1_000_000)):
        assert took(alpha, rows) == "objective-perturbation"


@pytest.mark.parametrize(
    ("alpha", "other"), [(3e-4, "objective-perturbation"), (0.1, "noisy-gradient")]
)
def test_an_elastic_net_takes_the_better_algorithm(alpha: float, other: str) -> None:
    rng = np.random.default_rng(21)
    X = rng.uniform(-1, 1, size=(2000, 3)) * [1.0, 0.5, 0.5]
    y = np.clip(X @ [0.1, 0.8, -0.8] + 0.1 * rng.normal(size=2000), -1, 1)
    asked = {"alpha": alpha, "bounds": BOUNDS}
    problem, source = PrivateElasticNet(**asked).plan(3, 2000).problem, ArraySource(X, y)
    rows = problem.bound(source)

    def excess(algorithm: str) -> float:
        plan = PrivateElasticNet(**asked, algorithm=algorithm).plan(3, 2000)
        found = [plan.run(source, Seeded(seed)).weights for seed in range(6)]
        values = [rows.objective(problem.loss, w)[0] + problem.regularizer.value(w) for w in found]
        return float(np.mean(values)) - least

    best = minimise(
        rows,
        problem.loss,
        linear=np.zeros(problem.dimension),
        strength=0.0,
        tolerance=1e-6,
        regularizer=problem.regularizer,
    )
    least = rows.objective(problem.loss, best)[0] + problem.regularizer.value(best)
    assert excess("auto") < 0.5 * excess(other)


def test_clipping_saves_error_and_a_large_penalty_is_left_alone() -> None:
    rng = np.random.default_rng(12)
    X = rng.uniform(-1, 1, size=(2000, 12))
    y = np.clip(X[:, :3].sum(axis=1) / 4 + 0.1 * rng.normal(size=2000), -1, 1)

    def fits(**settings: Any) -> list[Any]:
        return [
            PrivateElasticNet(bounds=BOUNDS, random_state=seed, **settings).fit(X, y)
            for seed in range(6)
        ]

    def error(**settings: Any) -> float:
        return float(np.mean([np.mean((m.predict(X) - y) ** 2) for m in fits(**settings)]))

    assert error() - 0.01 < 0.7 * (error(clip=1.0) - 0.01)
    for ours, full in zip(fits(alpha=0.05), fits(alpha=0.05, clip=1.0), strict=True):
        np.testing.assert_array_equal(ours.coef_, full.coef_)
