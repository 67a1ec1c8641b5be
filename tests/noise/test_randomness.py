"""Sources of words, and the unbiased draws built on them."""

import copy
import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidParameter
from discreet.noise import (
    Randomness,
    Seeded,
    System,
    as_randomness,
    integers,
    permutation,
    randomness,
)

ALARM = 1e-5  # false alarms of a statistical check


class Script:
    """Words written down in advance."""

    secure = False

    def __init__(self, words: list[int]) -> None:
        self.left = list(words)

    def words(self, n: int) -> np.ndarray:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words were asked for than written down"
        return np.array(taken, dtype=np.uint64)


def test_seeded_repeats_and_says_so():
    assert np.array_equal(Seeded(3).words(50), Seeded(3).words(50))
    assert not np.array_equal(Seeded(3).words(50), Seeded(4).words(50))
    source = Seeded(3)
    assert not np.array_equal(source.words(50), source.words(50))
    assert source.secure is False


@pytest.mark.parametrize("n", [4, 5000])  # below and above the switch to AES
@pytest.mark.parametrize("plain", [False, True])
def test_system_never_repeats(n, plain, monkeypatch):
    if plain:  # as without the package
        monkeypatch.setattr(randomness, "Cipher", None)
    source = System()
    drawn = [System(), source, source, copy.deepcopy(source)]
    words = np.concatenate([s.words(n) for s in drawn])
    assert words.dtype == np.uint64
    assert words.shape == (4 * n,)
    assert len(np.unique(words)) == 4 * n  # a collision has probability 2**-36
    assert source.secure is True


def test_system_bits_are_balanced():
    bits = np.unpackbits(System().words(50_000).view(np.uint8)).reshape(-1, 64)
    z = (bits.mean(axis=0) - 0.5) / np.sqrt(0.25 / len(bits))
    assert np.max(np.abs(z)) < 7  # 64 two-sided tests: 2e-10


def test_as_randomness_maps_what_scikit_learn_accepts():
    source = Seeded(1)
    assert as_randomness(source) is source
    assert as_randomness(None).secure
    for make in (lambda: 5, lambda: np.random.RandomState(5), lambda: np.random.default_rng(5)):
        first, second = as_randomness(make()), as_randomness(make())
        assert not first.secure
        assert np.array_equal(first.words(9), second.words(9))
    state = np.random.RandomState(0)
    assert not np.array_equal(as_randomness(state).words(9), as_randomness(state).words(9))
    assert isinstance(System(), Randomness)
    with pytest.raises(InvalidParameter, match="random_state"):
        as_randomness("42")
    with pytest.raises(InvalidParameter, match="seed"):
        as_randomness(-1)


def test_permutations_of_four_are_equally_likely():
    random = Seeded(11)
    count = Counter(tuple(permutation(4, random)) for _ in range(24_000))
    observed = [count[p] for p in itertools.permutations(range(4))]
    assert sum(observed) == 24_000
    assert stats.chisquare(observed).pvalue > ALARM


def test_permutation_redraws_on_a_tie():
    script = Script([7, 3, 7, 30, 10, 20])
    assert permutation(3, script).tolist() == [1, 2, 0]
    assert script.left == []


def test_integers_are_uniform_and_reject_instead_of_reducing():
    drawn = integers(5, 50_000, Seeded(2))
    assert stats.chisquare(np.bincount(drawn, minlength=5)).pvalue > ALARM
    top = 2**61  # values are the top three bits
    assert integers(5, 2, Script([5 * top, 4 * top, 7 * top, 2 * top])).tolist() == [2, 4]
    with pytest.raises(InvalidParameter, match="high"):
        integers(0, 1, Seeded(0))


def test_every_large_request_has_a_key_of_its_own(monkeypatch):
    """With and without the package: what the cipher is given is looked at, not what it makes."""
    keys = []

    class Stream:
        def __init__(self, key):
            self.key = key

        def encryptor(self):
            return self

        def update(self, data):
            return self.key[:8] * (len(data) // 8)

    monkeypatch.setattr(randomness, "AES", lambda key: keys.append(key) or key, raising=False)
    monkeypatch.setattr(randomness, "CTR", lambda nonce: nonce, raising=False)
    monkeypatch.setattr(randomness, "Cipher", lambda key, mode: Stream(key))
    source = System()
    for asked in (source, source, copy.deepcopy(source), System()):
        assert asked.words(5000).shape == (5000,)
    assert len(set(keys)) == 4
    assert all(len(key) == 32 for key in keys)
