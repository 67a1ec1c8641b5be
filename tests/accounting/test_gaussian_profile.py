"""The Gaussian curves against 50-digit arithmetic and published calibrations."""

import math

import mpmath as mp
import numpy as np
import pytest
from dp_accounting import gaussian_mechanism

from discreet.accounting import (
    folded_delta,
    folded_multiplier,
    gaussian_delta,
    gaussian_multiplier,
    zcdp_rho,
)
from discreet.accounting.gaussian_profile import least, lowered, smallest_feasible
from discreet.errors import InvalidParameter

SHIFTS = [1e-6, 1e-3, 0.03, 0.0999, 0.1, 0.25, 1.0, 3.0, 12.0]
EPSILONS = [-30.0, -1.0, -1e-4, 0.0, 1e-6, 0.01, 0.4, 1.0, 5.0, 40.0]


def exact(epsilon: float, shift: float) -> mp.mpf:
    e, s = mp.mpf(epsilon), mp.mpf(shift)
    return mp.ncdf(s / 2 - e / s) - mp.exp(e) * mp.ncdf(-s / 2 - e / s)


@pytest.mark.parametrize("shift", SHIFTS)
def test_gaussian_curve_matches_high_precision(shift: float) -> None:
    with mp.workdps(400):
        for epsilon in EPSILONS:
            truth = exact(epsilon, shift)
            if truth < mp.mpf("1e-280"):
                continue
            assert gaussian_delta(epsilon, shift) == pytest.approx(float(truth), rel=1e-11)


@pytest.mark.parametrize("shift", SHIFTS)
def test_folded_curve_matches_its_definition(shift: float) -> None:
    with mp.workdps(60):
        for epsilon in [-2.0, 0.0, 0.01, 0.5, 1.0, 4.0]:
            e, s = mp.mpf(epsilon), mp.mpf(shift)
            root = max(mp.mpf(0), (e - s * s / 2) / s)
            # E(1 - exp(e - s|Z| - s^2/2))_+ in closed form over |Z| > root.
            truth = 2 * (mp.ncdf(-root) - mp.exp(e) * mp.ncdf(-root - s))
            if truth < mp.mpf("1e-40"):
                continue
            assert folded_delta(epsilon, shift) == pytest.approx(float(truth), rel=1e-11)


def test_folded_curve_by_quadrature() -> None:
    z = np.linspace(-12, 12, 400_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    for epsilon, shift in [(1.0, 2.0), (0.3, 0.5), (-0.5, 1.0)]:
        gain = np.maximum(0.0, 1 - np.exp(epsilon - shift * np.abs(z) - shift**2 / 2))
        value = float(np.trapezoid(gain * density, z))
        assert folded_delta(epsilon, shift) == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (1, 1e-5, 3.730631634816),
        (1, 1e-6, 4.22467888933),
        (1, 1e-2, 1.877875560907),
        (0.1, 1e-5, 30.74956613198),
        (0.5, 1e-6, 8.057618480725),
        (3, 1e-5, 1.390593456675),
        (8, 1e-6, 0.6529353843582),
        (0.01, 1e-7, 362.01834783),
        (0.1, 1e-6, 36.3046904262),
        (2, 1e-5, 1.9938124456),
        (4, 1e-5, 1.0811618495),
    ],
)
def test_gaussian_multiplier_vectors(epsilon: float, delta: float, sigma: float) -> None:
    found = gaussian_multiplier(epsilon, delta)
    assert found == pytest.approx(sigma, rel=1e-9)
    assert gaussian_delta(epsilon, 1 / found) <= delta
    assert gaussian_delta(epsilon, 1 / (found * (1 - 1e-9))) > delta


def test_the_exact_delta_of_a_multiplier_is_never_above() -> None:
    rng = np.random.default_rng(5)
    budgets = zip(10.0 ** rng.uniform(-2, 1.5, 150), 10.0 ** rng.uniform(-40, -1, 150), strict=True)
    with mp.workdps(120):
        for epsilon, delta in [(0.7135, 1.66e-14), *budgets]:
            shift = 1 / mp.mpf(gaussian_multiplier(epsilon, delta))
            assert exact(epsilon, shift) <= mp.mpf(delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "printed"),
    [
        (0.1, 1e-6, 52.755115),
        (0.5, 1e-6, 10.701593),
        (1, 1e-5, 5.002584),
        (1, 1e-6, 5.443438),
        (2, 1e-5, 2.599320),
        (4, 1e-5, 1.392521),
        (8, 1e-6, 0.825672),
    ],
)
def test_the_chapters_closed_form_is_private_and_costs_more_noise(
    epsilon: float, delta: float, printed: float
) -> None:
    closed = math.sqrt(2 * (math.log(1 / delta) + epsilon)) / epsilon
    assert closed == pytest.approx(printed, abs=6e-7)
    assert gaussian_delta(epsilon, 1 / printed) < delta
    # The order of the proofs: exact, by zCDP, by zCDP with a simpler conversion.
    exact = gaussian_multiplier(epsilon, delta)
    concentrated = 1 / math.sqrt(2 * zcdp_rho(epsilon, delta))
    assert 1.03 * exact < concentrated < 1.11 * exact
    assert 1.14 * exact < closed < 1.57 * exact
    assert concentrated < closed


def test_gaussian_multiplier_agrees_with_another_library() -> None:
    for epsilon, delta in [(0.3, 1e-4), (1.7, 1e-9), (6.0, 1e-3)]:
        other = gaussian_mechanism.get_sigma_gaussian(epsilon, delta)
        assert gaussian_multiplier(epsilon, delta) == pytest.approx(other, rel=1e-6)


def test_folded_vectors() -> None:
    assert folded_delta(1, 2) == pytest.approx(0.8763174594604, rel=1e-9)
    assert folded_delta(1 + math.log(0.75), 2) == pytest.approx(0.9072380945953, rel=1e-9)
    assert folded_multiplier(1, 1e-5) == pytest.approx(3.8841408046, rel=1e-9)


def test_a_gaussian_tail_is_never_exactly_zero() -> None:
    assert 0 < gaussian_delta(200.0, 0.1) < 1e-200
    assert gaussian_delta(1.0, 0.0) == 0
    assert gaussian_delta(-1.0, 0.0) == pytest.approx(1 - math.exp(-1))
    assert gaussian_delta(1.0, math.inf) == 1


def test_least_returns_the_feasible_side() -> None:
    assert least(lambda v: v >= 1e-9) >= 1e-9
    assert least(lambda v: False, limit=1e6) == math.inf


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0.1), (1, 0), (1, 1), (math.nan, 0.1)])
def test_bad_budgets_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(InvalidParameter):
        gaussian_multiplier(epsilon, delta)


def test_bad_curve_arguments_are_refused() -> None:
    with pytest.raises(InvalidParameter):
        gaussian_delta(math.nan, 1.0)
    with pytest.raises(InvalidParameter):
        folded_delta(1.0, -1.0)


@pytest.mark.parametrize("bound", [1e-12, 1e-6, 0.3])
def test_the_quick_search_finds_what_halving_finds_from_the_feasible_side(bound: float) -> None:
    for value in (
        lambda v: gaussian_delta(1.0, 1 / v),
        lambda v: min(1.0, round(3.0 / v**3, 14)),  # a rounded curve, flat in places
        lambda v: float(v < 7.0),  # a step
    ):
        slow = least(lambda v, value=value: value(v) <= bound)
        quick = smallest_feasible(value, bound)
        assert value(quick) <= bound
        assert quick == pytest.approx(slow, rel=1e-3 if value(1.0) == 1.0 else 1e-12)


def test_the_quick_search_says_when_nothing_will_do() -> None:
    assert smallest_feasible(lambda v: 1.0, 0.5, limit=1e6) == math.inf
    assert smallest_feasible(lambda v: 0.0, 0.5) < 1e-290


@pytest.mark.parametrize("start", [1e-9, 0.7, 3.0, 1e9])
@pytest.mark.parametrize("accuracy", [1e-3, 1e-12])
def test_what_is_found_is_feasible_and_no_larger_than_the_accuracy_says(start, accuracy):
    seen = []

    def value(v: float) -> float:
        seen.append(v)
        return gaussian_delta(0.3, 1 / v)

    for bound in (1e-3, 1e-6, 1e-12):
        found = smallest_feasible(value, bound, start=start, accuracy=accuracy)
        assert gaussian_delta(0.3, 1 / found) <= bound
        assert gaussian_delta(0.3, (1 + 2 * accuracy) / found) > bound
    # Bisection to that accuracy takes 14 and 44 steps from a bracket of a factor of 4.
    assert len(seen) <= 3 * 24
    assert smallest_feasible(
        lambda v: 1.0, 0.5, limit=100.0, start=start if start < 100 else 1.0
    ) == (math.inf)


def test_the_multiplier_is_the_number_that_bisection_alone_finds() -> None:
    random = np.random.default_rng(0)
    for _ in range(30):
        epsilon, delta = 10 ** random.uniform(-3, 2), 10 ** random.uniform(-30, -0.1)
        goal = lowered(delta)
        slow = least(lambda s, e=epsilon, goal=goal: gaussian_delta(e, 1 / s) <= goal)
        assert gaussian_multiplier(epsilon, delta) == slow
