"""What is attacked: a plan or an estimator on two neighbours, as a stream of outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from discreet.accounting import Guarantee
from discreet.auditing.pairs import Pair, worst_pair
from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.noise import Randomness, Seeded
from discreet.problem import Plan

RELEASED = ("coef_", "intercept_", "quantiles_")
"""Attributes of a fitted estimator that an attacker reads, as far as it has them."""


@dataclass(frozen=True)
class Attack:
    """A program on two neighbours: what it claims and what it gives.

    ``outputs`` holds, for the first and the second neighbour, a function from
    randomness to the released numbers, or None where a run releases no model.
    """

    guarantee: Guarantee
    outputs: tuple[Callable[[Randomness], Array | None], Callable[[Randomness], Array | None]]
    words: str
    direction: Array | None


def attack_on(subject: Any, n_features: int | None, n_rows: int | None, pair: Any) -> Attack:
    """Return the attack on a plan, on an estimator's plan, or on an estimator's fits."""
    if isinstance(subject, type):
        raise InvalidParameter(
            f"Audit an instance, such as {subject.__name__}(...), not the class itself."
        )
    if hasattr(subject, "fit") and pair is not None:
        return _on_fits(subject, *_tables(pair))
    return _on_plan(planned(subject, n_features, n_rows), pair)


def planned(subject: Any, n_features: int | None, n_rows: int | None) -> Plan:
    """Return the plan itself, or that of an estimator for data of such a size."""
    if is_plan(subject):
        return cast(Plan, subject)
    if not hasattr(subject, "fit"):
        raise InvalidParameter(
            "audit takes a plan, which has problem, guarantee and run, or an estimator. Got "
            f"{type(subject).__name__} instead."
        )
    if n_features is None or not hasattr(subject, "plan"):
        raise MissingBound(
            f"What {type(subject).__name__} is to be audited on is not set. Pass "
            "pair=((X, y), (X2, y2)), two neighbouring tables"
            + (", or n_features=... and n_rows=..." if hasattr(subject, "plan") else "")
            + "."
        )
    plan = subject.plan(n_features, n_rows)
    if not is_plan(plan):
        raise Incompatible(
            f"The plan of {type(subject).__name__} is not the plan of one release. Pass "
            "pair=((X, y), (X2, y2)), two neighbouring tables."
        )
    return cast(Plan, plan)


def is_plan(subject: Any) -> bool:
    """Return whether something has what an audit asks of a plan."""
    return all(hasattr(subject, name) for name in ("problem", "guarantee", "run"))


def _on_plan(plan: Plan, pair: Any) -> Attack:
    if pair is None:
        pair = worst_pair(plan.problem)
    elif not isinstance(pair, Pair):
        raise InvalidParameter("pair must be a Pair of two sources where a plan is audited.")

    def output(source: Any) -> Callable[[Randomness], Array]:
        return lambda random: np.ravel(plan.run(source, random).weights)

    direction = pair.direction
    if direction is None:
        direction = _apart(plan, pair)
    outputs = (output(pair.first), output(pair.second))
    return Attack(plan.guarantee, outputs, pair.words, direction)


def _apart(plan: Plan, pair: Pair) -> Array:
    """Return the difference of the gradients of two data sets at weights of zero."""
    zero, loss = np.zeros(plan.problem.shape), plan.problem.loss
    first, second = (
        plan.problem.bounding.apply(source).gradient(loss, zero)
        for source in (pair.first, pair.second)
    )
    return np.ravel(second - first)


def _tables(pair: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    try:
        first, second = (tuple(table) for table in pair)
    except (TypeError, ValueError):
        first = second = ()
    if not (1 <= len(first) <= 2 and len(first) == len(second)):
        raise InvalidParameter(
            "pair must be two tables that an estimator can be fitted to: ((X, y), (X2, y2))."
        )
    return first, second


def _on_fits(estimator: Any, first: tuple[Any, ...], second: tuple[Any, ...]) -> Attack:
    from sklearn.base import clone  # only here: plans are audited without scikit-learn

    def fitted(table: tuple[Any, ...], random: Randomness) -> Any:
        model = clone(estimator)
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=random)
        return model.fit(*table)

    def output(table: tuple[Any, ...]) -> Callable[[Randomness], Array | None]:
        return lambda random: released(fitted(table, random))

    # The guarantee of a fit is public: what it could at most cost was fixed before.
    guarantee = fitted(second, Seeded(0)).guarantee_
    return Attack(guarantee, (output(first), output(second)), "the two tables given", None)


def released(model: Any) -> Array | None:
    """Return the numbers of a fitted model as one vector, or None if it released none.

    >>> class Fitted:
    ...     coef_, intercept_ = np.array([[1.0, 2.0]]), 3.0
    >>> released(Fitted())
    array([1., 2., 3.])
    """
    model = getattr(model, "estimator_", model)
    parts = [getattr(model, name) for name in RELEASED if hasattr(model, name)]
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in parts]
    return np.concatenate([np.ravel(part) for part in dense]) if dense else None


def claim_of(guarantee: Guarantee) -> tuple[float, float]:
    """Return the epsilon and delta that were fixed before the data was read."""
    if guarantee.kind == "ex-ante":
        return guarantee.epsilon, guarantee.delta
    if guarantee.reserved is None:
        raise Incompatible("This guarantee reserved nothing in advance, so there is no claim.")
    return guarantee.reserved
