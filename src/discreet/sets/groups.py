"""Groups of coordinates, shared by the group ball and the group penalty."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.checks import integer
from discreet.errors import InvalidParameter

Groups = int | tuple[int, ...]
"""One whole number: consecutive blocks of that size. A tuple: the group of each coordinate."""


def checked_groups(groups: Groups) -> Groups:
    """Return ``groups`` if it describes a partition.

    >>> checked_groups([0, 0, 1])
    (0, 0, 1)
    """
    if isinstance(groups, int):
        return integer("groups", groups)
    labels = tuple(integer("groups", g, minimum=0) for g in groups)
    if set(labels) != set(range(len(set(labels)))):
        raise InvalidParameter("groups must number the groups 0, 1, 2, ... without a gap.")
    return labels


def group_labels(groups: Groups, dim: int) -> npt.NDArray[np.intp]:
    """Return the group of each of ``dim`` entries.

    A matrix of weights is read row by row, so groups given for p coordinates
    take whole rows of a ``(p, K)`` matrix.

    >>> group_labels(2, 5), group_labels((0, 1), 4)
    (array([0, 0, 1, 1, 2]), array([0, 0, 1, 1]))
    """
    if isinstance(groups, int):
        return np.arange(dim, dtype=np.intp) // groups
    if dim % len(groups):
        raise InvalidParameter(f"groups names {len(groups)} coordinates, which do not fill {dim}.")
    return np.repeat(np.asarray(groups, dtype=np.intp), dim // len(groups))


def group_norms(w: Array, groups: Groups) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the Euclidean norm of each group and the group of each entry, shaped like ``w``.

    >>> group_norms(np.array([3.0, 4.0, 1.0]), 2)[0]
    array([5., 1.])
    """
    if isinstance(groups, tuple) and len(groups) not in (w.size, w.shape[0]):
        raise InvalidParameter(
            f"groups names {len(groups)} coordinates but the weights have shape {w.shape}. "
            "Give one group per coordinate."
        )
    labels = group_labels(groups, w.size)
    return np.sqrt(np.bincount(labels, w.ravel() ** 2)), labels.reshape(w.shape)
