"""The style of every picture that matplotlib draws, for the library, its docs and papers.

Matplotlib is optional: install the extra ``plot``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.style.colours import INK, LINE, SERIES, SOFT

STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "font.size": 10,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 5.0,
    "pdf.fonttype": 42,  # letters stay letters, as journals ask
    "ps.fonttype": 42,
    "savefig.dpi": 150,
    "svg.hashsalt": "discreet",  # the same picture is the same file
    "text.color": INK,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
}
"""Settings of matplotlib; colours of series follow from :data:`discreet.style.colours.SERIES`."""

_LINES, _MARKS = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))), "os^Dvp"


@contextmanager
def style() -> Iterator[None]:
    """Draw in this style, inside ``with style():`` or in a function below ``@style()``.

    Series differ in line and mark as well as in colour, so they are told apart in print.

    Examples
    --------
    >>> with style():
    ...     axes = new_figure().subplots()
    >>> axes.spines["top"].get_visible()
    False
    """
    _figure()
    import matplotlib
    from cycler import cycler

    cycle = cycler(color=SERIES) + cycler(linestyle=_LINES) + cycler(marker=list(_MARKS))
    settings: Any = STYLE | {"axes.prop_cycle": cycle}
    with matplotlib.rc_context(settings):
        yield


def new_figure(width: float = 7.2, height: float = 4.4) -> Any:
    """Return an empty figure of a size in inches.

    A figure of its own needs no display and leaves pyplot's global state alone.
    """
    return _figure()(figsize=(width, height), layout="constrained")


def save(figure: Any, path: str | Path) -> None:
    """Write a figure. The file holds no date, so the same picture is the same file."""
    kind = Path(path).suffix.lower()
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(path, metadata=undated)


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise DiscreetError(
            "matplotlib is not installed, so no picture can be drawn. Install it with: "
            "pip install 'matplotlib>=3.9'"
        ) from None
    return Figure
