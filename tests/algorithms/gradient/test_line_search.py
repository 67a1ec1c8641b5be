"""The line search: what its sums cost, what one row can do to them, and what they find."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from discreet import Bounds
from discreet.accounting import Budget, epsilon_at
from discreet.algorithms import NoisyGradient, RecentredPerturbation
from discreet.algorithms.gradient.line_search_estimates import Conservative
from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan
from discreet.bounds import Array
from discreet.data import ArraySource, Grouping, Rows
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import CalibratedLogistic, Hinge, Logistic
from discreet.mechanisms.gradient_noise import GradientNoise
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.tuned.algorithms import LINE_LONGEST, LINE_SHORTEST

N, P = 300, 4


def problem(
    loss: Any = None,
    neighbours: Any = "zero-out",
    n: int = N,
    p: int = P,
    weight: float = 1.0,
) -> Problem:
    bounds = Bounds(row_norm=1.0, classes=(0, 1), weight=weight)
    return Problem(
        loss=loss or Logistic(), bounds=bounds, n_features=p, n_rows=n, neighbours=neighbours
    )


def data(n: int = N, p: int = P, size: float = 12.0) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = rng.normal(size=p)
    w *= size / np.linalg.norm(w)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ w))).astype(int), w


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_its_sums_cost_as_much_as_steps(neighbours: str, conservative: bool) -> None:
    budget, apart = Budget(0.7, 1e-5), 2.0 if neighbours == "replace-one" else 1.0
    config = NoisyGradient(steps=30, line_search=6, conservative=conservative)
    plan = config.plan(problem(neighbours=neighbours), budget)
    # Every sum, of a step or of a look, has noise of this multiple of what one row can do to it.
    noises = [plan.noise, plan.line_search.noise]
    assert [noise.scale / noise.row for noise in noises] == pytest.approx([plan.multiplier] * 2)
    assert plan.line_search.noise.row >= plan.line_search.clip

    def delta(sums: int) -> float:
        """The exact delta of so many Gaussian sums."""
        mu, e = apart * math.sqrt(sums) / plan.multiplier, budget.epsilon
        upper, lower = norm.cdf(mu / 2 - e / mu), norm.cdf(-mu / 2 - e / mu)
        return float(upper - math.exp(e) * lower)

    assert delta(36) == pytest.approx(budget.delta, rel=1e-6)
    assert delta(30) < 0.6 * budget.delta  # what would be claimed if these sums were free


@pytest.mark.parametrize("sampler", ["poisson", "fixed-size"])
def test_its_sums_are_drawn_and_accounted_for_like_batches(sampler: str) -> None:
    budget = Budget(0.7, 1e-5)
    plan = NoisyGradient(steps=30, line_search=6, sampler=sampler, batch=60).plan(problem(), budget)
    assert plan.event == plan.sampler.event(plan.multiplier, 36, "zero-out")
    assert epsilon_at(plan.event, 1e-5) <= 0.7
    X, y, _ = data()
    drawn: list[int] = []
    draw = type(plan.sampler).draw

    class Counting(type(plan.sampler)):  # type: ignore[misc]
        def draw(self, rows: Rows, random: Any) -> Any:
            drawn.append(rows.n_rows)
            return draw(self, rows, random)

    object.__setattr__(plan.sampler, "__class__", Counting)
    plan.run(ArraySource(X, y), Seeded(0))
    assert drawn == [N] * 36


def sums_of(
    monkeypatch: pytest.MonkeyPatch,
    plan: NoisyGradientPlan,
    X: Array,
    y: Array,
    weights: Array,
) -> list[float]:
    """Return the sums before noise, at lengths that depend on the noise alone."""
    seen: list[float] = []

    def cover(self: GradientNoise, total: Array, drawn: Array) -> Array:
        seen.append(float(total[0]))
        return np.asarray(drawn)

    source = ArraySource(X, y, np.full(len(y), plan.problem.bounds.weight))
    with monkeypatch.context() as patch:
        patch.setattr(GradientNoise, "cover", cover)
        plan.line_search.fitted(plan.problem.bound(source), weights, Seeded(3))
    return seen


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize(
    ("sampler", "groups"),
    [
        ("poisson", None),
        ("fixed-size", None),
        ("poisson", Grouping(3, "weight")),
        ("poisson", Grouping(3, "clip")),
    ],
)
def test_its_sums_are_over_the_rows_that_were_drawn(
    sampler: str, conservative: bool, groups: Grouping | None
) -> None:
    """Only these are bounded anew; the sum is that of the same rows among all others."""
    config = NoisyGradient(
        steps=3, line_search=3, sampler=sampler, batch=60, conservative=conservative
    )
    task = replace(problem(), grouping=groups)
    search = config.plan(task, Budget(1.0, 1e-5)).line_search
    X, y, w = data()
    rows = problem().bound(ArraySource(X, y))
    if groups is not None:
        rows = rows.shared(np.full(N, 0.5), np.arange(N) // 2)
    along, signs = rows.projected(w / np.linalg.norm(w)), np.sign(rows.y)
    estimate, seed = search.estimate(search, 9.0), Seeded(0)
    at = np.array([estimate.at])
    for _ in range(3):
        index = search.sampler.draw(rows, seed)
        with search._line(estimate, rows, along, signs, index) as sums:
            total = sums.full(at, search.clip)
            assert sums.rows.n_rows == len(index)
        with search._line(estimate, rows, along, signs, None) as sums:
            assert total == sums.batch(index, at, search.clip)


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("loss", [Logistic(), CalibratedLogistic(clip=0.3)])
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("weight", [1.0, 7.0])
def test_one_row_moves_a_look_by_no_more_than_accounted(
    monkeypatch: pytest.MonkeyPatch, loss: Any, relation: str, conservative: bool, weight: float
) -> None:
    X, y, w = data()
    X, task = 5.0 * X, problem(loss, relation, weight=weight)  # clipped to norm 1
    X[:12], y[:12] = w, 0  # far on the wrong side
    config = NoisyGradient(steps=3, line_search=3, conservative=conservative)
    plan = config.plan(task, Budget(1.0, 1e-5))
    apart = 2.0 if relation == "replace-one" else 1.0

    def farthest() -> float:
        whole, far = sums_of(monkeypatch, plan, X, y, w), 0.0
        for row in range(12):
            other, labels = X.copy(), y.copy()
            if relation == "add-remove":
                other, labels = np.delete(X, row, axis=0), np.delete(y, row)
            elif relation == "replace-one":
                other[row], labels[row] = 0.02 * w, 1
            else:
                other[row] = np.inf  # becomes a blank row
            less = sums_of(monkeypatch, plan, other, labels, w)
            far = max(far, *(abs(a - b) for a, b in zip(whole, less, strict=True)))
        return far

    allowed = apart * plan.line_search.noise.row
    # Rows on the right side add next to nothing to a conservative sum, so it moves by half of that.
    half = conservative and apart == 2.0
    assert (0.2 if half else 0.4) * allowed < farthest() <= allowed
    # Without the two caps a row would do more.
    monkeypatch.setattr(CalibratedLogistic, "attach", lambda self, y, norms: y)
    monkeypatch.setattr("discreet.data.clipped.blockwise.cut_slopes", lambda slope, high: slope)
    assert farthest() > (1.1 if half else 1.5) * allowed


@pytest.mark.parametrize("conservative", [False, True])
def test_only_its_sums_read_the_rows(monkeypatch: pytest.MonkeyPatch, conservative: bool) -> None:
    X, y, w = data()
    config = NoisyGradient(steps=3, line_search=5, conservative=conservative)
    plan = config.plan(problem(), Budget(1.0, 1e-5))
    other = ArraySource(X[::-1] * 0.1, 1 - y)
    monkeypatch.setattr(GradientNoise, "cover", lambda self, total, drawn: drawn)
    found = [
        plan.line_search.fitted(problem().bound(source), w, Seeded(3))
        for source in (ArraySource(X, y), other)
    ]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("size", [3.0, 12.0])
@pytest.mark.parametrize("wrong", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("sampler", ["full", "poisson"])
def test_the_length_is_found(size: float, wrong: float, sampler: str) -> None:
    X, y, w = data(40_000, 10, size)
    task = problem(n=40_000, p=10)
    batch = None if sampler == "full" else 20_000
    config = NoisyGradient(steps=90, line_search=10, sampler=sampler, batch=batch)
    plan = config.plan(task, Budget(4.0, 1e-6))
    found = plan.line_search.fitted(task.bound(ArraySource(X, y)), wrong * w, Seeded(5))
    np.testing.assert_allclose(found / np.linalg.norm(found), w / size, rtol=1e-9)
    assert np.linalg.norm(found) == pytest.approx(size, rel=0.15)


@pytest.mark.parametrize("conservative", [False, True])
def test_the_weight_of_all_rows_changes_no_length(conservative: bool) -> None:
    X, y, w = data(40_000, 10, 12.0)
    config, found = NoisyGradient(steps=90, line_search=10, conservative=conservative), []
    for weight in (0.05, 1.0, 20.0):
        task = problem(n=40_000, p=10, weight=weight)
        rows = task.bound(ArraySource(X, y, np.full(len(y), weight)))
        looked = config.plan(task, Budget(4.0, 1e-6)).line_search.fitted(rows, 0.7 * w, Seeded(5))
        found.append(np.linalg.norm(looked))
    assert found == pytest.approx([12.0] * 3, rel=0.15)


def test_a_secret_size_is_covered_whatever_is_declared() -> None:
    def surcharge(neighbours: str, n: int) -> float:
        length = (
            NoisyGradient(line_search=3)
            .plan(problem(None, neighbours, n), Budget(1.0, 1e-5))
            .line_search
        )
        return length.noise.row / length.clip - 1.0

    few, many = surcharge("add-remove", 300), surcharge("add-remove", 30_000)
    # Rounding errors of sums of 2^30 rows that may all have moved, not of what was declared.
    assert few == many > 1000 * surcharge("zero-out", 30_000)


def fitted(task: Problem, config: NoisyGradient, source: ArraySource, weights: Array) -> Array:
    """Return what the line searches of five runs make of the norm of the weights."""
    plan, rows = config.plan(task, Budget(1.0, 1e-6)), task.bound(source)
    found = [plan.line_search.fitted(rows, weights, Seeded(seed)) for seed in range(5)]
    return np.linalg.norm(found, axis=1)


@pytest.mark.parametrize("sampler", ["full", "poisson"])
def test_a_conservative_look_corrects_what_is_clear_and_nothing_else(sampler: str) -> None:
    n, p, size = 20_000, 10, 30.0
    X, y, w = data(n, p, size)
    batch = None if sampler == "full" else n // 2
    config = NoisyGradient(
        steps=500, line_search=25, conservative=True, sampler=sampler, batch=batch
    )
    task, source = problem(n=n, p=p), ArraySource(X, y)
    # A quarter of the length is far too short for these labels.
    np.testing.assert_allclose(fitted(task, config, source, w / 4), size, rtol=0.3)
    np.testing.assert_allclose(fitted(task, config, source, w), size, rtol=0.01)
    # The other reading has no opinion beforehand.
    plain = replace(config, conservative=False)
    assert np.ptp(fitted(task, plain, source, w)) > 0.02 * size


def test_a_conservative_length_is_where_the_loss_along_the_line_is_least() -> None:
    """With next to no noise, whatever the labels are, if none is wrong by a large margin."""
    n, p = 20_000, 10
    X, _, w = data(n, p, 8.0)
    z, rng = X @ w, np.random.default_rng(3)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-z - np.sin(2.0 * z)))).astype(int)
    config = NoisyGradient(steps=10, line_search=40, conservative=True)
    plan = config.plan(problem(n=n, p=p), Budget(200.0, 1e-3))
    found = plan.line_search.fitted(plan.problem.bound(ArraySource(X, y)), w / 2, Seeded(1))
    margins = (2 * y - 1) * (X @ w) / np.linalg.norm(w)
    best = minimize_scalar(
        lambda t: np.logaddexp(0.0, -t * margins).mean(), bounds=(1.0, 30.0), method="bounded"
    ).x
    assert np.linalg.norm(found) == pytest.approx(best, rel=0.02)


def test_rows_that_are_wrong_by_far_leave_a_conservative_length_alone() -> None:
    """Clipped, they would ask for longer weights than the loss does."""
    n, p, size = 20_000, 10, 60.0
    X, y, w = data(n, p, size)
    flipped = np.where(np.arange(n) % 50 == 0, 1 - y, y)
    config = NoisyGradient(steps=500, line_search=25, conservative=True)
    task, short = problem(n=n, p=p), w / 3
    assert (fitted(task, config, ArraySource(X, y), short) > 1.5 * size / 3).all()
    kept = fitted(task, config, ArraySource(X, flipped), short)
    np.testing.assert_allclose(kept, size / 3, rtol=1e-9)


def test_weights_of_labels_that_say_nothing_become_short() -> None:
    rng = np.random.default_rng(4)
    X, _, _ = data(2000, 20)
    y = rng.integers(0, 2, 2000)
    norms: dict[int, list[float]] = {0: [], 24: []}
    for sums, found in norms.items():
        config = NoisyGradient(steps=120, step=0.05, momentum=0.9, rule="smooth", line_search=sums)
        plan = config.plan(problem(n=2000, p=20), Budget(0.5, 1e-6))
        for seed in range(5):
            weights = plan.run(ArraySource(X, y), Seeded(seed)).weights
            found.append(float(np.linalg.norm(weights)))
    assert np.mean(norms[24]) < 0.4 * np.mean(norms[0])


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_every_storage_of_rows_is_read_alike(kind: str) -> None:
    X, y, w = data(5000, 6)
    stored = {"float64": X, "float32": X.astype(np.float32), "csr": sp.csr_array(X)}[kind]
    task = problem(n=5000, p=6)
    plan = NoisyGradient(steps=40, line_search=6).plan(task, Budget(1.0, 1e-6))
    found, expected = (
        plan.line_search.fitted(task.bound(ArraySource(rows, y), narrow=True), w, Seeded(2))
        for rows in (stored, X)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("kind", ["float64", "float32", "csr"])
def test_a_row_is_projected_the_same_wherever_it_stands(kind: str) -> None:
    X, y, w = data(5000, 13)
    X = X.astype(np.float32 if kind == "float32" else np.float64)
    order = np.random.default_rng(0).permutation(5000)
    sparse = kind == "csr"
    here = Rows(sp.csr_array(X) if sparse else X, 2.0 * y - 1).projected(w)
    there = Rows(sp.csr_array(X[order]) if sparse else X[order], 2.0 * y - 1).projected(w)
    assert (here[order] == there).all()


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_no_length_is_fitted_where_there_is_none(size: float, conservative: bool) -> None:
    X, y, w = data()
    config = NoisyGradient(steps=3, line_search=3, conservative=conservative)
    plan = config.plan(problem(), Budget(1.0, 1e-5))
    weights = w / np.linalg.norm(w) * size
    rows = problem().bound(ArraySource(X, y))
    assert (plan.line_search.fitted(rows, weights, Seeded(0)) == weights).all()


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize("size", [1e-45, 1e45])
def test_absurd_lengths_stay_finite(size: float, conservative: bool) -> None:
    X, y, w = data()
    config = NoisyGradient(steps=3, line_search=8, conservative=conservative)
    plan, rows = config.plan(problem(), Budget(1.0, 1e-5)), problem().bound(ArraySource(X, y))
    found = plan.line_search.fitted(rows, w / np.linalg.norm(w) * size, Seeded(0))
    assert 0.1 * size < np.linalg.norm(found) < 10.0 * size


def test_lengths_stay_in_the_range_that_is_tried() -> None:
    X, y, w = data()
    plan = NoisyGradient(steps=3, line_search=3).plan(problem(), Budget(1e-3, 1e-5))
    rows = problem().bound(ArraySource(X, y))
    for seed in range(20):
        found = float(np.linalg.norm(plan.line_search.fitted(rows, w, Seeded(seed))) / 12.0)
        assert LINE_SHORTEST <= found <= LINE_LONGEST * (1 + 1e-12)


@pytest.mark.parametrize(
    ("config", "loss", "delta"),
    [
        (NoisyGradient(line_search=3, hidden_state=True), Logistic(), 1e-6),
        (NoisyGradient(line_search=3, adaptive_clip=True), Logistic(), 1e-6),
        (NoisyGradient(line_search=3), Logistic(), 0.0),
        (NoisyGradient(line_search=3), Hinge(), 1e-6),
    ],
)
def test_it_is_refused_where_it_makes_no_sense(
    config: NoisyGradient, loss: Any, delta: float
) -> None:
    with pytest.raises(Incompatible, match="line_search"):
        config.plan(problem(loss), Budget(1.0, delta))


@pytest.mark.parametrize("sums", [-1, 2.5, None, float("nan")])
def test_it_must_be_a_number_of_sums(sums: Any) -> None:
    with pytest.raises(InvalidParameter, match="line_search"):
        NoisyGradient(line_search=sums).plan(problem(), Budget(1.0, 1e-6))


def narrow(n: int, p: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Return columns that hardly vary beside an intercept: long weights, short margins."""
    rng = np.random.default_rng(1)
    X = np.column_stack([0.5 + spread * rng.uniform(-1, 1, (n, p)), np.ones(n)])
    X /= np.linalg.norm(X, axis=1).max()
    w = rng.normal(size=p)
    w *= 160 / np.linalg.norm(w)
    w = np.append(w, -0.5 * w.sum() - 2.0)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)


@pytest.mark.parametrize("spread", [0.01, 0.03])
@pytest.mark.parametrize("factor", [0.97, 1.0, 1.03])
def test_long_weights_with_short_margins_are_not_moved_far(spread: float, factor: float) -> None:
    n, p = 60_000, 6
    X, y = narrow(n, p, spread)
    best = LogisticRegression(C=1e6, fit_intercept=False, max_iter=5000).fit(X, y).coef_[0]
    plan = RecentredPerturbation().plan(problem(None, "zero-out", n, p + 1), Budget(8.0, 1e-6))
    rows, losses = plan.problem.bound(ArraySource(X, y)), []
    assert plan.line_search is not None
    for seed in range(5):
        found = plan.line_search.fitted(rows, factor * best, Seeded(seed))
        losses.append(float(np.logaddexp(0.0, -(2 * y - 1) * (X @ found)).mean()))
    least = float(np.logaddexp(0.0, -(2 * y - 1) * (X @ best)).mean())
    assert max(losses) < least + 2e-3


def test_the_last_look_carries_the_length_no_further() -> None:
    n, p = 100_000, 7
    plan = RecentredPerturbation().plan(problem(None, "zero-out", n, p), Budget(2.0, 1e-6))
    assert plan.line_search is not None
    for sign in (-1.0, 1.0):
        read = Conservative(plan.line_search, 60.0)
        for _ in range(plan.line_search.rounds - 1):
            read.see(0.0, 1)
        before = read.length
        read.see(sign * 20.0 * plan.line_search.noise.scale, 1)
        assert read.length == before == pytest.approx(60.0, rel=1e-3)
