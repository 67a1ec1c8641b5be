"""Private medians and quantiles, drawn exactly.

The exponential mechanism with ranks, or with the pinball loss, of one column is
a piecewise exponential law, drawn in closed form: pure epsilon, no noise added,
one sort.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from discreet.accounting import BoundedRange, Budget, Composed, Guarantee
from discreet.accounting.theorems import theorems
from discreet.algorithms.sampling.laws import (
    MOST_ROWS,
    asked_ranks,
    draw_quantile,
    draw_ranks,
    secret_size,
)
from discreet.bounds import NEIGHBOURS, Array, Bounds, Interval, Neighbours
from discreet.checks import between, one_of
from discreet.data import Grouping, Source
from discreet.data.storage import group_codes
from discreet.errors import Incompatible, InvalidParameter
from discreet.estimators.shared.base import (
    DEFAULT_LABEL,
    UndeclaredBounds,
    warn_of_budget,
)
from discreet.estimators.shared.charging import charged, warn_caller
from discreet.estimators.shared.claims import SCHEMA_PUBLIC
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.grouped import Grouped
from discreet.estimators.shared.parameters import LEDGER
from discreet.estimators.shared.reading import read_rows
from discreet.estimators.shared.streamed import Streamed, source_of, streamed
from discreet.ledger import Ledger
from discreet.noise import Randomness, as_randomness
from discreet.problem import ASSUMED

LARGE = 2**20
"""Values from which on only those near the quantile are kept."""


class FittedQuantiles:
    """What a fit leaves behind."""

    quantiles_: Array
    guarantee_: Guarantee
    algorithm_: str
    n_features_in_: int


class Quantiles(FittedQuantiles, Grouped):
    """Quantiles of every column; not used directly."""

    epsilon: float = 1.0
    bounds: Bounds | dict[str, Any] | None = None
    neighbours: Neighbours = "zero-out"
    by: str = "ranks"
    rows_per_group: int | None = None
    group_rule: str = "sample"
    random_state: Any = None
    ledger: Ledger | None = None

    _arrays: ClassVar[tuple[str, ...]] = ("quantiles_", "feature_names_in_")

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Draw the quantiles of the columns of ``X``; ``y`` is ignored.

        ``groups`` says whom every row belongs to, if ``rows_per_group`` is set.
        """
        groups, grouping = self._identified(X, groups), self._grouping()
        many = None if grouping is None else grouping.rows
        X = self._gathered(X)
        codes = None if groups is None else self._codes(X, groups)
        quantiles = self._asked()
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        by = one_of("by", self.by, ("ranks", "pinball"))
        ranges = self._ranges(X.shape[1])
        budget = Budget(self.epsilon)
        warn_of_budget(type(self).__name__, budget)
        draws = len(quantiles) * X.shape[1]
        share = budget.epsilon / draws
        random = as_randomness(self.random_state)
        events = (BoundedRange(share),) * draws
        claim = Guarantee(
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=self.neighbours,
            event=events[0] if len(events) == 1 else Composed(events),
            theorem="quantiles" if many is None else theorems("quantiles", "lemmas/groups"),
            assumptions=(*ASSUMED, SCHEMA_PUBLIC),
            secure=random.secure,
            unit="row" if many is None else "group",
        )
        with charged(self, self.ledger, claim, "exponential-sampling"):
            if grouping is not None and codes is not None:
                # privacy: rows that were not drawn count for nothing, and stay in their places.
                X = np.where((grouping.shares(codes, random) > 0.0)[:, None], X, np.nan)
            if isinstance(X, Streamed) and (X.shape[0] <= LARGE or by != "ranks"):
                X = np.concatenate([block.X for block in X.source().blocks()], dtype=np.float64)
            if isinstance(X, Streamed) or (X.shape[0] > LARGE and by == "ranks"):
                drawn = self._drawn(source_of(X, None), quantiles, ranges, share, random, many)
            else:
                drawn = np.array(
                    [
                        [
                            draw_quantile(
                                column, quantile, limits, share, self.neighbours, random, by, many
                            )
                            for column, limits in zip(_blanked(X).T, ranges, strict=True)
                        ]
                        for quantile in quantiles
                    ]
                )
        # A higher quantile is no smaller; to put draws in order never takes them further away.
        drawn[np.argsort(quantiles)] = np.sort(drawn, axis=0)
        self.quantiles_ = drawn if np.ndim(self.quantile) else drawn[0]
        self.algorithm_ = "exponential-sampling"
        self.guarantee_ = claim
        return self

    def _grouping(self) -> Grouping | None:
        found = super()._grouping()
        if found is not None and found.rule != "sample":
            raise Incompatible(
                f"{type(self).__name__} draws which rows of a group count: ranks are of whole "
                "rows. Pass group_rule='sample'.",
                parameter="group_rule",
            )
        return found

    def _codes(self, X: Any, groups: Any) -> Any:
        """Return the numbers of the groups of rows in memory."""
        if isinstance(X, Streamed):
            raise Incompatible(
                f"{type(self).__name__} takes groups of rows in memory only. Pass a table, or "
                "leave rows_per_group out.",
                parameter="rows_per_group",
            )
        return group_codes(groups, X.shape[0])

    def _gathered(self, X: Any) -> Any:
        """Return the rows of a fit, in memory or not."""
        named = self._given_bounds().names
        found = streamed(X, None, schema=self.schema, target=None, named=named, blank=True)
        if found is None and self.schema is not None:
            return self._read_table(X, reset=True)[0]
        if found is None:
            return read_rows(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self._forget()
        self.n_features_in_ = found.shape[1]
        if found.tables.named:
            self.feature_names_in_ = np.array(found.names, dtype=object)
        return found

    def _drawn(
        self,
        source: Source,
        quantiles: Sequence[float],
        ranges: Sequence[Interval],
        epsilon: float,
        random: Randomness,
        per_unit: int | None,
    ) -> Array:
        """Return draws from many rows, all quantiles in the same passes."""
        rows = MOST_ROWS if secret_size(self.neighbours, per_unit) else source.n_rows
        asked = [
            asked_ranks(j, quantile, limits, epsilon, self.neighbours, rows, per_unit)
            for quantile in quantiles
            for j, limits in enumerate(ranges)
        ]
        cluster = getattr(source, "cluster", None)
        each = None if cluster is None else lambda work: cluster.each(partial(_read, work))
        points = draw_ranks(lambda: _whole_rows(source), asked, random, each)
        part = np.array([p / (a.size - 1) for p, a in zip(points, asked, strict=True)])
        low, high = np.array(ranges).T
        return np.asarray(low + (high - low) * part.reshape(len(quantiles), len(ranges)))

    def _asked(self) -> list[float]:
        several = np.ndim(self.quantile) > 0
        if several and not len(self.quantile):
            raise InvalidParameter("quantile is an empty list. Name one, or several.")
        return [
            between("quantile", one, 0.0, 1.0)
            for one in (self.quantile if several else [self.quantile])
        ]

    def _ranges(self, n_features: int) -> tuple[Interval, ...]:
        bounds = self._given_bounds().in_order(getattr(self, "feature_names_in_", None))
        if bounds.features is None:
            warn_caller(
                f"{type(self).__name__}: bounds does not declare features (values are clipped to "
                f"{DEFAULT_LABEL}). Declare them from public knowledge, e.g. "
                "bounds=Bounds(features=(0, 120)).",
                UndeclaredBounds,
            )
            bounds = replace(bounds, features=DEFAULT_LABEL)
        self.bounds_ = bounds
        ranges = bounds.ranges(n_features)
        assert ranges is not None
        return ranges

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = self.random_state is None
        return tags

    @property
    def quantile(self) -> Any:
        """Which quantile, or which ones."""
        raise NotImplementedError


def _whole_rows(source: Source) -> Iterator[Array]:
    return (_blanked(raw.X) for raw in source.blocks())


def _read(work: Callable[[Iterator[Array]], Any], source: Source) -> Any:
    return work(_whole_rows(source))


def _blanked(X: Array) -> Array:
    """Return rows, blank as a whole where they hold anything unreadable."""
    # privacy: what cannot be read in one column tells nothing in the others.
    return np.where(np.isfinite(X).all(axis=1, keepdims=True), X, np.nan)


class PrivateQuantile(Quantiles):
    __doc__ = f"""Quantiles of every column, with pure epsilon-privacy.

    Columns and quantiles share the budget equally; let ``e`` be the share of one result.
    By ranks, a result is off by more than ``2 max(q, 1 - q) log(m / b) / e`` ranks with
    probability ``b`` at most, for any data. Here ``m`` is the number of points it is drawn
    from (at most 2**40, fewer for few rows), and values count as the nearest of them. Where
    values lie close together it is off by about ``2 max(q, 1 - q) / e`` ranks. A row with
    a missing value (NaN) in any column counts for nothing in all of them; no message says
    so.

    Parameters
    ----------
    quantile
        Which quantile, between 0 and 1, or a list of several.
    epsilon
        Privacy budget of one fit.
    bounds
        Declared :class:`~discreet.Bounds` with ``features``, or a mapping of
        them. Values are clipped to them; they are never read from the data.
    schema
        Declared :class:`~discreet.Schema` instead: every column of a table
        is encoded, and quantiles are those of the encoded features.
    bounds_share
        Share of the budget for ranges that schema or bounds leave as ``"private"``.
    neighbours
        ``"zero-out"``, ``"replace-one"`` or ``"add-remove"``.
    by
        What a point is scored by: ``"ranks"``, how many it is off, or
        ``"pinball"``, the summed pinball loss. Its expected excess is then at
        most the range times ``max(q, 1 - q)`` over epsilon, whatever the data
        is, but where there are many rows ranks do much better.
    rows_per_group
        What is protected: None for one row; a number for all rows of one group, such as
        a person, of which at most so many count. ``fit`` takes ``groups``.
    group_rule
        ``"sample"``: of a group with more rows, those that count are drawn.
    random_state
        None draws from the operating system. A seed makes the fit repeatable
        and the guarantee says ``secure=False``.{LEDGER}

    Attributes
    ----------
    quantiles_
        One number per column; for several quantiles one such row for each, in their
        order.
    guarantee_
        The privacy guarantee of the release.

    See Also
    --------
    PrivateMedian : one quantile
    PrivateQuantileRegressor : quantiles given features

    References
    ----------
    Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, 2011.
    McSherry, Talwar, *Mechanism design via differential privacy*, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateQuantile
    >>> ages = np.arange(1000).reshape(-1, 1) / 10
    >>> bounds = Bounds(features=(0, 120))
    >>> model = PrivateQuantile(quantile=0.9, bounds=bounds, random_state=0).fit(ages)
    >>> bool(abs(model.quantiles_[0] - 90) < 10), model.guarantee_.delta
    (True, 0.0)
    >>> quartiles = PrivateQuantile(quantile=[0.25, 0.5, 0.75], bounds=bounds).fit(ages)
    >>> quartiles.quantiles_.shape
    (3, 1)
    """

    quantile: float | Sequence[float] = 0.5


class PrivateMedian(Quantiles):
    """The median of every column, with pure epsilon-privacy.

    A row with a missing value (NaN) in any column counts for nothing in all of
    them; no message says so.

    Parameters
    ----------
    epsilon, bounds, schema, bounds_share, neighbours, by, rows_per_group, group_rule, \
random_state, ledger
        As in :class:`PrivateQuantile`.

    Attributes
    ----------
    quantiles_, guarantee_
        As in :class:`PrivateQuantile`.

    See Also
    --------
    PrivateQuantile : several quantiles
    PrivateGeometricMedian : several columns

    References
    ----------
    Smith, *Privacy-preserving statistical estimation with optimal convergence rates*, 2011.
    McSherry, Talwar, *Mechanism design via differential privacy*, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateMedian
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(2000, 1))
    >>> model = PrivateMedian(bounds=Bounds(features=(0, 10)), random_state=0).fit(X)
    >>> bool(abs(model.quantiles_[0] - 5.0) < 0.5)
    True
    """

    @property
    def quantile(self) -> float:
        """One half."""
        return 0.5
