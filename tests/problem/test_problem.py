"""What a problem refuses before any plan is made, and what the choice of an algorithm refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet import PrivateHuberRegressor, PrivateRidge, PrivateSGDClassifier
from discreet.accounting import Budget, Guarantee, Pure
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.errors import DiscreetError, Incompatible, InvalidParameter
from discreet.losses import Huber, Logistic, Loss, Poisson, Softmax, Squared
from discreet.noise import Seeded, System
from discreet.problem import Problem, with_randomness
from discreet.regularizers import L1, Group, Indicator, Nuclear, Regularizer
from discreet.sets import (
    Box,
    ConvexSet,
    GroupBall,
    Intersection,
    L2Ball,
    NuclearBall,
    Simplex,
    VertexPolytope,
)

BOUNDS = Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1, 2))


def problem(**changes: Any) -> Problem:
    facts: dict[str, Any] = {"loss": Huber(), "bounds": BOUNDS, "n_features": 3, "n_rows": 1000}
    return Problem(**facts | changes)


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "logistic"},
        {"loss": Logistic},
        {"bounds": None},
        {"bounds": {"row_norm": 1.0}},
        {"constraint": 1.0},
        {"constraint": None},
        {"regularizer": "l1"},
    ],
)
def test_parts_of_another_kind_are_refused(change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(InvalidParameter, match=rf"^{name} must be an instance of .* such as "):
        problem(**change)


UNFIT: list[ConvexSet | Regularizer] = [
    NuclearBall(radius=1.0),
    Box(low=(0.0, 0.0)),  # as many as divide the weights
    GroupBall(radius=1.0, groups=(0, 1)),
    VertexPolytope(points=((0.0, 0.0), (1.0, 1.0))),
    Intersection(sets=(L2Ball(radius=1.0), Box(low=2.0, high=3.0))),
    Nuclear(),
    Group(groups=(0, 1)),
    Indicator(constraint=NuclearBall(radius=1.0)),
]


@pytest.mark.parametrize("part", UNFIT, ids=lambda part: part.name)
def test_sets_and_penalties_of_other_weights_are_refused_without_data(part: Any) -> None:
    place = "constraint" if isinstance(part, ConvexSet) else "regularizer"
    with pytest.raises((Incompatible, InvalidParameter)):
        problem(**{place: part, "intercept": 1.0})
    with pytest.raises((Incompatible, InvalidParameter)):
        PrivateHuberRegressor(bounds=BOUNDS, **{place: part}).plan(3, 1000)


@pytest.mark.parametrize(
    "part",
    [
        Box(low=(0.0,) * 4),
        GroupBall(radius=1.0, groups=(0, 0, 1, 1)),
        Simplex(),
        VertexPolytope(points=((0.0,) * 4, (1.0,) * 4)),
        L1(),
        Group(groups=(0, 0, 1, 1)),
    ],
    ids=lambda part: part.name,
)
def test_the_intercept_counts(part: Any) -> None:
    place = "constraint" if isinstance(part, ConvexSet) else "regularizer"
    assert problem(**{place: part, "intercept": 1.0}).shape == (4,)
    if part.name not in ("simplex", "l1"):
        with pytest.raises(DiscreetError):
            problem(**{place: part})


def test_matrices_have_nuclear_norms() -> None:
    loss = Softmax(n_classes=3)
    assert problem(loss=loss, constraint=NuclearBall(radius=1.0), intercept=1.0).shape == (4, 3)
    model = PrivateSGDClassifier(loss="softmax", constraint=NuclearBall(radius=1.0), bounds=BOUNDS)
    assert model.plan(3, 1000).problem.shape == (4, 3)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"budget": (1.0, 1e-6)}, r"^budget must be a Budget, such as .* Got tuple"),
        ({"problem": "logistic"}, "^problem must be a Problem. Got str"),
        ({"algorithm": PrivateRidge()}, "^algorithm must be .* Got a PrivateRidge"),
        ({"algorithm": PrivateRidge}, "^algorithm must be "),
    ],
)
def test_what_is_no_algorithm_problem_or_budget(changes: dict[str, Any], match: str) -> None:
    given: dict[str, Any] = {"problem": problem(), "budget": Budget(1.0)} | changes
    asked = Asked(algorithm=given.pop("algorithm", "auto"))
    with pytest.raises(InvalidParameter, match=match):
        recommend(**given, asked=asked)
    if isinstance(changes.get("algorithm"), PrivateRidge):
        with pytest.raises(InvalidParameter, match=match):
            PrivateHuberRegressor(bounds=BOUNDS, **changes).plan(3, 1000)


@pytest.mark.parametrize("loss", [Squared(), Huber(threshold=100.0), Poisson(limit=50.0)])
@pytest.mark.parametrize("intercept", [0.0, 2.0])
@pytest.mark.parametrize("row_norm", [0.2, 3.0])
def test_constants_hold_for_every_row_and_all_weights_of_a_set(
    loss: Loss, row_norm: float, intercept: float
) -> None:
    """Weights of the set times the longest rows are what predictions can be."""
    bounds = Bounds(row_norm=row_norm, label=(-1.0, 1.0), weight=2.5)
    task = problem(
        loss=loss, bounds=bounds, intercept=intercept, constraint=L2Ball(radius=1.5), n_rows=2
    )
    longest = row_norm * np.eye(3)[:2]
    rows = task.bound(ArraySource(longest, np.array([-1.0, 1.0]), np.full(2, 9.0)))
    steep, bent = 0.0, 0.0
    for x, label, weight in zip(rows.X, rows.y, rows.weight, strict=True):
        for side in (-1.0, 1.0):
            w = side * 1.5 * x / np.linalg.norm(x)
            z, y = np.array([x @ w]), np.array([label])
            steep = max(steep, float(weight * np.linalg.norm(loss.slope(z, y)[0] * x)))
            bent = max(bent, float(weight * loss.curvature(z, y)[0] * (x @ x)))
    assert steep <= task.terms.lipschitz <= (1 + 1e-9) * steep
    assert bent <= task.terms.smoothness <= (1 + 1e-9) * bent


def test_a_seal_never_makes_a_release_secure() -> None:
    made = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0), theorem="none")
    for secure in (True, False):
        given = replace(made, secure=secure)
        assert with_randomness(given, System()).secure == secure
        assert not with_randomness(given, Seeded(0)).secure
