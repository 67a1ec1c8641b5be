"""Seeded fits of every estimator and algorithm, kept as numbers.

``python tests/golden/record.py`` writes them; ``--check`` names each that differs
from what is kept, to the last bit. A change that is meant is recorded anew and named
in the changelog.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet import Bounds, Budget
from discreet.algorithms import ALGORITHMS
from discreet.data import ArraySource
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L1Ball

KEPT = Path(__file__).with_name("golden.json")
SIZES = ((60, 1), (400, 3), (2000, 2))
BUDGETS = ((0.5, 1e-6), (4.0, 1e-6), (2.0, 0.0))
RELATIONS = ("zero-out", "replace-one", "add-remove")


def rows(size: int, width: int) -> tuple[Any, Any]:
    """Draw features in [-1, 1] and a label that the first of them decides."""
    rng = np.random.default_rng(size + width)
    X = rng.uniform(-1, 1, size=(size, width))
    return X, 0.7 * X[:, 0] + 0.1 * rng.normal(size=size)


def estimators() -> list[str]:
    """Return the names of what can be fitted and wraps no other estimator."""
    names = (n for n in sorted(discreet.__all__) if n.startswith("Private"))
    return [n for n in names if getattr(discreet, n).__module__.startswith("discreet.estimators")]


def cases() -> Iterator[str]:
    """Name every case."""
    for kind, names in (("estimator", estimators()), ("algorithm", sorted(ALGORITHMS))):
        for name in names:
            for size in range(len(SIZES)):
                for budget in range(len(BUDGETS)):
                    for relation in RELATIONS:
                        yield f"{kind}/{name}/{size}/{budget}/{relation}"


def result(case: str) -> dict[str, Any]:
    """Fit one case: weights, guarantee and plan, or how it was refused."""
    kind, name, size, budget, relation = case.split("/")
    shape, spent = SIZES[int(size)], BUDGETS[int(budget)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = (_estimated if kind == "estimator" else _run)(name, shape, spent, relation)
        except (discreet.errors.DiscreetError, ValueError) as refusal:
            return {"refused": type(refusal).__name__}
    return found


def _estimated(
    name: str, shape: tuple[int, int], budget: tuple[float, float], relation: str
) -> dict[str, Any]:
    X, y = rows(*shape)
    bounds = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
    kind = getattr(discreet, name)
    chosen: dict[str, Any] = {
        "epsilon": budget[0],
        "delta": budget[1],
        "bounds": bounds,
        "neighbours": relation,
        "n_rows": shape[0] if relation == "add-remove" else None,
        "random_state": 1,
    }
    known = kind().get_params()
    model = kind(**{k: v for k, v in chosen.items() if k in known})
    labels = (y > 0).astype(int) if hasattr(kind, "decision_function") else y
    model.fit(X, labels)
    released = {k: v for k, v in vars(model).items() if k in ("coef_", "intercept_", "quantiles_")}
    return _kept(released, model.guarantee_, model.algorithm_)


def _run(
    name: str, shape: tuple[int, int], budget: tuple[float, float], relation: str
) -> dict[str, Any]:
    X, y = rows(*shape)
    squared = name == "sufficient-statistics"
    problem = Problem(
        loss=Squared() if squared else Logistic(),
        bounds=Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1)),
        n_features=shape[1],
        n_rows=shape[0],
        neighbours=relation,  # type: ignore[arg-type]
        intercept=0.5,
        **({"constraint": L1Ball(radius=2.0)} if name == "frank-wolfe" else {}),
    )
    plan = ALGORITHMS[name]().plan(problem, Budget(*budget))
    release = plan.run(ArraySource(X, y if squared else (y > 0).astype(int)), Seeded(1))
    return _kept({"weights": release.weights}, release.guarantee, plan.facts())


def _kept(released: dict[str, Any], guarantee: Any, plan: Any) -> dict[str, Any]:
    text = json.dumps([guarantee.to_dict(), plan], sort_keys=True, default=str)
    return {
        "weights": {k: np.asarray(v, dtype=float).ravel().tolist() for k, v in released.items()},
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "plan": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def main() -> int:
    """Record all cases, or check them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is kept")
    checking = parser.parse_args().check
    found = {case: result(case) for case in cases()}
    if not checking:
        lines = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items())
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        return 0
    kept = json.loads(KEPT.read_text())
    differ = [k for k in sorted({*kept, *found}) if kept.get(k) != found.get(k)]
    print("\n".join([*differ, f"{len(differ)} of {len(found)} cases differ"]))
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
