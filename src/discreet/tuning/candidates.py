"""The candidates of a search: a public list, fixed before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from discreet.checks import integer
from discreet.errors import InvalidParameter

FIXED = ("epsilon", "delta", "neighbours", "n_rows", "random_state", "ledger")
"""Settings that the search itself decides."""

ALIKE = ("inference", "rows_per_group", "group_rule")
"""Settings of what is guaranteed about the winner, which the search refuses."""

MOST = 1000


def list_candidates(distributions: Any, most: int) -> list[dict[str, Any]]:
    """Return the settings to choose among.

    Lists give all their combinations. If a distribution is among them, ``most``
    combinations are drawn with a fixed seed: they are public and the same for everyone.

    >>> list_candidates({"C": [0.1, 1.0]}, 20)
    [{'C': 0.1}, {'C': 1.0}]
    """
    if not isinstance(distributions, Mapping) or not distributions:
        raise InvalidParameter(
            "param_distributions must map names of settings to lists or distributions, e.g. "
            "{'C': [0.01, 0.1, 1.0]}."
        )
    for name, values in distributions.items():
        if name in FIXED:
            raise InvalidParameter(
                f"{name!r} cannot be searched: the search decides it from its own budget."
            )
        if name in ALIKE:
            raise InvalidParameter(
                f"{name!r} cannot be searched: what a search guarantees is the same for every "
                "candidate, and protects rows. Leave it out."
            )
        if isinstance(values, str) or not (hasattr(values, "rvs") or hasattr(values, "__len__")):
            raise InvalidParameter(
                f"The values of {name!r} must be a list, or a distribution with a method rvs."
            )
    drawn = any(hasattr(values, "rvs") for values in distributions.values())
    try:
        if drawn:
            count = integer("candidates", most, maximum=MOST)
            found = list(ParameterSampler(distributions, n_iter=count, random_state=0))
        else:
            found = list(ParameterGrid(dict(distributions)))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"param_distributions cannot be listed: {error}") from None
    if len(found) > MOST:
        raise InvalidParameter(f"There are more than {MOST} candidates. Name fewer.")
    return found
