"""Rows in, bounded blocks out."""

from discreet.data.blocks import block_rows, gamma
from discreet.data.bounding import Bounding, within
from discreet.data.grouping import GROUP_RULES, Grouping, capped_source
from discreet.data.rounding_errors import certificate_error, prox_error
from discreet.data.rows import Rows
from discreet.data.source import ArraySource, RawBlock, Source

__all__ = [
    "GROUP_RULES",
    "ArraySource",
    "Bounding",
    "Grouping",
    "RawBlock",
    "Rows",
    "Source",
    "block_rows",
    "capped_source",
    "certificate_error",
    "gamma",
    "prox_error",
    "within",
]
