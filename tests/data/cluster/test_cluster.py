"""Rows on the workers of a Dask cluster: the release of rows in memory, to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet import (
    Bounds,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRidge,
    evaluate,
    memory_limit,
)
from discreet.algorithms import NoisyGradient
from discreet.data import blocks
from discreet.data.blocks import Total
from discreet.data.clipped import clipped_sums, single_slopes
from discreet.data.clipped.clipped_sums import BROAD, EAGER, ClippedSums
from discreet.data.cluster import workers
from discreet.data.cluster.crew import Crew, _homes
from discreet.data.cluster.spread import Spread, SpreadSums
from discreet.data.cluster.workers import Held, Refused, Told
from discreet.data.rows import Rows
from discreet.errors import DiscreetError, InvalidData
from discreet.losses import Logistic

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(9_000, 3))
SCORE = X @ [0.5, -0.2, 0.1]
Y = (SCORE + 0.3 * rng.logistic(size=len(X)) > 0).astype(np.int64)
BOUNDS = Bounds(features=(-1, 1), classes=(0, 1))

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="dask is not installed")
    pytest.importorskip("dask.array")
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def asked(monkeypatch: Any) -> list[str]:
    """What workers were asked for; shards are short here."""
    monkeypatch.setattr(blocks, "SHARD", 2048)
    found, ask = [], Crew.ask

    def noted(self: Crew, method: str, *args: Any, **more: Any) -> Any:
        found.append(method if method != "part" else args[0])
        return ask(self, method, *args, **more)

    monkeypatch.setattr(Crew, "ask", noted)
    return found


def arrays(chunk: int, labels: Any = Y) -> tuple[Any, Any]:
    import dask.array as da

    return da.from_array(X, chunks=(chunk, 3)), da.from_array(labels, chunks=chunk)


def logistic(**settings: Any) -> PrivateLogisticRegression:
    return PrivateLogisticRegression(bounds=BOUNDS, random_state=0, **settings)


FITS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "objective": ({"algorithm": "objective-perturbation"}, {"objective", "certified", "hessian"}),
    "two runs": ({"algorithm": "recentred-perturbation"}, {"objective", "certified"}),
    "descent": ({"algorithm": NoisyGradient(steps=4)}, {"clipped"}),
    "Poisson batches": (
        {"algorithm": NoisyGradient(sampler="poisson", batch=500, steps=3)},
        {"clipped", "column"},
    ),
    "batches of one size": (
        {"algorithm": NoisyGradient(sampler="fixed-size", batch=500, steps=3)},
        {"chosen"},
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_workers_give_the_release_of_rows_in_memory(
    name: str, client: Any, asked: list[str], monkeypatch: Any
) -> None:
    settings, wanted = FITS[name]
    plain = logistic(**settings).fit(X, Y)
    # Rows in memory may find slopes in float32, which workers do not: see docs/scale.md.
    monkeypatch.setattr(single_slopes, "LEAST_VALUES", 2**60)
    here = logistic(**settings).fit(X, Y)
    assert not asked
    for chunk in (4_000, 1_100):
        there = logistic(**settings).fit(*arrays(chunk))
        assert np.array_equal(there.coef_, here.coef_)
        assert there.guarantee_ == here.guarantee_
    assert wanted <= set(asked)
    assert np.allclose(plain.coef_, here.coef_, rtol=1e-6, atol=0.0)
    assert np.array_equal(plain.coef_, here.coef_) == (name != "descent")


def test_exact_sums_are_taken_by_workers(client: Any, asked: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("discreet.estimators.quantiles.LARGE", 100)
    tasks = []
    monkeypatch.setattr(workers, "_guarded", _noting(tasks, workers._guarded))
    limits = Bounds(features=(-1, 1), label=(-1, 1))
    ridge = PrivateRidge(bounds=limits, algorithm="sufficient-statistics", random_state=0)
    median = PrivateMedian(bounds=limits, random_state=0)
    far, labels = arrays(2_500, SCORE)
    here = ridge.fit(X, SCORE).coef_
    assert np.array_equal(ridge.fit(far, labels).coef_, here)
    assert len(tasks) == 4
    middle = median.fit(X).quantiles_
    assert np.array_equal(median.fit(far).quantiles_, middle)
    assert len(tasks) >= 12
    model = logistic(algorithm="objective-perturbation").fit(X, Y)
    there, here = (
        evaluate(model, *rows, epsilon=1.0, random_state=0) for rows in (arrays(2_500), (X, Y))
    )
    assert str(there) == str(here)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_clip_is_learned_on_workers(client: Any, asked: list[str], delta: float) -> None:
    ridge = PrivateRidge(
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
        algorithm="learned-clip",
        settings={"noise": "gaussian" if delta else "gamma"},
        delta=delta,
        random_state=0,
    )
    here = ridge.fit(X, SCORE).coef_
    assert not asked
    there = ridge.fit(*arrays(2_500, SCORE)).coef_
    # Residuals are found where the rows are, and only those come here.
    assert {"projected", "column"} <= set(asked)
    assert np.array_equal(there, here)


def _noting(found: list[Any], function: Any) -> Any:
    def noted(*args: Any) -> Any:
        found.append(1)
        return function(*args)

    return noted


def test_a_question_is_one_task_for_every_worker(
    client: Any, asked: list[str], monkeypatch: Any
) -> None:
    tasks: list[Any] = []
    monkeypatch.setattr(client, "submit", _counted(tasks, client.submit))
    logistic(algorithm=NoisyGradient(steps=5)).fit(*arrays(3_000))
    assert len(tasks) == 2 * len(asked)
    assert asked.count("clipped") == 5


def _counted(found: list[Any], submit: Any) -> Any:
    def counted(*args: Any, **more: Any) -> Any:
        found.append(1)
        return submit(*args, **more)

    return counted


def test_what_needs_rows_in_one_place_gets_them(client: Any, asked: list[str]) -> None:
    people = np.arange(len(X)) // 2
    each: dict[str, Any] = {"algorithm": NoisyGradient(steps=2), "rows_per_group": 2}
    here = logistic(**each).fit(X, Y, groups=people)
    assert np.array_equal(logistic(**each).fit(*arrays(4_000), groups=people).coef_, here.coef_)
    corners = PrivateLinearSVC(
        loss="hinge", bounds=BOUNDS, algorithm="output-perturbation", random_state=0
    )
    first = corners.fit(X[:4_000], Y[:4_000]).coef_
    far = tuple(values[:4_000] for values in arrays(1_500))
    assert np.array_equal(corners.fit(*far).coef_, first)
    assert not asked


def test_workers_keep_to_their_memory(client: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(blocks, "SHARD", 2**16)
    wide = rng.uniform(-1, 1, size=(2**17, 40))
    spilled: list[bool] = []

    def noted(self: Held) -> Any:
        spilled.append(self.rows.resident.spilled)
        return facts(self)

    facts = Held.facts
    monkeypatch.setattr(Held, "facts", noted)
    import dask.array as da

    far, labels = da.from_array(wide, chunks=(50_000, 40)), da.from_array(wide[:, 0], chunks=50_000)
    limits = Bounds(features=(-1, 1), label=(-1, 1))
    model = PrivateRidge(bounds=limits, algorithm=NoisyGradient(steps=1), random_state=0)
    found = []
    for limit in ("2GB", "16MiB"):
        with memory_limit(limit):
            found.append(model.fit(far, labels).coef_)
    assert spilled == [False, False, True, True]
    assert np.array_equal(*found)


def test_no_message_of_a_worker_quotes_a_cell(client: Any, asked: list[str]) -> None:
    import dask
    import dask.array as da

    def fails() -> Any:
        raise ValueError("name of a patient")

    far, labels = arrays(3_000)
    bad = da.from_delayed(dask.delayed(fails)(), (3_000, 3), float)
    with pytest.raises(InvalidData, match="cannot be read") as caught:
        logistic().fit(da.concatenate([bad, far[3_000:]]), labels)
    assert caught.value.__cause__ is None
    names = da.from_array(np.where(Y > 0, "yes", "name of a patient"), chunks=3_000)
    with pytest.raises(InvalidData) as caught:
        logistic().fit(far, names)
    assert "patient" not in str(caught.value)
    with_hole = X.copy()
    with_hole[7_000, 1] = np.nan
    with pytest.raises(InvalidData, match="missing"):
        logistic().fit(da.from_array(with_hole, chunks=(3_000, 3)), labels)


def test_what_a_worker_refuses_is_returned_and_not_raised() -> None:
    def quotes() -> Any:
        raise RuntimeError("name of a patient")

    assert isinstance(workers._guarded(quotes, None), Refused)
    assert "patient" not in workers._guarded(quotes, None).said


class _Fixed(Crew):
    def __init__(self) -> None:
        self._digests, self._machines = None, set()


def test_answers_of_other_rows_or_machines_are_refused() -> None:
    one, two = Total((1,)), Total((1,))
    crew = _Fixed()
    assert crew._checked([Told(b"a", "m", one), Told(b"b", "m", two)]) == [one, two]
    with pytest.raises(InvalidData, match="were others"):
        crew._checked([Told(b"a", "m", one), Told(b"c", "m", two)])
    with pytest.raises(DiscreetError, match="of one kind"):
        crew._checked([Told(b"a", "m", one), Told(b"b", "n", two)])


@pytest.mark.parametrize("name", ["numpy", "scipy", "numba"])
def test_a_machine_goes_by_what_its_sums_are_taken_with(name: str, monkeypatch: Any) -> None:
    here, version = workers.machine(), workers._version
    monkeypatch.setattr(workers, "_version", lambda n: "missing" if n == name else version(n))
    pytest.importorskip(name)
    assert workers.machine.__wrapped__() != here


@pytest.mark.parametrize("work", [EAGER - 1, EAGER])
def test_sums_are_compiled_where_those_in_memory_are(work: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(clipped_sums, "kernel_for", lambda *_, **__: "compiled")
    crew: Any = SimpleNamespace(facts=[(1, 1.0, True)])
    far = SpreadSums(Spread(crew, 1, BROAD, 1), Logistic(), work=work)
    near = ClippedSums(Rows(np.zeros((1, BROAD)), np.ones(1)), Logistic(), work=work)
    assert far._compiled == (near._kernel is not None) == (work >= EAGER)


def test_a_digest_tells_rows_from_others() -> None:
    rows = Rows(X, np.ones(len(X)))
    moved = X.copy()
    moved[-1, -1] = np.nextafter(moved[-1, -1], 2.0)
    others = (Rows(moved, rows.y), Rows(X, 2 * rows.y), Rows(X, rows.y, 0.5 * rows.weight))
    digests = {workers.digest_of(one) for one in (rows, *others)}
    assert len(digests) == 4
    assert workers.digest_of(Rows(X.copy(), rows.y)) in digests


def test_shards_are_shared_out_by_threads() -> None:
    assert _homes({"a": 1, "b": 1}, 4) == ["a", "a", "b", "b"]
    assert _homes({"a": 1, "b": 1}, 1) == ["b"]


def test_rows_on_workers_are_never_all_in_one_place(client: Any) -> None:
    rows = Spread.__new__(Spread)
    with pytest.raises(DiscreetError, match="on the workers of a cluster"):
        _ = rows.X


@pytest.mark.skipif(
    "DISCREET_CLUSTER" not in os.environ,
    reason="processes of a cluster start slowly; set DISCREET_CLUSTER=1",
)
def test_a_worker_that_is_killed_changes_nothing_or_nothing_is_released() -> None:
    pytest.importorskip("distributed", reason="dask is not installed")
    script = Path(__file__).with_name("killed_mid_fit.py")
    command = [sys.executable, "-W", "ignore", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.stdout.splitlines() == [
        "same after many questions",
        "A worker was lost, and its rows were read anew and were others False",
    ], done.stderr
