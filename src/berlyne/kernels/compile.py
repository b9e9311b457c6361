"""How kernels are compiled: cached on disk, without the GIL, with multiply-add contracted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")

COMPILING = not getattr(numba.config, "DISABLE_JIT", False)
"""False if NUMBA_DISABLE_JIT is set, for a debugger or to measure coverage: kernels then run as plain Python."""


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call; keeps the type of `function` for the type checker."""
    return _compiled(function, counting=True)


def bare_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile without counting references to arrays: for code that makes none, and so frees none.

    Counting costs the loop a sixth of its time and most of the time to compile it. The caller holds the arrays.
    """
    return _compiled(function, counting=False)


def _compiled(function: Callable[P, R], counting: bool) -> Callable[P, R]:
    options: Any = {"cache": True, "nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "_nrt": counting}
    compiled: Any = numba.njit(**options)(function)
    file: Any = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = _SOURCES
    return cast(Callable[P, R], compiled)


def _hash_of_sources() -> str:
    """What the cached code must have been made from.

    Numba compares the date of the one file that a kernel is in, but a kernel contains all that it calls: after
    a change of another file it would go on running the old code.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_SOURCES = _hash_of_sources()


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The compiled form of a kernel for arguments of these types, without the look-up of types.

    With a few dozen arrays that look-up takes longer than one step of an explorer.
    """
    if not COMPILING:
        return cast(Callable[..., Any], function)
    typeof: Any = numba.typeof
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    return cast(Callable[..., Any], function.overloads[signature].entry_point)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into every caller: for the few lines that innermost loops repeat."""
    compiled = numba.njit(fastmath={"contract"}, error_model="numpy", inline="always")(function)
    return cast(Callable[P, R], compiled)
