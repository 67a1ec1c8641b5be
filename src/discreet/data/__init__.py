"""Rows in, bounded blocks out."""

from discreet.data.blocks import block_rows, gamma
from discreet.data.bounding import Bounding
from discreet.data.feature_ranges import clipped_rows
from discreet.data.grouping import GROUP_RULES, Grouping, belonging, capped_source
from discreet.data.parts_read import Progress, StreamSource, watching
from discreet.data.rounding_errors import certificate_error, prox_error
from discreet.data.rows import Rows
from discreet.data.storage import ArraySource, RawBlock, Source, memory_limit

__all__ = [
    "GROUP_RULES",
    "ArraySource",
    "Bounding",
    "Grouping",
    "Progress",
    "RawBlock",
    "Rows",
    "Source",
    "StreamSource",
    "belonging",
    "block_rows",
    "capped_source",
    "certificate_error",
    "clipped_rows",
    "gamma",
    "memory_limit",
    "prox_error",
    "watching",
]
