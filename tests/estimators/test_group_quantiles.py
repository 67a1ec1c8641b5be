"""Quantiles that protect all rows of one group."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Bounds, Ledger, PrivateMedian, PrivateQuantile, Schema, load
from discreet.algorithms.sampling.laws import (
    PiecewiseLinear,
    quantile_scale,
    rank_scale,
)
from discreet.errors import Incompatible, InvalidParameter, MissingBound

SIZE = 5
VALUES = np.arange(1000.0)[:, None] / 100
PEOPLE = np.arange(1000) // 4


def log_law(values: tuple[int, ...], quantile: float, scale: float, score: str) -> np.ndarray:
    made = getattr(PiecewiseLinear, score)
    law = made(np.array(values, dtype=np.int64), size=SIZE, quantile=quantile, scale=scale)
    scores = law.scores(np.arange(SIZE))
    return -scores - np.logaddexp.reduce(-scores)


def worst_ratio(quantile: float, neighbours: str, scale: float, score: str) -> float:
    """Return the worst log ratio over all tables of three other rows and all groups of two."""
    worst, points = 0.0, range(SIZE)
    groups = [g for m in range(3) for g in itertools.combinations_with_replacement(points, m)]
    for rest in itertools.combinations_with_replacement(points, 3):
        laws = np.array([log_law((*rest, *g), quantile, scale, score) for g in groups])
        others = laws if neighbours == "replace-one" else laws[:1]
        for other in others:
            worst = max(worst, float(np.abs(laws - other).max()))
    return worst


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("quantile", [0.5, 0.85])
@pytest.mark.parametrize("score", ["ranks", "pinball"])
def test_no_neighbouring_group_has_a_log_ratio_above_epsilon(
    score: str, quantile: float, neighbours: str
) -> None:
    epsilon = 2.0

    def scale(k: int) -> float:
        if score == "ranks":
            return rank_scale(quantile, epsilon, neighbours, 5, k)
        return quantile_scale(quantile, epsilon, neighbours, 5, SIZE, k)

    assert worst_ratio(quantile, neighbours, scale(2), score) <= epsilon


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_scale_of_one_row_is_too_large_for_a_group(neighbours: str) -> None:
    """The planted fault, on many values, where all of the range is used."""
    size, n, k = 50, 400, 2
    spread = np.sort(np.arange(n) * size // n)
    rest = spread[k:]
    other = np.append(rest, [size - 1] * k) if neighbours == "replace-one" else rest
    scale = rank_scale(0.5, 1.0, neighbours, n, k)
    found = []
    for values in (spread, other):
        law = PiecewiseLinear.ranks(values, size=size, quantile=0.5, scale=1.0)
        found.append(law.scores(np.arange(size)))
    apart = float(np.ptp(found[0] - found[1]))
    assert 0.99 <= apart * scale <= 1.0
    assert apart * rank_scale(0.5, 1.0, neighbours, n) > 1.9


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_a_fit_says_what_is_protected(neighbours: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"bounds": Bounds(features=(0, 10)), "neighbours": neighbours}
    model = PrivateMedian(epsilon=4.0, rows_per_group=2, random_state=0, **settings)
    model.fit(VALUES, groups=PEOPLE)
    assert model.guarantee_.unit == "group"
    assert "lemmas/groups" in model.guarantee_.theorem
    assert model.quantiles_[0] == pytest.approx(5.0, abs=0.5)
    model.save(tmp_path / "median.json")
    assert load(tmp_path / "median.json").guarantee_ == model.guarantee_
    ledger = Ledger.create(
        tmp_path / "ledger",
        dataset="d",
        epsilon=8.0,
        delta=0.0,
        neighbours=neighbours,
        unit="group",
    )
    model.set_params(random_state=None, ledger=ledger).fit(VALUES, groups=PEOPLE)
    assert len(ledger.history()) == 1


def test_a_group_with_many_rows_counts_as_few() -> None:
    X = np.concatenate([np.full((100, 1), 2.0), np.full((5000, 1), 9.0)])
    people = np.concatenate([np.arange(100), np.full(5000, 100)])
    model = PrivateQuantile(
        epsilon=50.0, bounds=Bounds(features=(0, 10)), rows_per_group=3, random_state=0
    )
    assert model.fit(X, groups=people).quantiles_[0] == pytest.approx(2.0, abs=0.1)
    # Rows of nobody count for nothing.
    nobody = np.where(people == 100, np.nan, people)
    assert model.fit(X, groups=nobody).quantiles_[0] == pytest.approx(2.0, abs=0.1)


def test_a_column_of_the_schema_says_whom_a_row_belongs_to() -> None:
    facts = {"age": {"range": [0, 10]}, "person": {"group": True, "rows": 2}}
    table = {"age": VALUES[:, 0], "person": PEOPLE}
    model = PrivateMedian(epsilon=4.0, schema=Schema.from_dict({"columns": facts})).fit(table)
    assert model.guarantee_.unit == "group"
    assert model.quantiles_.shape == (1,)


def test_refusals() -> None:
    bounds = Bounds(features=(0, 10))
    with pytest.raises(MissingBound, match="rows_per_group is not set"):
        PrivateMedian(bounds=bounds).fit(VALUES, groups=PEOPLE)
    with pytest.raises(InvalidParameter, match="nothing says whom"):
        PrivateMedian(bounds=bounds, rows_per_group=2).fit(VALUES)
    with pytest.raises(Incompatible, match="group_rule='sample'"):
        PrivateMedian(bounds=bounds, rows_per_group=2, group_rule="weight").fit(
            VALUES, groups=PEOPLE
        )
