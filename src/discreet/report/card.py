"""The privacy card: what was guaranteed, to an analyst and to an auditor.

A card is made from a guarantee and public facts of the model only, so it may be
published beside the model.
"""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from discreet.accounting import Composed, Event, Guarantee, ObjectivePerturbation
from discreet.accounting.budget import remarks
from discreet.accounting.theorems import proofs
from discreet.bounds import NEIGHBOURS, neighbours_mean, rows_apart
from discreet.errors import InvalidParameter
from discreet.ledger import Ledger
from discreet.report.about import About
from discreet.report.attack import best_guess, detection_rate, odds_factor
from discreet.report.makers import foreign_parts
from discreet.report.wording import render

FORMAT = "discreet-card"
FALSE_ALARMS = 0.01


def not_protected(unit: str = "row") -> list[str]:
    """Return what no card of this library covers, by its unit.

    >>> len(not_protected()), len(not_protected("person"))
    (6, 5)
    """
    found = [
        "Facts about everyone. The model is meant to show what holds in general, and such a fact "
        "can be applied to a person who was never in the data.",
        "Repeated fits. Every further release from the same rows adds to the cost, also fits that "
        "were thrown away, and each fold of a cross-validation.",
        "Whatever else was published from the same rows: training scores, plots, tables.",
        "Run time, memory use, and whether the run ended in an error.",
        "The declared bounds, classes, columns and settings. They are public and must not have "
        "been read from the data.",
    ]
    if unit == "row":
        found.insert(
            1,
            "Several rows of one person. The guarantee is per row: k rows of one person cost k "
            "times epsilon, and delta grows too.",
        )
    return found


def card_dict(
    subject: Any,
    *,
    about: About | None = None,
    ledger: Ledger | None = None,
    file: str | Path | None = None,
) -> dict[str, Any]:
    """Return the privacy card as plain JSON values.

    Parameters
    ----------
    subject
        A fitted model of this library, or a :class:`~discreet.Guarantee`.
    about
        What only you can say; see :class:`About`.
    ledger
        Account that the release was charged to; the card then says what was spent in all.
    file
        Model file; the card then has its name and SHA-256.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> guarantee = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                       theorem="Laplace mechanism")
    >>> card = card_dict(guarantee)
    >>> round(card["attacker"]["best_guess"], 3)
    0.731
    """
    guarantee = guarantee_of(subject)
    model = getattr(subject, "estimator_", subject)
    about = about or About()
    card: dict[str, Any] = {
        "format": FORMAT,
        "version": 2,
        "library": f"discreet {version('discreet')}",
        "guarantee": guarantee.to_dict(),
        "neighbours_mean": neighbours_mean(guarantee.neighbours, guarantee.unit),
        "under": {r: _claim(guarantee, r) for r in NEIGHBOURS if r != guarantee.neighbours},
        "proofs": [{"theorem": title, "page": page} for title, page in proofs(guarantee.theorem)],
        "cautions": _cautions(guarantee),
        "attacker": _attacker_bounds(guarantee),
        "not_protected": not_protected(guarantee.unit),
    }
    if said := about.to_dict():
        card["about"] = said
    if noise := multipliers(guarantee.event):
        card["noise_multiplier"] = noise
    # A run that met no target has a cost and no model.
    if hasattr(model, "algorithm_"):
        card["model"] = _model_facts(model)
        if made := foreign_parts(model):
            card["made_by_others"] = made
    rows = _public_rows(guarantee, getattr(model, "n_rows_", None), about.rows)
    if rows is not None:
        card["rows"] = rows
    schema = getattr(model, "schema_", getattr(model, "schema", None))
    if schema is not None:
        card["schema"] = schema.to_dict()
    if file is not None and (held := Path(file)).is_file():  # a pipe cannot be read again
        card["file"] = {"name": held.name, "sha256": sha256(held.read_bytes()).hexdigest()}
    if ledger is not None:
        card["ledger"] = _account(ledger, guarantee)
    return card


def card_text(subject: Any, **more: Any) -> str:
    """Return the privacy card as text; the arguments are those of :func:`card_dict`.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> guarantee = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                       theorem="Laplace mechanism")
    >>> print(card_text(guarantee).splitlines()[3])
    Guarantee         epsilon = 1, delta = 0 per row, zero-out neighbours
    """
    return render(card_dict(subject, **more))


def guarantee_of(subject: Any) -> Guarantee:
    """Return the guarantee of a fitted model, or the guarantee itself."""
    guarantee = subject if isinstance(subject, Guarantee) else getattr(subject, "guarantee_", None)
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            "A privacy card is made from a Guarantee or a fitted private model. "
            f"Got {type(subject).__name__} instead; call fit first, and of a pipeline pass the "
            "last step. A search has no card, as every fit of it has its own cost."
        )
    return guarantee


def multipliers(event: Event) -> list[float]:
    """Return the noise multipliers of an event: deviations over sensitivities, each once.

    >>> from discreet.accounting import Composed, Gaussian, Pure
    >>> multipliers(Composed((Gaussian(2.0), Gaussian(2.0), Pure(0.1))))
    [2.0]
    """
    parts = event.events if isinstance(event, Composed) else (event,)
    found = (_multiplier(part) for part in parts)
    return list(dict.fromkeys(float(m) for m in found if m is not None))


def _multiplier(event: Event) -> float | None:
    if isinstance(event, ObjectivePerturbation):
        # The noise is on the gradient of the sum, which a row moves by its own.
        return event.sigma / (rows_apart(event.neighbours) * event.terms.lipschitz)
    return getattr(event, "multiplier", None)


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


def _public_rows(guarantee: Guarantee, held: int | None, said: int | None) -> int | None:
    """Return the number of rows where it may be told."""
    if said is not None and held is not None and said != held:
        raise InvalidParameter(
            "rows is not the number of rows that this model was fitted for. Leave it out."
        )
    if said is not None and held is None and guarantee.neighbours == "add-remove":
        raise InvalidParameter(
            "Under add-remove neighbours the number of rows is secret, and a card is public. Leave "
            "rows out."
        )
    return said if held is None else held


def _account(ledger: Ledger, guarantee: Guarantee) -> dict[str, Any]:
    """Return what was spent from a ledger in all, and whether this release is among it."""
    terms, balance, cap = ledger.terms, ledger.balance(), ledger.guarantee()
    history = [entry for entry in ledger.history() if entry.state != "void"]
    return {
        "dataset": list(terms.dataset),
        "cap": {"epsilon": cap.epsilon, "delta": cap.delta},
        "neighbours": terms.neighbours,
        "unit": terms.unit,
        "policy": terms.policy,
        "releases": len(history),
        "share_spent": max(balance.used(place) for place in balance.accounts),
        "charged_here": any(entry.guarantee == guarantee for entry in history),
        "head": ledger.verify(),
    }


def _cautions(guarantee: Guarantee) -> list[str]:
    epsilon, delta = guarantee.reserved or (guarantee.epsilon, guarantee.delta)
    if delta >= 1:  # of a composition
        return ["delta is not below 1, so nothing is guaranteed."]
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
