"""Fits that first learn ranges and categories which nobody knows, within one budget.

A share of the budget, fixed beforehand, goes to what schema or bounds leave as
``"private"``; the rest to the fit, which then has declared columns. The whole is
planned without data, reserved once, and has one guarantee: by composition with
fixed shares (``docs/proofs/composition/fixed.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from discreet.accounting import Approximate, Budget, Composed, Event, Guarantee, Pure
from discreet.accounting.theorems import theorems
from discreet.bounds import Array, Bounds
from discreet.checks import between
from discreet.data.storage import tables_of
from discreet.errors import Incompatible, NotCertified
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.claims import ALWAYS_ASSUMED, LABELS_PUBLIC
from discreet.estimators.shared.reading import read_rows
from discreet.mechanisms.learned_columns import LearnedColumns, UnknownRange
from discreet.noise import Randomness, as_randomness
from discreet.problem import Plan, Printed, with_randomness
from discreet.schema import Categories, Encoded, Range, Schema
from discreet.schema.column import PRIVATE, RULES, text
from discreet.schema.frames import cells_of, read_columns

_FEATURE = "feature {}"
_GROUPS = (
    "Ranges and categories are learned with one row as the unit of privacy. With groups, declare "
    "them."
)


def learns(estimator: Any) -> bool:
    """Return whether something has to be learned before a fit.

    >>> from discreet import Bounds, PrivateRidge
    >>> learns(PrivateRidge()), learns(PrivateRidge(bounds=Bounds(features="private")))
    (False, True)
    """
    schema = estimator.schema
    of_schema = isinstance(schema, Schema) and bool(schema.private)
    return of_schema or Bounds.of(estimator.bounds).private


def _budgets(estimator: Any) -> tuple[Budget, Budget]:
    """Return the budget of what is learned first, and that of the fit."""
    share = between("bounds_share", estimator.bounds_share, 0.0, 1.0)
    return Budget(estimator.epsilon, getattr(estimator, "delta", 0.0)).split(share)


def _with_rest(estimator: Any, **changes: Any) -> Any:
    """Return the estimator with the budget that is left for its fit."""
    rest = _budgets(estimator)[1]
    inner = clone(estimator)
    if "delta" in inner.get_params(deep=False):
        changes["delta"] = rest.delta
    inner.set_params(epsilon=rest.epsilon, ledger=None, **changes)
    inner._inner = inner._shared = True
    return inner


def _columns(estimator: Any, n_features: int | None, size: int | None) -> LearnedColumns:
    """Return what has to be learned, and what that costs."""
    ranges: dict[str, UnknownRange] = {}
    categories: list[str] = []
    schema = estimator.schema
    if Bounds.of(estimator.bounds).private:
        asked = UnknownRange(secret=getattr(estimator, "missing", "blank") == "blank")
        ranges = {_FEATURE.format(j): asked for j in range(n_features or 1)}
    for name, column in schema.private.items() if schema is not None else ():
        if isinstance(column, Range):
            rule = column.rule(schema.missing)
            ranges[name] = UnknownRange(
                low=None if column.low == PRIVATE else float(column.low),
                high=None if column.high == PRIVATE else float(column.high),
                unit=column.unit or 1.0,
                # privacy: missing cells count for nothing, so the number of values is secret.
                secret=rule in RULES and rule != "refuse",
            )
        elif name == getattr(estimator, "target", None):
            raise Incompatible(
                f"The classes of the target {name!r} are private, and a plan needs them. Declare "
                "them.",
                parameter="schema",
            )
        else:
            categories.append(name)
    return LearnedColumns(
        budget=_budgets(estimator)[0],
        neighbours=estimator.neighbours,
        rows=size,
        ranges=ranges,
        categories=tuple(categories),
    )


def stand_in(estimator: Any) -> Any:
    """Return the estimator with declared columns in place of those to be learned."""
    bounds = Bounds.of(estimator.bounds)
    schema = None if estimator.schema is None else estimator.schema.stand_in()
    if bounds.private:
        bounds = replace(bounds, features=(-1.0, 1.0))
    return _with_rest(estimator, schema=schema, bounds=bounds)


@dataclass(frozen=True)
class LearnedFirst(Printed):
    """The plan of a fit that learns ranges and categories first.

    Parameters
    ----------
    columns
        What is learned first.
    fit
        The plan of the fit, with stand-ins for what is to be learned; None if it
        has none.
    guarantee
        Of the whole.
    known
        Whether the fit will be the planned one whatever is learned.
    """

    columns: LearnedColumns
    fit: Plan | None
    guarantee: Guarantee
    known: bool = False

    @classmethod
    def plan(cls, estimator: Any, n_features: int | None, n_rows: int | None) -> LearnedFirst:
        """Price a fit with no data."""
        declared = getattr(estimator, "n_rows", None) or n_rows
        size = declared if estimator.neighbours == "add-remove" else n_rows
        columns, inner = _columns(estimator, n_features, size), stand_in(estimator)
        if not hasattr(inner, "plan"):
            return cls(columns, None, _guarantee_together(estimator, columns, None))
        planned = inner.plan(n_features, n_rows)
        if planned.guarantee.unit != "row":
            raise Incompatible(_GROUPS, parameter="schema")
        # How many features or classes there are may depend on the rows, and so may the plan.
        known = not columns.categories and LABELS_PUBLIC not in planned.guarantee.assumptions
        guarantee = _guarantee_together(estimator, columns, planned.guarantee, known=known)
        return cls(columns, planned, guarantee, known)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan of the fit, and of what is learned first."""
        return self._with_columns({} if self.fit is None else self.fit.facts())

    def _with_columns(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        learned = self.columns
        said = (
            f"{len(learned.ranges)} ranges and {len(learned.categories)} lists of categories, each "
            f"end or list with epsilon {learned.each:.4g}"
        )
        return {**facts, "learned first": said}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in self.__dataclass_fields__:
            raise AttributeError(name)
        return getattr(self.fit, name)

    def shown(self) -> dict[str, Any]:
        """Return the public numbers that are printed."""
        found: Any = self.fit
        return self._with_columns({} if found is None else getattr(found, "shown", found.facts)())

    def run(self, source: Any, random: Any) -> Any:
        """Refuse: the columns are learned from a table, by the estimator."""
        raise Incompatible("This plan learns columns first. Fit the estimator with the table.")


def _guarantee_together(
    estimator: Any, columns: LearnedColumns, fit: Guarantee | None, *, known: bool = False
) -> Guarantee:
    """Return the guarantee of learning columns and of the fit together."""
    first, rest = _budgets(estimator)
    point: Event = Approximate(*vars(rest).values()) if rest.delta else Pure(rest.epsilon)
    event: Event = Composed((*columns.events, fit.event if known and fit is not None else point))
    claim = estimator.epsilon, getattr(estimator, "delta", 0.0)
    if not event.delta(claim[0] * (1 + 1e-12)) <= claim[1]:
        # privacy: what the curves together do not show holds by adding up the two points.
        learned = Approximate(first.epsilon, first.delta)
        event = Composed((learned, point))
    assumed = (*ALWAYS_ASSUMED, *(() if fit is None else fit.assumptions))
    named = () if fit is None else (fit.theorem,)
    return Guarantee(
        epsilon=claim[0],
        delta=claim[1],
        neighbours=estimator.neighbours,
        event=event,
        theorem=theorems("composition/fixed", columns.theorem, *named),
        assumptions=tuple(dict.fromkeys(assumed)),
    )


def fit_learned(estimator: Any, fit: Any, X: Any, y: Any = None, groups: Any = None) -> Any:
    """Learn what is not declared, then fit; one reservation, one guarantee.

    Parameters
    ----------
    estimator
        Whose fit it is.
    fit
        What fits an estimator with declared columns.
    X, y, groups
        As they were passed.
    """
    # privacy: weights of one fit must never stand beside the guarantee of another.
    estimator._forget()
    schema = estimator.schema
    by_schema = schema is not None and schema.group is not None
    if groups is not None or by_schema or getattr(estimator, "rows_per_group", None) is not None:
        raise Incompatible(_GROUPS, parameter="groups")
    if tables_of(X) is not None:
        raise Incompatible(
            "Ranges and categories are learned from a table in memory, and these rows are read "
            "part by part. Declare the columns.",
            parameter="schema",
        )
    if isinstance(X, Encoded):
        raise Incompatible(
            "These rows are encoded already, and something about their columns is to be learned. "
            "Pass the table itself."
        )
    if estimator.schema is not None and Bounds.of(estimator.bounds).private:
        raise Incompatible(
            "bounds.features is private and there is a schema, which declares ranges of its own "
            'columns. Write range = "private" there instead.',
            parameter="bounds",
        )
    # What is wrong with rows or labels is said before anything is spent.
    checked = stand_in(estimator)
    labelled = hasattr(checked, "_validated")
    if labelled:
        rows = checked._validated(X, y)[0]
    elif estimator.schema is not None:
        rows = checked._read_table(X, reset=True)[0]
    else:
        rows = read_rows(checked, X, dtype=np.float64, ensure_all_finite="allow-nan")
    if hasattr(rows, "toarray"):
        raise Incompatible(
            "Ranges of sparse columns cannot be learned: they have to hold 0. Declare them, or "
            "pass dense rows.",
            parameter="bounds",
        )
    width = rows.shape[1] if estimator.schema is None else None
    # privacy: under add-remove the number of rows is secret, and no plan may know it.
    size = None if estimator.neighbours == "add-remove" else rows.shape[0]
    plan = LearnedFirst.plan(estimator, width, size)
    random = as_randomness(estimator.random_state)
    claim = with_randomness(plan.guarantee, random)
    with charged(estimator, estimator.ledger, claim, "learned columns, then a fit"):
        changes = _learned(estimator, plan.columns, X, y, rows, random)
        inner = _with_rest(estimator, **changes)
        inner.random_state = random
        fit(inner, X, y) if labelled else fit(inner, X)
    # privacy: what was claimed beforehand is about this event.
    if plan.known and plan.fit is not None and inner.guarantee_.event != plan.fit.guarantee.event:
        raise NotCertified("The fit was not the one that was planned; nothing is released.")
    for name, value in vars(inner).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(estimator, name, value)
    if estimator.schema is not None:
        estimator.schema_ = changes["schema"]
    both = theorems(claim.theorem, inner.guarantee_.theorem)
    assumed = dict.fromkeys((*claim.assumptions, *inner.guarantee_.assumptions))
    estimator.guarantee_ = replace(claim, theorem=both, assumptions=tuple(assumed))
    return estimator


def _learned(
    estimator: Any, columns: LearnedColumns, X: Any, y: Any, rows: Array, random: Randomness
) -> dict[str, Any]:
    """Return the settings that declare what was learned."""
    schema = estimator.schema
    if schema is None:
        dense = np.asarray(rows, dtype=np.float64)
        found = [columns.range(_FEATURE.format(j), v, random) for j, v in enumerate(dense.T)]
        return {"bounds": replace(Bounds.of(estimator.bounds), features=tuple(found))}
    target = str(getattr(estimator, "target", None))
    beside = [target] if y is not None and target in schema.private else []
    cells = read_columns(X, [name for name in schema.private if name not in beside])
    cells |= {name: cells_of(y) for name in beside}
    known: dict[str, Any] = {}
    for name, column in schema.private.items():
        if isinstance(column, Range):
            values = column._filled(cells[name], column.rule(schema.missing))
            known[name] = column.with_range(*columns.range(name, values, random))
        elif isinstance(column, Categories):
            known[name] = column.of(columns.named(name, map(text, cells[name]), random))
    return {"schema": schema.with_columns(known)}
