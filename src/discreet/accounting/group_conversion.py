"""What a guarantee per row says about several rows at once.

A chain of neighbours leads from one data set to another that differs in ``k`` rows. If
``d`` is the curve of one step, then for all ``e_1 .. e_k``

    P[S] <= exp(e_1 + .. + e_k) Q[S] + d(e_1) + exp(e_1) d(e_2) + ..

Gaussian noise and pure privacy have closed forms: the distance, or epsilon, times ``k``
(``docs/proofs/lemmas/groups.md``).
"""

from __future__ import annotations

import math

from discreet.accounting.events import Approximate, Composed, Event, Gaussian, Pure, epsilon_at


def for_rows(
    event: Event, rows: int, claim: tuple[float, float]
) -> tuple[Event, float, float] | None:
    """Return what an event costs where so many rows change, its epsilon and its delta.

    None if nothing is known.

    Parameters
    ----------
    event
        The cost of one row.
    rows
        How many rows change.
    claim
        Epsilon and delta of one row: the point that is used where no curve is known. The
        result is stated at the same delta where there is one.

    Examples
    --------
    >>> for_rows(Gaussian(6.0), 3, (1.0, 1e-6))[0]
    Gaussian(multiplier=2.0)
    >>> for_rows(Pure(0.5), 3, (0.5, 0.0))[1:]
    (1.5, 0.0)
    """
    (epsilon, delta), noise = claim, _gaussian(event)
    if delta == 0.0:
        return Pure(rows * epsilon), rows * epsilon, 0.0
    if noise is not None:
        wide = Gaussian(noise / rows)
        return wide, epsilon_at(wide, delta), delta
    total = 0.0
    for _ in range(rows):
        # privacy: the j-th step is paid exp(e_1 + .. + e_(j-1)) times what its curve says.
        share = delta / rows * math.exp(-total) * (1.0 - 1e-12)
        total += epsilon_at(event, share) if share > 0.0 else math.inf
    if total < math.inf:
        return Approximate(total, delta), total, delta
    if rows * epsilon > 600.0:
        return None
    more = delta * math.fsum(math.exp(j * epsilon) for j in range(rows)) * (1.0 + 1e-12)
    epsilon *= rows
    return (Approximate(epsilon, more), epsilon, more) if more < 1.0 else None


def _gaussian(event: Event) -> float | None:
    """Return the noise multiplier of an event that is one of the Gaussian mechanism."""
    if isinstance(event, Gaussian):
        return event.multiplier
    if not isinstance(event, Composed):
        return None
    parts = [_gaussian(part) for part in event.events]
    if not parts or any(part is None for part in parts):
        return None
    # privacy: rounded down, so that the distance is not claimed to be smaller than it is.
    return (1.0 - 2.0**-50) / math.sqrt(math.fsum(part**-2.0 for part in parts if part))
