"""A sign of life for long draws that says nothing about the data but the time."""

from __future__ import annotations

import sys
import time

EVERY = 10.0
"""Seconds between two lines."""


class Heartbeat:
    """Writes how long a draw has taken, and nothing else.

    How many points were tried is a fact about the data, so it is never shown.

    Examples
    --------
    >>> Heartbeat("drawing").tick()
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = self._last = time.monotonic()

    def tick(self) -> None:
        """Write a line if the last one is old."""
        now = time.monotonic()
        if now - self._last >= EVERY:
            self._last = now
            print(f"discreet: {self._what}, {now - self._start:.0f} s", file=sys.stderr)
