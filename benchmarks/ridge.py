"""Private ridge regression at equal budget, against its peers.

    python benchmarks/ridge.py run        # results/ridge/<problem>.json
    python benchmarks/ridge.py analyse    # results/ridge/table.csv and table.md

Features and labels are mapped to [-1, 1] with public ranges, the same for every method. Reported is
the excess squared error on test rows over that of non-private least squares, as a share of the
variance of the label: 0 is as good as not private, 1 is as bad as the mean. Predictions are clipped
to the label range, which is public. Peers with a setting
are tuned in hindsight; ours runs with defaults.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet import Bounds, PrivateRidge
from discreet.algorithms import SufficientStatistics
from environments import interpreter
from problems import Array, data_directory, present

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "ridge"
EPSILONS, DELTA, SEEDS = (0.1, 1.0, 8.0), 1e-6, 10
Data = tuple[Array, Array]


# -- data: ranges are public knowledge of the columns, not read from the rows ---------------------


def scaled(columns: list[tuple[Any, float, float]], label: Any, low: float, high: float) -> Data:
    """Map columns and label from their public ranges to [-1, 1]."""

    def unit(values: Any, low: float, high: float) -> Array:
        return (2 * np.clip(np.asarray(values, dtype=float), low, high) - low - high) / (high - low)

    return np.column_stack([unit(*column) for column in columns]), unit(label, low, high)


def california(directory: Path) -> Data:
    path = present(directory / "california-housing" / "cal_housing.data.gz")
    frame = pd.read_csv(path, header=None)
    ranges = [
        (-125, -114),
        (32, 42),
        (0, 60),
        (0, 10_000),
        (0, 2000),
        (0, 5000),
        (0, 2000),
        (0, 15),
    ]
    return scaled([(frame[j], *r) for j, r in enumerate(ranges)], frame[8], 0, 500_001)


def diamonds(directory: Path) -> Data:
    frame = pd.read_csv(present(directory / "diamonds" / "diamonds.csv.gz"))
    ranges = {"carat": (0, 5), "depth": (50, 75), "table": (50, 75),
              "x": (0, 11), "y": (0, 11), "z": (0, 7)}  # fmt: skip
    levels = {
        "cut": "Fair Good Very_Good Premium Ideal",
        "color": "D E F G H I J",
        "clarity": "I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF",
    }
    columns = [(frame[c], *r) for c, r in ranges.items()]
    for column, names in levels.items():
        for name in names.split():
            columns.append(((frame[column] == name.replace("_", " ")) * 1.0, -1.0, 1.0))
    return scaled(columns, frame["price"], 0, 20_000)


def wine(directory: Path) -> Data:
    parts = [pd.read_csv(present(directory / "wine-quality" / f"winequality-{c}.csv.gz"),
                         header=None).assign(white=float(c == "white"))
             for c in ("red", "white")]  # fmt: skip
    frame = pd.concat(parts)
    high = (16, 2, 2, 70, 0.7, 300, 450, 1.04, 4.5, 2, 15)
    low = (0, 0, 0, 0, 0, 0, 0, 0.98, 2.5, 0, 8)
    columns = [(frame[j], a, b) for j, (a, b) in enumerate(zip(low, high, strict=True))]
    return scaled([*columns, (frame["white"], -1.0, 1.0)], frame[11], 0, 10)


def nhanes(directory: Path) -> Data:
    """Systolic blood pressure from body measures."""
    path = present(directory / "nhanes-2009-2012" / "NHANESraw.csv.gz")
    frame = pd.read_csv(path, low_memory=False)
    ranges = {"Age": (0, 80), "Weight": (0, 200), "Height": (60, 210), "BPDiaAve": (0, 120),
              "TotChol": (2, 12), "DirectChol": (0, 4), "Pulse": (40, 140)}  # fmt: skip
    frame = frame.dropna(subset=[*ranges, "BPSysAve"])
    columns = [(frame[c], *r) for c, r in ranges.items()]
    columns.append(((frame["Gender"] == "male") * 1.0, -1.0, 1.0))
    return scaled(columns, frame["BPSysAve"], 70, 230)


def synthetic(directory: Path) -> Data:
    rng = np.random.default_rng(0)
    X, w = rng.uniform(-1, 1, size=(25_000, 10)), rng.normal(size=10)
    return X, np.clip(X @ w / np.abs(w).sum() + 0.1 * rng.normal(size=len(X)), -1, 1)


PROBLEMS: dict[str, Callable[[Path], Data]] = {
    "california": california,
    "diamonds": diamonds,
    "wine": wine,
    "nhanes": nhanes,
    "synthetic": synthetic,
}


# -- methods: (X, y, epsilon, seed) -> weights, intercept last ------------------------------------


def ours(**settings: Any) -> Callable[..., Array]:
    def fit(X: Array, y: Array, epsilon: float, seed: int) -> Array:
        model = PrivateRidge(
            epsilon=epsilon, bounds=Bounds(features=(-1, 1), label=(-1, 1)), random_state=seed,
            **settings,
        ).fit(X, y)  # fmt: skip
        return np.append(model.coef_, model.intercept_)

    return fit


def adassp(X: Array, y: Array, epsilon: float, seed: int) -> Array:
    """Wang (2018), as printed: three releases, noise N(0, 1) on the whole upper triangle."""
    rng, scale = np.random.default_rng(seed), np.sqrt(X.shape[1] + 1)
    A = np.column_stack([X, np.ones(len(X))]) / scale
    p, third = A.shape[1], epsilon / 3
    log = np.log(6 / DELTA)
    least = np.linalg.eigvalsh(A.T @ A)[0]
    least = max(0.0, least + np.sqrt(log) / third * rng.normal() - log / third)
    ridge = max(0.0, np.sqrt(p * log * np.log(2 * p**2 / 0.05)) / third - least)
    noise = np.triu(rng.normal(size=(p, p)))
    noise = noise + np.triu(noise, 1).T
    matrix = A.T @ A + np.sqrt(log) / third * noise + ridge * np.eye(p)
    vector = A.T @ y + np.sqrt(log) / third * rng.normal(size=p)
    return np.linalg.pinv(matrix) @ vector / scale


def tukey(models: int) -> Callable[..., Array | None]:
    """TukeyEM (Amin et al. 2023): a deep point among models of disjoint parts, by boxes."""

    def fit(X: Array, y: Array, epsilon: float, seed: int) -> Array | None:
        rng, half = np.random.default_rng(seed), epsilon / 2
        A = np.column_stack([X, np.ones(len(X))])
        count = min(models, len(A) // A.shape[1])
        parts = np.array_split(rng.permutation(len(A)), count)
        found = np.array([np.linalg.lstsq(A[i], y[i], rcond=None)[0] for i in parts])
        found = np.sort(found + 1e-10 * rng.random(found.shape), axis=0)
        # volumes[i]: box of points with more than i models on either side, in every coordinate
        volumes = np.log(np.maximum(found[::-1] - found, 1e-300))[: count // 2].sum(axis=1)
        t = count // 4
        distance = -1
        for k in range(t - 1):
            inner = volumes[t + k + 1 : -1]
            gains = half / 2 * np.arange(1, len(inner) + 1)
            if not len(inner) or np.min(volumes[t - k - 2] - inner - gains) > np.log(
                DELTA / (8 * np.exp(half))
            ):
                break
            distance = k
        if distance + rng.laplace(scale=1 / half) <= np.log(1 / (2 * DELTA)) / half:
            return None  # the stability check failed: nothing may be released
        boxes = volumes[t - 1 :]
        shells = boxes.copy()
        shells[:-1] += np.log1p(-np.exp(boxes[1:] - boxes[:-1]))
        scores = shells + half * np.arange(len(shells))
        depth = t - 1 + int(np.argmax(scores + rng.gumbel(size=len(scores))))
        while True:
            point = rng.uniform(found[depth], found[-1 - depth])
            if (
                depth + 1 >= count // 2
                or not ((point > found[depth + 1]) & (point < found[-2 - depth])).all()
            ):
                return point

    return fit


METHODS: dict[str, tuple[str, float, list[Callable[..., Array | None]]]] = {
    # name: relation, delta, settings of which the best counts
    "discreet": ("zero-out", DELTA, [ours()]),
    "discreet, replace-one": ("replace-one", DELTA, [ours(neighbours="replace-one")]),
    "discreet, delta = 0": ("zero-out", 0.0, [ours(delta=0.0)]),
    "discreet, delta = 0, replace-one": (
        "replace-one", 0.0, [ours(delta=0.0, neighbours="replace-one")],
    ),
    "discreet sufficient statistics": (
        "zero-out", DELTA, [ours(algorithm="sufficient-statistics")],
    ),
    "discreet sufficient statistics, delta = 0": (
        "zero-out", 0.0, [ours(algorithm="sufficient-statistics", delta=0.0)],
    ),
    "discreet AdaSSP, one Gaussian calibration": (
        "zero-out", DELTA, [ours(algorithm=SufficientStatistics(ridge="adassp"))],
    ),
    "AdaSSP as published": ("add-remove", DELTA, [adassp]),
    "TukeyEM": ("add-remove", DELTA, [tukey(m) for m in (250, 500, 1000, 2000)]),
}  # fmt: skip
PEER = "diffprivlib LinearRegression"


def diffprivlib(X: Array, y: Array) -> list[dict[str, Any]]:
    """Return the weights of the peer for every budget and seed, from its own environment."""
    jobs = [{"epsilon": e, "delta": 0.0, "setting": {}, "seed": s}
            for e in EPSILONS for s in range(SEEDS)]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", X=X, y=y)
        command = [interpreter("diffprivlib"), "diffprivlib_ridge.py", f"{folder}/data.npz"]
        done = subprocess.run(command, input=json.dumps(jobs), text=True, capture_output=True,
                              cwd=HERE / "peers", check=True)  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()][1:]


# -- steps ----------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in args.problems or PROBLEMS:
        X, y = PROBLEMS[name](data_directory(args.data))
        order = np.random.default_rng(20).permutation(len(y))
        test, train = order[: len(y) // 5], order[len(y) // 5 :]
        full = np.column_stack([X, np.ones(len(y))])
        best = np.linalg.lstsq(full[train], y[train], rcond=None)[0]
        spread, base = y[test].var(), ((np.clip(full[test] @ best, -1, 1) - y[test]) ** 2).mean()

        def excess(w: Array | None, data: Any = (full[test], y[test], base, spread)) -> float:
            A, labels, least, variance = data
            w = np.zeros(A.shape[1]) if w is None else w  # nothing released: predict the middle
            guess = np.clip(A @ w, -1, 1)  # the label range is public, so clipping is free
            return float((((guess - labels) ** 2).mean() - least) / variance)

        path, rows = RESULTS / f"{name}.json", []
        kept = json.loads(path.read_text())["results"] if args.ours else []
        for method, (relation, delta, variants) in METHODS.items():
            if kept and not method.startswith("discreet"):
                rows += [row for row in kept if row["method"] == method]
                continue
            for epsilon in EPSILONS:
                scores, start = [], time.process_time()
                for k, fit in enumerate(variants):
                    released = [fit(X[train], y[train], epsilon, s) for s in range(SEEDS)]
                    scores.append((np.mean([excess(w) for w in released]), k,
                                   sum(w is None for w in released)))  # fmt: skip
                seconds = (time.process_time() - start) / SEEDS / len(variants)
                value, chosen, none = min(scores)
                rows.append({"method": method, "relation": relation, "delta": delta,
                             "epsilon": epsilon, "excess": value, "setting": chosen,
                             "nothing_released": none, "seconds": seconds})  # fmt: skip
        peer: dict[float, list[float]] = {}
        seconds = 0.0
        rows += [row for row in kept if row["method"] == PEER]
        for answer in () if kept else diffprivlib(X[train], y[train]):
            weights = answer.get("weights")
            peer.setdefault(answer["epsilon"], []).append(excess(weights and np.array(weights)))
            seconds += answer.get("seconds", 0.0) / (SEEDS * len(EPSILONS))
        rows += [{"method": PEER, "relation": "replace-one", "delta": 0.0, "epsilon": e,
                  "excess": float(np.mean(v)), "setting": 0, "nothing_released": 0,
                  "seconds": seconds} for e, v in peer.items()]  # fmt: skip
        content = {"problem": name, "rows": len(train), "features": X.shape[1], "seeds": SEEDS,
                   "r2_not_private": 1 - base / spread, "results": rows}  # fmt: skip
        path.write_text(json.dumps(content, indent=1) + "\n")
        print(name, X.shape, flush=True)
        for row in rows:
            print(f"  {row['method']:45s} {row['epsilon']:4g} {row['excess']:.4g}", flush=True)


def analyse(args: argparse.Namespace) -> None:
    contents = [json.loads((RESULTS / f"{n}.json").read_text()) for n in PROBLEMS
                if (RESULTS / f"{n}.json").exists()]  # fmt: skip
    with (RESULTS / "table.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", *contents[0]["results"][0]])
        for content in contents:
            writer.writerows([content["problem"], *row.values()] for row in content["results"])
    text = ["Excess test error as a share of the label's variance, mean of 10 fits.", ""]
    for content in contents:
        results = content["results"]
        text += [f"**{content['problem']}**: {content['rows']:,} rows, {content['features']} "
                 f"features, R2 {content['r2_not_private']:.3f} without privacy", "",
                 "| method | relation | " + " | ".join(f"epsilon {e:g}" for e in EPSILONS)
                 + " | CPU s |", "|---|---|" + "---|" * (len(EPSILONS) + 1)]  # fmt: skip
        for method in dict.fromkeys(r["method"] for r in results):
            mine = [r for r in results if r["method"] == method]
            cells = " | ".join(f"{r['excess']:.3g}" for r in mine)
            text.append(f"| {method} | {mine[0]['relation']} | {cells} | "
                        f"{np.mean([r['seconds'] for r in mine]):.2g} |")  # fmt: skip
        text.append("")
    (RESULTS / "table.md").write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("run", "analyse"))
    parser.add_argument("--data", help="directory with the data sets")
    parser.add_argument("--problems", nargs="*", choices=list(PROBLEMS))
    parser.add_argument("--ours", action="store_true", help="keep what is held of the peers")
    arguments = parser.parse_args()
    {"run": run, "analyse": analyse}[arguments.step](arguments)
