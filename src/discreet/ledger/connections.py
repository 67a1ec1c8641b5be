"""One connection per process and ledger, used by one thread at a time.

Connections are closed before a fork and opened anew after it: neither those of
SQLite nor those of PostgreSQL may cross one.
"""

from __future__ import annotations

import os
import threading
from typing import Any


class Shared:
    """The connection of this process to one ledger."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.connection: Any = None
        self.mark: object = None
        """What the connection was opened to; another means that it is out of date."""

    def close(self) -> None:
        """Let the next user open a new connection."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()


_open: dict[str, Shared] = {}
_guard = threading.RLock()


def shared(address: str) -> Shared:
    """Return what this process shares of a ledger.

    >>> shared("here") is shared("here")
    True
    """
    with _guard:
        return _open.setdefault(address, Shared())


def _before_fork() -> None:
    _guard.acquire()
    for held in _open.values():
        held.lock.acquire()  # waits until no transaction is under way
        held.close()


def _in_parent() -> None:
    for held in _open.values():
        held.lock.release()
    _guard.release()


def _in_child() -> None:
    global _guard
    _open.clear()  # their locks belong to threads that are not here
    _guard = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
