"""Scikit-learn estimators."""

from discreet.estimators.base import UndeclaredBounds
from discreet.estimators.classifiers import PrivateLinearSVC, PrivateLogisticRegression
from discreet.estimators.persistence import load
from discreet.estimators.regressors import PrivateElasticNet, PrivateHuberRegressor, PrivateRidge

__all__ = [
    "PrivateElasticNet",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateRidge",
    "UndeclaredBounds",
    "load",
]
