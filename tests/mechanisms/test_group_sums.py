"""Sums in which the part of a group is clipped: how far it moves, and what rounding does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.bounds import Array, Bounds
from discreet.data import Grouping, Rows
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.losses import Logistic, Loss, Softmax, Squared
from discreet.mechanisms.group_sums import GroupSums, rounding_of
from discreet.problem import Problem


def of_one_group(points: Any, k: int) -> Array:
    """Return the part of one group; slopes are 5, so every row is clipped."""
    X = np.array(points, dtype=float)
    rows = Rows(X, np.full(len(X), -5.0), groups=np.zeros(len(X), np.int64))
    with GroupSums(rows, Squared(), k) as sums:
        return sums.full(np.zeros(X.shape[1]), 1.0)


def test_rows_that_are_clipped_one_by_one_carry_their_group_too_far() -> None:
    """The planted fault: every row counts, and nothing holds the group."""
    points = [(1, 0)] * 4
    codes = np.zeros(4, np.int64)
    share = Grouping(2, "clip").shares(codes)
    faulty = Rows(np.array(points, dtype=float), np.full(4, -5.0)).shared(share, codes)
    with ClippedSums(faulty, Squared(), shifting=True) as sums:
        assert np.linalg.norm(sums.full(np.zeros(2), 1.0)) > 3.9
    assert np.linalg.norm(of_one_group(points, 2)) <= 2.0


def test_no_part_is_longer_than_its_clips_in_rational_numbers() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2, 3, 7):
        for _ in range(50):
            part = of_one_group(rng.normal([3.0, 0.0, 0.0], size=(9, 3)), k)
            assert sum(Fraction(v) ** 2 for v in part) <= k * k
            assert np.linalg.norm(part) > 0.9 * min(k, 7)


def test_rounding_in_groups_and_between_them_is_paid_for() -> None:
    """The terms of the proof: twice the rounding of a sum, and that of the norms of groups."""
    n, p = 10**6, 5
    problem = Problem(
        loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=p, n_rows=100,
        grouping=Grouping(2, "clip"),
    )  # fmt: skip
    plain = sum_rounding(3.0, n_rows=n, shifting=True)
    norms = 2 * (p + 16) * 2.0**-53
    assert rounding_of(3.0, problem, n_rows=n, shifting=True) >= 2 * (plain + norms * n * 3.0)


def plainly(X: Array, slope: Array, codes: Any, clip: float, most: int) -> Array:
    """Return the sum by its definition, row by row and group by group."""
    total = np.zeros((X.shape[1], slope.shape[1]))
    for code in set(codes[codes >= 0]):
        part = np.zeros_like(total)
        for i in np.flatnonzero(codes == code):
            own = np.outer(X[i], slope[i])
            part += own * min(1.0, clip / max(np.linalg.norm(own), 1e-300))
        total += part * min(1.0, most * clip / max(np.linalg.norm(part), 1e-300))
    return total


@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_sums_are_those_of_the_definition(kind: str, outputs: int) -> None:
    # So many features that a block has 64 rows, and groups of more rows than a block.
    n, p = 400, 3200
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.05)
    X = X.astype(np.float32).astype(np.float64)
    codes = np.where(np.arange(n) % 2, rng.integers(1, 90, n), 0)
    codes[rng.random(n) < 0.1] = -1
    loss: Loss = Logistic() if outputs == 1 else Softmax(n_classes=3)
    y = rng.choice([-1.0, 1.0], n) if outputs == 1 else rng.integers(0, 3, n).astype(float)
    w = rng.normal(size=p if outputs == 1 else (p, outputs)) * 0.05
    stored = {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}[kind]
    whole = Rows(stored, y)
    rows = whole.shared(Grouping(2, "clip").shares(codes), codes)
    slope = loss.slope(X @ w, y).reshape(n, -1)
    batch = np.flatnonzero(codes % 3 == 0)
    # Rows in float32 are clipped a little more.
    error = 1e-12 if kind != "float32" else 2e-3
    with GroupSums(rows, loss, 2) as sums:
        for index in (None, batch):
            held = codes if index is None else np.where(codes % 3 == 0, codes, -1)
            wanted = plainly(X, slope, held, 1.5, 2).reshape(w.shape)
            apart = np.linalg.norm(sums.batch(index, w, 1.5) - wanted)
            assert apart <= error * np.linalg.norm(wanted)
        assert not sums.batch(batch[:0], w, 1.5).any()


def test_rounding_is_within_what_is_paid_for_it_wherever_rows_stand() -> None:
    rng = np.random.default_rng(2)
    n, p = 3000, 40
    X, y = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-6, 6, (n, 1)), rng.choice([-1.0, 1.0], n)
    codes, w = rng.integers(0, 400, n), rng.normal(size=p)
    problem = Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=p,
        n_rows=n,
        grouping=Grouping(2, "clip"),
    )
    found = []
    for _ in range(4):
        order = rng.permutation(n)
        rows = Rows(X[order], y[order], groups=rng.permutation(400)[codes[order]])
        with GroupSums(rows, Logistic(), 2) as sums:
            found.append(sums.full(w, 1.0))
    apart = max(np.linalg.norm(one - found[0]) for one in found)
    assert 0.0 < apart <= rounding_of(1.0, problem, n_rows=n, shifting=True)
