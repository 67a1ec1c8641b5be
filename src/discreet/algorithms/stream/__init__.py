"""Streams: models that learn from rows as they come."""

from discreet.algorithms.stream.ftrl import FTRL, ONE_PASS, FTRLPlan
from discreet.algorithms.stream.learner import StreamLearner

__all__ = [
    "FTRL",
    "ONE_PASS",
    "FTRLPlan",
    "StreamLearner",
]
