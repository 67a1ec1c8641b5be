"""Noise reduction: marginal laws, coupling, exact prefix privacy, and what goes wrong otherwise."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.adaptive import (
    BrownianReduction,
    GammaReduction,
    IntegerLaplaceReduction,
    LaplaceReduction,
    geometric_levels,
)
from discreet.adaptive.brownian import grid_cost, grid_loss
from discreet.adaptive.discrete import (
    _exact_coin,
    discrete_laplace,
    geometric,
    keep_coins,
    keep_probability,
)
from discreet.adaptive.noise_reduction import refine
from discreet.errors import InvalidParameter
from discreet.noise import Seeded

CHAIN = (0.1, 0.15, 0.4, 1.0, 3.0)


def laws(path: object, value: np.ndarray, seed: int) -> np.ndarray:
    return np.array(list(path.path(value, Seeded(seed))))  # type: ignore[attr-defined]


# The discrete laws.


@pytest.mark.parametrize("scale", [0.3, 2.0, 1234.5])
def test_geometric_and_discrete_laplace_are_exact(scale: float) -> None:
    n = 40_000
    top = int(12 * scale) + 3
    draws = geometric(scale, n, Seeded(0))
    tail = np.exp(-np.arange(top + 1) / scale)
    cuts = np.unique(np.linspace(0, top, 25).astype(int))
    counts = [(draws < b).sum() - (draws < a).sum() for a, b in pairwise(cuts)]
    expected = n * -np.diff(tail[cuts])
    keep = expected > 5
    statistic = float(
        (((np.array(counts) - expected) ** 2 / np.maximum(expected, 1e-9))[keep]).sum()
    )
    assert stats.chi2.sf(statistic, keep.sum()) > 1e-5
    two = discrete_laplace(scale, n, Seeded(1))
    zero = math.tanh(1 / (2 * scale))  # P(0) of the discrete Laplace law
    assert abs((two == 0).mean() - zero) < 4.5 * math.sqrt(zero / n) + 1e-9
    assert abs(two.mean()) < 4.5 * two.std() / math.sqrt(n)


def test_open_draws_are_settled_in_many_digits() -> None:
    class Fixed:
        secure = False

        def __init__(self, *words: int) -> None:
            self.left = list(words)

        def words(self, n: int) -> np.ndarray:
            taken, self.left = self.left[:n], self.left[n:]
            return np.array(taken + [0] * (n - len(taken)), dtype=np.uint64)

    # V just below and just above exp(-1/scale): floor(-scale log V) is 1 and 0.
    scale = 4.0
    edge = int(math.exp(-1 / scale) * 2.0**63)
    for bits, expected in ((edge - 2**12, 1.0), (edge + 2**12, 0.0)):
        word = ~bits & (2**63 - 1)  # what tail_bits turns into bits
        assert geometric(scale, 1, Fixed(word))[0] == expected
    q = keep_probability(5.0, 2.0)
    low = int(q * 2.0**64)
    assert _exact_coin(low - 2**20, 5.0, 2.0, Fixed())
    assert not _exact_coin(low + 2**20, 5.0, 2.0, Fixed())


def test_keep_probability_vectors() -> None:
    assert keep_probability(5.0, 2.0) == pytest.approx(0.15723098, abs=1e-8)
    assert keep_probability(30.0, 1.0) == pytest.approx(0.00102306538, abs=1e-11)
    coins = keep_coins(5.0, 2.0, 50_000, Seeded(2))
    assert abs(coins.mean() - 0.15723098) < 4.5 * math.sqrt(0.157 * 0.843 / 50_000)
    with pytest.raises(InvalidParameter, match="scale"):
        geometric(1e15, 1, Seeded(0))


def test_integer_recursion_holds_exactly() -> None:
    # The law at the coarser scale is the mixture, as generating functions at many points.
    for coarse, fine in ((5.0, 2.0), (30.0, 1.0), (1000.0, 999.0)):
        q = keep_probability(coarse, fine)

        def transform(b: float, w: np.ndarray) -> np.ndarray:
            r = math.exp(-1 / b)
            return (1 - r) ** 2 / (1 - 2 * r * np.cos(w) + r * r)

        w = np.linspace(0.01, math.pi, 50)
        mixed = transform(fine, w) * (q + (1 - q) * transform(coarse, w))
        assert mixed == pytest.approx(transform(coarse, w), rel=1e-9)


# Paths.


@pytest.mark.parametrize("exact", [True, False])
def test_laplace_marginals_and_coupling(exact: bool) -> None:
    n, unit = 4000, 2.0**20 if exact else 1.0
    weights = np.concatenate([np.full(n, unit), np.full(n, unit / 2)])
    kind = IntegerLaplaceReduction if exact else LaplaceReduction
    values = laws(kind(weights, CHAIN), np.zeros(2 * n), 3) / unit
    for half, scale in ((slice(0, n), 1.0), (slice(n, 2 * n), 0.5)):
        for i, level in enumerate(CHAIN):
            sample = values[i, half]
            assert stats.kstest(sample, stats.laplace(scale=scale / level).cdf).pvalue > 1e-5
            wrong = stats.laplace(scale=2 * scale / level)
            assert stats.kstest(sample, wrong.cdf).pvalue < 1e-9
            for j in range(i + 1, len(CHAIN)):
                same = (sample == values[j, half]).mean()
                q = (level / CHAIN[j]) ** 2
                assert abs(same - q) < 4.5 * math.sqrt(q * (1 - q) / n) + 1e-3
        # Increments, given a jump, are fresh Laplace draws independent of the finer level.
        jumps = values[1, half] - values[4, half]
        moved = jumps != 0
        fine = values[4, half][moved]
        assert abs(np.corrcoef(np.abs(jumps[moved]), np.abs(fine))[0, 1]) < 0.09


def test_one_step_down_adds_a_fresh_laplace_draw() -> None:
    values = laws(IntegerLaplaceReduction(np.full(8000, 2.0**20), (0.5, 2.0)), np.zeros(8000), 4)
    jump = (values[0] - values[1]) / 2.0**20
    moved = jump[jump != 0]
    assert stats.kstest(moved, stats.laplace(scale=1 / 0.5).cdf).pvalue > 1e-5


def test_streaming_step_vectors() -> None:
    n = 100_000
    x = refine(np.full(n, 0.7), 0.5, 2.0, Seeded(5))
    keep = x == 0.7
    assert abs(keep.mean() - 0.0874844) < 4.5 * math.sqrt(0.0875 / n)
    rest = x[~keep]
    for share, part in ((0.410952, rest < 0), (0.445241, (rest >= 0) & (rest <= 0.7)),
                        (0.143808, rest > 0.7)):  # fmt: skip
        assert abs(part.mean() - share) < 4.5 * math.sqrt(share / len(rest))
    # A zero must not stay zero: a sign with sign(0) = 0 would make it sticky.
    assert (refine(np.zeros(1000), 1.0, 1e6, Seeded(6)) != 0).mean() > 0.9
    assert np.isfinite(refine(np.array([1e-300, 1e9]), 1e-9, 1.0, Seeded(7))).all()


def test_streaming_step_has_the_right_joint_law() -> None:
    # Exact in one dimension: p(fine) p(coarse | fine) = p(coarse) p(fine | coarse), by quadrature.
    c, a = 0.5, 2.0

    def forward(x: float, y: float) -> float:
        """Continuous part of the step's density at y given x >= 0."""
        r, gap, both = abs(x), a - c, a + c
        keep = c / a * math.exp(-gap * r)
        masses = np.array([1 / both, -math.expm1(-gap * r) / gap, math.exp(-gap * r) / both])
        shares = masses / masses.sum()
        if y < 0:
            density = shares[0] * both * math.exp(both * y)
        elif y <= r:
            density = shares[1] * gap * math.exp(-gap * y) / -math.expm1(-gap * r)
        else:
            density = shares[2] * both * math.exp(-both * (y - r))
        return (1 - keep) * density

    def backward(x: float, y: float) -> float:
        fine = a / 2 * math.exp(-a * abs(y))
        return fine * (1 - (c / a) ** 2) * c / 2 * math.exp(-c * abs(x - y))

    for x in (0.05, 0.7, 3.0):
        for y in (-1.0, -0.1, 0.02, 0.5, 2.0, 5.0):
            assert c / 2 * math.exp(-c * x) * forward(x, y) == pytest.approx(
                backward(x, y), rel=1e-9
            )


def prefix_loss(levels: tuple[float, float], shift: float, shared: int) -> float:
    """Worst log-ratio of the first release of a two-level path, exactly.

    ``shared`` coordinates use one coin; each moves by ``shift``. Observed at the true value, the
    density of a coordinate under the neighbour against its own: by the mixture of both cases.
    """
    low, high = levels
    q = (low / high) ** 2

    def density(rate: float, x: float) -> float:
        return rate / 2 * math.exp(-rate * abs(x))

    def summed(x: float) -> float:
        # Laplace(high) + Laplace(low)
        inner, _ = integrate.quad(lambda t: density(high, t) * density(low, x - t), -60, 60,
                                  points=[0.0, x], limit=200)  # fmt: skip
        return float(inner)

    def release(x: float) -> float:
        kept, moved = density(high, x) ** shared, summed(x) ** shared
        return q * kept + (1 - q) * moved

    return abs(math.log(release(0.0) / release(shift)))


def test_prefix_privacy_in_one_dimension_and_the_shared_coin() -> None:
    # One coin per coordinate: the first release alone is exactly Laplace of its own level.
    assert prefix_loss((0.5, 2.0), 1.0, 1) == pytest.approx(0.5, abs=1e-6)
    # One coin for the whole vector is not private: the design's numbers.
    for p, loss in ((2, 0.919), (5, 1.973), (10, 1.99999)):
        assert prefix_loss((0.5, 2.0), 1 / p, p) == pytest.approx(loss, abs=1.5e-3)


def test_prefix_privacy_of_the_whole_path_exactly_on_integers() -> None:
    # Both releases together, every outcome: the discrete path in one dimension.
    b_low, b_high = 4.0, 1.0  # sensitivity 1: levels 1/4 and 1
    q = keep_probability(b_low, b_high)
    k = np.arange(-120, 121)

    def law(b: float) -> np.ndarray:
        return math.tanh(1 / (2 * b)) * np.exp(-np.abs(k) / b)

    fine = law(b_high)
    joint = np.zeros((len(k), len(k)))  # joint[i, j]: fine noise k_i, coarse noise k_j
    for i, value in enumerate(k):
        joint[i] += (
            fine[i] * (1 - q) * math.tanh(1 / (2 * b_low)) * np.exp(-np.abs(k - value) / b_low)
        )
        joint[i, i] += fine[i] * q
    coarse = joint.sum(axis=0)
    centre = slice(40, -40)
    assert coarse[centre] == pytest.approx(law(b_low)[centre], rel=1e-9)
    # Neighbour: both shifted by one. Worst ratios of prefix (coarse) and of the pair.
    prefix = np.abs(np.log(coarse[41:200] / coarse[40:199])).max()
    assert prefix == pytest.approx(1 / b_low, rel=1e-9)
    pair = np.abs(np.log(joint[41:200, 41:200] / joint[40:199, 40:199])).max()
    assert pair == pytest.approx(1 / b_high, rel=1e-9)


def test_every_coordinate_of_a_path_has_a_coin_of_its_own() -> None:
    path, p = IntegerLaplaceReduction(np.full(400, 1e9), (1.0, math.sqrt(2.0))), 400
    for seed in range(10):
        coarse, fine = laws(path, np.zeros(p), seed)
        # Such long jumps are never zero. A coin for all would move all coordinates or none.
        moved = int((coarse != fine).sum())
        share = 1 - keep_probability(1e9, 1e9 / math.sqrt(2.0))
        assert stats.binomtest(moved, p, share).pvalue > 1e-6


def test_gamma_path_marginals() -> None:
    levels, p, draws = (0.5, 2.0, 8.0), 3, 1500
    path = GammaReduction(2.0, levels)
    random = Seeded(8)
    sample = np.array([list(path.path(np.zeros(p), random)) for _ in range(draws)])
    for i, level in enumerate(levels):
        radius = np.linalg.norm(sample[:, i], axis=1)
        law = stats.gamma(p, scale=2.0 / level)
        assert stats.kstest(radius, law.cdf).pvalue > 1e-5
        assert stats.kstest(radius, stats.gamma(p, scale=1.0 / level).cdf).pvalue < 1e-9
        direction = sample[:, i, 0] / radius  # uniform on the sphere: uniform coordinate for p = 3
        assert stats.kstest(direction, stats.uniform(-1, 2).cdf).pvalue > 1e-5
    # Less noise on average, step by step, on one path.
    assert (
        np.linalg.norm(sample[:, 2], axis=1) <= np.linalg.norm(sample[:, 0], axis=1)
    ).mean() > 0.9


def test_gamma_in_one_dimension_is_laplace() -> None:
    random = Seeded(9)
    path = GammaReduction(1.0, (0.5, 2.0))
    sample = np.array([list(path.path(np.zeros(1), random)) for _ in range(3000)])[:, :, 0]
    assert stats.kstest(sample[:, 0], stats.laplace(scale=2.0).cdf).pvalue > 1e-5
    assert abs((sample[:, 0] == sample[:, 1]).mean() - 1 / 16) < 4.5 * math.sqrt(1 / 16 / 3000)


def test_brownian_path_is_markov_from_accurate_to_private() -> None:
    costs, n = (0.1, 0.5, 4.0), 20_000
    values = laws(BrownianReduction(1.0, costs), np.zeros(n), 10)
    variances = [1 / (2 * c) for c in costs]
    for i, variance in enumerate(variances):
        assert stats.kstest(values[i], stats.norm(scale=math.sqrt(variance)).cdf).pvalue > 1e-5
    covariance = np.cov(values)
    for i in range(3):
        for j in range(3):
            # Brownian motion in the variance: the overlap is the smaller variance.
            assert covariance[i, j] == pytest.approx(min(variances[i], variances[j]), rel=0.06)


def test_brownian_bounds() -> None:
    assert grid_loss(0.001, 1e-6, 23) == pytest.approx(0.2403516, abs=1e-7)
    assert grid_loss(0.01, 1e-6, 23) == pytest.approx(0.7668962, abs=1e-7)
    for loss in (1e-3, 0.4, 30.0):
        assert grid_loss(grid_cost(loss, 1e-6, 23), 1e-6, 23) == pytest.approx(loss, rel=1e-12)


def test_brownian_bounds_are_crossed_as_rarely_as_claimed() -> None:
    rng = np.random.default_rng(11)
    delta, runs = 0.05, 20_000
    rho = np.geomspace(0.01, 1.0, 40)
    # Along a path the loss is sqrt(2 rho) N with the covariance of Brownian motion in 2 rho.
    steps = np.diff(np.concatenate([[0.0], 2 * rho]))
    walk = np.cumsum(rng.normal(size=(runs, len(rho))) * np.sqrt(steps), axis=1)
    loss = walk + rho
    bound = [grid_loss(r, delta, len(rho)) for r in rho]
    crossed = (loss > np.array(bound)).any(axis=1).mean()
    assert 0.1 * delta < crossed < delta + 4 * math.sqrt(delta / runs)
    # The bound of a single level is no bound for a level chosen by looking.
    single = [grid_loss(r, delta, 1) for r in rho]
    assert (loss > np.array(single)).any(axis=1).mean() > 2 * delta


def test_bad_inputs_are_refused() -> None:
    for levels in ((), (1.0, 1.0), (2.0, 1.0), (0.0, 1.0), (1.0, math.inf), (math.nan,)):
        for kind, first in (
            (IntegerLaplaceReduction, np.ones(2)),
            (LaplaceReduction, np.ones(2)),
            (GammaReduction, 1.0),
            (BrownianReduction, 1.0),
        ):
            with pytest.raises(InvalidParameter, match="levels"):
                kind(first, levels)  # type: ignore[arg-type]
    for weights in (np.array([]), np.array([0.0]), np.array([-1.0]), np.array([math.inf])):
        with pytest.raises(InvalidParameter, match="weights"):
            LaplaceReduction(weights, (1.0,))
    for value in (np.ones(3), np.array([1.0, math.nan])):
        with pytest.raises(InvalidParameter, match="value"):
            next(LaplaceReduction(np.ones(2), (1.0,)).path(value, Seeded(0)))
    assert len(list(LaplaceReduction(np.ones(2), (1e-9, 1.0)).path(np.ones(2), Seeded(0)))) == 2
    assert geometric_levels(2.0)[0] == pytest.approx(2.0**-10)
    assert len(geometric_levels(2.0)) == 23
