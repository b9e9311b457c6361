"""Decorators that compile kernels: cached on disk, without the GIL, with contracted multiply-add.

Two functions use parts of Numba that are not public: `_nrt_off_option` and `_stamp_cache`. Each raises a `RuntimeError`
if the version of Numba lacks that part.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core.options import DefaultOptions

P = ParamSpec("P")
R = TypeVar("R")

COMPILING = not getattr(numba.config, "DISABLE_JIT", False)
"""False if NUMBA_DISABLE_JIT is set, for a debugger or to measure coverage. Kernels then run as plain Python."""
CHECKING = COMPILING and bool(getattr(numba.config, "BOUNDSCHECK", None))
"""True if NUMBA_BOUNDSCHECK is set. Kernels then raise an error at an index out of bounds, and are slower."""
FASTMATH = {"contract"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on the first call, and cache the result on disk; the type checker sees `function`."""
    return _compiled(function, {"cache": True})


def jit_nrt_off(function: Callable[P, R]) -> Callable[P, R]:
    """Compile like `kernel`, but without reference counting: for code that allocates no arrays.

    The caller keeps the arrays alive. Reading an array from a record then costs nothing, so kernels can take records.
    The loop is a quarter faster. Compiling takes as long as with reference counting.
    """
    return _compiled(function, {"cache": True, **_nrt_off_option()})


def jit_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Inline into every caller, in Numba: for code of every step, and for the few lines that kernels share.

    Passing a record to an inlined function costs nothing, while a call unpacks it. But every level of inlined
    functions is compiled again in the levels above it. Keep them flat, or compiling takes long.
    """
    return _compiled(function, {"inline": "always"})


def jit_llvm_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Inline into every caller, in LLVM: this compiles faster for functions of vectors that several kernels share."""
    return _compiled(function, {"forceinline": True, **_nrt_off_option()})


def dispatch(functions: Sequence[Callable[..., R]], *, inline: bool) -> Callable[..., R]:
    """Return a compiled function of a code and an argument that calls `functions[code]` with the argument.

    Parameters
    ----------
    functions : sequence of callable
        Functions of one argument. A code is a position in this sequence and is used for nothing else.
    inline : bool
        Whether to inline the function into its callers.
    """
    last = jit_inline(functions[-1])

    def call_last(code: int, argument: Any) -> R:
        return last(argument)

    chain = jit_inline(call_last)
    for code in reversed(range(len(functions) - 1)):
        chain = _link(code, jit_inline(functions[code]), chain)

    def dispatcher(code: int, argument: Any) -> R:
        return chain(code, argument)

    return jit_llvm_inline(dispatcher) if inline else _compiled(dispatcher, _nrt_off_option())


def _link(own_code: int, function: Callable[..., R], following: Callable[..., R]) -> Callable[..., R]:
    """Return a function that calls `function` if the code is `own_code`, else `following`."""

    def link(code: int, argument: Any) -> R:
        return function(argument) if code == own_code else following(code, argument)

    return jit_inline(link)


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the compiled form of a kernel for arguments of these types.

    Calling it skips the lookup of argument types. With a few dozen arrays that takes longer than one step of an agent.
    """
    if not COMPILING:
        return cast(Callable[..., Any], function)
    typeof: Any = numba.typeof
    signature = tuple(typeof(argument) for argument in arguments)
    function.compile(signature)
    return cast(Callable[..., Any], function.get_overload(signature))


def _compiled(function: Callable[P, R], options: dict[str, Any]) -> Callable[P, R]:
    common: dict[str, Any] = {"nogil": True, "fastmath": FASTMATH, "error_model": "numpy", **options}
    try:
        compiled: Any = numba.njit(**common)(function)
    except RuntimeError as error:  # no directory is writable
        if "cache" not in options or "cannot cache function" not in str(error):
            raise
        _warn_once("no directory for compiled code is writable, so every process compiles it again")
        return cast(Callable[P, R], numba.njit(**{**common, "cache": False})(function))
    if COMPILING and "cache" in options:
        _stamp_cache(compiled, _SOURCES)
    return cast(Callable[P, R], compiled)


@lru_cache
def _warn_once(problem: str) -> None:
    warnings.warn(f"{problem}; set NUMBA_CACHE_DIR to a writable directory", RuntimeWarning, stacklevel=2)


def _nrt_off_option() -> dict[str, bool]:
    """Return the option that turns reference counting off."""
    if not hasattr(DefaultOptions, "_nrt"):
        raise RuntimeError(f"Numba {numba.__version__} has no option _nrt, which berlyne.engine.jit needs")
    return {"_nrt": False}


def _stamp_cache(compiled: Any, stamp: str) -> None:
    """Make Numba's disk cache compare `stamp` instead of the date of one file, and tolerate damage and full disks.

    A kernel contains the code of all functions that it calls, so a change in another file must invalidate it.
    """
    cache: Any = getattr(compiled, "_cache", None)
    file: Any = getattr(cache, "_cache_file", None)
    methods: list[Any] = [getattr(cache, name, None) for name in ("load_overload", "save_overload", "flush")]
    if not hasattr(file, "_source_stamp") or None in methods:
        raise RuntimeError(f"Numba {numba.__version__} has another disk cache than berlyne.engine.jit expects")
    file._source_stamp = stamp
    load, save, flush = methods

    def load_if_whole(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # a damaged file can raise anything; the code is compiled again
            with suppress(Exception):
                flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except (OSError, EOFError, ValueError) as error:
            _warn_once(f"compiled code could not be saved ({error})")

    cache.load_overload, cache.save_overload = load_if_whole, save_if_possible


def _hash_of_sources() -> str:
    """Return a hash of all files that kernels are compiled from: this package, and the formulas of the priors."""
    package = Path(__file__).parent
    files = sorted([*package.rglob("*.py"), *package.with_name("priors").glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_SOURCES = _hash_of_sources()
