"""The models the command line offers: every estimator, by a short name."""

from __future__ import annotations

import json
import re
from typing import Any

import discreet
from discreet.checks import one_of, suggestion
from discreet.errors import Incompatible, InvalidParameter

SHORT = {
    "logistic-regression": "logistic",
    "linear-svc": "svm",
    "huber-regressor": "huber",
    "poisson-regressor": "poisson",
    "sparse-logistic-regression": "sparse-logistic",
}
"""Names that are shorter than those of the classes."""

OWN_OPTIONS = (
    "epsilon",
    "delta",
    "bounds",
    "schema",
    "target",
    "neighbours",
    "n_rows",
    "missing",
    "ledger",
    "inference",
)
"""Parameters that come from an option or from the schema, not from ``--set``."""


def _name(kind: str) -> str:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", kind.removeprefix("Private"))
    name = "-".join(words).lower()
    return SHORT.get(name, name)


NO_MODELS = (
    "PrivateSearch",
    "PrivateBounds",
    "PrivateCategories",
    "PrivatePCA",
    "PrivateStandardScaler",
)
"""What wraps a model, and what only transforms rows."""

MODELS = {
    _name(kind): kind
    for kind in discreet.__all__
    if kind.startswith("Private") and kind not in NO_MODELS
}
"""Every estimator by its name here; made without importing any of them."""


def predicts_classes(name: str) -> bool:
    """Return whether a model predicts classes, by its name.

    >>> predicts_classes("svm"), predicts_classes("ridge")
    (True, False)
    """
    return any(word in MODELS[name] for word in ("Logistic", "SVC", "Classifier"))


def needs_target(name: str | None) -> bool:
    """Return whether a model predicts a column.

    >>> needs_target("ridge"), needs_target("median")
    (True, False)
    """
    return name not in ("median", "quantile", "geometric-median")


def check_planned(name: str | None) -> None:
    """Refuse a model that has no plan.

    >>> check_planned("ridge")
    """
    if name is not None and not hasattr(getattr(discreet, MODELS[name]), "plan"):
        raise Incompatible(
            f"--model {name} has no plan: its result is drawn, and no noise is added. Use "
            "discreet fit."
        )


def build(name: str | None, *, classes: bool, given: Any = (), **settings: Any) -> Any:
    """Return an unfitted estimator; the default suits the target.

    Parameters
    ----------
    name
        One of :data:`MODELS`, or None.
    classes
        Whether the target has classes.
    given
        Further parameters, as ``name=value``.
    settings
        Parameters of the estimator; those it does not have are refused unless
        they are at their default.

    Examples
    --------
    >>> build(None, classes=False, epsilon=1.0, given=["clip=0.5"])
    PrivateRidge(clip=0.5)
    """
    from discreet.defaults import algorithm_names

    model = getattr(discreet, MODELS[name or ("logistic" if classes else "ridge")])()
    known = model.get_params(deep=False)
    if "algorithm" in settings:
        one_of("algorithm", settings["algorithm"], algorithm_names())
    settings |= dict(_setting(text, [p for p in known if p not in OWN_OPTIONS]) for text in given)
    for parameter, value in settings.items():
        if parameter in known:
            model.set_params(**{parameter: value})
        elif value not in (None, "auto"):
            raise InvalidParameter(
                f"{type(model).__name__} has no parameter {parameter!r}. Leave it out.",
                parameter=parameter,
            )
    return model


def _setting(text: str, known: list[str]) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or name not in known or name == "random_state":
        raise InvalidParameter(
            f"--set takes name=value, and the name of a parameter of the model: {', '.join(known)}."
            + suggestion(name, known)
        )
    return name, read_value(value.strip())


def read_value(text: str) -> Any:
    """Return a value as it is written behind ``--set name=``: a number, true, none, text, a part.

    >>> read_value("3"), read_value(".2"), read_value("true"), read_value("none")
    (3, 0.2, True, None)
    >>> read_value("L2Ball(radius=3)")
    L2Ball(radius=3.0)
    """
    if text.lower() in ("none", "null"):
        return None
    part = re.fullmatch(r"(\w+)\((.*)\)", text)
    if part is not None:
        return _part(part[1], part[2])
    try:
        return json.loads(text.lower() if text.lower() in ("true", "false") else text)
    except ValueError:
        # JSON has no .5 and no +1.
        return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text) else text


def _part(name: str, arguments: str) -> Any:
    """Return a set, a penalty, a loss or an algorithm by its name and arguments."""
    from discreet.estimators.shared.persistence import part_of_a_file

    kind = part_of_a_file(name)
    if kind is None:
        raise InvalidParameter(
            f"{name!r} is not a part of this library, nor of a package that extends it."
        )
    pairs = [p.partition("=") for p in arguments.split(",") if p.strip()]
    try:
        return kind(**{k.strip(): read_value(v.strip()) for k, _, v in pairs})
    except TypeError:
        raise InvalidParameter(
            f"{name} takes arguments as name=value, e.g. L2Ball(radius=3), and none of these "
            "names fits. discreet models tells what a model takes."
        ) from None
