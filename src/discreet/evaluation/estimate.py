"""One metric as it is released: a value, an interval and how much of it is noise."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Estimate:
    """A metric with an interval that counts privacy noise and sampling.

    Parameters
    ----------
    value
        What is reported. NaN where noise leaves nothing to report.
    low, high
        Ends of the interval.
    noise
        Standard deviation of the privacy noise in the value.
    exact
        Whether the interval holds its level for every number of rows; else
        it holds approximately, as that number grows.

    Examples
    --------
    >>> print(Estimate(0.853, 0.841, 0.864, 0.002))
    0.8530 (0.8410 to 0.8640)
    """

    value: float
    low: float
    high: float
    noise: float
    exact: bool = False

    def __str__(self) -> str:
        if math.isnan(self.value):
            return "not known: noise outweighs the rows it rests on"
        if math.isnan(self.low):
            return f"{self.value:.4f} (no interval)"
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; None for what is not known.

        >>> Estimate(float("nan"), 0.0, 1.0, float("nan")).to_dict()["value"] is None
        True
        """
        return {k: _finite(v) for k, v in asdict(self).items()}


def around(
    value: float,
    *,
    noise: float,
    sampling: float,
    critical: float,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Return the estimate of a smooth metric: ``value`` give or take both deviations.

    Parameters
    ----------
    value
        Before it is cut to what is possible.
    noise, sampling
        Standard deviations.
    critical
        How many of them make the interval.
    limits
        What is possible; value and ends are cut to it last.

    Examples
    --------
    >>> around(0.99, noise=0.003, sampling=0.004, critical=2.0, limits=(0.0, 1.0)).high
    1.0
    """
    half = critical * math.hypot(noise, sampling)
    cut = np.clip([value, value - half, value + half], *limits)
    return Estimate(float(cut[0]), float(cut[1]), float(cut[2]), noise)


def unknown(limits: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """Return what is said where noise outweighs the rows a metric rests on.

    >>> unknown((0.0, 1.0)).high
    1.0
    """
    return Estimate(math.nan, *limits, math.nan)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
