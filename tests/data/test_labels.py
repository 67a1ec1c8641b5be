"""Encoded labels are numbers within their bound, whatever range was declared."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding
from discreet.losses import Poisson, Squared, SquaredVector


@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize(
    "label",
    [
        (0.0, 1e-50),  # as narrow as ranges may be
        (-1e50, 1e50),
        (1e16, 1e16 + 2.0),  # as wide as floats are apart there
        (-(2.0**53) - 2.0, -(2.0**53)),
    ],
)
def test_labels_are_numbers_of_the_unit_range_however_narrow_their_own(
    label: tuple[float, float], intercept: float
) -> None:
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=label), 1, Squared(), intercept=intercept)
    y = bounding.apply(ArraySource(np.zeros((4, 1)), [*label, -1e300, 1e300])).y
    assert np.abs(y).max() <= 1.0  # false where one is no number


@pytest.mark.parametrize("outputs", [2, 3, 5, 7, 11, 29, 58])
def test_the_norm_of_several_labels_is_rounded_outwards(outputs: int) -> None:
    bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0))
    bounding = Bounding.plan(bounds, 1, SquaredVector(dim=outputs))
    y = bounding.apply(ArraySource(np.zeros((1, 1)), np.full((1, outputs), 9.0))).y[0]
    assert sum(Fraction(v) ** 2 for v in y) <= Fraction(bounding.label_bound) ** 2


@pytest.mark.parametrize("label", [(0.0, 4.0), (2.0, 10.0), (-3.0, 5.0)])
def test_no_count_is_above_the_bound_wherever_its_range_begins(label: tuple[float, float]) -> None:
    bounding = Bounding.plan(Bounds(row_norm=1.0, label=label), 1, Poisson(limit=2.0))
    y = bounding.apply(ArraySource(np.zeros((4, 1)), [-1e300, 0.0, label[0], 1e300])).y
    assert y.min() >= 0.0
    assert y.max() == bounding.label_bound == label[1]
    z = np.linspace(-5.0, 5.0, 101)
    steepest = max(float(np.abs(bounding.loss.slope(z, np.full(101, v))).max()) for v in y)
    constants = bounding.loss.regularity(label=bounding.label_bound, reach=math.inf)
    assert steepest <= constants.lipschitz
