"""More rows help: planned noise, over the number of rows, falls up to 10^10 of them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import discreet
from discreet import Bounds

REAL = Bounds(features=(-1, 1), label=(-1, 1))
SIGNS = Bounds(features=(-1, 1), classes=(0, 1))
COUNTS = Bounds(features=(-1, 1), label=(0, 10))

ESTIMATORS = {
    "PrivateElasticNet": {"bounds": REAL},
    "PrivateHuberRegressor": {"bounds": REAL},
    "PrivateLinearSVC": {"bounds": SIGNS},
    "PrivateLogisticRegression": {"bounds": SIGNS},
    "PrivatePoissonRegressor": {"bounds": COUNTS},
    "PrivateQuantileRegressor": {"bounds": REAL},
    "PrivateRidge": {"bounds": REAL},
    "PrivateSGDClassifier": {"bounds": SIGNS},
    "PrivateSGDRegressor": {"bounds": REAL},
}
STREAMS = {
    "PrivateStreamClassifier": {"bounds": SIGNS},
    "PrivateStreamRegressor": {"bounds": REAL},
}
RELATIONS = ("zero-out", "replace-one", "add-remove")
NOISES = (
    "noise scale of the last gradient",
    "noise scale of a step",
    "gaussian noise scale",
    "noise scale",
)


def planned(name: str, n_rows: int, relation: str) -> Any:
    model = getattr(discreet, name)(neighbours=relation, **(ESTIMATORS | STREAMS)[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in STREAMS:
            return model.set_params(n_rows=n_rows).plan(20)
        return model.plan(20, n_rows)


def noise(plan: Any) -> float:
    """Return the noise of the sum that a release rests on, for a sum over all rows."""
    facts = plan.facts()
    found = float(next(facts[name] for name in NOISES if name in facts))
    return found / float(facts.get("sampling rate", 1.0))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_planned_noise_falls_like_one_over_the_number_of_rows(name: str, relation: str) -> None:
    few, many = (planned(name, n, relation) for n in (10**7, 10**10))
    # A correction that larger data gets may cost a little of the budget.
    assert noise(many) / 10**10 <= 1.25 * noise(few) / 10**7 / 1000


@pytest.mark.parametrize("relation", RELATIONS[:2])
@pytest.mark.parametrize("name", STREAMS)
def test_a_longer_stream_is_promised_a_smaller_error_per_row(name: str, relation: str) -> None:
    plans = {n: planned(name, n, relation) for n in (10**7, 10**8, 10**9, 10**10)}
    errors = [plan.expected_excess / n for n, plan in plans.items()]
    noises = [noise(plan) / n for n, plan in plans.items()]
    assert errors == sorted(errors, reverse=True)
    assert noises == sorted(noises, reverse=True)
