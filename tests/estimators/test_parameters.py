"""Every estimator declares its parameters once, and documents each of them."""

from __future__ import annotations

import inspect
import re
import warnings
from typing import Any

import pytest

import discreet
from discreet.errors import InvalidParameter

ESTIMATORS = [
    kind
    for name in discreet.__all__
    if inspect.isclass(kind := getattr(discreet, name)) and hasattr(kind, "get_params")
]


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_documented_parameters_are_those_of_the_constructor(kind: type) -> None:
    section = re.search(r"Parameters\n-+\n(.*?)\n\n", inspect.getdoc(kind) or "", re.DOTALL)
    assert section is not None
    lines = [line for line in section[1].splitlines() if not line.startswith(" ")]
    named = [name for line in lines for name in line.split(", ")]
    assert sorted(named) == sorted(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_settings_are_keywords(kind: type) -> None:
    parameters = inspect.signature(kind).parameters
    positional = [name for name, p in parameters.items() if p.kind is not p.KEYWORD_ONLY]
    wrapped = {
        discreet.AccuracyFirst: ["estimator"],
        discreet.PrivateSearch: ["estimator", "param_distributions"],
    }
    assert positional == wrapped.get(kind, [])


def test_what_a_fit_leaves_cannot_be_passed_in() -> None:
    with pytest.raises(TypeError, match="coef_"):
        discreet.PrivateRidge(coef_=[1.0])


@pytest.mark.parametrize(
    ("model", "named"),
    [
        (discreet.PrivateRidge(n_rows="many"), "n_rows"),
        (discreet.PrivateLogisticRegression(n_rows=0), "n_rows"),
        (discreet.PrivateSparseRegression(size=0), "size"),
    ],
)
def test_a_bad_parameter_is_named_also_where_it_is_not_needed(model: Any, named: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", discreet.UndeclaredBounds)
        with pytest.raises(InvalidParameter, match=f"^{named} "):
            model.plan(3, 100)


def test_ranges_are_declared_by_names_that_are_text() -> None:
    with pytest.raises(InvalidParameter, match=r"bounds\.features takes names"):
        discreet.Bounds(features={0: (0, 1)})


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (discreet.PrivateRidge, "clip"),
        (discreet.PrivateRidge, "norm_guess"),
        (discreet.PrivateHuberRegressor, "threshold"),
        (discreet.PrivateLasso, "radius"),
        (discreet.PrivateSGDClassifier, "clip"),
        (discreet.PrivateLinearSVC, "norm_guess"),
        (discreet.PrivateSGDRegressor, "alpha"),
    ],
)
def test_settings_too_large_to_be_squared_are_refused_in_words(kind, name):
    bounds = discreet.Bounds(row_norm=1.0, classes=(0, 1), label=(-1, 1))
    with pytest.raises(InvalidParameter, match=f"{name} must lie between"):
        kind(bounds=bounds, **{name: 1e300}).plan(3, 100)
