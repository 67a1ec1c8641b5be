"""Laws every loss must obey; a new line in LOSSES is tested without editing this file."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from discreet.bounds import Array
from discreet.errors import InvalidParameter, MissingBound
from discreet.losses import (
    LOSSES,
    Clipped,
    EuclideanDistance,
    Huber,
    HuberisedHinge,
    Loss,
    Poisson,
    Quantile,
    SmoothedQuantile,
    Softmax,
    SquaredVector,
)

LABEL, REACH = 3.0, 9.0

VARIANTS: list[Loss] = [
    HuberisedHinge(width=0.1),
    Huber(threshold=2.5),
    Quantile(quantile=0.9),
    SmoothedQuantile(quantile=0.2, width=0.1),
    Poisson(limit=1.0),
    Softmax(n_classes=2),
    Softmax(n_classes=6),
    EuclideanDistance(dim=3),
    SquaredVector(dim=3),
]
PLAIN = [*LOSSES.values(), *VARIANTS]
SCALAR = [loss for loss in PLAIN if loss.outputs == 1]
CLIPPED: list[Loss] = [Clipped(loss=loss, clip=0.7) for loss in SCALAR]
ALL = [*PLAIN, *CLIPPED]


def named(loss: Loss) -> str:
    return repr(loss)


def labels(loss: Loss, n: int, rng: np.random.Generator) -> Array:
    """Random labels of the kind the loss declares, extreme ones included."""
    match loss.target:
        case "sign":
            y = rng.choice([-1.0, 1.0], n)
        case "index":
            y = rng.integers(0, loss.outputs, n).astype(float)
        case "count":
            y = rng.choice([0.0, 1.0, 2.0, LABEL], n)
        case "vector":
            y = rng.normal(size=(n, loss.outputs)) * rng.choice([0.1, 1.0, 10.0], n)[:, None]
            y *= np.minimum(1.0, LABEL / np.linalg.norm(y, axis=1))[:, None]
        case "real":
            y = rng.choice([-LABEL, LABEL, 0.0, 0.3, -1.1], n)
    norms = rng.choice([0.0, 1e-3, 0.5, 1.0, 2.0, 30.0], n)
    return loss.attach(y, norms)


def points(loss: Loss, n: int, rng: np.random.Generator) -> Array:
    """Predictions within reach, dense around the joints of the losses."""
    if loss.outputs == 1:
        return np.where(rng.random(n) < 0.5, rng.uniform(-REACH, REACH, n), rng.uniform(-2, 2, n))
    z = rng.normal(size=(n, loss.outputs)) * rng.choice([0.01, 1.0, 10.0], n)[:, None]
    return z * np.minimum(1.0, REACH / np.linalg.norm(z, axis=1))[:, None]


def sample(loss: Loss, n: int = 4000, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return points(loss, n, rng), labels(loss, n, rng)


def directions(z: Array, seed: int = 1) -> Array:
    d = np.random.default_rng(seed).normal(size=z.shape)
    return np.sign(d) if z.ndim == 1 else d / np.linalg.norm(d, axis=1, keepdims=True)


def along(slope: Array, d: Array) -> Array:
    return slope * d if slope.ndim == 1 else (slope * d).sum(axis=1)


def top_eigenvalue(curvature: Array) -> Array:
    return curvature if curvature.ndim == 1 else np.linalg.eigvalsh(curvature)[:, -1]


def trace(curvature: Array) -> Array:
    return curvature if curvature.ndim == 1 else np.trace(curvature, axis1=1, axis2=2)


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == loss.name for name, loss in LOSSES.items())


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_losses_are_frozen_and_hashable(loss: Loss) -> None:
    hash(loss)
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        loss.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_shapes(loss: Loss) -> None:
    z, y = sample(loss, 5)
    k = loss.outputs
    assert loss.value(z, y).shape == (5,)
    assert loss.slope(z, y).shape == z.shape
    assert loss.curvature(z, y).shape == ((5,) if k == 1 else (5, k, k))
    assert loss.value(z[:0], y[:0]).shape == (0,)


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_slope_lies_between_one_sided_differences(loss: Loss) -> None:
    """For a convex function this holds at joints too, and pins the slope down elsewhere."""
    z, y = sample(loss)
    d, h = directions(z), 1e-5
    slope = along(loss.slope(z, y), d)
    middle = loss.value(z, y)
    below = (middle - loss.value(z - h * d, y)) / h
    above = (loss.value(z + h * d, y) - middle) / h
    slack = 1e-9 * (1.0 + np.abs(middle))
    assert (below <= slope + slack).all()
    assert (slope <= above + slack).all()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_curvature_matches_differences_of_the_slope(loss: Loss) -> None:
    z, y = sample(loss)
    d, h = directions(z), 1e-6
    product = loss.curvature(z, y)
    product = product * d if z.ndim == 1 else np.einsum("nij,nj->ni", product, d)
    difference = (loss.slope(z + h * d, y) - loss.slope(z - h * d, y)) / (2 * h)
    # Keep away from joints, where the slope or the curvature jumps.
    ends = [top_eigenvalue(loss.curvature(z + s * 2 * h * d, y)) for s in (-1, 1)]
    calm = np.abs(ends[0] - ends[1]) <= 1e-3 * (1.0 + np.abs(ends[0]))
    calm &= np.abs(difference).reshape(len(z), -1).max(axis=1) * h <= 1e-3
    assert calm.mean() > 0.9
    error = np.abs(product - difference).reshape(len(z), -1).max(axis=1)
    assert error[calm].max() <= 1e-3 * (1.0 + top_eigenvalue(loss.curvature(z, y))[calm].max())


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_convex_along_lines(loss: Loss) -> None:
    a, y = sample(loss, seed=2)
    b = points(loss, len(a), np.random.default_rng(3)) * 3.0
    t = np.random.default_rng(4).random(len(a))
    s = t if a.ndim == 1 else t[:, None]
    chord = t * loss.value(a, y) + (1 - t) * loss.value(b, y)
    assert (loss.value(s * a + (1 - s) * b, y) <= chord + 1e-12 * (1 + np.abs(chord))).all()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_declared_constants_hold(loss: Loss) -> None:
    z, y = sample(loss, 20000, seed=5)
    r = loss.regularity(label=LABEL, reach=REACH)
    slope, curvature = loss.slope(z, y), loss.curvature(z, y)
    norm = np.abs(slope) if z.ndim == 1 else np.linalg.norm(slope, axis=1)
    tiny = 1.0 + 1e-12
    assert norm.max() <= r.lipschitz * tiny
    assert -r.slopes[0] * tiny <= slope.min()
    assert slope.max() <= r.slopes[1] * tiny
    assert top_eigenvalue(curvature).max() <= r.smoothness * tiny
    assert trace(curvature).max() <= r.trace * tiny
    assert r.scalar == (loss.outputs == 1)
    if z.ndim == 2:
        assert np.linalg.matrix_rank(curvature, tol=1e-9).max() <= r.rank
    # The slope itself must not jump where a smoothness is claimed.
    if math.isfinite(r.smoothness):
        other = z + 1e-3 * directions(z)
        change = np.abs(loss.slope(other, y) - slope).reshape(len(z), -1)
        assert np.linalg.norm(change, axis=1).max() <= r.smoothness * 1e-3 * (1 + 1e-9)


@pytest.mark.parametrize("loss", PLAIN, ids=named)
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
    norm = np.abs(slope) if z.ndim == 1 else np.linalg.norm(slope, axis=1)
    assert norm.max() >= 0.99 * r.lipschitz
    assert slope.min() <= -0.99 * r.slopes[0]
    assert slope.max() >= 0.99 * r.slopes[1]
    if math.isfinite(r.smoothness):
        assert top_eigenvalue(curvature).max() >= 0.99 * r.smoothness
        assert trace(curvature).max() >= 0.99 * r.trace
        if z.ndim == 2:
            assert np.linalg.matrix_rank(curvature, tol=1e-9).max() == r.rank


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_one_signed_means_what_it_says(loss: Loss) -> None:
    """The slope of one label keeps its sign if and only if that is declared."""
    _, y = sample(loss, 60, seed=7)
    z = points(loss, 3000, np.random.default_rng(8)) * 3.0
    changes = False
    for one in y:
        slope = loss.slope(z, np.broadcast_to(one, (len(z), *np.shape(one))))
        changes |= bool((slope.min(axis=0) < 0).any() and (slope.max(axis=0) > 0).any())
    assert changes != loss.regularity(label=LABEL, reach=REACH).one_signed


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_self_bounded_is_exactly_the_logistic_structure(loss: Loss) -> None:
    z, y = sample(loss, seed=9)
    r = loss.regularity(label=LABEL, reach=REACH)
    size = np.abs(loss.slope(z, y))
    # A smooth loss has the structure if and only if it says so; hinges have it trivially.
    holds = r.scalar and math.isfinite(r.smoothness)
    holds = holds and bool(np.allclose(loss.curvature(z, y), size * (1 - size), atol=1e-12))
    assert r.self_bounded == holds


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_curvature_nearby_is_at_most_the_bend(loss: Loss) -> None:
    z, y = sample(loss, seed=13)
    most = loss.regularity(label=LABEL, reach=REACH).smoothness
    for far in (1.0, 10.0):
        for slack in (0.0, 1e-9, 0.1, 2.0):
            bend = loss.bend(far * z, y, np.full(len(z), slack))
            if bend is None:
                return
            assert (bend <= most * (1 + 1e-12)).all()
            for part in np.linspace(-1.0, 1.0, 9):
                nearby = loss.curvature(far * z + part * slack, y)
                assert (nearby <= bend * (1 + 1e-12)).all()
    # It is of use: far away there is next to none.
    assert (loss.bend(far * z, y, np.zeros(len(z))) < 0.01 * most).mean() > 0.3


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_bare_slopes_are_the_slope(loss: Loss) -> None:
    z, y = sample(loss, seed=12)
    inner, bare, outer = loss.bare_slope()
    assert math.frexp(inner)[0] == math.frexp(outer)[0] == 0.5
    for far in (1.0, 1e4, 1e300):
        with np.errstate(over="ignore", invalid="ignore"):
            slope = loss.slope(far * z, y)
            found = outer * bare(inner * far * z, y)
        # As exact as certificates take slopes to be.
        room = 2.0**-52 * (8.0 * np.abs(slope) + 2.0)
        assert (np.abs(found - slope) <= room)[np.isfinite(slope)].all()
    # A row's slope does not depend on the rows beside it.
    whole = bare(inner * z, y)
    for part in (slice(0, 1), slice(3, 8), slice(5, 22)):
        assert (bare(inner * z[part], y[part]) == whole[part]).all()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_nothing_overflows_far_away(loss: Loss) -> None:
    _, y = sample(loss, 200, seed=10)
    for sign in (-1.0, 1.0):
        z = np.full((200,) if loss.outputs == 1 else (200, loss.outputs), sign * 1e4)
        if z.ndim == 2:
            z[:, 0] *= -1.0
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            assert np.isfinite(loss.value(z, y)).all()
            assert np.isfinite(loss.slope(z, y)).all()
            assert np.isfinite(loss.curvature(z, y)).all()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_bound_one_row(loss: Loss) -> None:
    """Gradients and Hessians in w, for rows up to the norm and weight bounds."""
    rng = np.random.default_rng(11)
    row_norm, weight, n = 2.0, 3.0, 4000
    x = rng.normal(size=(n, 3))
    x *= (row_norm * rng.choice([0.0, 0.3, 1.0], n) / np.linalg.norm(x, axis=1))[:, None]
    norms = np.linalg.norm(x, axis=1)
    z, y = points(loss, n, rng), labels(loss, n, rng)
    if isinstance(loss, Clipped):
        y = loss.attach(y[:, 0], norms)
    t = loss.terms(row_norm=row_norm, label=LABEL, reach=REACH, weight=weight)
    slope, curvature = loss.slope(z, y), loss.curvature(z, y)
    length = np.abs(slope) if z.ndim == 1 else np.linalg.norm(slope, axis=1)
    gradient = weight * norms * length
    assert gradient.max() <= t.lipschitz * (1 + 1e-12)
    assert gradient.max() >= 0.5 * t.lipschitz
    assert (weight * norms**2 * top_eigenvalue(curvature)).max() <= t.smoothness * (1 + 1e-12)
    assert (weight * norms**2 * trace(curvature)).max() <= t.trace * (1 + 1e-12)
    if z.ndim == 1:
        assert -t.slopes[0] * (1 + 1e-12) <= (weight * norms * slope).min()
        assert (weight * norms * slope).max() <= t.slopes[1] * (1 + 1e-12)
    plain = loss.regularity(label=LABEL, reach=REACH)
    assert t.vertices == tuple(weight * row_norm * v for v in plain.vertices)
    assert (t.rank, t.one_signed, t.scalar) == (plain.rank, plain.one_signed, plain.scalar)
    assert t.self_bounded == plain.self_bounded


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_refuse_bad_bounds(loss: Loss) -> None:
    with pytest.raises(InvalidParameter, match="row_norm"):
        loss.terms(row_norm=0.0, label=1.0, reach=1.0)
    with pytest.raises(InvalidParameter, match="weight"):
        loss.terms(row_norm=1.0, label=1.0, reach=1.0, weight=-1.0)


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_terms_without_reach_are_finite_or_refused(loss: Loss) -> None:
    needs_reach = math.isinf(loss.regularity(label=LABEL, reach=math.inf).lipschitz)
    if needs_reach and not isinstance(loss, Clipped):
        with pytest.raises(MissingBound, match="unbounded") as refused:
            loss.terms(row_norm=1.0, label=LABEL, reach=math.inf)
        # Only what can be done is advised.
        assert ("Clipped" in str(refused.value)) == (loss.outputs == 1)
    else:
        assert loss.terms(row_norm=1.0, label=LABEL, reach=math.inf).lipschitz < math.inf


@pytest.mark.parametrize("loss", SCALAR, ids=named)
def test_slope_inverse_is_where_the_slope_crosses(loss: Loss) -> None:
    rng = np.random.default_rng(12)
    y = labels(loss, 4000, rng)
    level = rng.uniform(-1.5, 1.5, 4000) * rng.choice([0.01, 1.0, 10.0], 4000)
    at = loss.slope_inverse(level, y)
    near = 1e-7
    slack = 1e-9 * (1 + np.abs(level))
    left = loss.slope(np.clip(at, -1e9, 1e9) - near, y)
    right = loss.slope(np.clip(at, -1e9, 1e9) + near, y)
    assert (left[at > -np.inf] <= (level + slack)[at > -np.inf]).all()
    assert (right[at < np.inf] >= (level - slack)[at < np.inf]).all()
    assert np.isfinite(at).any()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_scalar_slope_is_the_slope(loss: Loss) -> None:
    given = loss.scalar_slope()
    if given is None:
        assert loss.outputs > 1 or isinstance(loss, Clipped)
        return
    slope, parameters = given
    z, y = sample(loss, 2000, seed=13)
    z[:4] = 1e4, -1e4, 1e300, -1e300
    pairs = zip(z.tolist(), y.tolist(), strict=True)
    found = np.array([slope(*pair, *parameters) for pair in pairs])
    expected = loss.slope(z, y)
    size = np.maximum(np.abs(expected), loss.offset() * np.abs(expected + y) * 0.5)
    assert (np.abs(found - expected) <= 16 * 2.0**-53 * size + 1e-300).all()


@pytest.mark.parametrize("loss", ALL, ids=named)
def test_slopes_are_an_array_of_their_own(loss: Loss) -> None:
    """Sums clip slopes in place, which must change neither labels nor later results."""
    z, y = sample(loss, 50, seed=14)
    before, labelled, slope = z.copy(), y.copy(), loss.slope(z, y)
    kept = slope.copy()
    slope[:] = 0.0
    assert (z == before).all()
    assert (y == labelled).all()
    assert (loss.slope(z, y) == kept).all()
