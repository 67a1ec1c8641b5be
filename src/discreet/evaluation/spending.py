"""Where a ledger is asked, before the first row is read."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from discreet.accounting import Guarantee


def spending(
    ledger: Any, guarantee: Guarantee, model: Any, algorithm: str
) -> AbstractContextManager[Any]:
    """Return a context that reserves a guarantee, in which alone rows may be read.

    >>> with spending(None, None, None, "evaluation"):  # without a ledger nothing is reserved
    ...     pass
    """
    if ledger is None:
        return nullcontext()
    words = {"model": type(model).__name__, "algorithm": algorithm}
    held: AbstractContextManager[Any] = ledger.spending(guarantee, **words)
    return held
