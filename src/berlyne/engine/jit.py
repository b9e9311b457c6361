"""How the engine is compiled: three kinds of functions, cached on disk, without the GIL, with multiply-add contracted.

A `kernel` is called from Python. A `callback` is carried by a record and called by kernels through its address
(`berlyne.engine.blocks`), so that a kernel is compiled once for all priors and methods. An `inline` function becomes
part of every kernel and callback that calls it.

Numba's cache on disk has no public interface. `_stamp_cache` alone relies on its internals, and raises an error if a
version of Numba lacks them.
"""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

P = ParamSpec("P")
R = TypeVar("R")

COMPILING = not getattr(numba.config, "DISABLE_JIT", False)
"""False if NUMBA_DISABLE_JIT is set, for a debugger or to measure coverage: kernels then run as plain Python."""
CHECKING = COMPILING and bool(getattr(numba.config, "BOUNDSCHECK", None))
"""True if NUMBA_BOUNDSCHECK is set: kernels then check every index, and are slower."""
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}
NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that Python calls, on its first call; the type checker sees `function`."""
    return _compiled(function, {"cache": True, "no_cfunc_wrapper": True})


def callback(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that records carry. Called by name it is inlined."""
    return _compiled(function, {"cache": True, "forceinline": True, **NO_WRAPPERS})


def inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function into every kernel and callback that calls it.

    Never let a record carry one: it is not cached, so every process would compile it again.
    """
    return _compiled(function, {"forceinline": True, **NO_WRAPPERS})


def user_function(function: Callable[..., Any]) -> Any:
    """Compile a function that the user wrote, when it is first used.

    An index out of range raises an `IndexError`. The code is not cached on disk, because a change of its source would
    not be noticed.
    """
    njit: Any = numba.njit
    return njit(**OPTIONS, **NO_WRAPPERS, boundscheck=True)(function)


def why_not_compiled(error: Exception) -> str:
    """Return the first line of an error of Numba that says what is wrong, and what to do if another function is."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # Numba writes in bold letters
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed in", "During:", "["))), "unknown reason")
    if reason.startswith("Untyped global name") and reason.endswith("<class 'function'>"):
        reason += "; decorate this function with numba.extending.register_jitable"
    return reason


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    if not COMPILING:
        return function
    try:
        compiled: Any = numba.njit(**OPTIONS, **options)(function)
    except RuntimeError as error:  # no directory can be written to
        if "cache" not in options or "cannot cache function" not in str(error):
            raise
        _warn_once("no directory for compiled code is writable, so every process compiles it again")
        return cast(Callable[P, R], numba.njit(**OPTIONS, **{**options, "cache": False})(function))
    if "cache" in options:
        _stamp_cache(compiled, _SOURCES)
    return cast(Callable[P, R], compiled)


@lru_cache
def _warn_once(problem: str) -> None:
    warnings.warn(f"{problem}; set NUMBA_CACHE_DIR to a writable directory", RuntimeWarning, stacklevel=2)


def _stamp_cache(compiled: Any, stamp: str) -> None:
    """Let Numba's cache compare `stamp` instead of the date of one file, and survive damaged files and full disks.

    A kernel contains the functions that it calls. With dates alone it would go on running old code after one of those
    has changed in another file.
    """
    cache: Any = getattr(compiled, "_cache", None)
    file: Any = getattr(cache, "_cache_file", None)
    methods: list[Any] = [getattr(cache, name, None) for name in ("load_overload", "save_overload", "flush")]
    if not hasattr(file, "_source_stamp") or None in methods:
        raise RuntimeError(f"the cache of Numba {numba.__version__} differs from what berlyne.engine.jit expects")
    file._source_stamp = stamp
    load, save, flush = methods

    def load_if_intact(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # a damaged file can raise anything; the function is compiled again
            with suppress(Exception):
                flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except (OSError, EOFError, ValueError) as error:
            _warn_once(f"compiled code could not be cached ({error})")

    cache.load_overload, cache.save_overload = load_if_intact, save_if_possible


def _hash_of_sources() -> str:
    """Return a hash of the sources that kernels are compiled from: the engine, and the formulas of the priors."""
    here = Path(__file__).parent
    files = sorted([*here.rglob("*.py"), *here.with_name("priors").glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_SOURCES = _hash_of_sources()


class _Notice(event.Listener):
    """Prints one line when the engine is first compiled, on a terminal or in a notebook."""

    printed = False

    def on_start(self, event: Any) -> None:
        """Print the line if this compilation is one of ours and the first of the process."""
        module = getattr(event.data["dispatcher"].py_func, "__module__", None) or ""
        if not self.printed and module.startswith("berlyne.") and _is_watched():
            self.printed = True
            print("compiling berlyne's engine, once per installation ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


def _is_watched() -> bool:
    """Whether a person sees what is printed: on a terminal, or in a notebook, which has a stream of its own."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")


if COMPILING:
    event.register("numba:compile", _Notice())  # type: ignore[no-untyped-call]  # Numba has no types
