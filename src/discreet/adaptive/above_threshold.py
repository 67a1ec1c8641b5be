"""AboveThreshold: stop at the first model that is good enough, and pay once.

A quantity ``e_t`` must become small. Noise ``rho`` is drawn once and ``nu_t``
at every step; the run stops at the first ``t`` with ``e_t + rho <= threshold +
nu_t``. Nothing but the place of the stop is released.

Theorem. Let ``d_i = e_i(D) - e_i(D')`` and ``s = max(0, max_i d_i)``. With
exponential noises of means ``b1``, ``b2`` a stop at ``t`` has privacy loss at
most ``s/b1 + (s - d_t)/b2`` and no stop at most ``s/b1``: compare ``rho`` under
``D`` with ``rho + s`` under ``D'``. Hence with ``shared = sup s`` and ``own =
sup {s - d_t : s > 0}`` a run that stops costs ``max(shared/b1 + own/b2,
shared/b2)`` and one that does not ``shared/b1``. It holds for any adaptive
sequence of models that is itself released.

All comparisons are made in whole multiples of a public step, with geometric
noise; ``e_t`` is rounded up and the threshold down, which adds one step to
``shared`` and two to ``own``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from discreet.adaptive.discrete import geometric
from discreet.bounds import NEIGHBOURS
from discreet.checks import between, finite, integer, nonnegative, one_of, positive
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise import Randomness

METRICS = ("excess-risk", "loss", "error-rate")
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True)
class Sensitivity:
    """How far queries of neighbours differ: all together, and one from the worst.

    Examples
    --------
    >>> Sensitivity.of("excess-risk", "zero-out", lo=0.0, hi=2.0)
    Sensitivity(shared=2.0, own=2.0)
    """

    shared: float
    own: float

    def __post_init__(self) -> None:
        positive("shared", self.shared)
        nonnegative("own", self.own)

    @classmethod
    def any(cls, distance: float) -> Sensitivity:
        """Return the sensitivities of any queries that differ by at most ``distance`` each.

        >>> Sensitivity.any(0.5)
        Sensitivity(shared=0.5, own=1.0)
        """
        return cls(distance, 2 * distance)

    @classmethod
    def of(
        cls,
        metric: str,
        neighbours: str,
        *,
        lo: float,
        hi: float,
        target: float = 0.0,
        counted: bool = False,
    ) -> Sensitivity:
        """Return the sensitivities of a query on the sum scale.

        Parameters
        ----------
        metric
            ``"excess-risk"`` is ``J(w_t) - min J`` over a ball that holds all
            models, against a public number; ``"loss"`` and ``"error-rate"``
            are ``sum_i (l_i - target)`` against 0.
        neighbours
            The relation.
        lo, hi
            Range of the loss of one row of weight 1 over the ball and all
            admissible rows.
        target
            The target of one row, for ``"loss"``, ``"error-rate"`` and ``counted``.
        counted
            Under ``add-remove``, whether ``"excess-risk"`` is compared with
            the target times the secret number of rows instead of a public one.
        """
        one_of("metric", metric, METRICS)
        one_of("neighbours", neighbours, NEIGHBOURS)
        width = positive("hi - lo", finite("hi", hi) - finite("lo", lo))
        if metric == "excess-risk":
            # The optimum moves all queries alike, so it counts in the shared part only.
            if neighbours == "replace-one":
                return cls(2 * width, 2 * width)
            return cls(width + target if counted else width, width)
        if not lo <= target <= hi:
            raise InvalidParameter(
                f"target must lie between {lo:g} and {hi:g}, the range of one row's {metric}."
            )
        if neighbours == "replace-one":
            return cls(width, 2 * width)
        # privacy: hi - target, not the width: a row's loss may exceed the width
        return cls(max(target - lo, hi - target), width)

    def inflated(self, shared: float, own: float, *, times: float = 1.0) -> Sensitivity:
        """Return the sensitivities times the largest weight of a row, with allowances added."""
        return Sensitivity(times * self.shared + shared, times * self.own + own)


@dataclass(frozen=True, kw_only=True)
class AboveThreshold:
    """A calibrated stopping rule.

    Parameters
    ----------
    sensitivity
        Of the queries, before rounding to the step.
    shared_scale, own_scale
        Means ``b1`` and ``b2`` of the noises.
    threshold
        What a query is compared with.

    Examples
    --------
    >>> rule = AboveThreshold.calibrate(Sensitivity(1.0, 1.0), target=1.0, margin=0.8,
    ...                                 tests=23, exact=False)
    >>> round(rule.epsilon, 4), round(rule.threshold, 6)
    (18.5223, 0.515359)
    """

    sensitivity: Sensitivity
    shared_scale: float
    own_scale: float
    threshold: float

    @classmethod
    def calibrate(
        cls,
        sensitivity: Sensitivity,
        *,
        target: float,
        margin: float,
        tests: int,
        violation: float = 0.1,
        refusal: float = 0.1,
        exact: bool = True,
    ) -> AboveThreshold:
        """Return the cheapest rule that meets two demands.

        Parameters
        ----------
        sensitivity
            Of the queries.
        target
            A stop at a query above ``target`` has probability at most ``violation``.
        margin
            A query below ``target - margin`` is refused with probability at
            most ``refusal``, at all steps together.
        tests
            Largest number of steps.
        violation, refusal
            The two probabilities.
        exact
            Whether to compute the violation exactly instead of by a union
            bound; saves about a tenth.
        """
        finite("target", target)
        margin, tests = positive("margin", margin), integer("tests", tests)
        miss = math.log(1 / between("refusal", refusal, 0, 1))
        union = math.log(tests / between("violation", violation, 0, 1))
        a, b = sensitivity.shared * miss, sensitivity.own * union
        part = margin / (1 + math.sqrt(b / a))
        first, second = part / miss, (margin - part) / union
        if exact:
            first, second = _tighten(sensitivity, margin, miss, tests, violation)
        slack = margin - first * miss
        return cls(
            sensitivity=sensitivity,
            shared_scale=first,
            own_scale=second,
            threshold=target - slack,
        )

    @cached_property
    def step(self) -> float:
        """Public step of the comparisons, a power of two."""
        least = max(self.shared_scale, self.own_scale) * 2.0**-40
        return 2.0 ** math.floor(math.log2(max(self.sensitivity.shared * 2.0**-20, least)))

    @property
    def epsilon(self) -> float:
        """What a stop costs, wherever it happens."""
        shared, own = self.sensitivity.shared + self.step, self.sensitivity.own + 2 * self.step
        # privacy: the second term is the pair with s = 0, whose loss is -d_t / b2; rounding may
        # lift its s to one step and its s - d_t by two
        return max(
            shared / self.shared_scale + own / self.own_scale,
            self.step / self.shared_scale + (shared + self.step) / self.own_scale,
        )

    @property
    def epsilon_without_stop(self) -> float:
        """What a run costs that never stops."""
        return (self.sensitivity.shared + self.step) / self.shared_scale

    def start(self, random: Randomness) -> Tester:
        """Draw the shared noise and return the tester of one run."""
        return Tester(self, random)


class Tester:
    """One run of a rule; it holds secret noise, so it is never stored with a result."""

    def __init__(self, rule: AboveThreshold, random: Randomness) -> None:
        self._rule, self._random, self._stopped = rule, random, False
        self._shared = float(geometric(rule.shared_scale / rule.step, 1, random)[0])

    def accepts(self, query: float) -> bool:
        """Say whether to stop here; after a stop nothing may be asked any more."""
        if self._stopped:
            raise Incompatible("The run has stopped; another test would not be accounted for.")
        rule = self._rule
        own = float(geometric(rule.own_scale / rule.step, 1, self._random)[0])
        # privacy: whole numbers on both sides, the query rounded up and the threshold down
        left = math.ceil(query / rule.step) if math.isfinite(query) else math.inf
        self._stopped = left + self._shared <= math.floor(rule.threshold / rule.step) + own
        return self._stopped


def violation_probability(first: float, second: float, slack: float, tests: int) -> float:
    """Return the chance that one of ``tests`` queries at the target is accepted.

    >>> round(violation_probability(0.1369587, 0.0891199, 1 - 0.5153590, 23), 5)
    0.03827
    """
    # With U = exp(-rho / b1) uniform, a test passes with probability exp(-slack/b2) U^(b1/b2).
    u = 0.5 * (_NODES + 1)
    chance = np.exp((-slack + first * np.log(u)) / second)
    return float(1 - 0.5 * _WEIGHTS @ (1 - chance) ** tests)


def _tighten(
    sensitivity: Sensitivity, margin: float, miss: float, tests: int, violation: float
) -> tuple[float, float]:
    """Minimise the cost over the shared scale, the own scale exactly as large as allowed."""

    def own(first: float) -> float:
        slack = margin - first * miss

        def excess(log_second: float) -> float:
            chance = violation_probability(first, math.exp(log_second), slack, tests)
            return chance - violation

        return math.exp(brentq(excess, math.log(margin) - 14, math.log(margin) + 6, xtol=1e-13))

    def cost(share: float) -> float:
        first = share * margin / miss
        return sensitivity.shared / first + sensitivity.own / own(first)

    best = minimize_scalar(cost, bounds=(1e-3, 1 - 1e-3), method="bounded", options={"xatol": 1e-9})
    first = float(best.x) * margin / miss
    return first, own(first)
