"""Attacks on releases that measure how much privacy a program really spends."""

from discreet.auditing.lower_bound import (
    clopper_pearson,
    event_epsilon,
    gaussian_epsilon,
    gaussian_mu,
    guesses_epsilon,
    guesses_gaussian_epsilon,
)
from discreet.auditing.pairs import Pair, worst_pair
from discreet.auditing.report import AuditReport
from discreet.auditing.run import METHODS, audit

__all__ = [
    "METHODS",
    "AuditReport",
    "Pair",
    "audit",
    "clopper_pearson",
    "event_epsilon",
    "gaussian_epsilon",
    "gaussian_mu",
    "guesses_epsilon",
    "guesses_gaussian_epsilon",
    "worst_pair",
]
