"""Exact gradient clipping of a scalar loss, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.accounting.terms import LossTerms
from discreet.bounds import Array, unit_roundoff
from discreet.checks import positive
from discreet.errors import Incompatible
from discreet.losses.base import Loss, Regularity, Target


@dataclass(frozen=True, kw_only=True)
class Clipped(Loss):
    """A scalar loss whose gradient in ``w`` never exceeds ``clip`` in norm.

    A row of norm ``||x||`` has the cap ``B = clip / ||x||``. Inside
    ``{u: |f'(u)| <= B}`` the loss is ``f``; outside it continues linearly with
    slope ``+-B``. Since ``f'`` is nondecreasing so is ``clip(f', -B, B)``: the
    result is convex with the same curvature bound and sign pattern. Clipping
    the gradient of a loss with several outputs does not give the gradient of
    any convex function, so those are refused.

    Labels carry the caps as a second column; see :meth:`attach`. Curvature is
    not reduced by clipping, so rows still need a norm bound.

    References
    ----------
    Song, Steinke, Thakkar, Thakurta, *Evading the curse of dimensionality in
    unconstrained private GLMs*, AISTATS 2021.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> loss = Clipped(loss=Logistic(), clip=0.5)
    >>> y = loss.attach(np.array([1.0]), np.array([1.0]))
    >>> loss.value(np.array([-2.0]), y).round(6), loss.slope(np.array([-2.0]), y).round(6)
    (array([1.693147]), array([-0.5]))
    """

    loss: Loss
    clip: float
    name: ClassVar[str] = "clipped"

    def __post_init__(self) -> None:
        positive("clip", self.clip)
        if self.loss.outputs != 1:
            raise Incompatible(
                f"{self.loss.name} has {self.loss.outputs} outputs. Clipping the gradient of such "
                "a loss does not give the gradient of a convex function. Use a loss of one output, "
                "or bound the rows instead."
            )
        if self.loss.inner is not self.loss:
            raise Incompatible("The loss is clipped already. Clip it once, to the smaller value.")

    @property
    def target(self) -> Target:
        return self.loss.target

    @property
    def inner(self) -> Loss:
        return self.loss

    @property
    def proved_convex(self) -> bool:
        return self.loss.proved_convex

    @property
    def curvature_unimodal(self) -> bool:
        # A curvature that is cut off outside an interval of z.
        return self.loss.curvature_unimodal

    def attach(self, y: Array, norms: Array) -> Array:
        """Return ``(y, cap)`` as two columns; ``norms`` must not be below the true row norms.

        A row of norm zero gets a cap of zero, which makes its loss constant.
        """
        safe = np.where(norms > 0.0, norms, np.inf)
        # privacy: a warning would tell of rows that are short. Rounded down, so that cap * norm
        # stays at most clip in real arithmetic.
        with np.errstate(over="ignore"):
            return np.column_stack([y, self.clip / safe * (1.0 - 4.0 * unit_roundoff())])

    def value(self, z: Array, y: Array) -> Array:
        label, cap = y[:, 0], y[:, 1]
        low = self.loss.slope_inverse(-cap, label)
        high = self.loss.slope_inverse(cap, label)
        inner = np.clip(z, low, high)
        # No point lies within the cap when f' is beyond it everywhere: then any anchor will do.
        inner = np.where(np.isfinite(inner), inner, 0.0)
        return self.loss.value(inner, label) + self.slope(z, y) * (z - inner)

    def slope(self, z: Array, y: Array) -> Array:
        return np.clip(self.loss.slope(z, y[:, 0]), -y[:, 1], y[:, 1])

    def curvature(self, z: Array, y: Array) -> Array:
        inside = np.abs(self.loss.slope(z, y[:, 0])) < y[:, 1]
        return np.where(inside, self.loss.curvature(z, y[:, 0]), 0.0)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        # privacy: a clipped slope breaks f'' = |f'| (1 - |f'|), so the logistic shortcut is lost.
        return replace(self.loss.regularity(label=label, reach=reach), self_bounded=False)

    def terms(
        self, *, row_norm: float, label: float, reach: float, weight: float = 1.0
    ) -> LossTerms:
        """Return the constants in ``w``: gradients at most ``clip``, curvature as before."""
        return self._terms(row_norm, label, reach, weight, self.clip)

    def offset(self) -> float:
        return self.loss.offset()
