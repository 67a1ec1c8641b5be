"""Rows that are read again are the rows that would have been kept, to the last bit."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import discreet.data.bounding as bounding_module
import discreet.data.storage.reread as reread_module
from discreet import PrivateLinearSVC, PrivateLogisticRegression
from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding
from discreet.data.norms import scales, shorten
from discreet.data.storage.reread import KEPT, Reread
from discreet.losses import Logistic, Squared

ODD = [0.0, -0.0, 1e308, -1.7e308, 1e300, 5e-324, 1e-310, math.nan, math.inf, -math.inf, 1.0]
values = st.one_of(st.sampled_from(ODD), st.floats(-1e3, 1e3), st.floats())
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=values)


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    monkeypatch.setattr(bounding_module, "LARGE", 0)
    monkeypatch.setattr(reread_module, "ROOM", 0)


def both(X, bounds, *, weight=None, labels=None, intercept=1.0):
    """Return the rows that are kept and those that are read again."""
    given_labels = np.arange(len(X)) % 2 if labels is None else labels
    bounding = Bounding.plan(bounds, X.shape[1], Logistic(), intercept=intercept)
    source = ArraySource(X, given_labels, weight)
    return bounding.apply(source), bounding.apply(source, reread=True)


def check(kept, again) -> None:
    assert isinstance(kept.X, np.ndarray)
    assert isinstance(again.X, Reread)
    assert again.X.shape == kept.X.shape
    n_rows = len(kept.X)
    assert np.array_equal(kept.weight, again.weight)
    assert np.array_equal(kept.norms, again.norms)
    assert np.array_equal(kept.y, again.y)
    places = [slice(0, n_rows), slice(n_rows // 2, n_rows), slice(None, None, 2), slice(0, 1)]
    for some in [*places, np.arange(n_rows)[::-1], np.array([0, 0])]:
        assert np.array_equal(kept.X[some], again.X[some])
        assert np.array_equal(kept.take(some).X, again.take(some).X)


@settings(deadline=None, max_examples=200, derandomize=True)
@given(
    X=matrices,
    norm=st.sampled_from([None, 1e-3, 1.0, 1e3]),
    ranges=st.sampled_from([None, (-1.0, 2.0), (3.0, 4.0), (-1e50, 1e50), (0.0, 7.0)]),
    intercept=st.sampled_from([0.0, 1.0]),
    kind=st.sampled_from(["C", "F", "float32"]),
)
def test_rows_are_the_same_whenever_they_are_read(X, norm, ranges, intercept, kind):
    bounds = Bounds(row_norm=norm or (None if ranges else 1.0), features=ranges, classes=(0, 1))
    with np.errstate(all="ignore"):
        X = X.astype(np.float32) if kind == "float32" else np.array(X, order=kind)
    check(*both(X, bounds, intercept=intercept))


def test_blank_rows_stay_blank():
    X = np.array([[0.3, 0.4], [np.nan, 1.0], [0.3, 0.4], [0.3, 0.4], [9.0, 9.0], [1e300, 1e300]])
    weight, labels = np.array([1.0, 1.0, 0.0, 1.0, 0.5, 1.0]), np.array([0, 1, 1, 7, 0, 1])
    for bounds in (
        Bounds(row_norm=1.0, classes=(0, 1)),
        Bounds(features=(-1, 1), classes=(0, 1)),
    ):
        kept, again = both(X, bounds, weight=weight, labels=labels)
        check(kept, again)
        assert not again.X[np.array([1, 2, 3])].any()
        assert again.X[np.array([0, 4, 5])].all()


def test_what_is_read_obeys_the_norm_in_real_arithmetic():
    from fractions import Fraction

    X = np.random.default_rng(0).normal(size=(300, 7)) * 10.0 ** np.arange(-3, 297)[:, None]
    _, again = both(X, Bounds(row_norm=0.3, classes=(0, 1)), intercept=0.0)
    read = again.X[0:300]
    assert np.isfinite(read).all()
    for row in read:
        assert sum(Fraction(float(v)) ** 2 for v in row) <= Fraction(0.3) ** 2
    assert (np.linalg.norm(read, axis=1) > 0.29).sum() > 250


def test_factors_are_those_of_shortening():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 5)) * 10.0 ** rng.integers(-200, 200, 50)[:, None]
    factors = scales(rows, 1.0)
    cut = rows.copy()
    shorten(cut, 1.0)
    plain = factors > 0.0
    assert 5 < plain.sum() < 45
    assert np.array_equal(rows[plain] * factors[plain, None], cut[plain])


@pytest.mark.parametrize(
    ("X", "share"),
    [
        (np.ones((600, 3)), 0.0),
        (np.ones((600, 3), dtype=np.float32), 0.0),
        (np.ones((600, 3), order="F"), KEPT),
        (np.ones((600, 3), dtype=np.int64), KEPT),
        (np.ones((600, 3), dtype=np.longdouble), KEPT),
        (np.ones((600, 3), dtype=">f8"), KEPT),
    ],
)
def test_rows_that_take_long_to_read_are_mostly_kept(X, share):
    kept, again = both(X, Bounds(row_norm=1.0, classes=(0, 1)))
    assert len(again.X.kept) == int(share * 600)
    check(kept, again)
    kept, again = both(X, Bounds(features=(-1, 1), classes=(0, 1)))
    assert len(again.X.kept) == int(KEPT * 600 * min(X.itemsize, 8) / 8)
    check(kept, again)


@pytest.mark.parametrize(
    ("room", "dtype", "rows"),
    [(4000, np.float64, 125), (10**9, np.float64, 500), (10**9, np.float32, 250)],
)
def test_as_many_rows_are_kept_as_there_is_room_for(monkeypatch, room, dtype, rows):
    monkeypatch.setattr(reread_module, "ROOM", room)
    kept, again = both(np.ones((600, 3), dtype), Bounds(row_norm=1.0, classes=(0, 1)))
    assert len(again.X.kept) == rows
    check(kept, again)


def test_small_arrays_and_other_sources_are_copied(monkeypatch):
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=(-1, 1)), 2, Squared())
    source = ArraySource(np.ones((4, 2)), np.ones(4))

    class Blocks:
        n_rows, n_features, sparse = 4, 2, False
        blocks = source.blocks

    assert isinstance(bounding.apply(source, reread=True).X, Reread)
    assert isinstance(bounding.apply(Blocks(), reread=True).X, np.ndarray)
    assert isinstance(bounding.apply(source).X, np.ndarray)
    monkeypatch.setattr(bounding_module, "LARGE", 2**20)
    assert isinstance(bounding.apply(source, reread=True).X, np.ndarray)


def test_a_product_with_the_whole_fails():
    _, again = both(np.ones((4, 2)), Bounds(row_norm=1.0, classes=(0, 1)))
    with pytest.raises(TypeError):
        again.X @ np.ones(3)
    with pytest.raises(TypeError):
        np.ones(4) @ again.X
    with pytest.raises(AttributeError):
        _ = again.X.T


@pytest.mark.parametrize("ranges", [None, (-3, 3)])
@pytest.mark.parametrize(
    ("model", "algorithm"),
    [
        (PrivateLogisticRegression(epsilon=4.0, delta=1e-6), "recentred-perturbation"),
        (PrivateLogisticRegression(epsilon=4.0, delta=0), "objective-perturbation"),
        (PrivateLogisticRegression(algorithm="output-perturbation"), "output-perturbation"),
        (PrivateLinearSVC(epsilon=4.0, delta=1e-6), "objective-perturbation"),
    ],
)
def test_fits_are_the_same(monkeypatch, model, algorithm, ranges):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9000, 6))
    y = (X[:, 0] + rng.normal(size=9000) > 0.0).astype(int)
    y[::5] = 2 * (not isinstance(model, PrivateLogisticRegression))
    classes = tuple(range(int(y.max()) + 1))
    bounds = Bounds(row_norm=2.0, features=ranges, classes=classes)
    again = model.set_params(bounds=bounds, random_state=0).fit(X, y).coef_
    assert algorithm in model.algorithm_
    monkeypatch.setattr(bounding_module, "LARGE", 2**40)
    assert np.array_equal(again, model.fit(X, y).coef_)


# Stored, it would be 1.2 copies: those of a sample and of a few blocks weigh much in a small array.
@pytest.mark.parametrize(("ranges", "copies"), [(None, 0.4), ((-3, 3), 1.15)])
def test_a_fit_takes_little_memory(ranges, copies):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120_000, 60))
    y = (X[:, 0] > 0.0).astype(int)
    model = PrivateLogisticRegression(
        epsilon=8.0, delta=1e-6, bounds=Bounds(row_norm=5.0, features=ranges, classes=(0, 1))
    )
    model.fit(X[:9], y[:9])
    tracemalloc.start()
    model.fit(X, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < copies * X.nbytes


def test_rows_that_are_not_aligned_are_the_same_too():
    n, p = 12, 9000  # more columns than numpy sums at once
    buffer = np.zeros(8 * n * p + 8, np.uint8)
    X = buffer[1 : 1 + 8 * n * p].view(np.float64).reshape(n, p)
    X[:] = np.random.default_rng(1).normal(size=(n, p))
    assert not X.flags.aligned
    check(*both(X, Bounds(row_norm=1.0, classes=(0, 1))))
