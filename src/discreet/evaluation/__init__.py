"""Scores of models on sensitive rows, with a guarantee of their own."""

from discreet.evaluation.estimate import Estimate
from discreet.evaluation.evaluate import evaluate, plan_evaluation, run_plan
from discreet.evaluation.holdout import Tested, fit_and_evaluate
from discreet.evaluation.plan import CLASSIFIER_METRICS, REGRESSOR_METRICS, EvaluationPlan
from discreet.evaluation.result import Evaluation
from discreet.evaluation.scorer import make_private_scorer

__all__ = [
    "CLASSIFIER_METRICS",
    "REGRESSOR_METRICS",
    "Estimate",
    "Evaluation",
    "EvaluationPlan",
    "Tested",
    "evaluate",
    "fit_and_evaluate",
    "make_private_scorer",
    "plan_evaluation",
    "run_plan",
]
