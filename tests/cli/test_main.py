"""The command as a whole: help, exit codes, and what stays unsaid."""

import subprocess
import sys
import warnings
from importlib.metadata import version

import pytest

from discreet import UndeclaredBounds
from discreet.cli import accuracy_first, card, demo, fit, ledger, listing, plan, predict, schema
from discreet.cli.main import main
from discreet.cli.shared.parser import Parser

VERBS = ("demo", "models", "schema", "plan", "fit", "accuracy-first", "predict", "card", "ledger")


@pytest.mark.parametrize("verb", VERBS)
def test_help_teaches_by_examples(verb, capsys):
    assert main([verb, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"discreet {verb}" in out.split("examples:")[1]


@pytest.mark.parametrize(
    "module", [demo, listing, schema, plan, fit, accuracy_first, predict, card, ledger]
)
def test_every_option_has_help(module):
    verbs = Parser().add_subparsers()
    module.add(verbs)
    (parser,) = verbs.choices.values()
    assert all(action.help for action in parser._actions)


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("plan", "a wrong name lists all (default: auto)"),
        ("fit", "a wrong name lists all (default: auto)"),
        ("accuracy-first", "see below (default: excess-risk)"),
        ("demo", "private fits per epsilon (default: 15)"),
    ],
)
def test_help_tells_defaults(verb, said, capsys):
    assert main([verb, "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())  # lines may break within a word
    assert said.replace(" ", "") in shown


def test_main_help_names_every_verb_and_the_exit_codes(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"    {verb}" in out for verb in VERBS)
    assert "exit codes:" in out
    assert "130  interrupted" in out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "required: command"),
        ("fti data.csv", "Did you mean 'fit'?"),
        ("plan --model lgistic --rows 9 --epsilon 1", "Did you mean 'logistic'?"),
        ("plan --rows many --epsilon 1", "--rows"),
        ("fit data.csv --target x --eps 1 --schema s --out m", "--epsilon"),
        ("fit x.csv --target x --epsilon 1 --schema s --out m --seed -1", "invalid seed value"),
        ("demo --seed 1.5", "invalid seed value"),
    ],
)
def test_wrong_command_lines_leave_with_2(line, message, capsys):
    assert main(line.split()) == 2
    assert message in capsys.readouterr().err


def test_messages_of_other_libraries_are_withheld(monkeypatch, capsys):
    def broken(args):
        raise ValueError("could not convert string to float: '987654.321'")

    monkeypatch.setattr(card, "run", broken)
    monkeypatch.delenv("DISCREET_DEBUG", raising=False)
    assert main(["card", "model.json"]) == 1
    err = capsys.readouterr().err
    assert "unexpected ValueError" in err
    assert "987654.321" not in err
    monkeypatch.setenv("DISCREET_DEBUG", "1")
    with pytest.raises(ValueError, match="could not convert"):
        main(["card", "model.json"])


def test_an_interrupted_command_says_so_in_one_line(monkeypatch, capsys):
    def interrupted(args):
        raise KeyboardInterrupt

    monkeypatch.setattr(card, "run", interrupted)
    assert main(["card", "model.json"]) == 130
    assert capsys.readouterr().err == "discreet: interrupted: the command did not finish.\n"


def test_imports_may_be_interrupted():
    code = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
from discreet.cli.main import main
sys.exit(main(["card", "model.json"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "discreet: interrupted: the command did not finish.\n"


def test_command_is_installed():
    code = "import sys; from discreet.cli.main import main; sys.exit(main(['fti']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Did you mean 'fit'?" in done.stderr


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"discreet {version('discreet')}\n"


def test_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"discreet {version('discreet')}\n")


def test_warnings_are_one_line_without_a_path(monkeypatch, capsys):
    """Those of other libraries are not said at all: they may quote rows."""

    def warned(args):
        warnings.warn("bounds does not declare label", UndeclaredBounds, stacklevel=1)
        warnings.warn("row 17 holds 42", UserWarning, stacklevel=1)

    monkeypatch.setattr(listing, "run", warned)
    assert main(["models"]) == 0
    assert capsys.readouterr().err == "caution: bounds does not declare label\n"
