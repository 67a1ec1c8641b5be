"""What a regularizer is, and the exact prox of one together with a constraint set.

A regularizer never depends on the data. Strengths are on the scale of a sum
over rows, not of a mean.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from discreet.bounds import Array
from discreet.parts import Part
from discreet.sets import ConvexSet


class Regularizer(Part):
    """A convex penalty on the weights.

    Besides its formulas a penalty may declare facts, named in ``FACTS``. They claim nothing
    unless a class states them in its own body; a subclass inherits none.
    :func:`discreet.testing.check_regularizer` tests each.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.regularizers import Ridge
    >>> Ridge(strength=2.0).value(np.array([1.0, 1.0]))
    2.0
    """

    FACTS: ClassVar[tuple[str, ...]] = (
        "strong_convexity",
        "smooth",
        "kernel",
        "zero",
        "norm",
        "separable",
        "indicated",
        "steepness",
    )

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which the regularizer is known."""

    @property
    def strong_convexity(self) -> float:
        """The modulus of strong convexity, which is the strength of the ridge part."""
        return 0.0

    @property
    def smooth(self) -> bool:
        """Whether the gradient exists everywhere and is Lipschitz."""
        return False

    @property
    def kernel(self) -> Regularizer:
        """What is left when the ridge part is taken away; itself when there is none."""
        return self

    @property
    def zero(self) -> bool:
        """Whether nothing is penalised."""
        return False

    @property
    def norm(self) -> str | None:
        """The norm of which the penalty is a multiple, named as by sets; None if it is none."""
        return None

    @property
    def separable(self) -> bool:
        """Whether the penalty is a sum of penalties of one coordinate each."""
        return False

    @property
    def indicated(self) -> ConvexSet | None:
        """The set outside of which the penalty is infinite, and inside zero; None if it is none."""
        return None

    def steepness(self, dim: int) -> float:
        """Return a Lipschitz constant on weights of so many entries, ``inf`` if there is none."""
        return math.inf

    @abstractmethod
    def value(self, w: Array) -> float:
        """Return the penalty of ``w``."""

    @abstractmethod
    def prox(self, w: Array, step: float) -> Array:
        """Return the ``v`` that minimises ``step * value(v) + ||v - w||^2 / 2``, by a formula."""
