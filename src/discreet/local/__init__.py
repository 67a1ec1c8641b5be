"""Local privacy: every person's device answers with one random bit, and no server is trusted."""

from discreet.local.aggregator import Aggregator, LocalModel
from discreet.local.planning import LocalPlan, plan
from discreet.local.randomizer import direction, private_sign, report_norm
from discreet.local.reporter import Query, Report, Reporter
from discreet.local.shuffling import shuffled_delta, shuffled_epsilon, shuffled_guarantee
from discreet.local.spec import Spec

__all__ = [
    "Aggregator",
    "LocalModel",
    "LocalPlan",
    "Query",
    "Report",
    "Reporter",
    "Spec",
    "direction",
    "plan",
    "private_sign",
    "report_norm",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_guarantee",
]
