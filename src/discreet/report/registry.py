"""The fields of the public registry of deployments of differential privacy.

The registry (github.com/opendp/deployments-registry-data) takes one YAML file for each
deployment and refuses unknown keys. What the library knows is filled in, what only you
can say comes from :class:`About`, and what nobody said is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discreet.errors import InvalidParameter
from discreet.report.wording import columns, spent
from discreet.report.yaml_text import yaml

_NEEDED = (
    "name", "curators", "description", "intended_use", "region", "date", "authors", "tuning",
)  # fmt: skip

_RELATIONS = {
    "zero-out": "Two data sets are adjacent if one {unit} of the one is blank in the other. The "
    "number of rows is public.",
    "replace-one": "Two data sets are adjacent if they differ in the values of one {unit}. The "
    "number of rows is public.",
    "add-remove": "Two data sets are adjacent if one has one {unit} more than the other.",
}

_EXACT = " Noise is exact on a public grid, and rounding of sums is part of the sensitivity."
"""What is true of the library's own parts, and not claimed of others."""


def registry_text(card: Mapping[str, Any]) -> str:
    """Return the entry of a card as YAML, to be reviewed and sent to the registry.

    Parameters
    ----------
    card
        What :func:`card_dict` returned, with ``about``.
    """
    entry = registry_dict(card)
    # The registry compares its slug with the line as it is written: without quotes.
    return f"url_slug: {entry.pop('url_slug')}\n{yaml(entry)}"


def registry_dict(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry as plain values."""
    about: Mapping[str, Any] = card.get("about", {})
    missing = [name for name in _NEEDED if name not in about]
    if missing:
        raise InvalidParameter(
            f"The registry needs what only you can say: {', '.join(missing)}. Pass it as options, "
            "such as --name, or in a TOML file, --about about.toml."
        )
    if not card["guarantee"]["secure"]:
        raise InvalidParameter(
            "The noise of this release came from a seed, so it is not private. It does not belong "
            "in a registry of private releases."
        )
    basic = {
        "name": about["name"],
        "data_curators": list(about["curators"]),
        "intended_use": about["intended_use"],
        "data_product_type": "Machine learning model",
        "data_product_region": about["region"],
        "description": about["description"],
        "publication_date": about["date"],
    }
    if "sector" in about:
        basic["data_product_sector"] = about["sector"]
    return {
        "url_slug": _slug(about["name"], about["curators"], about["date"]),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": _variant(card),
            "privacy_loss": _loss(card),
            "deployment_model": _model(card, about),
            "accounting": _accounting(card),
            "implementation": _implementation(card, about),
            "administrative": _administrative(about),
        },
    }


def _slug(name: str, curators: list[str], date: str) -> str:
    # As the registry makes it from the same fields.
    parts = (name, "-".join(curators), date[:4])
    return "_".join(re.sub(r"\W+", "_", p.lower()) for p in parts).replace("_", "-")


def _variant(card: Mapping[str, Any]) -> dict[str, Any]:
    rows, rest = columns(card)
    declared = "; ".join(f"{name}: {said}" for name, said in rows[:40])
    more = f"; and {len(rows) - 40} more columns" if len(rows) > 40 else ""
    other = "".join(f"; {name}: {said}" for name, said in rest)
    return {
        "variant_name": "Approximate DP" if card["guarantee"]["delta"] > 0 else "Pure DP",
        "data_domain": f"Tables with these declared columns. {declared}{more}{other}",
        "unprotected_quantities": "Declared columns, ranges, classes and settings"
        + ("" if card["guarantee"]["neighbours"] == "add-remove" else ", and the number of rows")
        + ". " + " ".join(f"Assumed: {a}." for a in card["guarantee"]["assumptions"]),
    }  # fmt: skip


def _loss(card: Mapping[str, Any]) -> dict[str, Any]:
    claim = card["guarantee"]
    epsilon, delta = claim["reserved"] or (claim["epsilon"], claim["delta"])
    when = (
        "Fixed before the data was read (ex-ante)."
        if claim["reserved"] is None
        else f"Reserved in advance; this output cost epsilon = {claim['epsilon']:.6g} (ex-post)."
    )
    proofs = "; ".join(
        held["theorem"] + (f" ({held['page']})" if held["page"] else "") for held in card["proofs"]
    )
    return {
        "privacy_unit": claim["unit"],
        "privacy_unit_details": _RELATIONS[claim["neighbours"]].format(unit=claim["unit"]),
        "privacy_parameters": {"epsilon": epsilon} | ({"delta": delta} if delta else {}),
        "privacy_parameters_details": f"{when} Proof: {proofs}. Proof pages are part of "
        f"{card['library']}.",
    }


def _model(card: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    account = card.get("ledger")
    held: dict[str, Any] = {"model_name": "Central"}
    if "actors" in about:
        held["actors"] = about["actors"]
    held["release_type"] = "Many releases" if account else "One release"
    if account:
        held["release_type_details"] = " ".join(spent(account)[:2]) + " The cap is never reset."
    return held | {"access_type": "Non-interactive"}


def _accounting(card: Mapping[str, Any]) -> dict[str, Any]:
    account = card.get("ledger")
    if account is None:
        return {"composition": "One release. Other releases from the same data are not counted."}
    cap = account["cap"]
    return {
        "composition": f"Fully adaptive composition by a ledger (policy {account['policy']}) with "
        f"a cap of epsilon = {cap['epsilon']:.6g}, delta = {cap['delta']:.3g} for everything "
        "charged to it."
    }


def _implementation(card: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, Any]:
    model = card.get("model", {})
    by = f"{model['estimator']} by {model['algorithm']}, in " if model else ""
    noise = card.get("noise_multiplier")
    scale = f" Noise multiplier {', '.join(f'{m:.6g}' for m in noise)}." if noise else ""
    others = "".join(
        f" The {part['part']} {part['name']} was made by {part['made_by']}."
        for part in card.get("made_by_others", ())
    )
    held = {
        "preprocessing_and_hyperparameter_tuning": f"{about['tuning']} This is not part of the "
        "guarantee unless it was charged to the same budget.",
        "mechanisms": f"{by}{card['library']}.{scale}{others or _EXACT} Noise comes from the "
        "operating system. Run time and memory are not protected.",
    }
    if "justification" in about:
        held["justification"] = about["justification"]
    return held


def _administrative(about: Mapping[str, Any]) -> dict[str, Any]:
    held = {key: about[key] for key in ("sources", "notes") if key in about}
    return held | {"registry_authors": list(about["authors"])}
