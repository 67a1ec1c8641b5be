"""The clipped gradient sum: against a loop over rows, bit by bit between neighbours."""

from __future__ import annotations

import math
import threading
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.bounds import Bounds, unit_roundoff
from discreet.data import ArraySource, Bounding, Rows
from discreet.data.blocks import gamma, slices
from discreet.data.clipped import blockwise
from discreet.data.clipped.blockwise import BLOCK_ROWS, cache_rows
from discreet.data.clipped.clipped_sums import ClippedSums, shared_rows, sum_rounding
from discreet.data.clipped.narrow import SLIM
from discreet.data.row_products import combine
from discreet.errors import InvalidParameter
from discreet.losses import (
    LOSSES,
    Absolute,
    EuclideanDistance,
    Hinge,
    Logistic,
    Loss,
    Softmax,
    Squared,
    SquaredVector,
)


def labels(loss: Loss, n: int, rng: np.random.Generator) -> np.ndarray:
    return {
        "sign": lambda: rng.choice([-1.0, 1.0], n),
        "index": lambda: rng.integers(0, loss.outputs, n).astype(float),
        "count": lambda: rng.integers(0, 4, n).astype(float),
        "real": lambda: rng.uniform(-1, 1, n),
        "vector": lambda: rng.uniform(-1, 1, (n, loss.outputs)),
    }[loss.target]()


def weights_for(loss: Loss, p: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=p if loss.outputs == 1 else (p, loss.outputs)) * 0.3


def by_hand(rows: Rows, X: np.ndarray, loss: Loss, w: np.ndarray, clip: float) -> np.ndarray:
    """One row at a time, gradient first and then its norm."""
    total = np.zeros(w.shape)
    for i in range(len(X)):
        slope = loss.slope(X[i : i + 1] @ w, rows.y[i : i + 1])[0] * rows.weight[i]
        gradient = np.multiply.outer(X[i], slope) if w.ndim == 2 else X[i] * slope
        norm = np.linalg.norm(gradient)
        total += gradient * min(1.0, clip / norm) if norm > 0 else 0.0
    return total


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
@pytest.mark.parametrize(("shifting", "p"), [(False, 4), (True, 4), (False, 100)])
def test_sum_is_that_of_a_loop_over_rows(loss: Loss, kind: str, shifting: bool, p: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, p)).astype(np.float32).astype(float) * (rng.random((300, p)) < 0.7)
    X[17] = 0.0
    stored = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
    weight = rng.choice([0.0, 0.5, 2.0], 300)
    rows = Rows(stored, labels(loss, 300, rng), weight)
    w = weights_for(loss, p, rng)
    pick = rng.permutation(300)[:77]
    share, close = 1.0, {"rtol": 1e-9, "atol": 1e-10}
    if kind == "float32":
        share, close = SLIM, {"rtol": 1e-5, "atol": 1e-5}
    with ClippedSums(rows, loss, shifting=shifting) as sums:
        for clip in (0.3, 1e6):
            expected = by_hand(rows, X, loss, w, share * clip)
            np.testing.assert_allclose(sums.full(w, clip), expected, **close)
            part = Rows(X[pick], rows.y[pick], weight[pick])
            expected = by_hand(part, X[pick], loss, w, share * clip)
            np.testing.assert_allclose(sums.batch(pick, w, clip), expected, **close)


@pytest.mark.parametrize("kind", ["float64", "csr"])
def test_rows_of_weight_zero_add_nothing_whatever_the_other_weights_are(kind: str) -> None:
    """With weights 0 and 1 only the product is saved, which must not bring rows back."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50)
    weight = rng.choice([0.0, 1.0], 50)
    stored = X if kind == "float64" else sp.csr_array(X)
    for first in (1.0, 0.5, 0.0):
        weight[0] = first
        rows = Rows(stored, y, weight)
        with ClippedSums(rows, Logistic()) as sums:
            expected = by_hand(rows, X, Logistic(), np.ones(3), 0.7)
            np.testing.assert_allclose(sums.full(np.ones(3), 0.7), expected, rtol=1e-9)


def cut_slopes(sums: ClippedSums, w: np.ndarray, clip: float, index: Any = None) -> np.ndarray:
    """What a sum multiplies the rows by, in their order."""
    seen = []

    def record(X: Any, cut: np.ndarray) -> np.ndarray:
        seen.append(sums._blockwise._outer * cut)
        return combine(X, cut)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blockwise, "_left", record)
        patch.setattr(blockwise, "combine", record)
        sums.batch(index, w, clip)
    return np.concatenate(seen)


def test_specification_vector() -> None:
    rows = Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    with ClippedSums(rows, Logistic()) as sums:
        # The first gradient (-1.5, -2) is cut to (-0.6, -0.8), the second is (0, 0.5).
        np.testing.assert_allclose(sums.full(np.zeros(2), 1.0), [-0.6, -0.3], rtol=1e-14)
        _, short = sums.counted(None, np.zeros(2), 1.0)
        assert short == 1


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Softmax(n_classes=3)], ids=lambda v: v.name)
def test_no_row_adds_more_than_the_clip_in_real_arithmetic(loss: Loss) -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 7)) * 10.0 ** rng.uniform(-3, 3, size=(400, 1))
    rows = Rows(X, labels(loss, 400, rng))
    sums, w = ClippedSums(rows, loss), weights_for(loss, 7, rng)
    clip = 0.1
    cut = cut_slopes(sums, w, clip)
    square = [
        sum(Fraction(v) ** 2 for v in np.atleast_1d(c)) * sum(Fraction(v) ** 2 for v in x)
        for c, x in zip(cut, X, strict=True)
    ]
    assert max(square) <= Fraction(clip) ** 2
    assert max(square) > Fraction(clip) ** 2 * Fraction(999, 1000)
    # A clip one part in a thousand too generous would be caught.
    assert max(square) * Fraction(1001, 1000) ** 2 > Fraction(clip) ** 2


def test_margins_that_are_not_a_number_obey_the_clip() -> None:
    X = np.array([[3.0, 4.0], [1.0, 1.0]])
    sums = ClippedSums(Rows(X, np.ones(2)), Logistic())
    with np.errstate(over="ignore", invalid="ignore"):
        total = sums.full(np.array([1.7e308, -1.7e308]), 0.5)
    assert np.linalg.norm(total) <= 1.0


@pytest.mark.parametrize("loss", [Squared(), Softmax(), SquaredVector(), EuclideanDistance()])
@pytest.mark.parametrize("far", [1.7e308, math.inf])
def test_rows_beyond_all_numbers_are_neither_seen_nor_told(loss: Loss, far: float) -> None:
    """Neither an error nor a warning tells a row from a blank one."""
    w = np.full((3, max(loss.outputs, 1)), [[far], [-far], [1.0]])
    w[:, 1:] *= -1.0
    y = labels(loss, 2, np.random.default_rng(0))
    for first in ([3.0, 4.0, 0.0], [0.0, 0.0, 0.0]):
        rows = Rows(np.array([first, [0.0, 0.0, 1.0]]), y)
        with warnings.catch_warnings(), ClippedSums(rows, loss) as sums:
            warnings.simplefilter("error")
            assert np.linalg.norm(sums.full(w if loss.outputs > 1 else w[:, 0], 0.5)) <= 1.0


def test_slopes_whose_squares_are_lost_obey_the_clip() -> None:
    X, w = np.array([[1.0, 0.0]]), np.zeros((2, 3))
    w[0] = 0.0, 395.0, -50.0
    total = ClippedSums(Rows(X, np.ones(1)), Softmax()).full(w, 1e-200)
    assert np.abs(total).sum() <= 1e-200
    # A factor of few digits is not rounded up.
    rows = Rows(np.ones((1, 1)), np.zeros(1), np.array([4.95e123]))
    total = ClippedSums(rows, Softmax()).full(np.zeros((1, 3)), 1e-200)
    assert np.linalg.norm(1e200 * total) <= 1.0
    # They are there: a clip above them leaves them alone.
    assert np.abs(ClippedSums(Rows(X, np.ones(1)), Softmax()).full(w, 1.0)).sum() > 1e-172


def test_caps_at_the_end_of_all_numbers_are_not_rounded_up() -> None:
    X, w = np.array([[1e100]]), np.zeros(1)
    for clip in (3e-224, 1e-215, 1e-180):
        total = ClippedSums(Rows(X, np.ones(1)), Logistic()).full(w, clip)
        assert abs(Fraction(total[0])) <= Fraction(clip)
    assert total[0] != 0.0


@pytest.mark.parametrize("p", [9, 100])
def test_other_blocks_are_bit_for_bit_the_same(p: int) -> None:
    rng = np.random.default_rng(3)
    n, changed = 3 * BLOCK_ROWS + 11, BLOCK_ROWS + 5
    X, y, w = rng.normal(size=(n, p)), rng.choice([-1.0, 1.0], n), rng.normal(size=p)
    other = X.copy()
    other[changed] = 7.0
    blocks, parts = slices(n, shared_rows(n)), []
    for rows in (Rows(X, y), Rows(other, y)):
        sums = ClippedSums(rows, Logistic())
        sums.full(w, 1.0)
        parts.append([sums._part(s, None, w, False)[0] for s in blocks])
    same = [bool((a == b).all()) for a, b in zip(*parts, strict=True)]
    assert len(blocks) == 8
    assert same == [changed not in range(s.start, s.stop) for s in blocks]


@pytest.mark.parametrize("size", [1, 700, 5001, BLOCK_ROWS])
@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_a_block_is_summed_whole_whatever_goes_through_the_products(size: int, kind: str) -> None:
    """Rows are ones and twos in a fixed order, so that one left out or taken twice shows."""
    rng = np.random.default_rng(size)
    X = rng.integers(1, 3, size=(size, 60)).astype("float32" if kind == "float32" else float)
    stored = sp.csr_array(X) if kind == "csr" else X
    assert size < 5000 or cache_rows(60) < size
    for index in (None, rng.permutation(size)):
        sums = ClippedSums(Rows(stored, np.ones(size)), Absolute())
        total, short = sums._sum(index, np.full(60, -1.0), 1e6, count=True)
        np.testing.assert_array_equal(total, -X.sum(axis=0, dtype=float))
        assert short == size


@pytest.mark.parametrize("loss", LOSSES.values(), ids=list(LOSSES))
def test_a_row_counts_the_same_wherever_it_stands(loss: Loss) -> None:
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(501, 13)), weights_for(loss, 13, rng)
    y = labels(loss, 501, rng)
    found = []
    for start in range(9):
        rows = Rows(X[start:].copy(), y[start:])
        sums = ClippedSums(rows, loss, shifting=True)
        found.append(cut_slopes(sums, w, 1.0)[9 - start :])
    assert all((cut == found[0]).all() for cut in found)


def test_a_long_row_counts_the_same_alone_and_among_others() -> None:
    """numpy sums more than 8192 numbers in another order if they are all there is."""
    rng = np.random.default_rng(5)
    X, columns = rng.normal(size=(5, 9000)), rng.normal(size=(9000, 3))
    y = np.ones(5)
    for w in (columns[:, 0].copy(), columns):
        loss = Squared() if w.ndim == 1 else SquaredVector(dim=3)
        labels = y if w.ndim == 1 else np.ones((5, 3))
        # A clip that cuts nothing, so that slopes keep the last digits of margins.
        whole = cut_slopes(ClippedSums(Rows(X, labels), loss, shifting=True), w, 1e9)
        for keep in ([0], [1], [4], [0, 1, 2], [0, 2, 3, 4]):
            rows = Rows(X[keep].copy(), labels[keep])
            assert (cut_slopes(ClippedSums(rows, loss, shifting=True), w, 1e9) == whole[keep]).all()
            drawn = ClippedSums(Rows(X, labels), loss, shifting=True)
            assert (cut_slopes(drawn, w, 1e9, np.array(keep)) == whole[keep]).all()
    apart = [Rows(X[i : i + 1], y).projected(columns[:, 0]) for i in range(5)]
    assert (np.concatenate(apart) == Rows(X, y).projected(columns[:, 0])).all()
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(-1, 1)), 9000, Logistic(), intercept=1.0)
    for size in (1.0, 1e200):
        whole = bounding.apply(ArraySource(size * X, y))
        for i in range(5):
            alone = bounding.apply(ArraySource(size * X[i : i + 1], y[:1]))
            assert (whole.X[i] == alone.X).all()
            assert alone.norms == whole.norms[i]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_do_not_change_a_sum(dtype: type) -> None:
    rng = np.random.default_rng(5)
    n = 2 * BLOCK_ROWS + 100
    X = rng.normal(size=(n, 20)).astype(dtype)
    rows, w = Rows(X, np.ones(n)), rng.normal(size=20)
    plain = ClippedSums(rows, Logistic()).full(w, 0.5)
    with ClippedSums(rows, Logistic()) as sums:
        assert all((sums.full(w, 0.5) == plain).all() for _ in range(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_do_not_gather_rows_into_one_place(
    dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every thread waits, once it has gathered rows, until the other has gathered some."""
    monkeypatch.setattr("discreet.data.blocks.os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("discreet.data.clipped.clipped_sums.SMALL", 0)
    rng = np.random.default_rng(8)
    X, index = rng.normal(size=(4000, 3)).astype(dtype), rng.permutation(4000)
    rows, w = Rows(X, np.ones(4000)), rng.normal(size=3)
    plain = ClippedSums(rows, Logistic()).batch(index, w, 0.5)
    meet, dot = threading.Barrier(2), np.dot

    def slowly(X: Any, w: Any) -> Any:
        meet.wait(timeout=10)
        return dot(X, w)

    with ClippedSums(rows, Logistic()) as sums:
        monkeypatch.setattr("discreet.data.clipped.blockwise.np.dot", slowly)
        assert (sums.batch(index, w, 0.5) == plain).all()


def test_an_index_from_the_end_meets_its_own_cap() -> None:
    sums = ClippedSums(Rows(np.array([[100.0], [1.0]]), np.ones(2)), Logistic())
    assert sums.batch(np.array([-1]), np.zeros(1), 0.5) == pytest.approx(-0.5)
    assert sums.batch(np.array([-2]), np.zeros(1), 0.5) == pytest.approx(-0.5)


@pytest.mark.parametrize("work", [0.0, math.inf])
def test_a_clip_of_zero_is_refused_from_the_start(work: float) -> None:
    sums = ClippedSums(Rows(np.ones((1, 1)), np.ones(1)), Logistic(), work=work)
    with pytest.raises(InvalidParameter, match="clip"):
        sums.full(np.zeros(1), 0.0)


@pytest.mark.parametrize("p", [3, 100])
def test_rounding_stays_within_its_bound(p: int) -> None:
    rng, n = np.random.default_rng(6), 9000 // p
    X = rng.normal(size=(n, p))
    rows, w = Rows(X, rng.choice([-1.0, 1.0], n)), rng.normal(size=p)
    sums = ClippedSums(rows, Logistic())
    computed = sums.full(w, 1.0)
    cut = cut_slopes(sums, w, 1.0)
    exact = [
        sum(Fraction(c) * Fraction(x) for c, x in zip(cut, X[:, j], strict=True)) for j in range(p)
    ]
    error = math.sqrt(
        sum(float(Fraction(a) - b) ** 2 for a, b in zip(computed, exact, strict=True))
    )
    bound = sum_rounding(1.0, n_rows=n, shifting=True) / 2
    assert 0 < error <= bound
    fixed, free = (sum_rounding(1.0, n_rows=10**8, shifting=s) for s in (False, True))
    assert fixed < 1e-6 < free < 1e-3


def test_nothing_of_the_size_of_the_data_is_allocated() -> None:
    import tracemalloc

    X = np.ones((200_000, 20), dtype=np.float32)
    rows = Rows(X, np.ones(len(X)), norms=np.full(len(X), 5.0))
    sums = ClippedSums(rows, Absolute())
    sums.full(np.zeros(20), 1.0)
    tracemalloc.start()
    sums.full(np.zeros(20), 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 5


def test_geometric_median_gradient() -> None:
    y = np.array([[3.0, 4.0], [0.0, 0.0]])
    rows = Rows(np.ones((2, 1)), y)
    with ClippedSums(rows, EuclideanDistance(dim=2)) as sums:
        np.testing.assert_allclose(sums.full(np.zeros((1, 2)), 1.0), [[-0.6, -0.8]], rtol=1e-14)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_norms_of_float32_rows_are_bounds(kind: str) -> None:
    X = np.random.default_rng(7).normal(size=(200, 50)).astype(np.float32)
    rows = Rows(X if kind == "dense" else sp.csr_array(X), np.ones(200))
    exact = [sum(Fraction(float(v)) ** 2 for v in row) for row in X]
    assert all(Fraction(a) ** 2 >= b for a, b in zip(rows.norms, exact, strict=True))
    # Norms in float32, rounded outwards as if they were float64, would not be.
    short = np.sqrt(np.einsum("ij,ij->i", X, X)) * (1.0 + 58 * 2.0**-53)
    assert any(Fraction(float(a)) ** 2 < b for a, b in zip(short, exact, strict=True))


def test_a_cap_times_a_norm_stays_within_the_clip_in_real_arithmetic() -> None:
    norms = np.random.default_rng(0).uniform(0.5, 2.0, 1000)
    # Slopes of a half, weighted so that every one of them is cut.
    rows = Rows(norms[:, None], np.ones(1000), np.full(1000, 10.0), norms.copy())
    for clip in (1.0, 0.3):
        cut = cut_slopes(ClippedSums(rows, Logistic()), np.zeros(1), clip)
        for slope, norm in zip(cut, norms, strict=True):
            assert abs(Fraction(slope)) * Fraction(norm) <= Fraction(clip)


@pytest.mark.parametrize("outputs", [2, 30])
def test_slopes_of_several_outputs_are_cut_in_real_arithmetic(outputs: int) -> None:
    rng = np.random.default_rng(0)
    slope, high = rng.normal(size=(300, outputs)), rng.uniform(0.01, 0.5, 300)
    for row, cap in zip(blockwise._shorten(slope, high), high, strict=True):
        assert sum(Fraction(v) ** 2 for v in row) <= Fraction(cap) ** 2


def test_blank_rows_are_not_counted_among_the_short() -> None:
    rows = Rows(np.array([[1.0], [0.0], [3.0]]), np.ones(3), np.array([1.0, 0.0, 1.0]))
    with ClippedSums(rows, Logistic()) as sums:
        assert sums.counted(None, np.zeros(1), 0.6)[1] == 1
        assert sums.counted(np.array([1, 0]), np.zeros(1), 0.6)[1] == 1


@pytest.mark.parametrize("shifting", [False, True])
@pytest.mark.parametrize("n", [10, 10**5, 2**30])
def test_the_sums_of_both_neighbours_may_be_rounded(n: int, shifting: bool) -> None:
    inside = gamma(BLOCK_ROWS + 4) * (n if shifting else min(n, BLOCK_ROWS))
    both = 2 * 0.5 * (inside + unit_roundoff() * n)
    assert sum_rounding(0.5, n_rows=n, shifting=shifting) >= both


def test_small_data_is_one_block_for_one_thread() -> None:
    """Threads that hand blocks to each other take longer than the sums themselves."""
    assert shared_rows(10_000, 20) == 10_000
    assert shared_rows(10_000, 785) < 10_000
    assert all(shared_rows(n, p) <= BLOCK_ROWS for n in (1, 16_385, 10**6) for p in (1, 50))
    rows = Rows(np.ones((10_000, 20)), np.ones(10_000))
    with ClippedSums(rows, Logistic()) as sums:
        sums._pool = None if sums._pool is None else _Idle()
        sums.full(np.zeros(20), 1.0)


class _Idle:
    """A pool that must not be asked."""

    def submit(self, work: object) -> None:
        raise AssertionError("a thread is asked for help")
