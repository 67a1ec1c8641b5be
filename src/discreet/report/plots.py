"""Pictures. Matplotlib is optional: install the extra ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError, InvalidParameter
from discreet.files.plain_text import printable

PRIVATE, OTHER, QUIET = "#1f5fa8", "#444444", "#888888"


def accuracy_plot(
    path: str | Path,
    *,
    epsilons: Sequence[float],
    scores: Sequence[Sequence[float]],
    baseline: float,
    guessing: float,
    title: str,
    subtitle: str = "",
) -> None:
    """Draw test accuracy against epsilon and write it to ``path``.

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
        x, [s[0] for s in ranked], [s[-1] for s in ranked], color=PRIVATE, alpha=0.15, lw=0
    )
    for e, s in zip(x, ranked, strict=True):
        axes.plot([e] * len(s), s, "o", color=PRIVATE, alpha=0.35, ms=4, mew=0)
    axes.plot(x, middle, "-o", color=PRIVATE, lw=2, ms=6)
    axes.axhline(baseline, color=OTHER, lw=1.5, ls="--")
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
    axes.text(left * 1.05, baseline, f"not private: {baseline:.1%}", color=OTHER, va="bottom")
    axes.text(
        right / 1.05, guessing, "always the larger class", color=QUIET, va="bottom", ha="right"
    )
    axes.annotate(
        f"private: median and\nspread of {len(ranked[0])} fits",
        (x[-1], ranked[-1][0]), xytext=(0, -10), textcoords="offset points",
        color=PRIVATE, ha="right", va="top", fontweight="bold",
    )  # fmt: skip
    axes.set_xlabel("epsilon  (smaller is more private)")
    axes.set_ylabel("accuracy on test rows")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5", lw=0.8)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontweight="bold", pad=24)
    axes.text(0, 1.03, subtitle, transform=axes.transAxes, fontsize=9, color=OTHER)
    figure.savefig(path, dpi=150)


def coefficient_plot(path: str | Path, model: Any, *, level: float = 0.95) -> None:
    """Draw the intervals of a model's coefficients and write them to ``path``.

    It shows released numbers only, so the picture costs nothing more. A coefficient
    without a finite interval is named and has no mark.

    Parameters
    ----------
    path
        File to write; its ending gives the format.
    model
        A model fitted with ``inference``.
    level
        Probability of covering, for each coefficient.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(-1, 1, 3000).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateRidge(inference="table", bounds=bounds).fit(X, X.ravel() / 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "coefficients.png"
    ...     coefficient_plot(file, model)
    ...     file.stat().st_size > 1000
    True
    """
    ends, found = model.interval(level), model.summary(level).to_dict()
    names, middle = found["names"], found["estimate"]
    figure = new_figure()
    figure.set_size_inches(7.2, min(1.6 + 0.3 * len(names), 100))
    axes = figure.subplots()
    for place, (value, (low, high)) in enumerate(zip(middle, ends, strict=True)):
        if value is not None:
            axes.plot([low, high], [place, place], color=PRIVATE, lw=2, solid_capstyle="round")
            axes.plot(value, place, "o", color=PRIVATE, ms=6)
    axes.axvline(0.0, color=QUIET, lw=1, ls=":")
    shown = [printable(str(n)) + ("" if v is not None else " (none)")
             for n, v in zip(names, middle, strict=True)]  # fmt: skip
    axes.set_yticks(range(len(names)), [name.replace("$", r"\$") for name in shown])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(f"{level:.4g} intervals for the {found['target']}, in the units of the data")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e5e5e5", lw=0.8)
    axes.set_axisbelow(True)
    figure.savefig(path, dpi=150)


def new_figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DiscreetError(
            "matplotlib is not installed, so no picture can be drawn. Install it with: "
            "pip install 'matplotlib>=3.9'"
        ) from None
    # A Figure of its own needs no display and leaves pyplot's global state alone.
    return Figure(figsize=(7.2, 4.4), layout="constrained")
