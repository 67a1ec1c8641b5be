"""Saving a model: a plain JSON file with releasable values and the guarantee.

The file holds the constructor's public configuration, the released weights and
the guarantee. It never holds a seed: with it anyone could subtract the noise.

A file is believed as far as it is checked. The checksum tells accidents and
careless edits; the claim has to follow from its event and from
the model's class and settings. Who forges all of that alike, and computes the
checksum anew, is not found out: take files from those you trust.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import ALGORITHMS
from discreet.bounds import Bounds
from discreet.checks import row_count, weight_count
from discreet.errors import InvalidData, InvalidParameter
from discreet.estimators.shared.claims import ALWAYS_ASSUMED, check_claim
from discreet.estimators.shared.fitting import Seedless
from discreet.files.checksums import checksum_holds, parse, with_checksum
from discreet.files.writing import write_text
from discreet.inference import INTERVALS
from discreet.losses import LOSSES, Clipped
from discreet.parts import BrokenPart
from discreet.regularizers import REGULARIZERS
from discreet.schema import Schema
from discreet.sets import SETS

FORMAT = "discreet-model"
FORMAT_VERSION = 2
MOST_BYTES = 2**28
"""Size of the largest file that is written or read."""

NOT_FINITE = (
    "This model has a weight that is infinite or not a number, so it predicts nothing and is not "
    "saved. Check the declared bounds for very large or very small numbers, and fit again."
)
DAMAGED = "This model file is damaged or was edited; use the file discreet wrote."

DEEPEST = 16
"""How deeply a setting may be nested: a table in a part of a part is 5 deep."""

BROKEN = (ValueError, RecursionError, MemoryError)
"""What a text that is no JSON, or a hostile one, leads to when it is read."""


class UnknownPart(InvalidData):
    """A file names a part that nothing installed provides."""


LOADABLE: dict[str, type[Portable]] = {}
"""Every estimator that can be loaded from a file, by class name."""


class Portable(Seedless):
    """An estimator that can be saved and loaded."""

    _arrays: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "classes_", "feature_names_in_")
    _saved: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "n_rows_",
        "algorithm_",
        "settings_",
        "bounds_",
        "schema_",
    )
    _unsaved: ClassVar[tuple[str, ...]] = ("random_state", "ledger")
    _assumes: ClassVar[tuple[str, ...]] = ALWAYS_ASSUMED

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        LOADABLE[cls.__name__] = cls

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a JSON file, whole or not at all.

        What is there is replaced. The file is on the disk when this returns.
        """
        check_is_fitted(self)
        write_model(Path(path), self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted model as plain JSON values.

        A model that could not be read back is refused: one with weights that
        are not finite, or with settings changed since the fit that its
        guarantee is about.
        """
        check_is_fitted(self)
        for name in self._arrays:
            held = np.asarray(getattr(self, name, 0.0))
            if held.dtype.kind == "f" and not np.isfinite(held).all():
                raise InvalidData(NOT_FINITE)
        check_claim(self)
        return with_checksum(self._described(self._saved_parameters()))

    def _saved_parameters(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return {k: _json_values(v) for k, v in params.items() if k not in self._unsaved}

    def _described(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return the model with these settings as plain JSON values, without a checksum."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "library": f"discreet {version('discreet')}",
            "estimator": type(self).__name__,
            "parameters": parameters,
            "model": {
                name: _json_values(getattr(self, name))
                for name in (*self._arrays, *self._saved)
                if hasattr(self, name)
            },
            "guarantee": self.guarantee_.to_dict(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """Return the model that :meth:`to_dict` described."""
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidParameter("This file is not a discreet model.")
        if content.get("version") != FORMAT_VERSION:
            raise InvalidParameter(
                f"This model file is not of version {FORMAT_VERSION}, which is the one this "
                "library reads. Load it with the library that wrote it, or fit again."
            )
        try:
            if not checksum_holds(content):
                raise InvalidData("The checksum does not match the values.")
            kind = LOADABLE.get(content["estimator"])
            if kind is not None and issubclass(kind, cls):
                return kind._restored(content)
        except (UnknownPart, BrokenPart):
            raise
        except (*BROKEN, ArithmeticError, AttributeError, LookupError, TypeError) as error:
            raise InvalidData(DAMAGED) from error
        raise InvalidParameter(
            f"{str(content['estimator'])[:80]!r} is not a model of this library."
        )

    @classmethod
    def _restored(cls, content: dict[str, Any]) -> Self:
        model = cls(**{k: _parameter(v) for k, v in content["parameters"].items()})
        for name, value in content["model"].items():
            if name not in (*cls._arrays, *cls._saved):
                raise InvalidData("A model file has no such field.")
            if name in cls._arrays:
                dtype = object if name == "feature_names_in_" else None
                value = np.asarray(value, dtype=dtype)[()]
            else:
                value = _parameter(value)
            setattr(model, name, value)
        model._check_shapes()
        model.guarantee_ = Guarantee.from_dict(content["guarantee"])
        check_claim(model)
        return model

    def _check_shapes(self) -> None:
        """Refuse arrays that do not fit together, so that no prediction fails later."""
        count = weight_count("n_features_in_", self.n_features_in_)
        held = np.asarray(getattr(self, self._arrays[0]), dtype=np.float64)
        if held.shape[-1:] != (count,):  # first, because ranges are made for so many features
            raise InvalidData("The number of features is not that of the weights.")
        fits: list[Any] = [np.isfinite(held).all()]
        declared = (self.bounds_.row_norm, self.bounds_.ranges(count))
        fits += [isinstance(self.algorithm_, str), declared != (None, None)]
        fits.append(isinstance(getattr(self, "settings_", {}), dict))
        if getattr(self, "n_rows_", None) is not None:
            row_count("n_rows_", self.n_rows_)
        if hasattr(self, "fit_intercept"):
            intercept = np.asarray(self.intercept_, dtype=np.float64)
            fits += [intercept.shape == held.shape[:-1], np.isfinite(intercept).all()]
        if is_classifier(self):
            classes = len(self.classes_)
            fits.append(held.shape[:-1] == (1 if classes == 2 else classes,))
            fits.append(len(np.unique(self.classes_)) == classes > 1)
        else:
            several = getattr(self, "_several", False) and held.ndim == 2 and len(held) > 1
            fits.append(several or held.shape[:-1] == np.shape(getattr(self, "quantile", 0.5)))
        if hasattr(self, "feature_names_in_"):
            fits.append(self.feature_names_in_.shape == (count,))
        schema = getattr(self, "schema_", getattr(self, "schema", None))
        if schema is not None:
            fits.append(list(schema.columns) == list(self.schema.columns))
            target = getattr(self, "target", None)
            declared, own = schema.bounds_for(target), self.bounds_
            fits += [declared.features == own.features, declared.label in (None, own.label)]
            fits.append(declared.classes in (None, own.classes))
            fits.append(list(self.feature_names_in_) == schema.names(target))
        if not all(fits):
            raise InvalidData("The arrays of this model do not fit together.")


def write_model(path: Path, content: dict[str, Any]) -> None:
    """Write what :meth:`Portable.to_dict` returned, and what was added to it since.

    Parameters
    ----------
    path
        File to write.
    content
        Plain values; their checksum is made here.
    """
    text = json.dumps(with_checksum(content), indent=1, allow_nan=False) + "\n"
    if len(text) > MOST_BYTES:
        raise InvalidData(
            f"This model needs more than {MOST_BYTES >> 20} MiB as JSON, which would not be read "
            "back. Pickle it instead."
        )
    write_text(path, text)


def read_content(path: str | Path) -> Any:
    """Return the plain values in a model file; a file too large for one is not read at all.

    Parameters
    ----------
    path
        File that :func:`write_model` wrote.
    """
    with Path(path).open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise InvalidData(
            f"This file is larger than {MOST_BYTES >> 20} MiB, and no model file is. Name a file "
            "that discreet wrote."
        )
    try:
        return parse(text)
    except BROKEN as error:
        raise InvalidData(DAMAGED) from error


def load(path: str | Path) -> Any:
    """Return the model saved in a JSON file.

    A file is refused if it is damaged or edited, or if its own values contradict
    its claim. A checksum is not a signature: take files from those you trust.

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
    return Portable.from_dict(read_content(path))


def part_of_a_file(name: str) -> Any:
    """Return the part that may stand in a model file under a class name, or None."""
    tables = (SETS, REGULARIZERS, LOSSES)
    own = (type(part) for table in tables for part in table.own)
    # Those of installed packages last, so that a broken one hinders only files that need it.
    others = (type(part) for table in tables for part in table.values())
    first: tuple[type, ...] = (Bounds, Budget, Clipped, Schema, *INTERVALS)
    kinds: Any = chain(first, own, ALGORITHMS.own, others, ALGORITHMS.values())
    return next((kind for kind in kinds if kind.__name__ == name), None)


def _json_values(value: Any) -> Any:
    """Return ``value`` as JSON values; refuse what has no faithful form."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and math.isinf(value):
        return {"infinite": value > 0}  # such as a limit that is none; JSON has no such number
    if isinstance(value, float) and math.isnan(value):
        raise InvalidParameter("A parameter is not a number (NaN), so the model cannot be saved.")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json_values(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _json_values(v) for k, v in value.items()}
    if isinstance(value, Schema):
        held = value.to_dict()
        # Pairs, because a column may have any name.
        return {"part": "Schema"} | held | {"columns": list(map(list, held["columns"].items()))}
    if is_dataclass(value) and part_of_a_file(type(value).__name__) is type(value):
        held = {
            f.metadata.get("argument", f.name): _json_values(getattr(value, f.name))
            for f in fields(value)
            if f.init
        }
        return {"part": type(value).__name__, **held}
    raise InvalidParameter(
        f"A parameter of type {type(value).__name__} is not a part of this library, nor registered "
        "by an installed package, so it cannot be saved as JSON. Register it as an entry point, or "
        "pickle the model instead."
    )


def _parameter(value: Any, depth: int = 0) -> Any:
    """Turn JSON values back into what :func:`_json_values` was given."""
    if depth > DEEPEST:
        raise InvalidData("The values of this file are nested more deeply than any setting is.")
    if isinstance(value, dict) and "part" in value:
        held = {k: _parameter(v, depth + 1) for k, v in value.items() if k != "part"}
        kind = part_of_a_file(value["part"])
        if kind is None:
            raise UnknownPart(
                f"This file needs the part {str(value['part'])[:80]!r}, which neither this library "
                "nor an installed package has. Install the package that registers it."
            )
        return kind(**held)
    if isinstance(value, dict) and list(value) == ["infinite"]:
        return math.inf if value["infinite"] is True else -math.inf
    if isinstance(value, list):
        return tuple(_parameter(v, depth + 1) for v in value)
    if isinstance(value, dict):
        return {k: _parameter(v, depth + 1) for k, v in value.items()}
    return value
