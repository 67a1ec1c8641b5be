"""A group is hidden as a whole: attacked with all its rows at once, and with planted faults."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import audit
from discreet.accounting import Budget
from discreet.algorithms import ALGORITHMS
from discreet.auditing import worst_pair
from discreet.bounds import Bounds
from discreet.data import Grouping
from discreet.losses import Huber, Squared
from discreet.problem import Problem

CONFIDENT: dict[str, Any] = {"confidence": 1 - 1e-6, "random_state": 1}

CASES: dict[str, dict[str, Any]] = {
    "noisy-gradient": {"loss": Huber(threshold=0.05)},
    "objective-perturbation": {"loss": Huber(threshold=0.05)},
    "sufficient-statistics": {"loss": Squared()},
}
SETTINGS: dict[str, Any] = {"noisy-gradient": {"steps": 2, "norm_guess": 0.02}}


def planned(
    name: str, neighbours: str, k: int, rows: int | None = None, rule: Any = "weight"
) -> Any:
    problem = Problem(
        bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
        n_features=1,
        n_rows=12,
        neighbours=neighbours,  # type: ignore[arg-type]
        grouping=Grouping(k, rule),
        **CASES[name],
    )
    delta = 1e-6 if name != "objective-perturbation" else 0.0
    plan = ALGORITHMS[name](**SETTINGS.get(name, {})).plan(problem, Budget(2.0, delta))
    if rows is not None:
        # The planted fault: a plan whose noise is for another number of rows than may count.
        object.__setattr__(problem, "grouping", Grouping(rows, rule))
    return plan


@pytest.mark.parametrize(
    ("name", "neighbours"),
    [
        ("noisy-gradient", "zero-out"),
        ("noisy-gradient", "replace-one"),
        ("noisy-gradient", "add-remove"),
        ("sufficient-statistics", "replace-one"),
        ("objective-perturbation", "zero-out"),
    ],
)
def test_no_attack_on_a_group_refutes_the_claim(name: str, neighbours: str) -> None:
    plan = planned(name, neighbours, 3)
    report = audit(plan, runs=100, **CONFIDENT)
    assert report.unit == "group"
    assert report.lower <= report.claim
    pair = worst_pair(plan.problem)
    assert "group of 6 rows" in pair.words


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_no_attack_on_a_group_whose_sum_is_clipped_refutes_the_claim(neighbours: str) -> None:
    report = audit(planned("noisy-gradient", neighbours, 3, rule="clip"), runs=100, **CONFIDENT)
    assert report.unit == "group"
    assert report.lower <= report.claim


@pytest.mark.parametrize(
    ("name", "rule"), [*((name, "weight") for name in CASES), ("noisy-gradient", "clip")]
)
def test_noise_for_fewer_rows_than_may_count_is_caught(name: str, rule: str) -> None:
    report = audit(planned(name, "zero-out", 1, rows=16, rule=rule), runs=160, **CONFIDENT)
    assert report.lower > report.claim
