"""Compiled second moments: those of numpy within the rounding that noise on a Hessian pays for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.bounds import NEIGHBOURS, Bounds
from discreet.data import ArraySource, Bounding, Rows, block_rows, gamma
from discreet.data import bounding as bounding_module
from discreet.data import rows as rows_module
from discreet.data.compiled_gram import MOST_ROWS, WIDEST, gram_of, margins_of
from discreet.data.storage import Reread
from discreet.losses import Logistic
from discreet.mechanisms.hessian_noise import sensitivity
from discreet.problem import Problem

pytest.importorskip("numba")


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("n_rows", "p"), [(1, 1), (127, 2), (129, 21), (1000, WIDEST)])
def test_products_are_those_of_real_numbers_but_for_rounding(kind: type, n_rows: int, p: int):
    rng = np.random.default_rng(n_rows)
    X, c = rng.normal(size=(n_rows, p)).astype(kind), rng.uniform(0, 0.25, n_rows)
    found = gram_of(X, c)
    assert (found == found.T).all()
    for a, b in ((0, 0), (p - 1, 0), (p // 2, p - 1)):
        pairs = zip(X[:, a].tolist(), X[:, b].tolist(), c.tolist(), strict=True)
        terms = [Fraction(x) * Fraction(y) * Fraction(t) for x, y, t in pairs]
        size = float(sum(abs(term) for term in terms))
        assert abs(Fraction(found[a, b]) - sum(terms)) <= gamma(n_rows + 8) * size
    w = rng.normal(size=p)
    wide = X.astype(np.float64)
    np.testing.assert_allclose(margins_of(X, w), wide @ w, rtol=1e-12, atol=1e-12)


def test_a_row_has_the_same_part_wherever_it_stands():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(300, 21)).astype(np.float32), rng.normal(size=21)
    for shift in (1, 3, 128, 200):
        assert (margins_of(X[shift:].copy(), w) == margins_of(X, w)[shift:]).all()


def test_blocks_are_no_longer_than_the_noise_takes_them_to_be(monkeypatch: pytest.MonkeyPatch):
    sizes = []
    monkeypatch.setattr(rows_module, "gram_of", lambda X, c: sizes.append(len(X)) or gram_of(X, c))
    rows = Rows(np.ones((40_000, 3)), np.ones(40_000))
    rows.hessian(Logistic(), np.zeros(3), compiled=True)
    assert sum(sizes) == 40_000
    assert max(sizes) <= MOST_ROWS <= block_rows(3, sparse=True)


def test_wide_rows_are_left_to_products_of_matrices(monkeypatch: pytest.MonkeyPatch):
    rows, w = Rows(np.eye(WIDEST + 1), np.ones(WIDEST + 1)), np.zeros(WIDEST + 1)
    monkeypatch.setattr(rows_module, "gram_of", None)
    found = rows.hessian(Logistic(), w, compiled=True)
    np.testing.assert_allclose(found, np.eye(WIDEST + 1) / 4)


def test_rows_that_are_not_copied_have_the_same_sums(monkeypatch: pytest.MonkeyPatch):
    # So a release is the same whether or not rows fit into memory.
    monkeypatch.setattr(bounding_module, "LARGE", 0)
    rng = np.random.default_rng(0)
    source = ArraySource(rng.normal(size=(20_000, 6)), rng.integers(0, 2, 20_000))
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    bounding, w = Bounding.plan(bounds, 6, Logistic(), intercept=1.0), rng.normal(size=7)
    copied, lean = bounding.apply(source), bounding.apply(source, reread=True)
    assert isinstance(lean.X, Reread)
    one, two = (rows.hessian(Logistic(), w, compiled=True) for rows in (copied, lean))
    assert (one == two).all()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_neighbouring_hessians_are_within_the_sensitivity(neighbours):
    n_rows, rng = 40_000, np.random.default_rng(0)
    bounds = Bounds(row_norm=2.0, classes=(0, 1))
    task = Problem(
        loss=Logistic(), bounds=bounds, n_features=5, n_rows=n_rows, neighbours=neighbours
    )
    X = rng.normal(size=(n_rows, 5))
    X *= 1.999 / np.linalg.norm(X, axis=1)[:, None]
    w, y, shifting = np.zeros(5), np.ones(n_rows), neighbours == "add-remove"
    other = X.copy()
    if neighbours == "replace-one":
        side = rng.normal(size=5) @ (np.eye(5) - np.outer(X[7], X[7]) / (X[7] @ X[7]))
        other[7] = 1.999 * side / np.linalg.norm(side)
    elif shifting:
        other = np.delete(X, 7, 0)
    else:
        other[7] = 0.0
    one, two = (
        Rows(Z, y[: len(Z)]).hessian(Logistic(), w, shifting=shifting, compiled=True)
        for Z in (X, other)
    )
    bound = sensitivity(task, n_rows=n_rows, shifting=shifting)
    assert 0.9 * bound < np.linalg.norm(one - two) <= bound
