"""``PrivateSearch``: what it costs, what it releases, and that it finds what is better."""

import math
import pickle
from collections import Counter

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression

from discreet import (
    Bounds,
    Guarantee,
    Ledger,
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
    PrivateSGDClassifier,
    load,
)
from discreet.accounting import (
    BestOf,
    BoundedRange,
    Composed,
    Gaussian,
    NegativeBinomialTries,
    Parallel,
    PoissonTries,
    Pure,
    gaussian_multiplier,
)
from discreet.errors import (
    BudgetExceeded,
    Incompatible,
    InvalidData,
    InvalidParameter,
    MissingBound,
    NotCertified,
)
from discreet.estimators.shared.base import UndeclaredBounds
from discreet.evaluation.scored_rows import add_up, read
from discreet.noise import Seeded
from discreet.tuning import draw_tries
from discreet.tuning import search as module
from discreet.tuning.candidates import list_candidates

BOUNDS = Bounds(features=(-1, 1), classes=(0, 1))
ESTIMATOR = PrivateSGDClassifier(bounds=BOUNDS, steps=10, loss="logistic")
SGD = {"clip": [0.05, 0.2, 1.0, 5.0]}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (2000, 2))
    return X, (X[:, 0] + 0.3 * random.normal(size=2000) > 0).astype(int)


def quick(parameters=SGD, **settings):
    settings = {"epsilon": 1.0, "verbose": False, "expected_tries": 4.0} | settings
    return PrivateSearch(clone(ESTIMATOR), parameters, **settings)


# The number of tries.


@pytest.mark.parametrize(
    "tries",
    [
        NegativeBinomialTries.expecting(5.0, 1.0),
        NegativeBinomialTries.expecting(5.0, 0.0),
        NegativeBinomialTries.expecting(5.0, -0.5),
        PoissonTries(3.0),
    ],
)
def test_numbers_of_tries_have_their_law(tries):
    random, runs = Seeded(0), 3000
    seen = Counter(draw_tries(tries, random) for _ in range(runs))
    expected, observed = [], []
    rest_expected, rest_observed = float(runs), runs
    for k, mass in tries.masses():
        if runs * float(mass) < 8 and k > 2:
            break
        expected.append(runs * float(mass))
        observed.append(seen[k])
        rest_expected -= expected[-1]
        rest_observed -= observed[-1]
    found = stats.chisquare([*observed, rest_observed], [*expected, rest_expected])
    assert found.pvalue > 1e-4


def test_the_law_test_notices_another_law():
    random = Seeded(0)
    seen = Counter(
        draw_tries(NegativeBinomialTries.expecting(5.5, 1.0), random) for _ in range(3000)
    )
    expected = [3000 * 0.2 * 0.8 ** (k - 1) for k in range(1, 20)]
    observed = [seen[k] for k in range(1, 20)]
    tail = [3000 - sum(observed)], [3000 - sum(expected)]
    assert stats.chisquare([*observed, *tail[0]], [*expected, *tail[1]]).pvalue < 1e-4


def test_open_draws_are_continued_not_repeated():
    # Geometric with one half: the sum after k masses is 1 - 2^-k, an edge 64 bits cannot decide.
    class Words:
        secure = False

        def __init__(self, *words):
            self.left = list(words)

        def words(self, n):
            return np.array([self.left.pop(0) for _ in range(n)], dtype=np.uint64)

    tries = NegativeBinomialTries(1.0, 0.5)
    below = Words(2**63 - 1, 2**64 - 1, 0)
    assert draw_tries(tries, below) == 1
    assert below.left == []
    above = Words(2**63, 0, 5)
    assert draw_tries(tries, above) == 2
    assert draw_tries(NegativeBinomialTries.expecting(1.0, 1.0), Words()) == 1


# What it costs.


def test_gaussian_tries_have_the_share_of_the_specification():
    plan = quick(expected_tries=30.0).plan(2, 2000)
    share = gaussian_multiplier(1.0, 1e-6) / plan.planned[0].event.multiplier
    assert share == pytest.approx(0.606, abs=0.002)
    assert plan.noise_ratio == pytest.approx(1 / 0.606, rel=0.005)
    assert isinstance(plan.guarantee.event, BestOf)
    assert plan.guarantee.event.delta(1.0) <= 1e-6
    # The score costs no more than a fit: it reads other rows.
    score = plan._score_event(plan.fit_budget)
    assert score.multiplier == pytest.approx(plan.planned[0].event.multiplier)


def test_a_few_candidates_are_all_fitted_and_share_the_budget():
    plan = quick({"clip": [0.2, 1.0, 5.0]}, expected_tries=None).plan(2, 2000)
    assert plan.tries is None
    noises = [g.event.multiplier for g in plan.planned]
    assert noises == pytest.approx([math.sqrt(3) * gaussian_multiplier(1.0, 1e-6)] * 3, rel=1e-5)
    assert isinstance(plan.guarantee.event, Parallel)
    fits, choice = plan.guarantee.event.events
    assert isinstance(fits, Composed)
    assert isinstance(choice, BoundedRange)
    assert plan.guarantee.event.delta(1.0) <= 1e-6
    assert choice.delta(1.0) > 0.9e-6  # the whole budget: it reads other rows
    assert plan.rate == plan.choice


@pytest.mark.parametrize("tries", ["geometric", "logarithmic", "all"])
def test_pure_budgets_stay_pure(tries):
    expected = None if tries == "all" else 6.0
    plan = quick(delta=0.0, tries=tries, expected_tries=expected).plan(2, 2000)
    factor = {"geometric": 3, "logarithmic": 2, "all": 4}[tries]
    assert plan.fit_budget.epsilon == pytest.approx(1 / factor)
    assert plan.guarantee.event.delta(1.0) == 0.0
    assert plan.guarantee.delta == 0.0


def test_costs_other_than_gaussian_are_searched_for():
    estimator = PrivateLogisticRegression(bounds=BOUNDS)
    search = PrivateSearch(estimator, {"C": [0.1, 10.0]}, tries="geometric", expected_tries=5.0)
    plan = search.plan(2, 50_000)
    assert not all(isinstance(g.event, Gaussian) for g in plan.planned)
    assert 0.8e-6 < plan.guarantee.event.delta(1.0) <= 1e-6
    assert Guarantee.from_dict(plan.guarantee.to_dict()) == plan.guarantee


def test_replacements_halve_the_rate_of_the_choice():
    estimator = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    rates = []
    for relation in ("zero-out", "replace-one"):
        estimator.set_params(neighbours=relation)
        rates.append(PrivateSearch(estimator, {"alpha": [1.0, 2.0]}).plan(1, 500).rate)
    assert rates[0] == pytest.approx(2 * rates[1])


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_scores_of_all_candidates_differ_by_no_more_than_the_choice_pays_for(relation, rows):
    """Exhaustive search: one row's part of the scores of two models that disagree at will."""
    X = np.array([[-0.9, 0.0], [0.9, 0.0], [0.1, 0.8], [math.nan, 0.0]])
    estimator = PrivateLogisticRegression(bounds=BOUNDS, neighbours=relation, n_rows=50)
    for metric in ("accuracy", "log_loss"):
        search = PrivateSearch(estimator, {"C": [0.1, 1.0]}, scoring=metric, verbose=False)
        plan = search.plan(2, 50)
        score = plan.score(plan.budget)
        models = []
        for sign in (-50.0, 50.0):
            model = clone(estimator).fit(*rows)
            model.coef_, model.intercept_ = np.array([[sign, 0.0]]), np.zeros(1)
            models.append(model)
        parts = []
        for x in X:
            for label in (0, 1):
                held = np.array([x]), [label]
                sums = [
                    add_up(m, *read(m, *held, score), score)[score.blocks[0].name].ravel()[0]
                    for m in models
                ]
                parts.append(np.array(sums))
        apart = [a - b for a in parts for b in (parts if relation == "replace-one" else [0.0])]
        widest = max(float(np.ptp(np.atleast_1d(d) * np.ones(2))) for d in apart)
        assert plan.rate * widest <= plan.choice * (1 + 1e-12)
        assert plan.rate * widest >= 0.99 * plan.choice


def test_the_plan_says_what_it_costs_and_when_the_default_is_better():
    text = str(quick(expected_tries=40.0).plan(2, 2000))
    assert "a given candidate is missed" in text
    assert "times that of one fit alone" in text
    assert "Tuning pays only if" in text
    assert "epsilon = 1, delta = 1e-06 per row" in text
    ridge = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    plan = PrivateSearch(ridge, {"alpha": [1.0, 1e3]}, delta=0.0).plan(5, 50_000)
    assert "default is the better buy" in plan.advice


# What it does.


def test_it_finds_a_setting_that_is_much_better(rows):
    X, y = rows
    random = np.random.default_rng(1)
    X = np.vstack([X, random.uniform(-1, 1, (6000, 2))])
    y = (X[:, 0] > 0).astype(int)
    # A row norm far too small for the features clips everything; one of the two is useless.
    good, useless = BOUNDS, Bounds(features=(-1e9, 1e9), classes=(0, 1))
    wins = 0
    for seed in range(5):
        search = PrivateSearch(
            PrivateSGDClassifier(bounds=BOUNDS, steps=10),
            {"bounds": [useless, good]},
            tries="geometric", expected_tries=20.0, epsilon=3.0, verbose=False, random_state=seed,
        )  # fmt: skip
        wins += search.fit(X, y).best_params_["bounds"] == good
    assert wins >= 4


@pytest.mark.parametrize("tries", ["geometric", "all"])
@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_all_relations_are_searched(rows, tries, relation):
    X, y = rows[0][:400], rows[1][:400]
    estimator = clone(ESTIMATOR).set_params(neighbours=relation, n_rows=400)
    search = PrivateSearch(
        estimator, {"clip": [0.5, 1.0]}, tries=tries, verbose=False, epsilon=2.0,
        expected_tries=None if tries == "all" else 2.0,
    )  # fmt: skip
    search.fit(X, y)
    assert search.guarantee_.neighbours == relation
    assert search.guarantee_.secure
    assert search.predict(X).shape == (400,)


@pytest.mark.parametrize("metric", ["mse", "mae", "r2"])
def test_regressors_are_searched(metric):
    X = np.random.default_rng(2).uniform(-1, 1, (1500, 2))
    estimator = PrivateHuberRegressor(bounds=Bounds(features=(-1, 1), label=(-2, 2)))
    tries = {"tries": "geometric", "expected_tries": 3.0}
    search = PrivateSearch(
        estimator, {"alpha": [1.0, 50.0]}, scoring=metric, random_state=0, verbose=False, **tries
    )
    assert search.fit(X, X[:, 0]).guarantee_.epsilon == 1.0
    assert not is_classifier(search)


def test_the_winner_is_released_and_nothing_else(rows, tmp_path):
    search = quick(random_state=3).fit(*rows)
    kept = {n for n in vars(search) if n.endswith("_") and not n.startswith("_")}
    assert kept == {
        "best_estimator_", "best_params_", "classes_", "guarantee_", "n_features_in_", "plan_",
    }  # fmt: skip
    best = search.best_estimator_
    assert best.guarantee_ == search.guarantee_
    assert best.random_state is None
    assert not search.guarantee_.secure
    best.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.guarantee_ == search.guarantee_
    np.testing.assert_array_equal(again.predict(rows[0]), search.predict(rows[0]))
    assert search.predict_proba(rows[0]).shape == (2000, 2)
    assert search.decision_function(rows[0]).shape == (2000,)


def test_costs_are_printed_before_rows_are_read_and_number_of_tries_never(
    rows, capsys, monkeypatch
):
    def stop(*_):
        raise RuntimeError("rows")

    monkeypatch.setattr(module, "split_rows", stop)
    with pytest.raises(RuntimeError, match="rows"):
        quick(verbose=True).fit(*rows)
    said = capsys.readouterr().out
    assert "Tuning pays only if" in said
    monkeypatch.undo()
    texts = set()
    for seed in range(4):
        quick(verbose=True, random_state=seed).fit(*rows)
        texts.add(capsys.readouterr().out)
    assert len(texts) == 1  # whatever the number of tries was


def test_a_search_is_one_entry_in_a_ledger_reserved_before_rows_are_read(rows, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", dataset="a", epsilon=1.5, delta=1e-5)
    quick(ledger=ledger).fit(*rows)
    [entry] = ledger.history()
    assert (entry.model, entry.algorithm) == ("PrivateSGDClassifier", "search")
    with pytest.raises(BudgetExceeded):
        quick(ledger=ledger).fit(np.full((5, 2), math.nan), [0, 1, 0, 1, 0])


def test_tries_are_no_entries_of_the_estimators_own_ledger(rows, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", dataset="a", epsilon=1.5, delta=1e-5)
    estimator = PrivateSGDClassifier(bounds=BOUNDS, steps=5, ledger=ledger)
    PrivateSearch(estimator, SGD, expected_tries=6.0, verbose=False).fit(*rows)
    assert len(ledger.history()) == 1


def test_scores_of_tries_carry_the_noise_that_was_paid_for(rows):
    search = quick(expected_tries=30.0)
    plan = search.plan(2, 2000)
    model = clone(ESTIMATOR).fit(*rows)
    random = Seeded(0)
    scores = np.array([search._scored(plan, model, rows, random) for _ in range(400)])
    deviation = plan.score(plan.fit_budget).laws["correct"].deviation / 2000
    assert deviation == pytest.approx(plan.planned[0].event.multiplier / 2 / 2000, rel=1e-6)
    assert scores.std() == pytest.approx(deviation, rel=4 / math.sqrt(800))
    assert abs(scores.mean() - model.score(*rows)) < 4 * deviation / 20


def test_choices_among_a_few_have_the_odds_of_their_scores(rows, monkeypatch):
    search = quick({"clip": [0.5, 1.0]}, expected_tries=None, epsilon=0.05)
    plan = search.plan(2, 2000)
    held = rows[0][:300], rows[1][:300]
    good, bad = clone(ESTIMATOR).fit(*rows), clone(ESTIMATOR).fit(*rows)
    right = (good.predict(held[0]) == held[1]).sum()
    bad.coef_, bad.intercept_ = -0.0 * bad.coef_, np.array([1.0])  # always the second class
    other = (held[1] == 1).sum()
    models = iter([good, bad] * 600)
    monkeypatch.setattr(search, "_fitted", lambda *_: next(models))
    random = Seeded(0)
    wins = sum(search._all(plan, None, held, random)[0]["clip"] == 0.5 for _ in range(600))
    odds = plan.rate * float(right - other)
    chance = 1 / (1 + math.exp(-odds))
    assert 0.9 < chance < 0.999
    assert abs(wins - 600 * chance) < 4 * math.sqrt(600 * chance * (1 - chance)) + 1


def test_a_seed_is_not_pickled_with_the_winner(rows):
    again = pickle.loads(pickle.dumps(quick(random_state=3).fit(*rows)))
    assert again.random_state is None
    assert again.best_estimator_.random_state is None
    assert again.best_params_


def test_fits_that_fail_lose_and_are_not_told(rows, monkeypatch):
    honest = PrivateSGDClassifier.fit

    def fit(self, X, y):
        if self.clip == 5.0:
            raise NotCertified("no certificate")
        return honest(self, X, y)

    monkeypatch.setattr(PrivateSGDClassifier, "fit", fit)
    for seed in range(3):
        search = quick(
            {"clip": [1.0, 5.0]}, tries="geometric", expected_tries=60.0, epsilon=5.0,
            random_state=seed,
        )  # fmt: skip
        assert search.fit(*rows).best_params_ == {"clip": 1.0}
    hopeless = quick({"clip": [5.0]}, tries="geometric", random_state=0)
    with pytest.raises(NotCertified, match="No try"):
        hopeless.fit(*rows)
    assert not hasattr(hopeless, "best_params_")
    alone = quick({"clip": [1.0, 5.0]}, expected_tries=None, epsilon=5.0, random_state=0)
    assert alone.fit(*rows).best_params_ == {"clip": 1.0}


def test_a_fit_that_costs_more_than_planned_stops_the_search(rows, monkeypatch):
    honest = PrivateSGDClassifier.fit

    def fit(self, X, y):
        return honest(self.set_params(epsilon=2 * self.epsilon), X, y)

    monkeypatch.setattr(PrivateSGDClassifier, "fit", fit)
    with pytest.raises(NotCertified, match="planned"):
        quick().fit(*rows)


def test_distributions_become_a_public_list():
    found = [quick({"clip": stats.uniform(0.1, 2)}, candidates=7).plan(2, 2000) for _ in range(2)]
    assert len(found[0].candidates) == 7
    assert found[0].candidates == found[1].candidates


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"param_distributions": {}}, InvalidParameter, "param_distributions"),
        ({"param_distributions": {"epsilon": [1.0]}}, InvalidParameter, "epsilon"),
        ({"param_distributions": {"clip": 3.0}}, InvalidParameter, "clip"),
        ({"tries": "many"}, InvalidParameter, "tries"),
        ({"tries": "all"}, InvalidParameter, "expected_tries"),
        ({"tries": "all", "expected_tries": None, "scoring": "auc"}, Incompatible, "auc"),
        ({"expected_tries": 0.5}, InvalidParameter, "expected_tries"),
        ({"holdout": 1.5}, InvalidParameter, "holdout"),
        ({"scoring": "speed"}, InvalidParameter, "metrics"),
        ({"epsilon": 0.0}, InvalidParameter, "epsilon"),
        ({"estimator": LogisticRegression()}, Incompatible, "this library"),
        ({"estimator": PrivateLogisticRegression()}, MissingBound, "classes"),
        ({"estimator": PrivateRidge()}, MissingBound, "label"),
    ],
)
def test_wrong_settings_are_refused_before_rows_are_read(change, error, word):
    search = quick().set_params(**change)
    if "estimator" in change:
        search.set_params(
            param_distributions={"C" if is_classifier(search.estimator) else "alpha": [1.0]}
        )
    with pytest.raises(error, match=word):
        search.fit(np.full((9, 2), math.nan), np.zeros(9))


def test_rows_that_cannot_be_read_are_refused_once(rows):
    X, y = rows
    with pytest.raises(InvalidData, match="missing"):
        quick().fit(np.where(X > 0.99, math.nan, X), y)
    with pytest.raises(InvalidData, match="classes"):
        quick().fit(X, y + 5)


def test_undeclared_bounds_are_warned_of_as_often_whatever_the_tries(rows):
    X, y = rows[0][:300], rows[1][:300]
    counts = set()
    for seed in range(3):
        estimator = PrivateSGDClassifier(bounds=Bounds(classes=(0, 1)), steps=3)
        search = PrivateSearch(estimator, SGD, expected_tries=5.0, verbose=False, random_state=seed)
        with pytest.warns(UndeclaredBounds) as seen:
            search.fit(X, y)
        counts.add(len(seen))
    assert counts == {1}


def test_pure_event_of_a_try_is_its_budget():
    plan = quick(delta=0.0).plan(2, 2000)
    assert plan.guarantee.event == BestOf(Pure(plan.fit_budget.epsilon), plan.tries)


@pytest.mark.parametrize("name", ["epsilon", "ledger", "inference", "rows_per_group", "group_rule"])
def test_what_a_search_promises_is_not_searched(name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"'{name}' cannot be searched"):
        list_candidates({"alpha": [1.0, 2.0], name: [None, "table"]}, 20)
