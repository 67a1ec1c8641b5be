"""Newton steps after objective perturbation, where rows are very many.

The certificate of objective perturbation covers the rounding errors of all rows, which
grow with their number, and noise on the weights has to hide them. From some millions of
rows on this noise is larger than the one that protects a row. A noisy sum has no such
problem: the rows that two neighbours share round alike, so its noise stays the same
however many rows there are. So objective perturbation finds weights with a small
part of the budget, and the rest goes to a noisy Hessian and two noisy gradients, each at
the best weights so far::

    minimise  <G, w - v> + (w - v)'H(w - v)/2 + reg(w)   over the set

The noise of the last gradient ``G`` is divided by the curvature ``H`` of all rows: the
noise of the weights falls like one over their number.

Theorem. Gradient and Hessian of the sum at weights that are released already are sums over
rows of bounded parts; what is made of them, and of the earlier releases, is
post-processing. All releases compose as adaptive mechanisms do.

Accuracy. With ``d`` the distance of the first weights from the minimiser, the two steps
end about ``d^3`` times a constant of the loss from it, beside the noise. No bound on the excess
is claimed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import Budget, Composed, Event, Gaussian, Pure, gaussian_multiplier
from discreet.bounds import Array, rows_apart
from discreet.data import Rows
from discreet.data.certified import loop_pays
from discreet.data.cluster import sums_of
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows
from discreet.mechanisms.hessian_noise import HessianNoise
from discreet.noise import Randomness
from discreet.problem import Problem
from discreet.regularizers import combined_prox
from discreet.solvers.proximal import solve_model
from discreet.tuned.algorithms import NEWTON_FIRST, NEWTON_HESSIAN, NEWTON_LAST


@dataclass(frozen=True)
class Correction:
    """Two Newton steps with one noisy Hessian, from weights that are released already.

    Parameters
    ----------
    problem
        The problem.
    budget
        What both steps may cost.
    ridge
        Strength of a ridge that was asked for, beside the regularizer of the problem.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=10**8)
    >>> correction = Correction(problem, Budget(1.0, 1e-6))
    >>> round(correction.event.delta(1.0), 12)
    1e-06
    >>> correction.spread < 1e-5
    True
    """

    problem: Problem
    budget: Budget
    ridge: float = 0.0

    @property
    def _shifting(self) -> bool:
        """Whether the positions of rows may differ between neighbours."""
        return self.problem.neighbours == "add-remove"

    @cached_property
    def _single_multiplier(self) -> float:
        """Noise multiplier of a single release that costs the budget, if there is a delta."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        # privacy: a hair more, for shares whose squares add up to a hair more than the whole.
        return gaussian_multiplier(epsilon, delta) * (1 + 2.0**-50) if delta > 0 else math.nan

    def _epsilon(self, share: float) -> float:
        """Return a share of epsilon, if there is no delta."""
        # privacy: a hair less, so that rounded shares add up to no more than the whole.
        return share * self.budget.epsilon * (1 - 2.0**-50)

    @cached_property
    def gradients(self) -> tuple[GradientNoise, GradientNoise]:
        """The noise of both gradients."""
        return self._gradient(NEWTON_FIRST), self._gradient(NEWTON_LAST)

    def _gradient(self, share: float) -> GradientNoise:
        problem, clip = self.problem, self.problem.terms.lipschitz
        rows, shifting = most_rows(problem), self._shifting
        if self.budget.delta == 0:
            epsilon = self._epsilon(share)
            return GradientNoise.pure(clip, epsilon, problem, n_rows=rows, shifting=shifting)
        multiplier = rows_apart(problem.neighbours) * self._single_multiplier / math.sqrt(share)
        return GradientNoise.gaussian(clip, multiplier, problem, n_rows=rows, shifting=shifting)

    @cached_property
    def hessian(self) -> HessianNoise:
        """The noise of the Hessian."""
        problem, rows, shifting = self.problem, most_rows(self.problem), self._shifting
        if self.budget.delta == 0:
            epsilon = self._epsilon(NEWTON_HESSIAN)
            return HessianNoise.pure(problem, epsilon, n_rows=rows, shifting=shifting)
        multiplier = self._single_multiplier / math.sqrt(NEWTON_HESSIAN)
        return HessianNoise.gaussian(problem, multiplier, n_rows=rows, shifting=shifting)

    @property
    def floor(self) -> float:
        """Least curvature a step divides by; less would be noise."""
        return self.hessian.spectral

    @property
    def event(self) -> Event:
        """What both steps cost."""
        shares = NEWTON_HESSIAN, NEWTON_FIRST, NEWTON_LAST
        if self.budget.delta == 0:
            return Composed(tuple(Pure(self._epsilon(share)) for share in shares))
        return Composed(
            tuple(Gaussian(self._single_multiplier / math.sqrt(share)) for share in shares)
        )

    @property
    def spread(self) -> float:
        """Root mean square of the weights' noise if every row is curved as usual for the loss."""
        # The Hessian may be off by its noise, and so may the step that it scales.
        usual = self.problem.usual_curvature + self.ridge
        return math.sqrt(self.gradients[1].mean_square) / max(usual - self.floor, self.floor)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the steps."""
        return {
            "noise scale of the Hessian": self.hessian.scale,
            "noise scale of the first gradient": self.gradients[0].scale,
            "noise scale of the last gradient": self.gradients[1].scale,
        }

    def fitted(self, rows: Rows, weights: Array, random: Randomness) -> Array:
        """Return better weights than these, which are released already."""
        loss, shifting = self.problem.loss, self._shifting
        # privacy: which code it is rounds differently, so it goes by the public number of rows.
        assert self.problem.n_rows is not None
        compiled = loop_pays(loss, self.problem.n_rows * self.problem.dimension)
        with np.errstate(all="ignore"):  # privacy: a warning of numpy would tell of the rows.
            exact = rows.hessian(loss, weights, shifting=shifting, compiled=compiled)
        # privacy: the only exits of data here, this one and the sums below.
        values, vectors = np.linalg.eigh(self.hessian.add(exact, random))
        matrix = (vectors * np.maximum(values, self.floor)) @ vectors.T
        with sums_of(rows, loss, shifting=shifting, work=math.inf if compiled else 0.0) as sums:
            for noise in self.gradients:
                total = sums.full(weights, self.problem.terms.lipschitz)
                weights = self._step(weights, noise.add(total, random), matrix)
        return weights

    def _step(self, weights: Array, gradient: Array, matrix: Array) -> Array:
        """Minimise the quadratic model, penalties and set included."""
        penalty, domain = self.problem.regularizer, self.problem.constraint
        ridge = self.ridge + penalty.strong_convexity
        full, pull = matrix + ridge * np.eye(len(matrix)), gradient + ridge * weights
        if penalty.kernel.zero and domain.whole_space:
            return weights - np.linalg.solve(full, pull.ravel()).reshape(weights.shape)
        top = 1.01 * float(np.linalg.eigvalsh(full)[-1])
        goal = 1e-12 * (float(np.linalg.norm(pull)) + top * float(np.linalg.norm(weights)))
        return solve_model(full, top, weights, pull, combined_prox(penalty.kernel, domain), goal)
