"""Sums shard by shard: as exact as sums of one piece, and of the rows of a shard alone."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.bounds import Array
from discreet.data import Rows, blocks
from discreet.data.clipped.clipped_sums import ClippedSums, parted, sum_rounding
from discreet.losses import Logistic, Squared

rng = np.random.default_rng(3)
X = rng.normal(size=(3000, 4))
Y = np.sign(rng.normal(size=3000))
W = np.array([0.3, -0.2, 0.1, 0.5])


@pytest.mark.parametrize("shard", [500, 1024, 2999])
def test_sums_do_not_depend_on_shards_but_for_rounding(shard: int) -> None:
    whole, cut = Rows(X, Y), Rows(X, Y, shard=shard)
    loss = Logistic()
    value, gradient = whole.objective(loss, W)
    there, slope = cut.objective(loss, W)
    assert there == pytest.approx(value, rel=1e-13)
    assert np.allclose(slope, gradient, rtol=0, atol=1e-10)
    assert np.allclose(cut.hessian(loss, W), whole.hessian(loss, W), rtol=1e-12)
    assert np.allclose(cut.hessian_product(loss, W, W), whole.hessian_product(loss, W, W))
    assert cut.inertia() == pytest.approx(whole.inertia(), rel=1e-13)
    assert np.array_equal(cut.projected(W), whole.projected(W))


def test_a_certificate_covers_the_additions_of_shards() -> None:
    y = rng.normal(size=len(X))
    rows = Rows(X, y, shard=7)
    gradient, error = rows.certified_gradient(Squared(), W)
    exact = [Fraction(0)] * 4
    for x, label in zip(X, y, strict=True):
        fractions = [Fraction(v) for v in x]
        off = sum(a * Fraction(b) for a, b in zip(fractions, W, strict=True)) - Fraction(label)
        exact = [total + off * v for total, v in zip(exact, fractions, strict=True)]
    wrong = [float(abs(Fraction(g) - e)) for g, e in zip(gradient, exact, strict=True)]
    assert 0.0 < np.linalg.norm(wrong) <= error


@pytest.mark.parametrize("shifting", [False, True])
def test_clipped_sums_of_shards_are_as_close_as_accounted(shifting: bool) -> None:
    batch = np.sort(rng.choice(3000, 900, replace=False))
    for index in (None, batch):
        found: list[Array] = []
        for shard in (None, 128, 1000):
            with ClippedSums(Rows(X, Y, shard=shard), Logistic(), shifting=shifting) as sums:
                found.append(sums.batch(index, W, 0.7))
        room = sum_rounding(0.7, n_rows=3000, shifting=True)
        assert np.linalg.norm(found[0] - found[1]) <= room
        assert np.linalg.norm(found[0] - found[2]) <= room


def test_rows_of_a_fixed_batch_keep_their_places_whatever_their_shards() -> None:
    # Exchanging a row for one of another shard must leave the sums of all other blocks alone.
    batch = rng.permutation(3000)[:2500]
    wide = Rows(X, Y, shard=256)
    with ClippedSums(wide, Logistic()) as sums:
        ((places, chosen),) = sums._by_shard(batch)
    assert places == slice(0, 2500)
    assert chosen is batch
    with ClippedSums(wide, Logistic(), shifting=True) as sums:
        assert len(list(sums._by_shard(batch))) == 12


def test_a_batch_is_parted_into_all_of_its_rows() -> None:
    batch = rng.permutation(3000)[:700]
    found = dict(parted(batch, 3000, 512))
    assert all((rows // 512 == k).all() for k, rows in found.items())
    assert np.array_equal(np.sort(np.concatenate(list(found.values()))), np.sort(batch))


def test_a_sample_takes_the_same_rows_of_every_shard() -> None:
    rows = Rows(X, Y, shard=512)
    sample = rows.sampled(16)
    assert sample.shard == 32
    assert np.array_equal(sample.X, X[::16])
    assert (sample.weight == 16.0).all()
    parts = [Rows(X[a : a + 512], Y[a : a + 512]).sampled(16).X for a in range(0, 3000, 512)]
    assert np.array_equal(sample.X, np.concatenate(parts))


def test_a_shard_answers_from_its_own_rows_alone() -> None:
    rows = Rows(X, Y, shard=1000)
    alone = [Rows(X[a : a + 1000], Y[a : a + 1000]) for a in range(0, 3000, 1000)]
    certified = ("certified", (0.25, 1e-15, False)), ("certified", (0.25, 1e-15, True))
    second = ("hessian", (True, False)), ("hessian", (True, True))
    for kind, more in (("objective", ()), *second, *certified):
        there = list(rows.parts(kind, Logistic(), W, *more))
        here = [next(one.parts(kind, Logistic(), W, *more)) for one in alone]
        assert pickle.dumps(there) == pickle.dumps(here)


def test_rows_survive_a_copy(monkeypatch: Any) -> None:
    monkeypatch.setattr(blocks, "SHARD", 256)
    rows: Rows = pickle.loads(pickle.dumps(Rows(X, Y)))
    assert rows.shard == 256
    assert np.array_equal(rows.X, X)
