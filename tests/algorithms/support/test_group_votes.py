"""Votes of blocks that hold whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import Bounds, PrivateSparseRegression
from discreet.accounting import Budget
from discreet.algorithms import SupportSelection
from discreet.algorithms.support.votes import block_vote, blocks_of, blocks_of_groups
from discreet.data import ArraySource, Grouping
from discreet.errors import Incompatible
from discreet.losses import Clipped, Logistic, Squared
from discreet.noise import Seeded
from discreet.problem import Problem

RNG = np.random.default_rng(5)
BLOCKS, GROUPS = 4, 16
CODES = RNG.permutation(np.arange(96) % GROUPS)
X = RNG.uniform(-1, 1, size=(96, 5))
Y = RNG.uniform(-1, 1, size=96)


def voted(X: Any, y: Any, block: Any) -> list[tuple[int, ...]]:
    return [block_vote(X[block == b], y[block == b], 2, 0.01) for b in range(BLOCKS)]


def changed(block: Any, neighbours: str) -> int:
    """Return the most blocks whose vote one group changes, its draws coupled as in the proof."""
    base, worst = voted(X, Y, block), 0
    for g in range(GROUPS):
        mine = g == CODES
        # The group is gone, or as many other rows, or twice as many, stand in its block.
        kept, labels, where = [X[~mine]], [Y[~mine]], [block[~mine]]
        if neighbours == "replace-one":
            extra = 2 * int(mine.sum())
            kept.append(np.tile([1.0, -1, 1, -1, 1], (extra, 1)))
            labels.append(np.ones(extra))
            where.append(np.tile(block[mine], 2))
        other = voted(*(np.concatenate(part) for part in (kept, labels, where)))
        worst = max(worst, sum(a != b for a, b in zip(base, other, strict=True)))
    return worst


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_one_group_changes_one_blocks_vote(neighbours: str) -> None:
    assert changed(blocks_of_groups(CODES, BLOCKS, Seeded(6)), neighbours) == 1


def test_rows_that_draw_by_themselves_carry_a_group_into_many_blocks() -> None:
    """The planted fault."""
    assert changed(blocks_of(96, BLOCKS, "replace-one", Seeded(6)), "replace-one") > 1


def test_others_keep_their_blocks_where_a_group_is_missing() -> None:
    whole = blocks_of_groups(CODES, BLOCKS, Seeded(1))
    fewer = blocks_of_groups(np.where(CODES == GROUPS - 1, -1, CODES), BLOCKS, Seeded(1))
    assert np.array_equal(whole[CODES < GROUPS - 1], fewer[CODES < GROUPS - 1])
    assert (fewer[CODES == GROUPS - 1] == -1).all()


def problem(rule: Any = "weight", **given: Any) -> Problem:
    usual: dict[str, Any] = {"loss": Clipped(loss=Squared(), clip=1.0)}
    bounds = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
    return Problem(
        bounds=bounds, n_features=5, n_rows=96, grouping=Grouping(3, rule), **(usual | given)
    )


@pytest.mark.parametrize("selector", ["votes", "stability"])
@pytest.mark.parametrize("rule", ["weight", "sample", "clip"])
def test_a_choice_protects_groups_and_says_so(rule: str, selector: str) -> None:
    plan = SupportSelection(selector=selector, size=2).plan(problem(rule), Budget(2.0, 1e-6))
    assert plan.fit.algorithm == "noisy-gradient"
    release = plan.run(ArraySource(X, Y, groups=CODES), Seeded(0))
    assert release.guarantee.unit == "group"
    assert "support-selection" in release.guarantee.theorem


def test_without_a_delta_the_fit_is_objective_perturbation() -> None:
    plan = SupportSelection(size=2).plan(problem(loss=Logistic()), Budget(2.0))
    assert plan.fit.algorithm == "objective-perturbation"
    release = plan.run(ArraySource(X, Y > 0, groups=CODES), Seeded(0))
    assert release.guarantee.unit == "group"


@pytest.mark.parametrize("selector", ["forward", "exponential"])
def test_scores_refuse_groups(selector: str) -> None:
    with pytest.raises(Incompatible, match="selector='votes'"):
        SupportSelection(selector=selector, size=2).plan(problem(), Budget(2.0, 1e-6))


def test_an_estimator_finds_the_feature_of_many_people() -> None:
    rng = np.random.default_rng(0)
    wide = rng.uniform(-1, 1, size=(6000, 20))
    model = PrivateSparseRegression(
        epsilon=8.0,
        size=1,
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
        rows_per_group=2,
        random_state=0,
    )
    model.fit(wide, wide[:, 7], groups=np.arange(6000) // 2)
    assert model.support_.tolist() == [7]
    assert model.guarantee_.unit == "group"
