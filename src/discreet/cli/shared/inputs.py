"""Files that rows are read from: text, Parquet or Arrow, one or several, packed or not."""

from __future__ import annotations

import argparse
import gzip
import io
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from discreet.cli.shared.delimited import Format, delimited_names, delimited_tables
from discreet.errors import DiscreetError, InvalidData, InvalidParameter
from discreet.schema import Column

STDIN = Path("-")
"""How standard input is named."""

_ZSTD, _GZIP, _ZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b", b"PK\x03\x04"
_PARQUET, _ARROW = b"PAR1", b"ARROW1"

INPUTS_HELP = """\
files of rows are text with a delimiter, Parquet or Arrow (these two need
discreet[parquet]), compressed by gzip or zstandard or not; - is standard input. The
delimiter is found from the first line and the names that the schema declares.
Parquet and Arrow files that do not fit into memory are read part by part.
"""


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the files of rows, and how text in them is read."""
    parser.add_argument("data", type=Path, nargs="+", help="files of rows; - for standard input")
    parser.add_argument("--delimiter", help="what separates cells, e.g. ';' or tab")
    parser.add_argument(
        "--decimal", choices=(".", ","), default=".", help="decimal mark (default: a point)"
    )
    parser.add_argument("--encoding", help="encoding of text files, e.g. latin-1 (default: UTF-8)")
    parser.add_argument("--header", help="names of the columns, if the first line has none")
    parser.add_argument(
        "--skip", type=int, default=0, help="lines to leave out at the start (default: 0)"
    )


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add how much memory rows may take, and where the others go."""
    parser.add_argument(
        "--memory", metavar="SIZE", help="memory for rows, e.g. 2GB (default: half of the machine)"
    )
    parser.add_argument(
        "--spill",
        type=Path,
        metavar="FOLDER",
        help="where bounded rows go that do not fit: a file without a name, on a disk as well "
        "protected as the data",
    )


def limited(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Return the block in which rows take no more memory than was asked for."""
    from discreet.data.storage import memory, memory_limit

    return memory_limit(memory().limit if args.memory is None else args.memory, args.spill)


@dataclass(frozen=True)
class Inputs:
    """Files of rows and how they are read.

    Parameters
    ----------
    paths
        Files, in their order.
    format
        How text is read.
    """

    paths: tuple[Path, ...]
    format: Format

    @classmethod
    def of(cls, args: argparse.Namespace) -> Inputs:
        """Return the files that were named on the command line."""
        if args.data.count(STDIN) > 1:
            raise InvalidParameter("Standard input, -, can be read once only.")
        tab = {"tab": "\t", "\\t": "\t", "space": " "}
        return cls(
            tuple(args.data),
            Format(
                delimiter=tab.get(args.delimiter, args.delimiter),
                decimal=args.decimal,
                encoding=args.encoding,
                header=None if args.header is None else args.header.split(","),
                skip=args.skip,
            ),
        )

    @property
    def files(self) -> list[Path]:
        """The files that are no standard input."""
        return [path for path in self.paths if path != STDIN]

    def tables(self, columns: Mapping[str, Column], *, strict: bool) -> Iterator[Any]:
        """Yield tables with these columns, block by block.

        Parameters
        ----------
        columns
            What is read; all other columns are ignored.
        strict
            Whether a line of text with too many or too few cells is refused.
        """
        for path in self.paths:
            found = 0
            for table in self._tables(path, columns, strict=strict):
                found += 1
                yield table
            if not found and len(self.paths) == 1:
                raise InvalidData(f"{path} has no rows.")

    def _tables(self, path: Path, columns: Mapping[str, Column], *, strict: bool) -> Iterator[Any]:
        with _opened(path) as file:
            start = _start(file)
            if start.startswith((_PARQUET, _ARROW)):
                from discreet.cli.shared.arrow import arrow_tables

                yield from arrow_tables(file, path, list(columns), parquet=start[:4] == _PARQUET)
            else:
                with _unpacked(file, path, start) as raw:
                    yield from delimited_tables(raw, path, columns, self.format, strict=strict)

    def datasets(self) -> list[Path] | None:
        """Return the files if all of them are Parquet, or all Arrow, and can be read again."""
        if STDIN in self.paths:
            return None
        starts = set()
        for path in self.paths:
            with _opened(path) as file:
                starts.add(_start(file)[:4])
        kinds = ({_PARQUET}, {_ARROW[:4]})
        return list(self.paths) if starts in kinds else None

    def types(self) -> dict[str, str]:
        """Return names and types of the columns of the first file; of text the names alone."""
        path = self.paths[0]
        with _opened(path) as file:
            start = _start(file)
            if start.startswith((_PARQUET, _ARROW)):
                from discreet.cli.shared.arrow import arrow_types

                return arrow_types(file, path, parquet=start[:4] == _PARQUET)
            with _unpacked(file, path, start) as raw:
                return dict.fromkeys(delimited_names(raw, self.format), "")


def whole_text(path: Path) -> str:
    """Return the text of a small file, packed or not.

    Parameters
    ----------
    path
        A file in UTF-8.
    """
    with _opened(path) as file, _unpacked(file, path, _start(file)) as raw:
        return str(raw.read(), encoding="utf-8-sig")


def _opened(path: Path) -> Any:
    if path == STDIN:
        raw: Any = getattr(sys.stdin, "buffer", sys.stdin)
        return io.BufferedReader(raw) if isinstance(raw, io.RawIOBase) else _Kept(raw)
    return path.open("rb")


class _Kept:
    """A stream that stays open."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw

    def __enter__(self) -> Any:
        return self.raw

    def __exit__(self, *_: object) -> None:
        pass


def _start(file: Any) -> bytes:
    """Return the first bytes of a file without taking them, which pipes allow too."""
    found: bytes = file.peek(8)[:8] if hasattr(file, "peek") else b""
    return found


def _unpacked(file: BinaryIO, path: Path, start: bytes) -> Any:
    if start.startswith(_GZIP):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(_ZSTD):
        return _zstandard(file)
    if start.startswith(_ZIP):
        raise InvalidData(
            f"{path} is a zip archive, which may hold several files. Unpack it first, or pass one "
            "of them on: unzip -p archive.zip rows.csv | discreet ... - (a workbook such as .xlsx "
            "is such a file too: save it as CSV)."
        )
    return _Kept(file)


def _zstandard(file: BinaryIO) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return zstd.ZstdFile(file)
    except ImportError:
        pass
    try:
        import zstandard

        return zstandard.ZstdDecompressor().stream_reader(file)
    except ImportError:
        raise DiscreetError(
            "Files compressed by zstandard need the package zstandard, or Python 3.14. Install it "
            "with: pip install 'zstandard>=0.22'. Or unpack the file first."
        ) from None
