"""Time default private fits against the fastest suitable solver of scikit-learn.

Every fit is whole: checks, planning, bounding, noise. Ours and every solver of scikit-learn fit the
same rows in the same process, one after the other, again and again; the least seconds count, of
the processor on one core and of the clock on all of them. The seconds of the processor are the
ones to trust where other programs run. The very first fit, which may load compiled code, is kept
too, and of a descent the seconds of its matrix products alone: steps that read all rows, or
all of a batch, can hardly take less. Rows are artificial::

    python benchmarks/fit_speed.py run               # everything, on one core: some minutes
    python benchmarks/fit_speed.py run --only 1e4    # some problems
    python benchmarks/fit_speed.py run --cores 1 2   # on two cores too, by the clock
    python benchmarks/fit_speed.py table

Writes ``results/fit_speed.json`` and ``results/fit_speed.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

RESULTS = Path(__file__).parent / "results"
EPSILONS = (0.1, 1.0, 8.0)
DELTA = 1e-8
REPEATS, SECONDS = 5, 5.0
"""Fits of each kind, at most, and processor seconds after which there is no further round."""


class Case(NamedTuple):
    """Rows, our estimator and its arguments, theirs, and the ratio that is aimed at."""

    name: str
    rows: str
    shape: tuple[int, int]
    ours: str
    given: dict[str, Any]
    theirs: tuple[str, ...]
    goal: float
    epsilons: tuple[float, ...] = EPSILONS


LOGISTIC = ("lbfgs", "newton-cholesky", "newton-cg", "liblinear")
CASES = (
    Case("logistic 1e4 x 20", "two", (10_000, 20), "LogisticRegression", {}, LOGISTIC, 3),
    Case("logistic 1e5 x 50", "two", (100_000, 50), "LogisticRegression", {}, LOGISTIC, 1.5),
    Case("logistic 1e6 x 100", "two", (1_000_000, 100), "LogisticRegression", {}, LOGISTIC[:3], 1),
    Case(
        "logistic CSR 2e4 x 1e4, 1 %",
        "sparse",
        (20_000, 10_000),
        "LogisticRegression",
        {},
        ("lbfgs", "newton-cg", "liblinear"),
        3,
    ),
    Case(
        "logistic 1e4 x 20, 5 classes",
        "five",
        (10_000, 20),
        "LogisticRegression",
        {},
        LOGISTIC[:3],
        3,
    ),
    Case(
        "logistic 6e4 x 784, 10 classes",
        "ten",
        (60_000, 784),
        "LogisticRegression",
        {},
        ("lbfgs",),
        1.5,
        (1.0,),
    ),
    Case(
        "hinge 6e4 x 784, 10 classes",
        "ten",
        (60_000, 784),
        "SGDClassifier",
        {"loss": "hinge"},
        ("sgd-hinge",),
        3,
        (1.0,),
    ),
    Case("ridge 1e5 x 20", "number", (100_000, 20), "Ridge", {}, ("ridge",), 1.5),
    Case(
        "hinge 1e5 x 20",
        "two",
        (100_000, 20),
        "SGDClassifier",
        {"loss": "hinge"},
        ("linear-svc", "sgd-hinge"),
        1.5,
    ),
    Case("squared 1e5 x 20", "number", (100_000, 20), "SGDRegressor", {}, ("sgd-squared",), 1.5),
    Case("quantile 1e4 x 20", "number", (10_000, 20), "QuantileRegressor", {}, ("quantile",), 3),
    Case("lasso 1e5 x 20", "number", (100_000, 20), "Lasso", {}, ("lasso",), 1.5),
    Case(
        "sparse logistic 1e5 x 20",
        "two",
        (100_000, 20),
        "SparseLogisticRegression",
        {},
        ("l1-liblinear", "l1-saga"),
        1.5,
    ),
)


def made(kind: str, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Return artificial rows and labels: ``two``, ``five``, ``ten`` classes, a number, or CSR."""
    import numpy as np
    import scipy.sparse as sp
    from scipy.special import expit

    rng, (n, p) = np.random.default_rng(0), shape
    if kind == "sparse":
        X: Any = sp.random_array(shape, density=0.01, rng=rng, data_sampler=rng.standard_normal)
        X = sp.csr_array(X / 10.0)
        return X, (rng.random(n) < expit(X @ (3.0 * rng.standard_normal(p)))).astype(int)
    X = rng.standard_normal(shape)
    X += 0.5 * rng.standard_normal((n, 1))
    X *= rng.uniform(0.5, 1.5, p) / np.sqrt(p)
    if kind == "number":
        z = X @ rng.standard_normal(p) + 0.3 * rng.standard_normal(n)
        return X, np.clip(z / 3.0, -1.0, 1.0)
    if kind == "two":
        z = X @ (3.0 * rng.standard_normal(p))
        return X, (rng.random(n) < expit(z)).astype(int)
    z = X @ (5.0 * rng.standard_normal((p, {"five": 5, "ten": 10}[kind])))
    return X, np.argmax(z + rng.gumbel(size=z.shape), axis=1)


def ours(case: Case, epsilon: float, y: Any) -> Any:
    """Return our estimator."""
    import discreet

    label = {"label": (-1.0, 1.0)} if case.rows == "number" else {}
    classes = {} if label else {"classes": tuple(range(int(y.max()) + 1))}
    columns = case.ours in ("Lasso", "SparseLogisticRegression")
    norm = {"features": (-1.0, 1.0)} if columns else {"row_norm": 2.0}
    kind = getattr(discreet, f"Private{case.ours}")
    bounds = discreet.Bounds(**norm, **label, **classes)
    return kind(epsilon=epsilon, delta=DELTA, bounds=bounds, **case.given)


def theirs(name: str) -> Any:
    """Return an estimator of scikit-learn with its default tolerance."""
    from sklearn import linear_model as lm
    from sklearn.svm import LinearSVC

    other = {
        "linear-svc": lambda: LinearSVC(),
        "sgd-hinge": lambda: lm.SGDClassifier(loss="hinge"),
        "sgd-squared": lambda: lm.SGDRegressor(),
        "ridge": lambda: lm.Ridge(),
        "quantile": lambda: lm.QuantileRegressor(alpha=0.0, solver="highs"),
        "lasso": lambda: lm.Lasso(alpha=1e-3),
        "l1-liblinear": lambda: lm.LogisticRegression(l1_ratio=1.0, solver="liblinear"),
        "l1-saga": lambda: lm.LogisticRegression(l1_ratio=1.0, solver="saga"),
    }
    return other[name]() if name in other else lm.LogisticRegression(solver=name)


def seconds(fit: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of the clock and of the processor that a call takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    fit()
    return time.perf_counter() - wall, time.process_time() - cpu


def measure(case: Case) -> dict[str, Any]:
    """Return the least seconds of every fit."""
    X, y = made(case.rows, case.shape)
    fits = {f"epsilon {e:g}": ours(case, e, y) for e in case.epsilons}
    models = fits | {name: theirs(name) for name in case.theirs}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in models}
    start = time.process_time()
    for again in range(REPEATS):
        for name, model in models.items():
            # What takes long is hardly disturbed, so once is enough.
            if not again or spent[name][0][1] < SECONDS:
                spent[name].append(seconds(lambda model=model: model.fit(X, y)))
        if time.process_time() - start > SECONDS:
            break
    found: dict[str, Any] = {}
    for name, model in models.items():
        walls, cpus = zip(*spent[name], strict=True)
        found[name] = {"wall": min(walls), "cpu": min(cpus), "first": walls[0], "fits": len(walls)}
        if name in fits:
            found[name] |= {"what": told(model), "products": products(model, X)}
        print(
            f"  {name:<16}",
            {k: v if isinstance(v, (str, int)) else round(v, 4) for k, v in found[name].items()},
            flush=True,
        )
    return found


def told(model: Any) -> str:
    """Return algorithm and number of steps."""
    found = model.settings_
    steps = f", {found['steps']} steps" if found.get("steps") else ""
    return f"{model.algorithm_}{steps}" + (", batches" if found.get("batch") else "")


def products(model: Any, X: Any) -> float:
    """Return the seconds of the bare products of a descent: rows by weights, and slopes by rows."""
    import numpy as np

    steps, batch = model.settings_.get("steps"), model.settings_.get("batch")
    if not steps or model.algorithm_ != "noisy-gradient":
        return 0.0
    outputs = model.coef_.shape[:1] if model.coef_.ndim == 2 and len(model.coef_) > 1 else ()
    W, C, turned = np.ones((X.shape[1], *outputs)), np.ones((X.shape[0], *outputs)), X.T
    once = min(seconds(lambda: (X @ W, turned @ C))[1] for _ in range(7))
    return float(steps * once * (batch / X.shape[0] if batch else 1.0))


def worker(cores: int, names: list[str]) -> None:
    """Measure on so many cores and print one line of JSON at the end."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    from threadpoolctl import threadpool_limits

    found = {}
    with threadpool_limits(cores), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in CASES:
            if case.name in names:
                print(case.name, "on", cores, flush=True)
                found[case.name] = measure(case)
    print("RESULT" + json.dumps(found))


def table(record: dict[str, Any]) -> str:
    """Return the ratios to the fastest solver, as Markdown."""
    one, many = record.get("one core", {}), record.get("all cores", {})
    heads = ["problem", "epsilon", "algorithm", "ours, s", "scikit-learn, s", "ratio", "goal"]
    heads += ["ratio of products alone"]
    heads += ["ratio of the clock, all cores"] if many else []
    lines = [heads, ["---"] * len(heads)]
    for case in CASES:
        found, wide = one.get(case.name, {}), many.get(case.name)
        peers = [name for name in case.theirs if name in found]
        for key in (f"epsilon {e:g}" for e in case.epsilons if peers):
            quickest = min(peers, key=lambda name: found[name]["cpu"])
            mine, theirs_ = found[key]["cpu"], found[quickest]["cpu"]
            cells = [case.name, key.removeprefix("epsilon "), found[key]["what"], f"{mine:.3f}"]
            cells += [f"{theirs_:.3f} ({quickest})", f"{mine / theirs_:.2f}", f"{case.goal:g}"]
            floor = found[key].get("products", 0.0) / theirs_
            cells += [f"{floor:.2f}" if floor else ""]
            if many:
                least = min(wide[name]["wall"] for name in case.theirs) if wide else 0.0
                cells.append(f"{wide[key]['wall'] / least:.2f}" if wide else "")
            lines.append(cells)
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines)


def main() -> None:
    """Measure in processes of their own, or write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("run", "table", "worker"))
    parser.add_argument("--only", default="", help="part of the names of the problems to measure")
    parser.add_argument("--cores", type=int, nargs="*", default=[1])
    parser.add_argument("--out", type=Path, default=RESULTS / "fit_speed.json")
    args = parser.parse_args()
    names = [case.name for case in CASES if args.only in case.name]
    if args.step == "worker":
        worker(args.cores[0], [args.only])
        return
    record: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for cores in args.cores if args.step == "run" else ():
        for name in names:
            command = [sys.executable, __file__, "worker", "--only", name, "--cores", str(cores)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith("RESULT"):
                        kept = record.setdefault("one core" if cores == 1 else "all cores", {})
                        kept.update(json.loads(line.removeprefix("RESULT")))
                    else:
                        print(line, end="", flush=True)
        import sklearn

        record["configuration"] = {
            "cores": os.cpu_count(),
            "delta": DELTA,
            "python": platform.python_version(),
            "scikit-learn": sklearn.__version__,
        }
        args.out.write_text(json.dumps(record, indent=1) + "\n")
    text = table(record)
    args.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
