"""Rows in float32: bounds of what is stored, and sums of neighbours, both exactly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import discreet.data.clipped.blockwise as module
import discreet.data.clipped.narrow as narrow
import discreet.data.compiled as compiled
from discreet.accounting import Budget
from discreet.algorithms import (
    MirrorDescent,
    NoisyGradient,
    ObjectivePerturbation,
    OutputPerturbation,
)
from discreet.bounds import Array, Bounds
from discreet.data import ArraySource, Bounding, Rows
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.data.storage.precision import NARROW, WIDE, storage_of
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import AllSpace, L2Ball

WAYS = {"numpy": 0.0, "compiled": math.inf}


def square(row: Any) -> Fraction:
    return sum((Fraction(float(v)) ** 2 for v in row), Fraction())


def dense(X: Any) -> Array:
    return X.toarray() if sp.issparse(X) else X


def awkward_rows() -> Array:
    """float32 rows of all lengths, some zero, tiny, huge or not finite."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 7)) * np.logspace(-6, 6, 400)[:, None]
    X *= rng.random((400, 7)) < 0.8
    X[0], X[1], X[2], X[3] = 1e-30, 3e38, np.inf, 0.0
    return X.astype(np.float32)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("features", [None, (-0.3, 0.7)])
@pytest.mark.parametrize("intercept", [0.0, 0.1])
@pytest.mark.parametrize("row_norm", [0.3, 1.0, 1000.1])
def test_stored_rows_are_within_their_bounds(
    kind: str, features: Any, intercept: float, row_norm: float
) -> None:
    X = awkward_rows()
    source = ArraySource(sp.csr_array(X) if kind == "csr" else X, np.zeros(400))
    centred = False if kind == "csr" else None
    bounds = Bounds(row_norm=row_norm, features=features, classes=(0, 1), centred=centred)
    bounding = Bounding.plan(bounds, 7, Logistic(), intercept=intercept)
    rows, wide = bounding.apply(source, narrow=True), bounding.apply(source)
    assert (rows.X.dtype, wide.X.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(dense(rows.X), dense(wide.X), rtol=1e-6, atol=1e-15)
    np.testing.assert_array_equal(rows.weight, wide.weight)
    squares = [square(row[:7]) for row in dense(rows.X)]
    assert max(squares) <= Fraction(row_norm) ** 2
    for row, norm in zip(dense(rows.X), rows.norms, strict=True):
        assert square(row) <= Fraction(float(norm)) ** 2 <= Fraction(bounding.row_norm) ** 2
        assert square(row[7:]) <= Fraction(intercept) ** 2


def test_rows_rounded_without_a_margin_would_be_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(500, 3)).astype(np.float32) * 9
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 3, Logistic())

    def longest() -> Fraction:
        rows = bounding.apply(ArraySource(X, np.zeros(500)), narrow=True)
        return max(square(row) for row in rows.X)

    assert Fraction(999999, 1000000) < longest() <= 1
    careless = replace(NARROW, shrink=1.0)
    monkeypatch.setattr("discreet.data.bounding.storage_of", lambda *args: careless)
    assert longest() > 1


def test_float32_is_kept_only_where_it_is_safe() -> None:
    slim = ArraySource(np.ones((2, 1), dtype=np.float32))
    assert storage_of(slim, 1.0, 0.5) is NARROW
    assert storage_of(ArraySource(np.ones((2, 1))), 1.0, 0.5) is WIDE
    assert storage_of(ArraySource(np.ones((2, 1), dtype=np.float16)), 1.0, 0.5) is WIDE
    for limit, intercept in ((1e-20, 0.5), (1e20, 0.5), (1.0, 1e-20), (1.0, 1e20)):
        assert storage_of(slim, limit, intercept) is WIDE

    class Silent:
        n_rows, n_features, sparse = 2, 1, False
        blocks = slim.blocks

    assert storage_of(Silent(), 1.0, 0.5) is WIDE


# Sums of neighbours.

CLIP, ROWS, WIDTH = 0.3, 60_000, 5


def rows_of(X: Array, y: Array, dtype: type, kind: str) -> Rows:
    X = X.astype(dtype)
    source = ArraySource(sp.csr_array(X) if kind == "csr" else X, y)
    bounds = Bounds(row_norm=1.0, classes=(-1, 1))
    return Bounding.plan(bounds, X.shape[1], Logistic()).apply(source, narrow=True)


def apart(sums: ClippedSums, others: ClippedSums, w: Array) -> float:
    """Return the exact distance of two computed sums, rounded up."""
    pairs = zip(sums.full(w, CLIP), others.full(w, CLIP), strict=True)
    exact = sum(((Fraction(a) - Fraction(b)) ** 2 for a, b in pairs), Fraction())
    return math.nextafter(math.sqrt(exact), math.inf)


def farthest(dtype: type, kind: str, way: str, *, shifting: bool) -> float:
    """Return the largest distance of sums of neighbours that are built to be far apart."""
    rng = np.random.default_rng(2)
    # All rows pull the same way and are clipped, so that partial sums are as large as can be and
    # one row moves the sum by exactly the clip.
    X = np.abs(rng.normal(size=(ROWS, WIDTH))) + 0.5
    y, w, far = np.ones(ROWS), rng.normal(size=WIDTH) * 0.1, 0.0
    whole = ClippedSums(rows_of(X, y, dtype, kind), Logistic(), shifting=shifting, work=WAYS[way])
    for row in (0, 700, 2222, 5001, ROWS - 1):
        other, labels = X.copy(), y
        if shifting:
            other, labels = np.delete(X, row, axis=0), np.delete(y, row)
        else:
            other[row] = np.inf  # becomes a blank row
        rows = rows_of(other, labels, dtype, kind)
        less = ClippedSums(rows, Logistic(), shifting=shifting, work=WAYS[way])
        assert (whole._kernel is None) == (way == "numpy" or kind == "csr")
        far = max(far, apart(whole, less, w))
    return far


def allowed(*, shifting: bool) -> float:
    return CLIP + sum_rounding(CLIP, n_rows=ROWS, shifting=shifting)


@pytest.mark.parametrize("shifting", [False, True])
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbouring_sums_are_as_close_as_accounted(
    dtype: type, kind: str, way: str, shifting: bool
) -> None:
    assert (
        CLIP * 0.999 < farthest(dtype, kind, way, shifting=shifting) <= allowed(shifting=shifting)
    )


def test_longer_sums_in_float32_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "combined", lambda X, c: np.dot(c, X).astype(float))
    assert farthest(np.float32, "dense", "numpy", shifting=False) > allowed(shifting=False)


def left_over(dtype: type, kind: str, way: str) -> float:
    """Return how far the sum without a row is from the sum less the row's own part."""
    rng = np.random.default_rng(2)
    X, y = np.abs(rng.normal(size=(ROWS, WIDTH))) + 0.5, np.ones(ROWS)
    w, worst = rng.normal(size=WIDTH) * 0.1, 0.0

    def total(keep: Array) -> list[Fraction]:
        rows = rows_of(X[keep], y[keep], dtype, kind)
        sums = ClippedSums(rows, Logistic(), shifting=True, work=WAYS[way])
        return [Fraction(v) for v in sums.full(w, CLIP)]

    whole, every = total(np.arange(ROWS)), np.arange(ROWS)
    for row in (0, 5001):
        parts = zip(whole, total(np.delete(every, row)), total(every[row : row + 1]), strict=True)
        worst = max(worst, math.sqrt(sum((a - b - c) ** 2 for a, b, c in parts)))
    return worst


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_other_rows_count_the_same_when_they_shift(dtype: type, kind: str, way: str) -> None:
    assert left_over(dtype, kind, way) <= allowed(shifting=True) - CLIP


def test_float32_sums_of_shifting_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClippedSums, "_narrowed", lambda self, w, index: w.astype(np.float32))
    assert left_over(np.float32, "dense", "numpy") > 100 * (allowed(shifting=True) - CLIP)


def test_compiled_float32_sums_of_shifting_rows_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "_combine", compiled._slim_combine)
    assert left_over(np.float32, "dense", "compiled") > 10 * (allowed(shifting=True) - CLIP)


def test_slopes_rounded_up_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(64, 9)).astype(np.float32)
    rows, w = Rows(X, np.ones(64)), rng.normal(size=9)
    seen: list[Any] = []
    monkeypatch.setattr(module, "combined", lambda X, c: seen.append(c) or narrow.combined(X, c))

    def longest(sums: ClippedSums) -> Fraction:
        sums.full(w, CLIP)
        cut = sums._blockwise._outer * seen.pop().astype(float)
        return max(Fraction(c) ** 2 * square(x) for c, x in zip(cut, X, strict=True))

    sums = ClippedSums(rows, Logistic(), work=0.0)
    limit = Fraction(CLIP) ** 2
    assert limit * Fraction(999, 1000) < longest(sums) <= limit
    # Without the margin it would not do.
    sums._inverse /= narrow.SLIM
    sums._clip = 0.0
    assert longest(sums) > limit


def test_groups_are_within_their_bound_of_the_exact_sum() -> None:
    rng = np.random.default_rng(4)
    n = 10 * narrow.GROUP + 3
    X, c = (rng.random(size, dtype=np.float32) for size in ((n, 4), n))
    exact = [
        sum(
            (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(c, column, strict=True)),
            Fraction(),
        )
        for column in X.T
    ]
    total = narrow.combined(X, c)
    error = math.sqrt(sum((Fraction(a) - b) ** 2 for a, b in zip(total, exact, strict=True)))
    parts = sum(
        abs(float(a)) * float(np.linalg.norm(x.astype(float))) for a, x in zip(c, X, strict=True)
    )
    # Sums are off by less than the clip leaves room for, per row of a group and neighbour.
    assert 0.0 < error <= parts * (1.0 - narrow.SLIM) / 2 / narrow.GROUP


def test_products_that_depend_on_memory_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 6)).astype(np.float32)
    w, y = rng.normal(size=6), np.ones(300)
    plain = ClippedSums(Rows(X.astype(float), y), Logistic(), work=0.0)
    # The same caps, so that the sums can be the same.
    sums = ClippedSums(Rows(X, y), Logistic(), work=0.0)
    plain._inverse = sums._inverse
    expected = plain.full(w, CLIP)
    assert narrow.steady(6)
    assert (sums.full(w, CLIP) != expected).any()
    real = narrow.combined

    def uneven(X: Any, c: Any) -> Array:
        return real(X, c) * (1.0 + (X.ctypes.data % 64 == 0) * 2.0**-50)

    monkeypatch.setattr(narrow, "combined", uneven)
    narrow.steady.cache_clear()
    assert not narrow.steady(6)
    assert (sums.full(w, CLIP) == expected).all()
    narrow.steady.cache_clear()


@pytest.mark.parametrize(("clip", "size"), [(1e-20, 1.0), (1e20, 1.0), (1.0, 1e30)])
def test_ends_of_float32_are_left_to_float64(clip: float, size: float) -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 3)).astype(np.float32)
    w = rng.normal(size=3) * size
    sums = [ClippedSums(Rows(v, np.ones(50)), Logistic(), work=0.0) for v in (X, X.astype(float))]
    sums[1]._inverse = sums[0]._inverse
    assert (sums[0].full(w, clip) == sums[1].full(w, clip)).all()


# Algorithms.


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(
    ("algorithm", "dtype"),
    [
        (NoisyGradient(steps=20), np.float32),
        (NoisyGradient(steps=20, sampler="poisson", batch=50), np.float32),
        (NoisyGradient(steps=20, hidden_state=True), np.float64),
        (MirrorDescent(), np.float32),
        (ObjectivePerturbation(), np.float64),
        (OutputPerturbation(), np.float64),
    ],
    ids=lambda v: getattr(v, "name", "") + "-hidden" * getattr(v, "hidden_state", False),
)
def test_algorithms_get_float32_only_if_they_ask(
    monkeypatch: pytest.MonkeyPatch, algorithm: Any, dtype: type, kind: str
) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    problem = Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=3,
        n_rows=200,
        constraint=AllSpace() if isinstance(algorithm, MirrorDescent) else L2Ball(radius=3.0),
    )
    plan = algorithm.plan(problem, Budget(1.0, 1e-5))
    seen, weights, apply = [], [], Bounding.apply

    def record(self: Bounding, source: Any, **how: Any) -> Rows:
        rows = apply(self, source, **how)
        seen.append(rows.X.dtype)
        return rows

    monkeypatch.setattr(Bounding, "apply", record)
    for values in (X, X.astype(float)):
        source = ArraySource(sp.csr_array(values) if kind == "csr" else values, y)
        weights.append(plan.run(source, Seeded(8)).weights)
    assert seen == [dtype, np.float64]
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-3, atol=1e-4)
