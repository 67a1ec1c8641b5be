"""What is protected: one row, or all rows of one group, such as a person."""

from __future__ import annotations

from typing import Any

from discreet.data import Grouping, Source
from discreet.data.storage import Tables, tables_of
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.estimators.shared.tabular import Tabular
from discreet.schema import Encoded, Schema


class Grouped(Tabular):
    """An estimator that can protect groups of rows; not used directly."""

    rows_per_group: int | None = None
    group_rule: str = "weight"

    def _grouping(self) -> Grouping | None:
        """Return what a group counts for, by the estimator or its schema; None protects rows."""
        schema, rows = self._declared_schema(), self.rows_per_group
        if schema is not None and schema.group is not None:
            declared = schema.group[1].rows
            if rows is not None and rows != declared:
                raise Incompatible(
                    f"The schema declares {declared} rows for a group, and rows_per_group is "
                    f"{rows!r}. Leave rows_per_group out.",
                    parameter="rows_per_group",
                )
            rows = declared
        if rows is None:
            if self.group_rule != type(self).group_rule:
                raise InvalidParameter(
                    "group_rule is set and rows_per_group is not. Pass rows_per_group=..., how "
                    "many rows one group counts for at most.",
                    parameter="group_rule",
                )
            return None
        return Grouping(rows, self.group_rule)  # type: ignore[arg-type]  # checked there

    def _identified(self, X: Any, groups: Any) -> Any:
        """Return whom the rows of a fit belong to, by an argument or a column; None protects rows.

        Called before the rows are read, while a table is still a table.
        """
        grouping, schema = self._grouping(), self._declared_schema()
        # Encoded rows have lost the column: what it says comes beside them.
        tables = None if isinstance(X, Encoded) else tables_of(X)
        beside = isinstance(X, Encoded) or (tables is not None and groups is not None)
        if schema is not None and schema.group is not None and not beside:
            if groups is not None:
                raise Incompatible(
                    f"Column {schema.group[0]!r} of the schema says whom a row belongs to. Leave "
                    "groups out.",
                    parameter="groups",
                )
            groups = identifiers(schema, X, tables)
        if groups is not None and grouping is None:
            # privacy: a default would be a guess of what only the user can declare.
            raise MissingBound(
                "groups was passed and rows_per_group is not set. Noise is scaled to how many "
                "rows one group may count for, which is never read from the data. Pass "
                "rows_per_group=..., from public knowledge.",
                parameter="rows_per_group",
            )
        if groups is None and grouping is not None:
            raise InvalidParameter(
                "rows_per_group is set, and nothing says whom a row belongs to. Pass groups=... "
                "to fit, or leave rows_per_group out.",
                parameter="groups",
            )
        return groups

    def _counted(self, source: Source) -> int | None:
        """Return the public size of the rows of a fit."""
        grouping = self._grouping()
        codes = getattr(source, "groups", None)
        if grouping is None or codes is None:
            return source.n_rows
        return grouping.size(codes, self.neighbours, getattr(self, "n_rows", None))


def identifiers(schema: Schema, X: Any, tables: Tables | None) -> Any:
    """Return whom rows belong to by a column of the schema, of a table or of files.

    >>> from discreet.schema import Person, Range
    >>> schema = Schema({"age": Range(0, 100), "person": Person(rows=2)})
    >>> identifiers(schema, {"age": [1, 2], "person": ["a", None]}, None)
    ['a', None]
    """
    if tables is None or schema.group is None:
        return schema.identifiers(X)
    name = schema.group[0]
    tables.check([name])
    # Each identifier is held once, however many rows have it.
    held: dict[Any, Any] = {}
    parts = map(schema.identifiers, tables.read([name]))
    return [held.setdefault(one, one) for part in parts for one in part]
