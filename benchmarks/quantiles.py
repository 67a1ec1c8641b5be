"""Quantiles of one column: ranks against the pinball loss, and against diffprivlib.

``python benchmarks/quantiles.py run`` draws columns of several laws on the range (0, 1) and the
labels of the public problems of ``ridge.py``, where they are there, fits the median and the ninth
decile under replace-one, as diffprivlib does, and writes ``results/quantiles.json`` and
``results/quantiles.md``: by how many ranks a result is off, as a share of all rows, in the mean of
forty fits. diffprivlib needs its environment (``python benchmarks/environments.py diffprivlib``)
and is left out without it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from arguments import parser_of
from discreet import Bounds, PrivateQuantile
from environments import interpreter
from problems import data_directory
from ridge import PROBLEMS

HERE = Path(__file__).parent
SEEDS, QUANTILES, EPSILONS, SIZES = 40, (0.5, 0.9), (0.1, 1.0), (100, 1000, 10_000)
PEER = "diffprivlib"
Array = np.ndarray


def columns() -> dict[str, Array]:
    """Return columns on (0, 1), of as many rows as the largest size."""
    rng, n = np.random.default_rng(4), max(SIZES)
    found = {
        "normal": np.clip(rng.normal(0.5, 0.1, n), 0, 1),
        "skewed": np.clip(rng.lognormal(-6, 1, n), 0, 1),
        "ages": rng.integers(18, 90, n) / 120,
        "two places": np.where(rng.random(n) < 0.4, 0.2, 0.9),
        "narrow": 0.3 + 1e-4 * rng.random(n),
    }
    for name in ("california", "diamonds", "nhanes", "wine"):
        try:
            label = PROBLEMS[name](data_directory(None))[1]
        except FileNotFoundError:
            continue
        found[name] = (rng.choice(label, n) + 1) / 2
    return found


def off(values: Array, found: float, quantile: float) -> float:
    """Return how many ranks a number is off the quantile, as a share of all."""
    # A result within a millionth of the range of a value counts as that value.
    under, over = (values < found - 1e-6).mean(), (values > found + 1e-6).mean()
    return float(max(0.0, under - quantile, over - (1 - quantile)))


def theirs(table: Array, jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the answers of diffprivlib, or none where it is not installed."""
    if not interpreter(PEER).exists():
        print(f"{PEER} is not installed and left out; see environments.py")
        return []
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", X=table, y=np.array([0.0, 1.0]))
        command = [interpreter(PEER), "diffprivlib_quantile.py", f"{folder}/data.npz"]
        done = subprocess.run(command, input=json.dumps(jobs), text=True, capture_output=True,
                              cwd=HERE / "peers", check=True)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


def main() -> None:
    """Run everything and write the results."""
    given, results = columns(), []
    names = list(given)
    for n in SIZES:
        table = np.column_stack([values[:n] for values in given.values()])
        jobs = [
            {"epsilon": e, "delta": 0.0, "setting": {"column": j, "quantile": q}, "seed": s}
            for j in range(len(names)) for q in QUANTILES for e in EPSILONS for s in range(SEEDS)
        ]  # fmt: skip
        errors: dict[tuple[Any, ...], list[float]] = {}
        for job in jobs:
            j, q = job["setting"]["column"], job["setting"]["quantile"]
            for by in ("ranks", "pinball"):
                model = PrivateQuantile(
                    quantile=q, epsilon=job["epsilon"], bounds=Bounds(features=(0, 1)),
                    neighbours="replace-one", by=by, random_state=job["seed"],
                ).fit(table[:, [j]])  # fmt: skip
                found = off(table[:, j], float(model.quantiles_[0]), q)
                errors.setdefault((names[j], q, job["epsilon"], by), []).append(found)
        for answer in theirs(table, jobs):
            j, q = answer["setting"]["column"], answer["setting"]["quantile"]
            found = off(table[:, j], answer["weights"][0], q)
            errors.setdefault((names[j], q, answer["epsilon"], PEER), []).append(found)
        for (name, q, epsilon, method), values in errors.items():
            mean, error = np.mean(values), np.std(values) / np.sqrt(len(values))
            results.append({"column": name, "rows": n, "quantile": q, "epsilon": epsilon,
                            "method": method, "off": mean, "standard error": error})  # fmt: skip
        print(n, flush=True)
    write(results, names)


def write(results: list[dict[str, Any]], names: list[str]) -> None:
    """Write all numbers, and a table of the mean over quantiles."""
    out = HERE / "results"
    config = {"seeds": SEEDS, "neighbours": "replace-one", "numpy": np.__version__,
              "discreet": discreet.__version__}  # fmt: skip
    text = json.dumps({"configuration": config, "results": results}, indent=1)
    (out / "quantiles.json").write_text(text + "\n")
    methods = list(dict.fromkeys(r["method"] for r in results))
    cases = [(n, e) for n in SIZES for e in EPSILONS]
    lines = ["Ranks off as a share of all rows, mean over the median and the ninth decile.", "",
             "| column | method | " + " | ".join(f"{n:,} rows, epsilon {e:g}" for n, e in cases)
             + " |", "|---|---|" + "---|" * len(cases)]  # fmt: skip
    for name in names:
        for method in methods:
            cells = [
                np.mean([r["off"] for r in results if (r["column"], r["method"]) == (name, method)
                         and (r["rows"], r["epsilon"]) == case])
                for case in cases
            ]  # fmt: skip
            lines.append(f"| {name} | {method} | {' | '.join(f'{c:.2g}' for c in cells)} |")
    off = {(r["column"], r["quantile"], r["epsilon"], r["method"]): r["off"] for r in results
           if r["rows"] == max(SIZES)}  # fmt: skip
    ratios = [value / off[*case[:3], "pinball"] for case, value in off.items()
              if case[3] == "ranks" and off[*case[:3], "pinball"] > 0]  # fmt: skip
    lines += ["", f"With {max(SIZES):,} rows ranks leave {np.median(ratios):.3f} times the ranks "
              f"off that the pinball loss leaves in the median of {len(ratios)} cases, and at most "
              f"{max(ratios):.2f} times."]  # fmt: skip
    (out / "quantiles.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
