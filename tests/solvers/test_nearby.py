"""Squared losses near a point: certificates against fractions, and how often rows are read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.data import Rows, blocks
from discreet.data import second_sums as module
from discreet.data.blocks import slices
from discreet.data.cluster.spread import Spread
from discreet.data.cluster.workers import Held
from discreet.data.second_sums import SecondSums, has_second_sums, second_sums
from discreet.losses import Clipped, Huber, Logistic, Loss, Squared
from discreet.solvers import newton
from discreet.solvers.minimize import minimise
from discreet.solvers.nearby import Nearby, nearby
from discreet.solvers.objective import Objective

LOSSES: list[Loss] = [Squared(), Clipped(loss=Squared(), clip=0.8)]
IDS = ["squared", "clipped"]


def made(loss: Loss, n: int, p: int, *, weighted: bool = True, kind: Any = np.float64) -> Rows:
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(n, p)) / np.sqrt(p)).astype(kind)
    X[1] = 0.0
    y = X @ np.ones(p) + rng.normal(size=n) * 0.4
    weight = rng.choice([0.0, 0.5, 1.0], n) if weighted else np.ones(n)
    rows = Rows(X, y, weight)
    rows.y = loss.attach(y.astype(np.float64), rows.norms)
    return rows


def exactly(objective: Objective, w: np.ndarray) -> list[Fraction]:
    """The real gradient."""
    rows, at = objective.rows, [Fraction(v) for v in w.tolist()]
    total = [Fraction(v) for v in objective.linear.tolist()]
    total = [t + Fraction(objective.strength) * v for t, v in zip(total, at, strict=True)]
    for i in range(rows.n_rows):
        x = [Fraction(float(v)) for v in rows.X[i]]
        own = np.atleast_1d(rows.y[i]).tolist()
        slope = sum((a * b for a, b in zip(x, at, strict=True)), Fraction(0)) - Fraction(own[0])
        if len(own) == 2:
            slope = max(-Fraction(own[1]), min(Fraction(own[1]), slope))
        slope *= Fraction(float(rows.weight[i]))
        total = [t + slope * v for t, v in zip(total, x, strict=True)]
    return total


def off(found: np.ndarray, real: list[Fraction]) -> float:
    square = sum((Fraction(a) - b) ** 2 for a, b in zip(found.tolist(), real, strict=True))
    return float(square) ** 0.5


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_certificates_hold_in_exact_arithmetic(loss: Loss, weighted: bool, kind: Any) -> None:
    rng = np.random.default_rng(3)
    rows = made(loss, 300, 4, weighted=weighted, kind=kind)
    whole = Objective(rows, loss, rng.normal(size=4), 0.7)
    centre = np.ones(4) + rng.normal(size=4) / 50
    close = nearby(whole, centre, lambda gradient: np.full(4, 0.02))
    assert close is not None
    assert close.radius == pytest.approx(0.08)
    if loss is not LOSSES[0]:
        assert 0 < close.sums.active.n_rows < 75
    for size in (0.0, 1e-9, 0.02, 0.0399):
        w = centre + size * rng.choice([-1.0, 1.0], 4)
        gradient, error = close.certified(w, 1e-9)
        true = off(gradient, exactly(whole, w))
        assert true <= error <= 1e-11
        # A bound that is 1e4 times too small would be refused.
        assert not true <= error / 1e4
        np.testing.assert_allclose(close.hessian(w), whole.hessian(w), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("change", ["crossing", "moments"])
def test_a_wrong_sum_is_caught(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above sees rows that cross unnoticed, and one row's moments too few."""

    def wrong(rows: Rows, centre: np.ndarray, radius: float) -> SecondSums | None:
        if change == "crossing":
            return second_sums(rows, centre, 0.0)
        found = second_sums(rows, centre, radius)
        assert found is not None
        x = rows.X[5]
        return found._replace_matrix(found.matrix - np.outer(x, x))  # type: ignore[attr-defined]

    def replaced(self: SecondSums, matrix: np.ndarray) -> SecondSums:
        return SecondSums(matrix, self.mass, self.error, self.active)

    monkeypatch.setattr(SecondSums, "_replace_matrix", replaced, raising=False)
    monkeypatch.setattr("discreet.solvers.nearby.second_sums", wrong)
    loss = LOSSES[1]
    whole = Objective(made(loss, 300, 4, weighted=False), loss, np.zeros(4), 0.7)
    close = nearby(whole, np.ones(4), lambda gradient: np.full(4, 0.02))
    assert close is not None
    w = np.ones(4) + 0.0399
    gradient, error = close.certified(w, 1e-9)
    assert off(gradient, exactly(whole, w)) > 1e6 * error


def test_outside_the_ball_and_where_bounds_are_coarse_all_rows_are_read() -> None:
    loss = LOSSES[1]
    whole = Objective(made(loss, 300, 4), loss, np.zeros(4), 0.7)
    close = nearby(whole, np.ones(4), lambda gradient: np.full(4, 0.02))
    assert close is not None
    for w, enough in ((np.ones(4) * 1.2, 1e-9), (np.ones(4) * 1.02, 0.0)):
        found, expected = close.certified(w, enough), whole.certified(w, enough)
        np.testing.assert_array_equal(found[0], expected[0])
        assert found[1] == expected[1]
    far = np.ones(4) * 1.2
    np.testing.assert_array_equal(close.hessian(far), whole.hessian(far))


def test_rows_of_which_many_may_cross_are_read_as_usual() -> None:
    loss = LOSSES[1]
    whole = Objective(made(loss, 300, 4), loss, np.zeros(4), 0.7)
    assert nearby(whole, np.ones(4), lambda gradient: np.full(4, 5.0)) is None
    assert nearby(whole, np.ones(4), lambda gradient: np.full(4, np.nan)) is None
    # Without caps no row is active, however far one goes.
    plain = Objective(made(LOSSES[0], 300, 4), LOSSES[0], np.zeros(4), 0.7)
    assert isinstance(nearby(plain, np.ones(4), lambda gradient: np.full(4, 5.0)), Nearby)


def test_it_is_for_squared_losses_of_few_columns() -> None:
    wide = Rows(np.zeros((5, module.MOST_COLUMNS + 1)), np.ones(5))
    few = Rows(np.zeros((5, module.MOST_COLUMNS)), np.ones(5))
    assert has_second_sums(few, Squared())
    assert not has_second_sums(wide, Squared())
    assert not has_second_sums(few, Huber())
    assert not has_second_sums(few, Logistic())


@pytest.mark.parametrize("loss", LOSSES, ids=IDS)
def test_a_minimiser_takes_one_certificate_over_all_rows(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, read = made(loss, 20_000, 3), []

    def watch(name: str, method: Any) -> None:
        def counted(self: Rows, *given: Any, **more: Any) -> Any:
            read.append(self.n_rows)
            return method(self, *given, **more)

        monkeypatch.setattr(Rows, name, counted)

    for name in ("certified_gradient", "objective", "hessian"):
        watch(name, getattr(Rows, name))
    options = {"linear": np.ones(3), "strength": 0.5, "tolerance": 1e-9}
    found = minimise(rows, loss, **options)  # type: ignore[arg-type]
    assert read.count(20_000) == 1
    gradient = Objective(rows, loss, np.ones(3), 0.5).certified(found)
    assert np.linalg.norm(gradient[0]) + gradient[1] <= 1.01e-9
    monkeypatch.setattr(newton, "nearby", lambda *given: None)
    usual = minimise(rows, loss, **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, usual, rtol=0, atol=4e-9)


def checked(whole: Objective, close: Nearby | None, w: np.ndarray) -> None:
    """Compare a certificate from second moments with the real gradient."""
    assert close is not None
    gradient, error = close.certified(w, 1e-6)
    # It is none of all rows, whose bound is another.
    assert error != whole.certified(w)[1]
    assert off(gradient, exactly(whole, w)) <= error


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_rows_that_cross_at_the_edge_of_the_ball_are_seen(side: float) -> None:
    """One row leaves its cap and another comes within it, both in the outer half of the ball."""
    X, reach = np.ones((8, 1)), 0.5
    caps = Clipped(loss=Squared(), clip=1.0).attach(np.zeros(8), np.ones(8))[:, 1]
    rows = Rows(X, np.zeros(8))
    rows.y = np.column_stack([np.zeros(8), caps])
    rows.y[0, 0] = side * (0.75 * reach - 1.0)
    rows.y[1, 0] = side * (0.9 * reach + 1.0)
    whole = Objective(rows, LOSSES[1], np.zeros(1), 0.0)
    close = nearby(whole, np.zeros(1), lambda gradient: np.full(1, reach / 2))
    checked(whole, close, np.array([side * 0.99 * reach]))


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_what_moments_lose_is_in_the_certificate(
    weight: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All moments but the first are lost, and the bound is not far above that."""
    monkeypatch.setattr(module, "block_rows", lambda p: 1)
    X = np.full((200, 1), np.sqrt(0.9 * 2.0**-53))
    X[0] = 1.0
    whole = Objective(Rows(X, np.zeros(200), np.full(200, weight)), Squared(), np.zeros(1), 0.0)
    close = nearby(whole, np.zeros(1), lambda gradient: np.full(1, 0.5))
    checked(whole, close, np.array([0.9]))
    assert close is not None
    np.testing.assert_array_equal(close.sums.matrix, [[weight]])


def test_what_the_gradient_at_the_centre_loses_is_in_the_certificate() -> None:
    """Every slope is computed as zero, and all are off to the same side."""
    X, centre = np.full((100, 1), 1 / 3), np.array([1e5 / 7])
    whole = Objective(Rows(X, X @ centre), Squared(), np.zeros(1), 0.0)
    assert exactly(whole, centre)[0] != 0
    assert not whole.evaluate(centre)[1].any()
    found = module.second_sums(whole.rows, centre, 1.0)
    assert found is not None
    data, error = whole.rows.certified_gradient(Squared(), centre)
    checked(whole, Nearby(*vars(whole).values(), centre, 1.0, data, error, found), centre)


def test_what_rows_that_may_cross_lose_is_in_the_certificate() -> None:
    """The only long row has a slope of zero but for rounding, at both ends of a long step."""
    X = np.full((4, 2), 1e-8)
    X[0] = 1 / 3, 1 / 7
    rows, loss = Rows(X, np.zeros(4)), Clipped(loss=Squared(), clip=0.05)
    rows.y = loss.attach(rows.y, rows.norms)
    whole = Objective(rows, loss, np.zeros(2), 0.0)
    close = nearby(whole, np.zeros(2), lambda gradient: np.array([0.5, 0.0]) * 1e5)
    assert close is not None
    assert close.sums.active.n_rows == 1
    checked(whole, close, np.array([38e3, -38e3 * 7 / 3]))


class Crew:
    """A crew in this process."""

    def __init__(self, rows: Rows) -> None:
        cuts = slices(rows.n_rows, rows.shard)
        self._held = [Held(rows.take(np.arange(s.start, s.stop)), None) for s in cuts]
        self.facts = [held.facts() for held in self._held]

    def ask(self, method: str, *asked: Any, each: Any = None) -> list[Any]:
        own = [()] * len(self._held) if each is None else [(one,) for one in each]
        return [
            getattr(held, method)(*first, *asked)
            for held, first in zip(self._held, own, strict=True)
        ]


@pytest.mark.parametrize("loss", [*LOSSES, Huber()], ids=[*IDS, "huber"])
def test_rows_that_workers_keep_have_the_same_minimisers(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SHARD", 512)
    rows = made(loss, 2000, 3)
    spread = Spread(Crew(rows), *rows.X.shape, 512)  # type: ignore[arg-type]
    if loss in LOSSES:
        far, near = (second_sums(each, np.ones(3), 0.05) for each in (spread, rows))
        assert far is not None
        assert near is not None
        np.testing.assert_array_equal(far.matrix, near.matrix)
        np.testing.assert_array_equal(far.active.X, near.active.X)
        assert (far.mass, far.error) == (near.mass, near.error)
    options = {"linear": np.ones(3), "strength": 0.5, "tolerance": 1e-9}
    found, here = (minimise(each, loss, **options) for each in (spread, rows))  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, here)


def test_so_many_active_rows_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = LOSSES[1]
    whole = Objective(made(loss, 300, 4), loss, np.zeros(4), 0.7)
    assert nearby(whole, np.ones(4), lambda gradient: np.full(4, 0.02)) is not None
    monkeypatch.setattr(module, "MOST_VALUES", 4)
    assert nearby(whole, np.ones(4), lambda gradient: np.full(4, 0.02)) is None
