"""What is written: never over what is read, and only where it can be written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli.shared.files import check_outputs
from discreet.errors import InvalidParameter
from discreet.files.writing import write_json

FIT = "fit data.csv --target rich --epsilon 1 --schema schema.toml --quiet"
FIRST = (
    "accuracy-first data.csv --target rich --schema schema.toml --max-error 0.2 --max-epsilon 20"
    " --quiet"
)


@pytest.fixture
def fitted(folder, run):
    assert run(f"{FIT} --out model.json")[0] == 0
    (folder / "models").mkdir()
    (folder / "link.csv").symlink_to("data.csv")
    os.link(folder / "data.csv", folder / "hard.csv")
    return folder


@pytest.mark.parametrize(
    "line",
    [
        f"{FIT} --out data.csv",
        f"{FIT} --out models/../data.csv",
        f"{FIT} --out link.csv",
        f"{FIT} --out hard.csv",
        f"{FIT} --out schema.toml",
        f"{FIT} --out models",
        f"{FIT} --out new.json --card data.csv",
        f"{FIT} --out new.json --card schema.toml",
        f"{FIT} --out new.json --card models/../new.json",
        f"{FIT} --out new.json --card models",
        f"{FIRST} --out data.csv",
        f"{FIRST} --out schema.toml",
        f"{FIRST} --out models",
        f"{FIRST} --out new.json --plot data.csv",
        f"{FIRST} --out new.json --plot new.json",
        "predict model.json data.csv --out model.json",
        "predict model.json data.csv --out data.csv",
        "predict model.json data.csv --out models",
        "card model.json --out model.json",
        "card model.json --out models",
    ],
)
def test_nothing_that_is_read_is_overwritten(fitted, run, monkeypatch, line):
    before = {path: path.read_bytes() for path in fitted.iterdir() if path.is_file()}
    with monkeypatch.context() as patch:
        # Refused before anything is read.
        patch.setattr(Path, "read_text", lambda *_, **__: pytest.fail("a file was read"))
        code, out, err = run(line)
    assert code == 1
    assert out == ""
    assert "Name a" in err
    assert err.count("\n") == 1
    assert before == {path: path.read_bytes() for path in fitted.iterdir() if path.is_file()}


def test_earlier_results_may_be_written_again(fitted, run):
    assert run("card model.json --out card.txt")[0] == 0
    for _ in range(2):
        assert run("predict model.json data.csv --out p.csv")[0] == 0
        assert run("card model.json --out card.txt")[0] == 0


@pytest.mark.parametrize(
    "line",
    [
        f"{FIT} --out model.json",
        f"{FIT} --out models/../model.json",
        f"{FIT} --out new.json --card old.txt",
        f"{FIRST} --out model.json",
        f"{FIRST} --out new.json --plot old.txt",
        "demo --out . --fits 1 --epsilon 1",
        "predict paid.json data.csv --out model.json",
        "card paid.json --out model.json",
    ],
)
def test_what_was_paid_for_is_overwritten_by_force_only(fitted, run, line):
    (fitted / "old.txt").write_text("earlier")
    (fitted / "paid.json").write_bytes((fitted / "model.json").read_bytes())
    before = {path: path.read_bytes() for path in fitted.iterdir() if path.is_file()}
    code, out, err = run(line)
    assert (code, out) == (1, "")
    assert "exists" in err
    assert "--force" in err
    assert before == {path: path.read_bytes() for path in fitted.iterdir() if path.is_file()}


def test_force_overwrites(fitted, run):
    before = (fitted / "model.json").read_bytes()
    assert run(f"{FIT} --out model.json --force")[0] == 0
    assert (fitted / "model.json").read_bytes() != before
    assert run("card model.json --out card.txt")[0] == 0


@pytest.mark.parametrize("there", [False, True])
def test_unwritable_places_are_refused_before_the_data_is_read(folder, run, monkeypatch, there):
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    if there:
        (folder / "model.json").write_text("")
        monkeypatch.setattr(Path, "open", denied)
    else:
        monkeypatch.setattr("tempfile.TemporaryFile", denied)
    code, _, err = run(f"{FIT} --out model.json --force")
    assert code == 1
    assert "model.json cannot be written" in err


def test_checking_leaves_no_trace(tmp_path):
    (tmp_path / "old").write_text("kept")
    check_outputs(tmp_path / "old", tmp_path / "new", None, inputs=(tmp_path / "other", None))
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "kept"
    with pytest.raises(InvalidParameter, match=r"folder of .* does not exist"):
        check_outputs(tmp_path / "nowhere" / "new")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "new")
    with pytest.raises(InvalidParameter, match=r"folder of .* does not exist"):
        check_outputs(tmp_path / "dangling")


def test_devices_are_written_to_and_not_replaced():
    null = Path(os.devnull)
    check_outputs(null, null, inputs=(null,))
    write_json(null, {})
    assert not null.is_file()


LEFT = """
import gc, json, os, runpy, sys
import discreet.cli.main, discreet.estimators, discreet.evaluation, discreet.report
discreet.cli.main.parser()  # which imports every command
gc.freeze()  # so that a fork that ends does not copy all memory to look through it
codes = []
for number, line in enumerate(sys.argv[1:]):
    ours, theirs = os.pipe()
    os.close(ours)
    child = os.fork()
    if not child:
        os.dup2(theirs, 1)
        os.dup2(os.open(f"said-{number}", os.O_CREAT | os.O_WRONLY), 2)
        sys.argv = ["discreet", *line.split()]
        runpy.run_module("discreet", run_name="__main__")  # ends the process as it ends its own
    os.close(theirs)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_reader_that_left_takes_no_more_than_what_was_for_it(fitted):
    """One process imports the package; each line runs to its end in a fork of it."""
    lines = [
        (f"{FIT} --out 0.json", ""),
        ("card model.json", ""),
        ("plan --rows 99 --features 2 --epsilon 1 --row-norm 1", ""),
        (f"{FIT} --out /dev/stdout", "/dev/stdout may not have been written, and the budget is"),
        (f"{FIT} --out 4.json --card /dev/stdout", "the model is in 4.json, and the budget is"),
        ("predict model.json data.csv --out /dev/stdout", "the command did not finish"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", LEFT, *(line for line, _ in lines)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [int(bool(said)) for _, said in lines]
    for number, (line, said) in enumerate(lines):
        told = (fitted / f"said-{number}").read_text()
        assert told.startswith(f"discreet: nobody reads the output: {said}" if said else "")
        assert told.count("\n") == bool(said)
        assert (fitted / f"{number}.json").exists() == (f"{number}.json" in line)


def test_failed_predictions_leave_what_was_there(fitted, run, rows):
    rows[-1][1] = ""
    (fitted / "new.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    names = {path.name for path in fitted.iterdir()}
    assert run("predict model.json new.csv --out p.csv")[0] == 1
    assert {path.name for path in fitted.iterdir()} == names
    (fitted / "p.csv").write_text("earlier")
    assert run("predict model.json new.csv --out p.csv")[0] == 1
    assert (fitted / "p.csv").read_text() == "earlier"
