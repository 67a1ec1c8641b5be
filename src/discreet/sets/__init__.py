"""Constraint sets; one line in ``SETS`` registers a new one."""

from discreet.sets.all_space import AllSpace
from discreet.sets.base import ConvexSet, Polytope
from discreet.sets.box import Box
from discreet.sets.group_ball import GroupBall
from discreet.sets.intersection import Intersection
from discreet.sets.l1_ball import L1Ball
from discreet.sets.l2_ball import L2Ball
from discreet.sets.lq_ball import LqBall
from discreet.sets.nuclear_ball import NuclearBall
from discreet.sets.simplex import Simplex
from discreet.sets.vertex_polytope import VertexPolytope

SETS: dict[str, ConvexSet] = {
    constraint.name: constraint
    for constraint in (
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
    )
}
"""Every set by name, with its default parameters."""

__all__ = [
    "SETS",
    "AllSpace",
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
