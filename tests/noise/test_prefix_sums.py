"""Prefix sums against brute-force matrices, patterns and known constants."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import Gaussian, epsilon_at, gaussian_multiplier
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise import Seeded
from discreet.noise.prefix import BLT, STRATEGIES, PrefixSums, Strategy, Toeplitz, Tree, best_blt

NAMES = pytest.mark.parametrize("name", sorted(STRATEGIES))
SIZES = pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])


def matrices(strategy: Strategy) -> tuple[np.ndarray, np.ndarray]:
    """Read B and C off the running form: feed it unit vectors."""
    n = strategy.horizon
    coder, blocks = strategy.coder((n,)), []
    for x in np.eye(n):
        blocks.append(coder.encode(x))
        coder.steps += 1
    C = np.concatenate(blocks)
    coder, B, at = strategy.coder((len(C),)), [], 0
    for block in blocks:
        B.append(coder.decode(np.eye(len(C))[at : at + len(block)]))
        at += len(block)
    return np.array(B), C


def intervals(n: int) -> list[tuple[int, int]]:
    """All dyadic intervals within 1..n."""
    return [
        (i * 2**k + 1, (i + 1) * 2**k)
        for k in range(n.bit_length())
        for i in range(n)
        if (i + 1) * 2**k <= n
    ]


def plan(strategy: Strategy, **changes: object) -> PrefixSums:
    settings: dict[str, object] = {
        "sensitivity": 1.0,
        "multiplier": 1.0,
        "shape": (3,),
        "reach": 1.0,
    }
    return PrefixSums.plan(strategy, **(settings | changes))  # type: ignore[arg-type]


# Matrices.


@NAMES
@SIZES
def test_the_factors_multiply_to_prefix_sums(name: str, n: int) -> None:
    B, C = matrices(STRATEGIES[name](n))
    assert np.allclose(B @ C, np.tri(n), atol=1e-12)


@NAMES
@SIZES
def test_sensitivity_variance_and_gain_are_those_of_the_matrices(name: str, n: int) -> None:
    strategy = STRATEGIES[name](n)
    B, C = matrices(strategy)
    largest = np.linalg.norm(C, axis=0).max()
    assert largest <= strategy.sensitivity() <= largest * (1 + 2e-9)
    for t in range(1, n + 1):
        assert strategy.variance(t) == pytest.approx((B[t - 1] ** 2).sum(), rel=1e-9)
    assert strategy.largest_variance == pytest.approx((B**2).sum(axis=1).max(), rel=1e-9)
    assert C.sum(axis=1).max() <= strategy.gain * (1 + 1e-12)
    assert (C != 0).sum(axis=0).max() <= strategy.touched()


@SIZES
def test_trees_hold_the_dyadic_nodes(n: int) -> None:
    full, C = intervals(n), matrices(Tree(n, refine=True))[1]
    nodes = {(int(row.argmax()) + 1, int(np.flatnonzero(row).max()) + 1) for row in C}
    assert nodes == set(full)
    assert len(C) == len(full)
    # The plain tree releases, at every step, the largest node that ends there.
    plain = matrices(Tree(n))[1]
    for t in range(1, n + 1):
        start = min(a for a, b in full if b == t)
        assert np.flatnonzero(plain[t - 1]).tolist() == list(range(start - 1, t))


def test_toeplitz_is_the_square_root() -> None:
    B, C = matrices(Toeplitz(9))
    assert np.allclose(B, C)
    assert np.allclose(C @ C, np.tri(9))
    inverse = np.linalg.inv(C)[:, 0]
    assert np.allclose(inverse[:5], [1.0, -0.5, -0.125, -0.0625, -0.0390625])


def test_honaker_mixes_as_least_squares_would() -> None:
    # The best estimate of a root from the nodes below it is generalised least squares.
    C = matrices(Tree(8, refine=True))[1]
    best = np.ones(8) @ np.linalg.pinv(C)
    assert Tree(8, refine=True).variance(8) == pytest.approx(float(best @ best))
    assert [Tree(8, refine=True).variance(2**k) for k in range(4)] == pytest.approx(
        [1, 2 / 3, 4 / 7, 8 / 15]
    )


# Constants of the specification.


def test_tree_noise_vectors() -> None:
    z = gaussian_multiplier(1.0, 1e-6)
    for n, value in ((1, 4.22468), (2, 5.97460), (8, 8.44936), (1000, 13.35961), (1024, 14.01167)):
        assert Tree(n).sensitivity() * z == pytest.approx(value, abs=1e-5)
        assert plan(Tree(n), multiplier=z).sigma == pytest.approx(value, rel=2e-6)
    for n, value in ((2**10, 7.642530), (2**16, 9.057424)):
        assert Toeplitz(n).sensitivity() * z == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("strategy", "largest", "rms"),
    [
        (Tree(2**10), 10.4881, 7.4169),
        (Tree(2**16), 16.4924, 11.6619),
        (Tree(2**10, refine=True), 7.9895, 5.6499),
        (Tree(2**16, refine=True), 12.2334, 8.6503),
        (Toeplitz(2**10), 3.272554, 3.109790),
        (Toeplitz(2**16), 4.596444, 4.434444),
        (
            BLT(
                2**10,
                (0.5, 0.908325, 0.987882, 0.999197),
                (0.210580, 0.177146, 0.074506, 0.038108),
            ),
            3.27302,
            3.1101,
        ),
        (
            BLT(
                2**16,
                (0.5, 0.973070, 0.999115, 0.9999761),
                (0.316265, 0.173553, 0.032010, 0.0072554),
            ),
            4.63810,
            4.4620,
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_table_of_errors(strategy: Strategy, largest: float, rms: float) -> None:
    n, sens = strategy.horizon, strategy.sensitivity()
    # An even sample of steps is enough for the mean; trees repeat with powers of two.
    step = 1 if isinstance(strategy, Tree) or n < 2**12 else 16
    variances = np.array([strategy.variance(t) for t in range(1, n + 1, step)] + [0.0])
    most = max(variances.max(), strategy.variance(n))
    assert sens * math.sqrt(most) == pytest.approx(largest, rel=2e-5)
    # The table's mean for trees is over t = 0 .. n - 1, which differs by less than 1/n.
    mean = variances.sum() / (len(variances) - 1)
    assert sens * math.sqrt(mean) == pytest.approx(rms, rel=1e-3)


def test_blt_sensitivities_of_the_specification() -> None:
    first = BLT(
        2**10, (0.5, 0.908325, 0.987882, 0.999197), (0.210580, 0.177146, 0.074506, 0.038108)
    )
    second = BLT(
        2**16, (0.5, 0.973070, 0.999115, 0.9999761), (0.316265, 0.173553, 0.032010, 0.0072554)
    )
    for blt, value in ((first, 1.808996), (second, 2.144849)):
        assert blt.sensitivity() == pytest.approx(value, abs=1e-6)
        assert blt.sensitivity() >= np.linalg.norm(blt.coefficients)
    assert Toeplitz(2**10).sensitivity() == pytest.approx(1.809020, abs=1e-6)
    assert Toeplitz(2**16).sensitivity() == pytest.approx(2.143932, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5, 64, 1024, 2**16])
def test_the_search_finds_a_nearly_best_blt(n: int) -> None:
    found, best = best_blt(n), Toeplitz(n)
    error = found.sensitivity() * math.sqrt(found.variance(n))
    floor = best.sensitivity() * math.sqrt(best.variance(n))
    assert floor * (1 - 1e-9) <= error <= 1.001 * floor
    assert np.all(np.diff(found.coefficients) <= 0)


def test_a_search_needs_a_horizon() -> None:
    for horizon in (0, -1, 2.5):
        with pytest.raises(InvalidParameter, match="horizon"):
            best_blt(horizon)  # type: ignore[arg-type]


@NAMES
def test_a_row_enters_once_unless_told_otherwise(name: str) -> None:
    strategy = STRATEGIES[name](9)
    assert strategy.sensitivity() == strategy.sensitivity(1, 1) < strategy.sensitivity(2)
    assert strategy.sensitivity(2) == strategy.sensitivity(2, 1)


def test_k_participation_values() -> None:
    assert Toeplitz(1000).sensitivity(2, 500) == pytest.approx(2.726035, abs=1e-6)
    assert Toeplitz(1000).sensitivity(10, 100) == pytest.approx(9.154043, abs=1e-6)
    assert Tree(1024).sensitivity(2, 512) == pytest.approx(4.899, abs=1e-3)
    assert Tree(1024).sensitivity(8, 128) == pytest.approx(13.266, abs=1e-3)
    assert Tree(16).sensitivity(5, 3) == pytest.approx(math.sqrt(60))


# Participation patterns.


def patterns(n: int, k: int, b: int) -> list[tuple[int, ...]]:
    return [
        p
        for size in range(1, k + 1)
        for p in itertools.combinations(range(n), size)
        if all(y - x >= b for x, y in itertools.pairwise(p))
    ]


def worst(C: np.ndarray, k: int, b: int) -> float:
    return max(float(np.linalg.norm(C[:, p].sum(axis=1))) for p in patterns(C.shape[1], k, b))


@NAMES
@pytest.mark.parametrize(
    ("n", "k", "b"), [(7, 2, 3), (8, 8, 1), (11, 3, 2), (12, 4, 3), (10, 3, 7)]
)
def test_no_pattern_exceeds_the_sensitivity(name: str, n: int, k: int, b: int) -> None:
    strategy = STRATEGIES[name](n)
    C = matrices(strategy)[1]
    most = worst(C, k, b)
    claim = strategy.sensitivity(k, b)
    assert most <= claim * (1 + 1e-12)
    if not isinstance(strategy, Tree):
        assert claim == pytest.approx(most, rel=2e-9)
    # Changes of different directions never do worse than changes of one direction.
    rng = np.random.default_rng(n + k)
    for p in patterns(n, k, b)[::7]:
        v = rng.normal(size=(len(p), 3))
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        assert np.linalg.norm(C[:, p] @ v) <= claim


def test_fixed_strides_miss_the_worst_pattern_of_a_tree() -> None:
    C = matrices(Tree(16))[1]
    full = np.zeros((0, 16))
    for a, b in intervals(16):
        row = np.zeros((1, 16))
        row[0, a - 1 : b] = 1.0
        full = np.concatenate([full, row])
    assert worst(full, 5, 3) == pytest.approx(7.549834, abs=1e-6)
    strides = max(float(np.linalg.norm(full[:, s::3][:, :5].sum(axis=1))) for s in range(3))
    assert strides == pytest.approx(7.416, abs=1e-3)
    assert worst(C, 5, 3) <= Tree(16).sensitivity(5, 3)
    assert strides < worst(full, 5, 3) <= Tree(16).sensitivity(5, 3)


# The published slip: ceil(log2 n) levels.


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "true"),
    [(1.0, 1e-6, 2, 1.106), (4.0, 1e-12, 2, 5.01), (4.0, 1e-12, 4, 4.30), (4.0, 1e-12, 8, 4.04)],
)
def test_one_level_short_is_not_private_enough(
    epsilon: float, delta: float, n: int, true: float
) -> None:
    levels = math.ceil(math.log2(n))
    printed = math.sqrt(levels) * math.sqrt(2 * (math.log(1 / delta) + epsilon)) / epsilon
    largest = np.linalg.norm(matrices(Tree(n))[1], axis=0).max()
    cost = epsilon_at(Gaussian(printed / largest), delta)
    assert cost == pytest.approx(true, abs=6e-3)
    assert cost > epsilon
    ours = Tree(n).sensitivity() * gaussian_multiplier(epsilon, delta)
    assert epsilon_at(Gaussian(ours / largest), delta) <= epsilon * (1 + 1e-9)


def test_one_level_short_gives_no_noise_for_one_item() -> None:
    assert math.ceil(math.log2(1)) == 0
    assert Tree(1).sensitivity() == 1.0


# The noise that comes out.


@NAMES
def test_the_error_is_the_matrix_b_times_the_noise(name: str) -> None:
    sums = plan(STRATEGIES[name](13))
    B, C = matrices(sums.strategy)
    running, random = sums.start(), Seeded(3)
    x = np.random.default_rng(0).normal(size=(13, 3)) / 4
    prefixes = np.array([running.push(row, random) for row in x])
    again, noise = Seeded(3), []
    widths = np.diff(np.searchsorted(_ends(C), np.arange(14), side="left"))
    for width in widths:
        noise.append(sums.noise.sample((int(width), 3), again))
    assert np.allclose(prefixes, np.cumsum(x, axis=0) + B @ np.concatenate(noise), atol=1e-5)


def _ends(C: np.ndarray) -> np.ndarray:
    """Index of the last vector in each row of C."""
    return np.array([np.flatnonzero(row).max() for row in C])


@NAMES
def test_covariance_of_the_error(name: str) -> None:
    # Coordinates are independent replicates, so one run measures the whole covariance.
    n, size = 6, 20_000
    sums = plan(STRATEGIES[name](n), shape=(size,))
    running, random = sums.start(), Seeded(11)
    errors = np.array([running.push(np.zeros(size), random) for _ in range(n)])
    B = matrices(sums.strategy)[0]
    claim = sums.sigma**2 * B @ B.T
    root = np.linalg.cholesky(claim)
    white = np.linalg.solve(root, errors).ravel()
    assert stats.kstest(white, "norm").pvalue > 1e-4
    assert stats.kstest(2 * white, "norm").pvalue < 1e-9  # half the noise would show
    measured = errors @ errors.T / size
    spread = np.sqrt((claim**2 + np.outer(np.diag(claim), np.diag(claim))) / size)
    assert np.all(np.abs(measured - claim) < 5 * spread)
    for t in range(1, n + 1):
        assert sums.deviation(t) == pytest.approx(math.sqrt(claim[t - 1, t - 1]))


@NAMES
def test_rows_lie_on_the_grid_and_the_grid_is_public(name: str) -> None:
    sums = plan(STRATEGIES[name](9))
    step, seen = sums.noise.grid.step, []
    running = sums.start()
    inner = running._coder.decode
    running._coder.decode = lambda noisy: (seen.append(noisy), inner(noisy))[1]  # type: ignore[method-assign,func-returns-value]
    for x in np.random.default_rng(1).normal(size=(9, 3)) / 3:
        running.push(x, Seeded(2))
    rows = np.concatenate(seen)
    assert np.all(rows / step == np.rint(rows / step))
    assert not np.signbit(rows[rows == 0]).any()


def adaptive_rows(
    sums: PrefixSums, first: np.ndarray, other: np.ndarray, at: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two neighbours that saw the same releases, vectors chosen from the releases."""
    one, two, random = sums.strategy.coder((3,)), sums.strategy.coder((3,)), Seeded(seed)
    rows, prefix = ([], []), np.zeros(3)
    for t in range(sums.strategy.horizon):
        chosen = np.sin(7.0 * prefix + t)
        chosen /= max(1.0, float(np.linalg.norm(chosen)))
        pair = [first if t == at else chosen, other if t == at else chosen]
        for coder, x, kept in zip((one, two), pair, rows, strict=True):
            kept.append(sums.noise.grid.round(coder.encode(x)))
        noisy = rows[0][-1] + sums.noise.sample(rows[0][-1].shape, random)
        prefix = one.decode(noisy)
        two.decode(noisy)
    return np.concatenate(rows[0]), np.concatenate(rows[1])


@NAMES
@pytest.mark.parametrize("n", [1, 2, 8, 100])
def test_neighbours_with_adaptive_vectors_stay_within_what_is_paid(name: str, n: int) -> None:
    sums = plan(STRATEGIES[name](n))
    distances = [
        float(np.linalg.norm(np.subtract(*adaptive_rows(sums, unit, np.zeros(3), at, at))))
        for at in sorted({0, 1 % n, n // 2, n - 1})
        for unit in (np.array([1.0, 0.0, 0.0]), np.full(3, 1 / math.sqrt(3)))
    ]
    assert max(distances) <= sums.paid
    assert max(distances) >= (1 - 1e-6) * sums.paid  # one level less of a tree would break it


@pytest.mark.parametrize("name", ["blt", "toeplitz", "tree"])
def test_a_likelihood_ratio_attack_does_as_well_as_claimed(name: str) -> None:
    # The best attack on the worst pair; coordinates are independent replicates.
    n, size, z = 4, 8000, 1.5
    sums = PrefixSums.plan(
        STRATEGIES[name](n), sensitivity=1.0, multiplier=z, shape=(size,), reach=1.0
    )
    B, C = matrices(sums.strategy)
    column = C[:, np.linalg.norm(C, axis=0).argmax()]
    running, random = sums.start(), Seeded(5)
    x = np.zeros((n, size))
    x[int(np.linalg.norm(C, axis=0).argmax())] = 1.0
    prefixes = np.array([running.push(row, random) for row in x])
    rows = np.linalg.solve(B, prefixes)
    score = column @ rows / (sums.sigma * np.linalg.norm(column))
    law = stats.norm(loc=1 / z)
    assert stats.kstest(score, law.cdf).pvalue > 1e-4
    assert stats.kstest(score, stats.norm(loc=2 / z).cdf).pvalue < 1e-9


# The running form.


@NAMES
def test_the_horizon_is_a_promise(name: str) -> None:
    running = plan(STRATEGIES[name](2)).start()
    for _ in range(2):
        running.push(np.zeros(3), Seeded(0))
    with pytest.raises(Incompatible, match="horizon of 2 steps"):
        running.push(np.zeros(3), Seeded(0))


@NAMES
def test_a_saved_stream_goes_on_bit_for_bit(name: str) -> None:
    sums, x = plan(STRATEGIES[name](40)), np.random.default_rng(4).normal(size=(40, 3)) / 4
    straight, random = sums.start(), Seeded(9)
    expected = [straight.push(row, random) for row in x]
    running, random = sums.start(), Seeded(9)
    for t, row in enumerate(x):
        if t in (0, 1, 5, 17, 32):
            saved = json.loads(json.dumps(running.state()))
            running = sums.start()
            running.restore(saved)
        assert np.array_equal(running.push(row, random), expected[t])


@NAMES
def test_a_copy_goes_on_alone(name: str) -> None:
    sums = plan(STRATEGIES[name](8))
    running = sums.start()
    for _ in range(3):
        running.push(np.ones(3) / 2, Seeded(0))
    before = running.state()
    twin = running.copy()
    twin.push(np.ones(3) / 2, Seeded(1))
    assert running.state() == before
    assert twin.steps == 4


def test_a_state_of_another_stream_is_refused() -> None:
    state = plan(Tree(8)).start().state()
    with pytest.raises(InvalidParameter, match="does not fit"):
        plan(Tree(8), shape=(2,)).start().restore(state)
    with pytest.raises(InvalidParameter, match="does not fit"):
        plan(Tree(2)).start().restore(state)
    with pytest.raises(InvalidParameter, match="does not fit"):
        plan(Tree(8)).start().restore(state | {"steps": 9})


@pytest.mark.parametrize(("name", "most"), [("tree", 20), ("honaker", 20), ("blt", 11)])
def test_memory_does_not_grow_with_the_stream(name: str, most: int) -> None:
    running, random = plan(STRATEGIES[name](600), shape=(1,)).start(), Seeded(0)
    for _ in range(600):
        running.push(np.zeros(1), random)
    state = running.state()
    held = sum(np.size(a) for kind in ("secret", "public") for a in state[kind].values())
    assert held <= most


def test_bad_arguments() -> None:
    for decays, weights in (((1.0,), (0.1,)), ((0.5,), (1.1,)), ((0.5,), (-0.1,)), ((0.5,), ())):
        with pytest.raises(InvalidParameter, match="decays"):
            BLT(4, decays, weights)
    for strategy in (Tree, Toeplitz, best_blt):
        with pytest.raises(InvalidParameter):
            strategy(0)


@pytest.mark.parametrize(("times", "apart"), [(1, 1), (3, 4)])
def test_noise_pays_for_participations_rounding_and_grid(times: int, apart: int) -> None:
    tree, reach = Tree(16), 1e7  # so far that the rounding of sums shows
    sums = plan(
        tree,
        sensitivity=1e-3,
        multiplier=2.0,
        shape=(5,),
        reach=reach,
        participations=times,
        separation=apart,
    )
    touched = tree.touched(times)
    moved = tree.sensitivity(times, apart) * 1e-3
    moved += 2 * math.sqrt(touched) * tree.rounding * reach
    assert sums.paid >= moved + math.sqrt(touched * 5) * sums.noise.grid.step
    assert sums.sigma >= 2.0 * sums.paid


@pytest.mark.parametrize("sensitivity", [1e-3, 1e3])
def test_the_grid_holds_sums_and_noise(sensitivity: float) -> None:
    made = plan(Tree(16), sensitivity=sensitivity, multiplier=2.0, shape=(5,), reach=sensitivity)
    assert made.noise.grid.reach >= 19.9 * made.sigma
    assert made.noise.grid.reach >= Tree(16).gain * sensitivity


def test_the_rounding_of_a_toeplitz_row_is_covered() -> None:
    strategy, rng = Toeplitz(64), np.random.default_rng(0)
    coder, given = strategy.coder((8,)), rng.uniform(-1, 1, (64, 8)) / math.sqrt(8)
    true = [Fraction(1)]
    for k in range(1, 64):
        true.append(true[-1] * (2 * k - 1) / (2 * k))
    worst = 0.0
    for n, x in enumerate(given):
        rows = coder.encode(x)
        coder.decode(rows)
        found = np.ravel(rows)
        exact = [sum(true[n - i] * Fraction(given[i, j]) for i in range(n + 1)) for j in range(8)]
        gaps = [float(Fraction(a) - b) for a, b in zip(found, exact, strict=True)]
        worst = max(worst, float(np.linalg.norm(gaps)))
    assert worst <= strategy.rounding <= 2000 * worst
