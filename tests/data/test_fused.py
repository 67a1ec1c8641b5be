"""The compiled loop bounds rows to the same bits as numpy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import discreet.data.bounding as bounding_module
import discreet.data.fused as fused
from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding
from discreet.data.fused import Loop, loop_for
from discreet.data.norms import norms_of, stored_limit
from discreet.errors import InvalidData
from discreet.losses import Logistic

pytest.importorskip("numba")

ODD = [0.0, -0.0, 1e308, -1.7e308, 1e300, 5e-324, 1e-310, math.nan, math.inf, -math.inf, 1.0]
values = st.one_of(st.sampled_from(ODD), st.floats(-1e3, 1e3), st.floats())
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=19), elements=values)
RANGES = [None, (-1.0, 1.0), (-1.0, 2.0), (3.0, 4.0), (1e8, 1e8 + 1e-7), (-1e50, 1e50), (0.0, 7.0)]


def bits(rows):
    # The sign of a zero is lost here: numpy clips it one way by numbers, another way by arrays.
    return [(np.asarray(a) + 0.0).tobytes() for a in (rows.X, rows.y, rows.weight, rows.norms)]


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    X=matrices,
    norm=st.sampled_from([None, 1e-3, 1.0, 1e3]),
    ranges=st.sampled_from(RANGES),
    mixed=st.booleans(),
    intercept=st.sampled_from([0.0, 1.0]),
    kind=st.sampled_from([np.float64, np.float32]),
    weighted=st.booleans(),
    order=st.sampled_from("CF"),
)
def test_rows_have_the_same_bits_both_ways(
    X, norm, ranges, mixed, intercept, kind, weighted, order
):
    n_rows, p = X.shape
    if ranges and mixed:
        ranges = [ranges if j % 2 else (-1.0, 2.0) for j in range(p)]
    bounds = Bounds(row_norm=norm or (None if ranges else 1.0), features=ranges, classes=(0, 1))
    with np.errstate(all="ignore"):
        X = np.asarray(X.astype(kind), order=order)
    labels = np.arange(n_rows) % 3
    weight = np.where(np.arange(n_rows) % 5 == 1, 0.0, 0.5) if weighted else None
    bounding = Bounding.plan(bounds, p, Logistic(), intercept=intercept)
    source = ArraySource(X, labels, weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounding_module, "loop_for", lambda *_: Loop())
        looped = [bounding.apply(source, narrow=narrow) for narrow in (False, True)]
        turned = bounding.apply(source, columns=True)
        patch.setattr(bounding_module, "loop_for", lambda *_: None)
        plain = [bounding.apply(source, narrow=narrow) for narrow in (False, True)]
    # Stored by columns rows have no norms, so that nothing can be clipped or certified by them.
    assert np.isinf(turned.norms).all()
    turned.norms = plain[0].norms
    assert [bits(rows) for rows in (*looped, turned)] == [bits(rows) for rows in (*plain, plain[0])]


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, "label", "short", "long"])
@pytest.mark.parametrize("ranges", [None, (-2.0, 2.0)])
def test_the_only_odd_row_among_usual_ones_is_found(odd, ranges, monkeypatch):
    X, labels = np.full((300, 5), 0.1, order="F"), np.zeros(300)
    if odd == "label":
        labels[200] = 7
    else:
        # A range hides an odd entry, and then the row is as short as others.
        X[200] = {"short": 1e-200, "long": 0.9}.get(odd, 0.1)
        X[200, 3] = X[200, 3] if isinstance(odd, str) else odd
    bounds = Bounds(row_norm=None if ranges else 1.0, features=ranges, classes=(0, 1))
    bounding = Bounding.plan(bounds, 5, Logistic(), intercept=1.0)
    monkeypatch.setattr(bounding_module, "loop_for", lambda *_: Loop())
    looped = bounding.apply(ArraySource(X, labels))
    monkeypatch.setattr(bounding_module, "loop_for", lambda *_: None)
    assert bits(looped) == bits(bounding.apply(ArraySource(X, labels)))
    assert looped.X[200].any() == (odd in ("short", "long"))


@pytest.mark.parametrize("columns", [False, True])
def test_a_huge_row_changes_no_other_one(columns, monkeypatch):
    """The loop leaves blocks with one to numpy."""
    monkeypatch.setattr(bounding_module, "loop_for", lambda *_: Loop())
    X, labels = np.random.default_rng(0).normal(size=(50, 9)), np.zeros(50)
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 9, Logistic(), intercept=1.0)
    usual = bounding.apply(ArraySource(X, labels), columns=columns)
    X[7] = 1e300
    beside = bounding.apply(ArraySource(X, labels), columns=columns)
    others = np.arange(50) != 7
    assert np.array_equal(usual.X[others], beside.X[others])
    assert np.array_equal(usual.norms[others], beside.norms[others])


@pytest.mark.parametrize("p", [*range(1, 40), 63, 64, 65, 257, 1000, 8192])
def test_the_loop_sums_squares_in_the_order_of_numpy(p):
    rows = np.random.default_rng(p).normal(size=(200, p))
    for order in "CF":
        given, out = np.asarray(rows, order=order), np.empty_like(rows)
        found = Loop()(given, out, np.zeros(200, np.bool_), None, np.inf, 0.0, 0.0)
        assert found.tobytes() == norms_of(rows).tobytes()


def test_stored_rows_are_within_their_limit_in_real_arithmetic():
    rng = np.random.default_rng(0)
    X, out = rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-3, 100, (50, 1)), np.empty((50, 7))
    limit = stored_limit(1.0, 7)
    norms = Loop()(X, out, np.zeros(50, np.bool_), None, limit, 0.0, 0.0)
    for row, norm in zip(out, norms, strict=True):
        exact = sum(Fraction(float(x)) ** 2 for x in row)
        assert exact <= 1
        assert exact <= (Fraction(float(norm)) * (1 + Fraction(15, 2**53))) ** 2


def test_numpy_bounds_rows_where_its_sums_are_other_ones(monkeypatch):
    monkeypatch.setattr(fused, "LARGE", 0)
    fused._alike.cache_clear()
    assert loop_for(10_000, 7) is not None
    fused._alike.cache_clear()
    monkeypatch.setattr(fused, "norms_of", lambda rows: np.sqrt((rows[:, ::-1] ** 2).sum(axis=1)))
    assert loop_for(10_000, 7) is None
    fused._alike.cache_clear()


@pytest.mark.parametrize("width", [1, 2, 4, 9])
def test_rows_of_another_width_never_reach_the_loop(width, monkeypatch):
    """It would write beside them, or leave memory that no bound holds for."""
    monkeypatch.setattr(fused, "LARGE", 0)
    monkeypatch.setattr(fused, "READY", 0)
    monkeypatch.setattr(ArraySource, "n_features", 3)
    source = ArraySource(np.ones((5, width)), np.ones(5))
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 3, Logistic(), intercept=1.0)
    with pytest.raises(InvalidData, match="another width"):
        bounding.apply(source)


def test_rows_that_the_loop_cannot_read_are_left_to_numpy():
    out, blank = np.empty((4, 2)), np.zeros(4, np.bool_)
    for rows in (np.ones((4, 4))[:, ::2], np.ones((4, 2), int), np.full((4, 2), 1e300)):
        assert Loop()(rows, out, blank, None, 1.0, 0.0, 0.0) is None
