"""A column of declared categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InvalidParameter
from discreet.schema.column import PRIVATE, ChoiceColumn, declared_choices

PLANNED = 10
"""How many categories a plan counts on where they are to be learned."""


@dataclass(frozen=True, repr=False)
class Categories(ChoiceColumn):
    """Text or numbers of which every one is declared; one indicator for each.

    As a target: the classes. All indicators of a row together have norm 1, as one
    column of numbers has. Among text, ``""`` declares empty cells, which then do
    not count as missing.

    Parameters
    ----------
    categories
        At least two, or one and ``other``; all text or all numbers, from public knowledge.
        ``"private"`` learns them with a share of the budget of a fit; cells are then read
        as text, and ``other`` is ``"other"`` unless it is named.
    other
        Category of cells that hold anything else. It is added if it is not
        declared already.
    baseline
        A category without an indicator: coefficients of the others are then differences from
        it. Intervals need one beside an intercept. Private categories may name ``other``.
    missing
        See :class:`~discreet.schema.column.Column`; a category stands for missing cells.

    Examples
    --------
    >>> Categories(["office", "field"], other="rest").choices
    ('office', 'field', 'rest')
    >>> Categories(["office", "field"]).encode(["field", "sea"], "blank")
    array([[ 0.,  1.], [nan, nan]])
    >>> Categories(["office", "field", "sea"], baseline="office").encode(["sea", "office"], "blank")
    array([[0., 1.], [0., 0.]])
    """

    categories: Sequence[Any] | str
    other: Any = None

    key = "categories"
    wants = "a declared category"

    def __post_init__(self) -> None:
        if isinstance(self.categories, str) and self.categories == PRIVATE:
            object.__setattr__(self, "other", "other" if self.other is None else self.other)
            declared_choices([str(self.other)], "other", 1)
            if not (self.missing is None or self._rule_is_named() or self.missing == self.other):
                raise InvalidParameter(
                    "Where categories are private, missing must be a rule or the category other: "
                    "which others will be kept is not known.",
                    parameter="missing",
                )
            if self.baseline not in (None, self.other):
                raise InvalidParameter(
                    "Where categories are private, baseline must be the category other: which "
                    "others will be kept is not known.",
                    parameter="baseline",
                )
            return
        least = 2 if self.other is None else 1
        found = declared_choices(self.categories, "categories", least)
        object.__setattr__(self, "categories", found)
        if self.other is not None:
            other = self.other.strip() if isinstance(self.other, str) else self.other
            if isinstance(other, bool) or isinstance(other, str) != isinstance(found[0], str):
                raise InvalidParameter(
                    "other must be text where categories are text, and a number where they are "
                    "numbers.",
                    parameter="other",
                )
            object.__setattr__(self, "other", other)
            if other not in found:
                object.__setattr__(self, "categories", (*found, other))
        super().__post_init__()

    @property
    def private(self) -> bool:
        """Whether the categories are to be learned."""
        return isinstance(self.categories, str)

    def stand_in(self) -> Categories:
        """Return the column with as many categories as a plan counts on."""
        return self.of([f"category {k}" for k in range(1, PLANNED)]) if self.private else self

    def of(self, found: Sequence[str]) -> Categories:
        """Return the column with these categories and ``other``."""
        named = [*(value for value in found if value != self.other), self.other]
        given = {"baseline": self.baseline, "missing": self.missing}
        return Categories(named, other=self.other, **given)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The declared categories, ``other`` included."""
        return (self.other,) if self.private else tuple(self.categories)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as it stands in a schema file."""
        return self._described(categories=PRIVATE if self.private else list(self.choices))
