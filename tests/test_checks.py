"""Checks of public arguments."""

import numpy as np
import pytest

from discreet.checks import integer, moderate, one_of
from discreet.errors import InvalidParameter


@pytest.mark.parametrize("value", [1e-50, 1, 1e50])
def test_lengths_that_can_be_squared_pass(value):
    assert moderate("radius", value) == value


@pytest.mark.parametrize("value", [9e-51, 2e50, 1e300])
def test_lengths_whose_squares_overflow_or_vanish_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"radius must lie between 1e-50 and 1e\+50"):
        moderate("radius", value)


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan")])
def test_a_length_is_finite_and_positive(value):
    with pytest.raises(InvalidParameter, match="radius must be finite and positive"):
        moderate("radius", value)


def test_whole_numbers_may_have_a_limit():
    assert integer("rows", 5, maximum=5) == 5
    with pytest.raises(InvalidParameter, match=r"rows must be at most 1,000. Got 1001 instead"):
        integer("rows", 1001, maximum=1000)


def test_rows_in_the_wrong_place_are_not_quoted():
    with pytest.raises(InvalidParameter, match="ndarray") as caught:
        one_of("neighbours", np.array([1234.5]), ("zero-out",))
    assert "1234" not in str(caught.value)
