"""Private Frank-Wolfe over a polytope: the plan of :class:`~discreet.algorithms.FrankWolfe`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Event, Guarantee
from discreet.algorithms.frank_wolfe.common import (
    MARGIN,
    NAME,
    assumptions,
    iterate,
    largest_entry,
    rounded_rows,
)
from discreet.algorithms.frank_wolfe.sparse_steps import (
    COMPILED_FROM,
    ROOM,
    SquaredSteps,
    StaleSteps,
    Steps,
    squared_rounding,
    term_grid,
)
from discreet.algorithms.frank_wolfe.vertices import CrossPolytope, Vertices
from discreet.bounds import Array
from discreet.data import Rows, Source, block_rows, gamma
from discreet.errors import MissingBound
from discreet.mechanisms.bounded_range import per_round, rho_of
from discreet.mechanisms.signed_choice import MOST_CLASSES, classes_of
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    releasing,
)
from discreet.tuned.algorithms import FRANK_WOLFE_CURVATURE

MOST_ROUNDING = 2.0**-6
"""Relative surcharge for rounding above which a faster but rougher kernel is not used."""


@dataclass(frozen=True)
class FrankWolfePlan(CalibratedPlan):
    """A calibrated run over the vertices of a polytope."""

    algorithm: ClassVar[str] = NAME
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    vertices: Vertices
    steps: int
    pure: bool
    stale: float | None

    @cached_property
    def peak(self) -> float:
        """Largest entry of a bounded row, intercept included."""
        return largest_entry(self.problem)

    @property
    def reach(self) -> float:
        """Largest margin of a row over the set."""
        return MARGIN * self.vertices.reach(self.peak, self.problem.row_norm)

    @cached_property
    def slope(self) -> float:
        """Largest slope of the loss at a margin the set allows."""
        reach = self.reach
        loss, label = self.problem.loss, self.problem.bounding.label_bound
        bound = loss.regularity(label=label, reach=reach).lipschitz
        if loss.target == "sign" and loss.proved_convex:
            # privacy: a convex loss is steepest at the ends of the reach, for either label, and a
            # gradient clip only makes it less steep. Of other losses the constants alone count.
            z, y = np.array([-reach, reach] * 2), np.array([-1.0, -1.0, 1.0, 1.0])
            bound = min(bound, float(np.abs(loss.inner.slope(z, y)).max()))
        if not math.isfinite(bound):
            raise MissingBound(
                f"The slope of the {loss.name} loss is unbounded here, and noise is scaled to its "
                "bound. Declare bounds.label."
            )
        return MARGIN * bound

    @property
    def weight(self) -> float:
        """Largest weighted slope of a row."""
        return self.problem.bounds.weight * self.slope

    @cached_property
    def range(self) -> float:
        """How differently one row moves the scores of two vertices, in real arithmetic."""
        spread = self.vertices.spread(self.peak, self.problem.row_norm)
        return self.problem.apart * self.weight * spread

    @cached_property
    def curvature(self) -> float:
        """Curvature constant of the mean loss over the polytope."""
        spread = self.vertices.spread(self.peak, self.problem.row_norm)
        return self.problem.bounds.weight * self._smoothness * spread**2

    @property
    def _smoothness(self) -> float:
        label = self.problem.bounding.label_bound
        return self.problem.loss.regularity(label=label, reach=self.reach).smoothness

    @cached_property
    def fast(self) -> str | None:
        """Which fast kernel serves sparse rows: ``"squared"``, ``"stale"`` or None."""
        # privacy: the fast kernels pay for the rounding of one row's terms, not of a group's.
        grouped = self.problem.grouping is not None
        if self.pure or grouped or not isinstance(self.vertices, CrossPolytope):
            return None
        if classes_of(self.most + ROOM) > MOST_CLASSES:
            return None
        rows = rounded_rows(self.problem)
        if self.problem.loss.quadratic:
            return "squared" if rows * squared_rounding(rows, self.steps) < MOST_ROUNDING else None
        return None if self.stale is None else "stale"

    @property
    def most(self) -> float:
        """Bound on the log-weight of a vertex."""
        largest = rounded_rows(self.problem) * self.weight * self.peak * self.vertices.sizes[0]
        # The scale is at least the range over eta.
        return MARGIN * largest * self.eta / self.range + 1.0

    @cached_property
    def rounding(self) -> float:
        """Bound on the rounding error of one score, on any of the kernels."""
        rows = rounded_rows(self.problem)
        block = block_rows(self.problem.dimension, sparse=True)
        relative = gamma(block + self.vertices.terms + 32)
        if self.fast == "squared":
            relative = max(relative, squared_rounding(rows, self.steps))
        # privacy: a row that moved to another position may get another margin, by the rounding
        # of as many products as the weights have entries, and so another slope.
        entries = min(self.problem.dimension, self.steps * self.vertices.support)
        relative += self._smoothness * self.reach / self.slope * gamma(entries + 8)
        return relative * rows * self.weight * self.peak * self.vertices.sizes[0]

    @cached_property
    def _calibrated(self) -> tuple[float, Event]:
        return per_round(self.budget, self.steps, bounded=not self.pure)

    @property
    def eta(self) -> float:
        """Bounded range of one step."""
        return self._calibrated[0]

    @cached_property
    def scale(self) -> float:
        """Noise scale of the scores, on the scale of the sum."""
        # privacy: each score of each neighbour is off by at most the rounding, so the range
        # of their differences grows by four times that.
        paid = self.range + 4.0 * self.rounding
        if self.fast == "stale":
            paid += 2.0 * self.vertices.sizes[0] * self._grid
        return paid / self.eta

    @property
    def _grid(self) -> float:
        return term_grid(rounded_rows(self.problem), self.weight * self.peak)

    def default_steps(self) -> int:
        """Return the steps that minimise the bound on the excess at usual curvature."""
        assert self.problem.n_rows is not None
        noise = self.range * self.vertices.log_count / self.problem.n_rows
        gain = self.curvature / FRANK_WOLFE_CURVATURE / noise
        if self.budget.delta == 0:
            return max(1, math.ceil(math.sqrt(2.0 * gain * self.budget.epsilon)))
        rho = rho_of(self.budget) / (4.0 if self.pure else 1.0)
        return max(1, math.ceil(math.pow(4.0 * gain * math.sqrt(8.0 * rho), 2.0 / 3.0)))

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        cost = self._calibrated[1]
        return guarantee_for(self, cost, "frank-wolfe/polytope", *assumptions(self.problem))

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) over the set."""
        assert self.problem.n_rows is not None
        optimisation = 2.0 * self.problem.n_rows * self.curvature / (self.steps + 1)
        return optimisation + self.scale * self.vertices.log_count

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "steps": self.steps,
            "range of one row": self.range,
            "bounded range per step": self.eta,
            "selection noise scale": self.scale,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Choose the vertices one after the other."""
        problem, rows = self.problem, self.problem.bound(source)
        kernel = self._kernel(rows)

        def vertex(weights: Array) -> Array:
            gradient = rows.gradient(problem.loss, weights)
            return self.vertices.choose(gradient, self.scale, random, pure=self.pure)

        if kernel is None:
            return iterate(np.zeros(problem.shape), self.steps, vertex)
        return self._take_steps(kernel, random)

    def _kernel(self, rows: Rows) -> Steps | None:
        if not rows.sparse or self.fast is None:
            return None
        radius = self.vertices.sizes[0]
        compiled = self.steps * self.problem.dimension >= COMPILED_FROM
        if self.fast == "squared":
            return SquaredSteps(rows, radius, self.scale, most=self.most, compiled=compiled)
        assert self.stale is not None
        return StaleSteps(
            rows,
            self.problem.loss,
            radius,
            self.scale,
            tolerance=self.stale,
            slope=self.slope,
            grid=self._grid,
            most=self.most,
            compiled=compiled,
        )

    def _take_steps(self, kernel: Steps, random: Randomness) -> Array:
        """Run a fast kernel; only the coordinates it visits are ever written."""
        place: dict[int, int] = {}
        visited = np.zeros(self.steps)
        for k in range(self.steps):
            step = 2.0 / (k + 2.0)
            j, sign = kernel.draw(random)
            kernel.move(j, sign, step)
            visited[: len(place)] *= 1.0 - step
            visited[place.setdefault(j, len(place))] += step * sign * self.vertices.sizes[0]
        weights = np.zeros(self.problem.shape)
        weights[list(place)] = visited[: len(place)]
        return weights
