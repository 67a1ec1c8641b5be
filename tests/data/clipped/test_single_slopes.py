"""Slopes by margins in float32: clips hold exactly, neighbours agree, and noise hides the rest."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.data.clipped import single_slopes
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.data.clipped.single_slopes import LEAST_VALUES, LOST, MOST_VALUES, SingleSlopes
from discreet.losses import CalibratedLogistic, Hinge, Logistic, Loss
from discreet.noise import Seeded
from discreet.problem import Problem

LOSSES: list[Loss] = [Logistic(), CalibratedLogistic(clip=0.5)]
IDS = ["logistic", "calibrated"]
CLIP = 0.4


def made(loss: Loss, n: int, p: int) -> Rows:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, p)) * np.logspace(-3, 0.5, n)[:, None]
    X[3] = 0.0
    rows = Rows(X, np.ones(n), rng.choice([0.5, 1.0], n))
    rows.y = loss.attach(rng.choice([-1.0, 1.0], n), rows.norms)
    return rows


def sums_for(rows: Rows, loss: Loss) -> ClippedSums:
    """Sums with slopes in float32, whatever the size."""
    sums = ClippedSums(rows, loss)
    sums._blockwise._single = SingleSlopes(rows, loss)
    return sums


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
@pytest.mark.parametrize("n", [500, 20_000])
def test_sums_are_as_close_as_noise_is_asked_to_hide(loss: Loss, n: int) -> None:
    rows, w = made(loss, n, 4), np.array([3.0, -2.0, 1.0, 0.5])
    with sums_for(rows, loss) as one, ClippedSums(rows, loss) as two:
        for clip in (CLIP, 1e6):
            off = np.linalg.norm(one.full(w, clip) - two.full(w, clip))
            assert 0.0 < off <= n * rows.longest * LOST


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_no_row_adds_more_than_the_clip_in_real_arithmetic(loss: Loss) -> None:
    rows, w = made(loss, 300, 4), np.array([9.0, -7.0, 5.0, 3.0])
    sums = sums_for(rows, loss)
    sums._limit(0.1)
    most = Fraction(0)
    for i in range(300):
        total, _ = sums._blockwise(w, None, slice(i, i + 1), count=False)
        # One row times one number: each product is rounded once.
        square = sum(Fraction(v) ** 2 for v in total.tolist())
        most = max(most, square)
    assert Fraction(99, 100) * Fraction(0.1) ** 2 < most
    assert most <= Fraction(0.1) ** 2 * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_slopes_of_other_rows_are_bit_for_bit_the_same(loss: Loss) -> None:
    w = np.array([3.0, -2.0, 1.0, 0.5])
    for n in (64, 1001, 4000):
        rows = made(loss, n, 4)
        slopes = SingleSlopes(rows, loss)(slice(0, n), w)
        for i in (0, n // 2, n - 1):
            other = Rows(rows.X.copy(), rows.y.copy(), rows.weight, rows.norms)
            other.X[i], other.y[i] = -10.0, -other.y[i]
            found = SingleSlopes(other, loss)(slice(0, n), w)
            assert np.delete(found, i).tobytes() == np.delete(slopes, i).tobytes()
            assert found[i] != slopes[i]


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_neighbours_are_as_close_as_accounted(loss: Loss) -> None:
    n, w = 20_000, np.array([3.0, -2.0, 1.0, 0.5])
    rows = made(loss, n, 4)
    other = Rows(rows.X.copy(), rows.y.copy(), rows.weight.copy(), rows.norms.copy())
    other.X[n // 2], other.norms[n // 2], other.weight[n // 2] = 0.0, 0.0, 0.0
    with sums_for(rows, loss) as one, sums_for(other, loss) as two:
        apart = np.linalg.norm(one.full(w, CLIP) - two.full(w, CLIP))
    assert apart <= CLIP + sum_rounding(CLIP, n_rows=n, shifting=False)


def test_only_public_values_decide() -> None:
    few = Rows(np.zeros((LEAST_VALUES // 4, 4)), np.ones(LEAST_VALUES // 4))

    def used(rows: Rows, loss: Loss = Logistic(), **options: Any) -> bool:  # noqa: B008
        sums = ClippedSums(rows, loss, **({"coarse": True} | options))
        return sums._blockwise._single is not None

    assert used(few)
    assert not used(few, coarse=False)
    assert not used(few, Hinge())
    assert not used(few.take(slice(1, None)))
    # privacy: positions must be kept.
    assert not used(few, shifting=True)
    assert not used(Rows(few.X.astype(np.float32), few.y))
    assert not used(Rows(sp.csr_array(few.X), few.y))
    many = MOST_VALUES + 1
    one = np.ones(many)
    assert not used(Rows(np.broadcast_to(0.0, (many, 1)), one, one, one))


def test_long_rows_are_checked_in_as_little_memory_as_there_are_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(single_slopes, "MOST_VALUES", 2**12)
    tracemalloc.start()
    assert single_slopes._steady.__wrapped__(2**10) in (True, False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Twice in float32, and some for the weights.
    assert peak < 20 * 2**12


def test_the_check_runs_with_one_thread_as_sums_do(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = []

    @contextmanager
    def noted() -> Iterator[None]:
        inside.append(len(inside))
        yield

    monkeypatch.setattr(single_slopes, "one_blas_thread", noted)
    single_slopes._steady.__wrapped__(3)
    assert inside


def problem(**changes: Any) -> Problem:
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    settings = {"loss": Logistic(), "bounds": bounds, "n_features": 4, "n_rows": LEAST_VALUES // 4}
    return Problem(**(settings | changes))


def test_noise_has_to_hide_what_is_lost() -> None:
    def one(budget: Budget) -> Any:
        return NoisyGradient(steps=5).plan(problem(), budget)

    budget = Budget(1.0, 1e-6)
    assert one(budget)._coarse
    assert not NoisyGradient(steps=5).plan(problem(), Budget(1e5, 1e-6))._coarse
    assert not NoisyGradient(steps=5, hidden_state=True).plan(problem(), budget)._coarse
    heavy = Bounds(row_norm=1.0, classes=(0, 1), weight=1000.0)
    weak = next(b for b in (Budget(2.0**k, 1e-6) for k in range(20)) if not one(b)._coarse)
    # Heavy rows have more noise, and lose as much more.
    assert not NoisyGradient(steps=5).plan(problem(bounds=heavy), weak)._coarse
    far = Bounds(row_norm=1e-20, classes=(0, 1))
    assert not NoisyGradient(steps=5).plan(problem(bounds=far), budget)._coarse


def test_a_descent_releases_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LEAST_VALUES // 4, 4)) / 2
    source = ArraySource(X, (X[:, 0] > 0).astype(int))
    plan = NoisyGradient(steps=40).plan(problem(), Budget(1.0, 1e-6))
    found = plan.run(source, Seeded(1)).weights
    monkeypatch.setattr(single_slopes, "LEAST_VALUES", 2**40)
    usual = plan.run(source, Seeded(1)).weights
    assert 0.0 < np.linalg.norm(found - usual) < 1e-5 * np.linalg.norm(usual)
    # The noise alone moves weights by far more.
    other = plan.run(source, Seeded(2)).weights
    assert np.linalg.norm(other - usual) > 1e3 * np.linalg.norm(found - usual)
    assert replace(plan.guarantee, secure=False) == plan.run(source, Seeded(1)).guarantee
