"""What stands for values that are missing."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Bounds
from discreet.data import Progress
from discreet.data.missing import missing_labels, neutral


def test_missing_values_of_sparse_rows_become_zeros_and_others_stay() -> None:
    X = sp.csr_matrix(np.array([[np.nan, 3.0], [0.0, 2.0]]))
    found = neutral(Bounds(features=(0, 10)), X)
    assert found.toarray().tolist() == [[0.0, 3.0], [0.0, 2.0]]
    assert np.isnan(X.data).any()  # what was passed is not changed
    assert neutral(Bounds(features=(0, 10)), found) is found


def test_missing_values_of_dense_rows_become_the_middle_of_their_range() -> None:
    X = np.array([[np.nan, 3.0]])
    assert neutral(Bounds(features=(0, 10)), X).tolist() == [[5.0, 3.0]]
    assert neutral(Bounds(row_norm=1.0), X).tolist() == [[0.0, 3.0]]
    whole = X[:, 1:]
    assert neutral(Bounds(row_norm=1.0), whole) is whole


def test_labels_of_every_kind_may_be_missing() -> None:
    assert missing_labels(np.array([1, 2])).tolist() == [False, False]
    assert missing_labels(np.array([1.0, np.nan])).tolist() == [False, True]
    assert missing_labels(["a", None]).tolist() == [False, True]


def test_the_time_that_is_left_goes_by_the_pace_so_far() -> None:
    assert Progress(1, 100, 2.0).left == 198.0
    assert Progress(0, 100, 2.0).left == 198.0
