"""The report: what is in the release, links that lead somewhere, and honest states."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet import Bounds, Ledger, PrivateQuantileRegressor, PrivateRidge, evaluate
from discreet.accounting.theorems import THEOREMS
from discreet.rehearsal import Rehearsal
from discreet.report import About, card_dict, card_html, checklist, report_html
from discreet.report.checklist import MET, OPEN, YOURS

ROOT = Path(__file__).parents[2]


def states(card, **more):
    return {item.question: item.state for item in checklist(card, **more)}


def test_a_report_tells_what_is_in_the_release(model, about, read_page, tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="people", epsilon=3.0, delta=1e-5)
    page = read_page(report_html(model, about=about, ledger=ledger))
    for said in (
        "Risk of return",
        "whether it was in the data grow at most 2.72-fold",
        "With 10% false alarms it finds at most 14.8%",
        "ward=surgery",
        "-0.5",
        "No intervals were paid for",
        "The ledger of people allows",
        "was not charged here",
        "Every theorem has a page",
        "yours to answer",
        "18 to 90",
        "14,000 (public)",
    ):
        assert said in page.text, said
    assert "How good it is" not in page.text
    assert len(page.values("viewbox")) == 2  # the attacker's curve and the account


def test_a_report_shows_an_evaluation(read_page):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (3000, 2))
    from discreet import PrivateLogisticRegression

    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    y = (X[:, 0] + 0.3 * random.normal(size=3000) > 0).astype(int)
    fitted = PrivateLogisticRegression(epsilon=1.0, bounds=bounds).fit(X[:1500], y[:1500])
    found = evaluate(
        fitted, X[1500:], y[1500:], epsilon=2.0, metrics=("accuracy", "auc", "calibration")
    )
    page = read_page(report_html(fitted, evaluation=found))
    assert f"{found.accuracy.value:.4g}" in page.text
    assert "area under ROC" in page.text
    assert "Calibration." in page.text
    assert "on 1,500 rows" in page.text
    assert "epsilon = 2" in page.text
    coarse = evaluate(fitted, X, y, epsilon=2.0, metrics=("accuracy",))
    assert "ROC" not in read_page(report_html(fitted, evaluation=coarse)).text


@pytest.mark.parametrize("name", THEOREMS)
def test_every_proof_is_linked_and_its_link_leads_to_a_page(model, read_page, name):
    model.guarantee_ = replace(model.guarantee_, theorem=name)
    base = (ROOT / "docs" / "proofs").as_uri()
    links = [v for v in read_page(card_html(model, proofs=base)).values("href") if "#" not in v]
    assert [Path(link.removeprefix("file://")).exists() for link in links] == [True]
    named = read_page(card_html(model))
    assert f"docs/proofs/{name}.md" in named.text
    assert all(v.startswith("#") for v in named.values("href"))


def test_only_the_source_of_the_list_and_the_proofs_are_linked(model, read_page):
    page = read_page(report_html(model, proofs="https://example.org/{name}.html"))
    assert [v for v in page.values("href") if not v.startswith("#")] == [
        "https://example.org/noisy-gradient/full-batch.html",
        "https://doi.org/10.6028/NIST.SP.800-226",
    ]


def test_a_link_cannot_be_made_to_run_something(model, read_page):
    from discreet.errors import InvalidParameter

    for address in ("javascript:alert(1)", " JavaScript:alert(1)//{name}", "data:text/html,x"):
        with pytest.raises(InvalidParameter, match="proofs"):
            card_html(model, proofs=address)


def test_coefficients_of_every_shape_are_named(read_page):
    random = np.random.default_rng(0)
    X, y = random.random((300, 60)), random.random(300)
    bounds = Bounds(features=(0, 1), label=(0, 1))
    wide = PrivateRidge(epsilon=9.0, bounds=bounds).fit(X, y)
    text = read_page(report_html(wide)).text
    assert "The 40 largest are shown; 21 more are in the model file." in text
    shown = f"{max(np.ravel(wide.coef_), key=abs):.4g}"
    assert shown in text
    two = PrivateQuantileRegressor(epsilon=9.0, bounds=bounds).fit(X[:, :2], y)
    assert "feature 2" in read_page(report_html(two)).text


def test_the_list_says_met_only_of_what_is_met(model, tmp_path):
    card = card_dict(model)
    found = states(card)
    assert found["Is the mechanism named and proved?"] == MET
    assert found["Is the error known, and was it measured privately?"] == OPEN
    assert found["Is everything that was released from the data counted?"] == YOURS
    assert found["What is one unit of privacy?"] == YOURS
    assert found["Are side channels closed?"] == OPEN
    assert states(card, evaluated=True)["Is the error known, and was it measured privately?"] == MET
    foreign = card_dict(replace(model.guarantee_, theorem="mine", unit="person"))
    assert states(foreign)["Is the mechanism named and proved?"] == OPEN
    assert states(foreign)["What is one unit of privacy?"] == MET
    assert found["Is floating point kept from leaking?"] == MET
    assert states(foreign)["Is floating point kept from leaking?"] == OPEN
    seeded = states(card_dict(replace(model.guarantee_, secure=False)))
    assert seeded["Is the randomness fit for the purpose?"] == OPEN
    first = next(iter(seeded))
    assert (found[first], seeded[first]) == (MET, OPEN)
    assert states(card_dict(replace(model.guarantee_, epsilon=60.0)))[first] == OPEN
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="people", epsilon=3.0, delta=1e-5)
    counted = "Is everything that was released from the data counted?"
    assert states(card_dict(model, ledger=ledger))[counted] == YOURS
    with ledger.spending(model.guarantee_):
        pass
    assert states(card_dict(model, ledger=ledger))[counted] == MET
    answer = {i.question: i.answer for i in checklist(card_dict(model, about=About(actors="x y")))}
    assert "You say: x y" in answer.values()


def test_a_seeded_or_weak_release_says_so_first(model, read_page):
    model.guarantee_ = replace(model.guarantee_, secure=False, epsilon=60.0)
    text = read_page(report_html(model)).text
    assert text.index("NOT private") < text.index("What is guaranteed")
    assert "no protection in practice" in text


def test_intervals_are_shown_where_a_model_has_them(read_page):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (20000, 2))
    y = np.clip(0.3 * X[:, 0] + 0.1 * random.normal(size=20000), -1, 1)
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    ridge = PrivateRidge(epsilon=1.0, bounds=bounds, inference="population", random_state=0)
    text = read_page(report_html(ridge.fit(X, y), level=0.9)).text
    low, high = ridge.interval(0.9)[0]
    assert f"{low:.4g} to {high:.4g}" in text
    assert "90% interval" in text
    assert "count noise and sampling" in text
    assert "Assumes: rows are independent" in text
    assert "No intervals were paid for" not in text
    faint = ridge.set_params(epsilon=0.05).fit(X[:100], y[:100])
    text = read_page(report_html(faint)).text
    assert "There is no finite interval" in text
    assert "inf" not in text.split("Coefficients")[2].split("There is no finite")[0]


def test_a_rehearsal_tells_what_epsilon_would_have_bought(read_page, model):
    found = Rehearsal(
        "PrivateLogisticRegression", 1000, 0.8, 0.5,
        {0.1: {"auc": [0.5, 0.6]}, 1.0: {"auc": [0.7, 0.75]}, 0.01: {}}, {"auc": 0.8}, {"auc": 0.5},
    )  # fmt: skip
    text = read_page(report_html(model, rehearsal=found)).text
    for said in ("1,000 made-up rows", "0.725 (0.700 to 0.750)", "no fit is possible", "0.800"):
        assert said in text
    assert "What epsilon would have bought" not in read_page(report_html(model)).text


def test_the_curve_is_drawn_where_it_is(model):
    page = card_html(model)
    points = re.search(r"<polyline class='curve' points='([^']+)'", page)[1].split()
    drawn = np.array([[float(v) for v in p.split(",")] for p in points])
    assert (np.diff(drawn[:, 0]) >= 0).all()
    assert (np.diff(drawn[:, 1]) <= 0).all()  # upwards on a page
    assert tuple(drawn[0]) == (46.0, 284.0)
    assert tuple(drawn[-1]) == (398.0, 30.0)
