"""Schema: what is declared about the columns of a table before any row is read."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.bounds import NEIGHBOURS, Array, Bounds, Interval, typical_norm
from discreet.checks import moderate, one_of, row_count, suggestion
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.schema.column import RULES, Column, NumberColumn
from discreet.schema.frames import identifiers_of, read_columns
from discreet.schema.kinds import KEYS, column_of
from discreet.schema.person import Person

_UNPREDICTED = {
    "date": "a date, which cannot be predicted. Declare a number of days as a range instead.",
    "group": "whom a row belongs to, which cannot be predicted.",
}


class Encoded(NamedTuple):
    """Encoded rows: numbers, and labels if there is a target.

    NaN in ``X``, and a label of NaN or None, mark what was missing and has nothing
    to stand for it.
    """

    X: Array
    y: Any


@dataclass(frozen=True, init=False)
class Schema:
    """Declared columns of a table.

    A schema is written from public knowledge: a code book, a form, an instrument.
    It holds nothing that was read from the rows, so encoding by it costs no
    privacy.

    Parameters
    ----------
    columns
        Every column that may be read, the target included: a mapping of names to
        :class:`Range`, :class:`Categories` or another kind of column. All other
        columns of a table are ignored.
    neighbours
        Neighbour relation that a fit with this schema must have; None leaves it to
        the estimator.
    missing
        Rule for columns that have none of their own: ``"refuse"``, ``"blank"`` or
        ``"indicator"``.
    row_norm
        Longest norm of an encoded row; by default the longest there can be, the
        square root of the number of feature columns. The typical norm counts categories
        in full, and numbers by the square root of their norm; see :class:`~discreet.Bounds`.
    n_rows
        Declared size of the data; used under ``add-remove`` only.

    Examples
    --------
    >>> from discreet import Boolean, Categories, Range
    >>> schema = Schema({"age": Range(0, 100), "job": Categories(["office", "field"]),
    ...                  "smoker": Boolean()})
    >>> schema.names("smoker")
    ['age', 'job=office', 'job=field']
    >>> schema.bounds_for("smoker").classes
    (False, True)
    >>> schema.encode({"age": [41], "job": ["field"]}, target="smoker").X
    array([[41.,  0.,  1.]])
    """

    columns: dict[str, Column]
    neighbours: str | None
    missing: str
    row_norm: float | None
    n_rows: int | None

    def __init__(
        self,
        columns: Mapping[str, Any] | Iterable[tuple[str, Any]],
        *,
        neighbours: str | None = None,
        missing: str = "refuse",
        row_norm: float | None = None,
        n_rows: int | None = None,
    ) -> None:
        try:
            given = dict(columns)
        except (TypeError, ValueError):
            given = {}
        if not given or not all(isinstance(name, str) for name in given):
            raise InvalidParameter(
                "A schema declares its columns by name, e.g. {'age': Range(0, 120)}, or in a file "
                "[columns] and age = {range = [0, 120]}."
            )
        if neighbours is not None:
            one_of("neighbours", neighbours, NEIGHBOURS)
        one_of("missing", missing, RULES)
        held = {
            "columns": {name: column_of(name, facts) for name, facts in given.items()},
            "neighbours": neighbours,
            "missing": missing,
            "row_norm": None if row_norm is None else moderate("row_norm", row_norm),
            "n_rows": None if n_rows is None else row_count("n_rows", n_rows),
        }
        for name, value in held.items():
            object.__setattr__(self, name, value)
        if sum(isinstance(column, Person) for column in self.columns.values()) > 1:
            raise InvalidParameter(
                "Two columns say whom a row belongs to. Leave one out: what is protected is one "
                "group, by one column."
            )
        names = [name for part in self._features(None).values() for name in part]
        if len(set(names)) < len(names):
            raise InvalidParameter(
                "Two features of this schema would have one name. Rename a column or a category."
            )
        if neighbours == "add-remove" and n_rows is None:
            raise InvalidParameter(
                "neighbours = 'add-remove' keeps the number of rows secret, and the plan needs a "
                "size. Declare one that is no secret: n_rows = ...",
                parameter="n_rows",
            )

    def __hash__(self) -> int:
        return hash(tuple(self.columns))

    # Reading and writing.

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file; see ``docs/schema.md``.

        Parameters
        ----------
        path
            A file in UTF-8.
        """
        try:
            return cls.from_dict(tomllib.loads(Path(path).read_text(encoding="utf-8-sig")))
        except UnicodeDecodeError:
            raise InvalidParameter(f"{path} is not UTF-8 text. Save it as UTF-8.") from None
        except ValueError as error:
            raise InvalidParameter(f"{path}: {error}") from None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        """Read a schema from plain values, as a file holds them.

        >>> Schema.from_dict({"columns": {"age": {"range": [0, 120]}}}).columns
        {'age': Range(low=0.0, high=120.0)}
        """
        for key in content:
            if key not in (*KEYS, "columns"):
                raise InvalidParameter(
                    f"A schema has no key {key!r}; it has {', '.join((*KEYS, 'columns'))}."
                    + suggestion(key, (*KEYS, "columns"))
                    + " Columns are declared below a line [columns]." * ("columns" not in content)
                )
        columns = content.get("columns")
        declared = columns if isinstance(columns, Mapping) else {}
        return cls(declared, **{key: content[key] for key in KEYS if key in content})

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain values, as a file holds them."""
        values = {key: getattr(self, key) for key in KEYS if getattr(self, key) is not None}
        return values | {"columns": {name: c.to_dict() for name, c in self.columns.items()}}

    def to_toml(self) -> str:
        """Return the text of a schema file.

        >>> from discreet import Range
        >>> print(Schema({"age": Range(0, 120)}).to_toml())
        missing = "refuse"
        <BLANKLINE>
        [columns]
        age = { range = [0.0, 120.0] }
        <BLANKLINE>
        """
        from discreet.schema.toml import schema_text

        return schema_text(self)

    @staticmethod
    def draft(columns: Any, dictionary: Mapping[str, Any] | None = None) -> str:
        """Return the text of a first schema file, from names and types; never from values.

        See :func:`discreet.schema.draft.draft`.
        """
        from discreet.schema.draft import draft

        return draft(columns, dictionary)

    # What is declared.

    def column(self, name: str) -> Column:
        """Return the column of this name."""
        if name not in self.columns:
            raise InvalidParameter(
                f"The schema declares no column {name!r}. Add it under [columns]."
                + suggestion(str(name), self.columns),
                parameter="target",
            )
        return self.columns[name]

    def features(self, target: str | None = None) -> dict[str, Column]:
        """Return every column but the target and the one that says whom a row belongs to."""
        if target is not None:
            self.column(target)
        others = (target, None if self.group is None else self.group[0])
        found = {name: c for name, c in self.columns.items() if name not in others}
        if not found:
            raise InvalidParameter(
                "The schema declares no column besides the target. Add the features under "
                "[columns]."
            )
        return found

    @property
    def private(self) -> dict[str, Column]:
        """The columns of which something is to be learned privately."""
        return {name: column for name, column in self.columns.items() if column.private}

    def stand_in(self) -> Schema:
        """Return the schema with declared columns of the same shape, for planning."""
        return self.with_columns({n: c.stand_in() for n, c in self.private.items()})

    def with_columns(self, columns: Mapping[str, Column]) -> Schema:
        """Return the schema with these columns in place of those it has by their names."""
        kept = {name: columns.get(name, column) for name, column in self.columns.items()}
        return Schema(kept, **{key: getattr(self, key) for key in KEYS})

    @property
    def group(self) -> tuple[str, Person] | None:
        """The column that says whom a row belongs to, by its name; None if there is none."""
        found = [(name, c) for name, c in self.columns.items() if isinstance(c, Person)]
        return found[0] if found else None

    def _features(self, target: str | None) -> dict[str, dict[str, Interval]]:
        return {
            name: column.features(name, column.rule(self.missing))
            for name, column in self.features(target).items()
        }

    def names(self, target: str | None = None) -> list[str]:
        """Return the names of the encoded features, in their order."""
        return [name for part in self._features(target).values() for name in part]

    @property
    def bounds(self) -> Bounds:
        """What the schema declares about encoded rows of all its columns."""
        return self.bounds_for(None)

    def bounds_for(self, target: str | None) -> Bounds:
        """Return what the schema declares about encoded rows without the target, and about it.

        >>> from discreet import Range
        >>> Schema({"age": Range(0, 100), "cost": Range(0, 9)}).bounds_for("cost")
        Bounds(row_norm=1.0, typical_norm=1.0, features=((0.0, 100.0),), label=(0.0, 9.0))
        """
        self._check_known()
        parts = self._features(target)
        # A number is at most 1 after scaling and of the indicators of a column only one is 1,
        # so no row is longer than this and the default clips nothing.
        longest = math.sqrt(len(parts))
        label = None if target is None else self.column(target)
        if label is not None and label.label is None and label.classes is None:
            raise InvalidParameter(
                f"Column {target!r} is declared as {_UNPREDICTED[label.key]}",
                parameter="target",
            )
        return Bounds(
            row_norm=longest if self.row_norm is None else self.row_norm,
            typical_norm=self._typical_norm(target) if self.row_norm is None else None,
            features=tuple(r for part in parts.values() for r in part.values()),
            label=None if label is None else label.label,
            classes=None if label is None else label.classes,
        )

    def _typical_norm(self, target: str | None) -> float:
        kinds = [isinstance(column, NumberColumn) for column in self.features(target).values()]
        return typical_norm(sum(kinds), categories=len(kinds) - sum(kinds))

    @property
    def may_be_blank(self) -> bool:
        """Whether a cell that cannot be read makes its row count for nothing."""
        return any(column.rule(self.missing) == "blank" for column in self.columns.values())

    def _check_known(self) -> None:
        if self.private:
            raise Incompatible(
                f"The schema leaves {', '.join(map(repr, self.private))} to be learned privately, "
                "which estimators do with a share of their budget (bounds_share). Here it has to "
                "be declared.",
                parameter="schema",
            )

    # Rows.

    def encode(self, table: Any, target: str | None = None, *, labelled: bool = False) -> Encoded:
        """Return the encoded rows of a table.

        Parameters
        ----------
        table
            A data frame of pandas or polars, an Arrow table, or a mapping of columns.
        target
            Column that is not a feature.
        labelled
            Whether the table holds the target, to be returned as labels.
        """
        self._check_known()
        wanted = [*self.features(target), *([target] if labelled and target is not None else [])]
        cells = read_columns(table, wanted)
        parts = []
        for name, column in self.features(target).items():
            rule = column.rule(self.missing)
            part = column.encode(cells[name], rule)
            if rule == "refuse" and np.isnan(part[:, 0]).any():
                _refuse(name, column)
            parts.append(part)
        y = self.labels(cells[target], target) if labelled and target is not None else None
        return Encoded(np.hstack(parts), y)

    def with_group(self, name: str, rows: int) -> Schema:
        """Return the schema with a column that says whom a row belongs to.

        >>> from discreet.schema import Range
        >>> Schema({"age": Range(0, 100)}).with_group("person", 5).group
        ('person', Person(rows=5))
        """
        if name in self.columns:
            raise InvalidParameter(
                f"The schema declares column {name!r} already. Declare it there as {name} = "
                f"{{ group = true, rows = {rows} }}."
            )
        held = {key: getattr(self, key) for key in KEYS}
        return Schema({**self.columns, name: Person(rows=rows)}, **held)

    def identifiers(self, table: Any) -> Any:
        """Return whom the rows of a table belong to; None if no column says so.

        >>> from discreet import Range
        >>> schema = Schema({"age": Range(0, 100), "person": Person(rows=2)})
        >>> schema.identifiers({"age": [1, 2], "person": [7, None]})
        ['7', None]
        """
        if self.group is None:
            return None
        name, column = self.group
        return column.identifiers(identifiers_of(table, name))

    def labels(self, cells: Any, target: str) -> Any:
        """Return cells as labels; NaN or None where one is missing and nothing stands for it."""
        column = self.column(target)
        rule = column.rule(self.missing)
        values, usable = column.labels(cells, rule)
        if usable.all():
            return values
        if rule == "refuse":
            _refuse(target, column)
        if values.dtype.kind != "f":
            values = values.astype(object)
        values[~usable] = np.nan if values.dtype.kind == "f" else None
        return values

    def encode_blocks(
        self, blocks: Iterable[Any], target: str | None, groups: list[Any] | None = None
    ) -> Encoded:
        """Return the encoded rows and labels of tables that follow each other.

        Only the encoded rows are held, not the text they were read from.

        Parameters
        ----------
        blocks
            Tables, as :meth:`encode` takes them.
        target
            Column to predict, None if there is none.
        groups
            A list that takes whom the rows belong to, if a column says so.
        """
        parts = []
        for block in blocks:
            parts.append(self.encode(block, target, labelled=True))
            if groups is not None:
                groups.extend(self.identifiers(block) or ())
        if not parts:
            raise InvalidData("There is no row to read.")
        if len(parts) == 1:
            return parts[0]
        y = None
        if target is not None:
            kind = object if any(p.y.dtype == object for p in parts) else None
            y = np.concatenate([p.y for p in parts], dtype=kind)
        X = np.empty((sum(len(p.X) for p in parts), parts[0].X.shape[1]))
        start = 0
        for part in _taken(parts):
            X[start : start + len(part.X)] = part.X
            start += len(part.X)
        return Encoded(X, y)

    def encoder(self, target: str | None = None) -> Any:
        """Return a scikit-learn transformer that encodes tables by this schema.

        It learns nothing from rows, so it may stand in a pipeline before any private
        estimator whose bounds are those of the schema.

        Parameters
        ----------
        target
            Column that is left out.

        Examples
        --------
        >>> from discreet import Categories, Range
        >>> schema = Schema({"age": Range(0, 100), "job": Categories(["office", "field"])})
        >>> schema.encoder().transform({"age": [41], "job": ["field"]})
        array([[41.,  0.,  1.]])
        """
        from discreet.schema.encoder import SchemaEncoder

        return SchemaEncoder(self, target=target)


def _taken(parts: list[Encoded]) -> Iterator[Encoded]:
    """Yield parts and let go of each, so that rows are held once."""
    parts.reverse()
    while parts:
        yield parts.pop()


def _refuse(name: str, column: Column) -> None:
    raise InvalidData(
        f"Column {name!r} has a cell that is missing or not {column.wants}. Correct the data, or "
        'declare what happens to such cells before the fit: missing = "blank", "indicator" or a '
        "value that stands for them."
    )
