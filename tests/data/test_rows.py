"""Sums over rows: right, blockwise, deterministic, and with errors that are really bounded."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

from discreet.data import Rows, blocks, certificate_error
from discreet.data.blocks import Total, block_rows, gamma, in_order, summed
from discreet.data.certified import certified_sums
from discreet.data.rounding_errors import sum_error
from discreet.losses import (
    Clipped,
    Huber,
    HuberisedHinge,
    Logistic,
    Poisson,
    SmoothedQuantile,
    Softmax,
    Squared,
)

LOSSES = [
    Logistic(),
    HuberisedHinge(width=0.5),
    Huber(threshold=0.7),
    Squared(),
    Poisson(limit=3.0),
    SmoothedQuantile(),
    Clipped(loss=Squared(), clip=0.6),
    Softmax(n_classes=3),
]


def make(loss, n=500, p=6, *, sparse=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.6)
    y = {
        "sign": rng.choice([-1.0, 1.0], n),
        "index": rng.integers(0, loss.outputs, n).astype(float),
        "count": rng.integers(0, 5, n).astype(float),
    }.get(loss.target, rng.standard_normal(n))
    y = loss.attach(y, np.linalg.norm(X, axis=1))
    w = rng.standard_normal((p,) if loss.outputs == 1 else (p, loss.outputs))
    weight = rng.uniform(0, 2, n)
    return Rows(sp.csr_array(X) if sparse else X, y, weight), X, w


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_kernels_agree_with_plain_formulas(loss, sparse, monkeypatch):
    monkeypatch.setattr("discreet.data.rows.block_rows", lambda p, sparse: 64)
    rows, X, w = make(loss, sparse=sparse)
    z = X @ w
    slope = (rows.weight * loss.slope(z, rows.y).T).T
    value, gradient = rows.objective(loss, w)
    assert value == pytest.approx(rows.weight @ loss.value(z, rows.y))
    np.testing.assert_allclose(gradient, X.T @ slope, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(rows.gradient(loss, w), gradient, rtol=1e-13)
    curvature = loss.curvature(z, rows.y)
    if w.ndim == 1:
        hessian = X.T @ np.diag(rows.weight * curvature) @ X
    else:
        hessian = np.einsum("n,nkl,ni,nj->ikjl", rows.weight, curvature, X, X)
        hessian = hessian.reshape(w.size, w.size)
    np.testing.assert_allclose(rows.hessian(loss, w), hessian, rtol=1e-10, atol=1e-10)
    v = np.random.default_rng(1).standard_normal(w.shape)
    np.testing.assert_allclose(
        rows.hessian_product(loss, w, v).ravel(), hessian @ v.ravel(), rtol=1e-9, atol=1e-9
    )
    certified, error = rows.certified_gradient(loss, w)
    assert np.linalg.norm(certified - gradient) <= 2 * error
    part = rows.take(np.array([3, 1]))
    np.testing.assert_allclose(part.gradient(loss, w), X[[3, 1]].T @ slope[[3, 1]], atol=1e-12)


def exact_slope(loss, z, y):
    """Slopes in 60-digit arithmetic, written apart from the library's."""
    if loss.name == "logistic":
        return -y / (1 + mpmath.exp(y * z))
    if loss.name == "huberised-hinge":
        share = (1 + mpmath.mpf(loss.width) - y * z) / (2 * mpmath.mpf(loss.width))
        return -y * min(max(share, mpmath.mpf(0)), mpmath.mpf(1))
    if loss.name == "huber":
        return min(max(z - y, -mpmath.mpf(loss.threshold)), mpmath.mpf(loss.threshold))
    if loss.name == "poisson":
        return mpmath.exp(min(max(z, -loss.limit), loss.limit)) - y
    assert loss.name == "squared"
    return z - y


def exact_gradient(loss, rows, X, w):
    with mpmath.workdps(60):
        total = [[mpmath.mpf(0)] * (1 if w.ndim == 1 else w.shape[1]) for _ in range(len(w))]
        columns = w.reshape(len(w), -1)
        for x, y, weight in zip(X, rows.y, rows.weight, strict=True):
            z = [mpmath.fdot(x.tolist(), c.tolist()) for c in columns.T]
            if w.ndim == 1:
                slope = [exact_slope(loss, z[0], mpmath.mpf(float(y)))]
            else:
                powers = [mpmath.exp(v) for v in z]
                slope = [e / mpmath.fsum(powers) for e in powers]
                slope[int(y)] -= 1
            for j, v in enumerate(x):
                for k, s in enumerate(slope):
                    total[j][k] += mpmath.mpf(float(weight)) * s * mpmath.mpf(float(v))
        return total


def distance(computed, exact) -> float:
    with mpmath.workdps(60):
        gaps = [
            (mpmath.mpf(float(c)) - e) ** 2
            for row, line in zip(computed.reshape(len(computed), -1), exact, strict=True)
            for c, e in zip(row, line, strict=True)
        ]
        return float(mpmath.sqrt(mpmath.fsum(gaps)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1.0, 300.0])
@pytest.mark.parametrize(
    "loss",
    [Logistic(), HuberisedHinge(), Huber(), Squared(), Poisson(), Softmax(n_classes=3)],
    ids=lambda loss: loss.name,
)
def test_error_bound_holds_in_exact_arithmetic(loss, size, sparse):
    rows, X, w = make(loss, n=300, p=5, sparse=sparse, seed=4)
    w = w * size
    gradient, error = rows.certified_gradient(loss, w)
    true = distance(gradient, exact_gradient(loss, rows, X, w))
    assert true <= error
    # Worst case against typical: loose, but not absurdly so.
    assert error <= 1e-11 * size * max(1.0, np.linalg.norm(gradient))
    if size == 1.0:
        # Plant a bound that is 1e4 times too small: the check above would refuse it.
        assert not true <= error / 1e4


@pytest.mark.parametrize("size", [1.0, 300.0])
@pytest.mark.parametrize(("loss", "kind"), [(Logistic(), np.float32), (Huber(), np.float64)])
def test_error_bound_of_compiled_sums_holds_in_exact_arithmetic(loss, kind, size, monkeypatch):
    monkeypatch.setattr("discreet.data.certified.LARGE", 0)
    _, X, w = make(loss, n=301, p=5, seed=4)
    X, w = X.astype(kind), w * size
    rng = np.random.default_rng(0)
    rows = Rows(X, rng.choice([-1.0, 1.0], len(X)), rng.uniform(0, 2, len(X)))
    gradient, error = rows.certified_gradient(loss, w, enough=math.inf)
    true = distance(gradient, exact_gradient(loss, rows, X.astype(float), w))
    assert true <= error <= 1e-11 * size * max(1.0, np.linalg.norm(gradient))
    # Two codes with one law of errors: sums agree, and so do their bounds where no row is flat.
    plain, tight = rows.certified_gradient(loss, w)
    assert np.linalg.norm(gradient - plain) <= error + tight
    assert tight <= 1.001 * error
    assert error <= 1.001 * tight or loss == Logistic()  # whose rows bend less far out
    if size == 1.0:
        assert not true <= error / 1e4


def test_small_sums_of_compiled_code_are_added_with_compensation():
    n, fine, loss, one = 2**16, 2, Huber(), np.ones(2**16)
    # Slopes are all 1, so small sums are exact.
    total, lost, count, _, share = certified_sums(
        loss, np.full((n, 2), 0.1), -10.0 * one, one, one, np.zeros(2), fine, 1.0, 0.0
    )
    off = abs(Fraction(float(total[0])) + Fraction(float(lost[0])) - n * Fraction(0.1))
    assert share == n
    assert float(off) <= share * sum_error(fine, count)
    assert count >= n // fine


def test_compiled_bounds_that_are_not_enough_give_way_to_closer_ones(monkeypatch):
    monkeypatch.setattr("discreet.data.certified.LARGE", 0)
    rng = np.random.default_rng(6)
    X = rng.standard_normal((500, 20)) / 5.0
    rows, w = Rows(X, np.sign(X @ np.ones(20))), np.full(20, 300.0)
    coarse = rows.certified_gradient(Logistic(), w, enough=math.inf)[1]
    close = rows.certified_gradient(Logistic(), w)[1]
    assert close < coarse / 3.0
    assert rows.certified_gradient(Logistic(), w, enough=coarse / 2.0)[1] == close


@pytest.mark.parametrize("loss", [Logistic(), Poisson(limit=1.0)], ids=lambda loss: loss.name)
def test_certificates_of_separable_rows_do_not_grow_with_the_weights(loss):
    """Far from the boundary slopes are flat, so rounding of long weights moves them little."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((5000, 20)) / 5.0
    rows, w = Rows(X, np.sign(X @ np.ones(20))), np.ones(20)
    short, long = (rows.certified_gradient(loss, size * w)[1] for size in (3.0, 300.0))
    assert long <= 3.0 * short
    # By the largest curvature alone it would grow as the weights do.
    flat = replace(loss)
    object.__setattr__(flat, "curvature_near", lambda z, y, slack: None)
    assert rows.certified_gradient(flat, 300.0 * w)[1] > 30.0 * short


def test_error_bound_holds_under_cancellation():
    # Every row comes with its negative, so the sum is zero and only rounding is left.
    loss = Squared()
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 8))
    X, y = np.vstack([X, -X]), np.concatenate([np.ones(400), np.ones(400)])
    rows = Rows(X[rng.permutation(800)], y)
    gradient, error = rows.certified_gradient(loss, np.zeros(8))
    assert np.linalg.norm(gradient) <= error


@pytest.mark.parametrize("loss", LOSSES[:6] + LOSSES[7:], ids=lambda loss: loss.name)
def test_public_bound_covers_the_reported_one(loss):
    rows, _, w = make(loss, n=2000, p=4)
    label = float(np.abs(rows.y).max())
    _, error = rows.certified_gradient(loss, w)
    public = certificate_error(
        loss,
        n_rows=2000,
        dimension=4,
        row_norm=float(rows.norms.max()),
        weights_norm=float(np.linalg.norm(w)),
        label=label,
        weight=2.0,
    )
    assert error <= public <= 200 * error


def test_sparse_rows_are_charged_for_their_nonzeros_only():
    X = sp.eye_array(200, 50_000, format="csr")
    rows = Rows(X, np.ones(200))
    w = np.zeros(50_000)
    w[0] = 1e6
    _, error = rows.certified_gradient(Logistic(), w)
    common = {"n_rows": 200, "dimension": 50_000, "row_norm": 1.0, "weights_norm": 1e6}
    loss = Logistic()
    assert error <= certificate_error(loss, **common, sparse=True, nonzeros=1) <= 1e-7
    assert certificate_error(loss, **common, sparse=True) > 1e-5


@pytest.mark.parametrize("sparse", [False, True])
def test_other_blocks_do_not_change_by_a_bit(sparse, monkeypatch):
    monkeypatch.setattr("discreet.data.rows.block_rows", lambda p, sparse: 64)
    loss = Logistic()
    rows, X, w = make(loss, n=1000, p=30, sparse=sparse)
    before = list(rows.block_gradients(loss, w))
    for change in ("zero", "replace", "permute"):
        X2, y2, weight2 = X.copy(), rows.y.copy(), rows.weight.copy()
        inside = np.arange(320, 384)  # block 5
        if change == "zero":
            X2[330], weight2[330] = 0.0, 0.0
        elif change == "replace":
            X2[330], y2[330] = 1e6, -y2[330]
        else:
            order = np.random.default_rng(0).permutation(inside)
            X2[inside], y2[inside], weight2[inside] = X2[order], y2[order], weight2[order]
        new = Rows(sp.csr_array(X2) if sparse else X2, y2, weight2)
        after = list(new.block_gradients(loss, w))
        same = [np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
        assert same == [i != 5 or (change == "permute" and same[5]) for i in range(len(same))]


def test_results_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr("discreet.data.rows.block_rows", lambda p, sparse: 64)
    loss = Softmax(n_classes=3)
    rows, _, w = make(loss, n=1000, p=5)
    threaded = (rows.gradient(loss, w), rows.hessian(loss, w), *rows.certified_gradient(loss, w))
    monkeypatch.setattr(blocks.os, "sched_getaffinity", lambda _: {0})
    serial = (rows.gradient(loss, w), rows.hessian(loss, w), *rows.certified_gradient(loss, w))
    for a, b in zip(threaded, serial, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_blank_rows_contribute_nothing(loss):
    rows, X, w = make(loss, n=50, p=4)
    blank = np.zeros((7, 4))
    y = loss.attach(np.zeros(7) if loss.target == "index" else np.ones(7), np.zeros(7))
    both = Rows(
        np.vstack([X, blank]),
        np.concatenate([rows.y, y]),
        np.concatenate([rows.weight, np.zeros(7)]),
    )
    assert both.objective(loss, w)[0] == pytest.approx(rows.objective(loss, w)[0], rel=1e-14)
    np.testing.assert_allclose(both.gradient(loss, w), rows.gradient(loss, w), rtol=1e-13)
    np.testing.assert_allclose(both.hessian(loss, w), rows.hessian(loss, w), rtol=1e-12, atol=1e-13)
    assert np.isfinite(both.certified_gradient(loss, w)[1])


def test_total_is_exact_where_plain_addition_is_not():
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((400, 3)) * 10.0 ** rng.integers(-8, 8, (400, 3))
    total = Total((3,))
    for part in parts:
        total.add(part)
    exact = [float(sum((Fraction(v) for v in column), Fraction(0))) for column in parts.T]
    np.testing.assert_allclose(total.value(), exact, rtol=1e-15)
    for size in (1, 2, 7, 400):
        groups = Total((3,))
        for start in range(0, 400, size):
            groups.add(*summed(parts[start : start + size].copy()))
        np.testing.assert_allclose(groups.value(), exact, rtol=1e-15)
    assert [math.fsum(c) for c in parts.T] != list(parts.cumsum(axis=0)[-1])


def test_in_order_keeps_order_and_passes_errors_on():
    assert list(in_order(lambda i: i, range(100))) == list(range(100))
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda i: 1 // (i - 50), range(100)))


def test_block_size_is_a_function_of_the_shape_only():
    assert block_rows(50) == 4096
    assert all(block_rows(p) % 256 == 0 for p in (1, 10, 777, 10_000))


@pytest.mark.parametrize("p", [3, 17, 50, 300])
def test_a_row_is_projected_the_same_wherever_it_stands(p):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((203, p)), rng.standard_normal(p)

    def projected(part):
        return Rows(np.ascontiguousarray(part), np.zeros(len(part))).projected(w)

    whole = projected(X)
    for first in (1, 2, 3, 5):
        np.testing.assert_array_equal(projected(X[first:]), whole[first:])
    for i in range(20):
        np.testing.assert_array_equal(projected(X[i : i + 1]), whole[i : i + 1])


def test_the_error_bound_uses_the_curvature_where_the_margins_are():
    # At a margin of 20 the slope of the Poisson loss moves exp(20) times as far as the margin.
    x = np.random.default_rng(0).uniform(0.5, 1.0, 40)
    x /= np.linalg.norm(x)
    _, error = Rows(x[None], np.zeros(1)).certified_gradient(Poisson(limit=25.0), 20.0 * x)
    assert error >= math.exp(20.0) * gamma(40) * 20.0


@pytest.mark.parametrize("size", [1, 3, 100, 800])
def test_what_rounding_took_from_a_sum_is_added_back_where_parts_cancel(size):
    rng = np.random.default_rng(1)
    parts = rng.standard_normal(400) * 10.0 ** rng.integers(-8, 8, 400)
    parts = rng.permutation(np.concatenate([parts, -parts * (1.0 + 1e-9)]))
    total = Total((1,))
    for start in range(0, 800, size):
        total.add(*summed(parts[start : start + size, None].copy()))
    exact = sum(map(Fraction, parts.tolist()))
    off = abs(Fraction(total.value()[0]) - exact)
    assert off <= 2.0**-53 * abs(float(exact)) + gamma(800) ** 2 * np.abs(parts).sum()
