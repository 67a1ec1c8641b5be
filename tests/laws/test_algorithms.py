"""Laws every registered algorithm obeys."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import ALGORITHMS
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded, System
from discreet.problem import Plan, Problem
from discreet.regularizers import L1, Regularizer, Ridge, Zero
from discreet.sets import L1Ball

TABLE = pytest.mark.parametrize("name", sorted(ALGORITHMS))


def needs_delta(name: str) -> bool:
    """Whether the algorithm declares that it cannot do without delta."""
    return getattr(ALGORITHMS[name], "needs_delta", False)


SHAPES = pytest.mark.parametrize(
    ("name", "delta"),
    [(n, d) for n in sorted(ALGORITHMS) for d in (0.0, 1e-6) if d or not needs_delta(n)],
)

LEAST_SQUARES = ("sufficient-statistics",)
"""Algorithms that exist for the squared loss only."""


def problem(name: str, neighbours: str) -> Problem:
    squared = name in LEAST_SQUARES
    return Problem(
        loss=Squared() if squared else Logistic(),
        bounds=Bounds(row_norm=1.0, label=(0, 1), classes=(0, 1)),
        n_features=3,
        n_rows=200,
        neighbours=neighbours,  # type: ignore[arg-type]
        intercept=0.5,
    )


@cache
def plan(name: str, neighbours: str, epsilon: float, delta: float) -> Plan:
    """The plan of an algorithm; plans are immutable, so tests may share them."""
    return ALGORITHMS[name]().plan(problem(name, neighbours), Budget(epsilon, delta))


def data() -> ArraySource:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return ArraySource(X, (X[:, 0] > 0).astype(int))


@SHAPES
def test_a_plan_is_made_and_printed_with_no_data(name: str, delta: float) -> None:
    made = plan(name, "zero-out", 1.0, delta)
    assert made.guarantee.epsilon == 1.0
    assert made.guarantee.delta == delta
    text = str(made)
    assert text.startswith("loss ")
    assert name in text
    assert "noise" in text
    assert made.expected_excess > 0
    assert Guarantee.from_dict(json.loads(json.dumps(made.guarantee.to_dict()))) == made.guarantee


@SHAPES
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_claim_is_at_least_what_the_event_costs(
    name: str, delta: float, neighbours: str
) -> None:
    guarantee = plan(name, neighbours, 1.0, delta).guarantee
    assert guarantee.event.delta(1.0) <= delta * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("name", [n for n in sorted(ALGORITHMS) if needs_delta(n)])
def test_what_needs_delta_says_so(name: str) -> None:
    with pytest.raises(Incompatible, match="delta > 0"):
        plan(name, "zero-out", 1.0, 0.0)


@SHAPES
def test_a_run_gives_weights_and_guarantee_only(name: str, delta: float) -> None:
    release = plan(name, "zero-out", 1.0, delta).run(data(), Seeded(1))
    assert set(vars(release)) == {"weights", "guarantee"}
    assert release.weights.shape == (4,)
    assert not release.guarantee.secure


def numbers(part: object, at: str = "plan") -> set[str]:
    """Name everything a plan and its parts hold by now."""
    if isinstance(part, tuple):
        return {n for i, item in enumerate(part) for n in numbers(item, f"{at}[{i}]")}
    if not type(part).__module__.startswith("discreet."):
        return set()
    held = dict(getattr(part, "__dict__", {}))
    return {f"{at}.{k}" for k in held} | {
        n for k, v in held.items() for n in numbers(v, f"{at}.{k}")
    }


@SHAPES
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_everything_a_run_needs_exists_before_rows_are_read(
    name: str, delta: float, neighbours: str
) -> None:
    made = ALGORITHMS[name]().plan(problem(name, neighbours), Budget(1.0, delta))
    before = numbers(made)
    made.run(data(), Seeded(1))
    assert numbers(made) == before
    assert made.algorithm == name


@SHAPES
def test_what_a_problem_assumes_its_guarantee_says(name: str, delta: float) -> None:
    assumed = replace(problem(name, "zero-out"), assumptions=("rows are rows",))
    made = ALGORITHMS[name]().plan(assumed, Budget(1.0, delta))
    assert made.guarantee.assumptions.count("rows are rows") == 1


@SHAPES
def test_a_run_takes_rows_and_randomness_only(name: str, delta: float) -> None:
    made = plan(name, "zero-out", 1.0, delta)
    for source in (np.ones((200, 3)), [[1.0, 2.0, 3.0]], None):
        with pytest.raises(InvalidParameter, match=r"such as ArraySource\(X, y\)"):
            made.run(source, System())  # type: ignore[arg-type]
    for random in (0, None, np.random.default_rng(0)):
        with pytest.raises(InvalidParameter, match=r"a Randomness, such as System\(\)"):
            made.run(data(), random)  # type: ignore[arg-type]


@TABLE
def test_a_seed_repeats_a_run_and_the_system_does_not(name: str) -> None:
    made = plan(name, "zero-out", 1.0, 1e-6)
    one, two = (made.run(data(), Seeded(7)).weights for _ in range(2))
    assert (one == two).all()
    free = made.run(data(), System())
    assert (free.weights != one).any()
    assert free.guarantee.secure


def burden(made: Plan) -> float:
    """The promised error, or the noise where none is promised."""
    if math.isfinite(made.expected_excess):
        return made.expected_excess
    return max(v for k, v in made.facts().items() if "noise" in k)


@TABLE
def test_less_budget_is_a_greater_burden(name: str) -> None:
    burdens = [burden(plan(name, "zero-out", epsilon, 1e-6)) for epsilon in (0.1, 1.0, 8.0)]
    assert burdens == sorted(burdens, reverse=True)


@TABLE
def test_replacement_is_a_greater_burden_than_blanking(name: str) -> None:
    zero, one = (burden(plan(name, n, 1.0, 1e-6)) for n in ("zero-out", "replace-one"))
    assert one > zero


def measured(
    made: Plan, source: ArraySource, best: np.ndarray, runs: int = 24
) -> tuple[float, float]:
    """Mean excess of the objective over that of ``best``, and its standard error."""
    of = made.problem
    rows = of.bound(source)

    def value(w: np.ndarray) -> float:
        losses = of.loss.value(rows.X @ w, rows.y)
        return float(losses.sum()) + of.regularizer.value(w)

    drawn = [made.run(source, Seeded(seed)).weights for seed in range(runs)]
    excess = np.array([value(w) for w in drawn]) - value(best)
    return float(excess.mean()), float(excess.std() / math.sqrt(len(drawn)))


BOUNDED = ("objective-perturbation", "output-perturbation", "noisy-gradient", "frank-wolfe")
"""Algorithms that promise an error of weights of a guessed norm."""


@pytest.mark.parametrize("name", [n for n in BOUNDED if n != "frank-wolfe"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("penalty", [Zero(), Ridge(strength=5.0), L1(strength=5.0)])
def test_the_promised_error_holds_without_a_set(
    name: str, delta: float, penalty: Regularizer
) -> None:
    X = np.tile([1.0, 0.0], (1000, 1))
    source = ArraySource(X, np.repeat([1, 0], (800, 200)))
    of = Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=2,
        n_rows=1000,
        regularizer=penalty,
    )
    made = ALGORITHMS[name](norm_guess=2.0).plan(of, Budget(0.5, delta))
    best = np.array([math.log(4.0), 0.0])  # of the losses alone, so the excess may be below 0
    # The bound of a ridge that was asked for is nearly half attained in the mean.
    runs = 240 if name == "objective-perturbation" and isinstance(penalty, Ridge) else 24
    mean, error = measured(made, source, best, runs)
    assert mean + 4 * error < made.expected_excess < math.inf


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rows", [200, 5000])
def test_the_promised_error_holds_where_a_set_stops_the_weights(
    name: str, delta: float, rows: int
) -> None:
    X = np.tile([1.0, 0.0], (rows, 1))
    of = Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=2,
        n_rows=rows,
        constraint=L1Ball(radius=0.5),
    )
    made = ALGORITHMS[name]().plan(of, Budget(0.5, delta))
    mean, error = measured(made, ArraySource(X, np.ones(rows, dtype=int)), np.array([0.5, 0.0]))
    assert mean >= 0
    assert mean + 4 * error < made.expected_excess < math.inf


@SHAPES
@pytest.mark.parametrize("cell", [1e-160, 1e-320])
def test_a_run_warns_of_no_row(name: str, delta: float, cell: float) -> None:
    """A column that one row alone fills, with almost nothing, must not show in warnings."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 1] = 0.0
    X[0, 1] = cell
    found = plan(name, "zero-out", 1.0, delta)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.run(ArraySource(X, (X[:, 0] > 0).astype(int)), Seeded(1))
