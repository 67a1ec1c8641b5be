"""Scores that protect all rows of one group."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

from discreet import (
    Boolean,
    Bounds,
    Person,
    PrivateLogisticRegression,
    Range,
    Schema,
    evaluate,
)
from discreet.accounting import Budget
from discreet.data.parts_read import StreamSource
from discreet.data.storage import RawBlock, Tables
from discreet.errors import Incompatible, InvalidData, MissingBound
from discreet.evaluation import plan_evaluation, run_plan
from discreet.evaluation.plan import EvaluationPlan
from discreet.evaluation.result import Evaluation
from discreet.evaluation.scored_rows import _by_block
from discreet.files.checksums import with_checksum
from discreet.report.evaluated import evaluation_section

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (900, 1))
Y = (X[:, 0] > 0).astype(int)
PEOPLE = np.repeat(np.arange(300), 3)
MODEL = LogisticRegression().fit(X, Y)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_noise_is_that_of_a_row_times_the_rows_of_a_group(delta: float, neighbours: str) -> None:
    plans = [
        EvaluationPlan(
            budget=Budget(1.0, delta),
            metrics=("accuracy", "auc", "log_loss"),
            classes=(0, 1),
            neighbours=neighbours,  # type: ignore[arg-type]
            count_rows=True,
            rows_per_group=k,
        )
        for k in (None, 1, 4)
    ]
    for name, law in plans[0].laws.items():
        assert plans[1].laws[name].deviation == pytest.approx(law.deviation)
        assert plans[2].laws[name].deviation == pytest.approx(4 * law.deviation)
    assert [plan.guarantee.unit for plan in plans] == ["row", "group", "group"]


def test_a_group_moves_the_sums_by_no_more_than_its_rows_and_attains_that() -> None:
    """By search over all groups of three rows, of which two may count."""
    plan = plan_evaluation(MODEL, epsilon=1.0, metrics=("accuracy",), rows_per_group=2)
    moved = 0.0
    for rows in itertools.product((-0.9, 0.9), (0, 1), repeat=3):
        x, y = np.array(rows[::2])[:, None], np.array(rows[1::2])
        ideal = EvaluationPlan(
            budget=Budget(1e9), metrics=("accuracy",), classes=(0, 1), count_rows=True,
            rows_per_group=2,
        )  # fmt: skip
        found = run(ideal, x, y)
        moved = max(moved, abs(found["correct"]))
        assert abs(found["count"]) <= 2.001
    assert moved == pytest.approx(1.0, abs=1e-3)
    assert plan.blocks[0].sensitivity("l2", "zero-out") * 2 == pytest.approx(1.0)


def run(plan: EvaluationPlan, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    found = run_plan(plan, MODEL, x, y, groups=["a"] * len(y), random_state=1)
    return {name: float(np.ravel(value)[0]) for name, value in found.released.items()}


def test_scores_of_groups_are_right_and_come_without_intervals() -> None:
    found = evaluate(
        MODEL, X, Y, epsilon=4.0, metrics=("accuracy",), groups=PEOPLE, rows_per_group=2,
        random_state=0,
    )  # fmt: skip
    assert found.accuracy.value == pytest.approx(1.0, abs=0.05)
    assert math.isnan(found.accuracy.low)
    assert math.isnan(found.accuracy.high)
    assert not found.accuracy.exact
    assert "no interval" in str(found)
    assert "no interval" in str(found.accuracy)
    assert found.n_rows is None
    assert "per group" in str(found.guarantee)


def test_groups_and_their_cap_belong_together_and_fit_the_rows() -> None:
    with pytest.raises(MissingBound, match="belong together"):
        evaluate(MODEL, X, Y, epsilon=1.0, groups=PEOPLE)
    with pytest.raises(MissingBound, match="belong together"):
        evaluate(MODEL, X, Y, epsilon=1.0, rows_per_group=2)
    with pytest.raises(InvalidData, match="one identifier for every row"):
        evaluate(MODEL, X, Y, epsilon=1.0, groups=PEOPLE[1:], rows_per_group=2)
    with pytest.raises(Incompatible, match="count_rows must be True"):
        plan_evaluation(MODEL, epsilon=1.0, rows_per_group=2, count_rows=False)


def written(folder: Path, table: pa.Table) -> str:
    for k in range(0, table.num_rows, 210):
        pq.write_table(table.slice(k, 210), folder / f"{k:05}.parquet", row_group_size=99)
    return str(folder)


def test_scores_of_groups_are_those_of_memory_where_rows_are_read_part_by_part(
    tmp_path: Path,
) -> None:
    """Of every part as many rows of a group would count as of all, were each part drawn alone."""
    folder = written(tmp_path, pa.table({"x": X[:, 0], "y": Y}))
    model = LogisticRegression().fit(X, Y)
    asked = {"epsilon": 1.0, "metrics": ("accuracy",), "random_state": 3}
    people = ["a"] * len(Y)
    here = evaluate(model, X, Y, groups=people, rows_per_group=2, **asked)
    there = evaluate(model, folder, "y", groups=people, rows_per_group=2, **asked)
    assert there.to_dict() == here.to_dict()
    ideal = EvaluationPlan(
        budget=Budget(1e9), metrics=("accuracy",), classes=(0, 1), count_rows=True,
        rows_per_group=2,
    )  # fmt: skip
    found = run_plan(ideal, model, folder, "y", groups=people, random_state=1)
    assert float(np.ravel(found.released["count"])[0]) == pytest.approx(2.0, abs=1e-3)
    with pytest.raises(InvalidData, match="one identifier for every row"):
        evaluate(model, folder, "y", groups=people[1:], rows_per_group=2, **asked)


def test_files_that_grow_while_they_are_scored_are_refused() -> None:
    """The draw is for as many rows as were counted; one row left of it would stand for all."""
    source = StreamSource(
        Tables(lambda names: iter([{"x": X[:4, 0]}]), {"x": "double"}, lambda: 1),
        ["x"],
        lambda table: RawBlock(table["x"][:, None], Y[:4], None),
        n_features=1,
    )
    plan = plan_evaluation(MODEL, epsilon=1.0, metrics=("accuracy",), rows_per_group=1)
    with pytest.raises(InvalidData, match="changed while it was read"):
        _by_block(MODEL, plan, source, np.ones(3, dtype=bool))


def test_persons_are_scored_by_a_column_of_the_files(tmp_path: Path) -> None:
    schema = Schema({"x": Range(-1, 1), "y": Boolean(), "who": Person(rows=2)})
    table = pa.table({"x": X[:, 0], "y": Y > 0, "who": [str(one) for one in PEOPLE]})
    model = PrivateLogisticRegression(schema=schema, target="y", random_state=0).fit(table)
    asked = {"epsilon": 1.0, "metrics": ("accuracy",), "random_state": 0}
    there = evaluate(model, written(tmp_path, table), **asked)
    assert there.guarantee.unit == "group"
    assert there.to_dict() == evaluate(model, table, **asked).to_dict()


def test_a_column_of_the_schema_says_whom_scored_rows_belong_to() -> None:
    schema = Schema({"x": Range(-1, 1), "y": Boolean(), "who": Person(rows=2)})
    table = {"x": X[:, 0], "y": Y > 0, "who": PEOPLE}
    model = PrivateLogisticRegression(schema=schema, target="y", random_state=0).fit(table)
    asked = {"epsilon": 1.0, "metrics": ("accuracy",), "random_state": 0}
    found = evaluate(model, table, **asked)
    assert found.guarantee.unit == "group"
    assert found.plan.rows_per_group == 2
    with pytest.raises(MissingBound, match="whom a row belongs to"):
        evaluate(model, schema.encode(table, "y", labelled=True), **asked)


def test_a_model_per_group_is_scored_per_group_too() -> None:
    model = PrivateLogisticRegression(
        epsilon=4.0, bounds=Bounds(features=(-1, 1), classes=(0, 1)), rows_per_group=2,
        random_state=0,
    ).fit(X, Y, groups=PEOPLE)  # fmt: skip
    found = evaluate(
        model, X, Y, epsilon=4.0, groups=PEOPLE, rows_per_group=2, neighbours="replace-one",
        metrics=("accuracy",), random_state=0,
    )  # fmt: skip
    assert found.accuracy.value > 0.9


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_an_evaluation_of_groups_is_saved_loaded_and_reported(neighbours: str) -> None:
    found = evaluate(
        MODEL, X, Y, epsilon=5.0, groups=PEOPLE, rows_per_group=3, random_state=0,
        neighbours=neighbours, metrics=("accuracy", "auc", "calibration"),
    )  # fmt: skip
    again = Evaluation.from_dict(found.to_dict())
    assert again.n_rows is None
    assert again.guarantee == found.guarantee
    page = evaluation_section(again, found.guarantee)
    assert "nan" not in page.lower().replace("finance", "")
    assert "not independent" in page


def test_a_public_size_is_refused_where_it_is_secret() -> None:
    found = evaluate(MODEL, X, Y, epsilon=5.0, groups=PEOPLE, rows_per_group=3, random_state=0)
    with pytest.raises(InvalidData, match="damaged"):
        Evaluation.from_dict(with_checksum(found.to_dict() | {"n_rows": 900}))
