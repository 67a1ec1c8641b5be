"""Settings of the site that ``make docs`` builds."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "site"))

_project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]

project = _project["name"]
author = _project["authors"][0]["name"]
copyright = author
version = release = _project["version"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "command_help",
    "source_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["site", "build"]

myst_heading_anchors = 3
myst_links_external_new_tab = True

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # docstrings tell the types in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
templates_path = ["site/templates"]

html_theme = "furo"
html_title = f"discreet {version}"
html_static_path = ["site/static"]
html_css_files = ["discreet.css"]
html_show_sourcelink = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"

suppress_warnings = ["myst.strikethrough"]


def _not_ours(app, what, name, obj, skip, options):
    """Leave out what estimators inherit from scikit-learn."""
    home = getattr(obj, "__module__", None) or ""
    routed = name.endswith("_request") or name == "get_metadata_routing"
    return True if routed or home.startswith("sklearn.") else None


def _links_of_included_pages(app, relative_path, parent_docname, content):
    """Let links of pages from outside this folder lead to their places on the site."""
    for page, name in _ROOT_PAGES.items():
        content[0] = content[0].replace(f"]({page})", f"]({name}.md)")
    for start, place in _FROM_BENCHMARKS.items():
        content[0] = content[0].replace(f"]({start}", f"]({place}")


def _links_to_the_benchmarks(app, docname, source):
    """Let links to the pages of the benchmarks lead to their places on the site."""
    source[0] = source[0].replace("](../benchmarks/README.md", "](benchmarks.md")
    source[0] = source[0].replace("](../benchmarks/notes/", "](benchmarks/")


_ROOT_PAGES = {
    "README.md": "index",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
    "CHANGELOG.md": "changes",
}
_FROM_BENCHMARKS = {"notes/": "benchmarks/", "../../docs/": "../", "../docs/": ""}


def setup(app):
    """Register with Sphinx."""
    app.connect("autodoc-skip-member", _not_ours)
    app.connect("include-read", _links_of_included_pages)
    app.connect("source-read", _links_to_the_benchmarks)
