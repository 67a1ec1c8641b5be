"""Model files: parts come back whole, and what was damaged or edited is refused."""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import math
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
    load,
)
from discreet.accounting import epsilon_at
from discreet.algorithms import ALGORITHMS
from discreet.algorithms.stream.ftrl import ONE_PASS
from discreet.errors import InvalidData, InvalidParameter
from discreet.estimators.shared.base import UndeclaredBounds
from discreet.estimators.shared.claims import LABELS_PUBLIC
from discreet.estimators.shared.persistence import (
    DAMAGED,
    Portable,
    _json_values,
    _parameter,
    part_of_a_file,
)
from discreet.files.checksums import with_checksum
from discreet.losses import LOSSES, Clipped, Hinge, Squared
from discreet.regularizers import REGULARIZERS
from discreet.sets import SETS, Box, Intersection, L2Ball

RNG = np.random.default_rng(5)
X = pd.DataFrame(RNG.uniform(-1, 1, size=(90, 2)), columns=["a", "b"])
BOUNDS = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
EVERY: list[Any] = [
    kind
    for name in discreet.__all__
    if inspect.isclass(kind := getattr(discreet, name)) and issubclass(kind, Portable)
]


def fitted(kind: Any, n_classes: int = 2, **settings: Any) -> Any:
    bounds = Bounds(features=(-1, 1), label=(-1, 1), classes=tuple(range(n_classes)))
    return kind(bounds=bounds, **settings).fit(X, np.arange(90) % n_classes)


# Parts.


def test_every_table_is_known_and_no_name_stands_twice() -> None:
    tables: list[dict[str, Any]] = [SETS, REGULARIZERS, LOSSES]
    kinds = {type(part) for table in tables for part in table.values()} | set(ALGORITHMS.values())
    assert len({kind.__name__ for kind in kinds}) == len(kinds)
    assert all(part_of_a_file(kind.__name__) is kind for kind in kinds)


@pytest.mark.parametrize(
    "part", [*SETS.values(), *REGULARIZERS.values()], ids=lambda part: part.name
)
def test_every_set_and_penalty_comes_back(part: Any) -> None:
    assert _parameter(json.loads(json.dumps(_json_values(part)))) == part


def test_an_intersection_is_saved_with_the_model(tmp_path: Path) -> None:
    both = Intersection(sets=(L2Ball(radius=1.0), Box(low=-0.5, high=0.5)))
    model = fitted(PrivateLogisticRegression, constraint=both)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").constraint == both


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_comes_back(name: str) -> None:
    stored = json.loads(json.dumps(_json_values(LOSSES[name])))
    assert _parameter(stored) == LOSSES[name]


def test_models_of_given_losses_are_saved(tmp_path: Path) -> None:
    clipped = Clipped(loss=Squared(), clip=0.5)
    for kind, loss in ((PrivateSGDClassifier, Hinge()), (PrivateSGDRegressor, clipped)):
        model = fitted(kind, loss=loss)
        model.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        assert again.loss == loss
        assert np.array_equal(again.coef_, model.coef_)


# What discreet wrote is read.


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_what_was_written_is_read(kind: Any) -> None:
    for epsilon in (0.03, 1.0, 30.0):
        model = fitted(kind, epsilon=epsilon)
        again = Portable.from_dict(json.loads(json.dumps(model.to_dict())))
        assert again.guarantee_ == model.guarantee_


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 3.0, 100.0, 1000.0])
def test_many_classes_are_read(epsilon: float, delta: float) -> None:
    for kind in (discreet.PrivateLinearSVC, PrivateLogisticRegression):
        model = fitted(kind, 3, epsilon=epsilon, delta=delta, fit_intercept=False)
        assert Portable.from_dict(model.to_dict()).guarantee_ == model.guarantee_


def test_an_even_split_over_fits_is_read() -> None:
    settings: dict[str, Any] = {"sampler": "poisson", "batch": 5, "steps": 30, "epsilon": 20.0}
    model = fitted(PrivateSGDClassifier, 3, neighbours="replace-one", **settings)
    assert model.guarantee_.event.delta(20.0) <= 1e-6 * (1 + 1e-9)
    content = model.to_dict()
    assert Portable.from_dict(content).guarantee_ == model.guarantee_
    less = 0.99 * epsilon_at(model.guarantee_.event, 1e-6)
    with_value(less, "guarantee", "epsilon")(content)
    with_value(less, "parameters", "epsilon")(content)
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict(with_checksum(content))


def test_a_guarantee_after_the_fact_is_read() -> None:
    ridge = PrivateRidge(bounds=BOUNDS)
    model = AccuracyFirst(ridge, max_error=0.4, max_epsilon=500.0).fit(X, np.arange(90) % 2)
    stored = model.estimator_.to_dict()
    assert Portable.from_dict(stored).guarantee_ == model.guarantee_


# What was damaged or edited is not.


def without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        del content[path[-1]]

    return change


def with_value(value: Any, *path: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


EDITS = {
    **{f"no {key}": without(key) for key in ("estimator", "parameters", "model", "guarantee")},
    **{
        f"no {key}": without("model", key)
        for key in ("coef_", "intercept_", "classes_", "n_features_in_", "algorithm_", "bounds_")
    },
    "bounds that declare nothing": with_value({"part": "Bounds"}, "model", "bounds_"),
    "ranges of other columns": with_value([[0, 1]] * 3, "model", "bounds_", "features"),
    "no epsilon": without("guarantee", "epsilon"),
    "no event": without("guarantee", "event"),
    "an estimator that is a list": with_value([], "estimator"),
    "parameters that are a list": with_value([], "parameters"),
    "a model that is text": with_value("none", "model"),
    "a strange parameter": with_value(1, "parameters", "strange"),
    "a strange part": with_value({"part": "Exploit"}, "parameters", "constraint"),
    "a part with a strange field": with_value({"part": "Bounds", "x": 1}, "parameters", "bounds"),
    "a field of the class": with_value(1, "model", "__class__"),
    "short weights": with_value([[0.5]], "model", "coef_"),
    "flat weights": with_value([0.5, 0.5], "model", "coef_"),
    "ragged weights": with_value([[0.5], [0.5, 1.0]], "model", "coef_"),
    "weights of text": with_value([["a", "b"]], "model", "coef_"),
    "weights without end": with_value([[0.5, math.inf]], "model", "coef_"),
    "a long intercept": with_value([0.0, 0.0], "model", "intercept_"),
    "one class": with_value([1], "model", "classes_"),
    "three classes": with_value([0, 1, 2], "model", "classes_"),
    "one name": with_value(["a"], "model", "feature_names_in_"),
    "a negative epsilon": with_value(-1.0, "guarantee", "epsilon"),
    "a smaller epsilon": with_value(0.99, "guarantee", "epsilon"),
    "a smaller delta": with_value(9e-7, "guarantee", "delta"),
    "a security in words": with_value("no", "guarantee", "secure"),
    "no assumptions": with_value([], "guarantee", "assumptions"),
    "one assumption": with_value(["none"], "guarantee", "assumptions"),
    "more words than there are": with_value("proved\x1b[2J", "guarantee", "theorem"),
    "no proof": with_value("", "guarantee", "theorem"),
    "another unit": with_value("person", "guarantee", "unit"),
    "a claim after the fact": with_value("ex-post", "guarantee", "kind"),
    "a relation that hides more": with_value("add-remove", "guarantee", "neighbours"),
    "a relation of its own": with_value("replace-one", "parameters", "neighbours"),
    "less noise than the budget": lambda content: content["guarantee"].update(
        epsilon=0.001, event={"event": "gaussian", "multiplier": 1e6}
    ),
    "an event of its own": with_value({"event": "none"}, "guarantee", "event"),
    **{
        f"noise of {m:g}": with_value({"event": "gaussian", "multiplier": m}, "guarantee", "event")
        for m in (3.0, 1e-6)
    },
}


@cache
def written() -> str:
    return json.dumps(fitted(PrivateLogisticRegression).to_dict())


@pytest.mark.parametrize("signed", [False, True], ids=["old checksum", "new checksum"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_file_is_refused(edit: str, signed: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(written())
    load(path)
    content = json.loads(written())
    EDITS[edit](content)
    with contextlib.suppress(ValueError):  # a number that is not finite has no checksum
        content = with_checksum(content) if signed else content
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidData) as caught:
        load(path)
    if edit == "a strange part" and signed:  # as good as a package that is not installed
        assert "needs the part 'Exploit'" in str(caught.value)
        return
    assert str(caught.value) == DAMAGED
    assert caught.value.__cause__ is not None


def test_a_smaller_epsilon_is_refused_without_delta_too() -> None:
    content = fitted(PrivateRidge, delta=0.0).to_dict()
    with_value(0.999, "guarantee", "epsilon")(content)
    with_value(0.999, "parameters", "epsilon")(content)
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict(with_checksum(content))


@pytest.mark.parametrize(
    "text", [b"", b"not JSON", b"\xff\xfe\x00", b'{"format": "discreet-mo', b"[" * 9**6]
)
def test_a_file_that_is_no_json_is_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(text)
    with pytest.raises(InvalidData, match="damaged"):
        load(path)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    good = fitted(PrivateRidge).to_dict()
    for content, match in (
        ([1, 2], "not a discreet model"),
        (good | {"format": "pickle"}, "not a discreet model"),
        (good | {"version": 99}, "version"),
        (good | {"estimator": "Exploit"}, "not a model"),
    ):
        path = tmp_path / "bad.json"
        path.write_text(
            json.dumps(with_checksum(content) if isinstance(content, dict) else content)
        )
        with pytest.raises(InvalidParameter, match=match):
            load(path)


def test_whatever_is_changed_the_checksum_tells() -> None:
    content = fitted(PrivateRidge).to_dict()
    for key in content:
        with pytest.raises((InvalidData, InvalidParameter)):
            Portable.from_dict(content | {key: "x"})
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict(content | {"note": "mine"})
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict({k: v for k, v in content.items() if k != "sha256"})


def test_a_claim_after_the_fact_comes_with_its_reserve() -> None:
    ridge = PrivateRidge(bounds=BOUNDS)
    model = AccuracyFirst(ridge, max_error=0.4, max_epsilon=500.0).fit(X, np.arange(90) % 2)
    content = model.estimator_.to_dict()
    for edit in (
        with_value(None, "guarantee", "reserved"),
        with_value("sufficient-statistics", "model", "algorithm_"),
        with_value("replace-one", "guarantee", "neighbours"),
    ):
        edited = copy.deepcopy(content)
        edit(edited)
        with pytest.raises(InvalidData, match="edited"):
            Portable.from_dict(with_checksum(edited))


def test_labels_that_were_seen_stay_an_assumption() -> None:
    with pytest.warns(UndeclaredBounds):
        model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1))).fit(X, np.arange(90) % 2)
    content = model.to_dict()
    content["guarantee"]["assumptions"].remove(LABELS_PUBLIC)
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict(with_checksum(content))


def test_a_stream_file_says_that_rows_are_fed_once() -> None:
    content = fitted(discreet.PrivateStreamClassifier).to_dict()
    content["guarantee"]["assumptions"].remove(ONE_PASS)
    with pytest.raises(InvalidData, match="edited"):
        Portable.from_dict(with_checksum(content))


@pytest.mark.parametrize(
    "change", [{"neighbours": "replace-one"}, {"epsilon": 0.5}, {"delta": 1e-9}]
)
def test_settings_changed_since_the_fit_are_not_saved(change: dict[str, Any]) -> None:
    model = fitted(PrivateRidge)
    with pytest.raises(InvalidData, match="fitted with"):
        model.set_params(**change).to_dict()


# Hostile files.


HOSTILE = {
    "many features": with_value(10**9, "model", "n_features_in_"),
    "endless features": with_value(10**4000, "model", "n_features_in_"),
    "a nested part": with_value(json.loads("[" * 400 + "]" * 400), "parameters", "constraint"),
    "a nested event": with_value(
        json.loads('{"event": "composed", "events": [[1, ' * 150 + "1" + "]]}" * 150),
        "guarantee",
        "event",
    ),
    "a huge epsilon": with_value(10**400, "guarantee", "epsilon"),
    "a huge weight": with_value([[10**400, 0.5]], "model", "coef_"),
}


@pytest.mark.parametrize("edit", HOSTILE)
def test_a_hostile_file_is_refused_quickly(edit: str, tmp_path: Path) -> None:
    content = fitted(PrivateLogisticRegression).to_dict()
    HOSTILE[edit](content)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(with_checksum(content)))
    begun = time.perf_counter()
    with pytest.raises(InvalidData) as caught:
        load(path)
    assert str(caught.value) == DAMAGED
    assert time.perf_counter() - begun < 5.0


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_not_finite_are_no_numbers(number: str, tmp_path: Path) -> None:
    text = json.dumps(fitted(PrivateLogisticRegression).to_dict() | {"note": "here"})
    path = tmp_path / "model.json"
    path.write_text(text.replace('"here"', number))
    with pytest.raises(InvalidData, match="damaged"):
        load(path)


def test_a_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    monkeypatch.setattr("discreet.estimators.shared.persistence.MOST_BYTES", 1000)
    with path.open("wb") as file:
        file.truncate(2000)
    with pytest.raises(InvalidData, match="larger than"):
        load(path)
    with pytest.raises(InvalidData, match="Pickle it"):
        fitted(PrivateLogisticRegression).save(path)


@pytest.mark.parametrize("value", [math.inf, math.nan])
@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_weights_that_are_not_finite_are_not_saved(name: str, value: float, tmp_path: Path) -> None:
    model = fitted(PrivateRidge)
    setattr(model, name, np.full_like(getattr(model, name), value))
    with pytest.raises(InvalidData, match="infinite or not a number"):
        model.save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_limits_that_are_none_are_saved(tmp_path: Path) -> None:
    box = Box(low=0.0, high=math.inf)
    model = fitted(PrivateLogisticRegression, constraint=box)
    model.save(tmp_path / "model.json")
    assert "Infinity" not in (tmp_path / "model.json").read_text()
    assert load(tmp_path / "model.json").constraint == box
