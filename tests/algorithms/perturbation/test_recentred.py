"""Objective perturbation twice, against exact laws in one dimension."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit, ndtr

from discreet import PrivateLogisticRegression
from discreet.accounting import Approximate, Budget, Composed, Gaussian, LossTerms, Pure
from discreet.accounting.pld import chain_delta, pld_delta
from discreet.algorithms import RecentredPerturbation
from discreet.algorithms.perturbation.recentred import RecentredPlan, calibrated
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import Asked
from discreet.defaults.case import Case
from discreet.defaults.rules import TwoRuns
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter
from discreet.losses import HuberisedHinge, Logistic, Softmax
from discreet.mechanisms.gradient_noise import FEW_ROWS
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import Ridge
from discreet.sets import L2Ball
from discreet.tuned.algorithms import OUTPUT_SHARES

LOGISTIC = LossTerms.logistic(radius=1.0)
NEIGHBOURS = ["zero-out", "replace-one"]

Row = tuple[float, float]
Runs = tuple[tuple[float, float], tuple[float, float]]


def problem(**changes: Any) -> Problem:
    settings: dict[str, Any] = {
        "loss": Logistic(),
        "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
        "n_features": 2,
        "n_rows": 400,
    }
    return Problem(**(settings | changes))


def data(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    return X, (rng.random(n) < expit(X @ [3.0, -2.0])).astype(int)


def slope(w: np.ndarray, signed: list[Row]) -> np.ndarray:
    """Return the slope of the logistic losses of rows that were multiplied by their labels.

    A row is its number in the free dimension and its margin in one that is held fixed.
    """
    return sum((-x * expit(-x * w - fixed) for x, fixed in signed), np.zeros_like(w))


def cells(
    signed: list[Row], run: tuple[float, float], tilt: float, edges: np.ndarray
) -> np.ndarray:
    """Return the exact chance of every cell of one run in one dimension."""
    strength, scale = run
    z = (strength * edges + tilt + slope(edges, signed)) / scale
    left, right = np.append(-np.inf, z), np.append(z, np.inf)
    return np.where(left < 0, ndtr(right) - ndtr(left), ndtr(-left) - ndtr(-right))


def joint(signed: list[Row], runs: Runs, tilts: tuple[float, float], count: int) -> np.ndarray:
    """Return the exact chances of both runs, the second about the middle of the first's cell."""
    first, second = runs
    edges = np.linspace(-1, 1, count) * (9 * first[1] + 4) / first[0] - tilts[0] / first[0]
    middles = np.append(edges, edges[-1]) - (edges[1] - edges[0]) / 2
    rows = []
    for chance, centre in zip(cells(signed, first, tilts[0], edges), middles, strict=True):
        tilt = tilts[1] - second[0] * centre
        reach = np.linspace(-1, 1, count) * (9 * second[1] + 4) / second[0] - tilt / second[0]
        rows.append(chance * cells(signed, second, tilt, reach))
    return np.array(rows)


def worst(runs: Runs, replaced: bool, epsilon: float, count: int = 250) -> float:
    """Return the largest divergence over neighbours, company and tilts, from below."""
    found = 0.0
    for fixed in (0.0, -30.0):  # far below 0 both rows of a replacement pull with all they have
        for company in ([], [(0.7, 0.0), (-1.0, 0.0), (0.4, 1.0)]):
            for tilts in ((0.0, 0.0), (30.0, 30.0)):
                with_row = joint([*company, (0.999, fixed)], runs, tilts, count)
                other = [(-0.999, fixed)] if replaced else []
                without = joint([*company, *other], runs, tilts, count)
                for p, q in ((with_row, without), (without, with_row)):
                    found = max(found, float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()))
    return found


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_pair_of_neighbours_is_told_apart_better_than_claimed(
    epsilon: float, neighbours: str
) -> None:
    budget, replaced = Budget(epsilon, 1e-3), neighbours == "replace-one"
    *runs, _ = calibrated(LOGISTIC, "logistic", budget, neighbours)  # type: ignore[arg-type]
    found = worst((runs[0], runs[1]), replaced, epsilon)
    assert 0.2 * budget.delta < found <= budget.delta
    # Planted: a first run that costs more than was paid for, and a second one that spends all.
    (strong, first), (weak, second) = runs
    for cheat in (
        ((strong, first / 3), (weak, second)),
        ((strong, first), (weak, 0.7 * second)),
    ):
        assert worst(cheat, replaced, epsilon, count=120) > budget.delta


def test_two_curves_compose_as_a_second_accountant_says() -> None:
    for a, b, epsilon in ((2.0, 3.0, 1.0), (20.0, 4.0, 0.3), (0.7, 0.9, 6.0)):
        for events in ((Gaussian(a), Gaussian(b)), (Gaussian(a), Gaussian(3 * a), Gaussian(b))):
            exact = Composed(events).delta(epsilon)
            assert exact <= chain_delta(events, epsilon) <= 1.005 * exact
            # Far out there is nothing left but what rounding may hide.
            assert 0.0 < chain_delta(events, 100.0) < 1e-12
    for neighbours in NEIGHBOURS:
        plan = RecentredPerturbation().plan(problem(neighbours=neighbours), Budget(1.0, 1e-6))
        one, two = (run.event.events[0] for run in (plan.first, plan.second))  # type: ignore[attr-defined]
        assert plan.line_search is not None
        sums = plan.line_search.event
        assert isinstance(sums, Gaussian)
        other = pld_delta((one, sums, two), 1.0)
        assert chain_delta((one, sums, two), 1.0) == pytest.approx(other, rel=0.02)
        assert 0.5e-6 < other <= 1e-6
        # Half the noise in either run is seen, and sums of a twentieth of theirs.
        for cheat in (
            (replace(one, sigma=one.sigma / 2), sums, two),
            (one, sums, replace(two, sigma=2.0)),
            (one, Gaussian(sums.multiplier / 20), two),
        ):
            assert chain_delta(cheat, 1.0) > 1.5e-6


def test_what_may_fail_outright_is_counted() -> None:
    events = (Approximate(0.5, 1e-4), Gaussian(2.0))
    for epsilon in (0.5, 1.0, 2.0):
        # Independent: the failure, or else the other curve further to the right.
        exact = 1e-4 + (1 - 1e-4) * Composed((Pure(0.5), Gaussian(2.0))).delta(epsilon)
        assert chain_delta(events, epsilon) == pytest.approx(exact, rel=1e-3)


def test_a_curve_that_is_not_known_composes_to_nothing() -> None:
    assert chain_delta((Gaussian(1e-9), Gaussian(2.0)), 1.0) == 1.0
    # Nor does one that does not fit on the grid of the first.
    assert chain_delta((Gaussian(1e7), Gaussian(2.0), Gaussian(2.0)), 1.0) == 1.0


def test_the_second_run_solves_about_its_centre_and_the_users_ridge_stays_at_zero() -> None:
    X, y = data()
    signs = 2.0 * y - 1.0
    for ridge, centre in ((0.0, [2.0, -1.0]), (0.5, [2.0, -1.0]), (0.0, [0.0, 0.0])):
        task = problem(regularizer=Ridge(strength=ridge) if ridge else problem().regularizer)
        plan = RecentredPerturbation().plan(task, Budget(1.0, 1e-6)).second
        quiet = replace(plan, scale=1e-7)
        found = quiet.weights(task.bound(ArraySource(X, y)), Seeded(1), np.array(centre))

        def objective(
            w: np.ndarray, ridge: float = ridge, c: Any = centre, s: float = plan.strength
        ) -> float:
            loss = np.logaddexp(0.0, -signs * (X @ w)).sum()
            return float(loss + ridge / 2 * w @ w + (s - ridge) / 2 * ((w - c) ** 2).sum())

        exact = minimize(objective, np.zeros(2), tol=1e-12).x
        assert found == pytest.approx(exact, abs=1e-4)


def test_releases_follow_the_exact_law_of_both_runs() -> None:
    """In one dimension the law of the second run is an average over that of the first."""
    X, Y = np.tile([[1.0], [0.5], [-0.25], [40.0]], (10, 1)), np.tile([1, 0, 1, 1], 10)
    signed = 10 * [(x, 0.0) for x in (1.0, -0.5, -0.25, 1.0)]  # long rows are scaled down to 1
    plan = RecentredPerturbation().plan(problem(n_features=1, n_rows=40), Budget(1.0, 1e-3))
    plan = replace(plan, line_search=None)
    first, second = ((run.strength, run.scale) for run in (plan.first, plan.second))
    edges = np.linspace(-1, 1, 800) * (8 * first[1] + 4) / first[0]
    chances = cells(signed, first, 0.0, edges)
    middles = np.append(edges, edges[-1]) - (edges[1] - edges[0]) / 2

    def law(w: np.ndarray) -> np.ndarray:
        flat = np.ravel(w)
        pull = second[0] * (flat[:, None] - middles) + slope(flat, signed)[:, None]
        return np.asarray(ndtr(pull / second[1]) @ chances)

    random = Seeded(5)
    sample = [plan.run(ArraySource(X, Y), random).weights[0] for _ in range(500)]
    assert stats.kstest(sample, law).pvalue > 1e-4

    def about_zero(w: np.ndarray) -> np.ndarray:
        flat = np.ravel(w)
        return np.asarray(ndtr((second[0] * flat + slope(flat, signed)) / second[1]))

    assert stats.kstest(sample, about_zero).pvalue < 1e-4


@pytest.mark.parametrize("number", [8, 20])
@pytest.mark.parametrize("neighbours", [*NEIGHBOURS, "add-remove"])
def test_both_runs_and_the_line_search_are_paid_for(neighbours: str, number: int) -> None:
    algorithm = RecentredPerturbation(line_search=number)
    plan = algorithm.plan(problem(neighbours=neighbours), Budget(1.0, 1e-6))
    event = plan.guarantee.event
    assert isinstance(event, Composed)
    assert len(event.events) == 5
    runs = {*plan.first.event.events, *plan.second.event.events}  # type: ignore[attr-defined]
    (sums,) = set(event.events) - runs
    assert plan.line_search is not None
    # So many sums, each with this noise; a row replaced moves them twice as far as a row left out.
    assert plan.line_search.noise.scale == pytest.approx(
        plan.line_search.multiplier * plan.line_search.noise.row
    )
    apart = 2 if neighbours == "replace-one" else 1
    assert sums == Gaussian(plan.line_search.multiplier / (apart * math.sqrt(number)))
    assert 5e-7 < event.delta(1.0) <= 1e-6
    assert (FEW_ROWS in plan.guarantee.assumptions) == (neighbours == "add-remove")


def test_the_second_run_is_tilted_by_numbers_of_one_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is for a tilt of the law drawn; the centre must not move it off its grid."""
    plan = RecentredPerturbation().plan(problem(), Budget(1.0, 1e-6)).second
    tilts: list[np.ndarray] = []
    monkeypatch.setattr(
        "discreet.algorithms.perturbation.objective_perturbation.minimise",
        lambda rows, loss, *, linear, **rest: tilts.append(linear) or np.zeros_like(linear),
    )
    X, y = data()
    rows, centre = plan.problem.bound(ArraySource(X, y)), np.array([math.pi, -math.e])
    plan.weights(rows, Seeded(1))
    plan.weights(rows, Seeded(1), centre)
    step = plan.tilt.grid.step
    assert (tilts[0] - tilts[1]) == pytest.approx(plan.strength * centre, abs=step)
    assert all((tilt / step == np.rint(tilt / step)).all() for tilt in tilts)


def test_the_length_is_fitted_where_the_loss_is_all_there_is() -> None:
    budget = Budget(1.0, 1e-6)
    for task in (problem(loss=HuberisedHinge()), problem(regularizer=Ridge(strength=0.1))):
        plan = RecentredPerturbation().plan(task, budget)
        assert plan.line_search is None
        assert len(plan.event.events) == 4  # type: ignore[attr-defined]
    secret = problem(n_rows=None, neighbours="add-remove")
    assert RecentredPerturbation().plan(secret, budget).line_search is None
    without = RecentredPerturbation(line_search=0).plan(problem(), budget)
    assert without.line_search is None
    assert without.second.scale < RecentredPerturbation().plan(problem(), budget).second.scale
    with pytest.raises(InvalidParameter, match="line_search"):
        RecentredPerturbation(line_search=-1).plan(problem(), budget)


def test_classes_that_nearly_separate_get_longer_weights() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40_000, 10))
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = rng.normal(size=10)
    w *= 120 / np.linalg.norm(w)
    y = (rng.random(len(X)) < expit(X @ w)).astype(int)
    task = problem(n_features=10, n_rows=len(X))
    plan, source = RecentredPerturbation().plan(task, Budget(2.0, 1e-6)), ArraySource(X, y)

    def excess(chosen: RecentredPlan) -> float:
        fits = [chosen.run(source, Seeded(seed)).weights for seed in range(3)]
        losses = [np.logaddexp(0.0, -(2 * y - 1) * (X @ v)).mean() for v in (*fits, w)]
        return float(np.mean(losses[:-1]) - losses[-1])

    assert excess(plan) < 0.7 * excess(replace(plan, line_search=None))


def test_a_set_and_other_losses_are_served_and_the_rest_refused() -> None:
    X, y = data()
    inside = problem(constraint=L2Ball(radius=1.0))
    weights = (
        RecentredPerturbation().plan(inside, Budget(1.0, 1e-6)).run(ArraySource(X, y), Seeded(2))
    )
    assert np.linalg.norm(weights.weights) <= 1.0 + 1e-12
    hinge = RecentredPerturbation().plan(problem(loss=HuberisedHinge()), Budget(1.0, 1e-6))
    assert hinge.second.mode == "sharp"
    with pytest.raises(Incompatible, match="delta > 0"):
        RecentredPerturbation().plan(problem(), Budget(1.0))
    with pytest.raises(BudgetTooSmall, match="in mode 'kst12'"):
        RecentredPerturbation(mode="kst12").plan(problem(), Budget(1.0, 1e-6))
    own = PrivateLogisticRegression(
        algorithm="recentred-perturbation", C=1e-3, bounds=Bounds(row_norm=1.0, classes=(0, 1))
    )
    assert own.plan(2, 400).second.strength == own.plan(2, 400).first.strength == 1000.0
    three = problem(loss=Softmax(n_classes=3), bounds=Bounds(row_norm=1.0, classes=(0, 1, 2)))
    assert RecentredPerturbation().plan(three, Budget(1.0, 1e-6)).second.mode == "sharp"


def test_public_facts_decide_where_two_runs_are_the_default() -> None:
    def chosen(rows: int, columns: int, epsilon: float) -> bool:
        task = problem(n_features=columns, n_rows=rows)
        return TwoRuns().applies(Case(task, Budget(epsilon, 1e-6)))

    assert chosen(400_000, 50, 1.0)
    assert not chosen(400_000, 1000, 1.0)  # noise is the larger evil
    assert not chosen(400_000, 50, 8.0)  # and here the ridge hardly pulls
    # Short weights, declared, are left to the strength of one run; a secret size may be small.
    many = problem(n_features=50, n_rows=400_000)
    assert not TwoRuns().applies(Case(many, Budget(1.0, 1e-6), Asked(norm_guess=3.0)))
    secret = problem(n_features=50, n_rows=None, neighbours="add-remove")
    assert not TwoRuns().applies(Case(secret, Budget(1.0, 1e-6)))
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=bounds)
    named = [
        model.plan(n_features=50, n_rows=rows).facts()["algorithm"] for rows in (10_000, 400_000)
    ]
    assert named == ["noisy-gradient", "recentred-perturbation"]


def test_long_weights_are_shrunk_less_than_by_one_run() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 3))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    true = np.array([20.0, -15.0, 10.0])
    y = (rng.random(len(X)) < expit(X @ true)).astype(int)
    bounds = Bounds(row_norm=1.0, classes=(0, 1))

    def distance(algorithm: str) -> float:
        weights = [
            PrivateLogisticRegression(
                epsilon=1.0,
                delta=1e-6,
                bounds=bounds,
                algorithm=algorithm,
                fit_intercept=False,
                random_state=seed,
            )
            .fit(X, y)
            .coef_[0]
            for seed in range(4)
        ]
        return float(np.mean(np.linalg.norm(np.array(weights) - true, axis=1)))

    assert distance("auto") < 0.7 * distance("objective-perturbation")


@pytest.mark.parametrize("part", ["epsilon", "delta"])
def test_both_runs_share_what_is_set_aside_for_their_outputs(part: str) -> None:
    plan = RecentredPerturbation().plan(problem(n_rows=5000), Budget(1.0, 1e-6))
    parts = (plan.first.inner, plan.first.output, plan.second.output)
    spent = sum(getattr(budget, part) for budget in parts)
    assert spent <= getattr(plan.budget, part) * (1 + 1e-12)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("n_rows", [400, 10**5, 10**7])
def test_the_share_of_output_noise_is_the_one_of_least_noise(neighbours, n_rows):
    task, algorithm = problem(neighbours=neighbours, n_rows=n_rows), RecentredPerturbation()
    for budget in (Budget(0.3, 1e-6), Budget(3.0, 1e-6)):
        plans = [algorithm._calibrated(task, budget, share) for share in OUTPUT_SHARES]
        found = algorithm.plan(task, budget)
        best = plans[0] if plans[0].output_is_small else min(plans, key=lambda plan: plan.spread)
        assert found.spread <= 1.001 * best.spread
        assert found.event.delta(budget.epsilon) <= budget.delta
