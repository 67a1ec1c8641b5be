"""Compiled code is kept where nobody else can change it, under a name of its own."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import discreet.data.kernel_cache as kernel_cache
from discreet.data.kernel_cache import digest, kept, safe

pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs POSIX permissions")

STEP = 2.0
TABLE = np.array([1.0])


def _scaled(x):
    return _part(x) * STEP


def _part(x):
    return x + 1.0


def _other_part(x):
    return x + 3.0


def test_a_folder_that_others_can_write_to_is_not_safe(tmp_path):
    # Folders above that others can write to have the sticky bit.
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    assert safe(own) == kernel_cache._guarded(tmp_path)
    for mode in (0o777, 0o770, 0o1777, 0o702):
        own.chmod(mode)
        assert not safe(own)


def test_a_folder_of_another_user_is_not_safe(tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    if os.getuid() == 0:  # what belongs to root is safe for everybody
        os.chown(own, 4321, -1)
    else:
        owner = own.stat().st_uid
        monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    assert not safe(own)


def test_a_folder_below_one_that_others_can_write_to_is_not_safe(tmp_path):
    shared = tmp_path / "shared"
    inner = shared / "inner"
    inner.mkdir(parents=True, mode=0o700)
    shared.chmod(0o777)
    assert not safe(inner)
    assert not safe(tmp_path / "absent")


def test_a_link_that_others_can_replace_is_not_safe(tmp_path):
    own, shared, between = tmp_path / "own", tmp_path / "shared", tmp_path / "between"
    for folder in (own, shared, between):
        folder.mkdir(mode=0o700)
    (shared / "link").symlink_to(own)
    (between / "link").symlink_to(Path("..") / "shared" / "link")
    assert safe(between / "link") == safe(shared / "link") == safe(own)
    shared.chmod(0o777)
    assert not safe(shared / "link")
    assert not safe(between / "link")


def test_code_is_not_kept_in_an_unsafe_folder(tmp_path, monkeypatch):
    from numba import njit

    tmp_path.chmod(0o777)
    monkeypatch.setattr(kernel_cache, "_folder", lambda run: tmp_path)
    run = kept(_scaled, _part=njit(_part))
    assert run(1.0) == 4.0
    assert not run.stats.cache_path
    assert not list(tmp_path.iterdir())


def test_a_name_tells_parts_their_options_and_numbers_apart(monkeypatch):
    from numba import njit

    names = {digest(_scaled), digest(_part), digest(_other_part)}
    names |= {digest(njit(_part)), digest(njit(fastmath={"contract"})(_part))}
    monkeypatch.setitem(globals(), "STEP", 3.0)
    names.add(digest(_scaled))
    monkeypatch.setitem(globals(), "_part", _other_part)
    names.add(digest(_scaled))
    assert len(names) == 7


def test_a_name_tells_arrays_and_defaults_apart(monkeypatch):
    def scaled(x, factor=2.0):
        return factor * x * TABLE[0]

    names = {digest(scaled)}
    monkeypatch.setitem(globals(), "TABLE", np.array([2.0]))
    names.add(digest(scaled))
    scaled.__defaults__ = (3.0,)
    names.add(digest(scaled))
    assert len(names) == 3


def test_functions_of_other_parts_do_not_share_code():
    from numba import njit

    assert kept(_scaled, _part=njit(_part))(np.float64(1.0)) == 4.0
    assert kept(_scaled, _part=njit(_other_part))(np.float64(1.0)) == 8.0
