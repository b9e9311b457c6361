"""How kernels are compiled: cached on disk, without the GIL, with multiply-add contracted.

Two things here are not part of Numba's public interface. Each has a function of its own, `_nrt_off_option` and
`_stamp_cache`, that says so and stops if a version of Numba lacks it.
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
"""False if NUMBA_DISABLE_JIT is set, for a debugger or to measure coverage: kernels then run as plain Python."""
CHECKING = COMPILING and bool(getattr(numba.config, "BOUNDSCHECK", None))
"""True if NUMBA_BOUNDSCHECK is set: kernels then say when they leave an array, and are slower."""
FASTMATH = {"contract"}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first call, and keep the result on disk; the type checker sees `function`."""
    return _compiled(function, {"cache": True})


def jit_nrt_off(function: Callable[P, R]) -> Callable[P, R]:
    """The same without counting references to arrays: for code that makes none, and so frees none.

    The caller holds the arrays. Taking one out of a record then costs nothing, so that kernels can take
    records; the loop is a quarter faster. Compiling takes as long as with counting.
    """
    return _compiled(function, {"cache": True, **_nrt_off_option()})


def jit_inline(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into every caller: for what every step does, and for the few lines that kernels share.

    Records then cost nothing to hand on, while a kernel that is called takes them apart. But every level of
    such functions is gone through again by those above it: keep them flat, or compiling takes long.
    """
    return _compiled(function, {"inline": "always"})


def jit_llvm_inline(function: Callable[P, R]) -> Callable[P, R]:
    """The same, but left to LLVM, which is quicker for functions of vectors that several kernels share."""
    return _compiled(function, {"forceinline": True, **_nrt_off_option()})


def dispatch(functions: Sequence[Callable[..., R]], *, inline: bool) -> Callable[..., R]:
    """A function of a code and an argument that hands the argument to `functions[code]`, folded if it is called often.

    Codes are positions in the table that the functions come from, and exist nowhere else.
    """
    last = jit_inline(functions[-1])

    def otherwise(code: int, argument: Any) -> R:
        return last(argument)

    rest = jit_inline(otherwise)
    for code in reversed(range(len(functions) - 1)):
        rest = _link(code, jit_inline(functions[code]), rest)

    def chosen(code: int, argument: Any) -> R:
        return rest(code, argument)

    return jit_llvm_inline(chosen) if inline else _compiled(chosen, _nrt_off_option())


def _link(here: int, chosen: Callable[..., R], rest: Callable[..., R]) -> Callable[..., R]:
    def link(code: int, argument: Any) -> R:
        return chosen(argument) if code == here else rest(code, argument)

    return jit_inline(link)


def entry_point(function: Any, arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """The compiled form of a kernel for arguments of these types, without the look-up of types.

    With a few dozen arrays that look-up takes longer than one step of an explorer.
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
    except RuntimeError as error:  # there is no folder that can be written to
        if "cache" not in options or "cannot cache function" not in str(error):
            raise
        _warn_once("there is no place to keep compiled code in, so it is made anew by every process")
        return cast(Callable[P, R], numba.njit(**{**common, "cache": False})(function))
    if COMPILING and "cache" in options:
        _stamp_cache(compiled, _SOURCES)
    return cast(Callable[P, R], compiled)


@lru_cache
def _warn_once(what: str) -> None:
    warnings.warn(f"{what}; set NUMBA_CACHE_DIR to a folder that can be written to", RuntimeWarning, stacklevel=2)


def _nrt_off_option() -> dict[str, bool]:
    """The option that turns reference counting off."""
    if not hasattr(DefaultOptions, "_nrt"):
        raise RuntimeError(f"Numba {numba.__version__} has no option _nrt, which berlyne.engine.jit relies on")
    return {"_nrt": False}


def _stamp_cache(compiled: Any, stamp: str) -> None:
    """Let Numba's cache on disk compare `stamp` instead of the date of one file, and survive damage and full disks.

    A kernel contains all that it calls: after a change of another file it would go on running the old code.
    """
    cache: Any = getattr(compiled, "_cache", None)
    file: Any = getattr(cache, "_cache_file", None)
    methods: list[Any] = [getattr(cache, name, None) for name in ("load_overload", "save_overload", "flush")]
    if not hasattr(file, "_source_stamp") or None in methods:
        raise RuntimeError(f"Numba {numba.__version__} keeps its cache otherwise than berlyne.engine.jit expects")
    file._source_stamp = stamp
    load, save, flush = methods

    def load_if_whole(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # whatever a damaged file can lead to: it is made anew
            with suppress(Exception):
                flush()
            return None

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except (OSError, EOFError, ValueError) as error:
            _warn_once(f"compiled code could not be kept ({error})")

    cache.load_overload, cache.save_overload = load_if_whole, save_if_possible


def _hash_of_sources() -> str:
    """What cached code must have been made from: everything here, and the formulas that priors lend to kernels."""
    here = Path(__file__).parent
    files = sorted([*here.rglob("*.py"), *here.with_name("priors").glob("*.py")])
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


_SOURCES = _hash_of_sources()
