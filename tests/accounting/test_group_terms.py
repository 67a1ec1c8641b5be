"""Objective perturbation for groups, against exact densities in one dimension."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit

from discreet.accounting import MODES, Budget
from discreet.accounting.gamma import gamma_floor, gamma_scale
from discreet.accounting.terms import MOST_IN_POLYTOPE, LossTerms
from discreet.algorithms import ObjectivePerturbation
from discreet.bounds import Bounds
from discreet.data import Grouping
from discreet.errors import Incompatible
from discreet.losses import Huber, Logistic, Softmax
from discreet.problem import Problem

ROW = LossTerms.logistic(radius=1.0)
Group = list[tuple[float, float]]  # slope times label at its steepest, and share

AT = np.concatenate([np.linspace(-60, 60, 24001), -np.geomspace(60, 4000, 400)[::-1]])
AT = np.sort(np.concatenate([AT, np.geomspace(60, 4000, 400)]))


def tilted(group: Group, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and curvature of a ridged sum of logistic losses at every point."""
    slope, bend = strength * AT, np.full_like(AT, strength)
    for x, share in group:
        p = expit(-x * AT)
        slope = slope - share * x * p
        bend = bend + share * x * x * p * (1 - p)
    return slope, bend


def densities(group: Group, strength: float, law: str, scale: float) -> np.ndarray:
    """Return the logarithm of the density of the minimiser at every point."""
    slope, bend = tilted(group, strength)
    noise = -np.abs(slope) / scale if law == "gamma" else -((slope / scale) ** 2) / 2
    const = -np.log(2 * scale) if law == "gamma" else -np.log(scale * np.sqrt(2 * np.pi))
    return np.asarray(noise + const + np.log(bend))


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.trapezoid(np.maximum(np.exp(p) - np.exp(epsilon + q), 0.0), AT))


def groups_of(k: int, rule: str) -> list[Group]:
    """Return groups that count as k rows: few whole ones, or many light ones."""
    signs = list(itertools.combinations_with_replacement((-1.0, 0.5, 1.0), k))
    if rule == "sample":
        return [[(x, 1.0) for x in group] for group in signs]
    return [[(x, 0.05) for x in group for _ in range(20)] for group in signs]


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("rule", ["weight", "sample"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_pure_logistic_groups_stay_within_epsilon_and_attain_it(
    k: int, rule: str, neighbours: str
) -> None:
    terms, epsilon = ROW.of_group(k, 1, sampled=rule == "sample"), 0.7
    strength = gamma_floor(terms, epsilon, neighbours)
    scale = gamma_scale(terms, epsilon, strength, neighbours)
    assert scale == pytest.approx(k * (2 if neighbours == "replace-one" else 1) / epsilon)
    laws = [densities(g, strength, "gamma", scale) for g in groups_of(k, rule)]
    others = laws if neighbours == "replace-one" else [densities([], strength, "gamma", scale)]
    worst = max(float(np.abs(p - q).max()) for p in laws for q in others)
    assert worst <= epsilon * (1 + 1e-9)
    # In one dimension two groups are never steep at the same weights.
    assert worst >= (0.97 if neighbours == "zero-out" else 0.4) * epsilon


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("k", [2, 3])
def test_gaussian_groups_stay_within_delta(k: int, neighbours: str) -> None:
    terms, epsilon, delta = ROW.of_group(k, 1, sampled=True), 1.0, 1e-3
    rule = MODES["sharp"]
    strength = rule.floor(terms, epsilon, neighbours)
    sigma = rule.sigma(terms, epsilon, delta, strength, neighbours)  # type: ignore[arg-type]
    laws = [densities(g, strength, "gaussian", sigma) for g in groups_of(k, "sample")]
    blank = densities([], strength, "gaussian", sigma)
    others = laws if neighbours == "replace-one" else [blank]
    pairs = [(p, q) for p in laws for q in others]
    worst = max(max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) for p, q in pairs)
    assert worst <= delta
    assert worst > 0.02 * delta or neighbours == "replace-one"


def test_noise_for_one_row_is_not_enough_for_a_group() -> None:
    epsilon, delta, rule = 1.0, 1e-3, MODES["sharp"]
    strength = rule.floor(ROW, epsilon, "zero-out")
    sigma = rule.sigma(ROW, epsilon, delta, strength, "zero-out")
    group = densities([(1.0, 1.0)] * 3, strength, "gaussian", sigma)
    blank = densities([], strength, "gaussian", sigma)
    assert max(hockey_stick(group, blank, 1.0), hockey_stick(blank, group, 1.0)) > 3 * delta


def test_vertices_are_the_lengths_of_all_parts() -> None:
    terms = ROW.of_group(3, 9, sampled=True)
    assert sorted(terms.vertices) == [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0]
    assert (terms.lipschitz, terms.smoothness, terms.rank) == (3.0, 0.75, 3)
    assert ROW.of_group(1, 9, sampled=True) is ROW
    assert ROW.of_group(3, 2, sampled=True).rank == 2
    light = ROW.of_group(3, 9, sampled=False)
    assert (light.vertices, light.rank, light.scalar) == ((), 9, False)


def problem(loss: object, k: int, rule: str, **facts: object) -> Problem:
    kind = {"classes": (0, 1)} if isinstance(loss, Logistic) else {"label": (-1.0, 1.0)}
    if isinstance(loss, Softmax):
        kind = {"classes": (0, 1, 2)}
    return Problem(
        loss=loss,  # type: ignore[arg-type]
        bounds=Bounds(row_norm=1.0, **kind),  # type: ignore[arg-type]
        n_features=3,
        n_rows=1000,
        grouping=Grouping(k, rule),  # type: ignore[arg-type]
        **facts,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("loss", "k", "rule"),
    [
        (Logistic(), 2, "weight"),
        (Logistic(), 1, "weight"),
        (Huber(threshold=0.5), 2, "sample"),
        (Softmax(n_classes=3), 2, "sample"),
        (Logistic(), MOST_IN_POLYTOPE + 1, "sample"),
    ],
)
def test_gaussian_plans_that_are_not_proved_name_noisy_gradient(
    loss: object, k: int, rule: str
) -> None:
    with pytest.raises(Incompatible, match=r"not proved for groups.*noisy-gradient"):
        ObjectivePerturbation().plan(problem(loss, k, rule), Budget(1.0, 1e-6))
    pure = ObjectivePerturbation().plan(problem(loss, k, rule), Budget(1.0))
    assert pure.guarantee.unit == "group"


@pytest.mark.parametrize("rule", ["weight", "sample"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("guess", [0.5, 1e6])
def test_the_ridge_of_grouped_logistic_plans_is_never_below_its_floor(
    rule: str, neighbours: str, guess: float
) -> None:
    asked = problem(Logistic(), 3, rule, neighbours=neighbours)
    plan = ObjectivePerturbation(norm_guess=guess).plan(asked, Budget(1.0))
    epsilon, apart = plan.inner.epsilon, 2 if neighbours == "replace-one" else 1
    assert plan.strength >= 3 * apart / epsilon * (1 - 1e-12)
    assert plan.scale >= 3 * apart / epsilon * (1 - 1e-9)
