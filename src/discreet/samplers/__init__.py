"""Draws from ``exp(-score)`` on a public lattice, each with an honest claim.

A room between noise, data and algorithms. Exact: :class:`TangentEnvelope` (the
default), :class:`GaussianEnvelope` (curved losses), :class:`GridSampler`,
:class:`PiecewiseLinear`. Proved but slow: :class:`GridWalk`. Not certified:
:class:`HitAndRun`.
"""

from discreet.samplers.approximate import HitAndRun
from discreet.samplers.gaussian_envelope import Floor, GaussianEnvelope, tail_weight
from discreet.samplers.grid import GridSampler, grid_excess, grid_points
from discreet.samplers.grid_walk import GridWalk, walk_cost, walk_steps
from discreet.samplers.one_dimensional import PiecewiseLinear
from discreet.samplers.region import Region
from discreet.samplers.tangent_envelope import TangentEnvelope, tangent_passes
from discreet.samplers.target import Target, check_slack

__all__ = [
    "Floor",
    "GaussianEnvelope",
    "GridSampler",
    "GridWalk",
    "HitAndRun",
    "PiecewiseLinear",
    "Region",
    "TangentEnvelope",
    "Target",
    "check_slack",
    "grid_excess",
    "grid_points",
    "tail_weight",
    "tangent_passes",
    "walk_cost",
    "walk_steps",
]
