"""The scan for a quantile: exact laws on tables of a few values."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from discreet.accounting import Budget, Composed, Pure
from discreet.errors import InvalidParameter
from discreet.mechanisms.unbounded_quantile import (
    GRID,
    RUNGS,
    QuantileScan,
    interval_of,
    noise_rate,
    scan_epsilon,
    side_quantile,
)
from discreet.noise import Seeded

Array = npt.NDArray[np.float64]

LADDER = np.array([0.0, 1.0, 2.0, 3.0])
POINTS = (-0.5, 0.5, 1.5, 2.5, math.nan)


class Short(QuantileScan):
    """A scan of four candidates."""

    def candidates(self) -> Array:
        return LADDER


def law(scan: QuantileScan, values: Array) -> Array:
    """Return the probability of a stop at every candidate, and of none, by enumeration."""
    gaps, rate = scan.shortfalls(values), scan.rate
    rho = np.arange(int(45 / rate))
    weight = np.exp(-rate * rho) * -math.expm1(-rate)
    alive, found = weight, []
    for gap in gaps:
        stop = np.exp(-rate * np.maximum(gap + rho, 0))
        found.append(float((alive * stop).sum()))
        alive = alive * (1.0 - stop)
    return np.array([*found, float(alive.sum())])


def tables(size: int) -> Iterator[tuple[float, ...]]:
    """Yield every table of so many values, in order; NaN stands for a missing one."""
    if size == 0:
        yield ()
        return
    for rest in tables(size - 1):
        for point in POINTS:
            if not rest or POINTS.index(rest[-1]) <= POINTS.index(point):
                yield (*rest, point)


def neighbours(table: tuple[float, ...], relation: str) -> Iterator[tuple[float, ...]]:
    for j in range(len(table)):
        rest = table[:j] + table[j + 1 :]
        if relation == "add-remove":
            yield rest
        elif relation == "zero-out":
            yield (*rest, math.nan)
        else:
            yield from ((*rest, point) for point in POINTS)


def worst(quantile: float, relation: str, rows: int | None, size: int = 4) -> float:
    """Return the largest log-ratio of any output between any two neighbours."""
    scan = Short(quantile=quantile, epsilon=1.0, neighbours=relation, rows=rows)
    laws: dict[tuple[float, ...], Array] = {}

    def log_law(table: tuple[float, ...]) -> Array:
        key = tuple(sorted(table, key=POINTS.index))
        if key not in laws:
            laws[key] = np.log(law(scan, np.array(key, dtype=float)))
        return laws[key]

    pairs = ((a, b) for a in tables(size) for b in neighbours(a, relation))
    return max(float(np.abs(log_law(a) - log_law(b)).max()) for a, b in pairs)


LINES = [
    ("zero-out", 4, 0.75),
    ("zero-out", 4, 0.25),
    ("add-remove", 6, 0.75),
    ("replace-one", 4, 0.75),
    ("replace-one", None, 0.75),
    ("add-remove", None, 0.75),
    ("add-remove", None, 0.25),
    ("zero-out", None, 0.875),
]


@pytest.mark.parametrize(("relation", "rows", "quantile"), LINES)
def test_no_neighbour_has_a_log_ratio_above_epsilon(
    relation: str, rows: int | None, quantile: float
) -> None:
    found = worst(quantile, relation, rows)
    assert found <= 1.0 + 1e-9
    assert found > 0.5  # the noise is not wasted


def far(relation: str, rows: int | None, before: list[float], after: list[float]) -> float:
    """Return the log-ratio of the last stop, on long data whose earlier stops are unlikely."""
    scan = Short(quantile=0.75, epsilon=1.0, neighbours=relation, rows=rows)
    ratio = np.log(law(scan, np.array(before)) / law(scan, np.array(after)))
    return float(np.abs(ratio).max())


def test_the_losses_of_the_theorem_are_attained() -> None:
    many = [-0.5] * 30
    # One value more moves all counts, and the noise of the target pays for it once.
    assert far("zero-out", 40, many, [*many, -0.5]) == pytest.approx(1.0, abs=1e-6)
    # A value that leaves the first three counts and comes back in the last.
    assert far("replace-one", 40, [*many, -0.5], [*many, 2.5]) > 0.99
    # A value that moves the target, and its own count back.
    assert far("add-remove", None, [*many, 2.5], [*many, 2.5, 1.5]) > 0.96


def test_the_noise_is_that_of_the_table() -> None:
    assert noise_rate(0.5, 2.0, "add-remove", secret=False) == 2.0
    assert noise_rate(0.5, 2.0, "replace-one", secret=False) == 1.0
    assert noise_rate(0.5, 2.0, "zero-out", secret=True) == pytest.approx(2.0 / 1.5)
    assert noise_rate(0.25, 2.0, "add-remove", secret=True) == pytest.approx(2.0 / 1.25)


def test_draws_follow_the_law() -> None:
    scan = Short(quantile=0.75, epsilon=2.0, neighbours="zero-out", rows=4)
    values, random, draws = np.array([-0.5, 0.5, 1.5, 2.5]), Seeded(5), 4000
    found = [scan.draw(values, random) for _ in range(draws)]
    seen = np.array([found.count(t) for t in LADDER])
    exact = law(scan, values)
    exact = np.array([*exact[:3], exact[3] + exact[4]])  # no stop is the last candidate
    distance = float(((seen - draws * exact) ** 2 / (draws * exact)).sum())
    assert distance < 21.1  # of chi-squared with 3 degrees: 1e-4


def test_a_lower_end_is_the_upper_end_of_the_negated_column() -> None:
    values = np.random.default_rng(0).normal(3.0, 1.0, 400)
    asked = {"quantile": 0.9, "epsilon": 1.0, "neighbours": "zero-out", "rows": 400}
    low = QuantileScan(**asked, upper=False).draw(values, Seeded(1))  # type: ignore[arg-type]
    high = QuantileScan(**asked).draw(-values, Seeded(1))  # type: ignore[arg-type]
    assert low == -high


@pytest.mark.parametrize("centre", [0.0, 40.0, -2000.0])
def test_the_rank_is_within_the_promise(centre: float) -> None:
    values = np.random.default_rng(0).normal(centre, 5.0, 3000)
    asked = {"quantile": 0.95, "epsilon": 0.5, "neighbours": "zero-out", "rows": 3000}
    scan = QuantileScan(**asked)  # type: ignore[arg-type]
    random, misses = Seeded(3), 0
    for _ in range(100):
        end = scan.draw(values, random)
        below = float((values < end).sum())
        step = 0.02 * (abs(end) + 1.0)
        reached = float((values < end - step).sum())
        slack = 4 / 0.5 * math.log(RUNGS)
        misses += not (below >= 0.95 * 3000 - slack and reached <= 0.95 * 3000 + slack)
    assert misses <= 5


def test_missing_values_count_for_nothing() -> None:
    scan = QuantileScan(quantile=0.75, epsilon=1.0, neighbours="zero-out")
    some = np.array([1.0, 2.0, 3.0])
    assert (scan.shortfalls(np.array([*some, np.nan])) == scan.shortfalls(some)).all()


def test_no_hit_returns_the_last_candidate() -> None:
    scan = Short(quantile=0.75, epsilon=1e6, neighbours="zero-out", rows=4)
    assert scan.draw(np.full(4, 9.0), Seeded(0)) == LADDER[-1]


def test_many_scans_share_a_budget_with_delta_better_than_equally() -> None:
    budget = Budget(1.0, 1e-6)
    each = scan_epsilon(budget, 100)
    assert each > 1.5 / 100
    assert Composed((Pure(each),) * 100).delta(1.0) <= 1e-6
    assert scan_epsilon(budget, 1) >= 1.0


def test_how_early_a_scan_may_stop_is_a_union_bound_over_its_ladder() -> None:
    scan = QuantileScan(quantile=0.95, epsilon=0.5, neighbours="zero-out", rows=3000)
    one = math.exp(-scan.rate * GRID * scan.early)
    assert (2 * RUNGS + 1) * one == pytest.approx(1 / 20, rel=1e-9)
    assert len(scan.candidates()) == 2 * RUNGS + 1


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.2])
def test_a_quantile_lies_between_0_and_1(quantile: float) -> None:
    with pytest.raises(InvalidParameter, match="quantile must lie strictly between"):
        QuantileScan(quantile=quantile, epsilon=1.0, neighbours="zero-out")


def test_targets_stay_below_what_noise_can_tell() -> None:
    assert side_quantile(0.99, 1, 1.0, None) == 0.99
    assert side_quantile(0.99, 1, 100.0, 1000) == pytest.approx(0.7)
    assert side_quantile(0.99, 1, 1000.0, 1000) == 0.5
    assert GRID * 0.5 == GRID // 2


def test_ends_become_an_interval() -> None:
    assert interval_of(2.0, -2.0, 1.0) == (-2.0, 2.0)
    low, high = interval_of(0.0, 0.0, 1.0)
    assert low < 0.0 < high
