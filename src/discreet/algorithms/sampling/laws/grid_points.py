"""A finite public set of points: the exponential mechanism itself.

Needs no convexity. The points are the projections of the centres of the cells
of a regular grid that meet the set.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.algorithms.sampling.laws.heartbeat import Heartbeat
from discreet.algorithms.sampling.laws.region import Region
from discreet.algorithms.sampling.laws.target import Target
from discreet.bounds import Array
from discreet.checks import integer
from discreet.errors import InvalidParameter
from discreet.noise import Randomness, exponential_mechanism

MOST_POINTS = 10_000_000


class GridSampler:
    """Scores every point of a public grid and chooses one.

    Parameters
    ----------
    target
        What is sampled.
    cells
        Cells along every side of the box around the region.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.sets import Box
    >>> target = Target(Region.of(Box(), (1,)), lambda w: (90 * abs(w[0]), w), 1e-6)
    >>> bool(abs(GridSampler(target, 5).draw(Seeded(0))[0]) < 0.1)
    True
    """

    def __init__(self, target: Target, cells: int) -> None:
        self.points = grid_points(target.region, cells)
        progress, scores = Heartbeat("scoring a grid"), []
        for point in self.points:
            progress.tick()
            scores.append(target.evaluate(point)[0])
        self._log_weights = -np.array(scores)

    def draw(self, random: Randomness) -> Array:
        """Return one point, flat."""
        return np.asarray(self.points[exponential_mechanism(self._log_weights, random)])


def grid_points(region: Region, cells: int) -> Array:
    """Return the public points, one per row.

    >>> from discreet.sets import Box
    >>> grid_points(Region.of(Box(low=0.0, high=3.0), (1,)), 3).ravel().tolist()
    [0.5, 1.5, 2.5]
    """
    p = region.dimension
    if integer("cells", cells) ** p > MOST_POINTS:
        raise InvalidParameter(
            f"A grid of {cells} cells a side has more than {MOST_POINTS} points in {p} dimensions. "
            "Use fewer cells, or the sampler 'tangent-envelope'."
        )
    corner = region.points(np.zeros(p, np.int64))
    side = (region.counts - 1) * region.step / cells
    index = np.stack(np.meshgrid(*[np.arange(cells)] * p, indexing="ij"), axis=-1).reshape(-1, p)
    found = []
    for i in index:
        low = corner + i * side
        if not region.misses(low, low + side):
            centre = low + 0.5 * side
            shaped = region.constraint.project(centre.reshape(region.shape))
            found.append(shaped.ravel())
    return np.unique(np.array(found), axis=0)


def grid_excess(region: Region, cells: int, inverse: float, slope: float) -> float:
    """Bound the expected excess: ``log(points) / c`` and the coarseness of the grid.

    ``slope`` bounds the gradient of the whole objective.

    >>> from discreet.sets import Box
    >>> round(grid_excess(Region.of(Box(), (1,)), 10, 1.0, 1.0), 6)
    2.402585
    """
    side = float(np.max((region.counts - 1) * region.step)) / cells
    p = region.dimension
    return p * math.log(cells) / inverse + slope * side * math.sqrt(p) / 2.0
