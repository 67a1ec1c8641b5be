"""Mirror descent, noisy Newton, and the n^2-step algorithm of Bassily, Smith and Thakurta."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from discreet.accounting import (
    Budget,
    FixedSizeGaussian,
    Gaussian,
    epsilon_at,
    gaussian_multiplier,
)
from discreet.algorithms.gradient.bst14 import BassilySmithThakurta, BassilySmithThakurtaPlan
from discreet.algorithms.gradient.mirror_descent import Entropy, MirrorDescent, PNorm
from discreet.algorithms.gradient.noisy_newton import NoisyNewton, solve_sensitivity
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.defaults import Asked, recommend
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter
from discreet.losses import Absolute, Hinge, Logistic, Softmax
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import Ridge
from discreet.sets import L1Ball, L2Ball, Simplex

BINARY = Bounds(row_norm=1.0, classes=(0, 1))
BUDGET = Budget(1.0, 1e-6)


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic(),
        "bounds": BINARY,
        "n_features": 2,
        "n_rows": 2000,
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def classes(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X, (rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)


def value(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.logaddexp(0, -(2 * y - 1) * (X @ w)).sum())


# Mirror descent.


@pytest.mark.parametrize("geometry", [Entropy(2.0), PNorm(1.3), PNorm(2.0)])
def test_mirror_maps_solve_their_problem(geometry: Entropy | PNorm) -> None:
    # The point maximises <dual, w> - psi(w), with psi scaled as the map assumes.
    rng = np.random.default_rng(0)
    dual = rng.normal(size=4)
    point = geometry.point(dual)

    def psi(w: np.ndarray) -> float:
        if isinstance(geometry, PNorm):
            return float(np.linalg.norm(w, geometry.q) ** 2 / 2)
        u = w / geometry.total
        return float(geometry.total * np.sum(u * np.log(u)))

    best = dual @ point - psi(point)
    for _ in range(200):
        other = point + 0.05 * rng.normal(size=4)
        if isinstance(geometry, Entropy):
            other = np.abs(other) + 1e-9
            other *= geometry.total / other.sum()
        assert dual @ other - psi(other) <= best + 1e-12


@pytest.mark.parametrize("geometry", [Entropy(1.0), PNorm(1.2), PNorm(2.0)])
def test_dual_norm_of_noise_is_bounded(geometry: Entropy | PNorm) -> None:
    z = np.random.default_rng(1).normal(size=(4000, 30))
    order = math.inf if isinstance(geometry, Entropy) else geometry.dual
    mean = float(np.mean(np.linalg.norm(z, order, axis=1) ** 2))
    assert 0.3 * geometry.noise(30) < mean <= geometry.noise(30)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_mirror_descent_keeps_budget_set_and_bound(neighbours: str) -> None:
    X, y = classes(2000, 8)
    task = problem(constraint=Simplex(total=3.0), n_features=8, neighbours=neighbours)
    plan = MirrorDescent(steps=200).plan(task, BUDGET)
    apart = 2 if neighbours == "replace-one" else 1
    exact = apart * math.sqrt(200) * gaussian_multiplier(1.0, 1e-6)
    assert plan.noise.scale == pytest.approx(exact, rel=1e-6)
    assert plan.guarantee.event.delta(1.0) <= 1e-6 * (1 + 1e-9)
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert weights.sum() == pytest.approx(3.0)
    assert (weights >= 0).all()
    best = minimize(
        lambda v: value(X, y, task.constraint.project(v)), np.full(8, 3 / 8), method="Powell"
    ).fun
    assert 0 < value(X, y, weights) - best < plan.expected_excess


def test_mirror_descent_on_all_space() -> None:
    X, y = classes(2000, 5)
    plan = MirrorDescent(norm_guess=4.0, steps=200).plan(problem(n_features=5), BUDGET)
    best = minimize(lambda v: value(X, y, v), np.zeros(5)).fun
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert 0 < value(X, y, weights) - best < plan.expected_excess
    # Its bound grows with the logarithm of the dimension only, unlike the Euclidean one.
    wide = [
        MirrorDescent(power=q, steps=20_000, norm_guess=1.0)
        .plan(problem(n_features=5000), BUDGET)
        .expected_excess
        for q in (None, 2.0)
    ]
    assert wide[0] < 0.6 * wide[1]


@pytest.mark.parametrize("geometry", [Entropy(3.0), PNorm(1.2)])
def test_smooth_mirror_steps_keep_their_bound_on_a_quadratic(geometry: Entropy | PNorm) -> None:
    """Run the recursion itself with Gaussian noise on ``b/2 |w - u|^2``, smooth in the norm."""
    rng, p, b, spread, steps = np.random.default_rng(0), 20, 5.0, 3.0, 60
    target = np.zeros(p)
    target[0] = 3.0
    square = spread**2 * geometry.noise(p)
    start = geometry.divergence(p, 3.0)
    step = 1 / (b + math.sqrt(square * steps / (2 * start)))
    found = []
    for _ in range(40):
        dual, total = np.zeros(p), np.zeros(p)
        for _ in range(steps):
            slope = b * (geometry.point(dual) - target) + spread * rng.normal(size=p)
            dual = dual - step * geometry.scale() * slope
            total += geometry.point(dual)
        found.append(b / 2 * float(np.sum((total / steps - target) ** 2)))
    bound = b * start / steps + math.sqrt(2 * start * square / steps)
    assert 0.02 * bound < np.mean(found) <= bound


def test_mirror_descent_takes_few_steps_where_the_loss_is_smooth() -> None:
    rng, n, p = np.random.default_rng(0), 4000, 500
    X = rng.choice([-1.0, 1.0], size=(n, p))
    y = (rng.random(n) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(int)
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    task = problem(bounds=bounds, n_features=p, n_rows=n, constraint=Simplex(total=3.0))
    plan = MirrorDescent().plan(task, BUDGET)
    assert plan.steps < 300
    assert plan.facts()["rule"] == "smooth"
    w = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert np.logaddexp(0, -(2 * y - 1) * (X @ w)).mean() < 0.55  # 0.69 for weights of zero
    corners = MirrorDescent().plan(replace(task, loss=Hinge()), BUDGET)
    assert corners.facts()["rule"] == "lipschitz"
    assert corners.expected_excess > plan.expected_excess


def test_constants_of_mirror_descent_are_those_of_its_norm() -> None:
    """Differences of gradients in the dual norm never exceed the smoothness that is used."""
    rng, p = np.random.default_rng(1), 6
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    task = problem(bounds=bounds, n_features=p, n_rows=1, intercept=0.5)
    plan = MirrorDescent(power=1.2).plan(task, BUDGET)
    norm = [plan.geometry.q, plan.geometry.dual]  # type: ignore[union-attr]
    worst = 0.0
    for _ in range(300):
        x = np.append(np.sign(rng.normal(size=p)), 0.5)
        a = 0.1 * rng.normal(size=p + 1)
        c = a + 0.01 * np.abs(x) ** (norm[1] - 1) * np.sign(x)
        slopes = [-x / (1 + np.exp(x @ v)) for v in (a, c)]
        gap = np.linalg.norm(slopes[0] - slopes[1], norm[1])
        worst = max(worst, float(gap / np.linalg.norm(a - c, norm[0])))
    assert 0.9 * plan._smoothness < worst <= plan._smoothness


def test_mirror_descent_refusals() -> None:
    for config, changes, error, message in (
        ({}, {"constraint": L1Ball(radius=1.0)}, Incompatible, "all space"),
        ({"power": 1.5}, {"constraint": Simplex()}, Incompatible, "entropy"),
        ({"power": 3.0}, {}, InvalidParameter, "power"),
        ({}, {"regularizer": Ridge(strength=1.0)}, Incompatible, "penalty"),
        ({}, {"neighbours": "add-remove"}, Incompatible, "public"),
    ):
        with pytest.raises(error, match=message):
            MirrorDescent(**config).plan(problem(**changes), BUDGET)  # type: ignore[arg-type]
    with pytest.raises(Incompatible, match="delta"):
        MirrorDescent().plan(problem(), Budget(1.0))


# Noisy Newton.


def test_newton_vector() -> None:
    assert solve_sensitivity(1.0, 0.25 * 1.3**2, 0.7) == pytest.approx(0.5377028, abs=5e-8)


@pytest.mark.parametrize("replace", [False, True])
def test_solve_sensitivity_by_brute_force(replace: bool) -> None:
    rng = np.random.default_rng(2)
    floor, h, worst = 0.7, 0.25 * 1.3**2, 0.0
    for trial in range(3000):
        rest = np.zeros((2, 2)) if trial % 2 else np.diag(rng.random(2))
        parts = []
        for _ in range(2):
            x = rng.normal(size=2)
            x *= math.sqrt(h) / np.linalg.norm(x)
            parts.append(np.outer(x, x))
        pair = (parts[0], parts[1] if replace else np.zeros((2, 2)))
        g = rng.normal(size=2)
        g /= np.linalg.norm(g)
        one, two = (np.linalg.solve(rest + q + floor * np.eye(2), g) for q in pair)
        worst = max(worst, float(np.linalg.norm(one - two)))
    bound = solve_sensitivity(1.0, h, floor)
    assert 0.9 * bound < worst <= bound * (1 + 1e-12)


def test_hessians_of_neighbours_are_within_the_sensitivity() -> None:
    rng = np.random.default_rng(3)
    for neighbours, apart in (("zero-out", 1.0), ("replace-one", math.sqrt(2))):
        task = problem(n_rows=5, neighbours=neighbours)
        plan = NoisyNewton().plan(task, BUDGET)
        claimed = plan.matrix_noise.scale / plan._multiplier
        assert claimed == pytest.approx(apart * 0.25, rel=1e-6)
        worst = 0.0
        for _ in range(200):
            X, y = rng.normal(size=(5, 2)) * 9, np.ones(5, dtype=int)
            other = X.copy()
            other[0] = [-X[0, 1], X[0, 0]] if apart > 1 else math.nan
            pair = [
                task.bound(ArraySource(rows, y)).hessian(task.loss, np.zeros(2))
                for rows in (X, other)
            ]
            worst = max(worst, float(np.linalg.norm(pair[0] - pair[1])))
        assert 0.99 * claimed < worst <= claimed


def test_symmetric_noise_has_the_stated_variances() -> None:
    plan = NoisyNewton(floor=1e-9).plan(problem(n_features=3), BUDGET)
    upper = np.triu_indices(3)
    scale = np.where(upper[0] == upper[1], 1.0, math.sqrt(2))
    z = plan.matrix_noise.noise.sample((20_000, 6), Seeded(0)) / scale
    expected = plan.matrix_noise.scale**2 * np.where(upper[0] == upper[1], 1.0, 0.5)
    np.testing.assert_allclose(z.var(axis=0), expected, rtol=0.06)


ROOMY = Budget(4.0, 1e-5)
RELEASE = math.sqrt(2) * gaussian_multiplier(4.0, 1e-5)  # multiplier of both releases of one step


def fits(noise: np.ndarray, deviation: float) -> bool:
    """Whether the size of centred noise is that of a deviation, ten in a million aside."""
    size = float(np.sum((noise / deviation) ** 2))
    return bool(5e-6 < stats.chi2(noise.size).cdf(size) < 1 - 5e-6)


@pytest.mark.parametrize("variant", ["hessian", "double-noise"])
def test_one_newton_step_has_a_noisy_gradient(variant: str) -> None:
    # So large a floor that the noise of the gradient is most of the noise of a step.
    config = NoisyNewton(variant=variant, steps=1, floor=20.0, norm_guess=100.0)
    plan = config.plan(problem(n_features=1, n_rows=40), ROOMY)
    source = ArraySource(np.ones((40, 1)), np.ones(40, dtype=int))
    random = Seeded(4)
    sample = [plan.run(source, random).weights[0] for _ in range(500)]
    z = np.random.default_rng(0).normal(size=(2, 100_000))
    slope = 40 * 0.5 - RELEASE * z[0]
    if variant == "hessian":
        exact = slope / np.maximum(40 * 0.25 + 0.25 * RELEASE * z[1], 20.0)
    else:
        second = 0.25 / (20.0 * 20.25) * RELEASE * z[1]
        exact = slope / (40 * 0.25 + 20.0) + np.abs(slope) * second
    assert stats.ks_2samp(sample, exact).pvalue > 1e-5


@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1.0), ("replace-one", 2**0.5)])
def test_the_noise_of_a_hessian_has_the_size_of_its_sensitivity(
    neighbours: str, apart: float
) -> None:
    # Steps for both unit gradients give the noisy matrix back.
    X, y = classes(400, 2)
    task = problem(n_rows=400, neighbours=neighbours)
    plan = NoisyNewton(steps=1, floor=1e-3).plan(task, ROOMY)
    rows = task.bound(ArraySource(X, y))
    hessian = X.T @ X / 4
    steps = [
        [plan._by_hessian(rows, np.zeros(2), e, Seeded(seed)) for e in np.eye(2)]
        for seed in range(400)
    ]
    noise = np.linalg.inv(np.array(steps)) - hessian
    sigma = apart * 0.25 * RELEASE
    for i, j, deviation in ((0, 0, sigma), (1, 1, sigma), (0, 1, sigma / math.sqrt(2))):
        assert fits(noise[:, i, j], deviation)


@pytest.mark.parametrize(
    ("neighbours", "apart"), [("zero-out", 1.0), ("replace-one", math.sqrt(2))]
)
def test_the_rounding_of_many_blocks_of_a_hessian_is_paid_for(
    neighbours: str, apart: float
) -> None:
    n = 10**9
    plan = NoisyNewton().plan(problem(n_rows=n, neighbours=neighbours), BUDGET)
    # Blocks of 4096 rows are added up one by one; each sum is off by half a unit of the last of 53
    # places, for either neighbour. One row curves by a quarter.
    rounding = 2 * (n / 4096) * 2.0**-53 * n / 4
    assert rounding > 0.01
    # Both the gradient and the Hessian of every step have noise of the same multiple.
    multiplier = gaussian_multiplier(1.0, 1e-6) * math.sqrt(2 * plan.config.steps)
    assert plan.matrix_noise.scale >= multiplier * (apart / 4 + rounding)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("gradient", [[3.0, -4.0], [0.0, 0.5]])
def test_the_noise_of_a_solution_has_the_size_of_its_sensitivity(
    neighbours: str, gradient: list[float]
) -> None:
    X, y = classes(400, 2)
    task = problem(n_rows=400, neighbours=neighbours)
    plan = NoisyNewton(variant="double-noise", steps=1, floor=5.0).plan(task, ROOMY)
    rows, random, g = task.bound(ArraySource(X, y)), Seeded(5), np.array(gradient)
    sample = np.array([plan._by_double_noise(rows, np.zeros(2), g, random) for _ in range(300)])
    noise = sample - np.linalg.solve(X.T @ X / 4 + 5.0 * np.eye(2), g)
    assert fits(noise, RELEASE * float(np.linalg.norm(g)) * 0.25 / (5.0 * 5.25))


def test_a_floor_that_rounding_could_take_away_is_refused_whatever_the_rows_are() -> None:
    task = problem(n_features=4)
    with pytest.raises(Incompatible, match="floor must be at least"):
        NoisyNewton(variant="double-noise", floor=1e-15).plan(task, BUDGET)
    # The other variant adds noise to the Hessian itself.
    NoisyNewton(floor=1e-15).plan(task, BUDGET)
    lowest = NoisyNewton(variant="double-noise", steps=1).plan(task, BUDGET).solve_rounding
    plan = NoisyNewton(variant="double-noise", steps=1, floor=1.01 * lowest).plan(task, BUDGET)
    X, y = classes(2000, 4)
    X[:, 3] = X[:, 0]  # singular but for the floor
    X /= np.linalg.norm(X, axis=1)[:, None]
    for row in range(3):
        other = X.copy()
        other[row] = math.nan
        found = []
        for rows in (X, other):
            bound, g = task.bound(ArraySource(rows, y)), np.array([3.0, -1.0, 2.0, -3.0])
            found.append(plan._by_double_noise(bound, np.zeros(4), g, Seeded(0)))
        size = 0.25 / plan.floor * np.linalg.norm(g) / (plan.floor + 0.25)
        assert (
            np.linalg.norm(found[0] - found[1])
            <= size + 2 * lowest * np.linalg.norm(g) / plan.floor**2
        )


def test_the_noise_of_a_solution_pays_for_the_rounding_of_the_whole_hessian() -> None:
    n, floor, g = 2_000_000, 4e-6, np.array([3.0, -4.0])
    plan = NoisyNewton(variant="double-noise", steps=1, floor=floor).plan(problem(n_rows=n), ROOMY)
    rows = problem(n_rows=3).bound(ArraySource(np.eye(3, 2), np.ones(3, dtype=int)))
    sample = [plan._by_double_noise(rows, np.zeros(2), g, Seeded(seed)) for seed in range(300)]
    exact = np.linalg.solve(np.eye(2) / 4 + floor * np.eye(2), g)
    # Sums of 4096 rows, a quarter each, for both neighbours.
    off = 2 * 4096 * 2.0**-53 * n / 4
    least = 5.0 * 0.25 / (floor * (floor + 0.25)) + 5.0 * 2 * off / floor**2
    assert np.std(np.array(sample) - exact) > RELEASE * least


@pytest.mark.parametrize("variant", ["hessian", "double-noise"])
def test_newton_learns_in_few_steps(variant: str) -> None:
    X, y = classes(20_000, 4)
    task = problem(n_rows=20_000, n_features=4)
    plan = NoisyNewton(variant=variant, steps=6, norm_guess=10.0).plan(task, Budget(2.0, 1e-6))
    best = minimize(lambda v: value(X, y, v), np.zeros(4)).fun
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert (value(X, y, weights) - best) / 20_000 < 2e-3
    event = plan.guarantee.event
    assert isinstance(event, Gaussian)
    assert epsilon_at(event, 1e-6) == pytest.approx(2.0, rel=1e-9)
    # Twelve releases of the same multiplier: half of each is the whole gradient budget.
    assert plan.noise.scale == pytest.approx(
        math.sqrt(12) * gaussian_multiplier(2.0, 1e-6), rel=1e-6
    )


def test_newton_refusals() -> None:
    many = Bounds(row_norm=1.0, classes=(0, 1, 2))
    for config, changes, error, message in (
        ({"variant": "exact"}, {}, InvalidParameter, "variant"),
        ({"steps": 0}, {}, InvalidParameter, "steps"),
        ({"floor": 0}, {}, InvalidParameter, "floor"),
        ({"floor": math.nan, "variant": "double-noise"}, {}, InvalidParameter, "floor"),
        ({}, {"loss": Hinge()}, Incompatible, "smooth"),
        ({}, {"loss": Softmax(n_classes=3), "bounds": many}, Incompatible, "one output"),
        ({}, {"neighbours": "add-remove"}, Incompatible, "public"),
        ({}, {"regularizer": Ridge(strength=1.0)}, Incompatible, "penalty"),
    ):
        with pytest.raises(error, match=message):
            NoisyNewton(**config).plan(problem(**changes), BUDGET)  # type: ignore[arg-type]


# Bassily, Smith, Thakurta.


@pytest.mark.parametrize(("n", "printed"), [(100, 90.2425), (1000, 95.7167)])
def test_bst14_noise_is_as_printed(n: int, printed: float) -> None:
    plan = BassilySmithThakurta().plan(problem(n_rows=n, neighbours="replace-one"), BUDGET)
    assert plan.multiplier == pytest.approx(printed, abs=1e-4)
    assert plan.steps == n * n - 1
    assert plan.guarantee.epsilon < 0.09


def test_bst14_runs() -> None:
    task = problem(
        n_rows=40,
        n_features=1,
        loss=Absolute(),
        bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
        constraint=L2Ball(radius=1.0),
    )
    plan = BassilySmithThakurta().plan(task, Budget(4.0, 1e-2))
    X, y = np.ones((40, 1)), np.linspace(-0.2, 0.8, 40)
    runs = [plan.run(ArraySource(X, y), Seeded(s)).weights[0] for s in range(3)]
    excess = np.mean([np.abs(y - w).sum() for w in runs]) - np.abs(y - np.median(y)).sum()
    assert 0 <= excess < plan.expected_excess


def test_the_updates_of_bst14_have_the_exact_law() -> None:
    # Two rows, three updates: simulated here as they are printed.
    task = problem(n_rows=2, n_features=1, loss=Hinge(), constraint=L2Ball(radius=0.9))
    plan = BassilySmithThakurta().plan(task, Budget(4.0, 1e-2))
    source, random = ArraySource(np.array([[1.0], [0.5]]), np.array([1, 0])), Seeded(6)
    sample = [plan.run(source, random).weights[0] for _ in range(800)]
    sigma = math.sqrt(32 * math.log(2 / 1e-2) * math.log(1 / 1e-2)) / 4.0
    rng, w = np.random.default_rng(0), np.zeros(100_000)
    for t in range(1, 4):
        slope = np.where(rng.random(w.size) < 0.5, -1.0, 0.5)  # all margins are below one
        step = 2 * (slope + sigma * rng.normal(size=w.size))
        w = np.clip(w - 1.8 / (2 * math.sqrt(1 + sigma**2)) / math.sqrt(t) * step, -0.9, 0.9)
    assert stats.ks_2samp(sample, w).pvalue > 1e-5


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_event_of_bst14_is_what_a_run_does(
    monkeypatch: pytest.MonkeyPatch, neighbours: str
) -> None:
    plan = BassilySmithThakurta().plan(problem(n_rows=6, neighbours=neighbours), Budget(1.0, 1e-3))
    drawn: list[int] = []
    batch = ClippedSums.batch

    def counted(self: ClippedSums, index: np.ndarray, w: np.ndarray, clip: float) -> np.ndarray:
        drawn.append(len(index))
        return batch(self, index, w, clip)

    monkeypatch.setattr(ClippedSums, "batch", counted)
    plan.run(ArraySource(*classes(6, 2)), Seeded(0))
    assert drawn == [1] * 35
    # Noise in units of one row, and one row of six in every batch.
    noise = plan.noise.scale / plan.noise.row
    made = FixedSizeGaussian(noise, 1 / 6, len(drawn), neighbours)  # type: ignore[arg-type]
    assert plan.guarantee.event.delta(plan.guarantee.epsilon) == made.delta(plan.guarantee.epsilon)
    assert plan.guarantee.event == made


def test_bst14_claims_what_its_event_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    for n_rows, epsilon, delta in ((100, 1.0, 1e-6), (20, 0.1, 1e-9), (2, 3.0, 1e-12)):
        task = problem(n_rows=n_rows, neighbours="replace-one")
        guarantee = BassilySmithThakurta().plan(task, Budget(epsilon, delta)).guarantee
        assert guarantee.event.delta(guarantee.epsilon) <= delta
        assert guarantee.epsilon <= epsilon
    # Printed noise that cost more would be refused.
    monkeypatch.setattr(BassilySmithThakurtaPlan, "_cost", 0.81)
    with pytest.raises(BudgetTooSmall, match=r"epsilon = 0\.81, more than epsilon = 0\.105"):
        BassilySmithThakurta().plan(
            problem(n_rows=100, neighbours="replace-one"), Budget(0.105, 1e-12)
        )


def test_bst14_refusals() -> None:
    for changes, budget in (
        ({"neighbours": "add-remove"}, BUDGET),
        ({}, Budget(1.0)),
        ({}, Budget(8.0, 1e-6)),
        ({"regularizer": Ridge(strength=1.0)}, BUDGET),
    ):
        with pytest.raises(Incompatible, match="bst14"):
            BassilySmithThakurta().plan(problem(**changes), budget)


@pytest.mark.parametrize("name", ["mirror-descent", "noisy-newton", "ftrl"])
def test_relatives_are_known_by_name(name: str) -> None:
    assert recommend(problem(), BUDGET, Asked(algorithm=name)).facts()["algorithm"] == name


@pytest.mark.parametrize("name", ["mirror-descent", "noisy-newton"])
def test_relatives_without_a_ridge_say_so(name: str) -> None:
    assert (
        recommend(problem(), BUDGET, Asked(algorithm=name, strength=0.0)).facts()["algorithm"]
        == name
    )
    with pytest.raises(Incompatible, match="no strength of a ridge"):
        recommend(problem(), BUDGET, Asked(algorithm=name, strength=1.0))
