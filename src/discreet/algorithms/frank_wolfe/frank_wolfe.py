"""Private Frank-Wolfe: each step moves towards a privately chosen vertex.

Minimises ``sum_i weight_i f(<x_i, w>; y_i)`` over a bounded set, by
``w <- (1 - gamma) w + gamma v`` with ``gamma = 2 / (k + 2)`` at step ``k = 0, 1, ...``.

*Polytopes* (Talwar, Thakurta, Zhang 2015, with corrected constants). A vertex
``v`` has the score ``<v, gradient>``. One row moves the scores by amounts that
differ by at most ``a S spread`` between vertices: ``S`` bounds the row's
weighted slope, ``spread`` is how far a row tells vertices apart, ``a`` is 1 for
zero-out and add-remove and 2 for replace-one. The exponential mechanism at
scale ``a S spread / eta`` is then ``eta``-bounded-range, and steps compose as in
:mod:`discreet.mechanisms.bounded_range`; without a delta, permute-and-flip with
``eta = epsilon / steps``.

*Other sets*: Gaussian noise on the gradient, then the set's linear oracle; the
steps are together one Gaussian mechanism.

Privacy needs no convexity and no correct choice of ``steps``. The number of
rows enters only the default ``steps`` and printed bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from discreet.accounting import Budget
from discreet.algorithms.frank_wolfe.common import MOST_STEPS, NAME, largest_entry
from discreet.algorithms.frank_wolfe.gaussian_plan import GaussianFrankWolfePlan
from discreet.algorithms.frank_wolfe.polytope_plan import FrankWolfePlan
from discreet.algorithms.frank_wolfe.vertices import vertices_of
from discreet.checks import integer, nonnegative, one_of
from discreet.errors import Incompatible, MissingBound
from discreet.problem import Problem, instead_of, norm_guess_of
from discreet.sets import L1Ball

Choice = Literal["exponential", "permute-and-flip", "gaussian"]
CHOICES = ("exponential", "permute-and-flip", "gaussian")
AnyPlan = FrankWolfePlan | GaussianFrankWolfePlan


@dataclass(frozen=True, kw_only=True)
class FrankWolfe:
    """Steps towards privately chosen vertices of a bounded set.

    Parameters
    ----------
    steps
        Number of steps, public. By default the number that minimises the bound
        on the excess at a usual curvature, far below the worst one.
    noise
        ``"exponential"`` (the exponential mechanism), ``"permute-and-flip"`` or
        ``"gaussian"``. By default the first for polytopes, the second for
        polytopes without a delta, the third for other sets.
    stale
        Margin by which a sparse row may be out of date before its slope is
        renewed: fast steps for losses other than squared, at the price of a
        small bias. None computes every gradient afresh.
    norm_guess
        Radius of the l1 ball used when the problem has no constraint.
    strength
        Not supported: Frank-Wolfe has no ridge term.

    References
    ----------
    Talwar, Thakurta, Zhang, *Nearly-optimal private LASSO*, NeurIPS 2015.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(features=(-1, 1), label=(-1, 1)),
    ...                   n_features=1000, n_rows=5000, constraint=L1Ball(radius=1.0))
    >>> plan = FrankWolfe(steps=20).plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.range, 4), round(plan.eta, 4)
    (4.0, 0.0987)
    """

    name: ClassVar[str] = NAME

    steps: int | None = None
    noise: Choice | None = None
    stale: float | None = None
    norm_guess: float | None = None
    strength: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> AnyPlan:
        """Calibrate a run from public values."""
        if self.steps is not None:
            integer("steps", self.steps)
        if self.stale is not None:
            nonnegative("stale", self.stale)
        if problem.constraint.whole_space:
            ball = L1Ball(radius=norm_guess_of(problem, self.norm_guess))
            problem = replace(problem, constraint=ball)
        self._check(problem)
        draft = self._draft(problem, budget)
        return replace(draft, steps=self._count(draft))

    def fitting_ball(self, problem: Problem, budget: Budget) -> L1Ball:
        """Return an l1 ball that the steps can make use of, from public values.

        Its radius is the root of the number of steps over the largest entry of
        a row: the curvature grows with the square of the radius, and steps have
        to make up for it. Meant for losses whose slope does not grow with it.

        >>> from discreet.losses import Logistic
        >>> from discreet.bounds import Bounds
        >>> problem = Problem(loss=Logistic(), bounds=Bounds(features=(-1, 1), classes=(0, 1)),
        ...                   n_features=1000, n_rows=5000)
        >>> FrankWolfe(steps=16).fitting_ball(problem, Budget(1.0, 1e-6))
        L1Ball(radius=4.0)
        """
        peak = largest_entry(problem)
        ball = L1Ball(radius=1.0 / peak)
        # The steps grow as a small power of the radius, so this converges soon.
        for _ in range(12):
            inside = replace(problem, constraint=ball)
            self._check(inside)
            # Counting steps takes no calibration of them.
            steps = self._count(self._draft(inside, budget))
            ball = L1Ball(radius=math.sqrt(steps) / peak)
        return ball

    def _check(self, problem: Problem) -> None:
        if self.strength is not None:
            raise Incompatible("frank-wolfe has no ridge term. Shrink the constraint set instead.")
        if not problem.regularizer.zero:
            raise Incompatible(
                "frank-wolfe minimises the loss alone; leave the regularizer empty and shrink the "
                "constraint set instead."
            )
        if not math.isfinite(problem.constraint.radius(problem.dimension)):
            raise Incompatible(
                "frank-wolfe needs a bounded set. Pass constraint=L1Ball(radius=...)."
            )
        if problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. The default number of steps and the rounding of sums depend "
                "on it, and the true size is secret under add-remove neighbours. Pass n_rows=..., "
                "a declared size."
            )
        smoothness = problem.loss.regularity(
            label=problem.bounding.label_bound, reach=1.0
        ).smoothness
        if not math.isfinite(smoothness):
            raise Incompatible(
                f"frank-wolfe needs a smooth loss; {problem.loss.name!r} has corners. "
                f"{instead_of(problem.loss)}"
            )

    def _count(self, draft: AnyPlan) -> int:
        return min(draft.default_steps(), MOST_STEPS) if self.steps is None else self.steps

    def _draft(self, problem: Problem, budget: Budget) -> AnyPlan:
        """Return a plan of one step."""
        vertices = None
        if problem.loss.outputs == 1:
            vertices = vertices_of(problem.constraint, problem.dimension)
        usual = "permute-and-flip" if budget.delta == 0 else "exponential"
        noise = one_of("noise", self.noise or (usual if vertices else "gaussian"), CHOICES)
        if noise == "gaussian":
            if budget.delta == 0:
                raise Incompatible(
                    "frank-wolfe with Gaussian noise needs delta > 0. Pass delta, or a polytope as "
                    "the constraint."
                )
            return GaussianFrankWolfePlan(problem, budget, 1)
        if vertices is None:
            raise Incompatible(
                f"noise={noise!r} chooses among vertices, and {problem.constraint.name!r} weights "
                f"of {problem.loss.outputs} output(s) have none to list. Use noise='gaussian'."
            )
        return FrankWolfePlan(problem, budget, vertices, 1, noise == "permute-and-flip", self.stale)
