"""Ranges and categories that are learned within the budget of a fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import (
    AccuracyFirst,
    Bounds,
    Categories,
    Ledger,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRidge,
    PrivateSearch,
    PrivateStreamClassifier,
    Range,
    Schema,
    load,
)
from discreet.accounting import Pure
from discreet.accounting.theorems import THEOREMS
from discreet.errors import BudgetExceeded, DiscreetError, Incompatible, InvalidData
from discreet.mechanisms.learned_columns import LearnedColumns
from discreet.report import card_dict

N = 6000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(18, 90, N),
        "cost": RNG.lognormal(7, 0.5, N),
        "job": RNG.choice(["office", "field", "sea"], N),
    }
)
FRAME["sick"] = np.where(FRAME.age + 20 * (FRAME.job == "sea") > 60, "yes", "no")
FRAME.loc[0, "job"] = "lighthouse"
RANGES: dict[str, Any] = {"age": Range("private"), "cost": Range(0, "private")}
SCHEMA = Schema(RANGES | {"job": Categories("private"), "sick": Categories(["no", "yes"])})
NUMBERS = Schema(RANGES | {"sick": Categories(["no", "yes"])})


def test_a_fit_learns_what_is_private_and_carries_it(tmp_path: Path) -> None:
    model = PrivateLogisticRegression(epsilon=2.0, schema=SCHEMA, target="sick", random_state=0)
    model.fit(FRAME)
    learned = model.schema_.columns
    assert learned["job"] == Categories(["field", "office", "sea", "other"], other="other")
    age = learned["age"]
    assert isinstance(age, Range)
    assert 14 < float(age.low) < 25 < 80 < float(age.high) < 95
    assert model.schema.private.keys() == {"age", "cost", "job"}
    assert model.score(FRAME) > 0.9
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.schema_ == model.schema_
    assert (again.predict(FRAME) == model.predict(FRAME)).all()
    assert card_dict(again)["schema"] == model.schema_.to_dict()


def test_the_guarantee_is_one_and_is_planned() -> None:
    model = PrivateLogisticRegression(epsilon=2.0, schema=SCHEMA, target="sick", bounds_share=0.25)
    plan = model.plan(None, N)
    assert "learned first" in str(plan)
    fitted = model.fit(FRAME).guarantee_
    assert (fitted.epsilon, fitted.delta, fitted.kind) == (2.0, 1e-6, "ex-ante")
    assert fitted.event == plan.guarantee.event
    assert fitted.event.delta(2.0 * (1 + 1e-9)) <= 1e-6 * 1.001
    shares = [event.epsilon for event in fitted.event.events]
    # Three ends and one list share a quarter; the rest is left for the fit.
    assert shares == pytest.approx([0.125] * 4 + [1.5])
    assert all(name in THEOREMS for name in fitted.theorem.split("; "))
    assert "partition-selection" in fitted.theorem


def test_the_event_of_the_fit_is_known_where_only_ranges_are_learned() -> None:
    model = PrivateLogisticRegression(schema=NUMBERS, target="sick", random_state=0)
    plan, fitted = model.plan(None, N), model.fit(FRAME).guarantee_
    assert fitted.event == plan.guarantee.event
    declared = PrivateLogisticRegression(
        schema=NUMBERS.stand_in(), target="sick", epsilon=0.9, delta=0.9e-6
    )
    assert fitted.event.events[-1] == declared.plan(None, N).guarantee.event


def test_one_reservation_is_made_before_rows_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "t.ledger", dataset="d", epsilon=1.05, delta=1e-4)
    model = PrivateRidge(epsilon=1.0, schema=Schema(RANGES), target="cost", ledger=ledger)
    seen: list[int] = []
    draw = LearnedColumns.range

    def spied(self: LearnedColumns, *args: Any) -> Any:
        seen.append(len(ledger.history()))
        return draw(self, *args)

    monkeypatch.setattr(LearnedColumns, "range", spied)
    model.fit(FRAME)
    assert seen == [1, 1]
    [entry] = ledger.history()
    assert entry.model == "PrivateRidge"
    with pytest.raises(BudgetExceeded):
        model.fit(FRAME)
    assert len(seen) == 2
    assert not hasattr(model, "schema_")


def test_rows_that_are_refused_cost_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "t.ledger", dataset="d", epsilon=1.0, delta=1e-4)
    model = PrivateLogisticRegression(schema=SCHEMA, target="sick", ledger=ledger)
    with pytest.raises(InvalidData):
        model.fit(FRAME.assign(age="old"))
    assert ledger.history() == []


ESTIMATORS = [
    "PrivateLogisticRegression",
    "PrivateLinearSVC",
    "PrivateRidge",
    "PrivateHuberRegressor",
    "PrivateElasticNet",
    "PrivateLasso",
    "PrivateSGDClassifier",
    "PrivateSGDRegressor",
    "PrivateQuantile",
]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_the_run_is_the_planned_one_whatever_the_estimator(name: str, relation: str) -> None:
    kind = getattr(discreet, name)
    asked: dict[str, Any] = {
        "bounds": Bounds(features="private", label=(0, 2e4), classes=("no", "yes")),
        "neighbours": relation,
        "random_state": 0,
        "n_rows": N,
        "steps": 5,
    }
    known = kind().get_params()
    model = kind(**{k: v for k, v in asked.items() if k in known})
    y = FRAME.sick if hasattr(kind, "decision_function") else FRAME.cost
    plain = replace(asked["bounds"], features=(0, 1e4))
    try:
        kind(**(model.get_params() | {"bounds": plain})).fit(FRAME[["age", "cost"]], y)
    except DiscreetError:
        pytest.skip("not for these neighbours")
    model.fit(FRAME[["age", "cost"]], y)
    assert model.guarantee_.epsilon == 1.0
    assert model.guarantee_.neighbours == relation
    assert isinstance(model.guarantee_.event.events[0], Pure)
    low, high = model.bounds_.features[0]
    assert low < 40 < 70 < high


@pytest.mark.parametrize("declared", [None, N, 2 * N])
def test_a_secret_number_of_rows_decides_nothing(declared: int | None) -> None:
    model = PrivateRidge(
        bounds=Bounds(features="private", label=(0, 5000)),
        neighbours="add-remove",
        n_rows=declared,
        random_state=0,
    )
    found = []
    for rows in (N, N - 1):
        model.fit(FRAME[["age"]][:rows], FRAME.cost[:rows])
        found.append((model.guarantee_, model.algorithm_, model.settings_, model.n_rows_))
    assert found[0] == found[1]
    assert found[0][0].event == model.plan(1, declared).guarantee.event


def test_missing_cells_and_declared_ends() -> None:
    table = FRAME.copy()
    table.loc[::3, "age"] = np.nan
    schema = Schema(
        {
            "age": Range(0, "private", missing="indicator"),
            "cost": Range("private", unit=100.0, missing=1000.0),
        },
        missing="blank",
    )
    model = PrivateRidge(schema=schema, target="cost", random_state=0).fit(table)
    age = model.schema_.columns["age"]
    assert (age.low, age.missing) == (0.0, "indicator")
    assert 80 < age.high < 95
    assert model.predict(table).shape == (N,)
    beside = PrivateRidge(schema=schema, target="cost", random_state=0).fit(
        table.drop(columns="cost"), table.cost
    )
    assert beside.schema_ == model.schema_


def test_a_schema_file_says_private() -> None:
    columns = {
        "age": {"range": "private", "unit": 0.5},
        "cost": {"range": [0, "private"]},
        "job": {"categories": "private", "other": "rest"},
    }
    schema = Schema.from_dict({"columns": columns})
    assert Schema.from_dict(schema.to_dict()) == schema
    assert 'job = { categories = "private", other = "rest" }' in schema.to_toml()
    assert schema.columns["cost"] == Range(0, "private")
    with pytest.raises(Incompatible, match="'age', 'cost', 'job'"):
        schema.encode({"age": [1], "cost": [1], "job": ["a"]})


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"range": [0, 1], "unit": 2.0}, "declared"),
        ({"range": ["secret", 1]}, "number"),
        ({"categories": "private", "missing": "sea"}, "other"),
        ({"categories": "secret"}, "list"),
    ],
)
def test_what_makes_no_sense_is_refused(facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schema({"a": facts})


def test_what_cannot_learn_says_so() -> None:
    numbers: Any = {"schema": NUMBERS, "target": "sick"}
    ridge: Any = PrivateRidge(schema=Schema(RANGES), target="cost")
    with pytest.raises(Incompatible, match="private"):
        AccuracyFirst(ridge, max_error=0.1).fit(FRAME)
    with pytest.raises(Incompatible, match="private"):
        PrivateSearch(ridge, {"norm_guess": [1.0, 2.0]}).fit(FRAME)
    with pytest.raises(Incompatible, match="private"):
        PrivateStreamClassifier(**numbers).partial_fit(FRAME)
    target = Schema(RANGES | {"job": Categories("private")})
    with pytest.raises(Incompatible, match="classes"):
        PrivateLogisticRegression(schema=target, target="job").fit(FRAME)
    with pytest.raises(Incompatible, match="delta above 0"):
        PrivateMedian(schema=SCHEMA).fit(FRAME)
    encoded = NUMBERS.stand_in().encode(FRAME, "sick")
    with pytest.raises(Incompatible, match="encoded"):
        PrivateLogisticRegression(**numbers).fit(encoded)
    with pytest.raises(Incompatible, match="range ="):
        PrivateRidge(bounds=Bounds(features="private"), schema=Schema(RANGES)).fit(FRAME)
