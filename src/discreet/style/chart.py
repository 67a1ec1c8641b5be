"""Charts as inline SVG, for pages that run nothing.

Letters keep the size of the text around them from phone to desk, because the
drawing is small and hardly scaled. Every chart says in words what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from discreet.style.document import text

WIDTH, HEIGHT = 420, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 22, 30, 46

Point = tuple[float, float]


def short(value: float) -> str:
    """Return four digits of a number, and all before the point up to a billion.

    >>> short(0.123456), short(-11892.7), short(1.5e12)
    ('0.1235', '-11893', '1.5e+12')
    """
    return f"{value:.0f}" if 9999.5 <= abs(value) < 1e9 else f"{value:.4g}"


def percent(value: float) -> str:
    """Return a share as text of an axis.

    >>> percent(0.25)
    '25%'
    """
    return f"{100 * value:g}%"


@dataclass(frozen=True)
class Axis:
    """A scale with a name.

    Parameters
    ----------
    name
        What is measured.
    low, high
        Its ends.
    ticks
        Values that are marked.
    shown
        How a value is written.
    log
        Whether equal ratios have equal lengths.

    Examples
    --------
    >>> Axis("epsilon", 0.1, 10.0, (0.1, 1.0, 10.0), log=True).part(1.0)
    0.5
    """

    name: str
    low: float
    high: float
    ticks: Sequence[float]
    shown: Callable[[float], str] = "{:g}".format
    log: bool = False

    def part(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def shares(name: str) -> Axis:
    """Return an axis from 0 to 100 percent."""
    return Axis(name, 0.0, 1.0, SHARES, percent)


@dataclass(frozen=True)
class Chart:
    """Axes that curves are drawn on.

    Parameters
    ----------
    across, up
        The axes.

    Examples
    --------
    >>> chart = Chart(shares("found"), shares("missed"))
    >>> drawn = chart.svg("A line from 0 to 1.", chart.line([(0, 0), (1, 1)]))
    >>> drawn.count("<polyline"), "<title>A line from 0 to 1.</title>" in drawn
    (1, True)
    """

    across: Axis
    up: Axis

    def at(self, point: Point) -> Point:
        """Return where a point is drawn."""
        x = _LEFT + self.across.part(point[0]) * (WIDTH - _LEFT - _RIGHT)
        y = HEIGHT - _BOTTOM - self.up.part(point[1]) * (HEIGHT - _TOP - _BOTTOM)
        return x, y

    def line(self, points: Iterable[Point], kind: str = "curve") -> str:
        """Return a line; ``kind`` is ``"curve"``, ``"second"`` or ``"bound"``."""
        return f"<polyline class='{kind}' points='{self._path(points)}'/>"

    def area(self, points: Iterable[Point]) -> str:
        """Return a filled outline."""
        return f"<polygon class='area' points='{self._path(points)}'/>"

    def spans(self, held: Iterable[tuple[float, float, float, float]]) -> str:
        """Return values with their intervals: (across, value, low, high) each."""
        parts = []
        for across, value, low, high in held:
            (x, top), (_, bottom), (_, y) = (self.at((across, v)) for v in (high, low, value))
            parts.append(
                f"<line class='span' x1='{x:.1f}' x2='{x:.1f}' y1='{top:.1f}' y2='{bottom:.1f}'/>"
                f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='4.5'/>"
            )
        return "".join(parts)

    def words(self, point: Point, said: str, kind: str = "name", anchor: str = "start") -> str:
        """Return text at a point; ``anchor`` is ``"start"``, ``"middle"`` or ``"end"``."""
        x, y = self.at(point)
        return (
            f"<text class='{kind}' x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'>{text(said)}"
            "</text>"
        )

    def svg(self, label: str, *drawn: str) -> str:
        """Return the chart.

        Parameters
        ----------
        label
            What it shows, in a sentence, for those who do not see it.
        drawn
            What the other methods returned.
        """
        return (
            f"<svg class='chart' role='img' viewBox='0 0 {WIDTH} {HEIGHT}'>"
            f"<title>{text(label)}</title>{self._frame()}{''.join(drawn)}</svg>"
        )

    def _path(self, points: Iterable[Point]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.at, points))

    def _frame(self) -> str:
        right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
        parts = []
        for value in self.up.ticks:
            _, y = self.at((self.across.low, value))
            parts.append(
                f"<line class='grid' x1='{_LEFT}' x2='{right}' y1='{y:.1f}' y2='{y:.1f}'/>"
                f"<text class='tick' x='{_LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>"
                f"{text(self.up.shown(value))}</text>"
            )
        for value in self.across.ticks:
            x, _ = self.at((value, self.up.low))
            parts.append(
                f"<text class='tick' x='{x:.1f}' y='{bottom + 17}' text-anchor='middle'>"
                f"{text(self.across.shown(value))}</text>"
            )
        parts.append(
            f"<line class='axis' x1='{_LEFT}' x2='{right}' y1='{bottom}' y2='{bottom}'/>"
            f"<text class='soft' x='{right}' y='{HEIGHT - 8}' text-anchor='end'>"
            f"{text(self.across.name)}</text>"
            f"<text class='soft' x='4' y='14'>{text(self.up.name)}</text>"
        )
        return "".join(parts)
