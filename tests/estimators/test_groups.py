"""Fits that protect all rows of one group."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, cross_val_score

import discreet
from discreet import (
    AccuracyFirst,
    Boolean,
    Bounds,
    Ledger,
    Person,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
    PrivateSGDClassifier,
    Range,
    Schema,
    load,
)
from discreet.data import GROUP_RULES, Grouping
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.report import card_text

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (400, 2))
Y = (X[:, 0] > 0).astype(int)
PEOPLE = np.repeat(np.arange(100), 4)
BOUNDS = Bounds(features=(-1, 1), classes=(0, 1))


ALONE = ("PrivateStreamClassifier", "PrivateStreamRegressor")
"""Estimators that protect single rows only."""


def model(**settings: Any) -> PrivateLogisticRegression:
    usual: dict[str, Any] = {"epsilon": 4.0, "bounds": BOUNDS, "random_state": 0}
    return PrivateLogisticRegression(**(usual | settings))


def test_groups_without_a_cap_are_refused_and_so_is_a_cap_without_groups() -> None:
    with pytest.raises(MissingBound, match="rows_per_group is not set"):
        model().fit(X, Y, groups=PEOPLE)
    with pytest.raises(InvalidParameter, match="nothing says whom a row belongs to"):
        model(rows_per_group=2).fit(X, Y)
    with pytest.raises(InvalidParameter, match="group_rule is set"):
        model(group_rule="sample").fit(X, Y)
    with pytest.raises(InvalidParameter, match="rows_per_group"):
        model(rows_per_group=0).fit(X, Y, groups=PEOPLE)
    with pytest.raises(InvalidParameter, match="group_rule"):
        model(rows_per_group=1, group_rule="first").fit(X, Y, groups=PEOPLE)


@pytest.mark.parametrize("rule", GROUP_RULES)
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_everything_says_what_is_protected(rule: str, neighbours: str, tmp_path: Path) -> None:
    size = {"n_rows": 200} if neighbours == "add-remove" else {}
    fitted = model(rows_per_group=2, group_rule=rule, neighbours=neighbours, **size)
    fitted.fit(X, Y, groups=PEOPLE)
    assert fitted.guarantee_.unit == "group"
    assert "per group" in str(fitted.guarantee_)
    assert "per group" in str(fitted.plan(2, 200))
    assert "per person (all rows of one group)" in " ".join(card_text(fitted).split())
    fitted.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.guarantee_ == fitted.guarantee_
    assert again.rows_per_group == 2
    with pytest.raises(InvalidData, match="different units"):
        fitted.set_params(rows_per_group=None, group_rule="weight").to_dict()


@pytest.mark.parametrize("rule", ["weight", "sample"])
@pytest.mark.parametrize(
    ("delta", "algorithm", "neighbours"),
    [
        (1e-6, "noisy-gradient", "add-remove"),
        (0.0, "output-perturbation", "zero-out"),
        (1e-6, "output-perturbation", "replace-one"),
    ],
)
def test_one_row_per_group_gives_the_bits_of_a_fit_of_rows(
    rule: str, delta: float, algorithm: str, neighbours: str
) -> None:
    settings = {"delta": delta, "algorithm": algorithm, "neighbours": neighbours, "n_rows": 400}
    alone = np.random.default_rng(1).permutation(400)
    rows = model(**settings).fit(X, Y)
    groups = model(**settings, rows_per_group=1, group_rule=rule).fit(X, Y, groups=alone)
    assert np.array_equal(rows.coef_, groups.coef_)
    assert np.array_equal(rows.intercept_, groups.intercept_)


def test_drawn_single_rows_take_gaussian_objective_perturbation_with_the_bits_of_rows() -> None:
    settings = {"algorithm": "objective-perturbation"}
    rows = model(**settings).fit(X, Y)
    drawn = model(**settings, rows_per_group=1, group_rule="sample")
    assert np.array_equal(rows.coef_, drawn.fit(X, Y, groups=np.arange(400)).coef_)
    with pytest.raises(Incompatible, match="noisy-gradient"):
        model(**settings, rows_per_group=1).fit(X, Y, groups=np.arange(400))


def test_identifiers_are_names_only() -> None:
    settings = {"rows_per_group": 2, "delta": 0.0}
    first = model(**settings).fit(X, Y, groups=PEOPLE)
    names = [f"p{i}" for i in PEOPLE]
    assert np.array_equal(first.coef_, model(**settings).fit(X, Y, groups=names).coef_)
    ids: list[Any] = list(names)
    ids[:4] = [None] * 4
    blank = X.copy()
    blank[:4] = np.nan
    gone = model(**settings).fit(X, Y, groups=ids)
    # Without their identifiers the rows are blank, but for the public size.
    held = model(**settings, missing="blank").fit(blank, Y, groups=names)
    assert np.allclose(gone.coef_, held.coef_, atol=0.05)
    with pytest.raises(InvalidData, match="one identifier for every row"):
        model(**settings).fit(X, Y, groups=names[1:])


def test_more_rows_of_a_group_cost_what_the_plan_says() -> None:
    plans = [model(rows_per_group=k, delta=0.0).plan(2, 10_000) for k in (1, 2, 4)]
    scales = [plan.facts()["gamma noise scale"] for plan in plans]
    assert scales[1] == pytest.approx(2 * scales[0])
    assert scales[2] == pytest.approx(4 * scales[0])


def test_a_replaced_group_may_have_any_number_of_rows() -> None:
    """Under replace-one nothing public may depend on how many rows a group has."""
    settings: dict[str, Any] = {"rows_per_group": 2, "neighbours": "replace-one", "delta": 0.0}
    more = np.concatenate([PEOPLE, np.zeros(50, int)])
    one = model(**settings).fit(X, Y, groups=PEOPLE)
    two = model(**settings).fit(np.vstack([X, X[:50]]), np.append(Y, Y[:50]), groups=more)
    assert one.settings_ == two.settings_
    assert one.guarantee_ == two.guarantee_


def test_a_clipped_group_takes_noisy_gradients_alone() -> None:
    for algorithm in ("output-perturbation", "objective-perturbation", "noisy-newton"):
        with pytest.raises(Incompatible, match=r"group_rule='clip'(.|\n)*noisy-gradient"):
            model(rows_per_group=2, group_rule="clip", algorithm=algorithm).plan(2, 400)
    batches = {"sampler": "poisson", "batch": 40, "steps": 20}
    for settings in ({"steps": 20}, batches):
        fitted = model(
            epsilon=50.0,
            rows_per_group=2,
            group_rule="clip",
            algorithm="noisy-gradient",
            settings=settings,
        ).fit(X, Y, groups=PEOPLE)
        assert fitted.score(X, Y) > 0.8


def test_batches_draw_groups_and_what_is_proved_for_rows_is_refused() -> None:
    sgd = PrivateSGDClassifier(
        epsilon=4.0, bounds=BOUNDS, rows_per_group=4, batch=40, steps=20, random_state=0
    )
    fitted = sgd.fit(X, Y, groups=PEOPLE)
    assert "noisy-gradient/poisson" in fitted.guarantee_.theorem
    for setting in ({"sampler": "fixed-size"}, {"adaptive_clip": True}, {"cap": 300, "batch": 20}):
        with pytest.raises(Incompatible, match="proved for single rows"):
            model(rows_per_group=2, algorithm="noisy-gradient", settings=setting).fit(
                X, Y, groups=PEOPLE
            )


@pytest.mark.parametrize(
    "algorithm", ["bolt-on", "ftrl", "localization", "purification", "recentred-perturbation"]
)
def test_algorithms_without_a_proof_refuse_groups(algorithm: str) -> None:
    delta = 0.0 if algorithm in ("localization", "purification") else 1e-6
    with pytest.raises((Incompatible, MissingBound)):
        model(rows_per_group=2, algorithm=algorithm, delta=delta).fit(X, Y, groups=PEOPLE)


def test_targets_and_searches_refuse_groups() -> None:
    inner = PrivateRidge(
        alpha=1.0, bounds=Bounds(features=(-1, 1), label=(-1, 1)), rows_per_group=2
    )
    with pytest.raises(Incompatible, match="single rows"):
        AccuracyFirst(inner, max_error=0.1).fit(X, X[:, 0])
    with pytest.raises(Incompatible, match="single rows"):
        PrivateSearch(model(rows_per_group=2), {"C": [1.0, 2.0]}).plan(2, 400)


def test_a_column_of_a_schema_says_whom_rows_belong_to(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        "[columns]\na = { range = [-1, 1] }\nb = { range = [-1, 1] }\n"
        "sick = { boolean = true }\nperson = { group = true, rows = 2 }\n"
    )
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.names("sick") == ["a", "b"]
    table = {"a": X[:, 0], "b": X[:, 1], "sick": Y == 1, "person": PEOPLE}
    by_column = PrivateLogisticRegression(
        epsilon=4.0, delta=0.0, schema=schema, target="sick", random_state=0
    ).fit(table)
    assert by_column.guarantee_.unit == "group"
    assert by_column.predict({"a": [0.5], "b": [0.0]}).shape == (1,)
    by_argument = model(rows_per_group=2, delta=0.0, bounds=schema.bounds_for("sick"))
    by_argument.fit(X, Y == 1, groups=PEOPLE)
    assert np.array_equal(by_column.coef_, by_argument.coef_)
    with pytest.raises(Incompatible, match="Leave groups out"):
        clone(by_column).fit(table, groups=PEOPLE)
    with pytest.raises(Incompatible, match="Leave rows_per_group out"):
        clone(by_column).set_params(rows_per_group=3).fit(table)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"group": True}, "rows is not set"),
        ({"group": False, "rows": 2}, "group must be true"),
        ({"group": True, "rows": 0}, "rows"),
        ({"group": True, "rows": 2, "missing": "blank"}, "no key 'missing'"),
    ],
)
def test_a_group_column_that_says_too_little_is_refused(facts: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Schema.from_dict({"columns": {"a": {"range": [0, 1]}, "person": facts}})


def test_only_one_column_says_whom_rows_belong_to_and_none_predicts_it() -> None:
    group = {"group": True, "rows": 2}
    with pytest.raises(InvalidParameter, match="Two columns"):
        Schema.from_dict({"columns": {"a": {"range": [0, 1]}, "b": group, "c": group}})
    with pytest.raises(InvalidParameter, match="cannot be predicted"):
        Schema.from_dict({"columns": {"a": {"range": [0, 1]}, "b": group}}).bounds_for("b")


def test_groups_are_routed_by_scikit_learn() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model(rows_per_group=2, delta=0.0, random_state=0).set_fit_request(groups=True)
        scores = cross_val_score(
            routed, X, Y, cv=GroupKFold(3), params={"groups": PEOPLE}, error_score="raise"
        )
    assert scores.shape == (3,)


def test_a_ledger_for_groups_takes_guarantees_for_groups_alone(tmp_path: Path) -> None:
    per_group = Ledger.create(
        tmp_path / "a.ledger", dataset="a", epsilon=9.0, delta=1e-5, unit="group"
    )
    per_row = Ledger.create(tmp_path / "b.ledger", dataset="b", epsilon=9.0, delta=1e-5)
    grouped = {"rows_per_group": 2, "random_state": None}
    model(**grouped, ledger=per_group).fit(X, Y, groups=PEOPLE)
    assert len(per_group.history()) == 1
    with pytest.raises(Incompatible, match="protects one group"):
        model(random_state=None, ledger=per_group).fit(X, Y)
    with pytest.raises(Incompatible, match="protects one row"):
        model(**grouped, ledger=per_row).fit(X, Y, groups=PEOPLE)
    strict = Ledger.create(
        tmp_path / "c.ledger",
        dataset="c",
        epsilon=9.0,
        delta=1e-5,
        unit="group",
        neighbours="replace-one",
    )
    with pytest.raises(Incompatible, match="replace-one"):
        model(**grouped, ledger=strict).fit(X, Y, groups=PEOPLE)


def test_every_estimator_takes_groups_or_refuses_them_in_words() -> None:
    for name in discreet.__all__:
        kind = getattr(discreet, name)
        if not (isinstance(kind, type) and hasattr(kind, "rows_per_group")):
            continue
        known: dict[str, Any] = {"label": (-1, 1)}
        labels: Any = X[:, 0]
        if any(word in name for word in ("Class", "SVC", "Logistic")):
            known, labels = {"classes": (0, 1)}, Y
        fitted = kind(bounds=Bounds(features=(-1, 1), **known), rows_per_group=2, epsilon=4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in ALONE:
                with pytest.raises(Incompatible, match="single rows"):
                    fitted.fit(X, labels, groups=PEOPLE)
                continue
            fitted.fit(X, labels, groups=PEOPLE)
        assert fitted.guarantee_.unit == "group", name


def test_a_column_of_people_is_read_whole_and_masked_cells_are_nobody() -> None:
    schema = Schema({"age": Range(0, 1), "who": Person(rows=2)})
    large = [2**60, 2**60 + 1, None]  # as floats the first two are one person
    masked = np.ma.array([1, 2, 3], mask=[0, 1, 0])
    assert schema.identifiers(pa.table({"age": [0, 0, 0], "who": large}))[:2] == list(
        map(str, large[:2])
    )
    assert schema.identifiers({"age": [0, 0, 0], "who": masked}) == ["1", None, "3"]


def test_a_fit_by_another_schema_knows_nothing_of_what_was_learned_before() -> None:
    table = {"age": X[:, 0], "sick": Y > 0, "who": PEOPLE}
    learned = Schema({"age": Range("private", "private"), "sick": Boolean()})
    model = PrivateLogisticRegression(schema=learned, target="sick", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        model.fit(table)
        people = Schema({"age": Range(-1, 1), "sick": Boolean(), "who": Person(rows=2)})
        assert model.set_params(schema=people).fit(table).guarantee_.unit == "group"
    assert not hasattr(model, "schema_")


def test_replaced_groups_may_all_count_in_full() -> None:
    """The public size is the number of groups; sums have room for all rows that count."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(6000, 4))
    cost = signs @ [0.5, -0.3, 0.1, 0.05]
    model = PrivateRidge(
        epsilon=1e6, bounds=Bounds(features=(-1, 1), label=(-1, 1)), rows_per_group=100,
        neighbours="replace-one", algorithm="sufficient-statistics", random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a large epsilon
        model.fit(signs, cost, groups=np.repeat(np.arange(60), 100))
    assert model.n_rows_ == 60
    assert np.abs(model.coef_ - [0.5, -0.3, 0.1, 0.05]).max() < 0.01


def test_blanking_a_group_says_nothing_of_one_that_has_more_rows() -> None:
    """The size that a plan takes differs between such neighbours, and the model shows it."""
    more = np.append(PEOPLE[:-4], [0, 0, 0, 99])
    sizes = [Grouping(3).size(codes, "zero-out") for codes in (PEOPLE, more)]
    assert sizes[0] != sizes[1]
    plan = PrivateLogisticRegression(bounds=BOUNDS, rows_per_group=3).plan(2, 400)
    assert plan.guarantee.neighbours == "zero-out"
    assert plan.guarantee.under("replace-one") is None
    model = PrivateLogisticRegression(
        bounds=BOUNDS, rows_per_group=3, neighbours="add-remove", n_rows=400
    )
    assert model.plan(2).guarantee.under("replace-one") is not None
