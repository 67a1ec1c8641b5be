"""Whom rows belong to: identifiers of any kind as numbers."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidData

Codes = npt.NDArray[np.int64]


def group_codes(groups: Any, n_rows: int) -> Codes:
    """Return the number of every row's group, counted from 0, and -1 where it has none.

    Numbers are compared as text, so 7, 7.0 and "7" are one group.

    >>> group_codes(["a", None, "b", "a"], 4)
    array([ 0, -1,  1,  0])
    """
    ids = _array(groups)
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
            codes[i] = -1 if missing else numbers.setdefault(_key(one), len(numbers))
        except TypeError:
            # privacy: the original message would name the value.
            raise InvalidData("groups must hold text or numbers, one for every row.") from None
    return codes


def _array(groups: Any) -> Any:
    """Return identifiers as an array that keeps each as it was given."""
    if isinstance(groups, np.ma.MaskedArray):
        groups = groups.tolist()  # None where an identifier is masked
    held = getattr(groups, "dtype", None)
    if isinstance(held, np.dtype) and held.kind in "iu":
        return np.asarray(groups)
    for name in ("to_pylist", "to_list"):
        # privacy: not as one array, where whole numbers beside a missing one become floats, and
        # large ones that differ become the same.
        if hasattr(groups, name):
            groups = getattr(groups, name)()
    return np.asarray(groups, dtype=None if isinstance(groups, np.ndarray) else object)


def _key(one: Any) -> Any:
    """Return what an identifier is compared by."""
    if not isinstance(one, Number):
        return one
    # privacy: readers that guess types part by part hold one person's as numbers and as text.
    try:
        whole = int(one)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return str(one)
    return str(whole) if whole == one else str(one)
