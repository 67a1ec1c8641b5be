"""The best that an adversary can do against a filter, by dynamic programming.

Mechanisms are finite: their outputs and the probabilities on two neighbours.
The adversary sees every output and chooses what to run next. What is computed
is the exact delta of the whole interaction at a given epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting import Approximate, Event, Gaussian, Pure
from discreet.ledger.amounts import Price, up


@dataclass(frozen=True)
class Output:
    """One output: probabilities on both sides, and what an ex-post run has cost if it comes."""

    here: float
    there: float
    cost: float | None = None


@dataclass(frozen=True)
class Mechanism:
    event: Event
    outputs: tuple[Output, ...]


def response(epsilon: float) -> Mechanism:
    """Randomised response."""
    p = 1 / (1 + math.exp(-epsilon))
    return Mechanism(Pure(epsilon), (Output(p, 1 - p), Output(1 - p, p)))


def failing(delta: float, epsilon: float = 0.0) -> Mechanism:
    """The worst (epsilon, delta) mechanism there is."""
    p = 1 / (1 + math.exp(-epsilon))
    kept = [Output((1 - delta) * a, (1 - delta) * b) for a, b in ((p, 1 - p), (1 - p, p))]
    return Mechanism(Approximate(epsilon, delta), (Output(delta, 0), Output(0, delta), *kept))


def stopping(low: float, high: float, share: float) -> Mechanism:
    """A run whose cost is known when it stops: ``low`` for some outputs, ``high`` for others."""
    parts = []
    for epsilon, weight in ((low, share), (high, 1 - share)):
        p = 1 / (1 + math.exp(-epsilon))
        parts += [Output(weight * p, weight * (1 - p), epsilon)]
        parts += [Output(weight * (1 - p), weight * p, epsilon)]
    return Mechanism(Pure(high), tuple(parts))


def refund(rule: Any, account: Any, mechanism: Mechanism, output: Output) -> Any:
    """Settle an ex-post run as the ledger does: in the basic account alone."""
    if output.cost is None:
        return account
    reserved = rule.price(mechanism.event).basic_eps
    if reserved is None:
        return account
    return rule.give_back(account, Price(basic_eps=reserved - up(output.cost)))


def worst_delta(
    epsilon: float,
    mechanisms: list[Mechanism],
    start: Hashable,
    admit: Callable[[Any, Mechanism], Any],
    settle: Callable[[Any, Mechanism, Output], Any] = lambda state, mechanism, output: state,
    steps: int = 10**6,
) -> float:
    """Return the largest delta of any adaptive strategy whose every event is admitted."""
    known: dict[Any, float] = {}

    def value(state: Any, log_ratio: float, left: int) -> float:
        # Per unit of probability on the other side; exp(log_ratio) here.
        key = (state, round(log_ratio, 9), left)
        if key not in known:
            best = max(0.0, math.exp(log_ratio) - math.exp(epsilon))
            for mechanism in mechanisms if left else ():
                after = admit(state, mechanism)
                if after is None:
                    continue
                found = 0.0
                for output in mechanism.outputs:
                    if output.there == 0:
                        found += math.exp(log_ratio) * output.here
                    elif output.here > 0:
                        then = settle(after, mechanism, output)
                        ratio = log_ratio + math.log(output.here / output.there)
                        # Steps are counted only where they are few.
                        rest = left - 1 if left < 100 else left
                        found += output.there * value(then, ratio, rest)
                best = max(best, found)
            known[key] = best
        return known[key]

    return value(start, 0.0, steps)


def worst_delta_on_grid(
    epsilon: float,
    rule: Any,
    mechanisms: list[Mechanism],
    mus: tuple[float, ...],
    step: float = 0.02,
    reach: float = 6.0,
) -> float:
    """As :func:`worst_delta`, with Gaussian noise among the events.

    The value is kept on a grid of log ratios. It is convex in the ratio, so the
    chords in between lie above it: what is found is never too small by them.
    """
    logs = np.arange(-reach, reach + step / 2, step)
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    weights = weights / weights.sum()
    final = np.maximum(0.0, np.exp(logs) - math.exp(epsilon))
    known: dict[Any, Any] = {}

    def value(account: Any) -> Any:
        if account in known:
            return known[account]
        best = final
        for mechanism in mechanisms:
            after = rule.admit(account, rule.price(mechanism.event))
            if after is None:
                continue
            then, found = value(after), np.zeros_like(logs)
            for output in mechanism.outputs:
                if output.there == 0:
                    found += np.exp(logs) * output.here
                elif output.here > 0:
                    moved = logs + math.log(output.here / output.there)
                    found += output.there * np.interp(moved, logs, then)
            best = np.maximum(best, found)
        for mu in mus:
            after = rule.admit(account, rule.price(Gaussian(1 / mu)))
            if after is None:
                continue
            then = value(after)
            found = sum(
                weight * np.interp(logs - mu * mu / 2 + mu * node, logs, then)
                for node, weight in zip(nodes, weights, strict=True)
            )
            best = np.maximum(best, found)
        known[account] = best
        return best

    return float(np.interp(0.0, logs, value(rule.fresh())))
