"""Prices against quadrature, high precision and exact trade-off curves."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from discreet.accounting import (
    MODES,
    ZCDP,
    Approximate,
    BoundedRange,
    Composed,
    Gaussian,
    Laplace,
    LossTerms,
    PoissonGaussian,
    Pure,
    gaussian_delta,
)
from discreet.ledger.amounts import UNITS, down, real, total, up
from discreet.ledger.prices import basic_price, hybrid_price, mu_price, renyi_price


def test_costs_are_rounded_up_and_caps_down():
    third = Fraction(1, 3)
    assert Fraction(up(third), UNITS) > third > Fraction(down(third), UNITS)
    assert up(third) - down(third) == 1
    assert up(math.inf) is None
    assert up(math.nan) is None
    assert total([1, None]) is None


@pytest.mark.parametrize("epsilon", [2.0**-60, 1e-12, 1e-9, 1e-4, 0.3, 1.0, 5.0, 60.0])
@pytest.mark.parametrize("order", [2, 24, 1000])
def test_no_pure_event_is_cheaper_than_randomised_response(epsilon, order):
    with mpmath.workdps(80):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        p = 1 / (1 + mpmath.exp(-e))
        moment = p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)
        exact = mpmath.log(moment) / (a - 1)
        price = mpmath.mpf(renyi_price(Pure(epsilon), order)[0]) / UNITS
        assert exact <= price <= exact * (1 + mpmath.mpf(2) ** -30) + mpmath.mpf(2) ** -60


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.99, 1.0, 4.0, 30.0])
def test_the_mu_of_a_pure_event_covers_its_whole_trade_off_curve(epsilon):
    mu = math.sqrt(real(mu_price(Pure(epsilon))))
    alpha = np.linspace(0, 1, 20001)[1:-1]
    pure = np.maximum(1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
    assert (norm.cdf(norm.ppf(1 - alpha) - mu) <= np.maximum(pure, 0) + 1e-12).all()
    # and no smaller mu would do, at the fixed point of the curve
    fixed = 1 / (1 + math.exp(epsilon))
    assert norm.isf(fixed) - norm.ppf(fixed) == pytest.approx(mu, rel=1e-6)


def test_gaussian_prices_are_exact():
    assert mu_price(Gaussian(2.0)) == UNITS // 4
    assert renyi_price(Gaussian(2.0), 24) == (3 * UNITS, 0)
    assert mu_price(Composed((Gaussian(2.0),) * 4)) == UNITS
    divergence = quad(
        lambda x: norm.pdf(x) ** 5 * norm.pdf(x, loc=0.5) ** -4, -12, 12, epsabs=1e-14
    )[0]
    assert real(renyi_price(Gaussian(2.0), 5)[0]) == pytest.approx(math.log(divergence) / 4)


def test_a_failure_is_counted_apart_and_has_no_mu():
    event = Approximate(0.5, 1e-7)
    assert renyi_price(event, 24) == (renyi_price(Pure(0.5), 24)[0], up(1e-7))
    assert mu_price(event) is None
    assert mu_price(Approximate(0.5, 0.0)) == mu_price(Pure(0.5))
    assert basic_price(event, 1e-6) == (up(0.5), up(1e-7))


def test_a_narrow_range_is_cheaper_than_a_pure_event():
    wide, narrow = renyi_price(Pure(0.2), 10)[0], renyi_price(BoundedRange(0.2), 10)[0]
    assert narrow < wide
    assert narrow == up(10 * Fraction(0.2) ** 2 / 8)


def test_what_is_composed_costs_the_sum_and_what_is_not_known_infinity():
    parts = (Gaussian(3.0), Gaussian(3.0), Pure(0.1), Approximate(0.1, 1e-8))
    price = renyi_price(Composed(parts), 24)
    assert price[0] == sum(renyi_price(part, 24)[0] for part in parts)
    assert price[1] == up(1e-8)
    assert mu_price(Composed(parts)) is None
    assert mu_price(ZCDP(0.1)) is None
    assert renyi_price(ZCDP(0.5), 10) == (5 * UNITS, 0)


def test_what_costs_next_to_nothing_is_not_free():
    for event in (Pure(1e-18), Laplace(1e18), BoundedRange(1e-18), Gaussian(1e18)):
        assert renyi_price(event, 24)[0] > 0
        assert mu_price(event) > 0


def test_amplification_and_objective_perturbation_keep_their_own_curves():
    sampled = PoissonGaussian(2.0, 0.01, 1000, "zero-out")
    assert real(renyi_price(sampled, 24)[0]) / 24 == pytest.approx(0.0153, abs=5e-5)
    assert mu_price(sampled) is None
    epsilon, delta = basic_price(sampled, 1e-6)
    assert sampled.delta(real(epsilon)) <= real(delta) == pytest.approx(1e-6 / 16)
    tilted = MODES["logistic"].event(LossTerms.logistic(radius=1.0), 8.0, 4.0, "zero-out")
    assert real(renyi_price(tilted, 24)[0]) / 24 == pytest.approx(0.0103, abs=5e-5)
    assert mu_price(tilted) is None


def test_a_point_of_the_curve_is_taken_that_leaves_delta_for_others():
    noise = Gaussian(5.0)
    epsilon, delta = basic_price(noise, 1e-6, stated=(1.0, 1e-6))
    assert delta == up(1e-6 / 16)
    assert gaussian_delta(real(epsilon), 1 / 5.0) <= 1e-6 / 16
    assert basic_price(noise, 1e-6, stated=(3.0, 1e-9)) == (up(3.0), up(1e-9))
    assert basic_price(noise, 0.0)[0] is None  # no delta, no Gaussian noise


def test_the_hybrid_rule_tells_gaussian_noise_from_the_rest():
    parts = Composed((Gaussian(2.0), Gaussian(2.0), Pure(0.3)))
    assert hybrid_price(parts, 1e-6) == ((up(0.3), 0), UNITS // 2)
    assert hybrid_price(Pure(0.3), 1e-6) == ((up(0.3), 0), 0)
    assert hybrid_price(Gaussian(2.0), 1e-6) == ((0, 0), UNITS // 4)


def test_a_composed_event_with_failures_has_the_price_of_its_claim() -> None:
    event = Composed((Approximate(0.5, 4e-7), Approximate(0.5, 4e-7)))
    assert basic_price(event, 1e-6) == (None, up(1e-6 / 16))
    assert basic_price(event, 1e-6, (1.0, 8e-7)) == (up(1.0), up(8e-7))
