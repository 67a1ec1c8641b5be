"""Sums of slopes from the rows that turned: against fractions, for any steps and clips."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.data import Rows
from discreet.data.blocks import gamma
from discreet.data.clipped import side_sums as module
from discreet.data.clipped.blockwise import BLOCK_ROWS
from discreet.data.clipped.side_sums import ANEW, FEWEST, SideSums, at_once, corners
from discreet.losses import Absolute, Clipped, Hinge, Logistic, Quantile, Squared


@pytest.mark.parametrize("few", [4, 1024])
def test_sums_are_the_real_ones_whatever_turned_before(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if few < 10:
        monkeypatch.setattr(module, "WAITING", 24)  # several pieces of rows
    n, p, columns = 90, 3, 2
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(n, p)), np.ones(n))
    slopes = -rng.uniform(0, 1, (columns, n)), rng.uniform(0, 1, (columns, n))
    exact, added = [[Fraction(v) for v in x.tolist()] for x in rows.X], 0
    sums = SideSums(rows, columns)
    sums.few = few
    for step in range(60):
        if step % 30 == 0:
            clip = 0.3 + step / 60
            cap = clip / rows.norms
            low, high = np.maximum(slopes[0], -cap), np.minimum(slopes[1], cap)
            sums.limit(*(side.copy() for side in slopes), cap)
        size = (0, 2, 4, 5, 40)[step % 5]
        turned = [np.sort(rng.choice(n, size, replace=False)) for _ in range(columns)]
        before = sums.below.copy()
        found = sums(turned).value()
        added += sums.turns > 0
        for k in range(columns):
            assert set(np.flatnonzero(before[k] != sums.below[k])) == set(turned[k])
            slope = np.where(sums.below[k], low[k], high[k])
            real = [
                sum((Fraction(c) * x[j] for c, x in zip(slope.tolist(), exact, strict=True)), 0)
                for j in range(p)
            ]
            off = [abs(Fraction(a) - b) for a, b in zip(found[k].tolist(), real, strict=True)]
            # privacy: what is accounted for: the sizes of all rows, and once more those that turn.
            assert float(max(off)) <= 2 * n * clip * (gamma(min(few, n) + 4) + 2.0**-53)
    assert added > 30


def test_no_slope_is_beyond_its_cap_by_more_than_caps_have_room_for() -> None:
    rng = np.random.default_rng(1)
    n = 5000
    rows = Rows(np.ones((n, 1)), np.ones(n))
    low, high, cap = -rng.uniform(0, 1, (1, n)), rng.uniform(0, 1, (1, n)), rng.uniform(0, 1, n)
    sums = SideSums(rows, 1)
    sums.limit(low, high, cap)
    sums([np.zeros(0, np.int64)])
    # Half of the difference, and half of the sum, as they are summed.
    half = sums._half[0]
    low, high = np.maximum(low[0], -cap), np.minimum(high[0], cap)
    for i in range(0, n, 50):
        middle = Fraction(float((low[i] + high[i]) / 2.0))
        most = Fraction(float(cap[i])) * (1 + Fraction(2, 2**53))
        for slope in (middle + Fraction(float(half[i])), middle - Fraction(float(half[i]))):
            assert abs(slope) <= most


def test_all_rows_are_summed_anew_where_many_turned() -> None:
    n = 320
    sums = SideSums(Rows(np.ones((n, 1)), np.ones(n)), 2)
    sums.limit(-np.ones((2, n)), np.ones((2, n)), np.ones(n))
    few, none = np.arange(n // ANEW), np.zeros(0, np.int64)
    seen = []
    for turned in ([few, none], [none, few], [few, few], [np.arange(n // ANEW + 1), none]):
        sums(turned)
        seen.append(sums.turns)
    assert seen == [0, 20, 40, 0]  # the first sum is over all rows
    for _ in range(20):
        sums([none, few])
        # privacy: what is summed anew is counted in the proof for half of the rows at most.
        assert sums.turns <= n // 2
    assert sums.turns == 20 * (20 - 9 * 2)


def test_so_few_rows_are_added_at_a_time_that_half_of_a_block_covers_their_rounding() -> None:
    for n in (1, 60, BLOCK_ROWS, 3 * BLOCK_ROWS + 1, 2**18 - 1, 2**18, 2**19, 2**20):
        few = at_once(n)
        assert few >= FEWEST
        assert 4 * (few + 8) * n <= BLOCK_ROWS**2


def test_corners_are_those_of_slopes_that_are_two_numbers() -> None:
    y = np.array([1.0, -1.0])
    assert corners(Logistic(), y, None) is None
    assert corners(Squared(), y, None) is None
    for loss in (Hinge(), Absolute(), Quantile(quantile=0.3), Clipped(loss=Hinge(), clip=0.5)):
        label = loss.attach(y, np.full(2, 4.0))
        found = corners(loss, label, np.array([1.0, 0.5]))
        assert found is not None
        for side, far in ((found[1], -1e-3), (found[2], 1e-3)):
            slope = loss.slope(found[0] + far, label)
            np.testing.assert_allclose(side, slope * [1.0, 0.5], atol=1e-15)
