"""Bounds on the gap between new rows and the rows of a fit, against gaps that can be computed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.accounting.generalisation import (
    confident_gap,
    descent_gap,
    minimiser_gap,
    population_excess,
    uniform_gap,
    uniform_gap_l1,
)
from discreet.errors import Incompatible, InvalidParameter


def mean_absolute_sum(n: int) -> float:
    """Return the mean of ``|x_1 + ... + x_n|`` for random signs, exactly."""
    k = np.arange(n + 1)
    return float(np.abs(2 * k - n) @ binom.pmf(k, n, 0.5))


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_uniform_gap_is_met_within_a_small_factor_by_signs(n: int) -> None:
    """With loss ``-w x`` and random signs the best fit of norm B has gap ``B E|sum x| / n``."""
    for slope in (0.5, 4.0):
        exact = slope * 3.0 * mean_absolute_sum(n) / n
        bound = uniform_gap(lipschitz=slope, radius=3.0, n_rows=n).value
        assert exact <= bound <= 2.9 * exact


@pytest.mark.parametrize(("p", "n"), [(1, 50), (20, 100), (300, 400)])
def test_uniform_gap_of_an_l1_ball_is_met_within_a_small_factor(p: int, n: int) -> None:
    draws = 2.0 * np.random.default_rng(p).binomial(n, 0.5, size=(300, p)) / n - 1.0
    found = np.abs(draws).max(axis=1)
    bound = uniform_gap_l1(lipschitz=1.0, radius=1.0, n_features=p, n_rows=n).value
    assert found.mean() + 4.5 * found.std() / math.sqrt(300) <= bound <= 3.5 * found.mean()


@pytest.mark.parametrize("strength", [0.5, 10.0])
def test_gap_of_a_regularised_minimiser_is_twice_that_of_signs(strength: float) -> None:
    """The minimiser of ``-w sum x + strength w^2 / 2`` is ``sum x / strength``."""
    n = 30
    k = np.arange(n + 1)
    exact = float(((2 * k - n) ** 2) @ binom.pmf(k, n, 0.5)) / strength / n
    assert minimiser_gap(lipschitz=1.0, strength=strength).value == pytest.approx(2 * exact)


def test_gap_of_descent_is_twice_that_of_signs() -> None:
    """Steps on ``-w sum x`` end at the sum of the steps times ``sum x``."""
    steps, n = [0.01, 0.02, 0.03], 30
    exact = sum(steps) * n / n
    found = descent_gap(lipschitz=1.0, smoothness=1.0, steps=steps, n_rows=n)
    assert found.value == pytest.approx(2 * exact)
    with pytest.raises(Incompatible, match="longer ones"):
        descent_gap(lipschitz=1.0, smoothness=1.0, steps=[0.1], n_rows=n)


def test_stability_holds_for_logistic_regression_on_every_pair_of_rows() -> None:
    """Refit with a row replaced and look at the loss of all rows: the definition itself."""
    from sklearn.linear_model import LogisticRegression

    rng, strength, worst = np.random.default_rng(0), 2.0, 0.0
    X = rng.normal(size=(25, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.arange(25) % 2

    def losses(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
        fit = LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-10).fit(rows, labels)
        return np.logaddexp(0, -(2 * y - 1) * (X @ fit.coef_[0]))

    before = losses(X, y)
    for i in range(25):
        rows, labels = X.copy(), y.copy()
        rows[i], labels[i] = -X[i], 1 - y[i]
        worst = max(worst, float(np.abs(losses(rows, labels) - before).max()))
        rows[i] = X[i]
        worst = max(worst, float(np.abs(losses(rows, labels) - before).max()))
    bound = minimiser_gap(lipschitz=1.0, strength=strength).value
    assert 0.1 * bound < worst <= bound


def test_a_bound_with_confidence_fails_no_more_often_than_it_says() -> None:
    rng, n, failure = np.random.default_rng(1), 40, 0.1
    sums = np.abs(rng.choice([-1.0, 1.0], size=(4000, n)).sum(axis=1)) / n
    bound = confident_gap(
        uniform_gap(lipschitz=1.0, radius=1.0, n_rows=n), span=2.0, n_rows=n, failure=failure
    )
    assert np.mean(sums > bound.value) <= failure
    with pytest.raises(Incompatible, match="uniform"):
        confident_gap(minimiser_gap(lipschitz=1, strength=1), span=1, n_rows=1, failure=0.1)


def test_the_least_gap_is_taken_and_vacuous_ones_say_so() -> None:
    wide = uniform_gap(lipschitz=1.0, radius=60.0, n_rows=100_000)
    assert wide.value == pytest.approx(0.379, abs=1e-3)
    assert not wide.useful(math.log(2))
    strong = minimiser_gap(lipschitz=1.0, strength=100.0)
    assert strong.useful(math.log(2))
    found = population_excess(1000.0, 100_000, wide, strong)
    assert found.value == pytest.approx(0.03)
    assert found.theorem == strong.theorem
    assert uniform_gap(lipschitz=1, radius=1, n_rows=100, outputs=2).value == pytest.approx(0.4)
    with pytest.raises(Incompatible, match="at least one"):
        population_excess(1.0, 10)
    with pytest.raises(InvalidParameter, match="radius"):
        uniform_gap(lipschitz=1.0, radius=0.0, n_rows=10)
