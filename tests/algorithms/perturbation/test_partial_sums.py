"""Sums over parts of the rows: on any machines, in any order, the same release."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Bounds, PrivateRidge
from discreet.data import ArraySource
from discreet.errors import InvalidData
from discreet.noise import Seeded

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(9_000, 3))
Y = X @ [0.5, -0.2, 0.1]
PLAN: Any = PrivateRidge(
    bounds=Bounds(features=(-1, 1), label=(-1, 1)), algorithm="sufficient-statistics"
).plan(3, len(X))


def part(k: int, of: int) -> ArraySource:
    return ArraySource(X[k::of], Y[k::of])


def test_parts_of_any_kind_add_up_to_the_same_release() -> None:
    there = PLAN.run(ArraySource(X, Y), Seeded(1))
    for of in (1, 2, 7):
        sums = [PLAN.partial(part(k, of)) for k in range(of)]
        found = PLAN.finish(sum(reversed(sums)), Seeded(1))
        assert np.array_equal(found.weights, there.weights)
        assert found.guarantee == there.guarantee


def test_rows_that_are_lost_or_counted_twice_release_nothing() -> None:
    sums = [PLAN.partial(part(k, 3)) for k in range(3)]
    for wrong in (sums[0] + sums[1], sum(sums) + sums[0]):
        with pytest.raises(InvalidData, match="rows but the plan was made for"):
            PLAN.finish(wrong, Seeded(1))
    for wrong in (sum(sums).astype(float), sum(sums)[:-1], 0):
        with pytest.raises(InvalidData, match=r"what plan\.partial returns"):
            PLAN.finish(wrong, Seeded(1))


def test_parts_of_another_plan_release_nothing() -> None:
    own, bounds = PLAN.partial(part(0, 3)), Bounds(features=(-2, 2), label=(-1, 1))
    wider = PrivateRidge(bounds=bounds, algorithm="sufficient-statistics").plan(3, len(X))
    # A size that leaves fewer bits: its sums are counted in another unit.
    longer: Any = PrivateRidge(
        bounds=Bounds(features=(-1, 1), label=(-1, 1)), algorithm="sufficient-statistics"
    ).plan(3, 2**30)
    for other in (wider, longer):
        for wrong in ([0, 1, 2], [1, 2]):
            sums = [other.partial(part(k, 3)) for k in wrong]
            with pytest.raises(InvalidData, match="by another plan"):
                PLAN.finish(sum(sums) + (own if len(wrong) == 2 else 0), Seeded(1))


@pytest.mark.skipif(
    "DISCREET_CLUSTER" not in os.environ,
    reason="processes of a cluster start slowly; set DISCREET_CLUSTER=1",
)
def test_a_worker_of_dask_that_is_killed_changes_nothing() -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    script = Path(__file__).with_name("killed_worker.py")
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout == "summed again and the same\n", done.stderr
