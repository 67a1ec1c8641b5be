"""Which steps of a pipeline learn nothing from rows, and what to use in place of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from numbers import Real
from typing import Any

STATELESS = (
    "Binarizer",
    "FeatureHasher",
    "FunctionTransformer",
    "HashingVectorizer",
    "Normalizer",
    "PolynomialCountSketch",
    "PolynomialFeatures",
    "SkewedChi2Sampler",
)
"""Classes whose fit looks at the shape of rows at most."""

_IMPUTER = "SimpleImputer(strategy='constant', keep_empty_features=True), or missing= of a schema"

REPLACEMENTS = {
    "StandardScaler": "PrivateStandardScaler",
    "RobustScaler": "PrivateStandardScaler",
    "MinMaxScaler": "PrivateBounds(scale=True), or declared ranges",
    "MaxAbsScaler": "PrivateBounds(scale=True), or declared ranges",
    "QuantileTransformer": "declared ranges, or PrivateBounds",
    "PowerTransformer": "a FunctionTransformer such as log1p, and declared ranges",
    "KBinsDiscretizer": "a FunctionTransformer with declared edges",
    "SplineTransformer": "a FunctionTransformer with declared knots",
    "SimpleImputer": _IMPUTER,
    "KNNImputer": _IMPUTER,
    "IterativeImputer": _IMPUTER,
    "MissingIndicator": "MissingIndicator(features='all')",
    "OneHotEncoder": "OneHotEncoder(categories=[...]) with declared categories, a schema, or "
    "PrivateCategories",
    "OrdinalEncoder": "OrdinalEncoder(categories=[...]) with declared categories, or a schema",
    "TargetEncoder": "a schema, or PrivateCategories",
    "PCA": "PrivatePCA",
    "IncrementalPCA": "PrivatePCA",
    "TruncatedSVD": "PrivatePCA(centred=False)",
    "SelectKBest": "a sparse model such as PrivateSparseLogisticRegression",
    "SelectPercentile": "a sparse model such as PrivateSparseLogisticRegression",
    "SelectFromModel": "a sparse model such as PrivateSparseLogisticRegression",
    "RFE": "a sparse model such as PrivateSparseLogisticRegression",
    "VarianceThreshold": "a choice of columns from public knowledge",
    "CountVectorizer": "HashingVectorizer",
    "TfidfVectorizer": "HashingVectorizer",
    "GridSearchCV": "PrivateSearch",
    "RandomizedSearchCV": "PrivateSearch",
}
"""What does the same with a guarantee, or without looking at rows."""


def leaves(step: Any) -> Iterator[Any]:
    """Yield the steps that a pipeline, a union or a transformer of columns is made of.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer
    >>> list(leaves(make_pipeline("passthrough", make_pipeline(Normalizer()))))
    [Normalizer()]
    """
    if step is None or isinstance(step, str):  # "passthrough" and "drop"
        return
    kind = type(step).__name__
    if kind == "Pipeline":
        parts = [part for _, part in step.steps]
    elif kind == "FeatureUnion":
        parts = [part for _, part in step.transformer_list]
    elif kind == "ColumnTransformer":
        fitted = getattr(step, "transformers_", None)
        parts = [part[1] for part in fitted or step.transformers]
        parts += [] if fitted else [step.remainder]
    else:
        yield step
        return
    for part in parts:
        yield from leaves(part)


def own(step: Any) -> bool:
    """Return whether a step is of this library, or of a class derived from one of its own.

    >>> from sklearn.preprocessing import Normalizer
    >>> from discreet import PrivateBounds
    >>> own(PrivateBounds()), own(type("Mine", (PrivateBounds,), {})()), own(Normalizer())
    (True, True, False)
    """
    return any(kind.__module__.startswith("discreet.") for kind in type(step).__mro__)


def learns_freely(step: Any) -> bool:
    """Return whether a step learns from rows without a guarantee of its own.

    What is not known to look at shapes alone counts as learning.

    >>> from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler
    >>> [learns_freely(s) for s in (Normalizer(), StandardScaler(), OneHotEncoder())]
    [False, True, True]
    >>> learns_freely(OneHotEncoder(categories=[["no", "yes"]]))
    False
    """
    if own(step) or hasattr(step, "guarantee_"):
        return False
    name, foreign = type(step).__name__, not type(step).__module__.startswith("sklearn.")
    if foreign:
        return True
    if name in ("OneHotEncoder", "OrdinalEncoder"):
        rare = getattr(step, "min_frequency", None), getattr(step, "max_categories", None)
        return isinstance(step.categories, str) or rare != (None, None)
    if name == "SimpleImputer":
        # privacy: columns that are empty in the rows are left out unless they are kept.
        whole = step.strategy == "constant" and bool(step.keep_empty_features)
        return not whole or bool(step.add_indicator)
    if name == "MissingIndicator":
        return bool(step.features != "all")
    if name in ("GaussianRandomProjection", "SparseRandomProjection"):
        return bool(step.n_components == "auto")  # by the number of rows
    if name == "RBFSampler":
        return not isinstance(step.gamma, Real)
    return name not in STATELESS


def instead(step: Any) -> str:
    """Return what to use in place of a step that learns, in words.

    >>> from sklearn.decomposition import PCA
    >>> instead(PCA())
    'PCA (use PrivatePCA)'
    """
    name = type(step).__name__
    known = REPLACEMENTS.get(name)
    if known is None and re.search("Search", name):
        known = "PrivateSearch"
    return f"{name} (use {known or 'declared values in its place, or leave it out'})"
