"""The rule for the logistic loss: slope and curvature of a record bounded together."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit, ndtr

from discreet.accounting import (
    MODES,
    Composed,
    LossTerms,
    default_strength,
    gamma_epsilon,
    gamma_floor,
    gamma_scale,
    gaussian_delta,
    gaussian_multiplier,
)
from discreet.accounting.curves import kinked_rdp, logistic_loss, logistic_noise
from discreet.bounds import Array, Neighbours
from discreet.tuned.algorithms import RIDGE_NOISE

LOGISTIC = LossTerms.logistic(radius=1.0)
KAPPAS = [1e-3, 0.1, 1.0, 4.0, 30.0, 1e3]


def brute_force(noise: Array, kappa: float) -> Array:
    """Maximise over a fine grid of shares of the slope, both ends included."""
    share = np.concatenate([[0.0], expit(np.linspace(-25, 25, 20_001)), [1.0]])
    bend = np.log1p(kappa * share * (1 - share))
    return np.array([np.max(share * x + bend) for x in noise])


@pytest.mark.parametrize("kappa", KAPPAS)
def test_loss_is_the_largest_over_all_shares_of_the_slope(kappa: float) -> None:
    noise = kappa * np.concatenate([np.linspace(-1.5, 1.5, 61), [1e-6, 1 - 1e-6, 1 / 3]])
    noise = np.append(noise, [0.0, 0.7, 3.0, 11.0])
    truth, found = brute_force(noise, kappa), logistic_loss(noise, kappa)
    assert np.all(found >= truth - 1e-14 * kappa)
    # Chords between 4097 points: a few millionths too much, and never more than this.
    assert np.all(found <= truth + min(5e-6 * kappa, 4e-5) + 1e-8)
    assert np.all(found[noise >= kappa] == noise[noise >= kappa])
    assert np.all(found[noise <= -kappa] == 0.0)


@pytest.mark.parametrize("spent", [0.0, 1.0])
@pytest.mark.parametrize("kappa", KAPPAS)
def test_noise_is_the_inverse_from_the_safe_side(kappa: float, spent: float) -> None:
    losses = np.append(kappa * np.linspace(0.01, 2.5, 60), [1e-3, 0.3, 1.0, 8.0, 40.0])
    noise = logistic_noise(losses, kappa, spent)
    truth = brute_force(noise, kappa) + spent * noise
    assert np.all(truth <= losses * (1 + 1e-12))
    assert np.all(truth >= losses - min(5e-6 * kappa, 4e-5) - 1e-8)
    assert np.all(logistic_loss(noise, kappa) + spent * noise == pytest.approx(losses, rel=1e-9))


def test_the_loss_rises_and_never_faster_than_the_noise() -> None:
    for kappa in KAPPAS:
        noise = kappa * np.linspace(-1.2, 1.2, 2001)
        steps = np.diff(logistic_loss(noise, kappa)) / np.diff(noise)
        assert np.all(steps >= -1e-12)
        assert np.all(steps <= 1 + 1e-9)
        assert np.all(np.diff(steps) >= -1e-9)
        # The Renyi bound rests on the coarser max(kappa, noise).
        assert np.all(logistic_loss(noise, kappa) <= np.maximum(kappa, noise) * (1 + 1e-12))


@pytest.mark.parametrize("kappa", [0.0, 1e-12, 1e12, 1e300, math.inf])
def test_extreme_strengths_fail_closed(kappa: float) -> None:
    losses = np.array([0.0, 1e-9, 1.0, 50.0, 1e6])
    noise = logistic_noise(losses, kappa)
    assert np.all(noise <= losses)
    assert np.all(np.diff(noise[np.isfinite(noise)]) >= 0)
    if kappa <= 1e-12:
        assert noise[1:] == pytest.approx(losses[1:], rel=1e-9)
    else:
        # Curvature without limit: no epsilon below its cost hides any noise at all.
        assert np.all(noise[:3] < 0)
    assert np.all(logistic_loss(losses, kappa) >= losses)
    strength = max(1.0 / max(kappa, 1e-300), 5e-324)
    event = MODES["logistic"].event(LOGISTIC, 2.0, strength, "zero-out")
    assert 0 < event.delta(1.0) <= 1
    assert event.delta(0.0) <= 1


# The worst record of all, by dynamic programming.


def mass(low: Array, high: Array) -> Array:
    # Differences are taken in the tail where they are accurate.
    return np.asarray(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


def worst_record(epsilon: float, sigma: float, kappa: float) -> tuple[float, Array, Array]:
    """Return the largest divergence of any run with a record, and a pair that has it.

    Along the row, the record moves the noise ``b`` by the share ``q(b)`` of the row,
    and the logit of ``q`` rises, by at most ``kappa`` per unit of ``b``. In each cell it
    stands still or rises at full speed. The mass of a cell depends on its ends only, so
    what is found is attained: it may be too little, never too much.
    """
    width = min(sigma / 20, 0.4 / kappa)
    cells = np.arange(-9 * sigma - 1, 4 * sigma, width)
    share = np.append(expit(np.arange(-16, 16, kappa * width)), 1.0)
    still = np.arange(len(share))
    up = np.minimum(still + 1, len(share) - 1)
    without = mass(cells / sigma, (cells + width) / sigma)
    value, moves = np.zeros(len(share)), []
    for low, q in zip(cells[::-1], without[::-1], strict=True):
        gains = []
        for end in (still, up):
            p = mass((low + share) / sigma, (low + width + share[end]) / sigma)
            gains.append(np.maximum(p - math.exp(epsilon) * q, 0) + value[end])
        moves.append(np.where(gains[1] > gains[0], up, still))
        value = np.maximum(*gains)
    path = [int(value.argmax())]
    for move in moves[::-1]:
        path.append(int(move[path[-1]]))
    at = share[path]
    with_ = mass((cells + at[:-1]) / sigma, (cells + width + at[1:]) / sigma)
    return float(value.max()), with_, without


def hockey_stick(p: Array, q: Array, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("delta", [1e-5, 1e-2])
@pytest.mark.parametrize("times", [0.5, 1.0, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_no_record_is_worse_than_the_claim(epsilon: float, times: float, delta: float) -> None:
    kappa = times * epsilon
    sigma = MODES["logistic"].sigma(LOGISTIC, epsilon, delta, 1 / kappa, "zero-out")
    found, p, q = worst_record(epsilon, sigma, kappa)
    assert found == pytest.approx(hockey_stick(p, q, epsilon), rel=1e-9)
    assert found <= delta * (1 + 1e-9)
    event = MODES["logistic"].event(LOGISTIC, sigma, 1 / kappa, "zero-out")
    for other in (0.0, 0.3 * epsilon, 0.7 * epsilon, 1.5 * epsilon):
        assert hockey_stick(p, q, other) <= event.delta(other) * (1 + 1e-9) + 1e-15
    # The search is strong: up to strength R^2/epsilon the claim is attained.
    assert found >= delta * (0.99 if times <= 1 else 0.5 if times <= 1.5 else 0)


@pytest.mark.parametrize(("epsilon", "excess"), [(0.1, 30.0), (1.0, 20.0), (8.0, 1.5)])
def test_a_rule_without_the_curvature_is_caught(epsilon: float, excess: float) -> None:
    """Planted: the plain Gaussian noise at a quarter of strength R^2/epsilon."""
    kappa, delta = 4 * epsilon, 1e-5
    plain = gaussian_multiplier(epsilon, delta)
    found, _, _ = worst_record(epsilon, plain, kappa)
    assert found > excess * gaussian_delta(epsilon, 1 / plain)
    claim = MODES["logistic"].event(LOGISTIC, plain, 1 / kappa, "zero-out").delta(epsilon)
    assert found <= claim


@pytest.mark.parametrize("kappa", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_renyi_bounds_hold_for_the_worst_records(kappa: float, sigma: float) -> None:
    event = MODES["logistic"].event(LOGISTIC, sigma, 1 / kappa, "zero-out")
    for epsilon in (0.3, 1.0, 3.0):
        _, p, q = worst_record(epsilon, sigma, kappa)
        keep = (p > 1e-290) & (q > 1e-290)
        for order in (1.5, 3.0, 10.0):
            for a, b in ((p[keep], q[keep]), (q[keep], p[keep])):
                found = math.log(float(np.sum(a**order * b ** (1 - order)))) / (order - 1)
                assert found <= event.rdp(order) * (1 + 1e-9)
                assert found <= kinked_rdp(kappa, 1 / sigma, order) * (1 + 1e-9)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_general_rule_is_never_better(neighbours: Neighbours) -> None:
    epsilons = np.linspace(0.0, 5.0, 41)
    for kappa in (0.1, 0.5, 2.0, 10.0, 1e3):
        for sigma in (0.5, 2.0, 30.0):
            ours, general = (
                MODES[mode].event(LOGISTIC, sigma, 1 / kappa, neighbours).profile(epsilons)
                for mode in ("logistic", "sharp")
            )
            assert np.all(ours <= general * (1 + 1e-9))


# A replacement: two rows that nearly oppose each other in the plane.


def density(row: Array, at: Array, strength: float, sigma: float, tilt: float) -> Array:
    """Return the density of the minimiser at ``at`` for one record and a tilt along axis 1."""
    share = expit(-at @ row)
    slope = strength * at + np.array([0.0, tilt]) - share[..., None] * row
    # The determinant of strength I + share (1 - share) row row'.
    bend = strength * (strength + share * (1 - share) * float(row @ row))
    return np.asarray(np.exp(-(slope**2).sum(-1) / (2 * sigma**2)) * bend)


def test_replacing_a_row_in_the_plane() -> None:
    """On a line two rows share one slope between them; in the plane both can be steep."""
    epsilons = np.array([0.0, 0.5, 1.0, 2.0, 4.0])
    for kappa, delta, least in ((1.0, 1e-2, 0.6), (4.0, 1e-4, 0.0)):
        strength = 1 / kappa
        own = MODES["logistic"].sigma(LOGISTIC, 1.0, delta, strength, "replace-one")
        plain = 2 * gaussian_multiplier(1.0, delta)
        largest = {}
        for sigma in (own, plain):
            event = MODES["logistic"].event(LOGISTIC, sigma, strength, "replace-one")
            claim, largest[sigma] = event.profile(epsilons), 0.0
            reach = (7 * sigma + 2) / strength
            side = np.linspace(-reach, reach, 241)
            for angle, tilt in ((0.05, 160.0), (0.05, 320.0), (0.2, 120.0)):
                at = np.stack(np.meshgrid(side, side - tilt / strength, indexing="ij"), axis=-1)
                p, q = (
                    density(np.array([x, math.sin(angle)]), at, strength, sigma, tilt)
                    for x in (math.cos(angle), -math.cos(angle))
                )
                area = (side[1] - side[0]) ** 2 / (2 * math.pi * sigma**2)
                assert area * p.sum() == pytest.approx(1.0, abs=1e-5)
                truth = [area * hockey_stick(p, q, float(e)) for e in epsilons]
                assert np.all(truth <= claim * (1 + 1e-6))
                largest[sigma] = max(largest[sigma], truth[2])
        assert least * delta < largest[own] <= delta
        # Twice the plain Gaussian noise is not enough for so little strength.
        assert (largest[plain] > 5 * delta) == (kappa == 4.0)


# Composition.


@pytest.mark.parametrize(
    ("kappa", "shift", "epsilon", "slack"),
    [
        (1.0, 0.5, 4.0, 1.03),
        (2.0, 0.5, 4.0, 1.05),
        (4.0, 1.0, 8.0, 1.03),
        (1.0, 0.5, 2.0, 1.15),
        (8.0, 1.0, 8.0, 1.25),
        (2.0, 0.5, 2.0, 1.5),
    ],
)
def test_two_fits_against_the_sum_of_their_losses(
    kappa: float, shift: float, epsilon: float, slack: float
) -> None:
    event = MODES["logistic"].event(LOGISTIC, 1 / shift, 1 / kappa, "zero-out")
    claim = Composed((event, event)).delta(epsilon)
    edges = np.linspace(-9, 9, 1801)
    weight, middle = mass(edges[:-1], edges[1:]), (edges[:-1] + edges[1:]) / 2
    loss = logistic_loss(shift * middle + shift**2 / 2, kappa)
    gap = np.minimum(epsilon - loss[:, None] - loss, 0)
    # Each loss is a bound itself, so the claim may be the smaller one of the two.
    above = float(weight @ -np.expm1(gap) @ weight)
    assert claim <= slack * above
    # A true pair of runs is what no claim may be under.
    pairs = [worst_record(part * epsilon, 1 / shift, kappa)[1:] for part in (0.4, 0.5, 1.0)]
    truth = max(hockey_stick(np.outer(p, p), np.outer(q, q), epsilon) for p, q in pairs)
    assert truth <= min(claim, above * (1 + 1e-3))
    if epsilon >= 2 * kappa:
        assert claim <= 1.3 * truth


# The default strength.

BUDGETS = [(0.1, 0.0), (0.1, 1e-6), (1.0, 0.0), (1.0, 1e-5), (8.0, 0.0), (8.0, 1e-6), (2.0, 0.2)]


def noise_at(strength: float, epsilon: float, delta: float, neighbours: Neighbours) -> float:
    if delta == 0:
        return gamma_scale(LOGISTIC, epsilon, strength, neighbours)
    return MODES["logistic"].sigma(LOGISTIC, epsilon, delta, strength, neighbours)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_default_strength_buys_a_weaker_ridge_with_a_tenth_more_noise(
    epsilon: float, delta: float, neighbours: Neighbours
) -> None:
    floor = gamma_floor(LOGISTIC, epsilon, neighbours)
    assert MODES["logistic"].floor(LOGISTIC, epsilon, neighbours) == floor
    strength, noise = default_strength(LOGISTIC, None, epsilon, delta, neighbours, 3)
    assert noise == noise_at(strength, epsilon, delta, neighbours)
    first = noise_at(floor, epsilon, delta, neighbours)
    assert noise <= RIDGE_NOISE * first * (1 + 1e-9)
    assert strength < 0.65 * floor
    # It is the weakest of them, to the accuracy of the search.
    assert noise_at(0.999 * strength, epsilon, delta, neighbours) > RIDGE_NOISE * first
    if delta == 0:
        assert gamma_epsilon(LOGISTIC, noise, strength, neighbours) <= epsilon * (1 + 1e-12)
    else:
        event = MODES["logistic"].event(LOGISTIC, noise, strength, neighbours)
        assert event.delta(epsilon) <= delta


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-6, 1e-5), (1e-3, 0.01), (0.1, 0.9)])
def test_default_strength_where_delta_is_no_smaller_than_epsilon(
    epsilon: float, delta: float, neighbours: Neighbours
) -> None:
    """Delta alone could then pay for more curvature than calibration allows."""
    strength, noise = default_strength(LOGISTIC, None, epsilon, delta, neighbours, 3)
    rule = MODES["logistic"]
    assert strength >= rule.needed(LOGISTIC, epsilon, neighbours) * (1 - 1e-12)
    first = noise_at(rule.floor(LOGISTIC, epsilon, neighbours), epsilon, delta, neighbours)
    assert noise <= RIDGE_NOISE * first * (1 + 1e-9)
    assert rule.event(LOGISTIC, noise, strength, neighbours).delta(epsilon) <= delta


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_larger_budgets_need_less_noise_and_strength(neighbours: Neighbours) -> None:
    for delta in (0.0, 1e-6):
        found = [
            default_strength(LOGISTIC, None, epsilon, delta, neighbours, 3)
            for epsilon in (0.05, 0.2, 0.9, 1.0, 1.1, 4.0, 20.0)
        ]
        for stronger, weaker in pairwise(found):
            assert weaker[0] < stronger[0]
            assert weaker[1] < stronger[1]
    noises = [
        default_strength(LOGISTIC, None, 1.0, delta, neighbours, 3)[1]
        for delta in (1e-9, 1e-6, 1e-5, 1e-3, 0.1)
    ]
    assert noises == sorted(noises, reverse=True)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_noise_falls_with_strength_down_to_the_refusal(neighbours: Neighbours) -> None:
    needed = MODES["logistic"].needed(LOGISTIC, 1.0, neighbours)
    strengths = needed * np.array([1.05, 1.5, 3.0, 6.0, 12.0, 24.0])
    for delta in (0.0, 1e-5):
        noises = [noise_at(float(s), 1.0, delta, neighbours) for s in strengths]
        assert all(a >= b * (1 - 1e-9) for a, b in pairwise(noises))
        assert noises[0] > 5 * noises[-1]
    sharp = MODES["sharp"].sigma(LOGISTIC, 1.0, 1e-5, float(strengths[1]), neighbours)
    assert noise_at(float(strengths[1]), 1.0, 1e-5, neighbours) < 0.8 * sharp


def test_a_huge_epsilon_does_not_do_away_with_the_ridge() -> None:
    for epsilon, delta in ((100.0, 1e-6), (1000.0, 1e-6), (100.0, 0.0)):
        strength, _ = default_strength(LOGISTIC, None, epsilon, delta, "zero-out", 5)
        assert strength == pytest.approx(1 / (16 * epsilon), rel=1e-3)


def test_the_original_pure_rule_finds_a_strength_for_other_losses_too() -> None:
    huber = replace(LOGISTIC, smoothness=1.0, trace=1.0, one_signed=False, self_bounded=False)
    for epsilon in (0.1, 3.0, 50.0):
        strength, scale = default_strength(huber, "kst12", epsilon, 0.0, "zero-out", 5, 10.0)
        assert strength >= 2 / epsilon
        assert scale == pytest.approx(2 / epsilon)


def test_what_a_tenth_more_noise_buys_is_what_the_docs_say() -> None:
    """Half the strength R^2/epsilon at epsilon 1, a fifth at epsilon 8."""
    for epsilon, part in ((1.0, 0.5), (8.0, 0.2)):
        strength, scale = default_strength(LOGISTIC, None, epsilon, 1e-6, "zero-out", 5)
        assert strength * epsilon == pytest.approx(part, rel=0.1)
        floor = MODES["logistic"].floor(LOGISTIC, epsilon, "zero-out")
        plain = MODES["logistic"].sigma(LOGISTIC, epsilon, 1e-6, floor, "zero-out")
        assert scale == pytest.approx(1.1 * plain, rel=1e-4)
