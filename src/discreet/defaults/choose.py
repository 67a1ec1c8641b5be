"""The algorithm that ``"auto"`` takes, or the one asked for."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import numpy as np

from discreet.accounting import Budget
from discreet.algorithms import ALGORITHMS, NoisyGradient, OutputPerturbation
from discreet.algorithms.gradient import HeavyBall, NoisyGradientPlan
from discreet.checks import one_of
from discreet.defaults.rounded_corners import rounded_corners
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter, MissingBound
from discreet.problem import Algorithm, Plan, Problem

AUTO = ("objective-perturbation", "noisy-gradient", "output-perturbation")
"""What ``"auto"`` may take: the one that promises the smaller error from public facts.

At the same strength and budget objective and output perturbation put noise of
the same size on the weights, but the curvature of the data damps the noise
inside the objective and not the noise on the output. So output perturbation
serves only where objective perturbation cannot. At corners its bound is the smaller one,
but on ordinary data noisy gradient descent is the better by far, so it is not weighed there.
"""

SAMPLED = ("exponential-sampling",)
"""What ``"auto"`` also weighs for pure privacy where objective perturbation cannot serve.

The bounds of sampling are nearly attained on any data, those of objective
perturbation on data without curvature only; on ordinary data it is the better
by far wherever it applies, whatever the bounds say. So they are not compared.
"""

QUICK = 14
"""Weights up to which a draw usually takes seconds; beyond, sampling has to be asked for by name.

Columns that exclude each other, as one-hot ones do, can make it minutes.
"""


def _auto(settings: dict[str, float | None], problem: Problem, budget: Budget) -> Plan:
    rounded = rounded_corners(problem, budget, **settings) if budget.delta == 0.0 else None
    if rounded is not None:
        return rounded
    cornered = problem.loss.corner(np.ones(1)) is not None
    plans: list[Plan] = []
    refusals: list[Exception] = []
    for name in AUTO:
        if name == OutputPerturbation.name and (cornered or not refusals):
            continue
        try:
            plan = ALGORITHMS[name](**settings).plan(problem, budget)
            if isinstance(plan, NoisyGradientPlan) and plan.rule.name == HeavyBall.name:
                # Momentum promises nothing that could be compared.
                plan = replace(plan.config, rule="smooth").plan(problem, budget)
            plans.append(plan)
        except (Incompatible, BudgetTooSmall) as refusal:
            refusals.append(refusal)
        except MissingBound:
            if name != NoisyGradient.name:
                raise
    pure_corner = budget.delta == 0.0 and bool(refusals) and problem.dimension <= QUICK
    for name in SAMPLED if pure_corner or not plans else ():
        try:
            plans.append(ALGORITHMS[name](**settings).plan(problem, budget))
        except (Incompatible, BudgetTooSmall, MissingBound) as refusal:
            refusals.append(refusal)
    if not plans:
        raise refusals[0]
    return min(plans, key=lambda plan: plan.expected_excess)


def choose(
    algorithm: str | Algorithm,
    problem: Problem,
    budget: Budget,
    *,
    strength: float | None = None,
    norm_guess: float | None = None,
) -> Plan:
    """Plan with the named algorithm, or with the best that applies.

    Only public facts decide. ``strength`` and ``norm_guess`` go to algorithms
    given by name; an instance is used as it is.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=1000)
    >>> choose("auto", problem, Budget(1.0, 1e-6)).facts()["algorithm"]
    'objective-perturbation'
    """
    if not isinstance(problem, Problem):
        raise InvalidParameter(f"problem must be a Problem. Got {type(problem).__name__} instead.")
    if not isinstance(budget, Budget):
        raise InvalidParameter(
            "budget must be a Budget, such as Budget(1.0, 1e-6). Got "
            f"{type(budget).__name__} instead."
        )
    if not isinstance(algorithm, str):
        # Estimators have a plan too, but no name.
        named = hasattr(algorithm, "plan") and hasattr(algorithm, "name")
        if isinstance(algorithm, type) or not named:
            raise InvalidParameter(
                f"algorithm must be 'auto', one of {sorted(ALGORITHMS)}, or an instance of one, "
                f"such as NoisyGradient(). Got a {type(algorithm).__name__} instead."
            )
        return algorithm.plan(problem, budget)
    one_of("algorithm", algorithm, ("auto", *ALGORITHMS))
    settings = {"norm_guess": norm_guess}
    if strength is not None:
        settings["strength"] = strength
    if algorithm == "auto":
        return _auto(settings, problem, budget)
    kind = ALGORITHMS[algorithm]
    if "strength" not in signature(kind).parameters and settings.pop("strength", None):
        raise Incompatible(
            f"{algorithm} takes no strength of a ridge. Leave alpha or C out, or pass a Ridge as "
            "regularizer where the estimator has one."
        )
    return kind(**settings).plan(problem, budget)
