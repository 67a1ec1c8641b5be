"""Choices by classes of powers of two: their exact law, by going through every word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from discreet.errors import NotCertified
from discreet.mechanisms import signed_choice
from discreet.mechanisms.compiled_choice import compiled_choice, relevel_loop
from discreet.mechanisms.signed_choice import (
    SignedSampler,
    classes_of,
    level_of,
    levels_of,
    propose,
    relevel,
)
from discreet.noise import Seeded

DEPTH = 7


def exact_law(sampler: SignedSampler, h: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The chance of every coordinate with sign + and then with sign -, in multi-precision.

    Every value of the leading bits is proposed once, and coins tell their exact chance.
    """
    chances: list[Any] = []

    def told(near: float, error: float, exact: Any, random: object) -> bool:
        value = exact()
        assert abs(near - value) <= error
        chances.append(mp.exp(value))
        return True

    monkeypatch.setattr(signed_choice, "below_exp", told)
    classes, count = sampler.classes, sampler.classes.order.size
    bits = (count << DEPTH).bit_length()
    proposed: dict[tuple[int, int], int] = {}
    for value in range(2**bits):
        j, level = propose(value << (63 - bits), DEPTH, classes)
        if j >= 0:
            pair = int(j), int(level)
            proposed[pair] = proposed.get(pair, 0) + 1
    law = [mpf(0)] * (2 * count)
    for (j, level), times in proposed.items():
        chances.clear()
        signed_choice._accepted(float(h[j]), level, None)  # type: ignore[arg-type]
        signed_choice._agrees(float(h[j]), None)  # type: ignore[arg-type]
        accepted, against = chances
        away = against if h[j] >= 0 else 1 - against
        law[j] += times * accepted * (1 - away)
        law[count + j] += times * accepted * away
    total = sum(law)
    return [chance / total for chance in law]


def wanted(h: Any) -> list[Any]:
    weights = [mp.exp(mpf(float(x))) for x in h] + [mp.exp(-mpf(float(x))) for x in h]
    return [w / sum(weights) for w in weights]


def apart(one: list[Any], two: list[Any]) -> float:
    return float(max(abs(a / b - 1) for a, b in zip(one, two, strict=True)))


def changed_sampler(spread: float) -> tuple[SignedSampler, np.ndarray]:
    rng = np.random.default_rng(2)
    h = np.append(rng.normal(size=22) * spread, [0.0, -0.0])
    sampler = SignedSampler(np.abs(h), most=20 * spread)
    for _ in range(5):
        index = rng.permutation(h.size)[:3]
        h[index] = rng.normal(size=3) * spread
        # Sizes are bounds, so they may be too large.
        relevel(index, np.abs(h[index]) + rng.uniform(0, 1.5, size=3), sampler.classes)
    return sampler, h


@pytest.mark.parametrize("spread", [0.1, 1.0, 4.0])
def test_every_signed_coordinate_has_its_exact_chance(
    spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler, h = changed_sampler(spread)
    with mp.workdps(40):
        assert apart(exact_law(sampler, h, monkeypatch), wanted(h)) < 1e-30


def test_a_list_of_coordinates_that_lost_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, h = changed_sampler(1.0)
    sampler.classes.order[3] = sampler.classes.order[4]
    law = exact_law(sampler, h, monkeypatch)
    assert 0 in law


def test_a_forgotten_update_is_exact_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # The class a coordinate was proposed from decides, not what it should be: a class that is too
    # high costs time, one that is too low is refused.
    sampler, h = changed_sampler(1.0)
    smaller = 0.5 * h
    with mp.workdps(40):
        assert apart(exact_law(sampler, smaller, monkeypatch), wanted(smaller)) < 1e-30
    with pytest.raises(NotCertified):
        exact_law(sampler, h + 3.0, monkeypatch)


def test_a_border_in_the_wrong_place_is_exact_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    h = np.linspace(-3, 3, 24)
    sampler = SignedSampler(np.abs(h), most=5.0)
    above, border = sampler.classes.above, 3
    assert above[border + 1] < above[border] < above[border - 1]
    above[border] += 1  # one of a class is taken for one of the class above
    with mp.workdps(40):
        assert apart(exact_law(sampler, h, monkeypatch), wanted(h)) < 1e-30
    above[border] -= 2
    with pytest.raises(NotCertified):
        exact_law(sampler, h, monkeypatch)


def test_classes_rounded_down_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed_choice, "_OFFSET", 0.75)
    sampler, h = changed_sampler(1.0)
    monkeypatch.setattr(signed_choice, "_OFFSET", 0.25)
    with pytest.raises(NotCertified):
        exact_law(sampler, h, monkeypatch)


def test_a_class_is_the_least_power_that_holds_a_pair() -> None:
    sizes = np.concatenate(
        [[0.0, 5e-324, 1e-16], np.linspace(0, 6, 500), np.geomspace(6, 2e6, 200)]
    )
    levels = levels_of(sizes, 2**22)
    with mp.workdps(40):
        for size, level in zip(sizes.tolist(), levels.tolist(), strict=True):
            bits = mp.log(2 * mp.cosh(mpf(size)), 2) - mpf("0.25")
            assert bits <= level <= mp.ceil(bits + mpf("0.06"))
            assert level == level_of(size, 2**22) <= classes_of(size)
    wild = np.array([np.nan, np.inf, 1e300])
    assert levels_of(wild, 9).tolist() == [level_of(x, 9) for x in wild.tolist()] == [9] * 3


def test_log_odds_beyond_the_public_bound_are_refused() -> None:
    sampler = SignedSampler(np.array([0.0, 80.0]), most=10.0)
    with pytest.raises(NotCertified):
        sampler.draw(lambda j: 80.0 * j, Seeded(0))
    with pytest.raises(NotCertified):
        SignedSampler(np.array([0.0, np.nan]), most=10.0).draw(lambda j: float("nan"), Seeded(0))


@pytest.mark.parametrize("share", [0.03, 0.5])
def test_coordinates_stay_sorted_by_class_and_compiled_loops_do_the_same(share: float) -> None:
    loops = compiled_choice()
    assert loops is not None
    rng = np.random.default_rng(3)
    h = rng.normal(size=400) * 30
    plain, fast, slow = (SignedSampler(np.abs(h), 400.0, c) for c in (None, loops, None))
    one, two = Seeded(4), Seeded(4)
    for _ in range(30):
        index = rng.permutation(400)[: int(share * 400)]
        h[index] = rng.normal(size=index.size) * 30
        sizes = np.abs(h[index])
        relevel(index, sizes, plain.classes)
        levels = levels_of(sizes, plain.classes.above.size - 1).astype(np.int64)
        loops.relevel_loop(index, levels, index.size, fast.classes)
        relevel_loop(index, levels, index.size, slow.classes)
        level, order, place, above, _ = plain.classes
        assert (order[place] == np.arange(400)).all()
        assert (np.diff(level[order]) <= 0).all()
        assert (above[:800] == (level[:, None] > np.arange(800)).sum(axis=0)[: above.size]).all()
        for other in (fast, slow):
            assert (other.classes.order == order).all()
            assert (other.classes.above == above).all()
        for _ in range(5):
            assert plain.draw(lambda j: h[j], one) == fast.draw(lambda j: h[j], two)
