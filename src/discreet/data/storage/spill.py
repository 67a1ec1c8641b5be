"""Memory for rows: up to a limit arrays as usual, beyond it pages of a file without a name.

Such a file is reserved whole, so that a full disk is an error and no crash, and it has no
name in any folder: it is gone when the last array that lies in it is. Which of the two is
used changes no number.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.errors import DiscreetError, InvalidParameter

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_LEAST = 2**24

NEARBY = 2**16
"""Bytes that the system maps at most where one of them is read."""


class Memory(NamedTuple):
    """Bytes that rows may take, and the folder of what does not fit."""

    limit: int
    folder: str | None


limit_given: ContextVar[Memory | None] = ContextVar("memory", default=None)


def memory() -> Memory:
    """Return what holds now: what :func:`memory_limit` says, else half of the machine.

    >>> with memory_limit("2GB"):
    ...     memory().limit
    2000000000
    """
    found = limit_given.get()
    if found is None:
        try:
            whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):  # not told by this system
            whole = 2**33
        found = Memory(whole // 2, None)
    return found


@contextmanager
def memory_limit(limit: int | str, folder: str | Path | None = None) -> Iterator[None]:
    """Limit the memory of rows; what does not fit goes to a temporary file without a name.

    Bounded rows are sensitive data, so the folder should be on a disk that is as well
    protected as the data itself. Without a limit rows may take half of the machine's
    memory. Numbers of the order of the weights, and the blocks that are worked on, come
    on top.

    Parameters
    ----------
    limit
        Bytes, or text such as ``"2GB"`` or ``"500MiB"``.
    folder
        Where the file is made; the system's folder for temporary files by default.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateRidge, memory_limit
    >>> X = np.linspace(-1, 1, 2000).reshape(-1, 1)
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)), random_state=0)
    >>> with memory_limit("20MB"):
    ...     _ = model.fit(X, X.ravel())
    """
    if folder is not None and not Path(folder).is_dir():
        raise InvalidParameter(f"{folder} is not a folder. Make it first.", parameter="folder")
    token = limit_given.set(Memory(size_of(limit), None if folder is None else str(folder)))
    try:
        yield
    finally:
        limit_given.reset(token)


def size_of(limit: int | str) -> int:
    """Return a number of bytes that was given as such or as text.

    >>> size_of("1.5GiB"), size_of(2**30)
    (1610612736, 1073741824)
    """
    said = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]*)\s*", str(limit).lower())
    try:
        size = -1.0 if said is None else float(said[1]) * _UNITS[said[2]]
    except (KeyError, ValueError):
        size = -1.0
    if not _LEAST <= size < 2.0**62:
        raise InvalidParameter(
            "memory must be a number of bytes or text such as '2GB', and at least 16 MiB.",
            parameter="memory",
        )
    return int(size)


class _Pages(mmap.mmap):
    """Memory of a file of ours, to be told from a user's."""


class Room:
    """Memory for the numbers of some rows, all of it in arrays or all of it in files.

    Parameters
    ----------
    total
        Bytes that will be asked for.

    Examples
    --------
    >>> room = Room(2**20)
    >>> room.empty((2, 3)).shape, room.spilled
    ((2, 3), False)
    """

    def __init__(self, total: float) -> None:
        limit, self._folder = memory()
        self.spilled = total > limit

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float64) -> Any:
        """Return an array that holds no particular numbers."""
        if not self.spilled:
            return np.empty(shape, dtype)
        dims = (shape,) if isinstance(shape, int) else shape
        size = math.prod(dims) * np.dtype(dtype).itemsize
        try:
            with tempfile.TemporaryFile(dir=self._folder) as file:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, max(size, 1))
                else:
                    file.truncate(max(size, 1))
                pages = _Pages(file.fileno(), max(size, 1))
        except OSError:
            # privacy: the original tells the size, and the number of rows may be secret.
            raise DiscreetError(
                "The disk has no room for the rows that do not fit into memory. Name a folder on a "
                "larger one, or allow more memory: memory_limit(limit, folder), on the command "
                "line --memory and --spill."
            ) from None
        return np.frombuffer(pages, dtype, math.prod(dims)).reshape(dims)


class Resident:
    """Keeps the pages of spilled arrays from filling the memory.

    Parameters
    ----------
    arrays
        Some of which may lie in files.

    Examples
    --------
    >>> Resident(np.zeros(3)).touched(10**9)
    """

    def __init__(self, *arrays: Any) -> None:
        self._pages = [pages for pages in map(_pages_of, arrays) if pages is not None]
        self._room = self._left = memory().limit // 16

    @property
    def spilled(self) -> bool:
        """Whether any array lies in a file."""
        return bool(self._pages)

    def touched(self, size: int) -> None:
        """Count bytes that were read or written, and let go of them when they are many."""
        if not self._pages:
            return
        self._left -= size
        if self._left < 0:
            self._left = self._room
            for pages in self._pages:
                # The system keeps what was written, and fetches it when it is asked for again.
                if hasattr(mmap, "MADV_DONTNEED"):
                    pages.madvise(mmap.MADV_DONTNEED)


def _pages_of(array: Any) -> _Pages | None:
    while isinstance(array, np.ndarray):
        array = array.base
    held = array.obj if isinstance(array, memoryview) else array
    return held if isinstance(held, _Pages) else None
