"""Every estimator is charged before it reads rows, wherever it runs."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreet
from discreet import (
    AccuracyFirst,
    Bounds,
    Ledger,
    PrivateGeometricMedian,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateQuantile,
    PrivateRidge,
    PrivateSearch,
    PrivateSparseRegression,
    PrivateStreamClassifier,
    PrivateStreamRegressor,
)
from discreet.errors import BudgetExceeded, Incompatible, InvalidData, InvalidParameter, Uncounted
from discreet.estimators.shared import charging

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(400, 3))
Y = X @ [0.5, -0.2, 0.1]
LABELS = (Y > 0).astype(int)
REAL = Bounds(features=(-1, 1), label=(-1, 1))
CLASSES = Bounds(features=(-1, 1), classes=(0, 1))


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "x.ledger", dataset="d", epsilon=20.0, delta=1e-5)


def entries(ledger):
    return [(entry.state, entry.model) for entry in ledger.history()]


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (PrivateRidge(bounds=REAL), Y),
        (PrivateLogisticRegression(bounds=CLASSES), LABELS),
        (PrivateLinearSVC(bounds=CLASSES), LABELS),
        (PrivateSparseRegression(bounds=REAL, size=1), Y),
        (PrivateGeometricMedian(bounds=Bounds(features=(-1, 1))), None),
        (PrivateQuantile(bounds=Bounds(features=(-1, 1)), quantile=[0.2, 0.8]), None),
        (PrivateMedian(bounds=Bounds(features=(-1, 1))), None),
        (PrivateStreamClassifier(bounds=CLASSES), LABELS),
        (PrivateStreamRegressor(bounds=REAL, passes=2), Y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_fit_leaves_one_entry(ledger, model, y):
    model = clone(model).set_params(ledger=ledger).fit(X, y)
    assert entries(ledger) == [("spent", type(model).__name__)]
    [entry] = ledger.history()
    assert entry.guarantee == model.guarantee_
    assert entry.algorithm == model.algorithm_


def test_every_estimator_takes_a_ledger():
    names = [name for name in discreet.__all__ if name.startswith("Private")]
    models = [getattr(discreet, name)() for name in names if name != "PrivateSearch"]
    wrapped = [AccuracyFirst(PrivateRidge()), PrivateSearch(PrivateRidge(), {"alpha": [1.0]})]
    assert all("ledger" in model.get_params() for model in [*models, *wrapped])


def test_a_fit_that_does_not_fit_reads_nothing(ledger):
    model = PrivateRidge(epsilon=30.0, bounds=REAL, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    assert entries(ledger) == []
    assert not hasattr(model, "coef_")


def test_rows_that_fail_the_schema_cost_nothing_and_a_failed_run_costs_all(ledger, monkeypatch):
    model = PrivateRidge(bounds=REAL, ledger=ledger)
    with pytest.raises(InvalidData):
        model.fit(np.full_like(X, np.nan), Y)
    assert entries(ledger) == []
    plan = type(model.plan(3, 400))

    def broken(self, source, random):
        raise MemoryError

    monkeypatch.setattr(plan, "run", broken)
    with pytest.raises(MemoryError):
        model.fit(X, Y)
    assert entries(ledger) == [("spent", "PrivateRidge")]


@pytest.mark.parametrize(
    "model",
    [
        PrivateRidge(bounds=REAL, random_state=0),
        PrivateStreamRegressor(bounds=REAL, random_state=0),
        PrivateMedian(bounds=Bounds(features=(-1, 1)), random_state=0),
        AccuracyFirst(PrivateRidge(bounds=REAL), max_epsilon=15.0, random_state=0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_seeded_fits_are_refused(ledger, model):
    with pytest.raises(Incompatible, match="seeded"):
        clone(model).set_params(ledger=ledger).fit(X, Y)
    assert entries(ledger) == []


def test_what_is_no_ledger_is_refused():
    with pytest.raises(InvalidParameter, match=r"Ledger\.open"):
        PrivateRidge(bounds=REAL, ledger="x.ledger").fit(X, Y)


def test_a_pure_accuracy_first_run_pays_what_it_cost(ledger):
    inner = PrivateLogisticRegression(bounds=CLASSES, delta=0)
    model = AccuracyFirst(
        inner, method="noise-reduction", max_epsilon=8.0, release_last=True, ledger=ledger
    ).fit(X, LABELS)
    [entry] = ledger.history()
    assert entry.guarantee == model.guarantee_
    assert model.guarantee_.kind == "ex-post"
    [account] = ledger.balance().accounts.values()
    assert account.spent[0] == pytest.approx(model.guarantee_.epsilon * 2**60, rel=1e-9)
    inner.ledger = ledger
    model.set_params(ledger=None).fit(X, LABELS)  # the estimator's own counts too
    assert len(ledger.history()) == 2
    ledger.verify()


def test_a_stream_pays_once_for_all_it_will_learn(ledger, tmp_path):
    path = tmp_path / "state.json"
    model = PrivateStreamRegressor(bounds=REAL, passes=2, state_path=path, ledger=ledger)
    for part in np.split(np.arange(400), 4):
        model.partial_fit(X[part], Y[part])
    model.begin_pass().partial_fit(X, Y)
    assert entries(ledger) == [("spent", "PrivateStreamRegressor")]
    assert ledger.history()[0].guarantee.epsilon == model.guarantee_.epsilon
    PrivateStreamRegressor.resume(path).partial_fit(X, Y, start=400)
    assert len(ledger.history()) == 1


def test_a_stream_that_cannot_begin_is_void(ledger, tmp_path):
    path = tmp_path / "state.json"
    path.write_text("in the way")
    model = PrivateStreamRegressor(bounds=REAL, state_path=path, ledger=ledger)
    with pytest.raises(InvalidParameter):
        model.fit(X, Y)
    assert entries(ledger) == [("void", "PrivateStreamRegressor")]


def test_a_search_in_two_processes_leaves_an_entry_for_every_fit(ledger):
    model = PrivateRidge(epsilon=0.1, bounds=REAL, ledger=ledger)
    search = GridSearchCV(model, {"alpha": [1.0, 10.0]}, cv=3, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, Y)
    assert entries(ledger) == [("spent", "PrivateRidge")] * 7
    assert search.best_estimator_.ledger == ledger
    ledger.verify()


def test_pipelines_and_pickles_keep_the_ledger_and_files_do_not(ledger, tmp_path):
    pipe = make_pipeline(FunctionTransformer(), PrivateRidge(bounds=REAL, ledger=ledger))
    model = pickle.loads(pickle.dumps(pipe)).fit(X, Y)[-1]
    assert len(ledger.history()) == 1
    assert pickle.loads(pickle.dumps(model)).ledger == ledger
    model.save(tmp_path / "model.json")
    assert "ledger" not in (tmp_path / "model.json").read_text()
    assert discreet.load(tmp_path / "model.json").ledger is None


@pytest.fixture
def unsaid(monkeypatch):
    monkeypatch.setattr(charging, "_said", set())
    with warnings.catch_warnings():
        warnings.simplefilter("always", Uncounted)
        yield


def said(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in seen if w.category is Uncounted]


def test_a_second_fit_of_one_object_says_that_fits_add_up(unsaid):
    model = PrivateRidge(bounds=REAL)
    assert said(lambda: model.fit(X, Y)) == []
    [message] = said(lambda: model.fit(X, Y))
    assert "add up" in message
    assert "ledger=" in message
    assert said(lambda: model.fit(X, Y)) == []
    assert said(lambda: clone(model).fit(X, Y)) == []


def test_nothing_is_said_where_fits_are_counted_or_seeded(unsaid, ledger):
    for settings in ({"ledger": ledger}, {"random_state": 0}):
        model = PrivateRidge(bounds=REAL, epsilon=0.1, **settings)
        assert said(lambda model=model: model.fit(X, Y).fit(X, Y)) == []


def test_a_search_and_a_cross_validation_say_it_once(unsaid, monkeypatch):
    search = GridSearchCV(PrivateRidge(bounds=REAL), {"alpha": [1.0, 10.0]}, cv=2)
    [message] = said(lambda: search.fit(X, Y))
    assert "best estimator" in message
    monkeypatch.setattr(charging, "_said", set())
    model = PrivateMedian(bounds=Bounds(features=(-1, 1)))
    [message] = said(lambda: cross_validate(model, X, scoring=lambda *rows: 0.0, cv=3))
    assert "add up" in message


def test_a_score_of_raw_rows_is_not_counted_and_that_is_said_once(unsaid, ledger):
    model = PrivateRidge(bounds=REAL, ledger=ledger).fit(X, Y)
    [message] = said(lambda: model.score(X, Y))
    assert "outside of the guarantee" in message
    assert said(lambda: model.score(X, Y)) == []
    model.set_params(ledger=None)
    assert said(lambda: model.score(X, Y)) == []
