"""The command line of a benchmark with one part: nothing runs, and nothing is written, unasked."""

from __future__ import annotations

import argparse


def parser_of(text: str | None) -> argparse.ArgumentParser:
    """Return a parser that shows the text and wants the word ``run``."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=text, formatter_class=formatter)
    parser.add_argument("step", choices=("run",), help="measure, and replace the stored results")
    return parser
