"""Every event: its curves against brute force, JSON, and failing closed."""

import json
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest

from discreet.accounting import (
    EVENTS,
    MODES,
    ZCDP,
    Approximate,
    BestOf,
    BoundedRange,
    Composed,
    Curve,
    Event,
    Gaussian,
    Laplace,
    LossTerms,
    NegativeBinomialTries,
    Parallel,
    Pure,
    epsilon_at,
    event_from_dict,
)
from discreet.errors import InvalidParameter

TERMS = LossTerms.logistic(radius=1.0)
SOFTMAX = LossTerms(
    lipschitz=math.sqrt(2),
    smoothness=0.5,
    trace=2 / 3,
    rank=2,
    one_signed=False,
    slopes=(1.0, 1.0),
    vertices=(math.sqrt(2),) * 2,
    scalar=False,
)
ALL = [
    Gaussian(1.3),
    Laplace(0.7),
    Pure(0.8),
    Approximate(0.5, 1e-4),
    ZCDP(0.1),
    BoundedRange(0.9),
    Composed((Gaussian(2.0), Gaussian(2.0), Gaussian(3.0), Gaussian(2.0))),
    BestOf(Gaussian(4.0), NegativeBinomialTries.expecting(10.0, eta=1.0)),
    Parallel((Gaussian(4.0), Pure(0.5))),
    MODES["logistic"].event(TERMS, 2.0, 1.0, "zero-out"),
    MODES["sharp"].event(TERMS, 2.0, 1.0, "replace-one"),
    MODES["rkw23"].event(TERMS, 2.0, 1.0, "replace-one"),
    MODES["rkw23-tight"].event(TERMS, 2.0, 0.2, "add-remove"),
    MODES["kst12"].event(TERMS, 5.0, 1.0, "replace-one"),
    MODES["sharp"].event(SOFTMAX, 4.0, 1.0, "zero-out"),
]


def named(event: Event) -> str:
    return f"{event.to_dict()['event']}-{event.to_dict().get('mode', '')}"


@pytest.mark.parametrize("event", ALL, ids=named)
def test_json_round_trip_is_exact(event: Curve) -> None:
    again = event_from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event
    assert hash(again) == hash(event)
    assert isinstance(event, Event)


def test_every_registered_event_is_covered() -> None:
    # The events of samplers are priced by privacy loss distributions: see test_sampling.py.
    sampled = {"poisson-gaussian", "capped-poisson-gaussian", "fixed-size-gaussian"}
    assert {e.name for e in ALL} | sampled == set(EVENTS)


@pytest.mark.parametrize("event", ALL, ids=named)
def test_curves_fall_and_start_at_one(event: Curve) -> None:
    grid = np.linspace(-20, 20, 161)
    values = np.array([event.delta(float(e)) for e in grid])
    assert np.all(np.diff(values[grid >= 0]) <= 1e-12)
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(values >= -np.expm1(np.minimum(grid, 0)) - 1e-15)
    assert values[0] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("event", ALL, ids=named)
def test_renyi_curve_grows_with_the_order(event: Curve) -> None:
    values = [event.rdp(order) for order in (1.1, 2.0, 5.0, 30.0)]
    assert all(a <= b * (1 + 1e-12) for a, b in pairwise(values))


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_laplace_by_quadrature() -> None:
    edges = np.linspace(-30, 31, 40_001)
    scale = 0.7

    def masses(centre: float) -> np.ndarray:
        t = (edges - centre) / scale
        cdf = np.where(t < 0, np.exp(np.minimum(t, 0)) / 2, 1 - np.exp(-np.maximum(t, 0)) / 2)
        return np.diff(cdf)

    p, q = masses(0.0), masses(1.0)
    for epsilon in [-2.0, -0.5, 0.0, 0.3, 1.0, 1.3]:
        assert Laplace(scale).delta(epsilon) == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-6)
    for order in [1.5, 2.0, 6.0]:
        keep = (p > 0) & (q > 0)
        value = math.log(np.sum(p[keep] ** order * q[keep] ** (1 - order))) / (order - 1)
        assert Laplace(scale).rdp(order) == pytest.approx(value, rel=1e-5)


def two_valued(eta: float, top: float) -> tuple[np.ndarray, np.ndarray]:
    """Pair whose log-ratio is ``top`` or ``top - eta``."""
    ratios = np.exp(np.array([top, top - eta]))
    share = (1 - ratios[1]) / (ratios[0] - ratios[1])
    q = np.array([share, 1 - share])
    return ratios * q, q


def test_bounded_range_is_the_worst_two_valued_pair() -> None:
    eta = 0.9
    event = BoundedRange(eta)
    pairs = [two_valued(eta, top) for top in np.linspace(1e-3, eta - 1e-3, 2001)]
    for epsilon in [-0.7, -0.2, 0.0, 0.3, 0.6, 0.9]:
        worst = max(hockey_stick(p, q, epsilon) for p, q in pairs)
        assert event.delta(epsilon) == pytest.approx(worst, abs=1e-3)
        assert event.delta(epsilon) >= worst - 1e-15
    for order in [1.2, 2.0, 10.0, 100.0]:
        worst = max(math.log(np.sum(q * (p / q) ** order)) / (order - 1) for p, q in pairs)
        assert event.rdp(order) >= worst
    assert BoundedRange(0.3).delta(0) == pytest.approx(math.tanh(0.075), rel=1e-12)


def test_pure_and_approximate_are_randomised_response() -> None:
    p = np.array([1 / (1 + math.exp(-0.8)), 1 / (1 + math.exp(0.8))])
    q = p[::-1]
    for epsilon in [-1.0, -0.4, 0.0, 0.5, 0.8, 2.0]:
        assert Pure(0.8).delta(epsilon) == pytest.approx(hockey_stick(p, q, epsilon), abs=1e-15)
        p3, q3 = np.append(0.9 * p, [0.1, 0]), np.append(0.9 * q, [0, 0.1])
        expected = hockey_stick(p3, q3, epsilon)
        assert Approximate(0.8, 0.1).delta(epsilon) == pytest.approx(expected, abs=1e-15)
    for order in [1.01, 2.0, 50.0]:
        value = math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
        assert Pure(0.8).rdp(order) == pytest.approx(value, rel=1e-9)
    assert Approximate(0.8, 0.1).rdp(2.0) == math.inf
    assert Approximate(0.8, 0.0).rdp(2.0) == Pure(0.8).rdp(2.0)


def test_zcdp_covers_the_gaussian() -> None:
    for epsilon in [0.0, 0.5, 2.0]:
        assert ZCDP(0.125).delta(epsilon) >= Gaussian(2.0).delta(epsilon)


def test_epsilon_at() -> None:
    assert epsilon_at(Gaussian(2.0), 0.0) == math.inf
    assert epsilon_at(Pure(0.3), 1e-9) <= 0.3
    assert epsilon_at(Pure(0.3), 1.0) == 0.0
    assert epsilon_at(Approximate(0.3, 0.2), 0.1) == math.inf
    for event in ALL:
        found = epsilon_at(event, 1e-3)
        assert event.delta(found) <= 1e-3 < event.delta(found * (1 - 1e-6))
    with pytest.raises(InvalidParameter):
        epsilon_at(Pure(1.0), -0.1)


@dataclass(frozen=True)
class Unknown:
    def rdp(self, order: float) -> float:
        return math.inf

    def delta(self, epsilon: float) -> float:
        return 1.0

    def to_dict(self) -> dict[str, Any]:
        return {"event": "unknown"}


def test_an_unknown_event_makes_no_claim_in_any_composition() -> None:
    for others in [(), (Pure(0.1),), (Gaussian(1.0), ZCDP(0.1))]:
        composed = Composed((Unknown(), *others))
        assert composed.delta(10.0) == 1.0
        assert composed.rdp(2.0) == math.inf


@pytest.mark.parametrize(
    "values",
    [
        {"event": "nothing"},
        {"epsilon": 1.0},
        {"event": "pure"},
        {"event": "pure", "epsilon": 1.0, "extra": 1},
        {"event": "pure", "epsilon": "1"},
        {"event": "gaussian", "multiplier": 0.0},
        {"event": "composed", "events": [[0, {"event": "pure", "epsilon": 1.0}]]},
        {"event": "composed", "events": 3},
        ALL[7].to_dict() | {"terms": {"radius": 1.0}},
        {"event": "approximate", "epsilon": 1.0, "failure": 2.0},
    ],
)
def test_bad_json_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        event_from_dict(values)


@pytest.mark.parametrize("order", [1.0001, 1.5, 2.0, 24.0, 500.0])
@pytest.mark.parametrize("epsilon", [1e-30, 2.0**-60, 1e-9, 1e-4, 0.3, 2.0, 40.0])
def test_small_and_large_pure_costs_are_not_rounded_away(epsilon: float, order: float) -> None:
    with mpmath.workdps(120):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(order)
        response = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e)))
        exact = response / (a - 1)
        assert exact <= Pure(epsilon).rdp(order) <= exact * (1 + mpmath.mpf(10) ** -9)
        top = a * mpmath.exp((a - 1) * e) + (a - 1) * mpmath.exp(-a * e)
        noise = mpmath.log(top / (2 * a - 1)) / (a - 1)
        # privacy: one over the multiplier rounds, by one part in 2^52 at most.
        assert noise * (1 - mpmath.mpf(2) ** -50) <= Laplace(1 / epsilon).rdp(order)
