"""Coins and geometric numbers, against multi-precision."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.noise import Seeded, below_exps, coin, geometric


class Fixed:
    """Words that are given."""

    secure = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        return np.array([self.left.pop(0) for _ in range(n)], dtype=np.uint64)


def edge(rate: float) -> tuple[int, int]:
    """Return the first two words of the uniform that is ``exp(-rate)``."""
    with mp.workprec(300):
        bits = int(mp.floor(mp.exp(-mpf(rate)) * mpf(2) ** 128))
    return bits >> 64, bits & (2**64 - 1)


@pytest.mark.parametrize("rate", [1e-4, 0.3, 5.0])
def test_a_geometric_number_is_the_floor_of_an_exponential(rate: float) -> None:
    words = Seeded(1).words(200)
    for word in words:
        with mp.workprec(300):
            wanted = int(mp.floor(-mp.log((int(word) + mpf(1) / 2) / mpf(2) ** 64) / mpf(rate)))
        assert geometric(rate, Fixed(int(word), 2**63)) == wanted


def test_an_open_geometric_number_asks_for_more_bits() -> None:
    first, second = edge(0.7)
    assert geometric(0.7, Fixed(first, second - 9, 0)) == 1
    assert geometric(0.7, Fixed(first, second + 9, 0)) == 0


def test_coins_have_their_chance() -> None:
    draws, counts = 20_000, np.array([-5, 0, 1, 3, 40])
    found = np.array([below_exps(0.5, counts, Seeded([7, i])) for i in range(draws // 4)])
    chance = np.exp(-0.5 * np.maximum(counts, 0))
    spread = np.sqrt(chance * (1 - chance) / len(found))
    assert (np.abs(found.mean(axis=0) - chance) <= 4.5 * spread + 1e-12).all()
    assert found[:, :2].all()


def test_a_coin_next_to_its_chance_is_settled_by_further_bits() -> None:
    first, second = edge(0.7)
    assert below_exps(0.7, np.array([1]), Fixed(first, second - 9))[0]
    assert not below_exps(0.7, np.array([1]), Fixed(first, second + 9))[0]
    assert coin(lambda: mp.exp(-mpf(0.7)), Fixed(first, second - 9))
    assert not coin(lambda: mp.exp(-mpf(0.7)), Fixed(first, second + 9))
