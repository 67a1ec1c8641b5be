"""Bounds on rounding errors cover what the standard analysis asks for."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.data.rounding_errors import prox_error, sum_error


@pytest.mark.parametrize("terms", [1, 2, 3, 128])
@pytest.mark.parametrize("count", [1, 1000])
def test_the_error_of_a_sum_covers_its_products_and_additions(terms: int, count: int) -> None:
    # Higham, Accuracy and stability, lemma 3.1: n roundings cost n u / (1 - n u), each term
    # one product and at most n - 1 additions.
    unit = Fraction(1, 2**53)
    assert Fraction(sum_error(terms, count)) >= terms * unit / (1 - terms * unit)


def test_a_prox_may_round_a_few_times_whatever_its_size() -> None:
    for size in (1, 2, 40):
        assert Fraction(prox_error(size)) >= (size + 8) * Fraction(1, 2**53)
