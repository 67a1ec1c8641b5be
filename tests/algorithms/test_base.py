"""What a problem refuses before any plan is made, and what the choice of an algorithm refuses."""

from __future__ import annotations

from typing import Any

import pytest

from discreet import PrivateHuberRegressor, PrivateRidge, PrivateSGDClassifier
from discreet.accounting import Budget
from discreet.algorithms import Problem, choose
from discreet.errors import DiscreetError, Incompatible, InvalidParameter
from discreet.losses import Huber, Logistic, Softmax
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
from discreet.types import Bounds

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
    given: dict[str, Any] = {"algorithm": "auto", "problem": problem(), "budget": Budget(1.0)}
    with pytest.raises(InvalidParameter, match=match):
        choose(**given | changes)
    if isinstance(changes.get("algorithm"), PrivateRidge):
        with pytest.raises(InvalidParameter, match=match):
            PrivateHuberRegressor(bounds=BOUNDS, **changes).plan(3, 1000)
