"""What other budgets would have bought, by fits of made-up rows."""

from __future__ import annotations

from statistics import mean
from typing import Any

from discreet.style import note, section, table, text
from discreet.style.chart import Axis, Chart

BOUGHT = "What epsilon would have bought"


def rehearsal_section(rehearsal: Any) -> str:
    """Return scores of private fits of made-up rows, for several budgets.

    Parameters
    ----------
    rehearsal
        What :func:`discreet.rehearse` returned.
    """
    name = rehearsal.main
    held = {e: s[name] for e, s in sorted(rehearsal.scores.items()) if s.get(name)}
    rows = [
        (f"{e:.3g}", _spread(held.get(e)), rehearsal.verdict(e)) for e in sorted(rehearsal.scores)
    ]
    fits = max((len(values) for values in held.values()), default=0)
    called = {"auc": "area under ROC", "r2": "R2"}.get(name, name)
    return section(
        BOUGHT,
        f"<p>{text(rehearsal.estimator)} was fitted to {rehearsal.n_rows:,} made-up rows, "
        f"{fits} times for each epsilon. No row of the data was read, so this cost nothing.</p>",
        _figure(rehearsal, held, called) if len(held) > 1 else "",
        table(("epsilon", f"{called}: mean, least and most", "verdict"), rows, numbers=(0,)),
        note(
            f"The truth itself reaches {rehearsal.best[name]:.3f}, guessing "
            f"{rehearsal.guessing[name]:.3f}. The made-up rows follow the declared columns with a "
            "signal that was chosen without the data. Real rows may hold more of it, or less."
        ),
    )


def _spread(values: list[float] | None) -> str:
    if not values:
        return "–"
    return f"{mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def _figure(rehearsal: Any, held: dict[float, list[float]], called: str) -> str:
    best, guessing = rehearsal.best[rehearsal.main], rehearsal.guessing[rehearsal.main]
    low = min(guessing, *(min(values) for values in held.values()))
    reach = max(best - low, 1e-9)
    bottom, top = low - 0.08 * reach, best + 0.14 * reach
    ticks = [low + k * reach / 4 for k in range(5)]
    budgets = list(held)
    chart = Chart(
        Axis("epsilon", budgets[0] / 1.5, budgets[-1] * 1.5, budgets, "{:.3g}".format, log=True),
        Axis(called, bottom, top, ticks, "{:.2f}".format),
    )
    ends = (chart.across.low, chart.across.high)
    means = [(e, mean(values)) for e, values in held.items()]
    drawn = [
        *(chart.line([(ends[0], v), (ends[1], v)], "bound") for v in (best, guessing)),
        chart.line(means),
        chart.spans((e, mean(v), min(v), max(v)) for e, v in held.items()),
        chart.words((ends[0], best + 0.03 * reach), "the truth itself", "soft"),
        chart.words((ends[1], guessing + 0.03 * reach), "guessing", "soft", "end"),
    ]
    label = f"{called} against epsilon: " + ", ".join(f"{v:.3f} at {e:.3g}" for e, v in means)
    label += f"; the truth reaches {best:.3f}, guessing {guessing:.3f}."
    return (
        f"<figure>{chart.svg(label, *drawn)}<figcaption>Points are means of fits, bars go from the "
        "least to the most.</figcaption></figure>"
    )
