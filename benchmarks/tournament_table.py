"""Tables of ``tournament.py``: totals by kind and half, and every cell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "tournament"


def line(name: str, held: dict[str, Any]) -> str:
    """Return one cell in a line: the best baseline and ours, as excess."""
    floor = held["optimum"]["risk"]
    family = min(held["baselines"], key=lambda f: held["baselines"][f]["risk"][0])
    risk, error, setting = held["baselines"][family]["risk"]
    text = f"{name:28} {setting:36} {risk - floor:.5f} ({error:.5f})"
    for label, found in held["ours"].items():
        if "risk" in found:
            mean, spread = found["risk"]
            ratio = (mean - floor) / (risk - floor)
            text += f" | {label} {mean - floor:.5f} ({spread:.5f}) {ratio:.2f}"
    return text


def cells(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the names and contents of the cells in a folder."""
    return [(path.stem, json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]


def table() -> None:
    """Write the table of all cells, and what it comes to for each kind and half."""
    rows, replaced = cells(RESULTS), cells(RESULTS / "replace-one")
    lines = [
        "# Defaults against baselines tuned in hindsight",
        "",
        *totals(rows),
        "",
        "## Installed libraries",
        "",
        *_peer_totals(rows),
        "",
        *of_peers(rows),
        "",
        "## Intercepts and natural units",
        "",
        *in_forms(rows),
        "",
        "## Replace-one neighbours, with a delta",
        "",
        *totals(replaced),
        "",
        *each_cell(replaced),
        "",
        "## All cells",
        "",
        *each_cell(rows),
    ]
    (RESULTS / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(totals(rows)))


def ratio_of(held: dict[str, Any], label: str) -> tuple[float, float]:
    """Return the ratio of excesses to the best baseline's, and by how many errors it is above 1."""
    floor = held["optimum"]["risk"]
    risk, error, _ = min(
        (family["risk"] for family in held["baselines"].values()), key=lambda r: r[0]
    )
    mean, spread = held["ours"][label]["risk"]
    return (mean - floor) / (risk - floor), (mean - risk) / max(math.hypot(error, spread), 1e-12)


def _behind(held: dict[str, Any], label: str, name: str) -> float:
    """Return by how many standard errors ours is behind the best baseline in a measure."""
    found = [f[name] for f in held["baselines"].values() if name in f]
    sign = 1.0 if name == "held_out" else -1.0
    best = min(found, key=lambda f: sign * f[0])
    mean, spread = held["ours"][label][name]
    return sign * (mean - best[0]) / max(math.hypot(spread, best[1]), 1e-12)


def totals(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    labels = sorted({label for _, held in rows for label in held["ours"]})
    lines = [
        "| half | kind | delta | rule | cells | geometric mean | worst | won | above 1.25 by "
        "3 s.e. | behind in held-out loss | in AUC or R2 | seconds |",
        "|---" * 12 + "|",
    ]
    groups = sorted(
        {(h["half"], h["kind"], n.split(".")[-2 if n.endswith("full") else -1]) for n, h in rows}
    )
    for half, kind, _ in sorted({(h, k, "") for h, k, _ in groups}):
        for delta in ("with", "without"):
            for label in labels:
                chosen = [
                    held
                    for name, held in rows
                    if held["half"] == half
                    and held["kind"] == kind
                    and label in held["ours"]
                    and (".0.json" in name + ".json") == (delta == "without")
                ]
                if not chosen:
                    continue
                ratios = [ratio_of(held, label) for held in chosen]
                values = np.maximum([r for r, _ in ratios], 1e-3)
                other = (
                    "r2"
                    if kind in ("regression", "huber")
                    else "accuracy"
                    if kind == "classes"
                    else "auc"
                )
                lost = sum(r > 1.25 and s > 3 for r, s in ratios)
                held_out = sum(_behind(held, label, "held_out") > 3 for held in chosen)
                third = sum(_behind(held, label, other) > 3 for held in chosen)
                seconds = np.mean([held["ours"][label]["seconds"][0] for held in chosen])
                lines.append(
                    f"| {half} | {kind} | {delta} | {label} | {len(chosen)} | "
                    f"{np.exp(np.mean(np.log(values))):.3f} | {values.max():.2f} | "
                    f"{np.mean(values < 1):.2f} | {lost} | {held_out} | {third} | {seconds:.2f} |"
                )
    return lines


def in_forms(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return held-out losses of the default with an intercept and in natural units."""
    lines = [
        "| cell | half | best baseline, rows of norm 1 | default on them | with an intercept "
        "| natural units, declared ranges, with an intercept | not private, rows of norm 1 |",
        "|---" * 7 + "|",
    ]
    for name, held in rows:
        if "forms" in held:
            best = min(family["held_out"][0] for family in held["baselines"].values())
            found = [held["ours"]["default"], *held["forms"].values()]
            mean = " | ".join(f"{f['held_out'][0]:.4f} ± {f['held_out'][1]:.1g}" for f in found)
            lines.append(
                f"| {name} | {held['half']} | {best:.4f} | {mean} "
                f"| {held['optimum']['held_out']:.4f} |"
            )
    return lines


def _peer_totals(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return ratios of excesses: the default to a library's best, that to the best baseline's."""
    lines = [
        "| half | best setting in hindsight of | cells | default to it | worst | won "
        "| above 1.25 by 3 s.e. | behind in held-out loss | in AUC "
        "| it to best baseline | least |",
        "|---" * 11 + "|",
    ]
    groups: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for name, held in rows:
        floor = held["optimum"]["risk"]
        best = min(family["risk"][0] for family in held["baselines"].values())
        peers = held.get("peers", {})
        both = "baselines and libraries, delta " + ("0" if name.endswith(".0") else "1e-6")
        rivals = {peer: {peer: found} for peer, found in peers.items()}
        rivals |= {both: held["baselines"] | peers} if peers else {}
        for rival, families in rivals.items():
            risk = min(family["risk"][0] for family in families.values())
            alone = held | {"baselines": families}
            ratio, apart = ratio_of(alone, "default")
            behind = [_behind(alone, "default", measure) > 3 for measure in ("held_out", "auc")]
            line_of = (ratio, apart, (risk - floor) / (best - floor), *behind)
            groups.setdefault((held["half"], rival), []).append(line_of)
    for (half, rival), group in sorted(groups.items()):
        ratio, apart, real, *behind = np.array(group).T
        middle, stands = np.exp(np.mean(np.log([ratio, real]), axis=1))
        lines.append(
            f"| {half} | {rival} | {len(group)} | {middle:.3f} | {ratio.max():.2f} "
            f"| {np.mean(ratio < 1):.2f} | {np.sum((ratio > 1.25) & (apart > 3))} "
            f"| {behind[0].sum():.0f} | {behind[1].sum():.0f} | {stands:.3f} | {real.min():.2f} |"
        )
    return lines


def of_peers(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return what installed libraries have beside the baselines and the default, as excess."""
    lines = [
        "| cell | half | library, best setting | excess | best baseline | default |",
        "|---" * 6 + "|",
    ]
    for name, held in rows:
        floor = held["optimum"]["risk"]
        best = min(family["risk"][0] for family in held["baselines"].values())
        for peer in held.get("peers", {}).values():
            risk, error, setting = peer["risk"]
            lines.append(
                f"| {name} | {held['half']} | {setting} | {risk - floor:.3g} ± {error:.2g} | "
                f"{best - floor:.3g} | {held['ours']['default']['risk'][0] - floor:.3g} |"
            )
    return lines


def each_cell(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    lines = [
        "| cell | half | best baseline | excess | rule | excess | ratio | held-out loss |",
        "|---" * 8 + "|",
    ]
    for name, held in rows:
        floor = held["optimum"]["risk"]
        risk, error, setting = min(
            (family["risk"] for family in held["baselines"].values()), key=lambda r: r[0]
        )
        out = min(family["held_out"][0] for family in held["baselines"].values())
        for label, found in held["ours"].items():
            mean, spread = found.get("risk", (math.nan, math.nan))
            lines.append(
                f"| {name} | {held['half']} | {setting} | {risk - floor:.3g} ± {error:.2g} "
                f"| {label} | {mean - floor:.3g} ± {spread:.2g} | "
                f"{(mean - floor) / (risk - floor):.2f} | "
                f"{found['held_out'][0]:.4f} against {out:.4f} |"
            )
    return lines
