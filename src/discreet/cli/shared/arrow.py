"""Parquet and Arrow files, read in batches of the declared columns and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.data.storage import arrow_library
from discreet.errors import InvalidData

_ROWS = 65_536
"""Rows in a batch."""


@contextmanager
def _file(file: Any, path: Path, *, parquet: bool) -> Iterator[Any]:
    arrow = arrow_library()
    if not file.seekable():
        raise InvalidData(f"{path}: Parquet and Arrow are read from files, not from a stream.")
    try:
        yield arrow.parquet.ParquetFile(file) if parquet else arrow.ipc.open_file(file)
    except arrow.ArrowException:
        # privacy: the original message may quote what it stopped at
        kind = "Parquet" if parquet else "Arrow"
        raise InvalidData(f"{path} cannot be read as {kind}. Write it again.") from None


def arrow_tables(file: Any, path: Path, names: list[str], *, parquet: bool) -> Iterator[Any]:
    """Yield the declared columns of a file, batch by batch.

    Parameters
    ----------
    file, path
        The open file, and its name for messages.
    names
        Declared columns.
    parquet
        Whether the file is Parquet; if not, it is Arrow.
    """
    with _file(file, path, parquet=parquet) as opened:
        found = (opened.schema_arrow if parquet else opened.schema).names
        for name in names:
            if found.count(name) != 1:
                many = "more than one column" if name in found else "no column"
                raise InvalidData(f"{path} has {many} {name!r}, which the schema declares.")
        if parquet:
            yield from opened.iter_batches(batch_size=_ROWS, columns=names)
        else:
            for k in range(opened.num_record_batches):
                yield opened.get_batch(k).select(names)


def arrow_types(file: Any, path: Path, *, parquet: bool) -> dict[str, str]:
    """Return names and types of the columns of a file.

    Parameters
    ----------
    file, path, parquet
        As for :func:`arrow_tables`.
    """
    with _file(file, path, parquet=parquet) as opened:
        schema = opened.schema_arrow if parquet else opened.schema
        return {field.name: str(field.type) for field in schema}
