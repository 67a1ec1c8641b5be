"""The privacy card in words, for print."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from discreet.accounting.theorems import in_words
from discreet.bounds import neighbours_mean, unit_means
from discreet.files.plain_text import printable

_WIDTH, _NAMES = 88, 18
_LISTED = 12

_SAID_OF = {
    "description": "Description",
    "intended_use": "Intended use",
    "region": "Region",
    "sector": "Sector",
    "curators": "Published by",
    "tuning": "Settings chosen",
    "actors": "Who sees what",
    "justification": "Reasons",
    "sources": "Sources",
    "notes": "Notes",
    "license": "Licence",
    "authors": "Written by",
    "date": "Date",
}
"""How a card calls what you said about a model."""


def render(card: Mapping[str, Any]) -> str:
    """Return the text of a card made by :func:`card_dict`."""
    lines = ["PRIVACY CARD", "=" * 12, ""]
    for name, value in headline(card):
        lines += _wrapped(f"{name:<{_NAMES}}{value}", " " * _NAMES)
    for title, items in paragraphs(card):
        lines += _section(title, items)
    return "\n".join(lines) + "\n"


def headline(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the facts that open a card, as names and values."""
    claim, about = card["guarantee"], card.get("about", {})
    scope = f"per {unit_means(claim['unit'])}, {claim['neighbours']} neighbours"
    head = [("Name", about["name"])] if "name" in about else []
    if "model" in card:
        head.append(("Model", _title(card["model"])))
    if claim["reserved"] is None:
        head.append(("Guarantee", f"{budget(claim)} {scope}"))
    else:
        # The reserve comes first: it is what was guaranteed before the data was read.
        reserve = budget(dict(zip(("epsilon", "delta"), claim["reserved"], strict=True)))
        head += [("Reserved", f"{reserve} {scope}"), ("Spent", f"{budget(claim)} (ex-post)")]
    seeded = "A SEED: NOT PRIVATE"
    head.append(("Noise from", "operating-system entropy" if claim["secure"] else seeded))
    if "noise_multiplier" in card:
        head.append(("Noise multiplier", ", ".join(f"{m:.6g}" for m in card["noise_multiplier"])))
    if "dataset" in about:
        head.append(("Data", about["dataset"]))
    if "rows" in card:
        secret = claim["neighbours"] == "add-remove"
        head.append(("Rows", f"{card['rows']:,} ({'declared' if secret else 'public'})"))
    for key, name in _SAID_OF.items():
        if key in about:
            said = about[key]
            head.append((name, ", ".join(said) if isinstance(said, list) else said))
    if "file" in card:
        head.append(("File", f"{card['file']['name']}, SHA-256 {card['file']['sha256']}"))
    head.append(("Made by", card["library"]))
    return head


def paragraphs(card: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the sections of a card: a title and sentences each."""
    claim = card["guarantee"]
    found: list[tuple[str, list[str]]] = []
    if warned := warnings(card):
        found.append(("WARNING", warned))
    if card.get("cautions"):
        found.append(("CAUTION", list(card["cautions"])))
    found += [
        ("What is guaranteed", _claim(card)),
        (f"What an attacker can learn about one {claim['unit']}", _attacker(card)),
        ("Under other neighbour relations", _relations(card)),
    ]
    if "ledger" in card:
        found.append(("What was spent in all", spent(card["ledger"])))
    why = [f"Proof: {words}." for words in in_words(claim["theorem"])]
    why.append(f"The pages of proofs are in the source distribution of {card['library']}.")
    why += [f"Assumes: {a}." for a in claim["assumptions"]]
    why += [
        f"The {part['part']} ({part['name']}) is not part of discreet. It was made by "
        f"{part['made_by']}, who answer for its proof."
        for part in card.get("made_by_others", ())
    ]
    found.append(("Why it holds", why))
    if declared := _declared(card):
        found.append(("Declared as public before the data was read", declared))
    found.append(("What is NOT protected", list(card["not_protected"])))
    return found


def warnings(card: Mapping[str, Any]) -> list[str]:
    """Return what must be read before anything else on a card."""
    if card["guarantee"]["secure"]:
        return []
    return [
        "The noise came from a seed. Anyone who knows or guesses the seed can remove it, so "
        "nothing below holds for this release. Use it for tests only."
    ]


def spent(account: Mapping[str, Any]) -> list[str]:
    """Say what was spent from a ledger."""
    count = account["releases"]
    text = [
        f"The ledger of {', '.join(account['dataset'])} allows {budget(account['cap'])} per "
        f"{account['unit']} in all ({account['neighbours']} neighbours), whatever was chosen after "
        "results were seen.",
        f"{count} release{'s have' if count != 1 else ' has'} spent "
        f"{100 * account['share_spent']:.3g}% of it.",
    ]
    if not account["charged_here"]:
        text.append(
            "No release in this ledger has the guarantee of this model: it was not charged here."
        )
    text.append(f"Head of its chain of entries: {account['head']}.")
    return text


def budget(claim: Mapping[str, Any]) -> str:
    """Return epsilon and delta in words."""
    return f"epsilon = {claim['epsilon']:.6g}, delta = {claim['delta']:.3g}"


def _title(model: Mapping[str, Any]) -> str:
    count = model["n_features"]
    features = f"{count} feature{'s' * (count != 1)}"
    classes = f", {model['n_classes']} classes" if "n_classes" in model else ""
    return f"{model['estimator']} by {model['algorithm']}, {features}{classes}"


def _claim(card: Mapping[str, Any]) -> list[str]:
    claim = card["guarantee"]
    relation, unit = claim["neighbours"], claim["unit"]
    pair = {
        "zero-out": f"with your {unit} and with a blank {unit} in its place",
        "replace-one": f"with your {unit} and with any other {unit} in its place",
        "add-remove": f"with your {unit} and without it",
    }[relation]
    factor = times(card["attacker"]["odds_factor"])
    results = "every set of results" if claim["kind"] == "ex-ante" else "this result"
    text = [
        f"Run on the data {pair}, the program gives {results} with nearly the same "
        f"probability: the two differ by at most a factor e^epsilon = {factor}"
        + (f", plus delta = {claim['delta']:.3g}." if claim["delta"] > 0 else ".")
    ]
    text.append(f"Neighbours here are: {card['neighbours_mean']}.")
    text.append(
        "The guarantee was fixed before the data was read (ex-ante)."
        if claim["kind"] == "ex-ante"
        else "The guarantee was known only after the run (ex-post): it is the cost of this "
        "particular output and must not be read as fixed in advance."
    )
    if claim["reserved"] is not None:
        text.append("What was reserved was fixed in advance, and no output could cost more.")
    return text


def _attacker(card: Mapping[str, Any]) -> list[str]:
    attacker, claim = card["attacker"], card["guarantee"]
    unit, between_values = claim["unit"], claim["neighbours"] == "replace-one"
    presence = f"whether a {unit} was in the data"
    values = f"which of two values a {unit} had"
    text = []
    if not between_values:
        text.append(
            f"The odds on {presence} grow at most {times(attacker['odds_factor'])}-fold, also "
            f"for someone who knows every other {unit}."
        )
    if attacker["value_odds_factor"] is not None:
        text.append(
            f"The odds on {values} grow at most {times(attacker['value_odds_factor'])}-fold."
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
    if claim["delta"] > 0:
        # From P[loss > epsilon + log 2] (1 - 1/2) <= delta, with the delta of each bound above.
        values_claim = card["under"].get("replace-one")
        delta = claim["delta"] if values_claim is None else values_claim["delta"]
        text.append(
            "Delta allows for exceptions: results that move these odds more than twice as far "
            f"come with probability at most {min(1.0, 2 * delta):.3g}. The percentages include "
            "that."
        )
    return text


def _relations(card: Mapping[str, Any]) -> list[str]:
    found, unit = [], card["guarantee"]["unit"]
    for relation, claim in card["under"].items():
        said = "nothing is claimed" if claim is None else budget(claim)
        if claim is None and relation == "add-remove":
            said += "; the number of rows was treated as public"
        found.append(f"{relation} ({neighbours_mean(relation, unit)}): {said}.")
    return found


def columns(card: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what was declared about each column, and what else was declared."""
    if "schema" in card:
        held = card["schema"].get("columns", {})
        rows = [(str(name), _column(facts)) for name, facts in held.items()]
        rest = {k: v for k, v in card["schema"].items() if k != "columns"}
        if "missing" in rest:
            rest["missing cells"] = _MISSING.get(rest["missing"], rest["missing"])
            del rest["missing"]
        return rows, [(name, str(value)) for name, value in rest.items()]
    model = card.get("model", {})
    bounds = dict(model.get("bounds", {}))
    ranges = bounds.pop("features", None)
    rows = []
    if ranges is not None and isinstance(ranges[0], int | float):
        rows = [("every feature", f"{ranges[0]:g} to {ranges[1]:g}")]
    elif ranges is not None:
        names = model.get("feature_names", [f"feature {j}" for j in range(len(ranges))])
        rows = [(n, f"{r[0]:g} to {r[1]:g}") for n, r in zip(names, ranges, strict=True)]
    return rows, [(name, _plain(value)) for name, value in bounds.items()]


def _declared(card: Mapping[str, Any]) -> list[str]:
    rows, rest = columns(card)
    word = "column " if "schema" in card else ""
    lines = [f"{word}{name}: {said}" for name, said in rows]
    return _shortened(lines) + [f"{name}: {said}" for name, said in rest]


def _ends(pair: Any) -> str:
    return " to ".join(_plain(end) for end in pair)


_SAID: dict[str, Any] = {
    "range": _ends,
    "categories": lambda given: "one of " + _plain(given),
    "codes": lambda given: "a code from " + _ends(given),
    "boolean": lambda given: "yes or no" if given is True else " or ".join(given),
    "ordinal": lambda given: "a level of " + _plain(given),
    "date": lambda given: "a date from " + _ends(given),
    "group": lambda _: "whom a row belongs to; no feature",
    "duration": lambda given: "a duration of " + _ends(given),
}
"""What a kind of column declares, by its key in a schema."""


_MISSING = {"refuse": "refused", "blank": "the row counts for nothing"}
"""What becomes of the missing cells of columns without a rule of their own."""


def _column(facts: Mapping[str, Any]) -> str:
    """Say what a schema declares about a column."""
    (key,) = [key for key in _SAID if key in facts]
    said: str = _SAID[key](facts[key])
    if "unit" in facts:
        said += f" {facts['unit']}"
    if facts.get("other") is not None:
        said += f"; others count as {_plain(facts['other'])}"
    rule = facts.get("missing")
    if rule is not None:
        said += f"; missing: {_plain(rule)}"
    return said


def _plain(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shortened([_plain(v) for v in value]))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shortened(lines: list[str]) -> list[str]:
    left = len(lines) - _LISTED
    return lines if left <= 1 else [*lines[:_LISTED], f"and {left} more, listed in the JSON card"]


def times(factor: float | None) -> str:
    """Return the factor that odds grow by at most; thousands are written out.

    >>> times(2.71828), times(2980.9), times(None)
    ('2.72', '2,981', '1e304')
    """
    if factor is None:
        return "1e304"  # exp overflows beyond
    return f"{math.ceil(factor):,}" if 1e3 <= factor < 1e6 else f"{factor:.3g}"


def _section(title: str, items: Iterable[str]) -> list[str]:
    lines = ["", title, "-" * len(title)]
    for item in items:
        lines += _wrapped(f"- {item}", "  ")
    return lines


def _wrapped(words: str, indent: str) -> list[str]:
    # Names of columns may come from a file of another, and a card is shown in terminals.
    # Paths of pages have hyphens and stay in one piece.
    return textwrap.wrap(printable(words), _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
