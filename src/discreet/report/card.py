"""The privacy card: what was promised, to an analyst and to an auditor.

A card is made from a guarantee and public facts of the model only, so it may be
published beside the model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from discreet.accounting import Budget, Guarantee
from discreet.errors import InvalidParameter
from discreet.report.attack import best_guess, detection_rate, odds_factor
from discreet.types import NEIGHBOURS, Bounds

FORMAT = "discreet-card"
FALSE_ALARMS = 0.01
_WIDTH = 88
_LISTED = 12

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


def card_dict(
    subject: Any, *, schema: Mapping[str, Any] | None = None, date: str | None = None
) -> dict[str, Any]:
    """Return the privacy card as plain JSON values.

    Parameters
    ----------
    subject
        A fitted model of this library, or a :class:`~discreet.Guarantee`.
    schema
        Declared columns, as the command line keeps them with a model.
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
            f"Got {type(subject).__name__} instead; call fit first."
        )
    card: dict[str, Any] = {
        "format": FORMAT,
        "version": 1,
        "library": f"discreet {version('discreet')}",
        "guarantee": guarantee.to_dict(),
        "neighbours_mean": NEIGHBOURS[guarantee.neighbours],
        "under": {r: _claim(guarantee, r) for r in NEIGHBOURS if r != guarantee.neighbours},
        "cautions": _cautions(guarantee),
        "attacker": _attacker_bounds(guarantee),
        "not_protected": list(NOT_PROTECTED),
    }
    if subject is not guarantee:
        card["model"] = _model_facts(subject)
    if schema is not None:
        card["schema"] = dict(schema)
    if date is not None:
        card["date"] = date
    return card


def card_text(
    subject: Any, *, schema: Mapping[str, Any] | None = None, date: str | None = None
) -> str:
    """Return the privacy card as text; the arguments are those of :func:`card_dict`.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> guarantee = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                       theorem="Laplace mechanism")
    >>> print(card_text(guarantee).splitlines()[3])
    Guarantee    epsilon = 1, delta = 0 per row, zero-out neighbours
    """
    return render(card_dict(subject, schema=schema, date=date))


def render(card: Mapping[str, Any]) -> str:
    """Return the text of a card made by :func:`card_dict`."""
    promise, model = card["guarantee"], card.get("model")
    secure = promise["secure"]
    head = [("Guarantee", f"{_budget(promise)} per {promise['unit']}, "
             f"{promise['neighbours']} neighbours")]  # fmt: skip
    if model:
        head.insert(0, ("Model", _title(model)))
    head.append(("Noise from", "operating-system entropy" if secure else "A SEED: NOT PRIVATE"))
    if "date" in card:
        head.append(("Date", card["date"]))
    head.append(("Made by", card["library"]))
    lines = ["PRIVACY CARD", "=" * 12, ""]
    lines += [f"{name:<13}{value}" for name, value in head]
    if not secure:
        lines += _section(
            "WARNING",
            ["The noise came from a seed. Anyone who knows or guesses the seed can remove it, "
             "so nothing below holds for this release. Use it for tests only."],
        )  # fmt: skip
    if card.get("cautions"):
        lines += _section("CAUTION", card["cautions"])
    lines += _section("What is promised", _promise(card))
    lines += _section("What an attacker can learn about one row", _attacker(card))
    lines += _section("Under other neighbour relations", _relations(card))
    lines += _section(
        "Why it holds",
        [f"Proof: {promise['theorem']}.", *(f"Assumes: {a}." for a in promise["assumptions"])],
    )
    declared = _declared(card)
    if declared:
        lines += _section("Declared as public before the data was read", declared)
    lines += _section("What is NOT protected", card["not_protected"])
    return "\n".join(lines) + "\n"


def _model_facts(model: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "estimator": type(model).__name__,
        "algorithm": model.algorithm_,
        "n_features": int(model.n_features_in_),
        "bounds": Bounds.of(model.bounds).to_dict(),
    }
    if hasattr(model, "classes_"):
        facts["n_classes"] = len(model.classes_)
    if hasattr(model, "feature_names_in_"):
        facts["feature_names"] = [str(name) for name in model.feature_names_in_]
    return facts


def _cautions(guarantee: Guarantee) -> list[str]:
    epsilon, delta = guarantee.reserved or (guarantee.epsilon, guarantee.delta)
    if delta >= 1:  # of a composition
        return ["delta is not below 1, so nothing is promised."]
    return list(Budget(epsilon, delta).remarks()) if epsilon > 0 else []


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


def _budget(promise: Mapping[str, Any]) -> str:
    return f"epsilon = {promise['epsilon']:.6g}, delta = {promise['delta']:.3g}"


def _title(model: Mapping[str, Any]) -> str:
    classes = f", {model['n_classes']} classes" if "n_classes" in model else ""
    return f"{model['estimator']} by {model['algorithm']}, {model['n_features']} features{classes}"


def _promise(card: Mapping[str, Any]) -> list[str]:
    promise = card["guarantee"]
    relation, unit = promise["neighbours"], promise["unit"]
    pair = {
        "zero-out": f"with your {unit} and with a blank {unit} in its place",
        "replace-one": f"with your {unit} and with any other {unit} in its place",
        "add-remove": f"with your {unit} and without it",
    }[relation]
    factor = _times(card["attacker"]["odds_factor"])
    text = [
        f"Run on the data {pair}, the program gives every set of results with nearly the same "
        f"probability: the two differ by at most a factor e^epsilon = {factor}"
        + (f", plus delta = {promise['delta']:.3g}." if promise["delta"] > 0 else ".")
    ]
    text.append(f"Neighbours here are: {card['neighbours_mean']}.")
    text.append(
        "The promise was fixed before the data was read (ex-ante)."
        if promise["kind"] == "ex-ante"
        else "The promise was known only after the run (ex-post): it is the cost of this "
        "particular output and must not be read as fixed in advance."
    )
    return text


def _attacker(card: Mapping[str, Any]) -> list[str]:
    attacker, promise = card["attacker"], card["guarantee"]
    unit, between_values = promise["unit"], promise["neighbours"] == "replace-one"
    presence = f"whether a {unit} was in the data"
    values = f"which of two values a {unit} had"
    text = []
    if not between_values:
        text.append(
            f"The odds on {presence} grow at most {_times(attacker['odds_factor'])}-fold, also "
            f"for someone who knows every other {unit}."
        )
    if attacker["value_odds_factor"] is not None:
        text.append(
            f"The odds on {values} grow at most {_times(attacker['value_odds_factor'])}-fold."
        )
    if "best_guess" in attacker:
        alarm, rate = attacker["false_alarms"], attacker["detection_rate"]
        text.append(
            f"Someone who starts at 50:50 on {values if between_values else presence} is right "
            f"afterwards with probability at most {attacker['best_guess']:.1%}."
        )
        text.append(
            f"A test that names the second value for {alarm:.0%} of {unit}s with the first names "
            f"it for at most {rate:.1%} of {unit}s with the second."
            if between_values
            else f"A membership test with {alarm:.0%} false alarms finds at most {rate:.1%} of "
            f"the {unit}s that were in the data."
        )
    if promise["delta"] > 0:
        # From P[loss > epsilon + log 2] (1 - 1/2) <= delta, with the delta of each bound above.
        values_claim = card["under"].get("replace-one")
        delta = promise["delta"] if values_claim is None else values_claim["delta"]
        text.append(
            "Delta allows for exceptions: results that move these odds more than twice as far "
            f"come with probability at most {min(1.0, 2 * delta):.3g}. The percentages include "
            "that."
        )
    return text


def _relations(card: Mapping[str, Any]) -> list[str]:
    found = []
    for relation, claim in card["under"].items():
        said = "nothing is claimed" if claim is None else _budget(claim)
        if claim is None and relation == "add-remove":
            said += "; the number of rows was treated as public"
        found.append(f"{relation} ({NEIGHBOURS[relation]}): {said}.")
    return found


def _declared(card: Mapping[str, Any]) -> list[str]:
    if "schema" in card:
        columns = card["schema"].get("columns", {})
        lines = [f"column {name}: {_column(facts)}" for name, facts in columns.items()]
        rest = {k: v for k, v in card["schema"].items() if k != "columns"}
        return _shortened(lines) + [f"{name}: {value}" for name, value in rest.items()]
    model = card.get("model", {})
    bounds = dict(model.get("bounds", {}))
    ranges = bounds.pop("features", None)
    lines = []
    if ranges is not None and isinstance(ranges[0], int | float):
        lines = [f"every feature: {ranges[0]:g} to {ranges[1]:g}"]
    elif ranges is not None:
        names = model.get("feature_names", [f"feature {j}" for j in range(len(ranges))])
        lines = [f"{n}: {r[0]:g} to {r[1]:g}" for n, r in zip(names, ranges, strict=True)]
    return _shortened(lines) + [f"{name}: {_plain(value)}" for name, value in bounds.items()]


def _column(facts: Mapping[str, Any]) -> str:
    if "range" in facts:
        return "{:g} to {:g}".format(*facts["range"])
    return "one of " + _plain(facts["categories"])


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shortened([_plain(v) for v in value]))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shortened(lines: list[str]) -> list[str]:
    left = len(lines) - _LISTED
    return lines if left <= 1 else [*lines[:_LISTED], f"and {left} more, listed in the JSON card"]


def _times(factor: float | None) -> str:
    return "1e304" if factor is None else f"{factor:.3g}"  # exp overflows beyond


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = ["", title, "-" * len(title)]
    for item in items:
        lines += textwrap.wrap(item, _WIDTH, initial_indent="- ", subsequent_indent="  ")
    return lines
