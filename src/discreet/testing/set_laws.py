"""Laws of constraint sets.

The support function certifies a projection: ``v`` is the nearest point to ``w``
if and only if it is in the set and ``support(w - v) <= <w - v, v>``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.spatial.distance import pdist

from discreet.bounds import Array, unit_roundoff
from discreet.errors import DiscreetError, Incompatible
from discreet.regularizers import REGULARIZERS
from discreet.regularizers.combined import project_after_prox
from discreet.sets import ConvexSet, Polytope
from discreet.testing.holding import hold, is_value
from discreet.testing.regularizer_laws import joint_prox_holds, shape_of

Law = Callable[[ConvexSet], None]


def shape(constraint: ConvexSet) -> tuple[int, ...]:
    """Return a shape of weights that a set takes."""
    found = shape_of(constraint)
    hold(found is not None, "project takes weights of two to six entries, or a 4 by 3 matrix")
    assert found is not None
    return found


def cloud(constraint: ConvexSet, n: int, seed: int = 0) -> list[Array]:
    """Draw points near, far, tied, at zero, and along the axes."""
    rng = np.random.default_rng(seed)
    size = shape(constraint)
    scales = rng.choice([0.1, 1.0, 10.0, 1000.0], n)
    out = [s * rng.normal(size=size) for s in scales]
    out += [np.round(s * rng.normal(size=size)) for s in (1.0, 3.0) for _ in range(n // 4)]
    axis = np.zeros(size)
    axis.flat[0] = 5.0
    return [*out, np.zeros(size), np.ones(size), -np.ones(size), axis, -axis]


def is_bounded(constraint: ConvexSet) -> bool:
    """Return whether a set says that it is bounded."""
    return math.isfinite(constraint.radius(math.prod(shape(constraint))))


def extreme_points(constraint: ConvexSet, n: int = 100) -> Array:
    """Return points of a bounded set that lie furthest in some direction, one a row."""
    size = shape(constraint)
    axes = [sign * e.reshape(size) for e in np.eye(math.prod(size)) for sign in (1.0, -1.0)]
    ways = [*cloud(constraint, n, seed=4), *axes]
    return np.array([constraint.minimize_linear(g).ravel() for g in ways])


def is_projection(constraint: ConvexSet, w: Array, v: Array) -> bool:
    """Return whether ``v`` is the nearest point to ``w``, judged by the support function alone."""
    tolerance = 1e-11 * (1.0 + float(np.linalg.norm(w)))
    rng = np.random.default_rng(9)
    for normal in [*rng.normal(size=(20, *w.shape)), *np.eye(w.size).reshape(-1, *w.shape)]:
        room = constraint.support(normal) - float(np.sum(normal * v))
        if room < -tolerance * (1.0 + float(np.linalg.norm(normal))):
            return False
    # Along w - v the set reaches v, and no further.
    gap = constraint.support(w - v) - float(np.sum((w - v) * v))
    return abs(gap) <= tolerance * (1.0 + float(np.linalg.norm(w - v)))


def set_is_value(constraint: ConvexSet) -> None:
    """A set is a frozen value with a name."""
    is_value(constraint)


def projection_is_the_nearest_point(constraint: ConvexSet) -> None:
    """The projection is the nearest point, and leaves its argument alone."""
    for w in cloud(constraint, 60):
        before = w.copy()
        nearest = is_projection(constraint, w, constraint.project(w))
        hold(nearest, "project gives the nearest point, as support tells it")
        hold(w == before, "project leaves its argument alone")


def projection_is_idempotent(constraint: ConvexSet) -> None:
    """Projecting is idempotent, as closely as is declared, and non-expansive."""
    points = cloud(constraint, 60, seed=1)
    images = [constraint.project(w) for w in points]
    for w, v in zip(points, images, strict=True):
        size = float(np.linalg.norm(w)) + float(np.linalg.norm(v))
        bound = 2.0 * (w.size + 8) * unit_roundoff() * size
        slack = bound if constraint.closed_form else 1e-13 * (1.0 + size)
        again = float(np.linalg.norm(constraint.project(v) - v))
        hold(again <= slack, "projecting twice is projecting once, as closely as closed_form says")
    pairs = list(zip(points, images, strict=True))
    for (a, pa), (b, pb) in pairwise(pairs):
        near = np.linalg.norm(pa - pb) <= np.linalg.norm(a - b) * (1 + 1e-12) + 1e-12
        hold(near, "projections of two points lie no further apart than the points")


def oracle_attains_the_support(constraint: ConvexSet) -> None:
    """The linear oracle gives a point of the set where a linear function is least."""
    if not is_bounded(constraint):
        return
    inside = np.array([constraint.project(w).ravel() for w in cloud(constraint, 60, seed=2)])
    for g in cloud(constraint, 40, seed=3):
        best = constraint.minimize_linear(g)
        slack = 1e-12 * (1 + float(np.linalg.norm(g)))
        value, moved = float(np.sum(g * best)), np.linalg.norm(constraint.project(best) - best)
        hold(moved <= 1e-11, "minimize_linear gives a point of the set")
        hold(abs(value + constraint.support(-g)) <= slack, "support is what minimize_linear finds")
        hold((inside @ g.ravel()).min() >= value - 2 * slack, "no point of the set is lower")
        # Going far in a direction and projecting ends at the oracle's value.
        far = constraint.project(-1e9 * g / max(1e-300, float(np.linalg.norm(g))))
        low = abs(float(np.sum(g * far)) - value) <= 1e5 * slack
        hold(low or not g.any(), "projecting a far point ends where minimize_linear does")


def unbounded_sets_say_so(constraint: ConvexSet) -> None:
    """A set of infinite radius is unbounded in every respect."""
    if is_bounded(constraint):
        return
    size = shape(constraint)
    dim = math.prod(size)
    ends = [constraint.support(sign * np.ones(size)) for sign in (1.0, -1.0)]
    hold(math.inf in ends, "an unbounded set reaches infinitely far up or down")
    sizes = (constraint.diameter(dim), constraint.gaussian_width(dim))
    hold(sizes == (math.inf, math.inf), "an unbounded set has infinite diameter and width")
    try:
        constraint.minimize_linear(-np.ones(size) * (1.0 if ends[0] == math.inf else -1.0))
    except Incompatible:
        return
    raise AssertionError("minimize_linear raises Incompatible where there is no minimum")


def sizes_dominate(constraint: ConvexSet) -> None:
    """Radius, diameter and Gaussian width are not below what is found."""
    if not is_bounded(constraint):
        return
    size = shape(constraint)
    dim, extreme = math.prod(size), extreme_points(constraint)
    longest, widest = np.linalg.norm(extreme, axis=1).max(), pdist(extreme).max()
    hold(longest <= constraint.radius(dim) * (1 + 1e-12), "radius bounds the norm of points")
    hold(widest <= constraint.diameter(dim) * (1 + 1e-12), "diameter bounds distances of points")
    draws = np.random.default_rng(5).normal(size=(1000, *size))
    found = np.array([max(constraint.support(b), constraint.support(-b)) for b in draws])
    least = found.mean() - 4.5 * float(found.std()) / math.sqrt(len(found))
    hold(constraint.gaussian_width(dim) >= least, "gaussian_width bounds E sup |<b, w>|")


def vertices_span_the_polytope(constraint: ConvexSet) -> None:
    """The vertices of a polytope lie in it and span it."""
    if not isinstance(constraint, Polytope):
        return
    dim = math.prod(shape(constraint))
    vertices = constraint.vertices(dim)
    counted = vertices.shape == (constraint.n_vertices(dim), dim)
    hold(counted, "vertices has n_vertices rows of one vertex each")
    for v in vertices:
        moved = np.abs(constraint.project(v.reshape(shape(constraint))).ravel() - v).max()
        hold(moved <= 1e-12 * (1 + np.abs(v).max()), "vertices belong to the set")
    for g in cloud(constraint, 40, seed=6):
        top = float((vertices @ g.ravel()).max())
        same = abs(top - constraint.support(g)) <= 1e-12 * (1 + float(np.linalg.norm(g)))
        hold(same, "some vertex attains the support")


def matrices_are_their_entries(constraint: ConvexSet) -> None:
    """A matrix of one column is projected like the vector it holds."""
    for w in cloud(constraint, 20, seed=7):
        if w.ndim != 1:
            return
        try:
            column = constraint.project(w[:, None])
        except DiscreetError:
            return
        same = column == constraint.project(w)[:, None]
        hold(same, "weights of shape (p, 1) are projected like those of shape (p,)")


def whole_space_is_everything(constraint: ConvexSet) -> None:
    """``whole_space`` is declared of a set that moves no point."""
    for w in cloud(constraint, 20) if constraint.whole_space else ():
        hold(constraint.project(w) == w, "whole_space: projection moves nothing")


def limits_are_the_set(constraint: ConvexSet) -> None:
    """``separable``: the limits of coordinates are all there is to the set."""
    for w in cloud(constraint, 40) if constraint.separable else ():
        low, high = constraint.limits(w.shape)
        hold(low.shape == high.shape == w.shape, "limits are shaped like the weights")
        nearest = np.allclose(constraint.project(w), np.clip(w, low, high), rtol=1e-14, atol=0)
        hold(nearest, "separable: projection clips each coordinate to its limits")


def norm_ball_is_one(constraint: ConvexSet) -> None:
    """``norm``: the set is a ball around zero, on which listed penalties have an exact prox."""
    if constraint.norm is None:
        return
    for w in cloud(constraint, 40):
        opposite = np.isclose(constraint.support(w), constraint.support(-w))
        hold(opposite and constraint.support(w) >= 0.0, "norm: a ball is symmetric around zero")
        if constraint.norm == "l2":
            radius, length = constraint.radius(w.size), max(float(np.linalg.norm(w)), 1e-300)
            near = np.allclose(constraint.project(w), w * min(1.0, radius / length))
            hold(near, "norm 'l2': projection shortens weights to the radius")
    for penalty in REGULARIZERS.values():
        if constraint.closed_form and project_after_prox(penalty.kernel, constraint):
            joint_prox_holds(penalty, constraint)


def axis_vertices_are_the_vertices(constraint: ConvexSet) -> None:
    """``axis_vertices`` are those of the set, and it is their hull."""
    axes = constraint.axis_vertices
    for g in cloud(constraint, 40) if axes is not None else ():
        assert axes is not None
        reach = axes.size * float(np.max(np.abs(g) if axes.signed else g))
        same = abs(constraint.support(g) - reach) <= 1e-12 * (1.0 + abs(reach))
        hold(same, "axis_vertices: the set is their hull")


def interior_is_where_it_says(constraint: ConvexSet) -> None:
    """``has_interior`` tells whether points of a bounded set fill its space."""
    if is_bounded(constraint):
        extreme = extreme_points(constraint)
        middle = extreme.mean(axis=0)
        rank = int(np.linalg.matrix_rank(extreme - middle, tol=1e-9))
        full = rank == extreme.shape[1]
        agree = full == constraint.has_interior(shape(constraint))
        hold(agree, "has_interior tells whether the set fills the space of the weights")


SET_LAWS: tuple[Law, ...] = (
    set_is_value,
    projection_is_the_nearest_point,
    projection_is_idempotent,
    oracle_attains_the_support,
    unbounded_sets_say_so,
    sizes_dominate,
    vertices_span_the_polytope,
    matrices_are_their_entries,
    whole_space_is_everything,
    limits_are_the_set,
    norm_ball_is_one,
    axis_vertices_are_the_vertices,
    interior_is_where_it_says,
)
"""Every law of a set."""


def check_set(constraint: ConvexSet) -> None:
    """Put a set through every law; raise AssertionError with the first that is broken.

    Parameters
    ----------
    constraint
        The set, with the parameters it is to be tried with. It has to take weights of two
        to six entries, or a matrix of four by three.

    Examples
    --------
    >>> from discreet.sets import L1Ball
    >>> check_set(L1Ball(radius=2.0))
    """
    for law in SET_LAWS:
        law(constraint)
