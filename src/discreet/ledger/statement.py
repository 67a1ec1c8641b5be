"""A page that says what was spent: one HTML file without scripts.

Everything that a user named is escaped. The page tells no more than the ledger
holds, and the ledger holds nothing that was computed from rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.accounting import Gaussian, Guarantee, Pure, gaussian_multiplier
from discreet.bounds import neighbours_mean
from discreet.ledger.ledger import Ledger
from discreet.ledger.views import Balance, Spending, named
from discreet.style import document, note, section, table, text

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
    name = ", ".join(ledger.terms.dataset)
    closed = " This ledger is closed." if ledger.closed else ""
    return document(
        f"What was spent on {name}",
        statement_sections(ledger, fits, level=2),
        kind="Privacy statement",
        head=(f"<p class='lead'>{_claim(ledger)}{closed}</p>",),
        foot=_footer(ledger),
    )


def statement_sections(
    ledger: Ledger, fits: Sequence[tuple[float, float]] = (), *, level: int = 3
) -> list[str]:
    """Return the sections of the page, for a section of another page."""
    terms, balance, history = ledger.terms, ledger.balance(), ledger.history()
    several = len(terms.dataset) > 1
    return [
        section("The budget", *_bars(balance, history), level=level),
        section("What is left", _left(ledger, fits), level=level),
        section(
            f"Releases ({sum(entry.state != 'void' for entry in history)})",
            _releases(history, several),
            level=level,
        ),
        section("How it is counted", _rules(balance, terms.policy, several), level=level),
    ]


def _claim(ledger: Ledger) -> str:
    terms, cap = ledger.terms, ledger.terms.budget
    mean = neighbours_mean(terms.neighbours, terms.unit)
    return (
        f"Everything released through this ledger, together, is differentially private with "
        f"<b>epsilon = {cap.epsilon:g}</b> and <b>delta = {cap.delta:g}</b> per "
        f"{text(terms.unit)}, whatever was chosen after earlier results were seen. "
        f"Neighbours: {text(terms.neighbours)} ({text(mean)})."
    )


def _bars(balance: Balance, history: list[Spending]) -> list[str]:
    several = len({tag for tag, _ in balance.accounts}) > 1
    parts = []
    for place in balance.accounts:
        spent = [entry for entry in history if entry.state != "void" and _touches(entry, place)]
        used, x, cells = balance.used(place), 0.0, []
        for number, entry in enumerate(spent):
            width = _WIDTH * balance.share(place, entry.price)
            told = text(f"{entry.model or 'run'}: {entry.cost}")
            cells.append(
                f"<rect class='seg s{number % 2}' x='{x:.2f}' y='0' width='{max(width, 0.4):.2f}' "
                f"height='{_HEIGHT}'><title>{told}</title></rect>"
            )
            x += width
        said = f"{named(place, several)}: {100 * used:.3g}% of the budget is spent"
        parts.append(
            f"<figure><figcaption class='row'><span>{text(named(place, several))}</span>"
            f"<span><b>{100 * used:.3g}%</b> spent, {100 * (1 - used):.3g}% left</span>"
            f"</figcaption><svg class='bar' role='img' aria-label='{text(said)}' "
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
    alone = note("Each number stands alone: what one kind uses the other no longer has.")
    return table(heads, rows, numbers=(0, 1, 2), kind="wide slim", caption="Fits left") + alone


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
    states = note(
        "“Reserved” runs are under way or were cut off; they count in full. "
        "“Void” ones had read no row; they cost nothing."
    )
    return table(heads, rows, caption="Releases") + states


def _rules(balance: Balance, policy: str, several: bool) -> str:
    rows = [
        (named(place, several), rule, word, f"{spent:.6g}", f"{cap:.6g}", _life(alive))
        for place in balance.accounts
        for rule, alive, held in balance.lines(place)
        for word, spent, cap in held
    ]
    heads = ("on", "rule", "account", "spent", "cap", "")
    policies = (
        f"<p>Policy: {text(policy)}. A run is admitted if one rule in use has room for it in all "
        "its accounts. A rule that did not admit a run is out of use for good. The bar shows the "
        "rule that has most left. The sums are not guarantees of their own: the guarantee is the "
        "cap.</p>"
    )
    return policies + table(heads, rows, numbers=(3, 4), caption="Accounts")


def _life(alive: bool) -> str:
    return "in use" if alive else "out of use"


def _footer(ledger: Ledger) -> str:
    terms, head = ledger.terms, ledger.verify()
    return (
        f"<p>Ledger <code>{text(terms.id)}</code>, created {text(terms.created)}. Head "
        f"of the chain of entries: <code>{text(head)}</code>. Keep it elsewhere: whoever can "
        "write the ledger could rewrite all of it, but not so that this head stays in it.</p>"
    )
