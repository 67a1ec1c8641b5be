"""Noisy gradient descent: the law of a step, its noise against neighbours, rules and refusals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from discreet.accounting import Budget, CappedPoissonGaussian, epsilon_at, gaussian_multiplier
from discreet.algorithms import NoisyGradient, ObjectivePerturbation
from discreet.algorithms.gradient.adaptive_clip import AdaptiveClip
from discreet.algorithms.gradient.hidden_state import convex_factor, strong_factor
from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan
from discreet.algorithms.gradient.path import descend
from discreet.algorithms.gradient.settings import RULES
from discreet.algorithms.perturbation.objective_perturbation import ObjectivePerturbationPlan
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.losses import Absolute, Hinge, HuberisedHinge, Logistic, Loss, Softmax, Squared
from discreet.mechanisms.batches import CappedBatch, FixedSizeBatch, FullBatch, PoissonBatch
from discreet.mechanisms.gradient_noise import FEW_ROWS
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge
from discreet.sets import L2Ball, Simplex

BINARY = Bounds(row_norm=1.0, classes=(0, 1))
BUDGET = Budget(1.0, 1e-6)


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic(),
        "bounds": BINARY,
        "n_features": 2,
        "n_rows": 400,
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def classes(n: int, p: int, norm: float = 3.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = rng.normal(size=p)
    w *= norm / np.linalg.norm(w)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)


# Noise.


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (0.1, 1e-6, 36.3046904262),
        (0.5, 1e-6, 8.0576184807),
        (1.0, 1e-5, 3.7306316348),
        (1.0, 1e-6, 4.2246788893),
        (2.0, 1e-5, 1.9938124456),
        (4.0, 1e-5, 1.0811618495),
        (8.0, 1e-6, 0.6529353844),
    ],
)
@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
def test_full_batch_noise_is_exact(
    epsilon: float, delta: float, sigma: float, neighbours: str, apart: int
) -> None:
    for steps in (1, 49):
        plan = NoisyGradient(steps=steps).plan(
            problem(neighbours=neighbours), Budget(epsilon, delta)
        )
        expected = apart * math.sqrt(steps) * sigma
        assert plan.noise.scale == pytest.approx(expected, rel=1e-6)
        assert plan.noise.scale >= expected * (1 - 1e-10)
        assert epsilon_at(plan.guarantee.event, delta) == pytest.approx(epsilon, rel=1e-9)
    # The chapter's closed form needs more.
    assert sigma < math.sqrt(2 * (math.log(1 / delta) + epsilon)) / epsilon


@pytest.mark.parametrize("sampler", ["full", "poisson", "fixed-size"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_the_sampler_names_its_own_event(sampler: str, neighbours: str) -> None:
    config = NoisyGradient(sampler=sampler, batch=None if sampler == "full" else 40, steps=30)
    if (sampler, neighbours) == ("fixed-size", "add-remove"):
        with pytest.raises(Incompatible, match="public number of rows"):
            config.plan(problem(neighbours=neighbours), BUDGET)
        return
    plan = config.plan(problem(neighbours=neighbours), BUDGET)
    event = plan.guarantee.event
    assert event.delta(1.0) <= 1e-6 * (1 + 1e-9)
    if sampler != "full":
        assert event.rate == 0.1  # type: ignore[attr-defined]
        assert event.steps == 30  # type: ignore[attr-defined]
        # Amplification pays: less noise than without sampling, per full gradient.
        full = NoisyGradient(steps=30).plan(problem(neighbours="replace-one"), BUDGET)
        assert plan.noise.scale < full.noise.scale
    assert (FEW_ROWS in plan.guarantee.assumptions) == (neighbours == "add-remove")


@pytest.mark.parametrize(
    ("sampler", "neighbours", "moves"),
    [
        ("full", "zero-out", False),
        ("full", "replace-one", False),
        ("full", "add-remove", True),
        ("fixed-size", "zero-out", False),
        ("fixed-size", "replace-one", False),
        ("poisson", "zero-out", True),
        ("poisson", "replace-one", True),
        ("poisson", "add-remove", True),
    ],
)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_sums_of_rows_that_move_are_rounded_anew(
    sampler: str, neighbours: str, moves: bool, delta: float
) -> None:
    """Where one row more or less moves the places of others, all of a sum may round differently."""
    if delta == 0.0 and sampler != "full":
        return
    n = 2**30 if neighbours == "add-remove" else 4_000_000
    task = problem(neighbours=neighbours, n_rows=4_000_000)
    config = NoisyGradient(sampler=sampler, steps=2, batch=None if sampler == "full" else 10**6)
    plan = config.plan(task, Budget(1.0, delta))
    assert plan.shifting == moves
    # Every addition rounds by half a unit of the last of 53 places, in blocks of 2^14 rows.
    each = 2.0**-53 * 2**14
    rounded = 2 * each * (n if moves else 2**14)
    assert plan.noise.row - plan.clip >= rounded
    assert rounded > 1e-5 or not moves


def step_law(plan: NoisyGradientPlan, X: np.ndarray, y: np.ndarray, draws: int) -> list[float]:
    random = Seeded(11)
    rows = plan.problem.bound(ArraySource(X, y))
    with ClippedSums(rows, plan.problem.loss, shifting=plan.shifting) as sums:
        return [float(descend(plan, rows, sums, random)[0]) for _ in range(draws)]


REAL = Bounds(row_norm=1.0, label=(-1.0, 1.0))
ONE = {"n_features": 1, "n_rows": 40, "loss": Logistic()}
LINE = np.linspace(-1.0, 1.0, 40).reshape(-1, 1)
SIDE = (LINE[:, 0] > -0.3).astype(int)


def test_one_full_batch_step_has_the_exact_law() -> None:
    plan = NoisyGradient(steps=1, step=0.01, output="last").plan(problem(**ONE), BUDGET)
    gradient = float((-(2 * SIDE - 1) * 0.5) @ LINE[:, 0])
    sample = step_law(plan, LINE, SIDE, 800)
    law = stats.norm(-0.01 * gradient, 0.01 * gaussian_multiplier(1.0, 1e-6))
    assert stats.kstest(sample, law.cdf).pvalue > 1e-4
    # Half the noise, or a sum clipped twice as far, is noticed.
    half = stats.norm(law.mean(), law.std() / 2)
    assert stats.kstest(sample, half.cdf).pvalue < 1e-6
    far = stats.norm(law.mean() - 0.02 * abs(gradient), law.std())
    assert stats.kstest(sample, far.cdf).pvalue < 1e-6


def test_one_poisson_step_has_the_exact_law() -> None:
    # All gradients point the same way, so that the sum varies with the number of rows drawn.
    X, y = np.linspace(0.5, 1.0, 40).reshape(-1, 1), np.ones(40, dtype=int)
    plan = NoisyGradient(steps=1, step=0.01, output="last", sampler="poisson", batch=10).plan(
        problem(**ONE), Budget(4.0, 1e-2)
    )
    assert plan.sampler.rate == 0.25
    parts = -0.5 * X[:, 0]
    rng = np.random.default_rng(0)
    masks = rng.random((100_000, 40)) < 0.25
    noisy = masks @ parts + plan.multiplier * rng.normal(size=100_000)
    sample = step_law(plan, X, y, 800)
    assert stats.ks_2samp(sample, -0.01 * noisy / 0.25).pvalue > 1e-5
    # Dividing by the rows drawn, or twice the rate, is noticed.
    drawn = np.maximum(masks.sum(axis=1), 1) / 40
    assert stats.ks_2samp(sample, -0.01 * noisy / drawn).pvalue < 1e-6
    assert stats.ks_2samp(sample, -0.01 * noisy / 0.5).pvalue < 1e-6


@pytest.mark.parametrize(
    "config",
    [{"rule": "smooth"}, {"rule": "strongly-convex"}, {"hidden_state": True}],
    ids=str,
)
def test_the_ridge_stays_outside_the_clip(config: dict[str, object]) -> None:
    # Rows that are clipped all along pull by 0.04; inside the clip the ridge would not be felt.
    task = problem(n_features=1, n_rows=4, loss=Squared(), bounds=REAL)
    given = {"steps": 20, "step": 0.05, "clip": 0.01, "strength": 4.0, "output": "last"} | config
    plan = NoisyGradient(norm_guess=10.0, **given).plan(task, Budget(1e6, 0.5))  # type: ignore[arg-type]
    weights = plan.run(ArraySource(np.ones((4, 1)), np.ones(4)), Seeded(0)).weights
    w = 0.0
    for _ in range(20):
        pull = w + 0.05 * 4 * 0.01
        w = pull / (1 + 0.05 * 4.0) if config == {"rule": "smooth"} else pull - 0.05 * 4.0 * w
    assert weights[0] == pytest.approx(w, rel=0.01)
    assert w < 0.01  # without the ridge it would be 0.04


def test_samplers_draw_what_they_say() -> None:
    rows = Rows(np.ones((1000, 1)), np.ones(1000), np.where(np.arange(1000) < 10, 0.0, 1.0))
    random = Seeded(3)
    poisson = PoissonBatch(0.3)
    drawn = [poisson.draw(rows, random) for _ in range(400)]
    counts = np.bincount(np.concatenate(drawn), minlength=1000)
    assert counts[:10].sum() == 0  # blank rows leave no trace
    assert stats.chisquare(counts[10:]).pvalue > 1e-4
    sizes = np.array([len(d) for d in drawn])
    assert abs(sizes.mean() - 297) < 4 * math.sqrt(990 * 0.21 / 400)
    assert sizes.std() == pytest.approx(math.sqrt(990 * 0.21), rel=0.2)
    for size in (7, 600):
        fixed = FixedSizeBatch(size, 1000)
        drawn = [fixed.draw(rows, random) for _ in range(400)]
        assert all(len(set(d.tolist())) == size for d in drawn)
        counts = np.bincount(np.concatenate(drawn), minlength=1000)
        assert stats.chisquare(counts).pvalue > 1e-4
        # The order is random too: rounding bounds rely on exchanging rows in place.
        assert stats.kstest([int(d[0]) for d in drawn], stats.uniform(0, 1000).cdf).pvalue > 1e-4
    assert FullBatch().draw(rows, random) is None


def test_batches_with_a_cap_have_the_exact_law() -> None:
    n, rate, cap = 6, 0.4, 3
    rows = Rows(np.ones((n, 1)), np.ones(n), np.where(np.arange(n) == 2, 0.0, 1.0))
    sampler, random = CappedBatch(rate, cap, n), Seeded(5)
    others = [0, 1, 3, 4, 5]
    law: dict[tuple[int, ...], float] = {}
    first: dict[tuple[int, ...], float] = {}  # a sampler that keeps the first rows drawn
    for size in range(6):
        for drawn in combinations(others, size):
            chance = rate**size * (1 - rate) ** (5 - size)
            first[drawn[:cap]] = first.get(drawn[:cap], 0.0) + chance
            kept = list(combinations(drawn, min(size, cap)))
            for part in kept:
                law[part] = law.get(part, 0.0) + chance / len(kept)
    draws = Counter(tuple(sampler.draw(rows, random).tolist()) for _ in range(4000))  # type: ignore[union-attr]
    assert set(draws) <= set(law)
    seen, expected, wrong = ([d.get(part, 0.0) for part in law] for d in (draws, law, first))
    assert stats.chisquare(seen, 4000 * np.array(expected)).pvalue > 1e-4
    unlikely = np.maximum(wrong, 1e-9) / np.maximum(wrong, 1e-9).sum()
    assert stats.chisquare(seen, 4000 * unlikely).pvalue < 1e-6


def test_a_cap_is_planned_paid_for_and_explained() -> None:
    config = NoisyGradient(sampler="poisson", batch=40, cap=45, steps=30)
    plain = NoisyGradient(sampler="poisson", batch=40, steps=30).plan(problem(), BUDGET)
    for neighbours in ("zero-out", "replace-one"):
        plan = config.plan(problem(neighbours=neighbours), BUDGET)
        event = plan.guarantee.event
        assert isinstance(event, CappedPoissonGaussian)
        assert (event.cap, event.n_rows, event.rate, event.steps) == (45, 400, 0.1, 30)
        assert event.delta(1.0) <= 1e-6
        assert plan.noise.scale > 1.05 * plain.noise.scale
        assert plan.facts()["most rows a step"] == 45
        assert "cap" in plan.guarantee.theorem
    for settings, changes, error, message in (
        ({"sampler": "poisson", "batch": 40, "cap": 39}, {}, Incompatible, "at least batch"),
        ({"sampler": "poisson", "batch": 40, "cap": 400}, {}, InvalidParameter, "below n_rows"),
        ({"sampler": "poisson", "batch": 40, "cap": 45.5}, {}, InvalidParameter, "cap"),
        ({"sampler": "fixed-size", "batch": 40, "cap": 45}, {}, Incompatible, "leave cap out"),
        ({"sampler": "full", "cap": 45}, {}, Incompatible, "leave cap out"),
        (
            {"sampler": "poisson", "batch": 40, "cap": 45},
            {"neighbours": "add-remove"},
            Incompatible,
            "number of rows, which add-remove keeps secret",
        ),
    ):
        with pytest.raises(error, match=message):
            NoisyGradient(**settings).plan(problem(**changes), BUDGET)  # type: ignore[arg-type]


LARGE = {"loss": Hinge(), "n_features": 120, "n_rows": 400_000}


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_batches_are_taken_where_all_rows_would_cut_the_descent_short(neighbours: str) -> None:
    large = problem(**LARGE, neighbours=neighbours)
    plan, full = (NoisyGradient(sampler=s).plan(large, BUDGET) for s in ("auto", "full"))
    assert isinstance(plan.sampler, PoissonBatch)
    assert plan.facts()["rows a step"] == "poisson"
    assert 0.02 < plan.sampler.rate < 0.3
    assert plan.steps == math.ceil(plan.rule.steps(plan.usual_facts)) > 1.5 * full.steps
    # The event is that of what is drawn, and costs no more than the budget.
    assert plan.guarantee.event.rate == plan.sampler.rate  # type: ignore[attr-defined]
    assert plan.guarantee.event.delta(1.0) <= 1e-6


def test_all_rows_are_taken_where_time_allows_or_the_proof_asks_for_it() -> None:
    large = problem(**LARGE)
    smooth = replace(large, loss=HuberisedHinge(width=0.5), constraint=L2Ball(radius=1.0))
    for config, asked, budget in (
        (NoisyGradient(), problem(), BUDGET),
        (NoisyGradient(), replace(large, n_rows=100_000), Budget(0.1, 1e-6)),
        (NoisyGradient(steps=5000), large, BUDGET),
        (NoisyGradient(), large, Budget(1.0, 0.0)),
        (NoisyGradient(hidden_state=True), smooth, BUDGET),
    ):
        assert isinstance(config.plan(asked, budget).sampler, FullBatch)
    assert NoisyGradient(batch=40).plan(problem(), BUDGET).sampler == PoissonBatch(0.1)


def test_one_step_on_a_batch_with_a_cap_has_the_exact_law() -> None:
    X, y = np.linspace(0.5, 1.0, 40).reshape(-1, 1), np.ones(40, dtype=int)
    plan = NoisyGradient(
        steps=1, step=0.01, output="last", sampler="poisson", batch=10, cap=10
    ).plan(problem(**ONE), Budget(20.0, 1e-1))
    parts = -0.5 * X[:, 0]
    rng = np.random.default_rng(0)
    masks = rng.random((40_000, 40)) < 0.25
    order = np.where(masks, rng.random(masks.shape), 2.0)
    kept = masks & (order.argsort(axis=1).argsort(axis=1) < 10)
    noise = plan.multiplier * rng.normal(size=40_000)
    sample = step_law(plan, X, y, 800)
    assert stats.ks_2samp(sample, -0.01 * (kept @ parts + noise) / 0.25).pvalue > 1e-5
    # Batches that are not cut are noticed.
    assert stats.ks_2samp(sample, -0.01 * (masks @ parts + noise) / 0.25).pvalue < 1e-6


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_no_neighbour_moves_a_sum_further_than_the_noise_pays_for(neighbours: str) -> None:
    rng = np.random.default_rng(5)
    task = problem(neighbours=neighbours, n_rows=20)
    for clip in (None, 0.3):
        plan = NoisyGradient(clip=clip, steps=3).plan(task, BUDGET)
        apart = 2 if neighbours == "replace-one" else 1
        worst = 0.0
        for _ in range(40):
            X, y = rng.normal(size=(20, 2)) * 3, rng.integers(0, 2, 20)
            X[0], y[0] = rng.normal(size=2) * 100, 1
            other = X.copy()
            other[0] = -X[0] if neighbours == "replace-one" else math.nan
            w = rng.normal(size=2) * 30
            w *= -np.sign(w @ X[0])  # the row is on the wrong side, its gradient at its longest
            pair = []
            for rows in (X, other):
                bounded = task.bound(ArraySource(rows, y))
                total = ClippedSums(bounded, task.loss).full(w, plan.clip)
                pair.append(plan.noise.noise.grid.round(total))
            worst = max(worst, float(np.linalg.norm(pair[0] - pair[1])))
        assert worst <= apart * plan.noise.row
        assert worst > 0.45 * apart * plan.noise.row


def test_likelihood_ratio_audit_on_the_worst_pair() -> None:
    # One row of full norm and slope against a blank one. The likelihood ratio of the four noisy
    # gradients may not beat the claim; with half the noise the same audit finds a breach.
    budget, draws = Budget(1.0, 1e-3), 40_000
    task = problem(n_features=1, n_rows=1, loss=Hinge())
    plan = NoisyGradient(steps=4).plan(task, budget)
    worlds = [
        ClippedSums(task.bound(ArraySource(np.array([[row]]), np.array([1]))), task.loss).full(
            np.zeros(1), plan.clip
        )[0]
        for row in (1.0, math.nan)
    ]
    assert worlds == [pytest.approx(-1.0, abs=1e-12), 0.0]
    noise = plan.noise.noise.sample((2, draws, 4), Seeded(1))
    for factor, breached in ((1.0, False), (0.5, True)):
        present, absent = (
            -(w + factor * z).sum(axis=1) for w, z in zip(worlds, noise, strict=True)
        )
        cuts = np.quantile(absent, np.linspace(0.5, 0.999, 40))
        gains = [(present > c).mean() - math.e * (absent > c).mean() - 1e-3 for c in cuts]
        error = 4 * math.sqrt((1 + math.e**2) * 0.25 / draws)
        assert (max(gains) > error) == breached


# Accuracy.


def excess(plan: NoisyGradientPlan, X: np.ndarray, y: np.ndarray, runs: int = 3) -> float:
    task = plan.problem
    rows = task.bound(ArraySource(X, y))

    def objective(w: np.ndarray) -> float:
        ridge = plan.strength * float(np.sum(w * w)) / 2
        return float(rows.weight @ task.loss.value(rows.X @ w, rows.y)) + ridge

    def constrained(v: np.ndarray) -> float:
        return objective(task.constraint.project(v))

    best = minimize(constrained, plan.start, method="Nelder-Mead", options={"maxiter": 2000}).fun
    values = [objective(plan.run(ArraySource(X, y), Seeded(s)).weights) for s in range(runs)]
    return float(np.mean(values)) - best


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        ({"rule": "smooth"}, {}),
        ({"rule": "accelerated"}, {}),
        ({"rule": "accelerated"}, {"constraint": L2Ball(radius=1.0)}),
        ({"rule": "accelerated", "strength": 100.0}, {}),
        ({"rule": "accelerated", "sampler": "poisson", "batch": 500}, {}),
        ({"rule": "smooth", "output": "tail"}, {}),
        ({"rule": "smooth", "output": "weighted"}, {}),
        ({"rule": "lipschitz"}, {}),
        ({"rule": "lipschitz"}, {"loss": Hinge()}),
        ({"rule": "typical", "output": "mean"}, {"loss": Hinge()}),
        ({"rule": "adaptive"}, {"loss": Hinge()}),
        ({"rule": "strongly-convex", "strength": 200.0}, {"loss": Hinge()}),
        ({"rule": "strongly-convex", "strength": 200.0}, {"constraint": L2Ball(radius=3.0)}),
        ({"rule": "smooth"}, {"constraint": L2Ball(radius=1.0)}),
        ({"rule": "smooth", "sampler": "poisson", "batch": 500}, {}),
        ({"rule": "smooth", "sampler": "fixed-size", "batch": 500}, {}),
        ({"rule": "smooth"}, {"neighbours": "replace-one"}),
        ({"rule": "smooth"}, {"neighbours": "add-remove"}),
    ],
    ids=str,
)
def test_measured_excess_is_below_the_printed_bound(
    config: dict[str, object], changes: dict[str, object]
) -> None:
    X, y = classes(2000, 2)
    task = problem(n_rows=2000, **changes)
    plan = NoisyGradient(norm_guess=4.0, steps=150, **config).plan(task, Budget(2.0, 1e-6))  # type: ignore[arg-type]
    measured = excess(plan, X, y)
    assert -1e-6 * 2000 < measured < plan.bound
    assert plan.bound < 2000 * 4.0  # less than staying anywhere in the ball can cost


def test_pure_budgets_are_served() -> None:
    X, y = classes(2000, 2)
    plan = NoisyGradient(norm_guess=4.0).plan(problem(n_rows=2000), Budget(4.0))
    assert plan.guarantee.delta == 0.0
    assert plan.guarantee.event.delta(4.0) == 0.0
    assert plan.noise.scale == pytest.approx(plan.steps / 4.0, rel=1e-6)
    assert 0 < excess(plan, X, y) < plan.bound


def test_specification_of_the_smooth_default() -> None:
    task = problem(n_features=20, n_rows=5000)
    plan = NoisyGradient(norm_guess=5.0, rule="smooth", output="mean").plan(task, Budget(2.0, 1e-6))
    assert plan.steps == 887
    assert plan.bound / 5000 == pytest.approx(1.4e-2, rel=0.01)
    # By default the mean forgets the start sooner, for twice the bound.
    usual = NoisyGradient(norm_guess=5.0, rule="smooth").plan(task, Budget(2.0, 1e-6))
    assert usual.bound == 2 * plan.bound
    lipschitz = NoisyGradient(norm_guess=5.0, rule="lipschitz").plan(task, Budget(2.0, 1e-6))
    assert lipschitz.rule.steps(lipschitz.usual_facts) == pytest.approx(251_256, rel=1e-4)
    assert lipschitz.steps < 10_000  # capped by the work it takes
    short = NoisyGradient(norm_guess=5.0, steps=10, rule="smooth", output="mean")
    capped = short.plan(task, Budget(2.0, 1e-6))
    facts = capped.facts_of_noise
    size = capped.rule.size(facts, 10, 0, 0.0)
    assert size == pytest.approx(1 / (2 * 5000 * 0.25))
    assert capped.bound == pytest.approx(25 / (2 * size * 10) + size * 20 * capped.noise.scale**2)


def test_auto_takes_the_smallest_bound_and_follows_corners() -> None:
    # A bound is worth keeping where it is about weights of a known norm; elsewhere noise sets
    # how far to go, and momentum the number of steps.
    inside = problem(constraint=L2Ball(radius=5.0))
    assert NoisyGradient().plan(inside, BUDGET).rule.name == "smooth"
    assert NoisyGradient(norm_guess=5.0).plan(problem(), BUDGET).rule.name == "heavy-ball"
    assert NoisyGradient().plan(problem(), BUDGET).rule.name == "heavy-ball"
    assert NoisyGradient().plan(problem(loss=Hinge()), BUDGET).rule.name == "typical"
    # So it does where there are too few steps for a bound, unless they are very few.
    for steps, name in ((200, "heavy-ball"), (20, "accelerated")):
        many = problem(n_rows=100_000, constraint=L2Ball(radius=5.0))
        assert NoisyGradient(steps=steps).plan(many, BUDGET).rule.name == name
    # Pure noise pays for every step: the rule of the smallest bound.
    pure = NoisyGradient().plan(problem(), Budget(1.0))
    assert math.isfinite(pure.bound)
    assert NoisyGradient().plan(problem(n_rows=10_000), Budget(1.0)).rule.name == "accelerated"
    strong = problem(n_rows=2000, constraint=L2Ball(radius=10.0))
    assert NoisyGradient(strength=500.0).plan(strong, BUDGET).rule.name == "strongly-convex"
    assert recommend(problem(loss=Hinge()), BUDGET).facts()["algorithm"] == "noisy-gradient"
    usual = recommend(problem(loss=HuberisedHinge(), n_features=20, n_rows=5000), BUDGET)
    assert usual.facts()["algorithm"] == "objective-perturbation"
    # A secret size without a declared one leaves noisy gradient out, not the whole choice.
    secret = problem(neighbours="add-remove", n_rows=None)
    uncounted = recommend(secret, BUDGET, Asked(counts=False))
    assert uncounted.facts()["algorithm"] == "objective-perturbation"


def test_auto_takes_the_smaller_promise_for_weights_of_one_norm() -> None:
    # Where noise drowns the rows of a small set, a few steps promise more.
    small = problem(n_features=40, n_rows=300, constraint=L2Ball(radius=1.0))
    few = recommend(small, BUDGET)
    assert few.facts()["algorithm"] == "noisy-gradient"
    other = ObjectivePerturbation().plan(small, BUDGET)
    assert few.expected_excess < other.expected_excess
    # Its own ridge is for shorter weights there, for which it promises more.
    assert other.aim < other.norm_guess == 1.0
    assert replace(other, norm_guess=other.aim).expected_excess < few.expected_excess
    # With many rows it is for longer ones, and would be refused for what it says of these.
    many = problem(n_features=4, n_rows=30_000, loss=HuberisedHinge())
    plan = recommend(many, Budget(1.0))
    assert isinstance(plan, ObjectivePerturbationPlan)
    assert plan.aim > plan.norm_guess == 60.0
    steps = NoisyGradient().plan(many, Budget(1.0))
    at_aim = replace(plan, norm_guess=plan.aim).expected_excess
    assert plan.expected_excess < steps.expected_excess < at_aim


def test_no_bound_exceeds_what_a_set_allows() -> None:
    far = problem(n_features=400, n_rows=300, constraint=L2Ball(radius=1.0))
    for plan in (NoisyGradient().plan(far, Budget(0.1)), recommend(far, Budget(0.1))):
        assert plan.expected_excess <= far.most_excess(1.0, 0.0) == 600.0
    perturbed = ObjectivePerturbation().plan(far, Budget(0.1))
    assert perturbed.expected_excess == 600.0
    # A ridge of one's own counts as far as the set goes; other penalties are not compared.
    ridge = replace(far, regularizer=Ridge(strength=10.0))
    assert ridge.most_excess(1.0, 10.0) == 605.0
    assert replace(far, regularizer=L1(strength=1.0)).most_excess(1.0, 0.0) == math.inf
    assert problem().most_excess(1.0, 0.0) == math.inf
    # A declared size need not be the true one.
    assert replace(far, neighbours="add-remove").most_excess(1.0, 0.0) == math.inf


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_noise_does_not_carry_weights_far_beyond_good_ones(delta: float) -> None:
    """Labels without any rule, much noise: the loss stays near that of weights of zero."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    X /= np.linalg.norm(X, axis=1)[:, None]
    signs, numbers = rng.integers(0, 2, 300), np.clip(0.3 * rng.normal(size=300), -1, 1)
    for loss, y, most in ((HuberisedHinge(), signs, 0.3), (Squared(), numbers, 0.01)):
        labels = {"classes": (0, 1)} if loss.target == "sign" else {"label": (-1.0, 1.0)}
        task = problem(n_features=5, n_rows=300, loss=loss, bounds=Bounds(row_norm=1.0, **labels))
        plan = NoisyGradient().plan(task, Budget(0.1, delta))
        weights = [plan.run(ArraySource(X, y), Seeded(s)).weights for s in range(40)]
        values = 2.0 * y - 1 if loss.target == "sign" else y
        mean = np.mean([loss.value(X @ w, values).mean() for w in weights])
        assert mean - loss.value(np.zeros(300), values).mean() < most


def test_penalties_and_sets_are_respected() -> None:
    X, y = classes(2000, 2)
    sparse = NoisyGradient(norm_guess=4.0).plan(
        problem(n_rows=2000, regularizer=L1(strength=400.0)), Budget(2.0, 1e-6)
    )
    free = NoisyGradient(norm_guess=4.0).plan(problem(n_rows=2000), Budget(2.0, 1e-6))
    one, two = (np.abs(p.run(ArraySource(X, y), Seeded(0)).weights).sum() for p in (sparse, free))
    assert one < 0.5 * two
    simplex = NoisyGradient().plan(problem(constraint=Simplex(), n_rows=2000), BUDGET)
    weights = simplex.run(ArraySource(X, y), Seeded(0)).weights
    assert weights.sum() == pytest.approx(1.0)
    assert (weights >= 0).all()
    # The same ridge as a penalty and as strength is the same path.
    paths = [
        NoisyGradient(strength=s, steps=20, rule="smooth")
        .plan(problem(n_rows=2000, **r), BUDGET)
        .run(ArraySource(X, y), Seeded(1))
        .weights
        for s, r in ((50.0, {}), (None, {"regularizer": Ridge(strength=50.0)}))
    ]
    np.testing.assert_allclose(*paths, rtol=1e-9)


def test_unbounded_slopes_get_a_clip() -> None:
    bounds = Bounds(row_norm=2.0, label=(-1.0, 1.0))
    plan = NoisyGradient().plan(problem(loss=Squared(), bounds=bounds), BUDGET)
    assert plan.clip == pytest.approx(2.0)
    assert plan.rule.name == "heavy-ball"
    assert NoisyGradient(clip=0.5).plan(problem(loss=Squared(), bounds=bounds), BUDGET).clip == 0.5
    with pytest.raises(MissingBound):
        NoisyGradient().plan(problem(loss=Squared(), bounds=Bounds(row_norm=1.0)), BUDGET)


def test_multi_output_clipping_promises_nothing() -> None:
    task = problem(loss=Softmax(n_classes=3), bounds=Bounds(row_norm=1.0, classes=(0, 1, 2)))
    usual = NoisyGradient().plan(task, BUDGET)
    assert usual.clip == 1.0 < task.terms.lipschitz
    assert usual.bound == math.inf
    full = NoisyGradient(clip=task.terms.lipschitz, rule="smooth").plan(task, BUDGET)
    assert math.isfinite(full.bound)


def test_accelerated_steps_need_far_fewer() -> None:
    task = problem(n_features=20, n_rows=5000)
    quick, plain = (
        NoisyGradient(norm_guess=5.0, rule=rule, output=RULES[rule].proved).plan(
            task, Budget(2.0, 1e-6)
        )
        for rule in ("accelerated", "smooth")
    )
    assert quick.steps < plain.steps / 10
    assert quick.bound < 1.2 * plain.bound
    # The numbers of docs/noisy-gradient.md.
    assert (quick.steps, plain.steps) == (56, 887)
    assert quick.bound / plain.bound == pytest.approx(1.13, abs=0.005)
    # Fewer steps are fewer releases, which pure noise pays for one by one.
    pure, slow = (
        NoisyGradient(norm_guess=5.0, rule=rule).plan(task, Budget(2.0))
        for rule in ("accelerated", "smooth")
    )
    assert pure.bound < 0.7 * slow.bound


def test_the_look_ahead_is_where_the_proof_puts_it() -> None:
    # Without noise to speak of the path is the textbook's: two sequences and their mixture.
    X, y = classes(400, 2)
    plan = NoisyGradient(steps=5, rule="accelerated", norm_guess=4.0).plan(
        problem(), Budget(1e6, 0.5)
    )
    rows = plan.problem.bound(ArraySource(X, y))
    x = mean = np.zeros(2)
    for t in range(1, 6):
        share = 2 / (t + 1)
        at = (1 - share) * mean + share * x
        slope = rows.X.T @ plan.problem.loss.slope(rows.X @ at, rows.y)
        x = x - plan.rule.size(plan.facts_of_noise, 5, t - 1, 0.0) * slope
        mean = (1 - share) * mean + share * x
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    np.testing.assert_allclose(weights, mean, atol=1e-4)


def test_noise_limits_how_far_one_goes() -> None:
    lengths = []
    for n_rows in (100, 1000, 100_000):
        plan = NoisyGradient(steps=100).plan(problem(loss=Hinge(), n_rows=n_rows), BUDGET)
        facts = plan.facts_of_noise
        lengths.append(facts.aim(100))
        assert facts.aim(100) <= facts.distance == 60.0
    assert lengths[0] < lengths[1] < lengths[2] == 60.0
    # The user's word counts: no further than said, and further than usual if that is said.
    for guess, aim in ((2.0, 2.0), (60.0, lengths[1]), (120.0, 2 * lengths[1])):
        given = NoisyGradient(steps=100, norm_guess=guess)
        plan = given.plan(problem(loss=Hinge(), n_rows=1000), BUDGET)
        assert plan.facts_of_noise.aim(100) == pytest.approx(aim)


# Adaptive clipping.


def test_adaptive_clip_vectors_and_cost() -> None:
    assert AdaptiveClip(batch=200.0).rest(1.0) == pytest.approx(1.0012523, abs=5e-8)
    plan = NoisyGradient(adaptive_clip=True, steps=9).plan(problem(), BUDGET)
    gradient = plan.noise.scale / plan.clip
    count = 2 * (400 / 20)
    total = (gradient**-2 + count**-2) ** -0.5
    assert total == pytest.approx(3 * gaussian_multiplier(1.0, 1e-6), rel=1e-6)
    with pytest.raises(Incompatible, match="too small"):
        NoisyGradient(adaptive_clip=True, steps=9).plan(problem(n_rows=10), Budget(0.1, 1e-6))


def test_adaptive_clip_finds_the_median() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2)) * 0.05
    clip, random = 1.0, Seeded(0)
    rows = Rows(X, np.ones(4000))
    sums, follow = ClippedSums(rows, Logistic()), AdaptiveClip(batch=4000.0)
    for _ in range(120):
        _, short = sums.counted(None, np.zeros(2), clip)
        clip = follow.next_clip(clip, short, 4000, random)
    assert clip == pytest.approx(np.median(0.5 * np.linalg.norm(X, axis=1)), rel=0.3)
    noiseless = [follow.next_clip(1.0, s, 4000, Seeded(1)) for s in (4000, 0)]
    assert noiseless[0] < 0.95 < 1.05 < noiseless[1]


def test_the_count_of_short_gradients_has_the_exact_law() -> None:
    follow, random = AdaptiveClip(batch=200.0), Seeded(8)
    moved = [follow.next_clip(3.0, 130, 190, random) for _ in range(500)]
    counts = [200.0 * math.log(3.0 / clip) / 0.2 for clip in moved]
    assert stats.kstest(counts, stats.norm(130 - 190 / 2, 200 / 20).cdf).pvalue > 1e-5


def test_sum_and_noise_follow_the_clip_together(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clip halves after each step, and gradients are always longer.
    monkeypatch.setattr(AdaptiveClip, "next_clip", lambda self, clip, *rest: clip / 2)
    plan = NoisyGradient(adaptive_clip=True, steps=3, step=1e-4, output="last").plan(
        problem(n_features=1, n_rows=40, loss=Hinge()), Budget(4.0, 1e-5)
    )
    sample = step_law(plan, np.ones((40, 1)), np.ones(40, dtype=int), 500)
    clips = np.array([1.0, 0.5, 0.25])
    both = math.sqrt(3) * gaussian_multiplier(4.0, 1e-5)
    gradient = (both**-2 - (2 * 40 / 20) ** -2) ** -0.5
    law = stats.norm(1e-4 * 40 * clips.sum(), 1e-4 * gradient * np.linalg.norm(clips))
    assert stats.kstest(sample, law.cdf).pvalue > 1e-5


def test_blank_rows_do_not_enter_the_count() -> None:
    X = np.ones((6, 1))
    for weight in ([1, 1, 0, 0, 1, 1], [0.5, 2, 0, 0, 1, 1]):
        rows = Rows(X * (np.array(weight) > 0)[:, None], np.ones(6), np.array(weight, float))
        assert ClippedSums(rows, Logistic()).counted(None, np.zeros(1), 10.0)[1] == 4


def test_adaptive_clip_runs_and_keeps_its_promise() -> None:
    X, y = classes(2000, 2)
    plan = NoisyGradient(adaptive_clip=True, steps=60, norm_guess=4.0).plan(
        problem(n_rows=2000), Budget(2.0, 1e-6)
    )
    assert plan.bound == math.inf
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert (((X @ weights) > 0) == y).mean() > 0.6


# Hidden state.


def test_hidden_state_vectors() -> None:
    for contraction, steps, expected in (
        (0.9, 10, 3.029147),
        (0.9, 100, 4.358783),
        (0.9, 10**9, 4.358899),
        (0.99, 100, 9.610137),
        (0.99, 10**9, 14.106736),
    ):
        assert strong_factor(contraction, steps) == pytest.approx(expected, abs=1e-6)
    assert strong_factor(1.0, 5) == math.inf
    assert convex_factor(math.inf, 1.0, 1.0, 5) == math.inf


def test_hidden_state_is_exact_for_a_quadratic() -> None:
    # w <- c w - step (g + noise): the last iterate is Gaussian, and its shift over its
    # deviation is what the theorem says.
    contraction, steps, step, sigma = 0.8, 7, 0.2, 3.0
    powers = contraction ** np.arange(steps)
    shift = step * powers.sum()
    deviation = step * sigma * math.sqrt(float(np.sum(powers**2)))
    assert shift / deviation == pytest.approx(strong_factor(contraction, steps) / sigma)


@pytest.mark.parametrize(("neighbours", "other"), [("zero-out", math.nan), ("replace-one", -1)])
def test_last_iterates_of_neighbours_are_as_far_apart_as_the_budget_says(
    neighbours: str, other: float
) -> None:
    # All rows are clipped all along, so the last iterate is Gaussian and the worst neighbour
    # moves its mean alone: by the deviation over the multiplier of the budget, exactly.
    task = problem(n_features=1, n_rows=6, loss=Squared(), bounds=REAL, neighbours=neighbours)
    plan = NoisyGradient(hidden_state=True, steps=5, step=0.15, clip=0.01, strength=2.0).plan(
        task, BUDGET
    )
    powers = (1 - 0.15 * 2.0) ** np.arange(5)
    apart = 1.0 if math.isnan(other) else 2.0
    deviation = 0.15 * apart * 0.01 * powers.sum() * gaussian_multiplier(1.0, 1e-6)
    for labels, total in (([1.0] * 6, 6.0), ([1.0] * 5 + [other], 6.0 - apart)):
        sample = step_law(plan, np.ones((6, 1)), np.array(labels), 500)
        law = stats.norm(0.15 * total * 0.01 * powers.sum(), deviation)
        assert stats.kstest(sample, law.cdf).pvalue > 1e-5


@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
@pytest.mark.parametrize(("step", "contraction"), [(0.1, 0.8), (0.4, 0.2), (0.65, 0.95)])
def test_hidden_state_contracts_by_the_slowest_direction(
    neighbours: str, apart: int, step: float, contraction: float
) -> None:
    # Curvatures are between 2 and 3; beyond 2/(2+3) the sharp directions are the slow ones.
    task = problem(n_rows=4, neighbours=neighbours)
    plan = NoisyGradient(hidden_state=True, steps=9, step=step, strength=2.0).plan(task, BUDGET)
    powers = contraction ** np.arange(9)
    needed = apart * powers.sum() / np.linalg.norm(powers) * gaussian_multiplier(1.0, 1e-6)
    assert plan.noise.scale == pytest.approx(needed, rel=1e-6)


@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
def test_hidden_state_in_a_set_pays_for_its_diameter_and_every_row_apart(
    neighbours: str, apart: int
) -> None:
    task = problem(n_rows=100, neighbours=neighbours, constraint=L2Ball(radius=0.5))
    plan = NoisyGradient(hidden_state=True, steps=5000, step=0.005, clip=0.7).plan(task, BUDGET)
    shifts = [(1.0 + t * 0.005 * apart * 0.7) / (math.sqrt(t) * 0.005) for t in range(1, 5001)]
    assert plan.noise.scale == pytest.approx(min(shifts) * gaussian_multiplier(1.0, 1e-6), rel=1e-6)


def test_hidden_state_needs_less_noise_and_the_same_budget() -> None:
    task = problem(n_rows=2000, neighbours="replace-one")
    config = {"steps": 400, "strength": 100.0, "norm_guess": 4.0}
    plain = NoisyGradient(output="last", rule="smooth", **config).plan(task, BUDGET)  # type: ignore[arg-type]
    hidden = NoisyGradient(hidden_state=True, **config).plan(task, BUDGET)  # type: ignore[arg-type]
    assert hidden.noise.scale < 0.7 * plain.noise.scale
    ball = problem(n_rows=2000, constraint=L2Ball(radius=0.5))
    projected = NoisyGradient(hidden_state=True, steps=5000, step=1e-3).plan(ball, BUDGET)
    assert projected.noise.scale < math.sqrt(5000) * gaussian_multiplier(1.0, 1e-6)
    X, y = classes(2000, 2)
    weights = hidden.run(ArraySource(X, y), Seeded(0)).weights
    assert np.isfinite(weights).all()
    assert any("last iterate" in a for a in hidden.guarantee.assumptions)
    assert hidden.guarantee.event.delta(1.0) <= 1e-6 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("config", "changes", "reason"),
    [
        ({}, {"neighbours": "add-remove"}, "public"),
        ({"sampler": "poisson", "batch": 10}, {}, "full-batch"),
        ({"adaptive_clip": True}, {}, "fixed"),
        ({"rule": "lipschitz"}, {}, "constant"),
        ({"output": "mean"}, {}, "last iterate"),
        ({}, {"loss": Hinge()}, "smooth"),
        ({}, {"regularizer": L1(strength=1.0)}, "ridge"),
        (
            {},
            {"loss": Softmax(n_classes=3), "bounds": Bounds(row_norm=1.0, classes=(0, 1, 2))},
            "several outputs",
        ),
        ({"step": 1.0}, {}, "2/smoothness"),
    ],
    ids=str,
)
def test_hidden_state_refuses_what_is_not_proved(
    config: dict[str, object], changes: dict[str, object], reason: str
) -> None:
    with pytest.raises(Incompatible, match=reason):
        NoisyGradient(hidden_state=True, **config).plan(problem(**changes), BUDGET)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("loss", "curvature"), [(Squared(), 1.0), (Logistic(), 0.25), (HuberisedHinge(width=0.5), 1.0)]
)
@pytest.mark.parametrize("strength", [0.0, 40.0])
def test_hidden_steps_must_contract_the_longest_and_heaviest_rows(
    loss: Loss, curvature: float, strength: float
) -> None:
    # Also where slopes have no bound of their own, and are clipped.
    bounds = Bounds(row_norm=2.0, label=(-1.0, 1.0), classes=(0, 1), weight=3.0)
    task = problem(loss=loss, bounds=bounds, n_rows=10)
    longest = 2 / (10 * 3.0 * 2.0**2 * curvature + strength)

    def planned(step: float) -> NoisyGradientPlan:
        config = NoisyGradient(hidden_state=True, steps=5, step=step, strength=strength)
        return config.plan(task, BUDGET)

    assert planned(0.999 * longest).steps == 5
    with pytest.raises(Incompatible, match="2/smoothness"):
        planned(1.001 * longest)


def test_hidden_state_without_delta_is_refused_in_words() -> None:
    with pytest.raises(Incompatible, match="it needs delta > 0"):
        NoisyGradient(hidden_state=True).plan(problem(loss=Hinge()), Budget(1.0))


@pytest.mark.parametrize("rule", ["smooth", "accelerated", "lipschitz", "typical"])
def test_the_bound_counts_rows_where_they_are_fewer_than_weights(rule: str) -> None:
    # Without a set or penalty, noise outside the span of the rows moves no prediction.
    n, p, norm = 60, 3000, 3.0
    X, y = classes(n, p, norm=norm)
    config = NoisyGradient(rule=rule, norm_guess=norm, steps=40, output=RULES[rule].proved)
    plan = config.plan(problem(n_rows=n, n_features=p), Budget(8.0, 1e-3))
    facts = plan.facts_of_noise
    assert facts.span_share == n / p
    # Typical steps are so short here that noise is the smaller part of their bound.
    part = 1.0 if rule == "typical" else 0.7
    assert plan.bound < part * plan.rule.bound(replace(facts, span_share=1.0), 40)
    for other in ({"constraint": L2Ball(radius=norm)}, {"regularizer": L1(strength=0.1)}):
        changed = config.plan(problem(n_rows=n, n_features=p, **other), Budget(8.0, 1e-3))
        assert changed.facts_of_noise.span_share == 1.0
    s = 2 * y - 1

    def risk(w: np.ndarray) -> float:
        return float(np.logaddexp(0, -s * (X @ w)).sum())

    excess = [
        risk(plan.run(ArraySource(X, y), Seeded(k)).weights) - best_in_ball(X, s, norm)
        for k in range(10)
    ]
    assert np.mean(excess) <= plan.bound


@pytest.mark.parametrize(("rule", "loss"), [("lipschitz", Hinge()), ("lipschitz", Logistic())])
def test_steps_are_as_many_as_the_noise_that_counts_allows(rule: str, loss: Loss) -> None:
    task, budget = problem(loss=loss, n_rows=1000, n_features=100_000), Budget(1.0, 1e-6)

    def bound(steps: int | None) -> float:
        return NoisyGradient(rule=rule, steps=steps).plan(task, budget).bound

    best = min(bound(steps) for steps in (1, 10, 100, 1000, 5000))
    assert bound(None) < 1.5 * best
    assert NoisyGradient(rule=rule).plan(task, budget).steps > 1


def best_in_ball(X: np.ndarray, s: np.ndarray, radius: float) -> float:
    """Return the least logistic loss of weights of that norm, by projected descent in the span."""
    w = np.zeros(X.shape[1])
    for _ in range(500):
        w += 4.0 / len(X) * (X.T @ (s / (1 + np.exp(s * (X @ w)))))
        w *= min(1.0, radius / np.linalg.norm(w))
    return float(np.logaddexp(0, -s * (X @ w)).sum())


def test_a_bound_never_exceeds_what_a_set_allows_and_a_cap_has_none() -> None:
    ball = problem(constraint=L2Ball(radius=2.0))
    noisy = NoisyGradient(rule="smooth").plan(ball, Budget(0.001, 1e-6))
    assert noisy.bound == 400 * noisy.clip * 4.0
    ridge = NoisyGradient(rule="smooth", strength=3.0).plan(ball, Budget(0.001, 1e-6))
    assert ridge.bound == 400 * ridge.clip * 4.0 + 3.0 * 4.0 / 2
    usual = NoisyGradient(rule="smooth").plan(ball, Budget(8.0, 1e-6))
    assert usual.bound < 0.1 * noisy.bound
    batch = {"rule": "smooth", "sampler": "poisson", "batch": 40, "steps": 20}
    assert NoisyGradient(**batch).plan(ball, BUDGET).bound < math.inf  # type: ignore[arg-type]
    # A cut batch sees less of the loss, but the ridge is whole.
    assert NoisyGradient(**batch, cap=60).plan(ball, BUDGET).bound == math.inf  # type: ignore[arg-type]


def test_refusals() -> None:
    for config, error, message in (
        ({"sampler": "shuffled"}, InvalidParameter, "sampler"),
        ({"rule": "fast"}, InvalidParameter, "rule"),
        ({"output": "best"}, InvalidParameter, "output"),
        ({"steps": 0}, InvalidParameter, "steps"),
        ({"steps": 1.5}, InvalidParameter, "steps"),
        ({"clip": 0.0}, InvalidParameter, "clip"),
        ({"sampler": "full", "batch": 10}, Incompatible, "batch"),
        ({"sampler": "fixed-size", "batch": 400}, Incompatible, "batch"),
        ({"sampler": "poisson", "batch": 400}, Incompatible, "batch"),
        ({"clip": 1e-200}, InvalidParameter, "clip must be at least"),
        ({"rule": "strongly-convex"}, Incompatible, "ridge"),
    ):
        with pytest.raises(error, match=message):
            NoisyGradient(**config).plan(problem(), BUDGET)  # type: ignore[arg-type]
    with pytest.raises(Incompatible, match="corners"):
        NoisyGradient(rule="smooth").plan(
            problem(loss=Absolute(), bounds=Bounds(row_norm=1.0, label=(0, 1))), BUDGET
        )
    with pytest.raises(Incompatible, match="delta"):
        NoisyGradient(sampler="poisson").plan(problem(), Budget(1.0))
    with pytest.raises(MissingBound, match="n_rows"):
        NoisyGradient().plan(problem(neighbours="add-remove", n_rows=None), BUDGET)


def test_losses_with_corners_get_few_steps_where_noise_drowns_the_rows() -> None:
    small = problem(loss=Hinge(), n_features=5, n_rows=100)
    assert NoisyGradient().plan(small, Budget(0.1, 1e-6)).steps == 2
