"""Checks of public arguments: one wording for all.

Every function returns the checked value as a plain ``float`` or ``int`` or
raises :class:`~discreet.errors.InvalidParameter`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real

import numpy as np

from discreet.errors import InvalidParameter

LEAST_EPSILON, MOST_EPSILON = 1e-30, 1e12
"""Beyond these a budget cannot be meant, and squares of noise would overflow or vanish."""

LEAST_SIZE, MOST_SIZE = 1e-50, 1e50
"""Beyond these squares of products of lengths would overflow or vanish."""

MOST_ROWS, MOST_WEIGHTS = 10**12, 10**8
"""Beyond these float64 is too coarse for sums over rows, and weights fill the memory."""


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameter(
            f"{name} must be a number. Got {type(value).__name__} instead.", parameter=name
        )
    try:
        return float(value)
    except OverflowError:
        raise InvalidParameter(
            f"{name} must be a number that fits into a float.", parameter=name
        ) from None


def positive(name: str, value: object) -> float:
    """Return ``value`` as a float if it is finite and above zero.

    >>> positive("epsilon", 1)
    1.0
    """
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise InvalidParameter(
            f"{name} must be finite and positive. Got {number!r} instead.", parameter=name
        )
    return number


def usable_epsilon(name: str, value: object) -> float:
    """Return ``value`` as a float if it is an epsilon that noise can be planned for.

    >>> usable_epsilon("epsilon", 1)
    1.0
    """
    why = "less asks for more noise than float64 holds, and more protects nothing"
    return _limited(name, value, LEAST_EPSILON, MOST_EPSILON, why)


def moderate(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a length that can be squared and multiplied.

    >>> moderate("row_norm", 1)
    1.0
    """
    why = "squares and products of other numbers do not fit into float64"
    return _limited(name, value, LEAST_SIZE, MOST_SIZE, why)


def _limited(name: str, value: object, least: float, most: float, why: str) -> float:
    number = positive(name, value)
    if not least <= number <= most:
        raise InvalidParameter(
            f"{name} must lie between {least:g} and {most:g}: {why}. Got {number!r} instead.",
            parameter=name,
        )
    return number


def truth(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False.

    >>> truth("fit_intercept", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(
            f"{name} must be True or False. Got {type(value).__name__} instead.", parameter=name
        )
    return bool(value)


def nonnegative(name: str, value: object) -> float:
    """Return ``value`` as a float if it is finite and at least zero.

    >>> nonnegative("strength", 0)
    0.0
    """
    number = _number(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise InvalidParameter(
            f"{name} must be finite and at least 0. Got {number!r} instead.", parameter=name
        )
    return number


def finite(name: str, value: object) -> float:
    """Return ``value`` as a float if it is finite.

    >>> finite("low", -3)
    -3.0
    """
    number = _number(name, value)
    if not math.isfinite(number):
        raise InvalidParameter(f"{name} must be finite. Got {number!r} instead.", parameter=name)
    return number


def between(name: str, value: object, low: float, high: float) -> float:
    """Return ``value`` as a float if it lies strictly between ``low`` and ``high``.

    >>> between("quantile", 0.5, 0, 1)
    0.5
    """
    number = _number(name, value)
    if not low < number < high:
        raise InvalidParameter(
            f"{name} must lie strictly between {low:g} and {high:g}. Got {number!r} instead.",
            parameter=name,
        )
    return number


def integer(name: str, value: object, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int if it is a whole number within these limits.

    >>> integer("n_features", 3)
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < minimum:
        raise InvalidParameter(
            f"{name} must be a whole number of at least {minimum}. Got {_shown(value)} instead.",
            parameter=name,
        )
    if maximum is not None and int(value) > maximum:
        raise InvalidParameter(
            f"{name} must be at most {maximum:,}. Got {_shown(value)} instead.", parameter=name
        )
    return int(value)


def row_count(name: str, value: object) -> int:
    """Return ``value`` as an int if it is a number of rows that can be planned for.

    >>> row_count("n_rows", 100)
    100
    """
    return integer(name, value, maximum=MOST_ROWS)


def weight_count(name: str, value: object) -> int:
    """Return ``value`` as an int if it is a number of weights that can be planned for.

    >>> weight_count("n_features", 3)
    3
    """
    return integer(name, value, maximum=MOST_WEIGHTS)


def one_of(name: str, value: object, options: Collection[str]) -> str:
    """Return ``value`` if it is one of ``options``.

    >>> one_of("mode", "sharp", ["sharp", "logistic"])
    'sharp'
    """
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(o) for o in options)
        raise InvalidParameter(
            f"{name} must be one of {listed}. Got {_shown(value)} instead.", parameter=name
        )
    return value


def suggestion(given: str, options: Iterable[str]) -> str:
    """Return " Did you mean ...?", or nothing when no option is close.

    >>> suggestion("lgistic", ["logistic", "ridge"])
    " Did you mean 'logistic'?"
    """
    close = difflib.get_close_matches(given, list(options), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _shown(value: object) -> str:
    """Return a number or a name as it is, and of anything else the type: it may be data."""
    # privacy: rows passed in the wrong place must not end in a message.
    plain = value is None or isinstance(value, bool | Real | str)
    return repr(value) if plain else type(value).__name__
