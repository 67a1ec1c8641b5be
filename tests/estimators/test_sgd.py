"""Estimators fitted by noisy gradient steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from discreet import (
    Bounds,
    PrivateGeometricMedian,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
    PrivateRidge,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
    load,
)
from discreet.algorithms import FTRL, MirrorDescent, NoisyGradient, NoisyNewton
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import LOSSES, Hinge, Huber, Logistic, Squared

BINARY = Bounds(row_norm=1.0, classes=(0, 1))
REAL = Bounds(row_norm=1.0, label=(-1.0, 1.0))
CLASS_LOSSES = sorted(k for k, v in LOSSES.items() if v.target in ("sign", "index"))
REAL_LOSSES = sorted(k for k, v in LOSSES.items() if v.target == "real")


def binary(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_every_loss_for_classes_learns(loss: str) -> None:
    X, y = binary()
    model = PrivateSGDClassifier(
        loss=loss, epsilon=2.0, bounds=BINARY, steps=100, random_state=0
    ).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.guarantee_.epsilon == 2.0
    assert model.algorithm_ == "noisy-gradient"


@pytest.mark.parametrize("loss", REAL_LOSSES)
def test_every_loss_for_numbers_learns(loss: str) -> None:
    X, _ = binary()
    y = 0.8 * X[:, 0]
    model = PrivateSGDRegressor(loss=loss, epsilon=2.0, bounds=REAL, steps=200, random_state=0).fit(
        X, y
    )
    assert np.abs(model.predict(X) - y).mean() < 0.5 * np.abs(y).mean()


@pytest.mark.parametrize(
    ("sampler", "batch", "cap"),
    [
        ("full", None, None),
        ("poisson", 600, None),
        ("poisson", 600, 700),
        ("fixed-size", 600, None),
    ],
)
def test_samplers_are_reachable(sampler: str, batch: int | None, cap: int | None) -> None:
    X, y = binary()
    model = PrivateSGDClassifier(
        sampler=sampler, batch=batch, cap=cap, steps=60, epsilon=2.0, bounds=BINARY, random_state=0
    ).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    assert getattr(model.guarantee_.event, "cap", None) == cap


def test_several_classes_jointly_and_one_against_the_rest() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 4000)
    X = np.eye(3)[y] * 0.9 + 0.03 * rng.normal(size=(4000, 3))
    bounds = Bounds(row_norm=1.0, classes=(0, 1, 2))
    for loss in ("softmax", "hinge"):
        model = PrivateSGDClassifier(
            loss=loss, bounds=bounds, steps=150, epsilon=3.0, random_state=0
        ).fit(X, y)
        assert model.coef_.shape == (3, 3)
        assert (model.predict(X) == y).mean() > 0.9
        assert model.guarantee_.event.delta(3.0) <= 1e-6 * (1 + 1e-6)


def test_hinge_takes_noisy_gradient_and_its_smooth_form_does_not() -> None:
    for loss, expected in (
        ("hinge", "noisy-gradient"),
        ("huberised-hinge", "objective-perturbation"),
    ):
        model = PrivateLinearSVC(loss=loss, bounds=BINARY)
        assert model.plan(3, 5000).facts()["algorithm"] == expected
    X, y = binary()
    fitted = PrivateLinearSVC(loss="hinge", epsilon=2.0, bounds=BINARY, random_state=0).fit(X, y)
    assert (fitted.predict(X) == y).mean() > 0.9
    with pytest.raises(InvalidParameter, match="loss"):
        PrivateLinearSVC(loss="squared", bounds=BINARY).plan(3, 100)


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateRidge])
def test_noisy_gradient_by_name_on_other_estimators(kind: type) -> None:
    X, y = binary()
    bounds = BINARY if kind is PrivateLogisticRegression else REAL
    model = kind(algorithm="noisy-gradient", epsilon=2.0, bounds=bounds, random_state=0).fit(X, y)
    assert model.algorithm_ == "noisy-gradient"
    assert model.score(X, y) > 0.4


def test_quantiles_are_where_they_should_be() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(6000, 1))
    y = np.clip(0.3 * X[:, 0] + 0.2 * rng.normal(size=6000), -1, 1)
    shares = []
    for quantile in (0.1, 0.5, 0.9):
        model = PrivateQuantileRegressor(
            quantile=quantile, epsilon=2.0, bounds=REAL, random_state=0
        ).fit(X, y)
        shares.append((y <= model.predict(X)).mean())
    assert shares == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


def test_geometric_median_resists_outliers_and_comes_in_the_users_units() -> None:
    rng = np.random.default_rng(3)
    rows = np.array([20.0, -3.0]) + rng.normal(size=(4000, 2))
    rows[:600] = [49.0, 9.0]
    bounds = Bounds(features=[(0, 50), (-10, 10)])
    model = PrivateGeometricMedian(epsilon=2.0, bounds=bounds, random_state=0).fit(rows)
    assert np.linalg.norm(model.center_ - [20.0, -3.0]) < 1.0
    assert np.linalg.norm(rows.mean(axis=0) - [20.0, -3.0]) > 4.0
    single = PrivateGeometricMedian(epsilon=2.0, bounds=Bounds(features=(0, 50)), random_state=0)
    assert single.fit(rows[:, :1]).center_ == pytest.approx([20.0], abs=1.0)


def test_a_row_outside_the_bounds_is_clipped() -> None:
    rows = np.zeros((500, 2))
    wild = rows.copy()
    wild[0] = 1e9
    bounds = Bounds(row_norm=1.0)
    one, two = (
        PrivateGeometricMedian(epsilon=1.0, bounds=bounds, random_state=0).fit(r).center_
        for r in (rows, wild)
    )
    assert 0 < np.linalg.norm(one - two) < 0.2


def test_models_are_saved_and_loaded(tmp_path: Path) -> None:
    X, y = binary(500)
    models = [
        PrivateSGDClassifier(bounds=BINARY, steps=5).fit(X, y),
        PrivateSGDRegressor(bounds=REAL, steps=5).fit(X, y),
        PrivateQuantileRegressor(bounds=REAL, algorithm=NoisyGradient(steps=5)).fit(X, y),
        PrivateGeometricMedian(bounds=Bounds(row_norm=1.0)).fit(X),
        PrivateSGDClassifier(bounds=BINARY, sampler="poisson", batch=50, steps=5).fit(X, y),
        *(
            PrivateLogisticRegression(bounds=BINARY, algorithm=relative).fit(X, y)
            for relative in (MirrorDescent(steps=5), NoisyNewton(steps=2), FTRL(batch=64))
        ),
    ]
    for model in models:
        model.save(tmp_path / "model.json")
        again = load(tmp_path / "model.json")
        assert (again.coef_ == model.coef_).all()
        assert again.guarantee_ == model.guarantee_
        assert clone(again).get_params() == clone(model).get_params()


def test_refusals() -> None:
    for model, error, message in (
        (PrivateSGDClassifier(loss="squared", bounds=BINARY), InvalidParameter, "loss"),
        (PrivateSGDClassifier(loss=Squared(), bounds=BINARY), Incompatible, "labels"),
        (PrivateSGDRegressor(loss=Hinge(), bounds=REAL), Incompatible, "labels"),
        (PrivateSGDRegressor(loss=3, bounds=REAL), InvalidParameter, "loss"),
        (PrivateSGDRegressor(bounds=REAL, steps=0), InvalidParameter, "steps"),
        (PrivateSGDRegressor(bounds=REAL, clip=-1.0), InvalidParameter, "clip"),
        (PrivateSGDRegressor(bounds=REAL, epsilon=0.0), InvalidParameter, "epsilon"),
        (PrivateQuantileRegressor(quantile=1.0, bounds=REAL), InvalidParameter, "quantile"),
    ):
        with pytest.raises(error, match=message):
            model.plan(3, 1000)
    assert PrivateSGDRegressor(loss=Huber(threshold=0.1), bounds=REAL).plan(3, 1000).steps > 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["logistic", "softmax", Logistic()])
def test_losses_of_chances_tell_probabilities(loss: object, n_classes: int) -> None:
    X, y = binary()
    y = y + (n_classes > 2) * (X[:, 1] > 0.5)
    bounds = Bounds(row_norm=1.0, classes=tuple(range(n_classes)))
    model = PrivateSGDClassifier(loss=loss, epsilon=8.0, bounds=bounds, random_state=0).fit(X, y)
    chances = model.predict_proba(X)
    assert chances.shape == (len(X), n_classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(chances.argmax(axis=1), model.predict(X))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), chances)


def test_a_hinge_tells_none() -> None:
    assert not hasattr(PrivateSGDClassifier(), "predict_proba")
    assert not hasattr(PrivateSGDClassifier(loss=Hinge()), "predict_log_proba")
