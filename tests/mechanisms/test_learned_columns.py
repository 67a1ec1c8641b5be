"""What of the columns is learned."""

from __future__ import annotations

import pytest

from discreet.accounting import Budget
from discreet.errors import InvalidParameter
from discreet.mechanisms.learned_columns import LearnedColumns, UnknownRange


def test_ranges_or_categories_alone_are_learned_and_neither_is_refused() -> None:
    told = {"budget": Budget(1.0, 1e-6), "neighbours": "zero-out", "rows": 1000}
    assert len(LearnedColumns(**told, ranges={}, categories=("job",)).events) == 1
    assert len(LearnedColumns(**told, ranges={"age": UnknownRange(low=0.0)}).events) == 1
    with pytest.raises(InvalidParameter, match="No column has anything to be learned"):
        LearnedColumns(**told, ranges={})
