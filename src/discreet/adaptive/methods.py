"""Which method meets a target, and at what levels: decided by public facts only."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from discreet.adaptive.certified_stop import Certificate
from discreet.adaptive.doubling import Doubling
from discreet.adaptive.noise_reduction import geometric_levels
from discreet.adaptive.one_shot import OneShot
from discreet.adaptive.paths import OutputPath, StatisticsPath
from discreet.adaptive.query import Query
from discreet.adaptive.task import Task
from discreet.adaptive.threshold_stop import ThresholdStop, split_task
from discreet.checks import between, one_of, usable_epsilon
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter
from discreet.tuned.algorithms import TEST_SHARE

METHODS = ("auto", "one-shot", "certificate", "noise-reduction", "doubling", "theory")

AccuracyPlan = OneShot | Certificate | ThresholdStop | Doubling


def choose(
    task: Task,
    *,
    target: float,
    metric: str = "excess-risk",
    max_epsilon: float = 2.0,
    failure: float = 0.1,
    delta: float = 0.0,
    method: str = "auto",
    noise: str | None = None,
    margin: float | None = None,
    validation: float | None = None,
) -> AccuracyPlan:
    """Return a plan that reserves at most ``max_epsilon``, or refuse.

    ``"auto"`` takes one shot or, for ridge, the certificate stop for excess
    risk: neither pays for tests. Where neither is sure to end with a model below
    the cap, ridge takes the certificate, which may end without one. Other metrics
    need tests.

    Parameters
    ----------
    task
        The public facts.
    target, metric
        What has to be met.
    max_epsilon
        Cap on what is reserved.
    failure
        Probability that a released model misses the target.
    delta
        0 for pure guarantees; otherwise Gaussian noise may be used.
    method, noise, margin, validation
        See :class:`~discreet.AccuracyFirst`.

    Examples
    --------
    >>> from discreet.problem import Problem
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=38, n_rows=100_000)
    >>> plan = choose(Task(problem=problem, strength=500.0), target=0.05, delta=1e-6)
    >>> plan.facts()["method"], round(plan.reserved[0], 3)
    ('one-shot (tight)', 0.021)
    """
    check_options(task, target=target, metric=metric, method=method, validation=validation)
    cap = usable_epsilon("max_epsilon", max_epsilon)
    between("failure", failure, 0, 1)
    exact = metric == "excess-risk"
    if method == "noise-reduction" or not exact:
        given = (0.8 if exact else 0.1) * target if margin is None else margin
        plan = _tested(task, metric, target, failure, cap, delta, noise, given, validation)
        if exact or margin is not None or plan.test_epsilon >= TEST_SHARE * cap:
            return plan
        # A test costs one over its margin, and a narrow one lets models stop that just meet it.
        given *= plan.test_epsilon / (TEST_SHARE * cap)
        return _tested(task, metric, target, failure, cap, delta, noise, given, validation)
    if method == "doubling":
        return _doubling(task, target, failure, cap)
    return _untested(task, target, failure, cap, delta, method)


def check_options(
    task: Task, *, target: float, metric: str, method: str, validation: float | None
) -> None:
    """Refuse what does not go together whatever the number of rows, which may be unknown yet.

    Parameters
    ----------
    task
        The public facts; its number of rows is not used.
    target, metric, method, validation
        As in :func:`choose`.
    """
    one_of("method", method, METHODS)
    Query(task=task, metric=metric, target=target)  # refuses a metric the loss does not have
    _check_target(task, metric, target)
    if metric != "excess-risk" and method not in ("auto", "noise-reduction"):
        raise Incompatible(
            f"Method {method!r} is for excess risk; only tests on the data can decide a target of "
            f"{metric!r}. Use method='noise-reduction'.",
            parameter="method",
        )
    if metric == "excess-risk" and validation is not None:
        raise Incompatible(
            "validation is for metric='loss' or metric='error-rate': excess risk is measured "
            "against the optimum of the training rows.",
            parameter="validation",
        )


def trivial_error(task: Task, metric: str) -> float:
    """Return the most error that one answer for all rows leaves, whatever the data.

    For an error rate that is the best of all answers, for a loss and its excess the answer
    of weights of zero. On the data at hand it may be much less, which is not public.

    >>> from discreet.problem import Problem
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> task = Task(problem=problem, strength=5.0)
    >>> trivial_error(task, "error-rate"), round(trivial_error(task, "loss"), 3)
    (0.5, 0.693)
    """
    loss = task.problem.loss.inner
    if metric == "error-rate":
        return 1.0 - 1.0 / max(loss.outputs, 2)
    return loss.at_zero(task.problem.bounding.label_bound)


def _check_target(task: Task, metric: str, target: float) -> None:
    """Refuse a target that every data set meets with no model at all."""
    trivial = trivial_error(task, metric)
    if target >= trivial:
        raise InvalidParameter(
            f"max_error is the error that may remain, here {metric}, and a single answer for all "
            f"rows leaves at most {trivial:.3g} whatever the data. Got {target:g}; ask for less.",
            parameter="max_error",
        )


def _untested(
    task: Task, target: float, failure: float, cap: float, delta: float, method: str
) -> OneShot | Certificate:
    """Return the method without tests that is sure to end below the cap, at the least price.

    If none is, ridge gets the certificate stop, which may spend the cap and release nothing.
    """
    plans: list[OneShot | Certificate] = []
    if method in ("auto", "one-shot", "theory"):
        rule: Any = "theory" if method == "theory" else "tight"
        for spare in {0.0} if rule == "theory" else {0.0, delta}:
            plans.append(OneShot(task=task, target=target, failure=failure, delta=spare, rule=rule))
    certificate: Certificate | None = None
    if method == "certificate" or (method == "auto" and task.problem.loss.quadratic):
        certificate = Certificate(task=task, target=target, failure=failure, max_epsilon=cap)
        if certificate.enough <= cap:
            plans.append(certificate)

    def price(plan: OneShot | Certificate) -> float:
        most = plan.reserved[0]
        # A certificate usually stops half way, in logarithm, between the least and the most.
        return math.sqrt(plan.least * most) if isinstance(plan, Certificate) else most

    affordable = [plan for plan in plans if plan.reserved[0] <= cap]
    if affordable:
        return min(affordable, key=price)
    if certificate is not None and certificate.path.levels:  # refuses a cap below every level
        return certificate  # the data may still allow a stop before the cap
    other = "use method='noise-reduction'"
    if task.problem.loss.quadratic:
        other = "leave method out"
    least = min(plan.reserved[0] for plan in plans)
    raise BudgetTooSmall(
        f"The target needs epsilon = {least:.3g} by public facts, more than max_epsilon = "
        f"{cap:g}. Raise max_epsilon, allow a larger max_error, or {other}, which may stop early "
        "where the data allows it.",
        parameter="max_epsilon",
    )


def _path(
    task: Task, levels: tuple[float, ...], noise: str | None, delta: float
) -> StatisticsPath | OutputPath:
    kind = StatisticsPath if task.problem.loss.quadratic else OutputPath
    law: Any = "laplace" if noise is None else noise
    return kind(task=task, levels=levels, noise=law, delta=delta if law == "brownian" else 0.0)


def _tested(
    task: Task,
    metric: str,
    target: float,
    failure: float,
    cap: float,
    delta: float,
    noise: str | None,
    margin: float,
    validation: float | None,
) -> ThresholdStop:
    """Return tests whose cost leaves the rest of the cap to the models."""
    judged = task
    if validation is not None:
        held = max(1, round(between("validation", validation, 0, 1) * task.n))
        judged, task = split_task(task, held), split_task(task, max(1, task.n - held))
    plan = ThresholdStop(
        path=_path(task, geometric_levels(cap), noise, delta),
        query=Query(task=judged, metric=metric, target=target),
        margin=margin,
        failure=failure,
        validation=validation is not None,
    )
    if plan.test_epsilon >= cap:
        raise BudgetTooSmall(
            f"Testing alone costs epsilon = {plan.test_epsilon:.3g}, but max_epsilon = {cap:g}. "
            "Raise max_epsilon or margin, or allow a larger max_error.",
            parameter="max_epsilon",
        )
    if plan.validation:
        return plan
    rest = geometric_levels(cap - plan.test_epsilon)
    return replace(plan, path=_path(task, rest, noise, delta))


def _doubling(task: Task, target: float, failure: float, cap: float) -> Doubling:
    """Return as many doublings as the cap allows."""
    found: Doubling | None = None
    for count in range(1, 64):
        plan = Doubling(
            path=_path(task, (1.0,), None, 0.0),
            query=Query(task=task, metric="excess-risk", target=target),
            first=1 / task.n,
            count=count,
            failure=failure,
        )
        if plan.reserved[0] > cap:
            break
        found = plan
    if found is None:
        raise BudgetTooSmall(
            "One test of the doubling method costs more than max_epsilon.", parameter="max_epsilon"
        )
    return found
