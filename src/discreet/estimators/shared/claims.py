"""Whether the guarantee of a model is one its class and settings lead to.

A model file is read by people who were not there when it was written, so what
it claims is compared with everything else in it: neighbours, budget, the way
of stopping, and what models of that class always assume. The same is asked
before a file is written, so that every file that is written can be read.
"""

from __future__ import annotations

import math
from typing import Any

from sklearn.base import is_classifier

from discreet.accounting import Guarantee
from discreet.algorithms import ALGORITHMS
from discreet.errors import InvalidData
from discreet.inference import INTERVALS
from discreet.mechanisms.release_noise import NOISE_KINDS
from discreet.problem import ASSUMED

SCHEMA_PUBLIC = "whether the data passes the schema check (finite, known classes) is public"
LABELS_PUBLIC = "the set of labels is public"
ALWAYS_ASSUMED = (*ASSUMED, SCHEMA_PUBLIC)

ACCURACY_FIRST = "accuracy-first: "
"""How the algorithm of a model begins whose cost was known after the run only."""

PURE = tuple(kind for kind in NOISE_KINDS if kind != "gaussian")
"""Noise that leaves the delta of a budget unspent."""

SEARCH = "best of a search: "
"""How the algorithm of a search's winner begins, which has the guarantee of the whole search."""


def check_claim(model: Any) -> None:
    """Refuse a fitted model whose guarantee does not follow from its class and settings.

    Parameters
    ----------
    model
        A fitted model that can be saved.

    Examples
    --------
    >>> from discreet import Bounds, PrivateRidge
    >>> ridge = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> ridge = ridge.fit([[0.5], [-0.5]] * 50, [1, -1] * 50)
    >>> check_claim(ridge)
    >>> check_claim(ridge.set_params(neighbours="replace-one"))
    Traceback (most recent call last):
    discreet.errors.InvalidData: The guarantee is about zero-out neighbours, ...
    """
    claim: Guarantee = model.guarantee_
    if claim.neighbours != model.neighbours:
        raise InvalidData(
            f"The guarantee is about {claim.neighbours} neighbours, and the model's setting is "
            "another. Set neighbours to what the model was fitted with."
        )
    grouped = hasattr(model, "_grouping") and model._grouping() is not None
    if claim.unit != ("group" if grouped else "row"):
        raise InvalidData(
            "The guarantee and the settings of the model are about different units: one row, or "
            "one group of rows. Set rows_per_group to what the model was fitted with."
        )
    missing = [a for a in _assumed(model) if a not in claim.assumptions]
    if missing:
        raise InvalidData(
            f"The guarantee leaves out what it rests on: {'; '.join(missing)}. Keep the guarantee "
            "that the fit returned."
        )
    texts = (model.algorithm_, claim.theorem, *claim.assumptions)
    if not all(text and text.isprintable() for text in texts):
        raise InvalidData("The guarantee or the algorithm of this model is not in plain words.")
    _check_cost(model, claim)
    _check_intervals(model)


def _check_intervals(model: Any) -> None:
    """Refuse intervals that the settings of the model do not ask for, or of another number."""
    held, asked = vars(model).get("inference_"), getattr(model, "inference", None)
    fits = asked == (None if held is None else held.target)
    if fits and held is not None:
        fits = isinstance(held, INTERVALS)
        fits = fits and len(held.slopes) == model.n_features_in_
        fits = fits and bool(len(held.constants)) == bool(model.fit_intercept)
    if not fits:
        raise InvalidData(
            "The intervals of this model are not those that its inference asks for. Set inference "
            "to what the model was fitted with."
        )


def _assumed(model: Any) -> tuple[str, ...]:
    """Return what every guarantee of such a model assumes."""
    # The first call of a stream may declare classes that its bounds do not hold.
    seen = is_classifier(model) and not hasattr(model, "partial_fit")
    undeclared = seen and model.bounds_.classes is None
    return (*model._assumes, *((LABELS_PUBLIC,) if undeclared else ()))


def _check_cost(model: Any, claim: Guarantee) -> None:
    adaptive = model.algorithm_.startswith(ACCURACY_FIRST)
    # One that is worked out from the target is known before the run (ex-ante).
    if claim.kind == "ex-post" and not (adaptive and claim.reserved is not None):
        raise InvalidData(
            "Only a model that was fitted accuracy-first has a guarantee that is known after the "
            "run (ex-post), and that one comes with what was reserved before it."
        )
    if adaptive:
        return
    delta = getattr(model, "delta", 0.0)
    if claim.delta == 0.0 and getattr(model, "settings_", {}).get("noise") in PURE:
        delta = 0.0
    budget, stated = (model.epsilon, delta), (claim.epsilon, claim.delta)
    whole = all(math.isclose(s, b, rel_tol=1e-9) for s, b in zip(stated, budget, strict=True))
    less = all(s <= b for s, b in zip(stated, budget, strict=True))
    more = all(s >= b for s, b in zip(stated, budget, strict=True))
    more &= model.algorithm_.startswith(SEARCH)
    if not (whole or more or (less and _may_claim_less(model))):
        raise InvalidData(
            "The guarantee is not the one of the model's epsilon and delta. Set both to what the "
            "model was fitted with."
        )


def _may_claim_less(model: Any) -> bool:
    """Return whether the model's algorithm states what its noise costs, and not the budget."""
    kinds = (ALGORITHMS.get(model.algorithm_), getattr(model, "algorithm", None))
    return any(getattr(kind, "may_claim_less", False) for kind in kinds)
