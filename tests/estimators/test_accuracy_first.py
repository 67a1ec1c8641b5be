"""AccuracyFirst end to end: targets, caps, failing closed, scikit-learn manners, command line."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor

from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateStreamRegressor,
    load,
)
from discreet.cli.main import main
from discreet.errors import (
    BudgetTooSmall,
    Incompatible,
    InvalidData,
    InvalidParameter,
    NotCertified,
)
from discreet.estimators.shared.base import UndeclaredBounds

N = 20_000
RNG = np.random.default_rng(0)
X = RNG.uniform(0, 10, size=(N, 2))
LABEL = np.clip(3 * X[:, 0] - X[:, 1] + RNG.normal(size=N), -10, 30)
CLASS = np.where(LABEL > 10, "high", "low")
RIDGE = PrivateRidge(bounds=Bounds(features=(0, 10), label=(-10, 30)))
LOGISTIC = PrivateLogisticRegression(bounds=Bounds(features=(0, 10), classes=("low", "high")))


def objective(model: AccuracyFirst, classify: bool) -> tuple[float, float]:
    """Return the scaled mean objective of the model and its minimum, by an independent route."""
    scaled = np.column_stack([X / 5 - 1, np.full(N, 0.5 * np.sqrt(2))])
    strength = model.plan_facts_["strength"] / N
    inner = model.estimator_
    coef = np.ravel(inner.coef_) * 5
    middle = np.ravel(inner.intercept_)[0] + coef.sum()  # the score where all features are 5
    if classify:
        w = np.append(coef, middle / scaled[0, -1])
        y = np.where(inner.classes_[1] == CLASS, 1.0, -1.0)
        value = lambda w: np.logaddexp(0, -y * (scaled @ w)).mean() + strength / 2 * w @ w  # noqa: E731
        best = np.zeros(3)
        for _ in range(50):
            s = 1 / (1 + np.exp(y * (scaled @ best)))
            slope = -scaled.T @ (s * y) / N + strength * best
            best -= np.linalg.solve((scaled.T * (s * (1 - s))) @ scaled / N
                                    + strength * np.eye(3), slope)  # fmt: skip
        return float(value(w)), float(value(best))
    w = np.append(coef / 20, (middle - 10) / 20 / scaled[0, -1])
    y = (LABEL - 10) / 20
    value = lambda w: 0.5 * ((scaled @ w - y) ** 2).mean() + strength / 2 * w @ w  # noqa: E731
    best = np.linalg.solve(scaled.T @ scaled / N + strength * np.eye(3), scaled.T @ y / N)
    return float(value(w)), float(value(best))


@pytest.mark.parametrize("method", ["auto", "one-shot", "certificate", "noise-reduction"])
def test_ridge_meets_excess_risk(method: str) -> None:
    model = AccuracyFirst(RIDGE, max_error=0.02, max_epsilon=4.0, method=method, random_state=1)
    model.fit(X, LABEL)
    assert model.status_ == "met"
    assert model.guarantee_.epsilon <= 4.0
    value, best = objective(model, classify=False)
    assert best - 1e-9 <= value <= best + 0.02
    assert model.score(X, LABEL) > 0.5
    assert "Meets excess risk 0.02" in model.summary_
    assert not model.guarantee_.secure


@pytest.mark.parametrize("method", ["auto", "one-shot", "noise-reduction", "doubling"])
def test_logistic_meets_excess_risk(method: str) -> None:
    model = AccuracyFirst(LOGISTIC, max_error=0.05, max_epsilon=4.0, method=method, random_state=2)
    model.fit(X, CLASS)
    assert model.status_ == "met"
    value, best = objective(model, classify=True)
    assert best - 1e-9 <= value <= best + 0.05
    assert set(model.predict(X[:50])) <= {"low", "high"}
    assert model.predict_proba(X[:5]).shape == (5, 2)
    assert model.decision_function(X[:5]).shape == (5,)
    assert list(model.classes_) == ["high", "low"]


@pytest.mark.parametrize("validation", [None, 0.3])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_error_rate_with_and_without_validation_rows(
    neighbours: str, validation: float | None
) -> None:
    inner = clone(LOGISTIC).set_params(neighbours=neighbours, n_rows=N)
    model = AccuracyFirst(
        inner, max_error=0.25, metric="error-rate", max_epsilon=3.0, validation=validation,
        random_state=3,
    ).fit(X, CLASS)  # fmt: skip
    assert model.status_ == "met"
    assert model.score(X, CLASS) > 0.74
    assert model.guarantee_.kind == "ex-post"
    assert model.guarantee_.neighbours == neighbours
    assert model.guarantee_.reserved[0] == pytest.approx(3.0)
    test = model.outcome_.eps_test
    spent = model.outcome_.eps_model + test if validation is None else max(
        model.outcome_.eps_model, test)  # fmt: skip
    assert model.guarantee_.epsilon == pytest.approx(spent)


@pytest.mark.parametrize(
    ("metric", "method", "error", "settings"),
    [
        ("excess-risk", "one-shot", 0.05, {}),
        ("excess-risk", "doubling", 0.05, {}),
        ("excess-risk", "noise-reduction", 0.05, {}),
        ("loss", "auto", 0.6, {}),
        ("loss", "auto", 0.6, {"validation": 0.2}),
        ("error-rate", "auto", 0.4, {"validation": 0.2}),
    ],
)
def test_a_secret_number_of_rows_changes_no_plan_and_stands_nowhere(
    metric: str, method: str, error: float, settings: Any, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    """Noise, tests, levels and tolerances are in the plan, which knows the declared size only."""
    plans, run = [], AccuracyFirst._run
    monkeypatch.setattr(
        AccuracyFirst,
        "_run",
        lambda self, plan, *rest: plans.append(plan) or run(self, plan, *rest),
    )
    inner = clone(LOGISTIC).set_params(neighbours="add-remove", n_rows=1500)
    asked: Any = {"max_error": error, "metric": metric, "method": method, **settings}
    for rows in (1, 2, 1613):
        model = AccuracyFirst(inner, **asked, max_epsilon=8.0, release_last=True, random_state=1)
        model.fit(X[:rows], CLASS[:rows])
    assert plans == [plans[0]] * 3
    assert model.plan_facts_ == model.plan(2, 1500).facts()
    assert model.outcome_.weights.shape == (3,)
    model.estimator_.save(tmp_path / "model.json")
    told = [(tmp_path / "model.json").read_text(), *map(str, (vars(model), vars(model.estimator_)))]
    # In digits of their own, that is, and not within a longer number.
    assert not any(re.search(r"(?<![\d.])1613(?!\d)", text) for text in told)


@pytest.mark.parametrize(
    ("metric", "error"), [("excess-risk", 0.05), ("loss", 0.6), ("error-rate", 0.3)]
)
def test_stating_what_a_default_resolves_to_changes_nothing(metric: str, error: float) -> None:
    model = AccuracyFirst(LOGISTIC, max_error=error, metric=metric, max_epsilon=8.0)
    plan = model.plan(2, N)
    facts = plan.facts()
    method, _, kind = facts["method"].rstrip(")").partition(" (")
    stated: dict[str, Any] = {"method": method}
    if method == "noise-reduction":
        stated |= {"noise": kind, "margin": facts["margin"]}
    for name, value in stated.items():
        assert clone(model).set_params(**{name: value}).plan(2, N) == plan, name
    ridge = clone(model).set_params(estimator__C=1 / facts["strength"]).plan(2, N).facts()
    for name, value in facts.items():
        same = value if isinstance(value, str) else pytest.approx(value, rel=1e-9)
        assert ridge[name] == same, name


def test_auto_takes_what_reserves_least() -> None:
    cheap = AccuracyFirst(LOGISTIC, max_error=0.05).plan(2, N).reserved[0]
    for method in ("one-shot", "theory", "noise-reduction"):
        other = AccuracyFirst(LOGISTIC, max_error=0.05, max_epsilon=50.0, method=method)
        assert cheap <= other.plan(2, N).reserved[0] + 1e-12
    pure = clone(LOGISTIC).set_params(delta=0.0)
    assert AccuracyFirst(pure, max_error=0.05).plan(2, N).reserved[1] == 0.0
    assert AccuracyFirst(pure, max_error=0.05).plan(2, N).reserved[0] >= cheap
    wide = [AccuracyFirst(m, max_error=0.05).plan(60, N).reserved[0] for m in (LOGISTIC, pure)]
    assert wide[0] < 0.8 * wide[1]  # in many dimensions a delta helps


def test_nothing_is_released_when_the_target_is_not_met() -> None:
    model = AccuracyFirst(
        LOGISTIC, max_error=0.05, metric="error-rate", margin=0.04, max_epsilon=0.05, random_state=0
    )
    noise = RNG.permutation(CLASS)  # labels nobody can predict
    model.fit(X, noise)
    assert model.status_ == "not-met"
    assert model.outcome_.weights is None
    assert not hasattr(model, "estimator_")
    assert 0 < model.guarantee_.epsilon <= 0.05
    assert "no model was released" in model.summary_
    with pytest.raises(NotCertified, match="not met"):
        model.predict(X)
    assert not hasattr(model, "classes_")  # notebooks and completion ask
    assert "AccuracyFirst" in model._repr_html_()
    # The last model costs the same; it predicts, and everything says that it missed.
    seen: list[object] = []
    last = clone(model).set_params(release_last=True).fit(X, noise, watch=seen.append)
    assert last.status_ == "not-met"
    assert last.guarantee_.epsilon == model.guarantee_.epsilon
    assert tuple(seen) == last.outcome_.steps
    assert not any(step.accepted for step in last.outcome_.steps)
    assert "no guarantee of its accuracy" in last.summary_
    assert last.predict(X[:7]).shape == (7,)
    # A later fit that meets its target has a model, and one that does not loses it again.
    model.set_params(max_error=0.45).fit(X, CLASS)
    assert model.status_ == "met"
    model.set_params(max_error=0.05).fit(X, noise)
    assert not hasattr(model, "estimator_")


def test_a_cap_below_what_always_suffices_leaves_it_to_the_data() -> None:
    sure = AccuracyFirst(RIDGE, max_error=0.02, max_epsilon=9.0).plan(2, N)
    capped = AccuracyFirst(RIDGE, max_error=0.02, max_epsilon=0.9 * sure.reserved[0] / 2)
    plan = capped.plan(2, N)
    assert plan.facts()["method"] == "certificate"
    assert plan.reserved[0] == pytest.approx(capped.max_epsilon)


def test_caps_are_checked_before_the_data() -> None:
    with pytest.raises(BudgetTooSmall, match="needs epsilon"):
        AccuracyFirst(LOGISTIC, max_error=1e-6, max_epsilon=0.1).fit(X, CLASS)
    with pytest.raises(BudgetTooSmall, match="Testing alone"):
        AccuracyFirst(LOGISTIC, max_error=0.01, metric="error-rate", max_epsilon=1e-3).plan(2, 1000)
    with pytest.raises(BudgetTooSmall, match="No data can be certified"):
        AccuracyFirst(RIDGE, max_error=1e-4, max_epsilon=1e-3).fit(X, LABEL)
    with pytest.raises(BudgetTooSmall, match="doubling"):
        AccuracyFirst(RIDGE, max_error=1e-4, max_epsilon=0.01, method="doubling").plan(2, 1000)


def test_other_smooth_models_work_through_output_noise() -> None:
    huber = PrivateHuberRegressor(bounds=Bounds(features=(0, 10), label=(-10, 30)))
    model = AccuracyFirst(huber, max_error=0.05, max_epsilon=20.0, random_state=0).fit(X, LABEL)
    assert model.status_ == "met"
    assert model.score(X, LABEL) > 0.3


def test_saving_and_pickling_keep_the_guarantee_and_lose_the_seed(tmp_path: Path) -> None:
    model = AccuracyFirst(RIDGE, max_error=0.02, max_epsilon=4.0, random_state=4).fit(X, LABEL)
    model.estimator_.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.guarantee_ == model.guarantee_
    assert (again.predict(X[:9]) == model.predict(X[:9])).all()
    copied = pickle.loads(pickle.dumps(model))
    assert copied.random_state is None
    assert (copied.predict(X[:9]) == model.predict(X[:9])).all()
    assert is_regressor(model)
    assert is_classifier(AccuracyFirst(LOGISTIC))
    assert clone(model).get_params()["estimator__bounds"] == RIDGE.bounds


def test_refusals() -> None:
    for change in ({"max_error": 0.0}, {"confidence": 1.0}, {"max_epsilon": 0.0}, {"metric": "x"},
                   {"method": "x"}):  # fmt: skip
        with pytest.raises(InvalidParameter):
            AccuracyFirst(RIDGE, **change).plan(2, N)  # type: ignore[arg-type]
    with pytest.raises(Incompatible, match="only tests"):
        AccuracyFirst(RIDGE, metric="loss", method="certificate").plan(2, N)
    with pytest.raises(Incompatible, match="validation"):
        AccuracyFirst(RIDGE, validation=0.5).plan(2, N)
    with pytest.raises(Incompatible, match="classifier"):
        AccuracyFirst(RIDGE, metric="error-rate").plan(2, N)
    with pytest.raises(Incompatible, match="private estimator"):
        AccuracyFirst("ridge").fit(X, LABEL)  # type: ignore[arg-type]
    with pytest.raises(Incompatible, match="around the last step"):
        AccuracyFirst("ridge").plan(2, N)  # type: ignore[arg-type]
    with pytest.raises(Incompatible, match="fitted at once"):
        AccuracyFirst(PrivateStreamRegressor()).plan(2, N)
    for model, target, metric in (
        (RIDGE, 0.5, "excess-risk"),
        (RIDGE, 90.0, "loss"),
        (LOGISTIC, 0.7, "loss"),
        (LOGISTIC, 0.5, "error-rate"),
    ):
        with pytest.raises(InvalidParameter, match="whatever the data"):
            AccuracyFirst(model, max_error=target, metric=metric).plan(2, N)
    with pytest.raises(InvalidData, match="declared"):
        AccuracyFirst(LOGISTIC).fit(X[:2], ["low", "c"])


def test_auto_takes_what_is_sure_to_fit_the_cap_and_expected_to_spend_less() -> None:
    def method(n_features: int, **settings: Any) -> str:
        ridge = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
        plan = AccuracyFirst(ridge, max_error=0.05, **settings).plan(n_features, 5000)
        return str(plan.facts()["method"])

    # A certificate needs 2.7 to be sure, and usually stops far below one shot, which needs 1.4.
    assert "one-shot" in method(2, max_epsilon=2.0)
    assert "certificate" in method(2, max_epsilon=4.0)
    assert "certificate" in method(2, max_epsilon=1.0)
    # With many columns its certificates are loose.
    assert "one-shot" in method(40, max_epsilon=1e3)


def test_weights_of_classes_are_refused() -> None:
    weighted = clone(LOGISTIC).set_params(class_weight={"low": 1, "high": 3})
    with pytest.raises(Incompatible, match="class_weight"):
        AccuracyFirst(weighted).fit(X, CLASS)


def test_confidence_is_never_rounded_up_to_certainty() -> None:
    found = AccuracyFirst(RIDGE, max_error=0.4, confidence=0.999, max_epsilon=500.0).fit(X, LABEL)
    assert "confidence 99.9%" in found.summary_
    undeclared = PrivateLogisticRegression(bounds=Bounds(features=(0, 10)))
    with pytest.warns(UndeclaredBounds, match="classes"):
        found = AccuracyFirst(undeclared, max_error=0.5).fit(X, CLASS)
    assert "the set of labels is public" in found.guarantee_.assumptions


# Command line.


SCHEMA = """\
[columns]
a = { range = [0, 10] }
b = { range = [0, 10] }
level = { categories = ["low", "high"] }
value = { range = [-10, 30] }
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    lines = ["a,b,level,value", *(f"{r[0]:.4f},{r[1]:.4f},{c},{v:.4f}" for r, c, v in
                                  zip(X[:6000], CLASS, LABEL, strict=False))]  # fmt: skip
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "classes.toml").write_text(SCHEMA.replace("value = { range = [-10, 30] }\n", ""))
    (tmp_path / "numbers.toml").write_text(
        SCHEMA.replace('level = { categories = ["low", "high"] }\n', "")
    )
    return tmp_path


def call(files: Path, schema: str, target: str, *more: str) -> int:
    return main(["accuracy-first", str(files / "data.csv"), "--schema", str(files / schema),
                 "--target", target, "--out", str(files / "model.json"), "--seed", "0",
                 "--quiet", *more])  # fmt: skip


def test_command_line_writes_model_and_plot(files: Path, capsys: pytest.CaptureFixture) -> None:
    plot = files / "path.png"
    code = call(files, "numbers.toml", "value", "--max-error", "0.05", "--max-epsilon", "5",
                "--method", "certificate", "--plot", str(plot))  # fmt: skip
    out = capsys.readouterr().out
    assert code == 0
    assert "Meets excess risk 0.05" in out
    assert "reserved" in out
    assert plot.stat().st_size > 5000
    content = json.loads((files / "model.json").read_text())
    assert content["accuracy_first"]["steps"][-1]["accepted"]
    assert load(files / "model.json").guarantee_.kind == "ex-post"


def test_command_line_error_rate_and_failure(files: Path, capsys: pytest.CaptureFixture) -> None:
    code = call(files, "classes.toml", "level", "--metric", "error-rate", "--max-error", "0.3",
                "--max-epsilon", "4", "--plot", str(files / "path.png"))  # fmt: skip
    assert code == 0
    assert "Meets error rate 0.3" in capsys.readouterr().out
    (files / "model.json").unlink()
    code = call(files, "classes.toml", "level", "--metric", "error-rate", "--max-error", "0.001",
                "--max-epsilon", "80")  # fmt: skip
    shown = capsys.readouterr()
    assert code == 1
    assert "no model was released" in shown.out
    assert "not met" in shown.err
    assert not (files / "model.json").exists()
    code = call(files, "classes.toml", "level", "--metric", "error-rate", "--max-error", "0.001",
                "--max-epsilon", "80", "--release-last")  # fmt: skip
    shown = capsys.readouterr()
    assert code == 1  # so that no script takes it for a success
    assert "did not meet the target" in shown.err
    assert "no guarantee" in json.loads((files / "model.json").read_text())["accuracy_first"][
        "summary"]  # fmt: skip


def test_command_line_shows_levels_live_where_somebody_looks(
    files: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(*more: str) -> list[str]:
        code = main(["accuracy-first", str(files / "data.csv"), "--schema",
                     str(files / "numbers.toml"), "--target", "value", "--seed", "0", "--out",
                     str(files / "model.json"), "--max-error", "0.05", "--max-epsilon", "5",
                     "--method", "certificate", "--force", *more])  # fmt: skip
        assert code == 0
        return [line for line in capsys.readouterr().err.splitlines() if "certified" in line]

    live = shown("--progress")
    steps = json.loads((files / "model.json").read_text())["accuracy_first"]["steps"]
    # Nothing but what the model file holds anyway: the steps up to the stop, and no more.
    assert len(live) == len(steps) > 1
    assert [line.endswith("stop") for line in live] == [step["accepted"] for step in steps]
    assert all(f"{s['epsilon']:.4g}" in line for s, line in zip(steps, live, strict=True))
    assert shown() == []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert shown() == live
    assert shown("--quiet") == []


@pytest.mark.parametrize("cap", [1e-300, 1e300])
def test_a_cap_beyond_meaning_is_refused_by_its_name(cap: float) -> None:
    with pytest.raises(InvalidParameter, match="max_epsilon must lie between"):
        AccuracyFirst(RIDGE, max_epsilon=cap).plan(2, 60)


def test_a_delta_that_buys_the_target_alone_is_no_error() -> None:
    ridge = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)), delta=1 - 1e-12)
    assert AccuracyFirst(ridge, max_error=0.49, method="one-shot").plan(3, 60).reserved[0] > 0


def test_targets_of_predictions_get_a_ridge_that_does_not_stand_in_their_way() -> None:
    def strength(metric: str, cap: float, rows: int = N) -> float:
        model = AccuracyFirst(RIDGE, max_error=0.1, metric=metric, max_epsilon=cap)
        return float(model.plan(2, rows).facts()["strength"])

    plain = strength("excess-risk", 50.0)
    assert strength("loss", 50.0) < plain
    assert strength("loss", 50.0) == pytest.approx(strength("loss", 25.0) / 2)
    assert strength("loss", 50.0, 10 * N) == pytest.approx(strength("loss", 50.0))
    given = AccuracyFirst(clone(RIDGE).set_params(alpha=7.0), max_error=0.1, metric="loss")
    assert given.plan(2, N).facts()["strength"] == 7.0


def test_a_margin_is_as_narrow_as_a_part_of_the_cap_buys() -> None:
    def facts(**settings: object) -> dict[str, float]:
        model = AccuracyFirst(LOGISTIC, max_error=0.2, metric="error-rate", **settings)
        return model.plan(2, 20_000).facts()

    assert facts(max_epsilon=10.0)["margin"] < 0.01
    assert facts(max_epsilon=10.0)["test epsilon"] == pytest.approx(0.5, rel=0.01)
    assert facts(max_epsilon=0.1)["margin"] == pytest.approx(0.02)
    assert facts(max_epsilon=10.0, margin=0.02)["margin"] == 0.02


def test_a_summary_says_when_the_model_answers_all_rows_alike() -> None:
    """One row in forty is of the other class, so the target asks for nothing."""
    rare = np.where(np.arange(N) % 40 == 0, "high", "low")
    settings: dict[str, Any] = {"metric": "error-rate", "max_epsilon": 2.0, "random_state": 2}
    idle = AccuracyFirst(LOGISTIC, max_error=0.2, **settings).fit(X, rare)
    assert idle.status_ == "met"
    corners = np.array([[0.0, 0.0], [0.0, 10.0], [10.0, 0.0], [10.0, 10.0]])
    assert set(idle.predict(np.vstack([X, corners]))) == {"low"}
    assert "answers the same for every row" in idle.summary_
    learnt = AccuracyFirst(LOGISTIC, max_error=0.2, **settings).fit(X, CLASS)
    assert learnt.status_ == "met"
    assert set(learnt.predict(corners)) == {"low", "high"}
    assert "answers the same" not in learnt.summary_
