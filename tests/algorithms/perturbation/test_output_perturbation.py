"""Output perturbation and bolt-on SGD against brute force over neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import BoltOn, OutputPerturbation
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.losses import Hinge, HuberisedHinge, Logistic, Squared
from discreet.noise import Seeded, permutation
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge
from discreet.sets import Box, L2Ball, VertexPolytope
from discreet.solvers.minimize import minimise

BINARY = Bounds(row_norm=1.0, classes=(0, 1))


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic(),
        "bounds": BINARY,
        "n_features": 2,
        "n_rows": 5,
        "neighbours": "replace-one",
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def minimiser(task: Problem, X: np.ndarray, y: np.ndarray, strength: float) -> np.ndarray:
    return minimise(
        task.bound(ArraySource(X, y)),
        task.loss,
        linear=np.zeros(task.shape),
        strength=strength,
        regularizer=task.regularizer,
        constraint=task.constraint,
        tolerance=1e-9,
    )


def test_specification_vectors() -> None:
    # Sensitivity 0.1 in ten dimensions: strength 10 under zero-out.
    task = problem(n_features=10, neighbours="zero-out")
    budget = Budget(1.0, 1e-5)
    gaussian = OutputPerturbation(strength=10.0).plan(task, budget)
    assert gaussian.noise.scale == pytest.approx(0.373063163482, rel=3e-4)
    assert gaussian.noise.mean_square == pytest.approx(1.39176123947, rel=3e-4)
    gamma = OutputPerturbation(strength=10.0).plan(task, Budget(1.0))
    assert gamma.noise.mean_square == pytest.approx(1.1, rel=3e-4)
    laplace = OutputPerturbation(strength=10.0, noise="laplace").plan(task, Budget(1.0))
    assert laplace.noise.mean_square == pytest.approx(2.0, rel=3e-4)
    # Never below the real-arithmetic noise.
    assert gaussian.noise.scale >= 0.1 * gaussian_multiplier(1.0, 1e-5)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_no_pair_of_neighbours_is_further_apart_than_claimed(neighbours: str) -> None:
    rng = np.random.default_rng(4)
    task = problem(neighbours=neighbours, loss=HuberisedHinge(width=0.5))
    plan = OutputPerturbation(strength=0.5).plan(task, Budget(1.0, 1e-5))
    worst = 0.0
    for _ in range(60):
        X = rng.normal(size=(5, 2)) * 3
        y = rng.integers(0, 2, size=5)
        base = minimiser(task, X, y, plan.strength)
        for row in ([3.0, 0.0], [-3.0, 0.0], [0.0, 3.0], [math.nan, 0.0]):
            other = X.copy()
            if neighbours == "zero-out" and not math.isnan(row[0]):
                continue  # under zero-out a neighbour has a blank row, which NaN is
            other[2] = row
            worst = max(worst, float(np.linalg.norm(minimiser(task, other, y, 0.5) - base)))
    assert worst <= plan.sensitivity
    assert worst > 0.3 * plan.sensitivity  # half of the claim would be broken nearly always


def test_a_tight_pair_breaks_half_the_sensitivity() -> None:
    # One row, flipped: the minimisers are as far apart as the theorem allows.
    task = problem(n_rows=1, n_features=1, loss=HuberisedHinge(width=0.1))
    strength = 10.0
    plan = OutputPerturbation(strength=strength).plan(task, Budget(1.0, 1e-5))
    X = np.array([[1.0]])
    gap = abs(
        minimiser(task, X, np.array([1]), strength)[0]
        - minimiser(task, -X, np.array([1]), strength)[0]
    )
    assert 0.99 * plan.sensitivity <= gap <= plan.sensitivity


@pytest.mark.parametrize(("kind", "delta"), [("gaussian", 1e-5), ("gamma", 0.0), ("laplace", 0.0)])
def test_releases_follow_the_noise_law(kind: str, delta: float) -> None:
    task = problem(n_features=1, n_rows=3)
    X, y = np.array([[1.0], [-0.5], [0.2]]), np.array([1, 0, 1])
    plan = OutputPerturbation(strength=2.0, noise=kind).plan(task, Budget(1.0, delta))  # type: ignore[arg-type]
    centre = minimiser(task, X, y, 2.0)[0]
    random = Seeded(5)
    runs = [plan.run(ArraySource(X, y), random).weights[0] for _ in range(250)]
    moved = np.array(runs) - centre
    one, size = (stats.norm, stats.halfnorm) if kind == "gaussian" else (stats.laplace, stats.expon)

    def pvalue(scale: float) -> float:
        tests = ((moved, one), (np.abs(moved), size))
        return min(stats.kstest(x, law(scale=scale).cdf).pvalue for x, law in tests)

    assert pvalue(plan.noise.scale) > 1e-4
    assert pvalue(plan.noise.scale / 2) < 1e-6


def test_default_strength_balances_noise_and_shrinkage() -> None:
    task = problem(n_rows=1000, neighbours="zero-out")
    best = OutputPerturbation().plan(task, Budget(1.0, 1e-5))
    for factor in (0.5, 2.0):
        other = OutputPerturbation(strength=factor * best.strength).plan(task, Budget(1.0, 1e-5))
        assert other.expected_excess > best.expected_excess


def test_squared_loss_on_a_ball_is_accepted() -> None:
    task = problem(
        loss=Squared(),
        bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
        constraint=L2Ball(radius=2.0),
        regularizer=Ridge(strength=7.0),
    )
    plan = OutputPerturbation(strength=1.0).plan(task, Budget(1.0, 1e-5))
    assert plan.strength == 7.0
    assert task.terms.lipschitz == pytest.approx(3.0)
    weights = plan.run(ArraySource(np.ones((5, 2)), np.ones(5)), Seeded(0)).weights
    assert np.linalg.norm(weights) <= 2.0


def test_refusals() -> None:
    with pytest.raises(Incompatible, match="delta > 0"):
        OutputPerturbation(noise="gaussian", strength=1.0).plan(problem(), Budget(1.0)).noise  # noqa: B018
    with pytest.raises(MissingBound, match="strength"):
        OutputPerturbation().plan(problem(neighbours="add-remove", n_rows=None), Budget(1.0))
    with pytest.raises(InvalidParameter, match="strength"):
        OutputPerturbation(strength=-1.0).plan(problem(), Budget(1.0))


# Bolt-on permutation SGD.


def test_bolt_on_vectors() -> None:
    task = problem(n_rows=10_000)
    convex = BoltOn(passes=10, batch=50, step=0.01).plan(task, Budget(1.0, 1e-5))
    assert convex.sensitivity == pytest.approx(0.004)
    strong = BoltOn(passes=10, batch=50, strength=100.0).plan(task, Budget(1.0, 1e-5))
    assert strong.sensitivity == pytest.approx(0.02)
    zero_out = BoltOn(passes=10, batch=50, step=0.01).plan(
        problem(n_rows=10_000, neighbours="zero-out"), Budget(1.0, 1e-5)
    )
    assert zero_out.sensitivity == pytest.approx(0.002)


@pytest.mark.parametrize(
    "settings",
    [{"step": 1.0, "passes": 3}, {"strength": 20.0, "passes": 3}],
    ids=["convex", "strongly convex"],
)
@pytest.mark.parametrize("batch", [1, 4])
def test_bolt_on_neighbours_stay_within_the_sensitivity(
    settings: dict[str, float], batch: int
) -> None:
    rng = np.random.default_rng(6)
    n = 42  # not a multiple of 4: the ragged batch is left out
    task = problem(n_rows=n, loss=HuberisedHinge(width=0.5))
    plan = BoltOn(batch=batch, **settings).plan(task, Budget(1.0, 1e-5))  # type: ignore[arg-type]
    worst = 0.0
    for seed in range(25):
        X, y = rng.normal(size=(n, 2)), np.ones(n, dtype=int)
        X[:, 0] = 2.0
        other = X.copy()
        other[seed] = -X[seed]
        pair = [plan._train(task.bound(ArraySource(rows, y)), Seeded(seed)) for rows in (X, other)]
        worst = max(worst, float(np.linalg.norm(pair[0] - pair[1])))
    assert worst <= plan.sensitivity
    assert worst > 0.05 * plan.sensitivity


@pytest.mark.parametrize(("neighbours", "other"), [("zero-out", math.nan), ("replace-one", -1.0)])
@pytest.mark.parametrize(
    "settings",
    # Seven rows in batches of four: three are left over. A ridge far above the smoothness, and a
    # step so short that slopes stay the steepest.
    [{"strength": 7e6, "passes": 1}, {"step": 1e-6, "passes": 1}, {"step": 1e-6, "passes": 3}],
    ids=["strongly convex", "convex", "convex in three passes"],
)
def test_some_neighbours_of_bolt_on_are_as_far_apart_as_claimed(
    settings: dict[str, float], neighbours: str, other: float
) -> None:
    task = problem(n_rows=7, n_features=1, loss=HuberisedHinge(width=0.5), neighbours=neighbours)
    plan = BoltOn(batch=4, **settings).plan(task, Budget(1.0, 1e-5))  # type: ignore[arg-type]
    ends = []
    for row in range(7):
        X = np.full((7, 1), math.nan)
        X[row] = 1.0
        pair = [task.bound(ArraySource(rows, np.ones(7, dtype=int))) for rows in (X, other * X)]
        one, two = (plan._train(rows, Seeded(2)) for rows in pair)
        ends.append(float(np.linalg.norm(one - two)))
    # Rows that are left over move nothing.
    assert sorted(ends)[:3] == [0.0] * 3
    assert max(ends) == pytest.approx(plan.sensitivity, rel=1e-5)


def test_averaging_would_break_the_strongly_convex_bound() -> None:
    # The specification's counterexample: the first record flips, all others are zero rows.
    n, modulus, step_of = 1000, 0.5, lambda t: min(1 / (1.0 + 0.5), 1 / (0.5 * t))
    loss = HuberisedHinge(width=0.5)
    last, mean = {}, {}
    for sign in (1.0, -1.0):
        w, path = 0.0, []
        for t in range(1, n + 1):
            x = sign if t == 1 else 0.0
            slope = float(loss.slope(np.array([w * x]), np.array([1.0]))[0]) * x
            w -= step_of(t) * (slope + modulus * w)
            path.append(w)
        last[sign], mean[sign] = path[-1], np.mean(path)
    S = 2.0 / (modulus * n)
    assert abs(last[1] - last[-1]) / S == pytest.approx(0.444, abs=5e-4)
    assert abs(mean[1] - mean[-1]) / S == pytest.approx(3.2158, abs=5e-4)


def test_bolt_on_runs_and_learns() -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(4000, 2))
    y = (X[:, 0] > 0).astype(int)
    plan = BoltOn().plan(problem(n_rows=4000), Budget(4.0, 1e-5))
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert ((X @ weights > 0) == y).mean() > 0.9


def test_bolt_on_refusals() -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(Incompatible, match="public number of rows"):
        BoltOn().plan(problem(neighbours="add-remove"), budget)
    with pytest.raises(Incompatible, match=r"smooth loss.* Use the loss 'huberised-hinge'"):
        BoltOn().plan(problem(loss=Hinge(), n_rows=100), budget)
    with pytest.raises(Incompatible, match="at most 2/beta"):
        BoltOn(step=9.0).plan(problem(n_rows=100), budget)
    with pytest.raises(Incompatible, match="Leave step out"):
        BoltOn(step=0.1, strength=1.0).plan(problem(n_rows=100), budget)
    with pytest.raises(Incompatible, match="regularizer empty"):
        BoltOn().plan(problem(regularizer=Ridge(strength=1.0), n_rows=100), budget)
    with pytest.raises(Incompatible, match="For an l1 or another penalty use objective-perturb"):
        BoltOn().plan(problem(regularizer=L1(strength=1.0), n_rows=100), budget)
    with pytest.raises(Incompatible, match="batch"):
        BoltOn(batch=50).plan(problem(n_rows=10), budget)


@pytest.mark.parametrize("step", [1.2e-14, 1e-13, 1e-12])
def test_bolt_on_pays_for_rounding_far_from_zero(step: float) -> None:
    """One row against a blank one where weights are near 1 and a step is a few units of them."""
    n, norm = 2, 0.01
    task = Problem(
        loss=HuberisedHinge(),
        bounds=Bounds(row_norm=norm, classes=(0, 1)),
        n_features=2,
        n_rows=n,
        constraint=Box(low=1.0, high=2.0),
    )
    plan = BoltOn(passes=1, batch=1, step=step).plan(task, Budget(1.0, 1e-6))
    blank = np.full((n, 2), np.nan)
    apart = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False):
        X = blank.copy()
        X[0] = norm * np.cos(angle), norm * np.sin(angle)
        pair = [task.bound(ArraySource(rows, [1, 1])) for rows in (X, blank)]
        ends = [plan._train(rows, Seeded(0)) for rows in pair]
        apart.append(np.linalg.norm(ends[0] - ends[1]))
    assert max(apart) > plan.sensitivity  # without rounding the claim would be false
    assert max(apart) <= plan.sensitivity + plan._rounding


def test_bolt_on_refuses_projections_without_a_bound_on_their_rounding() -> None:
    triangle = VertexPolytope(points=((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    task = Problem(loss=Logistic(), bounds=bounds, n_features=2, n_rows=100, constraint=triangle)
    with pytest.raises(Incompatible, match="iterative"):
        BoltOn().plan(task, Budget(1.0, 1e-6))


@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
def test_the_noise_covers_minima_that_are_off_by_the_tolerance(neighbours: str, apart: int) -> None:
    plan = OutputPerturbation(strength=3.0).plan(problem(neighbours=neighbours), Budget(1.0, 1e-6))
    assert plan.tolerance > 0
    least = (apart * plan.problem.terms.lipschitz + 2 * plan.tolerance) / plan.strength
    assert plan.sensitivity >= least * (1 - 1e-15)
    assert plan.noise.scale >= least * gaussian_multiplier(1.0, 1e-6)


def test_bolt_on_takes_whole_batches_in_secret_order_and_keeps_the_last_iterate() -> None:
    task, n = problem(n_rows=22), 22  # two rows are left over
    rng = np.random.default_rng(0)
    plan = BoltOn(passes=2, batch=5, strength=4.0).plan(task, Budget(1.0, 1e-6))
    rows = task.bound(ArraySource(rng.normal(size=(n, 2)), rng.integers(0, 2, n)))
    w, modulus, t = np.zeros(2), 4.0 / n, 0
    batches = permutation(n, Seeded(0))[:20].reshape(4, 5)
    for _ in range(2):
        for chosen in batches:
            t += 1
            gradient = rows.take(chosen).gradient(task.loss, w) / 5
            step = min(1 / (task.terms.smoothness + modulus), 1 / (modulus * t))
            w = w - step * (gradient + modulus * w)
    assert plan._train(rows, Seeded(0)) == pytest.approx(w, rel=1e-12)


def test_the_noise_of_bolt_on_covers_its_rounding() -> None:
    task = problem(n_rows=20, constraint=Box(low=1.0, high=2.0))
    plan = BoltOn(passes=100, batch=1, step=1e-13).plan(task, Budget(1.0, 1e-6))
    assert plan._rounding > 0.01 * plan.sensitivity
    paid = plan.sensitivity + plan._rounding
    assert plan.noise.scale >= paid * gaussian_multiplier(1.0, 1e-6)
