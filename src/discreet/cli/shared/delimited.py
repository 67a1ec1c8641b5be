"""Text with a delimiter, read in blocks: only declared columns, each row by itself.

Python's own reader is used because it guesses no types: how a cell is read
must not depend on the cells of other rows. The delimiter is found from the first
line alone.
"""

from __future__ import annotations

import codecs
import csv
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TextIO

from discreet.checks import integer
from discreet.errors import InvalidData, InvalidParameter
from discreet.schema import Column
from discreet.schema.column import UNREADABLE

_CELLS = 500_000
"""Cells in a block: bounds the memory taken by text."""

_DELIMITERS = (",", ";", "\t", "|", " ")
"""What is tried, in this order."""


@dataclass(frozen=True)
class Format:
    """How text is read.

    Parameters
    ----------
    delimiter
        What separates cells; None finds it from the first line.
    decimal
        Decimal mark of numbers.
    encoding
        Name of the encoding; None reads UTF-8, or UTF-16 where the file says so.
    header
        Names of columns of a file whose first line is a row.
    skip
        Lines that are not read, before the first that counts.
    """

    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = None
    header: Sequence[str] | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise InvalidParameter(
                "delimiter must be one character, such as ';', or tab.", parameter="delimiter"
            )
        integer("skip", self.skip, 0)
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise InvalidParameter(
                    "encoding is not one that Python knows, e.g. utf-8, latin-1, cp1252.",
                    parameter="encoding",
                ) from None


def delimited_tables(
    raw: Any, path: Path, columns: Mapping[str, Column], form: Format, *, strict: bool
) -> Iterator[dict[str, Any]]:
    """Yield the declared columns of a text file, block by block.

    Parameters
    ----------
    raw
        The open file.
    path
        Its name, for messages.
    columns
        Declared columns; all others are ignored.
    form
        How text is read.
    strict
        Whether a line with too many or too few cells is refused; otherwise its cells
        are missing.
    """
    names = list(columns)
    try:
        with _text(raw, form) as file:
            reader, header = _opened(file, path, names, form)
            yield from _blocks(reader, header, columns, form, strict=strict)
    except UnicodeDecodeError:
        # privacy: the original message quotes the byte it stopped at
        raise InvalidData(
            f"{path} cannot be read as text in {form.encoding or 'UTF-8'}. Name its encoding with "
            "--encoding, or save it as UTF-8."
        ) from None
    except csv.Error as error:
        _refuse(path, str(error))
    except (OSError, EOFError, zlib.error) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise InvalidData(f"{path} is compressed, and damaged. Compress it again.") from None


def delimited_names(raw: Any, form: Format) -> list[str]:
    """Return the names in the first line of a text file; no other line is read.

    Parameters
    ----------
    raw, form
        As for :func:`delimited_tables`.
    """
    with _text(raw, form) as file:
        if form.header is not None:
            return [name.strip() for name in form.header]
        line = next(islice(file, form.skip, None), "")
        found = form.delimiter or max(_DELIMITERS[:-1], key=line.count)
        return [name.strip() for name in next(csv.reader([line], delimiter=found), [])]


def _text(raw: Any, form: Format) -> TextIO:
    encoding = form.encoding or "utf-8-sig"
    if form.encoding is None and hasattr(raw, "peek"):
        start = raw.peek(2)[:2]
        encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else encoding
    if not isinstance(raw, io.BufferedIOBase):
        raw = io.BufferedReader(raw)
    return io.TextIOWrapper(raw, encoding=encoding, newline="")


def _opened(file: TextIO, path: Path, names: list[str], form: Format) -> tuple[Any, list[str]]:
    """Return a reader of the rows, and the names of their columns."""
    for _ in range(form.skip):
        file.readline()
    first = file.readline()
    if not first.strip():
        following = file.readline() if first else ""
        if not following:
            raise InvalidData(f"{path} is empty. Its first line must name the columns.")
        first += following if form.header is not None else ""
        if form.header is None:
            _no_column(path, names[0], [], ",")
    if form.header is not None:
        header = [name.strip() for name in form.header]
        delimiter = form.delimiter or max(_DELIMITERS, key=lambda d: len(_cells(first, d)) - 1)
        lines = _and_then(first, file)
    else:
        delimiter = form.delimiter or _found(first, names)
        header = [name.strip() for name in _cells(first, delimiter)]
        lines = file
    for name in names:
        if header.count(name) != 1:
            _no_column(path, name, header, delimiter)
    runs = delimiter == " "  # of spaces count as one, and lines may begin with some
    if runs:
        lines = (line.strip() + "\n" for line in lines)
    return csv.reader(lines, strict=True, delimiter=delimiter, skipinitialspace=runs), header


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _found(line: str, names: list[str]) -> str:
    """Return the delimiter by which the first line holds most of the declared names."""

    def held(delimiter: str) -> int:
        cells = {cell.strip() for cell in _cells(line, delimiter)}
        return sum(name in cells for name in names)

    return max(_DELIMITERS, key=held)


def _and_then(first: str, file: TextIO) -> Iterator[str]:
    yield first
    yield from file


def _no_column(path: Path, name: str, header: list[str], delimiter: str) -> NoReturn:
    many = "more than one column" if name in header else "no column"
    said = {"\t": "a tab", " ": "spaces"}.get(delimiter, repr(delimiter))
    # privacy: a file without a header would put a row where the names should be, so the names
    # found are not shown
    raise InvalidData(
        f"{path} has {many} {name!r}, which the schema declares. The first line of the file must "
        f"name its columns, or --header does; cells were taken to be separated by {said}, and "
        "--delimiter names another."
    )


def _blocks(
    reader: Any, header: list[str], columns: Mapping[str, Column], form: Format, *, strict: bool
) -> Iterator[dict[str, Any]]:
    places, width = [header.index(name) for name in columns], len(header)
    unreadable = (UNREADABLE,) * len(places)
    # An empty line is no row, but the empty cell of a file of one column looks the same.
    lines = (row or [""] for row in reader) if width == 1 else filter(None, reader)
    rows = (tuple(row[j] for j in places) if len(row) == width else unreadable for row in lines)
    while block := list(islice(rows, max(1, _CELLS // len(places)))):
        if strict and unreadable in block:
            raise InvalidData(
                "A row has more or fewer cells than the first line. Correct the file, or declare "
                'missing = "blank" in the schema before the fit: then such a row counts for '
                "nothing."
            )
        table: dict[str, Any] = {}
        for (name, column), cells in zip(columns.items(), zip(*block, strict=True), strict=True):
            comma = form.decimal == "," and column.numeric
            table[name] = [_pointed(cell) for cell in cells] if comma else list(cells)
        yield table


def _pointed(cell: Any) -> Any:
    """Return a number written with a decimal comma with a point; one with a point is none."""
    if not isinstance(cell, str):
        return cell
    return "" if "." in cell else cell.replace(",", ".", 1)


def _refuse(path: Path, said: str) -> NoReturn:
    # privacy: the original message may quote the line it stopped at, so only its kind is told
    if said.startswith("field larger"):
        fault = (
            f"a cell is longer than {csv.field_size_limit():,} characters, which a quotation mark "
            "that is not closed leads to as well"
        )
    elif "end of data" in said:
        fault = "a quotation mark is opened and not closed before the end of the file"
    else:
        fault = "a quotation mark stands inside a cell, or a line break that is none"
    raise InvalidData(f"{path} cannot be read: {fault}. Correct it and save it again.") from None
