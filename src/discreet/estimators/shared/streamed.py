"""Rows of a fit that are not in memory: which columns are read, and how each part is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.data import ArraySource, Source
from discreet.data.missing import missing_labels
from discreet.data.parts_read import StreamSource, column_of, numbers_of
from discreet.data.storage import RawBlock, Tables, tables_of
from discreet.errors import InvalidData
from discreet.estimators.shared.reading import INFINITE, MISSING, UNLIKE
from discreet.schema import Schema

Map = Callable[[Any], Any]


@dataclass(frozen=True)
class Streamed:
    """Rows and labels that are read part by part.

    Parameters
    ----------
    tables
        Where they are.
    features, target
        Columns, as they are named there.
    schema
        How cells are encoded; None if they are numbers.
    blank
        Whether a row that misses a number counts for nothing. If not, it is refused.
    n_rows
        Number of rows.
    scored
        Whether rows are for an evaluation, where one with any other number that cannot be used
        counts for nothing too.
    """

    tables: Tables
    features: tuple[str, ...]
    target: str | None
    schema: Schema | None
    blank: bool
    n_rows: int
    scored: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return self.n_rows, len(self.names)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        if self.schema is None:
            return list(self.features)
        return self.schema.names(self.target)

    @property
    def dtype(self) -> Any:
        """Type of the numbers, by the types of the columns."""
        short = self.tables.short(self.features)
        return np.dtype(np.float32 if short else np.float64)

    def source(self, labels: Map | None = None, weigh: Map | None = None) -> StreamSource:
        """Return the rows, with labels turned into numbers by that map if there is one.

        Parameters
        ----------
        labels
            Takes the labels of a part.
        weigh
            Returns what rows of such labels weigh.
        """
        columns = [*self.features, *([] if self.target is None else [self.target])]
        given = self.features, self.target, self.schema, self.blank, self.dtype, labels, weigh
        read = PartReader(*given, scored=self.scored)
        return StreamSource(
            self.tables, columns, read, self.shape[1], self.dtype, n_rows=self.n_rows
        )


@dataclass(frozen=True)
class PartReader:
    """Turns a part of a table into rows and labels; workers of a cluster get a copy.

    Parameters
    ----------
    features, target, schema, blank, scored
        As for :class:`Streamed`.
    dtype
        Type of the numbers.
    labels, weigh
        As for :meth:`Streamed.source`.
    """

    features: tuple[str, ...]
    target: str | None
    schema: Schema | None
    blank: bool
    dtype: Any
    labels: Map | None
    weigh: Map | None
    scored: bool = False

    def __call__(self, table: Any) -> RawBlock:
        """Return the rows of a table, nothing of them bounded."""
        X, y = self._encoded(table) if self.schema is not None else self._numbers(table)
        y = y if y is None or self.labels is None else self.labels(y)
        return RawBlock(X, y, None if self.weigh is None else self.weigh(y))

    def _encoded(self, table: Any) -> Any:
        assert self.schema is not None
        return self.schema.encode(table, self.target, labelled=self.target is not None)

    def _numbers(self, table: Any) -> tuple[Any, Any]:
        X = numbers_of(table, self.features, self.dtype)
        y = None if self.target is None else column_of(table, self.target)
        if self.scored:
            # privacy: that such a row is there would be an answer about it.
            return X, y
        # Most tables hold numbers only, which one look tells.
        finite = np.isfinite(X).all()
        if not self.blank:
            if not finite and np.isnan(X).any():
                raise InvalidData(MISSING.format("X"))
            if y is not None and missing_labels(y).any():
                raise InvalidData(UNLIKE)
        # As in memory: what is infinite is not missing.
        if not finite and np.isinf(X).any():
            raise InvalidData(INFINITE if self.blank else MISSING.format("X"))
        if y is not None and y.dtype.kind == "f" and np.isinf(y).any():
            raise InvalidData(MISSING.format("y"))
        return X, y


def streamed(
    X: Any,
    y: Any,
    *,
    schema: Schema | None,
    target: str | None,
    named: Any,
    blank: bool,
    scored: bool = False,
) -> Streamed | None:
    """Return the rows and labels of what is not in memory; None for anything else.

    Parameters
    ----------
    X, y
        What a fit was given; ``y`` may be the name of a column.
    schema, target
        What the estimator declares.
    named
        Columns that bounds declare by name, if any.
    blank, scored
        See :class:`Streamed`.
    """
    tables = tables_of(X, y)
    if tables is None:
        return None
    if schema is None:
        # privacy: names and types of columns are public, as those of a data frame are.
        target = _label(tables, y)
        features = list(tables.types if named is None or not tables.named else named)
        features = [name for name in features if name != target]
    else:
        if y is not None:
            raise InvalidData(
                "A schema names the label's column. Pass target=... to the estimator, and no y."
            )
        features = list(schema.features(target))
    tables.check([*features, *([] if target is None else [target])])
    if schema is None and not (features and tables.numeric(features)):
        raise InvalidData(
            "X must hold real numbers only, and the types of its columns are others. Name numeric "
            "columns with bounds=Bounds(features={...}), or declare the columns with schema=..."
        )
    n_rows = tables.count()
    if n_rows == 0:
        raise InvalidData("X has no rows. Pass at least one.")
    return Streamed(tables, tuple(features), target, schema, blank, n_rows, scored)


def _label(tables: Tables, y: Any) -> str | None:
    if y is None:
        return None
    if isinstance(y, str):
        return y
    if not tables.named and "y" in tables.types:
        return "y"
    name = getattr(y, "name", None)
    if name is not None and hasattr(type(y), "__dask_graph__"):
        return str(name)
    raise InvalidData(
        "X is not in memory, so y must be the name of a column of it, or of the same kind as X."
    )


def source_of(X: Any, y: Any, weigh: Map | None = None) -> Source:
    """Return the rows of a fit, wherever they are.

    Parameters
    ----------
    X
        Arrays or :class:`Streamed` rows.
    y
        Labels, or a map that turns labels of a part into numbers.
    weigh
        Returns what rows of such labels weigh; None if all weigh 1.

    Examples
    --------
    >>> source_of(np.ones((2, 1)), np.zeros(2)).n_rows
    2
    """
    if isinstance(X, Streamed):
        return X.source(y, weigh)
    return ArraySource(X, y, None if weigh is None else weigh(y))
