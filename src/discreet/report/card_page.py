"""The privacy card as a page."""

from __future__ import annotations

from typing import Any

from discreet.report.card import card_dict, guarantee_of
from discreet.report.page_parts import (
    declared_section,
    facts_section,
    guarantee_section,
    open_section,
    opening,
    spent_section,
    title_of,
    why_section,
)
from discreet.style import document


def card_html(subject: Any, *, proofs: str | None = None, **more: Any) -> str:
    """Return the privacy card as one HTML page that runs and fetches nothing.

    Parameters
    ----------
    subject
        A fitted model, or a guarantee.
    proofs
        Where the proof pages are: the address of their folder, or one with ``{name}`` in place
        of a page's name. Pages are named without a link if None.
    more
        As for :func:`card_dict`.

    Examples
    --------
    >>> from discreet import Guarantee
    >>> from discreet.accounting import Pure
    >>> claim = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                     theorem="quantiles")
    >>> page = card_html(claim)
    >>> "<svg" in page, "<script" in page
    (True, False)
    """
    card = card_dict(subject, **more)
    sections = [
        guarantee_section(card, guarantee_of(subject)),
        open_section(card),
        *spent_section(card),
        why_section(card, proofs),
        *declared_section(card),
        facts_section(card),
    ]
    return document(title_of(card), sections, kind="Privacy card", head=opening(card))
