"""Objective perturbation, released through approximate minima.

Solves ``min over F of sum_i f(<x_i, w>; y_i) + reg(w) + strength/2 ||w||^2 +
<b, w>`` for a random ``b`` and releases the minimiser.

Theorem. For a convex loss with bounded gradient and Hessian the minimiser is
private for gamma-radius noise (pure epsilon) and, for generalised linear
losses, for Gaussian noise (epsilon, delta): Kifer, Smith, Thakurta (2012) with
the calibrations of :mod:`discreet.accounting.objective_noise`. Hard constraints and
non-smooth regularizers cost nothing extra.

No solver returns the exact minimiser, so the release goes through approximate
minima perturbation (Iyengar et al. 2019, corrected): a certificate places the
computed point within ``tolerance / strength`` of the exact minimiser, and a
small second noise hides where. The certificate also covers the distance
between the drawn ``b`` and the ideal continuous one.

The certificate covers the rounding errors of all rows, so from some millions of rows on
the second noise would be the larger one. There two noisy Newton steps follow, see
:mod:`discreet.algorithms.perturbation.correction`.

Assumptions: rows are bounded by clipping, ``strength`` and all noise scales
depend on public values only, and nothing is released without a certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from discreet.accounting import (
    GAMMA_MODES,
    MODES,
    Budget,
    Composed,
    Event,
    Guarantee,
    Pure,
    best_mode,
    default_strength,
    gamma_scale,
)
from discreet.accounting.gamma import GAMMA_THEOREMS, best_gamma_mode, gamma_floor
from discreet.accounting.terms import MOST_IN_POLYTOPE
from discreet.accounting.theorems import theorems
from discreet.accounting.utility import mean_squared_noise, objective_excess
from discreet.algorithms.perturbation.correction import Correction
from discreet.bounds import Array
from discreet.checks import nonnegative, one_of
from discreet.data import Rows, Source
from discreet.errors import Incompatible
from discreet.mechanisms.gradient_noise import size_assumed
from discreet.mechanisms.release_noise import ReleaseNoise, release_noise, spent_by
from discreet.noise import GammaSphere, Gaussian, Grid, Noise, Randomness
from discreet.noise.grid import MOST_STEPS
from discreet.problem import (
    NOMINAL_ROWS,
    CalibratedPlan,
    Problem,
    check_solvable,
    guarantee_for,
    norm_guess_of,
    releasing,
    rows_against_noise,
    solver_error,
)
from discreet.solvers.minimize import minimise
from discreet.solvers.newton import DENSE
from discreet.tuned.algorithms import (
    ENOUGH_ROWS,
    NEWTON_NOISE,
    NEWTON_ROWS,
    NEWTON_RUN,
    OUTPUT_SHARES,
    STRETCH,
)

KINDS = ("gaussian", "gamma")
"""Laws of the random linear term."""

APPROXIMATE = "objective-perturbation/approximate-minima"
STEPS = "objective-perturbation/newton-steps"
"""What lets a certified approximate minimiser stand for the exact one."""


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation:
    """A random linear term in the objective, then a certified approximate minimiser.

    Parameters
    ----------
    mode
        Calibration: ``"logistic"``, ``"sharp"``, ``"rkw23"``, ``"rkw23-tight"``
        or ``"kst12"`` for Gaussian noise; ``"logistic"``, ``"tight"``,
        ``"kst12"`` or ``"cms11"`` for pure epsilon. ``"auto"`` takes the best
        valid one.
    strength
        Least ridge strength, on the sum scale; raised to what the calibration needs and to
        what weights of the guessed norm call for under the noise.
    norm_guess
        Public guess of the norm of good weights, for the strength and the printed bound;
        privacy does not depend on it. The ridge is for shorter weights where noise
        dominates, and for longer ones of a classifier with many rows.
    noise
        ``"gaussian"``, or ``"gamma"``, which leaves the delta of the budget unspent; by
        default the one for the budget.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> plan = ObjectivePerturbation(norm_guess=1e6).plan(problem, Budget(1.0, 1e-5))
    >>> round(plan.strength, 3), round(plan.scale, 3)
    (0.502, 4.144)
    """

    name: ClassVar[str] = "objective-perturbation"

    mode: str = "auto"
    strength: float | None = None
    norm_guess: float | None = None
    noise: Literal["gaussian", "gamma"] | None = None

    def plan(self, problem: Problem, budget: Budget) -> ObjectivePerturbationPlan:
        """Calibrate a run from public values."""
        budget = self._accepted(problem, budget)
        asked = 0.0 if self.strength is None else nonnegative("strength", self.strength)
        plan = self._best(problem, budget, 0.0)
        # A ridge that is no stronger than the one taken anyhow, but for rounding, changes nothing.
        enough = plan.correction is None and asked <= plan.strength * (1 + 2.0**-40)
        return plan if enough or asked == 0.0 else self._best(problem, budget, asked)

    def may_correct(self, problem: Problem, budget: Budget) -> bool:
        """Return whether the plan may have Newton steps, without planning what else may be best."""
        if self.strength:
            return many_rows(problem)
        budget = self._accepted(problem, budget)
        first = self._calibrated(problem, budget, OUTPUT_SHARES[0], 0.0)
        return not first.output_is_small and self._corrects(first, 0.0)

    def _accepted(self, problem: Problem, budget: Budget) -> Budget:
        """Return the budget that is spent, or refuse what the theorem does not cover."""
        if self.noise is not None:
            one_of("noise", self.noise, KINDS)
        budget = spent_by(self.noise, budget)
        check_solvable(problem, self.name, polytopes=True)
        everywhere = problem.loss.regularity(label=problem.bounding.label_bound, reach=math.inf)
        if not problem.terms.scalar and math.isinf(everywhere.lipschitz):
            # privacy: the proof moves weights through all of space. A loss of one inner product
            # goes on straight beyond the set; for others nothing says how.
            raise Incompatible(
                f"{self.name} needs a loss of bounded slope everywhere, or of one inner product; "
                f"the slope of {problem.loss.name!r} is bounded on the set only. Use "
                "output-perturbation or noisy-gradient."
            )
        if budget.delta > 0:
            check_group(problem, self.name)
        return budget

    def _best(self, problem: Problem, budget: Budget, asked: float) -> ObjectivePerturbationPlan:
        first = self._calibrated(problem, budget, OUTPUT_SHARES[0], asked)
        if first.output_is_small:
            return first
        if self._corrects(first, asked):
            return self._corrected(problem, budget, asked)
        best = min(OUTPUT_SHARES, key=lambda share: first.draft(*budget.split(share)).spread)
        return self._calibrated(problem, budget, best, asked)

    def _corrects(self, first: ObjectivePerturbationPlan, asked: float) -> bool:
        """Return whether a small run with steps leaves less noise than this one alone."""
        if not many_rows(first.problem):
            return False
        _, rest = first.budget.split(NEWTON_RUN)
        return Correction(first.problem, rest, asked).spread <= NEWTON_NOISE * first.spread

    def _corrected(
        self, problem: Problem, budget: Budget, asked: float
    ) -> ObjectivePerturbationPlan:
        """Return the plan with a small part of the budget, and steps with the rest."""
        part, rest = budget.split(NEWTON_RUN)
        # Output noise falls with the strength of the ridge and its pull rises: they shall be equal.
        tolerance = 4 * solver_error(problem)
        output = release_noise(
            tolerance, part.split(OUTPUT_SHARES[-1])[0], dimension=problem.dimension
        )
        pulled = 2 * math.sqrt(output.mean_square) * problem.usual_curvature
        strength = math.sqrt(pulled / norm_guess_of(problem, self.norm_guess))
        run = self._calibrated(problem, part, OUTPUT_SHARES[-1], max(strength, asked))
        return replace(run, budget=budget, correction=Correction(problem, rest, asked))

    def _calibrated(
        self, problem: Problem, budget: Budget, share: float, asked: float
    ) -> ObjectivePerturbationPlan:
        mode = self.calibration(problem, budget)
        output, inner = budget.split(share)
        aim = self.aim(problem, inner)
        terms, neighbours = problem.unit_terms, problem.neighbours
        least, _ = default_strength(
            terms,
            mode,
            inner.epsilon,
            inner.delta,
            neighbours,
            problem.dimension,
            aim,
        )
        strength = max(least, asked, problem.regularizer.strong_convexity)
        if mode == "logistic" and not terms.scalar:
            # privacy: below it the rule for one row says nothing about the rows of a group.
            strength = max(strength, gamma_floor(terms, inner.epsilon, neighbours))
        # privacy: the scale is computed at the strength that is really used
        if budget.delta > 0:
            scale = MODES[mode].sigma(terms, inner.epsilon, inner.delta, strength, neighbours)
        else:
            scale = gamma_scale(terms, inner.epsilon, strength, neighbours, mode)
        guess = norm_guess_of(problem, self.norm_guess)
        return ObjectivePerturbationPlan(
            problem, budget, inner, output, mode, strength, scale, guess, aim
        )

    def aim(self, problem: Problem, budget: Budget) -> float:
        """Return the norm the ridge is for; long weights are out of reach where noise dominates."""
        guess = norm_guess_of(problem, self.norm_guess)
        # Classes may be separable, and then weights are worth any length that rows can pay for.
        most = STRETCH if problem.loss.target in ("sign", "index") else 1.0
        stretch = math.sqrt(rows_against_noise(problem, budget) / ENOUGH_ROWS)
        return guess * min(most, max(0.25, stretch))

    def calibration(self, problem: Problem, budget: Budget) -> str:
        """Return the name of the rule that sets the noise."""
        terms, gaussian = problem.unit_terms, budget.delta > 0
        if self.mode != "auto":
            kind = "with delta > 0" if gaussian else "with delta = 0"
            modes = ("auto", *(MODES if gaussian else GAMMA_MODES))
            return one_of(f"mode {kind}", self.mode, modes)
        return best_mode(terms, problem.neighbours) if gaussian else best_gamma_mode(terms)


def check_group(problem: Problem, algorithm: str) -> None:
    """Refuse groups of rows beside Gaussian noise where no proof is known."""
    terms, grouping = problem.terms, problem.grouping
    if grouping is None or problem.unit_terms.scalar or problem.unit_terms.vertices:
        return
    reason = f"group_rule={grouping.rule!r}"
    if grouping.rule == "sample":
        reason = f"more than {MOST_IN_POLYTOPE} rows per group"
        if not (terms.scalar and terms.one_signed):
            reason = f"the loss {problem.loss.name!r}, whose slope changes its sign"
    raise Incompatible(
        f"{algorithm} with Gaussian noise is not proved for groups with {reason}. Use "
        "noisy-gradient, or delta = 0."
    )


def many_rows(problem: Problem) -> bool:
    """Return whether Newton steps may follow a run."""
    enough = problem.n_rows is not None and problem.n_rows >= NEWTON_ROWS
    enough = enough and problem.grouping is None
    enough = enough and problem.constraint.closed_form
    return enough and problem.dimension <= DENSE


@dataclass(frozen=True)
class ObjectivePerturbationPlan(CalibratedPlan):
    """A calibrated run of objective perturbation."""

    algorithm: ClassVar[str] = ObjectivePerturbation.name
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    inner: Budget
    output: Budget
    mode: str
    strength: float
    scale: float
    norm_guess: float
    """Norm of good weights that the bound on the excess is for."""
    aim: float
    """Norm that the ridge is for."""
    correction: Correction | None = None
    """Newton steps that follow, where rows are very many."""

    def draft(self, output: Budget, inner: Budget) -> ObjectivePerturbationPlan:
        """Return about the plan with these parts of the budget; it guarantees nothing."""
        before, after = (
            release_noise(1.0, part, dimension=self.problem.dimension).scale
            for part in (self.inner, inner)
        )
        return replace(self, inner=inner, output=output, scale=self.scale * after / before)

    @cached_property
    def reach(self) -> float:
        """Norm up to which weights are released as they are."""
        problem = self.problem
        rows = NOMINAL_ROWS if problem.n_rows is None else problem.n_rows
        pull = rows * problem.terms.lipschitz + self.scale * (math.sqrt(problem.dimension) + 12.0)
        radius = problem.constraint.radius(problem.dimension)
        return min(radius, pull / self.strength, 64.0 * self.aim)

    @cached_property
    def tolerance(self) -> float:
        """Largest norm of the certified subgradient, ideal perturbation included."""
        # A grid that is wide enough cannot be finer than this, see release_noise.
        coarse = 2.0**-37 * math.sqrt(self.problem.dimension) * self.strength * self.reach
        # Only a guess that was declared exceeds what rows can stretch the usual one to.
        longest = min(self.aim / STRETCH, self.reach)
        error = 4 * solver_error(self.problem, longest, self.strength)
        return max(1e-8 * self.scale, error, coarse)

    @cached_property
    def tilt(self) -> Noise:
        """The law of the random linear term."""
        p = self.problem.dimension
        # A sixteenth of the tolerance pays for rounding the drawn vector.
        step = 2.0 ** math.floor(math.log2(self.tolerance / (8 * math.sqrt(p))))
        grid = Grid(step=step, reach=0.0)
        if self.budget.delta > 0:
            return Gaussian(sigma=self.scale, grid=grid)
        return GammaSphere(scale=self.scale, grid=grid)

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The small output noise that hides where near the minimiser the point is."""
        # privacy: both neighbours' points lie within tolerance/strength of the same minimiser
        sensitivity = 2 * self.tolerance / self.strength
        return release_noise(sensitivity, self.output, dimension=self.problem.dimension)

    @property
    def spread(self) -> float:
        """Root mean square of the weights' noise if every row is curved as usual for the loss."""
        if self.correction is not None:
            return self.correction.spread
        problem, kind = self.problem, "gaussian" if self.budget.delta > 0 else "gamma"
        tilt = mean_squared_noise(kind, self.scale, problem.dimension)
        usual = problem.usual_curvature
        return math.sqrt(tilt / (self.strength + usual) ** 2 + self.noise.mean_square)

    @property
    def output_is_small(self) -> bool:
        """Whether the output noise is at most a tenth of the whole."""
        return math.sqrt(self.noise.mean_square) <= 0.1 * self.spread

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        gaussian = self.budget.delta > 0
        terms = self.problem.unit_terms
        rule = MODES[self.mode].proof(terms) if gaussian else GAMMA_THEOREMS[self.mode]
        if self.problem.grouping is not None:
            rule = theorems(rule, "objective-perturbation/groups")
        if self.correction is None:
            return guarantee_for(self, self.event, theorems(rule, APPROXIMATE))
        assumed = size_assumed(self.problem)
        return guarantee_for(self, self.event, theorems(rule, APPROXIMATE, STEPS), *assumed)

    @property
    def event(self) -> Event:
        """What a run costs: the tilt, the noise on the output, and the steps that follow."""
        problem = self.problem
        if self.budget.delta > 0:
            rule = MODES[self.mode]
            terms = problem.unit_terms
            tilt: Event = rule.event(terms, self.scale, self.strength, problem.neighbours)
        else:
            tilt = Pure(self.inner.epsilon)
        steps = () if self.correction is None else (self.correction.event,)
        return Composed((tilt, self.noise.event, *steps))

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm.

        Infinite with Newton steps, for which none is known.
        """
        if self.correction is not None:
            return math.inf
        kind = "gaussian" if self.budget.delta > 0 else "gamma"
        square = mean_squared_noise(kind, self.scale, self.problem.dimension)
        # A certified point is the minimiser for a linear term that is off by the tolerance at most.
        tilt = math.sqrt(square) + self.tolerance
        # The pull of a ridge that was asked for is no loss.
        ridge = self.problem.regularizer.strong_convexity
        own = objective_excess(tilt, self.strength - ridge, self.norm_guess, ridge)
        rounding = self.noise.rounding(self.problem.dimension)
        own += self.problem.noise_excess(self.noise.mean_square, rounding)
        return min(own, self.problem.most_excess(self.problem.terms.lipschitz, ridge))

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        kind = "gaussian" if self.budget.delta > 0 else "gamma"
        return {
            "algorithm": self.algorithm,
            "mode": self.mode,
            "strength": self.strength,
            f"{kind} noise scale": self.scale,
            "output noise scale": self.noise.scale,
            **({} if self.correction is None else self.correction.facts()),
            "norm guess": self.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Draw the tilt, solve, certify, and release."""
        if self.correction is None:
            return self.weights(self.problem.bound(source, reread=True), random)
        rows = self.problem.bound(source, remote=True)
        return self.correction.fitted(rows, self.weights(rows, random), random)

    def weights(self, rows: Rows, random: Randomness, centre: Array | None = None) -> Array:
        """Return the weights of one run on bounded rows.

        ``centre`` is where the ridge pulls to, if not to 0; it must be public,
        or private already and paid for.
        """
        problem, tilt = self.problem, self.tilt
        linear = tilt.sample(problem.shape, random)
        # privacy: a hair above the accounted strength, so rounding cannot fall below it
        strength = self.strength * (1 + 2.0**-40) - problem.regularizer.strong_convexity
        if centre is not None:
            # privacy: on the grid of the tilt the sum is exact, and the certificate stays true
            step = tilt.grid.step
            linear -= Grid(step, reach=MOST_STEPS / 2 * step).round(strength * centre)
        point = minimise(
            rows,
            problem.loss,
            linear=linear,
            strength=strength,
            regularizer=problem.regularizer,
            constraint=problem.constraint,
            tolerance=self.tolerance,
            linear_error=tilt.displacement(problem.dimension),
        )
        return problem.constraint.project(self.noise.add(point, random))
