"""Tiny rates and tiny deltas of random batches: closed forms, many digits, a second accountant."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from mpmath import mp, mpf
from scipy import fft

from discreet.accounting import (
    CappedPoissonGaussian,
    Composed,
    Event,
    FixedSizeGaussian,
    Gaussian,
    Guarantee,
    PoissonGaussian,
    epsilon_at,
)
from discreet.accounting.batch_losses import _RAISED, fixed_size_profile, poisson_profiles
from discreet.accounting.gaussian_profile import gaussian_profile
from discreet.accounting.loss_grid import ROUNDING, LossGrid
from discreet.bounds import Array, Neighbours

# Tiny rates.


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "neighbours"),
    [(1.0, 1e-4, 200_000, "zero-out"), (1.0, 1e-3, 20_000, "replace-one")],
)
def test_tiny_rates_cost_what_another_accountant_says(
    sigma: float, rate: float, steps: int, neighbours: Neighbours
) -> None:
    replaced = neighbours == "replace-one"
    kinds = NeighboringRelation
    low, high = (
        privacy_loss_distribution.from_gaussian_mechanism(
            sigma,
            value_discretization_interval=rate / 2,
            sampling_prob=rate,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
            neighboring_relation=kinds.REPLACE_ONE if replaced else kinds.ADD_OR_REMOVE_ONE,
        ).self_compose(steps)
        for pessimistic in (False, True)
    )
    event = PoissonGaussian(sigma, rate, steps, neighbours)
    found = epsilon_at(event, 1e-6)
    assert low.get_epsilon_for_delta(1e-6) <= found <= 1.001 * high.get_epsilon_for_delta(1e-6)


# Tiny deltas.


def two_batches(sigma: float, rate: float, epsilon: float) -> float:
    """Return delta of two batches, with the row over without it, in many digits."""
    s, q, e = mpf(sigma), mpf(rate), mpf(epsilon)

    def once(x: mpf) -> mpf:
        if mp.exp(x) <= 1 - q:
            return 1 - mp.exp(x)
        z = s * mp.log((mp.expm1(x) + q) / q) + 1 / (2 * s)
        with_row = (1 - q) * mp.ncdf(-z) + q * mp.ncdf(1 / s - z)
        return with_row - mp.exp(x) * mp.ncdf(-z)

    def term(z: mpf) -> mpf:
        ratio = (1 - q) + q * mp.exp((z - 1 / (2 * s)) / s)
        return mp.npdf(z) * ratio * once(e - mp.log(ratio))

    # The curve of one batch has a kink, where a loss leaves it no room.
    kink = s * mp.log((mp.exp(e) / (1 - q) - 1 + q) / q) + 1 / (2 * s)
    return float(mp.quad(term, sorted([-30, kink, *range(-8, 60, 2)])))


@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.01), (3.0, 0.2), (0.7, 1e-3)])
def test_two_batches_are_exact_far_below_the_rounding_of_transforms(
    sigma: float, rate: float
) -> None:
    event, depths = PoissonGaussian(sigma, rate, 2, "zero-out"), set()
    with mp.workdps(32):
        for epsilon in (0.5 / sigma, 14.0 / sigma):
            exact = two_batches(sigma, rate, epsilon)
            assert exact <= event.delta(epsilon) <= 1.02 * exact
            depths.add(exact)
    assert min(depths) < 1e-25


def test_a_delta_has_no_floor_by_the_number_of_batches() -> None:
    for kind in (PoissonGaussian, FixedSizeGaussian):
        event = kind(2.0, 1e-3, 10_000, "zero-out")
        assert event.delta(40.0) < 1e-100
        deltas = [1e-6, 1e-12, 1e-20, 1e-40]
        costs = [epsilon_at(event, delta) for delta in deltas]
        assert costs == sorted(costs)
        assert costs[-1] < 12.0


def test_a_delta_asked_for_with_others_is_as_small_as_alone() -> None:
    event, epsilons = PoissonGaussian(2.0, 0.05, 2000, "zero-out"), np.array([8.0, 12.0, 24.0])
    alone = [float(event.profile(np.array([epsilon]))[0]) for epsilon in epsilons]
    assert event.profile(epsilons) == pytest.approx(alone, rel=1e-3)


@pytest.mark.parametrize("tilt", [0.0, 2.0, 5.0, 12.0])
def test_tilted_gaussian_releases_add_up_to_one(tilt: float) -> None:
    shift, times, gap = 0.1, 400, 0.001
    curve = gaussian_profile(gap * np.arange(3000), shift)
    one = LossGrid.joined(gap, curve, curve)
    summed = (one.tilted(tilt) if tilt else one).repeated(times, 1e-15)
    for at in np.arange(0.0, 36.0, 0.5):
        exact = gaussian_profile(np.array([at]), shift * math.sqrt(times))[0]
        found, hidden = summed.deltas(np.array([at]))[0], summed.hidden(np.array([at]))[0]
        assert exact <= found <= 1.01 * exact + 2 * hidden + summed.infinite
    # The tilt 5 is that of a loss of 22, where the curve is far below rounding.
    if tilt == 5.0:
        assert summed.deltas(np.array([22.0]))[0] < 1e-20


@pytest.mark.parametrize("tilt", [0.0, 0.3, 2.0])
def test_tilted_coins_have_binomial_tails(tilt: float) -> None:
    epsilon, times = 0.2, 300
    curve = np.array([math.expm1(epsilon) / (1 + math.exp(epsilon)), 0.0])
    one = LossGrid.joined(epsilon, curve, curve)
    summed = (one.tilted(tilt) if tilt else one).repeated(times, 1e-15)
    with mp.workdps(40):
        chance = 1 / (1 + mp.exp(-mpf(epsilon)))
        for at in (0.0, 5.1, 12.3, 20.2, 31.0):
            exact = mp.fsum(
                mp.binomial(times, k) * chance**k * (1 - chance) ** (times - k)
                * (1 - mp.exp(mpf(at) - mpf(epsilon) * (2 * k - times)))
                for k in range(times + 1) if epsilon * (2 * k - times) > at
            )  # fmt: skip
            found, hidden = summed.deltas(np.array([at]))[0], summed.hidden(np.array([at]))[0]
            assert exact <= found <= 1.0001 * float(exact) + 2 * hidden


# What the numbers rest on.


def in_long_numbers(losses: LossGrid, times: int, size: int) -> Array:
    circle = np.zeros(size, dtype=np.longdouble)
    places = (losses.first + np.arange(len(losses.masses))) % size
    np.add.at(circle, places, losses.masses.astype(np.longdouble))
    power, base, left = np.ones(1, dtype=np.clongdouble), fft.rfft(circle), times
    while left:
        power, base, left = (power * base if left % 2 else power), base * base, left // 2
    return np.asarray(fft.irfft(power, size))


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are no longer than doubles here"
)
@pytest.mark.parametrize("tilt", [0.0, 4.0])
@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(1.0, 0.01, 1000), (5.0, 0.3, 50)],
)
def test_transforms_hide_less_than_is_paid_for(
    sigma: float, rate: float, steps: int, tilt: float
) -> None:
    once = PoissonGaussian(sigma, rate, steps, "zero-out")._once(1e-18)[0]
    once = once.tilted(tilt) if tilt else once
    summed = once.repeated(steps, 1e-15)
    size = fft.next_fast_len(len(summed.masses), real=True)
    exact = np.roll(in_long_numbers(once, steps, size), -(summed.first % size))
    missing = np.maximum(exact[: len(summed.masses)], 0.0) - summed.masses
    # Any set of losses: even all cells at which masses are too small, together.
    worst = float(np.max(np.abs(np.cumsum(missing[::-1]))))
    assert worst <= 0.5 * steps * ROUNDING


@pytest.mark.parametrize("rate", [1e-4, 0.1, 0.9])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 9.0, 11.0, 300.0])
def test_curves_of_one_batch_are_never_too_low_by_more_than_they_are_raised(
    sigma: float, rate: float
) -> None:
    def gaussian(epsilon: mpf, shift: mpf) -> mpf:
        near, far = (sign * shift / 2 - epsilon / shift for sign in (1, -1))
        return mp.ncdf(near) - mp.exp(epsilon) * mp.ncdf(far)

    def replaced(epsilon: mpf) -> mpf:
        s, q = mpf(sigma), mpf(rate)
        a = mp.exp(1 / (2 * s * s)) * (1 - q) / q
        z = s * (epsilon / 2 + mp.asinh(a * mp.sinh(epsilon / 2)))
        up, none, down = (mp.ncdf(m / s - z) for m in (1, 0, -1))
        return q * up - mp.exp(epsilon) * q * down - mp.expm1(epsilon) * (1 - q) * none

    s, q = mpf(sigma), mpf(rate)
    exact: list[tuple[Callable[[Array], Array], Callable[[mpf], mpf]]] = [
        (
            lambda e: poisson_profiles(e, sigma, rate, "zero-out")[0],
            lambda e: q * gaussian(mp.log1p(mp.expm1(e) / q), 1 / s),
        ),
        (
            lambda e: fixed_size_profile(e, sigma, rate),
            lambda e: q * gaussian(mp.log1p(mp.expm1(e) / q), 2 / s),
        ),
        (lambda e: poisson_profiles(e, sigma, rate, "replace-one")[0], replaced),
    ]
    with mp.workdps(400):
        for depth in (0.0, 0.3, 1.0, 4.0, 10.0, 20.0, 25.0):
            epsilon = math.log1p(rate * math.expm1(min(depth / sigma, 600.0)))
            for ours, truth in exact:
                value = truth(mpf(epsilon))
                if value > 1e-150:
                    assert mpf(ours(np.array([epsilon]))[0]) >= value * (1 - mpf(_RAISED) / 2)


# Composition.


@pytest.mark.parametrize(
    "event",
    [
        PoissonGaussian(2.0, 0.01, 1000, "zero-out"),
        FixedSizeGaussian(8.0, 0.01, 1000, "replace-one"),
        CappedPoissonGaussian(2.0, 0.01, 1000, "replace-one", cap=150, n_rows=10_000),
    ],
    ids=lambda event: event.name,
)
def test_thirty_equal_guarantees_are_composed_at_once(event: PoissonGaussian) -> None:
    one = Guarantee(
        epsilon=epsilon_at(event, 1e-6),
        delta=1e-6,
        neighbours=event.neighbours,
        event=event,
        theorem="batches",
    )
    start = time.process_time()
    whole = one.compose(*[one] * 29)
    assert time.process_time() - start < 1.0
    together = event.repeated(30)[0]
    assert together.steps == 30_000  # type: ignore[attr-defined]
    assert whole.epsilon == epsilon_at(together, whole.delta)


def test_batches_drawn_alike_merge_with_their_own_only() -> None:
    mixed = (
        PoissonGaussian(2.0, 0.01, 10, "zero-out"),
        Gaussian(3.0),
        PoissonGaussian(2.0, 0.01, 20, "zero-out"),
        PoissonGaussian(2.5, 0.01, 5, "zero-out"),
    )
    assert Composed(mixed).merged() == (
        PoissonGaussian(2.0, 0.01, 30, "zero-out"),
        PoissonGaussian(2.5, 0.01, 5, "zero-out"),
        Gaussian(3.0),
    )


def test_different_batches_together_cost_no_less_than_another_accountant_says() -> None:
    events: tuple[Event, ...] = tuple(
        PoissonGaussian(sigma, rate, 300, "zero-out") for sigma, rate in [(1.0, 0.01), (2.0, 0.05)]
    )
    coarse = {"value_discretization_interval": 5e-4}
    low, high = (
        privacy_loss_distribution.from_gaussian_mechanism(
            1.0, sampling_prob=0.01, **options
        )
        .self_compose(300)
        .compose(
            privacy_loss_distribution.from_gaussian_mechanism(
                2.0, sampling_prob=0.05, **options
            ).self_compose(300)
        )
        for options in (
            {"pessimistic_estimate": False, "use_connect_dots": False, **coarse},
            {"pessimistic_estimate": True, "use_connect_dots": True, **coarse},
        )
    )  # fmt: skip
    found = epsilon_at(Composed(events), 1e-6)
    assert low.get_epsilon_for_delta(1e-6) <= found <= 1.01 * high.get_epsilon_for_delta(1e-6)


def test_any_number_of_batches_is_priced_in_bounded_time_and_memory() -> None:
    start = time.process_time()
    for steps in (10**11, 10**18, 10**40):
        assert PoissonGaussian(1.0, 1e-4, steps, "zero-out").delta(1.0) > 0.9
    assert time.process_time() - start < 1.0
