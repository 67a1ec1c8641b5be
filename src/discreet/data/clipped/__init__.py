"""Sums of clipped gradients over rows, and what makes them quick."""

from discreet.data.clipped.active_rows import Reach, few_are_active
from discreet.data.clipped.blockwise import LEAST_CAP, Index, cache_rows
from discreet.data.clipped.clipped_sums import (
    MOST_ROWS,
    PATIENCE,
    ClippedSums,
    parted,
    patience_of,
    sum_rounding,
    work_of,
)
from discreet.data.clipped.side_by_side import MOST_COLUMNS, SideBySide, labels_of
from discreet.data.clipped.single_slopes import LOST

__all__ = [
    "LEAST_CAP",
    "LOST",
    "MOST_COLUMNS",
    "MOST_ROWS",
    "PATIENCE",
    "ClippedSums",
    "Index",
    "Reach",
    "SideBySide",
    "cache_rows",
    "few_are_active",
    "labels_of",
    "parted",
    "patience_of",
    "sum_rounding",
    "work_of",
]
