"""The law of each noise against the exact law, and the grid it lies on."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.noise import NOISES, GammaSphere, Gaussian, Grid, Seeded, release

ALARM = 1e-5  # false alarms of each statistical check
UNIT = Grid(1.0, 8.0)

TAILS = {
    "gaussian": lambda x, s: stats.norm.sf(x / s),
    "laplace": lambda x, s: stats.laplace.sf(x / s),
}


def fit(counts, probabilities):
    """Return the p-value of a chi-square test, with everything else as one more cell."""
    counts, probabilities = np.ravel(counts), np.ravel(probabilities)
    n = counts.sum()
    assert np.all(n * probabilities > 5)
    return stats.chisquare(counts, n * probabilities).pvalue


def cells(z, step, most):
    """Count the cells -most .. most in steps, with the outer ones taking the tails."""
    k = np.clip(np.rint(np.ravel(z) / step), -most, most).astype(int) + most
    return np.bincount(k, minlength=2 * most + 1)


def cell_law(tail, scale, step, most):
    edges = (np.arange(-most, most) + 0.5) * step
    beyond = np.concatenate([[1.0], tail(edges, scale), [0.0]])
    return -np.diff(beyond)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize(("scale", "step"), [(1.0, 1.0), (0.7, 0.25), (3.0, 2.0)])
def test_rounded_law(name, scale, step):
    most = 2 if step > scale / 2 else 6
    z = NOISES[name](scale, Grid(step, 8.0)).sample((100_000,), Seeded(21))
    law = cell_law(TAILS[name], scale, step, most)
    assert fit(cells(z, step, most), law) > ALARM
    # Planted: the check must see half the noise, and a step's worth of bias.
    half = NOISES[name](scale / 2, Grid(step, 8.0)).sample((100_000,), Seeded(21))
    assert fit(cells(half, step, most), law) < 1e-20
    assert fit(cells(np.floor(z / step + 0.01) * step - step, step, most), law) < 1e-20


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_fine_law(name):
    z = NOISES[name](2.0, Grid(2.0**-30, 8.0)).sample((200_000,), Seeded(4))
    assert stats.kstest(z, lambda x: 1 - TAILS[name](x, 2.0)).pvalue > ALARM
    assert stats.kstest(z[::2], lambda x: 1 - TAILS[name](x, 1.0)).pvalue < 1e-20
    # The low-order bits are as random as the rest.
    assert stats.chisquare(np.bincount((z * 2.0**30 % 64).astype(int), minlength=64)).pvalue > ALARM
    assert abs(stats.pearsonr(z[1:], z[:-1]).statistic) < 0.012


def sphere(scale, step, dim, n, seed):
    noise, random = GammaSphere(scale, Grid(step, 8.0)), Seeded(seed)
    return np.array([noise.sample((dim,), random) for _ in range(n)])


def test_sphere_of_one_dimension_is_laplace():
    law = cell_law(TAILS["laplace"], 1.5, 1.0, 4)
    assert fit(cells(sphere(1.5, 1.0, 1, 4_000, 5), 1.0, 4), law) > ALARM
    assert fit(cells(sphere(0.75, 1.0, 1, 4_000, 5), 1.0, 4), law) < 1e-20


def test_sphere_cells_in_the_plane():
    def density(y, x):
        return math.exp(-math.hypot(x, y)) / (2 * math.pi)

    law = np.array(
        [
            [
                integrate.dblquad(density, i - 0.5, i + 0.5, j - 0.5, j + 0.5, epsabs=1e-7)[0]
                for j in range(3)
            ]
            for i in range(3)
        ]
    )
    full = law[np.ix_([2, 1, 0, 1, 2], [2, 1, 0, 1, 2])].ravel()
    law = np.append(full, 1 - full.sum())

    def counts(scale):
        k = np.rint(sphere(scale, 1.0, 2, 8_000, 6)).astype(int)
        inside = np.all(np.abs(k) <= 2, axis=1)
        index = np.where(inside, (k[:, 0] + 2) * 5 + k[:, 1] + 2, 25)
        return np.bincount(index, minlength=26)

    assert fit(counts(1.0), law) > ALARM
    assert fit(counts(0.5), law) < 1e-20


@pytest.mark.parametrize("dim", [2, 3, 8, 41])
def test_sphere_radius_and_direction(dim):
    b = sphere(2.0, 2.0**-24, dim, 4000, dim)
    radius = np.linalg.norm(b, axis=1)
    assert stats.kstest(radius, stats.gamma(dim, scale=2.0).cdf).pvalue > ALARM
    assert stats.kstest(radius / 2, stats.gamma(dim, scale=2.0).cdf).pvalue < 1e-20
    # (1 + t) / 2 is Beta((p-1)/2, (p-1)/2) for the cosine t with any fixed axis.
    direction = b / radius[:, None]
    law = stats.beta((dim - 1) / 2, (dim - 1) / 2).cdf
    for axis in np.vstack([np.eye(dim)[:2], np.ones(dim) / math.sqrt(dim)]):
        cosine = direction @ axis
        assert stats.kstest((1 + cosine) / 2, law).pvalue > ALARM
        # Direction and radius are independent.
        assert abs(stats.spearmanr(cosine**2, radius).statistic) < 0.08


def test_sphere_takes_a_matrix_as_one_vector():
    noise = GammaSphere(1.0, Grid(2.0**-20, 8.0))
    flat, matrix = noise.sample((6,), Seeded(1)), noise.sample((2, 3), Seeded(1))
    assert matrix.shape == (2, 3)
    assert np.array_equal(matrix.ravel(), flat)


@pytest.mark.parametrize("name", NOISES)
def test_noise_is_whole_steps_without_negative_zeros(name):
    for step in (2.0, 2.0**-30):
        z = NOISES[name](1.0, Grid(step, 8.0)).sample((20_000,), Seeded(8))
        assert np.all(z / step == np.rint(z / step))
        assert not np.any(np.signbit(z[z == 0]))
        assert np.any(z < 0)
    assert NOISES[name](1.0, UNIT).sample((0,), Seeded(0)).shape == (0,)


@pytest.mark.parametrize("name", NOISES)
def test_trailing_bits_do_not_separate_neighbours(name):
    grid = Grid(2.0**-20, 2.0**20)
    noise = NOISES[name](1.0, grid)
    inputs = (np.full(4000, 1 / 3), np.full(4000, 1e6 + 0.1))
    outputs = [release(x, noise, Seeded(s)) for s, x in enumerate(inputs)]
    features = []
    for y in outputs:
        steps = y / grid.step
        assert np.all(steps == np.rint(steps))
        features.append(np.bincount((steps % 16).astype(int), minlength=16))
    assert stats.chi2_contingency(features).pvalue > ALARM

    # Planted: plain float64 noise tells a large input by its missing low-order bits.
    rng = np.random.default_rng(0)
    naive = [np.mean((x + rng.normal(size=4000)) * 2.0**33 % 1 == 0) for x in inputs]
    assert abs(naive[0] - naive[1]) > 0.9


def test_release_is_the_grid_value_plus_the_noise():
    grid = Grid(0.25, 4.0)
    x = np.array([[0.3, -9.0], [2.0, 0.1]])
    for name in NOISES:
        noise = NOISES[name](1.0, grid)
        expected = grid.round(x) + noise.sample(x.shape, Seeded(3))
        assert np.array_equal(release(x, noise, Seeded(3)), expected)


def test_release_does_not_tell_the_sign_of_a_value_that_rounds_to_zero():
    noise = Gaussian(1.0, UNIT)
    below = release(np.full(2000, -1e-9), noise, Seeded(0))
    above = release(np.full(2000, 1e-9), noise, Seeded(0))
    assert np.array_equal(np.signbit(below), np.signbit(above))
