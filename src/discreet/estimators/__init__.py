"""Scikit-learn estimators."""

from discreet.estimators.accuracy_first import AccuracyFirst
from discreet.estimators.classifiers import PrivateLinearSVC, PrivateLogisticRegression
from discreet.estimators.quantiles import PrivateMedian, PrivateQuantile
from discreet.estimators.regressors import (
    PrivateElasticNet,
    PrivateHuberRegressor,
    PrivatePoissonRegressor,
    PrivateRidge,
)
from discreet.estimators.sgd import (
    PrivateGeometricMedian,
    PrivateQuantileRegressor,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
)
from discreet.estimators.shared.base import UndeclaredBounds
from discreet.estimators.shared.persistence import load
from discreet.estimators.sparse import (
    NoStableSupport,
    PrivateLasso,
    PrivateSparseLogisticRegression,
    PrivateSparseRegression,
)
from discreet.estimators.stream import PrivateStreamClassifier, PrivateStreamRegressor

__all__ = [
    "AccuracyFirst",
    "NoStableSupport",
    "PrivateElasticNet",
    "PrivateGeometricMedian",
    "PrivateHuberRegressor",
    "PrivateLasso",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMedian",
    "PrivatePoissonRegressor",
    "PrivateQuantile",
    "PrivateQuantileRegressor",
    "PrivateRidge",
    "PrivateSGDClassifier",
    "PrivateSGDRegressor",
    "PrivateSparseLogisticRegression",
    "PrivateSparseRegression",
    "PrivateStreamClassifier",
    "PrivateStreamRegressor",
    "UndeclaredBounds",
    "load",
]
