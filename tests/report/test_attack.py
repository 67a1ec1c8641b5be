"""The attacker's bounds against a linear program over the extremal pair."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import InvalidParameter
from discreet.report.attack import best_guess, detection_rate, odds_factor

BUDGETS = [(0.0, 0.0), (0.1, 0.0), (1.0, 1e-5), (1.0, 0.2), (3.0, 0.01), (8.0, 1e-6)]


def extremal_pair(epsilon, delta):
    """The pair every (epsilon, delta)-indistinguishable pair is post-processed from."""
    up = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    down = (1 - delta) / (1 + math.exp(epsilon))
    inside = np.array([delta, up, down, 0.0])
    return inside, inside[::-1]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("false_alarms", [1e-4, 0.01, 0.3, 0.9])
def test_detection_rate_is_the_most_powerful_test(epsilon, delta, false_alarms):
    inside, outside = extremal_pair(epsilon, delta)
    best = linprog(-inside, A_ub=[outside], b_ub=[false_alarms], bounds=[(0, 1)] * 4)
    assert detection_rate(epsilon, delta, false_alarms) == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_best_guess_is_the_total_variation(epsilon, delta):
    inside, outside = extremal_pair(epsilon, delta)
    expected = 0.5 + np.abs(inside - outside).sum() / 4
    assert best_guess(epsilon, delta) == pytest.approx(expected, abs=1e-12)


def test_absurd_budgets_give_certainty_not_an_overflow():
    assert odds_factor(5000.0) == math.inf
    assert detection_rate(5000.0, 0.0, 0.01) == 1.0
    assert best_guess(5000.0, 0.0) == 1.0
    assert detection_rate(1.0, 1.0, 0.01) == 1.0


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidParameter, match="epsilon"):
        odds_factor(-1.0)
    with pytest.raises(InvalidParameter, match="false_alarms"):
        detection_rate(1.0, 0.0, 0.0)
