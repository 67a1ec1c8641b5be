"""Files that are written whole or not at all, and reach the disk before they count.

What is written goes to a part file beside the place first. It is synced, takes
the place of what was there, and the folder is synced, so that a power failure
leaves the old file or the new one. A writer that is killed leaves its part
file; whoever writes into that folder next removes it. A part file whose writer
lives is told by a lock, which ends with the process.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import InvalidData

LOCKS: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""Locks that end with the process that holds them; None where there are none."""

_PART = re.compile(r"\.discreet-[0-9a-f]{16}\.part")
_LONG_AGO = 24 * 3600.0  # seconds; without locks a part file this old has no writer

NOT_FINITE = (
    "There is a number that is infinite or not a number, and JSON has no form for it. Nothing was "
    "written."
)


def special(path: Path) -> bool:
    """Whether the path is a device or a pipe, such as /dev/stdout."""
    return path.exists() and not path.is_file()


@contextmanager
def replacing(path: Path, *, part: Path | None = None) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` once it is complete.

    Parameters
    ----------
    path
        Where the file belongs. Of a link, what it points to is replaced.
    part
        A part file of that very name, which must not exist, for a file that
        only its owner may read. By default any name, and rights as they were.
    """
    if special(path):
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    place = Path(os.path.realpath(path))
    if place.exists():
        place.open("ab").close()  # what is not to be written is not to be replaced
    if part is None:
        _remove_abandoned(place.parent)
    taken = None
    try:
        part, handle, lock = _begin(place.parent) if part is None else _begin_private(part)
        taken = part
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                if lock is not None and place.exists():
                    shutil.copymode(place, part)
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, place)
        finally:
            if lock is not None:
                os.close(lock)
        _sync_folder(place.parent)
    except BaseException as error:
        if taken is not None:
            with suppress(OSError):  # not there, nor perhaps its folder
                taken.unlink()
        if isinstance(error, OSError) and _PART.fullmatch(Path(error.filename or "").name):
            error.filename = str(path)  # the name that was asked for
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text)


def write_json(path: Path, content: Any) -> None:
    """Write plain values as a JSON file, whole or not at all."""
    try:
        text = json.dumps(content, indent=1, allow_nan=False)
    except ValueError:
        raise InvalidData(NOT_FINITE) from None
    write_text(path, text + "\n")


def _begin(folder: Path) -> tuple[Path, int, int]:
    """Return a new part file, its handle, and one more that holds its lock to the end."""
    while True:
        part = folder / f".discreet-{secrets.token_hex(8)}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        lock = os.dup(handle)
        if _is_locked(lock) and part.exists():
            return part, handle, lock
        os.close(handle)  # someone took it for abandoned in the moment before the lock
        os.close(lock)


def _begin_private(part: Path) -> tuple[Path, int, None]:
    return part, os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), None


def _is_locked(handle: int) -> bool:
    """Lock a file and return whether that succeeded; True where there are no locks."""
    if LOCKS is None:
        return True
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX | LOCKS.LOCK_NB)
    except OSError as error:
        # Some file systems have no locks; there nobody removes part files that are young.
        return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _remove_abandoned(folder: Path) -> None:
    """Remove part files of writers that were killed."""
    with suppress(OSError):  # a folder that cannot be listed is no reason not to write
        for entry in os.scandir(folder):
            if _PART.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(part: Path) -> None:
    found = part.lstat()
    if not stat.S_ISREG(found.st_mode):
        return
    if LOCKS is None:
        if time.time() - found.st_mtime > _LONG_AGO:
            part.unlink()
        return
    handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        LOCKS.flock(handle, LOCKS.LOCK_EX | LOCKS.LOCK_NB)  # fails while its writer lives
        part.unlink()
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power failure, where the system allows it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EROFS):
            raise
    finally:
        os.close(handle)
