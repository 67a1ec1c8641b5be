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

    def _shown(self) -> Mapping[str, Any]: ...


class Printed:
    """Plans print as their facts above their guarantee, in a notebook too."""

    advice = ""
    """What is printed between facts and guarantee."""

    def _shown(self: Priced) -> Mapping[str, Any]:
        return self.facts()

    def __str__(self: Priced) -> str:
        shown = self._shown()
        width = max(map(len, shown))
        lines = [f"{name:<{width}}  {said(value)}" for name, value in shown.items()]
        return "\n\n".join(filter(None, ("\n".join(lines), self.advice, str(self.guarantee))))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


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
