"""Sparse Frank-Wolfe steps: compiled and plain ones, and the exact law of their draws."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from mpmath import mp, mpf

from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe
from discreet.algorithms.frank_wolfe import compiled_steps, plain_steps, polytope_plan, sparse_steps
from discreet.algorithms.frank_wolfe.sparse_steps import SquaredSteps, StaleSteps, term_grid
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import NotCertified
from discreet.losses import Huber, Logistic, Squared
from discreet.mechanisms import compiled_choice
from discreet.mechanisms.signed_choice import level_of
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L1Ball

KINDS = pytest.mark.parametrize("kind", ["squared", "logistic", "huber"])


def sparse_rows(n: int, p: int, density: float, kind: str) -> Rows:
    rng = np.random.default_rng(7)
    X = sp.random_array((n, p), density=density, random_state=rng, format="csr")
    X.data = rng.uniform(-1, 1, size=X.data.size)
    y = rng.uniform(-1, 1, size=n)
    return Rows(sp.csr_array(X), np.sign(y) if kind == "logistic" else y, rng.uniform(0, 1, n))


def start(
    rows: Rows, kind: str, scale: float, compiled: bool = False, tolerance: float = 0.05
) -> SquaredSteps | StaleSteps:
    most = 2.0 * rows.n_rows / scale
    if kind == "squared":
        return SquaredSteps(rows, 1.0, scale, most=most, compiled=compiled)
    return StaleSteps(
        rows,
        Logistic() if kind == "logistic" else Huber(threshold=0.4),
        1.0,
        scale,
        tolerance=tolerance,
        slope=1.0,
        grid=term_grid(rows.n_rows, 1.0),
        most=most,
        compiled=compiled,
    )


def state(steps: Any) -> list[Any]:
    """Everything that a later draw or step may depend on."""
    found = list(steps._sampler.classes[:4])
    if isinstance(steps, StaleSteps):
        return [*found, steps._gradient, steps._margin, steps._slope, steps._schedule.due]
    return [*found, steps._hot.slot, steps._hot.image, steps._hot.schedule.due, steps._hot.used]


@KINDS
@pytest.mark.parametrize(("density", "scale"), [(0.02, 1.0), (0.3, 1.0), (0.02, 0.003)])
def test_compiled_and_plain_steps_are_the_same_bits(
    kind: str, density: float, scale: float
) -> None:
    rows = sparse_rows(60, 300, density, kind)
    plain, fast = (start(rows, kind, scale, compiled) for compiled in (False, True))
    assert fast._loops is compiled_steps.compiled_steps() is not None
    one, two = Seeded(1), Seeded(1)
    for k in range(60):
        drawn = plain.draw(one)
        assert drawn == fast.draw(two)
        plain.move(*drawn, 2 / (k + 2))
        fast.move(*drawn, 2 / (k + 2))
        for a, b in zip(state(plain), state(fast), strict=True):
            assert np.array_equal(a, b)


@KINDS
def test_classes_hold_every_score_after_every_step(kind: str) -> None:
    # The condition of the exact law: no coordinate weighs more than its class.
    rows = sparse_rows(60, 80, 0.05, kind)
    steps = start(rows, kind, 0.05)
    rng, loose = np.random.default_rng(3), 0
    for k in range(80):
        steps.move(int(rng.integers(80)), int(rng.choice([-1, 1])), 2 / (k + 2))
        classes = steps._sampler.classes
        for j in range(80):
            need = level_of(abs(steps._log_odds(j)) - 1e-9, 10**6)
            assert classes.level[j] >= need
            loose += classes.level[j] > need + 1
    assert loose < 0.01 * 80 * 80


@KINDS
def test_draws_follow_scores_computed_anew(kind: str) -> None:
    # Chances of proposals times chances of acceptance, against the whole gradient.
    rows = sparse_rows(60, 80, 0.05, kind)
    steps, scale = start(rows, kind, 0.5, tolerance=0.0), 0.5
    rng, w = np.random.default_rng(4), np.zeros(80)
    for k in range(40):
        j, sign = int(rng.integers(80)), int(rng.choice([-1, 1]))
        steps.move(j, sign, 2 / (k + 2))
        w *= 1 - 2 / (k + 2)
        w[j] += 2 / (k + 2) * sign
    loss = {"squared": Squared(), "logistic": Logistic(), "huber": Huber(threshold=0.4)}[kind]
    gradient = rows.gradient(loss, w)
    assert np.array([steps._log_odds(j) for j in range(80)]) == pytest.approx(
        -gradient / scale, abs=1e-9
    )
    level = steps._sampler.classes.level
    with mp.workdps(30):
        chance = [
            mpf(2) ** int(k) * (2 * mp.cosh(mpf(steps._log_odds(j))) / mpf(2) ** (int(k) + 0.25))
            for j, k in enumerate(level)
        ]
        total = sum(chance)
        exact = [mp.cosh(mpf(g) / scale) for g in gradient.tolist()]
        assert (
            max(abs(c / total / (e / sum(exact)) - 1) for c, e in zip(chance, exact, strict=True))
            < 1e-8
        )


@pytest.mark.parametrize("kind", ["squared", "huber"])
def test_a_step_that_forgets_classes_is_refused(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_steps, "relevel", lambda *args: None)
    rows = sparse_rows(60, 12, 0.3, kind)
    rows.y = np.zeros(60)  # no score at first, so that classes are only ever too low
    steps, random = start(rows, kind, 0.02), Seeded(0)

    def walk() -> None:
        for k in range(60):
            steps.move(*steps.draw(random), 2 / (k + 2))

    with pytest.raises(NotCertified):
        walk()


def task(loss: Any, **changes: Any) -> Problem:
    bounds = Bounds(
        features=(-1, 1), **({"classes": (0, 1)} if loss.target == "sign" else {"label": (-1, 1)})
    )
    settings = {"loss": loss, "bounds": bounds, "n_features": 40, "n_rows": 300}
    return Problem(**settings | {"constraint": L1Ball(radius=3.0)} | changes)


@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=lambda f: f.name)
def test_runs_are_the_same_without_numba(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    X = sp.random_array((300, 40), density=0.1, random_state=rng, format="csr")
    y = (rng.uniform(size=300) < 0.5).astype(float)
    plan = FrankWolfe(steps=30, stale=0.05).plan(task(loss), Budget(4.0, 1e-6))
    monkeypatch.setattr(polytope_plan, "COMPILED_FROM", 0)
    fast = plan.run(ArraySource(X, y), Seeded(2)).weights
    for part in (compiled_choice.compiled_choice, compiled_steps.compiled_steps):
        part.cache_clear()
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "numba", None)
        assert sparse_steps._loops(True) == (None, plain_steps)
        slow = plan.run(ArraySource(X, y), Seeded(2)).weights
    for part in (compiled_choice.compiled_choice, compiled_steps.compiled_steps):
        part.cache_clear()
    assert np.array_equal(fast, slow)


@pytest.mark.parametrize("relation", ["zero-out", "add-remove", "replace-one"])
def test_log_weights_stay_below_the_planned_bound(relation: str) -> None:
    # Every row pulls the same coordinate as hard as it may.
    plan = FrankWolfe(steps=4, stale=0.0).plan(
        task(Logistic(), neighbours=relation), Budget(9.0, 0.01)
    )
    X = sp.csr_array(np.full((300, 40), -1.0))
    steps = plan._kernel(plan.problem.bound(ArraySource(X, np.ones(300))))
    steps.move(0, 1, 1.0)
    size = max(abs(steps._log_odds(j)) for j in range(40))
    assert size <= plan.most
    if relation != "add-remove":  # which plans for many more rows
        assert size > 0.9 * (plan.most - 1.0)


def test_absurd_budgets_take_the_plain_way() -> None:
    assert FrankWolfe(steps=3).plan(task(Squared()), Budget(1.0, 1e-6)).fast == "squared"
    assert FrankWolfe(steps=3).plan(task(Squared()), Budget(1e9, 1e-6)).fast is None
