"""Laws of algorithms: what a plan, its guarantee and its run are held to.

They do not audit the noise: an algorithm that adds too little of it can pass them all.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import Budget, Guarantee
from discreet.bounds import Bounds, Neighbours
from discreet.data import GROUP_RULES, ArraySource, Grouping
from discreet.errors import DiscreetError, Incompatible, InvalidData, InvalidParameter
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded, System
from discreet.problem import Algorithm, Plan, Problem
from discreet.testing.holding import hold

N_ROWS, N_FEATURES = 200, 3


@dataclass(frozen=True)
class Trial:
    """An algorithm with a problem to solve and a delta to spend."""

    algorithm: Algorithm
    problem: Problem
    delta: float

    def plan(self, epsilon: float = 1.0, neighbours: Neighbours = "zero-out") -> Plan:
        """Return a plan made afresh."""
        problem = replace(self.problem, neighbours=neighbours)
        return self.algorithm.plan(problem, Budget(epsilon, self.delta))

    @cached_property
    def made(self) -> Plan:
        """The usual plan; plans are frozen, so laws may share it."""
        return self.plan()

    @cached_property
    def data(self) -> ArraySource:
        """Rows of the problem, with labels that the first feature decides."""
        assert self.problem.n_rows is not None
        X = np.random.default_rng(0).normal(size=(self.problem.n_rows, self.problem.n_features))
        return ArraySource(X, self.labels(X))

    def labels(self, X: Any) -> Any:
        """Return labels for rows."""
        high = X[:, 0] > 0
        if self.problem.loss.target in ("sign", "index"):
            assert self.problem.bounds.classes is not None
            return np.asarray(self.problem.bounds.classes)[high.astype(int)]
        return np.where(high, 1.0, 0.0) * (self.problem.bounds.label or (0.0, 1.0))[1]


Law = Callable[[Trial], None]


def declares(algorithm: Any, fact: str) -> bool:
    """Return whether an algorithm declares a fact, such as ``needs_delta``."""
    return bool(getattr(algorithm, fact, False))


def plan_needs_no_data(case: Trial) -> None:
    """A plan is made, and printed, with no data; its claim can be written down."""
    made, guarantee = case.made, case.made.guarantee
    hold(made.algorithm == case.algorithm.name, "a plan names its algorithm")
    within = guarantee.epsilon <= 1.0 and guarantee.delta <= case.delta
    hold(within, "a plan claims no more than the budget")
    exact = (guarantee.epsilon, guarantee.delta) == (1.0, case.delta)
    less = declares(case.algorithm, "may_claim_less")
    hold(exact or less, "a plan claims its budget, unless may_claim_less is declared")
    text = str(made)
    printed = text.startswith("loss ") and made.algorithm in text and "noise" in text
    hold(printed, "a plan prints its loss, its algorithm and its noise, as CalibratedPlan does")
    hold(made.expected_excess > 0, "expected_excess is above zero, or infinite where unknown")
    copy = Guarantee.from_dict(json.loads(json.dumps(guarantee.to_dict())))
    hold(copy == guarantee, "the guarantee survives JSON")


def event_covers_the_claim(case: Trial) -> None:
    """The guarantee's event costs no more than what is claimed, for each relation."""
    relations: tuple[Neighbours, ...] = ("zero-out", "replace-one")
    for neighbours in relations:
        guarantee = case.plan(neighbours=neighbours).guarantee
        hold(guarantee.neighbours == neighbours, "the guarantee is about the problem's neighbours")
        cost = guarantee.event.delta(guarantee.epsilon)
        hold(cost <= guarantee.delta * (1 + 1e-9) + 1e-15, "the event covers the claim")


def needs_are_declared(case: Trial) -> None:
    """What an algorithm cannot do without is declared, and refused in words."""
    if declares(case.algorithm, "needs_delta"):
        _refused(case.problem, case.algorithm, 0.0, "needs_delta: it refuses delta = 0", "delta")
    if declares(case.algorithm, "needs_quadratic"):
        other = replace(case.problem, loss=Logistic())
        _refused(other, case.algorithm, case.delta, "needs_quadratic: it refuses other losses", "")


def _refused(problem: Problem, algorithm: Any, delta: float, law: str, word: str) -> None:
    try:
        algorithm.plan(problem, Budget(1.0, delta))
    except Incompatible as refusal:
        hold(word in str(refusal), f"{law} and says why")
        return
    raise AssertionError(law)


def run_releases_weights_and_guarantee(case: Trial) -> None:
    """A run gives weights of the problem's shape and a guarantee, and nothing else."""
    release = case.made.run(case.data, Seeded(1))
    hold(set(vars(release)) == {"weights", "guarantee"}, "a run releases nothing else")
    hold(release.weights.shape == case.problem.shape, "weights have the shape of the problem")
    hold(np.isfinite(release.weights), "weights are finite")
    hold(not release.guarantee.secure, "a seeded run is not secure, and its guarantee says so")
    claim = replace(release.guarantee, secure=case.made.guarantee.secure)
    hold(claim == case.made.guarantee, "a run claims what its plan claims")


def numbers(part: object, at: str = "plan") -> set[str]:
    """Name everything a plan and its parts hold by now."""
    if isinstance(part, tuple):
        return {n for i, item in enumerate(part) for n in numbers(item, f"{at}[{i}]")}
    own = type(part).__module__.startswith("discreet.") or is_dataclass(part)
    if not own or isinstance(part, type):
        return set()
    held = dict(getattr(part, "__dict__", {}))
    return {f"{at}.{k}" for k in held} | {
        n for k, v in held.items() for n in numbers(v, f"{at}.{k}")
    }


def everything_exists_before_the_run(case: Trial) -> None:
    """A run computes nothing that its plan then keeps: it was calibrated when it was made."""
    relations: tuple[Neighbours, ...] = ("zero-out", "replace-one")
    for neighbours in relations:
        made = case.plan(neighbours=neighbours)
        before = numbers(made)
        made.run(case.data, Seeded(1))
        late = sorted(numbers(made) - before)
        hold(
            not late, f"a plan is calibrated when it is made, as CalibratedPlan does; late: {late}"
        )


def assumptions_are_repeated(case: Trial) -> None:
    """What a problem assumes its guarantee says, once."""
    assumed = replace(case.problem, assumptions=("rows are rows",))
    made = case.algorithm.plan(assumed, Budget(1.0, case.delta))
    said = made.guarantee.assumptions.count("rows are rows")
    hold(said == 1, "the guarantee repeats the problem's assumptions")


def run_takes_rows_and_randomness(case: Trial) -> None:
    """A run refuses anything but a source of rows and a Randomness."""
    for source in (np.ones((200, 3)), [[1.0, 2.0, 3.0]], None):
        _not_taken(case.made, source, System(), "such as ArraySource(X, y)")
    for random in (0, None, np.random.default_rng(0)):
        _not_taken(case.made, case.data, random, "a Randomness, such as System()")


def _not_taken(plan: Plan, source: Any, random: Any, words: str) -> None:
    try:
        plan.run(source, random)
    except InvalidParameter as refusal:
        hold(words in str(refusal), "a refusal says what to pass, as @releasing does")
        return
    raise AssertionError("run refuses what is not rows and randomness, as @releasing does")


def seed_repeats_a_run(case: Trial) -> None:
    """The same seed gives the same weights, and the system's randomness others."""
    one, two = (case.made.run(case.data, Seeded(7)).weights for _ in range(2))
    hold(one == two, "a seed repeats a run: all randomness comes from the argument")
    free = case.made.run(case.data, System())
    hold((free.weights != one).any(), "runs with the system's randomness differ")
    hold(free.guarantee.secure, "a run with the system's randomness is secure")


def burden(plan: Plan) -> float:
    """Return the error bound, or the noise where no bound is known."""
    if math.isfinite(plan.expected_excess):
        return plan.expected_excess
    return max((v for k, v in plan.facts().items() if "noise" in k), default=0.0)


def protection_is_a_burden(case: Trial) -> None:
    """Less budget, and neighbours that differ more, do not give a smaller error bound."""
    burdens = [burden(case.plan(epsilon)) for epsilon in (0.1, 1.0, 8.0)]
    hold(burdens == sorted(burdens, reverse=True), "less epsilon is more noise or error")
    more = burden(case.plan(neighbours="replace-one"))
    hold(more > burden(case.made), "replacing a row takes more noise than blanking it")


def run_warns_of_no_row(case: Trial) -> None:
    """A column that one row alone fills, with almost nothing, does not show in warnings."""
    for cell in (1e-160, 1e-320):
        X = np.random.default_rng(0).normal(size=(case.data.n_rows, case.data.n_features))
        X[:, -1] = 0.0
        X[0, -1] = cell
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                case.made.run(ArraySource(X, case.labels(X)), Seeded(1))
            except Warning as warning:
                raise AssertionError("a run warns of no row") from warning


def groups_are_protected_or_refused(case: Trial) -> None:
    """A plan for groups of rows takes more noise and says what it protects, or there is none."""
    codes = np.arange(case.data.n_rows) % 40
    for rule in GROUP_RULES:
        problem = replace(case.problem, grouping=Grouping(4, rule))  # type: ignore[arg-type]
        try:
            plan = case.algorithm.plan(problem, Budget(1.0, case.delta))
        except Incompatible:
            continue
        hold(plan.guarantee.unit == "group", "a plan for groups says that it protects them")
        # What has no bound where rows have one has a larger one.
        gave_up = math.isinf(plan.expected_excess) and math.isfinite(case.made.expected_excess)
        more = gave_up or burden(plan) > burden(case.made)
        hold(more, "hiding a group takes more noise than hiding a row")
        source = ArraySource(case.data.array, case.labels(case.data.array), groups=codes)
        release = plan.run(source, Seeded(1))
        hold(release.guarantee.unit == "group", "a release for groups says that it protects them")
        try:
            plan.run(case.data, Seeded(1))
        except InvalidData:
            continue
        raise AssertionError("rows without groups are refused where groups are protected")


ALGORITHM_LAWS: tuple[Law, ...] = (
    needs_are_declared,
    plan_needs_no_data,
    event_covers_the_claim,
    run_releases_weights_and_guarantee,
    everything_exists_before_the_run,
    assumptions_are_repeated,
    run_takes_rows_and_randomness,
    seed_repeats_a_run,
    protection_is_a_burden,
    run_warns_of_no_row,
    groups_are_protected_or_refused,
)
"""Every law of an algorithm."""


def cases(algorithm: Algorithm, problem: Problem | None = None) -> list[Trial]:
    """Return the cases an algorithm is tried on: with a delta and, if it can do so, without."""
    if problem is None:
        problem = Problem(
            loss=Squared() if declares(algorithm, "needs_quadratic") else Logistic(),
            bounds=Bounds(row_norm=1.0, label=(0, 1), classes=(0, 1)),
            n_features=N_FEATURES,
            n_rows=N_ROWS,
            intercept=0.5,
        )
    deltas = (1e-6,) if declares(algorithm, "needs_delta") else (0.0, 1e-6)
    return [Trial(algorithm, problem, delta) for delta in deltas]


def check_algorithm(algorithm: Algorithm, problem: Problem | None = None) -> None:
    """Put an algorithm through every law; raise AssertionError with the first that is broken.

    Its noise is not audited: that takes a proof, and statistics on a worst pair of data sets.

    Parameters
    ----------
    algorithm
        The algorithm, with the settings it is to be tried with.
    problem
        A problem it can solve, with a number of rows; by default a logistic regression of
        200 rows or, where ``needs_quadratic`` is declared, a linear one.

    Examples
    --------
    >>> from discreet.algorithms import OutputPerturbation
    >>> check_algorithm(OutputPerturbation())
    """
    for case in cases(algorithm, problem):
        for law in ALGORITHM_LAWS:
            try:
                law(case)
            except DiscreetError as error:
                raise AssertionError(f"{law.__name__}: refused with {error}") from error
