"""Batches of groups."""

from __future__ import annotations

import numpy as np

from discreet.data import Rows
from discreet.mechanisms.batches import PoissonBatch
from discreet.noise import Seeded

CODES = np.array([2, 0, 1, 0, -1, 2, 2])


def grouped() -> Rows:
    return Rows(np.ones((7, 1)), np.ones(7)).shared((CODES >= 0).astype(float), CODES)


def test_a_batch_holds_whole_groups() -> None:
    random, seen = Seeded(0), np.zeros(3)
    for _ in range(2000):
        index = PoissonBatch(0.3).draw(grouped(), random)
        assert index is not None
        drawn = set(CODES[index])
        assert set(index) == {i for i, c in enumerate(CODES) if c in drawn and c >= 0}
        seen[list(drawn)] += 1
    # Five deviations of a coin of probability 0.3.
    assert np.abs(seen - 600).max() < 5 * np.sqrt(2000 * 0.3 * 0.7)


def test_rows_drawn_one_by_one_are_no_batch_of_groups() -> None:
    plain = Rows(np.ones((7, 1)), np.ones(7))
    index = [PoissonBatch(0.3).draw(plain, Seeded(seed)) for seed in range(20)]
    whole = [set(i) == {j for j, c in enumerate(CODES) if c in set(CODES[i])} for i in index]
    assert not all(whole)


def test_a_table_without_any_group_gives_an_empty_batch() -> None:
    rows = Rows(np.ones((2, 1)), np.ones(2)).shared(np.zeros(2), np.array([-1, -1]))
    index = PoissonBatch(0.9).draw(rows, Seeded(0))
    assert index is not None
    assert len(index) == 0
