"""Draws from ``exp(-score)`` on a public lattice, each with an honest claim.

A room between noise, data and algorithms. Exact: :class:`TangentEnvelope` (the
default), :class:`TruncatedGaussian`, :class:`GridSampler`,
:class:`PiecewiseLinear`. Proved but slow: :class:`GridWalk`. Not certified:
:class:`HitAndRun`.
"""

from discreet.samplers.approximate import HitAndRun
from discreet.samplers.grid import GridSampler, grid_excess, grid_points
from discreet.samplers.grid_walk import GridWalk, walk_cost, walk_steps
from discreet.samplers.one_dimensional import PiecewiseLinear
from discreet.samplers.region import Region
from discreet.samplers.tangent_envelope import TangentEnvelope
from discreet.samplers.target import Target
from discreet.samplers.truncated_gaussian import TruncatedGaussian

__all__ = [
    "GridSampler",
    "GridWalk",
    "HitAndRun",
    "PiecewiseLinear",
    "Region",
    "TangentEnvelope",
    "Target",
    "TruncatedGaussian",
    "grid_excess",
    "grid_points",
    "walk_cost",
    "walk_steps",
]
