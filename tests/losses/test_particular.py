"""What is particular to single losses: known values, clipping, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.bounds import unit_roundoff
from discreet.data.rounding_errors import slope_error
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import (
    Clipped,
    EuclideanDistance,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    SmoothedQuantile,
    Softmax,
    Squared,
)

ONE = np.ones(1)


def test_clipped_logistic_by_hand() -> None:
    """y = 1 and cap 1/2: the cap is reached at 0, so fC(-2) = ln 2 + 1."""
    loss = Clipped(loss=Logistic(), clip=0.5)
    assert Logistic().slope_inverse(np.array([-0.5]), ONE) == 0.0
    y = loss.attach(ONE, ONE)
    assert loss.value(np.array([-2.0]), y)[0] == pytest.approx(math.log(2) + 1, rel=1e-14)
    assert loss.value(np.array([2.0]), y)[0] == pytest.approx(math.log1p(math.exp(-2)), rel=1e-14)


def test_clipped_squared_is_huber() -> None:
    rng = np.random.default_rng(0)
    z, y, norms = rng.normal(size=200) * 5, rng.normal(size=200), rng.uniform(0.1, 3, 200)
    clipped = Clipped(loss=Squared(), clip=1.3)
    given = clipped.attach(y, norms)
    expected = [
        Huber(threshold=1.3 / n).value(np.array([a]), np.array([b]))[0]
        for a, b, n in zip(z, y, norms, strict=True)
    ]
    np.testing.assert_allclose(clipped.value(z, given), expected, rtol=1e-12)


def test_clipped_slope_is_the_clipped_slope() -> None:
    rng = np.random.default_rng(1)
    z, y = rng.normal(size=500) * 4, rng.choice([-1.0, 1.0], 500)
    clipped = Clipped(loss=HuberisedHinge(), clip=0.4)
    given = clipped.attach(y, np.full(500, 0.8))
    expected = np.clip(HuberisedHinge().slope(z, y), -0.5, 0.5)
    np.testing.assert_allclose(clipped.slope(z, given), expected, rtol=1e-14)


def test_caps_never_exceed_the_clip() -> None:
    """In exact arithmetic: cap times norm, as stored, is at most the clip."""
    norms = np.random.default_rng(2).uniform(1e-3, 1e3, 2000)
    caps = Clipped(loss=Logistic(), clip=0.1).attach(np.ones(2000), norms)[:, 1]
    exact = [Fraction(c) * Fraction(n) for c, n in zip(caps, norms, strict=True)]
    assert max(exact) <= Fraction(0.1)
    assert min(exact) >= Fraction(0.1) * (1 - Fraction(1, 10**14))


@pytest.mark.parametrize("loss", [Logistic(), Squared(), HuberisedHinge(), Poisson(), Quantile()])
def test_a_row_of_norm_zero_has_constant_loss(loss: Loss) -> None:
    clipped = Clipped(loss=loss, clip=1.0)
    z = np.linspace(-5, 5, 101)
    y = clipped.attach(np.ones(101), np.zeros(101))
    assert np.ptp(clipped.value(z, y)) == 0.0
    assert not clipped.slope(z, y).any()
    assert not clipped.curvature(z, y).any()


def test_a_slope_beyond_the_cap_everywhere_becomes_linear() -> None:
    """Poisson with y = 0 has slope at least exp(-limit); a smaller cap leaves a straight line."""
    clipped = Clipped(loss=Poisson(limit=1.0), clip=0.1)
    z = np.linspace(-4, 4, 9)
    y = clipped.attach(np.zeros(9), np.ones(9))
    np.testing.assert_allclose(np.diff(clipped.value(z, y)), 0.1, rtol=1e-12)


def test_clipping_loses_the_logistic_shortcut_and_keeps_curvature() -> None:
    plain = Logistic().terms(row_norm=2.0, label=1.0, reach=math.inf)
    clipped = Clipped(loss=Logistic(), clip=0.5).terms(row_norm=2.0, label=1.0, reach=math.inf)
    assert (plain.lipschitz, clipped.lipschitz) == (2.0, 0.5)
    assert clipped.slopes == (0.5, 0.5)
    assert clipped.smoothness == plain.smoothness == 1.0
    assert plain.self_bounded
    assert not clipped.self_bounded
    # A clip above what the loss can reach changes nothing but the shortcut.
    wide = Clipped(loss=Logistic(), clip=50.0).terms(row_norm=2.0, label=1.0, reach=math.inf)
    assert wide.lipschitz == 2.0


def test_clipping_an_asymmetric_loss_clips_each_side() -> None:
    terms = Clipped(loss=SmoothedQuantile(quantile=0.9), clip=0.5).terms(
        row_norm=1.0, label=1.0, reach=math.inf, weight=2.0
    )
    assert terms.slopes == (1.0, pytest.approx(0.2))


@pytest.mark.parametrize("loss", [Softmax(), EuclideanDistance()])
def test_clipping_several_outputs_is_refused(loss: Loss) -> None:
    with pytest.raises(Incompatible, match="not give the gradient of a convex function"):
        Clipped(loss=loss, clip=1.0)


def test_clipping_twice_is_refused() -> None:
    with pytest.raises(Incompatible, match="clipped already"):
        Clipped(loss=Clipped(loss=Logistic(), clip=1.0), clip=0.5)


def test_a_loss_without_slope_inverse_cannot_be_clipped() -> None:
    class Mine(Squared):
        slope_inverse = Loss.slope_inverse

    clipped = Clipped(loss=Mine(), clip=1.0)
    with pytest.raises(Incompatible, match="slope_inverse"):
        clipped.value(np.zeros(1), clipped.attach(ONE, ONE))


def test_softmax_slope_is_a_mixture_of_its_vertices() -> None:
    """pi - e_y = sum over k of pi_k (e_k - e_y): nonnegative weights that add up to at most 1."""
    rng = np.random.default_rng(3)
    loss, n = Softmax(n_classes=4), 500
    z, y = rng.normal(size=(n, 4)) * 4, rng.integers(0, 4, n)
    slope = loss.slope(z, y.astype(float))
    others = np.array([np.delete(row, k) for row, k in zip(slope, y, strict=True)])
    assert (others >= 0).all()
    assert (others.sum(axis=1) <= 1 + 1e-14).all()
    np.testing.assert_allclose(slope[np.arange(n), y], -others.sum(axis=1), atol=1e-15)
    vertices = np.eye(4)[[1, 2, 3]] - np.eye(4)[0]
    declared = loss.regularity(label=3.0, reach=math.inf).vertices
    np.testing.assert_allclose(declared, np.linalg.norm(vertices, axis=1))


def test_two_class_softmax_agrees_with_logistic() -> None:
    rng = np.random.default_rng(4)
    z, sign = rng.normal(size=(50, 2)) * 3, rng.choice([-1.0, 1.0], 50)
    expected = Logistic().value(z[:, 1] - z[:, 0], sign)
    np.testing.assert_allclose(
        Softmax(n_classes=2).value(z, (sign + 1) / 2), expected, rtol=1e-12, atol=1e-15
    )


def test_huberised_hinge_follows_its_three_branches() -> None:
    loss, h = HuberisedHinge(width=0.5), 0.5
    m = np.array([-2.0, 0.5, 0.8, 1.0, 1.5, 3.0])
    expected = [3.0, 0.5, *((1 + h - v) ** 2 / (4 * h) for v in (0.8, 1.0)), 0.0, 0.0]
    np.testing.assert_allclose(loss.value(m, np.ones(6)), expected, rtol=1e-14)
    np.testing.assert_allclose(loss.value(-m, -np.ones(6)), expected, rtol=1e-14)
    assert loss.offset() == 1.5


def test_poisson_is_exact_within_its_limit() -> None:
    z = np.linspace(-3, 3, 61)
    np.testing.assert_allclose(
        Poisson(limit=3.0).value(z, np.full(61, 2.0)), np.exp(z) - 2 * z, rtol=1e-12
    )


def test_the_quantile_minimises_the_pinball_loss() -> None:
    y = np.arange(101.0)
    totals = [Quantile(quantile=0.9).value(np.full(101, c), y).sum() for c in y]
    assert int(np.argmin(totals)) == 90


def test_smoothing_moves_the_pinball_loss_by_at_most_half_the_width() -> None:
    t = np.linspace(-3, 3, 1001)
    sharp = Quantile(quantile=0.3).value(t, np.zeros_like(t))
    smooth = SmoothedQuantile(quantile=0.3, width=0.5).value(t, np.zeros_like(t))
    assert (smooth <= sharp + 1e-15).all()
    assert (sharp - smooth).max() == pytest.approx(0.25 * 0.7**2)


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Huber(threshold=0.0), "threshold"),
        (lambda: HuberisedHinge(width=-1.0), "width"),
        (lambda: Quantile(quantile=1.0), "quantile"),
        (lambda: SmoothedQuantile(width=0.0), "width"),
        (lambda: Poisson(limit=60.0), "limit"),
        (lambda: Softmax(n_classes=1), "n_classes"),
        (lambda: EuclideanDistance(dim=1), "dim"),
        (lambda: Clipped(loss=Logistic(), clip=math.inf), "clip"),
    ],
)
def test_bad_parameters_are_named(build: object, named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        build()  # type: ignore[operator]


def exact_slope(loss: Loss, z: float, y: float) -> mpmath.mpf:
    """The slope in 40 digits, written from the formulas and not from the code."""
    u, v = mpmath.mpf(z), mpmath.mpf(y)
    match loss:
        case Logistic():
            return -v / (1 + mpmath.exp(v * u))
        case HuberisedHinge():
            share = (1 + mpmath.mpf(loss.width) - v * u) / (2 * mpmath.mpf(loss.width))
            return -v * min(max(share, 0), 1)
        case Huber():
            return min(max(u - v, -mpmath.mpf(loss.threshold)), mpmath.mpf(loss.threshold))
        case SmoothedQuantile():
            q, k = mpmath.mpf(loss.quantile), mpmath.mpf(loss.width)
            return min(max((u - v) / k, -q), 1 - q)
        case Poisson():
            return mpmath.exp(min(max(u, -loss.limit), loss.limit)) - v
        case _:
            return u - v


@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        HuberisedHinge(width=0.05),
        Huber(threshold=0.3),
        SmoothedQuantile(quantile=0.9, width=0.01),
        Poisson(limit=5.0),
        Squared(),
    ],
)
def test_slopes_round_within_the_declared_offset(loss: Loss) -> None:
    """Rounding is at most 2u (smoothness * offset + 8 |f'| + 2), as certificates assume."""
    rng = np.random.default_rng(5)
    z = rng.normal(size=3000) * rng.choice([0.1, 1.0, 5.0], 3000)
    y = rng.choice([-1.0, 1.0], 3000) if loss.target == "sign" else rng.uniform(0, 3, 3000)
    smoothness = loss.regularity(label=3.0, reach=math.inf).smoothness
    with mpmath.workdps(40):
        for a, b, got in zip(z, y, loss.slope(z, y), strict=True):
            exact = exact_slope(loss, float(a), float(b))
            allowed = 2.0**-52 * (smoothness * loss.offset() + 8 * abs(exact) + 2)
            assert abs(mpmath.mpf(float(got)) - exact) <= allowed
    # A cap above every slope leaves the rounding as it is.
    assert Clipped(loss=loss, clip=1e9).offset() >= loss.offset()


@pytest.mark.parametrize("reach", [1e-3, 0.5, 5.0, math.inf])
def test_the_logistic_slope_takes_its_whole_range_within_any_reach(reach: float) -> None:
    """The proof that pays nothing for the Jacobian needs all slopes up to 1."""
    found = Logistic().regularity(label=1.0, reach=reach)
    assert found.self_bounded
    assert found.lipschitz >= 1.0
    assert min(found.slopes) >= 1.0


def test_the_bend_of_the_logistic_loss_is_rounded_up() -> None:
    z = np.random.default_rng(0).uniform(38.0, 700.0, 300)
    with mpmath.workdps(50):
        for a, bend in zip(
            z, Logistic().curvature_near(z, np.ones(300), np.zeros(300)), strict=True
        ):
            small = mpmath.exp(-mpmath.mpf(float(a)))
            assert mpmath.mpf(float(bend)) >= small / (1 + small) ** 2


def test_the_bend_of_the_poisson_loss_leaves_room_for_the_rounding_of_exp() -> None:
    """Beyond its limit the loss does not bend, but its slope is an exp all the same."""
    loss, z, slack = Poisson(limit=2.0), np.array([-2.5, 2.5, 1e3]), np.full(3, 1e-12)
    paid = slope_error(loss.curvature_near(z, 0 * z, slack), slack, 0 * z, loss)
    rate = np.exp(np.clip(z, -2.0, 2.0))
    assert (paid >= 4.0 * unit_roundoff() * rate).all()
    assert (paid < 1e-2 * rate * slack).all()


def test_labels_count_in_the_slope_of_huber_within_a_reach() -> None:
    loss = Huber(threshold=10.0)
    most = loss.regularity(label=2.0, reach=3.0).lipschitz
    assert most >= np.abs(loss.slope(np.array([3.0, -3.0]), np.array([-2.0, 2.0]))).max() == 5.0
