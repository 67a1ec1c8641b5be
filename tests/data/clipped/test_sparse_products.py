"""Products of sparse rows: against dense ones, bit by bit between neighbours."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.data import Rows
from discreet.data.blocks import slices
from discreet.data.clipped import sparse_products
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.losses import Logistic, Loss, Softmax


def sparse(n: int, p: int, seed: int = 0) -> np.ndarray:
    """Rows with 0 to some 60 % of their values stored."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * (rng.random((n, p)) < rng.uniform(0.0, 0.6, (n, 1)))


@pytest.fixture
def checked_anew() -> Iterator[None]:
    sparse_products._loops_do.cache_clear()
    yield
    sparse_products._loops_do.cache_clear()


PICKS = {
    "some in a row": slice(3, 11),
    "all": slice(0, 40),
    "none in a row": slice(5, 5),
    "rising": np.array([0, 4, 21, 22, 39]),
    "in any order": np.array([22, 39, 0, 21, 4]),
    "twice, and from the end": np.array([7, 7, -1, 30, -40]),
    "none": np.zeros(0, np.int64),
}


@pytest.mark.parametrize("pick", PICKS.values(), ids=list(PICKS))
@pytest.mark.parametrize("outputs", [(), (3,)])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float64, np.float32])
def test_products_are_those_of_dense_rows(
    pick: Any, outputs: tuple[int, ...], index: type, value: type
) -> None:
    dense, rng = sparse(40, 13).astype(value).astype(float), np.random.default_rng(1)
    X = sp.csr_array(dense.astype(value))
    X.indptr, X.indices = X.indptr.astype(index), X.indices.astype(index)
    products = sparse_products.sparse_products(X)
    assert products is not None
    rows = products.read(pick)
    w = rng.normal(size=(*outputs[::-1], 13)).T
    z = products.margins(rows, w)
    np.testing.assert_allclose(z, dense[pick] @ w, atol=1e-14)
    assert z.flags.c_contiguous
    slope = np.asfortranarray(rng.normal(size=z.shape))
    np.testing.assert_allclose(
        products.combined(rows, slope), dense[pick].T @ slope, rtol=1e-12, atol=1e-13
    )


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_a_margin_is_the_same_wherever_the_row_stands(outputs: tuple[int, ...]) -> None:
    dense, rng = sparse(60, 200), np.random.default_rng(2)
    w = rng.normal(size=(200, *outputs))
    whole, found = sp.csr_array(dense) @ w, []
    for start in range(9):
        products = sparse_products.sparse_products(sp.csr_array(dense[start:]))
        assert products is not None
        alone = rng.permutation(60 - start)[:20]
        z = products.margins(products.read(slice(0, 60 - start)), w)
        assert (products.margins(products.read(alone), w) == z[alone]).all()
        found.append(z)
    assert all((z == whole[start:]).all() for start, z in enumerate(found))


@pytest.mark.parametrize("loss", [Logistic(), Softmax()])
@pytest.mark.parametrize("shifting", [False, True])
def test_sums_are_the_same_without_the_loops(
    loss: Loss, shifting: bool, monkeypatch: pytest.MonkeyPatch, checked_anew: None
) -> None:
    dense, rng = sparse(500, 30), np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], 500) if loss.outputs == 1 else rng.integers(0, 3, 500) * 1.0
    w = rng.normal(size=30 if loss.outputs == 1 else (30, 3))
    index, found = np.flatnonzero(rng.random(500) < 0.2), []
    for loops in (sparse_products.loops, None):
        monkeypatch.setattr(sparse_products, "loops", loops)
        sparse_products._loops_do.cache_clear()
        sums = ClippedSums(Rows(sp.csr_array(dense), y), loss, shifting=shifting)
        assert (sums._blockwise._sparse is None) == (loops is None)
        found.append([sums.batch(pick, w, 0.5) for pick in (None, index)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_loops_that_do_something_else_are_not_used(
    monkeypatch: pytest.MonkeyPatch, checked_anew: None
) -> None:
    """Such as rows of a batch in another order, or other arguments one day."""
    real, X = sparse_products.loops, sp.csr_array(np.eye(3))
    names = [n for n in dir(real) if n.startswith("cs")]
    assert sparse_products.sparse_products(X) is not None

    def rising(n: int, places: Any, *rest: Any) -> None:
        real.csr_row_index(n, np.sort(places), *rest)

    def refuses(*given: Any) -> None:
        raise ValueError("other arguments")

    for name, other in {"csr_row_index": rising, "csr_matvec": refuses}.items():
        given = {n: getattr(real, n) for n in names} | {name: other}
        monkeypatch.setattr(sparse_products, "loops", SimpleNamespace(**given))
        sparse_products._loops_do.cache_clear()
        assert sparse_products.sparse_products(X) is None


def test_rows_that_are_none_are_refused() -> None:
    """The loops would read beside the memory of the rows."""
    products = sparse_products.sparse_products(sp.csr_array(np.eye(3)))
    assert products is not None
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            products.read(np.array([0, beyond]))


def test_rows_that_the_loops_do_not_take_are_multiplied_elsewhere() -> None:
    X = sp.csr_array(np.eye(3))
    for other in (sp.csc_array(X), X.toarray()):
        assert sparse_products.sparse_products(other) is None
    X.indptr = X.indptr.astype(np.int64)
    assert sparse_products.sparse_products(X) is None


def test_blocks_depend_on_public_values_and_pay() -> None:
    """Of many stored values blocks are as long as of few; sums are as long as the weights."""
    for stored in (1, 40):
        X = sp.csr_array(
            (
                np.ones((20_000, stored)).ravel(),
                np.tile(np.arange(stored), 20_000),
                np.arange(20_001) * stored,
            ),
            shape=(20_000, 1000),
        )
        sums = ClippedSums(Rows(X, np.ones(20_000)), Logistic())
        sizes = [sums._block(n, np.zeros(1000)) for n in (2630, 9000, 20_000)]
        assert sizes == [2630, 1125, 2500]
    sums = ClippedSums(Rows(sp.csr_array((20_000, 10**5)), np.ones(20_000)), Logistic())
    assert [sums._block(n, np.zeros(10**5)) for n in (9000, 20_000)] == [9000, 10_000]


def test_other_blocks_are_bit_for_bit_the_same() -> None:
    """The changed row has another number of values, which moves all later ones in memory."""
    n, p, changed = 20_000, 50, 7001
    dense, rng = sparse(n, p), np.random.default_rng(4)
    y, w, other = rng.choice([-1.0, 1.0], n), rng.normal(size=p), dense.copy()
    other[changed] = 1.0
    parts = []
    for X in (dense, other):
        sums = ClippedSums(Rows(sp.csr_array(X), y), Logistic())
        sums.full(w, 0.3)
        blocks = slices(n, sums._block(n, w))
        parts.append([sums._part(s, None, w, False)[0] for s in blocks])
    same = [bool((a == b).all()) for a, b in zip(*parts, strict=True)]
    assert same == [changed not in range(s.start, s.stop) for s in blocks]
    assert len(same) == 8


@pytest.mark.parametrize("value", [np.float64, np.float32])
def test_threads_do_not_change_a_sum(value: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has memory of its own for the rows of a batch."""
    monkeypatch.setattr("discreet.data.blocks.os.sched_getaffinity", lambda _: {0, 1})
    X, w = sp.csr_array(sparse(17_000, 20).astype(value)), np.linspace(-1, 1, 20)
    rows, index = Rows(X, np.ones(17_000)), np.random.default_rng(7).permutation(17_000)
    for pick in (None, index):
        plain = ClippedSums(rows, Logistic()).batch(pick, w, 0.5)
        with ClippedSums(rows, Logistic()) as sums:
            assert sums._block(17_000, w) < 17_000
            assert all((sums.batch(pick, w, 0.5) == plain).all() for _ in range(5))


def test_threads_do_not_gather_rows_into_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every thread waits, once it has gathered rows, until the other has gathered some."""
    monkeypatch.setattr("discreet.data.blocks.os.sched_getaffinity", lambda _: {0, 1})
    X, w = sp.csr_array(sparse(9000, 300)), np.linspace(-1, 1, 300)
    rows, index = Rows(X, np.ones(9000)), np.random.default_rng(8).permutation(9000)
    plain = ClippedSums(rows, Logistic()).batch(index, w, 0.5)
    meet, real = threading.Barrier(2), sparse_products.loops

    def slowly(*given: Any) -> None:
        meet.wait(timeout=10)
        real.csr_matvec(*given)

    given = {n: getattr(real, n) for n in ("csr_row_index", "csc_matvec")}
    with ClippedSums(rows, Logistic()) as sums:
        monkeypatch.setattr(sparse_products, "loops", SimpleNamespace(csr_matvec=slowly, **given))
        assert (sums.batch(index, w, 0.5) == plain).all()


@pytest.mark.parametrize("drawn", [False, True])
def test_sums_are_those_of_rows_within_the_clip_in_real_arithmetic(drawn: bool) -> None:
    """What rows are multiplied by is seen on the way; fractions do the rest."""
    dense, clip = sparse(300, 25), 0.1
    rng = np.random.default_rng(5)
    y, w = rng.choice([-1.0, 1.0], 300), rng.normal(size=25)
    sums, seen = ClippedSums(Rows(sp.csr_array(dense), y), Logistic(), shifting=drawn), []
    products = sums._blockwise._sparse
    assert products is not None
    combined = products.combined
    products.combined = lambda rows, cut: seen.append(cut) or combined(rows, cut)  # type: ignore[method-assign]
    index = np.flatnonzero(rng.random(300) < 0.3) if drawn else None
    computed = sums.batch(index, w, clip)
    X = dense if index is None else dense[index]
    cut, exact = [Fraction(c * sums._blockwise._outer) for c in seen[0]], []
    longest = 0.0
    for c, x in zip(cut, X, strict=True):
        square = c**2 * sum(Fraction(v) ** 2 for v in x)
        assert square <= Fraction(clip) ** 2
        longest = max(longest, float(square) ** 0.5)
    assert longest > 0.999 * clip
    for j in range(25):
        exact.append(sum(c * Fraction(v) for c, v in zip(cut, X[:, j], strict=True)))
    error = math.dist(computed, [float(v) for v in exact])
    assert error <= sum_rounding(clip, n_rows=len(X), shifting=True) / 2


def test_batches_of_any_order_are_summed() -> None:
    dense, rng = sparse(400, 30), np.random.default_rng(6)
    y, w = rng.choice([-1.0, 1.0], 400), rng.normal(size=30)
    order = rng.permutation(400)[:100]
    for shifting in (False, True):
        found = [
            ClippedSums(Rows(X, y), Logistic(), shifting=shifting).batch(order, w, 0.4)
            for X in (dense, sp.csr_array(dense))
        ]
        np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)


def test_weights_and_slopes_of_another_length_are_refused() -> None:
    products = sparse_products.sparse_products(sp.csr_array(np.eye(3)))
    assert products is not None
    rows = products.read(slice(0, 2))
    for columns in ((), (2,)):
        with pytest.raises(ValueError, match="weights"):
            products.margins(rows, np.ones((2, *columns)))
        with pytest.raises(ValueError, match="slopes"):
            products.combined(rows, np.ones((3, *columns)))
