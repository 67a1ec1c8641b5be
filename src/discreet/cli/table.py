"""CSV files, read in blocks: only declared columns, each row by itself.

Python's own reader is used because it guesses no types: how a cell is read
must not depend on the cells of other rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TextIO

import numpy as np

from discreet.bounds import Array
from discreet.cli.schema import Column, Schema
from discreet.errors import InvalidData

_CELLS = 2_000_000
"""Cells in a block: bounds the memory taken by text."""

_PACKED = (b"\x1f\x8b", b"PK\x03\x04")
"""How files of gzip and zip begin, and no line of names does."""


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
        Whether the label column is read, as a fit does. Without it the schema
        is taken to be a model's own, which cannot be changed any more.
    """
    features, label = schema.features(target), schema.column(target)
    wanted: list[Column] = [*features, label] if labelled else [*features]
    strict = schema.missing == "refuse"
    for columns in _text_blocks(path, [c.name for c in wanted]):
        if strict and None in columns[0]:
            _refuse("A row has more or fewer cells than the first line.", fixed=not labelled)
        cells = dict(zip((c.name for c in wanted), columns, strict=True))
        parts = [c.encode(cells[c.name]) for c in features]
        for column, part in zip(features, parts, strict=True):
            if strict and np.isnan(part[:, 0]).any():
                _refuse(_unusable(column), fixed=not labelled)
        X = np.hstack(parts)
        good, y = ~np.isnan(X).any(axis=1), None
        if labelled:
            y, usable = label.labels(cells[label.name])
            if strict and not usable.all():
                _refuse(_unusable(label), fixed=not labelled)
            good &= usable
        yield Block(X, y, good)


def _unusable(column: Column) -> str:
    what = "a finite number" if hasattr(column, "range") else "a declared category"
    return f"Column {column.name!r} has a cell that is missing or not {what}."


def _refuse(fault: str, *, fixed: bool) -> NoReturn:
    if fixed:
        raise InvalidData(
            f'{fault} Correct the file. Only a model that was fitted with missing = "blank" '
            "leaves the prediction of such a row empty."
        )
    raise InvalidData(
        f'{fault} Correct the file or the schema, or set missing = "blank" in the schema: then '
        "such a row counts for nothing."
    )


def _text_blocks(path: Path, names: Sequence[str]) -> Iterator[list[tuple[str | None, ...]]]:
    try:
        with path.open("rb") as raw:
            if raw.peek(4).startswith(_PACKED):  # a look that pipes allow too
                raise InvalidData(
                    f"{path} is compressed, by gzip or zip, and only plain text is read. Unpack it "
                    "first; a workbook such as .xlsx is such a file too: save it as CSV."
                )
            with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
                yield from _columns(file, path, names)
    except UnicodeDecodeError:
        # privacy: the original message quotes the byte it stopped at
        raise InvalidData(
            f"{path} cannot be read as text in UTF-8. Save it as CSV in that encoding."
        ) from None
    except csv.Error:
        # privacy: the original message may quote the line it stopped at
        raise InvalidData(
            f"{path} cannot be read as comma-separated text: perhaps a quotation mark is not "
            "closed or stands inside a cell, or a cell is longer than "
            f"{csv.field_size_limit():,} characters. Correct it and save it as CSV again."
        ) from None


def _columns(
    file: TextIO, path: Path, names: Sequence[str]
) -> Iterator[list[tuple[str | None, ...]]]:
    reader = csv.reader(file, strict=True)
    header = [name.strip() for name in next(reader, [])]
    if not any(header) and next(reader, None) is None:
        raise InvalidData(f"{path} is empty. Its first line must name the columns.")
    for name in names:
        if header.count(name) != 1:
            many = "more than one column" if name in header else "no column"
            # privacy: a file without a header would put a row where the names should be,
            # so the names found are not shown
            raise InvalidData(
                f"{path} has {many} {name!r}, which the schema declares. The first line of the "
                "file must name its columns; cells are separated by commas."
            )
    places, width = [header.index(name) for name in names], len(header)
    unreadable = (None,) * len(names)  # too many or too few cells
    # An empty line is no row, but the empty cell of a file of one column looks the same.
    lines = (row or [""] for row in reader) if width == 1 else filter(None, reader)
    rows = (tuple(row[j] for j in places) if len(row) == width else unreadable for row in lines)
    while block := list(islice(rows, max(1, _CELLS // len(names)))):
        yield list(zip(*block, strict=True))
