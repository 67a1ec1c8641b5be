"""Frank-Wolfe: each step moves towards a privately chosen vertex."""

from discreet.algorithms.frank_wolfe.common import assumptions, rounded_rows
from discreet.algorithms.frank_wolfe.frank_wolfe import FrankWolfe

__all__ = [
    "FrankWolfe",
    "assumptions",
    "rounded_rows",
]
