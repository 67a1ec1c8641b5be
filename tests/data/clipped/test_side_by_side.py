"""Sums of several columns of labels: each is that of its own labels, within the same bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding, Rows
from discreet.data.blocks import gamma
from discreet.data.clipped import side_by_side as module
from discreet.data.clipped.blockwise import BLOCK_ROWS
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.data.clipped.narrow import SLIM
from discreet.data.clipped.side_by_side import SideBySide, labels_of
from discreet.losses import CalibratedLogistic, Clipped, Hinge, Logistic, Loss, Squared

LOSSES: list[Loss] = [
    Hinge(),
    Logistic(),
    CalibratedLogistic(clip=0.5),
    Clipped(loss=Squared(), clip=0.5),
]
IDS = ["hinge", "logistic", "calibrated", "clipped-squared"]
CLIP = 0.4


def made(loss: Loss, n: int, p: int, count: int) -> tuple[Rows, list[np.ndarray]]:
    rng = np.random.default_rng(1)
    rows = Rows(rng.normal(size=(n, p)), np.ones(n), rng.choice([0.0, 0.5, 1.0], n))
    rows.X[3], rows.norms[3] = 0.0, 0.0
    labels = [loss.attach(rng.choice([-1.0, 1.0], n), rows.norms) for _ in range(count)]
    return rows, labels


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_every_column_is_the_sum_for_its_own_labels(loss: Loss, kind: str) -> None:
    rows, labels = made(loss, 300, 4, 3)
    wide = rows.X.astype(np.float32).astype(np.float64) if kind == "float32" else rows.X
    stored = {"float64": wide, "float32": wide.astype(np.float32), "csr": sp.csr_array(wide)}[kind]
    W = np.random.default_rng(2).normal(size=(4, 3))
    several = Rows(stored, labels[0], rows.weight, rows.norms)
    with SideBySide(several, loss, labels) as sums:
        found = sums.full(W, CLIP)
    # A clip of float32 rows is smaller by what rounding of groups may add, used or not.
    clip = CLIP * (SLIM if kind == "float32" else 1.0)
    for k, y in enumerate(labels):
        with ClippedSums(Rows(wide, y, rows.weight, rows.norms), loss) as sums:
            np.testing.assert_allclose(found[:, k], sums.full(W[:, k], clip), rtol=0, atol=1e-9)


def test_no_slope_is_above_the_cap_of_its_row() -> None:
    rows, labels = made(Hinge(), 50, 3, 2)
    sums = SideBySide(rows, Hinge(), labels)
    sums._limit(CLIP)
    for i in range(50):
        one = slice(i, i + 1)
        total, _ = sums._blockwise(np.zeros((3, 2)), None, one, count=False)
        for column in total.T:
            norm = sum(Fraction(v) ** 2 for v in column.tolist())
            assert norm <= Fraction(CLIP) ** 2 * Fraction(1 + 2**-50)
    # Where all slopes are cut their sum is that of unit rows times the clip.
    assert any(np.linalg.norm(total) > 0.99 * CLIP for total in total.T)


@pytest.mark.parametrize("kept", [False, True])
def test_sums_are_as_close_to_the_real_ones_as_accounted(
    kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kept:
        monkeypatch.setattr(module, "LEAST_ROWS", 1)
    rows, labels = made(Hinge(), 200, 5, 4)
    W = np.random.default_rng(3).normal(size=(5, 4))
    for clip in (2 * CLIP, CLIP):
        with SideBySide(rows, Hinge(), labels) as sums:
            assert (sums._sides is not None) == kept
            # Steps on which few rows turn, after other clips.
            for far in (0.0, 0.9, 0.92, 0.95, 0.98, 1.0):
                found = sums.full(far * W, CLIP if far else clip)
            cap = sums._cap
            assert sums._sides is None or sums._sides.turns > 0
        for k, y in enumerate(labels):
            real = [Fraction(0)] * 5
            for i in range(200):
                x = [Fraction(v) for v in rows.X[i].tolist()]
                pairs = zip(x, W[:, k].tolist(), strict=True)
                z = sum((a * Fraction(b) for a, b in pairs), Fraction())
                slope = -Fraction(float(y[i])) * Fraction(float(rows.weight[i]))
                most = Fraction(float(cap[i]))
                on = Fraction(float(y[i])) * z < 1
                slope = max(-most, min(most, slope)) if on else Fraction(0)
                real = [t + slope * v for t, v in zip(real, x, strict=True)]
            off = [abs(Fraction(a) - b) for a, b in zip(found[:, k].tolist(), real, strict=True)]
            assert float(max(off)) <= CLIP * 200 * gamma(200 + 4)


def test_neighbours_are_as_close_as_accounted_in_every_column() -> None:
    n, p = BLOCK_ROWS + 100, 6
    rows, labels = made(Hinge(), n, p, 3)
    W = np.random.default_rng(4).normal(size=(p, 3))
    other = Rows(rows.X.copy(), rows.y, rows.weight.copy(), rows.norms.copy())
    other.X[n // 2], other.norms[n // 2], other.weight[n // 2] = 0.0, 0.0, 0.0
    changed = [y.copy() for y in labels]
    for y in changed:
        y[n // 2] = -y[n // 2]
    with SideBySide(rows, Hinge(), labels) as one, SideBySide(other, Hinge(), changed) as two:
        assert one._sides is not None
        for far in (0.0, 0.5, 0.51, 0.52, 1.0):
            apart = np.linalg.norm(one.full(far * W, CLIP) - two.full(far * W, CLIP), axis=0)
            assert (apart <= CLIP + sum_rounding(CLIP, n_rows=n, shifting=False)).all()
        found = one.full(W, CLIP)
    for k, y in enumerate(labels):
        with ClippedSums(Rows(rows.X, y, rows.weight, rows.norms), Hinge()) as sums:
            np.testing.assert_allclose(found[:, k], sums.full(W[:, k], CLIP), rtol=0, atol=1e-7)


def test_only_public_values_decide_whether_sums_are_kept() -> None:
    wide, y = np.zeros((BLOCK_ROWS, 2)), np.ones(BLOCK_ROWS)
    for X, loss, kept in (
        (wide, Hinge(), True),
        (wide[1:], Hinge(), False),
        (wide.astype(np.float32), Hinge(), False),
        (sp.csr_array(wide), Hinge(), False),
        (wide, Logistic(), False),
        (wide, Clipped(loss=Squared(), clip=0.5), False),
        # So many that rounding would take sums of very few rows at a time.
        (np.broadcast_to(0.0, (2**22, 2)), Hinge(), False),
    ):
        n = X.shape[0]
        label = loss.attach(np.ones(n), np.ones(n))
        given = Rows(X, y, np.broadcast_to(1.0, n), np.broadcast_to(1.0, n), shard=2**22)
        assert (SideBySide(given, loss, [label, label])._sides is not None) == kept


def test_labels_of_no_rows_are_none() -> None:
    # privacy: under add-remove one row has a neighbour without any, which must not fail.
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 2, Hinge())
    none = ArraySource(np.zeros((0, 2)), np.zeros(0, int))
    assert labels_of(bounding, none, bounding.apply(none)).shape == (0,)


def test_caps_of_tiny_rows_come_without_a_warning() -> None:
    # privacy: a warning would tell that a row is that short.
    loss = Clipped(loss=Hinge(), clip=1e200)
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1), label=(-1, 1)), 2, loss)
    for kind in (np.asarray, sp.csr_array):
        source = ArraySource(kind(np.array([[1e-138, 0.0], [0.5, 0.5]])), [0, 1])
        rows = bounding.apply(source)
        np.testing.assert_array_equal(labels_of(bounding, source, rows), rows.y)


def test_labels_are_those_that_bounding_gives() -> None:
    loss = CalibratedLogistic(clip=0.5)
    bounding = Bounding.plan(Bounds(row_norm=1.0, classes=("a", "b")), 2, loss)
    X = np.array([[0.6, 0.0], [0.0, 9.0], [np.nan, 1.0]])
    rows = bounding.apply(ArraySource(X, ["a", "a", "a"]))
    other = ArraySource(X, ["b", "a", "c"])
    np.testing.assert_array_equal(labels_of(bounding, other, rows)[:2], bounding.apply(other).y[:2])
