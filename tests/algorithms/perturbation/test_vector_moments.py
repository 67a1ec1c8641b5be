"""Second moments with several labels: what one row moves, by search, and what is released."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms.perturbation import SecondMoments, SufficientStatistics
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible
from discreet.losses import Huber, SquaredVector
from discreet.mechanisms.release_noise import ReleaseNoise
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1
from discreet.sets import L2Ball

RELATIONS = ("zero-out", "replace-one", "add-remove")


def problem(**options: Any) -> Problem:
    given: dict[str, Any] = {
        "loss": SquaredVector(dim=3),
        "bounds": Bounds(row_norm=1.0, label=(-1, 1)),
        "n_features": 2,
        "n_rows": 3,
    }
    return Problem(**(given | options))


def moved(one: Any, two: Any, x: float, y: float, order: int) -> float:
    """Return how far apart rows and labels of two records put the statistics, on spheres."""
    parts = []
    for v in (one, two):
        a, b = v[:2], v[2:]
        a = x * a / max(np.linalg.norm(a, order), 1e-12)
        b = y * b / max(np.linalg.norm(b), 1e-12)
        gram = np.outer(a, a)
        double = 2.0 if order == 1 else math.sqrt(2.0)
        parts.append(np.concatenate([np.diag(gram), [double * gram[0, 1]], np.outer(a, b).ravel()]))
    return float(np.linalg.norm(parts[0] - parts[1], order))


@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0), (1.0, 0.3), (0.4, 1.0), (1.0, 2.0)])
def test_no_replacement_found_by_search_is_further_than_claimed(x, y):
    moments = SecondMoments(dimension=2, row_norm=x, label=y, capacity=10, outputs=3)
    unit = SecondMoments(dimension=2, row_norm=x, label=y, capacity=10)
    claim = moments.l2_sensitivity("replace-one")
    assert claim == unit.l2_sensitivity("replace-one")
    rng, worst = np.random.default_rng(0), 0.0
    rows, labels = x / moments.row_scale, y / moments.label_scale

    def away(v: Any) -> float:
        return -moved(v[:5], v[5:], rows, labels, 2)

    for _ in range(12):
        worst = max(worst, -minimize(away, rng.normal(size=10), method="Nelder-Mead").fun)
    assert worst <= claim * (1 + 1e-9)
    assert worst > 0.995 * claim


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["gaussian", "gamma", "laplace"])
@pytest.mark.parametrize("ridge", ["stein", "adassp"])
def test_all_that_is_released_is_paid_for(monkeypatch, relation, kind, ridge):
    """End to end over corner records: labels of every sign, rows along and across."""
    task = problem(neighbours=relation)
    budget = Budget(0.5, 1e-6 if kind == "gaussian" else 0.0)
    plan = SufficientStatistics(ridge=ridge, noise=kind).plan(task, budget)
    sums: list[np.ndarray] = []
    monkeypatch.setattr(ReleaseNoise, "add", lambda self, v, random: sums.append(v) or v)
    base, held = np.array([[0.3, 0.1], [0.2, -0.4]]), np.array([[0.5, 0, 1], [-0.2, 0.3, -1]])
    half = math.sqrt(0.5)
    records = [
        (np.array(a), np.array(b))
        for a in ([1.0, 0.0], [half, half], [half, -half], [0.0, 0.0])
        for b in ([1, 1, 1], [-1, -1, -1], [1, -1, 1], [5, 5, -5], [0, 0, 0])
    ]
    records.append((np.array([np.nan, 0.0]), np.zeros(3)))
    for a, b in records:
        gone = relation == "add-remove" and np.isnan(a[0])
        size = 2 if gone else 3
        source = ArraySource(np.vstack([base, a])[:size], np.vstack([held, b])[:size])
        plan.released(source, Seeded(0))
    *found, without = sums
    others = found if relation == "replace-one" else [without]
    order = 1 if kind == "laplace" else 2
    worst = max(float(np.linalg.norm(a - b, order)) for a in found for b in others)
    unit = gaussian_multiplier(0.5, 1e-6) if kind == "gaussian" else 2.0
    assert worst <= plan.noise.scale / unit
    if relation != "replace-one" and ridge == "stein":
        assert worst > 0.999 * plan.noise.scale / unit
        # So the claim of one label, in the same units, would be broken.
        single = replace(plan.moments, label=1.0, label_room=2.0, outputs=1)
        assert single.label_scale == plan.moments.label_scale
        claim = single.l1_sensitivity(relation) if order == 1 else single.l2_sensitivity(relation)
        assert worst > 1.15 * claim


def test_sums_are_the_integers_they_should_be_and_much_budget_gives_least_squares():
    rng = np.random.default_rng(1)
    X, Y = rng.uniform(-0.7, 0.7, (200, 2)), rng.uniform(-1, 1, (200, 3))
    task = problem(n_rows=200)
    moments = SecondMoments.of(task)
    gram, cross = (m * moments.unit for m in moments.integers(task, ArraySource(X, Y)))
    assert gram * moments.row_scale**2 == pytest.approx(X.T @ X, abs=1e-3)
    assert cross * moments.row_scale * moments.label_scale == pytest.approx(X.T @ Y, abs=1e-3)
    plan = SufficientStatistics(strength=1.0).plan(task, Budget(1e7, 1e-6))
    weights = plan.run(ArraySource(X, Y), Seeded(0)).weights
    exact = np.linalg.solve(X.T @ X + np.eye(2), X.T @ Y)
    assert weights == pytest.approx(exact, abs=1e-3)


def test_sets_penalties_and_other_losses_are_refused():
    for part in ({"constraint": L2Ball(radius=1.0)}, {"regularizer": L1(strength=1.0)}):
        with pytest.raises(Incompatible, match="several outputs"):
            SufficientStatistics().plan(problem(**part), Budget(1.0, 1e-6))
    with pytest.raises(Incompatible, match="squared loss only"):
        SecondMoments.of(problem(loss=Huber()))
