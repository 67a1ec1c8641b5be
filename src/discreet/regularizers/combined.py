"""The exact prox of a regularizer plus the indicator of a constraint set.

Notation: ``K`` the regularizer without its ridge part, ``m`` the strength of
that ridge part, ``F`` the set, ``t`` the step.

Ridge. ``t (K + m/2 ||v||^2) + ||v - w||^2 / 2`` equals, up to a constant,
``(1 + t m)`` times ``t/(1 + t m) K(v) + ||v - w/(1 + t m)||^2 / 2``. So the
prox at ``(w, t)`` is that of ``K`` and ``F`` at ``(w, t) / (1 + t m)``.

Project after prox. Let ``u = prox_K(w)``, so ``w - u`` is in ``t dK(u)``, and
``v`` the projection of ``u``. Then ``v`` solves the joint problem if
``dK(u)`` is inside ``dK(v)``, because ``u - v`` is normal to ``F`` at ``v``.

- ``K`` a multiple of a norm (l1, group, nuclear) and ``F`` an origin-centred
  Euclidean ball: ``v = c u`` with ``c > 0``, and ``dK(c u) = dK(u)``.
- ``K`` and ``F`` of the same norm (l1 with L1Ball, group with GroupBall, nuclear
  with NuclearBall): projection only shrinks lengths, keeping signs, directions
  of groups or singular vectors.
- ``K`` and ``F`` separable (l1 with a box): one convex problem per coordinate, and
  the minimiser over an interval is the nearest point to the free minimiser.

Yu, *On decomposing the proximal map*, NeurIPS 2013, gives the first case.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.regularizers.base import Regularizer
from discreet.regularizers.ridge import Zero
from discreet.sets import ConvexSet, Intersection

Prox = Callable[[Array, float], Array]


def combined_prox(regularizer: Regularizer, constraint: ConvexSet) -> Prox:
    """Return the exact prox of ``regularizer`` restricted to ``constraint``.

    The function returned maps ``(w, step)`` to the ``v`` in the set that
    minimises ``step * regularizer(v) + ||v - w||^2 / 2``. Exact means within
    ``2 (dim + 8) u (||w|| + ||v||)``, ``u`` the unit roundoff. A pair without a
    proof is refused.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.regularizers import L1
    >>> from discreet.sets import L2Ball
    >>> prox = combined_prox(L1(strength=1.0), L2Ball(radius=1.0))
    >>> prox(np.array([4.0, -5.0]), 1.0)
    array([ 0.6, -0.8])
    """
    kernel = regularizer.kernel
    inner = _kernel_prox(kernel, constraint)
    if kernel is regularizer:
        return inner
    ridge = regularizer.strong_convexity

    def prox(w: Array, step: float) -> Array:
        shrink = 1.0 + step * ridge
        return inner(w / shrink, step / shrink)

    return prox


def _kernel_prox(kernel: Regularizer, constraint: ConvexSet) -> Prox:
    if kernel.indicated is not None:
        return _kernel_prox(Zero(), Intersection(sets=(kernel.indicated, constraint)))
    if not constraint.closed_form:
        raise Incompatible(
            f"Projection on the {constraint.name} constraint is iterative, and the privacy "
            "certificate needs a bound on its rounding. Use a box, a ball or a simplex."
        )
    if constraint.whole_space:
        return kernel.prox
    if kernel.zero:
        return lambda w, step: constraint.project(w)
    if project_after_prox(kernel, constraint):
        return lambda w, step: constraint.project(kernel.prox(w, step))
    raise Incompatible(
        f"The {kernel.name} penalty has no exact prox on the {constraint.name} constraint, and the "
        "privacy certificate needs an exact one. Multiples of a norm work with L2Ball and with "
        "the ball of the same norm, separable penalties with Box. The zero and ridge penalties "
        "work with every closed-form constraint."
    )


def project_after_prox(kernel: Regularizer, constraint: ConvexSet) -> bool:
    """Return whether projecting after the prox gives the joint prox, by what both declare.

    >>> from discreet.regularizers import L1
    >>> from discreet.sets import L1Ball, Simplex
    >>> project_after_prox(L1(), L1Ball(radius=1.0)), project_after_prox(L1(), Simplex())
    (True, False)
    """
    # privacy: a certificate of near-optimality is only true if the prox is the joint one; these
    # are the three cases proved above.
    homogeneous = kernel.norm is not None and constraint.norm == "l2"
    same = kernel.norm is not None and kernel.norm == constraint.norm
    return homogeneous or same or (kernel.separable and constraint.separable)
