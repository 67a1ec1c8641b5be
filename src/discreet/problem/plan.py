"""Plan and Release: what every algorithm makes of a problem, and what leaves a run.

``Algorithm.plan`` turns a problem and a budget into a :class:`Plan` before any row is
read. ``Plan.run`` is the only thing that touches rows. What comes out of it is a
:class:`Release`: weights, the guarantee they carry, and nothing else.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cache, cached_property, wraps
from typing import Any, ClassVar, Protocol, Self, TypeVar, cast, runtime_checkable

from discreet.accounting import Budget, Event, Guarantee
from discreet.accounting.theorems import theorems
from discreet.bounds import Array
from discreet.data import Source, capped_source
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise import Randomness
from discreet.problem.printing import Printed
from discreet.problem.problem import ASSUMED, Problem


def with_randomness(guarantee: Guarantee, random: Randomness) -> Guarantee:
    """Return the guarantee marked with whether its randomness was secure."""
    return replace(guarantee, secure=guarantee.secure and random.secure)


@dataclass(frozen=True)
class Release:
    """What leaves a run: weights in the scaled domain and their guarantee."""

    weights: Array
    guarantee: Guarantee


@runtime_checkable
class Plan(Protocol):
    """A calibrated run that exists before any row is read."""

    @property
    def problem(self) -> Problem: ...

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        ...

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale), from public values only."""
        ...

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan, for printing: noise, strength, expected error."""
        ...

    def run(self, source: Source, random: Randomness) -> Release: ...


P = TypeVar("P")
Run = TypeVar("Run", bound=Callable[..., Any])


def checked(run: Run) -> Run:
    """Let a run begin with rows and randomness alone, and refuse anything else in words."""

    @wraps(run)
    def begun(self: Any, source: Any, random: Any, **options: Any) -> Any:
        if not isinstance(source, Source):
            raise InvalidParameter(
                "source must hold rows and their labels, such as ArraySource(X, y). Got "
                f"{type(source).__name__} instead."
            )
        if not isinstance(random, Randomness):
            raise InvalidParameter(
                "random must be a Randomness, such as System(), or Seeded(0) for tests. Got "
                f"{type(random).__name__} instead."
            )
        problem = getattr(self, "problem", None)
        # privacy: here groups are brought down to what the plan protects, once for all its parts.
        source = capped_source(source, getattr(problem, "grouping", None), random)
        return run(self, source, random, **options)

    return cast(Run, begun)


def releasing(
    run: Callable[[P, Source, Randomness], Array],
) -> Callable[[P, Source, Randomness], Release]:
    """Release the weights that a checked run returns, with the guarantee of its plan."""

    @checked
    @wraps(run)
    def whole(self: Any, source: Source, random: Randomness) -> Release:
        weights = run(self, source, random)
        return Release(weights, with_randomness(self.guarantee, random))

    return whole


class Algorithm(Protocol):
    """Public hyperparameters and the rule that turns a budget into a plan.

    A class may also declare, each False unless it says so:

    - ``needs_delta``: it cannot do without a delta;
    - ``needs_quadratic``: it is for the squared loss only;
    - ``may_claim_less``: its guarantee states what its noise costs, which may be below the budget.

    The class of its plans may declare ``per_group``: the proof covers groups of rows, with
    sensitivities of ``Problem.apart`` rows. Else groups are refused. It may declare
    ``clips_groups``: its runs take ``group_rule="clip"``.
    """

    name: ClassVar[str]

    def plan(self, problem: Problem, budget: Budget) -> Plan: ...


def calibrate(part: Any) -> None:
    """Compute all cached properties of a part of a plan, and of the parts it holds."""
    if isinstance(part, tuple):
        for item in part:
            calibrate(item)
    if isinstance(part, Problem):
        part = part.bounding
    kind: type = type(part)
    names = _computed(kind)
    if names is None or not hasattr(part, "__dict__"):
        return
    for name in names:
        getattr(part, name)
    for held in tuple(vars(part).values()):
        calibrate(held)


@cache
def _computed(kind: type) -> tuple[str, ...] | None:
    """Return the cached properties of a kind of part, or None of what is no part of a plan."""
    room = kind.__module__
    # What a guarantee or an event costs elsewhere takes long, and no run needs it.
    if issubclass(kind, type) or room.startswith("discreet.accounting."):
        return None
    if not (room.startswith("discreet.") or is_dataclass(kind)):
        return None
    known = (vars(base).items() for base in kind.__mro__)
    return tuple(n for items in known for n, value in items if isinstance(value, cached_property))


def check_unit(plan: Any) -> None:
    """Refuse groups of rows where a plan's own class does not say that its proof covers them."""
    # privacy: not inherited, so that a plan that changes what a proof rests on says so anew.
    covered = vars(type(plan)).get("per_group", False)
    if not covered and plan.problem.grouping is not None:
        raise Incompatible(
            f"{plan.algorithm} protects single rows, and no proof for groups of rows is known. Use "
            "noisy-gradient, or leave rows_per_group out."
        )
    if plan.problem.clips_groups and not vars(type(plan)).get("clips_groups", False):
        raise Incompatible(
            f"group_rule='clip' clips gradients, which {plan.algorithm} does not do. Use "
            "noisy-gradient, or group_rule='weight'."
        )


class CalibratedPlan(Printed):
    """Plans whose numbers all exist once they are made, and that print as facts and guarantee.

    >>> from discreet.algorithms import ObjectivePerturbation
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> print(ObjectivePerturbation().plan(problem, Budget(1.0, 1e-6)))  # doctest: +ELLIPSIS
    loss                   logistic
    algorithm              objective-perturbation
    ...
    epsilon = 1, delta = 1e-06 per row (ex-ante)
    ...
    """

    per_group: ClassVar[bool] = False
    """Whether the proof covers groups of rows: a fact that each class of plans says itself."""

    clips_groups: ClassVar[bool] = False
    """Whether runs clip the summed gradients of a group, which ``group_rule="clip"`` asks for."""

    reason = ""
    """Why this plan was recommended, if it was; no number of the plan depends on it."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Parameters that plan the same run with the algorithm of that name."""
        found: Mapping[str, Any] = vars(self).get("_settings", {})
        return found

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale); infinite where none is known."""
        return math.inf

    def explained(self, *, reason: str = "", settings: Mapping[str, Any] | None = None) -> Self:
        """Return the plan with a reason, or with the parameters that plan it again."""
        plan = copy.copy(self)
        if reason:
            object.__setattr__(plan, "reason", reason)
        if settings is not None:
            object.__setattr__(plan, "_settings", dict(settings))
        return plan

    def __post_init__(self) -> None:
        check_unit(self)
        # privacy: what cannot run is refused here, before a row is read or a budget reserved
        calibrate(self)
        _ = cast(Plan, self).guarantee

    def shown(self) -> Mapping[str, Any]:
        """Return the public numbers that are printed: the loss and the reason too."""
        plan = cast(Plan, self)
        because = {"because": self.reason} if self.reason else {}
        return {"loss": plan.problem.loss, **plan.facts(), **because}


class Budgeted(Protocol):
    """A plan that was calibrated to a budget."""

    @property
    def problem(self) -> Problem: ...

    @property
    def budget(self) -> Budget: ...


def guarantee_for(plan: Budgeted, event: Event, theorem: str, *assumed: str) -> Guarantee:
    """Return what a run of the plan guarantees: its budget, for the problem's neighbours."""
    check_unit(plan)
    return Guarantee(
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        neighbours=plan.problem.neighbours,
        event=event,
        theorem=theorem if plan.problem.grouping is None else theorems(theorem, "lemmas/groups"),
        assumptions=tuple(dict.fromkeys((*ASSUMED, *assumed, *plan.problem.assumptions))),
        unit=plan.problem.unit,
    )
