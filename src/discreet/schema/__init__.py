"""Declared columns of a table, and their encoding."""

from discreet.schema.boolean import Boolean
from discreet.schema.categories import Categories
from discreet.schema.codes import Codes
from discreet.schema.column import Column
from discreet.schema.dates import Date
from discreet.schema.declaration import Encoded, Schema
from discreet.schema.duration import Duration
from discreet.schema.ordinal import Ordinal
from discreet.schema.person import Person
from discreet.schema.ranges import Range

__all__ = [
    "Boolean",
    "Categories",
    "Codes",
    "Column",
    "Date",
    "Duration",
    "Encoded",
    "Ordinal",
    "Person",
    "Range",
    "Schema",
]
