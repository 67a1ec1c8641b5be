"""Noise for prefix sums of streams: trees and matrix factorisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.errors import InvalidParameter
from discreet.noise.prefix.blt import BLT, best_blt
from discreet.noise.prefix.mechanism import PrefixSums, RunningSums
from discreet.noise.prefix.strategy import Strategy
from discreet.noise.prefix.toeplitz import Toeplitz
from discreet.noise.prefix.tree import Tree

STRATEGIES: dict[str, Callable[[int], Strategy]] = {
    "blt": best_blt,
    "toeplitz": Toeplitz,
    "honaker": lambda horizon: Tree(horizon, refine=True),
    "tree": Tree,
}
"""Strategies by name; each takes the number of steps of the stream."""

_CLASSES: dict[str, type[Strategy]] = {kind.__name__: kind for kind in (BLT, Toeplitz, Tree)}


def strategy_from_dict(values: Mapping[str, Any]) -> Strategy:
    """Return the strategy that ``to_dict`` described.

    >>> strategy_from_dict(Tree(8).to_dict())
    Tree(horizon=8, refine=False)
    """
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    kind = _CLASSES.get(given.pop("strategy", ""))
    if kind is None:
        raise InvalidParameter(f"A saved strategy must be one of {sorted(_CLASSES)}.")
    return kind(**given)


__all__ = [
    "BLT",
    "STRATEGIES",
    "PrefixSums",
    "RunningSums",
    "Strategy",
    "Toeplitz",
    "Tree",
    "best_blt",
    "strategy_from_dict",
]
