"""Which rows enter a batch, bit by bit."""

from __future__ import annotations

import math
from math import comb
from typing import Any

import numpy as np
import pytest

from discreet.data import Rows
from discreet.mechanisms.batches import PoissonBatch


class Scripted:
    """Randomness whose words are given."""

    secure = False

    def __init__(self, *calls: list[int]) -> None:
        self.calls = list(calls)

    def words(self, n: int) -> Any:
        found = np.array(self.calls.pop(0), dtype=np.uint64)
        assert len(found) == n
        return found


def test_the_variance_of_a_batch_is_that_of_its_sum_over_the_rate() -> None:
    rate, steep, n = 0.3, 2.5, 3
    counts = [comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(n + 1)]
    sums = [steep * k / rate for k in range(n + 1)]
    mean = sum(c * s for c, s in zip(counts, sums, strict=True))
    spread = sum(c * (s - mean) ** 2 for c, s in zip(counts, sums, strict=True))
    assert PoissonBatch(rate).variance(n, steep) == pytest.approx(spread, rel=1e-12)


def test_a_row_enters_with_the_rate_to_the_last_bit() -> None:
    high, low = divmod(math.floor(0.3 * 2.0**64), 2**48)
    rows = Rows(np.zeros((4, 1)), np.ones(4), np.ones(4))
    # All four tie in their first 16 bits; then only what lies below the threshold enters.
    first = sum(high << (16 * place) for place in range(4))
    ties = [(low - 1) << 16, low << 16, (low + 1) << 16, 0]
    assert PoissonBatch(0.3).draw(rows, Scripted([first], ties)).tolist() == [0, 3]
    # One below the tie enters, one above does not, and no more bits are drawn for them.
    first = (high - 1) + ((high + 1) << 16) + ((high + 1) << 32) + ((high - 1) << 48)
    assert PoissonBatch(0.3).draw(rows, Scripted([first], [])).tolist() == [0, 3]
