"""Values that may be named: chances against a linear program, laws by enumeration."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice, product

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.accounting import Budget
from discreet.errors import Incompatible
from discreet.mechanisms.partition_selection import PartitionSelection, keep_chances
from discreet.noise import Seeded

MOST = 6


def chances(epsilon: float, delta: float) -> list[float]:
    return [float(p) for p in islice(keep_chances(epsilon, delta), MOST + 1)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [1e-4, 0.05, 0.4])
def test_chances_are_those_of_a_linear_program(epsilon: float, delta: float) -> None:
    grow, rows, limits = math.exp(epsilon), [], []
    for n in range(1, MOST + 1):
        for a, b in ((n, n - 1), (n - 1, n)):
            one = np.zeros(MOST + 1)
            one[a], one[b] = 1.0, -grow  # kept: p_a <= e^eps p_b + delta
            rows.append(one)
            limits.append(delta)
            one = np.zeros(MOST + 1)
            one[a], one[b] = -1.0, grow  # not kept: 1 - p_a <= e^eps (1 - p_b) + delta
            rows.append(one)
            limits.append(delta + grow - 1.0)
    bounds = [(0.0, 0.0)] + [(0.0, 1.0)] * MOST
    for n in range(1, MOST + 1):
        goal = np.zeros(MOST + 1)
        goal[n] = -1.0
        best = linprog(goal, A_ub=np.array(rows), b_ub=limits, bounds=bounds)
        assert -best.fun == pytest.approx(chances(epsilon, delta)[n], abs=1e-9)


def test_the_counts_of_the_specification() -> None:
    for epsilon, half, most in ((1.0, 14, 18), (0.5, 26, 34), (0.1, 109, 148)):
        selection = PartitionSelection(budget=Budget(epsilon, 1e-6), neighbours="add-remove")
        assert (selection.count_for(0.5), selection.count_for(0.99)) == (half, most)


def hockey_stick(p: list[float], q: list[float], epsilon: float) -> float:
    return sum(max(0.0, a - math.exp(epsilon) * b) for a, b in zip(p, q, strict=True))


def both(first: float, second: float) -> list[float]:
    """Return the law of which of two values are kept."""
    return [
        (first if a else 1 - first) * (second if b else 1 - second)
        for a, b in product((True, False), repeat=2)
    ]


@pytest.mark.parametrize("delta", [1e-3, 0.05])
def test_a_replacement_costs_twice_by_enumeration(delta: float) -> None:
    def worst(relation: str) -> float:
        one = PartitionSelection(budget=Budget(1.0, delta), neighbours=relation).each
        kept = [float(p) for p in islice(keep_chances(one.epsilon, one.delta), 40)]
        return max(
            max(hockey_stick(p, q, 1.0), hockey_stick(q, p, 1.0))
            for n, m in product(range(1, 40), range(39))
            for p, q in [(both(kept[n], kept[m]), both(kept[n - 1], kept[m + 1]))]
        )

    assert worst("replace-one") <= delta
    assert worst("zero-out") > 1.9 * delta  # the chances of other relations would not do


@pytest.mark.parametrize("relation", ["zero-out", "add-remove"])
def test_one_row_more_is_within_the_budget(relation: str) -> None:
    selection = PartitionSelection(budget=Budget(1.0, 0.05), neighbours=relation)
    kept = chances(selection.each.epsilon, selection.each.delta)
    for n in range(1, MOST + 1):
        p, q = [kept[n], 1 - kept[n]], [kept[n - 1], 1 - kept[n - 1]]
        assert max(hockey_stick(p, q, 1.0), hockey_stick(q, p, 1.0)) <= 0.05 + 1e-12
    assert hockey_stick([kept[1], 1 - kept[1]], [0.0, 1.0], 1.0) == pytest.approx(0.05)


def test_the_order_of_rows_leaves_no_trace() -> None:
    selection = PartitionSelection(budget=Budget(1.0, 1e-3), neighbours="zero-out")
    cells = list("abcdefgh") * 9
    turned = Counter(reversed(cells))
    assert selection.draw(Counter(cells), Seeded(1)) == selection.draw(turned, Seeded(1))
    found = selection.draw({"z": 500, "a": 400}, Seeded(0))
    assert found == ("a", "z")


def test_draws_have_their_chances() -> None:
    selection = PartitionSelection(budget=Budget(1.0, 0.05), neighbours="zero-out")
    random, draws = Seeded(2), 4000
    kept = chances(1.0, 0.05)
    found = Counter(v for _ in range(draws) for v in selection.draw({"a": 1, "b": 3}, random))
    for value, n in (("a", 1), ("b", 3)):
        spread = math.sqrt(draws * kept[n] * (1 - kept[n]))
        assert abs(found[value] - draws * kept[n]) < 4.1 * spread


def test_pure_privacy_is_refused() -> None:
    with pytest.raises(Incompatible, match="delta above 0"):
        PartitionSelection(budget=Budget(1.0), neighbours="zero-out")
