"""Several classes by a loss for two: one class against the rest, all fits on one budget.

Theorem. A row enters every fit, so their events compose. Basic composition allows every fit
a part of epsilon and delta; the composed curve allows more, for Gaussian noise about the root of
the number of fits more. So each fit is planned for as much as that curve leaves within the
budget, and what is claimed is the budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import (
    Budget,
    Composed,
    Gaussian,
    Guarantee,
    epsilon_at,
    gaussian_multiplier,
)
from discreet.accounting.theorems import theorems
from discreet.bounds import Array
from discreet.data import RawBlock, Source
from discreet.errors import DiscreetError
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Plan, Problem, releasing

GAINS = (1.0, 0.7, 0.4, 0.2)
"""Parts that are tried of what Gaussian noise gains, on a scale of logarithms."""


class _Against:
    """Rows whose label says whether they are of one class.

    ``kept`` holds the classes of rows, as the first class has read them.
    """

    def __init__(self, source: Source, chosen: int, fits: int, kept: list[Any]) -> None:
        self.source, self.chosen, self.fits, self.kept = source, chosen, fits, kept
        self.n_rows, self.n_features = source.n_rows, source.n_features
        self.sparse, self.dtype = source.sparse, getattr(source, "dtype", None)
        self.array, self.capped = getattr(source, "array", None), getattr(source, "capped", None)
        self.streamed = getattr(source, "streamed", False)

    def blocks(self) -> Iterator[RawBlock]:
        if self.chosen == 0:
            self.kept.clear()
        for block in self.source.blocks():
            y = np.asarray(block.y)
            if self.chosen == 0:
                self.kept.append(self._classes(y))
            yield block._replace(y=(y == self.chosen).astype(np.int64))

    def labels(self) -> Iterator[Array]:
        """Yield the labels of rows as the first class has read them, without reading again."""
        for classes in self.kept:
            yield (classes == self.chosen).astype(np.int64)

    def _classes(self, y: Any) -> Any:
        """Return classes in little memory, because rows may be very many."""
        classes = np.full(y.shape, -1, np.int8 if self.fits <= 127 else np.int32)
        for k in range(self.fits):
            classes[y == k] = k
        return classes


def _together(each: Plan, fits: int) -> Composed:
    """Return what so many fits cost together."""
    # privacy: a row enters every fit, whatever its class is.
    return Composed((each.guarantee.event,) * fits)


@dataclass(frozen=True)
class OneAgainstRest(CalibratedPlan):
    """Plans of equal cost, one for every class, and what they cost together."""

    per_group: ClassVar[bool] = True

    each: Plan
    fits: int
    budget: Budget

    @property
    def problem(self) -> Problem:
        """What one of the fits solves."""
        return self.each.problem

    @property
    def reason(self) -> str:  # type: ignore[override]
        """Why the plan of each fit was recommended."""
        return getattr(self.each, "reason", "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Parameters that plan each fit again."""
        found: Mapping[str, Any] = getattr(self.each, "settings", {})
        return found

    @cached_property
    def event(self) -> Composed:
        """What all fits cost together."""
        return _together(self.each, self.fits)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm of every fit."""
        return self.each.algorithm

    @property
    def guarantee(self) -> Guarantee:
        """What all fits guarantee together."""
        each = self.each.guarantee
        return replace(
            each,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            event=self.event,
            theorem=theorems("composition/fixed", each.theorem),
        )

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of one fit."""
        return self.each.expected_excess

    def facts(self) -> dict[str, Any]:
        """Public numbers of one of the fits, and how many there are."""
        facts = {"algorithm": self.algorithm, "fits, one class against the rest": self.fits}
        return facts | self.each.facts()

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Fit every class against the rest; one column of weights each."""
        kept: list[Any] = []
        sources = [_Against(source, k, self.fits, kept) for k in range(self.fits)]
        # Where a plan can, it reads the rows once for all classes; the law is the same.
        together = getattr(self.each, "run_together", None)
        columns = None if together is None else together(sources, random)
        if columns is None:
            columns = [self.each.run(one, random).weights for one in sources]
        return np.stack(columns, axis=-1)


def one_against_rest(plan: Callable[[Budget], Plan], budget: Budget, fits: int) -> OneAgainstRest:
    """Return the plan of so many fits of the same rows that cost the budget together.

    Parameters
    ----------
    plan
        Plans one fit for a budget.
    budget
        What all fits may cost.
    fits
        How many there are.

    Examples
    --------
    >>> from discreet.algorithms import NoisyGradient
    >>> from discreet.losses import Hinge
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=1000)
    >>> def each(part):
    ...     return NoisyGradient().plan(problem, part)
    >>> all_fits = one_against_rest(each, Budget(1.0, 1e-6), 9)
    >>> round(all_fits.each.budget.epsilon, 3), all_fits.guarantee.epsilon
    (0.346, 1.0)
    """
    least, delta = budget.epsilon / fits, budget.delta / fits
    first = OneAgainstRest(plan(budget.part(least, delta)), fits, budget)
    if delta == 0.0:
        return first
    # What is left to every fit if noise is Gaussian; other laws are tried for a part of the gain.
    noise = math.sqrt(fits) * gaussian_multiplier(budget.epsilon, budget.delta)
    most = min(epsilon_at(Gaussian(noise), delta) * (1.0 - 1e-6), budget.epsilon)
    for gain in GAINS if most > least else ():
        try:
            each = plan(budget.part(least * (most / least) ** gain, delta))
        except DiscreetError:  # of parts that nobody asked for
            continue
        # privacy: more than a part of the budget only where all fits together stay within it.
        if _together(each, fits).delta(budget.epsilon) <= budget.delta:
            return OneAgainstRest(each, fits, budget)
    return first
