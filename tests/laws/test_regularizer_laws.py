"""Laws every regularizer must obey, alone and together with every constraint set.

``v = prox(w, t)`` minimises ``phi(u) = t reg(u) + ||u - w||^2 / 2``, which is
strongly convex, if and only if ``phi(u) >= phi(v) + (1 + t m)/2 ||u - v||^2``
for every admissible ``u``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.regularizers import (
    L1,
    REGULARIZERS,
    ElasticNet,
    Group,
    Indicator,
    Nuclear,
    Regularizer,
    Ridge,
    Zero,
    combined_prox,
)
from discreet.sets import SETS, AllSpace, Box, ConvexSet, L2Ball, Simplex

VARIANTS: list[Regularizer] = [
    Ridge(strength=0.0),
    L1(strength=0.3),
    ElasticNet(l1=0.2, l2=3.0),
    ElasticNet(l1=0.0, l2=0.0),
    Group(strength=0.5, groups=(0, 1, 0, 1)),
    Indicator(constraint=Box(low=-0.2, high=0.1)),
]
ALL = [*REGULARIZERS.values(), *VARIANTS]
FINITE = [r for r in ALL if not isinstance(r, Indicator)]


def shape(*parts: Regularizer | ConvexSet) -> tuple[int, ...]:
    names = {part.name for part in parts}
    return (4, 3) if names & {"nuclear", "nuclear-ball"} else (4,)


def is_prox(
    regularizer: Regularizer, constraint: ConvexSet, w: Array, v: Array, step: float
) -> bool:
    """Whether ``v`` solves the joint problem, judged by the values of the objective."""
    rng = np.random.default_rng(5)

    def phi(u: Array) -> float:
        return step * regularizer.value(u) + 0.5 * float(np.sum((u - w) ** 2))

    least = phi(v)
    if np.linalg.norm(constraint.project(v) - v) > 1e-9 or not math.isfinite(least):
        return False
    modulus = 1.0 + step * regularizer.strong_convexity
    starts = [v + s * rng.normal(size=w.shape) for s in (1e-4, 1e-2, 1.0) for _ in range(25)]
    starts += [v * c for c in (0.0, 1 - 1e-4, 1 + 1e-4)] + [w]
    for j in range(w.size):
        for s in (-1e-4, 1e-4):
            u = v.copy()
            u.flat[j] += s
            starts.append(u)
    slack = 1e-11 * (1.0 + least)
    return all(
        phi(u) >= least + 0.5 * modulus * float(np.sum((u - v) ** 2)) - slack
        for u in map(constraint.project, starts)
    )


def inputs(size: tuple[int, ...], n: int = 12) -> list[tuple[Array, float]]:
    rng = np.random.default_rng(6)
    scales, steps = rng.choice([0.3, 2.0, 10.0], n), rng.choice([0.01, 0.5, 3.0], n)
    out = [(s * rng.normal(size=size), float(t)) for s, t in zip(scales, steps, strict=True)]
    return [*out, (np.zeros(size), 1.0), (np.ones(size), 0.7)]


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == regularizer.name for name, regularizer in REGULARIZERS.items())


@pytest.mark.parametrize("regularizer", ALL, ids=repr)
def test_prox_solves_its_problem(regularizer: Regularizer) -> None:
    for w, step in inputs(shape(regularizer)):
        assert is_prox(regularizer, AllSpace(), w, regularizer.prox(w, step), step)


@pytest.mark.parametrize("regularizer", FINITE, ids=repr)
def test_strong_convexity_is_what_is_declared(regularizer: Regularizer) -> None:
    """The midpoint inequality holds with the modulus, and along a ray not with a larger one."""
    rng = np.random.default_rng(7)
    m, size = regularizer.strong_convexity, shape(regularizer)
    for _ in range(200):
        a, b = rng.normal(size=size), rng.normal(size=size)
        chord = 0.5 * (regularizer.value(a) + regularizer.value(b))
        gap = chord - regularizer.value((a + b) / 2)
        assert gap >= m / 8 * float(np.sum((a - b) ** 2)) - 1e-12
    a = rng.normal(size=size)
    gap = 0.5 * (regularizer.value(a) + regularizer.value(3 * a)) - regularizer.value(2 * a)
    assert gap == pytest.approx(m / 8 * float(np.sum((2 * a) ** 2)), abs=1e-12)


@pytest.mark.parametrize("regularizer", FINITE, ids=repr)
def test_smooth_means_no_kink_at_zero(regularizer: Regularizer) -> None:
    w = 1e-6 * np.ones(shape(regularizer))
    kink = (regularizer.value(w) + regularizer.value(-w) - 2 * regularizer.value(0 * w)) / 1e-6
    trivial = isinstance(regularizer, ElasticNet) and regularizer.l1 == 0.0
    assert regularizer.smooth == (kink < 1e-3) or trivial


def supported(regularizer: Regularizer, constraint: ConvexSet) -> bool:
    """The pairs that are claimed, written out once more."""
    kind, place = regularizer.name, constraint.name
    if place in ("vertex-polytope", "lq-ball"):
        return False
    if kind in ("zero", "ridge") or place == "all-space":
        return True
    listed = {
        "l1": ("l2-ball", "box", "l1-ball"),
        "elastic-net": ("l2-ball", "box", "l1-ball"),
        "group": ("l2-ball",),
        "nuclear": ("l2-ball", "nuclear-ball"),
    }
    if kind == "indicator":
        inner = regularizer.constraint.name  # type: ignore[attr-defined]
        exact = {"l2-ball": ("l2-ball", "box"), "box": ("box", "l2-ball", "simplex")}
        return place in (*exact[inner], "intersection")
    return place in listed[kind]


PAIRS = [(r, c) for r in ALL for c in SETS.values()]


@pytest.mark.parametrize(("regularizer", "constraint"), PAIRS, ids=repr)
def test_combined_prox_is_exact_or_refused(regularizer: Regularizer, constraint: ConvexSet) -> None:
    if not supported(regularizer, constraint):
        with pytest.raises(Incompatible, match=constraint.name):
            combined_prox(regularizer, constraint)
        return
    if isinstance(regularizer, Indicator) and constraint.name == "simplex":
        regularizer = Indicator(constraint=Box(low=-0.2, high=0.4))
    prox = combined_prox(regularizer, constraint)
    for w, step in inputs(shape(regularizer, constraint)):
        assert is_prox(regularizer, constraint, w, prox(w, step), step)


def test_refusals_name_both_parts_and_what_works() -> None:
    with pytest.raises(Incompatible, match=r"l1 penalty .* simplex .* Box, L1Ball, L2Ball"):
        combined_prox(L1(), Simplex())


def test_iterative_projections_are_refused() -> None:
    """Their rounding is not bounded, so no certificate may rest on them."""
    triangle = SETS["vertex-polytope"]
    for regularizer, constraint in [
        (Zero(), triangle),
        (Indicator(constraint=triangle), AllSpace()),
    ]:
        with pytest.raises(Incompatible, match="iterative"):
            combined_prox(regularizer, constraint)


def test_a_subclass_does_not_inherit_a_proof() -> None:
    class Mine(L1):
        pass

    with pytest.raises(Incompatible):
        combined_prox(Mine(), L2Ball(radius=1.0))


def test_the_check_rejects_inexact_proxes() -> None:
    """Projecting after the prox is wrong for a simplex, and shrinking after projecting too."""
    w, penalty = np.array([0.5, -0.5, 0.2, 0.1]), L1(strength=1.0)
    assert not is_prox(penalty, Simplex(), w, Simplex().project(penalty.prox(w, 1.0)), 1.0)
    ball = L2Ball(radius=1.0)
    w = np.array([3.0, 2.0, -1.0, 0.5])
    assert is_prox(penalty, ball, w, combined_prox(penalty, ball)(w, 0.3), 0.3)
    assert not is_prox(penalty, ball, w, penalty.prox(ball.project(w), 0.3), 0.3)
    ridge, box = Ridge(strength=1.0), Box(low=-0.4, high=0.4)
    assert not is_prox(ridge, box, w, ridge.prox(box.project(w), 1.0), 1.0)


def test_nothing_is_penalised_by_zero() -> None:
    w = np.array([1.0, -2.0])
    assert Zero().value(w) == 0.0
    assert (Zero().prox(w, 1.0) == w).all()
    assert Nuclear(strength=2.0).value(np.diag([1.0, -3.0])) == pytest.approx(8.0)


@pytest.mark.parametrize("regularizer", FINITE, ids=lambda r: r.name)
def test_the_part_without_ridge_is_no_steeper_than_it_says(regularizer: Regularizer) -> None:
    kernel, size = regularizer.kernel, math.prod(shape(regularizer))
    rng = np.random.default_rng(4)
    for _ in range(50):
        v, w = rng.normal(size=(2, *shape(regularizer))) * rng.lognormal(0.0, 3.0)
        change = abs(kernel.value(v) - kernel.value(w))
        assert change <= kernel.steepness(size) * np.linalg.norm(v - w) * (1 + 1e-12)
