"""The privacy card says what the guarantee says, for every kind of guarantee."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.pipeline import make_pipeline

from discreet import AccuracyFirst, Bounds, Guarantee, PrivateLogisticRegression, PrivateRidge
from discreet.accounting import gaussian_multiplier
from discreet.accounting.events import Approximate, Gaussian, Pure
from discreet.errors import InvalidParameter
from discreet.report import About, card_dict, card_text, render

PURE = Guarantee(
    epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0), theorem="theorem T"
)
APPROXIMATE = Guarantee(
    epsilon=0.5,
    delta=1e-5,
    neighbours="replace-one",
    event=Approximate(0.5, 1e-5),
    theorem="theorem T",
    assumptions=("the moon is round",),
)


def flat(text):
    return " ".join(text.split())


def test_text_states_the_promise_in_words():
    text = flat(card_text(PURE))
    assert "epsilon = 1, delta = 0 per row, zero-out neighbours" in text
    assert "whether a row was in the data grow at most 2.72-fold" in text
    assert "which of two values a row had grow at most 7.39-fold" in text
    assert "finds at most 2.7%" in text
    assert "theorem T" in text
    assert "plus delta" not in text
    assert "add-remove (one row more or less; the number of rows is secret): nothing" in text


def test_replace_one_speaks_of_values_and_names_assumptions():
    text = flat(card_text(APPROXIMATE))
    assert "which of two values a row had grow at most 1.65-fold" in text
    assert "membership" not in text
    assert "plus delta = 1e-05" in text
    assert "Assumes: the moon is round." in text


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_noise_of_objective_perturbation_stands_first(neighbours):
    random = np.random.default_rng(0)
    X, y = random.uniform(-1, 1, (2000, 2)), random.integers(0, 2, 2000)
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    model = PrivateLogisticRegression(
        algorithm="objective-perturbation", bounds=bounds, neighbours=neighbours
    ).fit(X, y)
    found = card_dict(model)["noise_multiplier"]
    # A row has norm sqrt(2), the intercept half its root, and no gradient is longer than both.
    apart = (2 + 2**0.5 / 4) ** 0.5 * (1 if neighbours == "zero-out" else 2)
    assert found[0] == pytest.approx(model.guarantee_.event.events[0].sigma / apart, rel=1e-6)
    assert 0.9 < found[0] / gaussian_multiplier(1.0, 1e-6) < 1.5


def test_add_remove_and_other_units():
    text = flat(card_text(replace(PURE, neighbours="add-remove", unit="person")))
    assert "with your person and without it" in text
    assert "whether a person was in the data" in text


def test_seeded_release_is_called_not_private_at_the_top():
    lines = card_text(replace(PURE, secure=False)).splitlines()
    assert any("NOT PRIVATE" in line for line in lines[:6])
    assert "WARNING" in lines


def test_ex_post_makes_no_claim_about_tests():
    card = card_dict(replace(PURE, kind="ex-post", reserved=(8.0, 0.0)))
    assert "detection_rate" not in card["attacker"]
    text = flat(render(card))
    assert "known only after the run" in text
    assert "50:50" not in text


def test_json_round_trip_and_guarantee_inside():
    card = json.loads(
        json.dumps(card_dict(APPROXIMATE, about=About(date="2030-01-02")), allow_nan=False)
    )
    assert Guarantee.from_dict(card["guarantee"]) == APPROXIMATE
    assert "Date              2030-01-02" in render(card)
    assert card["under"]["zero-out"] == {"epsilon": 0.5, "delta": 1e-5}


def test_absurd_epsilon_is_still_valid_json():
    for epsilon in (5000.0, 1e13):  # no budget reaches the second, but compositions may
        absurd = replace(PURE, epsilon=epsilon)
        json.dumps(card_dict(absurd), allow_nan=False)
        assert "100.0%" in card_text(absurd)
    assert card_dict(replace(PURE, epsilon=1e-40))["cautions"] == []


def test_model_card_holds_public_facts_only():
    secret = 0.987654321
    X = np.full((50, 2), secret)
    model = PrivateRidge(bounds=Bounds(features=(0, 1), label=(0, 2))).fit(X, X[:, 0])
    card = card_dict(model)
    assert card["model"]["estimator"] == "PrivateRidge"
    text = render(card)
    assert "every feature: 0 to 1" in text
    assert ", 2 features\n" in text
    assert ", 1 feature\n" in card_text(model.fit(X[:, :1], X[:, 0]))
    assert "label: 0, 2" in text
    assert str(secret) not in text + json.dumps(card)


def test_long_lists_are_shortened_in_text_and_whole_in_json():
    X, y = np.eye(40), np.arange(40) % 2
    bounds = Bounds(features=[(0, j + 1) for j in range(40)], classes=(0, 1))
    model = PrivateLogisticRegression(bounds=bounds).fit(X, y)
    card = card_dict(model)
    assert len(card["model"]["bounds"]["features"]) == 40
    assert "and 28 more, listed in the JSON card" in render(card)


def test_what_has_no_guarantee_has_no_card():
    with pytest.raises(InvalidParameter, match="call fit first"):
        card_dict(PrivateRidge())


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_how_often_the_bounds_on_odds_fail(epsilon, neighbours):
    """For Gaussian noise the loss is normal, so what the card says can be computed."""
    sigma = gaussian_multiplier(epsilon, 1e-6)
    claim = Guarantee(
        epsilon=epsilon, delta=1e-6, neighbours=neighbours, event=Gaussian(sigma), theorem="t"
    )
    text = flat(card_text(claim))
    said = float(re.search(r"twice as far come with probability at most ([\d.e-]+)\.", text)[1])

    def exceeds(level, shift):
        return norm.sf((level - shift**2 / 2) / shift)

    # What delta is not: the probability that the loss exceeds epsilon.
    assert exceeds(epsilon, 1 / sigma) > 4e-6
    assert exceeds(epsilon + np.log(2), 1 / sigma) <= 2e-6 <= said
    if neighbours == "zero-out":
        assert exceeds(claim.under("replace-one")[0] + np.log(2), 2 / sigma) <= said


def test_ex_post_shows_the_reserve_first():
    text = card_text(replace(PURE, kind="ex-post", reserved=(8.0, 0.0)))
    head = text.splitlines()
    assert head[3].startswith("Reserved          epsilon = 8")
    assert head[4].startswith("Spent             epsilon = ")
    assert "gives this result with" in text.replace("\n  ", " ")
    assert "Reserved" not in card_text(PURE)


def test_ranges_stand_beside_their_own_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hours": rng.uniform(0, 80, 60), "age": rng.uniform(18, 90, 60)})
    bounds = Bounds(features={"age": (18, 90), "hours": (0, 80)}, classes=(0, 1))
    model = PrivateLogisticRegression(epsilon=1.0, bounds=bounds, random_state=0)
    model.fit(X, rng.integers(0, 2, 60))
    text = card_text(model)
    assert "- hours: 0 to 80\n- age: 18 to 90\n" in text
    assert "names:" not in text


@pytest.mark.parametrize(("metric", "met"), [("excess-risk", True), ("error-rate", False)])
def test_models_that_stopped_early_have_a_card(metric, met):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(2000, 1))
    y = (X[:, 0] > 0.5).astype(int) if met else rng.integers(0, 2, 2000)
    model = AccuracyFirst(
        PrivateLogisticRegression(bounds=Bounds(features=(0, 1), classes=(0, 1))),
        max_error=0.1,
        metric=metric,
        max_epsilon=8.0,
        method="noise-reduction",
        random_state=0,
    ).fit(X, y)
    text = card_text(model)
    assert "Reserved" in text
    assert ("PrivateLogisticRegression by" in text) is met is hasattr(model, "estimator_")


def test_pipelines_have_no_card_but_their_last_step_does():
    """Earlier steps may have read the rows in their own way."""
    rng = np.random.default_rng(1)
    X, y = rng.uniform(size=(60, 2)), rng.integers(0, 2, 60)
    bounds = Bounds(features=(0, 1), classes=(0, 1))
    model = PrivateLogisticRegression(epsilon=1.0, bounds=bounds, random_state=0)
    pipeline = make_pipeline("passthrough", model).fit(X, y)
    assert card_text(pipeline[-1]).startswith("PRIVACY CARD")
    with pytest.raises(InvalidParameter, match="of a pipeline pass the last step"):
        card_text(pipeline)


def test_a_card_describes_every_kind_of_column() -> None:
    from discreet.report.wording import _SAID, _column
    from discreet.schema.kinds import KINDS

    assert set(_SAID) == set(KINDS)
    for facts, said in (
        ({"range": [20.0, 80.0], "missing": 40}, "20 to 80; missing: 40"),
        ({"categories": ["a", "b"], "other": "b"}, "one of a, b; others count as b"),
        ({"codes": [1, 9]}, "a code from 1 to 9"),
        ({"boolean": True}, "yes or no"),
        ({"boolean": ["nein", "ja"]}, "nein or ja"),
        ({"ordinal": ["low", "high"]}, "a level of low, high"),
        ({"date": ["2020-01-01", "2021-01-01"]}, "a date from 2020-01-01 to 2021-01-01"),
        ({"duration": [0.0, 9.0], "unit": "hours"}, "a duration of 0 to 9 hours"),
    ):
        assert _column(facts) == said
