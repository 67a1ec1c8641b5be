"""audit: run a program many times on two neighbours and see whether it keeps its guarantee."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.accounting import Guarantee
from discreet.auditing.exact import law
from discreet.auditing.lower_bound import (
    clopper_pearson,
    curve_of,
    event_epsilon,
    gaussian_epsilon,
    gaussian_mu,
    is_gaussian,
)
from discreet.auditing.one_run import one_run
from discreet.auditing.report import AuditReport
from discreet.auditing.statistic import Attack, attack_on, claim_of, planned
from discreet.bounds import Array
from discreet.checks import between, integer, one_of
from discreet.errors import Incompatible
from discreet.noise import Randomness, as_randomness

METHODS = ("auto", "gdp", "curve", "fixed", "exact", "one-run")
"""How an audit may be done."""

CANDIDATES = 200
"""Most thresholds that are tried on the first runs."""

Score = Callable[[Array], float]


def audit(
    subject: Any,
    *,
    n_features: int | None = None,
    n_rows: int | None = None,
    pair: Any = None,
    claim: Guarantee | None = None,
    score: Score | None = None,
    runs: int = 20_000,
    confidence: float = 0.95,
    method: str = "auto",
    random_state: Any = None,
) -> AuditReport:
    """Attack a program and report the epsilon that the attack shows.

    The program runs many times on two neighbours that are as easy to tell apart as
    the declared bounds allow. How often an attacker is right bounds epsilon from
    below. A bound above the claim refutes it. An audit cannot prove privacy.

    Parameters
    ----------
    subject
        A plan, of this library or your own: anything with ``problem``,
        ``guarantee`` and ``run``. Or an estimator: its plan for ``n_features`` and
        ``n_rows`` is audited, or with ``pair`` its fits.
    n_features, n_rows
        Size of the made-up data an estimator is audited on.
    pair
        Two neighbours of your own: a :class:`~discreet.auditing.Pair` for a plan,
        ``((X, y), (X2, y2))`` for an estimator. They must differ as the guarantee's
        relation says; this is not checked.
    claim
        The guarantee to test, if it is not the one that the program states itself.
    score
        A number made of the released ones (of a plan its weights, as one vector)
        that is larger for the first neighbour. By default the part of the release
        along the direction in which the neighbours pull apart.
    runs
        Runs on each neighbour. A third as many come before, to choose the attack.
    confidence
        Probability that the bound holds.
    method
        ``"gdp"`` for guarantees with a Gaussian curve, the sharpest. ``"curve"``
        tests any guarantee at every epsilon of its own curve, ``"fixed"`` at the
        stated one. ``"exact"`` leaves nothing to chance where a run draws one
        number. ``"one-run"`` needs a single run, of a plan with many features.
        ``"auto"`` takes ``"gdp"`` where it applies and ``"curve"`` elsewhere.
    random_state
        None draws from the operating system, as releases do; a seed repeats the
        audit. Runs are independent of each other either way.

    Returns
    -------
    AuditReport
        Claim, lower bound and verdict; it prints as words.

    See Also
    --------
    AuditReport : what it returns

    References
    ----------
    Nasr et al., *Tight auditing of differentially private machine learning*, 2023.
    Steinke, Nasr, Jagielski, *Privacy auditing with one (1) training run*, 2023.

    Examples
    --------
    >>> from discreet import Bounds, Budget
    >>> from discreet.algorithms import OutputPerturbation
    >>> from discreet.problem import Problem
    >>> from discreet.losses import Huber
    >>> problem = Problem(loss=Huber(threshold=0.1), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=1, n_rows=1)
    >>> plan = OutputPerturbation().plan(problem, Budget(1.0, 1e-6))
    >>> report = audit(plan, runs=400, method="exact")
    >>> report.verdict, report.claim, bool(report.lower > 0.8)
    ('no violation found', 1.0, True)
    """
    integer("runs", runs, minimum=10)
    between("confidence", confidence, 0, 1)
    one_of("method", method, METHODS)
    random = as_randomness(random_state)
    if method == "one-run":
        plan = planned(subject, n_features, n_rows)
        return one_run(plan, claim or plan.guarantee, confidence, random)
    attack = attack_on(subject, n_features, n_rows, pair)
    if claim is not None:
        attack = replace(attack, guarantee=claim)
    judge = Judge(attack.guarantee, method)
    if method == "exact":
        errors = _exact_errors(attack, score, runs, judge)
        confidence = 1.0
    else:
        errors = _counted_errors(attack, score, runs, confidence, judge, random)
    epsilon, lower, delta = judge.finding(*errors)
    return AuditReport(
        claim=epsilon,
        lower=lower,
        delta=delta,
        confidence=confidence,
        method=judge.method,
        canary=attack.words,
        runs=runs,
        neighbours=attack.guarantee.neighbours,
        unit=attack.guarantee.unit,
    )


class Judge:
    """What rates of error say about a guarantee.

    >>> from discreet.accounting import Pure
    >>> claim = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                   theorem="t")
    >>> Judge(claim, "fixed").finding(0.5, 0.1)
    (1.0, 1.6094379124341, 0.0)
    """

    def __init__(self, guarantee: Guarantee, method: str) -> None:
        self.epsilon, self.delta = claim_of(guarantee)
        gaussian = is_gaussian(guarantee.event) and self.delta > 0
        if method == "gdp" and not gaussian:
            raise Incompatible(
                "method='gdp' refutes Gaussian curves only, and this guarantee has another. Use "
                "method='curve', or 'fixed'."
            )
        self.method = ("gdp" if gaussian else "curve") if method == "auto" else method
        self._gaussian = gaussian and self.method in ("gdp", "exact")
        epsilons, deltas = np.array([self.epsilon]), np.array([self.delta])
        if self.method in ("curve", "exact") and not self._gaussian:
            epsilons, deltas = curve_of(guarantee.event, self.epsilon)
            deltas = np.append(deltas[:-1], self.delta)
        self._points = epsilons, deltas

    def worth(self, misses: Any, alarms: Any) -> Any:
        """Return how strongly such rates speak against the guarantee."""
        if self._gaussian:
            return gaussian_mu(misses, alarms)
        epsilons, deltas = self._points
        found = event_epsilon(np.asarray(misses)[..., None], np.asarray(alarms)[..., None], deltas)
        return (found - epsilons).max(axis=-1)

    def finding(self, misses: float, alarms: float) -> tuple[float, float, float]:
        """Return claim, lower bound and the delta they belong to."""
        if self._gaussian:
            mu = float(gaussian_mu(misses, alarms))
            return self.epsilon, gaussian_epsilon(mu, self.delta), self.delta
        epsilons, deltas = self._points
        found = event_epsilon(misses, alarms, deltas)
        worst = int(np.argmax(found - epsilons))
        if not found[worst] > epsilons[worst]:
            worst = len(epsilons) - 1  # the stated claim, if no point of the curve is refuted
        return float(epsilons[worst]), max(0.0, float(found[worst])), float(deltas[worst])


def _counted_errors(
    attack: Attack,
    score: Score | None,
    runs: int,
    confidence: float,
    judge: Judge,
    random: Randomness,
) -> tuple[float, float]:
    """Return upper bounds on both errors of an attack that other runs have chosen."""
    level = (1.0 - confidence) / 2.0  # each of the two rates
    first, second = ([run(random) for _ in range(max(4, runs // 3))] for run in attack.outputs)
    scored = _scoring(attack, score, first, second)
    tried = np.array([scored(o) for o in first]), np.array([scored(o) for o in second])
    threshold = _threshold(*tried, runs, level, judge)
    # Fresh runs: a threshold judged by the runs that chose it would look better than it is.
    misses = sum(scored(attack.outputs[0](random)) < threshold for _ in range(runs))
    alarms = sum(scored(attack.outputs[1](random)) >= threshold for _ in range(runs))
    return (
        float(clopper_pearson(misses, runs, level)),
        float(clopper_pearson(alarms, runs, level)),
    )


def _threshold(first: Array, second: Array, runs: int, level: float, judge: Judge) -> float:
    """Return the threshold that shows most, by the first runs."""
    pooled = np.unique(np.concatenate([first, second]))
    if len(pooled) > CANDIDATES:
        pooled = pooled[np.linspace(0, len(pooled) - 1, CANDIDATES).astype(int)]
    count = len(first)
    misses = (np.searchsorted(np.sort(first), pooled) + 0.5) / (count + 1) * runs
    alarms = (count - np.searchsorted(np.sort(second), pooled) + 0.5) / (count + 1) * runs
    upper = clopper_pearson(misses, runs, level), clopper_pearson(alarms, runs, level)
    return float(pooled[int(np.nanargmax(judge.worth(*upper)))])


def _exact_errors(
    attack: Attack, score: Score | None, runs: int, judge: Judge
) -> tuple[float, float]:
    """Return both errors of the best threshold, up to the cell of the quadrature."""
    scored = _scoring(attack, score, [], [])

    def found(output: Callable[[Randomness], Array | None]) -> Array:
        return np.sort(law(lambda random: scored(output(random)), runs))

    first, second = (found(output) for output in attack.outputs)
    thresholds = np.unique(np.concatenate([first, second]))
    cell = 1.0 / len(first)
    misses = np.minimum(np.searchsorted(first, thresholds) * cell + cell, 1.0)
    alarms = np.minimum(1.0 - np.searchsorted(second, thresholds) * cell + cell, 1.0)
    best = int(np.nanargmax(judge.worth(misses, alarms)))
    return float(misses[best]), float(alarms[best])


def _scoring(
    attack: Attack, score: Score | None, first: list[Any], second: list[Any]
) -> Callable[[Array | None], float]:
    """Return the score of an output; no model, or one that is no number, scores lowest."""
    if score is None:
        direction = attack.direction
        if direction is None or not np.any(direction):
            direction = _learned(first, second)

        def score(output: Array) -> float:
            return float(output @ direction)

    def scored(output: Array | None) -> float:
        found = -np.inf if output is None else float(score(output))
        return found if found == found else -np.inf

    return scored


def _learned(first: list[Any], second: list[Any]) -> Array:
    """Return the direction in which the medians of the first runs differ, in units of spread."""
    seen = [np.array([o for o in part if o is not None]) for part in (first, second)]
    if not all(len(part) for part in seen):
        raise Incompatible(
            "The attack has no direction: the neighbours pull alike, or runs release no model. "
            "Pass score=..., a number that is larger for the first neighbour."
        )
    spread = np.ptp(np.quantile(np.concatenate(seen), (0.25, 0.75), axis=0), axis=0)
    apart = np.median(seen[0], axis=0) - np.median(seen[1], axis=0)
    # A release that hardly varies is told apart by its place alone.
    return np.asarray(apart / np.maximum(spread**2 + apart**2, 1e-200))
