"""Sufficient statistics: noise on the second moments of least squares.

Releases ``sum x x'`` and ``sum x y`` with noise and solves the noisy normal
equations; everything after the release is post-processing. One pass over the
data is enough, blocks at a time.

Theorem. The upper triangle with off-diagonal entries times sqrt(2), and the
vector, form one vector of l2 sensitivity ``X sqrt(X^2 + Y^2)`` when a row is
blanked, added or removed, and ``sqrt(2 X^4 + 2 X^2 Y^2 + Y^4/2)`` (``2XY`` if
``Y^2 > 2 X^2``) when it is replaced; rows have norm at most ``X``, labels size
at most ``Y``. With twice the off-diagonal entries the l1 sensitivity is
``X1^2 + X1 Y`` for rows of l1 norm at most ``X1``, and twice that for a
replacement.

The noisy matrix is regularised. ``"stein"`` takes the strength that minimises
an unbiased estimate of the objective, made from released values only. For
Gaussian noise ``B``, ``b`` of variances ``s^2`` (matrix, svec coordinates) and
``t^2`` (vector), ``K = (A + strength I)^-1`` and ``w = K c``, Stein's lemma gives

    E[w'Mw/2 - m'w] = E[w'Aw/2 - c'w + s^2/2 (tr K w'w + w'Kw) + t^2 tr K],

``M, m`` the exact and ``A, c`` the noisy moments. ``"adassp"`` is Wang (2018)
with one joint Gaussian calibration: it also releases the smallest eigenvalue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import solve_triangular

from discreet.accounting import Budget, Guarantee, Pure
from discreet.algorithms.perturbation.second_moments import SecondMoments, packed, unpacked
from discreet.bounds import Array, Integers, unit_roundoff
from discreet.checks import nonnegative, one_of
from discreet.data import Rows, Source
from discreet.errors import Incompatible
from discreet.losses import Squared
from discreet.mechanisms.release_noise import (
    Kind,
    ReleaseNoise,
    default_kind,
    release_noise,
    spent_by,
)
from discreet.noise import Grid, Laplace, Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    Release,
    checked,
    guarantee_for,
    norm_guess_of,
    with_randomness,
)
from discreet.solvers.minimize import minimise
from discreet.solvers.trust_region import trust_region

RidgeRule = Literal["stein", "adassp", "fixed"]
_QUANTILE = 1.645  # normal quantile of 0.95: how far below its release the eigenvalue may lie
_FAILURE = 0.05  # Wang's probability that the noisy matrix is not covered


@dataclass(frozen=True, kw_only=True)
class SufficientStatistics:
    """Noise on the second moments, then the noisy normal equations.

    Parameters
    ----------
    strength
        Least ridge strength, on the sum scale; part of the objective. 0 by default.
    noise
        ``"gaussian"``, ``"gamma"`` or ``"laplace"``; by default the best for
        the budget. Laplace pays off only with ``row_l1``.
    ridge
        How much strength the noise calls for: ``"stein"`` or ``"adassp"``;
        ``"fixed"`` takes ``strength`` as it is.
    row_l1
        Public bound on the l1 norm of bounded rows; longer rows are scaled down.
    label_room
        Power of two by which labels count less in the sensitivity; the vector
        gets that much more noise and the matrix less.
    norm_guess
        Public guess of the norm of good weights, for the printed bound only.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> plan = SufficientStatistics().plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.noise.scale / plan.sensitivity, 4), round(plan.sensitivity, 4)
    (4.2247, 1.4142)
    """

    name: ClassVar[str] = "sufficient-statistics"
    needs_quadratic: ClassVar[bool] = True

    strength: float | None = None
    noise: Kind | None = None
    ridge: RidgeRule = "stein"
    row_l1: float | None = None
    label_room: float = 1.0
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> SufficientStatisticsPlan:
        """Calibrate a run from public values."""
        one_of("ridge", self.ridge, ("stein", "adassp", "fixed"))
        strength = 0.0 if self.strength is None else nonnegative("strength", self.strength)
        if problem.loss.outputs > 1 and not (
            problem.constraint.whole_space and problem.regularizer.kernel.zero
        ):
            raise Incompatible(
                f"{self.name} of several outputs takes no set and no penalty but a ridge. Leave "
                "them out, or fit each output by itself."
            )
        if problem.grouping is not None and self.row_l1 is not None:
            # privacy: a row that counts in part would be shortened to the norm of a whole one.
            raise Incompatible("row_l1 is for single rows, not for groups of them. Leave it out.")
        kind = self.noise
        if kind is None:
            by_entries = budget.delta == 0 and self.row_l1 is not None
            kind = "laplace" if by_entries else default_kind(budget)
        return SufficientStatisticsPlan(
            problem,
            spent_by(kind, budget),
            replace(SecondMoments.of(problem, row_l1=self.row_l1), label_room=self.label_room),
            max(strength, problem.regularizer.strong_convexity),
            kind,
            self.ridge,
            norm_guess_of(problem, self.norm_guess),
        )


@dataclass(frozen=True)
class SufficientStatisticsPlan(CalibratedPlan):
    """A calibrated run of noisy second moments."""

    algorithm: ClassVar[str] = SufficientStatistics.name
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    moments: SecondMoments
    strength: float
    kind: Kind
    ridge: RidgeRule
    norm_guess: float

    @property
    def _size(self) -> int:
        p = self.moments.dimension
        return p * (p + 1) // 2 + p * self.moments.outputs + (self.ridge == "adassp")

    @cached_property
    def _double(self) -> float:
        """Factor of off-diagonal entries that makes every coordinate count alike."""
        return 2.0 if self.kind == "laplace" else math.sqrt(2.0)

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance between neighbours' statistics, in the norm of the noise.

        In units of the moments' scales, like the noise itself.
        """
        moments, reach = self.moments, 2.0 * self.moments.capacity
        # privacy: the moments of a group are at most so many times those of a row.
        unit = self.problem.per_unit
        extra = unit * moments.eigenvalue_sensitivity() if self.ridge == "adassp" else 0.0
        if self.kind == "laplace":
            return unit * moments.l1_sensitivity(self.problem.neighbours) + extra
        # privacy: only the product with sqrt(2) rounds; the sums are exact integers
        rounding = 4 * unit_roundoff() * reach * math.sqrt(self._size)
        return math.hypot(unit * moments.l2_sensitivity(self.problem.neighbours), extra) + rounding

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The noise on the statistics, in units of the moments' scales."""
        reach = 2.0 * self.moments.capacity
        if self.kind != "laplace":
            return release_noise(
                self.sensitivity, self.budget, dimension=self._size, kind=self.kind, reach=reach
            )
        grid = Grid.choose(sensitivity=self.sensitivity, dim=self._size, norm="l1", reach=reach)
        scale = grid.surcharged(self.sensitivity, self._size, "l1") / self.budget.epsilon
        law = Laplace(scale=scale, grid=grid)
        event = Pure(self.budget.epsilon)
        return ReleaseNoise("laplace", law, event, scale, 2 * self._size * scale**2)

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.noise.event, "sufficient-statistics")

    @cached_property
    def spread(self) -> tuple[float, float]:
        """Standard deviations of the noise on matrix (svec) and vector, in real units."""
        each = math.sqrt(self.noise.mean_square / self._size)
        halved = self._double / math.sqrt(2.0)
        scale = self.moments.row_scale
        return each / halved * scale**2, each * scale * self.moments.label_scale

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm."""
        (matrix, vector), p, guess = self.spread, self.moments.dimension, self.norm_guess
        square = matrix**2 * (p + 1) / 2 * guess**2 + vector**2 * p * self.moments.outputs
        strength = max(self.strength, math.sqrt(square) / guess)
        # The pull of a ridge that was asked for is no loss.
        added = strength - self.problem.regularizer.strong_convexity
        return square / (2 * strength) + added * guess**2 / 2

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "ridge": self.ridge,
            "strength": self.strength,
            "sensitivity": self.sensitivity * self.moments.row_scale**2,
            f"{self.kind} noise scale": self.noise.scale * self.moments.row_scale**2,
            "norm guess": self.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    @checked
    def run(self, source: Source, random: Randomness) -> Release:
        """Sum, release with noise, and solve."""
        return self.finish(self.moments.partial(self.problem, source), random)

    def partial(self, source: Source) -> Integers:
        """Return the sums over some of the rows: integers, of which those of all parts add up.

        Secret: they hold no noise. Rows may lie on several machines, each with a copy of the
        plan; whoever adds up the partial sums calls :meth:`finish`, once.

        Parameters
        ----------
        source
            Rows that are in no other part.

        Examples
        --------
        >>> import numpy as np
        >>> from discreet import Bounds, PrivateRidge
        >>> from discreet.data import ArraySource
        >>> from discreet.noise import System
        >>> X = np.linspace(-1, 1, 900).reshape(-1, 1)
        >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
        >>> plan = PrivateRidge(bounds=bounds, algorithm="sufficient-statistics").plan(1, 900)
        >>> sums = [plan.partial(ArraySource(X[k::3], X[k::3, 0])) for k in range(3)]
        >>> release = plan.finish(sum(sums), System())
        >>> coef, intercept = plan.problem.bounding.coefficients(release.weights)
        >>> bool(abs(coef[0] - 1) < 0.5)
        True
        """
        if self.problem.grouping is not None:
            # privacy: what a group may add is counted over all its rows, wherever they are.
            raise Incompatible("Rows of one group may be in several parts. Fit them in one place.")
        return self.moments.partial(self.problem, source)

    def finish(self, total: Integers, random: Randomness) -> Release:
        """Return the release of sums over all rows: noise is drawn here and nowhere else.

        Parameters
        ----------
        total
            The sum of what :meth:`partial` returned for parts that hold every row once.
        random
            Where noise comes from. A second call is a second release, and costs as much.
        """
        weights = self._solve(*self._noisy(total, random))
        return Release(weights, with_randomness(self.guarantee, random))

    def released(self, source: Source, random: Randomness) -> tuple[Array, Array, float]:
        """Return noisy matrix, noisy vector and the strength they call for, in real units."""
        return self._noisy(self.moments.partial(self.problem, source), random)

    def _noisy(self, total: Integers, random: Randomness) -> tuple[Array, Array, float]:
        moments, p = self.moments, self.moments.dimension
        gram, cross = (m * moments.unit for m in moments.split(moments.total(self.problem, total)))
        parts, size = [packed(gram, self._double), cross.ravel()], p * (p + 1) // 2
        if self.ridge == "adassp":
            parts.append(np.linalg.eigvalsh(gram)[:1].astype(np.float64))
        out = self.noise.add(np.concatenate(parts), random)  # privacy: the only exit of data
        square = moments.row_scale**2
        matrix = unpacked(out[:size], p, self._double) * square
        vector = out[size:][: cross.size].reshape(cross.shape)
        vector = vector * moments.row_scale * moments.label_scale
        if self.ridge == "fixed":
            return matrix, vector, self.strength
        if self.ridge == "adassp":
            return matrix, vector, self._adassp(float(out[-1]) * square)
        return matrix, vector, stein_strength(matrix, vector, *self.spread, least=self.strength)

    def _adassp(self, eigenvalue: float) -> float:
        sigma, p = self.spread[0], self.moments.dimension
        known = max(0.0, eigenvalue - _QUANTILE * sigma)
        wanted = sigma * math.sqrt(p * math.log(2 * p * p / _FAILURE)) - known
        return max(wanted, self.strength)

    def _solve(self, matrix: Array, vector: Array, strength: float) -> Array:
        """Minimise the noisy objective over the problem's set."""
        problem, p = self.problem, self.moments.dimension
        kernel, domain = problem.regularizer.kernel, problem.constraint
        regularised = matrix + strength * np.eye(p)
        # A public radius keeps the answer finite when noise makes the matrix singular.
        usual = 64 * norm_guess_of(problem, None)
        if vector.ndim == 2:
            return np.column_stack(
                [trust_region(regularised, column, usual) for column in vector.T]
            )
        if kernel.zero and (domain.whole_space or domain.norm == "l2"):
            radius = domain.radius(p)
            return trust_region(regularised, vector, radius if math.isfinite(radius) else usual)
        # Any other penalty or set needs a convex objective: raise the eigenvalues, and write
        # the quadratic as least squares over p artificial rows.
        values, basis = np.linalg.eigh(regularised)
        floor = 1e-6 * max(float(np.abs(values).max()), self.spread[0])
        safe = (basis * np.maximum(values, floor)) @ basis.T
        lower = np.linalg.cholesky(safe)
        rows = Rows(lower.T.copy(), solve_triangular(lower, vector, lower=True))
        return minimise(
            rows,
            Squared(),
            linear=np.zeros(p),
            strength=0.0,
            regularizer=kernel,
            constraint=domain,
            tolerance=1e-6 * max(float(np.linalg.norm(vector)), self.spread[1]),
        )


def stein_strength(
    matrix: Array, vector: Array, matrix_noise: float, vector_noise: float, *, least: float = 0.0
) -> float:
    """Return the ridge strength that minimises Stein's estimate of the objective.

    Parameters
    ----------
    matrix, vector
        Released second moments; the second has a column for each of several outputs.
    matrix_noise, vector_noise
        Standard deviations of their noise (matrix: of its diagonal).
    least
        Strength that belongs to the objective itself.

    Examples
    --------
    >>> round(stein_strength(np.eye(2) * 1e6, 1e6 * np.ones(2), 1.0, 1.0), 6)
    0.01
    """
    values, basis = np.linalg.eigh(matrix)
    turned = (basis.T @ vector).reshape(len(values), -1).T  # the estimate of a sum is their sum
    # Near a singular matrix the estimate has no finite variance, so stay clear of it.
    floor = 0.5 * matrix_noise * math.sqrt(len(values)) - float(values[0])
    top = 4 * max(float(np.abs(values).max()), matrix_noise * len(values), floor, least)
    grid = np.geomspace(1e-2 * matrix_noise, top, 200)
    grid = np.unique(np.maximum(grid, max(least, floor, 0.0)))
    shifted = values + grid[:, None]
    inverse, total = (1 / shifted).sum(axis=1), np.zeros(len(grid))
    for part in turned:
        w = part / shifted
        square = (w * w).sum(axis=1)
        fit = 0.5 * (values * w * w).sum(axis=1) - w @ part + 0.5 * least * square
        noise = 0.5 * matrix_noise**2 * (inverse * square + (w * w / shifted).sum(axis=1))
        total += fit + noise + vector_noise**2 * inverse
    return float(grid[np.argmin(total)])
