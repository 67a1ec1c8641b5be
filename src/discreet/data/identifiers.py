"""Whom rows belong to: identifiers of any kind as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidData

Codes = npt.NDArray[np.int64]


def group_codes(groups: Any, n_rows: int) -> Codes:
    """Return the number of every row's group, counted from 0, and -1 where it has none.

    >>> group_codes(["a", None, "b", "a"], 4)
    array([ 0, -1,  1,  0])
    """
    if hasattr(groups, "to_numpy"):
        groups = groups.to_numpy()
    ids = np.asarray(groups, dtype=None if isinstance(groups, np.ndarray) else object)
    if ids.ndim != 1 or len(ids) != n_rows:
        raise InvalidData("groups must hold one identifier for every row of X.")
    if ids.dtype.kind in "iu":
        return np.unique(ids, return_inverse=True)[1].astype(np.int64)
    numbers: dict[Any, int] = {}
    codes = np.empty(n_rows, np.int64)
    for i, one in enumerate(ids.tolist()):
        try:
            # NaN, NaT and pandas.NA are no identifiers: they differ from themselves.
            missing = one is None or not bool(one == one)
        except TypeError:
            missing = True
        try:
            codes[i] = -1 if missing else numbers.setdefault(one, len(numbers))
        except TypeError:
            # privacy: the original message would name the value.
            raise InvalidData("groups must hold text or numbers, one for every row.") from None
    return codes
