"""Compiled functions that are kept on disk, in a folder that nobody else can write to.

Compiling takes seconds, loading what was compiled takes some hundredths. numba keeps code
beside the module, in ``__pycache__``, or in the user's cache folder. What lies there is
run, so a folder counts as safe only if it and all above it belong to the user or to the
system and nobody else may change them; else nothing is written or read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any


def kept(function: Any, **parts: Any) -> Any:
    """Return a function compiled in strict arithmetic, in which names stand for these parts.

    What is on disk goes by a name of its own for every text of the function, its parts and
    the numbers in them, so old code is never run for new.
    """
    from numba import njit

    scope = function.__globals__ | parts
    # Names in a closure would have to be the same object in every process; in the scope not.
    own = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    own.__module__ = function.__module__
    own.__qualname__ = f"{function.__name__}_{digest(own)}"
    run = njit(nogil=True, fastmath=False, error_model="numpy")(own)
    folder = _folder(run)
    if folder is not None and safe(folder):
        run.enable_caching()
    return run


def _folder(run: Any) -> Path | None:
    """Return where numba would keep the code of a function, made if need be."""
    from numba.core.caching import FunctionCache

    try:
        path = Path(FunctionCache(run.py_func).cache_path)  # type: ignore[no-untyped-call]
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path
    except (RuntimeError, OSError, AttributeError):
        return None  # there is no place, or this version of numba does not tell


def safe(folder: Path) -> bool:
    """Return whether nobody but the user and the system can change what is in a folder.

    >>> safe(Path("/tmp"))
    False
    """
    if not hasattr(os, "getuid"):
        return False  # permissions of other systems are not read here
    try:
        mode = folder.resolve(strict=True).stat().st_mode
        return not mode & (stat.S_IWGRP | stat.S_IWOTH) and _guarded(folder.absolute())
    except (OSError, RuntimeError):
        return False


def _guarded(folder: Path) -> bool:
    """Return whether nobody else can replace a folder, one above it, or a link on the way."""
    for place in (folder, *folder.parents):
        found = place.lstat()
        if found.st_uid not in (0, os.getuid()):
            return False
        if stat.S_ISLNK(found.st_mode):
            # What a link leads to may lie beyond links again.
            if not _guarded(place.parent / place.readlink()):
                return False
        elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
            return False  # with the sticky bit others can add, but not replace
    return True


def digest(function: Any) -> str:
    """Return a name for what a function computes: its code, that of its parts, their numbers.

    >>> def twice(x): return 2 * x
    >>> def thrice(x): return 3 * x
    >>> digest(twice) == digest(thrice), len(digest(twice))
    (False, 32)
    """
    import numba
    import numpy as np

    told: list[str] = [numba.__version__, np.__version__]
    _tell(function, told, set())
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:32]


def _tell(thing: Any, told: list[str], seen: set[int]) -> None:
    """Add what a value of a scope contributes to compiled code."""
    options = getattr(thing, "targetoptions", None)
    if options is not None:
        told.append(repr(sorted((name, _plain(value)) for name, value in options.items())))
    function = getattr(thing, "py_func", None) or getattr(thing, "_defn", None) or thing
    if not isinstance(function, FunctionType):
        told.append(_worded(thing))
        return
    if id(function) in seen:
        return
    seen.add(id(function))
    _tell_code(function.__code__, told)
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _tell(value, told, seen)
    for name in _names(function.__code__):
        if name in function.__globals__:
            told.append(name)
            _tell(function.__globals__[name], told, seen)
    for cell in function.__closure__ or ():
        _tell(cell.cell_contents, told, seen)


def _worded(thing: Any) -> str:
    """Return what a value is, the same in every process wherever it can be said."""
    if hasattr(thing, "tobytes"):
        # Compiled code holds a copy of an array.
        return repr((str(thing.dtype), thing.shape, thing.tobytes()))
    if isinstance(thing, ModuleType):
        return thing.__name__
    # The words for other things may hold an address: what is on disk is then never found.
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')} {thing!r}"


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else value


def _tell_code(code: CodeType, told: list[str]) -> None:
    told.append(code.co_code.hex())
    told.append(repr((code.co_varnames, code.co_names)))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _tell_code(constant, told)
        else:
            told.append(repr(constant))


def _names(code: CodeType) -> list[str]:
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return [*code.co_names, *inner]
