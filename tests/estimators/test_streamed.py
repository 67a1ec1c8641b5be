"""Fits of rows that are not in memory: the same releases as in memory, refusals included."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from discreet import (
    Bounds,
    Categories,
    Person,
    PrivateLasso,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantile,
    PrivateRidge,
    PrivateStreamClassifier,
    Range,
    Schema,
    evaluate,
)
from discreet.data.storage import spill
from discreet.errors import InvalidData, MissingBound
from discreet.estimators import quantiles
from discreet.estimators.shared.classes import class_numbers

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

rng = np.random.default_rng(7)
X = rng.normal(size=(9_000, 3))
Y = np.where(X[:, 0] + 0.3 * rng.normal(size=len(X)) > 0, "yes", "no")
LEVEL = np.clip(X @ [0.5, -0.2, 0.1], -1, 1)
CLASSES = Bounds(features={"a": (-2, 2), "b": (-3, 3), "c": (-1, 1)}, classes=("no", "yes"))
LABELS = Bounds(features=(-2, 2), label=(-1, 1))


def table(kind: Any = np.float64) -> Any:
    columns = {name: X[:, j].astype(kind) for j, name in enumerate("abc")}
    return pa.table({**columns, "answer": Y, "level": LEVEL})


def stored(folder: Path, rows: int, kind: Any = np.float64) -> Path:
    folder.mkdir()
    whole = table(kind)
    for k in range(0, len(X), rows):
        pq.write_table(whole.slice(k, rows), folder / f"{k:06}.parquet", row_group_size=777)
    return folder


@pytest.fixture
def spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "memory", lambda: spill.Memory(2**14, None))


CLASSIFIERS = [
    PrivateLogisticRegression(algorithm="objective-perturbation"),
    PrivateLogisticRegression(algorithm="output-perturbation"),
    PrivateLogisticRegression(algorithm="noisy-gradient", settings={"steps": 20}),
    PrivateLogisticRegression(
        algorithm="noisy-gradient", settings={"steps": 20, "sampler": "poisson", "batch": 500}
    ),
    PrivateLinearSVC(),
    PrivateLogisticRegression(class_weight={"no": 1, "yes": 3}),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: f"{type(m).__name__}-{m.algorithm}")
def test_the_release_does_not_depend_on_parts_nor_on_where_rows_are(
    model: Any, tmp_path: Path, spilled: None
) -> None:
    pd = pytest.importorskip("pandas")
    model = clone(model).set_params(bounds=CLASSES, random_state=5, epsilon=2.0)
    there = clone(model).fit(pd.DataFrame(X, columns=list("abc")), Y)
    for rows in (9_000, 1_300):
        columns = ["c", "a", "b", "answer"]  # ranges name columns, so their order is no matter
        folder = stored(tmp_path / str(rows), rows)
        dataset = pytest.importorskip("pyarrow.dataset").dataset(folder)
        found = clone(model).fit(dataset, "answer")
        assert np.array_equal(found.coef_, there.coef_), columns
        assert np.array_equal(found.intercept_, there.intercept_)
        assert found.guarantee_ == there.guarantee_
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "model", [PrivateRidge(), PrivateLasso(radius=2.0)], ids=["ridge", "lasso"]
)
def test_regressions_are_fitted_from_files(model: Any, tmp_path: Path, spilled: None) -> None:
    model = clone(model).set_params(bounds=LABELS, random_state=5)
    there = clone(model).fit(X, LEVEL)
    only = pa.table({**{n: X[:, j] for j, n in enumerate("abc")}, "level": LEVEL})
    pq.write_table(only, tmp_path / "rows.parquet", row_group_size=1000)
    found = clone(model).fit(tmp_path / "rows.parquet", "level")
    assert np.array_equal(found.coef_, there.coef_)
    assert found.intercept_ == there.intercept_
    again = clone(model).fit(lambda: only.to_reader(max_chunksize=1111), "level")
    assert np.array_equal(again.coef_, there.coef_)


def test_rows_of_float32_stay_so_and_move_the_release_by_their_rounding(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    model = PrivateLogisticRegression(
        bounds=CLASSES, random_state=5, algorithm="objective-perturbation"
    )
    short = pd.DataFrame(X.astype(np.float32), columns=list("abc"))
    there = clone(model).fit(short, Y)
    found = clone(model).fit(stored(tmp_path / "f", 2_000, np.float32), "answer")
    # Rows are rounded once more, by 2^-24 of their size, before the objective is formed.
    assert np.abs(found.coef_ - there.coef_).max() < 1e-5 * np.abs(there.coef_).max()


def test_a_schema_encodes_parts_as_it_does_the_whole(tmp_path: Path) -> None:
    ranges = {name: Range(-2, 2) for name in "abc"}
    schema = Schema({**ranges, "answer": Categories(["no", "yes"])})
    model = PrivateLogisticRegression(schema=schema, target="answer", random_state=5)
    there = clone(model).fit(table())
    found = clone(model).fit(stored(tmp_path / "s", 2_500))
    assert np.array_equal(found.coef_, there.coef_)
    with pytest.raises(InvalidData, match="names the label's column"):
        clone(model).fit(tmp_path / "s", "answer")


@pytest.mark.parametrize("whole", [False, True])
def test_persons_are_read_from_a_column_of_the_files(whole: bool, tmp_path: Path) -> None:
    visits = [None if k % 500 == 3 else k % 3000 for k in range(len(X))]
    persons = pa.array(visits if whole else [None if v is None else f"p{v}" for v in visits])
    held = table().append_column("who", persons)
    for k in range(0, len(X), 2_500):
        pq.write_table(held.slice(k, 2_500), tmp_path / f"{k:05}.parquet", row_group_size=777)
    columns = {"a": Range(-2, 2), "b": Range(-3, 3), "level": Range(-1, 1), "who": Person(3)}
    model = PrivateRidge(schema=Schema(columns), target="level", random_state=2)
    here = clone(model).fit(held.select([*columns]))
    there = clone(model).fit(tmp_path)
    assert there.coef_.tobytes() == here.coef_.tobytes()
    alone = clone(model).fit(tmp_path, groups=list(range(len(X))))
    assert alone.coef_.tobytes() != here.coef_.tobytes()


def test_scores_of_files_are_those_of_rows_in_memory(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    model = PrivateLogisticRegression(bounds=CLASSES, random_state=5).fit(frame, Y)
    one = evaluate(model, frame, Y, epsilon=1.0, random_state=3)
    two = evaluate(model, stored(tmp_path / "e", 1_000), "answer", epsilon=1.0, random_state=3)
    assert one.to_dict() == two.to_dict()


def test_missing_numbers_are_refused_or_blank_as_in_memory(tmp_path: Path) -> None:
    holed = X.copy()
    holed[5, 1] = np.nan
    columns = {name: holed[:, j] for j, name in enumerate("abc")}
    pq.write_table(pa.table({**columns, "level": LEVEL}), tmp_path / "h.parquet")
    model = PrivateRidge(bounds=LABELS, random_state=5)
    with pytest.raises(InvalidData, match="missing or non-finite"):
        clone(model).fit(tmp_path / "h.parquet", "level")
    blank = clone(model).set_params(missing="blank")
    there = clone(blank).fit(holed, LEVEL)
    assert np.array_equal(there.coef_, clone(blank).fit(tmp_path / "h.parquet", "level").coef_)
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    columns["level"] = np.where(LEVEL < 1, LEVEL, np.inf)
    pq.write_table(pa.table(columns), tmp_path / "l.parquet")
    with pytest.raises(InvalidData, match="y has a missing or non-finite"):
        clone(model).fit(tmp_path / "l.parquet", "level")


@pytest.mark.parametrize("name", ["a", "level"])
def test_infinite_numbers_are_not_missing_ones(name: str, tmp_path: Path) -> None:
    """Nobody said what they stand for, so they are refused, as in memory."""
    held = {column: X[:, j] for j, column in enumerate("abc")} | {"level": LEVEL}
    held[name] = np.where(np.arange(len(X)) == 5, np.inf, held[name])
    path = tmp_path / "i.parquet"
    pq.write_table(pa.table(held), path)
    rows = np.column_stack([held[column] for column in "abc"])
    said = "X has an infinite value" if name == "a" else "y has a missing or non-finite"
    for given in ((path, "level"), (rows, held["level"])):
        with pytest.raises(InvalidData, match=said):
            PrivateRidge(bounds=LABELS, missing="blank").fit(*given)


def test_what_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    folder = stored(tmp_path / "r", 5_000)
    model = PrivateLogisticRegression(bounds=CLASSES, random_state=5)
    with pytest.raises(InvalidData, match="requires y"):
        model.fit(folder)
    with pytest.raises(InvalidData, match="no column 'reply'"):
        model.fit(folder, "reply")
    with pytest.raises(InvalidData, match="name of a column"):
        model.fit(folder, Y)
    with pytest.raises(InvalidData, match="not among"):
        clone(model).set_params(bounds=replace(CLASSES, classes=("no", "maybe"))).fit(
            folder, "answer"
        )
    with pytest.raises(MissingBound, match="declared classes"):
        clone(model).set_params(bounds=Bounds(features={"a": (-2, 2)})).fit(folder, "answer")
    with pytest.raises(InvalidData, match="types of its columns"):
        PrivateRidge(bounds=LABELS, random_state=5).fit(folder, "level")
    with pytest.raises(InvalidData, match="not in memory"):
        PrivateStreamClassifier(bounds=CLASSES, n_rows=100, random_state=5).fit(folder, Y)
    with pytest.raises(InvalidData, match="not in memory"):
        model.fit(folder, "answer").predict(folder)
    assert not hasattr(clone(model), "coef_")


def test_quantiles_of_files_are_those_of_rows_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd = pytest.importorskip("pandas")
    holed = X.copy()
    holed[17, 1] = np.nan
    frame = pd.DataFrame(holed, columns=list("abc"))
    for k in range(3):
        pq.write_table(pa.table(frame[k * 3000 : (k + 1) * 3000]), tmp_path / f"{k}.parquet")
    for large, by in ((2**20, "ranks"), (1000, "ranks"), (1000, "pinball")):
        monkeypatch.setattr(quantiles, "LARGE", large)
        for relation in ("zero-out", "add-remove"):
            model = PrivateQuantile(
                quantile=[0.2, 0.5], bounds=LABELS, random_state=5, by=by, neighbours=relation
            )
            there = clone(model).fit(frame)
            found = clone(model).fit(tmp_path)
            assert np.array_equal(found.quantiles_, there.quantiles_)
            assert found.guarantee_ == there.guarantee_
            assert found.feature_names_in_.tolist() == ["a", "b", "c"]
            assert np.abs(found.quantiles_[1]).max() < 0.2


def test_labels_that_are_whole_numbers_are_numbered_like_any_others():
    rng = np.random.default_rng(0)
    for classes in ([0, 1], [-5, 7, 300], list(range(9))):
        labels = rng.choice(classes, 50)
        for kind in (np.int64, np.int16, np.float64, object):
            found = class_numbers(np.array(classes), labels.astype(kind), "the classes")
            assert (np.array(classes)[found] == labels).all()
            assert found.dtype == np.int8
    assert class_numbers(np.array([0, 1]), np.array([1, 0], np.uint8), "the classes").tolist() == [
        1,
        0,
    ]
    for strange in ([0, 2], [-1, 1]):
        with pytest.raises(InvalidData, match="not among the classes"):
            class_numbers(np.array([0, 1]), np.array(strange, np.int8), "the classes")
