"""Sum four parts on a Dask cluster of two processes, kill one, and compare the release.

Run by ``test_partial_sums.py`` in a process of its own, so that workers know the functions here.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from discreet import Bounds, PrivateRidge
from discreet.data import ArraySource
from discreet.noise import Seeded

ROWS = 9_000


def part(k, of):
    X = np.random.default_rng(0).uniform(-1, 1, size=(ROWS, 3))
    return ArraySource(X[k::of], X[k::of] @ [0.5, -0.2, 0.1])


def summed(plan, k, marks):
    """Sum one part of four, and leave a mark that it began."""
    Path(marks, f"{k}-{os.getpid()}").touch()
    time.sleep(0.4)
    return plan.partial(part(k, 4))


def main():
    from distributed import Client, LocalCluster  # an extra

    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    plan = PrivateRidge(bounds=bounds, algorithm="sufficient-statistics").plan(3, ROWS)
    with (
        tempfile.TemporaryDirectory() as marks,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        tasks = [client.submit(summed, plan, k, marks, pure=False) for k in range(4)]
        while not (begun := os.listdir(marks)):
            time.sleep(0.02)
        os.kill(int(begun[0].split("-")[1]), signal.SIGKILL)
        total = sum(client.gather(tasks))
        again = len(os.listdir(marks)) > 4
    there = plan.run(part(0, 1), Seeded(1)).weights
    same = np.array_equal(plan.finish(total, Seeded(1)).weights, there)
    print("summed again and the same" if again and same else f"again {again}, same {same}")


if __name__ == "__main__":
    sys.exit(main())
