"""How plans print: public numbers in a table, and the guarantee below it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Protocol

from discreet.accounting import Guarantee
from discreet.losses import Loss


class Priced(Protocol):
    """What has public numbers and a guarantee."""

    @property
    def advice(self) -> str: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def facts(self) -> Mapping[str, Any]: ...

    def shown(self) -> Mapping[str, Any]: ...


class Printed:
    """Plans print as their facts above their guarantee, in a notebook too."""

    advice = ""
    """What is printed between facts and guarantee."""

    def shown(self: Priced) -> Mapping[str, Any]:
        """Return the public numbers that are printed."""
        return self.facts()

    def __str__(self: Priced) -> str:
        return "\n\n".join(filter(None, (table(self.shown()), self.advice, str(self.guarantee))))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def table(facts: Mapping[str, Any]) -> str:
    """Return public numbers as lines of a name and a value.

    >>> print(table({"steps": 10, "noise scale": 1 / 3}))
    steps        10
    noise scale  0.333333
    """
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {said(value)}" for name, value in facts.items())


def named(loss: Loss) -> str:
    """Return the name of a loss and what it was set to.

    >>> from discreet.losses import Huber
    >>> named(Huber(threshold=0.25))
    'huber (threshold 0.25)'
    """
    names: list[str] = [f.name for f in fields(loss)] if is_dataclass(loss) else []
    settings = [f"{name} {said(getattr(loss, name))}" for name in names]
    return f"{loss.name} ({', '.join(settings)})" if settings else loss.name


def said(value: Any) -> str:
    """Return a public number of a plan as text.

    >>> said(1 / 3), said(math.inf), said("full")
    ('0.333333', 'no bound is known', 'full')
    """
    if isinstance(value, Loss):
        return named(value)
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6g}" if math.isfinite(value) else "no bound is known"
