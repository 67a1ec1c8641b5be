"""Draws against laws computed by summation or quadrature, for smooth and corner losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import stats

from discreet.algorithms.sampling.laws import (
    Floor,
    GaussianEnvelope,
    GridSampler,
    GridWalk,
    HitAndRun,
    PiecewiseLinear,
    Region,
    TangentEnvelope,
    Target,
    grid_points,
    one_dimensional,
    walk_steps,
)
from discreet.algorithms.sampling.laws.flat import flattened
from discreet.data import Rows
from discreet.errors import Incompatible, NotCertified
from discreet.losses import Hinge, Logistic, Loss, Squared
from discreet.noise import Randomness, Seeded
from discreet.sets import Box, ConvexSet, L1Ball, L2Ball, Simplex, VertexPolytope

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
    law = target(loss, constraint, 2, bits=3, inverse=0.6)
    points, chances = table(law)
    sampler, random = TangentEnvelope(law), Seeded(1)
    drawn = [sampler.draw(random) for _ in range(700)]
    assert fit(drawn, points, chances) > 1e-4
    wrong = np.sqrt(chances) / np.sqrt(chances).sum()  # half the constant
    assert fit(drawn, points, wrong) < 1e-6


@LOSSES
def test_the_envelope_draws_its_law_on_a_line(loss: Loss) -> None:
    law = target(loss, Box(low=-2.0, high=1.0), 1)
    sampler, random = TangentEnvelope(law), Seeded(2)
    drawn = [sampler.draw(random)[0] for _ in range(700)]
    grid = np.linspace(-2.0, 1.0, 1001)
    weights = np.exp(-np.array([law.evaluate(np.array([t]))[0] for t in grid]))
    cdf = np.append(0.0, np.cumsum((weights[1:] + weights[:-1]) / 2))
    cdf /= cdf[-1]
    assert stats.kstest(drawn, lambda t: np.interp(t, grid, cdf)).pvalue > 1e-4
    half = np.append(0.0, np.cumsum(np.sqrt(weights[1:])))
    half /= half[-1]
    assert stats.kstest(drawn, lambda t: np.interp(t, grid, half)).pvalue < 1e-6


@LOSSES
def test_draws_do_not_depend_on_history(loss: Loss) -> None:
    """A draw from refined cells has the same law, and ignores the draw before it.

    First draws are tested with the parts of the envelope.
    """
    law = target(loss, Box(), 2, bits=2, inverse=0.6)
    points, chances = table(law)
    sampler, random = TangentEnvelope(law), Seeded(6)
    chain = np.array([sampler.draw(random) for _ in range(1200)])
    assert fit(list(chain[600:]), points, chances) > 1e-4
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


@pytest.mark.parametrize("constraint", [Box(), L2Ball(radius=1.0)], ids=lambda c: c.name)
def test_no_point_beyond_the_lattice_counts_as_inside(constraint: ConvexSet) -> None:
    """Some are close enough to the set, but cells do not reach them and no sampler may."""
    region = Region.of(constraint, (2,))
    middle = region.counts // 2
    for last, beyond in ((region.counts - 1, 1), (0 * region.counts, -1)):
        index = np.array([last[0], middle[1]])
        assert region.contains(region.points(index))
        out = region.points(index + np.array([beyond, 0]))
        assert np.linalg.norm(constraint.project(out) - out) <= region.edge
        assert not region.contains(out)


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
        touch = law.region.points(law.region.counts // 2)
        touch = touch - np.linalg.solve(matrix, evaluate(touch)[1])
        gaussian = GaussianEnvelope(law, Floor(law.region.nearest(touch), matrix))
        envelope, random = TangentEnvelope(law), Seeded(seed)
        one = np.array([gaussian.draw(random) for _ in range(300)])
        two = np.array([envelope.draw(random) for _ in range(300)])
        for direction in ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]):
            assert stats.ks_2samp(one @ direction, two @ direction).pvalue > 1e-4


def bowl(w: np.ndarray) -> tuple[float, np.ndarray]:
    """10 sqrt(0.04 + |w|^2), from its minimum: curvature 50 there, straight far out."""
    size = math.sqrt(0.04 + float(w @ w))
    return 10.0 * (size - 0.2), 10.0 * w / size


def bowl_floor(radius: float, dimension: int, touch: float = 0.0) -> Floor:
    """The best floor within ``radius`` of a point of the first axis, by a fine search."""
    here, slope = bowl(np.array([touch]))
    gaps = [g for g in np.linspace(-radius, radius, 2000) if g]
    rises = [bowl(np.array([touch + g]))[0] - here - slope[0] * g for g in gaps]
    height = 0.999 * min(2.0 * rise / g**2 for rise, g in zip(rises, gaps, strict=True))
    point = touch * np.eye(dimension)[0]
    return Floor(point, height * np.eye(dimension), math.sqrt(height) * radius)


@pytest.mark.parametrize("touch", [0.0, 0.05])
def test_the_gaussian_envelope_draws_its_law_and_its_tails_on_a_line(touch: float) -> None:
    law = Target(Region.of(Box(low=-3.0, high=3.0), (1,)), bowl, 1e-6)
    floor = bowl_floor(0.3, 1, touch)
    sampler, random = GaussianEnvelope(law, floor), Seeded(11)
    drawn = np.array([sampler.draw(random)[0] for _ in range(2000)])
    assert sampler._fallback is None
    assert np.mean(np.abs(drawn - touch) > 0.3) > 0.05  # a good part of the law is in the tail
    grid = np.linspace(-3.0, 3.0, 8001)
    scores = np.array([bowl(np.array([t]))[0] for t in grid])

    def pvalue(power: float) -> float:
        weights = np.exp(-power * scores)
        cdf = np.append(0.0, np.cumsum((weights[1:] + weights[:-1]) / 2))
        return float(stats.kstest(drawn, lambda t: np.interp(t, grid, cdf / cdf[-1])).pvalue)

    assert pvalue(1.0) > 1e-4
    assert pvalue(0.5) < 1e-6  # planted: half the constant
    # Planted: proposals of the inner kind only would never leave the ellipsoid.
    assert stats.binomtest(int((np.abs(drawn - touch) > 0.3).sum()), 2000, 0.01).pvalue < 1e-6


@pytest.mark.parametrize("constraint", [Box(low=-1.0, high=2.0), L2Ball(radius=0.7)])
def test_the_gaussian_envelope_draws_its_law_in_the_plane(constraint: ConvexSet) -> None:
    law = Target(Region.of(constraint, (2,)), bowl, 1e-6)
    sampler, random = GaussianEnvelope(law, bowl_floor(0.5, 2)), Seeded(12)
    drawn = np.array([sampler.draw(random) for _ in range(2000)])
    assert sampler._fallback is None
    # The law is round: by quadrature of the radius, and uniform in the angle.
    edge = 0.7 if isinstance(constraint, L2Ball) else 1.0
    inner = np.linalg.norm(drawn, axis=1) < edge
    radius = np.linspace(0.0, edge, 4001)
    weights = radius * np.exp([-bowl(np.array([r]))[0] for r in radius])
    cdf = np.append(0.0, np.cumsum((weights[1:] + weights[:-1]) / 2))
    cdf /= cdf[-1]
    sizes = np.linalg.norm(drawn[inner], axis=1)
    assert stats.kstest(sizes, lambda t: np.interp(t, radius, cdf)).pvalue > 1e-4
    angles = np.arctan2(drawn[inner, 0], drawn[inner, 1])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > 1e-4
    half = np.append(0.0, np.cumsum(radius[1:] * np.sqrt(weights[1:] / radius[1:])))
    assert stats.kstest(sizes, lambda t: np.interp(t, radius, half / half[-1])).pvalue < 1e-6


def test_a_floor_above_the_score_raises_and_gives_nothing() -> None:
    law = Target(Region.of(Box(low=-3.0, high=3.0), (1,)), bowl, 1e-6)
    wrong = Floor(np.zeros(1), np.array([[75.0]]))
    with pytest.raises(NotCertified, match="Nothing was released"):
        [GaussianEnvelope(law, wrong).draw(Seeded(seed)) for seed in range(200)]
    # Valid near zero but claimed too far out.
    near = bowl_floor(0.1, 1)
    with pytest.raises(NotCertified, match="Nothing was released"):
        [
            GaussianEnvelope(law, Floor(near.point, near.matrix)).draw(Seeded(seed))
            for seed in range(400)
        ]


def test_the_gaussian_envelope_hands_over_where_it_cannot_serve() -> None:
    law = Target(Region.of(Box(low=0.5, high=3.0), (2,)), bowl, 1e-6)
    corner = Floor(np.array([0.5, 0.5]), np.eye(2))  # the mode is a corner of the box
    assert GaussianEnvelope(law, corner)._fallback is not None
    assert GaussianEnvelope(law, None)._fallback is not None
    singular = Floor(np.array([1.0, 1.0]), np.zeros((2, 2)))
    assert GaussianEnvelope(law, singular)._fallback is not None
    assert np.isfinite(GaussianEnvelope(law, corner).draw(Seeded(0))).all()


@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=lambda loss: loss.name)
def test_a_simplex_is_sampled_in_its_own_plane(loss: Loss) -> None:
    """Against exact masses of the cells of a triangular table over the simplex."""
    data = rows(3)
    region = Region.of(Simplex(), (3,))
    assert region.dimension == 2

    def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = data.objective(loss, region.lift(v))
        return 0.5 * value, region.pull(0.5 * gradient)

    sampler, random = TangentEnvelope(Target(region, evaluate, 1e-6)), Seeded(9)
    drawn = np.array([region.lift(sampler.draw(random)) for _ in range(1000)])
    assert np.abs(drawn.sum(axis=1) - 1).max() < 1e-9
    assert drawn.min() > -1e-8
    # The marginal law of the first weight, by summing over a fine table of the plane.
    first, second = np.meshgrid(*[(np.arange(300) + 0.5) / 300] * 2, indexing="ij")
    inside = first + second < 1
    table = np.column_stack([first[inside], second[inside], 1 - first[inside] - second[inside]])
    scores = 0.5 * loss.value(table @ data.X.T, data.y).sum(axis=1)

    def pvalue(power: float) -> float:
        weights = np.exp(power * (scores.min() - scores))
        found = [
            stats.kstest(drawn[:, j], lambda t, j=j: _cdf(table[:, j], weights, t, edges)).pvalue
            for j in range(3)
        ]
        return float(min(found))

    edges = np.linspace(0.0, 1.0, 301)
    assert pvalue(1.0) > 1e-4
    assert pvalue(0.3) < 1e-6  # planted: a flatter law


def _cdf(values: np.ndarray, weights: np.ndarray, t: np.ndarray, edges: np.ndarray) -> np.ndarray:
    mass, _ = np.histogram(values, edges, weights=weights)
    return np.interp(t, edges, np.append(0.0, np.cumsum(mass)) / mass.sum())


def test_flat_sets_keep_lengths_and_projections() -> None:
    rng = np.random.default_rng(2)
    flat = flattened(Simplex(total=2.0), (4,))
    assert flat is not None
    for _ in range(20):
        v, g = rng.normal(size=3), rng.normal(size=3)
        w = flat.lift(flat.project(v))
        assert w == pytest.approx(Simplex(total=2.0).project(flat.lift(v)), abs=1e-12)
        assert np.linalg.norm(flat.lift(v) - flat.lift(g)) == pytest.approx(np.linalg.norm(v - g))
        vertices = np.array([flat.coordinates(c) for c in 2.0 * np.eye(4)])
        assert flat.support(g) == pytest.approx((vertices @ g).max())
    segment = VertexPolytope(points=((0.0, 0.0), (1.0, 1.0)))
    assert Region.of(segment, (2,)).dimension == 1
    assert flattened(L2Ball(radius=1.0), (2,)) is None
    triangle = VertexPolytope(points=((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    assert Region.of(triangle, (2,)).constraint is triangle


def test_the_grid_is_public_and_its_law_exact() -> None:
    law = target(Hinge(), L2Ball(radius=1.0), 2)
    sampler = GridSampler(law, 4)
    points = grid_points(law.region, 4)
    assert (np.linalg.norm(points, axis=1) <= 1 + 1e-9).all()
    log = -np.array([law.evaluate(w)[0] for w in points])
    chances = np.exp(log) / np.exp(log).sum()
    random = Seeded(4)
    assert fit([sampler.draw(random) for _ in range(2500)], points, chances) > 1e-4


def walk_on_a_grid(p: int, m: int, rise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the chain and its law for a convex score that rises by at most so much."""
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
    return chain, np.exp(-scores) / np.exp(-scores).sum()


def test_the_grid_walk_keeps_its_promise_on_exact_spectra() -> None:
    """|P^N(x, y) / pi(y) - 1| <= xi, by matrix powers."""
    for p, m, rise in ((1, 6, 2.0), (2, 4, 1.0)):
        chain, law = walk_on_a_grid(p, m, rise)
        after = np.linalg.matrix_power(chain, walk_steps(p, m, rise, 0.05))
        assert np.abs(after / law - 1).max() <= 0.05


def test_no_cut_of_a_grid_is_narrower_than_proved_and_steps_follow_from_it() -> None:
    for p, m, rise in ((1, 9, 7.0), (2, 3, 0.0), (2, 3, 5.0)):
        chain, law = walk_on_a_grid(p, m, rise)
        flow, proved = law[:, None] * chain, math.exp(-rise / m) / (2 * p * m)
        narrowest = 1.0
        for cut in range(1, 2 ** (len(law) - 1)):
            inside = np.array([cut >> i & 1 == 1 for i in range(len(law))])
            smaller = min(law[inside].sum(), law[~inside].sum())
            narrowest = min(narrowest, float(flow[np.ix_(inside, ~inside)].sum() / smaller))
        assert proved <= narrowest
        # Cheeger's gap is half of the square; the least probability starts the decay.
        start = p * math.log(m) + rise
        needed = 2 / proved**2 * (start + math.log(1 / 0.05))
        assert walk_steps(p, m, rise, 0.05) == pytest.approx(needed, abs=1.0)
        assert law.min() >= math.exp(-start)


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
    two = np.array([envelope.draw(random) for _ in range(400)])
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


@pytest.mark.parametrize("quantile", [0.5, 0.9])
def test_rank_scores_and_draws(quantile: float) -> None:
    values = np.array([3, 3, 7, 12, 0, 15, 15])
    law = PiecewiseLinear.ranks(values, size=16, quantile=quantile, scale=0.7)
    index = np.arange(16)
    # How many values would have to move across a point for it to be the quantile.
    under, over = (values < index[:, None]).sum(axis=1), (values > index[:, None]).sum(axis=1)
    scores = 0.7 * np.maximum(0, np.maximum(under - 7 * quantile, over - 7 * (1 - quantile)))
    assert law.scores(index) == pytest.approx(scores, rel=1e-12)
    chances = np.exp(-scores) / np.exp(-scores).sum()
    random = Seeded(9)
    counts = np.bincount([law.draw(random) for _ in range(5000)], minlength=16)
    assert stats.chisquare(counts, chances * 5000).pvalue > 1e-4


def test_no_coin_of_a_quantile_needs_a_chance_above_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masses beside very large scores are rounded coarsely; the common factor must cover that."""
    seen: list[float] = []

    def record(near: float, error: float, exact: Callable[[], Any], random: Randomness) -> bool:
        with mp.workprec(200):
            seen.append(float(exact()))
        return True

    monkeypatch.setattr(one_dimensional, "below_exp", record)
    counts = np.arange(2, 200)
    law = PiecewiseLinear(np.cumsum(counts) - counts, counts, np.full(198, 2.0**36), np.zeros(198))
    random = Seeded(3)
    for _ in range(200):
        law.draw(random)
    assert max(seen) <= 0.0
    # Planted: with a fixed factor of 2**-20 some coins would have been silently capped.
    slack = 2.0**-45 * (64.0 + 2.0**36)
    assert max(seen) + slack - 2.0**-20 > 0.0


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
        Region.of(Simplex(), (1,))
