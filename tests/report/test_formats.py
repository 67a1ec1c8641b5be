"""The card in every format: as kept, valid where a schema says what is, and escaped.

``DISCREET_KEEP=1 pytest tests/report/test_formats.py`` writes the kept files anew.
"""

import json
import os
import re
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
import yaml

from discreet import Bounds, Guarantee, Ledger, PrivateRidge
from discreet.accounting import Approximate, Pure
from discreet.errors import InvalidParameter
from discreet.evaluation.estimate import Estimate, unknown
from discreet.losses import Squared
from discreet.report import (
    About,
    card_dict,
    card_html,
    huggingface_text,
    registry_text,
    render,
    report_html,
)

HERE = Path(__file__).parent
SCHEMA = json.loads((HERE / "registry_schema.json").read_text())
WRITERS = {
    "card.txt": render,
    "card.json": lambda card: json.dumps(card, indent=1) + "\n",
    "entry.yaml": registry_text,
    "README.md": huggingface_text,
}


def valid(text):
    entry = yaml.safe_load(text)
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    jsonschema.Draft7Validator(SCHEMA, format_checker=checker).validate(entry)
    return entry


@pytest.mark.parametrize("name", WRITERS)
def test_a_card_is_as_kept(model, about, name):
    text = WRITERS[name](card_dict(model, about=about))
    text = text.replace(f"discreet {version('discreet')}", "discreet VERSION")
    kept = HERE / "kept" / name
    if os.environ.get("DISCREET_KEEP"):
        kept.write_text(text)
    assert text == kept.read_text()


def test_the_json_card_names_the_version_of_its_guarantee(model):
    card = json.loads(json.dumps(card_dict(model), allow_nan=False))
    assert card["guarantee"]["discreet_guarantee_version"] == 1
    assert Guarantee.from_dict(card["guarantee"]) == model.guarantee_
    assert card["rows"] == 14000
    assert card["noise_multiplier"] == [4.22467888932982]


# The registry.


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"event": Pure(1.0), "delta": 0.0},
        {"neighbours": "add-remove"},
        {"neighbours": "replace-one", "unit": "person", "theorem": "a theorem of my own"},
        {"event": Approximate(2.0, 1e-7), "kind": "ex-post", "reserved": (2.0, 1e-6)},
    ],
)
def test_every_entry_of_the_registry_is_valid(model, about, change):
    claim = replace(model.guarantee_, **change)
    entry = valid(registry_text(card_dict(claim, about=about)))
    loss = entry["deployment"]["privacy_loss"]
    epsilon, delta = claim.reserved or (claim.epsilon, claim.delta)
    assert loss["privacy_parameters"]["epsilon"] == epsilon
    # A number, also for readers that take 1e-06 for a text.
    assert loss["privacy_parameters"].get("delta", 0.0) == delta
    assert entry["status"] == "Draft"


def test_an_entry_is_what_the_registry_itself_accepts(model, about):
    """Its checks of slugs and quotes, by their rules."""
    text = registry_text(card_dict(model, about=about))
    slug = re.match(r"url_slug: (.*)", text)[1]
    parts = ("risk of return", "st. example hospital", "2030")
    assert slug == "-".join(re.sub(r"\W+", "-", part) for part in parts)
    styles = {token.style for token in yaml.scan(text) if hasattr(token, "style")}
    assert styles <= {None, '"'}


def test_the_registry_asks_for_what_only_you_can_say(model, about):
    with pytest.raises(InvalidParameter, match=r"name, curators, description, .*, authors, tuning"):
        registry_text(card_dict(model))
    with pytest.raises(InvalidParameter, match="only you can say: tuning"):
        registry_text(card_dict(model, about=replace(about, tuning=None)))
    with pytest.raises(InvalidParameter, match="does not belong"):
        registry_text(card_dict(replace(model.guarantee_, secure=False), about=about))


def test_many_releases_are_told_to_the_registry(model, about, tmp_path):
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="people", epsilon=3.0, delta=1e-5)
    with ledger.spending(model.guarantee_):
        pass
    card = card_dict(model, about=about, ledger=ledger)
    assert card["ledger"]["charged_here"]
    assert 0 < card["ledger"]["share_spent"] < 1
    held = valid(registry_text(card))["deployment"]
    assert held["deployment_model"]["release_type"] == "Many releases"
    assert "epsilon = 3" in held["accounting"]["composition"]
    other = card_dict(replace(model.guarantee_, epsilon=1.5), ledger=ledger)
    assert not other["ledger"]["charged_here"]
    assert "was not charged here" in " ".join(render(other).split())


# The Hub.


def front(text):
    _, head, _ = text.split("---\n", 2)
    return yaml.safe_load(head)


def test_the_front_matter_has_results_of_private_evaluations_only(model, about):
    card = card_dict(model, about=about)
    assert front(huggingface_text(card))["tags"] == [
        "differential-privacy", "discreet", "tabular-classification",
    ]  # fmt: skip
    assert "model-index" not in front(huggingface_text(card))

    found = SimpleNamespace(estimates={"auc": Estimate(0.9, 0.8, 1.0, 0.01), "f1": unknown()})
    assert "model-index" not in front(huggingface_text(card_dict(model), found))
    [index] = front(huggingface_text(card, found))["model-index"]
    [metric] = index["results"][0]["metrics"]  # what is not known is left out
    assert (metric["type"], metric["value"]) == ("roc_auc", 0.9)
    assert index["results"][0]["dataset"] == {"name": "Admissions 2029", "type": "private"}


# Hostile words.


def test_hostile_words_stay_words(hostile_model, hostile_about, read_page, tmp_path):
    ledger = Ledger.create(
        tmp_path / "x.ledger", dataset=hostile_about.name.split("\n")[0], epsilon=3.0, delta=1e-5
    )
    more = {"about": hostile_about, "ledger": ledger}
    for page in (card_html(hostile_model, **more), report_html(hostile_model, **more)):
        assert read_page(page).text.count("<script>alert(1)</script>") > 10
        assert "\u202e" not in page
    card = card_dict(hostile_model, **more)
    entry = valid(registry_text(card))
    assert entry["deployment"]["basic"]["name"].startswith("</style><script>")
    hub = huggingface_text(card)
    assert "<script" not in hub.split("---\n", 2)[2]
    assert front(hub)["license"].startswith("</style>")
    assert "\n# " not in hub.split("---\n", 2)[2].replace("\n## ", "").replace("\n### ", "")
    assert "\u202e" not in render(card)


# What is known about the release.


def test_the_number_of_rows_is_told_only_where_it_is_public(model):
    assert card_dict(model.guarantee_, about=About(rows=50))["rows"] == 50
    with pytest.raises(InvalidParameter, match="is not the number of rows"):
        card_dict(model, about=About(rows=50))
    secret = replace(model.guarantee_, neighbours="add-remove")
    assert "rows" not in card_dict(secret)
    with pytest.raises(InvalidParameter, match="secret"):
        card_dict(secret, about=About(rows=50))


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_a_fit_notes_its_rows_where_they_are_public(relation, tmp_path):
    X = np.linspace(0, 1, 90).reshape(-1, 1)
    bounds = Bounds(features=(0, 1), label=(0, 1))
    model = PrivateRidge(bounds=bounds, neighbours=relation).fit(X, X.ravel())
    model.save(tmp_path / "model.json")
    from discreet import load

    told = card_dict(load(tmp_path / "model.json"), file=tmp_path / "model.json")
    assert told.get("rows") == (None if relation == "add-remove" else 90)
    assert "90" not in render(told | {"file": {"name": "", "sha256": ""}}) or "rows" in told
    assert len(told["file"]["sha256"]) == 64


def test_who_made_a_part_that_is_not_ours_is_told(model):
    class Mine(Squared):
        name = "mine"

    model.loss = Mine()
    model.get_params = lambda deep=False: {"loss": model.loss}
    [made] = card_dict(model)["made_by_others"]
    assert made["part"] == "loss"
    assert "not part of discreet" in render(card_dict(model))
    assert "who answer for its proof" in " ".join(card_html(model).split())


# Your words.


def test_words_come_from_a_file_and_unknown_ones_are_refused(tmp_path):
    file = tmp_path / "about.toml"
    file.write_text('name = "n"\ndate = 2030-01-02\ncurators = ["a", "b"]\nrows = 5\n')
    assert About.from_toml(file) == About(name="n", date="2030-01-02", curators=("a", "b"), rows=5)
    for text, said in (
        ('nam = "n"', "Did you mean 'name'"),
        ("name = 3", "must be text"),
        ('name = " "', "must be text"),
        ("curators = 3", "list of texts"),
        ('date = "2.1.2030"', "such as 2030-01-31"),
        ('sector = "Helthcare"', "Did you mean 'Healthcare'"),
        ("rows = 0", "rows"),
        ("name", "not a TOML file"),
    ):
        file.write_text(text)
        with pytest.raises(InvalidParameter, match=said):
            About.from_toml(file)


def test_the_command_line_has_an_option_for_every_word():
    from discreet.cli.card import _WORDS

    assert list(_WORDS) == [f.name for f in fields(About)]
