"""Fits on the workers of a Dask cluster: one worker against two, one thread each.

Rows of 20 columns in float32 come from Parquet files, and logistic regression is fitted by
workers that keep their bounded rows:

    python benchmarks/cluster.py run

Results go to ``benchmarks/results/cluster.json``. Where other programs are busy, seconds say
little. ``critical`` is the processor time of the machine that fits and of the busiest
worker together: what a fit waits for if every process has a core of its own. Fits with one
worker and with two take turns, and the least of each is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def ready() -> None:
    """Load what a worker needs. Where loops are kept on disk, they are compiled only once."""
    import numpy as np

    from discreet.data.fused import Loop

    part = np.ones((4, 8), np.float32).T
    ranges = (-np.ones(4), np.ones(4), np.zeros(4), np.ones(4))
    Loop()(part, np.empty((8, 5), np.float32), np.zeros(8, bool), ranges, 1.0, 0.0, 1.0)


def fit(folder: Path, columns: int, workers: int) -> dict[str, Any]:
    """Fit with so many workers, and return seconds of the clock and of processors."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from discreet import Bounds, PrivateLogisticRegression

    names = {f"x{j}": (-1.0, 1.0) for j in range(columns)}
    bounds = Bounds(features=names, classes=(0, 1))
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        # Modules are loaded, loops are compiled, and files have been read once.
        client.run(ready)
        frame = dd.read_parquet(folder, columns=[*names, "answer"])
        len(frame)
        before, busy = client.run(time.process_time), time.process_time()
        start = time.perf_counter()
        model = PrivateLogisticRegression(bounds=bounds, random_state=0).fit(frame, "answer")
        seconds, used = time.perf_counter() - start, time.process_time() - busy
        after = client.run(time.process_time)
    each = [after[k] - before[k] for k in after]
    return {
        "workers": workers,
        "seconds": round(seconds, 1),
        "here": round(used, 1),
        "each": [round(one, 1) for one in each],
        "critical": round(used + max(each), 1),
        "coef": model.coef_.tolist(),
    }


def main() -> None:
    """Measure and write the results."""
    from scale import COLUMNS, RESULTS, write

    # A script of this folder has the name of a library that Dask looks for.
    sys.path = [p for p in sys.path if Path(p).resolve() != HERE]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["run"], help="fit with one worker and with two")
    parser.add_argument("--rows", type=int, default=8 * 2**20, help="default: eight shards")
    parser.add_argument("--times", type=int, default=3, help="fits of each kind, in turns")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), args.rows)
        lines = [
            fit(Path(folder), COLUMNS, workers) for _ in range(args.times) for workers in (1, 2)
        ]
    same = len({str(line.pop("coef")) for line in lines}) == 1
    one, two = (
        {key: min(line[key] for line in lines[k::2]) for key in ("seconds", "critical")}
        for k in range(2)
    )
    found = {
        "rows": args.rows,
        "load before": round(load, 1),
        "load after": round(os.getloadavg()[0], 1),
        "lines": lines,
        "same release": same,
        "speedup, clock": round(one["seconds"] / two["seconds"], 2),
        "speedup, processors": round(one["critical"] / two["critical"], 2),
    }
    (RESULTS / "cluster.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
