"""A page that says what was spent: one HTML file without scripts.

Everything that a user named is escaped. The page tells no more than the ledger
holds, and the ledger holds nothing that was computed from rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from discreet.accounting import Gaussian, Guarantee, Pure, gaussian_multiplier
from discreet.bounds import NEIGHBOURS
from discreet.ledger.ledger import Ledger
from discreet.ledger.statement_style import STYLE
from discreet.ledger.views import Balance, Spending, named

_SHARES = (0.02, 0.05, 0.1, 0.25)
"""Prices that are shown by default, as shares of the cap's epsilon."""

_WIDTH, _HEIGHT = 960, 34


def statement(ledger: Ledger, fits: Sequence[tuple[float, float]] = ()) -> str:
    """Return the page.

    Parameters
    ----------
    ledger
        What is told about.
    fits
        (epsilon, delta) of fits whose number is told; a few by default.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "trial.ledger"
    ...     page = statement(Ledger.create(path, dataset="<trial>", epsilon=1.0, delta=1e-6))
    >>> "&lt;trial&gt;" in page, "<script" in page
    (True, False)
    """
    terms, balance, history = ledger.terms, ledger.balance(), ledger.history()
    name = ", ".join(terms.dataset)
    closed = " This ledger is closed." if ledger.closed else ""
    body = [
        f"<h1>What was spent on {escape(name)}</h1>",
        f"<p class='lead'>{_promise(ledger)}{closed}</p>",
        "<h2>The budget</h2>",
        *_bars(balance, history),
        "<h2>What is left</h2>",
        _left(ledger, fits),
        f"<h2>Releases ({sum(entry.state != 'void' for entry in history)})</h2>",
        _releases(history, len(terms.dataset) > 1),
        "<h2>How it is counted</h2>",
        _rules(balance, terms.policy, len(terms.dataset) > 1),
        _footer(ledger),
    ]
    title = f"<title>Privacy statement: {escape(name)}</title>"
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"{title}\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _promise(ledger: Ledger) -> str:
    terms, cap = ledger.terms, ledger.terms.budget
    return (
        f"Everything released through this ledger, together, is differentially private with "
        f"<b>epsilon = {cap.epsilon:g}</b> and <b>delta = {cap.delta:g}</b> per "
        f"{escape(terms.unit)}, whatever was chosen after earlier results were seen. "
        f"Neighbours: {escape(terms.neighbours)} ({escape(NEIGHBOURS[terms.neighbours])})."
    )


def _bars(balance: Balance, history: list[Spending]) -> list[str]:
    several = len({tag for tag, _ in balance.accounts}) > 1
    parts = []
    for place in balance.accounts:
        spent = [entry for entry in history if entry.state != "void" and _touches(entry, place)]
        used, x, cells = balance.used(place), 0.0, []
        for number, entry in enumerate(spent):
            width = _WIDTH * balance.share(place, entry.price)
            told = escape(f"{entry.model or 'run'}: {entry.cost}", quote=True)
            cells.append(
                f"<rect class='seg s{number % 2}' x='{x:.2f}' y='0' width='{max(width, 0.4):.2f}' "
                f"height='{_HEIGHT}'><title>{told}</title></rect>"
            )
            x += width
        said = f"{named(place, several)}: {100 * used:.3g}% of the budget is spent"
        parts.append(
            f"<figure><figcaption><span>{escape(named(place, several))}</span>"
            f"<span><b>{100 * used:.3g}%</b> spent, {100 * (1 - used):.3g}% left</span>"
            f"</figcaption><svg role='img' aria-label='{escape(said, quote=True)}' "
            f"viewBox='0 0 {_WIDTH} {_HEIGHT}' preserveAspectRatio='none'>"
            f"<rect class='rest' width='{_WIDTH}' height='{_HEIGHT}'/>{''.join(cells)}</svg>"
            "</figure>"
        )
    return parts


def _touches(entry: Spending, place: tuple[str, str]) -> bool:
    tag, part = place
    return any(
        t == tag and (not p or p == part or part.startswith(f"{p}/")) for t, p in entry.places
    )


def _left(ledger: Ledger, fits: Sequence[tuple[float, float]]) -> str:
    cap = ledger.terms.budget
    chosen = list(fits) or [(float(f"{s * cap.epsilon:.2g}"), cap.delta) for s in _SHARES]
    rows = []
    for epsilon, delta in chosen:
        pure = ledger.affordable(_stated(ledger, epsilon, 0.0)).times
        noisy = "none" if delta == 0 else _times(ledger, epsilon, delta)
        rows.append((f"{epsilon:g}", _count(pure), noisy))
    heads = ("a fit of epsilon", "delta 0", f"Gaussian noise, delta {chosen[0][1]:g}")
    note = "<p class='note'>Each number stands alone: what one kind uses the other no longer has."
    table = _table(heads, rows, numbers=(0, 1, 2)).replace("class='wide'", "class='wide slim'", 1)
    return f"{table}{note}</p>"


def _times(ledger: Ledger, epsilon: float, delta: float) -> str:
    return _count(ledger.affordable(_stated(ledger, epsilon, delta)).times)


def _count(times: int) -> str:
    return "none" if times == 0 else f"{times:,}" if times < 10**6 else "over a million"


def _stated(ledger: Ledger, epsilon: float, delta: float) -> Guarantee:
    terms = ledger.terms
    event = Gaussian(gaussian_multiplier(epsilon, delta)) if delta else Pure(epsilon)
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        neighbours=terms.neighbours,
        unit=terms.unit,
        event=event,
        theorem="a fit of this price",
    )


def _releases(history: list[Spending], several: bool) -> str:
    if not history:
        return "<p>Nothing was released.</p>"
    heads = ("date (UTC)", "model", "algorithm", "on", "guarantee", "state", "who")
    rows = [
        (
            entry.created.replace("T", " ").removesuffix("+00:00"),
            entry.model or "–",
            entry.algorithm or "–",
            ", ".join(named(place, several) for place in entry.places),
            entry.cost,
            entry.state,
            f"{entry.who} on {entry.host}",
        )
        for entry in history
    ]
    note = (
        "<p class='note'>“Reserved” runs are under way or were cut off; they count in full. "
        "“Void” ones had read no row; they cost nothing.</p>"
    )
    return _table(heads, rows) + note


def _rules(balance: Balance, policy: str, several: bool) -> str:
    rows = [
        (named(place, several), rule, word, f"{spent:.6g}", f"{cap:.6g}", _life(alive))
        for place in balance.accounts
        for rule, alive, held in balance.lines(place)
        for word, spent, cap in held
    ]
    heads = ("on", "rule", "account", "spent", "cap", "")
    note = (
        f"<p>Policy: {escape(policy)}. A run is admitted if one rule in use has room for it in all "
        "its accounts. A rule that did not admit a run is out of use for good. The bar shows the "
        "rule that has most left. The sums are not guarantees of their own: the guarantee is the "
        "cap.</p>"
    )
    return note + _table(heads, rows, numbers=(3, 4))


def _life(alive: bool) -> str:
    return "in use" if alive else "out of use"


def _footer(ledger: Ledger) -> str:
    terms, head = ledger.terms, ledger.verify()
    return (
        f"<footer><p>Ledger <code>{escape(terms.id)}</code>, created {escape(terms.created)}. Head "
        f"of the chain of entries: <code>{escape(head)}</code>. Keep it elsewhere: whoever can "
        "write the ledger could rewrite all of it, but not so that this head stays in it.</p>"
        "</footer>"
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    top = "".join(f"<th{_aligned(i, numbers)}>{escape(head)}</th>" for i, head in enumerate(heads))
    lines = [
        "".join(f"<td{_aligned(i, numbers)}>{escape(cell)}</td>" for i, cell in enumerate(row))
        for row in rows
    ]
    cells = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<div class='wide'><table><thead><tr>{top}</tr></thead><tbody>{cells}</tbody></table>"
        "</div>"
    )


def _aligned(column: int, numbers: Sequence[int]) -> str:
    return " class='n'" if column in numbers else ""
