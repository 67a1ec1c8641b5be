"""Neighbouring Hessians are no further apart than their noise pays for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import gaussian_multiplier
from discreet.accounting.utility import mean_squared_noise
from discreet.bounds import NEIGHBOURS, Bounds
from discreet.data import ArraySource, Rows
from discreet.losses import Huber, Logistic, Softmax
from discreet.mechanisms.hessian_noise import HessianNoise, sensitivity
from discreet.noise import Seeded
from discreet.problem import Problem

LOSSES = {"sign": Logistic(), "index": Softmax(n_classes=3), "real": Huber(threshold=0.5)}


def problem(target: str, neighbours: Any, n_rows: int = 40) -> Problem:
    bounds = Bounds(row_norm=2.0, label=(-1, 1), classes=(0, 1, 2) if target == "index" else (0, 1))
    return Problem(
        loss=LOSSES[target], bounds=bounds, n_features=3, n_rows=n_rows, neighbours=neighbours
    )


def rows(task: Problem, X: np.ndarray, y: np.ndarray) -> Rows:
    return task.bounding.apply(ArraySource(X, y))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("target", sorted(LOSSES))
def test_neighbouring_hessians_are_within_the_sensitivity(target, neighbours):
    task, rng, worst = problem(target, neighbours), np.random.default_rng(0), 0.0
    for trial in range(120):
        X = rng.normal(size=(40, 3))
        X *= 2.0 / np.linalg.norm(X, axis=1)[:, None]
        y = rng.integers(0, 2, 40)
        w = rng.normal(size=task.shape) * (trial % 3) / 2
        one = rows(task, X, y).hessian(task.loss, w, shifting=True)
        if neighbours == "replace-one":
            # A row at a right angle, and both where the curvature is largest.
            X[7], w = np.cross(X[7], rng.normal(size=3)), 0.0 * w
            X[7] *= 2.0 / np.linalg.norm(X[7])
            one = rows(task, np.vstack([X[:7], -X[8:9], X[8:]]), y).hessian(task.loss, w)
            two = rows(task, X, y).hessian(task.loss, w)
        else:
            two = rows(task, np.delete(X, 7, 0), np.delete(y, 7)).hessian(task.loss, w)
        worst = max(worst, float(np.linalg.norm(one - two)))
    bound = sensitivity(task, n_rows=40, shifting=True)
    assert 0.5 * bound < worst <= bound


def test_replaced_rows_at_a_right_angle_reach_the_sensitivity():
    task = problem("sign", "replace-one", 1)
    one, two = (rows(task, 2.0 * np.eye(3)[[i]], np.ones(1)) for i in (0, 1))
    apart = one.hessian(Logistic(), np.zeros(3)) - two.hessian(Logistic(), np.zeros(3))
    assert np.linalg.norm(apart) == pytest.approx(sensitivity(task, n_rows=1), rel=1e-6)


@pytest.mark.parametrize("n_rows", [1, 10**6])
def test_neither_sums_nor_noise_reach_beyond_the_grid(n_rows):
    task = problem("sign", "zero-out", n_rows)
    wide = HessianNoise.gaussian(task, 1e4, n_rows=n_rows)
    pure = HessianNoise.pure(task, 1e-4, n_rows=n_rows)
    for noise in (wide, pure):
        assert noise.noise.grid.reach >= max(n_rows * task.terms.trace, 19.0 * noise.scale)


@pytest.mark.parametrize("target", ["sign", "index", "real"])
def test_a_row_has_the_same_part_wherever_it_stands(target):
    task, rng = problem(target, "add-remove"), np.random.default_rng(1)
    X, y, w = rng.normal(size=(40, 3)), rng.integers(0, 2, 40), rng.normal(size=task.shape)
    for shift in (1, 2, 3, 7):
        moved = np.vstack([np.zeros((shift, 3)), X])
        same = rows(task, moved, np.append(np.zeros(shift, int), y))
        alone = sum(rows(task, X[[i]], y[[i]]).hessian(task.loss, w) for i in range(40))
        blank = sum(rows(task, moved[[i]], [0]).hessian(task.loss, w) for i in range(shift))
        found = same.hessian(task.loss, w, shifting=True)
        np.testing.assert_allclose(found, alone + blank, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("p", [1, 3])
def test_noise_has_the_law_it_claims_in_every_coordinate(p):
    task = Problem(
        loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=p, n_rows=100
    )
    noise = HessianNoise.gaussian(task, 3.0, n_rows=100)
    assert noise.scale >= 3.0 * 0.25
    random = Seeded(0)
    drawn = np.array([noise.add(np.zeros((p, p)), random) for _ in range(2000)])
    assert (drawn == np.swapaxes(drawn, 1, 2)).all()
    for i in range(p):
        for j in range(i + 1):
            scale = noise.scale / (1.0 if i == j else math.sqrt(2))
            assert stats.kstest(drawn[:, i, j] / scale, "norm").pvalue > 1e-5


def test_pure_noise_is_wider_than_gaussian_noise_and_scales_with_epsilon():
    task = problem("sign", "zero-out", 1000)
    one, half = (HessianNoise.pure(task, e, n_rows=1000) for e in (1.0, 0.5))
    assert half.scale == pytest.approx(2 * one.scale, rel=1e-3)
    assert one.scale == pytest.approx(sensitivity(task, n_rows=1000), rel=1e-3)
    gaussian = HessianNoise.gaussian(task, gaussian_multiplier(1.0, 1e-6), n_rows=1000)
    assert one.spectral > 0.5 * gaussian.spectral


def test_rounding_stays_payable_up_to_ten_billion_rows():
    for neighbours in NEIGHBOURS:
        few, many = (problem("sign", neighbours, n) for n in (1000, 10**10))
        most = sensitivity(many, n_rows=10**10, shifting=neighbours == "add-remove")
        assert most <= 16 * sensitivity(few, n_rows=1000)


def test_pure_noise_pays_for_the_grid_in_every_coordinate() -> None:
    task = problem("sign", "zero-out")
    made, size = HessianNoise.pure(task, 0.5, n_rows=40), 6
    paid = made.noise.grid.surcharged(sensitivity(task, n_rows=40), size, "l2")
    assert made.scale * 0.5 >= paid * (1 - 2.0**-50)
    each = math.sqrt(mean_squared_noise("gamma", made.scale, size) / size)
    assert made.spectral == pytest.approx(each * math.sqrt(6))
