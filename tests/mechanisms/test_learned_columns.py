"""What of the columns is learned."""

from __future__ import annotations

import pytest

from discreet.accounting import Budget
from discreet.errors import InvalidParameter
from discreet.mechanisms.learned_columns import LearnedColumns, UnknownRange, interval_of


def test_ranges_or_categories_alone_are_learned_and_neither_is_refused() -> None:
    told = {"budget": Budget(1.0, 1e-6), "neighbours": "zero-out", "rows": 1000}
    assert len(LearnedColumns(**told, ranges={}, categories=("job",)).events) == 1
    assert len(LearnedColumns(**told, ranges={"age": UnknownRange(low=0.0)}).events) == 1
    with pytest.raises(InvalidParameter, match="No column has anything to be learned"):
        LearnedColumns(**told, ranges={})


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("end", [0.0, 40.0, -40.0, 1e6])
def test_a_declared_end_stays_and_the_other_keeps_its_distance(end: float, unit: float) -> None:
    step = interval_of(0.0, 0.0, unit)[1]
    least = max(step, abs(end) * 0.01)
    up, down = UnknownRange(low=end, unit=unit), UnknownRange(high=end, unit=unit)
    # A learned end on the wrong side, or too near, would leave a range of no width.
    assert up.joined(0.0, end - 1.0) == (end, end + least)
    assert down.joined(end + 1.0, 0.0) == (end - least, end)
    assert up.joined(0.0, end + 7.0 * least) == (end, end + 7.0 * least)
    assert down.joined(end - 7.0 * least, 0.0) == (end - 7.0 * least, end)
