"""DP-FTRL: its noise, its price at every moment, its regret."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms.stream.ftrl import FTRL, FTRLPlan
from discreet.algorithms.stream.learner import StreamLearner
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.losses import Hinge, Logistic, Softmax, Squared
from discreet.noise import Seeded, System
from discreet.noise.prefix import STRATEGIES, Tree
from discreet.problem import Problem
from discreet.regularizers import Ridge
from discreet.sets import L2Ball

BUDGET = Budget(1.0, 1e-6)
NAMES = pytest.mark.parametrize("strategy", sorted(STRATEGIES))


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic(),
        "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
        "n_features": 3,
        "n_rows": 60,
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def stream(task: Problem, n: int = 60, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, task.n_features))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return task.bounding.apply(ArraySource(X, y))


def gradient(rows: Rows, w: np.ndarray) -> np.ndarray:
    """Logistic gradient, written out."""
    return -(rows.X.T @ (rows.y / (1 + np.exp(rows.y * (rows.X @ w)))))


def trace(learner: StreamLearner, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Feed rows step by step; return the weights before each step and after the last."""
    path, batch = [learner.weights], learner.plan.batch
    for start in range(0, rows.n_rows, batch):
        learner.learn(rows.take(slice(start, start + batch)))
        path.append(learner.weights)
    return np.array(path[:-1]), path[-1]


# What is computed.


@NAMES
@pytest.mark.parametrize("radius", [None, 0.05])
def test_iterates_are_those_of_the_definition(strategy: str, radius: float | None) -> None:
    task = problem(**({} if radius is None else {"constraint": L2Ball(radius=radius)}))
    plan = FTRL(strategy=strategy, batch=7).plan(task, BUDGET)
    rows, learner = stream(task), plan.start(Seeded(1))
    path, last = trace(learner, rows)
    sums, random, theta, used = plan.block(0).start(), Seeded(1), np.zeros(3), 0.0
    for t in range(plan.steps):
        assert np.allclose(path[t], theta, atol=1e-12)
        part = rows.take(slice(7 * t, 7 * t + 7))
        used = used + part.n_rows * theta
        prefix = sums.push(gradient(part, theta), random)
        theta = -prefix / plan.strength
        if radius is not None:
            theta = theta * min(1.0, radius / np.linalg.norm(theta))
    assert np.allclose(last, theta, atol=1e-12)
    assert np.allclose(learner.average, used / 60, atol=1e-12)
    assert (learner.rows, learner.steps) == (60, 9)


def test_endless_streams_start_fresh_noise_for_blocks_of_doubled_length() -> None:
    task = problem(n_rows=4)
    plan = FTRL(batch=1, endless=True, strategy="toeplitz").plan(task, BUDGET)
    rows, learner = stream(task, 25), plan.start(Seeded(2))
    path, _ = trace(learner, rows)
    base, random, t, strengths = np.zeros(3), Seeded(2), 0, []
    for block in range(3):  # blocks of 4, 8 and 16 steps
        sums = plan.block(block).start()
        assert plan.block(block).strategy.horizon == 4 * 2**block
        prefix = np.zeros(3)
        for _ in range(min(4 * 2**block, 24 - t)):
            prefix = base + sums.push(gradient(rows.take(slice(t, t + 1)), path[t]), random)
            t += 1
            # Parallel to the negative sum, with a strength that never falls.
            strengths.append(np.linalg.norm(prefix) / np.linalg.norm(path[t]))
            assert np.allclose(path[t], -prefix / strengths[-1], atol=1e-12)
        base = prefix
    assert np.all(np.diff(strengths) >= -1e-9)


def test_endless_strength_follows_the_rule() -> None:
    task = problem(n_rows=8)
    plan = FTRL(batch=1, endless=True).plan(task, BUDGET)
    rows, learner = stream(task, 20), plan.start(Seeded(2))
    trace(learner, rows.take(slice(0, 7)))
    # Within the declared length, the strength of a stream of known length.
    assert learner._strength == FTRL(batch=1).plan(task, BUDGET).strength
    trace(learner, rows.take(slice(7, 20)))
    first = [plan.block(0).deviation(t) for t in range(8)]
    total = plan.block(0).deviation(8)
    rest = [math.hypot(total, plan.block(1).deviation(t)) for t in range(13)]
    work = sum(0.5 + math.sqrt(2 / math.pi) * d for d in first + rest)
    assert learner._strength == pytest.approx(2 * math.sqrt(work) / plan.norm_guess)


def test_multi_output_and_sparse_rows() -> None:
    task = problem(loss=Softmax(n_classes=4), bounds=Bounds(row_norm=1.0, classes=(0, 1, 2, 3)))
    plan = FTRL().plan(task, BUDGET)
    rng = np.random.default_rng(0)
    release = plan.run(ArraySource(rng.normal(size=(60, 3)), rng.integers(0, 4, 60)), Seeded(0))
    assert release.weights.shape == (3, 4)
    import scipy.sparse as sp

    task = problem()
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    pair = [
        FTRL(batch=8).plan(task, BUDGET).run(ArraySource(data, y), Seeded(0)).weights
        for data in (X, sp.csr_array(X))
    ]
    assert np.allclose(*pair, atol=1e-9)


# What it costs.


def exact_delta(epsilon: float, mu: float) -> float:
    cdf = stats.norm.cdf
    return float(cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * cdf(-mu / 2 - epsilon / mu))


def test_noise_of_the_specification() -> None:
    task = problem(n_rows=1024)
    for strategy, value in (("toeplitz", 7.642530), ("tree", 14.01167)):
        plan = FTRL(strategy=strategy, batch=1).plan(task, BUDGET)
        # Rounding to the grid is in the sensitivity too.
        assert plan.block(0).sigma == pytest.approx(value, rel=3e-6)
        assert plan.block(0).sigma >= value * (1 - 1e-6)
    double = FTRL(strategy="tree", batch=1).plan(
        problem(n_rows=1024, neighbours="replace-one"), BUDGET
    )
    assert double.block(0).sigma == pytest.approx(2 * 14.01167, rel=3e-6)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("batch", [1, 16])
def test_a_row_moves_the_gradient_of_its_step_by_the_sensitivity_at_most(
    neighbours: str, batch: int
) -> None:
    task = problem(neighbours=neighbours, loss=Hinge())
    plan, rng, most = FTRL(batch=batch).plan(task, BUDGET), np.random.default_rng(0), 0.0
    for _ in range(40):
        X, y = rng.normal(size=(batch, 3)) * 2, rng.integers(0, 2, batch)
        X[0] *= 100.0  # as long as rows may be
        other = X.copy()
        other[0] = np.nan if neighbours == "zero-out" else -X[0]
        pair = []
        for data in (X, other):
            rows = task.bounding.apply(ArraySource(data, y))
            pair.append(rows.X.T @ (rows.weight * Hinge().slope(np.zeros(batch), rows.y)))
        most = max(most, float(np.linalg.norm(pair[0] - pair[1])))
    assert most <= plan.sensitivity
    assert most >= (1 - 1e-9) * plan.sensitivity  # so half of it would be caught


def test_the_whole_path_is_as_hard_to_attack_as_claimed() -> None:
    # One row against a blank one; the second row cannot matter. The best test looks at the
    # noisy rows behind the iterates, weighted by the column of the strategy.
    task = problem(n_rows=2, n_features=1, loss=Hinge())
    plan = FTRL(strategy="toeplitz", batch=1).plan(task, Budget(2.0, 1e-2))
    rows = task.bounding.apply(ArraySource([[1.0], [np.nan]], [1, 1]))
    column, scores, random = np.array([1.0, 0.5]), [], Seeded(3)
    inverse = np.linalg.inv(np.array([[1.0, 0.0], [0.5, 1.0]]))
    for _ in range(1500):
        learner = plan.start(random)
        path, last = trace(learner, rows)
        sums = -plan.strength * np.array([path[1][0], last[0]])
        scores.append(-(column @ (inverse @ sums)))
    spread = plan.block(0).sigma * np.linalg.norm(column)
    shift = 1 / gaussian_multiplier(2.0, 1e-2)
    assert stats.kstest(np.array(scores) / spread, stats.norm(loc=shift).cdf).pvalue > 1e-4
    assert stats.kstest(np.array(scores) / spread * 2, stats.norm(loc=shift).cdf).pvalue < 1e-9


@pytest.mark.parametrize("endless", [False, True])
def test_every_moment_has_its_price(endless: bool) -> None:
    task = problem(n_rows=20)
    plan = FTRL(passes=4, batch=4, endless=endless).plan(task, Budget(2.0, 1e-5))
    learner, rows, seen = plan.start(System()), stream(task, 20), []
    # Each pass is one Gaussian release, so its noise is that of a quarter of the squared budget.
    own = plan.block(0).sigma / plan.block(0).paid
    assert own == pytest.approx(2 * gaussian_multiplier(2.0, 1e-5))
    for number in range(1, 5):
        learner.learn(rows)
        guarantee = learner.guarantee
        assert exact_delta(guarantee.epsilon, math.sqrt(number) / own) <= 1e-5 * (1 + 1e-6)
        assert exact_delta(guarantee.epsilon * 0.999, math.sqrt(number) / own) > 1e-5
        assert guarantee.event.delta(guarantee.epsilon) <= 1e-5 * (1 + 1e-9)
        assert guarantee.secure
        seen.append(guarantee.epsilon)
        if number < 4:
            learner.begin_pass()
            assert learner.guarantee.epsilon > seen[-1]  # priced before the first row comes again
    assert seen == sorted(seen)
    assert seen[-1] == 2.0
    with pytest.raises(Incompatible, match="4 pass"):
        learner.begin_pass()


@pytest.mark.parametrize(("neighbours", "apart"), [("zero-out", 1), ("replace-one", 2)])
def test_the_rounding_of_long_steps_is_paid_for(neighbours: str, apart: int) -> None:
    batch = 2**20
    plan = FTRL(batch=batch).plan(problem(n_rows=4 * batch, neighbours=neighbours), BUDGET)
    # As many additions as rows, each off by half a unit of the last of 53 places of their sum, in
    # the sums of both neighbours.
    rounding = 2 * batch * 2.0**-53 * batch
    assert rounding > 1e-4
    assert plan.sensitivity >= apart + rounding
    assert plan.block(0).paid >= (apart + rounding) * plan.block(0).strategy.sensitivity()


def test_length_costs_nothing() -> None:
    task = problem(n_rows=4)
    learner = FTRL(batch=1, endless=True).plan(task, BUDGET).start(System())
    for _ in range(5):
        learner.learn(stream(task, 20))
        assert (learner.guarantee.epsilon, learner.guarantee.delta) == (1.0, 1e-6)
    blocks = learner.plan._blocks
    assert len(blocks) == 5
    assert all(
        b.sigma / b.paid == pytest.approx(gaussian_multiplier(1.0, 1e-6)) for b in blocks.values()
    )


def test_one_stream_of_noise_through_all_passes() -> None:
    task, passes = problem(n_rows=12), 3
    plan = FTRL(passes=passes, restart=False, batch=4, strategy="tree").plan(task, BUDGET)
    sums = plan.block(0)
    assert sums.strategy == Tree(9)
    # 9 steps, a row in three of them, 3 steps apart.
    claim = Tree(9).sensitivity(3, 3) * gaussian_multiplier(1.0, 1e-6)
    assert sums.sigma == pytest.approx(claim, rel=1e-6)
    learner, rows = plan.start(Seeded(0)), stream(task, 12)
    learner.learn(rows)
    assert learner.guarantee.epsilon == 1.0
    with pytest.raises(InvalidData, match="full batches"):
        learner.learn(rows.take(slice(0, 4)))  # the pass is complete
    learner.begin_pass()
    learner.learn(rows.take(slice(0, 4)))
    with pytest.raises(InvalidData, match="not complete"):
        learner.begin_pass()
    learner.learn(rows.take(slice(4, 7)))  # a short step: what follows would come too soon
    with pytest.raises(InvalidData, match="full batches"):
        learner.learn(rows.take(slice(7, 12)))


# Regret.


def regret_terms(plan: FTRLPlan, rows: Rows, seed: int) -> tuple[float, float, np.ndarray]:
    """Loss of the iterates, and the deterministic bound with the noise that was drawn."""
    learner, loss = plan.start(Seeded(seed)), plan.problem.loss
    suffered, work, exact, noise = 0.0, 0.0, np.zeros(plan.problem.shape), 0.0
    strength = 0.0
    for start in range(0, rows.n_rows, plan.batch):
        part, w = rows.take(slice(start, start + plan.batch)), learner.weights
        suffered += float(loss.value(part.X @ w, part.y).sum())
        step = part.X.T @ loss.slope(part.X @ w, part.y)
        size = float(np.linalg.norm(step))
        strength = learner._strength
        work += size * (size / 2 + noise) / strength
        exact = exact + step
        learner.learn(part)
        noise = float(np.linalg.norm(learner._prefix - exact))
    return suffered, work + strength * plan.norm_guess**2 / 2, exact


@pytest.mark.parametrize("endless", [False, True])
@pytest.mark.parametrize("strategy", ["blt", "tree"])
@pytest.mark.parametrize("radius", [None, 3.0])
def test_regret_stays_below_its_bounds(endless: bool, strategy: str, radius: float | None) -> None:
    task = problem(
        n_rows=400,
        loss=Hinge(),
        **({} if radius is None else {"constraint": L2Ball(radius=radius)}),
    )
    plan = FTRL(strategy=strategy, endless=endless, norm_guess=3.0, batch=4).plan(task, BUDGET)
    rows = stream(task, 400, seed=5)
    candidates = 3.0 * np.eye(3)[[0, 0, 1]] * np.array([[1.0], [-1.0], [1.0]])
    best = min(float(Hinge().value(rows.X @ u, rows.y).sum()) for u in candidates)
    regrets = []
    for seed in range(8):
        suffered, bound, _ = regret_terms(plan, rows, seed)
        regrets.append(suffered - best)
        assert suffered - best <= bound  # whatever the noise was
        assert suffered - best <= plan.regret_bound(failure=1e-6)
    assert np.mean(regrets) <= plan.regret_bound()
    assert plan.regret_bound() < plan.regret_bound(failure=1e-6)


def test_the_default_strength_minimises_the_bound() -> None:
    best = FTRL().plan(problem(n_rows=5000), BUDGET)
    assert best.regret_bound() == pytest.approx(best.norm_guess * math.sqrt(2 * best.work))
    for factor in (0.5, 2.0):
        other = FTRL(strength=factor * best.strength).plan(problem(n_rows=5000), BUDGET)
        assert other.regret_bound() > best.regret_bound()


def test_the_default_batch_is_nearly_best() -> None:
    task = problem(n_rows=5000)
    bounds = {m: FTRL(batch=m).plan(task, BUDGET).regret_bound() for m in (1, 2, 4, 8, 16, 64, 512)}
    chosen = FTRL().plan(task, BUDGET)
    assert chosen.regret_bound() <= 1.06 * min(bounds.values())


def test_it_learns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3))
    y = (X[:, 0] > 0).astype(int)
    plan = FTRL(norm_guess=30.0).plan(problem(n_rows=6000), Budget(4.0, 1e-6))
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert ((X @ weights > 0) == y).mean() > 0.9


# Interruption, state and refusals.


def test_a_failed_call_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = problem()
    learner, rows = FTRL(batch=4).plan(task, BUDGET).start(Seeded(0)), stream(task)
    learner.learn(rows.take(slice(0, 8)))
    before = learner.state()

    def fails(state: dict[str, object]) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        learner.learn(rows.take(slice(8, 40)), record=fails)
    assert learner.state() == before
    with pytest.raises(Incompatible, match="horizon"):
        learner.learn(stream(task, 61))
    assert learner.state() == before


@pytest.mark.parametrize("settings", [{}, {"endless": True, "passes": 2}, {"strategy": "toeplitz"}])
def test_a_saved_learner_goes_on_bit_for_bit(settings: dict[str, object]) -> None:
    task = problem()
    plan = FTRL(batch=4, **settings).plan(task, BUDGET)  # type: ignore[arg-type]
    rows, random = stream(task), Seeded(0)
    straight, again = plan.start(Seeded(0)), plan.start(random)
    for start in range(0, 60, 12):
        part, kept = rows.take(slice(start, start + 12)), []
        straight.learn(part)
        again.learn(part, record=kept.append)
        assert np.array_equal(again.weights, straight.weights)
        saved = json.loads(json.dumps(kept[0]))
        again = FTRL(batch=4, **settings).plan(task, BUDGET).start(random)  # type: ignore[arg-type]
        again.restore(saved)
        if settings.get("passes") and start == 24:
            straight.begin_pass()
            again.begin_pass()
    assert again.state() == straight.state()


def test_refusals() -> None:
    with pytest.raises(Incompatible, match="delta > 0"):
        FTRL().plan(problem(), Budget(1.0))
    with pytest.raises(Incompatible, match="add-remove"):
        FTRL().plan(problem(neighbours="add-remove"), BUDGET)
    with pytest.raises(Incompatible, match="regularizer"):
        FTRL().plan(problem(regularizer=Ridge(strength=1.0)), BUDGET)
    with pytest.raises(Incompatible, match="endless"):
        FTRL(endless=True, restart=False).plan(problem(), BUDGET)
    with pytest.raises(InvalidParameter, match="strategy"):
        FTRL(strategy="magic").plan(problem(), BUDGET)
    with pytest.raises(InvalidParameter, match="batch"):
        FTRL(batch=0).plan(problem(), BUDGET)
    with pytest.raises(InvalidParameter, match="strength"):
        FTRL(strength=-1.0).plan(problem(), BUDGET)
    with pytest.raises(ValueError, match="unbounded"):
        FTRL().plan(
            problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(0, 1))), BUDGET
        ).block(0)


def test_the_plan_prints_its_price_without_data() -> None:
    text = str(FTRL().plan(problem(n_rows=1000), BUDGET))
    assert "ftrl" in text
    assert "epsilon = 1" in text
    assert "once a pass" in text
