"""Constraint sets; one line in ``SETS`` registers a new one."""

from discreet.parts import Table
from discreet.sets.all_space import AllSpace
from discreet.sets.base import AxisVertices, ConvexSet, Polytope
from discreet.sets.box import Box
from discreet.sets.group_ball import GroupBall
from discreet.sets.intersection import Intersection
from discreet.sets.l1_ball import L1Ball
from discreet.sets.l2_ball import L2Ball
from discreet.sets.lq_ball import LqBall
from discreet.sets.nuclear_ball import NuclearBall
from discreet.sets.simplex import Simplex
from discreet.sets.vertex_polytope import VertexPolytope

SETS = Table[ConvexSet](
    "discreet.sets",
    (
        AllSpace(),
        L2Ball(radius=1.0),
        L1Ball(radius=1.0),
        LqBall(radius=1.0),
        Box(),
        Simplex(),
        GroupBall(radius=1.0, groups=2),
        NuclearBall(radius=1.0),
        VertexPolytope(points=((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))),
        Intersection(sets=(L2Ball(radius=1.0), Box(low=-0.5, high=0.5))),
    ),
    lambda part: isinstance(part, ConvexSet),
)
"""Every set by name, with its default parameters, and those of installed packages."""

__all__ = [
    "SETS",
    "AllSpace",
    "AxisVertices",
    "Box",
    "ConvexSet",
    "GroupBall",
    "Intersection",
    "L1Ball",
    "L2Ball",
    "LqBall",
    "NuclearBall",
    "Polytope",
    "Simplex",
    "VertexPolytope",
]
