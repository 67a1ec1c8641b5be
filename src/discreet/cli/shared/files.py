"""Files that may be written, model files that are read, and lines of progress."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import InvalidData, InvalidParameter
from discreet.files.plain_text import printable
from discreet.files.writing import special, write_text
from discreet.schema import Schema


def print_progress(message: str) -> None:
    """Print one line of progress on stderr."""
    with suppress(BrokenPipeError):  # no model is given up because nobody watches
        print(printable(message), file=sys.stderr, flush=True)


def print_result(text: str, end: str = "\n") -> None:
    """Print a result on stdout, as far as it is read: files are written and count without it."""
    try:
        print(printable(text, keep="\n"), end=end, flush=True)
    except BrokenPipeError:
        # The reader left, as head does. What is still held back would fail again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_or_print(path: Path | None, text: str, what: str) -> None:
    """Write a text to a file and say so, or print it if no file is named."""
    if path is None:
        print_result(text, end="")
    else:
        write_text(path, text)
        print_progress(what.format(path))


def make_folder(path: Path, example: str) -> None:
    """Make a folder if it is not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidParameter(
            f"{path} cannot be made a folder: a file is in its place. Pass another folder, e.g. "
            f"--out {example}."
        ) from None


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add ``--force``."""
    parser.add_argument(
        "--force", action="store_true", help="overwrite files that exist; what they hold is lost"
    )


def check_outputs(
    *outputs: Path | None,
    inputs: Iterable[Path | None] = (),
    force: bool | None = None,
    paid: bool = False,
) -> None:
    """Refuse files that cannot be written or that hold what is read, before any budget is spent.

    Nor is a model or the state of a stream overwritten, unless that is asked for.

    Parameters
    ----------
    outputs
        Files the command writes.
    inputs
        Files it reads, none of which may be among the outputs.
    force
        Whether files that hold something else may be overwritten; None for verbs that have no
        ``--force``.
    paid
        Whether the outputs cost privacy; then no file that exists is overwritten
        without ``force``, whatever it holds.
    """
    taken = [path for path in inputs if path is not None]
    for path in outputs:
        if path is None:
            continue
        _check_place(path)
        if not special(path) and any(_same(path, other) for other in taken):
            raise InvalidParameter(
                f"{path} is named twice, so writing it would destroy what it holds. Name another "
                "file to write."
            )
        if not force and path.is_file() and (paid or _was_paid_for(path)):
            raise InvalidParameter(
                f"{path} exists, and overwriting it would destroy what it holds. Name another file "
                f"to write{'' if force is None else ', or pass --force'}."
            )
        taken.append(path)


def _was_paid_for(path: Path) -> bool:
    """Whether a file is a model or the state of a stream, by its first words."""
    try:
        with path.open("rb") as file:
            return b'"format": "discreet-' in (start := file.read(200)) and b"-card" not in start
    except OSError:
        return False


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InvalidParameter(f"{path} is a folder. Name a file to write.")
    if special(path):
        return
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise InvalidParameter(f"The folder of {path} does not exist. Make it first.")
    try:
        # Tried out rather than asked for: permission bits do not tell of read-only disks.
        tempfile.TemporaryFile(dir=place.parent).close()
        if place.exists():
            place.open("ab").close()
    except OSError:
        raise InvalidParameter(
            f"{path} cannot be written. Name a file in a folder you may write to."
        ) from None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def write_model(path: Path, model: Any, **more: Any) -> None:
    """Write a fitted model, and what else is known about its run."""
    from discreet.estimators.shared import persistence

    persistence.write_model(path, model.to_dict() | more)


def read_model(path: Path) -> Any:
    """Return the model in a file; refusals name the file."""
    from discreet.estimators.shared.persistence import DAMAGED, Portable, read_content

    try:
        content = read_content(path)
    except InvalidData as error:
        said = "it is not JSON." if str(error) == DAMAGED else str(error)
        raise InvalidData(f"{path} is not a model file: {said}") from None
    if not isinstance(content, dict):
        raise InvalidData(f"{path} is not a model file of this library.")
    try:
        return Portable.from_dict(content)
    except InvalidData as error:
        raise InvalidData(f"{path}: {error}") from None


def read_schema(path: Path) -> Schema:
    """Return the schema in a file of its own, or in the table ``[schema]`` of a run's file."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        content = {}
    if "columns" not in content and isinstance(content.get("schema"), dict):
        try:
            return Schema.from_dict(content["schema"])
        except InvalidParameter as error:
            raise InvalidParameter(f"{path}: {error}", parameter=error.parameter) from None
    return Schema.from_toml(path)
