"""Groups of rows: shares, sizes, and how far a group moves a sum."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet.data import GROUP_RULES, ArraySource, Grouping, Rows, capped_source
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.data.storage.identifiers import group_codes
from discreet.errors import InvalidData, InvalidParameter
from discreet.losses import Squared
from discreet.mechanisms.group_sums import GroupSums
from discreet.noise import Seeded

RELATIONS = {"zero-out": 1, "add-remove": 1, "replace-one": 2}


def test_shares_of_a_group_add_up_to_at_most_its_rows() -> None:
    for k in (1, 2, 3, 5, 7):
        for m in range(1, 60):
            share = Grouping(k).shares(np.zeros(m, np.int64))
            total = sum((Fraction(s) for s in share), Fraction(0))
            assert total <= k
            assert float(total) == pytest.approx(min(m, k), rel=1e-12)


def test_a_draw_takes_at_most_k_rows_of_every_group_each_alike_often() -> None:
    codes = np.array([1, 0, 1, -1, 1, 1, 0])
    taken = np.zeros(7)
    random = Seeded(0)
    for _ in range(4000):
        share = Grouping(2, "sample").shares(codes, random)
        assert set(share) <= {0.0, 1.0}
        assert [share[codes == c].sum() for c in (-1, 0, 1)] == [0.0, 2.0, 2.0]
        taken += share
    # Five deviations of a coin of probability one half.
    assert np.abs(taken[codes == 1] - 2000).max() < 5 * np.sqrt(1000)


def test_rows_without_a_group_count_for_nothing_whatever_marks_them() -> None:
    missing = [None, float("nan"), np.datetime64("NaT")]
    for one in missing:
        assert list(group_codes(["a", one, "b", "a"], 4)) == [0, -1, 1, 0]
    assert list(group_codes(np.array([7, 7, 3]), 3)) == [1, 1, 0]
    assert list(group_codes(np.array([1.5, np.nan]), 2)) == [0, -1]
    assert Grouping(1).shares(np.array([-1, 0])).tolist() == [0.0, 1.0]


def test_an_identifier_is_the_same_whatever_holds_it() -> None:
    # As readers that guess types part by part hold the rows of one person.
    assert list(group_codes([7, "7", 7.0, np.int64(7), Decimal("7.0"), "8"], 6)) == [0] * 5 + [1]
    assert list(group_codes([0, -0.0, "0", 0.5, "0.5", float("inf")], 6)) == [0, 0, 0, 1, 1, 2]
    masked = np.ma.array([1, 2, 1, 3], mask=[0, 0, 1, 0])
    assert list(group_codes(masked, 4)) == [0, 1, -1, 2]
    # As floats these would be one group.
    large = [2**60, 2**60 + 1, None]
    for held in (pd.Series(large, dtype="Int64"), pl.Series(large), pa.array(large)):
        assert list(group_codes(held, 3)) == [0, 1, -1]
    assert list(group_codes(pd.Series([5, 3, 5]), 3)) == [1, 0, 1]


@pytest.mark.parametrize("groups", [["a"], [["a"], ["b"]], [{}, {}], None])
def test_groups_that_fit_no_rows_are_refused_without_a_value(groups: object) -> None:
    with pytest.raises(InvalidData, match=r"^groups must hold") as caught:
        group_codes(groups, 2)
    assert "'a'" not in str(caught.value)


def test_sizes_are_public_for_their_relation() -> None:
    codes, more = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 1, 1, 1, 1, 1])
    grouping = Grouping(2)
    assert grouping.size(codes, "zero-out") == 3
    # A replacement may change how many rows a group has; nothing may depend on that.
    assert grouping.size(codes, "replace-one") == grouping.size(more, "replace-one") == 2
    assert grouping.size(codes, "replace-one", 70) == 70
    assert grouping.size(codes, "add-remove") is None
    assert grouping.size(codes, "add-remove", 70) == 70


def test_a_plan_and_its_rows_agree_on_groups_or_nothing_runs() -> None:
    plain, grouped = ArraySource(np.ones((2, 1))), ArraySource(np.ones((2, 1)), groups=[1, 1])
    with pytest.raises(InvalidData, match="protects single rows"):
        capped_source(grouped, None, Seeded(0))
    with pytest.raises(InvalidData, match="without groups"):
        capped_source(plain, Grouping(1), Seeded(0))
    once = capped_source(grouped, Grouping(1), Seeded(0))
    assert capped_source(once, Grouping(1), Seeded(0)) is once
    with pytest.raises(InvalidParameter, match="another plan"):
        capped_source(once, Grouping(2), Seeded(0))
    with pytest.raises(InvalidData, match="single rows"):
        capped_source(once, None, Seeded(0))


def clipped_sum(points: list[tuple[int, int]], k: int, rule: str) -> np.ndarray:
    """Return the clipped gradient sum of one group; slopes are 5, so every row is clipped."""
    X = np.array(points, dtype=float)
    codes = np.zeros(len(X), np.int64)
    share = Grouping(k, rule).shares(codes, Seeded(1))  # type: ignore[arg-type]
    rows = Rows(X, np.full(len(X), -5.0)).shared(share, codes)
    made = ClippedSums(rows, Squared(), shifting=True)
    if rule == "clip":
        made = GroupSums(rows, Squared(), k)
    with made as sums:
        return sums.full(np.zeros(2), 1.0)


@pytest.mark.parametrize("rule", GROUP_RULES)
@pytest.mark.parametrize("k", [1, 2])
def test_the_sum_of_a_group_moves_by_k_rows_and_attains_it(k: int, rule: str) -> None:
    lattice = [p for p in product((-1, 0, 1), repeat=2) if p != (0, 0)]
    parts = [
        clipped_sum(list(group), k, rule)
        for m in range(1, 5)
        for group in combinations_with_replacement(lattice, m)
    ]
    found = np.array([np.zeros(2), *parts])
    apart = {
        "zero-out": np.linalg.norm(found, axis=1).max(),
        "add-remove": np.linalg.norm(found, axis=1).max(),
        "replace-one": max(np.linalg.norm(found - one, axis=1).max() for one in parts),
    }
    for relation, rows in RELATIONS.items():
        assert k * rows * (1 - 1e-9) <= apart[relation] <= k * rows * (1 + 1e-12)


def test_a_row_that_is_clipped_as_a_whole_would_carry_its_group_too_far() -> None:
    """The planted fault: shares that weigh the slope but not the cap."""
    points = [(1, 0)] * 4
    share = Grouping(1).shares(np.zeros(4, np.int64))
    faulty = Rows(np.array(points, dtype=float), np.full(4, -5.0), share)
    with ClippedSums(faulty, Squared(), shifting=True) as sums:
        assert np.linalg.norm(sums.full(np.zeros(2), 1.0)) > 1.5
    assert np.linalg.norm(clipped_sum(points, 1, "weight")) <= 1 + 1e-12
