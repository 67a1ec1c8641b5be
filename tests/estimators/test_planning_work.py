"""Planning takes little work, whatever the estimator, the relation and the budget."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

import discreet
from discreet.accounting.gaussian_profile import _multiplier, gaussian_profile
from discreet.bounds import NEIGHBOURS, Bounds

PLANNED = [
    name
    for name in sorted(discreet.__all__)
    if name.startswith("Private")
    and getattr(discreet, name).__module__.startswith("discreet.estimators")
    and hasattr(getattr(discreet, name), "plan")
]

MOST_CALLS = 40_000
"""Calls of Python functions, some 30 ms; to calibrate every share of the output took 52,000."""

MOST_POINTS = 150_000
"""Points of Gaussian curves, some 15 ms at 100 ns each; the same took 213,000."""

LADDER = {"PrivateRidge": 2.5}
"""How much more work plans are that hold a run for each of a dozen clips."""


def calls(
    name: str, neighbours: str, budget: tuple[float, float], n_rows: int, points: list[int]
) -> int:
    """Return how many functions of Python one plan calls; ``points`` counts those of curves."""
    kind = getattr(discreet, name)
    chosen = {
        "epsilon": budget[0],
        "delta": budget[1],
        "bounds": Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)),
        "neighbours": neighbours,
        "n_rows": n_rows if neighbours == "add-remove" else None,
    }
    known = kind().get_params()
    model = kind(**{k: v for k, v in chosen.items() if k in known})
    count = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"
        if event == "call" and frame.f_code is gaussian_profile.__code__:
            points.append(frame.f_locals["epsilons"].size)

    _multiplier.cache_clear()
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.plan(n_features=20, n_rows=n_rows)
    except discreet.errors.Incompatible:
        pass
    finally:
        sys.setprofile(before)
    return count


# Budgets of their own, for no earlier test to have left their noise in a cache.
@pytest.mark.parametrize("budget", [(0.1017, 1.3e-6), (1.017, 1.3e-6), (8.017, 1.3e-6)], ids=str)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_takes_little_work(name, neighbours, budget):
    points: list[int] = []
    more = LADDER.get(name, 1.0)
    assert calls(name, neighbours, budget, 100_000, points) <= more * MOST_CALLS
    assert sum(points) <= more * MOST_POINTS


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_plan_for_many_rows_takes_little_work(neighbours):
    several = ("LogisticRegression", "HuberRegressor", "ElasticNet", "PoissonRegressor", "Lasso")
    for name in several:
        for k, n_rows in enumerate((10**5, 10**7, 10**8)):
            for epsilon in (0.10191, 1.0191, 8.0191):
                points: list[int] = []
                budget = (epsilon * (1.0 + 1e-3 * k), 1.3e-6)
                assert calls(f"Private{name}", neighbours, budget, n_rows, points) <= MOST_CALLS
                assert sum(points) <= MOST_POINTS
