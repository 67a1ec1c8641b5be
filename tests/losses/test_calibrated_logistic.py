"""A cap for each row: calibrated, convex, within the clip, and the same when compiled."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from discreet.bounds import Array
from discreet.data import Rows
from discreet.data.clipped.clipped_sums import PATIENCE, ClippedSums
from discreet.errors import InvalidParameter
from discreet.losses import Clipped, Logistic, Loss
from discreet.losses.calibrated_logistic import CalibratedLogistic

NORMS = np.array([0.0, 1e-3, 0.2, 0.31, 0.45, 0.6, 0.8, 1.0])
LOSS = CalibratedLogistic(clip=0.3)


def sample(n: int = 4000, seed: int = 0) -> tuple[Array, Array, Array]:
    """Margins, signs and norms of rows."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1.0, 1.0, n) * rng.choice([1.0, 5.0, 40.0], n)
    return z, rng.choice([-1.0, 1.0], n), rng.choice(NORMS, n)


def test_the_slope_is_a_weighted_logistic_slope() -> None:
    z, sign, norms = sample()
    cap = LOSS.clip / np.maximum(norms, 1e-9)
    expected = Logistic().slope(z, sign) * np.minimum(1.0, cap * (1.0 + np.exp(-np.abs(z))))
    np.testing.assert_allclose(LOSS.slope(z, LOSS.attach(sign, norms)), expected, rtol=1e-13)


@pytest.mark.parametrize("norm", NORMS)
def test_value_slope_and_curvature_belong_together(norm: float) -> None:
    loss = LOSS
    y = loss.attach(np.ones(1), np.array([norm]))

    def at(method: str, z: float) -> float:
        return float(getattr(loss, method)(np.array([z]), y)[0])

    cap = abs(float(y[0]))
    joints = [0.0] if cap <= 0.5 else [s * math.log(cap / (1 - cap)) for s in (-1, 1) if cap < 1]
    for method, whole in (("slope", "value"), ("curvature", "slope")):
        area, _ = quad(lambda z, m=method: at(m, z), -6.0, 5.0, points=joints or None)
        assert area == pytest.approx(at(whole, 5.0) - at(whole, -6.0), rel=1e-9)
    grid = np.linspace(-50.0, 50.0, 4001)
    assert (loss.curvature(grid, np.repeat(y, 4001)) >= 0.0).all()
    assert (np.diff(loss.slope(grid, np.repeat(y, 4001))) >= 0.0).all()


@pytest.mark.parametrize("norm", NORMS)
def test_the_expected_loss_is_least_at_the_logit(norm: float) -> None:
    logits = np.linspace(-4.0, 4.0, 17)

    def pull(loss: Loss) -> Array:
        """Expected slope at the logit."""
        up, down = (loss.attach(np.full(17, s), np.full(17, norm)) for s in (1.0, -1.0))
        right: Array = expit(logits) * loss.slope(logits, up)
        return right + expit(-logits) * loss.slope(logits, down)

    assert np.abs(pull(LOSS)).max() < 1e-15
    if norm > 0.6:  # a slope that is merely cut is not calibrated
        assert np.abs(pull(Clipped(loss=Logistic(), clip=0.3))).max() > 1e-3


def test_no_gradient_exceeds_the_clip() -> None:
    """In exact arithmetic: slope times norm is at most the clip."""
    loss = LOSS
    z, sign, _ = sample(2000, 3)
    norms = np.random.default_rng(4).uniform(1e-3, 1.0, 2000)
    y = loss.attach(sign, norms)
    caps = [Fraction(c) * Fraction(r) for c, r in zip(np.abs(y), norms, strict=True)]
    assert max(caps) <= Fraction(0.3)
    assert (np.abs(loss.slope(z, y)) <= np.abs(y)).all()
    assert (np.abs(loss.slope(np.full(2000, -40.0) * sign, y)) == np.minimum(np.abs(y), 1.0)).all()


@pytest.mark.parametrize("clip", [0.05, 0.3, 0.49, 0.5, 0.51, 0.6, 0.75, 0.9, 1.5])
def test_terms_hold_for_every_row_and_no_smaller_ones_do(clip: float) -> None:
    """By brute force: differences of the slope, at the joint of every norm and around."""
    loss = CalibratedLogistic(clip=clip)
    terms = loss.terms(row_norm=2.0, label=1.0, reach=math.inf, weight=3.0)
    assert terms.lipschitz == 3.0 * min(clip, 2.0)
    assert terms.trace == terms.smoothness
    assert not terms.self_bounded
    norms = np.repeat(np.linspace(0.01, 2.0, 200), 400)
    y = loss.attach(np.tile([-1.0, 1.0], 40_000), norms)
    cap = np.clip(np.abs(y), 0.5, 1.0 - 1e-9)
    near = np.random.default_rng(8).uniform(-0.02, 0.02, 80_000)
    far = np.tile(np.linspace(-8.0, 8.0, 400), 200)
    most = 0.0
    for z in (np.log(cap / (1.0 - cap)) + near, near - np.log(cap / (1.0 - cap)), far):
        slope, other = loss.slope(z, y), loss.slope(z + 1e-4, y)
        assert (3.0 * norms * np.abs(slope)).max() <= terms.lipschitz
        most = max(most, float((3.0 * norms**2 * (other - slope)).max()) / 1e-4)
        assert (3.0 * norms**2 * loss.curvature(z, y)).max() <= terms.smoothness
    assert 0.99 * terms.smoothness <= most <= terms.smoothness * (1.0 + 1e-9)


def test_slopes_round_as_little_as_certificates_assume() -> None:
    z, sign, norms = sample(1500, 9)
    y = LOSS.attach(sign, norms)
    with mpmath.workdps(40):
        for a, b, got in zip(z, y, LOSS.slope(z, y), strict=True):
            m, cap = mpmath.mpf(float(a)) * mpmath.sign(b), abs(mpmath.mpf(float(b)))
            size = min(1, cap * (1 + mpmath.exp(-abs(m)))) / (1 + mpmath.exp(m))
            allowed = 2.0**-52 * (8 * size + 2)
            assert abs(mpmath.mpf(float(got)) + mpmath.sign(b) * size) <= allowed


def test_compiled_slopes_and_sums_are_the_same() -> None:
    loss = LOSS
    z, sign, norms = sample(600, 6)
    y = loss.attach(sign, norms)
    slope, parameters = loss.scalar_slope()
    scalar = [slope(a, b, *parameters) for a, b in zip(z, y, strict=True)]
    np.testing.assert_allclose(scalar, loss.slope(z, y), rtol=1e-14)
    X = np.random.default_rng(7).normal(size=(600, 4))
    X *= (norms / np.linalg.norm(X, axis=1))[:, None]
    rows, w = Rows(X, y), np.array([3.0, -2.0, 0.5, 9.0])
    found = []
    for work in (0.0, 2.0 * PATIENCE):
        with ClippedSums(rows, loss, work=work) as sums:
            found.append(sums.full(w, loss.clip))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[0], X.T @ loss.slope(X @ w, y), rtol=1e-12)


def test_a_bad_parameter_is_named() -> None:
    with pytest.raises(InvalidParameter, match="clip"):
        CalibratedLogistic(clip=0.0)


@pytest.mark.parametrize("clip", [0.55, 0.6, 0.7])
def test_terms_cover_caps_and_norms_that_were_rounded(clip: float) -> None:
    loss = CalibratedLogistic(clip=clip)
    terms = loss.terms(row_norm=1.0, label=1.0, reach=math.inf)
    for norm in (1.0, 1.0 + 2.0**-40):
        cap = abs(Fraction(float(loss.attach(np.ones(1), np.array([norm]))[0])))
        assert Fraction(terms.smoothness) >= Fraction(norm) ** 2 * (1 - cap)


def test_the_slope_that_writes_over_margins_is_the_one_of_every_row() -> None:
    rng = np.random.default_rng(0)
    loss = CalibratedLogistic(clip=0.4)
    z = np.concatenate([rng.normal(size=400) * 5.0, [0.0, -0.0, 1e-320, 750.0, -750.0, np.inf]])
    y = loss.attach(rng.choice([-1.0, 1.0], len(z)), rng.uniform(0.0, 2.0, len(z)))
    one, _ = loss.scalar_slope()
    expected = [one(float(a), float(b)) for a, b in zip(z, y, strict=True)]
    kept = z.copy()
    np.testing.assert_allclose(loss.slope(z, y), expected, rtol=4e-16, atol=1e-323)
    np.testing.assert_array_equal(z, kept)
    inner, slope, outer = loss.bare_slope()
    assert (inner, outer) == (1.0, 1.0)
    with np.errstate(over="ignore"):
        found = slope(kept, *loss.bare_labels(y))
        none = slope(np.zeros(3), *loss.bare_labels(np.zeros(3)))
    np.testing.assert_allclose(found, loss.slope(z, y), rtol=1e-15, atol=1e-307)
    np.testing.assert_array_equal(none, 0.0)
    np.testing.assert_array_equal(loss.slope(z[:400], np.zeros(400)), 0.0)


def test_tiny_caps_come_without_a_warning() -> None:
    # privacy: a warning would tell that a row is that long.
    loss = CalibratedLogistic(clip=1e-300)
    with np.errstate(all="raise", under="ignore"):
        assert np.isinf(loss.bare_labels(loss.attach(np.ones(1), np.array([1e15])))[1]).all()
