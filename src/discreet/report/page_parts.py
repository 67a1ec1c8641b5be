"""Sections that the card and the report share, as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discreet.accounting import Guarantee
from discreet.bounds import unit_means
from discreet.errors import InvalidParameter
from discreet.report.attack import detection_curve, detection_rate, posterior_bound
from discreet.report.wording import columns, headline, paragraphs, times, warnings
from discreet.style import bullets, facts, note, section, table, text, tiles, warning
from discreet.style.chart import Chart, shares

GUARANTEE, WHY, OPEN_ENDS = "What is guaranteed", "Why it holds", "What is not protected"
DECLARED, FACTS, SPENT = "Declared as public", "About this release", "What was spent in all"

_RATES = (1e-6, 1e-4, 1e-3, *(k / 200 for k in range(1, 200)), 1 - 1e-6)
_PRIORS = (0.01, 0.1, 0.5, 0.9)


def title_of(card: Mapping[str, Any]) -> str:
    """Return what a page about a card is called."""
    named = card.get("about", {}).get("name")
    return str(named or card.get("model", {}).get("estimator") or "A private release")


def opening(card: Mapping[str, Any]) -> list[str]:
    """Return what stands below the heading: the numbers, and warnings if there are any."""
    claim = card["guarantee"]
    reserved = claim["reserved"]
    epsilon, delta = reserved or (claim["epsilon"], claim["delta"])
    when = "fixed before the data was read" if reserved is None else "reserved in advance"
    factor = card["attacker"]["odds_factor"]
    few = factor is not None and factor < 1e6
    odds = f"{times(factor)}-fold" if few else "over a million-fold"
    what = "its values" if claim["neighbours"] == "replace-one" else "membership"
    shown = [
        ("epsilon", f"{epsilon:.4g}", when),
        ("delta", f"{delta:.3g}", "failure term" if delta else "pure: no failure term"),
        ("protects one", unit_means(claim["unit"]), f"{claim['neighbours']} neighbours"),
        (f"odds on {what} grow", odds, "at most, by this release"),
    ]
    if reserved is not None:
        shown.insert(1, ("spent", f"{claim['epsilon']:.4g}", "what this output cost (ex-post)"))
    said = [*warnings(card), *card.get("cautions", ())]
    return [
        f"<p class='lead'>{text(_lead(card, odds))}</p>",
        *((warning(said),) if said else ()),
        tiles(shown),
    ]


def _lead(card: Mapping[str, Any], odds: str) -> str:
    """Return the guarantee in one plain sentence."""
    claim = card["guarantee"]
    unit = claim["unit"]
    if not claim["secure"]:
        return "This release is NOT private: its noise came from a seed."
    other = {
        "zero-out": f"that {unit} had been left blank",
        "replace-one": f"that {unit} had held other values",
        "add-remove": f"that {unit} had never been there",
    }[claim["neighbours"]]
    guess = (
        f"which of two values it had grow at most {odds}"
        if claim["neighbours"] == "replace-one"
        else f"whether it was in the data grow at most {odds}"
    )
    return (
        f"What this release reveals about any one {unit} is bounded. Compared with a release made "
        f"as if {other}, the odds of a guess {guess}."
    )


def guarantee_section(card: Mapping[str, Any], guarantee: Guarantee) -> str:
    """Return the guarantee in words, with the curve of what an attacker can gain."""
    found = dict(paragraphs(card))
    unit = guarantee.unit
    learn = f"What an attacker can learn about one {unit}"
    others = "Under other neighbour relations"
    return section(
        GUARANTEE,
        bullets(found[GUARANTEE]),
        f"<h3>{text(learn)}</h3>",
        "<div class='pair'>"
        f"<div>{bullets(found[learn])}{_priors(guarantee)}</div>{attack_figure(guarantee)}</div>",
        f"<h3>{text(others)}</h3>",
        bullets(found[others]),
    )


def attack_figure(guarantee: Guarantee) -> str:
    """Return the curve of the best attack that a guarantee allows."""
    stated = guarantee.reserved or (guarantee.epsilon, guarantee.delta)
    found = detection_curve(guarantee, _RATES)
    alone = [detection_rate(*stated, rate) if stated[1] < 1 else 1.0 for rate in _RATES]
    values = guarantee.neighbours == "replace-one"
    across, up = (
        ("first value, called the second", "second value, recognised")
        if values
        else ("false alarms", f"{guarantee.unit}s found to be members")
    )
    chart = Chart(shares(across), shares(up))
    curve = list(zip(_RATES, found, strict=True))
    corners = [(0.0, 0.0), *curve, (1.0, 1.0)]
    drawn = [chart.area([*curve, (1.0, 1.0), (0.0, 0.0)]), chart.line([(0, 0), (1, 1)], "bound")]
    said = "Dotted: guessing. Solid: the best attack that the noise allows."
    if max(a - f for a, f in zip(alone, found, strict=True)) > 0.002:
        drawn.append(chart.line([(0.0, alone[0]), *zip(_RATES, alone, strict=True)], "second"))
        said += " Dashed: what epsilon and delta alone would allow."
    drawn.append(chart.line(corners))
    drawn.append(chart.words((0.98, 0.06), "nearer to the diagonal is safer", "soft", "end"))
    tenth = detection_curve(guarantee, [0.1])[0]
    label = (
        "Curve of the best attack: at 1% false alarms it finds at most "
        f"{detection_curve(guarantee, [0.01])[0]:.1%}, at 10% at most {tenth:.1%}, where guessing "
        "finds 1% and 10%."
    )
    reserve = " Of this release the reserve is drawn." if guarantee.reserved else ""
    return (
        f"<figure>{chart.svg(label, *drawn)}<figcaption>{text(said + reserve)} No attack is above "
        f"it, whatever it knows. With 10% false alarms it finds at most {tenth:.1%}.</figcaption>"
        "</figure>"
    )


def _priors(guarantee: Guarantee) -> str:
    epsilon = (guarantee.reserved or (guarantee.epsilon, guarantee.delta))[0]
    rows = [(f"{prior:.0%}", f"{posterior_bound(prior, epsilon):.1%}") for prior in _PRIORS]
    what = "two values" if guarantee.neighbours == "replace-one" else "membership"
    return table(
        (f"how sure of {what} before", "after, at most"),
        rows,
        numbers=(0, 1),
        kind="wide slim",
        caption="How sure one can become",
    ) + note("Computed from the odds of the two cases. Delta allows for exceptions.")


def spent_section(card: Mapping[str, Any], *more: str) -> list[str]:
    """Return what was spent in all, if a ledger tells, and more about it."""
    found = dict(paragraphs(card)).get(SPENT)
    return [section(SPENT, bullets(found), *more)] if found else []


def declared_section(card: Mapping[str, Any]) -> list[str]:
    """Return what was declared about columns."""
    rows, rest = columns(card)
    if not rows and not rest:
        return []
    parts = [
        note(
            "These are public. They must come from knowledge of the field, never from the rows: "
            "noise is scaled to them."
        )
    ]
    if rows:
        parts.append(table(("column", "declared"), rows, kind="wide", caption="Columns"))
    if rest:
        parts.append(bullets(f"{name}: {value}" for name, value in rest))
    return [section(DECLARED, *parts)]


def why_section(card: Mapping[str, Any], proofs: str | None) -> str:
    """Return proofs, with links where it is known where they are, and assumptions."""
    lines = []
    for held in card["proofs"]:
        said, page = text(held["theorem"]), held["page"]
        if page is not None:
            name = page.removeprefix("docs/proofs/").removesuffix(".md")
            said += f": <code>{text(page)}</code>"
            if proofs is not None:
                said = f"<a href='{text(proof_link(proofs, name))}'>{text(held['theorem'])}</a>"
        lines.append(f"<li>{said}</li>")
    others = [line for line in dict(paragraphs(card))[WHY] if line.startswith("The ")]
    where = "" if proofs else note("Pages are in the source distribution of " + card["library"])
    return section(
        WHY,
        f"<h3>Proofs</h3><ul>{''.join(lines)}</ul>{where}",
        bullets(others) if others else "",
        "<h3>What it assumes</h3>",
        bullets(card["guarantee"]["assumptions"] or ["Nothing beyond the proof."]),
    )


def proof_link(proofs: str, name: str) -> str:
    """Return where a proof page is.

    Parameters
    ----------
    proofs
        Address of the folder of the pages; or one with ``{name}`` in place of a page's name.
    name
        Of a theorem.

    Examples
    --------
    >>> proof_link("https://example.org/docs/proofs/", "quantiles")
    'https://example.org/docs/proofs/quantiles.md'
    >>> proof_link("../site/proofs/{name}.html", "quantiles")
    '../site/proofs/quantiles.html'
    """
    scheme = re.match(r"\s*([a-z][a-z0-9+.-]*):", proofs, re.IGNORECASE)
    if scheme is not None and scheme[1].lower() not in ("http", "https", "file"):
        raise InvalidParameter(
            "proofs must be the address of a folder, such as https://example.org/docs/proofs, or a "
            "path to it."
        )
    if "{name}" in proofs:
        return proofs.replace("{name}", name)
    return f"{proofs.rstrip('/')}/{name}.md"


def open_section(card: Mapping[str, Any]) -> str:
    """Return what the guarantee does not cover."""
    return section(OPEN_ENDS, bullets(card["not_protected"]))


def facts_section(card: Mapping[str, Any]) -> str:
    """Return the facts that open a card."""
    return section(FACTS, facts(headline(card)))
