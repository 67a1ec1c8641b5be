"""Pictures. Matplotlib is optional: install the extra ``plot``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from discreet.accounting import Guarantee
from discreet.errors import InvalidParameter
from discreet.report.attack import detection_curve
from discreet.style.colours import BLUE, QUIET, SOFT
from discreet.style.pictures import new_figure, save, style


@style()
def accuracy_plot(
    path: str | Path,
    *,
    epsilons: Sequence[float],
    scores: Sequence[Sequence[float]],
    baseline: float,
    guessing: float,
    title: str,
    subtitle: str = "",
    names: tuple[str, str, str] = ("not private", "always the larger class", "accuracy"),
) -> None:
    """Draw test accuracy, or another score, against epsilon and write it to ``path``.

    Accuracy is a function of data. Draw it for public data only, or pay for it.

    Parameters
    ----------
    path
        File to write; its ending gives the format.
    epsilons
        Privacy budgets.
    scores
        For each budget the accuracies of several private fits.
    baseline, guessing
        Accuracy of the non-private model and of always naming the largest class.
    title, subtitle
        What is shown.
    names
        How baseline, guessing and score are called.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "accuracy.png"
    ...     accuracy_plot(file, epsilons=[0.1, 1], scores=[[0.6, 0.7], [0.9, 0.92]],
    ...                   baseline=0.95, guessing=0.6, title="Example")
    ...     file.stat().st_size > 1000
    True
    """
    if len(epsilons) != len(scores) or not epsilons or not all(len(s) for s in scores):
        raise InvalidParameter("scores must hold at least one accuracy for every epsilon.")
    figure = new_figure()
    axes = figure.subplots()
    order = sorted(range(len(epsilons)), key=lambda i: epsilons[i])
    x = [epsilons[i] for i in order]
    ranked = [sorted(scores[i]) for i in order]
    middle = [(s[(len(s) - 1) // 2] + s[len(s) // 2]) / 2 for s in ranked]
    axes.fill_between(
        x, [s[0] for s in ranked], [s[-1] for s in ranked], color=BLUE, alpha=0.15, lw=0
    )
    for e, s in zip(x, ranked, strict=True):
        axes.plot([e] * len(s), s, "o", color=BLUE, alpha=0.35, ms=4, mew=0)
    axes.plot(x, middle, "-o", color=BLUE, lw=2, ms=6)
    axes.axhline(baseline, color=SOFT, lw=1.5, ls="--")
    axes.axhline(guessing, color=QUIET, lw=1.2, ls=":")
    axes.set_xscale("log")
    axes.set_xticks(x, [f"{e:g}" for e in x])
    axes.minorticks_off()
    axes.set_xlim(x[0] / 1.3, x[-1] * 1.3)
    low = min(guessing, min(s[0] for s in ranked))
    axes.set_ylim(max(0.0, low - 0.06), min(1.0, baseline + 0.05))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    # The lines carry their names, so no legend has to be matched by colour.
    left, right = axes.get_xlim()
    axes.text(left * 1.05, baseline, f"{names[0]}: {baseline:.1%}", color=SOFT, va="bottom")
    axes.text(right / 1.05, guessing, names[1], color=QUIET, va="bottom", ha="right")
    axes.annotate(
        f"private: median and\nspread of {len(ranked[0])} fits",
        (x[-1], ranked[-1][0]), xytext=(0, -10), textcoords="offset points",
        color=BLUE, ha="right", va="top", fontweight="bold",
    )  # fmt: skip
    axes.set_xlabel("epsilon  (smaller is more private)")
    axes.set_ylabel(f"{names[2]} on test rows")
    axes.grid(visible=False, axis="x")
    axes.set_title(title, pad=24)
    axes.text(0, 1.03, subtitle, transform=axes.transAxes, fontsize=9, color=SOFT)
    save(figure, path)


@style()
def attack_plot(path: str | Path, claims: Mapping[str, Guarantee]) -> None:
    """Draw what an attacker can gain at most, for several guarantees.

    Parameters
    ----------
    path
        File to write; its ending gives the format.
    claims
        Guarantees by the names that the picture has for them, at most six.

    Examples
    --------
    >>> import tempfile
    >>> from discreet.accounting import Pure
    >>> claim = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0),
    ...                     theorem="t")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     attack_plot(Path(folder) / "attack.svg", {"epsilon 1": claim})
    """
    rates = [k / 400 for k in range(1, 400)]
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=QUIET, lw=1.2, ls=":", marker="")
    axes.text(0.62, 0.56, "guessing", color=QUIET, rotation=40)
    for name, claim in claims.items():
        axes.plot([0, *rates, 1], [0, *detection_curve(claim, rates), 1], marker="", label=name)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.005)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("false alarms")
    axes.set_ylabel("rows found to be members, at most")
    axes.set_title("What an attacker can gain")
    axes.legend(loc="lower right")
    save(figure, path)
