"""How far the loss on new rows can be above the loss on the rows of the fit.

Rows are drawn independently, and bounded. ``F`` is the mean loss on new rows, ``G`` the mean loss
on the ``n`` rows of the fit, ``w`` the released weights and ``v`` the best weights of the set. Then

    E F(w) - F(v) <= E[G(w) - min G] + gap,

where the first term is the excess that plans print, divided by ``n``, and ``gap`` is the least of
the bounds here that apply. All are on the scale of a *mean* loss; ``strength`` and ``steps`` are
on that of a sum, as everywhere in discreet.

*Uniform convergence.* ``F(w) - F(v) = (F - G)(w) + (G(w) - G(v)) + (G - F)(v)``. The last term has
mean zero and the first is at most the largest over the set, whose mean symmetrisation and
contraction bound by twice the Lipschitz constant times ``E sup |sum_i s_i <w, x_i>| / n`` for
random signs ``s``. This holds for losses of ``<w, x>`` and for weights in the set only: project an
unconstrained release before you use it.

*Stability.* If replacing one row changes the loss of any row by ``c`` at most, noise being equal,
then ``E[F(w) - G(w)] <= c`` (Bousquet and Elisseeff). Replacement counts twice whatever the
relation of the privacy guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.checks import between, integer, nonnegative, positive
from discreet.errors import Incompatible

USEFUL = 0.2
"""Part of the loss at zero weights above which a bound is not worth printing."""


@dataclass(frozen=True, order=True)
class GeneralisationBound:
    """A bound on the gap between new rows and the rows of the fit, and where it comes from."""

    value: float
    theorem: str

    def useful(self, loss_at_zero: float) -> bool:
        """Return whether the bound is at most a fifth of the loss of weights of zero.

        >>> uniform_gap(lipschitz=1.0, radius=60.0, n_rows=10**5).useful(math.log(2))
        False
        """
        return self.value <= USEFUL * positive("loss_at_zero", loss_at_zero)


def uniform_gap(
    *, lipschitz: float, radius: float, n_rows: int, outputs: int = 1
) -> GeneralisationBound:
    """Return the gap for weights in a Euclidean ball about zero: ``2 L B / sqrt(n)``.

    Parameters
    ----------
    lipschitz
        Lipschitz constant of one row's loss in the weights: the slope times the row norm.
    radius
        Norm of the weights at most.
    n_rows
        Number of rows of the fit.
    outputs
        Columns of the weights. More than one costs ``sqrt(2 outputs)``, by the vector contraction
        of Maurer (2016); the radius is then that of the Frobenius norm.

    Examples
    --------
    >>> uniform_gap(lipschitz=1.0, radius=5.0, n_rows=10_000).value
    0.1
    """
    lipschitz, radius = positive("lipschitz", lipschitz), positive("radius", radius)
    n, outputs = integer("n_rows", n_rows), integer("outputs", outputs)
    vectors = 1.0 if outputs == 1 else math.sqrt(2.0 * outputs)
    value = 2 * vectors * lipschitz * radius / math.sqrt(n)
    return GeneralisationBound(value, "uniform convergence on a Euclidean ball")


def uniform_gap_l1(
    *, lipschitz: float, radius: float, n_features: int, n_rows: int
) -> GeneralisationBound:
    """Return the gap for weights in an l1 ball: ``2 L R sqrt(2 log(2 p) / n)``.

    Parameters
    ----------
    lipschitz
        Slope of the loss times the largest entry of a row.
    radius
        Sum of the absolute weights at most.
    n_features, n_rows
        Number of features, and of rows of the fit.

    Examples
    --------
    >>> round(uniform_gap_l1(lipschitz=1.0, radius=1.0, n_features=1000, n_rows=10_000).value, 4)
    0.078
    """
    lipschitz, radius = positive("lipschitz", lipschitz), positive("radius", radius)
    p, n = integer("n_features", n_features), integer("n_rows", n_rows)
    value = 2 * lipschitz * radius * math.sqrt(2 * math.log(2 * p) / n)
    return GeneralisationBound(value, "uniform convergence on an l1 ball")


def minimiser_gap(*, lipschitz: float, strength: float) -> GeneralisationBound:
    """Return the gap of a minimiser with a ridge of that total strength: ``2 L^2 / strength``.

    It holds for objective and output perturbation, any Lipschitz loss and without a set. The
    excess is then against the best of the loss *with* the ridge.

    >>> minimiser_gap(lipschitz=1.0, strength=100.0).value
    0.02
    """
    lipschitz, strength = positive("lipschitz", lipschitz), positive("strength", strength)
    return GeneralisationBound(2 * lipschitz**2 / strength, "stability of a regularised minimiser")


def descent_gap(
    *, lipschitz: float, smoothness: float, steps: Iterable[float], n_rows: int
) -> GeneralisationBound:
    """Return the gap of full-batch noisy gradient descent: ``2 L^2`` times the sum of the steps.

    Parameters
    ----------
    lipschitz, smoothness
        Of one row's loss in the weights. Gradients must not be clipped, except row by row by a
        scalar slope: other clipped steps can move two points apart.
    steps
        Lengths of the steps on the summed loss, each at most ``2 / (n smoothness)``.
    n_rows
        Number of rows of the fit.

    Examples
    --------
    >>> bound = descent_gap(lipschitz=1.0, smoothness=0.25, steps=[1e-4] * 100, n_rows=10_000)
    >>> round(bound.value, 9)
    0.02
    """
    lipschitz, smoothness = positive("lipschitz", lipschitz), positive("smoothness", smoothness)
    n, lengths = integer("n_rows", n_rows), [nonnegative("steps", s) for s in steps]
    if any(s > 2 / (n * smoothness) for s in lengths):
        raise Incompatible(
            "steps must be at most 2 / (n_rows smoothness): longer ones move two points apart, and "
            "nothing is known of their gap. Use uniform_gap on a bounded set."
        )
    return GeneralisationBound(2 * lipschitz**2 * math.fsum(lengths), "stability of descent")


def confident_gap(
    bound: GeneralisationBound, *, span: float, n_rows: int, failure: float
) -> GeneralisationBound:
    """Return a bound that holds but for a chance over the rows, from one of uniform convergence.

    Adds ``c sqrt(2 log(2 / failure) / n)``. The excess on the rows of the fit must then be the one
    that was met, or a bound on it that holds with high probability.

    Parameters
    ----------
    bound
        Of :func:`uniform_gap` or :func:`uniform_gap_l1`.
    span
        Range ``c`` of one row's loss over the set.
    n_rows
        Number of rows of the fit.
    failure
        Chance with which the bound may fail.

    Examples
    --------
    >>> bound = uniform_gap(lipschitz=1.0, radius=5.0, n_rows=10_000)
    >>> round(confident_gap(bound, span=5.0, n_rows=10_000, failure=0.05).value, 4)
    0.2358
    """
    if not bound.theorem.startswith("uniform"):
        raise Incompatible("Only bounds of uniform convergence hold with high probability here.")
    span, n = positive("span", span), integer("n_rows", n_rows)
    more = span * math.sqrt(2 * math.log(2 / between("failure", failure, 0, 1)) / n)
    return GeneralisationBound(bound.value + more, f"{bound.theorem}, but for a chance {failure:g}")


def population_excess(
    expected_excess: float, n_rows: int, *gaps: GeneralisationBound
) -> GeneralisationBound:
    """Return the bound on the mean excess on new rows, with the least of the gaps.

    ``expected_excess`` is that of a plan, on the scale of a sum.

    >>> gaps = uniform_gap(lipschitz=1.0, radius=5.0, n_rows=10_000), minimiser_gap(
    ...     lipschitz=1.0, strength=100.0)
    >>> population_excess(50.0, 10_000, *gaps)
    GeneralisationBound(value=0.025, theorem='stability of a regularised minimiser')
    """
    if not gaps:
        raise Incompatible("A bound on new rows needs at least one gap, such as uniform_gap(...).")
    least, n = min(gaps), integer("n_rows", n_rows)
    return GeneralisationBound(expected_excess / n + least.value, least.theorem)
