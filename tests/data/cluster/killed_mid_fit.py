"""Fit on a Dask cluster of two processes and kill one in the middle, then again with other rows.

Run by ``test_cluster.py`` in a process of its own.
"""

import os
import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from discreet import Bounds, PrivateLogisticRegression
from discreet.data import blocks
from discreet.data.cluster.crew import Crew
from discreet.errors import InvalidData

ROWS, COLUMNS, CHUNKS = 40_000, 3, 4


def collection(path):
    """Return rows and labels that workers read from a file, chunk by chunk."""
    import dask  # an extra
    import dask.array as da

    def chunk(k):
        return np.load(path, mmap_mode="r")[k * ROWS // CHUNKS : (k + 1) * ROWS // CHUNKS].copy()

    parts = [dask.delayed(chunk)(k) for k in range(CHUNKS)]
    shape = (ROWS // CHUNKS, COLUMNS + 1)
    whole = da.concatenate([da.from_delayed(p, shape, float) for p in parts])
    return whole[:, :COLUMNS], whole[:, COLUMNS]


def killing(client, before):
    """Have one worker killed before the fourth question of a fit."""
    asked, ask = [], Crew.ask

    def counted(self, *args, **more):
        asked.append(args[0])
        if len(asked) == 4:
            before()
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        return ask(self, *args, **more)

    Crew.ask = counted
    return lambda: setattr(Crew, "ask", ask) or len(asked)


def main():
    from distributed import Client, LocalCluster  # an extra

    warnings.simplefilter("ignore")
    blocks.SHARD = 8192
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(ROWS, COLUMNS))
    y = (X.sum(axis=1) + rng.logistic(size=ROWS) > 0).astype(float)
    bounds = Bounds(features=(-1, 1), classes=(0.0, 1.0))

    def model():
        return PrivateLogisticRegression(
            bounds=bounds, algorithm="objective-perturbation", random_state=0
        )

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=folder
        ) as cluster,
        Client(cluster) as client,
    ):
        path = str(Path(folder, "rows.npy"))
        np.save(path, np.column_stack([X, y]))
        there = model().fit(X, y).coef_
        done = killing(client, lambda: None)
        same = np.array_equal(model().fit(*collection(path)).coef_, there)
        print("same" if same else "other", "after", "many" if done() > 6 else "few", "questions")
        client.wait_for_workers(2)
        done = killing(client, lambda: np.save(path, np.column_stack([0.9 * X, y])))
        changed = model()
        try:
            changed.fit(*collection(path))
        except InvalidData as error:
            print(str(error).split(".")[0], hasattr(changed, "coef_"))
        done()


if __name__ == "__main__":
    sys.exit(main())
