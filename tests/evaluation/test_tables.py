"""``evaluate``, test parts and searches of models that carry a schema take tables as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression

from discreet import (
    Categories,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
    Range,
    Schema,
    evaluate,
    load,
    make_private_scorer,
)
from discreet.errors import InvalidData
from discreet.evaluation import fit_and_evaluate, plan_evaluation

RANDOM = np.random.default_rng(1)
N = 600
TABLE = pd.DataFrame(
    {
        "noise": "not declared",
        "rich": "",
        "job": RANDOM.choice(["office", "field"], N),
        "age": RANDOM.uniform(20, 80, N),
    }
)
TABLE["rich"] = np.where(TABLE.age + 20 * (TABLE.job == "office") > 60, "yes", "no")
COLUMNS = {
    "age": Range(20, 80),
    "job": Categories(["office", "field"]),
    "rich": Categories(["no", "yes"]),
}
SCHEMA = Schema(COLUMNS)
LOUD = {"epsilon": 1e6, "delta": 1e-6, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    return PrivateLogisticRegression(schema=SCHEMA, target="rich", random_state=0).fit(TABLE)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, dict])
def test_scores_of_any_table_are_those_of_its_predictions(model, kind):
    found = evaluate(model, kind(TABLE), **LOUD, metrics=("accuracy",))
    right = np.mean(model.predict(TABLE) == TABLE.rich)
    assert found.accuracy.value == pytest.approx(right, abs=1e-3)


def test_labels_may_come_beside_the_table_and_the_model_stays_as_it_was(model):
    beside = evaluate(model, TABLE.drop(columns="rich"), TABLE.rich, **LOUD)
    assert beside.accuracy.value == evaluate(model, TABLE, **LOUD).accuracy.value
    assert model.schema is SCHEMA
    assert model.target == "rich"


def test_blank_rows_are_left_out_of_the_count():
    schema = Schema(COLUMNS, missing="blank")
    model = PrivateLogisticRegression(schema=schema, target="rich", random_state=0).fit(TABLE)
    assert plan_evaluation(model, epsilon=1.0).count_rows
    spoilt = TABLE.copy()
    spoilt.loc[:199, "rich"] = "?"
    spoilt.loc[200:299, "age"] = np.nan
    found = evaluate(model, spoilt, **LOUD, metrics=("accuracy",))
    right = np.mean(model.predict(TABLE[300:]) == TABLE.rich[300:])
    assert found.accuracy.value == pytest.approx(right, abs=1e-3)
    with pytest.raises(InvalidData, match="'age'"):
        evaluate(model.set_params(schema=SCHEMA), spoilt, **LOUD)


def test_rows_are_scored_one_by_one_where_their_number_is_secret():
    schema = Schema(COLUMNS, neighbours="add-remove", n_rows=600)
    model = PrivateRidge(
        schema=schema, target="age", neighbours="add-remove", n_rows=600, random_state=0
    ).fit(TABLE)
    found = evaluate(model, TABLE[:100], **LOUD, metrics=("mse",))
    errors = (model.predict(TABLE[:100]) - TABLE.age[:100]) ** 2
    assert found.mse.value == pytest.approx(np.mean(errors), rel=1e-3)


def test_without_a_schema_labels_are_asked_for(model):
    plain = PrivateLogisticRegression(bounds=model.bounds_, random_state=0)
    X = SCHEMA.encode(TABLE, "rich").X
    with pytest.raises(InvalidData, match="y is None"):
        evaluate(plain.fit(X, TABLE.rich), X, epsilon=1.0)


def test_a_test_part_of_a_table_costs_what_one_part_costs():
    model = PrivateLogisticRegression(epsilon=2.0, schema=SCHEMA, target="rich")
    fitted, found, guarantee = fit_and_evaluate(model, TABLE, random_state=0)
    assert guarantee.epsilon == 2.0
    assert list(fitted.feature_names_in_) == ["age", "job=office", "job=field"]
    assert found.accuracy.value > 0.5


def test_a_scorer_takes_tables(model):
    score = make_private_scorer("accuracy", **LOUD)(model, TABLE, TABLE.rich)
    assert score == pytest.approx(np.mean(model.predict(TABLE) == TABLE.rich), abs=1e-3)


@pytest.mark.parametrize("tries", ["all", "geometric"])
def test_a_search_takes_a_table_and_its_winner_predicts_tables(tries, tmp_path):
    schema = Schema(COLUMNS, missing="blank")
    spoilt = TABLE.copy()
    spoilt.loc[3, "age"] = np.nan
    estimator = PrivateLogisticRegression(schema=schema, target="rich")
    search = PrivateSearch(
        estimator,
        {"norm_guess": [1.0, 10.0]},
        tries=tries,
        expected_tries=None if tries == "all" else 2.0,
        epsilon=3.0,
        verbose=False,
        random_state=0,
    )
    assert search.plan(n_rows=N).n_features == 3
    search.fit(pa.Table.from_pandas(spoilt))
    best = search.best_estimator_
    best.save(tmp_path / "best.json")
    again = load(tmp_path / "best.json")
    assert (again.predict(TABLE) == search.predict(TABLE)).all()
    assert again.guarantee_.epsilon == 3.0


def test_a_file_is_encoded_by_the_schema_that_was_learned(tmp_path: Path) -> None:
    schema = Schema(COLUMNS | {"age": Range("private")})
    model = PrivateLogisticRegression(epsilon=20.0, schema=schema, target="rich", random_state=0)
    model.fit(TABLE)
    TABLE.to_parquet(tmp_path / "rows.parquet")
    for rows in (TABLE, tmp_path / "rows.parquet"):
        found = evaluate(model, rows, epsilon=50.0, metrics=("accuracy",), random_state=0)
        assert found.accuracy.value > 0.6


@pytest.mark.parametrize("place", ["x", "y"])
def test_a_row_of_a_file_with_an_infinite_number_counts_for_nothing_as_in_memory(
    place: str, tmp_path: Path
) -> None:
    """An error would be an answer about that row."""
    x = np.linspace(-1.0, 1.0, 50)
    model = LinearRegression().fit(x[:, None], x)
    held = {"x": x, "y": x / 2}
    held[place] = np.where(np.arange(50) == 7, np.inf, held[place])
    pq.write_table(pa.table(held), tmp_path / "rows.parquet")
    asked = {"epsilon": 1.0, "metrics": ("mse",), "label": (-1.0, 1.0), "random_state": 3}
    there = evaluate(model, tmp_path / "rows.parquet", "y", **asked)
    here = evaluate(model, held["x"][:, None], held["y"], **asked)
    assert there.to_dict() == here.to_dict()
