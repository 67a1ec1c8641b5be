"""Columns of tables, whichever library holds them.

pandas, polars, Arrow tables and record batches, structured arrays and plain
mappings of columns are read through the few methods they share, so none of these
libraries is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from discreet.errors import InvalidData


def column_names(table: Any) -> list[str] | None:
    """Return the names of the columns of a table, None for what is none.

    >>> column_names({"age": [41], "job": ["office"]}), column_names([[41.0]])
    (['age', 'job'], None)
    """
    if isinstance(table, Mapping):
        return list(table)
    if isinstance(table, np.ndarray):
        return None if table.dtype.names is None else list(table.dtype.names)
    if hasattr(table, "collect"):  # lazy, and dear to ask
        return None
    for holder in (table, getattr(table, "schema", None)):  # of Arrow: tables, batches
        names = getattr(holder, "column_names", None) or getattr(holder, "names", None)
        if names is not None and hasattr(table, "column"):
            return list(names)
    names = getattr(table, "columns", None)
    return None if names is None or not hasattr(table, "shape") else list(names)


def read_columns(table: Any, names: list[str]) -> dict[str, Any]:
    """Return these columns of a table as arrays or lists of cells.

    Parameters
    ----------
    table
        A data frame, an Arrow table or a mapping of columns.
    names
        The columns that are wanted; all others are not looked at.

    Examples
    --------
    >>> read_columns({"age": [41, None], "id": [7, 8]}, ["age"])
    {'age': [41, None]}
    """
    found = column_names(table)
    if found is None:
        raise InvalidData(
            "A schema names its columns, and this table has no names. Pass a data frame of pandas "
            "or polars, an Arrow table, or a mapping of columns, e.g. {'age': [41, 50]}; make one "
            "of a lazy frame by .collect(), and of a list of records by pandas.DataFrame(...)."
        )
    for name in names:
        if found.count(name) != 1:
            many = "more than one column" if name in found else "no column"
            # privacy: a table read without its header has a row where the names should be, so the
            # names found are not shown
            raise InvalidData(f"The table has {many} {name!r}, which the schema declares.")
    columns = {name: cells_of(_column(table, name)) for name in names}
    if len({len(cells) for cells in columns.values()}) > 1:
        raise InvalidData("The columns of this table differ in length.")
    return columns


def identifiers_of(table: Any, name: str) -> Any:
    """Return the cells of a column of identifiers, whole numbers as they are.

    >>> identifiers_of({"person": [7, None]}, "person")
    [7, None]
    """
    cells, column = read_columns(table, [name])[name], _column(table, name)
    # privacy: beside a missing cell Arrow's whole numbers become floats, and large ones that
    # differ the same: two people would share what one may count for.
    return column.to_pylist() if hasattr(column, "to_pylist") else cells


def _column(table: Any, name: str) -> Any:
    if hasattr(table, "column") and not isinstance(table, Mapping):  # Arrow
        return table.column(name)
    return table[name]


def cells_of(column: Any) -> Any:
    """Return the cells of a column: an array of numbers or moments, or a list of objects.

    >>> cells_of(np.array(["a", "b"]))
    ['a', 'b']
    """
    if isinstance(column, np.ma.MaskedArray):
        return column.ravel().tolist()  # None where a cell is masked
    if isinstance(column, np.ndarray):
        return column.ravel() if column.dtype.kind in "biufmM" else column.ravel().tolist()
    if hasattr(column, "to_pylist"):  # Arrow
        if str(column.type).startswith(
            ("int", "uint", "float", "double")
        ):  # a missing one becomes NaN
            return column.to_numpy(zero_copy_only=False)
        return column.to_pylist()
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind in ("b", "i", "u", "f", "m", "M") and isinstance(column.dtype, np.dtype):
        return column.to_numpy()  # pandas, of a type without missing values or with NaN
    if type(getattr(column, "dtype", None)).__name__ == "PeriodDtype":
        return column.dt.to_timestamp().to_numpy()  # the first moment of each
    if hasattr(column, "to_list"):
        return column.to_list()
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InvalidData(
            "A column of this table is a single cell. Pass lists of cells, also for one row, e.g. "
            "{'age': [41]}."
        )
    return list(column)


def only_column(labels: Any) -> Any:
    """Return the one column of a table of labels; what is no table is returned as it is.

    >>> only_column({"rich": ["no", "yes"]})
    ['no', 'yes']
    """
    names = column_names(labels)
    if names is None:
        return labels
    if len(names) != 1:
        raise InvalidData("y must be one column of labels, and this is a table of several.")
    return _column(labels, names[0])
