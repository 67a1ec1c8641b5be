"""How long planning takes: every estimator, relation and budget, the slowest first.

Times are those of the processor, so that other work on the machine counts for little. Run it
with OPENBLAS_NUM_THREADS=1, for threads that wait for each other count too.
No plan is made twice, for noise that was calibrated is remembered.
Writes ``results/planning.json``: how many plans take more than 50 ms, and the slowest.
"""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import discreet
from arguments import parser_of
from discreet.bounds import NEIGHBOURS, Bounds

BUDGETS = ((0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-6), (1.0, 0.0))
SIZES = (10_000, 100_000, 10_000_000)


def seconds(name: str, neighbours: str, budget: tuple[float, float], n_rows: int) -> float | None:
    """Return the time of one plan, or None if there is none."""
    kind = getattr(discreet, name)
    chosen = {
        "epsilon": budget[0],
        "delta": budget[1],
        "bounds": Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)),
        "neighbours": neighbours,
        "n_rows": n_rows if neighbours == "add-remove" else None,
    }
    known = kind().get_params()
    model = kind(**{k: v for k, v in chosen.items() if k in known})
    start = time.process_time()
    try:
        model.plan(n_features=20, n_rows=n_rows)
    except discreet.errors.DiscreetError:
        return None
    return time.process_time() - start


def main() -> None:
    """Print the slowest plans."""
    parser = parser_of(__doc__)
    parser.add_argument("--slowest", type=int, default=20, help="how many plans to print")
    shown = parser.parse_args().slowest
    names = [n for n in sorted(discreet.__all__) if n.startswith("Private")]
    # Others wrap an estimator, or transform rows.
    names = [n for n in names if getattr(discreet, n).__module__.startswith("discreet.estimators")]
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (n for n in names if hasattr(getattr(discreet, n), "plan")):
            for neighbours in NEIGHBOURS:
                for budget in BUDGETS:
                    for n_rows in SIZES:
                        taken = seconds(name, neighbours, budget, n_rows)
                        if taken is not None:
                            found.append((taken, name, neighbours, budget, n_rows))
    found.sort(reverse=True)
    print(f"{len(found)} plans, {sum(f[0] > 0.05 for f in found)} of them above 50 ms")
    for taken, *what in found[:shown]:
        print(f"{1000 * taken:7.1f} ms ", *what)
    record = {
        "plans": len(found),
        "above 50 ms": sum(f[0] > 0.05 for f in found),
        "median ms": round(1000 * found[len(found) // 2][0], 2),
        "slowest": [
            {
                "ms": round(1000 * taken, 1),
                "estimator": name,
                "neighbours": neighbours,
                "epsilon": budget[0],
                "delta": budget[1],
                "rows": rows,
            }
            for taken, name, neighbours, budget, rows in found[:shown]
        ],
    }
    out = Path(__file__).parent / "results" / "planning.json"
    out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
