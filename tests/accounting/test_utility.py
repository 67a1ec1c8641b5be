"""Utility bounds: vectors and a brute-force check that they hold."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2, gamma

from discreet.accounting import (
    Budget,
    best_strength,
    gaussian_multiplier,
    mean_squared_noise,
    noise_quantile,
    objective_excess,
    output_excess,
    output_sensitivity,
    solution_distance,
    sparse_regression_excess,
)
from discreet.algorithms import NoisyGradient
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import Hinge
from discreet.noise import Seeded
from discreet.noise.prefix import Strategy, Toeplitz, Tree, best_blt
from discreet.problem import Problem
from discreet.sets import L2Ball


def test_noise_quantiles() -> None:
    assert noise_quantile("gaussian", 1.0, 10, 0.05) ** 2 == pytest.approx(18.3070380533, rel=1e-9)
    assert noise_quantile("gaussian", 3.0, 4, 0.3) ** 2 == pytest.approx(9 * chi2.ppf(0.7, 4))
    assert noise_quantile("gamma", 2.0, 10, 0.05) == pytest.approx(31.4104328442, rel=1e-9)
    assert noise_quantile("gamma", 2.0, 10, 0.05) == pytest.approx(gamma.ppf(0.95, 10, scale=2))


def test_excess_vector() -> None:
    sigma = gaussian_multiplier(1, 1e-5)
    noise = noise_quantile("gaussian", sigma, 10, 0.05)
    ours = objective_excess(noise, 1.0, 1.0) / 1000
    assert ours == pytest.approx(0.12789512986, rel=1e-9)
    # Kifer, Smith and Thakurta: a looser tail, and 2 |b|^2 / strength.
    tail = sigma * math.sqrt(2 * 10 * math.log(1 / 0.05))
    theirs = (2 * tail**2 + 1 / 2) / 1000
    assert theirs == pytest.approx(1.66823762486, rel=1e-9)
    assert noise < tail
    sharpened = objective_excess(tail, 1.0, 1.0) / 1000
    assert theirs - 0.0005 == pytest.approx(4 * (sharpened - 0.0005))
    assert ours < sharpened < theirs


def test_best_strength_vector_and_optimality() -> None:
    strength, excess = best_strength("gamma", 2.0, 10, 2.0)
    assert strength == pytest.approx(10.4880884817, rel=1e-9)
    assert excess == pytest.approx(41.9523539268, rel=1e-9)
    spread = math.sqrt(mean_squared_noise("gamma", 2.0, 10))
    assert objective_excess(spread, strength, 2.0) == pytest.approx(excess)
    for other in (0.9, 1.1):
        assert objective_excess(spread, other * strength, 2.0) > excess


def test_the_chapters_strength_and_lemma_lose_twice_as_much() -> None:
    spread = math.sqrt(mean_squared_noise("gamma", 2.0, 10))
    strength, excess = best_strength("gamma", 2.0, 10, 2.0)

    def chapter(strength: float) -> float:
        return 2 * spread**2 / strength + strength / 2 * 2.0**2

    # The chapter's strength is the best one for its lemma, and twice ours.
    assert chapter(2 * strength) == pytest.approx(83.9047078536, rel=1e-9)
    for other in (0.9, 1.1):
        assert chapter(2 * strength * other) > chapter(2 * strength)
    assert chapter(2 * strength) == pytest.approx(2 * excess)


def test_output_perturbation_vectors() -> None:
    sensitivity = output_sensitivity(1.0, 10.0, 0.0, "zero-out")
    assert sensitivity == pytest.approx(0.1)
    sigma = sensitivity * gaussian_multiplier(1, 1e-5)
    assert sigma == pytest.approx(0.373063163482, rel=1e-9)
    assert mean_squared_noise("gaussian", sigma, 10) == pytest.approx(1.39176123947, rel=1e-9)
    assert mean_squared_noise("gamma", sensitivity, 10) == pytest.approx(1.1, rel=1e-9)
    laplace = math.sqrt(10) * sensitivity
    assert mean_squared_noise("laplace", laplace, 10) == pytest.approx(2.0, rel=1e-9)
    assert output_sensitivity(1.0, 10.0, 0.5, "replace-one") == pytest.approx(0.3)
    assert output_sensitivity(1.0, 10.0, 0.5, "add-remove") == pytest.approx(0.2)
    assert output_excess(10, 2.0, 0.25) == 5.0


def test_sparse_regression_vector_and_refusal() -> None:
    given = {"n_rows": 10_000, "epsilon": 1.0, "delta": 1e-5, "curvature": 0.5, "strength": 8.0}
    value = sparse_regression_excess(support=2, failure=0.05, solution_norm=math.sqrt(2), **given)
    assert value == pytest.approx(0.00232598323633, rel=1e-9)
    # As printed the denominator lacks the number of rows, and the lemma is four times too large.
    square = 64 * 2**3 * (8 * math.log(2e5) + 2) * 2 * 2 * math.log(20)
    printed, corrected = (
        (square / (2 * (8 + curvature)) + 8 / 2 * 2) / 10_000 for curvature in (0.5, 0.5 * 10_000)
    )
    assert printed == pytest.approx(3.59709366944, rel=1e-9)
    assert corrected == pytest.approx(0.00690393294533, rel=1e-9)
    assert corrected - 0.0008 == pytest.approx(4 * (value - 0.0008))
    with pytest.raises(Incompatible, match="false"):
        sparse_regression_excess(support=50, failure=0.9, solution_norm=1.0, **given)
    fine = {"support": 2, "failure": 0.05, "solution_norm": 1.0} | given
    for name in ("delta", "failure"):
        with pytest.raises(InvalidParameter, match=f"{name} must lie strictly between"):
            sparse_regression_excess(**fine | {name: 1.5})


def test_bounds_hold_on_random_quadratics() -> None:
    random = np.random.default_rng(5)
    tightest = 0.0
    for _ in range(300):
        dim = int(random.integers(1, 5))
        root = random.normal(size=(dim, dim)) * random.choice([0.05, 1.0])
        hessian = root @ root.T
        curvature = float(np.linalg.eigvalsh(hessian)[0])
        best = random.normal(size=dim)
        noise = random.normal(size=dim) * random.choice([0.1, 1.0, 10.0])
        strength = float(np.exp(random.normal()))
        private = np.linalg.solve(hessian + strength * np.eye(dim), hessian @ best - noise)
        excess = float((private - best) @ hessian @ (private - best)) / 2
        size, norm = float(np.linalg.norm(noise)), float(np.linalg.norm(best))
        for known in (0.0, max(0.0, curvature)):
            bound = objective_excess(size, strength, norm, known)
            assert excess <= bound * (1 + 1e-9)
            tightest = max(tightest, excess / bound)
        distance = solution_distance(size, strength, norm, max(0.0, curvature))
        assert np.linalg.norm(private - best) <= distance * (1 + 1e-9)
    assert tightest > 0.2


# What no private method can beat. On the unit ball the hinge loss of unit rows is linear.


def linear(n: int, dim: int) -> Problem:
    return Problem(
        loss=Hinge(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=dim,
        n_rows=n,
        neighbours="replace-one",
        constraint=L2Ball(radius=1.0),
    )


def fingerprints(size: int, dim: int, random: np.random.Generator) -> np.ndarray:
    """Return the rows that matter; all others are pairs that cancel."""
    means = random.uniform(-1, 1, dim)
    return np.where(random.random((size, dim)) < (1 + means) / 2, 1.0, -1.0) / math.sqrt(dim)


def mean_excess(
    size: int, dim: int, runs: int, method: Callable[[np.ndarray, int], np.ndarray]
) -> float:
    random, found = np.random.default_rng(dim), []
    for seed in range(runs):
        rows = fingerprints(size, dim, random)
        total = rows.sum(axis=0)
        found.append(float(np.linalg.norm(total) - total @ method(rows, seed)))
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("dim", "epsilon", "size", "best", "least", "measured"),
    # The specification has 180 rows in the first case; 182 do better, by less than it prints.
    [(1000, 0.1, 180, 182, 52.0, 100.5), (10_000, 1.0, 48, 48, 13.6, 27.5)],
)
def test_no_private_method_beats_the_fingerprinting_bound(
    dim: int, epsilon: float, size: int, best: int, least: float, measured: float
) -> None:
    n, delta = 10_000, 1e-8
    length = math.sqrt(dim / 3) * (1 - 1 / (10 * dim))
    random = np.random.default_rng(0)
    sample = np.linalg.norm(random.uniform(-1, 1, (300, dim)), axis=1)
    assert length == pytest.approx(sample.mean(), abs=4 * sample.std() / math.sqrt(300))

    def bound(m: int) -> float:
        paid = (m + 2) * (math.sinh(epsilon) + 4 * delta * math.sqrt(dim))
        return m * (length - paid / 2) / math.sqrt(dim)

    assert max(range(2, n + 1, 2), key=bound) == best
    assert bound(best) == pytest.approx(least, abs=0.05)
    assert bound(size) == pytest.approx(bound(best), rel=1e-4)

    # The Gaussian mechanism with its sum scaled to the sphere is about twice as far away.
    sigma = 2 * gaussian_multiplier(epsilon, delta)

    def gaussian(rows: np.ndarray, factor: float) -> np.ndarray:
        noisy = rows.sum(axis=0) + factor * sigma * random.normal(size=dim)
        return noisy / np.linalg.norm(noisy)

    private = mean_excess(size, dim, 40, lambda rows, _: gaussian(rows, 1.0))
    assert private == pytest.approx(measured, rel=0.02)
    # With a thirtieth of the noise it would be better than a private method can be.
    assert mean_excess(size, dim, 5, lambda rows, _: gaussian(rows, 1 / 30)) < bound(size)

    rule = NoisyGradient(rule="lipschitz")
    assert rule.plan(linear(n, dim), Budget(epsilon, delta)).bound > bound(best)
    plan = NoisyGradient(rule="lipschitz", steps=5).plan(linear(size, dim), Budget(epsilon, delta))
    descent = mean_excess(
        size,
        dim,
        4,
        lambda rows, seed: plan.run(ArraySource(rows, np.ones(size, int)), Seeded(seed)).weights,
    )
    assert bound(size) < descent < plan.bound


def test_no_purely_private_method_beats_the_packing_bound() -> None:
    dim, epsilon = 100, 0.1
    words = 2**dim / sum(math.comb(dim, i) for i in range(dim // 4))
    rows = math.floor((math.log(words) - math.log(2)) / epsilon)
    # Rows beyond these come in pairs, so an even number of rows loses one of them.
    for n, size, least in ((9_999, 155, 9.6875), (10_000, 154, 9.625)):
        assert rows - (n - rows) % 2 == size
        assert size / 16 == least
        assert NoisyGradient(rule="lipschitz").plan(linear(n, dim), Budget(epsilon)).bound > least
        plan = NoisyGradient(rule="lipschitz", steps=1).plan(linear(size, dim), Budget(epsilon))
        excess = []
        for seed in range(20):
            word = np.random.default_rng(seed).choice([-0.1, 0.1], dim)
            source = ArraySource(np.tile(word, (size, 1)), np.ones(size, int))
            excess.append(size * (1 - float(word @ plan.run(source, Seeded(seed)).weights)))
        assert least < np.mean(excess) < plan.bound


def prefix_floor(n: int) -> float:
    """Return the nuclear norm of the matrix of prefix sums over ``n``."""
    angles = (2 * np.arange(1, n + 1) - 1) * math.pi / (2 * (2 * n + 1))
    return float(np.sum(1 / (2 * np.sin(angles)))) / n


def prefix_error(strategy: Strategy) -> float:
    variances = [strategy.variance(t) for t in range(1, strategy.horizon + 1)]
    return strategy.sensitivity() * math.sqrt(float(np.mean(variances)))


def test_no_prefix_strategy_beats_the_nuclear_norm() -> None:
    for n in (1, 7, 64):
        exact = np.linalg.svd(np.tri(n), compute_uv=False).sum() / n
        assert prefix_floor(n) == pytest.approx(exact, rel=1e-12)
        for strategy in (Tree(n), Tree(n, refine=True), Toeplitz(n), best_blt(n)):
            assert prefix_error(strategy) >= prefix_floor(n) * (1 - 1e-12)
    assert prefix_floor(2**16) == pytest.approx(4.2321, abs=5e-5)
    n, floor = 2**10, prefix_floor(2**10)
    assert floor == pytest.approx(2.9096, abs=5e-5)
    # The default leaves at most 7% to gain.
    assert floor < prefix_error(Toeplitz(n)) < 1.07 * floor
    assert floor < prefix_error(best_blt(n)) < 1.08 * floor
    assert prefix_error(Tree(n, refine=True)) > 1.9 * floor


def test_a_ridge_may_be_missing_where_the_objective_is_curved_anyway() -> None:
    assert objective_excess(2.0, 0.0, 5.0, curvature=1.0) == 2.0
    with pytest.raises(InvalidParameter, match="strength"):
        objective_excess(2.0, 0.0, 5.0)
