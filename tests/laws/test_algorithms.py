"""Every listed algorithm obeys the laws; a new one is tested without editing this file."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms import ALGORITHMS, NoisyGradient, OutputPerturbation, SufficientStatistics
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.losses import Huber, Logistic, Squared
from discreet.mechanisms.release_noise import NOISE_KINDS
from discreet.noise import Seeded
from discreet.problem import Plan, Problem
from discreet.regularizers import L1, Regularizer, Ridge, Zero
from discreet.sets import AllSpace, L1Ball
from discreet.testing import ALGORITHM_LAWS, check_algorithm
from discreet.testing.algorithm_laws import Law, Trial, cases

CASES = [case for name in sorted(ALGORITHMS) for case in cases(ALGORITHMS[name]())]


@pytest.mark.parametrize("law", ALGORITHM_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.algorithm.name}-{case.delta}")
def test_algorithms_obey_the_laws(case: Trial, law: Law) -> None:
    law(case)


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == kind.name for name, kind in ALGORITHMS.items())


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_nothing_is_claimed_of_a_delta_that_is_not_spent(name: str) -> None:
    known = signature(ALGORITHMS[name]).parameters
    kinds = [{}, *({"noise": kind} for kind in NOISE_KINDS if "noise" in known)]
    planned = 0
    sets = (L1Ball(radius=1.0), AllSpace())
    for settings, loss, within in itertools.product(kinds, (Squared(), Huber()), sets):
        bounds = Bounds(row_norm=1.0, label=(-1, 1))
        of = Problem(loss=loss, bounds=bounds, n_features=2, n_rows=200, constraint=within)
        try:
            claim = ALGORITHMS[name](**settings).plan(of, Budget(1.0, 1e-6)).guarantee
        except (Incompatible, InvalidParameter, MissingBound):
            continue
        planned += 1
        assert (claim.event.delta(claim.epsilon) > 0) == (claim.delta > 0), settings
    assert planned


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
    # Momentum, the default of descents, promises nothing.
    rule = {"rule": "smooth"} if name == "noisy-gradient" else {}
    made = ALGORITHMS[name](norm_guess=2.0, **rule).plan(of, Budget(0.5, delta))
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


# What an algorithm may not do.


class Wrapped:
    """An algorithm that spoils the plans of another."""

    name: ClassVar[str] = OutputPerturbation.name

    def __init__(self, spoil: Any) -> None:
        self.spoil = spoil

    def plan(self, problem: Problem, budget: Budget) -> Any:
        return self.spoil(OutputPerturbation().plan(problem, budget))


@dataclass
class Spoilt:
    """A plan that behaves like another, some ways aside."""

    plan: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)

    def __str__(self) -> str:
        return str(self.plan)


class Generous(Spoilt):
    @property
    def guarantee(self) -> Any:
        return replace(self.plan.guarantee, epsilon=2.0)


class Forgetful(Spoilt):
    @property
    def guarantee(self) -> Any:
        return replace(self.plan.guarantee, assumptions=())


class Late(Spoilt):
    @cached_property
    def found(self) -> float:
        return 1.0

    def run(self, source: Any, random: Any) -> Any:
        _ = self.found
        return self.plan.run(source, random)


class Unseeded(Spoilt):
    def run(self, source: Any, random: Any) -> Any:
        release = self.plan.run(source, random)
        return replace(release, weights=release.weights + np.random.default_rng().normal())


class Talkative(Spoilt):
    def run(self, source: Any, random: Any) -> Any:
        release = self.plan.run(source, random)
        object.__setattr__(release, "iterations", 7)
        return release


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (Generous, "claims|bears"),
        (Forgetful, "assumptions|claims"),
        (Late, "calibrated when it is made"),
        (Unseeded, "seed repeats"),
        (Talkative, "nothing else"),
    ],
)
def test_what_breaks_a_law_is_caught(spoil: Any, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_algorithm(Wrapped(spoil))


def test_the_wrapping_alone_breaks_none() -> None:
    check_algorithm(Wrapped(lambda plan: plan))
    check_algorithm(Wrapped(Spoilt))


@pytest.mark.parametrize(
    ("kind", "fact", "words"),
    [
        (NoisyGradient, "needs_delta", "refuses delta = 0"),
        (OutputPerturbation, "needs_quadratic", "refuses other losses"),
    ],
)
def test_needs_that_are_none_are_caught(kind: Any, fact: str, words: str) -> None:
    lie = type(kind.__name__, (kind,), {fact: True})
    with pytest.raises(AssertionError, match=words):
        check_algorithm(lie())


def test_needs_that_are_not_declared_are_caught() -> None:
    class Silent(SufficientStatistics):
        needs_quadratic: ClassVar[bool] = False

    with pytest.raises(AssertionError, match="squared loss only"):
        check_algorithm(Silent())
