"""The grid: its choice, its surcharge and its rounding."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidParameter, NotCertified
from discreet.noise import GammaSphere, Gaussian, Grid, Laplace

APART = {"l2": lambda p: math.sqrt(p), "l1": lambda p: p, "linf": lambda p: 1}
ORDER = {"l2": 2, "l1": 1, "linf": np.inf}


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("dim", [1, 7, 100_000])
@pytest.mark.parametrize("sensitivity", [1e-9, 0.3, 1.0, 1e12])
def test_choose_aims_at_a_small_surcharge(norm, dim, sensitivity):
    grid = Grid.choose(sensitivity=sensitivity, dim=dim, norm=norm, reach=10 * sensitivity)
    assert math.frexp(grid.step)[0] == 0.5
    step, surcharge = grid.step / sensitivity, APART[norm](dim) * grid.step / sensitivity
    assert step <= 2**-24
    assert surcharge <= 2**-16
    assert step > 2**-25 or surcharge > 2**-17
    total = grid.surcharged(sensitivity, dim, norm)
    assert total >= sensitivity + APART[norm](dim) * grid.step
    assert total <= sensitivity * (1 + 2**-15)


def test_a_wide_reach_coarsens_then_refuses():
    grid = Grid.choose(sensitivity=1.0, dim=1, reach=2.0**40)
    assert grid.step == 2.0**-11
    assert Grid.choose(sensitivity=1.0, dim=1, reach=2.0**45).step == 2.0**-6
    with pytest.raises(InvalidParameter, match="smaller reach"):
        Grid.choose(sensitivity=1.0, dim=1, reach=2.0**45 * 1.01)


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_surcharge_covers_what_rounding_does_to_neighbours(norm):
    rng = np.random.default_rng(0)
    grid = Grid(step=0.25, reach=2.0)
    worst = 0.0
    for _ in range(2000):
        # Near-ties and clipped values are where rounding moves most.
        x = rng.integers(-9, 10, 5) * 0.125 + rng.choice([-1e-12, 1e-12], 5)
        y = x + rng.choice([-1, 1], 5) * rng.choice([2e-12, 0.3], 5)
        apart = np.linalg.norm(x - y, ORDER[norm])
        moved = np.linalg.norm(grid.round(x) - grid.round(y), ORDER[norm])
        assert moved <= grid.surcharged(apart, 5, norm)
        worst = max(worst, (moved - apart) / (APART[norm](5) * grid.step))
    assert worst > 0.8  # the surcharge is needed


def test_round_clips_and_is_exact():
    grid = Grid(step=2.0**-20, reach=100.0)
    x = np.random.default_rng(1).normal(scale=80, size=1000)
    rounded = grid.round(x)
    assert np.all(rounded / grid.step == np.rint(rounded / grid.step))
    assert np.max(np.abs(rounded - np.clip(x, -100, 100))) <= grid.step / 2
    assert np.linalg.norm(rounded - np.clip(x, -100, 100)) <= grid.displacement(1000)


def test_no_negative_zero():
    assert not np.any(np.signbit(Grid(1.0, 4.0).round(np.array([-0.0, -0.3, -1e-300]))))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_values_raise_without_saying_which(bad):
    with pytest.raises(NotCertified) as caught:
        Grid(0.5, 4.0).round(np.array([1234.5, bad]))
    assert "1234" not in str(caught.value)
    assert str(bad) not in str(caught.value)


@pytest.mark.parametrize(
    ("step", "reach"),
    [(0.3, 1.0), (0.0, 1.0), (-0.5, 1.0), (0.5, -1.0), (0.5, math.inf), (2.0**-40, 2.0**12)],
)
def test_grids_that_cannot_be_exact_are_refused(step, reach):
    with pytest.raises(InvalidParameter):
        Grid(step, reach)


@pytest.mark.parametrize("noise", [Gaussian, Laplace, GammaSphere])
def test_noise_out_of_the_range_of_its_grid_is_refused(noise):
    grid = Grid(1.0, 1.0)
    for scale in (2.0**48, 2.0**-11, 0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            noise(scale, grid)
    assert noise(2.0**40, grid).displacement(4) >= 1.0
    assert noise(2.0**40, grid).displacement(4) <= 1.0 + 1e-15


@pytest.mark.parametrize("sensitivity", [0.1, 1.0, 1 / 3, 1e-7])
@pytest.mark.parametrize("step", [2.0**-20, 2.0**-3])
def test_the_surcharge_is_never_rounded_down(step, sensitivity):
    grid = Grid(step=step, reach=1.0)
    for dim in range(1, 40):
        over = Fraction(grid.surcharged(sensitivity, dim, "l2")) - Fraction(sensitivity)
        assert over > 0
        assert over**2 >= dim * Fraction(step) ** 2
