"""How kernels are compiled: cached on disk, without the GIL, with multiply-add contracted."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call; keeps the type of `function` for the type checker."""
    compiled = numba.njit(cache=True, nogil=True, fastmath={"contract"}, error_model="numpy")(function)
    return cast(Callable[P, R], compiled)
