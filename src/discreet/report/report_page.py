"""The report: one page about a model that an analyst can hand to a committee."""

from __future__ import annotations

from typing import Any

from discreet.ledger import Ledger
from discreet.ledger.statement import statement_sections
from discreet.report.card import card_dict, guarantee_of
from discreet.report.checklist import MET, OPEN, SOURCE, checklist
from discreet.report.coefficients import coefficients_section
from discreet.report.evaluated import evaluation_section
from discreet.report.page_parts import (
    DECLARED,
    FACTS,
    GUARANTEE,
    OPEN_ENDS,
    SPENT,
    WHY,
    declared_section,
    facts_section,
    guarantee_section,
    open_section,
    opening,
    spent_section,
    title_of,
    why_section,
)
from discreet.report.rehearsed import BOUGHT, rehearsal_section
from discreet.style import document, section, table, text

NIST = "NIST SP 800-226, question by question"

_STATES = {MET: ("met", "✓"), OPEN: ("open", "✗")}


def report_html(
    model: Any,
    *,
    evaluation: Any = None,
    rehearsal: Any = None,
    ledger: Ledger | None = None,
    proofs: str | None = None,
    level: float = 0.95,
    **more: Any,
) -> str:
    """Return a report on a model: one HTML page that runs and fetches nothing.

    It shows what is in the release, and what you add. Nothing is computed from rows, so
    the page costs no privacy.

    Parameters
    ----------
    model
        A fitted model of this library.
    evaluation
        What :func:`discreet.evaluate` returned, or ``Evaluation.load`` read.
    rehearsal
        What :func:`discreet.rehearse` returned; the report then tells what other budgets would
        have bought.
    ledger
        Account of the data, whose statement becomes part of the report.
    proofs
        As for :func:`card_html`.
    level
        Of the intervals of coefficients, if the model has any.
    more
        ``about`` and ``file``, as for :func:`card_dict`.

    Examples
    --------
    >>> from discreet import Bounds, PrivateRidge
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> page = report_html(model.fit([[0.5], [-0.5]] * 50, [1, -1] * 50))
    >>> "What is guaranteed" in page, "Coefficients" in page, "<script" in page
    (True, True, False)
    """
    card, guarantee = card_dict(model, ledger=ledger, **more), guarantee_of(model)
    fitted = getattr(model, "estimator_", model)
    sections = [guarantee_section(card, guarantee), *coefficients_section(fitted, level)]
    contents = [GUARANTEE, *["Coefficients"] * (len(sections) > 1)]
    if evaluation is not None:
        sections.append(evaluation_section(evaluation, guarantee))
        contents.append("How good it is")
    if rehearsal is not None:
        sections.append(rehearsal_section(rehearsal))
        contents.append(BOUGHT)
    sections.append(open_section(card))
    contents.append(OPEN_ENDS)
    if ledger is not None:
        sections += spent_section(card, *statement_sections(ledger))
        contents.append(SPENT)
    sections += [
        why_section(card, proofs),
        _nist(card, evaluation is not None),
        *declared_section(card),
        facts_section(card),
    ]
    contents += [WHY, NIST, DECLARED, FACTS]
    return document(
        title_of(card), sections, kind="Privacy report", head=opening(card), contents=contents
    )


def _nist(card: Any, evaluated: bool) -> str:
    rows = []
    for item in checklist(card, evaluated=evaluated):
        name, mark = _STATES.get(item.state, ("yours", "?"))
        state = f"<span class='state {name}'>{mark} {text(item.state)}</span>"
        rows.append((item.topic, item.question, state, item.answer))
    intro = (
        "<p>The questions follow the topics of <cite>Guidelines for Evaluating Differential "
        "Privacy Guarantees</cite> (NIST SP 800-226, 2025) in words of our own: "
        f"<a href='{SOURCE}'>{SOURCE}</a>. What is yours to answer no library can know.</p>"
    )
    heads = ("topic", "question", "state", "answer")
    return section(NIST, intro, table(heads, rows, html=(2,), kind="stack", caption=NIST))
