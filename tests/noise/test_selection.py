"""Private choices against exact probabilities, and their hard cases by force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from discreet.errors import InvalidParameter, NotCertified
from discreet.noise import Seeded, exponential_mechanism, permute_and_flip, selection, signs, top
from discreet.noise.coins import below_exp
from discreet.noise.prefix import strategy_from_dict
from discreet.noise.randomness import integers
from discreet.noise.selection import integer_weights, propose

SCORES = np.array([0.0, 1.0, 2.5, -1.0])


class Scripted:
    """Gives the words it was told, then a seeded stream."""

    secure = False

    def __init__(self, *words: int) -> None:
        self._words = list(words)
        self._rest = Seeded(3)

    def words(self, n: int) -> np.ndarray:
        given, self._words = self._words[:n], self._words[n:]
        return np.concatenate([np.array(given, np.uint64), self._rest.words(n - len(given))])


def softmax(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def permute_and_flip_law(x: np.ndarray) -> np.ndarray:
    """The definition: walk a random order and stop at j with chance exp(x_j - max)."""
    law = np.zeros(x.size)
    orders = list(itertools.permutations(range(x.size)))
    for order in orders:
        left = 1.0
        for j in order:
            chance = math.exp(x[j] - x.max())
            law[j] += left * chance / len(orders)
            left *= 1.0 - chance
    return law


def peeling_law(x: np.ndarray, k: int) -> dict[tuple[int, ...], float]:
    """Rounds of the exponential mechanism without replacement, as a law of sets."""
    law: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(x.size), k):
        left, chance = list(range(x.size)), 1.0
        for j in order:
            chance *= softmax(x[left])[left.index(j)]
            left.remove(j)
        key = tuple(sorted(order))
        law[key] = law.get(key, 0.0) + chance
    return law


def fits(counts: np.ndarray, law: np.ndarray) -> float:
    return float(stats.chisquare(counts, law * counts.sum()).pvalue)


def test_the_exponential_mechanism_has_its_law() -> None:
    random = Seeded(1)
    drawn = [exponential_mechanism(SCORES, random) for _ in range(8000)]
    counts = np.bincount(drawn, minlength=4)
    assert fits(counts, softmax(SCORES)) > 1e-4
    # Half the noise is told apart from the right amount.
    assert fits(counts, softmax(2 * SCORES)) < 1e-10


def test_the_exponential_mechanism_meets_the_specified_probabilities() -> None:
    # Scores (0, 1, 3), alpha = epsilon = 1: replace-one halves eta.
    replaced = [0.546549387266, 0.331498960424, 0.12195165231]
    added = [0.705384512698, 0.259496460342, 0.0351190269593]
    losses = np.array([0.0, 1.0, 3.0])
    assert softmax(-losses / 2) == pytest.approx(replaced, rel=1e-9)
    assert softmax(-losses) == pytest.approx(added, rel=1e-9)
    random = Seeded(2)
    counts = np.bincount([exponential_mechanism(-losses / 2, random) for _ in range(8000)])
    assert fits(counts, np.array(replaced)) > 1e-4
    assert fits(counts, np.array(added)) < 1e-10


def test_permute_and_flip_has_its_law() -> None:
    random = Seeded(3)
    counts = np.bincount([permute_and_flip(SCORES, random) for _ in range(8000)], minlength=4)
    law = permute_and_flip_law(SCORES)
    assert fits(counts, law) > 1e-4
    assert fits(counts, softmax(SCORES)) < 1e-10
    # It is never worse than the exponential mechanism.
    assert law @ SCORES > softmax(SCORES) @ SCORES


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_largest_with_gumbel_noise_are_peeling_rounds(k: int) -> None:
    random, law = Seeded(4), peeling_law(SCORES, k)
    drawn = [tuple(top(SCORES, k, random).tolist()) for _ in range(6000)]
    counts = np.array([drawn.count(key) for key in law])
    assert counts.sum() == len(drawn)
    assert fits(counts, np.array(list(law.values()))) > 1e-4


def test_coins_have_their_law() -> None:
    odds = np.array([-3.0, -0.1, 0.0, 2.0])
    heads = signs(np.repeat(odds, 20_000), Seeded(5)).reshape(4, -1).sum(axis=1)
    for count, value in zip(heads, odds, strict=True):
        assert stats.binomtest(int(count), 20_000, 1 / (1 + math.exp(-value))).pvalue > 1e-5


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_claimed_errors_hold(noise: str) -> None:
    words = Seeded(6).words(600)
    edge = [0, 1, 2**64 - 1, 2**64 - 2, 2**14, 2**40, 2**63, 2**64 - 2**30, 2**64 - 2**36]
    words = np.concatenate([words, np.array(edge, np.uint64)])
    near, exact = selection._NOISES[noise]
    value, error = near(words)
    assert np.isfinite(error).sum() > 600
    with mp.workprec(200):
        for word, v, e in zip(words, value, error, strict=True):
            if math.isfinite(e):
                for end in (0, 1):
                    true = exact(mpf(int(word) + end) / mpf(2) ** 64)
                    assert abs(true - mpf(float(v))) <= e


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_equal_words_are_settled_by_further_bits(noise: str) -> None:
    same = 2**62 + 12345
    # The first 64 bits tie; the second words decide, whoever comes first.
    for first, second, winner in ((5, 9, 0), (9, 5, 1)):
        random = Scripted(same, same, first, second)
        assert top(np.zeros(2), 1, random, noise=noise).tolist() == [winner]


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_the_ends_of_the_uniform_are_not_cut(word: int) -> None:
    # A word of zeros stands for any value below 2**-64: the noise has no known upper end.
    for noise in ("gumbel", "exponential"):
        middle = 2**63
        # A lead of 44.3 is just within reach of a Gumbel or exponential tail of 64 bits.
        picked = top(np.array([0.0, 44.3]), 1, Scripted(word, middle, 0, 0, 0, 0), noise=noise)
        assert picked.tolist() == [0 if word == 0 else 1]


def test_coins_near_their_edge_are_settled_by_further_bits() -> None:
    assert signs(np.zeros(1), Scripted(2**63 - 1))[0]
    assert not signs(np.zeros(1), Scripted(2**63))[0]
    third = math.log(0.5)  # chance near 1/3: its binary digits never end
    with mp.workprec(200):
        word = int(mp.floor(mp.ldexp(1 / (1 + mp.exp(-mpf(third))), 64)))
    assert signs(np.array([third]), Scripted(word, 0))[0]
    assert not signs(np.array([third]), Scripted(word, 2**64 - 1))[0]
    word = 2**64 // 3
    for follow, expected in ((0, True), (2**64 - 1, False)):
        exponent = -math.log(3.0)
        exact = lambda: -mp.log(3)  # noqa: E731
        assert below_exp(exponent, 1e-12, exact, Scripted(word, follow)) is expected


def test_proposals_state_their_probability_exactly() -> None:
    x = np.array([0.0, -3.0, -math.inf, -200.0])
    weights = {}
    random = Seeded(7)
    for _ in range(2000):
        j, weight, total = propose(x, 0.0, random)
        weights[j] = (weight, total)
    assert set(weights) == {0, 1}  # -200 has chance 2**-40
    for j, (weight, total) in weights.items():
        assert weight / total == pytest.approx(math.exp(x[j]) / (1 + math.exp(-3)), rel=1e-9)
        assert weight >= math.exp(x[j]) * 2.0**40 * (1 - 2.0**-50)


def test_all_candidates_may_be_asked_for() -> None:
    assert top(np.array([3.0, 1.0, 2.0]), 3, Seeded(0)).tolist() == [0, 1, 2]


def test_refusals() -> None:
    with pytest.raises(NotCertified, match="not finite"):
        exponential_mechanism(np.array([0.0, math.nan]), Seeded(0))
    with pytest.raises(NotCertified, match="not finite"):
        top(np.array([0.0, math.inf]), 1, Seeded(0))
    with pytest.raises(InvalidParameter, match="at most"):
        top(np.zeros(3), 4, Seeded(0))
    with pytest.raises(InvalidParameter, match="noise"):
        top(np.zeros(3), 1, Seeded(0), noise="laplace")


def test_coins_next_to_their_chance_are_exact() -> None:
    for odds in np.linspace(-30.0, 30.0, 400):
        with mp.workprec(300):
            edge = int(mp.floor(mp.ldexp(1 / (1 + mp.exp(-mpf(float(odds)))), 64)))
        for off in (1, 3, 50):
            assert signs(np.array([odds]), Scripted(edge - off))[0]
            assert not signs(np.array([odds]), Scripted(edge + off))[0]


@pytest.mark.parametrize("wrong", [0.0, -1e-13, 1e-13])
def test_coins_of_an_exponent_known_up_to_its_error_are_exact(wrong: float) -> None:
    for x in (-0.001, -0.7, -3.0, -11.0, -20.0):
        with mp.workprec(300):
            edge = int(mp.floor(mp.ldexp(mp.exp(mpf(x)), 64)))
        exact = lambda x=x: mpf(x)  # noqa: E731
        for off in (2, 50):
            assert below_exp(x + wrong, 2e-13, exact, Scripted(edge - off))
            assert not below_exp(x + wrong, 2e-13, exact, Scripted(edge + off))


def test_a_proposal_without_a_chance_is_turned_down() -> None:
    # Scores far below the best are proposed as often as those a little below it.
    x = np.array([0.0, -50.0])
    ends = integer_weights(x, 0.0)
    second = int(ends[0]) << (64 - int(ends[-1] - 1).bit_length())
    assert exponential_mechanism(x, Scripted(second, 2**63, 0, 0)) == 0


@pytest.mark.parametrize("law", ["gumbel", "exponential"])
def test_errors_of_draws_cover_the_unknown_bits_and_are_small(law: str) -> None:
    draw, exact = getattr(selection, f"_{law}"), getattr(selection, f"_exact_{law}")
    usual, small = Seeded(5).words(200), np.uint64(2) ** np.arange(15, 64, dtype=np.uint64)
    assert draw(usual)[1].max() < 1e-9  # so that the exact computation is rare
    words = np.concatenate([usual, small])
    values, errors = draw(words)
    with mp.workprec(200):
        for word, value, error in zip(words, values, errors, strict=True):
            for end in (int(word), int(word) + 1):
                assert abs(exact(mpf(end) / 2**64) - float(value)) <= float(error)


def test_a_uniform_next_to_1_is_known_to_lose_without_further_bits() -> None:
    class Spent:
        def words(self, count: int) -> np.ndarray:
            raise AssertionError("no further bits are needed")

    for name in ("gumbel", "exponential"):
        exact = selection._NOISES[name][1]
        found = selection._choose_exactly(np.zeros(2), [2**64 - 1, 2**63], 1, exact, Spent())
        assert found.tolist() == [1]


def test_proposal_and_exact_chance_together_are_the_wanted_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, seen = np.array([0.0, -0.3, -2.7, -19.1]), {}
    proposed: list[tuple[int, int]] = []
    draw = selection.propose

    def noted(*given: object) -> tuple[int, int, int]:
        j, weight, of = draw(*given)  # type: ignore[arg-type]
        proposed.append((j, weight))
        return j, weight, of

    def coin(near: float, error: float, exact: object, random: object) -> bool:
        with mp.workprec(200):
            j, weight = proposed[-1]
            exponent = exact()  # type: ignore[operator]
            # The coin is told how far float64 is off, and no chance is above one.
            assert abs(exponent - mpf(near)) <= error
            assert exponent <= 0
            seen[j] = mp.log(weight) + exponent - mpf(float(x[j]))
        return True

    monkeypatch.setattr(selection, "propose", noted)
    monkeypatch.setattr(selection, "below_exp", coin)
    random = Seeded(5)
    for _ in range(200):
        exponential_mechanism(x, random)
    assert {0, 1, 2} <= set(seen)
    assert max(seen.values()) - min(seen.values()) < mpf(2) ** -150


def test_a_saved_strategy_of_unknown_kind_and_too_large_integers_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="must be one of"):
        strategy_from_dict({"strategy": "Forest", "horizon": 8})
    with pytest.raises(InvalidParameter, match="at most 2"):
        integers(2**62 + 1, 1, Seeded(0))
