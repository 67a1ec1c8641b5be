"""Rows beyond memory: files without a name, and not one bit of difference."""

from __future__ import annotations

import os

import numpy as np
import pytest

from discreet import Bounds, memory_limit
from discreet.data import ArraySource, Bounding
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.data.storage import spill
from discreet.data.storage.spill import Memory, Resident, Room, size_of
from discreet.errors import DiscreetError, InvalidParameter
from discreet.losses import Logistic

rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 5))
Y = (X[:, 0] > 0).astype(int)
BOUNDING = Bounding.plan(Bounds(features=(-2, 2), classes=(0, 1)), 5, Logistic(), intercept=1.0)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "memory", lambda: Memory(2**16, None))


@pytest.mark.parametrize(
    ("said", "size"), [("2GB", 2 * 10**9), ("1 GiB", 2**30), (2**25, 2**25), ("20mb", 2 * 10**7)]
)
def test_a_limit_is_read_as_bytes(said: object, size: int) -> None:
    assert size_of(said) == size  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["much", "1KB", -5, "2 parsecs", "1.2.3GB", 0, "inf"])
def test_what_is_no_limit_is_refused(said: object) -> None:
    with pytest.raises(InvalidParameter, match="number of bytes"):
        size_of(said)  # type: ignore[arg-type]


def test_a_limit_holds_inside_its_block_only(tmp_path: object) -> None:
    before = spill.memory()
    with memory_limit("20MB", str(tmp_path)):
        assert spill.memory() == Memory(20_000_000, str(tmp_path))
    assert spill.memory() == before
    with (
        pytest.raises(InvalidParameter, match="not a folder"),
        memory_limit("1GB", "/no/such/folder"),
    ):
        pass


def test_a_spill_file_has_no_name_and_keeps_what_was_written(tmp_path: object) -> None:
    with memory_limit("20MB", str(tmp_path)):
        room = Room(10**12)
        array = room.empty((1000, 100))
    assert room.spilled
    assert os.listdir(str(tmp_path)) == []
    array[:] = np.arange(100_000).reshape(1000, 100)
    resident = Resident(array[3:])
    assert resident.spilled
    resident.touched(10**18)  # lets go of all pages
    assert np.array_equal(array, np.arange(100_000).reshape(1000, 100))


def test_pages_of_others_are_never_let_go(tmp_path: object) -> None:
    given = np.memmap(f"{tmp_path}/theirs", np.float64, "w+", shape=(100,))
    copied = np.memmap(f"{tmp_path}/theirs", np.float64, "c", shape=(100,))
    copied[:] = 7.0  # letting go of these pages would undo it
    resident = Resident(given, copied, np.zeros(3))
    resident.touched(10**18)
    assert not resident.spilled
    assert (copied == 7.0).all()


def test_a_full_disk_is_an_error_that_tells_no_number(tmp_path: object) -> None:
    with memory_limit("20MB", str(tmp_path)), pytest.raises(DiscreetError) as error:
        Room(10**18).empty(2**55, np.float64)
    assert "no room" in str(error.value)
    assert not any(c.isdigit() for c in str(error.value))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"narrow": True}, {"reread": True}])
def test_spilled_rows_are_the_same_to_the_last_bit(
    kind: type, options: dict[str, bool], request: pytest.FixtureRequest
) -> None:
    source = ArraySource(X.astype(kind), Y)
    there = BOUNDING.apply(source, **options)
    request.getfixturevalue("tiny")
    spilled = BOUNDING.apply(source, **options)
    assert spilled.resident.spilled
    assert not there.resident.spilled
    for name in ("y", "weight", "norms"):
        assert np.array_equal(getattr(there, name), getattr(spilled, name))
    assert np.array_equal(there.X[0 : len(X)], spilled.X)
    assert there.X.dtype == spilled.X.dtype
    w = np.linspace(-1, 1, 6)
    assert there.objective(Logistic(), w)[0] == spilled.objective(Logistic(), w)[0]
    for method in ("gradient", "hessian"):
        assert np.array_equal(
            getattr(there, method)(Logistic(), w), getattr(spilled, method)(Logistic(), w)
        )
    assert np.array_equal(there.take(slice(None, None, 7)).X, spilled.take(slice(None, None, 7)).X)
    a, b = there.certified_gradient(Logistic(), w), spilled.certified_gradient(Logistic(), w)
    assert np.array_equal(a[0], b[0])
    assert a[1] == b[1]
    if not options.get("reread"):
        index = np.arange(0, len(X), 3)
        for rows in (slice(None), index):
            picked = None if isinstance(rows, slice) else rows
            with ClippedSums(there, Logistic()) as one, ClippedSums(spilled, Logistic()) as two:
                for clip in (0.5, 0.1):
                    assert np.array_equal(one.batch(picked, w, clip), two.batch(picked, w, clip))
