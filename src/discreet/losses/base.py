"""What a loss is: the pure maths of one row's prediction ``z = <x, w>``.

A loss holds no data. It gives its value, slope and curvature in ``z``, and
declares the constants that privacy proofs rest on. The declared constants are
true for every admissible label and every real ``z`` within reach.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from discreet.accounting.terms import LossTerms
from discreet.bounds import Array
from discreet.checks import positive
from discreet.errors import Incompatible, MissingBound
from discreet.losses.scalar import ScalarSlope
from discreet.parts import Part

Target: TypeAlias = Literal["real", "sign", "index", "count", "vector"]


@dataclass(frozen=True, kw_only=True)
class Regularity:
    """Constants of ``z -> f(z; y)`` that hold for every admissible label.

    Parameters
    ----------
    lipschitz
        Largest Euclidean norm of the slope.
    smoothness
        Largest eigenvalue of the curvature; ``inf`` when the slope jumps.
    trace
        Largest trace of the curvature.
    rank
        Largest rank of the curvature.
    one_signed
        Whether, for each label, the slope never changes sign.
    slopes
        ``(l1, l2)`` such that every coordinate of the slope is in ``[-l1, l2]``.
    vertices
        Norms of the nonzero vertices of the polytope that holds the slope of
        one label; empty when there is no such polytope.
    scalar
        Whether ``z`` is one number.
    self_bounded
        Whether ``f'' = |f'| (1 - |f'|)``, the logistic structure.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> Logistic().regularity(label=1.0, reach=float("inf")).smoothness
    0.25
    """

    lipschitz: float
    smoothness: float
    trace: float
    rank: int
    one_signed: bool
    slopes: tuple[float, float]
    vertices: tuple[float, ...]
    scalar: bool
    self_bounded: bool


def scalar_regularity(
    *,
    slopes: tuple[float, float],
    smoothness: float,
    one_signed: bool = False,
    self_bounded: bool = False,
) -> Regularity:
    """Return the constants of a loss of one number from its slope range and curvature.

    >>> scalar_regularity(slopes=(1.0, 2.0), smoothness=3.0).lipschitz
    2.0
    """
    return Regularity(
        lipschitz=max(slopes),
        smoothness=smoothness,
        trace=smoothness,
        rank=1,
        one_signed=one_signed,
        slopes=slopes,
        vertices=(),
        scalar=True,
        self_bounded=self_bounded,
    )


def crossing(level: Array, low: float | Array, high: float | Array, point: Array) -> Array:
    """Return ``point`` where ``low < level < high``, else the infinity on that side.

    >>> crossing(np.array([-2.0, 0.0, 2.0]), -1.0, 1.0, np.array([5.0, 5.0, 5.0]))
    array([-inf,   5.,  inf])
    """
    return np.where(level <= low, -np.inf, np.where(level >= high, np.inf, point))


class Loss(Part):
    """A convex loss of the prediction ``z`` and the label ``y``.

    ``outputs`` is 1 when ``z`` has shape ``(n,)`` and K when it has shape
    ``(n, K)``. ``target`` says how labels are encoded: a scaled ``real``, a
    ``sign`` (-1 or +1), a class ``index`` (0..K-1), a ``count`` in
    ``[0, label]``, or a ``vector`` of shape ``(n, K)``.

    Besides its formulas a loss may declare facts, named in ``FACTS``. They claim nothing
    unless a class states them in its own body; a subclass inherits none.
    :func:`discreet.testing.check_loss` tests each.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> Squared().slope(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    FACTS: ClassVar[tuple[str, ...]] = (
        "proved_convex",
        "range_at_extreme_labels",
        "curvature_unimodal",
        "quadratic",
        "squared_distance",
        "nonnegative",
        "probabilities",
        "pull",
        "each",
        "inner",
        "smoothed",
        "at_zero",
        "curvature_near",
        "corner",
        "rounded",
        "slope_inverse",
        "scalar_slope",
        "bare_slope",
        "bare_labels",
        "slopes_in_float32",
    )

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which the loss is known."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """How labels are encoded."""

    smoothed: ClassVar[str | None] = None
    """The name of the loss that rounds the corners of this one, if there is one."""

    slopes_in_float32: ClassVar[bool] = False
    """Whether ``bare_slope`` takes margins in float32 and stays as exact as these are."""

    @property
    def proved_convex(self) -> bool:
        """Whether there is a proof that the loss is convex in ``z`` and its slope a subgradient."""
        return False

    @property
    def range_at_extreme_labels(self) -> bool:
        """Whether extreme labels have the largest range over ``|z| <= reach`` and size at 0.

        That is of the labels in ``[-label, label]`` (counts: ``[0, label]``; vectors: of at most
        that norm, the same for every direction), for every ``reach`` and ``label``. Signs and
        classes are all extreme, so their losses need not declare it.
        """
        return False

    @property
    def only_extremes_matter(self) -> bool:
        """Whether extreme labels are all there are, or declared to be the ones that count."""
        return self.target in ("sign", "index") or self.range_at_extreme_labels

    def extreme_labels(self, label: float) -> Array:
        """Return the labels of at most that size that are extreme; of vectors, one of them.

        >>> from discreet.losses import Squared
        >>> Squared().extreme_labels(3.0)
        array([-3.,  3.])
        """
        if self.target == "index":
            return np.arange(self.outputs, dtype=np.float64)
        if self.target == "vector":
            return label * np.eye(self.outputs)[:1]
        return np.array([0.0 if self.target == "count" else -label, label])

    def at_zero(self, label: float) -> float:
        """Return the largest size of the loss at ``z = 0``, over labels of at most that size.

        A loss for which not only extreme labels matter has to define it to be sampled with.
        """
        if not self.only_extremes_matter:
            raise Incompatible(
                f"The size of the {self.name} loss bounds its rounding errors, which are paid for, "
                "and none is known for labels between the extremes. Define at_zero(label), or "
                "prove range_at_extreme_labels and declare it in the class."
            )
        y = self.extreme_labels(label)
        z = np.zeros((len(y), self.outputs)) if self.outputs > 1 else 0.0 * y
        return float(np.max(np.abs(self.value(z, y))))

    @property
    def curvature_unimodal(self) -> bool:
        """Whether the curvature first rises and then falls (weakly) along ``z``, for each label."""
        return False

    @property
    def quadratic(self) -> bool:
        """Whether the loss is ``(z - y)^2 / 2``, so that second moments of the rows suffice."""
        return False

    @property
    def squared_distance(self) -> bool:
        """Whether the loss of several outputs is ``||z - y||^2 / 2``: second moments suffice."""
        return False

    @property
    def nonnegative(self) -> bool:
        """Whether the loss is never below zero."""
        return False

    @property
    def probabilities(self) -> bool:
        """Whether the ``z`` of least expected loss is the log-odds of the classes.

        With several outputs: their log-probabilities, up to a constant.
        """
        return False

    @property
    def pull(self) -> float | None:
        """A bound on ``-<z, f'(z; y)>`` over every ``z`` and class ``y``; None if none is known."""
        return None

    each: Loss | None = None
    """The loss of every output, if this one sums it over classes, each against the rest."""

    @property
    def inner(self) -> Loss:
        """The loss without its gradient clip; itself when there is none."""
        return self

    @property
    def outputs(self) -> int:
        """The number of columns of ``z``."""
        return 1

    @abstractmethod
    def value(self, z: Array, y: Array) -> Array:
        """Return the loss of each row, shape ``(n,)``."""

    @abstractmethod
    def slope(self, z: Array, y: Array) -> Array:
        """Return a (sub)gradient in ``z``, shaped like ``z``."""

    @abstractmethod
    def curvature(self, z: Array, y: Array) -> Array:
        """Return the second derivative in ``z``: ``(n,)`` or ``(n, K, K)``.

        At a joint, where it does not exist, any one-sided value or zero.
        """

    @abstractmethod
    def regularity(self, *, label: float, reach: float) -> Regularity:
        """Return the constants, given bounds on ``|y|`` and ``||z||`` (may be inf)."""

    def curvature_near(self, z: Array, y: Array, slack: Array) -> Array | None:
        """Return bounds on the curvature everywhere within ``slack`` of ``z``, of a scalar loss.

        Certificates of long weights rest on them. None, the default, leaves them to the smoothness.
        """
        return None

    def corner(self, y: Array) -> tuple[Array, Array, Array] | None:
        """Return ``(k, low, high)`` such that the loss is ``max(low (z - k), high (z - k))``.

        Minimisers of such losses with a ridge are certified by their dual, see
        :mod:`discreet.solvers.corner_certificate`. None, the default, says that there is no
        such form.
        """
        return None

    def rounded(self, width: float) -> tuple[Loss, float] | None:
        """Return a smooth loss and the factor by which it is this one with its corner rounded.

        A smaller ``width`` rounds less and bends more. None, the default, says that there is none.
        """
        return None

    def slope_inverse(self, level: Array, y: Array) -> Array:
        """Return a point where the slope of a scalar loss crosses ``level``.

        ``-inf`` when the slope is at least ``level`` everywhere, ``+inf`` when it is at
        most ``level`` everywhere.
        """
        raise Incompatible(
            f"{self.name} does not say where its slope reaches a level, so its gradient cannot be "
            "clipped exactly. Define slope_inverse(level, y), or do without a clip."
        )

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]] | None:
        """Return the slope as a function ``(z, y, *parameters)`` of numbers, and the parameters.

        Compiled kernels are made from it. It may use arithmetic, comparisons, ``abs`` and
        :func:`discreet.losses.scalar.exp`. None, the default, leaves the loss to numpy.
        """
        return None

    def bare_slope(self) -> tuple[float, Callable[..., Array], float]:
        """Return ``(a, f, b)`` such that the slope is ``b f(a z, y)``, up to rounding.

        ``a`` and ``b`` are powers of two, by which sums over many rows multiply outside their
        loops. ``f`` may write over ``z``. By default it is the slope itself. Where
        :meth:`bare_labels` is defined, ``f`` takes what it returns in place of ``y``.
        """
        return 1.0, self.slope, 1.0

    def bare_labels(self, y: Array) -> tuple[Array, ...]:
        """Return what ``bare_slope`` needs of labels, found once for many sums; rows come first.

        >>> from discreet.losses import Squared
        >>> Squared().bare_labels(np.ones(2))
        (array([1., 1.]),)
        """
        return (y,)

    def attach(self, y: Array, norms: Array) -> Array:
        """Return the labels with whatever else the loss needs to know of each row."""
        return y

    def for_classes(self, count: int) -> Loss:
        """Return the loss for labels of so many classes."""
        if self.target == "index" and self.outputs != count:
            raise Incompatible(
                f"{self.name} is for {self.outputs} classes, and {count} are declared. Give a loss "
                "for as many."
            )
        return self

    def offset(self) -> float:
        """Return the constant the slope adds to ``z`` before rounding, for error bounds."""
        return 0.0

    def terms(
        self, *, row_norm: float, label: float, reach: float, weight: float = 1.0
    ) -> LossTerms:
        """Return the constants of one row's loss as a function of the weights ``w``.

        ``row_norm`` bounds the row including its intercept coordinate and
        ``weight`` bounds the row's weight.
        """
        return self._terms(row_norm, label, reach, weight, math.inf)

    def _terms(
        self, row_norm: float, label: float, reach: float, weight: float, clip: float
    ) -> LossTerms:
        r = self.regularity(label=label, reach=reach)
        # privacy: the chain rule through z = <x, w>, maximised over every admissible row.
        first = positive("weight", weight) * positive("row_norm", row_norm)
        second, most = first * row_norm, weight * clip
        if math.isinf(min(most, first * r.lipschitz)):
            clipped = ", or its gradient, as Clipped(loss=..., clip=...) does"
            raise MissingBound(
                f"The gradient of the {self.name} loss is unbounded here, and noise is scaled to "
                "its bound. Bound the weights, as constraint=L2Ball(radius=...) does"
                f"{clipped if self.outputs == 1 else ''}."
            )
        return LossTerms(
            lipschitz=min(most, first * r.lipschitz),
            smoothness=second * r.smoothness,
            trace=second * r.trace,
            rank=r.rank,
            one_signed=r.one_signed,
            slopes=(min(most, first * r.slopes[0]), min(most, first * r.slopes[1])),
            vertices=tuple(first * v for v in r.vertices),
            scalar=r.scalar,
            self_bounded=r.self_bounded,
        )
