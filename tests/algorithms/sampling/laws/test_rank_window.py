"""Ranks of many values: nothing that is left out changes the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.algorithms.sampling.laws import PiecewiseLinear, Ranks, draw_ranks, rank_window
from discreet.algorithms.sampling.laws.rank_window import RankWindow
from discreet.noise import Seeded

SIZE = 64
VALUES = np.array([2, 5, 5, 9, 20, 21, 21, 21, 30, 31, 33, 47, 50, 63, 63])


def law(quantile: float, scale: float) -> np.ndarray:
    """Return the probabilities of all points, by counting."""
    n = len(VALUES)
    under = np.array([(x > VALUES).sum() for x in range(SIZE)])
    over = np.array([(x < VALUES).sum() for x in range(SIZE)])
    off = np.maximum(0.0, np.maximum(under - quantile * n, over - (1 - quantile) * n))
    mass = np.exp(-scale * off)
    return mass / mass.sum()


@pytest.mark.parametrize(("quantile", "far"), [(0.5, 0.3), (0.1, 0.6), (0.9, 0.05), (0.5, 200.0)])
def test_draws_follow_the_law_also_where_values_were_left_out(
    quantile: float, far: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rank_window, "FAR", far)
    monkeypatch.setattr(rank_window, "CELLS", 4)
    scale, random, count = 0.25, Seeded(1), 1500
    asked = [Ranks(lambda rows: rows, SIZE, quantile, scale)] * count
    drawn = draw_ranks(lambda: iter([VALUES[:4], VALUES[4:]]), asked, random)
    seen = np.bincount(drawn, minlength=SIZE)
    # False alarms for other seeds: one in ten thousand each.
    assert chisquare(seen, count * law(quantile, scale)).pvalue > 1e-4
    assert chisquare(seen, count * law(quantile, scale / 2)).pvalue < 1e-6  # planted


def test_a_cell_scores_no_more_than_any_of_its_points() -> None:
    for quantile in (0.1, 0.5, 0.77):
        asked = Ranks(lambda rows: rows, SIZE, quantile, 0.25)
        scores = PiecewiseLinear.ranks(VALUES, size=SIZE, quantile=quantile, scale=0.25).scores(
            np.arange(SIZE)
        )
        for first, stop in ((10, 40), (0, 64), (21, 22), (31, 31)):
            inside = VALUES[(first <= VALUES) & (stop > VALUES)]
            below = int((first > VALUES).sum())
            window = RankWindow(asked, len(VALUES), first, stop, below, inside)
            left = window.score(0, len(VALUES) - below)
            right = window.score(below + len(inside), 0)
            assert (scores[:first] >= left).all()
            assert (scores[stop:] >= right).all()
            for x in range(SIZE):
                point = window.score((x > VALUES).sum(), (x < VALUES).sum())
                assert point == scores[x], "the same number to the last bit"


def test_few_values_are_kept_of_many() -> None:
    values = np.random.default_rng(0).integers(0, 2**40, 100_000)
    asked = Ranks(lambda rows: rows, 2**40, 0.5, 1.0)
    kept: list[int] = []

    class Noted(RankWindow):
        def draw(self, count: object, random: object) -> int:
            kept.append(len(self.values))
            return super().draw(count, random)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_window, "RankWindow", Noted)
        point = draw_ranks(lambda: iter(np.split(values, 10)), [asked], Seeded(0))[0]
    assert kept[0] < 1000
    assert abs(float((values < point).mean()) - 0.5) < 0.001
    assert math.isfinite(point)
