"""Sparse blocks are stacked as scipy stacks them, without a second copy."""

from __future__ import annotations

import traceback
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import PrivateLogisticRegression
from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding
from discreet.data.storage.stacked import Stacked
from discreet.losses import Logistic


def test_blocks_are_stacked_as_by_scipy():
    X = sp.csr_array(sp.random(50, 8, density=0.3, random_state=0))
    for cuts in ([0, 50], [0, 1, 1, 20, 50], [0, 0, 49, 50]):
        stacked = Stacked(ArraySource(X), 8, np.float32)
        for start, stop in pairwise(cuts):
            assert stacked.add(X[start:stop]) == slice(start, stop)
        whole = stacked.whole()
        assert whole.dtype == np.float32
        assert np.array_equal(whole.toarray(), X.toarray().astype(np.float32))
        whole.check_format()


def test_entries_stored_twice_leave_no_gap_and_sources_need_not_count():
    values, columns, ends = np.ones(9000), np.zeros(9000, dtype=int), np.arange(0, 9001, 3)
    X = sp.csr_array((values, columns, ends), shape=(3000, 2))
    bounding = Bounding.plan(Bounds(row_norm=9.0, classes=(0, 1)), 2, Logistic(), intercept=1.0)
    source = ArraySource(sp.vstack([X, X], format="csr"), np.zeros(6000))

    class Blocks:
        n_rows, n_features, sparse = 6000, 2, True
        blocks = source.blocks

    for given in (source, Blocks()):
        rows = bounding.apply(given).X
        assert np.array_equal(rows.toarray(), np.tile([3.0, 0.0, 1.0], (6000, 1)))
        rows.check_format()


def test_no_rows_and_rows_without_values():
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 4, Logistic())
    for n_rows in (0, 5):
        rows = bounding.apply(ArraySource(sp.csr_array((n_rows, 4)), np.zeros(n_rows)))
        assert rows.X.shape == (n_rows, 4)
        assert rows.X.nnz == 0


def test_sparse_rows_are_copied_once():
    n, p, each = 400_000, 500, 20
    columns = np.tile(np.arange(0, p, p // each), n)
    X = sp.csr_array((np.ones(n * each), columns, np.arange(0, n * each + 1, each)), shape=(n, p))
    labels = np.zeros(n)
    size = X.data.nbytes + X.indices.nbytes
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), p, Logistic())
    tracemalloc.start()
    rows = bounding.apply(ArraySource(X, labels))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.X.nnz == X.nnz
    # Stacked from a list of parts, it would be more than 2.
    assert most < 1.6 * size


def test_too_little_memory_tells_no_size(monkeypatch):
    def full(*args):
        raise MemoryError("Unable to allocate 9 EiB for an array with shape (4242,)")

    monkeypatch.setattr("discreet.data.bounding.Stacked", full)
    model = PrivateLogisticRegression(bounds=Bounds(row_norm=1.0, classes=(0, 1)))
    with pytest.raises(MemoryError, match="another copy of the rows") as caught:
        model.fit(sp.csr_array(np.eye(4)), [0, 1, 0, 1])
    assert "4242" not in "".join(traceback.format_exception(caught.value))
    assert not hasattr(model, "classes_")
