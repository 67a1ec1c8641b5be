"""How the time of every estimator grows with the number of rows and of features.

Processor seconds of one fit with default settings on rows in memory, epsilon 1, one fit for
each size after one that loads what is needed:

    python benchmarks/growth.py run       # some minutes
    python benchmarks/growth.py plot      # draws results that exist

Results go to ``benchmarks/results/growth.json``, the picture to ``growth.png`` beside it. The
last number of a line is the slope of the logarithms over the two largest sizes: 1 is linear.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.bounds import Bounds

RESULTS = Path(__file__).parent / "results"
ROWS = (1_000, 10_000, 100_000)
FEATURES = (5, 20, 80)
USUAL_FEATURES, USUAL_ROWS = 20, 20_000
ENOUGH = 6.0
"""Seconds above which a fit is left out, if time grew linearly from the last size."""


def estimators() -> list[str]:
    """Return the names of all estimators that fit a table at once."""
    names = [n for n in sorted(discreet.__all__) if n.startswith("Private")]
    kinds = {n: getattr(discreet, n) for n in names}
    own = [n for n in names if kinds[n].__module__.startswith("discreet.estimators")]
    return [n for n in own if hasattr(kinds[n], "fit") and not hasattr(kinds[n], "partial_fit")]


def seconds(name: str, n_rows: int, n_features: int) -> tuple[float, str] | None:
    """Return processor seconds of a fit and its algorithm, or None if it is refused."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n_rows, n_features))
    score = X @ (rng.normal(size=n_features) / math.sqrt(n_features))
    kind = getattr(discreet, name)
    classes = hasattr(kind, "predict_proba") or hasattr(kind, "decision_function")
    level = np.clip(score + 0.1 * rng.normal(size=n_rows), -1, 1)
    y = (level > 0).astype(int) if classes else np.clip(np.abs(level), 0, 1)
    labels: Any = {"classes": (0, 1)} if classes else {"label": (0, 1)}
    bounds = Bounds(features=(-1, 1), **labels)
    chosen = {"epsilon": 1.0, "bounds": bounds, "random_state": 1}
    model = kind(**{k: v for k, v in chosen.items() if k in kind().get_params()})
    labelled = "Median" not in name and name != "PrivateQuantile"
    start = time.process_time()
    try:
        model.fit(X, y) if labelled else model.fit(X)
    except discreet.errors.DiscreetError:
        return None
    taken = time.process_time() - start
    return taken, str(getattr(model, "algorithm_", ""))


def slope(points: list[list[Any]]) -> float | None:
    """Return the slope of the logarithms over the two largest sizes."""
    if len(points) < 2:
        return None
    (a, s, _), (b, t, _) = points[-2:]
    return round(math.log(t / s) / math.log(b / a), 2)


def measured(name: str) -> dict[str, Any]:
    """Return seconds against rows and against features."""
    seconds(name, 1_000, USUAL_FEATURES)
    found: dict[str, Any] = {"model": name}
    for what, sizes in (("rows", ROWS), ("features", FEATURES)):
        points: list[list[Any]] = []
        for size in sizes:
            if points and points[-1][1] * size / points[-1][0] > ENOUGH:
                break
            shape = (size, USUAL_FEATURES) if what == "rows" else (USUAL_ROWS, size)
            taken = seconds(name, *shape)
            if taken is not None:
                points.append([size, round(taken[0], 4), taken[1]])
        found[what], found[f"slope in {what}"] = points, slope(points)
    return found


def picture() -> None:
    """Draw seconds against rows and against features."""
    from discreet.style import pictures

    lines = json.loads((RESULTS / "growth.json").read_text())["lines"]
    with pictures.style():
        figure = pictures.new_figure(9.6, 5.2)
        axes = figure.subplots(1, 2, sharey=True)
        for k, line in enumerate(lines):
            for axis, what in zip(axes, ("rows", "features"), strict=True):
                name = line["model"].removeprefix("Private")
                x, y, _ = zip(*line[what], strict=True)
                axis.plot(x, y, marker="os^"[k // 6], markersize=6, label=name)
        for axis, what, other in zip(
            axes,
            ("rows", "features"),
            (f"{USUAL_FEATURES} features", f"{USUAL_ROWS:,} rows"),
            strict=True,
        ):
            axis.set(xscale="log", yscale="log", xlabel=f"{what} ({other})")
        axes[1].set_xticks(FEATURES, [str(size) for size in FEATURES])
        axes[1].minorticks_off()
        axes[0].set_ylabel("processor seconds of a fit")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize=7)
        pictures.save(figure, RESULTS / "growth.png")


def main() -> None:
    """Measure and draw."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("step", choices=("run", "plot"))
    parser.add_argument("--models", nargs="+", default=estimators())
    args = parser.parse_args()
    path = RESULTS / "growth.json"
    if args.step == "run":
        warnings.simplefilter("ignore")
        lines = json.loads(path.read_text())["lines"] if path.exists() else []
        for name in args.models:
            line = measured(name)
            print(json.dumps(line), flush=True)
            lines = [*(x for x in lines if x["model"] != name), line]
            lines.sort(key=lambda x: str(x["model"]))
            path.write_text(json.dumps({"lines": lines}, indent=1) + "\n")
    picture()


if __name__ == "__main__":
    main()
