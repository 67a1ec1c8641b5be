"""Every guarantee names proofs that exist, and every proof names code and tests that exist."""

from __future__ import annotations

import ast
import re
import runpy
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import AccuracyFirst, Bounds, Budget, Ledger, evaluate, local
from discreet.accounting import MODES, Guarantee, in_parallel
from discreet.accounting.gamma import GAMMA_MODES
from discreet.accounting.theorems import THEOREMS, in_words, proofs
from discreet.algorithms import ALGORITHMS, FrankWolfe, ObjectivePerturbation
from discreet.algorithms.gradient.bst14 import BassilySmithThakurta
from discreet.errors import DiscreetError
from discreet.losses import Huber, Logistic, Softmax, Squared
from discreet.problem import Problem
from discreet.report import card_dict, card_text
from discreet.sets import Box, L1Ball, L2Ball

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "proofs"
SCRIPT = runpy.run_path(str(PAGES / "make_index.py"))

SECTIONS = [
    "Statement",
    "Assumptions and where they are enforced",
    "Proof",
    "Finite precision",
    "Oracle",
    "Reference",
]

RELATIONS = ("zero-out", "replace-one", "add-remove")
DELTAS = (0.0, 1e-6)


def names_pages(guarantee: Guarantee) -> None:
    """Fail unless everything a guarantee rests on has a page."""
    for name in guarantee.theorem.split("; "):
        assert name in THEOREMS, f"no page: {name}"
        assert (PAGES / f"{name}.md").exists()
    for title, page in proofs(guarantee.theorem):
        assert page is not None
        assert (ROOT / page).exists()
        assert f"proof: {title} ({page})" in str(guarantee)


@cache
def defined(file: str) -> set[str]:
    """Return the names that a file defines, with those of classes in front of their own."""
    found = set()
    for node in ast.parse((ROOT / file).read_text()).body:
        found |= _names(node)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{n}" for inner in node.body for n in _names(inner)}
    return found


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {t.id for t in targets if isinstance(t, ast.Name)}


def unknown(text: str) -> list[str]:
    """Return the references of a page to code or tests that do not exist."""
    every = re.findall(r"`([\w/]+\.py)::([\w.]+)`", text)
    return [f"{f}::{n}" for f, n in every if not (ROOT / f).exists() or n not in defined(f)]


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_a_page_is_whole_and_names_code_and_tests_that_exist(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    assert text.startswith(f"# {THEOREMS[name][0].upper()}{THEOREMS[name][1:]}\n")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    for section in re.split(r"^## .*$", text, flags=re.MULTILINE)[1:]:
        assert section.strip()
    assert unknown(text) == []
    assert SCRIPT["references"](text, "src"), "no code is named"
    assert SCRIPT["references"](text, "tests"), "no test is named"
    tests = [n for _, n in SCRIPT["references"](text, "tests")]
    assert all(n.startswith("test_") for n in tests)


def test_a_name_that_does_not_exist_is_found() -> None:
    file = "src/discreet/accounting/theorems.py"
    text = f"`{file}::proofs`, `{file}::prooofs`, `src/none.py::f`"
    assert unknown(text) == [f"{file}::prooofs", "src/none.py::f"]


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_links_of_a_page_lead_somewhere(name: str) -> None:
    page = PAGES / f"{name}.md"
    for target in re.findall(r"\]\(([^)#: ]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_a_theorem_with_a_name() -> None:
    found = {str(p.relative_to(PAGES).with_suffix("")) for p in PAGES.rglob("*.md")}
    assert found - {"index"} == set(THEOREMS)


def test_the_map_is_what_the_pages_say() -> None:
    assert (PAGES / "index.md").read_text() == SCRIPT["index"](), "run make docs-map"


def problem(loss: Any, relation: str, **more: Any) -> Problem:
    bounds = Bounds(row_norm=1.0, label=(0, 1), classes=(0, 1))
    return Problem(loss=loss, bounds=bounds, n_features=3, n_rows=400, neighbours=relation, **more)  # type: ignore[arg-type]


def plan(algorithm: Any, asked: Problem, delta: float) -> Guarantee | None:
    try:
        return algorithm.plan(asked, Budget(1.0, delta)).guarantee
    except DiscreetError:
        return None


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_names_pages(name: str) -> None:
    made = [
        plan(ALGORITHMS[name](), problem(loss, relation), delta)
        for loss in (Logistic(), Squared(), Huber())
        for relation in RELATIONS
        for delta in DELTAS
    ]
    assert any(made)
    for guarantee in made:
        if guarantee is not None:
            names_pages(guarantee)


SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    (
        "noisy-gradient",
        {"sampler": "poisson", "batch": 40, "steps": 3},
        "noisy-gradient/poisson",
    ),
    (
        "noisy-gradient",
        {"sampler": "poisson", "batch": 40, "cap": 60, "steps": 3},
        "noisy-gradient/capped",
    ),
    (
        "noisy-gradient",
        {"sampler": "fixed-size", "batch": 40, "steps": 3},
        "noisy-gradient/fixed-size",
    ),
    ("noisy-gradient", {"hidden_state": True, "steps": 3}, "noisy-gradient/hidden-state"),
    ("noisy-newton", {"variant": "double-noise"}, "noisy-newton"),
    (
        "exponential-sampling",
        {"regularised": True, "trust_loss": True},
        "exponential-sampling/regularised",
    ),
    ("exponential-sampling", {"sampler": "grid-walk"}, "exponential-sampling/grid-walk"),
    ("support-selection", {"selector": "forward", "size": 1}, "support-selection"),
]


@pytest.mark.parametrize(("name", "setting", "theorem"), SETTINGS)
@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_every_variant_names_its_own_page(
    name: str, setting: dict[str, Any], theorem: str, relation: str
) -> None:
    box = {"constraint": Box()} if setting.get("sampler") == "grid-walk" else {}
    asked = problem(Logistic(), relation, **box)
    made = [plan(ALGORITHMS[name](**setting), asked, delta) for delta in DELTAS]
    found = [guarantee for guarantee in made if guarantee is not None]
    assert found
    for guarantee in found:
        names_pages(guarantee)
        assert theorem in guarantee.theorem.split("; ")


def test_every_rule_of_objective_perturbation_names_its_page() -> None:
    for relation in RELATIONS:
        for delta, modes in ((1e-6, MODES), (0.0, GAMMA_MODES)):
            for mode in modes:
                asked = problem(Logistic(), relation)
                guarantee = plan(ObjectivePerturbation(mode=mode), asked, delta)
                assert guarantee is not None
                names_pages(guarantee)
    several = replace(
        problem(Softmax(), "zero-out"), bounds=Bounds(row_norm=1.0, classes=(0, 1, 2))
    )
    guarantee = plan(ObjectivePerturbation(), several, 1e-6)
    assert guarantee is not None
    names_pages(guarantee)
    assert "objective-perturbation/vertices" in guarantee.theorem


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("constraint", [L1Ball(radius=1.0), L2Ball(radius=1.0)])
def test_frank_wolfe_names_the_page_of_its_set(relation: str, constraint: Any) -> None:
    guarantee = plan(FrankWolfe(), problem(Logistic(), relation, constraint=constraint), 1e-6)
    assert guarantee is not None
    names_pages(guarantee)


def test_the_published_algorithm_names_its_page() -> None:
    asked = problem(Logistic(), "replace-one", constraint=L2Ball(radius=1.0))
    guarantee = plan(BassilySmithThakurta(), replace(asked, n_rows=50), 1e-6)
    assert guarantee is not None
    names_pages(guarantee)


ESTIMATORS = sorted(
    n
    for n in discreet.__all__
    if n.startswith("Private") and getattr(discreet, n).__module__.startswith("discreet.estimators")
)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_names_pages_in_its_guarantee_and_card(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 2))
    kind = getattr(discreet, name)
    y = (X[:, 0] > 0).astype(int) if hasattr(kind, "decision_function") else X[:, 0]
    settings = {
        "bounds": Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)),
        "epsilon": 1.0,
        "random_state": 0,
        "n_rows": 60,
    }
    for relation in RELATIONS:
        model = kind()
        known = model.get_params()
        model.set_params(**{k: v for k, v in settings.items() if k in known}, neighbours=relation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X, y)
            except DiscreetError:
                assert relation != "zero-out"
                continue
        names_pages(model.guarantee_)
        card = card_dict(model)
        assert all((ROOT / proof["page"]).exists() for proof in card["proofs"])
        words = " ".join(card_text(model).split())
        assert all(" ".join(w.split()) in words for w in in_words(model.guarantee_.theorem))


def test_what_is_done_with_models_names_pages(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] > 0).astype(int)
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    model = discreet.PrivateLogisticRegression(epsilon=1.0, bounds=bounds).fit(X, y)
    names_pages(model.guarantee_.compose(model.guarantee_))
    names_pages(in_parallel(model.guarantee_, model.guarantee_))
    for delta in DELTAS:
        names_pages(evaluate(model, X, y, epsilon=1.0, delta=delta).guarantee)
    for policy in ("portfolio", "basic", "renyi", "gdp", "hybrid"):
        address = tmp_path / f"{policy}.ledger"
        ledger = Ledger.create(address, dataset="d", epsilon=1.0, delta=1e-6, policy=policy)
        names_pages(ledger.guarantee())
    for values in ([1.0, 4.0], [1.0, 4.0, 16.0, 64.0, 256.0]):
        fresh = discreet.PrivateLogisticRegression(bounds=bounds)
        search = discreet.PrivateSearch(fresh, {"norm_guess": values}, epsilon=1.0, delta=1e-6)
        names_pages(search.plan(n_features=2, n_rows=400).guarantee)
    spec = local.Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    names_pages(spec.guarantee)
    names_pages(local.shuffled_guarantee(spec, 1000, 1e-6))


@pytest.mark.parametrize("method", ["one-shot", "certificate", "noise-reduction", "doubling"])
def test_every_method_of_accuracy_first_names_pages(method: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    ridge = discreet.PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    model = AccuracyFirst(ridge, max_error=0.2, max_epsilon=50.0, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X[:, 0])
    names_pages(model.guarantee_)


def test_every_theorem_is_named_by_a_guarantee_or_is_a_lemma() -> None:
    source = "".join(p.read_text() for p in (ROOT / "src").rglob("*.py") if p.stem != "theorems")
    lost = [n for n in THEOREMS if f'"{n}"' not in source and not n.startswith("lemmas/")]
    assert lost == []


def test_a_theorem_of_your_own_stands_for_itself() -> None:
    assert proofs("mine; quantiles")[0] == ("mine", None)
    assert in_words("mine") == ("mine",)
