"""Corners rounded by a public width."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.defaults import Asked, recommend
from discreet.defaults.case import Case
from discreet.defaults.rounded_corners import RoundedCorners, rounded_corners
from discreet.errors import DiscreetError
from discreet.lab import corner
from discreet.losses import Absolute, Hinge, Logistic, Loss, Quantile
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge, Zero
from discreet.solvers.minimize import minimise


def named(name: str, task: Problem) -> Any:
    """Return the plan of an algorithm given by name."""
    return recommend(task, Budget(1.0), Asked(algorithm=name))


def problem(loss: Loss | None = None, strength: float = 200.0, n_rows: int = 20_000) -> Problem:
    loss = Hinge() if loss is None else loss
    sign = loss.target == "sign"
    bounds = Bounds(row_norm=1.0, classes=(0, 1)) if sign else Bounds(row_norm=1.0, label=(-1, 1))
    return Problem(
        loss=loss,
        bounds=bounds,
        n_features=6,
        n_rows=n_rows,
        regularizer=Ridge(strength=strength) if strength else Zero(),
    )


def rounded(given: Problem, budget: Budget, strength: float | None = None) -> RoundedCorners:
    found = rounded_corners(Case(given, budget, Asked(strength=strength)))
    assert found is not None
    return found


@pytest.mark.parametrize(("strength", "width"), [(200.0, 0.0103), (2000.0, 0.00106)])
def test_the_width_is_twice_the_least_that_keeps_the_ridge(strength: float, width: float) -> None:
    plan = rounded(problem(strength=strength), Budget(1.0))
    assert plan.width == pytest.approx(width, rel=0.02)
    assert plan.each.facts()["strength"] == strength
    # A little below half of it the ridge is raised.
    loss = Hinge().rounded(plan.width * 0.49)[0]
    narrower = named("objective-perturbation", replace(plan.problem, loss=loss))
    assert narrower.facts()["strength"] > strength


def test_where_no_width_keeps_the_ridge_the_widest_is_taken() -> None:
    for strength in (0.0, 1e-9, 5.0, 30.0):
        assert rounded(problem(strength=strength), Budget(0.1)).width == 0.5
    assert rounded(problem(strength=30.0), Budget(1.0)).width < 0.5


def test_widths_of_quantiles_scale_with_the_curvature() -> None:
    hinge = rounded(problem(), Budget(1.0))
    quantile = rounded(problem(Quantile(quantile=0.9)), Budget(1.0))
    # Curvature 1 / width instead of 1 / (2 width).
    assert quantile.width == pytest.approx(2 * hinge.width, rel=1e-3)
    assert rounded(problem(Absolute()), Budget(1.0)).factor == 2.0


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(quantile=0.9)])
def test_rounded_losses_are_near_the_loss(loss: Loss) -> None:
    y = np.array([1.0, -1.0])
    for width in (1e-3, 0.1):
        form = loss.rounded(width)
        assert form is not None
        for z in np.linspace(-3, 3, 61):
            apart = form[1] * form[0].value(np.full(2, z), y) - loss.value(np.full(2, z), y)
            assert np.abs(apart).max() <= width


def test_the_bias_is_the_height_of_the_rounding() -> None:
    hinge = rounded(problem(), Budget(1.0))
    assert hinge.bias == pytest.approx(20_000 * hinge.width / 4)
    quantile = rounded(problem(Quantile(quantile=0.9)), Budget(1.0))
    assert quantile.bias == pytest.approx(20_000 * quantile.width * 0.81 / 2, rel=1e-6)
    absolute = rounded(problem(Absolute()), Budget(1.0))
    assert absolute.bias == pytest.approx(20_000 * absolute.width / 4, rel=1e-6)


def test_auto_rounds_under_pure_privacy_and_names_the_better_worst_case() -> None:
    plan = recommend(problem(), Budget(1.0))
    assert isinstance(plan, RoundedCorners)
    assert plan.algorithm == "objective-perturbation"
    assert plan.facts()["better in the worst case"].startswith("localization, 4.")
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 0.0)
    assert "rounds the corner of  " in str(plan)
    # Strength given beside the problem is a ridge that was asked for.
    given = recommend(problem(strength=0.0), Budget(1.0), Asked(strength=200.0))
    assert isinstance(given, RoundedCorners)
    assert given.width == plan.width


def test_nothing_is_rounded_without_a_corner_with_a_delta_or_with_another_penalty() -> None:
    assert rounded_corners(Case(problem(Logistic()), Budget(1.0))) is None
    halved = replace(problem(Absolute()), regularizer=L1(strength=1e-9))
    assert rounded_corners(Case(halved, Budget(1.0))) is None
    penalised = replace(problem(strength=0.0), regularizer=L1(strength=1e4))
    assert not isinstance(recommend(penalised, Budget(1.0)), RoundedCorners)
    assert not isinstance(recommend(problem(), Budget(1.0, 1e-6)), RoundedCorners)


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(quantile=0.9)])
def test_on_ordinary_data_the_loss_itself_is_nearly_minimal(loss: Loss) -> None:
    rng = np.random.default_rng(11)
    n, strength = 3000, 100.0
    X = rng.normal(size=(n, 6))
    X /= np.linalg.norm(X, axis=1)[:, None]
    z = X @ np.array([1.0, -1.0, 0.5, 0.0, 0.0, 0.3]) + 0.2 * rng.normal(size=n)
    sign = loss.target == "sign"
    y, label = ((z > 0).astype(int), np.sign(z)) if sign else (np.clip(z, -1, 1),) * 2
    given = problem(loss, strength, n)

    def value(w: np.ndarray) -> float:
        return math.fsum(loss.value(X @ w, label)) + strength / 2 * float(w @ w)

    rows = Rows(X, label)
    best = value(minimise(rows, loss, linear=np.zeros(6), strength=strength, tolerance=1e-3))
    excess = {}
    for name in ("auto", "output-perturbation"):
        plan = named(name, given)
        runs = [plan.run(ArraySource(X, y), Seeded(i)).weights for i in range(4)]
        excess[name] = float(np.mean([value(w) - best for w in runs]))
    assert excess["auto"] < min(0.5, excess["output-perturbation"])


def test_on_corners_localization_is_better_as_its_bound_says() -> None:
    instance = corner(n_rows=16_000, n_features=2)
    plan = recommend(instance.problem, Budget(1.0))
    assert isinstance(plan, RoundedCorners)
    assert plan.worst is not None
    assert plan.worst < plan.expected_excess
    near = named("localization", instance.problem)
    auto, local = (
        np.mean([instance.excess(p.run(instance.rows, Seeded(i)).weights) for i in range(4)])
        for p in (plan, near)
    )
    assert local < auto <= plan.expected_excess


def test_a_width_can_be_asked_for_and_is_refused_where_it_means_nothing() -> None:
    def asked(task: Problem, name: str = "objective-perturbation", width: float = 0.1) -> Any:
        given = Asked(algorithm=name, settings={"corner_width": width})
        return recommend(task, Budget(1.0, 1e-6), given)

    assert asked(problem()).problem.loss.width == 0.1
    for refused in (
        lambda: asked(problem(), "output-perturbation"),
        lambda: asked(problem(Logistic())),
        lambda: asked(problem(), width=-1.0),
        lambda: asked(replace(problem(Absolute()), regularizer=L1(strength=1.0))),
    ):
        with pytest.raises(DiscreetError):
            refused()
