"""``discreet card``: the privacy card of a model, in the form that is asked for."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    read_model,
    write_or_print,
)
from discreet.errors import InvalidParameter

FORMATS = ("text", "json", "html", "registry", "huggingface")

_EPILOG = """\
examples:
  discreet card model.json
  discreet card model.json --format json --out card.json
  discreet card model.json --format html --out card.html --ledger people.ledger
  discreet card model.json --format registry --about about.toml --out entry.yaml

formats:
  text         for people, in a terminal or a mail
  json         for programs
  html         one page without scripts, with the curve of what an attacker can gain
  registry     entry of the public registry of deployments (YAML), marked as a draft
  huggingface  front matter and a section for the README of a model on the Hub

the card says in plain words what is guaranteed, what an attacker can learn, what
the guarantee rests on and what it does not cover. It holds public values only.
What only you can say comes from options, or from a TOML file with the same
names (intended_use = "...", curators = ["..."]); nothing is filled in for you.
"""

_WORDS = {
    "name": "name of the model",
    "dataset": "name of the data",
    "rows": "number of rows, where it is public and the model file does not hold it",
    "date": "date of publication, YYYY-MM-DD",
    "description": "what the model is",
    "intended_use": "what it is for",
    "region": "region that the data describes",
    "sector": "Technology, Healthcare, Education, Government, Energy or Finance",
    "curators": "who publishes it; repeatable",
    "authors": "who wrote these words; repeatable",
    "tuning": "how preprocessing and settings were chosen, and whether rows were looked at",
    "actors": "who sees what, and who is trusted",
    "justification": "why budget, unit and algorithm were chosen",
    "sources": "where more is told",
    "notes": "what else there is to say",
    "license": "licence of the model, such as apache-2.0",
}
"""What ``About`` holds; named here, because the command line starts without the library."""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "card",
        help="print the privacy card of a model",
        description="Print or write the privacy card of a model file.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="see below (default: text)"
    )
    parser.add_argument("--out", type=Path, help="file to write; default: standard output")
    add_sources(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add what a card or a report is made of beside the model."""
    parser.add_argument("--ledger", help="ledger that the release was charged to")
    parser.add_argument(
        "--evaluation", type=Path, help="file that discreet evaluate --out wrote (.json)"
    )
    parser.add_argument(
        "--proofs",
        metavar="ADDRESS",
        help="where the proof pages are, for links: a folder, or an address with {name}, "
        "such as site/proofs/{name}.html",
    )
    group = parser.add_argument_group("what only you can say")
    group.add_argument("--about", type=Path, help="TOML file with any of the names below")
    for name, meaning in _WORDS.items():
        many = meaning.endswith("; repeatable")
        group.add_argument(
            f"--{name.removesuffix('s') if many else name.replace('_', '-')}",
            dest=f"about_{name}",
            action="append" if many else "store",
            type=int if name == "rows" else str,
            metavar="N" if name == "rows" else "TEXT",
            help=meaning,
        )


def sources(args: argparse.Namespace) -> dict[str, Any]:
    """Return what was given beside the model, read and checked."""
    from discreet.evaluation import Evaluation
    from discreet.ledger import Ledger
    from discreet.report import About

    said = About() if args.about is None else About.from_toml(args.about)
    given = {
        name.removeprefix("about_"): value
        for name, value in vars(args).items()
        if name.startswith("about_") and value is not None
    }
    return {
        "about": About.from_dict(said.to_dict() | given),
        "ledger": None if args.ledger is None else Ledger.open(args.ledger),
        "evaluation": None if args.evaluation is None else Evaluation.load(args.evaluation),
        "file": args.model,
    }


def run(args: argparse.Namespace) -> None:
    """Make the card from the model file."""
    check_outputs(args.out, inputs=(args.model, args.about, args.evaluation), force=args.force)
    if args.evaluation is not None and args.format != "huggingface":
        raise InvalidParameter(
            "--evaluation belongs to --format huggingface. For a page with metrics, write a "
            "report: discreet report."
        )
    text = _written(args)
    write_or_print(args.out, text, "card written to {}")


def _written(args: argparse.Namespace) -> str:
    from discreet.report import card_dict, card_html, huggingface_text, registry_text, render

    held, model = sources(args), read_model(args.model)
    evaluation = held.pop("evaluation")
    if args.format == "html":
        return card_html(model, proofs=args.proofs, **held)
    card = card_dict(model, **held)
    if args.format == "json":
        return json.dumps(card, indent=1) + "\n"
    if args.format == "registry":
        return registry_text(card)
    if args.format == "huggingface":
        return huggingface_text(card, evaluation)
    return render(card)
