"""An instance with its known answer, and what an algorithm makes of many of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.accounting import Budget
from discreet.bounds import Array
from discreet.checks import integer
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible
from discreet.noise import Seeded
from discreet.problem import Algorithm, Problem


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A problem and rows whose minimiser is known.

    Parameters
    ----------
    name
        Which generator made it.
    problem
        The public facts, as every algorithm takes them.
    X, y
        The rows. They obey the declared bounds, so clipping changes them by rounding only.
    minimiser
        The exact minimiser over the constraint.
    lower
        Lower bound on the mean excess, over draws of the instance and the coins of the
        method, of every method that is private at ``budget`` under the problem's
        neighbours. None where none is proved.
    budget
        The budget the instance was made for.
    source
        Where instance and bound come from.

    Examples
    --------
    >>> from discreet.lab import codeword
    >>> instance = codeword(n_rows=100, n_features=4, budget=Budget(1.0))
    >>> float(instance.excess(instance.minimiser))
    0.0
    """

    name: str
    problem: Problem
    X: Array
    y: Array
    minimiser: Array
    lower: float | None = None
    budget: Budget | None = None
    source: str = ""

    @property
    def rows(self) -> ArraySource:
        """The rows as algorithms read them."""
        return ArraySource(self.X, self.y)

    def objective(self, weights: Array) -> float:
        """Return the sum of the losses plus the penalty, without any clipping."""
        y = self.y if self.problem.loss.target != "sign" else 2.0 * self.y - 1.0
        losses = self.problem.loss.value(self.X @ weights, y)
        return math.fsum(losses) + self.problem.regularizer.value(weights)

    @cached_property
    def value(self) -> float:
        """The objective at the minimiser."""
        return self.objective(self.minimiser)

    def excess(self, weights: Array) -> float:
        """Return how far the objective is above its minimum, on the scale of a sum."""
        return self.objective(np.asarray(weights, dtype=np.float64)) - self.value

    @property
    def at_zero(self) -> float:
        """The excess of weights of zero, which cost no privacy."""
        return self.excess(np.zeros(self.problem.shape))


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What an algorithm lost on fresh draws of an instance; all on the scale of a sum.

    Parameters
    ----------
    excess, error
        Mean excess and its standard error.
    lower
        What every private method loses at least, or None.
    at_zero
        Mean excess of weights of zero.
    bound
        The plan's bound on what is lost; infinite if none is known.
    runs
        Number of draws.
    """

    excess: float
    error: float
    lower: float | None
    at_zero: float
    bound: float
    runs: int

    def __str__(self) -> str:
        least = "not proved" if self.lower is None else f"{self.lower:.3g}"
        bound = f"{self.bound:.3g}" if math.isfinite(self.bound) else "no bound is known"
        return (
            f"excess {self.excess:.3g} +- {self.error:.2g} ({self.runs} runs); possible at least "
            f"{least}; weights of zero {self.at_zero:.3g}; bound {bound}"
        )


def measure(
    draw: Callable[[int], Instance],
    algorithm: str | Algorithm,
    budget: Budget,
    *,
    runs: int = 20,
    seed: int = 0,
) -> Measurement:
    """Run an algorithm on fresh draws of an instance and compare it with what is possible.

    Noise is seeded, so results repeat and nothing here is private.

    Parameters
    ----------
    draw
        Returns the instance of a seed.
    algorithm
        A name or an instance of an algorithm, as :func:`discreet.defaults.recommend` takes it.
    budget
        What a run may spend. It must not exceed the budget an instance with a lower bound
        was made for, or the bound says nothing about it.
    runs
        Number of draws.
    seed
        The first seed.

    Examples
    --------
    >>> from discreet.lab import codeword
    >>> budget = Budget(1.0)
    >>> found = measure(
    ...     lambda seed: codeword(n_rows=200, n_features=4, budget=budget, seed=seed),
    ...     "exponential-sampling", budget, runs=10)
    >>> found.lower < found.excess < found.bound
    True
    """
    runs = integer("runs", runs, minimum=2)
    excess, at_zero, bounds = [], [], []
    least: float | None = None
    for k in range(seed, seed + runs):
        instance = draw(k)
        least = instance.lower
        if least is not None and instance.budget is not None and not budget <= instance.budget:
            raise Incompatible(
                f"The lower bound of {instance.name} is for epsilon = "
                f"{instance.budget.epsilon:g}, delta = {instance.budget.delta:g}. Make the "
                "instance with the budget that is measured."
            )
        plan = recommend(instance.problem, budget, Asked(algorithm=algorithm))
        excess.append(instance.excess(plan.run(instance.rows, Seeded((k, 1))).weights))
        at_zero.append(instance.at_zero)
        bounds.append(plan.expected_excess)
    return Measurement(
        excess=float(np.mean(excess)),
        error=float(np.std(excess, ddof=1) / math.sqrt(runs)),
        lower=least,
        at_zero=float(np.mean(at_zero)),
        bound=float(np.mean(bounds)),
        runs=runs,
    )
