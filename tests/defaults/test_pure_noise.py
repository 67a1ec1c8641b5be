"""Pure noise where it is smaller than Gaussian noise, for releases that stand alone."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from discreet import Ledger, PrivateBounds, PrivateLinearSVC
from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import (
    NoisyGradient,
    ObjectivePerturbation,
    OutputPerturbation,
    RecentredPerturbation,
)
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.defaults.case import Case
from discreet.defaults.pure_noise import LEFT, TAKEN, with_least_noise
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.losses import HuberisedHinge, Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import Ridge

BUDGET = Budget(1.0, 1e-6)


def problem(p: int, strength: float = 200.0, n_rows: int = 20_000, **stated: Any) -> Problem:
    return Problem(
        loss=HuberisedHinge(width=0.5),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=p,
        n_rows=n_rows,
        regularizer=Ridge(strength=strength),
        **stated,
    )


@pytest.mark.parametrize("budget", [BUDGET, Budget(0.1, 1e-6), Budget(8.0, 1e-6)])
def test_output_noise_is_pure_exactly_where_it_is_smaller(budget: Budget) -> None:
    sigma = gaussian_multiplier(budget.epsilon, budget.delta)
    crossing = (budget.epsilon * sigma) ** 2 - 1
    for p in (2, math.floor(crossing - 0.5), math.ceil(crossing + 0.5), 60):
        case = Case(problem(p), budget)
        usual = OutputPerturbation().plan(case.problem, budget)
        found, why = with_least_noise(case, usual)
        assert (found.guarantee.delta == 0.0) == (p < crossing)
        assert why == (TAKEN if p < crossing else "")
        assert found.guarantee.epsilon == budget.epsilon


def test_the_plan_says_which_noise_and_why() -> None:
    given = problem(6, 0.0, n_rows=100_000)
    alone = recommend(given, BUDGET)
    assert alone.guarantee.delta == 0.0
    assert "gamma noise scale" in alone.facts()
    assert TAKEN in str(alone)
    shared = recommend(given, BUDGET, Asked(alone=False))
    assert shared.guarantee.delta == 1e-6
    assert LEFT in str(shared)
    many = recommend(problem(60, 0.0), BUDGET)
    assert many.guarantee.delta == 1e-6
    assert "pure noise" not in str(many)


def test_without_a_delta_and_with_several_draws_nothing_changes() -> None:
    case = Case(replace(problem(3, 0.0), loss=Logistic()), BUDGET)
    for kind in (NoisyGradient, RecentredPerturbation):
        plan = kind().plan(case.problem, BUDGET)
        assert with_least_noise(case, plan) == (plan, "")
    pure = Case(problem(3), Budget(1.0))
    once = ObjectivePerturbation().plan(pure.problem, pure.budget)
    assert with_least_noise(pure, once) == (once, "")


def test_pure_noise_keeps_the_guess_of_the_norm() -> None:
    case = Case(problem(6, 0.0, n_rows=100_000), BUDGET)
    usual = ObjectivePerturbation(norm_guess=5.0).plan(case.problem, BUDGET)
    found, why = with_least_noise(case, usual)
    assert why == TAKEN
    assert found == case.planned(ObjectivePerturbation(norm_guess=5.0, noise="gamma"))


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OutputPerturbation])
def test_pure_noise_by_name_is_the_run_without_a_delta(kind: Any) -> None:
    named, pure = (
        kind(noise="gamma").plan(problem(4), BUDGET),
        kind().plan(problem(4), Budget(1.0)),
    )
    assert named.facts() == pure.facts()
    assert named.guarantee == pure.guarantee
    # privacy: what is claimed is what the event costs.
    assert named.guarantee.event.delta(1.0) == 0.0
    assert kind(noise="gaussian").plan(problem(4), BUDGET).guarantee.delta == 1e-6
    with pytest.raises(Incompatible, match="needs delta"):
        kind(noise="gaussian").plan(problem(4), Budget(1.0))
    with pytest.raises(InvalidParameter, match="noise must be one of"):
        kind(noise="cauchy").plan(problem(4), BUDGET)


def model(**stated: Any) -> PrivateLinearSVC:
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    return PrivateLinearSVC(bounds=bounds, delta=1e-6, **stated)


def rows(n: int = 20_000) -> tuple[Any, Any]:
    X = np.random.default_rng(0).uniform(-1, 1, size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


def test_what_shares_its_budget_keeps_gaussian_noise(tmp_path: Path) -> None:
    X, y = rows()
    assert model().plan(3, len(X)).guarantee.delta == 0.0
    assert model().fit(X, y).guarantee_.delta == 0.0
    ledger = Ledger.create(tmp_path / "book", dataset="d", epsilon=9.0, delta=1e-3)
    assert model(ledger=ledger).plan(3, len(X)).guarantee.delta == 1e-6
    assert model(ledger=ledger).fit(X, y).guarantee_.delta == 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a search costs
        search = GridSearchCV(model(), {"fit_intercept": [True]}, cv=2).fit(X, y)
        steps = make_pipeline(PrivateBounds(epsilon=0.5), model()).fit(X, y)
        rest = OneVsRestClassifier(model()).fit(X, y + (X[:, 1] > 0))
        votes = VotingClassifier([("a", model()), ("b", model())]).fit(X, y)
    assert {m.guarantee_.delta for m in (*rest.estimators_, *votes.estimators_)} == {1e-6}
    assert search.best_estimator_.guarantee_.delta == 1e-6
    assert steps[-1].guarantee_.delta == 1e-6
    assert make_pipeline(model()).fit(X, y)[-1].guarantee_.delta == 0.0
    private = PrivateLinearSVC(bounds=Bounds(features="private", classes=(0, 1)))
    assert private.plan(3, len(X)).guarantee.delta > 0.0


def test_fits_of_several_classes_share_their_budget() -> None:
    three = PrivateLinearSVC(bounds=Bounds(row_norm=1.0, classes=(0, 1, 2))).plan(3, 20_000)
    assert three.guarantee.delta == 1e-6
    assert LEFT in str(three)
    two = PrivateLinearSVC(bounds=Bounds(row_norm=1.0, classes=(0, 1))).plan(3, 20_000)
    assert two.guarantee.delta == 0.0


def test_a_file_may_claim_no_delta_only_where_the_noise_is_pure() -> None:
    fitted = model(random_state=0).fit(*rows())
    saved = fitted.to_dict()
    loaded = type(fitted).from_dict(saved)
    assert loaded.guarantee_.delta == 0.0
    fitted.settings_ = {}
    with pytest.raises(InvalidData, match="not the one of the model's epsilon"):
        fitted.to_dict()


@pytest.mark.parametrize(("p", "pure"), [(3, True), (40, False)])
def test_the_choice_is_the_better_one_on_data(p: int, pure: bool) -> None:
    rng = np.random.default_rng(p)
    n, loss = 4000, HuberisedHinge(width=0.5)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X[:, 0] + 0.2 * rng.normal(size=n) > 0).astype(int)
    given = Problem(loss=loss, bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=p, n_rows=n)
    found = {}
    for kind in ("gamma", "gaussian"):
        plan = ObjectivePerturbation(noise=kind).plan(given, BUDGET)  # type: ignore[arg-type]
        risks = [
            loss.value(X @ plan.run(ArraySource(X, y), Seeded(i)).weights, 2.0 * y - 1).mean()
            for i in range(12)
        ]
        found[kind] = float(np.mean(risks))
    assert (found["gamma"] < found["gaussian"]) == pure
    usual = ObjectivePerturbation().plan(given, BUDGET)
    assert (with_least_noise(Case(given, BUDGET), usual)[1] == TAKEN) == pure
