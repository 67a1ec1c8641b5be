"""Laws of penalties, alone and together with every listed set they claim an exact prox on.

``v = prox(w, t)`` minimises ``phi(u) = t reg(u) + ||u - w||^2 / 2``, which is strongly
convex, if and only if ``phi(u) >= phi(v) + (1 + t m)/2 ||u - v||^2`` for every ``u``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from discreet.bounds import Array
from discreet.errors import DiscreetError
from discreet.regularizers import Regularizer
from discreet.regularizers.combined import combined_prox, project_after_prox
from discreet.sets import SETS, AllSpace, ConvexSet
from discreet.testing.holding import hold, is_value

Law = Callable[[Regularizer], None]

SHAPES = ((4,), (4, 3), (2,), (3,), (5,), (6,))
"""Shapes of weights that are tried in turn until all parts take one."""


def shape_of(*parts: Regularizer | ConvexSet) -> tuple[int, ...] | None:
    """Return a shape of weights that all parts take, or None."""
    for shape in SHAPES:
        try:
            for part in parts:
                w = np.zeros(shape)
                _ = part.project(w) if isinstance(part, ConvexSet) else part.prox(w, 1.0)
        except DiscreetError:
            continue
        return shape
    return None


def own_shape(regularizer: Regularizer) -> tuple[int, ...]:
    """Return a shape of weights that a penalty takes."""
    shape = shape_of(regularizer)
    hold(shape is not None, f"prox takes weights of one of the shapes {SHAPES}")
    assert shape is not None
    return shape


def is_prox(
    regularizer: Regularizer, constraint: ConvexSet, w: Array, v: Array, step: float
) -> bool:
    """Return whether ``v`` solves the joint problem, judged by the values of the objective."""
    rng = np.random.default_rng(5)

    def phi(u: Array) -> float:
        return step * regularizer.value(u) + 0.5 * float(np.sum((u - w) ** 2))

    least = phi(v)
    if np.linalg.norm(constraint.project(v) - v) > 1e-9 or not math.isfinite(least):
        return False
    modulus = 1.0 + step * regularizer.strong_convexity
    starts = [v + s * rng.normal(size=w.shape) for s in (1e-4, 1e-2, 1.0) for _ in range(25)]
    starts += [v * c for c in (0.0, 1 - 1e-4, 1 + 1e-4)] + [w]
    for j in range(w.size):
        for s in (-1e-4, 1e-4):
            u = v.copy()
            u.flat[j] += s
            starts.append(u)
    slack = 1e-11 * (1.0 + least)
    return all(
        phi(u) >= least + 0.5 * modulus * float(np.sum((u - v) ** 2)) - slack
        for u in map(constraint.project, starts)
    )


def inputs(size: tuple[int, ...], n: int = 12) -> Iterator[tuple[Array, float]]:
    """Draw weights and steps."""
    rng = np.random.default_rng(6)
    for scale, step in zip(rng.choice([0.3, 2.0, 10.0], n), rng.choice([0.01, 0.5, 3.0], n)):  # noqa: B905
        yield scale * rng.normal(size=size), float(step)
    yield np.zeros(size), 1.0
    yield np.ones(size), 0.7


def draws(regularizer: Regularizer, n: int = 60) -> Iterator[tuple[Array, Array]]:
    """Draw pairs of weights of many lengths."""
    rng, size = np.random.default_rng(7), own_shape(regularizer)
    for _ in range(n):
        one, two = rng.normal(size=(2, *size)) * rng.lognormal(0.0, 2.0)
        yield one, two


def joint_prox_holds(regularizer: Regularizer, constraint: ConvexSet) -> None:
    """Check the joint prox of a pair, if both take weights of one shape."""
    size = shape_of(regularizer, constraint)
    if size is None:
        return
    prox = combined_prox(regularizer, constraint)
    for w, step in inputs(size):
        hold(
            is_prox(regularizer, constraint, w, prox(w, step), step),
            f"the prox of {regularizer.name} on {constraint.name} is exact, as norm, separable "
            "and closed_form of both lead to",
        )


def regularizer_is_value(regularizer: Regularizer) -> None:
    """A penalty is a frozen value with a name."""
    is_value(regularizer)


def prox_solves_its_problem(regularizer: Regularizer) -> None:
    """The prox minimises what it is to minimise, and leaves its argument alone."""
    for w, step in inputs(own_shape(regularizer)):
        before = w.copy()
        v = regularizer.prox(w, step)
        hold(w == before, "prox leaves its argument alone")
        solved = is_prox(regularizer, AllSpace(), w, v, step)
        hold(solved, "prox minimises step * value(v) + ||v - w||^2 / 2 (with strong_convexity)")


def strong_convexity_holds(regularizer: Regularizer) -> None:
    """The midpoint inequality holds with the declared modulus."""
    if regularizer.indicated is None:
        m = regularizer.strong_convexity
        for a, b in draws(regularizer):
            chord = 0.5 * (regularizer.value(a) + regularizer.value(b))
            gap = chord - regularizer.value((a + b) / 2)
            convex = gap >= m / 8 * float(np.sum((a - b) ** 2)) - 1e-12 * (1 + chord)
            hold(convex, "value is convex, with strong_convexity as its modulus")


def smooth_means_no_corner(regularizer: Regularizer) -> None:
    """Where ``smooth`` is declared, no corner is found at zero, on an axis or elsewhere."""
    if not regularizer.smooth:
        return
    h = 1e-6
    for w, d in draws(regularizer):
        axis = np.zeros_like(w)
        axis.flat[0] = 1.0
        for at in (0.0 * w, axis, w / np.linalg.norm(w)):
            u = h * d / np.linalg.norm(d)
            ends = regularizer.value(at + u) + regularizer.value(at - u)
            size = 1.0 + regularizer.strong_convexity
            kink = (ends - 2 * regularizer.value(at)) / (h * size)
            hold(abs(kink) < 1e-3, "smooth: the gradient has no jump")


def kernel_is_the_rest(regularizer: Regularizer) -> None:
    """The penalty is its kernel plus the ridge part, and the kernel has none."""
    kernel, m = regularizer.kernel, regularizer.strong_convexity
    hold(kernel is regularizer or kernel.kernel == kernel, "kernel has no ridge part itself")
    for w, _ in () if kernel is regularizer else draws(regularizer):
        whole = kernel.value(w) + 0.5 * m * float(np.sum(w * w))
        same = np.isclose(regularizer.value(w), whole)
        hold(same, "value is that of kernel plus strong_convexity / 2 ||w||^2")


def zero_penalises_nothing(regularizer: Regularizer) -> None:
    """``zero`` is true of value and prox."""
    for w, _ in draws(regularizer) if regularizer.zero else ():
        hold(regularizer.value(w) == 0.0, "zero: nothing is penalised")
        hold(regularizer.prox(w, 2.0) == w, "zero: the prox does nothing")


def norm_is_a_norm(regularizer: Regularizer) -> None:
    """``norm`` is declared of a penalty that is a multiple of one."""
    for v, w in draws(regularizer) if regularizer.norm is not None else ():
        value, both = regularizer.value, regularizer.value(v) + regularizer.value(w)
        hold(value(v + w) <= both * (1 + 1e-12), "norm: the triangle inequality holds")
        for c in (-1.0, 0.0, 0.3, 7.0):
            scaled = np.isclose(value(c * w), abs(c) * value(w))
            hold(scaled, "norm: the penalty of c w is |c| times that of w")


def separable_is_a_sum(regularizer: Regularizer) -> None:
    """``separable`` is true of value and prox."""
    for w, _ in draws(regularizer) if regularizer.separable else ():
        alone = [np.where(np.arange(w.size).reshape(w.shape) == j, w, 0.0) for j in range(w.size)]
        nothing = regularizer.value(0.0 * w)
        total = sum(regularizer.value(one) - nothing for one in alone) + nothing
        hold(np.isclose(regularizer.value(w), total), "separable: value is a sum over coordinates")
        each = sum(
            (np.where(one != 0.0, regularizer.prox(one, 0.7), 0.0) for one in alone), 0.0 * w
        )
        hold(np.isclose(regularizer.prox(w, 0.7), each), "separable: each coordinate on its own")


def indicated_is_the_set(regularizer: Regularizer) -> None:
    """``indicated`` is the set outside of which the penalty is infinite."""
    inside = regularizer.indicated
    for w, _ in draws(regularizer) if inside is not None else ():
        assert inside is not None
        v = inside.project(w)
        hold(regularizer.value(v) == 0.0, "indicated: the penalty is zero inside the set")
        far = float(np.linalg.norm(v - w)) > 1e-6 * (1.0 + float(np.linalg.norm(w)))
        hold(not far or regularizer.value(w) == math.inf, "indicated: and infinite outside")
        hold(np.isclose(regularizer.prox(w, 0.7), v), "indicated: the prox is the projection")


def steepness_holds(regularizer: Regularizer) -> None:
    """``steepness`` is a Lipschitz constant of the penalty."""
    size = math.prod(own_shape(regularizer))
    for v, w in draws(regularizer):
        far = regularizer.steepness(size) * float(np.linalg.norm(v - w))
        if math.isfinite(far):
            change = abs(regularizer.value(v) - regularizer.value(w))
            hold(change <= far * (1 + 1e-12), "steepness bounds changes of value")


def prox_on_sets_is_exact(regularizer: Regularizer) -> None:
    """On every listed set that the facts allow, projecting after the prox is the joint prox."""
    kernel = regularizer.kernel
    for constraint in SETS.values():
        if constraint.closed_form and (kernel.zero or project_after_prox(kernel, constraint)):
            joint_prox_holds(regularizer, constraint)


REGULARIZER_LAWS: tuple[Law, ...] = (
    regularizer_is_value,
    prox_solves_its_problem,
    strong_convexity_holds,
    smooth_means_no_corner,
    kernel_is_the_rest,
    zero_penalises_nothing,
    norm_is_a_norm,
    separable_is_a_sum,
    indicated_is_the_set,
    steepness_holds,
    prox_on_sets_is_exact,
)
"""Every law of a penalty."""


def check_regularizer(regularizer: Regularizer) -> None:
    """Put a penalty through every law; raise AssertionError with the first that is broken.

    Parameters
    ----------
    regularizer
        The penalty, with the parameters it is to be tried with.

    Examples
    --------
    >>> from discreet.regularizers import L1
    >>> check_regularizer(L1(strength=0.5))
    """
    for law in REGULARIZER_LAWS:
        law(regularizer)
