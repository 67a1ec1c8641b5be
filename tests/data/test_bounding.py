"""Bounded rows obey the declared bounds in real arithmetic, whatever the data."""

from __future__ import annotations

import math
import traceback
import tracemalloc
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding, RawBlock, clipped_rows
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.losses import (
    Clipped,
    EuclideanDistance,
    Huber,
    Logistic,
    Poisson,
    Softmax,
    Squared,
)

ODD = [0.0, -0.0, 1e308, -1.7e308, 1e300, 5e-324, 1e-310, math.nan, math.inf, -math.inf, 1.0]
values = st.one_of(st.sampled_from(ODD), st.floats(-1e3, 1e3), st.floats())
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=values)


def square(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction(0))


def dense(rows) -> np.ndarray:
    return rows.X.toarray() if rows.sparse else rows.X


@settings(deadline=None, max_examples=150, derandomize=True)
@given(
    X=matrices,
    norm=st.floats(1e-3, 1e3),
    intercept=st.sampled_from([0.0, 1.0, 7.3]),
    ranges=st.sampled_from(
        [None, (-1.0, 2.0), (-1e50, 1e50), (0.0, 1e-3), (0.0, 0.1), (2.0**53, 2.0**53 + 6)]
    ),
    sparse=st.booleans(),
)
def test_stored_rows_obey_the_norm_exactly(X, norm, intercept, ranges, sparse):
    sparse &= ranges is None or ranges[0] <= 0.0
    centred = False if sparse else None
    bounds = Bounds(row_norm=norm, features=ranges, classes=(0, 1), centred=centred)
    bounding = Bounding.plan(bounds, X.shape[1], Logistic(), intercept=intercept)
    source = ArraySource(sp.csr_array(X) if sparse else X, np.zeros(len(X)))
    rows = bounding.apply(source)
    stored = dense(rows)
    assert np.isfinite(stored).all()
    for i, row in enumerate(stored):
        assert square(row[: X.shape[1]]) <= Fraction(norm) ** 2
        assert square(row) <= Fraction(bounding.row_norm) ** 2
        assert square(row) <= Fraction(float(rows.norms[i])) ** 2
        readable = np.isfinite(X[i]).all()
        assert rows.weight[i] == float(readable)
        if not readable:
            assert not row.any()
        elif intercept:
            assert row[-1] == intercept


def test_the_exact_check_can_fail():
    # Scaling to the bound itself, without a safety margin, exceeds it for some rows.
    X = np.random.default_rng(0).standard_normal((200, 7))
    scaled = X / np.linalg.norm(X, axis=1)[:, None]
    assert any(square(row) > 1 for row in scaled)


@pytest.mark.parametrize("sparse", [False, True])
def test_clipping_keeps_direction_and_leaves_short_rows_alone(sparse):
    X = np.array([[3e300, 4e300], [3.0, 4.0], [0.25, 0.5], [0.0, 0.0]])
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Logistic())
    rows = bounding.apply(ArraySource(sp.csr_matrix(X) if sparse else X, np.zeros(4)))
    np.testing.assert_allclose(dense(rows)[:2], [[0.6, 0.8]] * 2, rtol=1e-14)
    np.testing.assert_array_equal(dense(rows)[2:], X[2:])


def test_default_row_norm_comes_from_the_ranges():
    bounding = Bounding.plan(Bounds(features=(-3, 5), classes=(0, 1)), 4, Logistic())
    assert bounding.row_norm == pytest.approx(2.0)
    assert bounding.row_norm >= 2.0


def test_dense_ranges_are_centred_where_an_intercept_takes_up_the_middle():
    bounds = Bounds(features=[(100.0, 200.0), (0.0, 4.0), (-2.0, 4.0), (-1.0, 1.0)], classes=(0, 1))
    X = np.array([[100.0, 4.0, 1.0, 1.0], [500.0, 0.0, -2.0, 0.0]])

    def bounded(bounds, intercept):
        rows = Bounding.plan(bounds, 4, Logistic(), intercept).apply(ArraySource(X, [0, 1]))
        return rows.X[:, :4]

    middle = [[-1, 1, 0, 1], [1, -1, -1, 0]]
    np.testing.assert_allclose(bounded(bounds, 1.0), middle, rtol=1e-13)
    zeros = [[0.5, 1, 0.25, 1], [1, 0, -0.5, 0]]
    np.testing.assert_allclose(bounded(bounds, 0.0), zeros, rtol=1e-13)
    kept = replace(bounds, centred=False)
    np.testing.assert_allclose(bounded(kept, 1.0), zeros, rtol=1e-13)
    with pytest.raises(Incompatible, match="needs an intercept"):
        bounded(replace(bounds, centred=True), 0.0)


@pytest.mark.parametrize("norm", [None, 0.9, 40.0])
@pytest.mark.parametrize("intercept", [0.0, 0.8])
@pytest.mark.parametrize("centred", [None, False])
def test_no_row_at_any_corner_of_its_ranges_is_longer_than_planned(norm, intercept, centred):
    """Brute force over all corners, middles, zeros and values far outside, as exact fractions."""
    ranges = [(0.0, 0.3), (-0.1, 7.7), (-5.0, 0.0), (1e8 + 0.1, 1e8 + 0.7)]
    bounds = Bounds(features=ranges, row_norm=norm, classes=(0, 1), centred=centred)
    bounding = Bounding.plan(bounds, 4, Logistic(), intercept)
    choices = [(low, high, (low + high) / 2, 0.0, -3e38, 3e38) for low, high in ranges]
    X = np.array(list(product(*choices)))
    for narrow in (False, True):
        given = X.astype(np.float32) if narrow else X
        rows = bounding.apply(ArraySource(given, np.zeros(len(X))), narrow=narrow)
        longest = max(square(row) for row in rows.X)
        assert longest <= Fraction(bounding.row_norm) ** 2
        assert np.abs(rows.X[:, :4]).max() <= 1.0
        # and no noise is wasted on rows that cannot be
        assert norm == 40.0 or longest >= Fraction(0.999 * bounding.row_norm) ** 2


def test_sparse_rows_refuse_ranges_without_zero():
    bounds = Bounds(features=[(1.0, 2.0), (0.0, 1.0)], classes=(0, 1))
    bounding = Bounding.plan(bounds, 2, Logistic())
    with pytest.raises(Incompatible, match="contain 0"):
        bounding.apply(ArraySource(sp.csr_array(np.eye(2)), [0, 1]))
    centred = Bounding.plan(Bounds(features=(0, 1), classes=(0, 1)), 2, Logistic(), intercept=1.0)
    with pytest.raises(Incompatible, match="centred=False"):
        centred.apply(ArraySource(sp.csr_array(np.eye(2)), [0, 1]))


def test_an_entry_stored_twice_in_a_sparse_row_counts_once():
    X = sp.csr_array((np.array([0.9, 0.9]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    rows = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Logistic()).apply(
        ArraySource(X, [0])
    )
    assert square(dense(rows)[0]) <= 1
    assert X.nnz == 2  # the user's matrix is left alone


def test_a_sparse_row_is_bounded_the_same_whatever_the_others_are():
    """Huge and long rows among them take another way."""
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(60, 9))
        * (rng.random((60, 9)) < 0.5)
        * 10.0 ** rng.uniform(-1, 0.5, (60, 1))
    )
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(-1, 1)), 9, Logistic(), intercept=1.0)
    found = []
    for first in (0.0, 3.0, 1e300, math.inf, 1e-200):
        X[7] = first
        rows = bounding.apply(ArraySource(sp.csr_array(X), np.ones(60)))
        others = np.delete(rows.X.toarray(), 7, axis=0)
        found.append(others.tobytes() + np.delete(rows.norms, 7).tobytes())
    assert len(set(found)) == 1
    # Some are shortened, some are not; the intercept is part of a norm.
    assert 5 < (rows.norms > 1.41).sum() < 55


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("label", [(-4.0, 10.0), (3.0, 9.0)])
@pytest.mark.parametrize("intercept", [0.0, 2.5])
def test_coefficients_predict_the_same_in_the_users_units(sparse, label, intercept):
    rng = np.random.default_rng(1)
    ranges = [(-3.0, 5.0), (0.0, 40.0)] + ([] if sparse else [(100.0, 200.0)])
    low, high = np.array(ranges).T
    X = rng.uniform(low, high, size=(20, len(ranges)))
    centred = False if sparse else None
    bounds = Bounds(row_norm=50.0, features=ranges, label=label, centred=centred)
    bounding = Bounding.plan(bounds, X.shape[1], Squared(), intercept=intercept)
    y = rng.uniform(*label, size=20)
    rows = bounding.apply(ArraySource(sp.csr_array(X) if sparse else X, y))
    w = rng.standard_normal(bounding.dimension)
    coef, constant = bounding.coefficients(w)
    if not intercept:
        assert constant == 0.0
    # Residuals scale by the label scale whatever w is: the map is affine and consistent.
    scaled, plain = rows.X @ w - rows.y, X @ coef + constant - y
    scale = (label[1] - label[0]) / 2 if intercept else max(map(abs, label))
    np.testing.assert_allclose(plain, scaled * scale, rtol=1e-10, atol=1e-10)


def test_coefficients_of_several_outputs():
    bounds = Bounds(row_norm=50.0, features=[(1.0, 3.0), (-2.0, 2.0)], classes=("a", "b", "c"))
    bounding = Bounding.plan(bounds, 2, Softmax(n_classes=3), intercept=2.0)
    rng = np.random.default_rng(0)
    X = rng.uniform([1, -2], [3, 2], size=(5, 2))
    w = rng.standard_normal((3, 3))
    coef, constant = bounding.coefficients(w)
    assert coef.shape == (2, 3)
    assert constant.shape == (3,)
    rows = bounding.apply(ArraySource(X, list("abcab")))
    np.testing.assert_allclose(X @ coef + constant, rows.X @ w, rtol=1e-12)
    np.testing.assert_array_equal(rows.y, [0, 1, 2, 0, 1])


@pytest.mark.parametrize(
    ("classes", "y", "encoded", "weight"),
    [
        (("no", "yes"), ["yes", "no", "maybe"], [1, -1, -1], [1, 1, 0]),
        ((5, 3), [3, 5, 4], [1, -1, -1], [1, 1, 0]),
        ((0, 1), [0.0, 1.0, math.nan], [-1, 1, -1], [1, 1, 0]),
        (("a", "b"), np.array(["b", None, "a"], dtype=object), [1, -1, -1], [1, 0, 1]),
        (("a", "b"), [1, 2, 3], [-1, -1, -1], [0, 0, 0]),
    ],
)
def test_sign_labels(classes, y, encoded, weight):
    bounding = Bounding.plan(Bounds(row_norm=2.0, classes=classes), 1, Logistic(), intercept=1.0)
    rows = bounding.apply(ArraySource(np.ones((3, 1)), y))
    np.testing.assert_array_equal(rows.y, encoded)
    np.testing.assert_array_equal(rows.weight, weight)
    np.testing.assert_array_equal(rows.X, np.outer(weight, [1.0, 1.0]))


def test_real_labels_are_clipped_and_scaled():
    y = [-100.0, 0.0, 6.0, math.inf, math.nan]
    bounds = Bounds(row_norm=1.0, label=(-2.0, 6.0))
    rows = Bounding.plan(bounds, 1, Squared(), intercept=1.0).apply(ArraySource([[1]] * 5, y))
    np.testing.assert_allclose(rows.y[:3], [-1, -0.5, 1])
    np.testing.assert_array_equal(rows.weight, [1, 1, 1, 0, 0])
    bounding = Bounding.plan(bounds, 1, Squared())
    np.testing.assert_allclose(bounding.apply(ArraySource([[1]] * 5, y)).y[:3], [-1 / 3, 0, 1])
    assert bounding.label_bound == 1.0


def test_labels_without_a_range_pass_unchanged_when_the_loss_allows():
    bounding = Bounding.plan(Bounds(row_norm=1.0), 1, Huber(threshold=1.0))
    assert bounding.label_bound == math.inf
    assert bounding.apply(ArraySource([[1]], [1e9])).y == [1e9]
    with pytest.raises(MissingBound, match="label is not set"):
        Bounding.plan(Bounds(row_norm=1.0), 1, Squared())


def test_counts_and_vectors():
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=(0, 20)), 1, Poisson())
    np.testing.assert_array_equal(
        bounding.apply(ArraySource([[1]] * 3, [-4, 7, 99])).y, [0.0, 7.0, 20.0]
    )
    assert bounding.label_bound == 20.0
    bounding = Bounding.plan(Bounds(row_norm=1.0), 1, EuclideanDistance(dim=2))
    rows = bounding.apply(ArraySource([[1]] * 3, [[3e300, 4e300], [0.1, 0.2], [math.nan, 0]]))
    np.testing.assert_allclose(rows.y, [[0.6, 0.8], [0.1, 0.2], [0, 0]], rtol=1e-14)
    np.testing.assert_array_equal(rows.weight, [1, 1, 0])
    assert all(square(row) <= 1 for row in rows.y)


def test_weights_are_clipped():
    bounds = Bounds(row_norm=1.0, classes=(0, 1), weight=3.0)
    weight = [-1.0, 0.5, 99.0, math.nan]
    rows = Bounding.plan(bounds, 1, Logistic()).apply(
        ArraySource(np.ones((4, 1)), np.zeros(4), weight)
    )
    np.testing.assert_array_equal(rows.weight, [0, 0.5, 3, 0])
    small = Bounds(row_norm=1.0, classes=(0, 1), weight=0.25)
    rows = Bounding.plan(small, 1, Logistic()).apply(ArraySource(np.ones((2, 1)), [0, 1]))
    np.testing.assert_array_equal(rows.weight, [0.25, 0.25])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_without_weight_are_blank(make):
    bounds = Bounds(row_norm=5.0, classes=(0, 1), weight=3.0)
    rows = Bounding.plan(bounds, 2, Logistic(), intercept=1.0).apply(
        ArraySource(make(np.ones((4, 2))), np.zeros(4), [0.0, -3.0, math.nan, 0.5])
    )
    assert not dense(rows)[:3].any()
    assert dense(rows)[3].all()


def test_entries_stay_in_the_unit_box_where_centres_round():
    """Ranges about as wide as the spacing of floats there, as of time stamps."""
    for low, high in ((2.0**53, 2.0**53 + 2), (1.7e18, 1.7e18 + 768), (-(2.0**53) - 2, -(2.0**53))):
        bounds = Bounds(features=((low, high), (-1.0, 1.0)), classes=(0, 1))
        X = np.array([[low, 1.0], [high, -1.0], [math.inf, 1.0], [-1e300, 0.0], [1e300, 0.0]])
        rows = Bounding.plan(bounds, 2, Logistic(), intercept=1.0).apply(
            ArraySource(X, np.zeros(5))
        )
        assert np.abs(rows.X[:, :2]).max() <= 1.0


def test_gradient_caps_hold_for_the_stored_rows():
    loss = Clipped(loss=Squared(), clip=0.5)
    bounds = Bounds(row_norm=3.0, label=(-1.0, 1.0))
    X = np.random.default_rng(0).standard_normal((300, 5)) * np.logspace(-3, 3, 300)[:, None]
    rows = Bounding.plan(bounds, 5, loss, intercept=0.1).apply(ArraySource(X, np.ones(300)))
    for row, cap in zip(rows.X, rows.y[:, 1], strict=True):
        assert square(row) * Fraction(float(cap)) ** 2 <= Fraction(1, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, bool, object])
def test_number_types(dtype):
    X = np.array([[1, 0], [0, 1]], dtype=dtype)
    rows = Bounding.plan(Bounds(row_norm=9.0, classes=(0, 1)), 2, Logistic()).apply(
        ArraySource(X, [0, 1])
    )
    assert rows.X.dtype == np.float64
    assert rows.X.flags.c_contiguous
    np.testing.assert_array_equal(rows.X, np.eye(2))


def test_refusals_name_the_parameter_and_no_data():
    with pytest.raises(MissingBound, match="row_norm is not set"):
        Bounding.plan(Bounds(classes=(0, 1)), 2, Logistic())
    with pytest.raises(MissingBound, match="classes is not set"):
        Bounding.plan(Bounds(row_norm=1.0), 2, Logistic())
    with pytest.raises(InvalidParameter, match="2 classes"):
        Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1, 2)), 2, Logistic())
    with pytest.raises(InvalidParameter, match="intercept must lie between"):
        Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Logistic(), intercept=1e60)
    with pytest.raises(InvalidParameter, match="3 ranges"):
        Bounding.plan(Bounds(features=[(0, 1)] * 3, classes=(0, 1)), 2, Logistic())
    with pytest.raises(InvalidData, match="two dimensions"):
        ArraySource([1.0, 2.0])
    with pytest.raises(InvalidData, match="one entry per row"):
        ArraySource([[1.0], [2.0]], [1])
    for bad in ([["secret"]], np.array([[1j]])):
        with pytest.raises(InvalidData, match="real numbers") as caught:
            ArraySource(bad)
        assert "secret" not in str(caught.value)
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=(0, 1)), 1, Squared())
    for source in (ArraySource([[1.0]], ["secret"]), ArraySource([[1.0]], [1], ["secret"])):
        with pytest.raises(InvalidData) as caught:
            bounding.apply(source)
        assert "secret" not in str(caught.value)
    with pytest.raises(InvalidData, match="no y"):
        bounding.apply(ArraySource([[1.0]]))


def test_no_warning_tells_of_the_rows():
    """Numbers beyond float64 make a blank row, in silence."""
    X = np.array([[np.longdouble(10) ** 1000, 1.0], [0.0, 1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Logistic())
        rows = bounding.apply(ArraySource(X, np.zeros(2), X[:, 0] + 1.0))
    assert rows.weight.tolist() == [0.0, 1.0]


def test_every_row_is_mapped_on_its_own():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((9000, 3)), rng.integers(0, 2, 9000)
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 3, Logistic(), intercept=1.0)
    before = bounding.apply(ArraySource(X, y))
    X2, y2 = X.copy(), y.copy()
    X2[5000], y2[5000] = math.inf, 7
    after = bounding.apply(ArraySource(X2, y2))
    same = np.arange(9000) != 5000
    for name in ("X", "y", "weight", "norms"):
        np.testing.assert_array_equal(getattr(before, name)[same], getattr(after, name)[same])
    assert after.weight[5000] == 0
    assert not after.X[5000].any()


def test_dense_rows_take_one_copy():
    X = np.random.default_rng(0).standard_normal((60_000, 40))
    y = np.zeros(len(X))
    bounding = Bounding.plan(
        Bounds(row_norm=1.0, features=(-3, 3), classes=(0, 1)), 40, Logistic(), intercept=1.0
    )
    tracemalloc.start()
    bounding.apply(ArraySource(X, y))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Labels, weights and norms take 3 / 40 of a copy.
    assert peak <= 1.35 * X.nbytes


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    X=arrays(np.float64, (4, 3), elements=st.sampled_from([0.0, 0.5, -3.0, 40.0, 1e308, 5e-324])),
    norm=st.sampled_from([None, 0.7, 5.0]),
    intercept=st.sampled_from([0.0, 1.0]),
    ranges=st.sampled_from(
        [None, (-1.0, 2.0), (3.0, 9.0), (0.0, 7.0), [(0.0, 1.0), (-50.0, -1.0), (2.0, 8.0)]]
    ),
)
def test_coefficients_times_rows_within_bounds_are_weights_times_bounded_rows(
    X, norm, intercept, ranges
):
    if norm is None and ranges is None:
        return
    bounds = Bounds(row_norm=norm, features=ranges, label=(-2.0, 6.0))
    bounding = Bounding.plan(bounds, 3, Squared(), intercept=intercept)
    weights = np.array([0.3, -2.0, 1.1, 0.9][: bounding.dimension])
    coef, constant = bounding.coefficients(weights)
    rows = bounding.apply(ArraySource(X, np.zeros(4)))
    scale, shift = (4.0, 2.0) if intercept else (6.0, 0.0)  # of the label's range
    bounds = replace(bounds, centred=intercept > 0)  # as estimators note it
    cut = clipped_rows(bounds, X)
    np.testing.assert_allclose(cut @ coef + constant, rows.X @ weights * scale + shift, atol=1e-9)
    sparse = clipped_rows(bounds, sp.csr_array(X))
    np.testing.assert_allclose(sparse.toarray() if sp.issparse(sparse) else sparse, cut)


def test_blank_rows_are_zero_where_ranges_are_centred():
    bounds = Bounds(features=(10.0, 20.0), classes=(0, 1))
    bounding = Bounding.plan(bounds, 2, Logistic(), intercept=1.0)
    rows = bounding.apply(ArraySource([[math.nan, 12.0], [11.0, 12.0]], [0, 5]))
    assert not rows.X.any()
    assert not rows.norms.any()
    assert not rows.weight.any()


@pytest.mark.parametrize("place", ["row", "label", "weight"])
def test_no_cause_of_a_refusal_quotes_the_data(place):
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=(0, 1)), 1, Squared())
    secret = np.array(["secret"])
    with pytest.raises(InvalidData) as caught:
        bounding.apply(
            ArraySource(
                secret[:, None] if place == "row" else [[1.0]],
                secret if place == "label" else [0.0],
                secret if place == "weight" else None,
            )
        )
    report = traceback.TracebackException.from_exception(caught.value, limit=0)
    assert "secret" not in "".join(report.format(chain=True))


class Announced:
    """A source that announces ten rows and yields others."""

    n_features, n_rows = 3, 10

    def __init__(self, sizes: tuple[int, ...], sparse: bool) -> None:
        self.sizes, self.sparse = sizes, sparse

    def blocks(self):
        for size in self.sizes:
            rows = np.ones((size, 3))
            yield RawBlock(sp.csr_array(rows) if self.sparse else rows, np.ones(size), None)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sizes", [(9,), (11,), (5, 6), (5, 4), ()])
def test_sources_that_miscount_are_refused_without_a_number(sizes, sparse):
    """Rows that never came would be memory that no bound holds for."""
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 3, Logistic())
    with pytest.raises(InvalidData, match="as many rows as it says") as refusal:
        bounding.apply(Announced(sizes, sparse))
    assert not any(digit in str(refusal.value) for digit in "0123456789")
    assert bounding.apply(Announced((4, 6), sparse)).n_rows == 10


def test_a_typical_norm_cuts_no_row_and_is_at_most_the_longest():
    bounds = Bounds(features=(-1, 1), typical_norm=0.5, classes=(0, 1))
    bounding = Bounding.plan(bounds, 4, Logistic(), intercept=1.0)
    X = np.array([[1.0, -1.0, 1.0, 1.0], [0.1, 0.0, 0.0, 0.2]])
    kept = bounding.apply(ArraySource(X, [0, 1])).X[:, :4]
    np.testing.assert_allclose(kept, X, rtol=1e-14)
    assert bounding.row_norm >= math.hypot(2.0, 1.0)
    assert bounding.typical_norm == pytest.approx(math.hypot(0.5, 1.0))
    far = Bounding.plan(replace(bounds, typical_norm=9.0), 4, Logistic(), intercept=1.0)
    assert far.typical_norm == far.row_norm


@pytest.mark.parametrize("asked", ["narrow", "reread", "remote"])
def test_float32_rows_of_files_are_stored_as_they_came_where_sums_are_all_that_is_asked_for(asked):
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Logistic(), intercept=1.0)
    source = ArraySource(np.ones((5, 2), np.float32), np.arange(5) % 2)
    source.streamed = True
    assert bounding.apply(source).X.dtype == np.float64
    rows = bounding.apply(source, **{asked: True})
    assert rows.X.dtype == np.float32
    assert (np.linalg.norm(rows.X.astype(float), axis=1) <= bounding.row_norm).all()
