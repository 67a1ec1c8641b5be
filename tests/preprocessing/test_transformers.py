"""What all private transformers promise: plans, guarantees, ledgers, frames, pipelines."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import (
    Bounds,
    Ledger,
    PrivateBounds,
    PrivateCategories,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateStandardScaler,
)
from discreet.accounting.theorems import THEOREMS
from discreet.errors import (
    BudgetExceeded,
    Incompatible,
    InvalidData,
    InvalidParameter,
    MissingBound,
    TooFewRows,
)

RELATIONS = ("zero-out", "replace-one", "add-remove")
NUMBERS = np.random.default_rng(0).normal([40.0, -3.0], [10.0, 1.0], size=(3000, 2))
FRAME = pd.DataFrame(NUMBERS, columns=["age", "score"])
WORDS = pd.DataFrame({"job": ["office", "field", "sea"] * 1000, "site": ["a"] * 2999 + ["rare"]})
RANGES = {"age": (0, 100), "score": (-10, 10)}


def transformers(**settings: Any) -> list[tuple[Any, Any]]:
    """Return every transformer with the table it is for."""
    return [
        (PrivateBounds(**settings), FRAME),
        (PrivateCategories(**settings), WORDS),
        (PrivateStandardScaler(bounds=Bounds(features=RANGES), **settings), FRAME),
        (PrivatePCA(bounds=Bounds(features=RANGES), **settings), FRAME),
    ]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("which", range(4))
def test_a_fit_promises_what_was_planned(which: int, relation: str) -> None:
    made, table = transformers(neighbours=relation, n_rows=3000, random_state=0)[which]
    plan = made.plan(2, 3000)
    fitted = made.fit(table)
    assert fitted.guarantee_.event == plan.guarantee.event
    assert fitted.guarantee_.epsilon == made.epsilon
    assert fitted.guarantee_.neighbours == relation
    assert not fitted.guarantee_.secure
    assert fitted.guarantee_.event.delta(made.epsilon * (1 + 1e-9)) <= made.delta * 1.0001
    assert all(name in THEOREMS for name in plan.guarantee.theorem.split("; "))
    assert "epsilon = 1" in str(plan)


@pytest.mark.parametrize("which", range(4))
def test_frames_come_in_and_go_out(which: int) -> None:
    made, table = transformers()[which]
    out = made.set_output(transform="pandas").fit_transform(table)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == made.get_feature_names_out().tolist()
    assert len(out) == len(table)
    again = pickle.loads(pickle.dumps(made)).transform(table)
    assert (again.to_numpy() == out.to_numpy()).all()
    assert not hasattr(clone(made), "guarantee_")


@pytest.mark.parametrize("which", range(4))
def test_a_ledger_is_charged_before_rows_are_used(which: int, tmp_path: Path) -> None:
    address = tmp_path / "t.ledger"
    ledger = Ledger.create(address, dataset="d", epsilon=1.9, delta=1.6e-5, policy="basic")
    made, table = transformers(ledger=ledger)[which]
    made.fit(table)
    [entry] = ledger.history()
    assert entry.model == type(made).__name__
    with pytest.raises(BudgetExceeded):
        made.fit(table)
    assert not hasattr(made, "guarantee_")


def test_ranges_hold_nearly_all_values() -> None:
    ranges = PrivateBounds(epsilon=1.0, random_state=0).fit(FRAME)
    inside = (ranges.low_ < NUMBERS) & (ranges.high_ > NUMBERS)
    assert (inside.mean(axis=0) > 0.97).all()
    assert ranges.high_[0] < 100
    assert ranges.low_[0] > 0
    assert ranges.bounds_.names == ("age", "score")
    assert ranges.transform(FRAME).max() <= ranges.high_.max()


def test_declared_ends_cost_nothing_and_stay() -> None:
    ranges = PrivateBounds(low={"age": 0}, high=[None, 0.0], random_state=0)
    assert len(ranges.fit(FRAME).guarantee_.event.events) == 2
    assert (ranges.low_[0], ranges.high_[1]) == (0.0, 0.0)
    with pytest.raises(InvalidParameter, match="does not have"):
        PrivateBounds(low={"size": 0}).fit(FRAME)
    with pytest.raises(InvalidParameter, match="No column"):
        PrivateBounds(low=0, high=1).fit(FRAME)


def test_scaled_ranges_go_on_to_a_model() -> None:
    y = (NUMBERS[:, 0] > 40).astype(int)
    model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(0, 1)))
    pipe = make_pipeline(PrivateBounds(scale=True, random_state=0), model).fit(NUMBERS, y)
    assert np.abs(pipe[0].transform(NUMBERS)).max() <= 1.0
    assert (pipe.predict(NUMBERS) == y).mean() > 0.9


def test_missing_values_are_refused_or_count_for_nothing() -> None:
    lost = FRAME.copy()
    lost.loc[::5, "age"] = np.nan
    with pytest.raises(InvalidData, match="missing"):
        PrivateBounds().fit(lost)
    ranges = PrivateBounds(missing="blank", random_state=0).fit(lost)
    assert 60 < ranges.high_[0] < 90
    assert np.isnan(ranges.transform(lost)).sum() == 600
    scaler = PrivateStandardScaler(
        bounds=Bounds(features=RANGES), missing="blank", random_state=0
    ).fit(lost)
    assert scaler.mean_ == pytest.approx([40.0, -3.0], abs=1.0)
    assert np.isnan(scaler.transform(lost)).sum() == 600


def test_rare_values_become_other() -> None:
    encoder = PrivateCategories(random_state=0).fit(WORDS)
    assert encoder.categories_ == [("field", "office", "sea", "other"), ("a", "other")]
    out = encoder.transform(WORDS)
    assert (out.sum(axis=1) == 2).all()
    assert out[-1].tolist() == [0, 0, 1, 0, 0, 1]
    turned = PrivateCategories(random_state=0).fit(WORDS[::-1])
    assert turned.categories_ == encoder.categories_
    arrays = PrivateCategories(random_state=0).fit(WORDS.to_numpy())
    assert arrays.get_feature_names_out()[0] == "x0=field"
    with pytest.raises(InvalidData, match="expecting 2 features"):
        arrays.transform(WORDS.to_numpy()[:, :1])
    with pytest.raises(Incompatible, match="delta"):
        PrivateCategories(delta=0.0).fit(WORDS)


def test_scaled_rows_have_unit_columns_and_a_public_norm() -> None:
    scaler = PrivateStandardScaler(bounds=Bounds(features=RANGES), random_state=0).fit(FRAME)
    assert scaler.scale_ == pytest.approx([10.0, 1.0], rel=0.2)
    out = scaler.transform(FRAME)
    assert np.linalg.norm(out, axis=1).max() <= np.sqrt(2) * (1 + 1e-12)
    assert scaler.bounds_ == Bounds(row_norm=np.sqrt(2))
    with pytest.raises(MissingBound, match="PrivateBounds"):
        PrivateStandardScaler().fit(FRAME)


@pytest.mark.filterwarnings("error::discreet.errors.TooFewRows")
@pytest.mark.parametrize("which", range(4))
def test_too_few_rows_are_said_by_public_facts(which: int) -> None:
    made, _ = transformers()[which]
    made.plan(2, 3000)
    with pytest.raises(TooFewRows):
        made.plan(2, 10)


def test_add_remove_needs_a_declared_size_where_the_noise_does() -> None:
    PrivateBounds(neighbours="add-remove", random_state=0).fit(FRAME)
    with pytest.raises(MissingBound, match="n_rows"):
        PrivatePCA(neighbours="add-remove", bounds=Bounds(row_norm=1.0)).fit(FRAME)
