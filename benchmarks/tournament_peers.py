"""Installed libraries on cells of the bank, tuned in hindsight, beside our NumPy baselines.

    python benchmarks/environments.py diffprivlib jax_privacy
    python benchmarks/tournament_peers.py run --methods diffprivlib --half judging
    python benchmarks/tournament_peers.py run --methods jax-privacy --half judging --problems compas

Every setting of ``methods.py`` is fitted with three seeds in each cell of two classes that
``tournament.py`` has filled, and the best mean is kept for each measure by itself. The cell's
file then says what the best baseline and our default have.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bank import SETS, half_of
from forms import measures
from logistic import ask
from methods import METHODS
from problems import data_directory
from tournament import EPSILONS, hindsight, prepared
from tournament_table import RESULTS, line


def fits_of(
    name: str, jobs: list[dict[str, Any]], kind: str, first: Any, second: Any
) -> tuple[Any, dict[float, dict[str, list[dict[str, float]]]]]:
    """Return versions of a library, and measures of its fits by budget and setting."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.npz"
        np.savez(data, X=first[0], y=first[1])
        versions, answers = ask(METHODS[name], data, jobs)
    fits: dict[float, dict[str, list[dict[str, float]]]] = {}
    for answer in answers:
        if "error" not in answer:
            # The name of a family is what stands before the first blank.
            label = f"{name} {json.dumps(answer['setting'])}"
            found = measures(kind, first, second, np.asarray(answer["weights"]))
            fits.setdefault(answer["epsilon"], {}).setdefault(label, []).append(found)
    return versions, fits


def main() -> None:
    """Fit the chosen libraries on the chosen problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["run"], help="fit the libraries that are named")
    parser.add_argument("--methods", default="diffprivlib,jax-privacy,opacus")
    parser.add_argument("--half", default="choosing", choices=["choosing", "judging"])
    parser.add_argument("--problems")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data")
    arguments = parser.parse_args()
    for problem, (_, kind, _) in SETS.items():
        if half_of(problem) != arguments.half or kind != "binary":
            continue
        if arguments.problems and problem not in arguments.problems.split(","):
            continue
        _, _, first, second = prepared(problem, data_directory(arguments.data), False)
        for name in arguments.methods.split(","):
            method = METHODS[name]
            paths = {e: RESULTS / f"{problem}.{e:g}.{method.delta:g}.json" for e in EPSILONS}
            jobs = [
                {"epsilon": e, "delta": method.delta, "setting": setting, "seed": seed}
                for e, path in paths.items()
                if path.exists()
                for setting in method.settings + method.bank
                for seed in range(arguments.seeds)
            ]
            versions, found = fits_of(name, jobs, kind, first, second)
            for epsilon, path in paths.items():
                fits = found.get(epsilon)
                if fits:
                    held = json.loads(path.read_text())
                    peers = held.setdefault("peers", {})
                    peers |= hindsight(fits)
                    peers[name]["versions"] = versions
                    path.write_text(json.dumps(held, indent=1))
                    print(name, peers[name]["risk"], line(path.stem, held), flush=True)


if __name__ == "__main__":
    main()
