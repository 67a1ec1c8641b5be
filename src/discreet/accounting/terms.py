"""What objective perturbation must know about one record's loss."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from discreet.checks import integer, positive
from discreet.errors import InvalidParameter

MOST_IN_POLYTOPE = 10
"""Rows of a group up to which the vertices of its gradients are listed."""

_LARGEST = 700.0  # exp of little more overflows


@dataclass(frozen=True, kw_only=True)
class LossTerms:
    """Bounds on one record's loss as a function of the weights.

    They hold for every admissible record; the largest row weight and row norm
    are included.

    Parameters
    ----------
    lipschitz
        Bound on the norm of the gradient.
    smoothness
        Bound on the top eigenvalue of the Hessian; infinite when there is none.
    trace
        Bound on the trace of the Hessian.
    rank
        Bound on the rank of the Hessian.
    one_signed
        For each record the slope never changes sign.
    slopes
        ``(L1, L2)``: slope times row norm lies in ``[-L1, L2]`` for every record.
    vertices
        Norms of the nonzero vertices of a fixed polytope, given by the record,
        that holds all its gradients; ``()`` when there is no such polytope.
    scalar
        The loss depends on the weights through one inner product.
    self_bounded
        The loss is logistic: ``f'' = |f'|(1 - |f'|)`` with hard labels.

    Examples
    --------
    >>> LossTerms.logistic(radius=2.0).smoothness
    1.0
    """

    lipschitz: float
    smoothness: float
    trace: float
    rank: int
    one_signed: bool
    slopes: tuple[float, float]
    vertices: tuple[float, ...] = ()
    scalar: bool = True
    self_bounded: bool = False

    def __post_init__(self) -> None:
        positive("lipschitz", self.lipschitz)
        integer("rank", self.rank, maximum=10**12)
        object.__setattr__(self, "slopes", tuple(float(v) for v in self.slopes))
        object.__setattr__(self, "vertices", tuple(float(v) for v in self.vertices))
        if not (self.smoothness >= 0 and self.trace >= 0):
            raise InvalidParameter("smoothness and trace must be at least 0.")
        # privacy: noise is scaled to lipschitz, so no slope or vertex may be longer.
        reach = self.slopes if self.scalar else self.vertices
        if not all(0 <= v <= self.lipschitz * (1 + 1e-12) for v in reach):
            raise InvalidParameter("slopes and vertices must lie between 0 and lipschitz.")

    @classmethod
    def logistic(cls, *, radius: float, weight: float = 1.0) -> LossTerms:
        """Return the terms of the logistic loss for rows of norm up to ``radius``.

        >>> LossTerms.logistic(radius=1.0, weight=3.0).lipschitz
        3.0
        """
        slope, curvature = weight * radius, weight * radius**2 / 4
        return cls(
            lipschitz=slope,
            smoothness=curvature,
            trace=curvature,
            rank=1,
            one_signed=True,
            slopes=(slope, slope),
            self_bounded=True,
        )

    @property
    def eigenvalue(self) -> float:
        """Largest common size of the Hessian's eigenvalues that its bounds allow."""
        return min(self.smoothness, self.trace / self.rank)

    def jacobian(self, strength: float) -> float:
        """Return J, the most one record can change the log-determinant of the Hessian.

        >>> round(LossTerms.logistic(radius=1.0).jacobian(1.0), 6)
        0.223144
        """
        # privacy: log det(I + E/strength) is largest when the trace is spread evenly.
        return self.rank * math.log1p(self.eigenvalue / strength)

    def strength_for(self, cost: float) -> float:
        """Return the strength at which the Jacobian cost is ``cost``.

        >>> round(LossTerms.logistic(radius=2.0).strength_for(0.5), 9)
        1.541494083
        """
        # privacy: the cap keeps large costs within float64, and can only raise the strength.
        return self.eigenvalue / math.expm1(min(cost / self.rank, _LARGEST))

    def of_group(self, rows: int, dimension: int, *, sampled: bool) -> LossTerms:
        """Return the terms of the summed losses of a group that counts for so many rows.

        With ``sampled`` a group is at most so many rows; else any number of rows, each with
        a weight of at most 1, that weigh so much together.

        >>> LossTerms.logistic(radius=1.0).of_group(2, 9, sampled=True).vertices
        (1.0, 1.0, 2.0)
        """
        if rows == 1 and sampled:
            return self
        vertices: tuple[float, ...] = ()
        if sampled and self.scalar and self.one_signed and rows <= MOST_IN_POLYTOPE:
            # privacy: the gradient of a group lies in a zonotope, whose vertices are sums of parts.
            vertices = tuple(
                j * self.lipschitz for j in range(1, rows + 1) for _ in range(math.comb(rows, j))
            )
        return LossTerms(
            lipschitz=rows * self.lipschitz,
            smoothness=rows * self.smoothness,
            trace=rows * self.trace,
            rank=min(rows * self.rank, dimension) if sampled else dimension,
            one_signed=self.one_signed,
            slopes=(rows * self.slopes[0], rows * self.slopes[1]),
            vertices=vertices,
            scalar=False,
            self_bounded=self.self_bounded,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; ``LossTerms(**values)`` reads them back."""
        return asdict(self) | {"slopes": list(self.slopes), "vertices": list(self.vertices)}


def kappa(terms: LossTerms, strength: float) -> float:
    """Return the squared row over the strength, for the logistic loss.

    >>> kappa(LossTerms.logistic(radius=2.0), 8.0)
    0.5
    """
    return 4 * terms.smoothness / strength
