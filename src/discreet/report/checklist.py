"""The questions that NIST SP 800-226 asks of a claim of differential privacy.

The publication (Near, Darais, Lefkovitz and Howarth 2025) goes from the parameters at
the top of its pyramid down to how data is collected. The questions here follow its
topics in words of our own. Each has one of three answers: the library meets it, the
library does not cover it, or it is yours to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from discreet.bounds import unit_means

MET, OPEN, YOURS = "met", "not covered", "yours to answer"

SOURCE = "https://doi.org/10.6028/NIST.SP.800-226"


class Item(NamedTuple):
    """One question with its answer."""

    topic: str
    question: str
    state: str
    answer: str


def checklist(card: Mapping[str, Any], *, evaluated: bool = False) -> list[Item]:
    """Return the list for a card.

    Parameters
    ----------
    card
        What :func:`card_dict` returned.
    evaluated
        Whether a private evaluation belongs to the release.

    Examples
    --------
    >>> from discreet import Guarantee
    >>> from discreet.accounting import Pure
    >>> from discreet.report import card_dict
    >>> claim = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                     theorem="quantiles")
    >>> checklist(card_dict(claim))[0].state
    'met'
    """
    claim, about = card["guarantee"], card.get("about", {})
    unit, relation = claim["unit"], claim["neighbours"]
    proved = all(held["page"] is not None for held in card["proofs"])
    ours = proved and not card.get("made_by_others")
    weak, seeded = card.get("cautions"), not claim["secure"]
    account = card.get("ledger")

    def said(topic: str, question: str, key: str, otherwise: str) -> Item:
        held = about.get(key)
        return Item(topic, question, YOURS, f"You say: {held}" if held else otherwise)

    return [
        Item(
            "Parameters", "Are epsilon and delta stated, and small enough to mean something?",
            OPEN if weak or seeded else MET,
            " ".join(weak) if weak else "The noise was seeded, so nothing is guaranteed." if seeded
            else f"epsilon = {claim['epsilon']:.4g}, delta = {claim['delta']:.3g}, "
            f"{claim['kind']}. Whether that is little enough for your data is a judgement.",
        ),
        Item(
            "Parameters", "What is one unit of privacy?", MET if unit != "row" else YOURS,
            f"One {unit_means(unit)}." if unit != "row"
            else "One row. If a person may have several rows, the "
            "guarantee to the person is weaker: say how many, or declare groups.",
        ),
        Item(
            "Parameters", "Which data sets count as neighbours?", MET,
            f"{relation}: {card['neighbours_mean']}.",
        ),
        Item(
            "Parameters", "Is everything that was released from the data counted?",
            MET if account and account["charged_here"] else YOURS,
            f"A ledger holds {account['releases']} release{'s' * (account['releases'] != 1)} under "
            "one cap. It counts what was charged to it." if account
            else "No ledger was given, so this is the cost of this release alone. Add what else "
            "was released.",
        ),
        Item(
            "Algorithm", "Is the mechanism named and proved?", MET if proved else OPEN,
            "Every theorem has a page with proof and tests." if proved else "A theorem that the "
            "guarantee names has no page of this library. Ask its makers for the proof.",
        ),
        Item(
            "Algorithm", "Are preprocessing and the choice of settings counted?", YOURS,
            f"You say: {about['tuning']}" if "tuning" in about else "The guarantee covers the fit. "
            "Say how columns, ranges and settings were chosen, and whether rows were looked at.",
        ),
        Item(
            "Utility", "Is the error known, and was it measured privately?",
            MET if evaluated else OPEN,
            "A private evaluation is part of this report." if evaluated else "No private "
            "evaluation was given.",
        ),
        said("Bias", "Does noise or clipping harm small groups more?", "notes",
             "Noise hides rare cases, and rows outside the ranges are clipped. Compare errors "
             "between groups before use."),
        Item(
            "Implementation", "Is floating point kept from leaking?", MET if ours else OPEN,
            "Noise is exact on a public grid, and rounding of sums is in the sensitivity."
            if ours else "A part of this release is not of this library. Ask its makers.",
        ),
        Item(
            "Implementation", "Is the randomness fit for the purpose?", OPEN if seeded else MET,
            "The noise came from a seed." if seeded else "Noise comes from the operating system.",
        ),
        Item(
            "Implementation", "Are side channels closed?", OPEN,
            "Run time, memory and errors are not protected. Do not let others watch a run.",
        ),
        said("Trust", "Who holds the raw data and runs the program?", "actors",
             "A trusted curator runs the fit (central model). Say who that is, and who sees what."),
        Item(
            "Security", "Is the raw data kept safe and access limited?", YOURS,
            "The guarantee is about what is released. It does not protect the data where it lies.",
        ),
        Item(
            "Data collection", "Was no more collected than needed, and with consent?", YOURS,
            "Nothing that is computed later can mend this.",
        ),
    ]  # fmt: skip
