"""Gamma noise: vectors, refusals, and exact density ratios in one dimension."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.accounting import (
    LossTerms,
    gamma_epsilon,
    gamma_floor,
    gamma_scale,
)
from discreet.accounting.gamma import output_sensitivity
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.losses import Softmax

LOGISTIC = LossTerms.logistic(radius=1.0)
HUBER = LossTerms(
    lipschitz=1.0, smoothness=0.25, trace=0.25, rank=1, one_signed=False, slopes=(1.0, 1.0)
)
CAPPED = LossTerms(
    lipschitz=0.6, smoothness=0.4, trace=0.4, rank=1, one_signed=True, slopes=(0.6, 0.6)
)


@pytest.mark.parametrize(
    ("terms", "neighbours", "mode", "scale"),
    [
        (HUBER, "zero-out", None, 1.28723910536),
        (HUBER, "replace-one", None, 2.57447821072),
        (HUBER, "replace-one", "cms11", 3.61198016065),
        (HUBER, "zero-out", "kst12", 2.0),
        (LOGISTIC, "add-remove", None, 1.0),
        (LOGISTIC, "zero-out", "tight", 1.28723910536),
        (LossTerms.logistic(radius=0.5, weight=4.0), "zero-out", None, 2.0),
    ],
)
def test_scale_vectors(terms: LossTerms, neighbours: str, mode: str | None, scale: float) -> None:
    assert gamma_scale(terms, 1.0, 1.0, neighbours, mode) == pytest.approx(scale, rel=1e-9)


def test_replacement_needs_twice_the_strength_to_pay_for_the_slope_alone() -> None:
    assert gamma_floor(LOGISTIC, 1.0, "replace-one") == pytest.approx(2.0)
    assert gamma_scale(LOGISTIC, 1.0, 2.0, "replace-one") == pytest.approx(2.0)
    # Less strength costs noise, little at first, and below the other rules at any strength.
    assert 2.0 < gamma_scale(LOGISTIC, 1.0, 1.99, "replace-one") < 2.0001
    for neighbours in ("zero-out", "replace-one"):
        for strength in (0.15, 0.3, 0.8, 1.5, 4.0):
            ours = gamma_scale(LOGISTIC, 1.0, strength, neighbours)
            assert ours < gamma_scale(LOGISTIC, 1.0, strength, neighbours, "tight")


def test_scale_and_epsilon_invert_each_other() -> None:
    for terms in (HUBER, LOGISTIC):
        for neighbours in ("zero-out", "replace-one"):
            for strength in (0.3, 1.0, 5.0):
                scale = gamma_scale(terms, 1.3, strength, neighbours)
                found = gamma_epsilon(terms, scale, strength, neighbours)
                assert found == pytest.approx(1.3, rel=1e-12)


def test_refusals_say_what_to_do() -> None:
    with pytest.raises(BudgetTooSmall, match="strength above 0"):
        gamma_scale(HUBER, math.log(1.5), 0.4, "zero-out")
    for neighbours in ("zero-out", "replace-one"):
        # Refused only where the curvature alone uses up epsilon.
        with pytest.raises(BudgetTooSmall, match=f"strength above {0.25 / math.expm1(1):.6g}"):
            gamma_scale(LOGISTIC, 1.0, 0.1454, neighbours, "logistic")
        assert gamma_scale(LOGISTIC, 1.0, 0.1456, neighbours, "logistic") > 100
    with pytest.raises(BudgetTooSmall, match="at least 0"):
        gamma_scale(HUBER, 1.0, 0.4, "zero-out", "kst12")
    with pytest.raises(Incompatible, match="logistic"):
        gamma_scale(HUBER, 1.0, 0.5, "zero-out", "logistic")
    rough = LossTerms(
        lipschitz=1.0,
        smoothness=math.inf,
        trace=math.inf,
        rank=1,
        one_signed=True,
        slopes=(1.0, 1.0),
    )
    for call in (gamma_floor, lambda *a: gamma_scale(rough, 1.0, 1.0, "zero-out")):
        with pytest.raises(Incompatible, match="curvature"):
            call(rough, 1.0, "zero-out")


Derivatives = tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]


def logistic(x: float, y: float) -> Derivatives:
    def pi(w: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(y * x * w))

    return (lambda w: -y * x * pi(w)), (lambda w: x * x * pi(w) * (1 - pi(w)))


def huber(x: float, y: float) -> Derivatives:
    """Huber loss with slope up to 1 and curvature 1/4."""

    def slope(w: np.ndarray) -> np.ndarray:
        return x * np.clip((x * w - y) / 4, -1, 1)

    return slope, lambda w: np.where(np.abs(x * w - y) < 4, x * x / 4, 0.0)


def capped(x: float, y: float) -> Derivatives:
    """Logistic slope capped at 0.6, with exp(-margin) kept between the two sides."""
    knot = math.log(0.6 / 0.4)

    def slope(w: np.ndarray) -> np.ndarray:
        m = y * x * w
        right = 0.6 * np.exp(-np.maximum(m, knot))
        return -y * x * np.where(m > knot, right, np.minimum(0.6, 1 / (1 + np.exp(m))))

    def curvature(w: np.ndarray) -> np.ndarray:
        m, pi = y * x * w, 1 / (1 + np.exp(y * x * w))
        inside = np.where(m < -knot, 0.0, pi * (1 - pi))
        return x * x * np.where(m > knot, 0.6 * np.exp(-np.maximum(m, knot)), inside)

    return slope, curvature


def log_density(records: list[Derivatives], strength: float, scale: float, tilt: float):  # type: ignore[no-untyped-def]
    w = np.linspace(-40, 40, 40_001)
    slope = strength * w + tilt + sum(f(w) for f, _ in records)
    curvature = strength + sum(g(w) for _, g in records)
    return -np.abs(slope) / scale + np.log(curvature)


def worst_loss(common: list, one: list, two: list, strength: float, scale: float, tilt: float):  # type: ignore[no-untyped-def,type-arg]
    p = log_density(common + one, strength, scale, tilt)
    q = log_density(common + two, strength, scale, tilt)
    return float(np.max(p - q))


@pytest.mark.parametrize(
    ("loss", "terms"), [(logistic, LOGISTIC), (huber, HUBER), (capped, CAPPED)]
)
def test_density_ratio_never_exceeds_epsilon(
    loss: Callable[[float, float], Derivatives], terms: LossTerms
) -> None:
    random = np.random.default_rng(11)
    closest = 0.0
    for _ in range(40):
        epsilon = float(random.choice([0.3, 1.0, 3.0]))
        for neighbours in ("zero-out", "replace-one"):
            times = float(random.choice([0.4, 1.0, 3.0]))
            strength = gamma_floor(terms, epsilon, neighbours) * times
            scale = gamma_scale(terms, epsilon, strength, neighbours)
            common = [
                loss(float(random.uniform(-1, 1)), float(random.choice([-1, 1])))
                for _ in range(random.integers(0, 4))
            ]
            tilt = float(random.normal() * 3)
            one = [loss(float(random.choice([-1.0, 1.0])), 1.0)]
            other = [loss(float(random.uniform(-1, 1)), -1.0)]
            two = other if neighbours == "replace-one" else []
            found = max(
                worst_loss(common, one, two, strength, scale, tilt),
                worst_loss(common, two, one, strength, scale, tilt),
            )
            assert found <= epsilon * (1 + 1e-9)
            closest = max(closest, found / epsilon)
    assert closest > 0.95


def test_too_little_strength_is_caught() -> None:
    # Negative control: R/epsilon at a quarter of the strength, seen only with a tilt.
    one = [logistic(1.0, 1.0)]
    assert worst_loss([], one, [], 0.25, 1.0, 2.0) == pytest.approx(1.31139698801, rel=1e-6)
    assert worst_loss([], one, [], 0.25, 1.0, 0.0) == pytest.approx(0.832, abs=1e-3)
    assert worst_loss([], one, [], 1.0, 1.0, 2.0) <= 1.0


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("times", [0.3, 0.5, 0.8])
def test_less_strength_costs_noise_and_no_privacy(epsilon: float, times: float) -> None:
    strength, one = times / epsilon, [logistic(1.0, 1.0)]
    scale = gamma_scale(LOGISTIC, epsilon, strength, "zero-out")
    tilts = [0.0, 1.0, 2.0, 5.0, 20.0]
    with_ = max(worst_loss([], one, [], strength, scale, tilt) for tilt in tilts)
    without = max(worst_loss([], [], one, strength, scale, tilt) for tilt in tilts)
    assert max(with_, without) <= epsilon
    # What is claimed is attained, so R/epsilon would be too little noise.
    assert with_ == pytest.approx(epsilon, rel=1e-4)
    assert max(worst_loss([], one, [], strength, 1 / epsilon, tilt) for tilt in tilts) > epsilon


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("times", [0.3, 0.6, 0.9])
def test_less_strength_costs_a_replacement_noise_and_no_privacy(
    epsilon: float, times: float
) -> None:
    """Two rows that nearly oppose each other: one at its steepest, one at any slope."""
    strength = times * 2 / epsilon
    rows = np.array([[1.0, 0.01], [-1.0, 0.01]])
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    # A tilt sets the gradient of the common part, here far along the first axis.
    common = np.array([1e3, 0.0])

    def worst(scale: float) -> float:
        largest = -math.inf
        for share in 1 / (1 + np.exp(-np.linspace(-6, 12, 200))):
            for other in (1e-9, 0.5, 1 - 1e-9):
                shares = np.array([share, other])
                lengths = np.linalg.norm(common - shares[:, None] * rows, axis=1)
                bends = np.log1p(shares * (1 - shares) / strength)
                largest = max(largest, (lengths[1] - lengths[0]) / scale + bends[0] - bends[1])
        return largest

    scale = gamma_scale(LOGISTIC, epsilon, strength, "replace-one")
    assert worst(scale) <= epsilon
    assert worst(scale) > 0.999 * epsilon
    assert worst(2 / epsilon) > epsilon


def test_the_minima_of_both_neighbours_may_be_off_by_the_tolerance() -> None:
    assert output_sensitivity(1.0, 4.0, 0.5, "zero-out") == 0.5
    assert output_sensitivity(1.0, 4.0, 0.5, "replace-one") == 0.75


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_every_direction_of_a_curved_loss_is_in_its_epsilon(neighbours: str) -> None:
    """Of five classes the curvature has four directions, and the determinant counts all."""
    terms = Softmax(n_classes=5).terms(row_norm=1.0, label=4.0, reach=math.inf)
    strength, apart = 0.3, 2 if neighbours == "replace-one" else 1
    even = np.diag(np.full(4, 0.8 / 4))  # the largest trace, spread evenly
    cost = np.linalg.slogdet(np.eye(4) + even / strength)[1]
    found = gamma_epsilon(terms, 2.0, strength, neighbours)
    assert found >= apart * math.sqrt(2.0) / 2.0 + cost * (1 - 1e-12)
