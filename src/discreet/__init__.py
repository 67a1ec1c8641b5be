"""Fit convex models on sensitive data with a guarantee that is true of the program."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting import Budget, Guarantee
    from discreet.bounds import Bounds
    from discreet.errors import TooFewRows, WeakBudget
    from discreet.estimators import (
        AccuracyFirst,
        PrivateElasticNet,
        PrivateGeometricMedian,
        PrivateHuberRegressor,
        PrivateLasso,
        PrivateLinearSVC,
        PrivateLogisticRegression,
        PrivateMedian,
        PrivatePoissonRegressor,
        PrivateQuantile,
        PrivateQuantileRegressor,
        PrivateRidge,
        PrivateSGDClassifier,
        PrivateSGDRegressor,
        PrivateSparseLogisticRegression,
        PrivateSparseRegression,
        PrivateStreamClassifier,
        PrivateStreamRegressor,
        UndeclaredBounds,
        load,
    )
    from discreet.schema import (
        Boolean,
        Categories,
        Codes,
        Date,
        Duration,
        Ordinal,
        Range,
        Schema,
    )

__version__ = "0.1.0"

__all__ = [
    "AccuracyFirst",
    "Boolean",
    "Bounds",
    "Budget",
    "Categories",
    "Codes",
    "Date",
    "Duration",
    "Guarantee",
    "Ordinal",
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
    "Range",
    "Schema",
    "TooFewRows",
    "UndeclaredBounds",
    "WeakBudget",
    "load",
]

_HOMES = {
    "Boolean": "schema",
    "Bounds": "bounds",
    "Budget": "accounting",
    "Categories": "schema",
    "Codes": "schema",
    "Date": "schema",
    "Duration": "schema",
    "Guarantee": "accounting",
    "Ordinal": "schema",
    "Range": "schema",
    "Schema": "schema",
    "TooFewRows": "errors",
    "WeakBudget": "errors",
}


def __getattr__(name: str) -> Any:
    # Names are fetched when first used, so that the command line starts without scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(import_module(f"discreet.{_HOMES.get(name, 'estimators')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
