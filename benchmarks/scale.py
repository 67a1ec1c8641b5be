"""Fits of rows that do not fit into memory: time and memory against the number of rows.

Rows of 20 columns in float32 are written to Parquet files, each fit runs in a process of
its own with 2 GB for rows, and its processor time is compared with reading the files once.
They are read before and after every fit, for readings differ; the median counts, and all are kept:

    python benchmarks/scale.py run                     # up to 10 million rows
    python benchmarks/scale.py run --rows 100000000    # one size; 8 GB of files, 9 GB of spill
    python benchmarks/scale.py plot                    # draws results that exist

Results go to ``benchmarks/results/scale.json``, the picture to ``scale.png`` beside it.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
SIZES = (300_000, 1_000_000, 3_000_000, 10_000_000)
COLUMNS = 20
PART = 1_000_000
MODELS = ("read", "ridge", "median", "logistic")


def write(folder: Path, n_rows: int) -> None:
    """Write rows of a logistic model, a million to a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    truth = rng.normal(size=COLUMNS)
    for k, start in enumerate(range(0, n_rows, PART)):
        n = min(PART, n_rows - start)
        X = rng.uniform(-1, 1, size=(n, COLUMNS)).astype(np.float32)
        score = X @ truth
        columns = {f"x{j}": X[:, j] for j in range(COLUMNS)}
        columns["level"] = np.clip(score / 8, -1, 1).astype(np.float32)
        columns["answer"] = (score + rng.logistic(size=n) > 0).astype(np.int8)
        # Random numbers do not shrink, so nothing is packed.
        path = folder / f"{k:05}.parquet"
        pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False)


def fit(model: str, folder: Path, memory: str) -> dict[str, float]:
    """Fit one model to the files, and return seconds and the most memory in GB."""
    import pyarrow.dataset as ds

    from discreet import (
        Bounds,
        PrivateLogisticRegression,
        PrivateMedian,
        PrivateRidge,
        memory_limit,
    )

    warnings.simplefilter("ignore")
    names = {f"x{j}": (-1.0, 1.0) for j in range(COLUMNS)}
    dataset = ds.dataset(folder)
    start, busy = time.perf_counter(), time.process_time()
    if model == "read":
        for _ in dataset.to_batches(batch_readahead=4, fragment_readahead=1):
            pass
    with memory_limit(memory, folder.parent):
        if model == "ridge":
            bounds = Bounds(features=names, label=(-1, 1))
            one_pass = "sufficient-statistics"
            ridge = PrivateRidge(bounds=bounds, random_state=0, algorithm=one_pass)
            ridge.fit(dataset, "level")
        elif model == "logistic":
            bounds = Bounds(features=names, classes=(0, 1))
            PrivateLogisticRegression(bounds=bounds, random_state=0).fit(dataset, "answer")
        elif model == "median":
            bounds = Bounds(features={"x0": (-1.0, 1.0)})
            PrivateMedian(bounds=bounds, random_state=0).fit(dataset)
    seconds, used = time.perf_counter() - start, time.process_time() - busy
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"seconds": round(seconds, 2), "cpu": round(used, 2), "memory": round(most, 2)}


def measured(folder: Path, n_rows: int, memory: str, models: list[str]) -> list[dict[str, Any]]:
    """Return one line per model, each measured in a new process."""
    files = folder / "files"
    files.mkdir()
    write(files, n_rows)

    def run(model: str) -> dict[str, float]:
        command = [sys.executable, __file__, "run", "--one", model, str(files), "--memory", memory]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        print(model, out.strip(), flush=True)
        return dict(json.loads(out))

    reads, fits = [run("read")], {}
    for model in (m for m in models if m != "read"):
        fits[model] = run(model)
        reads.append(run("read"))
    once = {key: round(statistics.median(r[key] for r in reads), 2) for key in reads[0]}
    lines = [{"model": "read", "rows": n_rows, **once, "every": [r["cpu"] for r in reads]}]
    lines += [{"model": model, "rows": n_rows, **fit} for model, fit in fits.items()]
    for line in lines:
        # On a machine that others use, processor time is what can be compared.
        line["readings"] = round(line["cpu"] / max(once["cpu"], 1e-9), 1)
        print(line, flush=True)
    return lines


def picture() -> None:
    """Draw seconds and memory against rows."""
    from figures_results import draw_growth

    draw_growth(RESULTS / "scale.png")


def main() -> None:
    """Measure, add to the results, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("run", "plot"))
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--memory", default="2GB", help="for rows (default: 2GB)")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(fit(args.one[0], Path(args.one[1]), args.memory)))
        return
    path = RESULTS / "scale.json"
    if args.step == "run":
        lines = json.loads(path.read_text())["lines"] if path.exists() else []
        for n_rows in args.rows:
            with tempfile.TemporaryDirectory() as folder:
                new = measured(Path(folder), n_rows, args.memory, list(args.models))
            told = {x["model"] for x in new}
            old = [x for x in lines if x["rows"] != n_rows or x["model"] not in told]
            lines = sorted(old + new, key=lambda x: (x["rows"], MODELS.index(x["model"])))
            path.write_text(json.dumps({"memory": args.memory, "lines": lines}, indent=1) + "\n")
    picture()


if __name__ == "__main__":
    main()
