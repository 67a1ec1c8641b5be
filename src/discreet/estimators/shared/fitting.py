"""A fit takes effect as a whole or not at all, and leaves no seed behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator

from discreet.errors import InvalidParameter
from discreet.estimators.shared.charging import warn_of_steps
from discreet.estimators.shared.parameters import Configured

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Let a fit that is refused leave nothing behind, not even the classes it has read.

    Nor does one tell by a warning of numpy what its rows are like.
    """

    @wraps(fit)
    def fitted(self: Seedless, *args: Any, **kwargs: Any) -> Any:
        try:
            # No argument of a fit: scikit-learn would take it to say that weights are used.
            if kwargs.pop("sample_weight", None) is not None:
                raise InvalidParameter(
                    f"{type(self).__name__} takes no sample_weight: every row counts once, and "
                    "noise is scaled to that. Leave it out."
                )
            warn_of_steps(self)
            # privacy: whether some sum overflows or underflows is a fact about the rows.
            with np.errstate(all="ignore"):
                return self._run_fit(fit, *args, **kwargs)
        except MemoryError:
            self._forget()
            # privacy: numpy tells the shape it wanted: rows, which may be secret, or values.
            raise MemoryError("There is no memory for another copy of the rows.") from None
        except BaseException:
            self._forget()
            raise

    return cast(Fit, fitted)


class Seedless(Configured, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that forgets its seed when it is pickled after a fit."""

    def _forget(self) -> None:
        """Drop what an earlier fit left, so that a refused fit leaves no mixture of two models."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)

    def _run_fit(self, fit: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a fit; others may do something before it."""
        return fit(self, *args, **kwargs)

    def __sklearn_is_fitted__(self) -> bool:
        # A fit ends with its guarantee; shapes and classes are noted earlier.
        return "guarantee_" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "guarantee_" in state:
            # privacy: seed and released model together would give the noise away
            state["random_state"] = None
        return state
