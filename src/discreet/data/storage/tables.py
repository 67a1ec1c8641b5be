"""Tables that are not in memory: files and data sets of Arrow, and collections of Dask.

They are read part by part, in a fixed order, as often as a fit asks for them. Names and
types of columns and, unless it is secret, the number of rows are public facts; nothing
else is known before rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InvalidData

PART = 65_536
"""Rows that are asked for at a time."""

_NUMBERS = ("float", "double", "half", "int", "uint", "bool")
_SHORT = ("float", "float32", "halffloat", "float16", "int8", "int16", "uint8", "uint16", "bool")


@dataclass(frozen=True)
class Tables:
    """Tables that follow each other, to be read again and again.

    Parameters
    ----------
    read
        Yields tables with the columns of these names.
    types
        Names and types of all columns.
    count
        Counts the rows.
    named
        Whether names are the user's; columns of arrays have none.
    parts
        Returns the same tables as tasks for the workers of a cluster, if they can be had so.
    lengths
        Counts the rows of each.

    Examples
    --------
    >>> tables = Tables(lambda names: iter([{"age": np.array([41.0])}]), {"age": "double"},
    ...                 lambda: 1)
    >>> tables.numeric(["age"]), tables.short(["age"])
    (True, False)
    """

    read: Callable[[Sequence[str]], Iterator[Any]]
    types: dict[str, str]
    count: Callable[[], int]
    named: bool = True
    parts: Callable[[Sequence[str]], list[Any]] | None = None
    lengths: Callable[[], list[int]] | None = None

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that no column, or more than one, has."""
        for name in names:
            if name not in self.types:
                raise InvalidData(f"The table has no column {name!r}. Name one that it has.")

    def numeric(self, names: Sequence[str]) -> bool:
        """Return whether these columns hold numbers."""
        return all(self.types[name].startswith(_NUMBERS) for name in names)

    def short(self, names: Sequence[str]) -> bool:
        """Return whether all numbers of these columns fit into float32."""
        return all(self.types[name] in _SHORT for name in names)


def tables_of(X: Any, y: Any = None) -> Tables | None:
    """Return the tables of what is not in memory; None for anything else.

    Parameters
    ----------
    X
        A path of a Parquet or Arrow file or of a folder of them, a list of such paths, a
        data set of pyarrow, a function that opens an Arrow stream of the same rows in the same
        order anew, or a frame or an array of Dask.
    y
        Labels beside a collection of Dask, as another one.

    Examples
    --------
    >>> tables_of([[1.0], [2.0]]) is None
    True
    """
    paths = [X] if isinstance(X, str | Path) else X
    if isinstance(paths, list) and paths and all(isinstance(p, str | Path) for p in paths):
        return _of_dataset(_opened([Path(p) for p in paths]))
    kind = type(X)
    room = kind.__module__.split(".")[0]
    if room == "pyarrow" and hasattr(kind, "count_rows"):
        return _of_dataset(X)
    if room == "pyarrow" and kind.__name__ == "RecordBatchReader":
        raise InvalidData(
            "X is an Arrow stream, which can be read once. Pass a function that opens it anew, or "
            "write it to a file."
        )
    if hasattr(kind, "__dask_graph__") and X.__dask_graph__() is not None:
        if hasattr(kind, "chunks") and room == "dask":
            return _of_dask_array(X, y)
        if hasattr(kind, "map_partitions") and hasattr(kind, "columns"):
            return _of_dask_frame(X, y)
    if callable(X) and not isinstance(X, type) and not hasattr(X, "shape"):
        return _of_stream(X)
    return None


def arrow_library() -> Any:
    """Return pyarrow, or say how to get it."""
    try:
        import pyarrow.dataset
        import pyarrow.ipc
        import pyarrow.parquet

        return pyarrow
    except ImportError:
        raise DiscreetError(
            "Parquet and Arrow files need pyarrow. Install it with: pip install 'pyarrow>=17'"
        ) from None


def _opened(paths: list[Path]) -> Any:
    arrow = arrow_library()
    for path in paths:
        if not path.exists():
            raise InvalidData(f"{path} does not exist.")
    ipc = {".arrow", ".feather", ".ipc"}
    kind = "ipc" if all(path.suffix.lower() in ipc for path in paths) else "parquet"
    named = [str(path) for path in paths]
    try:
        return arrow.dataset.dataset(named[0] if len(named) == 1 else named, format=kind)
    except (arrow.ArrowException, OSError):
        # privacy: the original message may quote what it stopped at.
        raise InvalidData(
            f"{paths[0]} cannot be read as {kind}. Pass files of Parquet or Arrow, or a folder of "
            "Parquet files."
        ) from None


def _quiet(read: Callable[[Sequence[str]], Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return what reads the same tables, and does not tell at which cell it failed."""

    def told(columns: Sequence[str]) -> Iterator[Any]:
        try:
            yield from read(columns)
        except (DiscreetError, MemoryError):
            raise
        except Exception:
            raise unread() from None

    return told


def unread() -> InvalidData:
    """Return what is said of a table at which another library stopped."""
    # privacy: the original message may quote what it stopped at.
    return InvalidData("The table cannot be read to its end. Read it without a fit to see why.")


def _of_dataset(dataset: Any) -> Tables:
    names = dataset.schema.names
    if len(set(names)) < len(names):
        raise InvalidData("The table has several columns of one name. Rename or drop them.")

    def read(columns: Sequence[str]) -> Iterator[Any]:
        # Little is read ahead, so that memory does not grow with the file.
        return dataset.to_batches(  # type: ignore[no-any-return]
            columns=list(columns), batch_size=PART, batch_readahead=4, fragment_readahead=1
        )

    types = {field.name: str(field.type) for field in dataset.schema}
    return Tables(_quiet(read), types, dataset.count_rows)


def _of_stream(opened: Callable[[], Any]) -> Tables:
    def read(columns: Sequence[str]) -> Iterator[Any]:
        for batch in opened():
            yield batch.select(list(columns))

    reader = opened()
    schema = getattr(reader, "schema", None)
    if schema is None:
        raise InvalidData(
            "X is a function that does not return an Arrow stream. Return a RecordBatchReader."
        )
    types = {field.name: str(field.type) for field in schema}
    return Tables(_quiet(read), types, lambda: sum(batch.num_rows for batch in opened()))


def _of_dask_frame(frame: Any, y: Any) -> Tables:
    label = getattr(y, "name", None) if _is_dask(y) else None
    whole = frame if label is None else frame.assign(**{str(label): y})

    def read(columns: Sequence[str]) -> Iterator[Any]:
        wanted = whole[list(columns)]
        for k in range(wanted.npartitions):
            yield wanted.partitions[k].compute()

    def lengths() -> list[int]:
        try:
            return [int(n) for n in frame.map_partitions(len).compute()]
        except Exception:
            raise unread() from None

    types = {str(name): str(kind) for name, kind in whole.dtypes.items()}
    return Tables(
        _quiet(read),
        types,
        lambda: sum(lengths()),
        parts=lambda columns: whole[list(columns)].to_delayed(),
        lengths=lengths,
    )


def _of_dask_array(X: Any, y: Any) -> Tables:
    if X.ndim != 2:
        raise InvalidData("X must have two dimensions, rows and features.")
    X = X.rechunk({1: -1})
    if y is not None:
        if not _is_dask(y):
            raise InvalidData("X is an array of Dask, so y must be one too. Pass da.from_array(y).")
        y = y.rechunk((X.chunks[0],))
    names = [f"x{j}" for j in range(X.shape[1])]

    def read(columns: Sequence[str]) -> Iterator[Any]:
        for k in range(len(X.chunks[0])):
            label = None if y is None else y.blocks[k].compute()
            yield _columns(X.blocks[k].compute(), label, names, list(columns))

    def parts(columns: Sequence[str]) -> list[Any]:
        from dask.delayed import delayed  # there is one, or there were no array of its

        labels = [None] * len(X.chunks[0]) if y is None else y.to_delayed().ravel()
        both = zip(X.to_delayed().ravel(), labels, strict=True)
        return [delayed(_columns)(part, label, names, list(columns)) for part, label in both]

    types = dict.fromkeys(names, str(X.dtype)) | ({} if y is None else {"y": str(y.dtype)})
    return Tables(
        _quiet(read),
        types,
        lambda: int(X.shape[0]),
        named=False,
        parts=parts,
        lengths=lambda: [int(n) for n in X.chunks[0]],
    )


def _columns(X: Any, y: Any, names: list[str], columns: list[str]) -> dict[str, Any]:
    """Return columns of a chunk by name."""
    held = dict(zip(names, X.T, strict=True)) | {"y": y}
    return {name: held[name] for name in columns}


def _is_dask(data: Any) -> bool:
    return hasattr(type(data), "__dask_graph__") and data.__dask_graph__() is not None
