"""Composition against closed forms, a second accountant and exact convolution."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from scipy.special import comb

from discreet.accounting import (
    MODES,
    ZCDP,
    Approximate,
    BoundedRange,
    CappedPoissonGaussian,
    Composed,
    Event,
    FixedSizeGaussian,
    Gaussian,
    Laplace,
    LossTerms,
    PoissonGaussian,
    Pure,
    epsilon_at,
    gaussian_delta,
    zcdp_delta,
)
from discreet.accounting.pld import _pure_epsilon, basic_delta, convex_hull, pld_delta
from discreet.bounds import Neighbours


def test_gaussians_compose_exactly() -> None:
    events = (Gaussian(4.0), Gaussian(5.0), Gaussian(3.0))
    shift = math.sqrt(1 / 16 + 1 / 25 + 1 / 9)
    for epsilon in [0.2, 1.0, 3.0]:
        assert Composed(events).delta(epsilon) == pytest.approx(
            gaussian_delta(epsilon, shift), rel=1e-12
        )


def test_noise_of_very_different_sizes_composes() -> None:
    assert Composed((Gaussian(1e-80), Gaussian(1e80))).delta(1.0) == Gaussian(1e-80).delta(1.0)
    found = Composed((Gaussian(2.0), Gaussian(1e200))).delta(1.0)
    assert found == pytest.approx(Gaussian(2.0).delta(1.0), rel=1e-12)


@pytest.mark.parametrize(("sigma", "count"), [(3.0, 2), (30.0, 200), (0.8, 3)])
def test_pld_of_gaussians_is_tight_and_never_below(sigma: float, count: int) -> None:
    events = (Gaussian(sigma),) * count
    for epsilon in [0.1, 0.5, 1.0, 2.0, 4.0]:
        exact = gaussian_delta(epsilon, math.sqrt(count) / sigma)
        found = pld_delta(events, epsilon)
        assert exact <= found <= exact * 1.001 + count * 2e-14


def test_pld_agrees_with_another_accountant_on_mixtures() -> None:
    ours = Composed((Laplace(2.0), Laplace(2.0), Laplace(3.0), Gaussian(2.5)))
    other = pld.from_laplace_mechanism(2.0).self_compose(2)
    other = other.compose(pld.from_laplace_mechanism(3.0))
    other = other.compose(pld.from_gaussian_mechanism(2.5))
    for epsilon in [0.3, 1.0, 2.0]:
        assert ours.delta(epsilon) == pytest.approx(other.get_delta_for_epsilon(epsilon), rel=2e-4)


def test_renyi_composition_agrees_with_another_accountant() -> None:
    ours = Composed((ZCDP(0.02),) * 3 + (ZCDP(0.01),))
    assert ours.delta(1.0) == zcdp_delta(0.07, 1.0)
    accountant = RdpAccountant(orders=1 + np.exp(np.linspace(-3, 8, 3000)))
    accountant.compose(dp_event.ZCDpEvent(0.07))
    accountant.compose(dp_event.LaplaceDpEvent(3.0))
    mixed = Composed((*ours.events, Laplace(3.0)))
    assert mixed.delta(1.0) <= accountant.get_delta(1.0) * (1 + 1e-9)
    for order in (1.5, 2.0, 40.0):
        assert mixed.rdp(order) == pytest.approx(0.07 * order + Laplace(3.0).rdp(order))


def randomised_response(epsilon: float, count: int, at: float) -> float:
    """Exact optimal composition of ``count`` pure mechanisms."""
    wins = np.arange(count + 1)
    p = 1 / (1 + math.exp(-epsilon))
    ways = comb(count, wins)
    first = ways * p**wins * (1 - p) ** (count - wins)
    second = ways * p ** (count - wins) * (1 - p) ** wins
    return float(np.maximum(first - math.exp(at) * second, 0).sum())


@pytest.mark.parametrize("count", [2, 10, 60])
def test_pure_composition_is_optimal(count: int) -> None:
    epsilon = 0.3
    composed = Composed((Pure(epsilon),) * count)
    for at in [0.2, 0.5, 1.5, 2.5]:
        exact = randomised_response(epsilon, count, at)
        assert exact <= composed.delta(at) <= exact * 1.01 + 1e-12
    assert composed.delta(count * epsilon * (1 + 1e-12)) == 0


def test_adding_up_is_always_allowed() -> None:
    composed = Composed((Pure(0.5), Approximate(0.25, 1e-6), Approximate(0.25, 1e-6)))
    assert composed.delta(1.0) <= 2e-6
    assert basic_delta((Pure(0.5), Approximate(0.25, 1e-6)), 0.74) > 0.001
    assert basic_delta((), 1.0) == 0
    pair = (Gaussian(2.0), Gaussian(30.0))
    best = min(Gaussian(2.0).delta(1 - e) + Gaussian(30.0).delta(e) for e in np.arange(0, 1, 0.01))
    assert basic_delta(pair, 1.0) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("event", [Approximate(0.3, 1e-6), Laplace(1.5), Gaussian(2.0), Pure(0.4)])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_no_split_that_is_even_or_in_hundredths_is_better(event: Event, count: int) -> None:
    other = Laplace(4.0)
    for epsilon in (0.5, 0.9, 1.3):
        parts = [epsilon * k / 100 for k in range(101)]
        best = min(
            count * event.delta((epsilon - part) / count) + other.delta(part) for part in parts
        )
        found = basic_delta((*(event,) * count, other), epsilon)
        assert found <= best * (1 + 1e-12) + 1e-15
        if count == 2:
            alone, pair = [event.delta(part) for part in parts], basic_delta((event,) * 2, epsilon)
            assert pair <= min(map(sum, zip(alone, alone[::-1], strict=True))) * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.3, 4.0])
def test_adding_up_never_claims_more_than_is_true(count: int, epsilon: float) -> None:
    assert basic_delta((Pure(0.4),) * count, epsilon) >= randomised_response(0.4, count, epsilon)
    exact = gaussian_delta(epsilon, math.sqrt(count) / 2.0)
    assert basic_delta((Gaussian(2.0),) * count, epsilon) >= exact


def test_pure_epsilons_add_up_at_any_size() -> None:
    for epsilon in (0.1, 1.0, 1e4, 1e12):
        for count in (3, 7, 11):
            events = (Pure(epsilon / count),) * count
            assert Composed(events).delta(epsilon * (1 + 1e-12)) == 0
            assert Composed(events).delta(epsilon) <= 1e-15 * max(epsilon, 1.0)
    assert Composed((Pure(1e4), Laplace(1.0))).delta(1e4 + 1.01) == 0


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1.0, 30.0, 1e30, 1e163, 1e200, 1e308])
def test_gaussian_noise_is_never_purely_private(size: float) -> None:
    """However much noise there is: where tails and squares underflow, too."""
    one = Gaussian(size)
    for event in (one, Composed((one,)), Composed((one, one)), Composed((one, Pure(1.0)))):
        assert all(event.delta(epsilon) > 0 for epsilon in (0.0, 1.0, 1e4, 1e15, 1e300))
        assert _pure_epsilon(event) == math.inf
        assert epsilon_at(event, 0.0) == math.inf
    (both,) = Composed((one, Gaussian(size / 2.0))).merged()
    assert isinstance(both, Gaussian)
    assert both.multiplier == pytest.approx(size / math.sqrt(5.0), rel=1e-15)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize(
    "kind",
    [
        *MODES,
        PoissonGaussian,
        partial(CappedPoissonGaussian, cap=20, n_rows=1000),
        FixedSizeGaussian,
    ],
    ids=lambda v: v if isinstance(v, str) else repr(v),
)
def test_no_event_made_of_gaussian_noise_is_purely_private(
    kind: str | Callable[..., Event], neighbours: Neighbours
) -> None:
    terms = LossTerms.logistic(radius=1.0)
    for size, strength in ((0.5, 1.0), (30.0, 100.0), (1e9, 1e6), (1e40, 1e30)):
        event: Event
        if isinstance(kind, str):
            event = MODES[kind].event(terms, size, strength, neighbours)
        else:
            event = kind(size, 0.01, 10, neighbours)
        assert all(event.delta(epsilon) > 0 for epsilon in (0.0, 1e-3, 1.0, 1e4, 1e15))
        assert _pure_epsilon(event) == math.inf


def test_very_small_deltas_do_not_rest_on_rounding() -> None:
    composed = Composed((Gaussian(2.0), Laplace(5.0)))
    assert composed.delta(8.0) < 1e-20
    assert composed.delta(8.0) >= Gaussian(2.0).delta(8.0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "steps", "eta"),
    [
        (1.0, 1e-6, 10, 0.14276),
        (1.0, 1e-6, 100, 0.04414),
        (1.0, 1e-6, 1000, 0.01396),
        (4.0, 1e-5, 100, 0.17278),
    ],
)
def test_frank_wolfe_table(epsilon: float, delta: float, steps: int, eta: float) -> None:
    # The table is rounded to five digits.
    assert Composed((BoundedRange(eta - 5e-6),) * steps).delta(epsilon) <= delta
    assert Composed((BoundedRange(eta * 1.01),) * steps).delta(epsilon) > delta


def test_order_and_nesting_do_not_matter() -> None:
    a, b, c = Laplace(2.0), Pure(0.2), Gaussian(3.0)
    flat = Composed((a, b, c))
    nested = Composed((Composed((c, a)), b))
    assert flat.delta(0.9) == pytest.approx(nested.delta(0.9), rel=1e-9)
    assert Composed(()).delta(0.0) == 0
    assert Composed((a,)).delta(0.1) == a.delta(0.1)


def test_more_events_never_cost_less() -> None:
    events: tuple[Event, ...] = (Laplace(2.0), BoundedRange(0.4), Gaussian(4.0))
    costs = [epsilon_at(Composed(events[:k]), 1e-6) for k in (1, 2, 3)]
    assert costs == sorted(costs)
    assert costs[2] < 2.2


def test_convex_hull_lies_below_and_is_convex() -> None:
    x = np.exp(np.linspace(-2, 2, 200))
    y = np.exp(-x) + 0.05 * np.sin(9 * x) ** 2
    hull = convex_hull(x, y)
    assert np.all(hull <= y + 1e-15)
    assert np.all(np.diff(np.diff(hull) / np.diff(x)) >= -1e-10)
    assert np.all(hull >= np.exp(-x) - 1e-12)


def test_long_runs_are_stored_briefly() -> None:
    stored = Composed((BoundedRange(0.1),) * 1000 + (Pure(1.0),)).to_dict()
    assert [times for times, _ in stored["events"]] == [1000, 1]
