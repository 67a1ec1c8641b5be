"""``evaluate``, the scorer and test parts, from the outside."""

import json
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import discreet
from discreet import (
    Bounds,
    Guarantee,
    PrivateLogisticRegression,
    PrivateRidge,
    evaluate,
    make_private_scorer,
)
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.evaluation import fit_and_evaluate, plan_evaluation
from discreet.evaluation.holdout import split_rows
from discreet.files.checksums import with_checksum
from discreet.noise import Seeded

LOUD = {"epsilon": 1e6, "delta": 1e-6, "random_state": 0}
"""A budget at which noise is nothing, so that values can be compared."""

BOUNDS = Bounds(features=(-1, 1), classes=("no", "yes"))


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (3000, 3))
    y = np.where(X[:, 0] + 0.6 * random.normal(size=3000) > 0.2, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def model(people):
    return PrivateLogisticRegression(bounds=BOUNDS, random_state=0).fit(*people)


@pytest.fixture(scope="module")
def plain(people):
    return LogisticRegression().fit(*people)


ALL = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "auc", "log_loss", "roc")


@pytest.mark.parametrize("relation", ["zero-out", "add-remove"])
def test_a_saved_evaluation_is_the_same_one(people, model, tmp_path, relation):
    found = evaluate(model, *people, epsilon=1.0, metrics=ALL, neighbours=relation)
    found.save(tmp_path / "found.json")
    again = discreet.evaluation.Evaluation.load(tmp_path / "found.json")
    assert str(again) == str(found)
    assert again.to_dict() == found.to_dict()
    np.testing.assert_array_equal(again.roc(), found.roc())
    assert again.calibration()[3] == found.calibration()[3]


CONTRADICTIONS = [
    lambda c: c["guarantee"].update(epsilon=0.5),
    lambda c: c["plan"]["budget"].update(epsilon=9.0),
    lambda c: c["plan"].update(neighbours="add-remove"),
    lambda c: c["plan"].pop("bins"),
    lambda c: c["released"].update(histogram=[[1.0]]),
    lambda c: c.update(n_rows=None),
    lambda c: c.update(plan=3),
]
EDITS = [lambda c: c["metrics"].clear(), lambda c: c["released"].update(correct=[1.0])]
"""Only the checksum tells these."""


@pytest.mark.parametrize(
    ("change", "forged"),
    [(c, False) for c in CONTRADICTIONS + EDITS] + [(c, True) for c in CONTRADICTIONS],
)
def test_an_evaluation_that_was_edited_is_refused(people, model, change, forged):
    content = evaluate(model, *people, epsilon=1.0, metrics=ALL).to_dict()
    content = json.loads(json.dumps(content))
    change(content)
    with pytest.raises(InvalidData, match="damaged or was edited"):
        discreet.evaluation.Evaluation.from_dict(with_checksum(content) if forged else content)


def test_what_is_no_evaluation_is_refused_in_words(tmp_path):
    load = discreet.evaluation.Evaluation.load
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InvalidData, match="is not an evaluation file"):
        load(tmp_path / "a.json")
    for text, said in (("[]", "not an evaluation"), ('{"format": "discreet-evaluation"}', "again")):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(InvalidParameter, match=said):
            load(tmp_path / "a.json")


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_without_noise_metrics_are_those_of_scikit_learn(people, plain, relation):
    X, y = people[0][:700], people[1][:700]
    found = evaluate(plain, X, y, metrics=ALL, neighbours=relation, bins=1000, **LOUD)
    said, chances = plain.predict(X), plain.predict_proba(X)
    expected = {
        "accuracy": metrics.accuracy_score(y, said),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, said),
        "precision": metrics.precision_score(y, said, pos_label="yes"),
        "recall": metrics.recall_score(y, said, pos_label="yes"),
        "f1": metrics.f1_score(y, said, pos_label="yes"),
        "log_loss": metrics.log_loss(y, np.clip(chances, 0.01, 0.99)),
    }
    for name, value in expected.items():
        assert getattr(found, name).value == pytest.approx(value, abs=2e-4), name
    binned = np.ceil(chances[:, 1] * 1000)
    assert found.auc.value == pytest.approx(metrics.roc_auc_score(y, binned), abs=2e-4)
    assert found.auc.value == pytest.approx(metrics.roc_auc_score(y, chances[:, 1]), abs=2e-3)
    np.testing.assert_allclose(found.confusion(), metrics.confusion_matrix(y, said), atol=0.5)
    np.testing.assert_allclose(
        found.confusion(0.3),
        metrics.confusion_matrix(y, np.where(chances[:, 1] > 0.3, "yes", "no")),
        atol=0.5,
    )
    false, true, thresholds = found.roc()
    at = int(np.argmin(np.abs(thresholds - 0.3)))
    rates = found.confusion(0.3)
    assert false[at] == pytest.approx(rates[0, 1] / rates[0].sum(), abs=1e-3)
    assert true[at] == pytest.approx(rates[1, 1] / rates[1].sum(), abs=1e-3)


def test_three_classes_have_a_confusion_matrix_and_means_over_classes(people):
    X = people[0]
    y = np.digitize(X[:, 0] + 0.2 * X[:, 1] ** 2, [-0.3, 0.4])
    plain = LogisticRegression().fit(X[:, :1], y)
    wanted = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "log_loss")
    found = evaluate(plain, X[:, :1], y, metrics=wanted, **LOUD)
    said = plain.predict(X[:, :1])
    np.testing.assert_allclose(found.confusion(), metrics.confusion_matrix(y, said), atol=0.5)
    expected = {
        "accuracy": metrics.accuracy_score(y, said),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, said),
        "precision": metrics.precision_score(y, said, average="macro"),
        "recall": metrics.recall_score(y, said, average="macro"),
        "f1": metrics.f1_score(y, said, average="macro"),
    }
    true = plain.predict_proba(X[:, :1])[np.arange(len(y)), y]
    expected["log_loss"] = -np.log(np.clip(true, 0.01, 0.99)).mean()
    for name, value in expected.items():
        assert getattr(found, name).value == pytest.approx(value, abs=2e-4), name
    with pytest.raises(Incompatible, match="two classes"):
        evaluate(plain, X[:, :1], y, metrics=("auc",), **LOUD)


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_regression_metrics_are_those_of_scikit_learn(people, relation):
    X = people[0][:700]
    y = X @ [1.0, -0.5, 0.0] + 0.2 * np.random.default_rng(1).normal(size=700) + 0.7
    plain = LinearRegression().fit(X, y)
    found = evaluate(
        plain, X, y, metrics=("mse", "mae", "r2"), label=(-4, 4), residual=1.5,
        neighbours=relation, **LOUD,
    )  # fmt: skip
    said = plain.predict(X)
    assert found.mse.value == pytest.approx(metrics.mean_squared_error(y, said), abs=1e-4)
    assert found.mae.value == pytest.approx(metrics.mean_absolute_error(y, said), abs=1e-4)
    assert found.r2.value == pytest.approx(metrics.r2_score(y, said), abs=1e-3)


def test_labels_beyond_their_range_are_clipped_for_every_metric(people):
    X = people[0]
    y = X[:, 0] + 2.0 * X[:, 1]
    plain, cut = LinearRegression().fit(X, y), np.clip(y, -1.0, 1.0)
    found = evaluate(
        plain, X, y, metrics=("mse", "mae", "r2"), label=(-1, 1), residual=9.0,
        epsilon=1e6, random_state=0,
    )  # fmt: skip
    said = plain.predict(X)
    assert (np.abs(y) > 1).mean() > 0.1
    assert found.mse.value == pytest.approx(metrics.mean_squared_error(cut, said), abs=1e-3)
    assert found.mae.value == pytest.approx(metrics.mean_absolute_error(cut, said), abs=1e-3)
    assert found.r2.value == pytest.approx(metrics.r2_score(cut, said), abs=1e-2)


def test_calibration_is_the_share_of_the_second_class(people, plain):
    X, y = people
    found = evaluate(plain, X, y, metrics=("calibration",), **LOUD).calibration(10)
    chances = plain.predict_proba(X)[:, 1]
    for low, high, share in found:
        inside = (chances > low) & (chances <= high)
        if inside.any():
            assert share.value == pytest.approx((y[inside] == "yes").mean(), abs=1e-3)
            assert share.low <= share.value <= share.high


def test_noise_is_there_and_intervals_hold_the_truth(people, model, plain):
    X, y = people
    truth = {
        "accuracy": metrics.accuracy_score(y, plain.predict(X)),
        "auc": metrics.roc_auc_score(y, np.ceil(50 * plain.predict_proba(X)[:, 1])),
    }
    found = [evaluate(plain, X, y, epsilon=1.0, random_state=i) for i in range(30)]
    for name, value in truth.items():
        values = np.array([getattr(f, name).value for f in found])
        said = getattr(found[0], name).noise
        assert len(set(values)) == 30
        assert abs(values.mean() - value) < 5 * said / math.sqrt(30) + 1e-3
        assert 0.5 * said < values.std() < 1.7 * said
    assert found[0].accuracy.exact
    assert not found[0].auc.exact


def test_missing_numbers_and_unknown_labels_are_blank(people, model, plain):
    X, y = people[0][:500].copy(), people[1][:500].astype(object)
    X[:100], y[100:150] = math.nan, "perhaps"
    y[150:160] = None
    rest = slice(160, None)
    for scored in (model, plain):
        found = evaluate(scored, X, y, metrics=("accuracy", "confusion"), count_rows=True, **LOUD)
        assert found.confusion().sum() == pytest.approx(340, abs=0.1)
        right = (scored.predict(X[rest]) == y[rest]).mean()
        assert found.accuracy.value == pytest.approx(right, abs=1e-3)
    # Without a count they are half right.
    found = evaluate(model, X, y, metrics=("accuracy",), **LOUD)
    right = (model.predict(X[rest]) == y[rest]).sum() + 80
    assert found.accuracy.value == pytest.approx(right / 500, abs=1e-3)


def test_sparse_rows_and_data_frames_are_read(people):
    X, y = people
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    bounds = Bounds(features=dict.fromkeys(names, (-1, 1)), classes=("no", "yes"))
    named = PrivateLogisticRegression(bounds=bounds, random_state=0).fit(frame, y)
    first = evaluate(named, frame, pd.Series(y), **LOUD)
    assert first.accuracy.value == pytest.approx((named.predict(frame) == y).mean(), abs=1e-4)
    assert hasattr(named, "feature_names_in_")
    plain = PrivateLogisticRegression(bounds=BOUNDS, random_state=0).fit(X, y)
    dense = evaluate(plain, X, y, **LOUD).released
    sparse = evaluate(plain, sp.csr_array(X), y, **LOUD).released
    np.testing.assert_allclose(dense["histogram"], sparse["histogram"])


def test_pipelines_and_models_without_probabilities_are_scored(people):
    X, y = people
    pipe = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    assert evaluate(pipe, X, y, **LOUD).accuracy.value == pytest.approx(pipe.score(X, y), abs=1e-4)
    svc = LinearSVC().fit(X, y)
    found = evaluate(svc, X, y, **LOUD)
    assert list(found.plan.metrics) == ["accuracy", "auc"]
    expected = metrics.roc_auc_score(y, svc.decision_function(X))
    assert found.auc.value == pytest.approx(expected, abs=0.01)
    for metric in ("log_loss", "calibration"):
        with pytest.raises(Incompatible, match="probabilities"):
            evaluate(svc, X, y, metrics=(metric,), epsilon=1.0)


def test_table_and_file_say_the_same(people, model):
    found = evaluate(model, *people, epsilon=1.0)
    shown = str(found)
    assert "95% interval" in shown
    assert "exact" in shown
    assert "epsilon = 1, delta = 1e-06 per row" in shown
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["metrics"]["accuracy"]["value"] == found.accuracy.value
    assert Guarantee.from_dict(content["guarantee"]) == found.guarantee
    assert content["classes"] == ["no", "yes"]
    cells = np.array(content["released"]["histogram"])
    assert cells.shape == (2, 50)
    assert "n_rows" in content


def test_secret_sizes_stay_secret(people, model):
    X, y = people[0][:300], people[1][:300]
    found = evaluate(model, X, y, epsilon=1.0, neighbours="add-remove", metrics=("accuracy",))
    assert found.n_rows is None
    assert found.to_dict()["n_rows"] is None
    assert "300" not in str(found)


def test_what_was_not_released_is_told(people, model):
    found = evaluate(model, *people, epsilon=1.0, metrics=("accuracy",))
    with pytest.raises(AttributeError, match="metrics="):
        _ = found.auc
    with pytest.raises(AttributeError, match="no attribute"):
        _ = found.cheese
    with pytest.raises(Incompatible, match="confusion"):
        found.confusion()
    with pytest.raises(Incompatible, match="roc"):
        found.roc()
    two = evaluate(model, *people, epsilon=1.0, metrics=("f1",))
    assert two.table.bins == 2
    with pytest.raises(Incompatible, match="calibration"):
        two.calibration()


def test_few_rows_are_refused_not_guessed(model, people):
    X, y = people[0][:40], people[1][:40]
    found = evaluate(model, X, y, epsilon=0.5, metrics=("auc",), random_state=0)
    assert math.isnan(found.auc.value)
    assert (found.auc.low, found.auc.high) == (0.0, 1.0)
    assert "noise outweighs" in str(found)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_curves_are_drawn(tmp_path, people, model):
    found = evaluate(model, *people, epsilon=1.0)
    found.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 5000
    with pytest.raises(Incompatible, match="no curve"):
        evaluate(model, *people, epsilon=1.0, metrics=("accuracy",)).plot(tmp_path / "none.png")


@pytest.mark.parametrize(
    ("options", "error", "word"),
    [
        ({"metrics": ("speed",)}, InvalidParameter, "metrics"),
        ({"metrics": ()}, InvalidParameter, "metrics is empty"),
        ({"bins": 7}, InvalidParameter, "even"),
        ({"neighbours": "far"}, InvalidParameter, "neighbours"),
        ({"clip_probability": 0.7}, InvalidParameter, "clip_probability"),
        ({"epsilon": -1.0}, InvalidParameter, "epsilon"),
        ({"level": 1.5}, InvalidParameter, "level"),
        ({"neighbours": "add-remove", "count_rows": False}, Incompatible, "count_rows"),
    ],
)
def test_wrong_settings_are_refused(people, model, options, error, word):
    with pytest.raises(error, match=word):
        evaluate(model, *people, **{"epsilon": 1.0} | options)


def test_regressors_need_a_scale():
    X = np.linspace(-1, 1, 50).reshape(-1, 1)
    plain = LinearRegression().fit(X, X.ravel())
    with pytest.raises(Incompatible, match="residual"):
        evaluate(plain, X, X.ravel(), epsilon=1.0)
    with pytest.raises(MissingBound, match="label"):
        evaluate(plain, X, X.ravel(), epsilon=1.0, residual=1.0, metrics=("r2",))
    with pytest.raises(InvalidData, match="real numbers"):
        evaluate(plain, X, ["a"] * 50, epsilon=1.0, residual=1.0)
    with pytest.raises(InvalidData, match="no rows"):
        evaluate(plain, X[:0], [], epsilon=1.0, residual=1.0)


def test_plan_needs_no_row_and_says_the_noise(model):
    plan = plan_evaluation(model, epsilon=1.0, delta=1e-6, metrics=("accuracy",))
    assert plan.laws["correct"].deviation == pytest.approx(4.22468 / 2, rel=1e-4)
    assert plan.guarantee.epsilon == 1.0
    assert "noise of correct" in str(plan)
    twice = plan_evaluation(model, epsilon=1.0, metrics=("accuracy",), neighbours="replace-one")
    assert twice.laws["correct"].deviation == pytest.approx(4.22468, rel=1e-4)


def test_scores_within_cross_validate_pay_each_time(people):
    X, y = people
    scorer = make_private_scorer("accuracy", epsilon=0.5, delta=1e-6)
    estimator = PrivateLogisticRegression(epsilon=3.0, bounds=BOUNDS)
    scores = cross_validate(estimator, X, y, scoring=scorer, cv=4)["test_score"]
    assert (np.abs(scores - 0.8) < 0.12).all()
    assert len(scorer.spent) == 4
    total = scorer.total()
    assert 0.5 < total.epsilon <= 2.0
    assert total.delta == pytest.approx(4e-6)
    assert "every call pays" in repr(scorer)
    losses = make_private_scorer("log_loss", epsilon=5.0)
    assert cross_validate(estimator, X, y, scoring=losses, cv=2)["test_score"].max() < 0
    assert make_private_scorer("mse", epsilon=1.0).total() is None
    with pytest.raises(InvalidParameter, match="metric"):
        make_private_scorer("roc", epsilon=1.0)


def test_a_test_part_costs_the_larger_budget_not_the_sum(people):
    X, y = people
    estimator = PrivateLogisticRegression(epsilon=1.0, bounds=BOUNDS)
    fitted, found, both = fit_and_evaluate(estimator, X, y, epsilon=0.5)
    assert (both.epsilon, both.delta) == (1.0, 1e-6)
    assert both.event.delta(1.0) <= 1e-6
    assert found.guarantee.epsilon == 0.5
    assert found.n_rows == 600
    assert fitted is not estimator
    assert Guarantee.from_dict(both.to_dict()) == both
    regressor = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    assert fit_and_evaluate(regressor, X, X[:, 0]).evaluation.r2.value > 0.5
    assert clone(estimator).get_params() == estimator.get_params()


def test_parts_are_disjoint_and_are_drawn_without_rows():
    for relation in ("zero-out", "replace-one", "add-remove"):
        train, test = split_rows(1000, 0.3, relation, Seeded(0))
        assert sorted([*train, *test]) == list(range(1000))
        assert 200 < len(test) < 400
    # One row more leaves the others where they are.
    before = split_rows(1000, 0.3, "add-remove", Seeded(0))
    after = split_rows(1001, 0.3, "add-remove", Seeded(0))
    assert set(before[0]) <= set(after[0])
    assert set(before[1]) <= set(after[1])


def test_parallel_cost_is_the_worst_part_by_enumeration():
    # Two parts of one bit each, answered by randomised response at 1 and at 0.4.
    from itertools import product

    from discreet.accounting import Parallel, Pure

    event = Parallel((Pure(1.0), Pure(0.4)))

    def law(bits):
        out = {}
        for said in product((0, 1), repeat=2):
            p = 1.0
            for bit, answer, epsilon in zip(bits, said, (1.0, 0.4), strict=True):
                keep = math.exp(epsilon) / (1 + math.exp(epsilon))
                p *= keep if bit == answer else 1 - keep
            out[said] = p
        return out

    for epsilon in (0.0, 0.3, 0.4, 0.7, 1.0):
        exact = 0.0
        for bits in product((0, 1), repeat=2):
            for part in (0, 1):
                other = list(bits)
                other[part] ^= 1
                here, there = law(bits), law(tuple(other))
                gained = sum(max(0, here[s] - math.exp(epsilon) * there[s]) for s in here)
                exact = max(exact, gained)
        assert event.delta(epsilon) == pytest.approx(exact, abs=1e-12)
    moments = [
        sum(
            here**4 / there**3
            for here, there in zip(law((0, 0)).values(), law(o).values(), strict=True)
        )
        for o in ((0, 1), (1, 0))
    ]
    assert event.rdp(4.0) == pytest.approx(math.log(max(moments)) / 3)


def test_names_are_at_the_front_door():
    assert discreet.evaluate is evaluate
    assert {"evaluate", "make_private_scorer"} <= set(dir(discreet))
