"""Fit convex models on sensitive data with a guarantee that is true of the program."""

from discreet.accounting import Budget, Guarantee
from discreet.estimators import (
    PrivateElasticNet,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    UndeclaredBounds,
    load,
)
from discreet.types import Bounds

__version__ = "0.1.0"

__all__ = [
    "Bounds",
    "Budget",
    "Guarantee",
    "PrivateElasticNet",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateRidge",
    "UndeclaredBounds",
    "load",
]
