"""Problem: the public facts of a fit, and the numbers that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.accounting import Budget, gaussian_multiplier
from discreet.accounting.terms import LossTerms
from discreet.accounting.utility import mean_squared_noise
from discreet.bounds import NEIGHBOURS, Bounds, Neighbours, rows_apart, unit_roundoff
from discreet.checks import nonnegative, one_of, positive, row_count, weight_count
from discreet.data import Bounding, Grouping, Rows, Source, certificate_error, gamma
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.losses import Loss
from discreet.regularizers import Regularizer, Zero, combined_prox
from discreet.sets import AllSpace, ConvexSet, Intersection
from discreet.tuned.algorithms import NOISE_ONLY_ROWS, NORM_GUESS

SIDE_CHANNELS = "run time, memory use and the occurrence of an error are not protected"
"""What no release of the library protects."""

NUMERICS = (
    "logarithms and similar functions are as accurate as docs/guarantees.md lists, and a number "
    "gives the same result wherever it stands in an array"
)
"""What is measured on a machine and not proved; `docs/guarantees.md` has the numbers."""

ASSUMED = (SIDE_CHANNELS, NUMERICS)
"""The assumptions every release of the library makes."""

MOST_CORNERED = 2000
"""Weights up to which minimisers of losses with corners are found."""

NOMINAL_ROWS = 1_000_000
"""Size assumed for rounding errors where the true size is secret and none is declared."""


_PARTS: dict[str, tuple[type, str]] = {
    "loss": (Loss, "Logistic()"),
    "bounds": (Bounds, "Bounds(row_norm=1.0)"),
    "constraint": (ConvexSet, "L2Ball(radius=1.0)"),
    "regularizer": (Regularizer, "L1(strength=1.0)"),
}
"""What the parts of a problem must be, each with an example."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Minimise a sum of losses plus a regularizer over a set: the public facts.

    Parameters
    ----------
    loss
        Loss of one row.
    bounds
        Declared bounds, enforced by clipping.
    n_features
        Number of columns of the data.
    n_rows
        Number of rows. Public under ``zero-out`` and ``replace-one``; under
        ``add-remove`` a declared size that need not be the true one.
    neighbours
        Which data sets count as neighbours.
    constraint, regularizer
        Act on the weights in the scaled domain, intercept included. An ``Indicator``
        becomes part of the constraint.
    intercept
        Constant appended to every row as its last feature; 0 for none.
    assumptions
        What is assumed of the rows besides, in words; every guarantee repeats it.
    grouping
        What is protected if not one row: all rows of one group, such as a person. Then
        ``n_rows`` is a public size that need not be the number of rows.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=100, intercept=1.0)
    >>> problem.dimension, round(problem.terms.lipschitz, 6)
    (4, 1.414214)
    """

    loss: Loss
    bounds: Bounds
    n_features: int
    n_rows: int | None = None
    neighbours: Neighbours = "zero-out"
    constraint: ConvexSet = field(default_factory=AllSpace)
    regularizer: Regularizer = field(default_factory=Zero)
    intercept: float = 0.0
    assumptions: tuple[str, ...] = ()
    grouping: Grouping | None = None

    def __post_init__(self) -> None:
        for name, (kind, example) in _PARTS.items():
            if not isinstance(getattr(self, name), kind):
                raise InvalidParameter(
                    f"{name} must be an instance of {kind.__name__}, such as {example}. Got "
                    f"{type(getattr(self, name)).__name__} instead."
                )
        weight_count("n_features", self.n_features)
        weight_count("n_features times outputs", self.n_features * self.loss.outputs)
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        nonnegative("intercept", self.intercept)
        inside = self.regularizer.indicated
        if inside is not None:
            # A set is a set however it is given: noise must not carry weights out of it.
            if not self.constraint.whole_space:
                inside = Intersection(sets=(inside, self.constraint))
            object.__setattr__(self, "constraint", inside)
            object.__setattr__(self, "regularizer", Zero())
        if self.n_rows is not None:
            row_count("n_rows", self.n_rows)
        elif self.neighbours != "add-remove":
            raise MissingBound(
                f"n_rows is not set. Under {self.neighbours!r} neighbours the number of rows is "
                "public and the plan uses it. Pass n_rows=..."
            )
        self._check_shape()

    def _check_shape(self) -> None:
        """Refuse a set or penalty for other weights: a plan must not fail with rows in hand."""
        if self.constraint.whole_space and self.regularizer.zero:
            return
        weights = np.zeros(self.shape)
        self.regularizer.kernel.value(weights)
        if self.constraint.closed_form:
            self.constraint.project(weights)
        else:  # an iteration may take long or not converge, and Frank-Wolfe needs none
            self.constraint.radius(weights.size)

    @cached_property
    def bounding(self) -> Bounding:
        """The public map from the user's rows to bounded rows, and back."""
        return Bounding.plan(self.bounds, self.n_features, self.loss, intercept=self.intercept)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights: one column per output of the loss."""
        rows = self.n_features + (self.intercept > 0)  # whatever is declared about them
        return (rows,) if self.loss.outputs == 1 else (rows, self.loss.outputs)

    @property
    def dimension(self) -> int:
        """Number of weights."""
        return math.prod(self.shape)

    @property
    def row_norm(self) -> float:
        """Longest norm of a bounded row, intercept included."""
        return self.bounding.row_norm

    @property
    def typical_norm(self) -> float:
        """Norm that most bounded rows have, intercept included; no guarantee rests on it."""
        return self.bounding.typical_norm

    @cached_property
    def terms(self) -> LossTerms:
        """Constants of one row's loss as a function of the weights."""
        radius = self.constraint.radius(self.dimension)
        return self.loss.terms(
            row_norm=self.row_norm,
            label=self.bounding.label_bound,
            reach=self.row_norm * radius,
            weight=self.bounds.weight,
        )

    @property
    def unit(self) -> str:
        """What is protected: one row, or all rows of one group."""
        return "row" if self.grouping is None else "group"

    @property
    def per_unit(self) -> int:
        """How many rows the unit that is protected counts for."""
        return 1 if self.grouping is None else self.grouping.rows

    @property
    def clips_groups(self) -> bool:
        """Whether the part of a group in a sum of gradients is clipped as a whole."""
        return self.grouping is not None and self.grouping.rule == "clip"

    @property
    def apart(self) -> int:
        """How many rows' parts a sum over all rows can move by, between neighbours."""
        # privacy: the parts of a group are those of so many rows, see lemmas/groups.
        return self.per_unit * rows_apart(self.neighbours)

    @property
    def size_is_declared(self) -> bool:
        """Whether ``n_rows`` is not the number of rows, which may stand anywhere in a neighbour."""
        # privacy: a group is spread over many blocks, and another may have more or fewer rows.
        return self.neighbours == "add-remove" or self.grouping is not None

    @cached_property
    def unit_terms(self) -> LossTerms:
        """Constants of the summed losses of one unit: a row, or a group."""
        if self.grouping is None:
            return self.terms
        sampled = self.grouping.rule == "sample"
        return self.terms.of_group(self.grouping.rows, self.dimension, sampled=sampled)

    @property
    def usual_curvature(self) -> float:
        """Curvature of the sum in every direction if rows are curved as usual for the loss."""
        return 0.4 * self.terms.smoothness * (self.n_rows or 0) / self.dimension

    def most_excess(self, lipschitz: float, strength: float) -> float:
        """Return how much the objective may differ between two points of the set.

        That is for losses of that Lipschitz constant and a ridge term of that strength;
        infinite without a set, with another penalty, or if the number of rows is secret.
        """
        diameter = self.constraint.diameter(self.dimension)
        known = not self.size_is_declared and self.regularizer.kernel.zero
        if not (known and math.isfinite(diameter)):
            return math.inf
        assert self.n_rows is not None
        pull = strength * self.constraint.radius(self.dimension) ** 2 / 2
        return self.n_rows * lipschitz * diameter + pull

    def noise_excess(self, mean_square: float, shift: float = 0.0) -> float:
        """Bound what noise on weights of the set adds to the objective in the mean.

        The noise is centred, with the same variance in every direction and
        ``mean_square`` in all; ``shift`` is how far rounding may move the weights
        besides. Only without a set does its linear effect average out: projection
        keeps the half that points inwards. Infinite if the number of rows is secret.
        """
        if self.n_rows is None:
            return math.inf
        n, p, root = self.n_rows, self.dimension, math.sqrt(mean_square)
        slope, ridge = n * self.terms.lipschitz, self.regularizer.strong_convexity
        kernel = self.regularizer.kernel.steepness(p) * root
        if self.constraint.whole_space:
            loss = min(slope * root, n * self.terms.trace * mean_square / (2 * p))
            return loss + slope * shift + ridge * mean_square / 2 + kernel
        moved, radius = root + shift, self.constraint.radius(p)
        pull = ridge * (radius * moved + moved**2 / 2) if ridge else 0.0
        return slope * moved + pull + kernel

    def bound(
        self, source: Source, *, narrow: bool = False, reread: bool = False, remote: bool = False
    ) -> Rows:
        """Clip ``source`` to the declared bounds; the only way an algorithm gets rows.

        With ``narrow`` float32 rows stay float32, with ``reread`` rows may not be copied, and
        with ``remote`` they may stay with the workers of a cluster;
        see :meth:`Bounding.apply`.
        """
        if source.n_features != self.n_features:
            raise InvalidData(
                f"The data has {source.n_features} features but the plan was made for "
                f"{self.n_features}."
            )
        # privacy: under add-remove the true size is secret, so it is not compared
        if not self.size_is_declared and source.n_rows != self.n_rows:
            raise InvalidData(
                f"The data has {source.n_rows} rows but the plan was made for {self.n_rows}."
            )
        rows = self.bounding.apply(source, narrow=narrow, reread=reread, remote=remote)
        if self.grouping is None:
            return rows
        # privacy: rows without shares have no business here.
        found = getattr(source, "capped", None)
        if found is None or found.grouping != self.grouping:
            raise InvalidData("This plan protects groups of rows; rows reach it by plan.run alone.")
        return rows.shared(found.share, found.codes)


def check_solvable(
    problem: Problem, algorithm: str, *, corners: bool = False, polytopes: bool = False
) -> None:
    """Refuse a problem whose minimiser cannot be certified, with the reason.

    With ``corners`` it is enough that the minimiser is close: no subgradient has to be small.
    With ``polytopes`` a set serves whose projection is an iteration, if it certifies minimisers.
    """
    loss = problem.loss
    if not math.isfinite(problem.terms.smoothness):
        if not corners:
            raise Incompatible(
                f"{algorithm} needs a smooth loss to certify its minimiser; {loss.name!r} "
                f"has corners. {instead_of(loss)}"
            )
        reason = corner_refusal(loss, problem.regularizer, problem.constraint, problem.dimension)
        if reason is not None:
            raise Incompatible(f"{algorithm}: {reason} {instead_of(loss)}")
        return
    if not (polytopes and problem.constraint.certifies and problem.regularizer.kernel.zero):
        combined_prox(problem.regularizer, problem.constraint)


def corner_refusal(
    loss: Loss, regularizer: Regularizer, constraint: ConvexSet, dimension: int
) -> str | None:
    """Return why the minimiser of a loss with corners cannot be certified, or None.

    >>> from discreet.losses import Hinge
    >>> from discreet.regularizers import Ridge
    >>> corner_refusal(Hinge(), Ridge(strength=1.0), AllSpace(), 5)
    """
    one = loss if loss.each is None else loss.each
    if one.corner(np.ones(1)) is None:
        return (
            f"It needs a smooth loss, or one that says where its corner is; {loss.name!r} is none."
        )
    if not regularizer.kernel.zero:
        return f"Beside a loss with corners, such as {loss.name!r}, it takes a ridge penalty only."
    if loss.each is not None and not constraint.whole_space:
        return "With each class against the rest it takes no set."
    if not (constraint.whole_space or constraint.norm == "l2"):
        return f"Beside a loss with corners, such as {loss.name!r}, it takes no set but an l2 ball."
    if dimension > MOST_CORNERED * loss.outputs:
        return f"With a loss with corners it takes at most {MOST_CORNERED} weights."
    return None


def instead_of(loss: Loss) -> str:
    """Say what to use instead of a loss with corners.

    >>> from discreet.losses import Absolute
    >>> instead_of(Absolute())
    "Use the loss 'huber', which rounds them, or noisy-gradient, which needs no smoothness."
    """
    rounded = f"the loss {loss.smoothed!r}, which rounds them, or " if loss.smoothed else ""
    return f"Use {rounded}noisy-gradient, which needs no smoothness."


def usual_norm(problem: Problem) -> float:
    """Return the usual norm of good weights for such labels, whatever the set."""
    # Two classes: defaults that cap gradients guess by themselves.
    norm = problem.row_norm if problem.loss.target == "sign" else problem.typical_norm
    usual = NORM_GUESS[problem.loss.target] / norm
    if problem.loss.target == "index":
        usual *= math.sqrt(problem.loss.outputs)  # each class has weights of its own
    return usual


def norm_guess_of(problem: Problem, given: float | None) -> float:
    """Return the guess of the norm of good weights: given, or usual for such labels."""
    guess = usual_norm(problem) if given is None else positive("norm_guess", given)
    return min(problem.constraint.radius(problem.dimension), guess)


def solver_error(problem: Problem, norm_guess: float = 0.0, strength: float = 0.0) -> float:
    """Bound the rounding error of a gradient at weights of the usual norm, or a larger guess.

    Only whether a certificate can be reached depends on this number, never
    its validity, so an undeclared size is replaced by a nominal one. Over a polytope of vertices
    the ridge of that strength matters too.
    """
    plain = problem.constraint.whole_space and problem.regularizer.smooth
    rows = NOMINAL_ROWS if problem.n_rows is None else problem.n_rows
    found = certificate_error(
        problem.loss,
        n_rows=rows,
        dimension=problem.bounding.dimension,
        row_norm=problem.row_norm,
        weights_norm=max(norm_guess_of(problem, None), norm_guess),
        label=problem.bounding.label_bound,
        weight=problem.bounds.weight,
        proximal=not plain,
    )
    if not problem.constraint.certifies:
        return found
    # The certificate is a root of rounding errors: of gradients, and of points of the set.
    p, off = problem.dimension, 4 * (problem.dimension + 8) * unit_roundoff()
    slope = rows * problem.terms.lipschitz * off * problem.constraint.radius(p)
    return max(found, math.sqrt(strength * (found * problem.constraint.diameter(p) + slope)))


def planned_tolerance(
    problem: Problem, strength: float, norm_guess: float = 0.0, *, lipschitz: float | None = None
) -> float:
    """Return the tolerance of a minimiser to which noise is added, from public values.

    It is small beside the gradient of one row, and as large as it takes to be certified. A
    certificate at corners is the root of rounding errors, so it is coarser there.
    """
    lipschitz = problem.terms.lipschitz if lipschitz is None else lipschitz
    label = problem.bounding.label_bound
    if math.isfinite(problem.loss.regularity(label=label, reach=1.0).smoothness):
        return max(1e-6 * lipschitz, 4 * solver_error(problem, norm_guess, strength))
    one = problem.loss if problem.loss.each is None else problem.loss.each
    form = one.corner(np.array([-1.0, 1.0]))
    assert form is not None
    jump = problem.bounds.weight * float((form[2] - form[1]).max())
    norm, p = problem.row_norm, problem.dimension
    length = max(norm_guess_of(problem, None), norm_guess)
    each = jump * (gamma(p + 4) * norm * length + 4.0 * unit_roundoff() * label)
    radius = problem.constraint.radius(p)
    n = (problem.n_rows or NOMINAL_ROWS) * problem.loss.outputs
    ball = 40 * (p + 4) * unit_roundoff() * n * lipschitz * radius if radius < math.inf else 0.0

    def least(cornered: float) -> float:
        return max(1e-4 * lipschitz, 4.0 * math.sqrt(2.0 * strength * (cornered * each + ball)))

    # All rows may lie on corners. Where that would cost noise, as many as can by chance.
    whole = least(n)
    return whole if whole <= 1e-2 * lipschitz else least(20 * p)


def rows_against_noise(problem: Problem, budget: Budget) -> float:
    """Return the number of rows over the norm of noise that hides one row's unit gradient.

    Infinite when the number of rows is secret and none is declared.
    """
    if problem.n_rows is None:
        return math.inf
    kind = "gaussian" if budget.delta > 0 else "gamma"
    scale = (
        gaussian_multiplier(budget.epsilon, budget.delta) if budget.delta else 1 / budget.epsilon
    )
    noise = problem.apart * math.sqrt(mean_squared_noise(kind, scale, problem.dimension))
    return problem.n_rows / noise


def rows_remark(problem: Problem, budget: Budget) -> str | None:
    """Return a caution where noise outweighs the rows, or None.

    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=10)
    >>> rows_remark(problem, Budget(1.0, 1e-6))
    >>> rows_remark(problem, Budget(0.1, 1e-6))
    'the rows are too few for this budget: noise that hides one of them outweighs all ...'
    """
    if rows_against_noise(problem, budget) >= NOISE_ONLY_ROWS:
        return None
    return (
        "the rows are too few for this budget: noise that hides one of them outweighs all of them "
        "together, and the model will hardly do better than guessing. Take more rows, fewer "
        "features or a larger epsilon."
    )
