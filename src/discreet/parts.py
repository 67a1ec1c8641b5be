"""What losses, sets and regularizers share: facts they declare, and tables that name them.

A *fact* is something the library may rely on beyond what every part has to give, such as
that a loss is proved convex. Its default is the one that claims nothing.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, TypeVar

from discreet.errors import Incompatible


class BrokenPart(Incompatible):
    """A package registers a part that cannot be used."""


class Part(ABC):  # noqa: B024
    """A part whose facts are its own: a subclass declares them anew or has none.

    >>> from discreet.losses import Logistic
    >>> class Mine(Logistic):
    ...     def value(self, z, y):
    ...         return 0.0 * z
    >>> Logistic.proved_convex, Mine().proved_convex
    (True, False)
    """

    FACTS: ClassVar[tuple[str, ...]] = ()
    """Names of the facts, which the class that lists them gives their defaults."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        root = next(kind for kind in cls.__mro__ if "FACTS" in vars(kind))
        for name in cls.FACTS:
            if name not in vars(cls):
                # privacy: a subclass may compute anything, so what was proved of its base is not
                # proved of it.
                setattr(cls, name, vars(root)[name])


Named = TypeVar("Named")


class Table(Mapping[str, Named]):
    """Parts by name: the library's own, then those that installed packages register.

    A package registers a part as an entry point whose name is that of the part. It is
    imported when the part is asked for, not before.

    Parameters
    ----------
    group
        Group of the entry points.
    own
        Parts of the library.
    fits
        Whether an object is such a part.

    Examples
    --------
    >>> from discreet.losses import LOSSES
    >>> LOSSES.group, LOSSES["logistic"]
    ('discreet.losses', Logistic())
    """

    def __init__(self, group: str, own: Iterable[Named], fits: Callable[[Any], bool]) -> None:
        self.group, self.own, self._fits = group, tuple(own), fits
        self._held: dict[str, Named] = {part.name: part for part in self.own}  # type: ignore[attr-defined]

    @cached_property
    def _points(self) -> dict[str, list[EntryPoint]]:
        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, []).append(point)
        return found

    def __getitem__(self, name: str) -> Named:
        if name not in self._held:
            self._held[name] = self._loaded(name, self._points[name])
        return self._held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._held, *self._points)))

    def __len__(self) -> int:
        return len({*self._held, *self._points})

    def _loaded(self, name: str, points: list[EntryPoint]) -> Named:
        packages = ", ".join(sorted({point.dist.name if point.dist else "?" for point in points}))
        says = f"{packages}: {name!r} of {self.group!r}"
        if len(points) > 1:
            raise BrokenPart(f"{says} is registered more than once. Uninstall all but one.")
        try:
            part = points[0].load()
        except Exception as error:  # whatever a foreign module raises
            raise BrokenPart(
                f"{says} cannot be imported ({type(error).__name__}: {error}). Fix that package "
                "or uninstall it."
            ) from error
        if not self._fits(part) or part.name != name:
            raise BrokenPart(
                f"{says} is not such a part, or calls itself otherwise. An entry point names a "
                "part by its own name: an instance for losses, sets and regularizers, and a class "
                "for algorithms. Fix that package or uninstall it."
            )
        return part  # type: ignore[no-any-return]
