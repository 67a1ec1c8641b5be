"""What plans with an accuracy target share: how they run, and what leaves a run, met or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.accounting import Event, Guarantee
from discreet.bounds import Array
from discreet.data import Source
from discreet.errors import Incompatible
from discreet.noise import Randomness
from discreet.problem import ASSUMED, Printed, Problem, checked, with_randomness


@dataclass(frozen=True)
class Step:
    """One level of a path: its total cost, the certified error if any, and the decision.

    The error is in the target's units. Tests release no error, only decisions.
    """

    epsilon: float
    accepted: bool
    bound: float | None = None


Watch = Callable[[Step], None]
"""Called with every step as soon as it is decided.

Steps are part of the output: the first of them are a function of all, and a
run that is cut short has shown no more than a whole run would.
"""


def unwatched(step: Step) -> None:
    """Let a step pass: what runs call when nobody watches."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A model that meets the target, or none; and what the run cost either way.

    Parameters
    ----------
    weights
        The model. None when no level met the target, unless the last one was
        asked for. There is no fallback to a model without noise.
    guarantee
        Ex-post, with what was reserved.
    eps_model, eps_test
        The parts of epsilon that went into the model and into tests.
    steps
        The path up to the stop; publishing it costs nothing more.
    """

    weights: Array | None
    guarantee: Guarantee
    eps_model: float
    eps_test: float
    steps: tuple[Step, ...]

    @property
    def status(self) -> str:
        """``"met"`` or ``"not-met"``."""
        return "met" if self.steps[-1].accepted else "not-met"


@dataclass(frozen=True)
class Costs:
    """How the costs of a run are stated: problem, delta, reserve and proof."""

    problem: Problem
    delta: float
    reserved: float
    event: Event
    theorem: str
    assumptions: tuple[str, ...] = ()

    def guarantee(self, epsilon: float) -> Guarantee:
        """Return the ex-post guarantee of an output that cost ``epsilon``."""
        return Guarantee(
            # Sums of levels may round above the reserve they are part of.
            epsilon=min(epsilon, self.reserved),
            delta=self.delta,
            neighbours=self.problem.neighbours,
            event=self.event,
            theorem=self.theorem,
            assumptions=(*ASSUMED, *self.assumptions, *self.problem.assumptions),
            kind="ex-post",
            reserved=(self.reserved, self.delta),
        )


class Try(NamedTuple):
    """A model at one level, and what a run that ends here costs: in all, model and tests."""

    step: Step
    weights: Array
    total: float
    model: float
    test: float = 0.0


class AdaptivePlan(Printed):
    """What plans of all methods share: how they print, and what a run leaves."""

    @property
    def costs(self) -> Costs:
        """How a run is accounted for."""
        raise NotImplementedError

    @property
    def method(self) -> str:
        """Name of the method."""
        raise NotImplementedError

    @property
    def test_epsilon(self) -> float:
        """What tests cost beside the models."""
        return 0.0

    @property
    def guarantee(self) -> Guarantee:
        """What no output of a run exceeds."""
        return self.costs.guarantee(self.costs.reserved)

    def _stated(self, total: float) -> Guarantee:
        """Return the guarantee of a run that cost so much."""
        return self.costs.guarantee(total)

    def _tries(
        self, source: Source, random: Randomness, validation: Source | None
    ) -> Iterator[Try]:
        """Yield the levels of a path, from private to accurate."""
        raise NotImplementedError

    @checked
    def run(
        self,
        source: Source,
        random: Randomness,
        *,
        validation: Source | None = None,
        release_last: bool = False,
        watch: Watch = unwatched,
    ) -> Outcome:
        """Release level after level until one is accepted.

        Parameters
        ----------
        source, random
            The rows, and where noise comes from.
        validation
            The rows that are tested, if they are separate.
        release_last
            Whether to release the last model if none was accepted; it costs no more.
        watch
            Called with every step as soon as it is decided.
        """
        if getattr(self, "validation", False) != (validation is not None):
            raise Incompatible("validation rows and validation=True belong together.")
        steps: list[Step] = []
        for last in self._tries(source, random, validation):
            steps.append(last.step)
            watch(last.step)
            if last.step.accepted:
                break
        return Outcome(
            # privacy: never the exact minimiser; the last noisy model is paid for in full
            weights=np.array(last.weights) if last.step.accepted or release_last else None,
            guarantee=with_randomness(self._stated(last.total), random),
            eps_model=last.model,
            eps_test=last.test,
            steps=tuple(steps),
        )
