"""Algorithms: one file each, and one line in the table below."""

from __future__ import annotations

from collections.abc import Callable

from discreet.accounting import Budget
from discreet.algorithms.base import Algorithm, Plan, Problem, Release, describe
from discreet.algorithms.bolt_on import BoltOn
from discreet.algorithms.frank_wolfe import FrankWolfe
from discreet.algorithms.objective_perturbation import ObjectivePerturbation
from discreet.algorithms.output_perturbation import OutputPerturbation
from discreet.algorithms.sufficient_statistics import SufficientStatistics
from discreet.checks import one_of
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    ObjectivePerturbation.name: ObjectivePerturbation,
    OutputPerturbation.name: OutputPerturbation,
    BoltOn.name: BoltOn,
    SufficientStatistics.name: SufficientStatistics,
    FrankWolfe.name: FrankWolfe,
}

AUTO = ("objective-perturbation", "output-perturbation")
"""What ``"auto"`` tries, best first.

At the same strength and budget both put noise of the same size on the weights,
but the curvature of the data damps the noise inside the objective and not the
noise on the output. So output perturbation serves only where the other cannot.
"""


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
    >>> from discreet.types import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=1000)
    >>> choose("auto", problem, Budget(1.0, 1e-6)).facts()["algorithm"]
    'objective-perturbation'
    """
    if not isinstance(algorithm, str):
        if not hasattr(algorithm, "plan"):
            raise InvalidParameter(
                f"algorithm must be 'auto', one of {sorted(ALGORITHMS)}, or an instance of one. "
                f"Got {type(algorithm).__name__} instead."
            )
        return algorithm.plan(problem, budget)
    one_of("algorithm", algorithm, ("auto", *ALGORITHMS))
    settings = {"norm_guess": norm_guess}
    if strength is not None:
        settings["strength"] = strength
    first, *others = AUTO if algorithm == "auto" else (algorithm,)
    try:
        return ALGORITHMS[first](**settings).plan(problem, budget)
    except (Incompatible, BudgetTooSmall) as refusal:
        for name in others:
            try:
                return ALGORITHMS[name](**settings).plan(problem, budget)
            except (Incompatible, BudgetTooSmall):
                continue
        raise refusal


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "BoltOn",
    "FrankWolfe",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Plan",
    "Problem",
    "Release",
    "SufficientStatistics",
    "choose",
    "describe",
]
