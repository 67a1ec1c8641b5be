"""Intervals of estimators: asked for, printed, saved, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discreet import AccuracyFirst, Bounds, PrivateRidge, PrivateSearch, Range, Schema, load
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.files.checksums import with_checksum
from discreet.inference import MomentIntervals

N = 4000
BOUNDS = Bounds(features=[(20, 80), (0, 10)], label=(-10, 30))


def people(seed: int = 0) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"age": random.uniform(20, 80, N), "dose": random.uniform(0, 10, N)})
    return X, 3 + 0.1 * X.age - 0.4 * X.dose + random.normal(size=N)


def ridge(inference: str | None = "population", **settings: Any) -> PrivateRidge:
    given: dict[str, Any] = {"epsilon": 2.0, "bounds": BOUNDS, "random_state": 0}
    return PrivateRidge(inference=inference, **(given | settings))


@pytest.fixture(scope="module")
def fitted() -> dict[str, PrivateRidge]:
    return {target: ridge(target).fit(*people()) for target in ("table", "population")}


def test_intervals_are_about_coefficients_in_the_units_of_the_data(fitted: Any) -> None:
    model = fitted["population"]
    low, high = model.interval(0.999999).T
    assert low.shape == (3,)
    assert ((low < [0.1, -0.4, 3.0]) & (high > [0.1, -0.4, 3.0])).all()
    X, y = people()
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(N)]), y, rcond=None)[0]
    low, high = fitted["table"].interval(0.999999).T
    assert ((low < exact) & (exact < high)).all()
    # An estimate that ignored units would be 30 and 5 times too large.
    assert (high - low < [0.05, 0.3, 3.0]).all()
    errors = np.sqrt(np.diagonal(model.covariance_))
    assert model.interval(0.95) == pytest.approx(
        np.add.outer(model.inference_.estimate, [0, 0]) + np.outer(errors, [-1.959964, 1.959964])
    )


def test_the_population_is_less_certain_than_the_table(fitted: Any) -> None:
    table, population = fitted["table"], fitted["population"]
    assert (np.diagonal(population.covariance_) > np.diagonal(table.covariance_)).all()
    assert (np.diff(table.interval(exact=True)) > np.diff(table.interval())).all()
    assert table.guarantee_ == population.guarantee_


def test_the_plan_says_what_is_done_and_why_before_a_row_is_read() -> None:
    plan = ridge().plan(2, N)
    assert plan.algorithm == "sufficient-statistics"
    assert "no further cost" in str(plan)
    assert "for the population" in plan.facts()["intervals"]
    assert plan.guarantee.epsilon == 2.0
    assert "augmented-moments" in str(plan.guarantee)
    assert ridge(None).plan(2, N).algorithm != plan.algorithm


def test_a_summary_reads_like_that_of_a_statistics_package(fitted: Any) -> None:
    text = str(fitted["population"].summary(0.9))
    lines = text.splitlines()
    assert lines[0] == "PrivateRidge, epsilon = 2, delta = 1e-06 per row"
    assert lines[2].split() == ["coef", "estimate", "std", "err", "z", "P>|z|", "[0.05", "0.95]"]
    assert [line.split()[0] for line in lines[4:7]] == ["age", "dose", "intercept"]
    assert "noise and sampling" in text
    assert "Approximate" in text
    assert repr(fitted["population"].summary(0.9)) == text
    assert "exact=True" not in text
    assert "exact=True" in str(fitted["table"].summary())
    held = fitted["population"].summary().to_dict()
    assert held["p"][0] < 1e-6
    assert held["low"] == pytest.approx(fitted["population"].interval()[:, 0].tolist())
    plain = str(ridge(None).fit(*people()).summary())
    assert "No intervals" in plain
    assert "coef" in plain


def test_where_noise_dominates_nothing_finite_is_said(tmp_path: Path) -> None:
    model = ridge(epsilon=0.005, alpha=1.0).fit(*people())
    assert (model.interval() == [-np.inf, np.inf]).all()
    assert np.isinf(model.covariance_).all()
    assert "No finite intervals" in str(model.summary())
    assert model.summary().to_dict()["se"] == [None] * 3
    assert json.dumps(model.summary().to_dict(), allow_nan=False)
    model.plot_coefficients(tmp_path / "none.png")
    model.save(tmp_path / "model.json")
    assert np.isinf(load(tmp_path / "model.json").interval()).all()


def test_intervals_are_saved_with_the_model(fitted: Any, tmp_path: Path) -> None:
    for model in fitted.values():
        model.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        assert (again.interval() == model.interval()).all()
        assert (again.covariance_ == model.covariance_).all()
        assert str(again.summary()) == str(model.summary())
        assert again.inference_.covers(model.inference_.estimate)


def test_a_file_whose_intervals_are_not_its_own_is_refused(fitted: Any) -> None:
    content = fitted["table"].to_dict()

    def changed(**values: Any) -> Any:
        copy = json.loads(json.dumps(content))
        for name, value in values.items():
            copy["model"]["inference_"][name] = value
        return PrivateRidge.from_dict(with_checksum(copy))

    assert isinstance(changed().inference_, MomentIntervals)
    for edit in (
        {"target": "population"},
        {"matrix": [[1.0]]},
        {"noise": -1.0},
        {"slopes": [1.0, 2.0, 3.0], "constants": []},
        {"part": "Bounds"},
    ):
        with pytest.raises(InvalidData):
            changed(**edit)
    without = json.loads(json.dumps(content))
    del without["model"]["inference_"]
    with pytest.raises(InvalidData):
        PrivateRidge.from_dict(with_checksum(without))


def test_settings_that_the_intervals_are_not_of_are_not_saved() -> None:
    model = ridge().fit(*people())
    with pytest.raises(InvalidData, match="inference"):
        model.set_params(inference="table").to_dict()


def test_a_fit_can_be_repeated_by_name() -> None:
    model = ridge().fit(*people())
    again = ridge(algorithm=model.algorithm_, settings=model.settings_).fit(*people())
    assert (again.interval() == model.interval()).all()
    refitted = clone(model).fit(*people())
    assert (refitted.coef_ == model.coef_).all()
    model.set_params(inference=None).fit(*people())
    with pytest.raises(Incompatible, match="without intervals"):
        model.interval()


def test_coefficients_of_a_schema_have_names() -> None:
    X, y = people()
    columns = {"age": Range(20, 80), "dose": Range(0, 10), "y": Range(-10, 30)}
    frame = X.assign(y=y)
    model = PrivateRidge(
        epsilon=2.0, schema=Schema(columns), target="y", inference="table", random_state=0
    ).fit(frame)
    assert [line.split()[0] for line in str(model.summary()).splitlines()[4:7]] == [
        "age",
        "dose",
        "intercept",
    ]
    assert model.interval() == pytest.approx(ridge("table").fit(X, y).interval())


def test_without_an_intercept_there_is_one_interval_a_feature() -> None:
    X, y = people()
    model = ridge(fit_intercept=False).fit(X, y - 3)
    assert model.interval().shape == (2, 2)
    assert "intercept" not in str(model.summary())


def test_every_relation_has_intervals() -> None:
    widths = {}
    for relation in ("zero-out", "replace-one", "add-remove"):
        model = ridge("table", neighbours=relation, n_rows=N).fit(*people())
        widths[relation] = np.diff(model.interval())[0, 0]
    assert widths["replace-one"] > 1.3 * widths["zero-out"]


def test_what_has_no_intervals_is_refused_in_words() -> None:
    with pytest.raises(InvalidParameter, match="inference"):
        ridge("both").plan(2, N)
    with pytest.raises(Incompatible, match="Gaussian"):
        ridge(delta=0.0).plan(2, N)
    with pytest.raises(Incompatible, match="output-perturbation"):
        ridge(algorithm="output-perturbation").plan(2, N)
    with pytest.raises(Incompatible, match="along the way"):
        AccuracyFirst(ridge(), max_error=0.1).fit(*people())
    with pytest.raises(Incompatible, match="choice"):
        PrivateSearch(ridge(), {"alpha": [1.0, 2.0]}, epsilon=1.0).plan(2, N)
    with pytest.raises(Incompatible, match="without intervals"):
        _ = ridge(None).fit(*people()).covariance_


def test_the_picture_shows_released_numbers(fitted: Any, tmp_path: Path) -> None:
    fitted["population"].plot_coefficients(tmp_path / "coefficients.svg", level=0.9)
    assert (tmp_path / "coefficients.svg").read_text().count("<path") > 10
    with pytest.raises(Incompatible, match="No intervals"):
        ridge(None).fit(*people()).plot_coefficients(tmp_path / "none.svg")
