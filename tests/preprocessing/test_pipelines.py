"""Pipelines: what they cost as a whole, and steps that leak."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateBounds,
    PrivateCategories,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateRidge,
    pipeline_guarantee,
)
from discreet.errors import Incompatible, InvalidParameter, UncountedStep

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)


def model(**settings: Any) -> PrivateLogisticRegression:
    bounds = Bounds(row_norm=2.0, classes=(0, 1))
    return PrivateLogisticRegression(epsilon=0.5, bounds=bounds, **settings)


@pytest.fixture
def seen() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UncountedStep)
        yield caught


def test_costs_of_steps_add_up() -> None:
    pca = PrivatePCA(n_components=2, epsilon=0.3, bounds=Bounds(row_norm=2.0))
    pipe = make_pipeline(Normalizer(), pca, FunctionTransformer(), model()).fit(X, Y)
    whole = pipeline_guarantee(pipe)
    assert whole.epsilon <= 0.8
    assert whole.delta == pytest.approx(2e-6)
    assert whole.event.delta(whole.epsilon * (1 + 1e-9)) <= whole.delta * 1.02


def test_columns_and_unions_are_looked_into() -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(job=["x", "y"] * 200)
    columns = ColumnTransformer(
        [
            ("ranges", PrivateBounds(epsilon=0.1, scale=True), ["a", "b"]),
            ("jobs", PrivateCategories(epsilon=0.2), ["job"]),
            ("union", FeatureUnion([("p", PolynomialFeatures(2))]), ["c"]),
        ]
    )
    pipe = Pipeline([("columns", columns), ("model", model())]).fit(frame, Y)
    assert pipeline_guarantee(pipe).epsilon <= 0.8
    leak = ColumnTransformer([("a", Normalizer(), ["a"])], remainder=StandardScaler())
    pipe = Pipeline([("columns", leak), ("model", model())]).fit(frame[list("abc")], Y)
    with pytest.raises(Incompatible, match="use PrivateStandardScaler"):
        pipeline_guarantee(pipe)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (StandardScaler(), "PrivateStandardScaler"),
        (SimpleImputer(strategy="mean"), "constant"),
        (SimpleImputer(strategy="constant"), "keep_empty_features"),  # leaves columns out
        (OneHotEncoder(handle_unknown="ignore"), "PrivateCategories"),
        (SelectKBest(k=1), "sparse"),
        (PCA(1), "PrivatePCA"),
        (LogisticRegression(), "declared values"),
    ],
)
def test_steps_that_learn_are_refused_with_a_replacement(step: Any, words: str) -> None:
    pipe = Pipeline([("step", step), ("model", model())])
    with pytest.raises(Incompatible, match=words):
        pipeline_guarantee(pipe)


class Derived(PrivateBounds):
    """A step that a user made from one of the library."""


class Plugin(Normalizer):  # type: ignore[misc]
    """A step of somebody else, who says what it cost, or says something else."""

    guarantee_: Any = "trust me"


def test_steps_of_other_packages_are_counted_if_they_say_what_they_cost() -> None:
    pipe = make_pipeline(Derived(epsilon=5.0, scale=True), model()).fit(X, Y)
    assert pipeline_guarantee(pipe).epsilon > 5.0
    with pytest.raises(InvalidParameter, match="Derived"):
        pipeline_guarantee(make_pipeline(Derived(), pipe[-1]))
    plugin = Plugin()
    with pytest.raises(Incompatible, match="Plugin"):
        pipeline_guarantee(make_pipeline(plugin, pipe[-1]))
    plugin.guarantee_ = pipe[0].guarantee_
    assert pipeline_guarantee(make_pipeline(plugin, pipe[-1])).epsilon > 5.0


def test_what_has_no_guarantee_yet_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="Fit the pipeline"):
        pipeline_guarantee(make_pipeline(Normalizer(), model()))
    with pytest.raises(InvalidParameter, match="AccuracyFirst"):
        pipeline_guarantee(make_pipeline(PrivateBounds().fit(X), AccuracyFirst(PrivateRidge())))
    with pytest.raises(InvalidParameter, match="no step with a guarantee"):
        pipeline_guarantee(make_pipeline(Normalizer()))
    bounds = PrivateBounds(neighbours="replace-one", scale=True)
    mixed = make_pipeline(bounds, model()).fit(X, Y)
    with pytest.raises(Incompatible, match="neighbours"):
        pipeline_guarantee(mixed)
    grid = GridSearchCV(LogisticRegression(), {"C": [1.0]})
    with pytest.raises(Incompatible, match="PrivateSearch"):
        pipeline_guarantee(make_pipeline(grid))


def test_a_fit_after_a_step_that_learned_warns_once(seen: Any) -> None:
    make_pipeline(StandardScaler(), SimpleImputer(), model()).fit(X, Y)
    assert len(seen) == 1
    said = str(seen[0].message)
    assert "StandardScaler (use PrivateStandardScaler)" in said
    assert "SimpleImputer" in said
    assert seen[0].filename == __file__


def test_stateless_and_private_steps_do_not_warn(seen: Any) -> None:
    encoder = OneHotEncoder(categories=[[0, 1]])
    constant = SimpleImputer(strategy="constant", keep_empty_features=True)
    make_pipeline(Normalizer(), constant, model()).fit(X, Y)
    make_pipeline(PrivateBounds(scale=True), model()).fit(X, Y)
    make_pipeline(encoder, model()).fit(Y[:, None], Y)
    model().fit(StandardScaler().fit_transform(X), Y)  # out of sight
    assert seen == []


def test_nested_pipelines_searches_and_transformers_warn_too(seen: Any) -> None:
    inner = make_pipeline(Normalizer(), model())
    make_pipeline(StandardScaler(), inner).fit(X, Y)
    assert len(seen) == 1
    search = GridSearchCV(make_pipeline(StandardScaler(), model()), {}, cv=2, refit=False)
    search.fit(X, Y)
    assert len(seen) == 3
    middle = PrivatePCA(bounds=Bounds(row_norm=1.0))
    make_pipeline(StandardScaler(), middle, Normalizer()).fit(X)
    assert len(seen) == 4


def test_other_ways_to_learn_before_a_fit_warn_too(seen: Any) -> None:
    ridge = PrivateRidge(bounds=Bounds(row_norm=2.0, label=(-3, 3)))
    TransformedTargetRegressor(ridge, transformer=StandardScaler()).fit(X, X[:, 0])
    assert len(seen) == 1
    stack = StackingClassifier([("plain", LogisticRegression())], final_estimator=model(), cv=2)
    stack.fit(X, Y)
    assert len(seen) == 2
