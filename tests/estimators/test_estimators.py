"""What a user of the estimators relies on."""

from __future__ import annotations

import contextlib
import json
import pickle
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet
import discreet.algorithms
from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateElasticNet,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRidge,
    PrivateSparseRegression,
    UndeclaredBounds,
    load,
)
from discreet.algorithms import BoltOn, NoisyGradient, ObjectivePerturbation, OutputPerturbation
from discreet.defaults import algorithm_names
from discreet.errors import (
    BudgetTooSmall,
    DiscreetError,
    Incompatible,
    InvalidData,
    InvalidParameter,
    MissingBound,
    WeakBudget,
)
from discreet.regularizers import L1
from discreet.report import card_dict
from discreet.sets import L2Ball

BINARY = Bounds(row_norm=1.0, classes=(0, 1))
REAL = Bounds(row_norm=1.0, label=(-1.0, 1.0))
CLASSIFIERS = [PrivateLogisticRegression, PrivateLinearSVC]
REGRESSORS = [PrivateRidge, PrivateHuberRegressor, PrivateElasticNet]
EVERY = pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)


def data(kind: type, n: int = 400, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(n, p))
    y = X[:, 0] + 0.1 * rng.normal(size=n)
    return (X, (y > 0).astype(int)) if kind in CLASSIFIERS else (X, y)


def make(kind: type, **settings: Any) -> Any:
    bounds = BINARY if kind in CLASSIFIERS else REAL
    return kind(**({"epsilon": 4.0, "bounds": bounds, "random_state": 0} | settings))


# Learning.


@EVERY
def test_it_learns(kind: type) -> None:
    X, y = data(kind, n=4000)
    settings = {"alpha": 1e-4} if kind is PrivateElasticNet else {}
    assert make(kind, **settings).fit(X, y).score(X, y) > 0.7


@EVERY
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_guarantee_is_the_one_asked_for(kind: type, neighbours: str, delta: float) -> None:
    X, y = data(kind)
    model = make(kind, neighbours=neighbours, delta=delta, n_rows=400, random_state=None)
    guarantee = model.fit(X, y).guarantee_
    assert guarantee.epsilon == 4.0
    assert guarantee.delta in (0.0, delta)  # pure noise where it is smaller
    assert guarantee.neighbours == neighbours
    assert guarantee.secure
    assert guarantee.event.delta(4.0) <= guarantee.delta * (1 + 1e-9) + 1e-15


@EVERY
@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e9])
def test_next_to_no_privacy_is_fitted_or_refused_in_words(kind: type, epsilon: float) -> None:
    """exp(epsilon) overflows from 710 on."""
    X, y = data(kind)
    model = make(kind, epsilon=epsilon, delta=1e-6).fit(X, y)
    assert model.guarantee_.event.delta(epsilon) <= 1e-6
    said = ""
    try:
        make(kind, epsilon=epsilon, delta=0.0).fit(X, y)
    except InvalidParameter as refusal:
        said = str(refusal)
    assert not said or (epsilon > 1e6 and "noise would round to zero" in said)


@EVERY
@pytest.mark.filterwarnings("default::discreet.errors.WeakBudget")
def test_a_weak_budget_is_warned_of_whatever_the_data(kind: type) -> None:
    X, y = np.ones((2000, 2)), np.arange(2000) % 2
    weak = {"delta": [(1.0, 1e-3), (1.0, 0.5)], "epsilon": [(60.0, 1e-6)]}
    for name, budgets in weak.items():
        for epsilon, delta in budgets:
            with pytest.warns(WeakBudget, match=name):
                make(kind, epsilon=epsilon, delta=delta).plan(2, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(kind, epsilon=1.0, delta=1e-6).fit(X, y)


@EVERY
def test_an_intercept_is_fitted_or_not(kind: type) -> None:
    with pytest.raises(InvalidParameter, match="fit_intercept must be True or False"):
        make(kind, fit_intercept="no").plan(2, 100)


BEYOND = [(1e-300, 0.0), (1e-300, 1e-6), (1e300, 0.0), (1e300, 1e-6), (1.0, 1e-300)]
EXTREME = [(1e-29, 0.0), (1e-12, 0.0), (1e-12, 1e-6), (1e12, 0.0), (1e12, 1e-6), (1.0, 1 - 1e-12)]


@EVERY
def test_an_absurd_budget_is_planned_or_refused_in_words(kind: type) -> None:
    for epsilon, delta in BEYOND:
        with pytest.raises(InvalidParameter, match=r"epsilon must lie|pass delta=0"):
            make(kind, epsilon=epsilon, delta=delta).plan(3, 60)
    for epsilon, delta in EXTREME:
        said, guarantee = "", None
        try:
            guarantee = make(kind, epsilon=epsilon, delta=delta).plan(3, 60).guarantee
        except (BudgetTooSmall, InvalidParameter) as refusal:
            said = str(refusal)
        if guarantee is None:
            assert "er epsilon" in said or "epsilon must lie" in said
        else:
            assert (guarantee.epsilon, guarantee.delta) == (epsilon, delta)
            assert guarantee.event.delta(epsilon) <= delta * (1 + 1e-9) + 1e-15


@EVERY
@pytest.mark.parametrize("algorithm", ["auto", *discreet.algorithms.ALGORITHMS])
def test_a_refusal_quotes_no_budget_but_the_one_passed(kind: type, algorithm: str) -> None:
    """Budgets are split inside, between classes, stages and steps."""
    known = {0.0, 1e-30, 1e-290, 1e12, 1.0, 64.0, 1024.0}  # limits that the messages give
    for epsilon, delta in ((1e-30, 0.0), (1e-29, 1e-290), (1.0, 1e-290), (1e-20, 1e-100)):
        model = make(kind, epsilon=epsilon, delta=delta, algorithm=algorithm)
        if kind in CLASSIFIERS:
            model.set_params(bounds=Bounds(row_norm=1.0, classes=(0, 1, 2)))
        said = ""
        try:
            model.plan(3, 60).guarantee  # noqa: B018
        except (BudgetTooSmall, InvalidParameter) as refusal:
            said = str(refusal)
        except Incompatible:
            pass  # does not go together at any budget
        numbers = re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?", said)
        assert {float(n) for n in numbers} <= known | {epsilon, delta}, said


def test_a_fit_says_that_a_budget_is_too_small_to_be_split() -> None:
    X, y = load_iris(return_X_y=True)
    bounds = Bounds(features=(0, 8), classes=(0, 1, 2))
    for budget, blamed in (((1e-30, 1e-6), "epsilon"), ((1.0, 1e-290), "delta")):
        model = PrivateLinearSVC(epsilon=budget[0], delta=budget[1], bounds=bounds)
        with pytest.raises(BudgetTooSmall, match=f"{blamed} is too small to be split"):
            model.fit(X, y)


def test_multinomial_and_one_against_the_rest() -> None:
    X, y = load_iris(return_X_y=True)
    bounds = Bounds(features=[(4, 8), (2, 5), (1, 7), (0, 3)], classes=(0, 1, 2))
    for kind, floor in ((PrivateLogisticRegression, 0.8), (PrivateLinearSVC, 0.5)):
        model = kind(epsilon=50.0, bounds=bounds, random_state=0).fit(X, y)
        assert model.coef_.shape == (3, 4)
        assert model.guarantee_.epsilon == 50.0
        assert model.guarantee_.event.delta(50.0) <= 1e-6 * (1 + 1e-9)
        assert model.score(X, y) > floor
    assert np.allclose(
        PrivateLogisticRegression(bounds=bounds).fit(X, y).predict_proba(X).sum(axis=1), 1.0
    )


def test_coefficients_come_back_in_the_users_units() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(1900, 2000, 20_000), rng.uniform(0, 1e-3, 20_000)])
    y = 5.0 * (X[:, 0] - 1950) + 2e5 * X[:, 1]
    bounds = Bounds(features=[(1900, 2000), (0, 1e-3)], label=(-300.0, 500.0))
    model = PrivateRidge(epsilon=50.0, bounds=bounds, random_state=0).fit(X, y)
    assert model.coef_[0] == pytest.approx(5.0, rel=0.1)
    assert model.coef_[1] == pytest.approx(2e5, rel=0.1)


def test_string_classes_and_probabilities() -> None:
    X, y = data(PrivateLogisticRegression)
    names = np.where(y == 1, "sick", "well")
    bounds = Bounds(row_norm=1.0, classes=("well", "sick"))
    model = PrivateLogisticRegression(epsilon=8.0, bounds=bounds, random_state=0).fit(X, names)
    assert list(model.classes_) == ["sick", "well"]
    assert set(model.predict(X)) <= {"sick", "well"}
    assert (model.predict_proba(X).argmax(1) == (model.predict(X) == "well")).all()


def test_an_unlikely_class_keeps_its_chance() -> None:
    model = make(PrivateLogisticRegression).fit(*data(PrivateLogisticRegression))
    model.coef_, model.intercept_ = np.array([[100.0, 0.0, 0.0]]), np.zeros(1)
    rows = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    expected = np.array([[-100.0, 0.0], [0.0, -100.0]])
    assert model.predict_log_proba(rows) == pytest.approx(expected, abs=1e-12)


def test_a_class_nobody_has_still_gets_a_score() -> None:
    X, y = data(PrivateLogisticRegression)
    bounds = Bounds(row_norm=1.0, classes=(0, 1, 2))
    assert PrivateLogisticRegression(bounds=bounds).fit(X, y).coef_.shape == (3, 3)


def test_no_intercept() -> None:
    for kind in (PrivateLogisticRegression, PrivateRidge):
        assert np.all(make(kind, fit_intercept=False).fit(*data(kind)).intercept_ == 0.0)


# Input kinds.


@EVERY
def test_frames_and_sparse_input_give_the_same_model(kind: type) -> None:
    X, y = data(kind)
    plain = make(kind).fit(X, y)
    names = ["age", "dose", "weight"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make(kind).fit(frame, y)
        assert list(model.feature_names_in_) == names
        assert np.array_equal(model.coef_, plain.coef_)
        assert np.allclose(model.predict(frame), plain.predict(X), rtol=1e-12)
    for matrix in (sp.csr_matrix(X), sp.csc_array(X)):
        model = make(kind).fit(matrix, y)
        assert np.allclose(model.coef_, plain.coef_, atol=1e-6)
        assert np.allclose(model.predict(matrix), plain.predict(X), atol=1e-5)


def test_mismatched_feature_names_are_refused() -> None:
    X, y = data(PrivateRidge)
    model = make(PrivateRidge).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(X, columns=["a", "b", "d"]))


def test_pipelines_grid_search_clone_and_cross_validation() -> None:
    X, y = data(PrivateLogisticRegression)
    model = make(PrivateLogisticRegression)
    pipe = make_pipeline(FunctionTransformer(np.tanh), model).fit(X, y)
    assert pipe[-1].guarantee_.epsilon == 4.0
    search = GridSearchCV(model, {"epsilon": [1.0, 8.0]}, cv=2).fit(X, y)
    assert search.best_params_["epsilon"] in (1.0, 8.0)
    assert clone(model).get_params() == model.get_params()
    assert len(cross_val_score(model, X, y, cv=3)) == 3


# Bounds.


@EVERY
def test_undeclared_bounds_warn_without_looking_at_the_data(kind: type) -> None:
    X, y = data(kind)
    texts = []
    for scale in (1.0, 1e6):
        with pytest.warns(UndeclaredBounds) as caught:
            kind(random_state=0).fit(X * scale, y)
        texts.append([str(w.message) for w in caught])
    assert texts[0] == texts[1]
    assert any("row_norm" in text for text in texts[0])


def test_the_warning_shows_how_to_declare_what_is_missing() -> None:
    for bounds, example in (
        (None, r"Bounds\(features=\[.*\], label=\(0, 10\)\)\.$"),
        (Bounds(features=(-1, 1)), r"Bounds\(label=\(0, 10\)\)\.$"),
        (Bounds(label=(-1, 1)), r"Bounds\(features=\[\(0, 120\), \(40, 200\)\]\)\.$"),
    ):
        with pytest.warns(UndeclaredBounds, match=example):
            PrivateRidge(bounds=bounds).plan(2, 100)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"constraint": "l2"}, r"constraint must be a set of discreet\.sets.* Got str"),
        ({"regularizer": "l1"}, r"regularizer must be a penalty of .* Got str"),
    ],
)
def test_penalties_by_name_are_refused_with_what_to_pass(
    setting: dict[str, Any], message: str
) -> None:
    for kind in (PrivateLogisticRegression, PrivateRidge):
        model = kind(bounds=Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)), **setting)
        with pytest.raises(InvalidParameter, match=message):
            model.plan(2, 100)


def test_the_l1_share_lies_between_0_and_1() -> None:
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    for share in (0.0, 1.0):
        PrivateElasticNet(l1_ratio=share, bounds=bounds).plan(2, 100)
    with pytest.raises(InvalidParameter, match="must lie between 0 and 1"):
        PrivateElasticNet(l1_ratio=2.0, bounds=bounds).plan(2, 100)


def test_warnings_point_at_the_line_that_called() -> None:
    X, y = data(PrivateLogisticRegression, n=50)
    for model in (
        PrivateLogisticRegression(),
        PrivateRidge(),
        PrivateSparseRegression(),
        PrivateMedian(),
        AccuracyFirst(PrivateLogisticRegression(), max_epsilon=100.0),
    ):
        with pytest.warns(UndeclaredBounds) as caught:
            model.set_params(random_state=0).fit(X, y)
        assert {w.filename for w in caught} == {__file__}


def test_undeclared_classes_are_an_assumption() -> None:
    X, y = data(PrivateLogisticRegression)
    with pytest.warns(UndeclaredBounds, match="classes"):
        model = PrivateLogisticRegression(bounds={"row_norm": 1.0}).fit(X, y)
    assert "the set of labels is public" in model.guarantee_.assumptions
    declared = make(PrivateLogisticRegression).fit(X, y)
    assert "the set of labels is public" not in declared.guarantee_.assumptions


@EVERY
def test_one_wild_row_changes_little(kind: type) -> None:
    # With the same noise the fits of neighbours differ by at most the sensitivity of the solve.
    X, y = data(kind)
    wild, label = X.copy(), y.copy()
    wild[0] = 1e12
    label[0] = 0 if kind in CLASSIFIERS else 1e12
    by = "objective-perturbation"
    calm = make(kind, algorithm=by).fit(X, y)
    moved = make(kind, algorithm=by).fit(wild, label)
    plan = calm.plan(3, 400)
    reach = 2 * plan.problem.terms.lipschitz / plan.strength
    gap = np.hypot(
        np.linalg.norm(calm.coef_ - moved.coef_), np.linalg.norm(calm.intercept_ - moved.intercept_)
    )
    assert gap <= 1.01 * reach
    assert gap > 0


@EVERY
def test_plan_needs_no_data(kind: type) -> None:
    plan = make(kind).plan(n_features=3, n_rows=100_000)
    assert plan.guarantee.epsilon == 4.0
    assert plan.facts()["algorithm"] in algorithm_names()


def test_noise_decides_how_logistic_regression_is_fitted() -> None:
    few, many = (make(PrivateLogisticRegression).plan(3, n).facts() for n in (300, 300_000))
    assert few["algorithm"] == "noisy-gradient"
    assert many["algorithm"] == "recentred-perturbation"
    # So does a ridge, but for one that pulls harder than the noise.
    for C, name in ((1.0, "noisy-gradient"), (0.01, "objective-perturbation")):
        assert make(PrivateLogisticRegression, C=C).plan(3, 300).algorithm == name


def test_algorithms_by_name_and_by_instance() -> None:
    X, y = data(PrivateLogisticRegression)
    for algorithm, name in (
        ("output-perturbation", "output-perturbation"),
        ("bolt-on", "bolt-on"),
        (BoltOn(passes=2), "bolt-on"),
        (OutputPerturbation(strength=10.0), "output-perturbation"),
        (ObjectivePerturbation(mode="rkw23"), "objective-perturbation"),
    ):
        assert make(PrivateLogisticRegression, algorithm=algorithm).fit(X, y).algorithm_ == name


def test_regularizer_and_constraint() -> None:
    X, y = data(PrivateLogisticRegression)
    small = make(PrivateLogisticRegression, constraint=L2Ball(radius=0.1)).fit(X, y)
    norm = np.hypot(np.linalg.norm(small.coef_), np.linalg.norm(small.intercept_) / 0.5)
    assert norm <= 0.1 * (1 + 1e-9)
    none = make(PrivateLogisticRegression, regularizer=L1(strength=1e4)).fit(X, y)
    assert np.abs(none.coef_).max() < 0.01


def test_C_and_alpha_shrink() -> None:
    for kind, loose, tight in (
        (PrivateLogisticRegression, {"C": 1e3}, {"C": 1e-4}),
        (PrivateRidge, {"alpha": 1e-3}, {"alpha": 1e4}),
    ):
        X, y = data(kind)
        big, small = (make(kind, **s).fit(X, y).coef_ for s in (loose, tight))
        assert np.linalg.norm(small) < 0.1 * np.linalg.norm(big)


# Saving.


@EVERY
def test_json_round_trip(kind: type, tmp_path: Path) -> None:
    X, y = data(kind)
    model = make(kind).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert again.guarantee_ == model.guarantee_
    assert again.get_params() == model.get_params() | {"random_state": None}


def test_json_keeps_parts(tmp_path: Path) -> None:
    X, y = data(PrivateRidge)
    model = make(
        PrivateRidge,
        constraint=L2Ball(radius=2.0),
        algorithm=ObjectivePerturbation(strength=3.0),
        bounds=Bounds(features=[(-1, 1)] * 3, label=(-1, 1)),
    ).fit(X, y)
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again.get_params() == model.get_params() | {"random_state": None}


def test_nothing_but_releasable_values_is_stored(tmp_path: Path) -> None:
    X, y = data(PrivateLogisticRegression)
    model = make(PrivateLogisticRegression, random_state=987654321).fit(X, y)
    text = json.dumps(model.to_dict())
    assert "987654321" not in text
    assert set(vars(model)) - set(model.get_params()) == {
        "coef_",
        "intercept_",
        "classes_",
        "n_features_in_",
        "n_rows_",
        "guarantee_",
        "algorithm_",
        "settings_",
        "bounds_",
    }
    assert b"987654321" not in pickle.dumps(model)
    again = pickle.loads(pickle.dumps(model))
    assert again.random_state is None
    assert np.array_equal(again.coef_, model.coef_)


def test_an_unfitted_model_keeps_its_seed_when_pickled() -> None:
    assert pickle.loads(pickle.dumps(PrivateRidge(random_state=3))).random_state == 3


# Bad input: an error before anything is released, and never a data value in it.

SECRET = 123456.789


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(kind: type, bad: float) -> None:
    X, y = data(kind)
    X[3, 1] = bad
    X[4, 1] = SECRET
    with pytest.raises(ValueError, match=r"(NaN|infinity)") as caught:
        make(kind).fit(X, y)
    assert "123456" not in str(caught.value)


@EVERY
@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": -1e-9}, "delta"),
        ({"neighbours": "bounded"}, "neighbours"),
        ({"algorithm": "sgd"}, "algorithm"),
        ({"algorithm": 7}, "algorithm"),
        ({"bounds": {"row_norm": 0.0}}, "row_norm"),
        ({"bounds": {"row_norm": 1e-51}}, "row_norm must lie between"),
        ({"bounds": {"row_norm": 1e100}}, "row_norm must lie between"),
        ({"bounds": {"norm": 1.0}}, "norm"),
        ({"bounds": 3.0}, "bounds"),
        ({"intercept_scaling": 0.0}, "intercept_scaling"),
        ({"norm_guess": -1.0}, "norm_guess"),
        ({"norm_guess": 1e-200}, "norm_guess must lie between"),
    ],
)
def test_absurd_settings(kind: type, settings: dict[str, Any], match: str) -> None:
    X, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeclaredBounds)
        with pytest.raises(DiscreetError, match=match):
            make(kind, **settings).fit(X, y)


@EVERY
@pytest.mark.parametrize("row_norm", [1e-50, 1e50])
def test_bounds_at_their_limits_are_fitted_or_refused_in_words(kind: type, row_norm: float) -> None:
    X, y = data(kind)
    model = make(kind)
    model.set_params(bounds=replace(model.bounds, row_norm=row_norm))
    for delta in (0.0, 1e-6):
        with contextlib.suppress(DiscreetError):
            assert np.isfinite(model.set_params(delta=delta).fit(X, y).coef_).all()


@EVERY
def test_sizes_beyond_memory_are_refused_by_name(kind: type) -> None:
    with pytest.raises(InvalidParameter, match="n_features must be at most 100,000,000"):
        make(kind).plan(10**9, 100)
    with pytest.raises(InvalidParameter, match="n_rows must be at most 1,000,000,000,000"):
        make(kind).plan(3, 10**13)


@EVERY
def test_unknown_arguments_raise(kind: type) -> None:
    with pytest.raises(TypeError, match="epsilonn"):
        kind(epsilonn=0.01)


@EVERY
def test_shapes(kind: type) -> None:
    X, y = data(kind)
    for rows, labels in ((X[:0], y[:0]), (X, y[:-1]), (X[:, :0], y), (X[0], y[0])):
        with pytest.raises(ValueError):
            make(kind).fit(rows, labels)
    if kind is not PrivateRidge:  # which takes several labels for each row
        with pytest.raises(ValueError):
            make(kind).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="features"):
        make(kind).fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError):
        make(kind).fit(np.full(X.shape, "secret"), y)


def test_classes_that_were_not_declared() -> None:
    X, y = data(PrivateLogisticRegression)
    labels = y.astype(float)
    labels[0] = SECRET
    with pytest.raises((InvalidData, ValueError)) as caught:
        make(PrivateLogisticRegression).fit(X, labels)
    assert "123456" not in str(caught.value)
    strings = np.where(y == 1, "a", "b").astype(object)
    strings[0] = "secret-code"
    with pytest.raises(InvalidData) as caught:
        PrivateLogisticRegression(bounds=Bounds(row_norm=1.0, classes=("a", "b"))).fit(X, strings)
    assert "secret" not in str(caught.value)


def test_one_class_only() -> None:
    X, _ = data(PrivateLogisticRegression)
    with pytest.warns(UndeclaredBounds), pytest.raises(InvalidData, match="class"):
        PrivateLogisticRegression(bounds={"row_norm": 1.0}).fit(X, np.zeros(len(X)))
    # With declared classes the same data is an ordinary fit.
    make(PrivateLogisticRegression).fit(X, np.zeros(len(X)))


def test_huge_values_are_clipped() -> None:
    for kind in (PrivateLogisticRegression, PrivateRidge):
        X, y = data(kind)
        X[0] = 1e300
        assert np.isfinite(make(kind).fit(X, y).coef_).all()


def test_one_row() -> None:
    model = make(PrivateRidge).fit([[0.5, 0.5, 0.5]], [0.3])
    assert np.isfinite(model.coef_).all()


def test_a_secret_size_must_be_declared_where_it_is_used() -> None:
    X, y = data(PrivateElasticNet)
    with pytest.raises(MissingBound, match="n_rows"):
        make(PrivateElasticNet, neighbours="add-remove").fit(X, y)


def test_every_public_name_is_exported() -> None:
    for name in discreet.__all__:
        assert hasattr(discreet, name)


def test_many_features_and_classes() -> None:
    X, y = make_classification(300, 40, n_informative=10, n_classes=4, random_state=0)
    bounds = Bounds(row_norm=5.0, classes=range(4))
    model = PrivateLogisticRegression(epsilon=100.0, bounds=bounds, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.4


def test_an_algorithm_is_an_instance_not_its_class() -> None:
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    bounds = Bounds(features=(0, 1), classes=(0, 1))
    with pytest.raises(InvalidParameter, match="instance of one"):
        PrivateLogisticRegression(algorithm=NoisyGradient, bounds=bounds).fit(X, y)


def test_rows_in_the_place_of_a_number_are_not_quoted() -> None:
    X = np.array([[0.123456, 0.654321]])
    with pytest.raises(InvalidParameter, match=r"Got ndarray instead\.$"):
        PrivateRidge(bounds=Bounds(features=(0, 1), label=(0, 1))).plan(X)


def test_no_ridge_may_be_asked_for() -> None:
    """The least strength that the proof needs is added all the same."""
    X, y = np.linspace(0, 1, 40).reshape(20, 2), np.linspace(0, 1, 20)
    bounds = Bounds(features=(0, 1), label=(0, 1))
    for alpha in (0.0, 1e-9):
        model = PrivateRidge(
            alpha=alpha, bounds=bounds, algorithm="objective-perturbation", random_state=0
        )
        assert np.isfinite(model.fit(X, y).coef_).all()


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateRidge])
def test_new_rows_are_cut_like_those_of_the_fit(kind: Any, tmp_path: Path) -> None:
    X, y = data(kind)
    bounds = {"features": (-1.0, 1.0), "label": (-1.0, 1.0), "classes": (0, 1)}
    model = kind(bounds=bounds).fit(X, y)
    far = np.array([[2000.0, 0.3, -1e300], [1.0, 0.3, -1.0], [0.2, 0.3, 0.4]])
    scores = model.decision_function if hasattr(model, "classes_") else model.predict
    first, second, third = scores(far)
    assert first == second
    assert third == pytest.approx((far[2] @ np.ravel(model.coef_) + model.intercept_).item())
    # What is set or changed later is not what the model was fitted with.
    bounds["features"] = (-50.0, 50.0)
    model.set_params(bounds=None).save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    for one in (model, again):
        assert one.bounds_.features == (-1.0, 1.0)
        assert card_dict(one)["model"]["bounds"]["features"] == (-1.0, 1.0)
        assert (one.predict(far) == model.predict(far)).all()
    # Rows are scaled down too where a norm was declared.
    short = kind(bounds=Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1))).fit(X, y)
    row = np.array([[3.0, 0.0, 4.0]])
    np.testing.assert_allclose(short.predict(row), short.predict(row / 5.0))
    np.testing.assert_allclose(short.predict(sp.csr_array(row)), short.predict(row))
