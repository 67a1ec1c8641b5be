"""A clip of residuals that a first run tells, against laws that are known without it."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from discreet import Bounds, Ledger, PrivateHuberRegressor, PrivateRidge
from discreet.accounting import Approximate, Budget, Composed, Event, Gaussian, Pure
from discreet.accounting.events import event_from_dict
from discreet.bounds import NEIGHBOURS
from discreet.data import ArraySource
from discreet.data.clipped import MOST_ROWS, clipped_sums, sum_rounding
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.defaults import Asked, learned_clip, recommend
from discreet.defaults.learned_clip import GRID, LEAST, LearnedClipPlan, ResidualSize
from discreet.errors import BudgetTooSmall, DiscreetError, Incompatible, InvalidParameter
from discreet.losses import Clipped, Squared
from discreet.mechanisms.gradient_noise import FEW_ROWS, GradientNoise
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.tuned.defaults import LEARNED_MOST, LEARNED_ONCE

FALSE_ALARM = 1e-4

Row = tuple[list[float], float]


def problem(
    n_rows: int = 2000, relation: str = "zero-out", p: int = 1, intercept: float = 0.0
) -> Problem:
    return Problem(
        loss=Clipped(loss=Squared(), clip=1.0),
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
        n_features=p,
        n_rows=n_rows,
        neighbours=relation,  # type: ignore[arg-type]
        intercept=intercept,
    )


def planned(
    budget: Budget, n_rows: int = 2000, relation: str = "zero-out", p: int = 1, **settings: Any
) -> LearnedClipPlan:
    asked = Asked(algorithm="learned-clip", settings=settings or None, free_clip=True)
    plan = recommend(problem(n_rows, relation, p), budget, asked)
    assert isinstance(plan, LearnedClipPlan)
    return plan


# The sum of squares.


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Sums of squares as they are before noise covers them."""
    found: list[float] = []

    def noted(self: GradientNoise, total: Any, random: Any) -> Any:
        found.append(float(total[0]))
        return total

    monkeypatch.setattr(GradientNoise, "add", noted)
    return found


def size_of(given: Problem) -> ResidualSize:
    return ResidualSize(given, Gaussian(5.0))


def rows_of(given: Problem, rows: list[Row], sparse: bool = False) -> Any:
    X = np.array([x for x, _ in rows]).reshape(len(rows), given.n_features)
    y = np.array([label for _, label in rows])
    return given.bound(ArraySource(sp.csr_array(X) if sparse else X, y), reread=True)


COMPANY: list[Row] = [([0.3, -0.9], 0.4), ([-1.0, 0.2], -1.0), ([0.0, 0.0], 0.7)]

BLANKS: list[Row] = [([math.nan, 1.0], 1.0), ([1.0, 1.0], math.nan), ([math.inf, 0.0], -1.0)]
"""Rows that cannot be read: each of them is the blank one."""

EXTREME: list[Row] = [
    ([1.0, 1.0], 1.0),
    ([1.0, 1.0], -1.0),
    ([-1.0, 1.0], math.inf),
    ([1e300, -1e300], -1e6),
    ([1e300, 1e300], 1e6),
    ([1e-300, 0.0], 1.0),
    ([0.0, 0.0], -1.0),
    ([0.5, -0.5], 0.0),
]

WEIGHTS = [[0.0, 0.0], [0.4, -0.2], [-1.0, -1.0], [1e3, -1e3], [1e308, 1e308], [math.nan, 0.0]]
"""Released weights. Those that are not numbers do not come out of a run, and are covered too."""


def neighbours_of(relation: str) -> list[tuple[list[Row], list[Row]]]:
    first = [[row, *COMPANY] for row in EXTREME]
    if relation == "zero-out":
        return [(with_row, [blank, *COMPANY]) for with_row in first for blank in BLANKS]
    if relation == "replace-one":
        everyone = [*first, [BLANKS[0], *COMPANY]]
        return [(one, two) for one in everyone for two in everyone]
    ways = [(with_row, COMPANY) for with_row in first]
    return ways + [([*COMPANY, row], COMPANY) for row in (*EXTREME, BLANKS[0])]


def furthest(
    relation: str, sums: list[float], intercept: float = 0.0, sparse: bool = False
) -> float:
    """The furthest that one neighbour moves the sum, in units of what the noise was scaled to."""
    given = problem(4, relation, 2, intercept)
    size, found = size_of(given), 0.0
    for pair in neighbours_of(relation):
        for weights in WEIGHTS:
            w = np.append(weights, 0.3) if intercept else np.array(weights)
            sums.clear()
            for rows in pair:
                size.measured(rows_of(given, rows, sparse), w, Seeded(0))
            assert np.isfinite(sums).all()
            found = max(found, abs(sums[0] - sums[1]))
    return found / size.noise.row


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_no_neighbour_moves_the_sum_of_squares_by_more_than_is_paid_for(
    relation: str, sums: list[float]
) -> None:
    # A long row at the far end of its label counts in full, and no more.
    assert 0.99 < furthest(relation, sums) <= 1.0
    assert 0.99 < furthest(relation, sums, intercept=0.5) <= 1.0
    # A sparse row with an entry that is not a number is blank too.
    assert 0.99 < furthest(relation, sums, sparse=True) <= 1.0


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_squares_that_are_not_clipped_are_caught(
    relation: str, sums: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = ClippedSums.full
    monkeypatch.setattr(ClippedSums, "full", lambda self, w, clip: full(self, w, 1e9))
    assert furthest(relation, sums) <= 1.0  # residuals were clipped before they were summed

    class Unclipped:
        """Numpy with residuals, which are clipped in place, left as they are."""

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def clip(self, values: Any, low: Any, high: Any, out: Any = None) -> Any:
            return np.clip(values, low, high) if out is None else out

    monkeypatch.setattr(learned_clip, "np", Unclipped())
    assert furthest(relation, sums) > 1.5
    monkeypatch.setattr(ClippedSums, "full", full)
    assert furthest(relation, sums) <= 1.0  # and sums clip once more


def test_a_blank_row_that_counts_is_caught(
    sums: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an error for a residual that is not one, and the other row at no error at all."""
    bound = Problem.bound
    given, near = problem(2, p=1), np.array([1.0])
    rows: list[list[Row]] = [[([1.0], 1.0), ([0.5], 0.5)], [([math.nan], 1.0), ([0.5], 0.5)]]

    def apart() -> float:
        sums.clear()
        for each in rows:
            size_of(given).measured(rows_of(given, each), near, Seeded(0))
        return abs(sums[0] - sums[1])

    assert apart() < 1e-20

    def counted(self: Problem, source: Any, **options: Any) -> Any:
        found = bound(self, source, **options)
        gone = ~np.asarray(found.X).any(axis=1)
        found.X[gone], found.norms[gone], found.weight[gone], found.y[gone] = 1.0, 1.0, 3.0, -9.0
        return found

    monkeypatch.setattr(Problem, "bound", counted)
    # Whatever it holds, it moves the sum by one: parts are clipped after they are weighed.
    assert apart() == pytest.approx(1.0)


@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_the_sum_is_that_of_squares_of_residuals_by_the_length_of_their_rows(
    sums: list[float], intercept: float
) -> None:
    rng = np.random.default_rng(0)
    given = problem(500, p=3, intercept=intercept)
    X, y = rng.uniform(-1.5, 1.5, size=(500, 3)), rng.uniform(-1.5, 1.5, size=500)
    y[::50], X[7] = math.nan, math.inf
    w, weight = rng.normal(size=given.dimension), rng.choice([0.0, 0.25, 1.0], size=500)
    size_of(given).measured(given.bound(ArraySource(X, y, weight)), w, Seeded(0))
    cut = np.clip(np.nan_to_num(X), -1, 1)
    cut = np.column_stack([cut, np.full(500, intercept)]) if intercept else cut
    errors = np.clip(cut @ w, -1, 1) - np.clip(np.nan_to_num(y), -1, 1)
    lengths = np.sqrt((cut**2).sum(axis=1)) / given.typical_norm
    usable = np.isfinite(y) & np.isfinite(X).all(axis=1)
    wanted = (weight * np.minimum(1.0, (errors * lengths) ** 2))[usable].sum()
    assert sums == [pytest.approx(wanted, rel=1e-9)]


def test_no_part_depends_on_where_a_row_stands_nor_on_its_neighbour(sums: list[float]) -> None:
    rng = np.random.default_rng(1)
    given, w = problem(3000, "add-remove", 5), rng.normal(size=5)
    X, y = rng.uniform(-1, 1, size=(3000, 5)), rng.uniform(-1, 1, size=3000)
    for bad in (1e308, math.nan, 1e-300):
        changed = X.copy()
        changed[17] = bad
        here, there, later = (
            given.bound(ArraySource(a, b), reread=True)
            for a, b in ((X, y), (changed, y), (X[1:], y[1:]))
        )
        others = np.arange(3000) != 17
        for name in ("norms", "y", "weight"):
            one, two, three = (getattr(rows, name) for rows in (here, there, later))
            assert np.array_equal(one[others], two[others])
            assert np.array_equal(one[1:], three)
        assert np.array_equal(here.projected(w)[others], there.projected(w)[others])
        assert np.array_equal(here.projected(w)[1:], later.projected(w))


def test_no_warning_tells_of_the_rows() -> None:
    given = problem(4, p=2)
    tiny = ([1e-300, 0.0], 1e-20)
    rows = rows_of(given, [*EXTREME[:1], tiny, *BLANKS[:1], EXTREME[3]])
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        for weights in WEIGHTS:
            assert math.isfinite(size_of(given).measured(rows, np.array(weights), Seeded(0)))


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("pure", [False, True])
def test_noise_on_the_size_has_the_scale_that_its_event_says(relation: str, pure: bool) -> None:
    n = 300
    given = problem(n, relation)
    cost = Pure(0.2) if pure else Gaussian(5.0)
    size = ResidualSize(given, cost)
    shifting = relation == "add-remove"
    most = sum_rounding(1.0, n_rows=MOST_ROWS if shifting else n, shifting=shifting)
    assert 1.0 + most <= size.noise.row <= 1.01
    assert size.noise.scale == pytest.approx(5.0, rel=0.01)
    # Every residual is one: the sum is so far from zero that its root shows all of it.
    rows = given.bound(ArraySource(np.ones((n, 1)), np.ones(n)))
    random = Seeded(2)
    drawn = [size.measured(rows, np.array([0.0]), random) ** 2 * n - n for _ in range(1000)]
    law = stats.laplace if pure else stats.norm
    assert stats.kstest(drawn, law(scale=5.0).cdf).pvalue > FALSE_ALARM
    for wrong in (2.5, 7.5):
        assert stats.kstest(drawn, law(scale=wrong).cdf).pvalue < FALSE_ALARM


# What all parts cost together.

BUDGETS = [Budget(0.1, 1e-6), Budget(1.0, 1e-9), Budget(8.0, 1e-3)]


def quadrature(noises: list[float], last: list[Event], epsilon: float) -> float:
    """Delta of Gaussian mechanisms and then others, each by its own curve, without the library.

    The Gaussians have the closed form of one whose distance is the root of the sum of squares. What
    comes last, if anything does, is averaged over the normal law of its loss.
    """
    mu = math.sqrt(math.fsum(1.0 / m**2 for m in noises))
    if not last:
        down, up = stats.norm.cdf(-epsilon / mu + mu / 2), stats.norm.logcdf(-epsilon / mu - mu / 2)
        return float(down - math.exp(epsilon + up))
    (event,) = last
    z = np.linspace(-9.0, 9.0, 1501)
    values = [event.delta(epsilon - mu**2 / 2 - mu * float(x)) for x in z]
    # The largest delta is 1, so what is left out at both ends is below 1e-18.
    return float(np.sum(stats.norm.pdf(z) * values) * (z[1] - z[0]))


def parts_of(event: Event) -> tuple[Event, ...]:
    return event.events if isinstance(event, Composed) else (event,)


def alone(plan: LearnedClipPlan, number: int, second: Any = None) -> float:
    """Delta of the parts with one of the clips, by an accountant that knows that clip only."""
    second = plan.second[number] if second is None else second
    parts = [
        *parts_of(plan.first.guarantee.event),
        plan.size.cost,
        *parts_of(second.guarantee.event),
    ]
    noises = [e.multiplier for e in parts if isinstance(e, Gaussian)]
    others = [e for e in parts if not isinstance(e, Gaussian)]
    return quadrature(noises, others, plan.budget.epsilon)


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(("n_rows", "p"), [(20_000, 3), (400, 1)])
def test_every_clip_keeps_the_budget_as_a_second_accountant_says(
    budget: Budget, relation: str, n_rows: int, p: int
) -> None:
    plan = planned(budget, n_rows, relation, p, noise="gaussian")
    claim = plan.guarantee
    assert (claim.epsilon, claim.delta, claim.neighbours) == (
        budget.epsilon,
        budget.delta,
        relation,
    )
    whole = claim.event.delta(budget.epsilon)
    assert whole <= budget.delta
    assert event_from_dict(claim.event.to_dict()) == claim.event
    deltas = [alone(plan, k) for k in {0, len(plan.clips) // 2, len(plan.clips) - 1}]
    assert max(deltas) <= whole * (1 + 1e-3)
    assert max(deltas) > 0.2 * budget.delta
    # Planted: a second run that has what the first and the size were given as well.
    asked = Asked(alone=False)
    greedy = recommend(plan.second[0].problem, Budget(budget.epsilon, budget.delta), asked)
    assert alone(plan, 0, greedy) > budget.delta


def test_the_curve_of_the_whole_is_above_that_of_every_clip() -> None:
    epsilons = [0.0, 0.05, 0.3, 1.0, 2.0, 6.0]
    for relation in ("zero-out", "replace-one"):
        for p, n_rows in ((5, 20_000), (3, 5000)):
            plan = planned(Budget(1.0, 1e-6), n_rows, relation, p, noise="gaussian")
            event = plan.guarantee.event
            assert isinstance(event, Composed)
            largest = event.events[2:]
            for second in plan.second:
                own = parts_of(second.guarantee.event)
                assert len(own) <= len(largest)
                for part, most in zip(own, largest, strict=False):
                    for e in (-1.0, *epsilons):
                        assert part.delta(e) <= most.delta(e) * (1 + 1e-9)
                    for order in (1.5, 4.0, 64.0):
                        assert part.rdp(order) <= most.rdp(order)


def costing(*events: Event) -> Any:
    """Stand for a plan that costs this."""
    event = events[0] if len(events) == 1 else Composed(events)
    return SimpleNamespace(guarantee=SimpleNamespace(event=event))


@pytest.mark.parametrize(
    "unlike",
    [
        (costing(Pure(0.5)), costing(Gaussian(2.5))),
        (costing(Gaussian(4.0), Gaussian(3.0)), costing(Approximate(0.1, 1e-3))),
        (costing(Gaussian(9.0), Pure(0.5)), costing(Gaussian(2.5))),
    ],
    ids=["crossing", "another length", "crossing and longer"],
)
def test_plans_of_unlike_parts_cost_the_largest_of_each(unlike: tuple[Any, ...]) -> None:
    first: Any = costing(Gaussian(20.0))
    size = ResidualSize(problem(), Gaussian(40.0))

    def excess(counted: tuple[Any, ...]) -> float:
        """The most by which some plan costs more than these are said to."""
        event = learned_clip._together(first, size, counted)
        return max(
            Composed((Gaussian(20.0), Gaussian(40.0), one.guarantee.event)).delta(e)
            - event.delta(e)
            for one in unlike
            for e in (0.05, 0.2, 0.4, 0.8, 1.6, 2.4)
        )

    assert excess(unlike) <= 1e-7  # both are bounds, on grids of their own
    # Planted: either plan is left out, and its curve sticks out.
    assert excess(unlike[:1]) > 1e-5
    assert excess(unlike[1:]) > 1e-5


def test_shares_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_clip, "LEFT", (1.1,))
    with pytest.raises(BudgetTooSmall, match="learned-clip has no calibration"):
        planned(Budget(1.0, 1e-6), noise="gaussian")
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    once = PrivateRidge(epsilon=0.1, delta=1e-6, bounds=bounds).plan(5, 20_000)
    assert once.algorithm == "noisy-gradient"


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
def test_without_a_delta_epsilons_add_up_to_the_budget(relation: str, epsilon: float) -> None:
    for settings in ({}, {"noise": "gamma"}):
        plan = planned(Budget(epsilon), 2000, relation, 2, **settings)
        parts = [plan.first.guarantee, *(one.guarantee for one in plan.second)]
        assert all(part.delta == 0.0 for part in parts)
        assert isinstance(plan.size.cost, Pure)
        most = max(Fraction(one.guarantee.epsilon) for one in plan.second)
        total = Fraction(plan.first.guarantee.epsilon) + Fraction(plan.size.cost.epsilon) + most
        assert (1 - 1e-9) * epsilon < total <= Fraction(epsilon)
        assert plan.guarantee.delta == plan.guarantee.event.delta(epsilon) == 0.0
        # A little less is not enough: nothing was left out.
        assert plan.guarantee.event.delta(0.99 * epsilon) > 0.0


# The choice.


def with_fixed_first(plan: LearnedClipPlan, weights: list[float]) -> LearnedClipPlan:
    """The plan with a first run that is known, and second runs that say which of them ran."""

    def fixed(value: Any) -> Any:
        return SimpleNamespace(
            run=lambda source, random: SimpleNamespace(weights=value),
            guarantee=plan.guarantee,
        )

    plan = copy.copy(plan)
    object.__setattr__(plan, "first", fixed(np.array(weights)))
    second = tuple(fixed(np.array([float(k)])) for k in range(len(plan.clips)))
    object.__setattr__(plan, "second", second)
    return plan


def test_clips_are_chosen_as_the_law_of_the_noise_says() -> None:
    n = 400
    plan = planned(Budget(2.0, 1e-6), n, noise="gaussian")
    X, y = np.ones((n, 1)), np.where(np.arange(n) < 300, 0.1, -0.6)
    known = with_fixed_first(plan, [0.0])
    random, source = Seeded(4), ArraySource(X, y)
    counts = np.zeros(len(plan.clips))
    for _ in range(1500):
        counts[int(known.run(source, random).weights[0])] += 1
    # The sum is normal about this; the clip is the nearest, on a scale of logarithms.
    total = 300 * 0.1**2 + 100 * 0.6**2
    grown = math.sqrt(plan.rows_per_noise / LEARNED_ONCE)
    grown = min(LEARNED_MOST, max(1.0, grown))
    middles = np.array([math.sqrt(a * b) for a, b in zip(plan.clips, plan.clips[1:], strict=False)])
    edges = n * (middles / grown) ** 2
    chances = np.diff(stats.norm(total, plan.size.noise.scale).cdf(edges), prepend=0.0, append=1.0)
    likely = chances * counts.sum() > 5

    def fits(law: Any) -> float:
        seen = np.append(counts[likely], counts[~likely].sum())
        wanted = np.append(law[likely], law[~likely].sum()) + 1e-12
        return float(stats.chisquare(seen, counts.sum() * wanted / wanted.sum()).pvalue)

    assert likely.sum() >= 3
    assert fits(chances) > FALSE_ALARM
    scale = plan.size.noise.scale / 2
    half = np.diff(stats.norm(total, scale).cdf(edges), prepend=0.0, append=1.0)
    assert fits(half) < FALSE_ALARM


def test_larger_residuals_never_get_a_smaller_clip() -> None:
    for budget in (Budget(1.0, 1e-6), Budget(8.0)):
        plan = planned(budget, 3000, p=4)
        sizes = [0.0, *np.geomspace(1e-6, 10.0, 200)]
        chosen = [plan.clip(size) for size in sizes]
        assert chosen == sorted(chosen)
        assert (chosen[0], chosen[-1]) == (0, len(plan.clips) - 1)
        assert plan.clips[0] == LEAST
        # The longest row keeps most of a residual of the whole label range.
        problem = plan.problem
        largest = plan.clips[-1] * problem.typical_norm
        assert 2.0 * problem.row_norm / GRID < largest <= 2.0 * problem.row_norm * (1 + 1e-12)
        clips = [one.problem.loss.clip for one in plan.second]  # type: ignore[attr-defined]
        assert clips == pytest.approx([c * problem.typical_norm for c in plan.clips])


BOUNDS = Bounds(features=(-1, 1), label=(-1, 1))


def ridge(**stated: Any) -> PrivateRidge:
    settings: dict[str, Any] = {"bounds": BOUNDS, "random_state": 0, "delta": 1e-6}
    return PrivateRidge(**(settings | stated))


def data(n: int, noise: float, p: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, size=(n, p))
    return X, X[:, 0] / 2 + noise * rng.choice([-1.0, 1.0], size=n)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Clips that runs choose."""
    found: list[float] = []
    clip = LearnedClipPlan.clip

    def noted(self: LearnedClipPlan, size: float) -> int:
        number = clip(self, size)
        found.append(self.clips[number])
        return number

    monkeypatch.setattr(LearnedClipPlan, "clip", noted)
    return found


def test_labels_that_fill_their_range_get_large_clips_and_predicted_ones_small(
    chosen: list[float],
) -> None:
    for noise in (0.01, 0.1, 0.5):
        ridge(epsilon=2.0).fit(*data(20_000, noise))
    small, middle, large = chosen
    assert small < middle < large
    assert large > 4 * small


def test_nothing_tells_which_clip_was_chosen(chosen: list[float]) -> None:
    models = [ridge(epsilon=2.0).fit(*data(20_000, noise)) for noise in (0.01, 0.5)]
    assert len(set(chosen)) == 2
    public = [
        {k: v for k, v in vars(m).items() if k not in ("coef_", "intercept_")} for m in models
    ]
    assert repr(public[0]) == repr(public[1])
    plan = models[0].plan(3, 20_000)
    before = set(vars(plan))
    for noise in (0.01, 0.5):
        X, y = data(20_000, noise)
        release = plan.run(ArraySource(X, y), Seeded(0))
        assert set(vars(release)) == {"weights", "guarantee"}
    assert set(vars(plan)) == before


# When it is taken, and by which name.


def test_only_a_free_clip_of_enough_rows_is_learned() -> None:
    def algorithm(model: Any, n_rows: int = 20_000, **more: Any) -> str:
        return str(model.plan(3, n_rows, **more).algorithm)

    assert algorithm(ridge()) == "learned-clip"
    assert algorithm(ridge(neighbours="replace-one")) == "learned-clip"
    assert algorithm(ridge(neighbours="add-remove", n_rows=20_000)) == "learned-clip"
    for model in (
        ridge(clip=1.0),
        ridge(inference="table"),
        ridge(inference="population"),
        ridge(rows_per_group=2, n_rows=20_000),
        ridge(algorithm="objective-perturbation"),
        PrivateHuberRegressor(bounds=BOUNDS, delta=1e-6),
    ):
        assert algorithm(model) != "learned-clip"
    assert algorithm(ridge(), n_outputs=2) == "sufficient-statistics"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        assert algorithm(ridge(), 300) != "learned-clip"
    assert recommend(problem(20_000), Budget(1.0, 1e-6)).algorithm != "learned-clip"


@pytest.mark.parametrize(
    ("stated", "kind", "words"),
    [
        ({"clip": 0.5}, Incompatible, "without clip and without groups"),
        ({"rows_per_group": 2, "n_rows": 20_000}, Incompatible, "without clip and without groups"),
        ({"inference": "table"}, Incompatible, "No intervals are known for learned-clip"),
        ({"settings": {"steps": 3}}, InvalidParameter, "The only setting of learned-clip is noise"),
        ({"settings": {"noise": "cauchy"}}, InvalidParameter, "noise must be one of"),
        (
            {"settings": {"noise": "gaussian"}, "delta": 0.0},
            Incompatible,
            "noise='gaussian' needs delta",
        ),
        ({"epsilon": 1e-29}, BudgetTooSmall, "epsilon is too small"),
    ],
)
def test_what_it_cannot_do_it_refuses_in_words(
    stated: dict[str, Any], kind: type[DiscreetError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        ridge(algorithm="learned-clip", **stated).plan(3, 20_000)


def test_a_secret_size_and_another_model_are_refused() -> None:
    with pytest.raises(Incompatible, match="number of rows is public or declared"):
        ridge(algorithm="learned-clip", neighbours="add-remove").plan(3)
    huber = PrivateHuberRegressor(bounds=BOUNDS, delta=1e-6, algorithm="learned-clip")
    with pytest.raises(Incompatible, match="learned-clip is for PrivateRidge"):
        huber.plan(3, 20_000)


def test_noise_is_that_of_one_run_unless_it_is_named(tmp_path: Path) -> None:
    assert ridge().plan(3, 20_000).guarantee.delta == 0.0
    assert ridge().plan(40, 20_000).guarantee.delta == 1e-6
    assert ridge(algorithm="learned-clip").plan(3, 20_000).guarantee.delta == 0.0
    for p in (3, 40):
        for noise, delta in (("gamma", 0.0), ("gaussian", 1e-6)):
            named = ridge(algorithm="learned-clip", settings={"noise": noise}).plan(p, 20_000)
            assert named.guarantee.delta == delta
    # What shares its budget keeps Gaussian noise.
    ledger = Ledger.create(tmp_path / "book", dataset="d", epsilon=9.0, delta=1e-3)
    assert ridge(ledger=ledger).plan(3, 20_000).guarantee.delta == 1e-6


def test_rows_of_very_many_columns_take_no_second_moments() -> None:
    narrow, wide = (ridge(epsilon=8.0).plan(p, 10**5) for p in (100, 2000))
    assert isinstance(narrow, LearnedClipPlan)
    assert isinstance(wide, LearnedClipPlan)
    assert narrow.first.algorithm == "sufficient-statistics"
    assert wide.first.algorithm != "sufficient-statistics"
    assert wide.guarantee.event.delta(8.0) <= 1e-6


def test_a_stated_ridge_is_that_of_all_runs() -> None:
    for stated in ({}, {"delta": 0.0}):
        plan = ridge(alpha=700.0, algorithm="learned-clip", **stated).plan(40, 20_000)
        assert isinstance(plan, LearnedClipPlan)
        assert plan.first.strength >= 700.0  # type: ignore[attr-defined]
        assert all(one.strength >= 700.0 for one in plan.second)  # type: ignore[attr-defined]


@pytest.mark.parametrize("p", [2, 40])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_a_model_says_of_its_fit_repeats_it(p: int, delta: float) -> None:
    X, y = data(5000, 0.1, p)
    model = ridge(epsilon=4.0, delta=delta).fit(X, y)
    assert model.algorithm_ == "learned-clip"
    again = ridge(
        epsilon=4.0, delta=delta, algorithm=model.algorithm_, settings=model.settings_
    ).fit(X, y)
    assert np.array_equal(again.coef_, model.coef_)
    assert again.guarantee_ == model.guarantee_
    loaded = PrivateRidge.from_dict(model.to_dict())
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.guarantee_ == model.guarantee_


def test_a_fit_does_not_depend_on_threads_nor_on_where_rows_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pa, pq = (pytest.importorskip(n) for n in ("pyarrow", "pyarrow.parquet"))
    n, found = 20_000, []
    X, y = data(n, 0.2)
    for cores in (1, 3):
        monkeypatch.setattr(clipped_sums, "cores", lambda cores=cores: cores)
        found.append(ridge(epsilon=2.0).fit(X, y))
    columns = {**{name: X[:, j] for j, name in enumerate("abc")}, "level": y}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=3001)
    found.append(ridge(epsilon=2.0).fit(tmp_path / "rows.parquet", "level"))
    for other in found[1:]:
        assert other.algorithm_ == "learned-clip"
        assert np.array_equal(other.coef_, found[0].coef_)
        assert other.intercept_ == found[0].intercept_


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_sparse_rows_are_fitted_like_dense_ones(delta: float, chosen: list[float]) -> None:
    X, y = data(5000, 0.2)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (
        ridge(epsilon=4.0, delta=delta, fit_intercept=False, algorithm="learned-clip").fit(A, y)
        for A in (X, sp.csr_array(X))
    )
    assert chosen[0] == chosen[1]
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-4)


def test_the_plan_says_what_runs_and_why() -> None:
    text = " ".join(str(ridge().plan(40, 20_000)).split())
    for words in (
        "algorithm learned-clip",
        "first run sufficient-statistics",
        "second run noisy-gradient",
        "clip of residuals 0.125 to 4, learned",
        "noise scale of squared residuals",
        "a first run tells how large residuals are",
        "docs/proofs/learned-clip.md",
        "docs/proofs/sufficient-statistics.md",
    ):
        assert words in text, words


def test_the_plan_says_that_few_rows_are_assumed_where_their_number_is_secret() -> None:
    for budget in (Budget(1.0, 1e-6), Budget(8.0)):
        for relation in NEIGHBOURS:
            assumed = planned(budget, 20_000, relation, 2).guarantee.assumptions
            assert (FEW_ROWS in assumed) == (relation == "add-remove")


def test_the_first_run_and_the_size_are_not_released() -> None:
    plan = planned(Budget(1.0, 1e-6), 2000, p=2)
    X, y = data(2000, 0.1, 2)
    found = [plan.run(ArraySource(X, y), Seeded(seed)) for seed in (3, 3, 4)]
    assert np.array_equal(found[0].weights, found[1].weights)
    assert not np.array_equal(found[0].weights, found[2].weights)
    assert not found[0].guarantee.secure
    assert replace(found[0].guarantee, secure=True) == plan.guarantee
