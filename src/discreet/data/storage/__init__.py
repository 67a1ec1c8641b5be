"""Where rows come from, and where bounded rows are kept."""

from discreet.data.storage.identifiers import Codes, group_codes
from discreet.data.storage.precision import (
    NARROW,
    NARROW_RANGE,
    NARROW_ROUNDOFF,
    WIDE,
    Storage,
    in_range,
    storage_of,
)
from discreet.data.storage.reread import LARGE, Reread
from discreet.data.storage.source import ArraySource, RawBlock, Source, numbered
from discreet.data.storage.sparse_format import well_formed
from discreet.data.storage.spill import (
    NEARBY,
    Memory,
    Resident,
    Room,
    limit_given,
    memory,
    memory_limit,
)
from discreet.data.storage.stacked import Stacked
from discreet.data.storage.tables import Tables, arrow_library, tables_of, unread

__all__ = [
    "LARGE",
    "NARROW",
    "NARROW_RANGE",
    "NARROW_ROUNDOFF",
    "NEARBY",
    "WIDE",
    "ArraySource",
    "Codes",
    "Memory",
    "RawBlock",
    "Reread",
    "Resident",
    "Room",
    "Source",
    "Stacked",
    "Storage",
    "Tables",
    "arrow_library",
    "group_codes",
    "in_range",
    "limit_given",
    "memory",
    "memory_limit",
    "numbered",
    "storage_of",
    "tables_of",
    "unread",
    "well_formed",
]
