"""Every listed penalty obeys the laws, alone and together with every constraint set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
from discreet.testing import REGULARIZER_LAWS, check_regularizer
from discreet.testing.regularizer_laws import Law, inputs, is_prox, own_shape, shape_of

VARIANTS: list[Regularizer] = [
    Ridge(strength=0.0),
    L1(strength=0.3),
    ElasticNet(l1=0.2, l2=3.0),
    ElasticNet(l1=0.0, l2=0.0),
    Group(strength=0.5, groups=(0, 1, 0, 1)),
    Indicator(constraint=Box(low=-0.2, high=0.1)),
]
ALL = [*REGULARIZERS.values(), *VARIANTS]
OWN = [r.name for r in REGULARIZERS.own]
FINITE = [r for r in ALL if r.name in OWN and r.indicated is None]


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == regularizer.name for name, regularizer in REGULARIZERS.items())


@pytest.mark.parametrize("law", REGULARIZER_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("regularizer", ALL, ids=repr)
def test_penalties_obey_the_laws(regularizer: Regularizer, law: Law) -> None:
    law(regularizer)


# Of the library's own penalties more is asked: moduli and facts are not only bounds.


@pytest.mark.parametrize("regularizer", FINITE, ids=repr)
def test_strong_convexity_is_not_understated(regularizer: Regularizer) -> None:
    """Along a ray the midpoint inequality holds with no larger modulus."""
    a = np.random.default_rng(7).normal(size=own_shape(regularizer))
    gap = 0.5 * (regularizer.value(a) + regularizer.value(3 * a)) - regularizer.value(2 * a)
    modulus = regularizer.strong_convexity
    assert gap == pytest.approx(modulus / 8 * float(np.sum((2 * a) ** 2)), abs=1e-12)


@pytest.mark.parametrize("regularizer", FINITE, ids=repr)
def test_smooth_penalties_say_so(regularizer: Regularizer) -> None:
    w = 1e-6 * np.ones(own_shape(regularizer))
    kink = (regularizer.value(w) + regularizer.value(-w) - 2 * regularizer.value(0 * w)) / 1e-6
    trivial = isinstance(regularizer, ElasticNet) and regularizer.l1 == 0.0
    assert regularizer.smooth == (kink < 1e-3) or trivial


@pytest.mark.parametrize("regularizer", FINITE, ids=repr)
def test_every_kernel_has_a_lipschitz_constant(regularizer: Regularizer) -> None:
    assert regularizer.kernel.steepness(5) < np.inf


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
        "group": ("l2-ball", "group-ball"),
        "nuclear": ("l2-ball", "nuclear-ball"),
    }
    if kind == "indicator":
        inner = regularizer.constraint.name  # type: ignore[attr-defined]
        exact = {"l2-ball": ("l2-ball", "box"), "box": ("box", "l2-ball", "simplex")}
        return place in (*exact[inner], "intersection")
    if (kind, place) == ("group", "group-ball"):
        return regularizer.groups == constraint.groups  # type: ignore[attr-defined]
    return place in listed[kind]


PAIRS = [(r, c) for r in ALL if r.name in OWN for c in SETS.own]


@pytest.mark.parametrize(("regularizer", "constraint"), PAIRS, ids=repr)
def test_combined_prox_is_exact_or_refused(regularizer: Regularizer, constraint: ConvexSet) -> None:
    if not supported(regularizer, constraint):
        with pytest.raises(Incompatible, match=constraint.name):
            combined_prox(regularizer, constraint)
        return
    if isinstance(regularizer, Indicator) and constraint.name == "simplex":
        regularizer = Indicator(constraint=Box(low=-0.2, high=0.4))
    prox = combined_prox(regularizer, constraint)
    size = shape_of(regularizer, constraint)
    assert size is not None
    for w, step in inputs(size):
        assert is_prox(regularizer, constraint, w, prox(w, step), step)


def test_refusals_name_both_parts_and_what_works() -> None:
    with pytest.raises(Incompatible, match=r"l1 penalty .* simplex .* L2Ball .* same norm, .* Box"):
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


# What a penalty may not say.


@dataclass(frozen=True, kw_only=True)
class SeparableLie(Group):
    separable: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class NormLie(Ridge):
    norm: ClassVar[str | None] = "l1"


@dataclass(frozen=True, kw_only=True)
class OtherNormLie(L1):
    """A norm, but not the one of that name."""

    norm: ClassVar[str | None] = "nuclear"


@dataclass(frozen=True, kw_only=True)
class ZeroLie(L1):
    zero: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class SmoothLie(L1):
    smooth: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class KernelLie(ElasticNet):
    @property
    def kernel(self) -> Regularizer:
        return Zero()


@dataclass(frozen=True, kw_only=True)
class ConvexityLie(Ridge):
    strong_convexity: ClassVar[float] = 2.0  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True)
class SteepnessLie(L1):
    def steepness(self, dim: int) -> float:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class IndicatedLie(Indicator):
    @property
    def indicated(self) -> ConvexSet:
        return L2Ball(radius=2.0)


@dataclass(frozen=True, kw_only=True)
class ProxLie(L1):
    def prox(self, w: Array, step: float) -> Array:
        return np.asarray(np.copysign(np.maximum(np.abs(w) - 0.9 * step, 0.0), w))


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (SeparableLie(), "separable"),
        (NormLie(), "norm"),
        (OtherNormLie(), "exact, as norm"),
        (ZeroLie(), "zero"),
        (SmoothLie(), "smooth"),
        (KernelLie(), "kernel"),
        (ConvexityLie(), "strong_convexity"),
        (SteepnessLie(), "steepness"),
        (IndicatedLie(constraint=L2Ball(radius=1.0)), "indicated"),
        (ProxLie(), "prox"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Regularizer) else "",
)
def test_a_lie_is_caught(lie: Regularizer, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_regularizer(lie)
