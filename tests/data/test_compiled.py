"""Compiled clipped sums: against exact sums, between neighbours, and without numba."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit

import discreet.data.clipped.clipped_sums as module
import discreet.data.compiled as compiled
from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.bounds import Array, Bounds
from discreet.data import ArraySource, Rows
from discreet.data.blocks import slices
from discreet.data.clipped.blockwise import BLOCK_ROWS
from discreet.data.clipped.clipped_sums import ClippedSums, shared_rows, sum_rounding
from discreet.data.clipped.narrow import SLIM
from discreet.data.compiled import Kernel, kernel_for
from discreet.losses import LOSSES, Huber, Logistic, Loss, Softmax
from discreet.noise import Seeded
from discreet.problem import Problem

ALWAYS, NEVER = math.inf, 0.0
COMPILED = [loss for loss in LOSSES.values() if loss.scalar_slope() is not None]


def signs(n: int, seed: int) -> Array:
    return np.random.default_rng(seed).choice([-1.0, 1.0], n)


def exact(X: Array, c: Array) -> list[Fraction]:
    """The real sum of the vectors ``c x``."""
    return [
        sum((Fraction(a) * Fraction(float(b)) for a, b in zip(c, X[:, j], strict=True)), Fraction())
        for j in range(X.shape[1])
    ]


def by_hand(rows: Rows, loss: Loss, w: Array, clip: float) -> Array:
    """Extended precision, one row at a time, gradient first and then its norm."""
    X, total = np.asarray(rows.X, dtype=np.longdouble), np.zeros(w.shape, dtype=np.longdouble)
    for i in range(len(X)):
        z = np.array([float(X[i] @ w)])
        gradient = X[i] * (loss.slope(z, rows.y[i : i + 1])[0] * rows.weight[i])
        norm = np.sqrt(gradient @ gradient)
        total += gradient * min(1.0, clip / norm) if norm > 0 else 0.0
    return total


def tagged(X: Array) -> Array:
    """Rows with a column of their own each: the sum there is the row's clipped slope, exactly."""
    return np.hstack([X, np.eye(len(X))])


@pytest.mark.parametrize(
    ("loss", "dtype"),
    [(Logistic(), np.float64), (Logistic(), np.float32), (Huber(threshold=0.7), np.float64)],
)
def test_sum_is_that_of_a_loop_over_rows(loss: Loss, dtype: type) -> None:
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(301, 7)) * (rng.random((301, 7)) < 0.7)).astype(dtype)
    X[17] = 0.0
    weight, w = rng.choice([0.0, 0.5, 2.0], 301), rng.normal(size=7) * 0.3
    X[5], weight[5] = 1.0, 2.0
    pick = rng.permutation(301)[:78]
    rows = Rows(X, signs(301, 2), weight)
    part = Rows(X[pick], rows.y[pick], weight[pick])
    with ClippedSums(rows, loss, work=ALWAYS) as sums, ClippedSums(rows, loss, work=NEVER) as plain:
        assert sums._kernel is not None
        assert plain._kernel is None
        for clip in (0.3, 1e6):
            for index, some in ((None, rows), (pick, part)):
                total, short = sums.counted(index, w, clip)
                expected = by_hand(some, loss, w, clip if dtype == np.float64 else SLIM * clip)
                close = 1e-12 if dtype == np.float64 else 1e-5
                np.testing.assert_allclose(total, expected.astype(float), rtol=close, atol=close)
                assert short == plain.counted(index, w, clip)[1]
            assert (sums.full(w, clip) == sums.counted(None, w, clip)[0]).all()
        # One row that is not clipped would be seen.
        expected = sums.full(w, 0.1)
        sums._cap[5] = math.inf
        assert np.abs(sums.full(w, 0.1) - expected).max() > 1e-2


@pytest.mark.parametrize("loss", COMPILED, ids=lambda v: v.name)
def test_compiled_slopes_are_bit_for_bit_those_of_python(loss: Loss) -> None:
    slope, parameters = loss.scalar_slope() or (None, ())
    kernel_for(loss, np.zeros((1, 1)))
    strict = njit(fastmath=False, error_model="numpy")(slope)
    rng = np.random.default_rng(3)
    y = signs(500, 4) if loss.target == "sign" else rng.integers(0, 3, 500).astype(float)
    for z, label in zip(rng.normal(size=500) * rng.choice([0.1, 1.0, 30.0], 500), y, strict=True):
        assert strict(z, label, *parameters) == slope(z, label, *parameters)


def test_rows_stay_within_the_clip_in_real_arithmetic() -> None:
    rng = np.random.default_rng(5)
    X = tagged(rng.normal(size=(90, 5)) * 10.0 ** rng.uniform(-3, 3, size=(90, 1)))
    sums = ClippedSums(Rows(X, signs(90, 6)), Huber(threshold=1e9), work=ALWAYS)
    clip = 0.1

    def worst(w: Array) -> Fraction:
        c = sums.full(w, clip)[5:]
        return max(
            Fraction(v) ** 2 * sum(Fraction(x) ** 2 for x in row)
            for v, row in zip(c, X, strict=True)
        )

    w = rng.normal(size=X.shape[1])
    w[5:] = 0.0
    limit = Fraction(clip) ** 2
    assert limit * Fraction(999, 1000) < worst(w) <= limit
    # Margins that are not a number obey the clip too.
    w[:2] = 1.5e308, -1.5e308
    assert worst(w) <= limit
    sums._cap[:] *= 1.0 + 1e-12
    assert worst(w) > limit


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("rows", [37, 150])
def test_a_row_counts_the_same_wherever_it_stands(dtype: type, rows: int) -> None:
    rng = np.random.default_rng(7)
    X, y = tagged(rng.normal(size=(rows, 13))).astype(dtype), signs(rows, 8)
    w, found = rng.normal(size=rows + 13) * 0.3, []
    for start in range(9):
        part = Rows(X[start:].copy(), y[start:])
        with ClippedSums(part, Logistic(), shifting=True, work=ALWAYS) as sums:
            found.append(sums.full(w, 0.8)[13 + 9 :])
            order = np.random.default_rng(start).permutation(part.n_rows)
            found.append(sums.batch(order, w, 0.8)[13 + 9 :])
    assert all((c == found[0]).all() for c in found)
    assert len(np.unique(found[0])) > (rows - 9) / 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rounding_between_neighbours_stays_within_its_bound(dtype: type) -> None:
    rng = np.random.default_rng(9)
    n, clip = 2500, 0.3
    X = rng.normal(size=(n, 3)).astype(dtype)
    y, w = signs(n, 10), rng.normal(size=3)
    X[0], y[0] = 2.0 * w, -1.0
    inverse = []

    def total(keep: Array, planted: float = 1.0) -> list[Fraction]:
        sums = ClippedSums(Rows(X[keep], y[keep]), Logistic(), shifting=True, work=ALWAYS)
        inverse.append(sums._inverse.copy())
        sums._inverse[0] *= planted
        return [Fraction(v) for v in sums.full(w, clip)]

    def apart(a: list[Fraction], b: list[Fraction]) -> float:
        return math.sqrt(sum((u - v) ** 2 for u, v in zip(a, b, strict=True)))

    keep = np.arange(n)
    whole = total(keep)
    cap = clip * inverse[0]
    slopes = np.clip(Logistic().slope(X.astype(float) @ w, y), -cap, cap)
    bound = sum_rounding(clip, n_rows=n, shifting=True)
    # The margin's own rounding moves slopes that are not clipped: in float64 by far less than the
    # bound, in float32 by more, but the same for both neighbours.
    slack = bound / 2 if dtype == np.float64 else 1e-5
    assert 0.0 < apart(whole, exact(X, slopes)) <= slack
    for gone in (0, 1000, n - 1):
        assert apart(whole, total(np.delete(keep, gone))) <= clip + bound
    # A row that is not clipped is further away.
    assert apart(total(keep, planted=math.inf), total(keep[1:])) > clip + bound


def test_other_blocks_and_threads_do_not_change_a_sum() -> None:
    rng = np.random.default_rng(11)
    n, changed = 3 * BLOCK_ROWS + 11, BLOCK_ROWS + 5
    X, y, w = rng.normal(size=(n, 9)), signs(n, 12), rng.normal(size=9)
    other = X.copy()
    other[changed] = 7.0
    alone = [ClippedSums(Rows(v, y), Logistic(), work=ALWAYS) for v in (X, other)]
    totals = [sums.full(w, 1.0) for sums in alone]
    with ClippedSums(Rows(X, y), Logistic(), work=ALWAYS) as sums:
        assert all((sums.full(w, 1.0) == totals[0]).all() for _ in range(3))
    blocks = slices(n, shared_rows(n))
    parts = [[sums._part(s, None, w, False)[0] for s in blocks] for sums in alone]
    same = [bool((a == b).all()) for a, b in zip(*parts, strict=True)]
    assert len(blocks) == 8
    assert same == [changed not in range(s.start, s.stop) for s in blocks]


def test_without_numba_everything_works(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(13)
    rows, w = Rows(rng.normal(size=(50, 4)), signs(50, 14)), rng.normal(size=4)
    expected = ClippedSums(rows, Logistic(), work=NEVER).full(w, 0.5)
    monkeypatch.setattr(compiled, "_compiled", compiled._compiled.__wrapped__)
    monkeypatch.setitem(sys.modules, "numba", None)
    sums = ClippedSums(rows, Logistic(), work=ALWAYS)
    assert sums._kernel is None
    assert (sums.full(w, 0.5) == expected).all()


def test_compiling_waits_until_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(15)
    rows, w = Rows(rng.normal(size=(50, 4)), signs(50, 16)), rng.normal(size=4)
    monkeypatch.setattr(module, "PATIENCE", 500)
    sums = ClippedSums(rows, Logistic())
    used = []
    for _ in range(4):
        sums.full(w, 0.5)
        used.append(sums._kernel is not None)
    assert used == [False, False, True, True]
    # privacy: the number of rows is secret when positions shift, unless work is declared.
    shifting = ClippedSums(rows, Logistic(), shifting=True)
    for _ in range(4):
        shifting.full(w, 0.5)
    assert shifting._kernel is None
    assert ClippedSums(rows, Logistic(), shifting=True, work=500)._kernel is not None
    assert ClippedSums(rows, Logistic(), work=499)._kernel is None


def test_losses_and_rows_without_a_kernel_are_left_to_numpy() -> None:
    assert kernel_for(Softmax(), np.zeros((2, 2))) is None
    assert kernel_for(Logistic(), np.zeros((2, 2), dtype=int)) is None
    assert kernel_for(Logistic(), Rows(np.zeros((2, 2)), np.ones(2)).X) is not None


@pytest.mark.parametrize("sampler", ["full", "fixed-size"])
def test_noisy_gradient_takes_the_kernel_by_itself(
    monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    rng = np.random.default_rng(17)
    X = rng.normal(size=(400, 3))
    source = ArraySource(X, (X[:, 0] > 0).astype(int))
    problem = Problem(
        loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=3, n_rows=400
    )
    batch = None if sampler == "full" else 100
    plan = NoisyGradient(sampler=sampler, batch=batch, steps=20).plan(problem, Budget(2.0, 1e-5))
    made: list[Kernel | None] = []

    def made_by(*given: Any, **named: Any) -> Kernel | None:
        made.append(kernel_for(*given, **named))
        return made[-1]

    monkeypatch.setattr(module, "kernel_for", made_by)
    weights = []
    for patience in (math.inf, 0):
        monkeypatch.setattr(module, "PATIENCE", patience)
        weights.append(plan.run(source, Seeded(18)).weights)
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-6)
    assert [type(kernel) for kernel in made] == [Kernel]


def test_no_flag_lets_a_compiler_assume_numbers_or_approximate() -> None:
    """Slopes that are not numbers are cut by comparisons, which such flags do away with."""
    for margins, together, add in (
        (compiled._margin, 1, compiled._combine),
        (compiled._slim_margins, 8, compiled._slim_combine),
    ):
        slope, _ = Logistic().scalar_slope()
        run = compiled._compiled(slope, margins, together, add)
        parts = run.py_func.__globals__
        for strict in (run, parts["_slope_of"]):
            assert strict.targetoptions["fastmath"] is False
            assert strict.targetoptions["error_model"] == "numpy"
        # Sums of any order and fused products are within the bound on rounding.
        for loose in (parts["_margins_of"], parts["_combine_rows"]):
            assert set(loose.targetoptions["fastmath"]) <= {"reassoc", "contract", "nsz"}
