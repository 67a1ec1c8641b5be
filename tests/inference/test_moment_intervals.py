"""Intervals from noisy second moments, on moments that are made up here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.inference import MomentIntervals

RUNS = 2000


def noisy(moments: Any, s: float, random: np.random.Generator) -> Any:
    """Return a symmetric matrix with Gaussian noise, drawn without the library."""
    raw = random.normal(size=moments.shape) * s
    return moments + (raw + raw.T) / 2


def intervals(matrix: Any, s: float, **changes: Any) -> MomentIntervals:
    p = len(matrix) - 1
    given: dict[str, Any] = {"target": "table", "slopes": np.ones(p), "constants": (), "shift": 0.0}
    given |= {"strength": 0.0, "rows": 5000.0, "stretch": 1.0}
    return MomentIntervals(matrix=matrix, noise=s, **(given | changes))


def table(p: int, random: np.random.Generator, rows: int = 2000) -> Any:
    X = random.uniform(-1, 1, (rows, p))
    y = X @ random.normal(size=p) / p**0.5 + random.uniform(-0.3, 0.3, rows)
    v = np.column_stack([X, y])
    return v.T @ v


def inside(ends: Any, truth: Any) -> Any:
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])


def test_the_noise_drawn_here_has_the_law_that_is_assumed() -> None:
    random = np.random.default_rng(0)
    draws = np.array([noisy(np.zeros((2, 2)), 3.0, random) for _ in range(4000)])
    assert draws[:, 0, 0].std() == pytest.approx(3.0, rel=0.06)
    assert draws[:, 0, 1].std() == pytest.approx(3.0 / 2**0.5, rel=0.06)


@pytest.mark.parametrize("weak", [False, True])
def test_the_region_covers_exactly(weak: bool) -> None:
    # Also where the noisy matrix is mostly noise, and indefinite.
    random = np.random.default_rng(1)
    moments, s, ridge = table(4, random), 3000.0 if weak else 20.0, 50.0
    theta = np.linalg.solve(moments[:-1, :-1] + ridge * np.eye(4), moments[:-1, -1])
    hits = sum(
        intervals(noisy(moments, s, random), s, strength=ridge).covers(theta, 0.9)
        for _ in range(RUNS)
    )
    # False alarms below 1e-4; an interval with half the noise covers in 40 % or less.
    low, high = stats.binom.ppf([5e-5, 1 - 5e-5], RUNS, 0.9)
    assert low <= hits <= high
    half = sum(
        intervals(noisy(moments, s, random), s / 2, strength=ridge).covers(theta, 0.9)
        for _ in range(RUNS // 4)
    )
    assert half < 0.6 * RUNS / 4


def test_outer_intervals_hold_the_region() -> None:
    random = np.random.default_rng(2)
    moments, s = table(3, random), 15.0
    found = intervals(noisy(moments, s, random), s)
    ends = found.interval(0.95, exact=True)
    assert np.isfinite(ends).all()
    members = 0
    for _ in range(4000):
        point = found.centre + random.normal(size=3) * 4 * np.sqrt(np.diagonal(found.spread))
        if found.covers(point):
            members += 1
            assert inside(ends, point).all()
    assert members > 50
    wald = found.interval(0.95)
    assert (ends[:, 0] < wald[:, 0]).all()
    assert (ends[:, 1] > wald[:, 1]).all()


def test_wald_intervals_cover_and_need_the_debiasing() -> None:
    random = np.random.default_rng(3)
    p, s, runs = 120, 1.0, 200
    # One long coefficient, which noise on the matrix carries away from zero.
    truth = 5.0 * np.eye(p)[0]
    moments = np.zeros((p + 1, p + 1))
    moments[:p, :p] = 4.0 * s * p**0.5 * np.eye(p)
    moments[:p, -1] = moments[-1, :p] = moments[:p, :p] @ truth
    debiased = plain = others = 0.0
    for _ in range(runs):
        found = intervals(noisy(moments, s, random), s)
        ends = found.interval(0.95)
        hits = inside(ends, truth)
        debiased, others = debiased + hits[0] / runs, others + hits[1:].mean() / runs
        plain += inside(ends + (found._plain - found.centre)[:, None], truth)[0] / runs
    assert debiased > 0.89
    assert 0.93 < others < 0.985
    assert plain < 0.88


def test_population_intervals_count_sampling() -> None:
    random = np.random.default_rng(4)
    slopes, s, runs, n = np.array([0.5, -0.3]), 8.0, 600, 400
    hits = {"population": 0.0, "table": 0.0}
    for _ in range(runs):
        X = random.uniform(-1, 1, (n, 2))
        v = np.column_stack([X, X @ slopes + random.normal(size=n)])
        for target in hits:
            found = intervals(noisy(v.T @ v, s, random), s, target=target, rows=n, strength=0.0)
            hits[target] += inside(found.interval(), slopes).mean() / runs
    # 1200 intervals in pairs: a deviation of 0.01 at most, so 4 of them.
    assert 0.91 < hits["population"] < 0.985
    assert hits["table"] < 0.85


def test_a_ridge_does_not_move_the_population() -> None:
    moments = table(3, np.random.default_rng(5))
    found = intervals(moments, 1e-6, target="population", strength=500.0)
    assert found.estimate == pytest.approx(np.linalg.solve(moments[:-1, :-1], moments[:-1, -1]))
    shrunk = intervals(moments, 1e-6, strength=500.0)
    regularised = moments[:-1, :-1] + 500.0 * np.eye(3)
    assert shrunk.estimate == pytest.approx(np.linalg.solve(regularised, moments[:-1, -1]))


def test_where_the_data_drowns_no_interval_is_finite() -> None:
    moments = table(3, np.random.default_rng(6))
    found = intervals(moments, 1e4)
    assert "stand out" in found.refusals[0]
    assert (found.interval() == [-np.inf, np.inf]).all()
    assert (found.interval(exact=True) == [-np.inf, np.inf]).all()
    assert np.isinf(found.covariance).all()
    assert np.isnan(found.estimate).all()
    few = intervals(moments, 1e-3, target="population", rows=2.0)
    assert "no more rows" in few.refusals[0]
    assert np.isinf(few.interval()).all()


def test_intervals_are_in_the_units_of_the_user() -> None:
    moments = table(2, np.random.default_rng(7))
    plain = intervals(moments, 2.0)
    # user = (3 w0, 0.5 w0 - 2 w1 + 7), with weights twice those of the sums
    moved = intervals(moments, 2.0, slopes=[3.0], constants=[0.5, -2.0], shift=7.0, stretch=2.0)
    matrix = 2.0 * np.array([[3.0, 0.0], [0.5, -2.0]])
    assert moved.estimate == pytest.approx(matrix @ plain.estimate + [0, 7])
    assert moved.covariance == pytest.approx(matrix @ plain.covariance @ matrix.T)
    assert moved.covers(matrix @ plain.estimate + [0, 7])
    assert moved.interval(exact=True)[0] == pytest.approx(6.0 * plain.interval(exact=True)[0])


def test_values_that_do_not_fit_together_are_refused() -> None:
    moments = table(2, np.random.default_rng(8))
    skew = moments + np.triu(np.ones((3, 3)), 1)
    for matrix, changes in (
        (moments[:2], {}),
        (skew, {}),
        (moments * np.nan, {}),
        (moments, {"target": "everyone"}),
        (moments, {"constants": [1.0]}),
        (moments, {"stretch": 0.0}),
        (moments, {"strength": -1.0}),
        (moments, {"slopes": [1.0]}),
    ):
        with pytest.raises(InvalidData, match="fit together"):
            intervals(matrix, 1.0, **({"slopes": np.ones(2)} | changes))
    with pytest.raises(InvalidData, match="fit together"):
        intervals(moments, 0.0)


def test_what_is_asked_for_is_checked() -> None:
    moments = table(2, np.random.default_rng(9))
    with pytest.raises(InvalidParameter, match="level"):
        intervals(moments, 1.0).interval(1.5)
    with pytest.raises(InvalidParameter, match="2 numbers"):
        intervals(moments, 1.0).covers([1.0])
    with pytest.raises(Incompatible, match="exact"):
        intervals(moments, 1.0, target="population").interval(exact=True)
