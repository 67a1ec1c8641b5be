"""Everything known about a convex score: planes that lie below it.

A plane costs one pass over the data when it is found and none when it is used
again. The highest of all planes at a point is a floor of the score there, so most
proposals can be turned down without looking at the data.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.errors import NotCertified


class Tangents:
    """Planes ``base + slope @ place``, kept as the rows of one matrix.

    Parameters
    ----------
    dimension
        Number of coordinates of a place.

    Examples
    --------
    >>> planes = Tangents(1)
    >>> planes.add(np.array([2.0]), -1.0), planes.add(np.array([-2.0]), -1.0)
    (0, 1)
    >>> height, which = planes.highest(np.array([[3.0], [-1.0]]))
    >>> height.tolist(), which.tolist()
    ([5.0, 1.0], [0, 1])
    """

    def __init__(self, dimension: int) -> None:
        self._slope, self._base = np.zeros((64, dimension)), np.zeros(64)
        self.count = 0

    @property
    def slope(self) -> Array:
        """One row per plane."""
        return self._slope[: self.count]

    @property
    def base(self) -> Array:
        """Heights at the origin."""
        return self._base[: self.count]

    def add(self, slope: Array, base: float) -> int:
        """Keep a plane and return its number."""
        if not (np.isfinite(base) and np.isfinite(slope).all()):
            raise NotCertified(
                "A score or its gradient is not a finite number, so no point was drawn. Bound the "
                "rows, or take a smaller set."
            )
        if self.count == len(self._base):
            self._slope = np.concatenate([self._slope, np.empty_like(self._slope)])
            self._base = np.concatenate([self._base, np.empty_like(self._base)])
        self._slope[self.count], self._base[self.count] = slope, base
        self.count += 1
        return self.count - 1

    def highest(
        self, places: Array, first: int = 0, last: int | None = None
    ) -> tuple[Array, npt.NDArray[np.intp]]:
        """Return the height of the highest plane at every row of ``places``, and its number.

        Only planes from number ``first`` up to ``last`` are looked at.
        """
        heights = places @ self.slope[first:last].T + self.base[first:last]
        which = heights.argmax(axis=1)
        return heights[np.arange(len(places)), which], which + first
