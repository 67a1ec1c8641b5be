"""The state file of a stream: written before anything it describes is published.

The file holds sums of data without noise, so it is as secret as the data. It
is kept apart from model files and readable by its owner only. Every write
replaces the whole file at once and reaches the disk before it counts, so after
a crash the file holds either the state before a call or the state after it.
A checksum inside tells a file that was damaged or edited by hand from one this
library wrote; whoever computes it anew can still write anything.

Whoever resumes a stream becomes its owner by writing a new name into the file;
earlier owners find another name there at their next write and are refused. So
of two processes that resume the same file only one goes on. The content is
read before the name is written, so a file that cannot be resumed is left as it
is. A symbolic link leads to the one file it names. A file with a second name (a
hard link) is refused, because a write replaces one name and the other would keep
the state before it. A *copy* of the file cannot be told from the file: never
resume both.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.files.checksums import checksum_holds, parse, with_checksum
from discreet.files.writing import LOCKS, replacing

Built = TypeVar("Built")

FORMAT = "discreet-stream-state"
VERSION = 1
SECRET = "SECRET: sums of data without noise. Protect this file like the data; do not publish it."
DAMAGED = (
    "This state file is damaged or was edited, so the stream cannot go on. Do not resume an older "
    "copy of it: rows learned since would be released again. Start a new stream, with new rows."
)
FOLDER = "The path of the state file names a folder. Name a file in it."
NO_FOLDER = "The folder of the state file does not exist. Create it first, or name another path."
MISSING = (
    "There is no state file at this path. If it was moved, put it back. A stream whose state is "
    "lost cannot go on: feeding its rows to a new one costs the budget again."
)
LINKED = (
    "This state file has more than one name: a hard link to it was made. Whoever went on under one "
    "name would leave the old state under the other, and rows could be released twice. Remove the "
    "other names first; if the stream went on under one of them, keep that one."
)
LEFTOVER = (
    "There is no state file at this path, only one with .next added to its name, left by a process "
    "that was stopped while it wrote. Nothing was published from that one. If the state file was "
    "moved, put it back and use resume(path). If the stream had not begun, or its rows will never "
    "be fed again, see that no other process is starting there, remove the .next file and start."
)


class Journal:
    """One process's hold on a state file.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "state.json"
    >>> first = Journal.create(path)
    >>> first.write({"steps": 0})
    >>> second, content = Journal.take_over(path, dict)
    >>> second.write({"steps": 1})
    >>> first.write({"steps": 1})
    Traceback (most recent call last):
    discreet.errors.InvalidData: ...
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        # privacy: a link that is replaced would leave the first owner its file, able to go on; and
        # a relative path would name another file once the working folder changes.
        self._path = Path(os.path.realpath(path))
        self._owner = secrets.token_hex(16)
        self._serial = 0

    @classmethod
    def create(cls, path: str | Path) -> Journal:
        """Begin an empty state file; an existing one is never overwritten."""
        journal = cls(Path(path))
        with _alone(journal._path.parent):
            if journal._path.is_dir():
                raise InvalidParameter(FOLDER)
            if journal._path.exists():
                # privacy: starting over on the same rows would release them twice.
                raise InvalidParameter(
                    "state_path names a file that exists, so a stream has been started there. Go "
                    "on with resume(path). Only if its rows will never be fed again, remove the "
                    "file."
                )
            if journal._next.exists():
                # privacy: it may stand beside a state file that was moved, whose rows were
                # released; only whoever moved it knows.
                raise InvalidParameter(LEFTOVER)
            journal._replace({})
        return journal

    @classmethod
    def take_over(
        cls, path: str | Path, read: Callable[[dict[str, Any]], Built]
    ) -> tuple[Journal, Built]:
        """Become the owner of a state file, and return what ``read`` makes of its content.

        Where ``read`` fails nothing was taken over: the file stays as it is and
        whoever owns it may go on.
        """
        journal = cls(Path(path))
        with _alone(journal._path.parent):
            held = journal._read()
            if not held["content"]:
                raise InvalidParameter(
                    "This state file was begun but nothing was recorded in it, so nothing was "
                    "released. Remove it and start the stream."
                )
            with refusing_damage():
                built = read(held["content"])
            # Read again, because ``read`` may have changed what it was given.
            now = journal._read()
            # privacy: without locks the owner may have published a step meanwhile, and the step
            # would be drawn again from what was read.
            if (now["owner"], now["serial"]) != (held["owner"], held["serial"]):
                raise InvalidData(
                    "Another process has written the state file while it was read. Use "
                    "resume(path) when no other process uses the stream."
                )
            # A half-written successor was never published, so it may be forgotten.
            journal._next.unlink(missing_ok=True)
            journal._serial = now["serial"]
            journal._replace(now["content"])
        return journal, built

    def write(self, content: dict[str, Any]) -> None:
        """Replace the state; fails if anyone else has written since."""
        with _alone(self._path.parent):
            held = self._read()
            # privacy: a step that someone else has recorded must not be drawn again here.
            if (held["owner"], held["serial"]) != (self._owner, self._serial):
                raise InvalidData(
                    "The state file has moved on without this model: another process resumed the "
                    "stream, or a call was interrupted after it was recorded. Going on here would "
                    "draw new noise for rows already released. Discard this model and use "
                    "resume(path)."
                )
            self._replace(content)

    @property
    def _next(self) -> Path:
        return self._path.with_name(self._path.name + ".next")

    def _read(self) -> dict[str, Any]:
        if self._path.is_dir():
            raise InvalidParameter(FOLDER)
        try:
            with self._path.open("rb") as file:
                text, names = file.read(), os.fstat(file.fileno()).st_nlink
        except FileNotFoundError:
            raise InvalidParameter(LEFTOVER if self._next.exists() else MISSING) from None
        if names > 1:
            raise InvalidParameter(LINKED)
        with refusing_damage():
            held: dict[str, Any] = parse(text)
            fit = (held.get("format"), held.get("version")) == (FORMAT, VERSION)
        if not fit:
            raise InvalidParameter(
                f"This file is not a stream state of version {VERSION}. Resume it with the "
                "library that wrote it."
            )
        kinds = {"owner": str, "serial": int, "content": dict}
        if not all(isinstance(held.get(name), kind) for name, kind in kinds.items()):
            raise InvalidData(DAMAGED)
        # privacy: counts that were set back would let a block of noise outlive its horizon.
        with refusing_damage():
            whole = checksum_holds(held)
        if not whole:
            raise InvalidData(DAMAGED)
        return held

    def _replace(self, content: dict[str, Any]) -> None:
        serial = self._serial + 1
        head = {"format": FORMAT, "version": VERSION, "warning": SECRET}
        held = {**head, "owner": self._owner, "serial": serial, "content": content}
        text = json.dumps(with_checksum(held))
        try:
            # Exclusive, so two owners never write at once; private from the first byte.
            with replacing(self._path, part=self._next) as file:
                file.write(text)
        except FileExistsError:
            raise InvalidData(
                "Another process is writing the state file, or one crashed while doing so. Use "
                "resume(path) when no other process uses the stream."
            ) from None
        self._serial = serial


@contextlib.contextmanager
def refusing_damage() -> Iterator[None]:
    """Answer whatever a damaged or edited state leads to with one clear error.

    >>> with refusing_damage():
    ...     {}["content"]
    Traceback (most recent call last):
    discreet.errors.InvalidData: This state file is damaged or was edited...
    """
    try:
        yield
    except Incompatible:
        raise  # says itself what does not fit
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # privacy: what failed may quote the state, which is as secret as the data.
        raise InvalidData(DAMAGED) from None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from state files in a folder, until the end or a crash.

    Between looking who owns a file and replacing it nobody else may do either.
    """
    if not folder.is_dir():
        raise InvalidParameter(NO_FOLDER)
    if LOCKS is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        # privacy: two owners who both found their own name would both publish the next step.
        LOCKS.flock(handle, LOCKS.LOCK_EX)
        yield
    finally:
        os.close(handle)
