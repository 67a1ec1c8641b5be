"""The attacker's bounds against a linear program over the extremal pair."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from discreet import Guarantee
from discreet.accounting import Approximate, Gaussian, Pure, gaussian_multiplier
from discreet.errors import InvalidParameter
from discreet.report.attack import (
    best_guess,
    detection_curve,
    detection_rate,
    odds_factor,
    posterior_bound,
)

BUDGETS = [(0.0, 0.0), (0.1, 0.0), (1.0, 1e-5), (1.0, 0.2), (3.0, 0.01), (8.0, 1e-6)]


def extremal_pair(epsilon, delta):
    """The pair every (epsilon, delta)-indistinguishable pair is post-processed from."""
    up = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    down = (1 - delta) / (1 + math.exp(epsilon))
    inside = np.array([delta, up, down, 0.0])
    return inside, inside[::-1]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("false_alarms", [1e-4, 0.01, 0.3, 0.9])
def test_detection_rate_is_the_most_powerful_test(epsilon, delta, false_alarms):
    inside, outside = extremal_pair(epsilon, delta)
    best = linprog(-inside, A_ub=[outside], b_ub=[false_alarms], bounds=[(0, 1)] * 4)
    assert detection_rate(epsilon, delta, false_alarms) == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_best_guess_is_the_total_variation(epsilon, delta):
    inside, outside = extremal_pair(epsilon, delta)
    expected = 0.5 + np.abs(inside - outside).sum() / 4
    assert best_guess(epsilon, delta) == pytest.approx(expected, abs=1e-12)


def test_absurd_budgets_give_certainty_not_an_overflow():
    assert odds_factor(5000.0) == math.inf
    assert detection_rate(5000.0, 0.0, 0.01) == 1.0
    assert best_guess(5000.0, 0.0) == 1.0
    assert detection_rate(1.0, 1.0, 0.01) == 1.0


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidParameter, match="epsilon"):
        odds_factor(-1.0)
    with pytest.raises(InvalidParameter, match="false_alarms"):
        detection_rate(1.0, 0.0, 0.0)


RATES = np.array([1e-3, 0.01, 0.1, 0.3, 0.5, 0.9])


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_curve_of_gaussian_noise_is_that_of_two_normal_laws(epsilon):
    noise = gaussian_multiplier(epsilon, 1e-6)
    claim = Guarantee(
        epsilon=epsilon, delta=1e-6, neighbours="zero-out", event=Gaussian(noise), theorem="t"
    )
    found = np.array(detection_curve(claim, RATES))
    exact = norm.cdf(norm.ppf(RATES) + 1 / noise)
    # A bound, so never below; a few points of the curve suffice to come close.
    assert (found >= exact - 1e-12).all()
    assert (found <= 1.03 * exact + 1e-3).all()


def test_the_curve_is_never_above_the_stated_point_and_says_1_where_nothing_is_promised():
    for event, epsilon, delta in ((Pure(1.0), 1.0, 0.0), (Approximate(1.0, 0.1), 1.0, 0.1)):
        claim = Guarantee(
            epsilon=epsilon, delta=delta, neighbours="zero-out", event=event, theorem="t"
        )
        stated = [detection_rate(epsilon, delta, rate) for rate in RATES]
        assert detection_curve(claim, RATES) == pytest.approx(stated, abs=1e-9)
    nothing = Guarantee(
        epsilon=1.0, delta=1.5, neighbours="zero-out", event=Approximate(1.0, 1.0), theorem="t"
    )
    assert detection_curve(nothing, [0.1, 0.5]) == [1.0, 1.0]


def test_of_an_ex_post_guarantee_the_reserve_counts():
    claim = Guarantee(
        epsilon=0.5, delta=0.0, neighbours="zero-out", event=Pure(2.0), theorem="t",
        kind="ex-post", reserved=(2.0, 0.0),
    )  # fmt: skip
    assert detection_curve(claim, [0.01]) == [pytest.approx(0.01 * math.exp(2))]


@pytest.mark.parametrize("prior", [0.001, 0.5, 0.999])
def test_how_sure_one_becomes_follows_from_the_odds(prior):
    after = posterior_bound(prior, 1.5)
    assert after / (1 - after) == pytest.approx(math.exp(1.5) * prior / (1 - prior))
    assert posterior_bound(prior, 1e9) == pytest.approx(1.0)
