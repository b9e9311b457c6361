"""How kernels are compiled: cached on disk, without the GIL, with multiply-add contracted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call; keeps the type of `function` for the type checker."""
    compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")(function)
    return cast(Callable[P, R], compiled)


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The compiled form of a kernel for arguments of these types, without the look-up of types.

    With a few dozen arrays that look-up takes longer than one step of an explorer.
    """
    typeof: Any = numba.typeof
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    return cast(Callable[..., Any], function.overloads[signature].entry_point)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into every caller: for the few lines that innermost loops repeat."""
    compiled = numba.njit(fastmath={"contract"}, error_model="numpy", inline="always")(function)
    return cast(Callable[P, R], compiled)
