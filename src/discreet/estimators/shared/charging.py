"""Charging a fit to its ledger, and what is said where there is none."""

from __future__ import annotations

import inspect
import warnings
from contextlib import AbstractContextManager
from typing import Any
from weakref import WeakKeyDictionary

from discreet.accounting import Guarantee
from discreet.errors import Uncounted, UncountedStep
from discreet.ledger import Ledger, Reserved, spending
from discreet.schema.stateless import instead, learns_freely, leaves

_COUNT = "Pass ledger=Ledger.create(path, dataset=..., epsilon=..., delta=...), which adds them up."
_AGAIN = (
    "{}: this object was fitted before. Fits of the same rows add up, and guarantee_ speaks of the "
    "last one alone. " + _COUNT
)
_SEARCH = (
    "{}: a cross-validation or search fits every fold and every candidate, and all these fits add "
    "up. guarantee_ of the best estimator speaks of its own fit alone, and scores of rows that "
    "were read without noise are outside of any guarantee. " + _COUNT
)
_SCORE = (
    "{}: a score is computed from rows without noise, so publishing or choosing by it is outside "
    "of the guarantee, and the ledger does not count it."
)
_STEPS = (
    "{}: steps before this fit learned from the same rows without a guarantee, so the guarantee of "
    "this fit does not cover what it publishes: {}. discreet.pipeline_guarantee(pipe) says what a "
    "whole pipeline guarantees."
)

_MANY_FITS = tuple(
    f"sklearn.{name}"
    for name in (
        "model_selection", "ensemble", "multiclass", "multioutput", "calibration",
        "feature_selection", "semi_supervised",
    )
)  # fmt: skip
"""Modules that fit an estimator more than once to the same rows."""

_FITS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_said: set[str] = set()


def warn_caller(
    message: str, category: type[Warning], past: tuple[str, ...] = ("discreet.",)
) -> None:
    """Warn at the line outside this library, and others to be passed, that led here.

    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn_caller("fits add up", Uncounted)
    >>> len(seen)
    1
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith(past):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def charged(
    estimator: Any,
    ledger: Ledger | None,
    guarantee: Guarantee,
    algorithm: str,
    model: str | None = None,
) -> AbstractContextManager[Reserved]:
    """Return the block in which an estimator reads rows, charged to its ledger if it has one.

    The entry names the estimator, or what it fits as ``model``.
    """
    name = type(estimator).__name__
    # A fit inside another one is counted there.
    if ledger is None and guarantee.secure and not getattr(estimator, "_inner", False):
        _FITS[estimator] = _FITS.get(estimator, 0) + 1
        if _searching():
            _say("search", _SEARCH.format(name))
        elif _FITS[estimator] == 2:
            warn_caller(_AGAIN.format(name), Uncounted)
    return spending(ledger, guarantee, model=model or name, algorithm=algorithm)


def stands_alone(estimator: Any) -> bool:
    """Return whether nothing is known to share the budget of a fit: what is called is public.

    A ledger, whatever of scikit-learn fits more than once (a search, an ensemble, one class
    against the rest) and private steps of a pipeline before this one do share it.

    >>> from discreet import PrivateRidge
    >>> stands_alone(PrivateRidge())
    True
    """
    counted = estimator.ledger is not None or getattr(estimator, "_shared", False)
    return not (counted or _called_by(*_MANY_FITS) or any(map(_guaranteed, _before())))


def _guaranteed(step: Any) -> bool:
    return any(isinstance(getattr(leaf, "guarantee_", None), Guarantee) for leaf in leaves(step))


def _before() -> list[Any]:
    """Return what scikit-learn fitted before the present fit."""
    found, frame = [], inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn."):
            found += _earlier(frame.f_locals.get("self"), frame.f_locals)
        frame = frame.f_back
    return found


def warn_of_steps(estimator: Any) -> None:
    """Warn if scikit-learn fits an estimator after steps that learned from the same rows."""
    found, fits, frame = [], 0, inspect.currentframe()
    while frame is not None:
        # A fit may call another of the same object, and has warned already.
        fits += frame.f_code.co_name == "fitted" and frame.f_locals.get("self") is estimator
        if fits > 1:
            return
        if frame.f_globals.get("__name__", "").startswith("sklearn."):
            found += _earlier(frame.f_locals.get("self"), frame.f_locals)
        frame = frame.f_back
    learned = [leaf for step in found for leaf in leaves(step) if learns_freely(leaf)]
    if learned:
        named = dict.fromkeys(instead(leaf) for leaf in learned)
        message = _STEPS.format(type(estimator).__name__, "; ".join(named))
        warn_caller(message, UncountedStep, past=("discreet.", "sklearn."))


def _earlier(owner: Any, local: dict[str, Any]) -> list[Any]:
    """Return what a meta-estimator fitted, or will have fitted, before the present fit."""
    kind = type(owner).__name__
    if kind == "Pipeline":
        # While transformers are fitted there is the place of the present one.
        end = local.get("step_idx", len(owner.steps) - 1)
        return [step for _, step in owner.steps[:end]]
    if kind == "TransformedTargetRegressor":
        return [getattr(owner, "transformer_", None)]
    if kind in ("StackingClassifier", "StackingRegressor"):
        return list(getattr(owner, "estimators_", ()))
    return []


def scored(estimator: Any) -> None:
    """Say once that scores of raw rows are not counted, where somebody counts."""
    if getattr(estimator, "ledger", None) is not None:
        _say("score", _SCORE.format(type(estimator).__name__))


def _say(what: str, message: str) -> None:
    if what not in _said:
        _said.add(what)
        warn_caller(message, Uncounted)


def _searching() -> bool:
    """Return whether scikit-learn's model selection called."""
    return _called_by("sklearn.model_selection")


def _called_by(*modules: str) -> bool:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(modules):
            return True
        frame = frame.f_back
    return False
