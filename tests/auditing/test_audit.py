"""Audits raise no false alarm, and see what was planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from discreet import Bounds, Budget, PrivateRidge, audit
from discreet.accounting import Gaussian, Guarantee, Pure, gaussian_multiplier
from discreet.algorithms import ObjectivePerturbation, OutputPerturbation
from discreet.auditing import Pair, worst_pair
from discreet.auditing.statistic import is_plan
from discreet.bounds import NEIGHBOURS
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.losses import Absolute, Huber, Logistic, Quantile
from discreet.noise import Gaussian as GaussianNoise
from discreet.noise import Randomness
from discreet.problem import Problem
from discreet.problem import Release as Released


def problem(**changes: Any) -> Problem:
    given: dict[str, Any] = {
        "loss": Huber(threshold=0.05),
        "bounds": Bounds(row_norm=1.0, label=(-1, 1)),
        "n_features": 1,
        "n_rows": 2,
    }
    return Problem(**(given | changes))


class Sum:
    """An algorithm of one's own: the clipped sum of one column, plus Gaussian noise."""

    expected_excess = np.inf

    def __init__(self, budget: Budget, neighbours: Any = "zero-out", *, bug: float = 1.0) -> None:
        self.problem = problem(neighbours=neighbours, loss=Absolute())
        multiplier = gaussian_multiplier(budget.epsilon, budget.delta)
        self.scale = multiplier * (2 if neighbours == "replace-one" else 1) / bug
        self.clips = True
        self.totals: dict[int, float] = {}
        self.guarantee = Guarantee(
            epsilon=budget.epsilon,
            delta=budget.delta,
            neighbours=neighbours,
            event=Gaussian(multiplier),
            theorem="t",
        )

    def facts(self) -> dict[str, Any]:
        return {}

    def run(self, source: Any, random: Randomness) -> Released:
        if id(source) not in self.totals:  # twenty thousand runs sum the same rows
            rows = self.problem.bound(source)
            clipped = float((rows.X[:, 0] * rows.y * rows.weight).sum())
            raw = float(np.nansum(source.array[:, 0]))
            self.totals[id(source)] = clipped if self.clips else raw
        uniform = (int(random.words(1)[0]) + 0.5) / 2**64
        noise = self.scale * special.ndtri(uniform)
        return Released(np.array([self.totals[id(source)] + noise]), self.guarantee)


def test_an_algorithm_of_ones_own_is_a_plan() -> None:
    assert is_plan(Sum(Budget(1.0, 1e-6)))


@pytest.mark.parametrize("neighbours", list(NEIGHBOURS))
def test_the_exact_audit_shows_nearly_all_that_is_claimed(neighbours: Any) -> None:
    made = OutputPerturbation().plan(problem(neighbours=neighbours), Budget(2.0, 1e-6))
    report = audit(made, method="exact", runs=200)
    assert 1.8 < report.lower <= report.claim == 2.0
    assert report.confidence == 1.0
    assert not report.violated


def test_the_exact_audit_sees_a_tenth_less_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    made = OutputPerturbation().plan(problem(), Budget(2.0, 1e-6))
    draw = GaussianNoise.sample
    monkeypatch.setattr(GaussianNoise, "sample", lambda *args: 0.9 * draw(*args))
    assert audit(made, method="exact", runs=200).violated


def test_the_exact_audit_takes_runs_of_one_draw_only() -> None:
    wide = OutputPerturbation().plan(problem(n_features=2), Budget(2.0, 1e-6))
    with pytest.raises(Incompatible, match="draws one number; this one draws more"):
        audit(wide, method="exact", runs=100)


def test_null_scores_raise_no_alarm_more_often_than_confidence_allows() -> None:
    """Neighbours that are the same: any lower bound above 0 is false."""
    budget = Budget(1.0, 1e-6)
    alarms = 0
    for seed in range(400):
        plan = Sum(budget)
        same = ArraySource(np.zeros((2, 1)), np.zeros(2))
        pair = Pair(same, same, "the same twice", np.ones(1))
        alarms += audit(plan, pair=pair, runs=60, random_state=seed).lower > 0
    assert stats.binomtest(alarms, 400, 0.05, alternative="greater").pvalue > 1e-4


FAULTS = {
    "half the noise": Sum(Budget(1.0, 1e-6), bug=2.0),
    "a missing root of two": Sum(Budget(1.0, 1e-6), bug=2**0.5),
    "the noise of zero-out": Sum(Budget(1.0, 1e-6), "replace-one", bug=2.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_at_the_default_number_of_runs(fault: str) -> None:
    report = audit(FAULTS[fault], random_state=0)
    assert report.violated
    assert report.verdict == "violation"
    assert str(report).startswith("VIOLATION: 20,000 runs show epsilon >= ")


def test_a_row_that_is_not_clipped_is_caught() -> None:
    plan = Sum(Budget(1.0, 1e-6))
    plan.clips = False
    assert audit(plan, runs=200, random_state=0).violated


def test_a_sound_program_is_not_accused_at_the_default_number_of_runs() -> None:
    report = audit(Sum(Budget(1.0, 1e-6)), random_state=0)
    assert 0.5 < report.lower <= 1.0
    said = str(report)
    assert "20,000 runs found no violation" in said
    assert "per row under zero-out (95 %). An audit cannot prove privacy." in said


@pytest.mark.parametrize("method", ["fixed", "curve", "gdp"])
def test_no_method_shows_more_than_is_spent(method: str) -> None:
    report = audit(Sum(Budget(3.0, 1e-6)), runs=3000, method=method, random_state=3)
    assert 0 < report.lower <= 3.0


def test_a_point_of_the_curve_may_be_refuted_where_the_stated_one_is_not() -> None:
    half = replace(Sum(Budget(4.0, 1e-6), bug=2.0).guarantee, event=Pure(1.0), epsilon=9.0)
    report = audit(Sum(Budget(4.0, 1e-6), bug=2.0), claim=half, runs=1000, random_state=0)
    assert report.violated
    assert report.claim < 9.0


def test_one_run_shows_something_and_not_too_much() -> None:
    wide = problem(n_features=400, n_rows=400)
    made = OutputPerturbation().plan(wide, Budget(8.0, 1e-6))
    report = audit(made, method="one-run", random_state=0)
    assert 1.0 < report.lower <= 8.0
    assert report.runs == 1
    claim = OutputPerturbation().plan(wide, Budget(1.0, 1e-6)).guarantee
    assert audit(made, method="one-run", claim=claim, random_state=0).violated


def test_one_run_needs_room_for_its_canaries() -> None:
    with pytest.raises(Incompatible, match="at least 10 features"):
        audit(OutputPerturbation().plan(problem(), Budget(8.0, 1e-6)), method="one-run")


def test_an_estimator_is_audited_by_its_plan_or_by_its_fits() -> None:
    model = PrivateRidge(
        epsilon=2.0, bounds=Bounds(row_norm=1.0, label=(-1, 1)), fit_intercept=False,
        algorithm="output-perturbation",
    )  # fmt: skip
    assert not audit(model, n_features=1, n_rows=4, runs=100, random_state=0).violated
    X = np.zeros((4, 1))
    rows = np.vstack([[[1.0]], X[1:]])
    pair = ((rows, np.ones(4)), (X, np.ones(4)))
    assert not audit(model, pair=pair, runs=50, random_state=0).violated
    with pytest.raises(MissingBound, match="n_features"):
        audit(model)


def test_what_cannot_be_audited_is_refused_in_words() -> None:
    with pytest.raises(InvalidParameter, match="takes a plan"):
        audit(3)
    with pytest.raises(InvalidParameter, match="not the class"):
        audit(PrivateRidge)
    made = ObjectivePerturbation().plan(problem(), Budget(1.0, 1e-6))
    with pytest.raises(Incompatible, match="method='gdp' refutes Gaussian curves only"):
        audit(made, method="gdp")


@pytest.mark.parametrize("neighbours", list(NEIGHBOURS))
@pytest.mark.parametrize("loss", [Logistic(), Huber(), Quantile(quantile=0.8)])
@pytest.mark.parametrize("bounds", [{"row_norm": 2.0}, {"features": (0, 10)}])
def test_the_canary_pulls_as_hard_as_the_bounds_allow(
    neighbours: Any, loss: Any, bounds: Any
) -> None:
    of = problem(
        loss=loss,
        bounds=Bounds(**bounds, label=(-1, 1), classes=(0, 1)),
        neighbours=neighbours,
        n_features=2,
    )
    pair = worst_pair(of)
    assert pair.direction is not None
    size = float(np.linalg.norm(pair.direction))
    steepest = abs(loss.slope(np.zeros(2), np.array([1.0, -1.0]))).max()
    along = 2.0 if "row_norm" in bounds else 1.0
    both = neighbours == "replace-one"
    assert size >= along * steepest * (1.25 if both else 1) - 1e-9
    rows = of.bound(pair.first)
    assert rows.norms.max() <= of.row_norm * (1 + 1e-12)
    if neighbours == "zero-out":
        assert of.bound(pair.second).weight[0] == 0.0
    if neighbours == "add-remove":
        assert pair.second.n_rows == pair.first.n_rows - 1
