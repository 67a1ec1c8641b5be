"""Multinomial logistic regression: one column of ``z`` per class."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

import numpy as np
from scipy.special import lambertw, softmax

from discreet.bounds import Array
from discreet.checks import integer
from discreet.losses.base import Loss, Regularity, Target
from discreet.losses.logistic import Logistic


def _slope_over(z: Array, y: Array) -> Array:
    """Write the slope over ``z``, as scipy's softmax."""
    # numpy is slow to find the largest of a few numbers.
    top = reduce(np.maximum, z.T) if z.shape[1] <= 32 else z.max(axis=1)
    z -= top[:, None]
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    z[np.arange(len(z)), y.astype(np.intp)] -= 1.0
    return z


@dataclass(frozen=True, kw_only=True)
class Softmax(Loss):
    """The cross-entropy ``log sum_k exp(z_k) - z_y`` of a class index ``y``.

    The slope ``pi - e_y`` lies in the convex hull of 0 and the K-1 vertices
    ``e_k - e_y``, each of norm ``sqrt(2)``. The curvature
    ``diag(pi) - pi pi'`` has rank at most K-1, top eigenvalue at most 1/2 and
    trace at most ``1 - 1/K`` (at equal probabilities).

    References
    ----------
    Boehning, *Multinomial logistic regression algorithm*, Annals of the
    Institute of Statistical Mathematics 44 (1992).

    Examples
    --------
    >>> loss = Softmax(n_classes=2)
    >>> loss.slope(np.array([[0.0, 0.0]]), np.array([1.0]))
    array([[ 0.5, -0.5]])
    """

    n_classes: int = 3
    name: ClassVar[str] = "softmax"
    proved_convex: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    probabilities: ClassVar[bool] = True
    target: ClassVar[Target] = "index"

    def __post_init__(self) -> None:
        integer("n_classes", self.n_classes, minimum=2)

    @property
    def outputs(self) -> int:
        return self.n_classes

    @property
    def pull(self) -> float:
        # With s the odds against y, q the law of the other classes and H its entropy, it is
        # (H(q) - log s) s / (1 + s) <= (log(K - 1) - log s) s / (1 + s), most at this number.
        return float(lambertw((self.n_classes - 1) / math.e).real) * (1.0 + 1e-12)

    def for_classes(self, count: int) -> Loss:
        return Logistic() if count == 2 else Softmax(n_classes=count)

    def value(self, z: Array, y: Array) -> Array:
        # Subtracting first keeps the digits of the label's own term.
        picked = np.take_along_axis(z, y.astype(np.intp)[:, None], axis=1)
        return np.asarray(np.logaddexp.reduce(z - picked, axis=1))

    def slope(self, z: Array, y: Array) -> Array:
        return _slope_over(np.array(z, dtype=np.float64), y)

    def bare_slope(self) -> tuple[float, Callable[[Array, Array], Array], float]:
        return 1.0, _slope_over, 1.0

    def curvature(self, z: Array, y: Array) -> Array:
        pi = softmax(z, axis=1)
        return np.asarray(pi[:, :, None] * (np.eye(self.n_classes) - pi[:, None, :]))

    def regularity(self, *, label: float, reach: float) -> Regularity:
        k = self.n_classes
        return Regularity(
            lipschitz=math.sqrt(2.0),
            smoothness=0.5,
            trace=1.0 - 1.0 / k,
            rank=k - 1,
            one_signed=False,
            slopes=(1.0, 1.0),
            # privacy: the vertices e_k - e_y are fixed by the record, and zero is the last one.
            vertices=(math.sqrt(2.0),) * (k - 1),
            scalar=False,
            self_bounded=False,
        )
