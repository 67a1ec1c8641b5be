"""``rehearse``: made-up rows follow what is declared, and scores are those of real plans."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from discreet import (
    Boolean,
    Bounds,
    Categories,
    Date,
    Ledger,
    Ordinal,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivatePoissonRegressor,
    PrivateRidge,
    Range,
    Schema,
    rehearse,
)
from discreet.errors import Incompatible, InvalidParameter
from discreet.rehearsal.made_up import World

SCHEMA = Schema(
    {
        "age": Range(18, 90),
        "job": Categories(["office", "field", "none"], missing="indicator"),
        "grade": Ordinal(["low", "middle", "high"]),
        "since": Date("2020-01-01", "2021-01-01"),
        "smoker": Boolean(),
        "ill": Boolean(),
        "cost": Range(0, 1000),
    }
)


def world(model: Any, signal: float, share: float = 0.5) -> World:
    width = len(SCHEMA.names(model.target)) if model.schema is not None else 4
    return World(model, width, signal, share, np.random.default_rng(0))


def test_rows_follow_the_schema_and_have_the_declared_signal():
    made = world(PrivateLogisticRegression(schema=SCHEMA, target="ill"), 0.75, 0.1)
    X, y, best = made.draw(40_000)
    ranges = np.array(SCHEMA.bounds_for("ill").features)
    assert (ranges[:, 0] <= X).all()
    assert (ranges[:, 1] >= X).all()
    names = SCHEMA.names("ill")
    one = X[:, [names.index(f"job={job}") for job in ("office", "field", "none")]]
    assert (one.sum(axis=1) == 1).all()
    assert set(X[:, names.index("grade")]) == {-1.0, 0.0, 1.0}
    # Deviations of these over draws: 0.005 and 0.0015, besides those of the pilot.
    assert roc_auc_score(y, best[:, 1]) == pytest.approx(0.75, abs=0.03)
    assert y.mean() == pytest.approx(0.1, abs=0.01)


def test_the_truth_of_a_regression_has_the_declared_r2():
    made = world(PrivateRidge(schema=SCHEMA, target="cost"), 0.3)
    _, y, best = made.draw(40_000)
    assert 1 - np.mean((y - best) ** 2) / np.var(y) == pytest.approx(0.3, abs=0.03)
    assert y.min() >= 0
    assert y.max() <= 1000


def test_noise_is_told_from_signal_in_words_and_numbers():
    model = PrivateLogisticRegression(schema=SCHEMA, target="ill")
    told: list[str] = []
    found = rehearse(model, 2000, epsilons=(0.001, 3.0), repeats=2, progress=told.append)
    assert found.verdict(0.001) == "no better than guessing"
    assert found.verdict(3.0) == "nearly all that the rows can tell"
    assert 0.9 < found.kept(3.0) <= 1.02
    assert told[-1] == "rehearsing: fit 4 of 4"
    text = str(found)
    assert "no data was read" in text
    assert "no better than guessing" in text
    assert {"accuracy", "auc", "log_loss"} == set(found.best)
    assert found.to_dict()["scores"]["3"]["auc"] == found.scores[3.0]["auc"]
    again = rehearse(model, 2000, epsilons=(0.001, 3.0), repeats=2)
    assert again.scores == found.scores


def test_scores_are_those_of_the_fit_itself():
    model = PrivateRidge(bounds=Bounds(features=(0, 10), label=(0, 5)), epsilon=2.0)
    found = rehearse(model, 500, n_features=4, repeats=1, random_state=7)
    made = World(model, 4, 0.5, 0.5, np.random.default_rng([7, 0, 1]))
    train, test = made.draw(500), made.draw(4000)
    seed = int(np.random.default_rng([7, 0, 0, 2]).integers(2**62))
    fitted = PrivateRidge(
        bounds=Bounds(features=(0, 10), label=(0, 5)), epsilon=2.0, random_state=seed
    ).fit(train.X, train.y)
    assert found.scores[2.0]["r2"] == [pytest.approx(fitted.score(test.X, test.y))]


@pytest.mark.parametrize(
    ("model", "metric"),
    [
        (PrivateLinearSVC(bounds=Bounds(row_norm=1.0, classes=("a", "b", "c"))), "accuracy"),
        (PrivateLinearSVC(bounds=Bounds(row_norm=1.0, classes=(0, 1))), "auc"),
        (PrivatePoissonRegressor(bounds=Bounds(features=(-1, 1), label=(0, 20))), "r2"),
        (PrivateRidge(bounds=Bounds(row_norm=2.0, label=(0, 1)), neighbours="add-remove"), "r2"),
    ],
)
def test_models_of_every_kind_are_rehearsed(model, metric):
    found = rehearse(model, 3000, n_features=3, epsilons=(30.0,), repeats=1)
    assert found.main == metric
    assert found.kept(30.0) > 0.8


def test_rows_of_one_group_cost_what_a_fit_of_groups_costs():
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    alone, four = (
        rehearse(
            PrivateRidge(bounds=bounds, **more), 1500, n_features=5, epsilons=(0.5,), repeats=3
        )
        for more in ({}, {"rows_per_group": 4})
    )
    assert four.kept(0.5) < alone.kept(0.5) - 0.05


def test_nothing_is_read_or_charged(tmp_path, monkeypatch):
    model = PrivateLogisticRegression(schema=SCHEMA, target="ill")
    ledger = Ledger.create(tmp_path / "l.db", dataset="d", epsilon=1.0, delta=1e-5)
    model.set_params(ledger=ledger)
    monkeypatch.setattr(builtins, "open", lambda *_, **__: pytest.fail("a file is read"))
    rehearse(model, 200, repeats=1)
    monkeypatch.undo()
    assert not ledger.history()


def test_noise_has_nothing_to_do_with_the_made_up_rows():
    # At this budget a model is noise: were its random numbers those of the truth, it would win.
    model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    found = rehearse(model, 100, n_features=40, epsilons=(1e-3,), repeats=4)
    assert found.kept(1e-3) < 0.1


def test_what_cannot_be_rehearsed_is_refused():
    model = PrivateLogisticRegression(schema=SCHEMA, target="ill")
    with pytest.raises(Incompatible, match="classifiers and regressors"):
        rehearse(PrivateMedian(), 100)
    unknown = Schema.from_dict({"columns": {"a": {"range": "private"}, "b": {"range": [0, 1]}}})
    with pytest.raises(Incompatible, match="'a' to be learned"):
        rehearse(PrivateRidge(schema=unknown, target="b"), 100)
    with pytest.raises(InvalidParameter, match="signal"):
        rehearse(model, 100, signal=0.4)
    with pytest.raises(InvalidParameter, match="two gigabytes"):
        rehearse(model, 10**9)


def test_a_picture_is_drawn(tmp_path):
    model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    found = rehearse(model, 300, n_features=2, epsilons=(0.1, 1.0), repeats=2)
    found.plot(tmp_path / "r.png")
    assert (tmp_path / "r.png").stat().st_size > 5000
