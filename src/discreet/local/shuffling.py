"""What a shuffler adds: a second guarantee, true only if somebody really shuffles.

If an anonymous shuffler strips reports of identity, order and time, one report hides among those of
the others, and what all of them tell about one person is far less than ``epsilon0``, the epsilon of
an answer. With ``k = 2 / (exp(epsilon0) + 1)``, ``C`` binomial of ``n - 1`` and ``k``, ``E =
exp(epsilon)``, ``r = (E exp(epsilon0) - 1) / (exp(epsilon0) - E)`` and ``a = floor((C + 1) r / (1 +
r)) + 1``,

    delta = E_C[(exp(epsilon0) - E) P(Bin(C, 1/2) >= a - 1)
                - (E exp(epsilon0) - 1) P(Bin(C, 1/2) >= a)] / (exp(epsilon0) + 1).

The proof is in ``docs/proofs/local/shuffled.md``. It needs one randomizer for all, which holds
here: what is asked depends on the seed alone.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import binom

from discreet.accounting import Approximate, Guarantee
from discreet.accounting.gaussian_profile import least
from discreet.accounting.theorems import theorems
from discreet.checks import between, integer, nonnegative, usable_epsilon
from discreet.errors import Incompatible, InvalidParameter
from discreet.local.spec import Spec

LEAST_DELTA = 1e-10
"""Below it the rounding of binomial tails, which is added to delta, would matter."""

SLACK = 1e-12
"""Added to delta for the rounding of binomial tails."""

SHUFFLED = (
    "ONLY IF an anonymous shuffler removed the identity, order and time of the reports, and at "
    "least {n:,} of those shuffled together came from devices that ran this program"
)


def shuffled_delta(epsilon: float, answer: float, persons: int) -> float:
    """Return the delta at an epsilon of shuffled reports, each of epsilon ``answer``.

    >>> round(shuffled_delta(0.0, 1.0, 1), 6)
    0.462117
    """
    epsilon, e0 = nonnegative("epsilon", epsilon), usable_epsilon("answer", answer)
    n = integer("persons", persons)
    if epsilon >= e0:
        return 0.0
    if e0 > 30:
        return 1.0  # nothing is gained, and exponentials lose their digits
    grow, big = math.exp(epsilon), math.exp(e0)
    if grow >= big:  # by rounding
        return SLACK
    chance = 2 / (big + 1)
    spread = 8 * math.sqrt(n * chance) + 30
    low = max(0, math.floor(n * chance - spread))
    count = np.arange(low, min(n - 1, math.ceil(n * chance + spread)) + 1)
    share = (grow * big - 1) / (big - grow)
    # Rounding may move the threshold by one: any threshold is an event, and the best is sought.
    first = np.floor((count + 1) * (share / (1 + share))).astype(np.int64) + 1
    gains = [
        (big - grow) * binom.sf(first + k - 2, count, 0.5)
        - (grow * big - 1) * binom.sf(first + k - 1, count, 0.5)
        for k in (-1, 0, 1)
    ]
    inside = float(binom.pmf(count, n - 1, chance) @ np.maximum(np.max(gains, axis=0), 0.0))
    outside = float(binom.cdf(low - 1, n - 1, chance) + binom.sf(count[-1], n - 1, chance))
    return min(1.0, inside / (big + 1) + outside + SLACK)


def shuffled_epsilon(answer: float, persons: int, delta: float) -> float:
    """Return the epsilon of shuffled reports at a delta; never more than that of one answer.

    >>> round(shuffled_epsilon(1.0, 10_000, 1e-6), 4)
    0.0432
    """
    delta = between("delta", delta, 0, 1)
    if delta < LEAST_DELTA:
        raise InvalidParameter(f"delta must be at least {LEAST_DELTA:g}. Got {delta!r} instead.")
    answer = usable_epsilon("answer", answer)
    found = least(
        lambda e: shuffled_delta(max(e, 0.0), answer, persons) <= delta,
        limit=4 * answer + 4,
        accuracy=1e-6,
    )
    return min(found, answer)


def shuffled_guarantee(spec: Spec, persons: int, delta: float) -> Guarantee:
    """Return the second guarantee, which holds if reports are shuffled; no device can enforce it.

    Parameters
    ----------
    spec
        The specification. Devices must give one answer each.
    persons
        How many honest reports are shuffled together: of a model of several rounds, those of
        one round.
    delta
        At least 1e-10.

    Examples
    --------
    >>> spec = Spec(model="linear", n_features=5, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> print(f"{shuffled_guarantee(spec, 100_000, 1e-6).epsilon:.4f}")
    0.0124
    """
    if spec.answers != 1:
        raise Incompatible(
            "Devices of this specification answer several times, and what shuffling gives adds up "
            "over the answers. Use answers=1."
        )
    epsilon = shuffled_epsilon(spec.epsilon, persons, delta)
    condition = SHUFFLED.format(n=persons)
    return replace(
        spec.guarantee,
        epsilon=epsilon,
        delta=delta,
        event=Approximate(epsilon, delta),
        theorem=theorems("local/shuffled", spec.guarantee.theorem),
        assumptions=(condition, *spec.guarantee.assumptions),
    )
