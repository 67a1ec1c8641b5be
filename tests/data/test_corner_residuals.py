"""What rounding takes from products is known exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.data.corner_residuals import _missing


def test_what_a_product_lost_is_exact() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=200) * 10.0 ** rng.integers(-5, 6, 200)
    for b in rng.normal(size=5):
        for x, lost in zip(a, _missing(a, float(b), a * b), strict=True):
            assert Fraction(x * b) + Fraction(lost) == Fraction(x) * Fraction(b)
