"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO


def special(path: Path) -> bool:
    """Whether the path is a device or a pipe, such as /dev/stdout."""
    return path.exists() and not path.is_file()


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` once it is complete."""
    if special(path):
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    place = Path(os.path.realpath(path))
    if place.exists():
        place.open("ab").close()  # what is not to be written is not to be replaced
    # A name of its own, however many write here and however long the name of the file is.
    part = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("x", encoding="utf-8", newline="") as file:
            if place.exists():
                shutil.copymode(place, part)
            yield file
        part.replace(place)
    except BaseException as error:
        with suppress(OSError):  # not there, nor perhaps its folder
            part.unlink()
        if isinstance(error, OSError) and error.filename == str(part):
            error.filename = str(path)  # the name that was asked for
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text)


def write_json(path: Path, content: Any) -> None:
    """Write plain values as a JSON file, whole or not at all."""
    write_text(path, json.dumps(content, indent=1) + "\n")
