"""Intervals hold what they say: exactly where that is claimed, else by simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from discreet.evaluation.accuracy import exact_share
from discreet.evaluation.laws import NoiseLaw
from discreet.evaluation.means import Size, mean_estimate, r2_estimate
from discreet.evaluation.released_sums import moments, spread_moments
from discreet.evaluation.table import ScoreTable

RUNS = 2000
SLACK = 4 * math.sqrt(0.95 * 0.05 / RUNS)  # a false alarm in 16,000


# The law of sums of noise.


@pytest.mark.parametrize("z", [-3.0, -0.2, 0.7, 4.0])
def test_sums_of_laplace_noise_have_the_law_that_quadrature_finds(z):
    law, scale = NoiseLaw("laplace", 1.7), 1.7
    assert law.cdf(z) == pytest.approx(stats.laplace.cdf(z, scale=scale), abs=1e-14)
    for terms in (2, 3, 7):
        # By the characteristic function, 1 / (1 + scale^2 t^2)^terms.
        def wave(t, terms=terms):
            return math.sin(t * z) / t / (1 + (scale * t) ** 2) ** terms

        expected = 0.5 + quad(wave, 1e-12, 60, limit=2000)[0] / math.pi
        assert float(law.cdf(z, terms)) == pytest.approx(expected, abs=2e-6)


def test_sums_of_many_draws_have_their_variance():
    for kind in ("gaussian", "laplace"):
        law = NoiseLaw(kind, 0.8)
        tail = 4 * quad(lambda z, law=law: z * (1 - float(law.cdf(z, 25))), 0, 60)[0]
        assert tail == pytest.approx(25 * law.deviation**2, rel=1e-6)


# The exact interval of a share.


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize(("n", "p", "terms"), [(12, 0.5, 1), (12, 0.8, 1), (40, 0.9, 4)])
def test_interval_of_a_share_covers_exactly_its_level(kind, n, p, terms):
    law = NoiseLaw(kind, 1.3)

    def ends(counted):
        return exact_share(counted, n, lambda z: law.cdf(z, terms), level=0.9, noise=1.0)

    # The interval holds p between the two releases where p is one of its ends.
    upper = brentq(lambda o: ends(o).low - p, -20, n + 60, xtol=1e-9)
    lower = brentq(lambda o: ends(o).high - p, -60, n + 20, xtol=1e-9)
    k = np.arange(n + 1)
    inside = law.cdf(upper - k, terms) - law.cdf(lower - k, terms)
    assert stats.binom.pmf(k, n, p) @ inside == pytest.approx(0.9, abs=1e-6)


def test_width_of_the_interval_is_that_of_the_specification():
    # 50 rows, p = .5, epsilon 1, delta 1e-6: noise of half a row's sensitivity, and of one row's.
    random, widths = np.random.default_rng(0), {}
    for noise in (4.22468 / 2, 4.22468):
        law, found = NoiseLaw("gaussian", noise), []
        for _ in range(300):
            counted = random.binomial(50, 0.5) + noise * random.normal()
            share = exact_share(counted, 50, law.cdf, level=0.95, noise=noise)
            found.append(share.high - share.low)
        widths[noise] = np.mean(found)
    assert list(widths.values()) == pytest.approx([0.312, 0.415], abs=0.006)


def covered(scale, runs=500):
    """Return how often an interval of a share holds it that knows of noise of such a scale."""
    random, law, hits = np.random.default_rng(1), NoiseLaw("gaussian", scale), 0
    for _ in range(runs):
        counted = random.binomial(60, 0.85) + 3.0 * random.normal()
        share = exact_share(counted, 60, law.cdf, level=0.95, noise=scale)
        hits += share.low <= 0.85 <= share.high
    return hits / runs


def test_interval_of_a_share_covers_by_simulation():
    assert abs(covered(3.0) - 0.95) < 2 * SLACK  # a quarter of the runs


@pytest.mark.parametrize("scale", [1e-3, 1.5])
def test_interval_that_ignores_noise_fails(scale):
    assert covered(scale) < 0.95 - 2 * SLACK


def test_shares_of_millions_of_rows_are_quick_and_right():
    share = exact_share(850_000.0, 1_000_000, NoiseLaw("gaussian", 4.0).cdf, level=0.95, noise=4.0)
    half = 1.96 * math.sqrt(0.85 * 0.15 / 1e6)
    assert share.low == pytest.approx(0.85 - half, abs=2e-6)
    assert share.high == pytest.approx(0.85 + half, abs=2e-6)


def test_releases_beyond_all_rows_give_an_interval_at_the_end():
    law = NoiseLaw("gaussian", 1.0)
    over = exact_share(70.0, 50, law.cdf, level=0.95, noise=1.0)
    assert (over.value, over.high) == (1.0, 1.0)
    under = exact_share(-20.0, 50, law.cdf, level=0.95, noise=1.0)
    assert (under.value, under.low) == (0.0, 0.0)


# Tables.


def scored(random, n_negative, n_positive, bins=50, gap=1.2):
    """Return a table of two classes whose normal scores are ``gap`` apart."""
    found = []
    for n, shift in ((n_negative, -gap / 2), (n_positive, gap / 2)):
        score = stats.norm.cdf(random.normal(shift, 1.0, n))
        found.append(np.bincount(np.minimum((score * bins).astype(int), bins - 1), minlength=bins))
    return np.array(found, dtype=float)


@pytest.mark.parametrize(("sizes", "reference"), [((5000, 5000), 0.00231), ((9000, 1000), 0.00827)])
def test_noise_of_the_area_has_the_deviation_of_the_formula(sizes, reference):
    random = np.random.default_rng(2)
    cells, law = scored(random, *sizes, gap=1.22), NoiseLaw("gaussian", 4.22468)
    areas = [
        ScoreTable(cells + law.scale * random.normal(size=cells.shape), law, 0.95).auc().value
        for _ in range(4000)
    ]
    said = ScoreTable(cells, law, 0.95).auc()
    assert said.value == pytest.approx(0.805, abs=0.015)
    assert said.noise == pytest.approx(np.std(areas), rel=0.05)
    assert said.noise == pytest.approx(reference, rel=0.12)


def test_area_is_that_of_all_pairs():
    cells = np.array([[3.0, 1.0, 0.0, 2.0], [0.0, 2.0, 2.0, 1.0]])
    low, high = (np.repeat(np.arange(4), c.astype(int)) for c in cells)
    pairs = (high[:, None] > low).mean() + 0.5 * (high[:, None] == low).mean()
    assert ScoreTable(cells, NoiseLaw("gaussian", 1e-9), 0.95).auc().value == pytest.approx(pairs)


def truth(name, bins=50, gap=1.2):
    """Return a metric of the law that ``scored`` draws from: that of the table it expects."""
    edges = stats.norm.ppf(np.linspace(0.0, 1.0, bins + 1))
    shares = [np.diff(stats.norm.cdf(edges - shift)) for shift in (-gap / 2, gap / 2)]
    cells = np.array([3e6 * shares[0], 2e6 * shares[1]])
    return getattr(ScoreTable(cells, NoiseLaw("gaussian", 1e-9), 0.95), name)().value


@pytest.mark.parametrize("name", ["auc", "recall", "precision", "f1", "balanced_accuracy"])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_intervals_of_table_metrics_cover(name, kind):
    random, target, hits = np.random.default_rng(3), truth(name), 0
    law = NoiseLaw(kind, 4.0)
    draw = random.normal if kind == "gaussian" else random.laplace
    for _ in range(RUNS // 2):
        positive = random.binomial(2500, 0.4)
        cells = scored(random, 2500 - positive, positive)
        found = getattr(ScoreTable(cells + draw(scale=4.0, size=cells.shape), law, 0.95), name)()
        assert found.value == found.value  # not refused
        hits += found.low <= target <= found.high
    slack = math.sqrt(2) * SLACK
    assert 0.95 - slack - 0.005 < hits / (RUNS // 2) < 0.95 + slack + 0.01


def test_tables_where_noise_outweighs_a_class_are_refused_or_covered():
    random, law = np.random.default_rng(4), NoiseLaw("gaussian", 4.0)
    target, hits, refused = truth("auc"), 0, 0
    for _ in range(RUNS):
        cells = scored(random, 900, 190)  # the smaller class is at the edge of refusal
        found = ScoreTable(cells + 4.0 * random.normal(size=cells.shape), law, 0.95).auc()
        refused += math.isnan(found.value)
        hits += found.low <= target <= found.high
    assert 0.1 * RUNS < refused < 0.9 * RUNS
    assert hits / RUNS > 0.95 - SLACK


def test_cells_are_not_cut_before_they_are_added_up():
    cells = np.full((2, 50), -3.0)
    cells[0, 0], cells[1, -1] = 5000.0, 5000.0
    table = ScoreTable(cells, NoiseLaw("gaussian", 3.0), 0.95)
    assert table.confusion()[0, 0] == 5000.0 - 3.0 * 24
    assert table.recall().value < 1.0 or table.confusion()[1, 0] < 0


# Means.


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_intervals_of_means_cover(kind, counted):
    random, n, hits = np.random.default_rng(5), 1500, 0
    law, count = NoiseLaw(kind, 5.0), NoiseLaw(kind, 8.0)
    draw = random.normal if kind == "gaussian" else random.laplace
    for _ in range(RUNS):
        v = random.beta(0.5, 3.0, n)
        block = moments(v, np.ones(n, dtype=bool)) + draw(scale=5.0, size=2)
        size = Size(n + draw(scale=8.0), count.deviation) if counted else Size(float(n))
        found = mean_estimate(block, law, size, level=0.95, low=0.0, high=2.0)
        hits += found.low <= 2 * 0.5 / 3.5 <= found.high
    assert 0.95 - SLACK - 0.01 < hits / RUNS < 0.95 + SLACK + 0.02


@pytest.mark.parametrize(("low", "high", "mean"), [(0.0, 0.52, 0.06), (0.34, 0.66, 0.5)])
def test_intervals_of_means_cover_where_noise_hides_how_values_vary(low, high, mean):
    random, n, law, hits = np.random.default_rng(8), 100, NoiseLaw("gaussian", 1.0), 0
    for _ in range(RUNS):
        v = np.where(random.random(n) < (mean - low) / (high - low), high, low)
        block = moments(v, np.ones(n, dtype=bool)) + random.normal(size=2)
        found = mean_estimate(block, law, Size(float(n)), level=0.95, low=0.0, high=1.0)
        hits += found.low <= mean <= found.high
    assert hits / RUNS > 0.95 - SLACK  # without the deviation that is added, less than 0.92


@pytest.mark.parametrize("counted", [False, True])
def test_intervals_of_r2_cover(counted):
    random, n, hits = np.random.default_rng(6), 3000, 0
    law = NoiseLaw("gaussian", 5.0)
    big = np.random.default_rng(7)
    error, x = 0.15 * big.normal(size=10**6), big.uniform(-0.2, 0.8, 10**6)
    target = 1 - (error**2).mean() / (x + error).var()
    for _ in range(RUNS):
        error, x = 0.15 * random.normal(size=n), random.uniform(-0.2, 0.8, n)
        block = spread_moments(np.clip(error, -1, 1), np.clip(x + error, -1, 1), np.ones(n, bool))
        size = Size(n + 8.0 * random.normal(), 8.0) if counted else Size(float(n))
        found = r2_estimate(
            block + 5.0 * random.normal(size=5), law, size, level=0.95, residual=1.0, reach=1.0
        )
        hits += found.low <= target <= found.high
    assert hits / RUNS > 0.95 - SLACK  # it may cover more: two deviations are added up


def test_r2_without_spread_is_not_known():
    law = NoiseLaw("gaussian", 5.0)
    block = spread_moments(np.zeros(100), np.full(100, 0.5), np.ones(100, dtype=bool))
    found = r2_estimate(block, law, Size(100.0), level=0.95, residual=1.0, reach=1.0)
    assert math.isnan(found.value)
    assert (found.low, found.high) == (-math.inf, 1.0)
