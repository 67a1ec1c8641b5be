"""Localization: radius, both stages' constants by brute force, and its law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.accounting import Budget
from discreet.algorithms import Localization
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible, MissingBound
from discreet.losses import Absolute, Hinge, HuberisedHinge, Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge
from discreet.sets import Box, L2Ball
from discreet.solvers.minimize import minimise

BOUNDS = Bounds(row_norm=1.0, classes=(0, 1), label=(-1.0, 1.0))


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": HuberisedHinge(width=0.1),
        "bounds": BOUNDS,
        "n_features": 1,
        "n_rows": 40,
        "neighbours": "replace-one",
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "units"), [(10**3, 9.51), (10**5, 16.0)])
def test_radius_of_the_specification(n: int, units: float) -> None:
    plan = Localization(strength=1.0).plan(problem(n_features=5, n_rows=n), Budget(1.0))
    assert plan.radius / plan.noise.scale == pytest.approx(units, abs=0.05)
    # It minimises (2 a p L / eps_2) r + n L E(rho - r)_+.
    p, scale = 5, plan.noise.scale

    def bound(r: float) -> float:
        law = stats.gamma(p, scale=scale)
        missed = integrate.quad(law.sf, r, 60 * scale)[0]
        return 2 * 2 * p * r / 0.5 + n * missed

    best = bound(plan.radius)
    assert all(bound(f * plan.radius) > best for f in (0.9, 1.1))


def test_the_first_stage_covers_every_neighbour() -> None:
    strength = 5.0
    plan = Localization(strength=strength).plan(problem(), Budget(2.0))
    task = plan.problem
    worst = 0.0
    rng = np.random.default_rng(0)
    for _ in range(40):
        X, y = rng.choice([-1.0, 0.2, 1.0], size=(40, 1)), rng.integers(0, 2, 40)
        ends = []
        for row in (1.0, -1.0):
            X[0], y[0] = row, 1
            ends.append(
                minimise(
                    task.bound(ArraySource(X, y)),
                    task.loss,
                    linear=np.zeros(1),
                    strength=strength,
                    tolerance=1e-9,
                )[0]
            )
        worst = max(worst, abs(ends[0] - ends[1]))
    claimed = plan.noise.scale * 1.0  # epsilon of the stage is 1
    assert worst <= claimed
    # The bound is attained where the other rows are silent: blank rows, the odd one on its slope.
    silent = np.full((40, 1), math.nan)
    pair = []
    for row in (1.0, -1.0):
        X = silent.copy()
        X[0] = row
        rows = task.bound(ArraySource(X, np.ones(40, dtype=int)))
        pair.append(
            minimise(rows, task.loss, linear=np.zeros(1), strength=strength, tolerance=1e-9)[0]
        )
    assert 0.99 * claimed <= abs(pair[0] - pair[1]) <= claimed


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_second_stage_costs_its_half_at_most(
    neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact log-ratio on the ball, for the row that pulls hardest; nearly all of it is used."""
    task = problem(neighbours=neighbours)
    plan = Localization(strength=400.0).plan(task, Budget(2.0))
    used: list[float] = []

    def noted(*args: object, inverse: float, **rest: object) -> None:
        used.append(inverse)
        raise Incompatible("seen")

    monkeypatch.setattr("discreet.algorithms.sampling.localization.density", noted)
    with pytest.raises(Incompatible, match="seen"):
        plan.run(ArraySource(np.ones((40, 1)), np.ones(40, dtype=int)), Seeded(0))
    (c,) = used  # the constant of the run's density
    r, centre = plan.radius, 0.3
    t = np.linspace(centre - r, centre + r, 20001)
    steep = 1e6 * (t - t[0])  # the other rows may pin the law to one end

    def law(x: float | None, pull: np.ndarray) -> np.ndarray:
        loss = 0.0 if x is None else task.loss.value(x * t, np.ones_like(t))
        log = -c * (loss + pull)
        return np.asarray(log - np.logaddexp.reduce(log))

    pair = (1.0, -1.0) if neighbours == "replace-one" else (1.0, None)
    worst = max(
        float(np.max(np.abs(law(pair[0], pull) - law(pair[1], pull))))
        for pull in (0.0 * t, steep, steep[::-1])
    )
    assert worst <= plan.halves[1] * (1 + 1e-9)
    assert worst >= 0.9 * plan.halves[1]


def test_a_run_draws_near_the_minimiser() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2))
    y = (X @ [1.0, -1.0] > 0).astype(int)
    task = problem(loss=Logistic(), n_features=2, n_rows=2000, regularizer=Ridge(strength=50.0))
    plan = Localization().plan(task, Budget(2.0))
    best = minimise(
        task.bound(ArraySource(X, y)),
        task.loss,
        linear=np.zeros(2),
        strength=0.0,
        regularizer=task.regularizer,
        tolerance=1e-6,
    )
    random = Seeded(2)
    drawn = np.array([plan.run(ArraySource(X, y), random).weights for _ in range(40)])
    far = np.linalg.norm(drawn - best, axis=1)
    assert np.median(far) <= plan.radius
    assert np.median(far) > 0.01 * plan.radius

    def risk(w: np.ndarray) -> float:
        rows = task.bound(ArraySource(X, y))
        return rows.objective(task.loss, w)[0] + task.regularizer.value(w)

    assert np.mean([risk(w) for w in drawn]) - risk(best) <= plan.expected_excess


def test_the_guarantee_adds_up() -> None:
    plan = Localization(strength=3.0).plan(problem(), Budget(1.0))
    assert plan.guarantee.event.delta(1.0) <= 1e-12
    assert plan.guarantee.event.delta(0.9) > 0
    held = Localization(strength=3.0).plan(problem(constraint=L2Ball(radius=1e-3)), Budget(1.0))
    weights = held.run(ArraySource(np.ones((40, 1)), np.ones(40, dtype=int)), Seeded(0)).weights
    assert abs(weights[0]) <= 1e-3


def test_auto_turns_to_sampling_only_where_no_corner_is_rounded() -> None:
    strong = L1(strength=1e3)
    smooth = recommend(problem(loss=Logistic(), n_rows=4000), Budget(1.0))
    assert smooth.facts()["algorithm"] not in ("exponential-sampling", "localization")
    for loss in (Hinge(), Absolute()):
        plan = recommend(problem(loss=loss, regularizer=strong), Budget(1.0))
        assert plan.facts()["algorithm"] == "exponential-sampling"
    asked = Asked(algorithm="localization", strength=4.0)
    named = recommend(problem(loss=Logistic()), Budget(1.0), asked)
    assert named.facts()["strength"] == 4.0
    for n_features, sampled in ((14, True), (15, False), (50, False)):
        task = problem(loss=Hinge(), n_features=n_features, regularizer=strong)
        plan = recommend(task, Budget(1.0))
        assert (plan.facts()["algorithm"] == "exponential-sampling") == sampled


def test_refusals() -> None:
    with pytest.raises(Incompatible, match="no set but an l2 ball"):
        Localization().plan(problem(loss=Hinge(), constraint=Box()), Budget(1.0))
    with pytest.raises(MissingBound, match="n_rows"):
        Localization().plan(problem(neighbours="add-remove", n_rows=None), Budget(1.0))
    with pytest.raises(Incompatible, match="does not help here"):
        Localization(strength=1.0).plan(problem(n_rows=3), Budget(1.0))
    with pytest.raises(Incompatible, match="practical"):
        Localization().plan(problem(n_features=60), Budget(1.0))


def test_a_second_stage_sharper_than_its_scores_is_refused_when_planned() -> None:
    """Whatever the centre; where that makes the difference, the run refuses."""
    X, y = np.linspace(-1.0, 1.0, 40).reshape(-1, 1), np.repeat([0, 1], 20)
    config = Localization(strength=1.0)
    plan = config.plan(problem(), Budget(1e4))
    assert plan.run(ArraySource(X, y), Seeded(0)).weights.shape == (1,)
    with pytest.raises(Incompatible, match="smaller epsilon"):
        config.plan(problem(), Budget(1e6))
    # The strength that is chosen leaves the second stage as wide as the set.
    Localization().plan(problem(), Budget(1e6))
