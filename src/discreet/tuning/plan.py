"""What a search costs, before any row is read."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sklearn.base import clone

from discreet.accounting import (
    BestOf,
    BoundedRange,
    Budget,
    Composed,
    Event,
    Gaussian,
    Guarantee,
    NegativeBinomialTries,
    Parallel,
    Pure,
    gaussian_delta,
    gaussian_multiplier,
)
from discreet.accounting.gaussian_profile import least
from discreet.bounds import Neighbours, rows_apart
from discreet.errors import BudgetTooSmall, DiscreetError
from discreet.evaluation import EvaluationPlan
from discreet.problem import SIDE_CHANNELS, Printed

_STEPS = 7  # of the search for the budget of one fit where its curve is not Gaussian

SECRET = "the number of tries, other tries and all scores stay secret"

_THEOREMS = {
    "best": "tuning/best-of-random-tries",
    "all": "tuning/every-candidate",
}


@dataclass(frozen=True, kw_only=True)
class SearchPlan(Printed):
    """A search that is priced and has read no row.

    Parameters
    ----------
    estimator
        What is tuned.
    candidates
        Settings to choose among.
    budget
        What the whole search may cost.
    n_features
        Number of features.
    n_train
        Number of rows each try is fitted to; a declared one where it is secret.
    n_rows
        Number of all rows.
    tries
        Law of the number of tries; None: every candidate is fitted once.
    score
        The private score of a try, at any budget.
    """

    estimator: Any = field(repr=False)
    candidates: tuple[dict[str, Any], ...]
    budget: Budget
    n_features: int
    n_train: int | None
    n_rows: int | None
    tries: NegativeBinomialTries | None
    score: Callable[[Budget], EvaluationPlan] = field(repr=False)

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets count as neighbours."""
        relation: Neighbours = self.estimator.neighbours
        return relation

    # The budget of one fit.

    @cached_property
    def fit_budget(self) -> Budget:
        """The budget of each fit, such that the whole search costs its own."""
        total = self.budget
        if total.delta == 0:
            many = len(self.candidates) if self.tries is None else self.tries.pure(1.0)
            return total.part(total.epsilon / many * (1.0 - 1e-12))
        high = self._gaussian_epsilon()
        if self._affordable(total.part(high, total.delta)):
            return total.part(high, total.delta)
        low = high / 2.0
        while not self._affordable(total.part(low, total.delta)):
            high, low = low, low / 2.0
            if low < 1e-4 * total.epsilon:
                raise BudgetTooSmall(
                    "No budget of a single fit keeps the whole search within epsilon and delta. "
                    "Use a larger epsilon or fewer expected_tries."
                )
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            fits = self._affordable(total.part(middle, total.delta))
            low, high = (middle, high) if fits else (low, middle)
        return total.part(low, total.delta)

    def _gaussian_epsilon(self) -> float:
        """Return the epsilon of a fit if all fits had the cost of Gaussian noise."""
        epsilon, delta = self.budget.epsilon, self.budget.delta

        def fits(multiplier: float) -> bool:
            return self._search_cost((Gaussian(multiplier),)).delta(epsilon) <= delta

        single = gaussian_multiplier(epsilon, delta)
        if self.tries is None:
            wanted = single * math.sqrt(len(self.candidates))
        else:
            wanted = single * least(lambda ratio: fits(ratio * single), accuracy=1e-4)
        # A little more noise than needed, so that rounding cannot make it too little.
        shift = 1.0 / (wanted * (1.0 + 1e-6))
        found = least(lambda e: gaussian_delta(e, shift) <= delta, accuracy=1e-9)
        return min(found, epsilon)

    def _affordable(self, part: Budget) -> bool:
        events = (*self._events(part), self._score_event(part))
        return self._search_cost(events).delta(self.budget.epsilon) <= self.budget.delta

    def _search_cost(self, events: tuple[Event, ...]) -> Event:
        """Return the cost of the search, were these the costs of its tries."""
        if self.tries is not None:
            # privacy: a try reads a row for its fit or for its score; candidates of different
            # cost are all counted as the most expensive.
            worst = Parallel(events)
            return BestOf(worst.events[0] if len(worst.events) == 1 else worst, self.tries)
        if len(events) == 1:
            events = events * len(self.candidates)
        fits = Composed(tuple(events[: len(self.candidates)]))
        return Parallel((fits, *events[len(self.candidates) :]))

    def _events(self, part: Budget) -> tuple[Event, ...]:
        """Return what the fit of each candidate costs."""
        if part.delta == 0:
            return (Pure(part.epsilon),) * len(self.candidates)
        return tuple(self.fit_plan(c, part).guarantee.event for c in self.candidates)

    def _score_event(self, part: Budget) -> Event:
        return self.score(part).guarantee.event if self.tries else BoundedRange(self.choice)

    @cached_property
    def choice(self) -> float:
        """Where every candidate is fitted once: how sharp the choice is, per row's answer."""
        # privacy: one row moves the scores of all candidates by amounts that differ by at
        # most 1, or 2 for a replacement, so weights exp(rate * score) have range `choice`.
        if self.budget.delta == 0:
            return self.budget.epsilon
        epsilon, delta = self.budget.epsilon, self.budget.delta
        # The least noise whose curve is within the budget; ranges are one over noise.
        noise = least(lambda v: BoundedRange(1.0 / v).delta(epsilon) <= delta, accuracy=1e-9)
        return 1.0 / noise

    @property
    def rate(self) -> float:
        """Where every candidate is fitted once: log-weight of one more right answer."""
        return self.choice / rows_apart(self.neighbours)

    def fit_plan(self, candidate: dict[str, Any], part: Budget) -> Any:
        """Return the plan of one fit."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, of the default
            return self.prepared(candidate, part).plan(self.n_features, self.n_train)

    def prepared(self, candidate: dict[str, Any], part: Budget) -> Any:
        """Return the estimator of one fit."""
        settings = dict(candidate, epsilon=part.epsilon, delta=part.delta)
        if self.neighbours == "add-remove":
            settings["n_rows"] = self.n_train
        if hasattr(self.estimator, "ledger"):
            # privacy: entries of single tries would count them; the search is one entry.
            settings["ledger"] = None
        fitted = clone(self.estimator).set_params(**settings)
        fitted._shared = fitted._searched = True
        return fitted

    # What is guaranteed.

    @cached_property
    def planned(self) -> tuple[Guarantee, ...]:
        """What the fit of each candidate guarantees."""
        return tuple(self.fit_plan(c, self.fit_budget).guarantee for c in self.candidates)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the search guarantees, whatever the rows are."""
        part = self.fit_budget
        event = self._search_cost((*self._events(part), self._score_event(part)))
        assumed = [a for planned in self.planned for a in planned.assumptions]
        return Guarantee(
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            neighbours=self.neighbours,
            event=event,
            theorem=_THEOREMS["all" if self.tries is None else "best"],
            assumptions=tuple(dict.fromkeys([SIDE_CHANNELS, SECRET, *assumed])),
        )

    @property
    def noise_ratio(self) -> float:
        """How much more noise a try has than one fit with the whole budget."""
        part, total = self.fit_budget, self.budget
        if total.delta == 0:
            return total.epsilon / part.epsilon
        alone = gaussian_multiplier(total.epsilon, total.delta)
        return gaussian_multiplier(part.epsilon, part.delta) / alone

    @cached_property
    def errors(self) -> tuple[float, float]:
        """Bounds on excess risk per row: of the default with the whole budget, and of the best try.

        Infinite where a plan knows none.
        """

        def bound(plan: Any, rows: int | None) -> float:
            return math.inf if not rows else plan.expected_excess / rows

        alone = clone(self.estimator)
        alone.set_params(epsilon=self.budget.epsilon, delta=self.budget.delta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            default = bound(alone.plan(self.n_features, self.n_rows), self.n_rows)
        part, found = self.fit_budget, [math.inf]
        for candidate in self.candidates:
            try:
                found.append(bound(self.fit_plan(candidate, part), self.n_train))
            except DiscreetError:
                continue
        return default, min(found)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        c = len(self.candidates)
        facts: dict[str, Any] = {"candidates": c}
        if self.tries is None:
            facts["tries"] = "every candidate once, and one private choice"
        else:
            law = {1.0: "geometric", 0.0: "logarithmic"}.get(self.tries.eta, "negative binomial")
            facts["tries"] = f"{law}, {self.tries.mean:g} expected; the number stays secret"
            facts["a given candidate is missed"] = f"{self.tries.missing(1.0 / c):.1%}"
        facts["epsilon of each fit"] = f"{self.fit_budget.epsilon:.4g}"
        facts["noise of each fit"] = f"{self.noise_ratio:.2f} times that of one fit alone"
        if self.neighbours != "add-remove":
            facts["rows of each fit"] = f"{self.n_train} of {self.n_rows}"
        return facts

    @property
    def advice(self) -> str:  # type: ignore[override]
        """When the default is likely to do better."""
        text = (
            f"Tuning pays only if the best candidate with {self.noise_ratio:.2f} times the noise "
            "and fewer rows beats the default settings with the whole budget."
        )
        default, best = self.errors
        if math.isfinite(default):
            said = "no bound is known" if math.isinf(best) else f"{best:.3g}"
            text += (
                f" Bound on the excess risk per row: default {default:.3g}, best candidate {said}."
            )
            if default <= best:
                text += " By these bounds the default is the better buy."
        return text
