"""Sums of columns: how far one row moves them."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.mechanisms.column_moments import ColumnMoments
from discreet.noise import Seeded


def planned(relation: str, *, counted: bool = False, rows: int = 50, p: int = 2) -> ColumnMoments:
    return ColumnMoments(
        budget=Budget(1.0, 1e-6), neighbours=relation, columns=p, rows=rows, counted=counted
    )


@pytest.mark.parametrize("relation", ["zero-out", "add-remove", "replace-one"])
@pytest.mark.parametrize("counted", [False, True])
def test_no_row_moves_the_sums_further(relation: str, counted: bool) -> None:
    plan = planned(relation, counted=counted)
    rng, worst = np.random.default_rng(0), 0.0
    corners = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.0, 0.0]])
    outside = np.array([[3.0, -2.0], [-1.2, 1e300]])
    rows = np.vstack([corners, outside, rng.uniform(-1, 1, size=(60, 2)), [[np.nan, 0.0]]])
    blank = np.full(2, np.nan)
    for a in rows:
        for b in rows if relation == "replace-one" else [blank]:
            apart = plan.sums(np.array([a])) - plan.sums(np.array([b]))
            worst = max(worst, float(np.linalg.norm(apart)))
    assert worst == pytest.approx(plan.sensitivity, rel=1e-9)


def test_sums_are_exact_in_any_order() -> None:
    X = np.random.default_rng(0).uniform(-1.5, 1.5, size=(200_000, 2))
    plan = planned("zero-out", rows=len(X))
    assert (plan.sums(X) == plan.sums(X[::-1])).all()
    # Cells are rounded no further than exact sums need.
    assert 4**plan.bits * len(X) < 2**51 <= 4 ** (plan.bits + 1) * 2 * len(X)


@pytest.mark.parametrize("counted", [False, True])
def test_noise_has_the_planned_size(counted: bool) -> None:
    plan, random = planned("zero-out", p=3, counted=counted), Seeded(0)
    X = np.full((50, 3), 0.5)
    out = np.array([plan.noise.add(plan.sums(X), random) for _ in range(2000)])
    assert out.mean(axis=0) == pytest.approx(plan.sums(X), abs=4.5 * plan.deviation / 2000**0.5)
    assert out.std(axis=0) == pytest.approx([plan.deviation] * (6 + counted), rel=0.075)
    assert plan.noise.scale == pytest.approx(4.2246788893 * np.sqrt(3.75 + counted), rel=1e-6)


def test_a_variance_is_never_below_its_noise() -> None:
    plan = planned("zero-out", rows=500)
    _, variance = plan.draw(np.zeros((500, 2)), Seeded(0))
    assert (variance >= min(1.0, 2 * plan.deviation / 500)).all()
