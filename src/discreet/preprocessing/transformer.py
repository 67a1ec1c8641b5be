"""Plan, charge, fit: what private transformers share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Event, Guarantee
from discreet.bounds import Array, Neighbours
from discreet.checks import row_count, weight_count
from discreet.errors import InvalidParameter, MissingBound, TooFewRows
from discreet.estimators.shared.base import warn_of_budget
from discreet.estimators.shared.charging import warn_caller
from discreet.estimators.shared.claims import ALWAYS_ASSUMED
from discreet.estimators.shared.fitting import Seedless
from discreet.estimators.shared.parameters import LEDGER, RANDOM
from discreet.estimators.shared.reading import read_rows
from discreet.estimators.shared.tabular import allows_blank
from discreet.ledger import Ledger
from discreet.noise import Randomness, as_randomness
from discreet.problem import Printed, with_randomness

PARAMETERS = f"""
    neighbours
        ``"zero-out"``, ``"replace-one"`` or ``"add-remove"``.
    n_rows
        Declared size of the data; used under ``add-remove`` only.{RANDOM}{LEDGER}"""


@dataclass(frozen=True)
class TransformerPlan(Printed):
    """A fit of a transformer that is priced with no data.

    Parameters
    ----------
    numbers
        Public numbers of the fit.
    guarantee
        What it guarantees.
    mechanism
        What will be run.
    """

    numbers: Mapping[str, Any]
    guarantee: Guarantee
    mechanism: Any

    def facts(self) -> Mapping[str, Any]:
        """Public numbers of the plan."""
        return self.numbers


class Learned:
    """What a fit leaves behind."""

    guarantee_: Guarantee
    n_features_in_: int
    feature_names_in_: Any


class PrivateTransformer(Learned, TransformerMixin, Seedless):  # type: ignore[misc]
    """Common ground of transformers with a guarantee; not used directly."""

    epsilon: float = 1.0
    neighbours: Neighbours = "zero-out"
    n_rows: int | None = None
    random_state: Any = None
    ledger: Ledger | None = None

    _algorithm: ClassVar[str]

    def plan(self, n_features: int | None = None, n_rows: int | None = None) -> TransformerPlan:
        """Price a fit with no data.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. Under ``add-remove`` neighbours the size is that of
            the transformer.
        """
        return self._plan(weight_count("n_features", n_features), n_rows)

    def _plan(self, count: int, n_rows: int | None) -> TransformerPlan:
        """Return the plan for so many columns."""
        raise NotImplementedError

    def _budget(self) -> Budget:
        return Budget(self.epsilon, getattr(self, "delta", 0.0))

    def _size(self, n_rows: int | None) -> int | None:
        """Return the public size of the data, if there is one."""
        size = self.n_rows if self.neighbours == "add-remove" else n_rows
        size = None if size is None else row_count("n_rows", size)
        warn_of_budget(type(self).__name__, self._budget(), size)
        return size

    def _known_size(self, n_rows: int | None) -> int:
        size = self._size(n_rows)
        if size is None:
            raise MissingBound(
                f"n_rows is not set. {type(self).__name__} needs a public size of the data; under "
                "add-remove neighbours declare one with n_rows=...",
                parameter="n_rows",
            )
        return size

    def _few(self, what: str) -> None:
        warn_caller(
            f"{type(self).__name__}: with so few rows at this epsilon {what}. Use a larger "
            "epsilon, fewer columns, or declare what you know.",
            TooFewRows,
        )

    def _claim(self, event: Event, theorem: str) -> Guarantee:
        budget = self._budget()
        return Guarantee(
            epsilon=budget.epsilon,
            delta=budget.delta,
            neighbours=self.neighbours,
            event=event,
            theorem=theorem,
            assumptions=ALWAYS_ASSUMED,
        )

    def _random(self, guarantee: Guarantee) -> tuple[Randomness, Guarantee]:
        random = as_randomness(self.random_state)
        return random, with_randomness(guarantee, random)

    def _numbers(self, X: Any, *, reset: bool) -> Array:
        """Return rows of numbers; NaN where one may be missing."""
        if not reset:
            check_is_fitted(self)
        blank = allows_blank(getattr(self, "missing", "refuse"))
        finite: Any = "allow-nan" if blank else True
        rows: Array = read_rows(self, X, dtype=np.float64, ensure_all_finite=finite, reset=reset)
        return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self, "missing", "refuse") == "blank"
        tags.non_deterministic = self.random_state is None
        return tags


def per_column(name: str, value: Any, columns: int, names: Any = None) -> list[Any]:
    """Return one value per column: one for all, a list in their order, or a mapping by name.

    >>> per_column("unit", 2.0, 2), per_column("low", [None, 0], 2)
    ([2.0, 2.0], [None, 0])
    >>> per_column("low", {"age": 0}, 2, ["age", "size"])
    [0, None]
    """
    if isinstance(value, Mapping):
        held = [] if names is None else list(names)
        unknown = [key for key in value if key not in held]
        if unknown:
            raise InvalidParameter(
                f"{name} names columns that X does not have: {unknown}. Pass a data frame with "
                "these columns, or values in the order of the columns.",
                parameter=name,
            )
        return [value.get(column) for column in held]
    if value is None or np.ndim(value) == 0:
        return [value] * columns
    if len(value) != columns:
        raise InvalidParameter(
            f"{name} holds {len(value)} values, and there are {columns} columns.", parameter=name
        )
    return list(value)
