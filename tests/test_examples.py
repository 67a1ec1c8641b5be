"""Everything the README, the docs and the examples show is run here."""

import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from discreet.cli.example import FILES
from discreet.cli.main import main

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#([\w-]+))?\)")


def blocks(page):
    for indent, language, text in BLOCK.findall(page.read_text()):
        yield language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_does_what_it_shows_in_an_empty_folder(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    printed = ""
    for language, text in blocks(page):
        if language == "python":
            exec(compile(text, page.name, "exec"), names)
            printed = capsys.readouterr().out
        elif language == "text":
            assert text == printed
        elif language == "py":  # needs a cluster: `make test-cluster` runs what it shows
            compile(text, page.name, "exec")
        elif language == "toml":
            tomllib.loads(text)
            if named := re.match(r"# (\w+\.toml)\n", text):
                if named[1] in FILES:  # ``discreet example`` writes it
                    assert text == FILES[named[1]]
                else:
                    (tmp_path / named[1]).write_text(text)
        else:
            assert language == "sh"
            for line in text.replace("\\\n", " ").splitlines():
                command = shlex.split(line, comments=True)
                if command and command[0] == "discreet":
                    assert main(command[1:]) == 0, capsys.readouterr().err
                    capsys.readouterr()
                else:
                    assert Path(command[0]).name in ("make", "pip", "pytest", "python")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_its_language(page):
    fences = re.findall(r"^ *```(.*)$", page.read_text(), re.MULTILINE)
    assert all(fences[::2])
    assert not any(fences[1::2])


def test_pages_have_blocks_to_run():
    languages = [language for page in PAGES for language, _ in blocks(page)]
    assert languages.count("python") >= 10
    assert languages.count("text") >= 4
    assert languages.count("sh") >= 4


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        file = page.parent / target
        assert file.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in heads]


@pytest.mark.parametrize(
    ("example", "shows"),
    [
        (
            "local.py",
            ["persons needed: [1-9]", "reports used: 12,000", "epsilon = 2, delta = 0 per p"],
        ),
        ("logistic.py", ["epsilon = 1, delta = 1e-05 per row", r"test accuracy (0\.[6-9]|1\.00)"]),
        ("ridge.py", ["noise scale of a step", "epsilon   10: mean R2 0.", "not private:  R2 0."]),
        ("search.py", ["4 fits of epsilon = 0.5 together", "delta = 2e-06", "chosen: "]),
        ("unknown_ranges.py", ["age = { range = ", '"sea", "other"', "epsilon = 1, delta = 1e-06"]),
    ],
)
def test_example_runs_and_shows_its_guarantee(example, shows, capsys):
    runpy.run_path(str(ROOT / "examples" / example), run_name="__main__")
    out = capsys.readouterr().out
    assert all(re.search(pattern, out) for pattern in shows)


@pytest.mark.skipif(
    "DISCREET_CLUSTER" not in os.environ,
    reason="Spark starts slowly and needs Java; set DISCREET_CLUSTER=1",
)
def test_the_example_of_spark_runs_and_shows_its_guarantee():
    pytest.importorskip("pyspark", reason="Spark is not installed")
    command = [sys.executable, "-W", "ignore", str(ROOT / "examples" / "spark_ridge.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "coefficients [" in done.stdout, done.stderr
    assert "epsilon = 1, delta = 1e-06 per row" in done.stdout


def test_every_example_is_tested():
    assert {p.name for p in (ROOT / "examples").glob("*.py")} == {
        "local.py",
        "logistic.py",
        "ridge.py",
        "search.py",
        "spark_ridge.py",
        "unknown_ranges.py",
    }
