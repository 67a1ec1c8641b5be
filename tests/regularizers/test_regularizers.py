"""Single regularizers and the combined prox against a grid search in two dimensions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter
from discreet.regularizers import (
    L1,
    ElasticNet,
    Group,
    Indicator,
    Nuclear,
    Regularizer,
    Ridge,
    combined_prox,
)
from discreet.sets import AllSpace, Box, ConvexSet, L1Ball, L2Ball


def grid_minimum(regularizer: Regularizer, constraint: ConvexSet, w: Array, step: float) -> Array:
    """The best point of a grid laid over the set and refined around the best point so far."""
    best, width = constraint.project(np.zeros(2)), 4.0
    for _ in range(22):
        axis = np.linspace(-width, width, 11)
        inside = [constraint.project(best + np.array([a, b])) for a in axis for b in axis]
        values = [step * regularizer.value(u) + 0.5 * np.sum((u - w) ** 2) for u in inside]
        best, width = inside[int(np.argmin(values))], width * 0.5
    return best


@pytest.mark.parametrize(
    ("regularizer", "constraint"),
    [
        (Ridge(strength=2.0), Box(low=(-0.3, 0.1), high=1.0)),
        (L1(strength=0.6), L2Ball(radius=1.0)),
        (ElasticNet(l1=0.4, l2=0.7), Box(low=-0.5, high=0.25)),
        (ElasticNet(l1=0.4, l2=0.7), L1Ball(radius=0.8)),
        (Group(strength=0.5, groups=2), L2Ball(radius=1.0)),
    ],
    ids=repr,
)
def test_combined_prox_against_grid_search(regularizer: Regularizer, constraint: ConvexSet) -> None:
    prox = combined_prox(regularizer, constraint)
    for w in (np.array([1.7, -0.6]), np.array([-0.2, 2.1])):
        expected = grid_minimum(regularizer, constraint, w, 0.8)
        np.testing.assert_allclose(prox(w, 0.8), expected, atol=1e-5)


def test_elastic_net_shrinks_by_its_ridge_part_once() -> None:
    w = np.array([2.0, -0.1, 0.7])
    prox = combined_prox(ElasticNet(l1=0.5, l2=2.0), AllSpace())
    np.testing.assert_allclose(prox(w, 0.4), ElasticNet(l1=0.5, l2=2.0).prox(w, 0.4), rtol=1e-14)
    np.testing.assert_allclose(prox(w, 0.4), [1.0, 0.0, 0.5 / 1.8], atol=1e-15)


def test_group_penalty_takes_whole_rows_of_a_matrix() -> None:
    w = np.array([[3.0, 4.0], [0.3, 0.4]])
    np.testing.assert_allclose(
        Group(strength=1.0, groups=(0, 1)).prox(w, 1.0), [[2.4, 3.2], [0.0, 0.0]]
    )


def test_indicator_is_zero_inside_and_infinite_outside() -> None:
    inside = Indicator(constraint=L2Ball(radius=1.0))
    assert inside.value(np.array([0.6, 0.8])) == 0.0
    assert inside.value(np.array([0.6, 0.9])) == math.inf
    with pytest.raises(Incompatible, match="No exact projection"):
        combined_prox(inside, L1Ball(radius=1.0))


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: Ridge(strength=-1.0), "strength"),
        (lambda: L1(strength=math.inf), "strength"),
        (lambda: ElasticNet(l1=-1.0), "l1"),
        (lambda: ElasticNet(l2=math.nan), "l2"),
        (lambda: Group(groups=(1, 1)), "groups"),
        (lambda: Nuclear(strength=-1.0), "strength"),
    ],
)
def test_bad_parameters_are_named(build: object, named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        build()  # type: ignore[operator]
