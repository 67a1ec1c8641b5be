"""Rows are scaled to a typical norm where ranges alone are declared, and never cut to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import (
    Bounds,
    Categories,
    PrivateElasticNet,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateRidge,
    Range,
    Schema,
)
from discreet.tuned.defaults import CLIP_MANY

RANGES = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
SCALED = (PrivateLogisticRegression, PrivateRidge, PrivateElasticNet)


def typical(model: Any, n_features: int = 16) -> float | None:
    found = model.plan(n_features, 5000).problem.bounds.typical_norm
    return None if found is None else float(found)


@pytest.mark.parametrize("kind", SCALED)
def test_with_ranges_alone_it_is_the_root_of_the_longest_norm(kind: Any) -> None:
    assert typical(kind(bounds=RANGES)) == pytest.approx(2.0)
    assert typical(kind(bounds=RANGES), 1) == 1.0
    assert typical(kind(bounds=replace(RANGES, typical_norm=1.5))) == 1.5


@pytest.mark.parametrize("kind", SCALED)
def test_a_declared_row_norm_is_the_scale(kind: Any) -> None:
    model = kind(bounds=replace(RANGES, row_norm=3.0))
    assert typical(model) is None
    problem = model.plan(16, 5000).problem
    assert problem.typical_norm == problem.row_norm


def test_an_estimator_that_caps_nothing_has_none() -> None:
    assert typical(PrivateHuberRegressor(bounds=replace(RANGES, typical_norm=1.5))) is None


def test_categories_of_a_schema_count_in_full() -> None:
    columns = {"age": Range(0, 100), "job": Categories(["a", "b", "c"]), "cost": Range(0, 9)}
    model = PrivateRidge(schema=Schema(columns), target="cost")
    assert model.plan(n_rows=5000).problem.bounds.typical_norm == pytest.approx(2**0.5)
    stated = Schema(columns, row_norm=1.2)
    assert typical(PrivateRidge(schema=stated, target="cost"), 4) is None
    by_bounds = PrivateRidge(schema=Schema(columns), target="cost", bounds=Bounds(row_norm=1.2))
    assert typical(by_bounds, 4) is None


def test_gradients_are_capped_by_it_and_noise_covers_every_row() -> None:
    shorter, longer = (
        PrivateLogisticRegression(bounds=replace(RANGES, typical_norm=norm)).plan(16, 1000)
        for norm in (1.0, 4.0)
    )
    assert shorter.problem.loss.clip < 0.3 * longer.problem.loss.clip
    for plan in (shorter, longer):
        terms = plan.problem.terms
        assert terms.lipschitz == pytest.approx(plan.problem.loss.clip)
        # The longest row has the most curvature.
        assert terms.smoothness >= 0.99 * plan.problem.loss.clip * plan.problem.row_norm


def test_predictions_are_linear_within_the_ranges() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (400, 16))  # every row is as long as it may be
    model = PrivateLogisticRegression(bounds=RANGES, random_state=0).fit(X, X[:, 0] > 0)
    assert model.bounds_.typical_norm == pytest.approx(2.0)
    linear = X @ model.coef_[0] + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), linear, rtol=1e-12)


PLENTY = 10**10


@pytest.mark.parametrize("kind", [PrivateRidge, PrivateElasticNet])
def test_with_rows_in_plenty_no_residual_within_the_label_range_is_cut(kind: Any) -> None:
    problem = kind(bounds=RANGES).plan(100, PLENTY).problem
    assert problem.typical_norm < 0.5 * problem.row_norm
    # The whole label range for the longest row, more for any other.
    assert problem.loss.clip == pytest.approx(2.0 * problem.row_norm)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_with_rows_in_plenty_logits_are_not_capped(classes: Any, delta: float) -> None:
    model = PrivateLogisticRegression(delta=delta, bounds=replace(RANGES, classes=classes))
    plan = model.plan(100, PLENTY)
    assert plan.algorithm == "objective-perturbation"
    assert plan.problem.loss.name == ("logistic" if len(classes) == 2 else "softmax")


def test_with_groups_caps_are_for_the_longest_rows_in_the_end() -> None:
    model = PrivateLogisticRegression(bounds=RANGES, rows_per_group=2)
    caps = [model.plan(100, rows).problem for rows in (1000, 10**5, PLENTY)]
    parts = [problem.loss.clip / problem.row_norm for problem in caps]
    assert parts[0] < parts[1] < parts[2]
    assert parts[2] == pytest.approx(CLIP_MANY)


@pytest.mark.parametrize("kind", [PrivatePoissonRegressor, PrivateLinearSVC])
def test_one_declared_changes_nothing_where_nothing_is_capped(kind: Any) -> None:
    plain = replace(RANGES, label=(0, 5), classes=(0, 1, 2))
    one, other = (
        kind(bounds=bounds).plan(16, 5000).facts()
        for bounds in (plain, replace(plain, typical_norm=1.5))
    )
    assert one == other


def test_excess_falls_to_nothing_as_rows_become_many() -> None:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (200_000, 16))
    # Errors are skewed and grow along a column: clipped residuals would move the minimiser.
    errors = (rng.exponential(size=len(X)) - 1.0) * (1.0 + X[:, 0])
    y = np.clip(0.1 * X[:, 1] + 0.25 * errors, -1.0, 1.0)
    A = np.column_stack([X, np.ones(len(X))])
    best = np.linalg.lstsq(A, y, rcond=None)[0]
    model = PrivateRidge(epsilon=20.0, bounds=RANGES, random_state=0)

    def excess(fitted: PrivateRidge) -> float:
        w = np.append(fitted.coef_, fitted.intercept_)
        return float(np.mean((A @ w - y) ** 2) - np.mean((A @ best - y) ** 2))

    assert excess(model.fit(X, y)) < 1e-6
    # Planted: the clip of few rows is still there.
    assert excess(model.set_params(clip=1.0).fit(X, y)) > 1e-5
