"""Weights of classes: declared, honoured by every algorithm, and never dearer than none."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Boolean,
    Bounds,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateSGDClassifier,
    PrivateSparseLogisticRegression,
    Range,
    Schema,
    load,
)
from discreet.algorithms import ALGORITHMS
from discreet.data import ArraySource
from discreet.errors import DiscreetError, InvalidParameter
from discreet.estimators.shared.classes import row_weights
from discreet.losses import Softmax

RANDOM = np.random.default_rng(3)
N = 1500
X = RANDOM.uniform(-1, 1, (N, 2))
Y = np.where(X[:, 0] + 0.7 * RANDOM.normal(size=N) > 0.9, "yes", "no")
BOUNDS = Bounds(features=(-1, 1), row_norm=1.0, classes=("no", "yes"))
CLASSIFIERS = [
    PrivateLogisticRegression,
    PrivateLinearSVC,
    PrivateSGDClassifier,
    PrivateSparseLogisticRegression,
]


def fitted(kind: Any = PrivateLogisticRegression, y: Any = Y, **settings: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**({"epsilon": 3.0, "bounds": BOUNDS, "random_state": 0} | settings))
        return model.fit(X, y)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_equal_weights_change_nothing_and_a_plan_costs_the_same(kind):
    plain, equal = fitted(kind), fitted(kind, class_weight={"no": 3, "yes": 3})
    assert (plain.coef_ == equal.coef_).all()
    heavy = fitted(kind, class_weight={"no": 1, "yes": 9})
    assert heavy.guarantee_ == plain.guarantee_
    assert np.mean(heavy.predict(X) == "yes") > np.mean(plain.predict(X) == "yes") + 0.05


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_algorithm_lets_rows_of_almost_no_weight_count_for_almost_nothing(algorithm):
    few = slice(0, 300)
    options = {"bounds": BOUNDS, "random_state": 0, "algorithm": algorithm, "epsilon": 20.0}
    light = PrivateLogisticRegression(class_weight={"no": 1, "yes": 1e-9}, **options)
    blank = PrivateLogisticRegression(missing="blank", **options)
    plain = PrivateLogisticRegression(**options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain.fit(X[few], Y[few])
    except DiscreetError:
        pytest.skip("not for this problem")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        light.fit(X[few], Y[few])
        blank.fit(X[few], [label if label == "no" else None for label in Y[few]])
    moved = np.abs(plain.coef_ - light.coef_).max()
    assert np.abs(light.coef_ - blank.coef_).max() <= 0.02 * moved + 1e-6


def test_no_weighted_row_is_steeper_or_more_curved_than_the_plan_counts_on():
    # Over random rows beyond their bounds, labels and weights: a finite-difference oracle.
    model = PrivateLogisticRegression(bounds=BOUNDS, class_weight={"no": 2, "yes": 50})
    problem = model._public_problem(2, N)[0]
    model.classes_ = np.array(["no", "yes"])
    index = (Y == "yes").astype(np.int64)
    far = ArraySource(5 * X, index, model._weigh()(index))
    rows = problem.bounding.apply(far)
    assert rows.weight.max() == 1.0
    assert set(np.round(rows.weight, 6)) == {0.04, 1.0}
    w, d, h = RANDOM.normal(size=3) * 4, RANDOM.normal(size=3), 1e-4
    d /= np.linalg.norm(d)

    def value(at: Any) -> Any:
        return rows.weight * problem.loss.value(rows.X @ at, rows.y)

    slopes = (value(w + h * d) - value(w - h * d)) / (2 * h)
    bends = (value(w + h * d) - 2 * value(w) + value(w - h * d)) / h**2
    assert np.abs(slopes).max() <= problem.terms.lipschitz
    assert bends.max() <= problem.terms.smoothness + 1e-5


def test_weights_beyond_one_would_be_cut_before_any_sum():
    problem = PrivateLogisticRegression(bounds=BOUNDS)._public_problem(2, N)[0]
    rows = problem.bounding.apply(ArraySource(X, np.zeros(N, dtype=int), np.full(N, 50.0)))
    assert rows.weight.max() == 1.0


def test_three_classes_and_one_against_the_rest():
    y = np.where(X[:, 1] > 0.5, "maybe", Y)
    bounds = Bounds(features=(-1, 1), classes=("no", "yes", "maybe"))
    weights = {"no": 1, "yes": 6, "maybe": 1}
    for loss in ("softmax", "hinge"):
        options = {"loss": loss, "bounds": bounds, "steps": 20, "sampler": "full"}
        if loss == "softmax":
            options["loss"] = Softmax(n_classes=3)
        plain = fitted(PrivateSGDClassifier, y, **options)
        heavy = fitted(PrivateSGDClassifier, y, **options, class_weight=weights)
        assert np.mean(heavy.predict(X) == "yes") > np.mean(plain.predict(X) == "yes")


def test_models_with_weights_are_saved_and_refitted(tmp_path):
    table = pd.DataFrame({"a": X[:, 0], "sick": Y == "yes"})
    schema = Schema({"a": Range(-1, 1), "sick": Boolean()})
    model = PrivateLogisticRegression(
        schema=schema, target="sick", class_weight={False: 1, True: 8}, random_state=0
    ).fit(table)
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.predict(table) == model.predict(table)).all()
    assert (again.set_params(random_state=0).fit(table).coef_ == model.coef_).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("balanced", "counts the classes.*Declare weights"),
        ({"no": 1}, "every class"),
        ({"no": 1, "yes": 2, "never": 3}, "no other"),
        ({"no": 1, "yes": 0}, "positive"),
        ({"no": 1, "yes": "much"}, "class_weight"),
        ([1, 2], "mapping"),
    ],
)
def test_what_is_no_declared_weight_is_refused(given, said):
    model = PrivateLogisticRegression(bounds=BOUNDS, class_weight=given)
    with pytest.raises(InvalidParameter, match=said):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_a_missing_label_has_some_weight():
    found = row_weights({"a": 1, "b": 4}, np.array(["a", "b"]), np.array([0, -1]))
    assert found is not None
    assert found.tolist() == [0.25, 1.0]
