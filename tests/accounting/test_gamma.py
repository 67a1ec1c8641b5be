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
from discreet.errors import BudgetTooSmall, Incompatible

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


def test_replacement_needs_twice_the_strength_for_the_shortcut() -> None:
    assert gamma_floor(LOGISTIC, 1.0, "replace-one") == pytest.approx(2.0)
    assert gamma_scale(LOGISTIC, 1.0, 2.0, "replace-one") == pytest.approx(2.0)
    assert gamma_scale(LOGISTIC, 1.0, 1.99, "replace-one") > 2.2


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
    with pytest.raises(BudgetTooSmall, match="at least 1"):
        gamma_scale(LOGISTIC, 1.0, 0.5, "zero-out", "logistic")
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
            strength = gamma_floor(terms, epsilon, neighbours) * float(random.choice([1.0, 3.0]))
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
    # Negative control: a quarter of the strength breaks the shortcut, seen only with a tilt.
    one = [logistic(1.0, 1.0)]
    assert worst_loss([], one, [], 0.25, 1.0, 2.0) == pytest.approx(1.31139698801, rel=1e-6)
    assert worst_loss([], one, [], 0.25, 1.0, 0.0) == pytest.approx(0.832, abs=1e-3)
    assert worst_loss([], one, [], 1.0, 1.0, 2.0) <= 1.0
