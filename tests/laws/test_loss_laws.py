"""Every listed loss obeys the laws; a new line in LOSSES is tested without editing this file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import expit

from discreet.accounting.terms import LossTerms
from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.losses import (
    LOSSES,
    Absolute,
    AgainstRest,
    CalibratedLogistic,
    Clipped,
    EuclideanDistance,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    SmoothedQuantile,
    Softmax,
    Squared,
    SquaredVector,
)
from discreet.losses.base import Regularity, scalar_regularity
from discreet.testing import LOSS_LAWS, check_loss
from discreet.testing.loss_draws import (
    LABEL,
    REACH,
    labels,
    lengths,
    points,
    sample,
    top_eigenvalue,
    trace,
)
from discreet.testing.loss_laws import Law, changes_sign, has_logistic_structure


def can_be_clipped(loss: Loss) -> bool:
    """Whether the loss says where its slope reaches a level, which is optional."""
    if loss.outputs != 1:
        return False
    try:
        loss.slope_inverse(np.zeros(1), np.ones(1))
    except Incompatible:
        return False
    return True


VARIANTS: list[Loss] = [
    CalibratedLogistic(clip=0.3),
    CalibratedLogistic(clip=1.0),
    HuberisedHinge(width=0.1),
    Huber(threshold=2.5),
    Quantile(quantile=0.9),
    SmoothedQuantile(quantile=0.2, width=0.1),
    Poisson(limit=1.0),
    Softmax(n_classes=2),
    Softmax(n_classes=6),
    EuclideanDistance(dim=3),
    SquaredVector(dim=3),
    AgainstRest(),
    AgainstRest(each=HuberisedHinge(), n_classes=4),
    AgainstRest(each=Logistic()),
]
TIGHT = [loss for loss in [*LOSSES.own, *VARIANTS] if not isinstance(loss, CalibratedLogistic)]
PLAIN = [*LOSSES.values(), *VARIANTS]
CLIPPED: list[Loss] = [Clipped(loss=loss, clip=0.7) for loss in PLAIN if can_be_clipped(loss)]
ALL = [*PLAIN, *CLIPPED]


def named(loss: Loss) -> str:
    return repr(loss)


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == loss.name for name, loss in LOSSES.items())


@pytest.mark.parametrize("law", LOSS_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("loss", ALL, ids=named)
def test_losses_obey_the_laws(loss: Loss, law: Law) -> None:
    law(loss)


# Of the library's own losses more is asked than of others: constants are not only bounds.


@pytest.mark.parametrize("loss", TIGHT, ids=named)
def test_declared_constants_are_tight(loss: Loss) -> None:
    z, y = sample(loss, 20000, seed=6)
    if loss.outputs == 1:  # the corners a random sample misses
        far, kinds = np.array([-REACH, REACH]), np.unique(y)
        z = np.concatenate([z, np.repeat(far, len(kinds)), np.linspace(-1.2, 1.2, 5001)])
        y = np.concatenate([y, np.tile(kinds, 2), np.zeros(5001) + y.max()])
    else:
        z = np.concatenate([z, np.zeros_like(z[:1]), np.eye(loss.outputs)[:1] * REACH])
        z[-1, 1:] = -REACH
        y = np.concatenate([y, y[:1], y[:1] * 0 + loss.outputs - 1 if y.ndim == 1 else y[:1]])
        if loss.target == "index" and loss.outputs > 2:
            z = np.concatenate([z, [[REACH, REACH] + [-REACH] * (loss.outputs - 2)]])
            y = np.concatenate([y, [0.0]])
        if loss.target == "vector":  # labels on the other side of the furthest predictions
            axis = np.eye(loss.outputs)[:1]
            z = np.concatenate([z[:-1], REACH * axis, -REACH * axis])
            y = np.concatenate([y[:-1], -LABEL * axis, LABEL * axis])
    r = loss.regularity(label=LABEL, reach=REACH)
    slope, curvature = loss.slope(z, y), loss.curvature(z, y)
    norm = lengths(slope)
    assert norm.max() >= 0.99 * r.lipschitz
    assert slope.min() <= -0.99 * r.slopes[0]
    assert slope.max() >= 0.99 * r.slopes[1]
    if math.isfinite(r.smoothness):
        assert top_eigenvalue(curvature).max() >= 0.99 * r.smoothness
        assert trace(curvature).max() >= 0.99 * r.trace
        if z.ndim == 2:
            assert np.linalg.matrix_rank(curvature, tol=1e-9).max() == r.rank


@pytest.mark.parametrize("loss", [*TIGHT, *CLIPPED], ids=named)
def test_structure_that_is_there_is_declared(loss: Loss) -> None:
    r = loss.regularity(label=LABEL, reach=REACH)
    assert r.one_signed != changes_sign(loss)
    # Hinges have the logistic structure trivially.
    smooth = r.scalar and math.isfinite(r.smoothness)
    assert r.self_bounded == (smooth and has_logistic_structure(loss))


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_are_of_the_size_of_the_longest_gradient(loss: Loss) -> None:
    rng = np.random.default_rng(11)
    norms = 2.0 * rng.choice([0.0, 0.3, 1.0], 4000)
    z, y = points(loss, 4000, rng), loss.attach(labels(loss, 4000, rng), norms)
    t = loss.terms(row_norm=2.0, label=LABEL, reach=REACH, weight=3.0)
    assert (3.0 * norms * lengths(loss.slope(z, y))).max() >= 0.5 * t.lipschitz
    plain = loss.regularity(label=LABEL, reach=REACH)
    assert t.vertices == tuple(6.0 * v for v in plain.vertices)
    assert (t.rank, t.one_signed, t.scalar) == (plain.rank, plain.one_signed, plain.scalar)
    assert t.self_bounded == plain.self_bounded


@pytest.mark.parametrize("loss", [Logistic(), CalibratedLogistic(clip=0.5)], ids=named)
def test_bends_are_of_use_far_away(loss: Loss) -> None:
    z, y = sample(loss, seed=13)
    bend = loss.curvature_near(10.0 * z, y, np.zeros(len(z)))
    assert bend is not None
    assert (bend < 0.01 * loss.regularity(label=LABEL, reach=REACH).smoothness).mean() > 0.3


def test_what_the_library_knows_of_its_own_losses() -> None:
    """Written out once more: a fact that is lost makes fits worse, and no law would tell."""

    def having(fact: str) -> set[str]:
        return {loss.name for loss in LOSSES.own if getattr(loss, fact)}

    assert having("proved_convex") == {loss.name for loss in LOSSES.own}
    curved = {"logistic", "huberised-hinge", "huber", "smoothed-quantile", "poisson", "squared"}
    assert having("curvature_unimodal") == curved
    assert having("quadratic") == {"squared"}
    assert having("nonnegative") == {loss.name for loss in LOSSES.own} - {"poisson"}
    assert having("probabilities") == {"logistic", "softmax"}
    assert having("only_extremes_matter") == {loss.name for loss in LOSSES.own}
    assert CalibratedLogistic(clip=0.5).probabilities
    clipped = Clipped(loss=Squared(), clip=1.0)
    assert clipped.proved_convex
    assert clipped.curvature_unimodal
    assert not clipped.quadratic
    assert clipped.inner.quadratic


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_refuse_bad_bounds(loss: Loss) -> None:
    with pytest.raises(InvalidParameter, match="row_norm"):
        loss.terms(row_norm=0.0, label=1.0, reach=1.0)
    with pytest.raises(InvalidParameter, match="weight"):
        loss.terms(row_norm=1.0, label=1.0, reach=1.0, weight=-1.0)


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_without_reach_are_finite_or_refused(loss: Loss) -> None:
    needs_reach = math.isinf(loss.regularity(label=LABEL, reach=math.inf).lipschitz)
    if needs_reach and loss.inner is loss:
        with pytest.raises(MissingBound, match="unbounded") as refused:
            loss.terms(row_norm=1.0, label=LABEL, reach=math.inf)
        # Only what can be done is advised.
        assert ("Clipped" in str(refused.value)) == (loss.outputs == 1)
    else:
        assert loss.terms(row_norm=1.0, label=LABEL, reach=math.inf).lipschitz < math.inf


# What a loss may not say.


def test_a_subclass_declares_its_facts_anew() -> None:
    class Mine(Logistic):
        def value(self, z: Array, y: Array) -> Array:
            return -np.logaddexp(0.0, -y * z)

    assert not Mine().proved_convex
    assert not Mine().probabilities
    assert not Mine().nonnegative
    assert Mine().pull is None
    assert Mine().curvature_near(np.zeros(1), np.ones(1), np.zeros(1)) is None
    assert Mine().scalar_slope() is None
    assert Mine().bare_slope()[0] == 1.0
    with pytest.raises(Incompatible, match="slope_inverse"):
        Mine().slope_inverse(np.zeros(1), np.ones(1))

    class Sure(Logistic):
        proved_convex: ClassVar[bool] = True

    class Surer(Sure):
        pass

    assert Sure().proved_convex
    assert not Surer().proved_convex


@dataclass(frozen=True)
class Relative(Loss):
    """Convex, with true constants, but steepest at the label 0."""

    name: ClassVar[str] = "relative"
    target: ClassVar[str] = "real"  # type: ignore[assignment]

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(np.abs(z - y) / (0.05 + np.abs(y)))

    def slope(self, z: Array, y: Array) -> Array:
        return np.asarray(np.sign(z - y) / (0.05 + np.abs(y)))

    def curvature(self, z: Array, y: Array) -> Array:
        return np.zeros_like(z)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(20.0, 20.0), smoothness=math.inf)


@dataclass(frozen=True)
class Sigmoid(Logistic):
    """Not convex."""

    proved_convex: ClassVar[bool] = True

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(expit(-y * z))

    def slope(self, z: Array, y: Array) -> Array:
        return np.asarray(-y * expit(z) * expit(-z))

    def curvature(self, z: Array, y: Array) -> Array:
        return np.asarray(self.slope(z, y) * (1.0 - 2.0 * expit(z)))

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(0.25, 0.25), smoothness=0.1)


@dataclass(frozen=True)
class RangeLie(Relative):
    range_at_extreme_labels: ClassVar[bool] = True


@dataclass(frozen=True)
class SizeLie(Relative):
    def at_zero(self, label: float) -> float:
        return 0.9


@dataclass(frozen=True)
class UnimodalLie(Squared):
    """Two bumps of curvature."""

    curvature_unimodal: ClassVar[bool] = True

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(Huber().value(z - 3.0, y) + Huber().value(z + 3.0, y))

    def slope(self, z: Array, y: Array) -> Array:
        return np.asarray(Huber().slope(z - 3.0, y) + Huber().slope(z + 3.0, y))

    def curvature(self, z: Array, y: Array) -> Array:
        return np.asarray(Huber().curvature(z - 3.0, y) + Huber().curvature(z + 3.0, y))

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(2.0, 2.0), smoothness=2.0)


@dataclass(frozen=True)
class QuadraticLie(Huber):
    quadratic: ClassVar[bool] = True


@dataclass(frozen=True)
class NonnegativeLie(Poisson):
    nonnegative: ClassVar[bool] = True


@dataclass(frozen=True)
class ProbabilityLie(HuberisedHinge):
    probabilities: ClassVar[bool] = True


@dataclass(frozen=True)
class PullLie(Logistic):
    pull: ClassVar[float | None] = 0.2


@dataclass(frozen=True)
class InnerLie(Huber):
    @property
    def inner(self) -> Loss:
        return Huber(threshold=0.5)


@dataclass(frozen=True)
class SmoothedLie(Absolute):
    smoothed: ClassVar[str | None] = "quantile"


@dataclass(frozen=True)
class CurvatureLie(Logistic):
    def curvature_near(self, z: Array, y: Array, slack: Array) -> Array:
        return 0.2 * np.ones_like(z)


@dataclass(frozen=True)
class InverseLie(Squared):
    def slope_inverse(self, level: Array, y: Array) -> Array:
        return y - level


@dataclass(frozen=True)
class BareLie(Squared):
    def bare_slope(self):  # type: ignore[no-untyped-def]
        return 1.0, lambda z, y: z - y, 2.0


@dataclass(frozen=True)
class SingleLie(Squared):
    slopes_in_float32 = True

    def bare_slope(self):  # type: ignore[no-untyped-def]
        return 1.0, lambda z, y: z - y if z.dtype == np.float64 else z, 1.0


@dataclass(frozen=True)
class ScalarLie(Squared):
    def scalar_slope(self):  # type: ignore[no-untyped-def]
        return (lambda z, y: y - z), ()


@dataclass(frozen=True)
class ConstantLie(Squared):
    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(label + reach / 2, label + reach), smoothness=1.0)


@dataclass(frozen=True)
class SignLie(Squared):
    def regularity(self, *, label: float, reach: float) -> Regularity:
        both = (label + reach, label + reach)
        return scalar_regularity(slopes=both, smoothness=1.0, one_signed=True)


@dataclass(frozen=True)
class StructureLie(HuberisedHinge):
    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(
            slopes=(1.0, 1.0), smoothness=1.0, one_signed=True, self_bounded=True
        )


@dataclass(frozen=True)
class TermsLie(Hinge):
    def terms(self, **given: float) -> LossTerms:  # type: ignore[override]
        return super().terms(**{**given, "weight": 1.0})


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (Sigmoid(), "proved_convex|subgradient"),
        (RangeLie(), "range_at_extreme_labels"),
        (SizeLie(), "at_zero"),
        (UnimodalLie(), "curvature_unimodal"),
        (QuadraticLie(), "quadratic"),
        (NonnegativeLie(), "nonnegative"),
        (ProbabilityLie(), "probabilities"),
        (PullLie(), "pull"),
        (InnerLie(threshold=0.7), "inner"),
        (SmoothedLie(), "smoothed"),
        (CurvatureLie(), "curvature_near"),
        (InverseLie(), "slope_inverse"),
        (BareLie(), "bare_slope"),
        (SingleLie(), "slopes_in_float32"),
        (ScalarLie(), "scalar_slope"),
        (ConstantLie(), "lipschitz|slopes"),
        (SignLie(), "one_signed"),
        (StructureLie(), "self_bounded"),
        (TermsLie(), "terms"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, Loss) else "",
)
def test_a_lie_is_caught(lie: Loss, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_loss(lie)


def test_what_is_not_declared_is_not_held_against_a_loss() -> None:
    """The same formulas without the lie pass."""
    check_loss(Relative())
