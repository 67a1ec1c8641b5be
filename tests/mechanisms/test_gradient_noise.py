"""Noise of clipped sums: what it pays for beside the clip."""

from __future__ import annotations

import pytest

from discreet.bounds import Bounds, Neighbours
from discreet.data.clipped.clipped_sums import MOST_ROWS, sum_rounding
from discreet.losses import Logistic
from discreet.mechanisms.gradient_noise import GradientNoise
from discreet.problem import Problem


@pytest.mark.parametrize("shifting", [False, True])
@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
def test_noise_pays_for_the_rounding_of_sums_and_for_its_grid(
    neighbours: Neighbours, apart: int, shifting: bool
) -> None:
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    task = Problem(loss=Logistic(), bounds=bounds, n_features=3, n_rows=20, neighbours=neighbours)
    rounding = sum_rounding(1.0, n_rows=MOST_ROWS, shifting=shifting)
    assert rounding > 1e-7
    made = GradientNoise.gaussian(1.0, 2.0, task, n_rows=MOST_ROWS, shifting=shifting)
    assert made.row >= made.noise.grid.surcharged(1.0 + rounding, 3, "l2")
    assert made.scale >= 2.0 * made.row
    pure = GradientNoise.pure(1.0, 0.5, task, n_rows=MOST_ROWS, shifting=shifting)
    assert pure.scale * 0.5 >= apart * (1.0 + rounding)


@pytest.mark.parametrize("clip", [0.01, 1.0, 100.0])
def test_the_grid_holds_every_sum_of_clipped_gradients(clip: float) -> None:
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    task = Problem(loss=Logistic(), bounds=bounds, n_features=3, n_rows=10_000)
    made = (
        GradientNoise.gaussian(clip, 1.0, task, n_rows=10_000, shifting=False),
        GradientNoise.pure(clip, 1.0, task, n_rows=10_000, shifting=False),
    )
    assert all(noise.noise.grid.reach >= 10_000 * clip for noise in made)
