"""``"auto"`` finds a plan for groups wherever it finds one for rows."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import PrivateLogisticRegression
from discreet.accounting import Budget
from discreet.bounds import Bounds
from discreet.data import GROUP_RULES, Grouping
from discreet.defaults import recommend
from discreet.losses import Clipped, Hinge, Huber, Logistic, Softmax, Squared
from discreet.problem import Problem
from discreet.regularizers import Ridge
from discreet.tuned.algorithms import NEWTON_ROWS

LOSSES: dict[str, dict[str, Any]] = {
    "logistic": {"loss": Logistic(), "bounds": Bounds(row_norm=1.0, classes=(0, 1))},
    "softmax": {"loss": Softmax(n_classes=3), "bounds": Bounds(row_norm=1.0, classes=(0, 1, 2))},
    "squared": {
        "loss": Clipped(loss=Squared(), clip=1.0),
        "bounds": Bounds(row_norm=1.0, label=(-1, 1)),
    },
    "huber": {"loss": Huber(threshold=0.25), "bounds": Bounds(row_norm=1.0, label=(-1, 1))},
    "hinge": {
        "loss": Hinge(),
        "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
        "regularizer": Ridge(strength=200.0),
    },
}


@pytest.mark.parametrize("rule", GROUP_RULES)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n_rows", [300, 20_000, 3_000_000])
@pytest.mark.parametrize("name", LOSSES)
def test_every_region_has_a_plan_for_groups(
    name: str, n_rows: int, delta: float, rule: str
) -> None:
    problem = Problem(
        n_features=5,
        n_rows=n_rows,
        grouping=Grouping(3, rule),  # type: ignore[arg-type]
        **LOSSES[name],
    )
    plan = recommend(problem, Budget(1.0, delta))
    assert plan.guarantee.unit == "group"
    assert rule != "clip" or plan.algorithm == "noisy-gradient"


def test_the_cheaper_of_two_proofs_is_taken() -> None:
    """Rows that are drawn let objective perturbation compete where it is proved."""
    plans = {
        rule: recommend(
            Problem(
                n_features=5,
                n_rows=200_000,
                grouping=Grouping(2, rule),  # type: ignore[arg-type]
                regularizer=Ridge(strength=1.0),
                **LOSSES["logistic"],
            ),
            Budget(1.0, 1e-6),
        )
        for rule in ("weight", "sample")
    }
    assert plans["weight"].algorithm != "objective-perturbation"
    assert plans["sample"].expected_excess <= plans["weight"].expected_excess


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_classes_of_groups_are_fitted_by_descent_also_with_rows_in_plenty(
    classes: tuple[int, ...],
) -> None:
    # Otherwise noise would go on the weights, where no curvature of the data damps it.
    bounds = Bounds(features=(-1, 1), classes=classes)
    model = PrivateLogisticRegression(epsilon=8.0, bounds=bounds, rows_per_group=3)
    assert model.plan(8, 100_000).algorithm == "noisy-gradient"
    assert model.set_params(rows_per_group=None).plan(8, 100_000).algorithm != "noisy-gradient"


@pytest.mark.parametrize(("epsilon", "loose"), [(0.1, 1.05), (1.0, 1.05), (8.0, 1.7)])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_many_rows_in_groups_are_read_a_few_hundred_times_and_noise_falls_with_their_number(
    neighbours: str, epsilon: float, loose: float
) -> None:
    model = PrivateLogisticRegression(
        epsilon=epsilon,
        delta=1e-6,
        bounds=Bounds(features=(-1, 1), classes=(0, 1)),
        neighbours=neighbours,
        rows_per_group=2,
    )
    noises = []
    for n_rows in (10**5, 10**6, 10**7, 10**8):
        plan = model.plan(20, n_rows)
        found = plan.facts()
        passes = found["steps"] * found["sampling rate"]
        assert passes <= 301.0 or n_rows < NEWTON_ROWS
        # Noise of the mean gradient that the steps amount to together, in clips.
        noise = found["noise scale of a step"] / found["clip"] * found["steps"] ** 0.5
        noises.append(noise / passes)
    assert max(noises) <= loose * min(noises)
