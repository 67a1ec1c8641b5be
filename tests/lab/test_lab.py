"""Instances with known answers, and lower bounds no private method may beat."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.accounting import Budget
from discreet.algorithms import ExponentialSampling, FrankWolfe, NoisyGradient
from discreet.errors import Incompatible, InvalidParameter
from discreet.lab import (
    Instance,
    codeword,
    codeword_bound,
    corner,
    dense_l1,
    fingerprint,
    hidden_copies,
    lasso_bound,
    lasso_fingerprint,
    linear_bound,
    mean_length,
    measure,
    quadratic_bound,
)
from discreet.lab.lower_bounds import as_replaced
from discreet.sets import L1Ball

PURE, APPROXIMATE = Budget(1.0), Budget(0.5, 1e-8)
INSTANCES = {
    "codeword": codeword(n_rows=60, n_features=8, budget=PURE),
    "codeword quadratic": codeword(n_rows=61, n_features=8, budget=PURE, quadratic=True),
    "codeword smooth": codeword(n_rows=60, n_features=8, budget=PURE, smooth=True),
    "fingerprint": fingerprint(n_rows=60, n_features=200, budget=APPROXIMATE),
    "fingerprint quadratic": fingerprint(
        n_rows=60, n_features=200, budget=APPROXIMATE, quadratic=True, smooth=True
    ),
    "corner": corner(n_rows=37, n_features=3),
    "dense_l1": dense_l1(n_features=4, rows_factor=3.0),
    "lasso_fingerprint": lasso_fingerprint(n_rows=150, budget=PURE),
}


@pytest.mark.parametrize("instance", INSTANCES.values(), ids=INSTANCES)
def test_no_point_of_the_set_is_better_than_the_minimiser(instance: Instance) -> None:
    rng, region = np.random.default_rng(0), instance.problem.constraint
    best = region.project(instance.minimiser)
    assert np.linalg.norm(best - instance.minimiser) <= 1e-12
    scale = abs(instance.at_zero) + 1.0
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(40):
            step = size * rng.normal(size=best.shape) / math.sqrt(best.size)
            assert instance.excess(region.project(best + step)) >= -1e-9 * scale


@pytest.mark.parametrize("instance", INSTANCES.values(), ids=INSTANCES)
def test_clipping_leaves_the_rows_as_they_are(instance: Instance) -> None:
    """The algorithms must meet the instance itself, not a clipped copy of it."""
    problem, rng = instance.problem, np.random.default_rng(1)
    rows = problem.bound(instance.rows)
    assert np.abs(np.asarray(rows.X) - instance.X).max() <= 1e-12
    w = problem.constraint.project(rng.normal(size=problem.shape))
    value = rows.objective(problem.loss, w)[0] + problem.regularizer.value(w)
    assert value == pytest.approx(instance.objective(w), rel=1e-12)


def test_reference_values_of_the_bounds() -> None:
    assert codeword_bound(100, 10_001, 0.1, quadratic=False) == 9.6875
    assert codeword_bound(100, 10_000, 0.1, quadratic=False) == 9.625
    assert linear_bound(1000, 10_000, 0.1, 1e-8)[0] == pytest.approx(52.0, abs=0.05)
    assert linear_bound(10_000, 10_000, 1.0, 1e-8)[0] == pytest.approx(13.6, abs=0.05)
    assert as_replaced(Budget(0.5, 1e-6), "add-remove") == Budget(1.0, (1 + math.exp(0.5)) * 1e-6)


@pytest.mark.parametrize("p", [1, 2, 3, 7, 40])
def test_mean_length_is_that_of_uniform_points(p: int) -> None:
    sample = np.linalg.norm(np.random.default_rng(p).uniform(-1, 1, (200_000, p)), axis=1)
    assert mean_length(p) == pytest.approx(sample.mean(), abs=4.5 * sample.std() / 447)
    # The usual approximation is too long, so a bound made from it would not hold.
    assert mean_length(p) < math.sqrt(p / 3) * (1 - 1 / (10 * p))


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 1.0, 2.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("size", [1, 2, 4, 9])
def test_the_best_private_method_of_one_feature_obeys_the_linear_bound(
    epsilon: float, delta: float, size: int
) -> None:
    """With one feature a linear program finds the best of all private methods.

    Only the number k of positive rows matters; it is uniform when the mean is. A release of +1 has
    chance q_k.
    """
    k = np.arange(size + 1)
    total, grow = 2.0 * k - size, math.exp(epsilon)
    constraints, limits = [], []
    for i, j in [(i, i + 1) for i in range(size)] + [(i + 1, i) for i in range(size)]:
        for sign in (1.0, -1.0):  # of the release +1, and of -1
            row = np.zeros(size + 1)
            row[i], row[j] = sign, -sign * grow
            constraints.append(row)
            limits.append(delta + (0.0 if sign > 0 else grow - 1.0))
    found = linprog(-2 * total / (size + 1), A_ub=constraints, b_ub=limits, bounds=(0, 1))
    least = (np.abs(total) + total).sum() / (size + 1) + found.fun
    claim = size * (mean_length(1) - (size + 2) * (math.sinh(epsilon) + 4 * delta) / 2)
    assert claim <= least + 1e-9


def test_one_ball_holds_no_more_words_than_the_proof_says() -> None:
    for p in (4, 5, 8, 9):
        words = np.array(list(itertools.product((-1.0, 1.0), repeat=p))) / math.sqrt(p)
        most = sum(math.comb(p, i) for i in range(math.ceil(p / 4)))
        rng = np.random.default_rng(p)
        near = [
            int(
                (
                    np.linalg.norm(words - words[rng.integers(len(words), size=k)].mean(0), axis=1)
                    < 0.5
                ).sum()
            )
            for k in (1, 2, 3)
            for _ in range(300)
        ]
        assert 1 <= max(near) <= most
    copies, features = hidden_copies(5, 100, 1.0)
    assert (copies, features) == (2, 4)  # a fifth feature would hide less


def test_the_parts_of_the_lasso_bound_hold_in_the_mean() -> None:
    rng, p, w, r, a = np.random.default_rng(0), 64, 5, 2, 1.5
    values, scores = [], []
    for _ in range(4000):
        means = rng.uniform(-1, 1, p)
        X = np.where(rng.random((w, p)) < (1 + means) / 2, 1.0, -1.0)
        point = a * means / p
        values.append(0.5 * np.sum((X @ point - 1) ** 2) + 0.5 * r * p * point @ point)
        f = np.tanh(X.sum(axis=0))  # any function of the rows
        scores.append(np.sum((X - means) @ f) - 2 * means @ f)
    mean = w / 2 * ((1 - a / 3) ** 2 + 2 * a**2 / (9 * p)) + r * a**2 / 6
    assert np.mean(values) == pytest.approx(mean, abs=4.5 * np.std(values) / math.sqrt(4000))
    assert abs(np.mean(scores)) <= 4.5 * np.std(scores) / math.sqrt(4000)


def test_the_lasso_bound_has_the_rate_of_frank_wolfe() -> None:
    w = 6000
    p = round(9 * (w * math.sinh(1.0)) ** 2)
    n = w + w // 6 * p
    least = lasso_bound(p, w, w // 6, 1.0, 0.0) / n
    assert least * (n * math.sinh(1.0)) ** (2 / 3) == pytest.approx(0.218, abs=0.001)


@pytest.mark.parametrize(
    ("kind", "budget", "algorithm", "runs"),
    [
        ({"n_features": 4, "n_rows": 200}, Budget(0.25), ExponentialSampling(), 20),
        ({"n_features": 4, "n_rows": 200, "smooth": True, "quadratic": True}, Budget(0.25),
         "objective-perturbation", 20),
    ],
)  # fmt: skip
def test_private_methods_stay_above_the_bound_for_words(kind, budget, algorithm, runs) -> None:
    found = measure(lambda s: codeword(budget=budget, seed=s, **kind), algorithm, budget, runs=runs)
    assert found.lower is not None
    assert 0 < found.lower <= found.excess + 4 * found.error
    assert found.excess - 4 * found.error <= found.bound


def test_private_methods_stay_above_the_bound_for_fingerprints() -> None:
    def draw(seed: int) -> Instance:
        return fingerprint(n_rows=400, n_features=400, budget=APPROXIMATE, seed=seed)

    found = measure(draw, NoisyGradient(steps=30), APPROXIMATE, runs=10)
    assert found.lower is not None
    assert 0 < found.lower <= found.excess + 4 * found.error
    # Teeth: a method that adds a fiftieth of the noise is below the bound, and so not private.
    excess = []
    for s in range(10):
        instance = draw(s)
        noisy = instance.X.sum(0) + 0.05 * np.random.default_rng(s).normal(size=400)
        excess.append(instance.excess(noisy / np.linalg.norm(noisy) * (1 - 1e-9)))
    assert np.mean(excess) < found.lower


def test_frank_wolfe_stays_above_the_lasso_bound() -> None:
    budget = Budget(1.0, 1e-8)

    def draw(seed: int) -> Instance:
        return lasso_fingerprint(n_rows=518, budget=budget, seed=seed)

    found = measure(draw, FrankWolfe(), budget, runs=8)
    assert found.lower == pytest.approx(1.177, abs=1e-3)
    assert found.lower <= found.excess
    assert found.lower < found.at_zero
    # Teeth: a minimiser with noise of norm 1/50 is below the bound, and so not private.
    instance, rng = draw(0), np.random.default_rng(0)
    noisy = instance.minimiser + 0.02 * rng.normal(size=512) / math.sqrt(512)
    assert instance.excess(L1Ball(radius=1.0).project(noisy)) < found.lower


def test_a_bound_is_not_held_against_a_larger_budget() -> None:
    with pytest.raises(Incompatible, match="lower bound"):
        measure(
            lambda s: codeword(n_rows=20, n_features=4, budget=Budget(0.5), seed=s),
            "exponential-sampling",
            Budget(1.0),
        )


def test_rows_do_not_help_exponential_sampling_on_corners() -> None:
    sampled = [
        measure(lambda s, n=n: corner(n_rows=n, n_features=1), ExponentialSampling(), PURE, runs=30)
        for n in (400, 6400)
    ]
    assert sampled[1].excess > 0.5 * sampled[0].excess


def test_quadratic_bound_is_positive_and_below_weights_of_zero() -> None:
    least, draws, copies = quadratic_bound(1000, 200, 0.1, 1e-6)
    at_zero = fingerprint(
        n_rows=200, n_features=1000, budget=Budget(0.1, 1e-6), quadratic=True
    ).at_zero
    assert 0 < least < at_zero
    assert draws * copies <= 200


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: codeword(n_rows=10, n_features=2, budget=APPROXIMATE), "fingerprint"),
        (lambda: codeword(n_rows=10, n_features=2, budget=PURE, copies=3), "parity"),
        (lambda: dense_l1(n_features=6), "power of 2"),
    ],
)
def test_what_cannot_be_made_is_refused(call, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        call()
