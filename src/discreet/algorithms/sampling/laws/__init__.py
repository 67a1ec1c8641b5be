"""Draws from ``exp(-score)`` on a public lattice, each with an honest claim.

A room between noise, data and algorithms. Exact: :class:`TangentEnvelope` (the
default), :class:`GaussianEnvelope` (curved losses), :class:`GridSampler`,
:class:`PiecewiseLinear`. Proved but slow: :class:`GridWalk`. Not certified:
:class:`HitAndRun`.
"""

from discreet.algorithms.sampling.laws.approximate import HitAndRun
from discreet.algorithms.sampling.laws.gaussian_envelope import Floor, GaussianEnvelope, tail_weight
from discreet.algorithms.sampling.laws.grid_points import GridSampler, grid_excess, grid_points
from discreet.algorithms.sampling.laws.grid_walk import GridWalk, walk_cost, walk_steps
from discreet.algorithms.sampling.laws.one_dimensional import PiecewiseLinear
from discreet.algorithms.sampling.laws.quantile_draws import (
    MOST_ROWS,
    asked_ranks,
    draw_quantile,
    quantile_scale,
    rank_lattice,
    rank_scale,
    secret_size,
)
from discreet.algorithms.sampling.laws.rank_window import Ranks, draw_ranks
from discreet.algorithms.sampling.laws.region import Region
from discreet.algorithms.sampling.laws.tangent_envelope import TangentEnvelope, tangent_passes
from discreet.algorithms.sampling.laws.target import Target, check_slack

__all__ = [
    "MOST_ROWS",
    "Floor",
    "GaussianEnvelope",
    "GridSampler",
    "GridWalk",
    "HitAndRun",
    "PiecewiseLinear",
    "Ranks",
    "Region",
    "TangentEnvelope",
    "Target",
    "asked_ranks",
    "check_slack",
    "draw_quantile",
    "draw_ranks",
    "grid_excess",
    "grid_points",
    "quantile_scale",
    "rank_lattice",
    "rank_scale",
    "secret_size",
    "tail_weight",
    "tangent_passes",
    "walk_cost",
    "walk_steps",
]
