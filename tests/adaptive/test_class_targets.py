"""Accuracy targets of more than two classes: softmax, and support vectors against the rest."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet import AccuracyFirst, PrivateLinearSVC, PrivateLogisticRegression, load
from discreet.adaptive import OneShot, Task
from discreet.adaptive.methods import trivial_error
from discreet.adaptive.paths import OutputPath
from discreet.adaptive.query import Query, _errors
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import Incompatible
from discreet.losses import AgainstRest, Hinge, HuberisedHinge, Loss, Softmax
from discreet.noise import Seeded
from discreet.problem import Problem

K = 3
LOSSES: list[Loss] = [Softmax(n_classes=K), AgainstRest(each=Hinge(), n_classes=K)]
BOUNDS = Bounds(row_norm=1.0, classes=tuple(range(K)))


def task(loss: Loss, n: int = 4, p: int = 2, strength: float = 0.5, **facts: object) -> Task:
    problem = Problem(loss=loss, bounds=BOUNDS, n_features=p, n_rows=n, **facts)  # type: ignore[arg-type]
    return Task(problem=problem, strength=strength)


def named(loss: Loss) -> str:
    return loss.name


def test_the_ball_holds_every_minimiser_and_is_reached() -> None:
    # All rows alike, of one class: the odds at which rows pull most are met at one strength.
    shares = []
    for strength in np.geomspace(0.02, 20, 40):
        job = task(Softmax(n_classes=K), n=10, p=1, strength=strength)
        rows = job.problem.bound(ArraySource(np.ones((10, 1)), np.zeros(10, dtype=int)))
        shares.append(float(np.linalg.norm(job.minimiser(rows, 1e-6))) / job.radius)
    assert 0.99 < max(shares) <= 1.0


@pytest.mark.parametrize(
    "loss", [*LOSSES, AgainstRest(each=HuberisedHinge(), n_classes=K)], ids=named
)
@pytest.mark.parametrize("relation", ["zero-out", "add-remove"])
def test_minimisers_are_those_of_another_solver(loss: Loss, relation: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)) / 3, rng.integers(0, K, 60)
    job = task(loss, n=60, strength=2.0, neighbours=relation)
    rows = job.problem.bound(ArraySource(X, y))
    found = job.minimiser(rows, 1e-4)
    clipped = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]

    def objective(w: np.ndarray) -> float:
        z = clipped @ w.reshape(2, K)
        if loss.name == "softmax":
            loss_of = np.log(np.exp(z - z[np.arange(60), y][:, None]).sum(axis=1))
        else:
            m = np.where(y[:, None] == np.arange(K), 1.0, -1.0) * z
            h = 0.0 if loss.each == Hinge() else 0.5
            bent = (1 + h - m) ** 2 / (4 * h) if h else m
            loss_of = np.where(m > 1 + h, 0, np.where(m >= 1 - h, bent * (h > 0), 1 - m)).sum(
                axis=1
            )
        return float(loss_of.sum() + w @ w)

    best = min(
        (minimize(objective, start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-13})
         for start in (np.zeros(2 * K), found.ravel())),
        key=lambda r: r.fun,
    )  # fmt: skip
    assert objective(found.ravel()) <= best.fun + 1e-6
    assert np.linalg.norm(best.x - found.ravel()) <= math.sqrt(1e-6) + 1e-4
    assert job.value(rows, found) == pytest.approx(objective(found.ravel()), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("metric", ["excess-risk", "loss", "error-rate"])
def test_query_sensitivity_by_brute_force(loss: Loss, relation: str, metric: str) -> None:
    rng = np.random.default_rng(1)
    job = task(loss, neighbours=relation)
    query = Query(task=job, metric=metric, target=0.5)
    claim, shared, own = query.sensitivity, 0.0, 0.0
    for k in range(12):
        X, y = rng.normal(size=(4, 2)) * 2, rng.integers(0, K, size=4)
        other, labels = X.copy(), y.copy()
        if relation == "replace-one":
            other[0], labels[0] = (-X[0], y[0]) if k % 2 else (X[0], (y[0] + 1) % K)
        elif relation == "zero-out":
            other[0] = np.nan
        else:
            other, labels = X[1:], y[1:]
        pair = (ArraySource(X, y), ArraySource(other, labels))
        ask = [query.prepare(job.problem.bound(source)) for source in pair]
        signs = np.where(np.arange(K) == y[0], 1.0, -1.0)
        apart = signs if metric == "loss" and loss.name != "softmax" else signs + 1.0 - 2.0 / K
        models = [np.zeros((2, K)), *rng.normal(size=(12, 2, K)) * job.radius]
        models += [s * 9 * job.radius * np.outer(X[0], v) for s in (1, -1) for v in (apart, signs)]
        moves = np.array([ask[0](w) - ask[1](w) for w in map(job.project, models)])
        for d in (moves, -moves):
            s = max(0.0, d.max())
            shared = max(shared, s)
            own = max(own, (s - d).max()) if s > 0 else own
    assert shared <= claim.shared
    assert own <= claim.own
    assert shared > (0.3 if metric == "excess-risk" else 0.6) * claim.shared
    assert own > 0.3 * claim.own


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_no_pair_of_minimisers_is_further_apart_than_noise_hides(loss: Loss, relation: str) -> None:
    job = task(loss, strength=50.0, neighbours=relation)
    path = OutputPath(task=job, levels=(1.0,), noise="gamma")
    widest = 0.0
    for other in ([], [(-1.0, 0)], [(1.0, 1)], [(-1.0, 1)]):
        pair = [[(1.0, 0)], other]
        if relation != "add-remove":
            pair = [rows + [(np.nan, 0)] * (4 - len(rows)) for rows in pair]
        points = []
        for rows in pair:
            X, y = np.array([[x, 0.0] for x, _ in rows]), np.array([c for _, c in rows], dtype=int)
            source = ArraySource(X.reshape(-1, 2), y)
            points.append(job.minimiser(job.problem.bound(source), path.task.tolerance))
        if relation == "replace-one" or not other:
            widest = max(widest, float(np.linalg.norm(points[0] - points[1])))
    assert widest <= path.sensitivity
    # One row of a class that is certain to be wrong: softmax slopes are shorter at zero weights.
    assert widest > (0.5 if loss.name == "softmax" else 0.99) * path.sensitivity


def test_rows_with_a_tie_are_errors() -> None:
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(50, 2)), rng.integers(0, K, 50), rng.normal(size=(2, K))
    rows = Rows(X, y.astype(float), rng.random(50))
    wrong = (X @ w).argmax(axis=1) != y
    assert _errors(rows, w) == pytest.approx(rows.weight[wrong].sum(), rel=1e-12)
    assert _errors(rows, np.zeros((2, K))) == pytest.approx(rows.weight.sum(), rel=1e-12)
    assert trivial_error(task(LOSSES[0]), "error-rate") == pytest.approx(2 / 3)
    assert trivial_error(task(LOSSES[0]), "loss") == pytest.approx(math.log(K))


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.usefixtures("solved_once")
def test_one_release_keeps_its_promise(loss: Loss, delta: float) -> None:
    rng = np.random.default_rng(4)
    X, y = np.ones((100, 1)), rng.choice(K, 100, p=[0.6, 0.3, 0.1])
    job, source = task(loss, 100, 1, 10.0), ArraySource(X, y)
    plan = OneShot(task=job, target=0.2, failure=0.2, delta=delta)
    rows = job.problem.bound(source)
    best = job.value(rows, job.minimiser(rows, 1e-4))
    found = [plan.run(source, Seeded(i)).weights for i in range(120)]
    missed = np.mean([(job.value(rows, w) - best) / job.n > 0.2 for w in found])
    assert missed <= 0.2 + 4 * math.sqrt(0.16 / 120)


def test_what_is_known_for_two_classes_only_is_refused() -> None:
    with pytest.raises(Incompatible, match="one output"):
        _ = OneShot(task=task(LOSSES[0]), target=0.1, rule="theory").epsilon
    with pytest.raises(Incompatible, match="two classes"):
        AgainstRest(each=Softmax())


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_of_several_classes_meet_their_target(loss: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.array(["left", "right", "up"])[(X @ rng.normal(size=(2, K))).argmax(axis=1)]
    bounds = Bounds(row_norm=3.0, classes=("left", "right", "up"))
    inner = PrivateLogisticRegression(bounds=bounds)
    if loss == "hinge":
        inner = PrivateLinearSVC(bounds=bounds, loss=loss)
    for options in ({"max_error": 0.4, "metric": "error-rate"}, {"max_error": 0.3}):
        model = AccuracyFirst(inner, max_epsilon=60.0, random_state=0, **options)
        reserved = model.plan(2, 6000).reserved[0]
        assert model.fit(X, y).status_ == "met"
        assert model.guarantee_.epsilon <= reserved <= 60.0
        assert model.estimator_.coef_.shape == (K, 2)
        assert model.score(X, y) > 0.6
    model.estimator_.save(tmp_path / "model.json")
    assert (load(tmp_path / "model.json").predict(X) == model.predict(X)).all()
    if loss == "logistic":
        assert np.allclose(model.predict_proba(X[:5]).sum(axis=1), 1.0)
