"""CSV files, read in blocks: only declared columns, each row by itself.

Python's own reader is used because it guesses no types: how a cell is read
must not depend on the cells of other rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from discreet.cli.schema import Column, Schema
from discreet.errors import InvalidData
from discreet.types import Array

_CELLS = 2_000_000
"""Cells in a block: bounds the memory taken by text."""


class Block(NamedTuple):
    """Encoded rows, labels if they were asked for, and which rows could be read in full."""

    X: Array
    y: Any
    good: Any


def read_blocks(path: Path, schema: Schema, target: str, *, labelled: bool) -> Iterator[Block]:
    """Yield the encoded rows of a CSV file, block by block.

    Parameters
    ----------
    path
        CSV file with a header line, in UTF-8.
    schema
        Declared columns; all others are ignored.
    target
        Name of the label column.
    labelled
        Whether the label column is read.
    """
    features, label = schema.features(target), schema.column(target)
    wanted: list[Column] = [*features, label] if labelled else [*features]
    for columns in _text_blocks(path, [c.name for c in wanted]):
        cells = dict(zip((c.name for c in wanted), columns, strict=True))
        parts = [c.encode(cells[c.name]) for c in features]
        for column, part in zip(features, parts, strict=True):
            _refuse(schema, column, ~np.isnan(part[:, 0]))
        X = np.hstack(parts)
        good, y = ~np.isnan(X).any(axis=1), None
        if labelled:
            y, usable = label.labels(cells[label.name])
            _refuse(schema, label, usable)
            good &= usable
        yield Block(X, y, good)


def _refuse(schema: Schema, column: Column, usable: Any) -> None:
    if schema.missing == "refuse" and not usable.all():
        what = "a finite number" if hasattr(column, "range") else "a declared category"
        raise InvalidData(
            f"Column {column.name!r} has a cell that is missing or not {what}. Correct the file "
            "or the schema, or set missing = \"blank\" in the schema: then a row with such a "
            "cell counts for nothing."
        )  # fmt: skip


def _text_blocks(path: Path, names: Sequence[str]) -> Iterator[list[tuple[str | None, ...]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _columns(file, path, names)
    except (csv.Error, UnicodeDecodeError):
        # privacy: the original message may quote the line it stopped at
        raise InvalidData(
            f"{path} cannot be read as comma-separated text in UTF-8. Save it in that form."
        ) from None


def _columns(
    file: TextIO, path: Path, names: Sequence[str]
) -> Iterator[list[tuple[str | None, ...]]]:
    reader = csv.reader(file, strict=True)
    header = [name.strip() for name in next(reader, [])]
    for name in names:
        if header.count(name) != 1:
            many = "more than one column" if name in header else "no column"
            # privacy: a file without a header would put a row where the names should be,
            # so the names found are not shown
            raise InvalidData(
                f"{path} has {many} {name!r}, which the schema declares. The first line of the "
                "file must name its columns."
            )
    places, width = [header.index(name) for name in names], len(header)
    unreadable = (None,) * len(names)
    rows = (
        tuple(row[j] for j in places) if len(row) == width else unreadable
        for row in reader
        if row  # an empty line is no row
    )
    while block := list(islice(rows, max(1, _CELLS // len(names)))):
        yield list(zip(*block, strict=True))
