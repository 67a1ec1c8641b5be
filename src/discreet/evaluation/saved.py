"""Evaluations as files: what was released, and what it was planned to be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting import Budget, Guarantee
from discreet.bounds import Array
from discreet.checks import row_count
from discreet.errors import InvalidData, InvalidParameter
from discreet.evaluation.plan import EvaluationPlan
from discreet.files.checksums import checksum_holds, parse

FORMAT, VERSION = "discreet-evaluation", 1
MOST_BYTES = 2**24
"""Size of the largest file that is read."""

_DAMAGED = "This evaluation file is damaged or was edited; use the file discreet wrote."


def plan_values(plan: EvaluationPlan) -> dict[str, Any]:
    """Return a plan as plain JSON values.

    >>> plan = EvaluationPlan(budget=Budget(1.0), metrics=("accuracy",), classes=(0, 1))
    >>> plan_values(plan)["budget"]
    {'epsilon': 1.0, 'delta': 0.0}
    """
    return asdict(plan)


def read_parts(
    content: Any,
) -> tuple[EvaluationPlan, dict[str, Array], int | None, Guarantee, float]:
    """Return what an evaluation is made of, from its plain values; others are refused."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise InvalidParameter("This is not an evaluation that discreet wrote.")
    if content.get("version") != VERSION or "plan" not in content:
        raise InvalidParameter(
            "This evaluation was written by another version of the library. Read it with that "
            "version, or evaluate again."
        )
    try:
        if not checksum_holds(content):
            raise InvalidData("The checksum does not match the values.")
        plan = _plan(dict(content["plan"]))
        guarantee = Guarantee.from_dict(content["guarantee"])
        _check(plan, guarantee)
        released = {n: np.asarray(v, dtype=np.float64) for n, v in content["released"].items()}
        shapes = {block.name: block.shape for block in plan.blocks}
        if {n: v.shape for n, v in released.items()} != shapes:
            raise InvalidData("The released numbers are not those that were planned.")
        if not all(np.isfinite(v).all() for v in released.values()):
            raise InvalidData("A released number is not finite.")
        rows = content["n_rows"]
        if (rows is None) != plan.hides_size:
            raise InvalidData("The number of rows is there where it is public, and only there.")
        n_rows = None if rows is None else row_count("n_rows", rows)
        return plan, released, n_rows, guarantee, float(content["level"])
    except (ValueError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise InvalidData(_DAMAGED) from error


def read_file(path: str | Path) -> Any:
    """Return the plain values in an evaluation file."""
    with Path(path).open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    try:
        if len(text) <= MOST_BYTES:
            return parse(text)
    except (ValueError, RecursionError):
        pass
    raise InvalidData(f"{path} is not an evaluation file that discreet wrote.")


def _plan(values: dict[str, Any]) -> EvaluationPlan:
    if set(values) != {f.name for f in fields(EvaluationPlan)}:
        raise InvalidData("A plan of an evaluation has other fields.")
    for name in ("metrics", "classes", "label"):
        values[name] = None if values[name] is None else tuple(values[name])
    return EvaluationPlan(**values | {"budget": Budget(**values["budget"])})


def _check(plan: EvaluationPlan, guarantee: Guarantee) -> None:
    """Refuse a guarantee that the plan does not lead to, but for whether noise was seeded."""
    planned = plan.guarantee.to_dict() | {"secure": guarantee.secure}
    if guarantee.to_dict() != planned:
        raise InvalidData("The guarantee is not the one of the plan.")
