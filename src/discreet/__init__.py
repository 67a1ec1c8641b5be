"""Fit convex models on sensitive data with a guarantee that is true of the program."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.accounting import Budget, Guarantee
    from discreet.auditing import AuditReport, audit
    from discreet.bounds import Bounds
    from discreet.data import memory_limit, watching
    from discreet.errors import TooFewRows, Uncounted, WeakBudget
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
    from discreet.evaluation import evaluate, make_private_scorer
    from discreet.ledger import Ledger
    from discreet.preprocessing import (
        PrivateBounds,
        PrivateCategories,
        PrivatePCA,
        PrivateStandardScaler,
        pipeline_guarantee,
    )
    from discreet.rehearsal import rehearse
    from discreet.schema import (
        Boolean,
        Categories,
        Codes,
        Date,
        Duration,
        Ordinal,
        Person,
        Range,
        Schema,
    )
    from discreet.tuning import PrivateSearch

__version__ = "0.1.0"

__all__ = [
    "AccuracyFirst",
    "AuditReport",
    "Boolean",
    "Bounds",
    "Budget",
    "Categories",
    "Codes",
    "Date",
    "Duration",
    "Guarantee",
    "Ledger",
    "Ordinal",
    "Person",
    "PrivateBounds",
    "PrivateCategories",
    "PrivateElasticNet",
    "PrivateGeometricMedian",
    "PrivateHuberRegressor",
    "PrivateLasso",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateMedian",
    "PrivatePCA",
    "PrivatePoissonRegressor",
    "PrivateQuantile",
    "PrivateQuantileRegressor",
    "PrivateRidge",
    "PrivateSGDClassifier",
    "PrivateSGDRegressor",
    "PrivateSearch",
    "PrivateSparseLogisticRegression",
    "PrivateSparseRegression",
    "PrivateStandardScaler",
    "PrivateStreamClassifier",
    "PrivateStreamRegressor",
    "Range",
    "Schema",
    "TooFewRows",
    "Uncounted",
    "UndeclaredBounds",
    "WeakBudget",
    "audit",
    "evaluate",
    "load",
    "make_private_scorer",
    "memory_limit",
    "pipeline_guarantee",
    "rehearse",
    "watching",
]

_ROOMS = {
    "accounting": ("Budget", "Guarantee"),
    "auditing": ("AuditReport", "audit"),
    "bounds": ("Bounds",),
    "data": ("memory_limit", "watching"),
    "errors": ("TooFewRows", "Uncounted", "WeakBudget"),
    "evaluation": ("evaluate", "make_private_scorer"),
    "ledger": ("Ledger",),
    "preprocessing": (
        "PrivateBounds", "PrivateCategories", "PrivatePCA", "PrivateStandardScaler",
        "pipeline_guarantee",
    ),
    "rehearsal": ("rehearse",),
    "schema": (
        "Boolean", "Categories", "Codes", "Date", "Duration", "Ordinal", "Person", "Range",
        "Schema",
    ),
    "tuning": ("PrivateSearch",),
}  # fmt: skip
"""Where a name comes from, if not from ``estimators``."""


def __getattr__(name: str) -> Any:
    # Names are fetched when first used, so that the command line starts without scikit-learn.
    if name not in __all__:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    room = next((room for room, names in _ROOMS.items() if name in names), "estimators")
    return getattr(import_module(f"discreet.{room}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
