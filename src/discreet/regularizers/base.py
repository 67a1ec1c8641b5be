"""What a regularizer is, and the exact prox of one together with a constraint set.

A regularizer never depends on the data. Strengths are on the scale of a sum
over rows, not of a mean.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from discreet.bounds import Array


class Regularizer(ABC):
    """A convex penalty on the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.regularizers import Ridge
    >>> Ridge(strength=2.0).value(np.array([1.0, 1.0]))
    2.0
    """

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

    def steepness(self, dim: int) -> float:
        """Return a Lipschitz constant on weights of so many entries, ``inf`` if there is none."""
        return math.inf

    @abstractmethod
    def value(self, w: Array) -> float:
        """Return the penalty of ``w``."""

    @abstractmethod
    def prox(self, w: Array, step: float) -> Array:
        """Return the ``v`` that minimises ``step * value(v) + ||v - w||^2 / 2``, by a formula."""
