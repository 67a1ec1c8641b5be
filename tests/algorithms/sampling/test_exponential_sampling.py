"""Exponential sampling: exact log-ratios over all neighbours, constants, rounding and refusals."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from discreet.accounting import BoundedRange, Budget
from discreet.accounting.gaussian_profile import gaussian_delta
from discreet.algorithms.sampling.density import density
from discreet.algorithms.sampling.exponential_sampling import ExponentialSampling
from discreet.algorithms.sampling.laws import Region, TangentEnvelope, heartbeat
from discreet.algorithms.sampling.quadratic_floor import SecantCurvature, quadratic_floor
from discreet.algorithms.sampling.sensitivity import (
    covered_rows,
    lipschitz_on_ball,
    oscillation,
    row_range,
    score_error,
)
from discreet.algorithms.sampling.temperature import affordable_range, gaussian_temperature
from discreet.bounds import Array, Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import Incompatible, MissingBound
from discreet.losses import (
    Absolute,
    Clipped,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Regularity,
    SmoothedQuantile,
    Squared,
)
from discreet.losses.base import crossing, scalar_regularity
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge
from discreet.sets import Box, L2Ball, Simplex

BOUNDS = Bounds(row_norm=1.0, classes=(0, 1), label=(-1.0, 1.0))
RELATIONS = pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
CORNERS = [Logistic(), Hinge(), HuberisedHinge(), Absolute(), Quantile(quantile=0.8)]
CURVED_LOSSES = [
    Logistic(),
    HuberisedHinge(),
    Huber(threshold=0.5),
    SmoothedQuantile(quantile=0.2),
    Poisson(),
    Squared(),
]
SMOOTH = [SmoothedQuantile(quantile=0.2), Huber(threshold=0.5), Squared()]


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic(),
        "bounds": BOUNDS,
        "n_features": 1,
        "n_rows": 3,
        "constraint": L2Ball(radius=2.0),
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def log_law(plan: object, X: np.ndarray, y: np.ndarray, bits: int = 6) -> np.ndarray:
    """Exact log-probabilities of a coarse lattice under the plan's own scores."""
    task = plan.problem  # type: ignore[attr-defined]
    region = Region.of(task.constraint, task.shape, bits=bits)
    law = density(
        task,
        task.bounding.apply(ArraySource(X, y)),
        region,
        inverse=plan.inverse,  # type: ignore[attr-defined]
        strength=plan.strength,  # type: ignore[attr-defined]
        radius=plan.radius,  # type: ignore[attr-defined]
    )
    index = np.indices(region.counts).reshape(region.dimension, -1).T
    scores = np.array([law.evaluate(w)[0] for w in region.points(index)])
    return -scores - np.logaddexp.reduce(-scores)


def worst_ratio(plan: object, records: list[tuple[float, float]], n: int, neighbours: str) -> float:
    """Largest log-ratio over every data set of ``n`` records and every neighbour of it."""
    laws = {}
    blank = (math.nan, records[0][1])
    pool = [*records, blank]
    for rows in itertools.combinations_with_replacement(range(len(pool)), n):
        X = np.array([[pool[i][0]] for i in rows])
        laws[rows] = log_law(plan, X, np.array([pool[i][1] for i in rows]), bits=4)
    worst = 0.0
    for rows, law in laws.items():
        for spot, new in itertools.product(range(n), range(len(pool))):
            gone = new == len(records) or rows[spot] == len(records)
            if gone == (neighbours == "replace-one"):
                continue
            other = tuple(sorted([*rows[:spot], new, *rows[spot + 1 :]]))
            worst = max(worst, float(np.max(np.abs(law - laws[other]))))
    return worst


@RELATIONS
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Absolute()], ids=lambda loss: loss.name)
def test_no_neighbour_has_a_log_ratio_above_epsilon(loss: Loss, neighbours: str) -> None:
    # A blank row and a missing one contribute the same, so one list serves all relations.
    records = [
        (x, y) for x in (-1.0, 0.3, 1.0) for y in ((0, 1) if loss.target == "sign" else (-1, 1))
    ]
    for epsilon in (0.5, 4.0):
        plan = ExponentialSampling().plan(
            problem(loss=loss, neighbours=neighbours), Budget(epsilon)
        )
        assert worst_ratio(plan, records, 3, neighbours) <= epsilon


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_tight_instance_spends_nearly_all_of_epsilon(neighbours: str) -> None:
    """Many rows push the law to one end; the odd row then acts with its whole range."""
    plan = ExponentialSampling().plan(
        problem(loss=Absolute(), n_rows=400, neighbours=neighbours, constraint=Box()), Budget(1.0)
    )
    X, y = np.ones((400, 1)), np.ones(400)
    other, label = X.copy(), y.copy()
    if neighbours == "zero-out":
        other[0] = math.nan
    else:
        label[0] = -1.0
    found = float(np.max(np.abs(log_law(plan, X, y) - log_law(plan, other, label))))
    assert 0.97 <= found <= 1.0
    # Planted: twice the constant is caught, half of it is seen to waste.
    greedy = replace(plan)
    greedy.__dict__["inverse"] = 2.0 * plan.inverse
    found = float(np.max(np.abs(log_law(greedy, X, y) - log_law(greedy, other, label))))
    assert found > 1.9


@pytest.mark.parametrize("loss", [*CORNERS, *SMOOTH, Poisson()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("radius", [0.4, 3.0])
@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_the_range_of_a_row_is_attained_and_never_exceeded(
    loss: Loss, radius: float, weight: float
) -> None:
    bounds = BOUNDS if loss.target != "count" else Bounds(row_norm=1.0, label=(0.0, 4.0))
    bounds = replace(bounds, weight=weight)
    task = problem(loss=loss, bounds=bounds, constraint=L2Ball(radius=radius))
    claimed = row_range(task, radius=radius, diameter=2 * radius)
    z = np.linspace(-radius, radius, 2001)
    low, high = (0.0, 4.0) if loss.target == "count" else (-1.0, 1.0)
    labels = [-1.0, 1.0] if loss.target == "sign" else np.linspace(low, high, 41)
    found = weight * max(np.ptp(loss.value(z, np.full_like(z, y))) for y in labels)
    assert found <= claimed * (1 + 1e-12)
    assert found >= 0.999 * claimed
    assert claimed <= task.terms.lipschitz * 2 * radius * (1 + 1e-12)


@pytest.mark.parametrize("loss", CORNERS, ids=lambda loss: loss.name)
@pytest.mark.parametrize("edge", [1e-9, 0.1])
def test_points_on_the_edge_of_a_set_are_in_the_range(loss: Loss, edge: float) -> None:
    """Samplers may reach as far beyond the set as rounding lets them."""
    task = problem(loss=loss, constraint=L2Ball(radius=0.4))
    claimed = oscillation(task, radius=0.4 + edge, diameter=0.8, edge=edge)
    z = np.linspace(-1.0, 1.0, 2001) * (0.4 + edge)
    found = max(np.ptp(loss.value(z, np.full_like(z, y))) for y in (-1.0, 1.0))
    assert found <= claimed


def test_ranges_of_the_specification() -> None:
    for neighbours, osc in (("zero-out", 2.0), ("add-remove", 2.0), ("replace-one", 4.0)):
        plan = ExponentialSampling().plan(problem(neighbours=neighbours), Budget(1.0))
        assert plan.oscillation == pytest.approx(osc, rel=1e-3)
        assert plan.oscillation >= osc
    clipped = problem(loss=Clipped(loss=Squared(), clip=0.5))
    assert row_range(clipped, radius=2.0, diameter=4.0) == pytest.approx(2.0)  # 0.5 * 4


def test_scores_stay_within_their_error_bound() -> None:
    rng = np.random.default_rng(0)
    task = problem(n_features=3, n_rows=200, constraint=L2Ball(radius=5.0))
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    rows = task.bound(ArraySource(X, y))
    bound = score_error(task, 5.0)
    for _ in range(5):
        w = rng.normal(size=3)
        with mp.workprec(200):
            exact = sum(
                mp.log(
                    1 + mp.exp(-mpf(s) * sum(mpf(a) * mpf(b) for a, b in zip(x, w, strict=True)))
                )
                for x, s in zip(rows.X.tolist(), rows.y.tolist(), strict=True)
            )
            assert abs(mpf(rows.objective(task.loss, w)[0]) - exact) <= bound
    assert bound < 1e-8


def test_rounding_beside_a_large_public_part_is_paid_for() -> None:
    """Adding small losses to a huge ridge term rounds them; the range must grow with it."""
    plain = ExponentialSampling().plan(problem(constraint=Box()), Budget(1.0))
    # On the fine lattice so heavy a ridge is refused: rounding would decide.
    config = ExponentialSampling(strength=1e14, sampler="grid")
    heavy = config.plan(problem(constraint=Box()), Budget(1.0))
    rng, task, found = np.random.default_rng(0), heavy.problem, 0.0
    for _ in range(40):
        X, y = rng.uniform(-1, 1, size=(3, 1)), np.ones(3, dtype=int)
        scores = []
        for first in (1.0, math.nan):
            X[0] = first
            law = density(
                task,
                task.bound(ArraySource(X, y)),
                heavy.region,
                inverse=1.0,
                strength=1e14,
                radius=heavy.radius,
            )
            scores.append([law.evaluate(np.array([t]))[0] for t in (-1.0, 1.0)])
        found = max(found, float(np.ptp(np.subtract(*scores))))
    assert found <= heavy.oscillation
    assert found > plain.oscillation + 1e-5  # what losses alone would have been charged


@pytest.mark.parametrize("sampler", ["tangent-envelope", "gaussian-envelope", "grid"])
def test_runs_follow_the_planned_law(sampler: str) -> None:
    loss = Logistic() if sampler == "gaussian-envelope" else Hinge()
    task = problem(loss=loss, constraint=Box())
    plan = ExponentialSampling(sampler=sampler, cells=16).plan(task, Budget(8.0))
    source = ArraySource(np.array([[1.0], [0.5], [-1.0]]), np.array([1, 1, 1]))
    random = Seeded(3)
    drawn = np.array([plan.run(source, random).weights[0] for _ in range(500)])
    rows = task.bound(source)
    weight = lambda t: math.exp(-plan.inverse * rows.objective(loss, np.array([t]))[0])  # noqa: E731
    if sampler == "grid":
        points = np.unique(drawn)
        assert points.size == 16
        chances = np.array([weight(t) for t in points])
        counts = np.array([(drawn == t).sum() for t in points])
        assert stats.chisquare(counts, chances / chances.sum() * 500).pvalue > 1e-4
    else:
        grid = np.linspace(-1, 1, 1001)
        mass = np.array([weight(t) for t in (grid[1:] + grid[:-1]) / 2])

        def pvalue(density: np.ndarray) -> float:
            cdf = np.append(0.0, np.cumsum(density)) / density.sum()
            return float(stats.kstest(drawn, lambda t: np.interp(t, grid, cdf)).pvalue)

        assert pvalue(mass) > 1e-4
        assert pvalue(mass**0.5) < 1e-6  # planted: half the constant


@pytest.mark.parametrize("loss", CURVED_LOSSES, ids=lambda loss: loss.name)
def test_every_loss_stays_above_its_secant_floor(loss: Loss) -> None:
    """On a fine table of labels, touching points and ends; and the floor is not wasteful."""
    labels = {"sign": [-1.0, 1.0], "count": [0.0, 3.0]}.get(loss.target, [-1.0, 0.3, 1.0])
    z = np.linspace(-2.5, 2.5, 401)
    best = 0.0
    for y, span, clip in itertools.product(labels, (0.2, 1.0, math.inf), (None, 0.4)):
        used: Loss = loss if clip is None else Clipped(loss=loss, clip=clip)
        floored = SecantCurvature(used, reach=2.5, span=span)
        label = used.attach(np.full_like(z, y), np.ones_like(z))
        value, slope = used.value(z, label), used.slope(z, label)
        height = floored.curvature(z, label)
        gap = z[:, None] - z[None, :]
        near = np.abs(gap) <= span
        floor = value + slope * gap + 0.5 * height * gap**2
        assert (value[:, None] - floor)[near].min() >= -1e-12
        best = max(best, float(height.max()))
        # Planted: the curvature at the touching point alone is no floor for a bent loss.
        if isinstance(loss, Logistic) and clip is None:
            greedy = value + slope * gap + 0.5 * used.curvature(z, label) * gap**2
            assert (value[:, None] - greedy)[near].min() < -1e-4
    assert best > 0.2


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_floor_of_a_problem_lies_below_its_scores(neighbours: str) -> None:
    rng = np.random.default_rng(4)
    for constraint, p in ((Box(), 3), (L2Ball(radius=30.0), 3), (Simplex(), 4)):
        task = problem(n_features=p, n_rows=3000, constraint=constraint, neighbours=neighbours)
        plan = ExponentialSampling(strength=2.0).plan(task, Budget(1.0))
        X = rng.normal(size=(3000, p))
        rows = task.bound(ArraySource(X, (X[:, 0] + rng.normal(size=3000) > 0).astype(int)))
        constants = {"inverse": plan.inverse, "strength": 2.0, "radius": plan.radius}
        law = density(task, rows, plan.region, **constants)
        floor = quadratic_floor(task, rows, law, **constants)
        assert floor is not None
        score, gradient = law.evaluate(floor.point)
        root = np.linalg.inv(np.linalg.cholesky(floor.matrix)).T
        tried = 0
        for size in rng.uniform(0.1, 8.0, size=300):
            step = rng.normal(size=plan.region.dimension)
            w = floor.point + root @ (step * min(size, floor.reach) / np.linalg.norm(step))
            if plan.region.contains(w):
                tried += 1
                gap = w - floor.point
                below = score + gradient @ gap + 0.5 * gap @ floor.matrix @ gap
                assert law.evaluate(w)[0] >= below - law.slack
        assert tried > 5


@pytest.mark.parametrize(("p", "most"), [(2, 25), (5, 65), (10, 430), (15, 2800)])
def test_evaluations_per_draw(p: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Far below the specification's count where the minimum lies inside, second derivatives too."""
    passes = 0
    for kernel in ("objective", "hessian"):
        plain = getattr(Rows, kernel)

        def counted(self: Rows, *rest: object, plain: object = plain) -> object:
            nonlocal passes
            passes += 1
            return plain(self, *rest)  # type: ignore[operator]

        monkeypatch.setattr(Rows, kernel, counted)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    truth = np.where(np.arange(p) % 2, 0.5, -0.5)
    y = (rng.random(10_000) < 1 / (1 + np.exp(-X @ truth))).astype(int)
    task = problem(n_features=p, n_rows=10_000, constraint=Box())
    plan = ExponentialSampling().plan(task, Budget(1.0))
    for seed in range(5):
        plan.run(ArraySource(X, y), Seeded(seed))
    assert passes / 5 <= min(most, 20)


def test_a_simplex_has_one_weight_fewer() -> None:
    task = problem(n_features=3, constraint=Simplex())
    plan = ExponentialSampling().plan(task, Budget(2.0))
    assert plan.expected_excess == pytest.approx(2 / plan.inverse)
    weights = plan.run(ArraySource(np.eye(3), np.ones(3, dtype=int)), Seeded(0)).weights
    assert weights.sum() == pytest.approx(1.0)
    assert weights.min() >= 0.0


def test_the_excess_bound_holds_and_is_approached() -> None:
    """c times the expected excess is at most p, and near p for a linear loss at a corner."""
    task = problem(loss=Absolute(), n_rows=40, constraint=Box())
    plan = ExponentialSampling().plan(task, Budget(4.0))
    X, y = np.ones((40, 1)), np.ones(40)
    law = np.exp(log_law(plan, X, y, bits=12))
    grid = np.linspace(-1, 1, law.size)
    excess = 40 * float(law @ (1 - grid))
    assert excess <= plan.expected_excess
    assert excess > 0.95 * plan.expected_excess


def test_penalties_enter_the_density() -> None:
    """An l1 penalty has no gradient in the library; its prox must give valid tangents."""
    rng = np.random.default_rng(1)
    task = problem(
        n_features=2, n_rows=50, regularizer=L1(strength=3.0), constraint=Box(low=-1.0, high=1.0)
    )
    source = ArraySource(rng.normal(size=(50, 2)), rng.integers(0, 2, 50))
    plan = ExponentialSampling(strength=2.0).plan(task, Budget(4.0))
    rows = task.bound(source)
    law = density(
        task, rows, Region.of(Box(), (2,)), inverse=plan.inverse, strength=2.0, radius=1.5
    )
    points = rng.uniform(-1, 1, size=(60, 2)) * np.array([1.0, 0.0])[rng.integers(0, 2, 60), None]
    found = [law.evaluate(w) for w in points]
    for (f, g), u in zip(found, points, strict=True):
        for (h, _), w in zip(found, points, strict=True):
            assert h >= f + g @ (w - u) - law.slack
        by_hand = rows.objective(task.loss, u)[0] + 3 * np.abs(u).sum() + u @ u
        assert f == pytest.approx(plan.inverse * by_hand, rel=1e-12)
    assert np.isfinite(TangentEnvelope(law).draw(Seeded(0))).all()


def test_a_delta_buys_a_little_range_and_no_more() -> None:
    eta = affordable_range(Budget(1.0, 1e-6))
    assert BoundedRange(eta).delta(1.0) <= 1e-6 < BoundedRange(1.0001 * eta).delta(1.0)
    pure = ExponentialSampling().plan(problem(), Budget(1.0))
    assert pure.guarantee.event.delta(1.0) == 0.0
    assert ExponentialSampling().plan(problem(), Budget(1.0, 1e-6)).inverse > pure.inverse


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_regularised_variant_keeps_its_gaussian_curve(neighbours: str) -> None:
    """Hockey-stick divergence by quadrature, on the pair that attains it and on others."""
    budget = Budget(1.0, 1e-3)
    task = problem(loss=Absolute(), neighbours=neighbours, constraint=Box(low=-20.0, high=20.0))
    plan = ExponentialSampling(regularised=True, norm_guess=2.0).plan(task, budget)
    a = 2.0 if neighbours == "replace-one" else 1.0
    mu = a * math.sqrt(plan.inverse / plan.strength)
    assert gaussian_delta(1.0, mu) <= budget.delta
    assert gaussian_delta(1.0, 1.0001 * mu) > 0.999 * budget.delta
    t = np.linspace(-20, 20, 40001)
    base = plan.strength * t**2 / 2

    def law(labels: list[float]) -> np.ndarray:
        total = sum((np.abs(t - y) for y in labels), np.zeros_like(t))
        weight = np.exp(-plan.inverse * (total + base))
        return np.asarray(weight / weight.sum())

    swap = [[1.0], [-1.0]] if neighbours == "replace-one" else [[1.0], []]
    for rest in ([], [0.5, -0.2]):
        one, two = law([*swap[0], *rest]), law([*swap[1], *rest])
        for p, q in ((one, two), (two, one)):
            assert np.maximum(p - math.e * q, 0).sum() <= budget.delta
    assert plan.guarantee.event.delta(1.0) <= budget.delta
    # Planted: half the ridge breaks it for a linear change, which labels at the ends give.
    c, m = plan.inverse, plan.strength / 2
    shift = a * c / math.sqrt(c * m)
    assert gaussian_delta(1.0, shift) > 2 * budget.delta


def test_other_samplers_say_what_they_claim() -> None:
    walk = ExponentialSampling(sampler="grid-walk", cells=8, accuracy=0.05).plan(
        problem(constraint=Box()), Budget(1.0)
    )
    assert walk.eta == pytest.approx(1.0 - math.log(1.05 / 0.95))
    assert "grid-walk" in walk.guarantee.theorem
    source = ArraySource(np.ones((3, 1)), np.ones(3, dtype=int))
    assert abs(walk.run(source, Seeded(0)).weights[0]) <= 1.0
    chain = ExponentialSampling(sampler="hit-and-run", guarantee="approximate", steps=5).plan(
        problem(), Budget(1.0, 1e-6)
    )
    assert any("Nobody has proved" in text for text in chain.guarantee.assumptions)
    assert chain.guarantee.event.rdp(2.0) == math.inf
    squares = ExponentialSampling().plan(problem(loss=Squared()), Budget(1.0))
    assert squares.sampler == "gaussian-envelope"
    assert abs(squares.run(ArraySource(np.ones((3, 1)), np.ones(3)), Seeded(0)).weights[0]) <= 2.0


def test_what_is_claimed_of_a_chain_leaves_no_delta_to_its_law() -> None:
    """A walk is claimed to be pure, and delta is what the mixing of the other chain may cost."""
    for settings in (
        {"sampler": "grid-walk", "accuracy": 0.05},
        {"sampler": "hit-and-run", "guarantee": "approximate"},
    ):
        task = problem(constraint=Box())
        plan = ExponentialSampling(**settings).plan(task, Budget(1.0, 1e-3))  # type: ignore[arg-type]
        spent = math.log(1.05 / 0.95) if plan.sampler == "grid-walk" else 0.0
        assert plan.eta == pytest.approx(1.0 - spent)
        assert (plan.guarantee.event.delta(1.0) > 0.0) == (plan.sampler == "hit-and-run")


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_walk_is_as_long_as_the_law_is_steep(p: int) -> None:
    # All rows point along the diagonal, and the loss is a line over the whole box.
    task = problem(loss=Hinge(), n_features=p, n_rows=5, constraint=Box(low=-0.5, high=0.5))
    plan = ExponentialSampling(sampler="grid-walk", cells=4).plan(task, Budget(1.0))
    X = np.full((5, p), 1.0 / math.sqrt(p))
    law = density(
        plan.problem,
        task.bound(ArraySource(X, np.ones(5, dtype=int))),
        plan.region,
        inverse=plan.inverse,
        strength=plan.strength,
        radius=plan.radius,
    )
    low, high = (law.evaluate(np.full(p, side))[0] for side in (0.5, -0.5))
    assert high - low == pytest.approx(5 * plan.inverse * math.sqrt(p))
    assert high - low <= plan._rise <= (1 + 1e-6) * (high - low)
    # Both scores of a step may be off, under both neighbours, at each of the four cells of a side.
    side = float(np.max(plan.region.counts * plan.region.step))
    exact = 5 * plan.inverse * math.sqrt(p) * side
    assert plan._rise - exact >= 0.9 * 4 * 4 * plan.inverse * plan._error


def test_the_gaussian_law_is_charged_for_half_the_diagonal_of_a_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []

    def noted(*args: object, step: float, **rest: object) -> tuple[float, float]:
        given.append(step)
        return 1.0, 1.0

    monkeypatch.setattr("discreet.algorithms.sampling.exponential_plan.gaussian_temperature", noted)
    box = Box(low=(-1.0, -8.0), high=(1.0, 8.0))
    task = problem(loss=Absolute(), n_features=2, constraint=box)
    plan = ExponentialSampling(regularised=True).plan(task, Budget(1.0, 1e-6))
    assert plan.strength == 1.0
    # The farthest point of a cell from the lattice point it is rounded to.
    step = plan.region.points(np.ones(2, dtype=np.int64)) - plan.region.points(np.zeros(2, int))
    corners = [np.linalg.norm(step * side) for side in itertools.product((-0.5, 0.5), repeat=2)]
    assert given[0] >= max(corners) * (1 - 1e-15)


@RELATIONS
def test_the_gaussian_law_of_a_coarse_lattice_keeps_the_budget(neighbours: str) -> None:
    """Cells as masses of the continuous law, off by as much as their slope allows."""
    budget = Budget(1.0, 1e-3)
    task = problem(loss=Absolute(), neighbours=neighbours, constraint=Box(low=-2.0, high=2.0))
    rows = covered_rows(task)
    step = 1e-3 / rows
    settings = {"strength": 0.0, "guess": 1.0, "radius": 2.0}
    c, m = gaussian_temperature(task, budget, step=step, **settings)
    fine = gaussian_temperature(task, budget, step=1e-12, **settings)
    a = 2.0 if neighbours == "replace-one" else 1.0
    # A cell's weight is its mass up to exp(gap) either way, and so is the sum of all.
    gap = c * (rows + m * 2.0) * step
    mu = a * math.sqrt(c / m)
    worst = math.exp(2 * gap) * gaussian_delta(1.0 - 4 * gap, mu)
    assert 0.9 * budget.delta < worst <= budget.delta
    assert c < fine[0]


def test_plans_announce_their_cost_and_runs_tell_only_the_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ExponentialSampling().plan(problem(n_features=5), Budget(1.0))
    assert plan.facts()["passes over the data, about"] > 5
    ticks = itertools.count(0.0, 11.0)
    monkeypatch.setattr(heartbeat.time, "monotonic", lambda: next(ticks))
    plan = ExponentialSampling().plan(problem(), Budget(1.0))
    plan.run(ArraySource(np.ones((3, 1)), np.ones(3, dtype=int)), Seeded(0))
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert set(lines) <= {f"discreet: drawing a point, {11 * i} s" for i in range(1, 50)}


def test_other_losses_are_bounded_by_what_they_declare() -> None:
    class RelativeError(Loss):
        """Its range is largest at the label 0, which is not an extreme one."""

        name = "relative"
        target = "real"

        def value(self, z: Array, y: Array) -> Array:
            return np.abs(z - y) / (0.1 + np.abs(y))

        def slope(self, z: Array, y: Array) -> Array:
            return np.asarray(np.sign(z - y) / (0.1 + np.abs(y)))

        def curvature(self, z: Array, y: Array) -> Array:
            return np.zeros_like(z)

        def regularity(self, *, label: float, reach: float) -> Regularity:
            return scalar_regularity(slopes=(10.0, 10.0), smoothness=math.inf)

        def slope_inverse(self, level: Array, y: Array) -> Array:
            return crossing(level, -1.0 / (0.1 + np.abs(y)), 1.0 / (0.1 + np.abs(y)), y)

        def at_zero(self, label: float) -> float:
            return 1.0

    task = problem(loss=RelativeError(), bounds=Bounds(row_norm=1.0, label=(-1, 1)))
    plan = ExponentialSampling(sampler="grid", cells=64).plan(task, Budget(1.0))
    z = np.linspace(-1.0, 1.0, 201)
    most = max(float(np.ptp(task.loss.value(z, np.full(201, y)))) for y in np.linspace(-1, 1, 41))
    assert most == pytest.approx(10.0)
    assert most <= plan.oscillation


def test_refusals() -> None:
    class Foreign(Loss):
        name = "foreign"
        target = "sign"
        value, slope, curvature = Logistic.value, Logistic.slope, Logistic.curvature
        regularity = Logistic.regularity

    with pytest.raises(Incompatible, match="trust_loss"):
        ExponentialSampling().plan(problem(loss=Foreign()), Budget(1.0))
    with pytest.raises(Incompatible, match="trust_loss"):  # walks mix where the loss is convex
        ExponentialSampling(sampler="grid-walk").plan(
            problem(loss=Foreign(), constraint=Box()), Budget(1.0)
        )
    trusted = ExponentialSampling(trust_loss=True).plan(problem(loss=Foreign()), Budget(1.0))
    assert any("convex" in text for text in trusted.guarantee.assumptions)
    with pytest.raises(Incompatible, match="practical up to"):
        ExponentialSampling().plan(problem(n_features=40), Budget(1.0))
    with pytest.raises(Incompatible, match="approximate"):
        ExponentialSampling(sampler="hit-and-run").plan(problem(), Budget(1.0, 1e-6))
    with pytest.raises(Incompatible, match="delta > 0"):
        ExponentialSampling(regularised=True).plan(problem(constraint=Box()), Budget(1.0))
    with pytest.raises(Incompatible, match="needs a box"):
        ExponentialSampling(regularised=True).plan(problem(), Budget(1.0, 1e-6))
    for sampler in ("grid", "grid-walk", "hit-and-run"):  # the curve is that of the fine lattice
        coarse = ExponentialSampling(
            regularised=True, sampler=sampler, guarantee="approximate", cells=2
        )
        with pytest.raises(Incompatible, match="needs a box"):
            coarse.plan(problem(constraint=Box()), Budget(1.0, 1e-6))
    with pytest.raises(Incompatible, match="curvature"):
        ExponentialSampling(sampler="gaussian-envelope").plan(problem(loss=Hinge()), Budget(1.0))
    with pytest.raises(Incompatible, match="needs a box"):
        ExponentialSampling(sampler="grid-walk").plan(problem(), Budget(1.0))
    unlabelled = problem(loss=Huber(), bounds=Bounds(row_norm=1.0))
    with pytest.raises(MissingBound, match="label"):
        ExponentialSampling().plan(unlabelled, Budget(1.0))


def test_ridge_strength_is_free() -> None:
    plain, ridge = (
        ExponentialSampling(strength=s).plan(problem(), Budget(1.0)) for s in (None, 9.0)
    )
    assert plain.inverse == pytest.approx(ridge.inverse, rel=1e-12)  # but for rounding
    held = problem(regularizer=Ridge(strength=5.0))
    assert ExponentialSampling().plan(held, Budget(1.0)).strength == 5.0


@pytest.mark.parametrize("loss", [Squared(), Poisson(limit=4.0)], ids=lambda v: v.name)
def test_slopes_beyond_the_set_are_covered(loss: Loss) -> None:
    """Brute force over rows and labels, at points further out than the set."""
    bounds = Bounds(row_norm=1.5, label=(0.0, 2.0))
    task = Problem(loss=loss, bounds=bounds, n_features=1, n_rows=9, constraint=L2Ball(radius=1.0))
    w = np.linspace(-1.2, 1.2, 241)
    top = task.bounding.label_bound
    steepest = max(
        float(np.abs(x * loss.slope(x * w, np.full_like(w, y))).max())
        for x in np.linspace(-1.5, 1.5, 31)
        for y in np.linspace(0.0 if loss.target == "count" else -top, top, 21)
    )
    assert steepest <= lipschitz_on_ball(task, 1.2) * (1 + 1e-12)
    # The constant of the set itself would not do.
    assert steepest > task.terms.lipschitz


@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=lambda loss: loss.name)
def test_a_law_sharper_than_its_scores_are_exact_is_refused_when_planned(loss: Loss) -> None:
    task = problem(loss=loss, n_rows=1000)
    source = ArraySource(np.ones((1000, 1)), np.ones(1000))
    plan = ExponentialSampling().plan(task, Budget(1e5))
    assert plan.run(source, Seeded(0)).weights.size == 1
    # What the plan checked is what the sampler checks.
    law = density(
        task,
        task.bound(source),
        plan.region,
        inverse=plan.inverse,
        strength=plan.strength,
        radius=plan.radius,
    )
    assert law.slack == plan.slack
    with pytest.raises(Incompatible, match="smaller epsilon"):
        ExponentialSampling().plan(task, Budget(1e12))
    # Draws on a coarse grid need no such room.
    ExponentialSampling(sampler="grid").plan(task, Budget(1e12))


@pytest.mark.parametrize("noise", [2.0, 0.0], ids=["inside", "at the edge"])
def test_sharp_laws_with_corners_are_drawn(noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of times narrower than the set; without noise they lean on a curved wall."""
    plain, passes = Rows.objective, 0

    def counted(self: Rows, *rest: object) -> object:
        nonlocal passes
        passes += 1
        assert passes < 300, "the draw does not end"
        return plain(self, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Rows, "objective", counted)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X.sum(axis=1) + noise * rng.normal(size=1000) > 0).astype(int)
    plan = ExponentialSampling().plan(problem(loss=Hinge(), n_features=2, n_rows=1000), Budget(2e6))
    w = plan.run(ArraySource(X, y), Seeded(1)).weights
    if noise:
        assert np.linalg.norm(w) < 1.9
    else:
        assert np.linalg.norm(w) == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    "loss", [Hinge(), Absolute(), Quantile(quantile=0.8)], ids=lambda v: v.name
)
def test_laws_too_sharp_for_the_lattice_are_refused_when_planned(loss: Loss) -> None:
    for p, n, epsilon in itertools.product((1, 2, 5), (100, 10_000), (1e-3, 1.0, 1e5)):
        ExponentialSampling().plan(problem(loss=loss, n_features=p, n_rows=n), Budget(epsilon))
    for n, epsilon in ((100, 3e8), (10_000, 3e6)):
        task = problem(loss=loss, n_features=2, n_rows=n)
        with pytest.raises(Incompatible, match="epsilon and number of rows"):
            ExponentialSampling().plan(task, Budget(epsilon))
    # A law without corners is much wider.
    ExponentialSampling().plan(problem(n_features=2, n_rows=10_000), Budget(3e6))
    # A secret number of rows tells nothing; rounding is bounded for as many as a run takes.
    hidden = problem(loss=loss, n_features=2, n_rows=None, neighbours="add-remove")
    ExponentialSampling().plan(hidden, Budget(1e3))
    with pytest.raises(Incompatible, match="rounding of the scores"):
        ExponentialSampling().plan(hidden, Budget(1e5))


@pytest.mark.parametrize("seed", range(6))
def test_the_excess_of_a_draw_is_at_most_a_gamma_variable_in_law(seed: int) -> None:
    """Compare tails with those of the law itself, by counting the points of a fine grid."""
    rng = np.random.default_rng(seed)
    side = np.linspace(-1, 1, 601)
    points = np.array([p for p in itertools.product(side, side) if p[0] ** 2 + p[1] ** 2 <= 1])
    slopes, offsets = 20 * rng.normal(size=(seed + 1, 2)), rng.normal(size=seed + 1)
    scores = (points @ slopes.T + offsets).max(axis=1)
    scores -= scores.min()
    law = np.exp(-scores)
    for failure in (0.5, 0.05, 0.001):
        limit = stats.gamma(2).isf(failure)
        assert law[scores > limit].sum() / law.sum() <= failure * 1.02


def test_plans_say_what_nineteen_draws_in_twenty_do_not_exceed() -> None:
    """On a cone, all rows of one kind, the gamma law is nearly attained."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.zeros(2000)
    task = problem(loss=Absolute(), n_features=2, n_rows=2000, constraint=L2Ball(radius=1.0))
    plan = ExponentialSampling().plan(task, Budget(1.0))
    limit = plan.excess_quantile(0.2)
    assert limit == pytest.approx(stats.gamma(2).isf(0.2) / plan.inverse)
    assert plan.facts()["excess of 19 draws in 20 (sum) <="] == plan.excess_quantile(0.05)
    found = [float(np.abs(X @ plan.run(ArraySource(X, y), Seeded(s)).weights).sum())
             for s in range(60)]  # fmt: skip
    over = sum(f > limit for f in found)
    assert stats.binom.ppf(1e-5, 60, 0.2) <= over <= stats.binom.isf(1e-5, 60, 0.2)
    # A ridge that was asked for is part of what is minimised, so it adds no excess.
    asked = ExponentialSampling().plan(replace(task, regularizer=Ridge(strength=9.0)), Budget(1.0))
    assert asked.excess_quantile(0.2) == pytest.approx(stats.gamma(2).isf(0.2) / asked.inverse)
    grid = ExponentialSampling(sampler="grid").plan(task, Budget(1.0))
    assert grid.excess_quantile(0.05) == math.inf
