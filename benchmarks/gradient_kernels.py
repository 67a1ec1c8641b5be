"""Clipped gradient sums: bandwidth, and full-batch steps against Opacus and JAX-Privacy.

``python benchmarks/gradient_kernels.py run`` measures everything in one run, all cores, and writes
``results/gradient_kernels.json``. Rows are those of an estimator: bounded, in the type the user's
data has. Sums are taken with numpy alone and with the compiled kernel (extra ``compiled``); what
numpy could reach is measured by the two products alone. Peers compute in float32. They need
their environments (``environments.py``); a peer that is not installed is reported as absent. Runs
alternate and the best of several counts, so that other load on the machine disturbs all alike.

Our step is one of ``NoisyGradient``: sum, secure noise, projection and average, Python included.
A peer's step is timed twice: on tensors that are already in place, and the way a training loop of
that library reads rows (Opacus through its data loader, JAX-Privacy by gathering a batch).
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from arguments import parser_of
from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient.path import descend
from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding, Rows
from discreet.data.blocks import one_blas_thread, slices
from discreet.data.clipped.blockwise import cache_rows
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.losses import Logistic
from discreet.noise import System
from discreet.problem import Problem
from environments import interpreter

WAYS = {"numpy": 0.0, "compiled": math.inf}
"""How sums are taken, by the work that is declared."""

STEPS = 50
"""Steps of a run; the mean of the fastest of several runs counts, ours and peers' alike."""

OPACUS = """
import json, sys, time, warnings; warnings.simplefilter("ignore")
import numpy as np, torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset
n, p, steps = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = torch.from_numpy(rng.normal(size=(n, p)).astype(np.float32))
y = torch.from_numpy((rng.random(n) < 0.5).astype(np.float32))
model = torch.nn.Linear(p, 1, bias=False)
model, optimizer, loader = PrivacyEngine().make_private(
    module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    data_loader=DataLoader(TensorDataset(X, y), batch_size=n), noise_multiplier=1.0,
    max_grad_norm=1.0, poisson_sampling=False)
loss, times = torch.nn.BCEWithLogitsLoss(), []
for _ in range(6):
    start = time.perf_counter(), time.process_time()
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(X).ravel(), y).backward()
        optimizer.step()
    times.append([time.perf_counter() - start[0], time.process_time() - start[1]])
loop = []
for _ in range(3):
    start = time.perf_counter()
    for rows, labels in loader:
        optimizer.zero_grad()
        loss(model(rows).ravel(), labels).backward()
        optimizer.step()
    loop.append(time.perf_counter() - start)
print(json.dumps([min(t) / steps for t in zip(*times)] + [min(loop)]))
"""

JAX = """
import json, sys, time
import jax, jax.numpy as jnp, numpy as np
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig
n, p, steps = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(n, p)).astype(np.float32))
y = jnp.asarray(np.where(rng.random(n) < 0.5, 1, -1).astype(np.float32))
plan = BandMFExecutionPlanConfig(strategy=np.ones(1), iterations=steps, epsilon=None, delta=None,
    noise_multiplier=1.0, sampling_prob=0.5, l2_clip_norm=1.0, rescale_to_unit_norm=False,
    normalize_by=float(n), noise_seed=0).plan
loss = lambda w, row, label: jax.nn.softplus(-label * (row @ w))
gradient = plan.clipped_grad(loss, batch_argnums=(1, 2), keep_batch_dim=False)
privatise = plan.noise_addition_transform.update
weights = jnp.zeros(p)
state, padding = plan.noise_addition_transform.init(weights), jnp.zeros(n, bool)

@jax.jit
def step(weights, state):
    noisy, state = privatise(gradient(weights, X, y, is_padding_example=padding), state)
    return weights - 0.1 * noisy, state

weights, state = jax.block_until_ready(step(weights, state))
times = []
for _ in range(6):
    start = time.perf_counter(), time.process_time()
    for _ in range(steps):
        weights, state = step(weights, state)
    jax.block_until_ready(weights)
    times.append([time.perf_counter() - start[0], time.process_time() - start[1]])

@jax.jit
def fed(weights, state, rows, labels, padding):
    noisy, state = privatise(gradient(weights, rows, labels, is_padding_example=padding), state)
    return weights - 0.1 * noisy, state

loop, A, b, batch = [], np.asarray(X), np.asarray(y), np.arange(n)
for _ in range(6):
    start = time.perf_counter()
    for _ in range(steps):
        weights, state = fed(weights, state, A[batch], b[batch], batch == -1)
    jax.block_until_ready(weights)
    loop.append(time.perf_counter() - start)
print(json.dumps([min(t) / steps for t in zip(*times)] + [min(loop) / steps]))
"""


def best(function: Callable[[], object], repeats: int = 40) -> float:
    """Return the fastest of several runs in seconds, after one to warm up."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def read_bandwidth(X: np.ndarray) -> float:
    """Return bytes a second of the fastest plain read of ``X`` with all cores."""
    cores = os.cpu_count() or 1
    with ThreadPoolExecutor(cores) as pool:
        parts = np.array_split(X.ravel(), cores)
        ways = (np.add.reduce, np.maximum.reduce)
        seconds = min(best(lambda way=way: list(pool.map(way, parts))) for way in ways)
    return float(X.nbytes / seconds)


def products(X: np.ndarray, w: np.ndarray) -> None:
    """Take the two products of a sum, in its blocks and on all cores, and nothing else."""
    cores = os.cpu_count() or 1
    blocks = slices(len(X), cache_rows(X.shape[1]))

    def work(first: int) -> None:
        for block in blocks[first::cores]:
            np.dot(np.dot(X[block], w), X[block])

    with one_blas_thread(), ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, range(cores)))


def bounded(X: Any, y: np.ndarray, row_norm: float) -> Rows:
    """Return the rows an estimator would sum over; float32 stays float32."""
    bounds = Bounds(row_norm=row_norm, classes=(-1, 1))
    return Bounding.plan(bounds, X.shape[1], Logistic()).apply(ArraySource(X, y), narrow=True)


def kernel(n: int, p: int) -> dict[str, Any]:
    """Return times and bandwidths of the sum in every storage."""
    rng = np.random.default_rng(0)
    X, y = rng.random((n, p), dtype=np.float32), np.where(rng.random(n) < 0.5, 1, -1)
    stored = {dtype: bounded(X.astype(dtype), y, math.sqrt(p)) for dtype in ("float64", "float32")}
    w, wide = np.full(p, 0.01), stored["float64"].X
    out: dict[str, Any] = {"n": n, "p": p, "read GB/s": read_bandwidth(wide) / 1e9}
    # Twice, so that a short disturbance of the machine does not decide.
    for _ in range(2):
        out["read GB/s"] = max(out["read GB/s"], read_bandwidth(wide) / 1e9)
        alone = out.setdefault("numpy products alone", {"ms": math.inf})
        alone["ms"] = min(alone["ms"], 1e3 * best(lambda: products(wide, w)))
        alone["of read"] = wide.nbytes / alone["ms"] / 1e6 / out["read GB/s"]
        for way, work in WAYS.items():
            for dtype, rows in stored.items():
                with ClippedSums(rows, Logistic(), work=work) as sums:
                    seconds = best(lambda sums=sums: sums.full(w, 1.0))
                seen = out.setdefault(f"{way} {dtype}", {"ms": math.inf})
                seen["ms"] = min(seen["ms"], 1e3 * seconds)
                seen["GB/s"] = rows.X.nbytes / seen["ms"] / 1e6
    for way in WAYS:
        for dtype in stored:
            out[f"{way} {dtype}"]["of read"] = out[f"{way} {dtype}"]["GB/s"] / out["read GB/s"]
    sparse = sp.random_array((n, 10 * p), density=0.02, format="csr", rng=rng)
    for dtype in stored:
        rows = bounded(sparse.astype(dtype), y, 10.0)
        with ClippedSums(rows, Logistic()) as sums:
            seconds = best(lambda sums=sums: sums.full(np.full(10 * p, 0.01), 1.0), repeats=5)
        out[f"csr {dtype}"] = {"ms": 1e3 * seconds, "non-zeros": int(sparse.nnz)}
    return out


def our_step(n: int, p: int, steps: int, way: str, dtype: str) -> list[float]:
    """Return wall and CPU seconds of one private full-batch step, the mean of many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)).astype(dtype)
    problem = Problem(
        loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(-1, 1)), n_features=p, n_rows=n
    )
    plan = NoisyGradient(steps=steps).plan(problem, Budget(1.0, 1e-6))
    rows = problem.bound(ArraySource(X, np.where(rng.random(n) < 0.5, 1, -1)), narrow=True)
    times = []
    with ClippedSums(rows, problem.loss, work=WAYS[way]) as sums:
        sums.full(plan.start, plan.clip)
        for _ in range(10):
            start = time.perf_counter(), time.process_time()
            descend(plan, rows, sums, System())
            times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    return [min(t) / steps for t in zip(*times, strict=True)]


def peer_step(environment: str, code: str, n: int, p: int, steps: int) -> list[float] | None:
    """Return wall and CPU seconds of one full-batch step of a peer, or None if it is absent."""
    if not interpreter(environment).exists():
        return None
    done = subprocess.run(
        [interpreter(environment), "-c", code, str(n), str(p), str(steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
    )
    return list(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else None


def steps_against_peers(n: int, p: int) -> dict[str, Any]:
    """Return step times and how many of ours fit in one of a peer's."""
    peers = {"opacus": ("opacus", OPACUS), "jax-privacy": ("jax_privacy", JAX)}
    ours = [f"{way} {dtype}" for way in WAYS for dtype in ("float64", "float32")]
    times: dict[str, list[list[float]]] = {name: [] for name in (*ours, *peers)}
    for _ in range(3):
        for name in ours:
            times[name].append(our_step(n, p, STEPS, *name.split()))
        for name, (environment, code) in peers.items():
            seconds = peer_step(environment, code, n, p, STEPS)
            if seconds is not None:
                times[name].append(seconds)
    fastest = {name: 1e3 * np.min(found, axis=0) for name, found in times.items() if found}
    out: dict[str, Any] = {"n": n, "p": p}
    for name, (wall, cpu) in ((name, fastest[name]) for name in ours):
        out[f"ours, {name}"] = {"ms": wall, "CPU ms": cpu}
    for name in peers:
        out[name] = "absent"
        if name in fastest:
            wall, cpu, loop = fastest[name]
            out[name] = {"ms": wall, "CPU ms": cpu, "ms with loader": loop}
            for own in ours:
                out[name][f"times ours, {own}"] = wall / fastest[own][0]
                out[name][f"with loader, times ours, {own}"] = loop / fastest[own][0]
    return out


def main() -> None:
    """Measure, print and store."""
    result = {
        "cores": os.cpu_count(),
        "load before": os.getloadavg()[0],
        "kernel": kernel(1_000_000, 100),
        "step": steps_against_peers(100_000, 50),
    }
    path = Path(__file__).resolve().parent / "results" / "gradient_kernels.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
