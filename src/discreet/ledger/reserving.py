"""Reserve before the first row is read, settle after: the only way runs spend from a ledger."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from discreet.accounting import Guarantee
from discreet.errors import DiscreetError, InvalidParameter

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger


class NotSettled(UserWarning):
    """A run that ended could not be noted as ended; it counts in full all the same."""


class Reserved:
    """A reservation that is open, or None's where there is no ledger."""

    def __init__(self, ledger: Ledger | None, id: str = "") -> None:
        self.ledger, self.id, self.over = ledger, id, ledger is None

    def settle(self, guarantee: Guarantee | None = None) -> None:
        """Note that the run has ended; an ex-post guarantee says what it cost."""
        if self.ledger is not None and not self.over:
            self.ledger.settle(self.id, guarantee)
        self.over = True

    def void(self) -> None:
        """Take the reservation back. Only for runs that have not read a single row."""
        if self.ledger is not None and not self.over:
            self.ledger.void(self.id)
        self.over = True


@contextmanager
def spending(
    ledger: Ledger | None, guarantee: Guarantee, *, model: str = "", algorithm: str = ""
) -> Iterator[Reserved]:
    """Reserve what ``guarantee`` states, run the block, and settle.

    The guarantee is refused before the block begins when it does not fit, when
    it is about other neighbours or another unit, or when its noise was seeded.
    The block may call ``settle`` with what an ex-post run has cost. A block that
    ends otherwise, by an error too, has spent everything that was reserved. So
    has a process that dies.

    Parameters
    ----------
    ledger
        None runs the block and counts nothing.
    guarantee
        What the run guarantees, known before it begins.
    model, algorithm
        Words for the statement.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from discreet.accounting import Pure
    >>> from discreet.ledger import Ledger
    >>> g = Guarantee(epsilon=0.5, delta=0.0, neighbours="zero-out", event=Pure(0.5), theorem="t")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trial.ledger"
    ...     ledger = Ledger.create(path, dataset="trial", epsilon=1.0, delta=1e-6)
    ...     with spending(ledger, g, model="count"):
    ...         noisy = 17  # read rows here
    ...     [entry] = ledger.history()
    >>> entry.state, entry.model
    ('spent', 'count')
    """
    if ledger is None:
        yield Reserved(None)
        return
    if not hasattr(ledger, "reserve"):
        raise InvalidParameter(
            "ledger must be a Ledger, such as Ledger.open(path), or None. Got "
            f"{type(ledger).__name__} instead."
        )
    entry = Reserved(ledger, ledger.reserve(guarantee, model=model, algorithm=algorithm))
    try:
        yield entry
    finally:
        # privacy: whatever ended the block, rows may have been read.
        try:
            entry.settle()
        except DiscreetError:
            warnings.warn(
                "The ledger could not be reached to note that this run has ended. Its reservation "
                "stays and counts in full.",
                NotSettled,
                stacklevel=3,
            )
