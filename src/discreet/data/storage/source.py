"""Where rows come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from discreet.data.blocks import block_rows, slices
from discreet.data.storage.identifiers import group_codes
from discreet.data.storage.sparse_format import well_formed
from discreet.errors import InvalidData


class RawBlock(NamedTuple):
    """Consecutive rows as the user gave them: nothing in here is bounded."""

    X: Any
    y: Any | None
    weight: Any | None


@runtime_checkable
class Source(Protocol):
    """Rows that can be read block by block, in a fixed order."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether blocks hold sparse matrices."""
        ...

    def blocks(self) -> Iterator[RawBlock]:
        """Yield the rows, each exactly once."""
        ...


class ArraySource:
    """Rows of arrays in memory, dense or sparse, used without a copy.

    A row that is not finite, or whose label is not among the declared classes,
    becomes a blank row that counts for nothing, and no message says so: an error
    would be an answer about the data. Estimators refuse such rows before.

    Parameters
    ----------
    X
        Numbers of shape ``(n, p)``: a numpy array or a scipy sparse matrix.
    y
        Labels: numbers, class labels or, for a loss of vectors, shape ``(n, K)``.
    weight
        Weight of every row.
    groups
        Whom every row belongs to, for plans that protect groups of rows.

    Examples
    --------
    >>> source = ArraySource([[1, 2], [3, 4], [5, 6]], ["a", "b", "a"])
    >>> source.n_rows, source.n_features
    (3, 2)
    """

    def __init__(
        self,
        X: Any,
        y: Any | None = None,
        weight: Any | None = None,
        groups: Any | None = None,
    ) -> None:
        self._X = sp.csr_array(well_formed(X)) if sp.issparse(X) else np.asarray(X)
        if self._X.ndim != 2:
            raise InvalidData("X must have two dimensions, rows and features.")
        if self._X.dtype.kind not in "fiub":
            try:
                if self._X.dtype.kind == "c":
                    raise TypeError
                self._X = self._X.astype(np.float64)
            except (TypeError, ValueError):
                # privacy: the original message would quote the value that failed.
                raise InvalidData("X must hold real numbers only; encode other columns.") from None
        self._y = None if y is None else np.asarray(y)
        self._weight = None if weight is None else np.asarray(weight)
        for name, values in (("y", self._y), ("weight", self._weight)):
            if values is not None and (values.ndim == 0 or len(values) != self.n_rows):
                raise InvalidData(f"{name} must have one entry per row of X.")
        self.groups = None if groups is None else group_codes(groups, self.n_rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._X.shape[1])

    @property
    def array(self) -> Any:
        """The rows as they were given."""
        return self._X

    @property
    def dtype(self) -> Any:
        """Type of the numbers; like the number of features it counts as public."""
        return self._X.dtype

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sp.issparse(self._X))

    def blocks(self) -> Iterator[RawBlock]:
        """Yield consecutive rows, each exactly once."""
        size = block_rows(self.n_features)
        if self.sparse:
            # A wide sparse row is mostly zeros, and every block costs scipy some milliseconds.
            size = max(size, 2048)
        elif self._X.strides[0] < self._X.strides[1]:
            # A part of a table, column after column, is one block.
            size = 4 * size
        for s in slices(self.n_rows, size):
            yield RawBlock(
                self._X[s],
                None if self._y is None else self._y[s],
                None if self._weight is None else self._weight[s],
            )


def numbered(source: Source) -> Iterator[tuple[int, RawBlock]]:
    """Yield every block with the position of its first row.

    >>> [start for start, _ in numbered(ArraySource(np.ones((5000, 100))))]
    [0, 4096]
    """
    start = 0
    for raw in source.blocks():
        # privacy: rows beyond or short of what was announced would leave memory that no bound
        # holds for. Their number may be secret, so it is not told.
        if start + raw.X.shape[0] > source.n_rows:
            break
        # privacy: compiled code would read and write beside a row of another width.
        if raw.X.shape[1:] != (source.n_features,):
            raise InvalidData("The source yields rows of another width than it says.")
        yield start, raw
        start += raw.X.shape[0]
    else:
        if start == source.n_rows:
            return
    raise InvalidData("The source does not have as many rows as it says. Count what it yields.")
