"""Sums run with one BLAS thread, whatever was set, and what was set comes back."""

from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.data.blocks import in_order, one_blas_thread


def threads() -> set[int]:
    return {found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"}


@pytest.mark.parametrize("given", [1, 2])
def test_blas_has_one_thread_inside_and_as_many_as_before_outside(given: int) -> None:
    with threadpool_limits(limits=given, user_api="blas"):
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {given}
        assert list(in_order(lambda _: threads(), range(3))) == [{1}] * 3
        assert threads() == {given}


def test_what_was_set_comes_back_after_a_failure() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            _ = 1 / 0
        assert threads() == {2}
