"""Privacy per person on the command line, and ledgers of every verb that reads rows."""

import pytest

from discreet import Ledger, load

FIT = "fit data.csv --target rich --epsilon 2 --schema schema.toml --out people.json"
BY = "--group id --rows-per-group 2"
UNIT = "ledger create g.ledger --dataset d --epsilon 9 --delta 1e-5 --unit group"


@pytest.fixture
def visits(folder, rows):
    """Let ten rows belong to each person."""
    for i, row in enumerate(rows[1:]):
        row[0] = f"p{i % 30}"
    (folder / "data.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    return folder / "schema.toml"


def test_a_fit_protects_people_and_a_column_of_the_schema_says_the_same(visits, run, folder):
    code, out, _ = run(f"{FIT} {BY} --seed 1")
    assert code == 0
    assert "per group (ex-ante)" in out
    assert "all rows of one group, such as a person, against blank rows" in out
    visits.write_text(visits.read_text() + "id = { group = true, rows = 2 }\n")
    assert run(f"{FIT.replace('people', 'again')} --seed 1")[0] == 0
    first, second = (load(folder / f"{name}.json") for name in ("people", "again"))
    assert (first.coef_ == second.coef_).all()
    code, out, _ = run("card people.json")
    assert "per person (all rows of one group)" in out


def test_a_column_without_a_number_of_rows_is_refused(visits, run):
    for option in ("--group id", "--rows-per-group 2"):
        code, _, err = run(f"{FIT} {option}")
        assert code == 1
        assert "belong together" in err
    code, _, err = run(f"{FIT} --group age --rows-per-group 2")
    assert code == 1
    assert "declares column 'age' already" in err


def test_row_counts_are_not_shown_where_a_replacement_may_change_them(visits, run):
    visits.write_text('neighbours = "replace-one"\n' + visits.read_text())
    code, _, err = run(f"{FIT} {BY}")
    assert code == 0
    assert "300" not in err


@pytest.mark.parametrize("relation", ['"zero-out"', '"replace-one"', '"add-remove"\nn_rows = 250'])
def test_an_evaluation_says_nothing_of_a_size_that_the_model_hides(visits, run, relation):
    plain = visits.read_text()
    visits.write_text(f"neighbours = {relation}\n" + plain)
    assert run(f"{FIT} {BY}")[0] == 0
    visits.write_text(plain + "id = { group = true, rows = 2 }\n")  # says nothing of neighbours
    score = "evaluate people.json data.csv --epsilon 1 --delta 0.005 --schema schema.toml"
    code, out, err = run(score)
    assert code == 0
    assert relation.split('"')[1] in out
    # More than one over the number of rows, if that is public.
    assert ("delta" in err) == ("zero-out" in relation)


def test_a_plan_says_what_it_protects(visits, run):
    line = "plan --rows 3000 --schema schema.toml --target rich --epsilon 1"
    assert "per row (ex-ante)" in run(line)[1]
    assert "per group (ex-ante)" in run(f"{line} --rows-per-group 2")[1]
    visits.write_text(visits.read_text() + "id = { group = true, rows = 2 }\n")
    assert "per group (ex-ante)" in run(line)[1]
    code, _, err = run(f"{line} --rows-per-group 3")
    assert code == 1
    assert "Leave out --rows-per-group" in err
    assert "belong to nobody" in run(f"{line} --rehearse")[2]


def test_evaluations_and_searches_are_charged(visits, run):
    assert run(UNIT)[0] == 0
    assert run(f"{FIT} {BY} --ledger g.ledger")[0] == 0
    score = "evaluate people.json data.csv --epsilon 1 --metrics accuracy"
    code, out, _ = run(f"{score} --ledger g.ledger")
    assert code == 0
    assert "per group" in out
    assert [e.algorithm for e in Ledger.open("g.ledger").history()][1] == "evaluation"
    assert run("ledger create r.ledger --dataset d --epsilon 9 --delta 1e-5")[0] == 0
    code, _, err = run(f"{score} --ledger r.ledger")
    assert code == 1
    assert "protects one row, and this run protects one group" in err
    tune = "tune data.csv --target rich --schema schema.toml --epsilon 2 --grid C=1,2 --out t.json"
    code, _, err = run(f"{tune} --ledger g.ledger")
    assert code == 1
    assert "protects one group" in err
    assert run(f"{tune} --quiet --ledger r.ledger")[0] == 0
    assert [e.algorithm for e in Ledger.open("r.ledger").history()] == ["search"]
