"""Sums that compute few rows anew: against fractions, at joints, and between neighbours."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet import Bounds, Budget
from discreet.algorithms import NoisyGradient
from discreet.data import ArraySource, Rows
from discreet.data.blocks import gamma
from discreet.data.clipped import clipped_sums as module
from discreet.data.clipped.active_rows import SMALL, ActiveRows, Reach, active_rows
from discreet.data.clipped.blockwise import BLOCK_ROWS
from discreet.data.clipped.clipped_sums import ClippedSums, sum_rounding
from discreet.data.clipped.side_sums import ANEW
from discreet.losses import Absolute, Clipped, Hinge, Logistic, Loss, Quantile, Squared
from discreet.noise import Seeded
from discreet.problem import Problem

LOSSES: list[Loss] = [
    Hinge(),
    Absolute(),
    Quantile(quantile=0.3),
    Squared(),
    Clipped(loss=Squared(), clip=0.5),
    Clipped(loss=Hinge(), clip=0.5),
]
IDS = ["hinge", "absolute", "quantile", "squared", "clipped-squared", "clipped-hinge"]
CLIP = 0.8


def made(loss: Loss, n: int, p: int, *, weighted: bool) -> Rows:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, p)) / 2
    X[2] = 0.0
    y = rng.choice([-1.0, 1.0], n) if loss.target == "sign" else rng.uniform(-1, 1, n)
    rows = Rows(X, y, rng.choice([0.0, 0.5, 1.0], n) if weighted else None)
    rows.y = loss.attach(y, rows.norms)
    return rows


def walk(p: int, steps: int) -> list[np.ndarray]:
    """Steps that become smaller, with a leap in between."""
    rng = np.random.default_rng(4)
    size = np.where(np.arange(steps) < steps // 3, 0.2, 0.01)
    size[2 * steps // 3] = 1.0
    return list(np.cumsum(rng.normal(size=(steps, p)) * size[:, None], axis=0))


def sums_for(rows: Rows, loss: Loss) -> ClippedSums:
    """Sums with active rows, whatever the size."""
    sums = ClippedSums(rows, loss)
    reach = Reach(rows.longest, 1.0, 1.0)
    sums._active = ActiveRows(rows, loss, reach, sums._weight)
    return sums


def exactly(rows: Rows, loss: Loss, cap: np.ndarray, w: np.ndarray) -> list[Fraction]:
    """The real sum, with slopes and caps in fractions."""
    total = [Fraction(0)] * rows.dimension
    at = [Fraction(v) for v in w.tolist()]
    for i in range(rows.n_rows):
        x = [Fraction(v) for v in rows.X[i].tolist()]
        z = sum((a * b for a, b in zip(x, at, strict=True)), Fraction(0))
        label, own = (rows.y[i], None) if rows.y.ndim == 1 else rows.y[i]
        y = Fraction(float(label))
        if loss.inner.quadratic:
            slope = z - y
        else:
            corner = loss.inner.corner(np.array([label]))
            assert corner is not None
            slope = Fraction(float(corner[1][0] if z < y else corner[2][0]))
        for most, times in ((own, 1), (cap[i], rows.weight[i])):
            slope *= Fraction(float(times))
            if most is not None:
                slope = max(-Fraction(float(most)), min(Fraction(float(most)), slope))
        total = [t + slope * v for t, v in zip(total, x, strict=True)]
    return total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_sums_are_the_real_ones_within_what_is_accounted_for(loss: Loss, weighted: bool) -> None:
    rows, few = made(loss, 60, 3, weighted=weighted), 0
    with sums_for(rows, loss) as sums:
        for w in walk(3, 90):
            found = sums.full(w, CLIP)
            assert sums._active is not None
            few += len(sums._active._places) < 40
            real = exactly(rows, loss, sums._cap, w)
            off = [abs(Fraction(a) - b) for a, b in zip(found.tolist(), real, strict=True)]
            assert float(max(off)) <= CLIP * 60 * gamma(3 + 24 + 32)
    assert few > 45  # most sums computed some of the rows only


def test_sums_of_many_rows_are_added_with_compensation() -> None:
    n, clip = 2**20, 0.15
    rows, loss = Rows(np.full((n, 2), 0.1), np.ones(n)), Hinge()
    sums = ActiveRows(rows, loss, Reach(rows.longest, 1.0, 1.0), None)
    sums.limit(np.ones(n), clip)
    found = sums(np.zeros(2))
    assert found is not None
    off = float(abs(Fraction(float(found[0])) + n * Fraction(0.1)))
    assert off <= n * clip * (gamma(sums._few + 4) + 2.0**-53)
    assert 2 * n * clip * gamma(sums._few + 4) <= sum_rounding(clip, n_rows=n, shifting=False)


def test_a_row_at_a_joint_counts_the_same_wherever_it_stands() -> None:
    rng = np.random.default_rng(0)
    for p in range(3, 40):
        X, w = rng.normal(size=(7, p)) / 2, rng.normal(size=p)
        # Predictions are at the joint, to the last bits.
        y, found = np.einsum("ij,j->i", X, w), []
        for order in (np.arange(7), np.r_[6, 0:6], np.r_[2:7, 0:2]):
            with sums_for(Rows(X[order], y[order]), Absolute()) as sums:
                found.append(sums.full(w, CLIP))
        for other in found[1:]:
            most = sum_rounding(CLIP, n_rows=7, shifting=True)
            assert np.abs(found[0] - other).max() <= most


@pytest.mark.parametrize("loss", [Absolute(), Quantile(quantile=0.3)], ids=["absolute", "quantile"])
def test_rows_that_float32_cannot_tell_from_their_joints_are_on_their_own_side(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(80, 5)) / 2, 3.0 * rng.normal(size=5)
    far = rng.choice([-1.0, 1.0], 80) * np.geomspace(1e-13, 1e-5, 80)
    rows = Rows(X, np.einsum("ij,j->i", X, w) + far)
    for start in (np.zeros(5), w * (1 + 1e-7)):
        with sums_for(rows, loss) as sums:
            for at in (start, w):
                found = sums.full(at, CLIP)
            real = exactly(rows, loss, sums._cap, w)
            off = [abs(Fraction(a) - b) for a, b in zip(found.tolist(), real, strict=True)]
            assert float(max(off)) <= CLIP * 80 * gamma(5 + 24 + 32)


def test_excesses_that_float32_cannot_see_are_counted() -> None:
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(80, 5)) / 2, 3.0 * rng.normal(size=5)
    plain = ClippedSums(Rows(X, np.zeros(80)), Squared())
    plain.full(w, CLIP)
    beyond = plain._cap + np.geomspace(1e-13, 1e-5, 80) * rng.choice([-1.0, 1.0], 80)
    rows = Rows(X, np.einsum("ij,j->i", X, w) + beyond * rng.choice([-1.0, 1.0], 80))
    with sums_for(rows, Squared()) as sums:
        for at in (w * (1 + 1e-7), w):
            found = sums.full(at, CLIP)
            real = exactly(rows, Squared(), sums._cap, at)
            off = [abs(Fraction(a) - b) for a, b in zip(found.tolist(), real, strict=True)]
            assert float(max(off)) <= CLIP * 80 * gamma(5 + 24 + 32)


def test_all_rows_are_summed_anew_before_half_of_them_turned() -> None:
    """What turning rows add is small beside what is accounted for, however many steps there are."""
    rows, again = made(Absolute(), 200, 2, weighted=False), 0
    with sums_for(rows, Absolute()) as sums:
        active, before, counted = sums._active, np.zeros(200, np.bool_), 0
        assert active is not None
        assert active._sides is not None
        for k, w in enumerate(walk(2, 300)):
            sums.full(w, CLIP)
            turned = int(np.count_nonzero(active._sides.below[0] != before))
            counted += turned
            if k == 0 or turned > 200 // ANEW or counted > 100:
                again, counted = again + (turned <= 200 // ANEW), 0
            assert active._sides.turns == counted <= 100
            before = active._sides.below[0].copy()
    assert again > 1


def test_weights_and_rows_that_float32_can_hardly_hold_are_left_alone() -> None:
    one = np.ones(9)
    for norm, size, summed in ((1.0, 1.0, True), (1.0, 1e10, False), (1e10, 1.0, False)):
        sums = ActiveRows(Rows(one[:, None], one), Hinge(), Reach(norm, 1.0, 1.0), None)
        sums.limit(one, 1.0)
        assert (sums(np.array([size])) is not None) == summed


@pytest.mark.parametrize("loss", LOSSES[:5], ids=IDS[:5])
def test_neighbours_are_as_close_as_accounted(loss: Loss) -> None:
    n, p = BLOCK_ROWS + 100, 32
    rows = made(loss, n, p, weighted=False)
    other = Rows(rows.X.copy(), rows.y.copy(), np.ones(n), rows.norms.copy())
    other.X[n // 2], other.norms[n // 2] = 0.0, 0.0
    other.weight[n // 2] = 0.0
    reach = Reach(rows.longest, 1.0, 1.0)
    most = CLIP + sum_rounding(CLIP, n_rows=n, shifting=False)
    with (
        ClippedSums(rows, loss, reach=reach) as one,
        ClippedSums(other, loss, reach=reach) as two,
        ClippedSums(rows, loss) as plain,
    ):
        assert one._active is not None
        assert plain._active is None
        for w in walk(p, 12):
            found = one.full(w, CLIP)
            assert np.linalg.norm(found - two.full(w, CLIP)) <= most
            close = n * CLIP * gamma(n)
            np.testing.assert_allclose(found, plain.full(w, CLIP), rtol=0, atol=close)


def test_second_moments_are_left_where_they_might_round_too_much() -> None:
    rows = made(Squared(), 100, 3, weighted=False)
    active = ActiveRows(rows, Squared(), Reach(rows.longest, 1.0, 1.0), None)
    active.limit(np.full(100, 0.1), CLIP)
    assert active(np.ones(3)) is not None
    # privacy: by the public bounds, whatever the rows are.
    assert active(np.full(3, 1e9)) is None
    wide = ActiveRows(rows, Squared(), Reach(1e5, 1.0, 1.0), None)
    wide.limit(np.full(100, 0.1), CLIP)
    assert wide(np.ones(3)) is None


def test_so_few_rows_are_added_at_a_time_that_half_of_a_block_covers_their_rounding() -> None:
    for n in (BLOCK_ROWS, 3 * BLOCK_ROWS + 1, 2**18 - 1, 2**18, 2**19, 2**20):
        empty = np.broadcast_to(0.0, n)
        rows = Rows(empty[:, None], empty, empty, empty)
        few = ActiveRows(rows, Hinge(), Reach(1.0, 1.0, 1.0), None)._few
        assert few >= SMALL
        assert 4 * (few + 8) * n <= BLOCK_ROWS**2 < 10 * (few + 8) * n or few == 1024


def test_sums_are_taken_up_to_the_rounding_that_is_paid_for() -> None:
    """The bound of the proof in fractions, at the longest weights that are still accepted."""
    rows, u = made(Squared(), 4, 3, weighted=False), Fraction(1, 2**53)
    for norm, label, weight, clip in ((1, 1, 1, 0.1), (3, 0.5, 0.2, 0.01), (0.1, 9, 4, 1)):
        sums = ActiveRows(rows, Squared(), Reach(norm, label, weight), None)
        sums.limit(np.ones(4), clip)
        low, high = 0.0, 1e15
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (middle, high) if sums._accounted(np.array([middle])) else (low, middle)
        longest = Fraction(norm)
        most = Fraction(weight) * longest * (longest * Fraction(low) + Fraction(label))
        error = most * (4 * (3 + 56) * u + (3 + 12) * u)
        assert 1 <= Fraction(clip) * BLOCK_ROWS**2 * u / error <= Fraction(21, 20)


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_no_row_is_left_out_that_weights_within_the_radius_take_across_a_joint(loss: Loss) -> None:
    """On a line, where every step goes straight towards the joints of half the rows."""
    rows = made(loss, 40, 1, weighted=False)
    with sums_for(rows, loss) as sums:
        for step in walk(1, 18):
            active = sums._active
            assert active is not None
            sums.full(step / 20, CLIP)
            # Predictions within the radius, which rounding moves by far less than this part.
            far = abs(step[0]) / 20 + active._radius
            assert active._unsure >= 2.0**-31 * (rows.longest * far + active._farthest)
            for far in (-0.999, 0.999):
                w, left = active._centre + far * active._radius, 40 - len(active._places)
                found, real = sums.full(w, CLIP), exactly(rows, loss, sums._cap, w)
                assert left == 40 - len(active._places)
                assert abs(float(Fraction(found[0]) - real[0])) <= CLIP * 40 * gamma(3 + 24 + 32)
        assert active._radius > 0.0


@pytest.mark.parametrize("loss", [Absolute(), Squared()], ids=["absolute", "squared"])
def test_rows_that_are_left_out_stay_on_their_piece_up_to_the_radius(loss: Loss) -> None:
    rows, left = made(loss, 20_000, 1, weighted=False), 0
    with sums_for(rows, loss) as sums:
        for step in walk(1, 18):
            sums.full(step / 20, CLIP)
            active = sums._active
            assert active is not None
            out = np.delete(np.arange(20_000), active._places)
            at = [active._centre[0] + far * active._radius for far in (-1.0, 0.0, 1.0)]
            residual = rows.X[out] * at - rows.y[out, None]
            if loss.quadratic:
                assert (np.abs(residual) < sums._cap[out, None]).all()
            else:
                assert ((residual > 0.0).all(axis=1) | (residual < 0.0).all(axis=1)).all()
            left += active._radius > 0.0 and len(out) > 10_000
    assert left > 6


@pytest.mark.parametrize("beyond", [-1e-10, -1e-13, 0.0, 1e-13, 1e-10])
def test_a_residual_next_to_its_cap_is_cut_there_wherever_weights_came_from(beyond: float) -> None:
    """One row's slope leaves its cap between two steps that are closer than predictions round."""
    X, y = np.ones((9, 1)) / 4, np.linspace(-0.9, 0.9, 9)
    rows = Rows(X, y)
    with sums_for(rows, Squared()) as sums:
        sums.full(np.zeros(1), CLIP)
        cap = sums._cap.copy()
        for w in (0.0, 1e-9, (y[8] - cap[8] - beyond) * 4, (y[0] + cap[0] + beyond) * 4):
            found, at = sums.full(np.array([w]), CLIP), np.array([w])
            real = exactly(rows, Squared(), cap, at)
            assert abs(float(Fraction(found[0]) - real[0])) <= CLIP * 9 * gamma(3 + 24 + 32)


def test_short_rows_of_little_weight_are_summed_without_a_warning() -> None:
    rows = Rows(np.array([[0.0], [1e-100], [1.0]]), np.ones(3), np.array([1e-200, 1e-250, 0.5]))
    with sums_for(rows, Squared()) as sums:  # the cap over the weight is infinite
        np.testing.assert_array_equal(sums.full(np.zeros(1), 1.0), [-0.5])


def test_only_public_values_decide_whether_rows_may_be_left_out() -> None:
    reach = Reach(1.0, 1.0, 1.0)
    wide = Rows(np.zeros((BLOCK_ROWS, 32)), np.ones(BLOCK_ROWS))
    assert active_rows(wide, Hinge(), reach, None) is not None
    assert active_rows(wide, Logistic(), reach, None) is None
    assert active_rows(wide.take(slice(0, BLOCK_ROWS - 1)), Hinge(), reach, None) is None
    # Copies of half of the rows would fill memory.
    large = Rows(np.broadcast_to(0.0, (2**20, 33)), wide.y, wide.y, wide.y)
    assert active_rows(large, Hinge(), reach, None) is None
    # Weights of many columns move too far at a step.
    for p, few in ((128, True), (129, False)):
        broad = Rows(np.zeros((BLOCK_ROWS, p)), wide.y)
        for loss in (Hinge(), Squared()):
            assert (active_rows(broad, loss, reach, None) is not None) == few
    narrow = Rows(wide.X.astype(np.float32), wide.y)
    assert active_rows(narrow, Hinge(), reach, None) is None
    # privacy: positions must be kept.
    assert ClippedSums(wide, Hinge(), shifting=True, reach=reach)._active is None


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=["hinge", "squared"])
def test_a_descent_releases_the_same_with_few_rows(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(BLOCK_ROWS, 32)) / 8
    y = np.sign(X[:, 0]) if loss.target == "sign" else np.clip(X[:, 0], -1, 1)
    labels = {"classes": (-1, 1)} if loss.target == "sign" else {"label": (-1.0, 1.0)}
    bounds = Bounds(row_norm=1.0, **labels)  # type: ignore[arg-type]
    problem = Problem(loss=loss, bounds=bounds, n_features=32, n_rows=len(X))
    plan = NoisyGradient(steps=12, clip=1.0).plan(problem, Budget(2.0, 1e-6))
    found = [plan.run(ArraySource(X, y), Seeded(5)).weights]
    monkeypatch.setattr(module, "active_rows", lambda *given: None)
    found.append(plan.run(ArraySource(X, y), Seeded(5)).weights)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)
