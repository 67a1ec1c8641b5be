"""Draws against laws computed by summation or quadrature, for smooth and corner losses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from discreet.data import Rows
from discreet.errors import Incompatible, NotCertified
from discreet.losses import Hinge, Logistic, Loss, Squared
from discreet.noise import Seeded
from discreet.samplers import (
    GridSampler,
    GridWalk,
    HitAndRun,
    PiecewiseLinear,
    Region,
    TangentEnvelope,
    Target,
    TruncatedGaussian,
    grid_points,
    walk_steps,
)
from discreet.sets import Box, ConvexSet, L1Ball, L2Ball, Simplex

LOSSES = pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=lambda loss: loss.name)


def rows(p: int, n: int = 30, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return Rows(X, np.where(rng.random(n) < 0.7, 1.0, -1.0) * np.sign(X[:, 0]))


def target(
    loss: Loss, constraint: ConvexSet, p: int, *, inverse: float = 0.3, bits: int = 40
) -> Target:
    data = rows(p)

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = data.objective(loss, w)
        return inverse * value, inverse * gradient

    return Target(Region.of(constraint, (p,), bits=bits), evaluate, 1e-6)


def table(law: Target) -> tuple[np.ndarray, np.ndarray]:
    """Every lattice point inside, and its probability."""
    index = np.indices(law.region.counts).reshape(law.region.dimension, -1).T
    points = [w for w in law.region.points(index) if law.region.contains(w)]
    log = -np.array([law.evaluate(w)[0] for w in points])
    weights = np.exp(log - log.max())
    return np.array(points), weights / weights.sum()


def fit(drawn: list[np.ndarray], points: np.ndarray, chances: np.ndarray) -> float:
    keys = {tuple(w): i for i, w in enumerate(points)}
    counts = np.bincount([keys[tuple(w)] for w in drawn], minlength=len(points))
    # Rare points are pooled, as chi-square asks for five expected in each class.
    common = chances * len(drawn) >= 5
    seen = np.append(counts[common], counts[~common].sum())
    wanted = np.append(chances[common], chances[~common].sum()) * len(drawn)
    keep = wanted > 0
    return float(stats.chisquare(seen[keep], wanted[keep]).pvalue)


@LOSSES
@pytest.mark.parametrize("constraint", [Box(), L2Ball(radius=1.0), L1Ball(radius=1.5)])
def test_the_envelope_draws_its_law_in_the_plane(loss: Loss, constraint: ConvexSet) -> None:
    law = target(loss, constraint, 2, bits=3)
    points, chances = table(law)
    sampler, random = TangentEnvelope(law), Seeded(1)
    drawn = [sampler.draw(random) for _ in range(2500)]
    assert fit(drawn, points, chances) > 1e-4
    wrong = np.sqrt(chances) / np.sqrt(chances).sum()  # half the constant
    assert fit(drawn, points, wrong) < 1e-6


@LOSSES
def test_the_envelope_draws_its_law_on_a_line(loss: Loss) -> None:
    law = target(loss, Box(low=-2.0, high=1.0), 1)
    sampler, random = TangentEnvelope(law), Seeded(2)
    drawn = [sampler.draw(random)[0] for _ in range(1500)]
    grid = np.linspace(-2.0, 1.0, 4001)
    weights = np.exp(-np.array([law.evaluate(np.array([t]))[0] for t in grid]))
    cdf = np.append(0.0, np.cumsum((weights[1:] + weights[:-1]) / 2))
    cdf /= cdf[-1]
    assert stats.kstest(drawn, lambda t: np.interp(t, grid, cdf)).pvalue > 1e-4
    half = np.append(0.0, np.cumsum(np.sqrt(weights[1:])))
    half /= half[-1]
    assert stats.kstest(drawn, lambda t: np.interp(t, grid, half)).pvalue < 1e-6


@LOSSES
def test_draws_do_not_depend_on_history(loss: Loss) -> None:
    """A draw from refined cells has the law of a first draw, and ignores the draw before it."""
    law = target(loss, Box(), 2, bits=2, inverse=0.6)
    points, chances = table(law)
    first = [TangentEnvelope(law).draw(Seeded((5, i))) for i in range(250)]
    assert fit(first, points, chances) > 1e-4
    sampler, random = TangentEnvelope(law), Seeded(6)
    chain = np.array([sampler.draw(random) for _ in range(1200)])
    side = (chain[:, 0] > np.median(chain[:, 0])).astype(int)
    follows = np.zeros((2, 2))
    np.add.at(follows, (side[:-1], side[1:]), 1)
    assert stats.chi2_contingency(follows).pvalue > 1e-4


def test_a_broken_envelope_raises_and_gives_nothing() -> None:
    concave = Target(Region.of(Box(), (1,)), lambda w: (-5.0 * w[0] ** 2, -10.0 * w), 1e-6)
    with pytest.raises(NotCertified, match="Nothing was released"):
        [TangentEnvelope(concave).draw(Seeded(seed)) for seed in range(50)]
    law = target(Logistic(), Box(), 2)
    flipped = Target(law.region, lambda w: (law.evaluate(w)[0], -law.evaluate(w)[1]), 1e-6)
    with pytest.raises(NotCertified, match="gradient is wrong"):
        [TangentEnvelope(flipped).draw(Seeded(seed)) for seed in range(50)]


def test_points_lie_on_the_public_lattice_and_in_the_set() -> None:
    law = target(Logistic(), L2Ball(radius=3.0), 3)
    for seed in range(20):
        w = TangentEnvelope(law).draw(Seeded(seed))
        assert (w / law.region.step == np.rint(w / law.region.step)).all()
        assert np.linalg.norm(w) <= 3.0 * (1 + 1e-9)


@pytest.mark.parametrize(("p", "most"), [(2, 25), (5, 65)])
def test_evaluations_per_draw(p: int, most: int) -> None:
    """No more than the specification's count, for both losses and a fresh envelope."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    margin = 4.0 * X @ (np.ones(p) / math.sqrt(p))
    data = Rows(X, np.where(rng.random(2000) < 1.0 / (1.0 + np.exp(-margin)), 1.0, -1.0))
    for loss in (Logistic(), Hinge()):
        calls = 0

        def evaluate(w: np.ndarray, loss: Loss = loss) -> tuple[float, np.ndarray]:
            nonlocal calls
            calls += 1
            value, gradient = data.objective(loss, w)
            # Scaled up to the concentration of 10**4 rows at epsilon 1.
            c = 5.0 / (4.0 * math.sqrt(p))
            return c * value, c * gradient

        for seed in range(10):
            TangentEnvelope(Target(Region.of(Box(), (p,)), evaluate, 1e-6)).draw(Seeded(seed))
        assert calls / 10 <= most


def test_quadratic_scores_are_drawn_as_cut_gaussians() -> None:
    rng = np.random.default_rng(3)
    data = Rows(rng.normal(size=(40, 2)), rng.normal(size=40))

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = data.objective(Squared(), w)
        return 0.5 * value, 0.5 * gradient

    matrix = 0.5 * data.hessian(Squared(), np.zeros(2))
    for box, seed in ((Box(low=-1.0, high=1.0), 1), (Box(low=0.3, high=0.9), 2)):
        law = Target(Region.of(box, (2,)), evaluate, 1e-6)
        gaussian, envelope = TruncatedGaussian(law, matrix), TangentEnvelope(law)
        random = Seeded(seed)
        one = np.array([gaussian.draw(random) for _ in range(500)])
        two = np.array([envelope.draw(random) for _ in range(500)])
        for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]):
            assert stats.ks_2samp(one @ direction, two @ direction).pvalue > 1e-4
    # A wrong matrix may cost time but cannot change the law.
    wrong = TruncatedGaussian(law, 4.0 * matrix)
    three = np.array([wrong.draw(random) for _ in range(500)])
    assert stats.ks_2samp(three[:, 0], two[:, 0]).pvalue > 1e-4


def test_the_grid_is_public_and_its_law_exact() -> None:
    law = target(Hinge(), L2Ball(radius=1.0), 2)
    sampler = GridSampler(law, 4)
    points = grid_points(law.region, 4)
    assert (np.linalg.norm(points, axis=1) <= 1 + 1e-9).all()
    log = -np.array([law.evaluate(w)[0] for w in points])
    chances = np.exp(log) / np.exp(log).sum()
    random = Seeded(4)
    assert fit([sampler.draw(random) for _ in range(2500)], points, chances) > 1e-4


def test_the_grid_walk_keeps_its_promise_on_exact_spectra() -> None:
    """|P^N(x, y) / pi(y) - 1| <= xi, by matrix powers."""
    for p, m, rise in ((1, 6, 2.0), (2, 4, 1.0)):
        rng = np.random.default_rng(p)
        states = np.indices((m,) * p).reshape(p, -1).T
        scores = np.abs(states / m - rng.random(p)).sum(axis=1) * rise / p
        chain = np.zeros((len(states), len(states)))
        keys = {tuple(s): i for i, s in enumerate(states)}
        for i, s in enumerate(states):
            for j in range(p):
                for sign in (-1, 1):
                    there = s.copy()
                    there[j] += sign
                    k = keys.get(tuple(there))
                    if k is not None:
                        chain[i, k] = min(1.0, math.exp(scores[i] - scores[k])) / (4 * p)
            chain[i, i] = 1 - chain[i].sum()
        law = np.exp(-scores) / np.exp(-scores).sum()
        steps = walk_steps(p, m, rise, 0.05)
        after = np.linalg.matrix_power(chain, steps)
        assert np.abs(after / law - 1).max() <= 0.05


def test_the_grid_walk_draws_its_law() -> None:
    law = Target(Region.of(Box(), (1,)), lambda w: (2.0 * abs(w[0]), 2.0 * np.sign(w)), 1e-6)
    walk, random = GridWalk(law, cells=4, rise=4.0, accuracy=0.02), Seeded(5)
    drawn = np.array([walk.draw(random)[0] for _ in range(150)])
    outer = math.exp(-2 * 0.75) / (math.exp(-2 * 0.75) + math.exp(-2 * 0.25))
    assert stats.binomtest(int((np.abs(drawn) > 0.5).sum()), 150, outer).pvalue > 1e-4
    with pytest.raises(Incompatible, match="boxes only"):
        GridWalk(target(Hinge(), L2Ball(radius=1.0), 2), cells=4, rise=1.0, accuracy=0.1)
    with pytest.raises(Incompatible, match="steps"):
        GridWalk(law, cells=64, rise=900.0, accuracy=0.1)


def test_hit_and_run_comes_close() -> None:
    law = target(Logistic(), L2Ball(radius=1.0), 2, inverse=1.0)
    chain, envelope, random = HitAndRun(law, steps=15), TangentEnvelope(law), Seeded(6)
    one = np.array([chain.draw(random) for _ in range(200)])
    two = np.array([envelope.draw(random) for _ in range(1000)])
    for j in (0, 1):
        assert stats.ks_2samp(one[:, j], two[:, j]).pvalue > 1e-4


def pinball(t: float, values: np.ndarray, q: float) -> float:
    gap = values - t
    return float(np.maximum(q * gap, (q - 1) * gap).sum())


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_quantile_scores_and_draws(quantile: float) -> None:
    values = np.array([3, 3, 7, 12, 0, 15, 15])
    law = PiecewiseLinear.pinball(values, size=16, quantile=quantile, scale=0.2)
    index = np.arange(16)
    scores = np.array([0.2 * pinball(i, values, quantile) for i in index])
    assert law.scores(index) == pytest.approx(scores, rel=1e-12)
    chances = np.exp(-scores) / np.exp(-scores).sum()
    random = Seeded(7)
    counts = np.bincount([law.draw(random) for _ in range(5000)], minlength=16)
    assert stats.chisquare(counts, chances * 5000).pvalue > 1e-4


def test_specification_vector_of_the_median() -> None:
    """Data {0}, |w - d| on [0, 1], c = 1/2: the mean is 0.4585059."""
    size = 2**20
    law = PiecewiseLinear.pinball(np.array([0]), size=size, quantile=0.5, scale=1.0 / size)
    index = np.arange(size)
    weights = np.exp(-law.scores(index))
    assert (index / size) @ weights / weights.sum() == pytest.approx(0.4585059, abs=2e-6)
    random = Seeded(8)
    drawn = np.array([law.draw(random) for _ in range(4000)]) / size
    cdf = lambda t: -np.expm1(-t / 2) / -math.expm1(-0.5)  # noqa: E731
    assert stats.kstest(drawn, cdf).pvalue > 1e-4


def test_steep_and_distant_regions_keep_exact_points() -> None:
    far = Region.of(Box(low=1e6, high=1e6 + 1e-3), (1,))
    assert far.points(far.counts[None] - 1)[0, 0] <= 1e6 + 1e-3
    steep = Target(far, lambda w: (1e9 * (w[0] - 1e6), np.array([1e9])), 1e-2)
    assert TangentEnvelope(steep).draw(Seeded(0))[0] - 1e6 < 1e-6


def test_refusals() -> None:
    with pytest.raises(Incompatible, match="bounded"):
        Region.of(Box(low=0.0, high=math.inf), (2,))
    with pytest.raises(Incompatible, match="no interior"):
        Region.of(Simplex(), (3,))
