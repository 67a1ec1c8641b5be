"""Saving a model: a plain JSON file with releasable values and the guarantee.

The file holds the constructor's public configuration, the released weights and
the guarantee. It never holds a seed: with it anyone could subtract the noise.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import ALGORITHMS
from discreet.errors import InvalidParameter
from discreet.estimators.parameters import Configured
from discreet.regularizers import REGULARIZERS
from discreet.sets import SETS
from discreet.types import Bounds

FORMAT = "discreet-model"
FORMAT_VERSION = 1

MODELS: dict[str, type[Portable]] = {}
"""Every estimator that can be loaded from a file, by class name."""


class Seedless(Configured, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that forgets its seed when it is pickled after a fit."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "guarantee_" in state:
            # privacy: seed and released model together would give the noise away
            state["random_state"] = None
        return state


class Portable(Seedless):
    """An estimator that can be saved and loaded."""

    _arrays: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "classes_", "feature_names_in_")
    _plain: ClassVar[tuple[str, ...]] = ("n_features_in_", "algorithm_")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        MODELS[cls.__name__] = cls

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file."""
        check_is_fitted(self)
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted model as plain JSON values."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "library": f"discreet {version('discreet')}",
            "estimator": type(self).__name__,
            "parameters": {k: _plain(v) for k, v in params.items() if k != "random_state"},
            "model": {
                name: _plain(getattr(self, name))
                for name in (*self._arrays, *self._plain)
                if hasattr(self, name)
            },
            "guarantee": self.guarantee_.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the model that :meth:`to_dict` described."""
        if content.get("format") != FORMAT:
            raise InvalidParameter("This file is not a discreet model.")
        if content.get("version") != FORMAT_VERSION:
            raise InvalidParameter(
                f"This model file has version {content.get('version')!r}; this library reads "
                f"version {FORMAT_VERSION}. Install the library that wrote it."
            )
        kind = MODELS.get(content["estimator"])
        if kind is None or not issubclass(kind, cls):
            raise InvalidParameter(f"{content['estimator']!r} is not a model of this library.")
        model = kind(**{k: _parameter(v) for k, v in content["parameters"].items()})
        for name, value in content["model"].items():
            if name not in (*kind._arrays, *kind._plain):
                raise InvalidParameter(f"A model file has no field {name!r}.")
            if name in kind._arrays:
                dtype = object if name == "feature_names_in_" else None
                value = np.asarray(value, dtype=dtype)[()]
            else:
                value = _parameter(value)
            setattr(model, name, value)
        model.guarantee_ = Guarantee.from_dict(content["guarantee"])
        return model


def load(path: str | Path) -> Any:
    """Return the model saved in a JSON file.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(-1, 1, 200).reshape(-1, 1)
    >>> model = PrivateRidge(epsilon=1.0, bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> _ = model.fit(X, X.ravel())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "model.json"
    ...     model.save(path)
    ...     again = load(path)
    >>> bool((again.coef_ == model.coef_).all()), again.guarantee_ == model.guarantee_
    (True, True)
    """
    return Portable.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))


def _parts() -> dict[str, Any]:
    """Every part that may stand in a model file, by class name."""
    tables = (SETS, REGULARIZERS)
    parts = {type(part).__name__: type(part) for table in tables for part in table.values()}
    return {
        "Bounds": Bounds,
        "Budget": Budget,
        **parts,
        **{kind.__name__: kind for kind in ALGORITHMS.values()},
    }


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON values; refuse what has no faithful form."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if is_dataclass(value) and _parts().get(type(value).__name__) is type(value):
        held = {
            f.metadata.get("argument", f.name): _plain(getattr(value, f.name))
            for f in fields(value)
        }
        return {"part": type(value).__name__, **held}
    raise InvalidParameter(
        f"A parameter of type {type(value).__name__} is not a part of this library, so it cannot "
        "be saved as JSON. Pickle the model instead."
    )


def _parameter(value: Any) -> Any:
    """Turn JSON values back into what :func:`_plain` was given."""
    if isinstance(value, dict) and "part" in value:
        held = {k: _parameter(v) for k, v in value.items() if k != "part"}
        kind = _parts().get(value["part"])
        if kind is None:
            raise InvalidParameter(f"{value['part']!r} is not a part of this library.")
        return kind(**held)
    if isinstance(value, list):
        return tuple(_parameter(v) for v in value)
    if isinstance(value, dict):
        return {k: _parameter(v) for k, v in value.items()}
    return value
