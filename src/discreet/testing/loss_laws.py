"""Laws of losses: what :class:`~discreet.losses.Loss` asks for, and every fact it may declare."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import logit

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.losses import LOSSES, Loss
from discreet.testing.holding import hold, is_value
from discreet.testing.loss_draws import (
    LABEL,
    REACH,
    attached,
    directions,
    labels,
    lengths,
    points,
    sample,
    top_eigenvalue,
    trace,
)

Law = Callable[[Loss], None]


def loss_is_value(loss: Loss) -> None:
    """A loss is a frozen value with a name."""
    is_value(loss)


def shapes(loss: Loss) -> None:
    """Value, slope and curvature have the shapes that are asked for, for no rows as well."""
    z, y = sample(loss, 5)
    k = loss.outputs
    hold(loss.value(z, y).shape == (5,), "value has one number per row")
    hold(loss.value(z[:0], y[:0]).shape == (0,), "value takes no rows as well")
    hold(loss.slope(z, y).shape == z.shape, "slope is shaped like z")
    wanted = (5,) if k == 1 else (5, k, k)
    hold(loss.curvature(z, y).shape == wanted, f"curvature of five rows has shape {wanted}")


def slope_is_a_subgradient(loss: Loss) -> None:
    """The slope lies between the one-sided differences of the value, at joints too."""
    z, y = sample(loss)
    d, h = directions(z), 1e-5
    slope = loss.slope(z, y) * d
    slope = slope if z.ndim == 1 else slope.sum(axis=1)
    middle = loss.value(z, y)
    below = (middle - loss.value(z - h * d, y)) / h
    above = (loss.value(z + h * d, y) - middle) / h
    slack = 1e-9 * (1.0 + np.abs(middle))
    hold((below <= slope + slack) & (slope <= above + slack), "slope is a subgradient of value")


def curvature_is_the_derivative(loss: Loss) -> None:
    """The curvature is the derivative of the slope, joints aside."""
    z, y = sample(loss)
    d, h = directions(z), 1e-6
    product = loss.curvature(z, y)
    product = product * d if z.ndim == 1 else np.einsum("nij,nj->ni", product, d)
    difference = (loss.slope(z + h * d, y) - loss.slope(z - h * d, y)) / (2 * h)
    # Keep away from joints, where the slope or the curvature jumps.
    ends = [top_eigenvalue(loss.curvature(z + s * 2 * h * d, y)) for s in (-1, 1)]
    calm = np.abs(ends[0] - ends[1]) <= 1e-3 * (1.0 + np.abs(ends[0]))
    calm &= np.abs(difference).reshape(len(z), -1).max(axis=1) * h <= 1e-3
    hold(calm.mean() > 0.9, "curvature is continuous almost everywhere")
    error = np.abs(product - difference).reshape(len(z), -1).max(axis=1)
    size = top_eigenvalue(loss.curvature(z, y))[calm].max()
    hold(error[calm].max() <= 1e-3 * (1.0 + size), "curvature is the derivative of slope")


def is_convex(loss: Loss) -> None:
    """The loss is convex along lines, so no proof says otherwise."""
    a, y = sample(loss, seed=2)
    b = points(loss, len(a), np.random.default_rng(3)) * 3.0
    t = np.random.default_rng(4).random(len(a))
    s = t if a.ndim == 1 else t[:, None]
    chord = t * loss.value(a, y) + (1 - t) * loss.value(b, y)
    below = loss.value(s * a + (1 - s) * b, y) <= chord + 1e-12 * (1 + np.abs(chord))
    hold(below, "value is convex in z (proved_convex claims a proof of it)")


def constants_hold(loss: Loss) -> None:
    """The constants of ``regularity`` bound slopes and curvatures: the proofs rest on them."""
    z, y = sample(loss, 20000, seed=5)
    r = loss.regularity(label=LABEL, reach=REACH)
    slope, curvature = loss.slope(z, y), loss.curvature(z, y)
    tiny = 1.0 + 1e-12
    hold(lengths(slope).max() <= r.lipschitz * tiny, "lipschitz bounds the slope")
    inside = (-r.slopes[0] * tiny <= slope.min()) and (slope.max() <= r.slopes[1] * tiny)
    hold(inside, "slopes hold every coordinate of the slope")
    hold(top_eigenvalue(curvature).max() <= r.smoothness * tiny, "smoothness bounds the curvature")
    hold(trace(curvature).max() <= r.trace * tiny, "trace bounds that of the curvature")
    hold(r.scalar == (loss.outputs == 1), "scalar says whether there is one output")
    if z.ndim == 2:
        rank = np.linalg.matrix_rank(curvature, tol=1e-9).max()
        hold(rank <= r.rank, "rank bounds that of the curvature")
    if math.isfinite(r.smoothness):
        change = (loss.slope(z + 1e-3 * directions(z), y) - slope).reshape(len(z), -1)
        jump = np.linalg.norm(change, axis=1).max()
        hold(jump <= r.smoothness * 1e-3 * (1 + 1e-9), "a smooth loss has no slope that jumps")


def changes_sign(loss: Loss) -> bool:
    """Return whether the slope of some label is found to change its sign."""
    _, y = sample(loss, 60, seed=7)
    z = points(loss, 3000, np.random.default_rng(8)) * 3.0
    for one in y:
        slope = loss.slope(z, np.broadcast_to(one, (len(z), *np.shape(one))))
        if slope.min() < 0 < slope.max():
            return True
    return False


def one_signed_holds(loss: Loss) -> None:
    """Where it is declared, the slope of a label keeps its sign."""
    claimed = loss.regularity(label=LABEL, reach=REACH).one_signed
    hold(not (claimed and changes_sign(loss)), "one_signed: no slope changes its sign")


def has_logistic_structure(loss: Loss) -> bool:
    """Return whether ``f'' = |f'| (1 - |f'|)`` is found to hold."""
    z, y = sample(loss, seed=9)
    size = np.abs(loss.slope(z, y))
    return z.ndim == 1 and bool(np.allclose(loss.curvature(z, y), size * (1 - size), atol=1e-12))


def self_bounded_holds(loss: Loss) -> None:
    """Where it is declared, the loss has the structure of the logistic one."""
    claimed = loss.regularity(label=LABEL, reach=REACH).self_bounded
    hold(not claimed or has_logistic_structure(loss), "self_bounded: f'' = |f'| (1 - |f'|)")


def curvature_is_below_its_bound(loss: Loss) -> None:
    """``curvature_near``, if defined, bounds the curvature nearby."""
    z, y = sample(loss, seed=13)
    most = loss.regularity(label=LABEL, reach=REACH).smoothness
    for far in (1.0, 10.0):
        for slack in (0.0, 1e-9, 0.1, 2.0):
            bend = loss.curvature_near(far * z, y, np.full(len(z), slack))
            if bend is None:
                return
            hold(bend <= most * (1 + 1e-12), "curvature_near is at most the smoothness")
            for part in np.linspace(-1.0, 1.0, 9):
                nearby = loss.curvature(far * z + part * slack, y)
                hold(
                    nearby <= bend * (1 + 1e-12), "curvature_near bounds the curvature within slack"
                )


def slopes_in_float32_are_close(loss: Loss) -> None:
    """Declared ``slopes_in_float32``: ``bare_slope`` loses digits of float32 and nothing else."""
    if not loss.slopes_in_float32:
        return
    z, y = sample(loss, seed=13)
    inner, bare, outer = loss.bare_slope()
    labels = tuple(part.astype(np.float32) for part in loss.bare_labels(y))
    for far in (1.0, 1e4, 1e30):
        near = (far * z).astype(np.float32)
        slope = loss.slope(near.astype(np.float64), y)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = outer * bare(np.float32(inner) * near, *labels)
        hold(found.dtype == np.float32, "slopes_in_float32 keeps float32")
        close = np.abs(found - slope) <= 2.0**-20 * np.maximum(1.0, np.abs(slope))
        hold(close, "slopes_in_float32 gives the slope")


def bare_slope_is_the_slope(loss: Loss) -> None:
    """``bare_slope`` is the slope up to rounding, row by row."""
    z, y = sample(loss, seed=12)
    inner, bare, outer = loss.bare_slope()
    powers = math.frexp(inner)[0] == math.frexp(outer)[0] == 0.5
    hold(powers, "the factors of bare_slope are powers of two")
    for far in (1.0, 1e4, 1e300):
        with np.errstate(over="ignore", invalid="ignore"):
            slope = loss.slope(far * z, y)
            found = outer * bare(inner * far * z, *loss.bare_labels(y))
        # As exact as certificates take slopes to be.
        close = np.abs(found - slope) <= 2.0**-52 * (8.0 * np.abs(slope) + 2.0)
        hold(close[np.isfinite(slope)], "bare_slope gives the slope")
    whole = bare(inner * z, *loss.bare_labels(y))
    for part in (slice(0, 1), slice(3, 8), slice(5, 22)):
        same = bare(inner * z[part], *loss.bare_labels(y[part])) == whole[part]
        hold(same, "a row's bare slope does not depend on the rows beside it")


def nothing_overflows(loss: Loss) -> None:
    """Far predictions give finite numbers and no warning, which would tell of a row."""
    _, y = sample(loss, 200, seed=10)
    for sign in (-1.0, 1.0):
        z = np.full((200,) if loss.outputs == 1 else (200, loss.outputs), sign * 1e4)
        if z.ndim == 2:
            z[:, 0] *= -1.0
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                found = (loss.value(z, y), loss.slope(z, y), loss.curvature(z, y))
        except FloatingPointError as error:
            raise AssertionError("value, slope and curvature do not overflow at 1e4") from error
        hold([np.isfinite(part).all() for part in found], "predictions of 1e4 give finite numbers")


def terms_bound_a_row(loss: Loss) -> None:
    """``terms`` bounds gradients and Hessians in the weights, for rows up to norm and weight."""
    rng = np.random.default_rng(11)
    row_norm, weight, n = 2.0, 3.0, 4000
    norms = row_norm * rng.choice([0.0, 0.3, 1.0], n)
    z, y = points(loss, n, rng), loss.attach(labels(loss, n, rng), norms)
    t = loss.terms(row_norm=row_norm, label=LABEL, reach=REACH, weight=weight)
    slope, curvature = loss.slope(z, y), loss.curvature(z, y)
    tiny = 1 + 1e-12
    gradient, bend = weight * norms, weight * norms**2
    hold((gradient * lengths(slope)).max() <= t.lipschitz * tiny, "terms bound gradients")
    most = (bend * top_eigenvalue(curvature)).max()
    hold(most <= t.smoothness * tiny, "terms bound the curvature in the weights")
    hold((bend * trace(curvature)).max() <= t.trace * tiny, "terms bound its trace")
    if z.ndim == 1:
        along = gradient * slope
        inside = -t.slopes[0] * tiny <= along.min() and along.max() <= t.slopes[1] * tiny
        hold(inside, "terms hold the range of slopes")


def slope_inverse_is_a_crossing(loss: Loss) -> None:
    """``slope_inverse``, if defined, is where the slope crosses a level."""
    if loss.outputs != 1 or loss.inner is not loss:
        return
    rng = np.random.default_rng(12)
    y = attached(loss, 4000, rng)
    level = rng.uniform(-1.5, 1.5, 4000) * rng.choice([0.01, 1.0, 10.0], 4000)
    try:
        at = loss.slope_inverse(level, y)
    except Incompatible:
        return
    slack = 1e-9 * (1 + np.abs(level))
    left = loss.slope(np.clip(at, -1e9, 1e9) - 1e-7, y) <= level + slack
    right = loss.slope(np.clip(at, -1e9, 1e9) + 1e-7, y) >= level - slack
    hold(left[at > -np.inf], "the slope is below the level to the left of slope_inverse")
    hold(right[at < np.inf], "the slope is above the level to the right of slope_inverse")


def scalar_slope_is_the_slope(loss: Loss) -> None:
    """``scalar_slope``, if defined, is the slope."""
    given = loss.scalar_slope()
    if given is None:
        return
    slope, parameters = given
    z, y = sample(loss, 2000, seed=13)
    z[:4] = 1e4, -1e4, 1e300, -1e300
    pairs = zip(z.tolist(), y.tolist(), strict=True)
    found = np.array([slope(*pair, *parameters) for pair in pairs])
    expected = loss.slope(z, y)
    size = np.maximum(np.abs(expected), loss.offset() * np.abs(expected + y) * 0.5)
    close = np.abs(found - expected) <= 16 * 2.0**-53 * size + 1e-300
    hold(close, "scalar_slope gives the slope")


def slopes_are_their_own_array(loss: Loss) -> None:
    """Sums clip slopes in place, which must change neither labels nor later results."""
    z, y = sample(loss, 50, seed=14)
    before, labelled, slope = z.copy(), y.copy(), loss.slope(z, y)
    kept = slope.copy()
    slope[:] = 0.0
    hold((z == before) & (loss.slope(z, y) == kept), "slope returns an array of its own")
    hold(y == labelled, "slope leaves labels alone")


def extreme_labels_matter(loss: Loss) -> None:
    """``range_at_extreme_labels`` and ``at_zero`` are true for the labels in between."""
    rng = np.random.default_rng(15)
    for label in (0.5, 1.0, LABEL):
        inside = labels(loss, 400, rng)
        inside = inside * label / LABEL if loss.target in ("real", "count", "vector") else inside
        zero = np.zeros((400, loss.outputs) if loss.outputs > 1 else 400)
        plain = loss.inner  # clips are attached to rows, and change neither
        try:
            most = plain.at_zero(label)
        except Incompatible:
            return
        size = np.abs(plain.value(zero, inside)).max()
        hold(size <= most * (1 + 1e-12), "at_zero (range_at_extreme_labels) bounds every label")
        if loss.outputs > 1 or not plain.range_at_extreme_labels:
            continue
        for reach in (0.1, 1.0, 3.0, REACH):
            grid = np.linspace(-reach, reach, 801)
            extreme = plain.extreme_labels(label)
            grid = np.concatenate([grid, np.clip([*extreme, *inside], -reach, reach)])
            ends, between = (
                max(float(np.ptp(plain.value(grid, np.full_like(grid, y)))) for y in some)
                for some in (extreme, inside[:60])
            )
            hold(
                between <= ends * (1 + 1e-6),
                "range_at_extreme_labels: no other label has a larger range of values",
            )


def curvature_rises_then_falls(loss: Loss) -> None:
    """``curvature_unimodal`` is true of labels of all kinds."""
    if not loss.curvature_unimodal:
        return
    hold(loss.outputs == 1, "curvature_unimodal is for losses of one output")
    z = np.unique(np.concatenate([np.linspace(-30, 30, 3001), np.linspace(-6, 6, 3001)]))
    for y in attached(loss, 40, np.random.default_rng(16)):
        found = loss.curvature(z, np.broadcast_to(y, (len(z), *np.shape(y))))
        peak = int(np.argmax(found))
        dips = np.maximum.accumulate(found[: peak + 1]) - found[: peak + 1]
        rises = np.maximum.accumulate(found[:peak:-1]) - found[:peak:-1]
        largest = max(dips.max(initial=0.0), rises.max(initial=0.0))
        hold(largest <= 1e-12 * found[peak], "curvature_unimodal: it rises, then falls")


def quadratic_means_squared(loss: Loss) -> None:
    """``quadratic`` and ``squared_distance`` are half the squared error and nothing else."""
    if loss.quadratic:
        z, y = sample(loss, seed=17)
        hold(z.ndim == 1 and y.ndim == 1, "quadratic is for plain labels and one output")
        hold(np.isclose(loss.value(z, y), (z - y) ** 2 / 2), "quadratic: value is (z - y)^2 / 2")
        hold(np.isclose(loss.slope(z, y), z - y), "quadratic: slope is z - y")
    if loss.squared_distance:
        z, y = sample(loss, seed=17)
        hold(z.shape == y.shape == (len(z), loss.outputs), "squared_distance: labels are vectors")
        half = np.sum((z - y) ** 2, axis=1) / 2
        hold(np.isclose(loss.value(z, y), half), "squared_distance: value is ||z - y||^2 / 2")
        hold(np.isclose(loss.slope(z, y), z - y), "squared_distance: slope is z - y")


def nonnegative_holds(loss: Loss) -> None:
    """``nonnegative`` is true far away as well."""
    if loss.nonnegative:
        z, y = sample(loss, seed=18)
        for far in (1.0, 100.0):
            low = loss.value(far * z, y).min()
            hold(low >= -1e-12 * far**2 * REACH**2, "nonnegative: no value is below zero")


def probabilities_are_estimated(loss: Loss) -> None:
    """``probabilities``: the expected slope vanishes at the log-odds of the classes, only there."""
    if not loss.probabilities:
        return
    hold(loss.target in ("sign", "index"), "probabilities are those of classes")
    classes = np.array([-1.0, 1.0]) if loss.target == "sign" else np.arange(loss.outputs) * 1.0

    def expected(z: Array, chances: Array, norm: float) -> Array:
        slopes = [loss.slope(z, loss.attach(y, np.array([norm]))) for y in classes[:, None]]
        return sum((p * s for p, s in zip(chances, slopes, strict=True)), 0.0 * z)

    for chances in np.random.default_rng(19).dirichlet(np.ones(len(classes)), 50):
        best = logit(chances[1:]) if loss.outputs == 1 else np.log(chances)[None]
        off = best.copy()
        off.flat[0] += 1.0
        for norm in (0.1, 1.0, 3.0):
            least = np.abs(expected(best, chances, norm)).max() <= 1e-9
            hold(least, "probabilities: the expected loss is least at the log-odds")
            alone = np.abs(expected(off, chances, norm)).max() > 1e-6
            hold(alone, "probabilities: and nowhere else")


def pull_holds(loss: Loss) -> None:
    """``pull``, if declared, bounds ``-<z, f'(z; y)>``."""
    if loss.pull is not None:
        hold(loss.target in ("sign", "index"), "pull is for labels that are classes")
        z, y = sample(loss, 20000, seed=20)
        for far in (1.0, 10.0):
            pulls = (-far * z * loss.slope(far * z, y)).reshape(len(z), -1).sum(axis=1)
            hold(pulls.max() <= loss.pull * (1 + 1e-12), "pull bounds -<z, f'(z; y)>")


def each_adds_up(loss: Loss) -> None:
    """``each``, if declared, adds up to the loss over the classes, each against the rest."""
    if loss.each is not None:
        z, y = sample(loss, seed=22)
        signs = np.where(y[:, None] == np.arange(loss.outputs), 1.0, -1.0)
        parts = [loss.each.value(z[:, k], signs[:, k]) for k in range(loss.outputs)]
        hold(np.allclose(sum(parts), loss.value(z, y), rtol=1e-12), "each adds up to the loss")


def inner_is_unclipped(loss: Loss) -> None:
    """``inner`` is the same loss but for a clip, which takes slopes towards zero."""
    if loss.inner is loss:
        return
    hold(loss.inner.inner is loss.inner, "inner has no clip itself")
    rng = np.random.default_rng(21)
    z, y = points(loss, 4000, rng), labels(loss, 4000, rng)
    clipped = loss.slope(z, loss.attach(y, rng.choice([0.1, 1.0, 3.0], 4000)))
    plain = loss.inner.slope(z, y)
    hold(np.abs(clipped) <= np.abs(plain), "inner: a clip makes no slope larger")
    hold(clipped * plain >= 0.0, "inner: a clip turns no slope around")


def smoothed_names_a_smooth_loss(loss: Loss) -> None:
    """``smoothed``, if given, names a listed loss without corners."""
    if loss.smoothed is not None:
        found = LOSSES.get(loss.smoothed)
        hold(found is not None, "smoothed names a listed loss")
        assert found is not None
        smooth = found.regularity(label=LABEL, reach=REACH).smoothness
        hold(math.isfinite(smooth), "smoothed names a loss without corners")


LOSS_LAWS: tuple[Law, ...] = (
    loss_is_value,
    shapes,
    slope_is_a_subgradient,
    curvature_is_the_derivative,
    is_convex,
    constants_hold,
    one_signed_holds,
    self_bounded_holds,
    curvature_is_below_its_bound,
    bare_slope_is_the_slope,
    slopes_in_float32_are_close,
    nothing_overflows,
    terms_bound_a_row,
    slope_inverse_is_a_crossing,
    scalar_slope_is_the_slope,
    slopes_are_their_own_array,
    extreme_labels_matter,
    curvature_rises_then_falls,
    quadratic_means_squared,
    nonnegative_holds,
    probabilities_are_estimated,
    pull_holds,
    each_adds_up,
    inner_is_unclipped,
    smoothed_names_a_smooth_loss,
)
"""Every law of a loss."""


def check_loss(loss: Loss) -> None:
    """Put a loss through every law; raise AssertionError with the first that is broken.

    Optional methods are tested if they are defined, and facts if they are declared.

    Parameters
    ----------
    loss
        The loss, with the parameters it is to be tried with.

    Examples
    --------
    >>> from discreet.losses import Huber
    >>> check_loss(Huber(threshold=2.0))
    """
    for law in LOSS_LAWS:
        law(loss)
