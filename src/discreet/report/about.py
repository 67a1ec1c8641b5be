"""What only you can say about a model: its name, who publishes it, for what.

Nothing of it is checked against rows, and nothing is filled in that you do not say.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from discreet.checks import row_count, suggestion
from discreet.errors import InvalidParameter

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""Sectors that the registry of deployments knows."""


_LISTS = ("curators", "authors")


@dataclass(frozen=True, kw_only=True)
class About:
    """Words of yours for cards and reports; all are optional.

    Parameters
    ----------
    name
        Of the model or of what it is part of.
    dataset
        Name of the data it was fitted to.
    rows
        Number of rows, where it is public and the model does not hold it.
    date
        Date of publication, as YYYY-MM-DD.
    description, intended_use, region
        What it is, what it is for, and which region the data describes.
    sector
        One of :data:`SECTORS`.
    curators, authors
        Who publishes it, and who wrote these words.
    tuning
        How preprocessing and settings were chosen, and whether rows were looked at.
    actors
        Who sees what, and who is trusted.
    justification
        Why budget, unit and algorithm were chosen.
    sources, notes, license
        Where more is told, what else there is to say, and the licence of the model.

    Examples
    --------
    >>> About(name="Risk of return", curators="A hospital", date="2030-01-02").curators
    ('A hospital',)
    """

    name: str | None = None
    dataset: str | None = None
    rows: int | None = None
    date: str | None = None
    description: str | None = None
    intended_use: str | None = None
    region: str | None = None
    sector: str | None = None
    curators: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    tuning: str | None = None
    actors: str | None = None
    justification: str | None = None
    sources: str | None = None
    notes: str | None = None
    license: str | None = None

    def __post_init__(self) -> None:
        for held in fields(self):
            value = getattr(self, held.name)
            if held.name in _LISTS:
                value = (value,) if isinstance(value, str) else value
                if not isinstance(value, list | tuple) or not all(map(_is_text, value)):
                    raise InvalidParameter(f"{held.name} must be a list of texts.")
                object.__setattr__(self, held.name, tuple(value))
            elif held.name == "rows":
                if value is not None:
                    row_count("rows", value)
            elif held.name == "date" and isinstance(value, datetime.date):
                object.__setattr__(self, "date", value.isoformat()[:10])  # as TOML reads dates
            elif value is not None and not _is_text(value):
                raise InvalidParameter(f"{held.name} must be text that is not empty.")
        if self.date is not None:
            _check_date(self.date)
        if self.sector is not None and self.sector not in SECTORS:
            raise InvalidParameter(
                f"sector must be one of {', '.join(SECTORS)}.{suggestion(self.sector, SECTORS)}"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return what a table of TOML or JSON says; unknown keys are refused."""
        names = [held.name for held in fields(cls)]
        for key in values:
            if key not in names:
                raise InvalidParameter(
                    f"A description of a model has no key {str(key)[:80]!r}. Use some of "
                    f"{', '.join(names)}.{suggestion(str(key), names)}"
                )
        return cls(**values)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Return what a TOML file says."""
        try:
            return cls.from_dict(tomllib.loads(Path(path).read_text(encoding="utf-8-sig")))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InvalidParameter(f"{path} is not a TOML file: {error}.") from None
        except InvalidParameter as error:
            raise InvalidParameter(f"{path}: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Return what was said, as plain JSON values; nothing where nothing was."""
        held = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in held.items()
            if value not in (None, ())
        }


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _check_date(value: str) -> None:
    try:
        if datetime.date.fromisoformat(value).isoformat() == value:
            return
    except ValueError:
        pass
    raise InvalidParameter("date must be a date such as 2030-01-31.")
