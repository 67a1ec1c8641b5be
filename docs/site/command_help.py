"""A directive that shows the help of the command line and of every verb: ``{command-help}``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = "90"


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield a parser and those of its verbs."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from parsers(verb)


class CommandHelp(SphinxDirective):
    """What ``discreet --help`` and ``discreet <verb> --help`` print, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        from discreet.cli.main import parser

        self.env.note_reread()  # the text follows the program, which Sphinx does not watch
        os.environ["COLUMNS"] = WIDTH
        return [self._section(each) for each in parsers(parser())]

    def _section(self, parser: argparse.ArgumentParser) -> nodes.Node:
        text = parser.format_help()
        block = nodes.literal_block(text, text, language="text")
        section = nodes.section(ids=[nodes.make_id(parser.prog)], names=[parser.prog])
        section += [nodes.title(parser.prog, parser.prog), block]
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
