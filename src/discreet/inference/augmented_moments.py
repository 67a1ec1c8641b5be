"""Second moments with the squares of labels: one release for weights and intervals.

Releases ``A = sum v v' + N`` for ``v = (x, y)``, rows and labels counted in public units, and
solves the noisy normal equations in its blocks. The entry ``sum y^2`` is what intervals need
beside them.

Theorem. ``v v'`` has Frobenius norm ``|v|^2 <= X^2 + Y^2``, which bounds what a row adds. The
matrices of two rows have a nonnegative inner product, so a replacement moves the sum by at most
``sqrt(2)`` times as much. Numbers are rounded to the nearest multiple of a public step ``u``, so
``X`` grows by ``sqrt(p) u/2`` and ``Y`` by ``u/2``. In orthonormal coordinates of symmetric
matrices noise of deviation ``s`` has variance ``s^2`` on the diagonal and ``s^2/2`` beside it.

Units. If ``k`` is the square of the largest label over that of the longest row, the noise of
the equations at weights that carry a full row to a full label is in proportion to ``(1 + k)
sqrt(1 + 1/k)``, least at ``k = 1/2``. Labels are counted in the power of two that is nearest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from discreet.accounting import Guarantee
from discreet.algorithms.perturbation import (
    SecondMoments,
    SufficientStatisticsPlan,
    packed,
    stein_strength,
    unpacked,
)
from discreet.bounds import Array, Integers, unit_roundoff
from discreet.checks import one_of
from discreet.errors import Incompatible, MissingBound
from discreet.inference.base import TARGETS, InferredRelease, units_of
from discreet.inference.moment_intervals import MomentIntervals
from discreet.noise import Randomness
from discreet.problem import guarantee_for, with_randomness


@dataclass(frozen=True)
class AugmentedMomentsPlan(SufficientStatisticsPlan):
    """A calibrated run of noisy second moments that leaves intervals behind."""

    target: str

    per_group: ClassVar[bool] = True

    @classmethod
    def of(cls, plan: SufficientStatisticsPlan, target: str) -> AugmentedMomentsPlan:
        """Return the plan that releases what intervals need too, at the same cost.

        Parameters
        ----------
        plan
            A plan of sufficient statistics.
        target
            ``"table"`` or ``"population"``.
        """
        one_of("inference", target, TARGETS)
        problem = plan.problem
        if plan.kind != "gaussian":
            raise Incompatible(
                "Intervals need Gaussian noise, whose law they are computed from. Pass delta > 0, "
                "and leave noise out."
            )
        if plan.moments.outputs > 1:
            raise Incompatible("Intervals are known for one column of labels, not for several.")
        if plan.ridge == "adassp":
            raise Incompatible("Intervals need ridge='stein' or ridge='fixed', not 'adassp'.")
        if not (problem.regularizer.kernel.zero and problem.constraint.whole_space):
            raise Incompatible(
                "Intervals of least squares exist without a constraint and with a ridge as the "
                "only penalty. Leave regularizer and constraint out, or inference."
            )
        if target == "population" and problem.grouping is not None:
            raise Incompatible(
                "Intervals for the population need independent rows, and rows of one group are "
                "not. Use inference='table', or leave rows_per_group out."
            )
        if target == "population" and not problem.intercept and problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. Without an intercept the number of rows is not released, and "
                "intervals for the population need it. Pass n_rows=..., a declared size."
            )
        kept = {name: getattr(plan, name) for name in SufficientStatisticsPlan.__match_args__}
        # privacy: rows of a group count in part, and each would grow by as much as a whole one.
        moments = replace(_balanced(plan.moments), nearest=problem.grouping is None)
        return cls(**kept | {"moments": moments}, target=target)

    @property
    def _size(self) -> int:
        p = self.moments.dimension
        return (p + 1) * (p + 2) // 2

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance between neighbours' statistics, in units of the moments' scales."""
        # privacy: only the product with sqrt(2) rounds; the sums are exact integers
        rounding = 8 * unit_roundoff() * self.moments.capacity * math.sqrt(self._size)
        # privacy: what a group adds is at most so many times what a row does.
        unit = self.problem.per_unit
        return unit * self.moments.augmented_sensitivity(self.problem.neighbours) + rounding

    @cached_property
    def spread(self) -> tuple[float, float]:
        """Standard deviations of the noise on matrix (svec) and vector, in real units."""
        row, each = self.moments.row_scale, self.noise.scale
        return each * row**2, each / math.sqrt(2) * row * self.moments.label_scale

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.noise.event, "inference/augmented-moments")

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        said = f"for {TARGETS[self.target]}; the squares of labels are released for them"
        return super().facts() | {"intervals": said}

    def finish(self, total: Integers, random: Randomness) -> InferredRelease:
        """Return the release of sums over all rows, with what intervals are made of."""
        noisy = self.noisy(total, random)
        weights = self._solve(*self._equations(noisy))
        return InferredRelease(
            weights, with_randomness(self.guarantee, random), self._intervals(noisy)
        )

    def noisy(self, total: Integers, random: Randomness) -> Array:
        """Return the noisy second moments of rows and label, in units of their scales."""
        exact = self.moments.total(self.problem, total) * self.moments.unit
        out = self.noise.add(packed(exact, self._double), random)  # privacy: the only exit of data
        return unpacked(out, len(exact), self._double)

    def _noisy(self, total: Integers, random: Randomness) -> tuple[Array, Array, float]:
        return self._equations(self.noisy(total, random))

    def _equations(self, noisy: Array) -> tuple[Array, Array, float]:
        """Return matrix, vector and the strength they call for, in real units."""
        moments, strength = self.moments, self.strength
        matrix = noisy[:-1, :-1] * moments.row_scale**2
        vector = noisy[:-1, -1] * moments.row_scale * moments.label_scale
        if self.ridge == "stein":
            strength = stein_strength(matrix, vector, *self.spread, least=strength)
        return matrix, vector, strength

    def _intervals(self, noisy: Array) -> MomentIntervals:
        moments, problem = self.moments, self.problem
        rows, units = float(problem.n_rows or 0), units_of(problem.bounding)
        if problem.intercept:
            # A blank row does not count, nor does the true size if it is secret.
            whole = 2.0**moments.bits
            rounded = round if moments.nearest else math.trunc
            declared = problem.intercept / moments.row_scale
            constant = rounded(declared * whole) / whole
            # The sums have it rounded, alike in every row.
            units["constants"][-1] *= constant / declared
            rows = float(noisy[-2, -2]) / constant**2
        return MomentIntervals(
            target=self.target,
            **units,
            matrix=noisy,
            noise=self.noise.scale,
            strength=self.strength / moments.row_scale**2,
            rows=rows,
            stretch=moments.label_scale / moments.row_scale,
        )


def _balanced(moments: SecondMoments) -> SecondMoments:
    """Return moments whose labels are counted in the power of two nearest to the best."""

    def cost(room: float) -> float:
        scaled = replace(moments, label_room=room)
        k = (scaled.label / scaled.label_scale) ** 2
        k /= (scaled.row_norm / scaled.row_scale) ** 2
        return (1 + k) * math.sqrt(1 + 1 / k)

    return replace(moments, label_room=min((1.0, 2.0, 4.0), key=cost))
