"""Who made the parts of a model that are not of this library."""

from __future__ import annotations

from importlib.metadata import packages_distributions, version
from typing import Any

from discreet.algorithms import ALGORITHMS
from discreet.parts import Part


def foreign_parts(model: Any) -> list[dict[str, str]]:
    """Return the parts of a fitted model that others made, and which package has them.

    Parameters
    ----------
    model
        A fitted model of this library.

    Examples
    --------
    >>> from discreet import Bounds, PrivateRidge
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> foreign_parts(model.fit([[0.5], [-0.5]] * 50, [1, -1] * 50))
    []
    """
    held = {"algorithm": _algorithm(model)}
    for name, value in model.get_params(deep=False).items():
        if isinstance(value, Part):
            held[name] = type(value)
    # The estimator itself may be a subclass from elsewhere.
    held["estimator"] = type(model)
    found = ((role, kind, _package(kind)) for role, kind in held.items() if kind is not None)
    return [
        {"part": role, "name": getattr(kind, "name", kind.__name__), "made_by": package}
        for role, kind, package in found
        if package is not None
    ]


def _algorithm(model: Any) -> type | None:
    """Return the class of the algorithm that ran."""
    given = getattr(model, "algorithm", None)
    if given is not None and not isinstance(given, str):
        return given if isinstance(given, type) else type(given)
    found: Any = ALGORITHMS.get(model.algorithm_)
    return found if isinstance(found, type) else None


def _package(kind: type) -> str | None:
    """Return the package that a class comes from, with its version; None for this library."""
    root = kind.__module__.partition(".")[0]
    if root == "discreet":
        return None
    packages = packages_distributions().get(root, [])
    if not packages:
        return f"module {kind.__module__}"
    return ", ".join(f"{name} {version(name)}" for name in sorted(set(packages)))
