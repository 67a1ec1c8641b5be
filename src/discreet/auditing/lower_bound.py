"""Lower bounds on epsilon from how often an attack was right: numbers only.

An attack says of each output whether it came from the first or the second of
two neighbours. ``misses`` is how often it is wrong about the first (FN),
``alarms`` how often about the second (FP). Every (epsilon, delta) guarantee
bounds both from below together, so upper confidence bounds on both refute
every epsilon that is too small.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from scipy import special, stats

from discreet.accounting import Composed, Event, Gaussian, epsilon_at
from discreet.bounds import Array

LARGEST = 60.0
"""Epsilon beyond which no bound of guesses is looked for."""


def clopper_pearson(count: Any, runs: int, level: float) -> Any:
    """Return an upper bound on a rate that fails with probability at most ``level``.

    Exact for every rate and number of runs (Clopper and Pearson 1934).

    >>> round(float(clopper_pearson(0, 100, 0.05)), 4)  # 1 - 0.05 ** (1 / 100)
    0.0295
    """
    count = np.asarray(count, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        upper = special.betaincinv(count + 1.0, np.maximum(runs - count, 1e-300), 1.0 - level)
    return np.where(count >= runs, 1.0, upper)


def event_epsilon(misses: Any, alarms: Any, delta: Any) -> Any:
    """Return the least epsilon that allows such errors at ``delta``; ``-inf`` if any does.

    Both orders of the neighbours count: ``1 - misses <= e^epsilon alarms + delta``
    and ``1 - alarms <= e^epsilon misses + delta``.

    >>> event_epsilon(0.5, np.array([0.25, 0.5]), 0.1).round(6)
    array([ 0.470004, -0.223144])
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        one = np.log(np.maximum(1.0 - misses - delta, 0.0)) - np.log(alarms)
        two = np.log(np.maximum(1.0 - alarms - delta, 0.0)) - np.log(misses)
    return np.fmax(one, two)


def gaussian_mu(misses: Any, alarms: Any) -> Any:
    """Return the least mu of a Gaussian trade-off curve that allows such errors.

    Negative where the attack is worse than a coin: no absolute value is taken.

    >>> float(gaussian_mu(0.5, 0.15865525393145707).round(9))
    1.0
    """
    return special.ndtri(1.0 - np.asarray(alarms)) - special.ndtri(misses)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon at ``delta`` of a mechanism with Gaussian trade-off curve ``mu``.

    >>> round(gaussian_epsilon(1.0, 1e-5), 3)
    4.377
    """
    if mu <= 0:
        return 0.0
    return math.inf if delta == 0 else epsilon_at(Gaussian(1.0 / mu), delta)


def is_gaussian(event: Event) -> bool:
    """Return whether the trade-off curve of an event is that of one Gaussian.

    >>> is_gaussian(Composed((Gaussian(2.0), Gaussian(3.0))))
    True
    """
    parts = event.merged() if isinstance(event, Composed) else (event,)
    return len(parts) == 1 and isinstance(parts[0], Gaussian)


@cache
def curve_of(event: Event, epsilon: float, points: int = 16) -> tuple[Array, Array]:
    """Return epsilons up to ``epsilon`` and the deltas an event claims there.

    >>> from discreet.accounting import Pure
    >>> curve_of(Pure(1.0), 1.0, points=2)[1].round(6)
    array([0.462117, 0.      ])
    """
    epsilons = np.linspace(0.0, epsilon, points)
    return epsilons, np.array([event.delta(float(e)) for e in epsilons])


def guesses_refute(
    epsilon: float, correct: int, guesses: int, canaries: int, delta: float, level: float
) -> bool:
    """Return whether so many right guesses refute (epsilon, delta) at ``level``.

    Each of ``canaries`` is in the data by a fair coin of the auditor; of ``guesses``
    made after the run, ``correct`` are right (Steinke, Nasr and Jagielski 2023).

    >>> guesses_refute(1.0, 95, 100, 100, 0.0, 0.05), guesses_refute(1.0, 70, 100, 100, 0.0, 0.05)
    (True, False)
    """
    binomial = stats.binom(guesses, 1.0 / (1.0 + math.exp(-epsilon)))
    chance = float(binomial.sf(correct - 1))
    if delta > 0 and correct > 0:
        back = np.arange(1, correct + 1)
        more = (binomial.sf(correct - back - 1) - chance) / back
        chance += 2.0 * canaries * delta * float(more.max())
    return chance < level


def guesses_refute_gaussian(
    mu: float, correct: int, guesses: int, canaries: int, level: float
) -> bool:
    """Return whether so many right guesses refute a Gaussian trade-off curve ``mu``.

    The recursion of Mahloujifar, Melis and Chaudhuri 2025.

    >>> guesses_refute_gaussian(0.5, 95, 100, 100, 0.05)
    True
    """
    right = level * correct / canaries
    wrong = level * (guesses - correct) / canaries
    for i in range(correct - 1, -1, -1):
        more = max(wrong, float(special.ndtr(special.ndtri(right) - mu)))
        right = min(1.0, right + (more - wrong) * i / (guesses - i))
        wrong = more
    return right + wrong > guesses / canaries


def guesses_epsilon(correct: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """Return the largest epsilon that the guesses refute, or 0.

    >>> round(guesses_epsilon(95, 100, 100, 0.0, 0.05), 2)
    2.17
    """
    return _largest(lambda e: guesses_refute(e, correct, guesses, canaries, delta, level))


def guesses_gaussian_epsilon(
    correct: int, guesses: int, canaries: int, delta: float, level: float
) -> float:
    """Return epsilon at ``delta`` of the largest Gaussian curve that the guesses refute.

    >>> guesses_gaussian_epsilon(50, 100, 100, 1e-6, 0.05)
    0.0
    """
    mu = _largest(lambda m: guesses_refute_gaussian(m, correct, guesses, canaries, level))
    return gaussian_epsilon(mu, delta)


def _largest(refuted: Any, limit: float = LARGEST) -> float:
    """Return the largest value that is refuted, to four digits and never above it; or 0."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, limit
    while high - low > 1e-4:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
