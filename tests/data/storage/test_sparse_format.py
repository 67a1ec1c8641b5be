"""Sparse matrices whose arrays do not fit together are refused in words, and never read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import Bounds, PrivateLogisticRegression, PrivateStreamClassifier
from discreet.data import ArraySource
from discreet.data.storage.sparse_format import well_formed
from discreet.errors import InvalidData

FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")
BOUNDS = Bounds(row_norm=2.0, classes=(0, 1))
Y = np.arange(60) % 2


def rows(kind: str) -> sp.spmatrix:
    dense = np.random.default_rng(0).uniform(0.1, 1.0, (60, 4))
    return (
        sp.bsr_array(dense, blocksize=(2, 2))
        if kind == "bsr"
        else sp.csr_array(dense).asformat(kind)
    )


def put(name: str, place: int, value: int):
    def change(X):
        getattr(X, name)[place] = value

    return change


def cut(name: str):
    def change(X):
        setattr(X, name, getattr(X, name)[:-1])

    return change


def real(X):
    X.indices = X.indices.astype(float)


RUNS = {
    "an index out of range": put("indices", 3, 4000),
    "an index just out of range": put("indices", 3, 60),
    "an index far out of range": put("indices", 3, 2**31 - 1),
    "a negative index": put("indices", 3, -1),
    "a decreasing end": put("indptr", 1, 10**6),
    "a negative end": put("indptr", 1, -5),
    "a first run that begins late": put("indptr", 0, 1),
    "a last end beyond the values": put("indptr", -1, 10**6),
    "too few ends": cut("indptr"),
    "too few indices": cut("indices"),
    "too few values": cut("data"),
    "indices that are no integers": real,
}
PLACES = {
    "a row out of range": lambda X: X.row.__setitem__(0, 60),
    "a negative column": lambda X: X.col.__setitem__(0, -1),
    "too few values": cut("data"),
}
CASES = [(kind, name, RUNS[name]) for kind in ("csr", "csc", "bsr") for name in RUNS]
CASES += [("coo", name, change) for name, change in PLACES.items()]


@pytest.mark.parametrize(
    ("kind", "name", "change"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_malformed_matrices_are_refused_by_sources_fits_and_predictions(kind, name, change):
    model = PrivateLogisticRegression(bounds=BOUNDS, random_state=0).fit(rows("csr"), Y)
    stream = PrivateStreamClassifier(bounds=BOUNDS, random_state=0)
    X = rows(kind)
    change(X)
    for use in (
        lambda: ArraySource(X, Y),
        lambda: PrivateLogisticRegression(bounds=BOUNDS).fit(X, Y),
        lambda: stream.partial_fit(X, Y),
        lambda: model.predict(X),
        lambda: model.score(X, Y),
    ):
        with pytest.raises(InvalidData, match="malformed sparse matrix") as refusal:
            use()
        assert "4000" not in str(refusal.value)


def test_a_list_of_lists_with_a_column_too_many_is_refused():
    X = rows("lil")
    X.rows[3] = [0, 1, 2, 90]
    with pytest.raises(InvalidData, match="malformed sparse matrix"):
        PrivateLogisticRegression(bounds=BOUNDS).fit(X, Y)


@pytest.mark.parametrize("kind", FORMATS)
def test_sound_matrices_of_all_formats_pass(kind):
    X = rows(kind)
    np.testing.assert_array_equal(well_formed(X).toarray(), X.toarray())
    model = PrivateLogisticRegression(bounds=BOUNDS, random_state=0).fit(X, Y)
    assert len(model.predict(X)) == 60


@pytest.mark.parametrize("kind", FORMATS)
def test_matrices_without_values_pass(kind):
    assert well_formed(sp.csr_array((3, 4)).asformat(kind)).nnz == 0
