"""What an audit at its default number of runs says of sound plans and of planted faults.

    python benchmarks/audit_faults.py run    # results/audit_faults.json

A plan of output perturbation at epsilon 1 and delta 1e-6, on the two made-up neighbours that
``audit`` builds. ``half the noise`` and ``a missing root of two`` scale every Gaussian draw. ``the
noise of zero-out`` runs a plan of zero-out where replace-one is claimed. ``rows three times as
long`` lets rows be longer than the plan takes them to be. That fault has a ridge of 1: with the
default, 0.07, the weights of both worlds meet the labels, a longer row meets its label sooner, and
the program is as private as before. Cells that are stored are not measured again; remove the file
to begin anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from arguments import parser_of
from discreet import Bounds, Budget, audit
from discreet.algorithms import OutputPerturbation
from discreet.losses import Huber
from discreet.noise import Gaussian
from discreet.problem import Problem

RESULTS = Path(__file__).resolve().parent / "results" / "audit_faults.json"
BUDGET = Budget(1.0, 1e-6)
ALGORITHM = OutputPerturbation()
FAULTS = (
    "none",
    "half the noise",
    "a missing root of two",
    "the noise of zero-out",
    "rows three times as long",
)


def problem(**changes: Any) -> Problem:
    """Return a small problem, whose runs are quick."""
    given: dict[str, Any] = {"bounds": Bounds(row_norm=1.0, label=(-1, 1)), "n_features": 1}
    return Problem(**(given | {"n_rows": 2, "loss": Huber(threshold=0.05)} | changes))


@contextmanager
def planted(fault: str) -> Iterator[Any]:
    """Yield a plan with a fault."""
    algorithm = OutputPerturbation(strength=1.0) if "long" in fault else ALGORITHM
    plan, draw = algorithm.plan(problem(), BUDGET), Gaussian.sample
    if fault == "the noise of zero-out":
        claimed = ALGORITHM.plan(problem(neighbours="replace-one"), BUDGET)
        yield SimpleNamespace(
            problem=claimed.problem, guarantee=claimed.guarantee, run=plan.run, facts=plan.facts
        )
    elif fault == "rows three times as long":
        wide = replace(plan.problem, bounds=Bounds(row_norm=3.0, label=(-1, 1)))
        with patch.object(Problem, "bound", lambda _, s, **more: wide.bounding.apply(s, **more)):
            yield plan
    elif fault == "none":
        yield plan
    else:
        less = 2.0 if fault == "half the noise" else 2**0.5
        with patch.object(Gaussian, "sample", lambda *given: draw(*given) / less):
            yield plan


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    lines = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for fault in FAULTS:
        if fault not in [line["fault"] for line in lines]:
            with planted(fault) as plan:
                report = audit(plan, random_state=0)
            found = {"method": report.method, "runs": report.runs, "claim": report.claim}
            found |= {"lower": round(float(report.lower), 3), "verdict": report.verdict}
            lines.append({"algorithm": ALGORITHM.name, "fault": fault} | found)
            print(lines[-1], flush=True)
            RESULTS.write_text(json.dumps(lines, indent=1) + "\n")
