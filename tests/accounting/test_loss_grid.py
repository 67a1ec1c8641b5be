"""Losses on a grid: laws whose sums are known exactly, and another accountant."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf
from scipy.stats import binom

from discreet.accounting import pld
from discreet.accounting.batch_losses import poisson_profiles
from discreet.accounting.gaussian_profile import gaussian_profile
from discreet.accounting.loss_grid import ROUNDING, LossGrid, _power
from discreet.bounds import Array


def coin(epsilon: float, cells: int) -> LossGrid:
    """Return the losses of one randomised answer, whose curve is a line in exp(epsilon)."""
    gap = epsilon / cells
    x = gap * np.arange(cells + 1.0)
    curve = (math.exp(epsilon) - np.exp(x)) / (1.0 + math.exp(epsilon))
    return LossGrid.joined(gap, np.maximum(curve, 0.0), np.maximum(curve, 0.0))


def seen(losses: LossGrid, at: Array) -> Array:
    """Return the curve without what it pays for rounding."""
    return losses.deltas(at) - losses.hidden(at)


def batch(sigma: float, rate: float, gap: float, cells: int) -> tuple[Array, Array]:
    """Return both curves of a Poisson batch."""
    with_row, without = poisson_profiles(gap * np.arange(cells + 1.0), sigma, rate, "zero-out")
    return with_row, without


def test_a_line_between_two_losses_has_these_losses_only() -> None:
    losses = coin(0.7, 50)
    chance = 1.0 / (1.0 + math.exp(-0.7))
    assert losses.masses[[0, -1]] == pytest.approx([1.0 - chance, chance], rel=1e-12)
    assert np.abs(losses.masses[1:-1]).max() < 1e-13
    assert losses.first == -50
    assert losses.infinite == 0.0


def test_an_infinite_loss_stays_one_however_often() -> None:
    losses = replace(coin(0.7, 4), masses=np.zeros(9), infinite=1.0)
    for summed in (losses.repeated(3, 1e-15), losses.followed_by(losses)):
        assert summed.infinite == 1.0
    partly = replace(coin(0.7, 4), infinite=0.25).repeated(2, 1e-15)
    assert partly.infinite == pytest.approx(1 - 0.75**2, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "times"), [(0.7, 2), (0.05, 300), (0.002, 40_000), (3.0, 7)])
def test_randomised_answers_add_up_to_binomial_losses(epsilon: float, times: int) -> None:
    summed = coin(epsilon, 4).repeated(times, 1e-15)
    heads = np.arange(times + 1)
    losses = epsilon * (2.0 * heads - times)
    law = binom.pmf(heads, times, 1.0 / (1.0 + math.exp(-epsilon)))
    for at in (0.0, 0.3, 1.0, 4.0):
        exact = float(law @ np.maximum(0.0, -np.expm1(np.minimum(at - losses, 0.0))))
        found = float(seen(summed, np.array([at]))[0])
        assert found == pytest.approx(exact, rel=1e-7, abs=3e-15)
        assert summed.deltas(np.array([at]))[0] >= exact


@pytest.mark.parametrize("shift", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("times", [1, 9, 400])
def test_gaussian_releases_add_up_to_one(shift: float, times: int) -> None:
    gap = shift / 300
    curve = gaussian_profile(gap * np.arange(int(9 * 300 + 300 * shift)), shift)
    summed = LossGrid.joined(gap, curve, curve).repeated(times, 1e-15)
    whole = shift * math.sqrt(times)
    for at in (0.0, 0.5 * whole, 2.0 * whole):
        exact = gaussian_profile(np.array([at]), whole)[0]
        found = summed.deltas(np.array([at]))[0]
        # Lines lie above a convex curve, by little.
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3)


def test_masses_and_curves_are_those_of_another_accountant() -> None:
    gap, cells = 0.002, 1500
    with_row, without = batch(1.1, 0.2, gap, cells)
    x = gap * np.arange(cells, 0, -1.0)
    ours, theirs = [], []
    for right, exchanged in [(with_row, without), (without, with_row)]:
        ours.append(LossGrid.joined(gap, right, exchanged))
        left = -np.expm1(-x) + np.exp(-x) * exchanged[:0:-1]
        theirs.append(
            pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
                gap, -cells, cells, np.concatenate([left, right])
            )
        )
    at = np.array([-0.3, 0.0, 0.0009, 0.4, 1.7])
    sums = [losses.repeated(25, 1e-15) for losses in ours]
    others = [pmf.self_compose(25, tail_mass_truncation=1e-15) for pmf in theirs]
    for found, other in zip(
        [*ours, *sums, sums[0].followed_by(ours[1])],
        [*theirs, *others, pld_pmf.compose_pmfs(others[0], theirs[1])],
        strict=True,
    ):
        expected = [other.get_delta_for_epsilon(float(e)) for e in at]
        assert seen(found, at) == pytest.approx(expected, rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("times", [2, 5, 60])
def test_repeating_is_adding_again_and_again(times: int) -> None:
    right, exchanged = batch(0.8, 0.05, 0.01, 300)
    one = LossGrid.joined(0.01, right, exchanged)
    by_hand = one
    for _ in range(times - 1):
        by_hand = by_hand.followed_by(one)
    at = np.linspace(0.0, 3.0, 200)
    together = one.repeated(times, 1e-15)
    assert seen(together, at) == pytest.approx(seen(by_hand, at), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("tail", [1e-15, 1e-6, 0.01])
@pytest.mark.parametrize("make", [lambda: coin(0.1, 3), lambda: coin(2.0, 3)])
def test_what_leaves_the_window_counts_as_infinite(
    make: Callable[[], LossGrid], tail: float
) -> None:
    one, times = make(), 200
    exact, cut = one.repeated(times, 1e-15), one.repeated(times, tail)
    at = np.linspace(0.0, 200.0, 90)
    # The mass beyond is at most the tail, and it is paid for: no curve is too low, none too high.
    assert len(cut.masses) <= len(exact.masses)
    difference = cut.deltas(at) - exact.deltas(at)
    assert difference.min() >= -1e-14
    assert difference.max() <= 2.0 * tail + 1e-14


def test_unbounded_losses_stay_unbounded() -> None:
    curve = np.full(5, 0.1)
    one = LossGrid.joined(0.5, curve, curve)
    assert one.repeated(3, 1e-15).deltas(np.array([1e15])) == pytest.approx(1 - 0.9**3)
    assert one.followed_by(one).deltas(np.array([0.0, 1e300])) == pytest.approx([0.19, 0.19])


def test_many_points_are_read_like_one() -> None:
    losses = coin(0.3, 10).repeated(2000, 1e-15)
    at = np.array([900.0, -50.0, 0.0, 1e15, 33.3])
    together = losses.deltas(at)
    assert together == pytest.approx([losses.deltas(at[i : i + 1])[0] for i in range(5)], rel=1e-9)
    assert len(losses.deltas(np.zeros(0))) == 0


@pytest.mark.parametrize("tilt", [0.0, 3.0])
def test_curves_pay_for_the_rounding_of_transforms(tilt: float) -> None:
    one = coin(0.1, 4).tilted(tilt) if tilt else coin(0.1, 4)
    many = one.repeated(10_000, 1e-15)
    for losses, transforms in ((many, 10_000), (many.followed_by(many), 20_001)):
        assert losses.lost >= transforms * ROUNDING
        at = np.array([0.0, 400.0])
        assert losses.hidden(at) == pytest.approx(
            losses.lost * np.exp(np.minimum(losses.log_scale - tilt * at, 600.0))
        )
        assert np.all(losses.deltas(at) >= losses.hidden(at))


@pytest.mark.parametrize("times", [1, 2, 50, 5000, 10**9])
def test_powers_that_vanish_are_left_out_and_nothing_else(times):
    masses = np.random.default_rng(0).dirichlet(np.ones(300))
    numbers = np.fft.rfft(masses, 4096)
    found = _power(numbers, times)
    assert np.abs(found - numbers ** float(times)).max() <= 1e-60
    assert (found == 0.0).any() == (times >= 50)


@pytest.mark.parametrize("passes", [0, 1, 30])
def test_a_hull_is_the_same_however_many_points_are_left_out_at_once(passes, monkeypatch):
    monkeypatch.setattr(pld, "_PASSES", passes)
    rng = np.random.default_rng(1)
    for n in (2, 3, 40):
        x = np.cumsum(rng.uniform(0.1, 1.0, n))
        for y in (np.exp(-x), rng.normal(size=n), np.sin(x), -(x**2), np.zeros(n)):
            found = pld.convex_hull(x, y)
            slopes = np.diff(found) / np.diff(x)
            assert (found <= y + 1e-12).all()
            assert (np.diff(slopes) >= -1e-9).all()
            # It touches from below, and is no lower than any line between two points needs.
            lowest = [min(_line(x, y, i, j, k) for i, j in _around(n, k)) for k in range(0, n, 7)]
            assert found[::7] == pytest.approx(np.array(lowest), abs=1e-9)


def _around(n, k):
    return [(i, j) for i in range(k + 1) for j in range(k, n)]


def _line(x, y, i, j, k):
    return y[k] if i == j else y[i] + (y[j] - y[i]) * (x[k] - x[i]) / (x[j] - x[i])
