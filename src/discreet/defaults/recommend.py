"""What ``"auto"`` means, or the algorithm that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any

from discreet.accounting import Budget
from discreet.algorithms import ALGORITHMS, ObjectivePerturbation
from discreet.checks import one_of
from discreet.defaults.case import (
    CALIBRATED_CLIP,
    CORNER_WIDTH,
    COUNTED_ROWS,
    LEARNED_CLIP,
    Asked,
    Case,
)
from discreet.defaults.counted_rows import asked_to_count, counted_rows
from discreet.defaults.learned_clip import asked_for, learned_clip
from discreet.defaults.pure_noise import with_least_noise
from discreet.defaults.rounded_corners import rounded_by
from discreet.defaults.rules import RULES, Rule
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import CalibratedLogistic, Logistic
from discreet.problem import CalibratedPlan, Plan, Problem
from discreet.regularizers import Zero
from discreet.tuned.defaults import REGIONS

MEASURED: dict[str, Callable[..., Plan]] = {
    COUNTED_ROWS: asked_to_count,
    LEARNED_CLIP: asked_for,
}
"""Plans that measure something first and then make, or choose, another plan."""


def algorithm_names() -> tuple[str, ...]:
    """Return what ``algorithm`` may be called by.

    >>> algorithm_names()[:3]
    ('auto', 'counted-rows', 'learned-clip')
    """
    return "auto", *MEASURED, *ALGORITHMS


def recommend(problem: Problem, budget: Budget, asked: Asked | None = None) -> Plan:
    """Plan with the algorithm asked for, or with the one that the rules recommend.

    Only public facts decide. ``print`` of the plan says why.

    Parameters
    ----------
    problem, budget
        What to solve, at which price.
    asked
        What was stated besides; by default nothing.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=1000)
    >>> plan = recommend(problem, Budget(1.0, 1e-6))
    >>> plan.algorithm, plan.reason
    ('noisy-gradient', '106 rows per unit of noise (few rows: 0 to 400): gradient descent ...')
    >>> recommend(problem, Budget(1.0, 1e-6), Asked(algorithm="output-perturbation")).algorithm
    'output-perturbation'
    """
    asked = Asked() if asked is None else asked
    _check(problem, budget, asked)
    penalty = problem.regularizer
    if penalty.kernel.zero and penalty.strong_convexity == 0.0:
        problem = replace(problem, regularizer=Zero())  # a penalty of zero is none
    if not isinstance(asked.algorithm, str):
        return Case(problem, budget, asked).planned(asked.algorithm)
    if asked.algorithm != "auto":
        return _named(asked.algorithm, Case(problem, budget, asked))
    case = Case(problem, budget, asked)
    first = counted_rows(case, recommend) or learned_clip(case, recommend)
    return first or _by_rules(case)


def _by_rules(case: Case) -> Plan:
    for rule in RULES:
        plan = rule.plan(case) if case.region in rule.regions and rule.applies(case) else None
        if plan is not None:
            plan, noise = with_least_noise(case, plan)
            reason = "; ".join(filter(None, (_reason(rule, case), noise)))
            return plan.explained(reason=reason) if isinstance(plan, CalibratedPlan) else plan
    raise AssertionError("the last rule is for every case")


def _reason(rule: Rule, case: Case) -> str:
    if case.problem.n_rows is None:
        return f"the number of rows is secret: {rule.why}"
    index = REGIONS.index(case.region)
    low = REGIONS[index - 1].below if index else 0.0
    ends = f"{low:g} to {case.region.below:g}" if index < len(REGIONS) - 1 else f"{low:g} or more"
    where = f"{case.rows_per_noise:.3g} rows per unit of noise ({case.region.name}: {ends})"
    return f"{where}: {rule.why}"


def _named(name: str, case: Case) -> Plan:
    """Return the plan of an algorithm given by name, with its settings."""
    if name in MEASURED:
        return MEASURED[name](case, recommend)
    known = set(signature(ALGORITHMS[name]).parameters)
    given = case.asked.parameters
    if "strength" not in known and given.pop("strength", None):
        raise Incompatible(
            f"{name} takes no strength of a ridge. Leave alpha or C out, or pass a Ridge as "
            "regularizer where the estimator has one."
        )
    settings: dict[str, Any] = given | dict(case.asked.settings or {})
    clip, width = settings.pop(CALIBRATED_CLIP, None), settings.pop(CORNER_WIDTH, None)
    if unknown := sorted(str(s) for s in set(settings) - known):
        raise InvalidParameter(
            f"settings must name parameters of {name}: {', '.join(sorted(known))}, or "
            f"{CALIBRATED_CLIP} or {CORNER_WIDTH}. Got {', '.join(unknown)} besides."
        )
    if width is not None:
        if name != ObjectivePerturbation.name:
            raise Incompatible(f"{CORNER_WIDTH} is for {ObjectivePerturbation.name}.")
        return rounded_by(case, width, {k: v for k, v in settings.items() if k not in given})
    if clip is None:
        return case.planned(ALGORITHMS[name](**settings))
    if case.problem.loss != Logistic():
        raise Incompatible(f"{CALIBRATED_CLIP} is for logistic regression of two classes.")
    surrogate = replace(case.problem, loss=CalibratedLogistic(clip=clip))
    return case.planned(ALGORITHMS[name](**settings), surrogate)


def _check(problem: Problem, budget: Budget, asked: Asked) -> None:
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"problem must be a Problem. Got {type(problem).__name__} instead.")
    if not isinstance(budget, Budget):
        raise InvalidParameter(
            "budget must be a Budget, such as Budget(1.0, 1e-6). Got "
            f"{type(budget).__name__} instead."
        )
    algorithm, settings = asked.algorithm, asked.settings
    if settings is not None and not isinstance(settings, dict):
        raise InvalidParameter(
            "settings must be a dict of parameters, such as {'steps': 100}. Got "
            f"{type(settings).__name__} instead."
        )
    if isinstance(algorithm, str):
        one_of("algorithm", algorithm, algorithm_names())
    # Estimators have a plan too, but no name.
    elif isinstance(algorithm, type) or not (
        hasattr(algorithm, "plan") and hasattr(algorithm, "name")
    ):
        raise InvalidParameter(
            f"algorithm must be one of {sorted(algorithm_names())}, or an instance of one, "
            f"such as NoisyGradient(). Got a {type(algorithm).__name__} instead."
        )
    if settings and (algorithm == "auto" or not isinstance(algorithm, str)):
        raise Incompatible(
            "settings are the parameters of an algorithm given by name. Pass algorithm=..., such "
            "as 'noisy-gradient', or leave settings out."
        )
