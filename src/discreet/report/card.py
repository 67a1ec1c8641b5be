"""The privacy card: what was promised, to an analyst and to an auditor.

A card is made from a guarantee and public facts of the model only, so it may be
published beside the model.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from discreet.accounting import Guarantee
from discreet.accounting.guarantee import remarks
from discreet.accounting.theorems import proofs
from discreet.bounds import NEIGHBOURS
from discreet.errors import InvalidParameter
from discreet.report.attack import best_guess, detection_rate, odds_factor
from discreet.report.wording import render

FORMAT = "discreet-card"
FALSE_ALARMS = 0.01

NOT_PROTECTED = (
    "Facts about everyone. The model is meant to show what holds in general, and such a fact "
    "can be applied to a person who was never in the data.",
    "Several rows of one person. The promise is per row: k rows of one person cost k times "
    "epsilon, and delta grows too.",
    "Repeated fits. Every further release from the same rows adds to the cost, also fits that "
    "were thrown away, and each fold of a cross-validation.",
    "Whatever else was published from the same rows: training scores, plots, tables.",
    "Run time, memory use, and whether the run ended in an error.",
    "The declared bounds, classes, columns and settings. They are public and must not have "
    "been read from the data.",
)
"""What no card of this library promises."""


def card_dict(subject: Any, *, date: str | None = None) -> dict[str, Any]:
    """Return the privacy card as plain JSON values.

    Parameters
    ----------
    subject
        A fitted model of this library, or a :class:`~discreet.Guarantee`.
    date
        Date to print on the card. None prints none.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> guarantee = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                       theorem="Laplace mechanism")
    >>> card = card_dict(guarantee)
    >>> round(card["attacker"]["best_guess"], 3)
    0.731
    """
    guarantee = subject if isinstance(subject, Guarantee) else getattr(subject, "guarantee_", None)
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            "A privacy card is made from a Guarantee or a fitted private model. "
            f"Got {type(subject).__name__} instead; call fit first, and of a pipeline pass the "
            "last step. A search has no card, as every fit of it has its own cost."
        )
    card: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "library": f"discreet {version('discreet')}",
        "guarantee": guarantee.to_dict(),
        "neighbours_mean": NEIGHBOURS[guarantee.neighbours],
        "under": {r: _claim(guarantee, r) for r in NEIGHBOURS if r != guarantee.neighbours},
        "proofs": [{"theorem": t, "page": page} for t, page in proofs(guarantee.theorem)],
        "cautions": _cautions(guarantee),
        "attacker": _attacker_bounds(guarantee),
        "not_protected": list(NOT_PROTECTED),
    }
    model = getattr(subject, "estimator_", subject)
    # A run that met no target has a cost and no model.
    if hasattr(model, "algorithm_"):
        card["model"] = _model_facts(model)
    schema = getattr(model, "schema_", getattr(model, "schema", None))
    if schema is not None:
        card["schema"] = schema.to_dict()
    if date is not None:
        card["date"] = date
    return card


def card_text(subject: Any, *, date: str | None = None) -> str:
    """Return the privacy card as text; the arguments are those of :func:`card_dict`.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> guarantee = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                       theorem="Laplace mechanism")
    >>> print(card_text(guarantee).splitlines()[3])
    Guarantee    epsilon = 1, delta = 0 per row, zero-out neighbours
    """
    return render(card_dict(subject, date=date))


def _model_facts(model: Any) -> dict[str, Any]:
    names = [str(name) for name in getattr(model, "feature_names_in_", ())] or None
    facts: dict[str, Any] = {
        "estimator": type(model).__name__,
        "algorithm": model.algorithm_,
        "n_features": int(model.n_features_in_),
        # As they were at the fit, in the order of the columns.
        "bounds": model.bounds_.to_dict(),
    }
    if hasattr(model, "classes_"):
        facts["n_classes"] = len(model.classes_)
    if names is not None:
        facts["feature_names"] = names
    return facts


def _cautions(guarantee: Guarantee) -> list[str]:
    epsilon, delta = guarantee.reserved or (guarantee.epsilon, guarantee.delta)
    if delta >= 1:  # of a composition
        return ["delta is not below 1, so nothing is promised."]
    return list(remarks(epsilon, delta))


def _attacker_bounds(guarantee: Guarantee) -> dict[str, float | None]:
    values = guarantee.under("replace-one")
    bounds = {
        "odds_factor": _finite(odds_factor(guarantee.epsilon)),
        "value_odds_factor": None if values is None else _finite(odds_factor(values[0])),
    }
    if guarantee.kind == "ex-ante":  # an ex-post cost bounds one output, not a test
        bounds |= {
            "best_guess": best_guess(guarantee.epsilon, guarantee.delta),
            "false_alarms": FALSE_ALARMS,
            "detection_rate": detection_rate(guarantee.epsilon, guarantee.delta, FALSE_ALARMS),
        }
    return bounds


def _claim(guarantee: Guarantee, relation: str) -> dict[str, float] | None:
    claim = guarantee.under(relation)
    return None if claim is None else {"epsilon": claim[0], "delta": claim[1]}


def _finite(value: float) -> float | None:
    """Return ``value``, or None where JSON has no number for it."""
    return value if value < float("inf") else None
