"""Bounds that hold: against enumeration, closed forms and simulated attacks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import Gaussian, Pure, epsilon_at
from discreet.auditing.lower_bound import (
    clopper_pearson,
    curve_of,
    event_epsilon,
    gaussian_epsilon,
    gaussian_mu,
    guesses_epsilon,
    guesses_refute,
    guesses_refute_gaussian,
)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5, 0.93])
def test_the_bound_on_a_rate_covers_it_by_enumeration(rate: float) -> None:
    counts = np.arange(31)
    covers = clopper_pearson(counts, 30, 0.05) >= rate
    assert stats.binom(30, rate).pmf(counts)[covers].sum() >= 0.95


def test_the_bound_on_a_rate_is_the_tightest_of_its_kind() -> None:
    upper = float(clopper_pearson(3, 30, 0.05))
    assert stats.binom(30, upper).cdf(3) == pytest.approx(0.05, rel=1e-9)
    assert float(clopper_pearson(30, 30, 0.05)) == 1.0


def test_no_errors_of_an_epsilon_private_mechanism_refute_it() -> None:
    for alarms in np.linspace(0.01, 0.99, 50):
        misses = max(1 - math.e * alarms, (1 - alarms) / math.e)  # the curve itself
        assert event_epsilon(misses, alarms, 0.0) <= 1.0 + 1e-12


def test_errors_of_a_gaussian_give_back_its_mu_at_every_threshold() -> None:
    for threshold in np.linspace(-1, 2, 7):
        misses, alarms = stats.norm.cdf(threshold - 0.8), stats.norm.sf(threshold)
        assert gaussian_mu(misses, alarms) == pytest.approx(0.8)
        epsilons, deltas = curve_of(Gaussian(1 / 0.8), 3.0)
        assert (event_epsilon(misses, alarms, deltas) <= epsilons + 1e-9).all()
    assert gaussian_epsilon(0.8, 1e-5) == epsilon_at(Gaussian(1 / 0.8), 1e-5)


def test_an_attack_worse_than_a_coin_shows_nothing() -> None:
    assert gaussian_mu(0.9, 0.9) < 0
    assert gaussian_epsilon(float(gaussian_mu(0.9, 0.9)), 1e-5) == 0.0


def test_guesses_of_randomised_response_refute_it_as_rarely_as_claimed() -> None:
    right = 1 / (1 + math.exp(-1.0))  # what pure epsilon 1 allows
    counts = np.arange(201)
    refuted = np.array([guesses_refute(1.0, int(v), 200, 1000, 0.0, 0.05) for v in counts])
    share = stats.binom(200, right).pmf(counts)[refuted].sum()
    assert 0.02 < share <= 0.05


def test_a_delta_takes_away_what_guesses_may_show() -> None:
    plain, slack = (guesses_epsilon(95, 100, 100, delta, 0.05) for delta in (0.0, 1e-4))
    assert 0 < slack < plain


@pytest.mark.parametrize(("canaries", "guesses"), [(300, 100), (300, 30)])
def test_guesses_at_gaussian_canaries_refute_their_mu_as_rarely_as_claimed(
    canaries: int, guesses: int
) -> None:
    rng, mu, refuted = np.random.default_rng(0), 1.0, 0
    for _ in range(300):
        coins = rng.random(canaries) < 0.5
        scores = np.where(coins, mu, 0.0) + rng.normal(size=canaries) - mu / 2
        surest = np.argsort(-np.abs(scores))[:guesses]
        correct = int(((scores[surest] > 0) == coins[surest]).sum())
        refuted += guesses_refute_gaussian(mu, correct, guesses, canaries, 0.05)
        assert guesses_refute_gaussian(0.05, correct, guesses, canaries, 0.05)
    assert stats.binomtest(refuted, 300, 0.05, alternative="greater").pvalue > 1e-5


def test_the_curve_of_a_pure_event_is_that_of_randomised_response() -> None:
    epsilons, deltas = curve_of(Pure(1.0), 1.0)
    best = math.e / (1 + math.e)
    np.testing.assert_allclose(deltas, best - np.exp(epsilons) * (1 - best), atol=1e-12)
