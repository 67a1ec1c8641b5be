"""Conversions between zCDP, Renyi and (epsilon, delta)."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

from discreet.accounting import rdp_delta, zcdp_delta, zcdp_epsilon, zcdp_rho
from discreet.accounting.events import Gaussian


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"),
    [
        (0.1, 1e-6, 0.0003210477),
        (0.5, 1e-6, 0.0066415244),
        (1, 1e-5, 0.0305565952),
        (1, 1e-6, 0.0243559704),
        (2, 1e-5, 0.1082563638),
        (4, 1e-5, 0.3731439828),
        (8, 1e-6, 1.0523580046),
    ],
)
def test_zcdp_vectors(epsilon: float, delta: float, rho: float) -> None:
    assert zcdp_rho(epsilon, delta) == pytest.approx(rho, abs=6e-11)
    assert zcdp_epsilon(zcdp_rho(epsilon, delta), delta) == pytest.approx(epsilon, rel=1e-9)
    assert zcdp_delta(zcdp_rho(epsilon, delta), epsilon) <= delta


def test_zcdp_epsilon_is_the_minimum_over_orders() -> None:
    orders = 1 + np.exp(np.linspace(-8, 14, 400_001))
    for rho, delta in [(1e-4, 1e-8), (0.05, 1e-5), (3.0, 1e-3)]:
        candidates = (
            rho * orders
            + np.log((orders - 1) / orders)
            - (math.log(delta) + np.log(orders)) / (orders - 1)
        )
        assert zcdp_epsilon(rho, delta) == pytest.approx(float(candidates.min()), rel=1e-8)


def test_rdp_conversion_finds_the_same_minimum() -> None:
    for rho in [1e-3, 0.02, 0.5]:
        for epsilon in [0.1, 1.0, 5.0]:
            value = rdp_delta(lambda order, r=rho: r * order, epsilon)
            assert value == pytest.approx(zcdp_delta(rho, epsilon), rel=1e-6)


def test_rdp_conversion_is_valid_and_beats_another_accountant() -> None:
    event = Gaussian(3.0)
    accountant = RdpAccountant()
    accountant.compose(dp_event.GaussianDpEvent(3.0))
    for epsilon in [0.5, 1.0, 2.0]:
        ours = rdp_delta(event.rdp, epsilon)
        assert event.delta(epsilon) <= ours <= accountant.get_delta(epsilon) * (1 + 1e-9)


def test_unknown_renyi_curve_gives_no_claim() -> None:
    assert rdp_delta(lambda order: math.inf, 5.0) == 1.0


def exact_log_delta(rho: float, epsilon: float) -> mpmath.mpf:
    """Return the log of the least delta over all orders, in fifty digits."""
    cost, goal = mpmath.mpf(rho), mpmath.mpf(epsilon)
    low, high = mpmath.mpf(-60), mpmath.mpf(60)
    for _ in range(180):
        middle = (low + high) / 2
        gap = mpmath.exp(middle)
        falls = (2 * gap + 1) * cost - goal - mpmath.log1p(1 / gap) < 0
        low, high = (middle, high) if falls else (low, middle)
    gap = mpmath.exp(low)
    return gap * (cost * (1 + gap) - goal - mpmath.log1p(1 / gap)) - mpmath.log1p(gap)


def test_rounding_makes_no_claim_of_zcdp_too_small() -> None:
    random = np.random.default_rng(0)
    with mpmath.workdps(50):
        for _ in range(30):
            delta, rho = 10 ** random.uniform(-15, -0.02), 10 ** random.uniform(-8, 8)
            epsilon = 10 ** random.uniform(-4, 8)
            log_delta = mpmath.log(mpmath.mpf(delta))
            assert exact_log_delta(rho, zcdp_epsilon(rho, delta)) <= log_delta
            assert exact_log_delta(zcdp_rho(epsilon, delta), epsilon) <= log_delta
