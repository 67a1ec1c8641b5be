"""An audit by one run: many canaries, each in the data by a fair coin of the auditor."""

from __future__ import annotations

import numpy as np

from discreet.accounting import Guarantee
from discreet.auditing.lower_bound import guesses_epsilon, guesses_gaussian_epsilon, is_gaussian
from discreet.auditing.pairs import blank, canary, source_of
from discreet.auditing.report import AuditReport
from discreet.auditing.statistic import claim_of
from discreet.errors import Incompatible
from discreet.noise import Randomness, signs
from discreet.problem import Plan

FEWEST = 10
"""Canaries below which one run says nothing."""

CERTAIN = 2.0
"""Epsilon from which few guesses, of which one is sure, say more than many."""


def one_run(plan: Plan, guarantee: Guarantee, confidence: float, random: Randomness) -> AuditReport:
    """Return what one run says: canaries on coordinates of their own, and guesses at each.

    The number of guesses depends on the claim alone, so it is fixed before the run.
    """
    problem = plan.problem
    claim, delta = claim_of(guarantee)
    if problem.grouping is not None:
        raise Incompatible("method='one-run' places single rows, not groups. Use method='auto'.")
    count = min(problem.n_features, problem.n_rows or problem.n_features)
    if count < FEWEST:
        raise Incompatible(
            f"method='one-run' needs at least {FEWEST} features and rows, one for each canary. Use "
            "a wider plan, or method='auto'."
        )
    # Coins of the auditor: words that the run does not see.
    coins = signs(np.zeros(count), random)
    places = [canary(problem, j) for j in range(count)]
    rows = [one.first if coin else one.second for one, coin in zip(places, coins, strict=True)]
    rows += [blank(problem)] * ((problem.n_rows or count) - count)
    weights = np.ravel(plan.run(source_of(problem, rows), random).weights)
    scores = np.array([weights @ one.direction for one in places])
    scores = scores - np.median(scores)
    guesses = max(FEWEST, count // (10 if claim >= CERTAIN else 3))
    clearest = np.argsort(-np.abs(scores), kind="stable")[:guesses]
    correct = int(np.sum((scores[clearest] > 0) == coins[clearest]))
    level = 1.0 - confidence
    gaussian = delta > 0 and is_gaussian(guarantee.event)
    bound = guesses_gaussian_epsilon if gaussian else guesses_epsilon
    return AuditReport(
        claim=claim,
        lower=bound(correct, guesses, count, delta, level),
        delta=delta,
        confidence=confidence,
        method="one-run",
        canary=f"{count} rows on coordinates of their own, each there by a coin",
        runs=1,
        neighbours=guarantee.neighbours,
        unit=guarantee.unit,
    )
