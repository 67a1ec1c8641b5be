"""The card as a model card of the Hugging Face Hub: front matter and a section on privacy."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from discreet.files.plain_text import printable
from discreet.report.wording import headline, paragraphs
from discreet.report.yaml_text import yaml

_METRICS = {"auc": "roc_auc"}
"""Names of the Hub where they are not ours."""


def huggingface_text(card: Mapping[str, Any], evaluation: Any = None) -> str:
    """Return the front matter and the section, to be put at the top of a README.

    Parameters
    ----------
    card
        What :func:`card_dict` returned.
    evaluation
        A private evaluation. Its metrics become results of the ``model-index``, if the name of
        the data is known; no other numbers do.
    """
    lines = ["## Privacy", ""]
    lines += [f"- **{name}:** {_markdown(value)}" for name, value in headline(card)]
    for title, items in paragraphs(card):
        lines += ["", f"### {_markdown(title)}", ""]
        lines += [f"- {_markdown(item)}" for item in items]
    return f"---\n{yaml(_front(card, evaluation))}---\n\n" + "\n".join(lines) + "\n"


def _front(card: Mapping[str, Any], evaluation: Any) -> dict[str, Any]:
    about, model = card.get("about", {}), card.get("model", {})
    task = "tabular-classification" if "n_classes" in model else "tabular-regression"
    front: dict[str, Any] = {"library_name": "scikit-learn"}
    if "license" in about:
        front["license"] = about["license"]
    front["tags"] = ["differential-privacy", "discreet", *([task] if model else [])]
    if evaluation is None or not {"name", "dataset"} <= set(about):
        return front
    metrics = [
        {"type": _METRICS.get(key, key), "value": found.value, "name": f"{key}, with noise"}
        for key, found in evaluation.estimates.items()
        if not math.isnan(found.value)
    ]
    data = {"name": about["dataset"], "type": "private"}
    result = {"task": {"type": task}, "dataset": data, "metrics": metrics}
    front["model-index"] = [{"name": about["name"], "results": [result]}]
    return front


def _markdown(said: str) -> str:
    """Return text of any origin so that Markdown shows it as it is.

    >>> _markdown("a_b <c>")
    'a\\\\_b &lt;c&gt;'
    """
    plain = re.sub(r"([\\`*_\[\]#|~])", r"\\\1", printable(str(said)))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
