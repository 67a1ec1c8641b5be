"""``discreet plan``: prices without data."""

import re

import pytest

from discreet import Bounds, PrivateLogisticRegression
from discreet.errors import Incompatible

PLAN = "plan --rows 20000 --features 12 --epsilon 1 --row-norm 1"
SCHEMA = "plan --schema schema.toml --target rich --rows 9 --epsilon 1"


@pytest.mark.parametrize("model", ["logistic", "svm", "ridge", "huber", "elastic-net"])
def test_every_model_can_be_priced(run, model):
    code, out, _ = run(f"{PLAN} --model {model}")
    assert code == 0
    assert "noise scale" in out
    # Pure noise where it is smaller claims no delta.
    assert re.search("epsilon = 1, delta = (1e-06|0) per row", out)


@pytest.mark.parametrize("verb", ["plan", "audit"])
def test_models_without_a_plan_are_named_as_such(run, verb):
    code, _, err = run(f"{verb} --rows 20 --features 1 --epsilon 1 --row-norm 1 --model median")
    assert (code, "--model median has no plan" in err) == (1, True)


@pytest.mark.parametrize(("target", "model"), [("rich", "ridge"), ("age", "logistic")])
def test_a_model_that_no_fit_would_take_is_refused(run, folder, target, model):
    fit = f"fit data.csv --epsilon 1 --schema schema.toml --out model.json --target {target}"
    for command in (f"{SCHEMA.replace('rich', target)} --model {model}", f"{fit} --model {model}"):
        code, _, err = run(command)
        assert code == 1
        assert "is not declared as such" in err


def test_table_is_what_the_estimator_would_plan(run):
    by = "objective-perturbation"
    _, out, _ = run(f"{PLAN} --model logistic --delta 1e-7 --algorithm {by}")
    lines = out.split("what epsilon buys")[1].split("\n\n")[1].splitlines()[1:]
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    errors = []
    for line, epsilon in zip(lines, [0.1, 0.3, 1.0, 3.0, 10.0], strict=True):
        estimator = PrivateLogisticRegression(
            epsilon=epsilon, delta=1e-7, bounds=bounds, algorithm=by
        )
        expected = estimator.plan(12, 20000)
        shown, noise, strength, error, algorithm = line.replace("*", " ").split()
        assert float(shown) == epsilon
        assert float(noise) == pytest.approx(expected.scale, rel=1e-3)
        assert float(strength) == pytest.approx(expected.strength, rel=1e-3)
        assert float(error) == pytest.approx(expected.expected_excess / 20000, rel=1e-2)
        assert algorithm == expected.facts()["algorithm"]
        errors.append(float(error))
    assert errors == sorted(errors, reverse=True)


def test_without_a_bound_of_its_own_a_plan_shows_the_second_best(run):
    _, out, _ = run("plan --rows 2000 --features 12 --epsilon 1 --row-norm 1")
    lines = out.split("what epsilon buys")[1].split("\n\n")[1].splitlines()[1:]
    shown = next(line for line in lines if "*" in line)
    plan = PrivateLogisticRegression(
        epsilon=1.0, bounds=Bounds(row_norm=1.0, classes=(0, 1)), algorithm="objective-perturbation"
    ).plan(12, 2000)
    assert f" {plan.expected_excess / 2000:.3g} (+) " in shown
    assert shown.endswith("noisy-gradient")
    (fact,) = (line for line in out.splitlines() if line.startswith("expected excess"))
    bound = (
        f"{plan.expected_excess:.6g} (+) by objective perturbation, for weights of norm "
        f"{plan.norm_guess:.6g}"
    )
    assert fact.endswith(f"no bound is known; {bound}")
    (own,) = (line for line in out.splitlines() if line.startswith("norm guess"))
    assert float(own.split()[-1]) < plan.norm_guess / 2
    assert f"Every error is for weights of norm {plan.norm_guess:.3g}, " in out
    assert f"own norm guess, {float(own.split()[-1]):.3g}, only sets how far its steps go" in out
    assert "(+) the bound of objective perturbation" in out
    _, out, _ = run("plan --rows 2000 --features 12 --epsilon 1 --row-norm 1 --delta 0")
    assert "(+)" not in out
    _, out, _ = run("plan --rows 2000 --features 1 --epsilon 1 --row-norm 1 --delta 0")
    assert "2,000 rows, 1 feature\n" in out


def shown_errors(out):
    lines = out.split("what epsilon buys")[1].split("\n\n")[1].splitlines()[1:]
    return [float(line.replace("*", " ").split()[3]) for line in lines]


@pytest.mark.parametrize("model", ["logistic", "svm", "ridge", "huber", "elastic-net"])
def test_errors_fall_with_epsilon_and_grow_under_a_stricter_relation(run, model):
    price = f"plan --rows 5000 --features 5 --row-norm 1 --epsilon 1 --model {model}"
    mild, strict = (
        shown_errors(run(f"{price} --neighbours {relation}")[1])
        for relation in ("zero-out", "replace-one")
    )
    for errors in (mild, strict):
        assert errors == sorted(errors, reverse=True)
    assert all(less < more for less, more in zip(mild, strict, strict=True))


def test_a_norm_that_is_given_is_taken_and_not_explained(run):
    _, out, _ = run(f"{PLAN} --norm-guess 2 --algorithm objective-perturbation")
    (own,) = (line for line in out.splitlines() if line.startswith("norm guess"))
    assert own.split()[-1] == "2"
    assert "Every error is for" not in out


def test_schema_gives_the_bounds(folder, run):
    code, out, _ = run("plan --schema schema.toml --target rich --rows 300 --epsilon 1")
    assert code == 0
    assert "300 rows, 4 features" in out
    code, out, _ = run("plan --schema schema.toml --target age --rows 300 --epsilon 1")
    assert "PrivateRidge: 300 rows, 5 features" in out


def test_neighbours_are_passed_on(run):
    for relation in ("replace-one", "add-remove"):
        _, out, _ = run(f"{PLAN} --model logistic --neighbours {relation}")
        assert f"neighbours: {relation}" in out


def test_several_fits_are_planned_together(run):
    code, out, _ = run(f"{PLAN} --model svm --classes 4")
    assert code == 0
    assert "fits, one class against the rest  4" in out
    assert "epsilon = 1, delta = 1e-06" in out
    assert "Epsilon is that of all 4 fits together" in out
    for other in ("--model svm", "--model logistic --classes 4", "--model ridge"):
        assert "against the rest" not in run(f"{PLAN} {other}")[1]


def test_too_few_rows_are_cautioned_about_at_the_epsilon_that_was_asked_for(run):
    few = "plan --rows 40 --features 2 --epsilon {} --row-norm 1"
    for epsilon, said in ((0.05, 1), (1.0, 0)):  # the table goes down to a tenth of either
        code, out, err = run(few.format(epsilon))
        assert code == 0
        assert out.count("caution: the rows are too few") == said
        assert not err


def test_weak_budgets_are_cautioned_about(run):
    quick = f"{PLAN} --algorithm objective-perturbation"
    assert "caution" not in run(quick)[1]
    _, out, _ = run(f"{quick} --epsilon 60 --delta 0.5")
    assert "caution: epsilon = 60" in out
    assert "caution: delta = 0.5" in out
    assert "caution: delta = 0.001 is not below" in run(f"{quick} --delta 1e-3")[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan --rows 10 --epsilon 1", "--features and --row-norm are needed"),
        ("plan --rows 0 --features 2 --row-norm 1 --epsilon 1", "--rows must be a whole number"),
        ("plan --rows 10 --features 2 --row-norm 0 --epsilon 1", "--row-norm must be finite"),
        ("plan --rows 10 --features 2 --row-norm 1 --epsilon 0", "epsilon must be finite"),
        (
            "plan --rows 9 --features 2 --row-norm 1 --epsilon 1 --classes 1",
            "--classes must be a whole",
        ),
        ("plan --schema schema.toml --rows 9 --epsilon 1", "--target is not set"),
        (f"{SCHEMA} --row-norm 1", "--row-norm does not go with --schema"),
        (f"{SCHEMA} --features 3", "--features does not go with --schema"),
        (f"{SCHEMA} --classes 2", "--classes does not go with --schema"),
        (f"{PLAN} --target rich", "Give --schema too"),
        (f"{PLAN} --model ridge --classes 3", "--classes does not go with --model ridge"),
    ],
)
def test_refusals(folder, run, line, message):
    code, _, err = run(line)
    assert code == 1
    assert message in err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--norm-guess 1e300", "--norm-guess must lie between"),
        ("--norm-guess 1e-300", "--norm-guess must lie between"),
        ("--row-norm 1e80", "--row-norm must lie between"),
        ("--rows 99999999999999999999999", "--rows must be at most 1,000,000,000,000"),
        ("--features 99999999999999", "--features must be at most 100,000,000"),
        ("--classes 100000000", "--classes must be at most 10,000"),
        ("--features 90000000 --classes 3", "--features times --classes must be at most"),
    ],
)
def test_sizes_that_cannot_be_meant_are_refused_by_name(run, option, said):
    code, out, err = run(f"{PLAN} {option}")
    assert (code, out) == (1, "")
    assert said in err


@pytest.mark.parametrize("model", ["logistic", "svm", "ridge", "huber", "elastic-net"])
def test_sizes_at_their_limits_are_planned_or_refused_in_words(run, model):
    largest = "--rows 1000000000000 --features 100000000"
    for options in ("--norm-guess 1e50 --row-norm 1e50", "--norm-guess 1e-50 --row-norm 1e-50"):
        for rest in ("", "--epsilon 1e-30 --delta 0", largest):
            code, out, err = run(f"{PLAN} --model {model} {options} {rest}")
            assert "unexpected" not in err
            assert bool(out) == (code == 0)


def test_nothing_is_printed_before_a_failure(run, monkeypatch):
    def broken(*args):
        raise Incompatible("late")

    monkeypatch.setattr("discreet.cli.shared.cautions.cautions", broken)
    code, out, err = run(f"{PLAN} --algorithm objective-perturbation")
    assert (code, out) == (1, "")
    assert "late" in err


def test_a_size_that_differs_from_the_declared_one_is_refused(folder, run):
    declared = 'neighbours = "add-remove"\nn_rows = 200\n' + (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text("\ufeff" + declared, encoding="utf-8")  # as editors may
    code, _, err = run(SCHEMA)
    assert code == 1
    assert "the schema's n_rows 200" in err
    assert run("plan --schema schema.toml --target rich --rows 200 --epsilon 1")[0] == 0
    (folder / "schema.toml").write_text(declared, encoding="utf-16")
    assert "not UTF-8 text" in run(SCHEMA)[2]


@pytest.mark.parametrize(
    ("budget", "blamed"), [("1e-30 --delta 0", "epsilon"), ("1 --delta 1e-290", "delta")]
)
def test_a_budget_too_small_to_be_split_is_blamed_and_not_its_parts(run, budget, blamed):
    by = "--model logistic --algorithm objective-perturbation"
    code, _, err = run(f"{PLAN.replace('--epsilon 1', f'--epsilon {budget}')} {by}")
    assert code == 1
    assert f"{blamed} is too small to be split" in err
    assert "Got" not in err


def test_a_rehearsal_reads_nothing_but_the_schema(folder, run):
    (folder / "data.csv").unlink()
    line = SCHEMA.replace("--rows 9", "--rows 400")
    code, out, err = run(f"{line} --rehearse --repeats 1 --share 0.2 --plot r.png")
    assert code == 0, err
    assert "made-up rows" in out
    assert "area under ROC" in out
    assert "fit 5 of 5" in err
    assert (folder / "r.png").stat().st_size > 5000
    code, _, err = run(f"{line} --signal 0.9")
    assert code == 1
    assert "--rehearse" in err


def test_a_bound_that_promises_nothing_is_called_so(folder, run):
    _, out, _ = run(SCHEMA)
    assert "no better than guessing" in out
    assert "no better than guessing" not in run(PLAN)[1]


def test_a_plan_for_a_ledger_is_that_of_the_fit_and_charges_nothing(run, tmp_path):
    book = tmp_path / "a.ledger"
    assert run(f"ledger create {book} --dataset a --epsilon 20 --delta 1e-6")[0] == 0
    asked = "plan --model svm --rows 5000 --features 2 --row-norm 1 --epsilon 8"
    alone, shared = run(asked)[1], run(f"{asked} --ledger {book}")[1]
    assert "epsilon = 8, delta = 0 per row" in alone
    assert "epsilon = 8, delta = 1e-06 per row" in shared  # noise that adds up to less
    assert f"of {book}: fits 2 more times" in shared
    assert "0% is spent" in run(f"ledger show {book}")[1]
    code, _, err = run(f"{asked} --ledger {book} --rehearse")
    assert code == 1
    assert "No ledger is charged" in err
