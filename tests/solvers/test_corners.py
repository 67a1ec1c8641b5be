"""Minimisers of losses with corners: brute force, exact gaps, neighbours."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.bounds import Array
from discreet.data import Rows
from discreet.data.corner_residuals import residuals
from discreet.data.norms import shorten
from discreet.data.storage.reread import Reread
from discreet.errors import Incompatible, InvalidParameter, NotCertified
from discreet.losses import Absolute, EuclideanDistance, Hinge, Loss, Quantile
from discreet.losses.base import Regularity
from discreet.regularizers import L1, Ridge
from discreet.sets import Box, L2Ball
from discreet.solvers.corner_certificate import CornerObjective
from discreet.solvers.interior_point import solve_corners
from discreet.solvers.minimize import minimise

LOSSES: list[Loss] = [Hinge(), Absolute(), Quantile(quantile=0.9)]


def instance(loss: Loss, n: int, p: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y = X @ np.ones(p) / math.sqrt(p) + 0.3 * rng.normal(size=n)
    return Rows(X, np.where(y > 0, 1.0, -1.0) if loss.target == "sign" else np.clip(y, -1, 1))


def value(rows: Rows, loss: Loss, strength: float, w: Array) -> float:
    losses = rows.weight * loss.value(rows.X @ w, rows.y)
    return math.fsum(losses) + 0.5 * strength * float(w @ w)


def brute_force(rows: Rows, loss: Loss, strength: float) -> Array:
    """Return the best of all points where some rows lie on corners and others on one side."""
    form = loss.corner(rows.y)
    assert form is not None
    place, low, high = form
    best, least = np.zeros(rows.dimension), math.inf
    for sides in itertools.product((-1, 0, 1), repeat=rows.n_rows):
        on = np.array(sides) == 0
        if on.sum() > rows.dimension:
            continue
        s = np.where(np.array(sides) > 0, high, low) * rows.weight
        free = -(rows.X[~on].T @ s[~on]) / strength
        A = rows.X[on]
        w = free + A.T @ np.linalg.lstsq(A @ A.T, place[on] - A @ free, rcond=None)[0]
        now = value(rows, loss, strength, w)
        if now < least:
            best, least = w, now
    return best


def exact_gap(objective: CornerObjective, w: Array, s: Array) -> Fraction:
    """Return the gap in rational arithmetic, as the difference of the two objectives."""
    X = [[Fraction(float(x)) for x in row] for row in objective.rows.X]
    weights, dual = [Fraction(float(x)) for x in w], [Fraction(float(x)) for x in s]
    place, low, high = (
        [Fraction(float(x)) for x in part]
        for part in (objective.place, objective.low, objective.high)
    )
    strength = Fraction(objective.strength)
    t = [
        sum(a * b for a, b in zip(x, weights, strict=True)) - k
        for x, k in zip(X, place, strict=True)
    ]
    primal = sum(max(a * r, b * r) for a, b, r in zip(low, high, t, strict=True))
    primal += strength * sum(a * a for a in weights) / 2
    v = [sum(a * x[j] for a, x in zip(dual, X, strict=True)) for j in range(len(weights))]
    below = -sum(a * k for a, k in zip(dual, place, strict=True)) - sum(a * a for a in v) / (
        2 * strength
    )
    return Fraction(primal - below)


def test_small_problems_have_the_known_answers() -> None:
    rows = Rows(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]), np.ones(3))
    line = Rows(np.ones((3, 1)), np.array([0.0, 1.0, 5.0]))
    for given, loss, strength, known in (
        (rows, Hinge(), 1.0, [0.0, 1.0]),
        (line, Absolute(), 0.5, [1.0]),
        (line, Quantile(quantile=0.9), 1.0, [1.0]),
    ):
        found = minimise(
            given, loss, linear=np.zeros(len(known)), strength=strength, tolerance=1e-6
        )
        np.testing.assert_allclose(found, known, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_solutions_are_those_of_brute_force(loss: Loss) -> None:
    for seed, strength in enumerate((0.2, 1.0, 4.0)):
        rows = instance(loss, 6, 2, seed)
        rows.weight = np.array([1.0, 0.5, 2.0, 0.0, 1.0, 0.3])
        found = solve_corners(CornerObjective.of(rows, loss, strength), 1e-5)
        np.testing.assert_allclose(found, brute_force(rows, loss, strength), atol=1e-5 / strength)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_gap_bounds_the_exact_gap_and_the_distance(loss: Loss) -> None:
    rng = np.random.default_rng(3)
    rows, strength = instance(loss, 7, 2, 5), 1.7
    objective = CornerObjective.of(rows, loss, strength)
    truth = brute_force(rows, loss, strength)
    for trial in range(30):
        s = objective.low + (objective.high - objective.low) * rng.random(rows.n_rows)
        s = np.where(rng.random(rows.n_rows) < trial / 30, objective.high, s)
        w, gap = objective.certified(s)
        exact = exact_gap(objective, w, s)
        assert 0 <= exact <= Fraction(gap) <= exact * Fraction(1.000001) + Fraction(1e-13)
        assert np.linalg.norm(w - truth) <= math.sqrt(2 * gap / strength) + 1e-12
        assert value(rows, loss, strength, w) - value(rows, loss, strength, truth) <= gap + 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_the_gap_is_rigorous_where_it_is_all_rounding(loss: Loss) -> None:
    # At the solution both objectives agree in nearly all digits.
    rows = instance(loss, 40, 3, 8)
    objective = CornerObjective.of(rows, loss, 2.0)
    seen: list[tuple[Array, Array, float]] = []

    class Spy(CornerObjective):
        def certified(self, s: Array) -> tuple[Array, float]:
            w, gap = super().certified(s)
            seen.append((w, s, gap))
            return w, gap

    spied = Spy(rows, objective.place, objective.low, objective.high, 2.0)
    solve_corners(spied, 1e-5)
    assert min(gap for _, _, gap in seen) < 1e-10
    for w, s, gap in seen:
        assert 0 <= exact_gap(objective, w, s) <= Fraction(gap)


def test_the_gap_covers_the_rounding_of_residuals_that_are_hardly_any() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        X, s = rng.normal(size=(2, 9)), rng.uniform(-0.5, 0.5, 2)
        rows = Rows(X, np.zeros(2))
        w, _ = CornerObjective.of(rows, Absolute(), 1.0).certified(s)
        # Corners a few units of rounding away, too far for the second look.
        near = Rows(X, X @ w + 1e-15 * rng.uniform(5, 20, 2) * np.linalg.norm(X, axis=1))
        objective = CornerObjective.of(near, Absolute(), 1.0)
        again, gap = objective.certified(s)
        assert 0 < exact_gap(objective, again, s) <= Fraction(gap) < Fraction(1e-11)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_in_a_ball_no_point_is_better(loss: Loss, radius: float) -> None:
    rng = np.random.default_rng(0)
    rows, strength = instance(loss, 60, 3, 1), 2.0
    ball = L2Ball(radius=radius)
    found = minimise(
        rows, loss, linear=np.zeros(3), strength=strength, tolerance=1e-4, constraint=ball
    )
    assert Fraction(radius) ** 2 >= sum(Fraction(float(x)) ** 2 for x in found)
    best = value(rows, loss, strength, found)
    for scale in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            other = ball.project(found + scale * rng.normal(size=3))
            apart = float(np.sum((other - found) ** 2))
            # Strong convexity around a point that is as good as certified.
            rise = value(rows, loss, strength, other) - best
            assert rise >= -1e-8 / (2 * strength) - 1e-12
            assert rise >= 0.5 * strength * (math.sqrt(apart) - 1e-4) ** 2 - 1e-8 or apart < 1e-6


@pytest.mark.parametrize("radius", [0.3, 0.6])
def test_gaps_in_a_ball_hold_for_any_dual_point(radius: float) -> None:
    rng = np.random.default_rng(4)
    rows, loss = instance(Absolute(), 30, 3, 2), Absolute()
    objective = CornerObjective.of(rows, loss, 2.0, radius)
    found = solve_corners(objective, 1e-5)
    least = value(rows, loss, 2.0, found)
    for trial in range(40):
        s = objective.low + (objective.high - objective.low) * rng.random(rows.n_rows)
        s = np.where(rng.random(rows.n_rows) < trial / 40, np.sign(rows.X @ found - rows.y), s)
        w, gap = objective.certified(s)
        assert np.linalg.norm(w) <= radius
        assert value(rows, loss, 2.0, w) - least <= gap + 1e-9
        assert np.linalg.norm(w - found) <= math.sqrt(gap) + 1e-5


def test_a_dual_point_outside_its_box_proves_nothing() -> None:
    objective = CornerObjective.of(instance(Hinge(), 5, 2, 0), Hinge(), 1.0)
    s = objective.high.copy()
    s[2] = np.nextafter(s[2], np.inf)
    with pytest.raises(ValueError, match="box"):
        objective.certified(s)
    with pytest.raises(ValueError, match="box"):
        objective.certified(np.full(5, np.nan))


def test_all_rows_on_their_corners_are_certified() -> None:
    n, p = 20_000, 8
    X = np.random.default_rng(0).normal(size=(n, p)) / 10
    rows = Rows(X, X @ np.full(p, 0.3))
    found = solve_corners(CornerObjective.of(rows, Absolute(), 50.0), 1e-4)
    np.testing.assert_allclose(found, 0.3, atol=2e-6)


def test_residuals_are_within_their_errors() -> None:
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(300, 6)), rng.normal(size=6)
    place = X @ w  # all that is left is rounding
    found, error = residuals(Rows(X, place), w, place)
    coarse = [
        sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, w, strict=True)) for x in X
    ]
    for i, exact in enumerate(coarse):
        left = exact - Fraction(float(place[i]))
        assert abs(left - Fraction(float(found[i]))) <= Fraction(float(error[i]))
    assert error.max() < 1e-28 < np.abs(found).max()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_rows_stored_otherwise_have_the_same_minimiser(loss: Loss) -> None:
    rows = instance(loss, 50, 3, 2)
    narrow = rows.X.astype(np.float32)
    wide = solve_corners(CornerObjective.of(Rows(narrow.astype(float), rows.y), loss, 1.0), 1e-5)
    for X in (narrow, sp.csr_array(narrow.astype(float))):
        other = solve_corners(CornerObjective.of(Rows(X, rows.y), loss, 1.0), 1e-5)
        np.testing.assert_allclose(other, wide, atol=2e-5)


def test_rows_that_say_nothing_change_nothing() -> None:
    rows = instance(Quantile(quantile=0.3), 30, 3, 4)
    more = Rows(
        np.vstack([rows.X, np.zeros((4, 3)), np.ones((2, 3)) / 2]),
        np.concatenate([rows.y, [0.0, 0.5, -0.5, 1.0, 0.0, 0.0]]),
        np.concatenate([np.ones(34), np.zeros(2)]),
    )
    loss = Quantile(quantile=0.3)
    for strength in (0.5, 20.0):
        plain, padded = (
            solve_corners(CornerObjective.of(r, loss, strength), 1e-5) for r in (rows, more)
        )
        np.testing.assert_allclose(plain, padded, atol=2e-5 / strength)
    blank = Rows(np.zeros((3, 2)), np.zeros(3), np.zeros(3))
    assert not solve_corners(CornerObjective.of(blank, Hinge(), 1.0), 1e-5).any()


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_minimisers_of_neighbours_are_as_close_as_the_theorem_says(loss: Loss) -> None:
    rng, strength, most = np.random.default_rng(6), 1.5, 0.0
    slope = loss.regularity(label=1.0, reach=math.inf).lipschitz
    for seed in range(15):
        rows = instance(loss, int(rng.integers(1, 30)), 2, seed)
        other = Rows(rows.X.copy(), rows.y.copy(), rows.weight.copy())
        other.weight[0] = 0.0
        replaced = Rows(rows.X.copy(), -rows.y)
        replaced.y[1:] = rows.y[1:]
        first, without, instead = (
            solve_corners(CornerObjective.of(r, loss, strength), 1e-4)
            for r in (rows, other, replaced)
        )
        assert np.linalg.norm(first - without) <= (slope + 2e-4) / strength
        assert np.linalg.norm(first - instead) <= (2 * slope + 2e-4) / strength
        most = max(most, float(np.linalg.norm(first - without)) * strength / slope)
    alone = Rows(np.array([[1.0, 0.0]]), np.array([1.0]))
    moved = solve_corners(CornerObjective.of(alone, loss, 4.0), 1e-4)
    # One row alone attains the theorem.
    assert np.linalg.norm(moved) == pytest.approx(
        abs(float(loss.slope(np.zeros(1), np.ones(1))[0])) / 4.0, rel=1e-4
    )
    assert most > 0.2


class Gentle(Hinge):
    """A loss that declares half of the slope that its inherited corner has."""

    corner = Hinge.corner  # declared anew, and wrong for this slope

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return replace(super().regularity(label=label, reach=reach), lipschitz=0.5)


def test_no_slope_exceeds_the_one_that_noise_is_scaled_to() -> None:
    alone = Rows(np.array([[1.0, 0.0]]), np.array([1.0]))
    moved = solve_corners(CornerObjective.of(alone, Gentle(), 4.0), 1e-4)
    assert np.linalg.norm(moved) <= (0.5 + 1e-4) / 4.0


def test_refusals() -> None:
    rows, zero = instance(Hinge(), 5, 2, 0), np.zeros(2)
    with pytest.raises(Incompatible, match="ridge penalty only"):
        minimise(
            rows, Hinge(), linear=zero, strength=1.0, tolerance=1e-4, regularizer=L1(strength=1.0)
        )
    with pytest.raises(Incompatible, match="no set but an l2 ball"):
        minimise(rows, Hinge(), linear=zero, strength=1.0, tolerance=1e-4, constraint=Box())
    with pytest.raises(Incompatible, match="smooth losses"):
        minimise(rows, Hinge(), linear=np.ones(2), strength=1.0, tolerance=1e-4)
    with pytest.raises(Incompatible, match="smooth losses"):
        minimise(rows, Hinge(), linear=zero, strength=1.0, tolerance=1e-4, linear_error=1e-6)
    with pytest.raises(InvalidParameter, match="strength"):
        minimise(rows, Hinge(), linear=zero, strength=0.0, tolerance=1e-4)
    with pytest.raises(NotCertified):
        minimise(rows, Hinge(), linear=zero, strength=1.0, tolerance=1e-16)
    points, median = Rows(np.ones((3, 1)), np.zeros((3, 2))), EuclideanDistance(dim=2)
    with pytest.raises(Incompatible, match="where its corner is"):
        minimise(points, median, linear=np.zeros((1, 2)), strength=1.0, tolerance=1e-4)


def test_rows_that_are_read_again_have_the_same_minimiser() -> None:
    rows = instance(Hinge(), 400, 3, 7)
    again = Reread(2.0 * rows.X, lambda given, blank: shorten(given, 0.9), 3, limit=0.9)
    again.learn(slice(0, 400), np.ones(400))
    plain = 2.0 * rows.X
    norms = shorten(plain, 0.9)
    again.kept[:] = plain[: len(again.kept)]
    found, known = (
        solve_corners(CornerObjective.of(given, Hinge(), 2.0), 1e-5)
        for given in (Rows(again, rows.y, norms=norms * (1 + 1e-14)), Rows(plain, rows.y))
    )
    np.testing.assert_allclose(found, known, atol=1e-5)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
def test_numbers_out_of_range_certify_nothing_and_print_nothing(
    wrong: float, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = instance(Absolute(), 40, 3, 7)
    rows.X[3] = wrong
    with pytest.raises(NotCertified):
        solve_corners(CornerObjective.of(rows, Absolute(), 2.0), 1e-5)
    assert capfd.readouterr() == ("", "")


def test_a_ridge_given_as_a_penalty_counts() -> None:
    rows = instance(Hinge(), 20, 2, 3)
    first = minimise(rows, Hinge(), linear=np.zeros(2), strength=3.0, tolerance=1e-5)
    second = minimise(
        rows,
        Hinge(),
        linear=np.zeros(2),
        strength=1.0,
        tolerance=1e-5,
        regularizer=Ridge(strength=2.0),
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_rows_of_few_kinds_are_certified() -> None:
    """Many of them lie near their corners, so that the gap shrinks slowly for a while."""
    rng = np.random.default_rng([10_000, 8, 2])
    X = (rng.random((10_000, 8)) < np.linspace(0.05, 0.6, 8)).astype(float) / 2.0
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    y = np.clip(X @ rng.normal(size=8) + 0.3 * rng.normal(size=10_000), -1, 1)
    w = minimise(Rows(X, y), Absolute(), linear=np.zeros(8), strength=500.0, tolerance=1.2e-3)
    t = X @ w - y
    slope = np.sign(np.where(np.abs(t) < 1e-5, 0.0, t)) @ X + 500.0 * w
    free = np.abs(t) < 1e-5  # their slopes may be anything between -1 and 1
    assert np.linalg.norm(np.maximum(np.abs(slope) - np.abs(X[free]).sum(axis=0), 0.0)) < 1e-2
