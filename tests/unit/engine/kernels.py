"""Call inline functions of the engine from tests: each becomes a kernel of its own."""

import inspect

import numba

from berlyne.engine.jit import COMPILING, OPTIONS


def as_kernel(function):
    """Return a function that Python can call; records are passed by value."""
    if not COMPILING:
        return function
    names = ", ".join(inspect.signature(function.py_func).parameters)
    return numba.njit(**OPTIONS)(eval(f"lambda {names}: function({names})", {"function": function}))
