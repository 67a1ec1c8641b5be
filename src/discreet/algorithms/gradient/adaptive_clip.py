"""A clip that follows the norms of the gradients.

Andrew, Thakkar, McMahan, Ramaswamy (2021). A step also releases how many of its
rows were shorter than the clip, with noise; the clip then moves by a factor
``exp(-rate (share - 1/2))``. One row changes the centred count by a half (by one
under replace-one) and the gradient sum by one clip (two): both double together,
so one formula serves every relation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.checks import positive
from discreet.data.clipped import MOST_ROWS
from discreet.errors import Incompatible
from discreet.noise import Gaussian, Grid, Randomness, release
from discreet.tuned.algorithms import CLIP_RATE


@dataclass(frozen=True, kw_only=True)
class AdaptiveClip:
    """Follow the median norm, with a count whose noise is a twentieth of the batch.

    Parameters
    ----------
    batch
        Expected rows in a batch, from public values.
    deviation
        Standard deviation of the noise on the centred count.

    Examples
    --------
    >>> round(AdaptiveClip(batch=200.0).rest(1.0), 7)
    1.0012523
    """

    batch: float
    deviation: float | None = None

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on the centred count."""
        return self.batch / 20 if self.deviation is None else positive("deviation", self.deviation)

    def rest(self, multiplier: float) -> float:
        """Return the multiplier left for the gradient when both together have ``multiplier``."""
        # privacy: two Gaussian releases of multipliers a and b cost as much as one of
        # (a^-2 + b^-2)^(-1/2); the count's own is sigma over a half.
        left = multiplier**-2 - (2 * self.sigma) ** -2
        if left <= 0:
            raise Incompatible(
                "The count of an adaptive clip costs the whole budget: batches are too small for "
                "this epsilon. Use larger batches, or a fixed clip."
            )
        return 1 / math.sqrt(left)

    def next_clip(self, clip: float, short: int, rows: int, random: Randomness) -> float:
        """Return the clip of the next step from the noisy share of short gradients."""
        grid = Grid.choose(sensitivity=0.5, dim=1, norm="l2", reach=float(MOST_ROWS))
        # privacy: blank rows add nothing; the count is exact, so only the grid is surcharged.
        sigma = self.sigma * grid.surcharged(0.5, 1) / 0.5
        centred = np.array([short - rows / 2])
        share = float(release(centred, Gaussian(sigma=sigma, grid=grid), random)[0]) / self.batch
        return clip * math.exp(-CLIP_RATE * share)
