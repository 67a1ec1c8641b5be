"""What guarantees assume of the machine: accuracy of functions, measured in many digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.special import expit

from discreet.bounds import Array
from discreet.data.rounding_errors import slope_error
from discreet.losses import Logistic
from discreet.noise.rounded_draws import REL, normal, tail_bits
from discreet.problem.problem import ASSUMED, NUMERICS

RNG = np.random.default_rng(0)
UNIFORM = np.concatenate([RNG.uniform(size=2000), 10.0 ** RNG.uniform(-19, 0, 2000)])
MARGINS = np.concatenate([RNG.normal(size=1000) * 10.0 ** RNG.uniform(-3, 2, 1000), [0.0, 36.7]])


def units(found: Array, exact: list[mpf]) -> float:
    """Return the largest error in units of the last place."""
    pairs = zip(found.tolist(), exact, strict=True)
    return max(float(abs(mpf(f) - e) / mpf(float(np.spacing(abs(float(e)))))) for f, e in pairs)


def test_logarithms_are_within_four_units() -> None:
    with mp.workprec(200):
        assert units(np.log(UNIFORM), [mp.log(mpf(u)) for u in UNIFORM.tolist()]) <= 4.0


def test_cosines_are_within_four_units() -> None:
    angles = np.pi * UNIFORM
    with mp.workprec(200):
        assert units(np.cos(angles), [mp.cos(mpf(a)) for a in angles.tolist()]) <= 4.0


def test_the_inverse_normal_is_within_its_bound() -> None:
    words = RNG.integers(0, 2**64, size=300, dtype=np.uint64)
    draws, _ = normal(words)
    bits = tail_bits(words)
    with mp.workprec(200):
        for draw, low in zip(draws.tolist(), bits.tolist(), strict=True):
            x = abs(mpf(draw))
            # P(|Z| > x) must be that of V in [b, b + 1), up to the error of x.
            least, most = (mp.erfc(x * (1 + s * mpf(REL)) / mp.sqrt(2)) for s in (1, -1))
            assert least <= mpf(low + 1) / 2**63
            assert most >= mpf(low) / 2**63


def test_slopes_are_within_their_bound() -> None:
    loss = Logistic()
    found = loss.slope(MARGINS, np.ones_like(MARGINS))
    allowed = slope_error(0.0, np.zeros_like(MARGINS), np.abs(found), loss)
    with mp.workprec(200):
        for z, slope, most in zip(MARGINS.tolist(), found.tolist(), allowed.tolist(), strict=True):
            assert abs(mpf(slope) + 1 / (1 + mp.exp(mpf(z)))) <= most


def test_losses_are_within_32_units() -> None:
    loss = Logistic()
    found = loss.value(MARGINS, np.ones_like(MARGINS))
    with mp.workprec(400):
        assert units(found, [mp.log1p(mp.exp(-mpf(z))) for z in MARGINS.tolist()]) <= 32.0


@pytest.mark.parametrize(
    "function", [np.log, np.log1p, np.exp, np.expm1, np.tanh, np.cos, np.sqrt, expit]
)
def test_equal_arguments_have_equal_results_wherever_they_stand(
    function: Callable[[Array], Array],
) -> None:
    for kind in (np.float64, np.float32):
        values = UNIFORM[:1037].astype(kind)
        whole = function(values)
        for start in range(17):
            assert np.array_equal(function(values[start:]), whole[start:])
            assert np.array_equal(function(values[start : start + 3]), whole[start : start + 3])
        assert np.array_equal(function(np.repeat(values, 3)[::3]), whole)
        assert all(function(values[i : i + 1])[0] == whole[i] for i in range(64))


def test_every_guarantee_says_so() -> None:
    assert NUMERICS in ASSUMED
