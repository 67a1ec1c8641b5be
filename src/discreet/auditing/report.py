"""What an audit found, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

LIMITS = "An audit cannot prove privacy."
"""Said of every audit that finds nothing."""


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """What an audit found.

    Parameters
    ----------
    claim
        Epsilon that is claimed at ``delta``. It is the stated one, unless the audit
        refutes another point of the same guarantee's curve.
    lower
        Epsilon at ``delta`` that the attack shows.
    delta
        Where on the curve both hold.
    confidence
        Probability that ``lower`` is not too large; 1 for the exact method.
    method
        ``"gdp"``, ``"curve"``, ``"fixed"``, ``"exact"`` or ``"one-run"``.
    canary
        What the two data sets were, in words.
    runs
        Runs on each of them, without those that chose the attack.
    neighbours, unit
        The relation and the unit of the claim.

    Examples
    --------
    >>> report = AuditReport(claim=1.0, lower=0.83, delta=1e-6, confidence=0.95, method="gdp",
    ...                      canary="a row against a blank row", runs=20_000,
    ...                      neighbours="zero-out", unit="row")
    >>> report.verdict
    'no violation found'
    >>> print(report)
    20,000 runs found no violation; the strongest attack tried shows epsilon >= 0.83 of the
    claimed 1.00 at delta = 1e-06 per row under zero-out (95 %). An audit cannot prove privacy.
      canary: a row against a blank row
      method: gdp
    """

    claim: float
    lower: float
    delta: float
    confidence: float
    method: str
    canary: str
    runs: int
    neighbours: str
    unit: str

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower > self.claim

    @property
    def verdict(self) -> str:
        """``"violation"`` or ``"no violation found"``; never "private"."""
        return "violation" if self.violated else "no violation found"

    def __str__(self) -> str:
        """Return the finding in words."""
        runs = f"{self.runs:,} run{'s' * (self.runs != 1)}"
        sure = "exact" if self.confidence == 1 else f"{_percent(self.confidence)} %"
        where = f"at delta = {self.delta:.3g} per {self.unit} under {self.neighbours} ({sure})."
        if self.violated:
            text = (
                f"VIOLATION: {runs} show epsilon >= {_number(self.lower)}, above the claimed "
                f"{_number(self.claim)}\n{where} Do not release what this program computes."
            )
        else:
            text = (
                f"{runs} found no violation; the strongest attack tried shows epsilon >= "
                f"{_number(self.lower)} of the\nclaimed {_number(self.claim)} {where} {LIMITS}"
            )
        return f"{text}\n  canary: {self.canary}\n  method: {self.method}"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "infinity"


def _percent(share: float) -> str:
    return f"{100 * share:.8g}"
