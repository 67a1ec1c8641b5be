"""Noisy second moments of rows without labels, for principal components.

Releases ``A = sum x x'`` with Gaussian noise: on the diagonal of variance ``s^2``, off
it ``s^2 / 2``, which is white noise on the upper triangle with off-diagonal entries
times sqrt(2) (svec). Everything after the release is post-processing.

Theorem (Dwork, Talwar, Thakurta, Zhang 2014, sharpened). With rows of norm at most
``R`` the svec of ``A`` moves by at most ``R^2`` in l2 when a row is blanked, added or
removed, and by ``sqrt(2) R^2`` when it is replaced, as

    |x x' - y y'|^2 = |x|^4 + |y|^4 - 2 <x, y>^2 <= 2 R^4.

A constant ``k`` appended to every row that counts makes one release of the number of
rows, their mean and their covariance; then ``R^2`` is ``|x|^2 + k^2``.
Proof: ``docs/proofs/noisy-covariance.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.accounting import Budget, Guarantee
from discreet.algorithms.perturbation.second_moments import SecondMoments, packed, unpacked
from discreet.bounds import Array, unit_roundoff
from discreet.data import Source
from discreet.mechanisms.release_noise import ReleaseNoise, release_noise
from discreet.noise import Randomness
from discreet.problem import Problem, guarantee_for


@dataclass(frozen=True)
class NoisyCovariance:
    """A calibrated release of second moments.

    Parameters
    ----------
    problem
        Bounds, size and neighbours of the rows; its loss must be the squared one, and
        its labels are not looked at.
    budget
        What the release may cost.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> round(NoisyCovariance(problem, Budget(1.0, 1e-6)).deviation, 4)
    4.2247
    """

    problem: Problem
    budget: Budget

    @cached_property
    def moments(self) -> SecondMoments:
        """How sums are computed: without labels."""
        return replace(SecondMoments.of(self.problem), label=0.0)

    @property
    def _size(self) -> int:
        return self.moments.dimension * (self.moments.dimension + 1) // 2

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance between neighbours' moments, in units of the row scale squared."""
        # privacy: only the product with sqrt(2) rounds; the sums are exact integers
        rounding = 8 * unit_roundoff() * self.moments.capacity * math.sqrt(self._size)
        return self.moments.l2_sensitivity(self.problem.neighbours) + rounding

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The noise on the moments, in units of the row scale squared."""
        reach = 2.0 * self.moments.capacity
        return release_noise(self.sensitivity, self.budget, dimension=self._size, reach=reach)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on the diagonal, in real units."""
        return math.sqrt(self.noise.mean_square / self._size) * self.moments.row_scale**2

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the release guarantees."""
        return guarantee_for(self, self.noise.event, "noisy-covariance")

    def released(self, source: Source, random: Randomness) -> Array:
        """Return the noisy matrix in real units."""
        moments = self.moments
        gram = moments.integers(self.problem, source)[0] * moments.unit
        double = math.sqrt(2.0)
        out = self.noise.add(packed(gram, double), random)  # privacy: the only exit of data
        return unpacked(out, moments.dimension, double) * moments.row_scale**2
