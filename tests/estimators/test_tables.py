"""Estimators that take tables by a schema, and rows with missing values."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import (
    AccuracyFirst,
    Boolean,
    Bounds,
    Categories,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRidge,
    Range,
    Schema,
    load,
)
from discreet.algorithms import ALGORITHMS
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.estimators.shared.tabular import Tabular

RANDOM = np.random.default_rng(0)
N = 400
TABLE = pd.DataFrame(
    {
        "age": RANDOM.uniform(20, 80, N),
        "job": RANDOM.choice(["office", "field", "none"], N),
        "smoker": RANDOM.choice([True, False], N),
    }
)
TABLE["cost"] = np.clip(TABLE.age + 10 * TABLE.smoker, 0, 100)
TABLE["rich"] = np.where(TABLE.age + 10 * (TABLE.job == "office") > 50, "yes", "no")
SCHEMA = Schema(
    {
        "age": Range(20, 80),
        "job": Categories(["office", "field", "none"]),
        "smoker": Boolean(),
        "cost": Range(0, 100),
        "rich": Categories(["no", "yes"]),
    }
)
ESTIMATORS = [
    kind
    for name in discreet.__all__
    if inspect.isclass(kind := getattr(discreet, name)) and issubclass(kind, Tabular)
]
pytestmark = pytest.mark.filterwarnings("ignore::discreet.estimators.NoStableSupport")


def target_of(kind: Any) -> str | None:
    return {"classes": "rich", "real": "cost"}.get(getattr(kind, "_labels", ""))


def settings(kind: Any, schema: Schema = SCHEMA) -> dict[str, Any]:
    target = target_of(kind)
    found = {"schema": schema, "random_state": 0, "epsilon": 4.0}
    return found if target is None else found | {"target": target}


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_takes_a_table_and_carries_its_schema(kind: Any, tmp_path) -> None:
    target = target_of(kind)
    numbers = Schema({name: SCHEMA.columns[name] for name in ("age", "cost")})
    schema = SCHEMA if target else numbers
    model = kind(**settings(kind, schema)).fit(TABLE)
    by_hand = {"bounds": schema.bounds_for(target), "random_state": 0, "epsilon": 4.0}
    X = schema.encoder(target).transform(TABLE)
    plain = kind(**by_hand).fit(X, None if target is None else TABLE[target])
    name = "coef_" if target or hasattr(model, "center_") else "quantiles_"
    np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    assert model.guarantee_ == plain.guarantee_
    assert list(model.feature_names_in_) == schema.names(target)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.schema == schema
    if target:
        rows = TABLE.drop(columns=target)
        np.testing.assert_array_equal(again.predict(rows), plain.predict(X))
        assert again.score(TABLE) == pytest.approx(plain.score(X, TABLE[target]))


def test_labels_may_come_beside_the_table() -> None:
    make = lambda **more: PrivateLogisticRegression(random_state=0, **more)  # noqa: E731
    rows, y = TABLE.drop(columns=["rich", "cost"]), TABLE.rich
    schema = Schema({name: SCHEMA.columns[name] for name in (*rows, "rich")})
    inside = make(schema=schema, target="rich").fit(TABLE)
    beside = make(schema=schema, target="rich").fit(rows, y)
    features = Schema({name: SCHEMA.columns[name] for name in rows})
    declared = make(schema=features, bounds=Bounds(classes=("no", "yes"))).fit(rows, y)
    np.testing.assert_array_equal(inside.coef_, beside.coef_)
    np.testing.assert_array_equal(inside.coef_, declared.coef_)
    with pytest.raises(InvalidData, match="requires y"):
        make(schema=features).fit(rows)


def test_a_plan_knows_the_number_of_features() -> None:
    model = PrivateRidge(schema=SCHEMA, target="cost")
    assert model.plan(n_rows=N).problem.n_features == 7
    assert AccuracyFirst(model, max_error=0.3).plan(n_rows=N) is not None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (PrivateRidge(schema=SCHEMA, target="rich"), "predicts numbers, and column 'rich'"),
        (PrivateLogisticRegression(schema=SCHEMA, target="cost"), "predicts classes"),
        (PrivateRidge(schema=SCHEMA, target="size"), "declares no column 'size'"),
        (PrivateRidge(target="cost"), "target names a column of a schema"),
        (PrivateRidge(schema={"age": Range(0, 1)}), "schema must be a discreet.Schema"),
        (PrivateRidge(missing="drop"), "missing must be one of"),
        (
            PrivateRidge(schema=Schema(SCHEMA.columns, neighbours="replace-one"), target="cost"),
            "The schema declares neighbours = 'replace-one'",
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(model: Any, said: str) -> None:
    with pytest.raises((Incompatible, InvalidParameter), match=said):
        model.fit(TABLE, TABLE.cost)


# Missing values.

HIDDEN = TABLE.copy()
HIDDEN.loc[[3, 50], "age"] = None
HIDDEN.loc[7, "job"] = "at sea"
HIDDEN["job"] = HIDDEN.job.astype(object)
HIDDEN.loc[9, ["cost"]] = None
HIDDEN["rich"] = HIDDEN.rich.astype(object)
HIDDEN.loc[9, ["rich"]] = None
LOST = [3, 7, 9, 50]
BLANK = Schema(SCHEMA.columns, missing="blank")


def arrays(table: Any, target: str) -> tuple[Any, Any]:
    features = Schema({n: SCHEMA.columns[n] for n in ("age", "job", "smoker")}, missing="blank")
    return features.encode(table).X, table[target].to_numpy()


RELATIONS = ("zero-out", "replace-one", "add-remove")


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_a_blank_row_is_blank_whatever_else_it_holds(algorithm, neighbours) -> None:
    squares = getattr(ALGORITHMS.get(algorithm), "needs_quadratic", False)
    kind = PrivateRidge if squares else PrivateLogisticRegression
    target = target_of(kind)
    bounds = Bounds(
        row_norm=3**0.5,
        features=[(20, 80), *[(-1, 1)] * 4],
        classes=("no", "yes") if target == "rich" else None,
        label=(0, 100) if target == "cost" else None,
    )
    X, y = arrays(HIDDEN, str(target))
    other, labels = X.copy(), y.copy()
    for row in LOST[:2]:
        other[row] = np.where(np.isnan(other[row]), np.nan, 1.0)
        labels[row] = "yes" if target == "rich" else 55.0
    other[9] = 60.0, 1, 0, 0, -1
    model = kind(
        bounds=bounds, missing="blank", algorithm=algorithm, neighbours=neighbours,
        n_rows=N, random_state=0, epsilon=2.0,
    )  # fmt: skip
    try:
        one = model.fit(X, y).coef_
    except Incompatible:
        pytest.skip("this algorithm does not go with that model or relation")
    except discreet.errors.BudgetTooSmall:
        pytest.skip("too small a budget for this algorithm")
    np.testing.assert_array_equal(one, model.fit(other, labels).coef_)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateRidge])
def test_a_blank_row_is_as_good_as_none_at_a_declared_size(kind: Any) -> None:
    schema = Schema(SCHEMA.columns, missing="blank", neighbours="add-remove", n_rows=N)
    made = {"neighbours": "add-remove", "n_rows": N, "schema": schema, "target": target_of(kind)}
    model = kind(random_state=0, algorithm="objective-perturbation", **made)
    kept = HIDDEN.drop(index=LOST)
    there, gone = model.fit(HIDDEN).coef_, model.fit(kept).coef_
    np.testing.assert_allclose(there, gone, rtol=1e-6)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_plan_counts_blank_rows(monkeypatch, neighbours: str) -> None:
    # A plan for the rows in use would tell how many are blank.
    seen, planned = [], PrivateRidge._planned

    def noted(self: Any, problem: Any, fits: int = 1) -> Any:
        seen.append(problem.n_rows)
        return planned(self, problem, fits)

    monkeypatch.setattr(PrivateRidge, "_planned", noted)
    model = PrivateRidge(target="cost", schema=BLANK, neighbours=neighbours).fit(HIDDEN)
    bounds = SCHEMA.bounds_for("cost")
    X, y = model.schema.encode(HIDDEN, "cost", labelled=True)
    PrivateRidge(bounds=bounds, missing="blank", neighbours=neighbours).fit(X, y)
    assert seen == [N, N]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_every_estimator_takes_blank_rows_and_predicts_every_row(kind: Any) -> None:
    target = target_of(kind)
    numbers = Schema({n: SCHEMA.columns[n] for n in ("age", "cost")}, missing="blank")
    model = kind(**settings(kind, BLANK if target else numbers)).fit(HIDDEN)
    if target:
        found = model.predict(HIDDEN)
        middle = HIDDEN.copy()
        middle.loc[[3, 50], "age"] = 50.0
        np.testing.assert_array_equal(found[[3, 50]], model.predict(middle)[[3, 50]])
        assert not pd.isna(found).any()


def test_only_what_is_declared_blank_may_be_missing() -> None:
    X, y = arrays(HIDDEN, "cost")
    bounds = Bounds(features=[(20, 80), *[(-1, 1)] * 4], label=(0, 100))
    for data, labels in ((X, np.nan_to_num(y)), (np.nan_to_num(X), y)):
        with pytest.raises(InvalidData, match="missing"):
            PrivateRidge(bounds=bounds).fit(data, labels)
    model = PrivateRidge(bounds=bounds, missing="blank").fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(InvalidData, match="has no label"):
        model.score(X, y)
    with pytest.raises(InvalidData, match="infinite"):
        model.fit(np.where(np.isnan(X), np.inf, X), y)


@pytest.mark.parametrize(
    ("column", "no", "yes"),
    [
        (Boolean(), False, True),
        (Boolean("nein", "ja"), "nein", "ja"),
        (Categories([0, 1]), 0, 1),
        (discreet.Codes(1, 2), 1.0, 2.0),
        (discreet.Ordinal(["low", "high"]), "low", "high"),
    ],
)
@pytest.mark.parametrize("lost", [[5], list(range(N))])
def test_labels_of_any_kind_may_be_missing(column: Any, no: Any, yes: Any, lost: Any) -> None:
    labels = [yes if rich == "yes" else no for rich in TABLE.rich]
    table = {"age": TABLE.age, "t": [None if k in lost else v for k, v in enumerate(labels)]}
    schema = Schema({"age": Range(20, 80), "t": column}, missing="blank")
    model = PrivateLogisticRegression(schema=schema, target="t", epsilon=8.0, random_state=0)
    assert set(model.fit(table).predict(table)) <= {no, yes}
    if len(lost) == 1:
        assert model.score(TABLE, labels) > 0.8
    bounds = Bounds(features=(20, 80), classes=(no, yes))
    plain = PrivateLogisticRegression(
        bounds=bounds, missing="blank", epsilon=8.0, random_state=0
    ).fit(TABLE[["age"]].to_numpy(), table["t"])
    np.testing.assert_allclose(plain.coef_, model.coef_)


def test_missing_labels_need_declared_classes() -> None:
    X, y = arrays(HIDDEN, "rich")
    model = PrivateLogisticRegression(missing="blank", bounds=Bounds(row_norm=100.0))
    with pytest.raises(discreet.errors.MissingBound, match="A label is missing"):
        model.fit(X, y)


def test_medians_of_a_table() -> None:
    schema = Schema({"age": Range(0, 100), "cost": Range(0, 200)}, missing="blank")
    model = PrivateMedian(schema=schema, epsilon=20.0, random_state=0).fit(HIDDEN)
    np.testing.assert_allclose(model.quantiles_, TABLE[["age", "cost"]].median(), atol=5)
