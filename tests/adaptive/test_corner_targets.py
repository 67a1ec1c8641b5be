"""Accuracy targets of losses with corners."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import AccuracyFirst, PrivateLinearSVC
from discreet.adaptive import OneShot, Task
from discreet.adaptive.paths import OutputPath
from discreet.adaptive.query import Query
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible
from discreet.losses import Absolute, Hinge, Loss, Quantile
from discreet.noise import Seeded
from discreet.problem import Problem

LOSSES: list[Loss] = [Hinge(), Absolute(), Quantile(quantile=0.9)]


def task(loss: Loss, n: int = 400, p: int = 2, strength: float = 40.0, **facts: object) -> Task:
    bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0), classes=(-1, 1))
    problem = Problem(loss=loss, bounds=bounds, n_features=p, n_rows=n, **facts)  # type: ignore[arg-type]
    return Task(problem=problem, strength=strength)


def data(loss: Loss, n: int = 400, p: int = 2, seed: int = 0) -> ArraySource:
    """All rows point one way and lie on their corners, if they can: noise costs most there."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n, p))
    X[:, 0] = 1.0
    y = np.full(n, 0.2)
    if loss.target == "sign":
        y = np.where(rng.random(n) < 0.7, 1.0, -1.0)
    return ArraySource(X, y)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.usefixtures("solved_once")
def test_one_release_keeps_its_promise(loss: Loss, delta: float) -> None:
    job, source = task(loss, 100, 1, 10.0), data(loss, 100, 1)
    plan = OneShot(task=job, target=0.1, failure=0.2, delta=delta)
    rows = job.problem.bound(source)
    best = job.value(rows, job.minimiser(rows, 1e-4))
    found = [plan.run(source, Seeded(i)).weights for i in range(120)]
    missed = np.mean([(job.value(rows, w) - best) / job.n > 0.1 for w in found])
    assert missed <= 0.2 + 3 * math.sqrt(0.16 / 120)


def test_the_excess_of_noise_is_bounded_by_the_jump() -> None:
    rng = np.random.default_rng(2)
    for loss in LOSSES:
        job, source = task(loss), data(loss)
        rows = job.problem.bound(source)
        w = job.minimiser(rows, 1e-4)
        best = job.value(rows, w)
        ratios = []
        for size in (1e-3, 1e-2, 0.1, 1.0):
            for b in size * rng.normal(size=(20, 2)):
                r = float(np.linalg.norm(b))
                bound = job.n * job.jump * r + job.strength * r**2 / 2
                ratios.append((job.value(rows, w + b) - best) / bound)
        assert max(ratios) <= 1.0 + 1e-6
        assert max(ratios) > 0.3


def test_a_target_below_the_certificate_costs_infinitely_much() -> None:
    assert OneShot(task=task(Absolute()), target=1e-12).epsilon == math.inf


def test_the_published_inversion_is_for_smooth_losses() -> None:
    with pytest.raises(Incompatible, match="smooth"):
        _ = OneShot(task=task(Hinge()), target=0.1, rule="theory").epsilon


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_minimisers_and_queries_of_neighbours_are_as_close_as_planned(
    loss: Loss, neighbours: str
) -> None:
    job = task(loss, n=30, strength=3.0, neighbours=neighbours)
    path = OutputPath(task=job, levels=(0.5, 1.0), noise="laplace")
    query = Query(task=job, metric="excess-risk", target=0.2)
    rng = np.random.default_rng(1)
    for _ in range(6):
        X = rng.normal(size=(31, 2))
        y = rng.choice([-1.0, 1.0], 31)
        other = slice(0, 30) if neighbours == "add-remove" else slice(None)
        X2, y2 = X.copy()[other], y.copy()[other]
        if neighbours != "add-remove":
            X, y, X2, y2 = X[:30], y[:30], X2[:30], y2[:30]
            X2[-1], y2[-1] = -3 * X[0], -y[0]
        first, second = (job.problem.bound(ArraySource(a, b)) for a, b in ((X, y), (X2, y2)))
        apart = job.minimiser(first, path.task.tolerance) - job.minimiser(
            second, path.task.tolerance
        )
        assert np.linalg.norm(apart) <= path.sensitivity
        w = job.project(rng.normal(size=2))
        moved = query.prepare(first)(w) - query.prepare(second)(w)
        assert abs(moved) <= query.sensitivity.shared + query.sensitivity.own


def test_a_support_vector_machine_meets_its_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = (X[:, 0] > 0).astype(int)
    bounds = Bounds(row_norm=2.0, classes=(0, 1))
    svc = PrivateLinearSVC(bounds=bounds, loss="hinge", delta=0.0)
    for options in ({"max_error": 0.3}, {"max_error": 0.3, "metric": "error-rate"}):
        model = AccuracyFirst(svc, max_epsilon=20.0, random_state=0, **options).fit(X, y)
        assert model.status_ == "met"
        assert model.score(X, y) > 0.7
