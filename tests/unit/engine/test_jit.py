"""How functions are compiled and cached, and what is required of Numba beyond its public interface."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from amounts import amount
from berlyne.engine import jit
from berlyne.engine.jit import callback, inline, kernel
from messages import raises
from waiting import LIMIT


def test_a_numba_with_another_cache_is_refused(monkeypatch):
    class OtherDispatcher:
        _cache = None

    with raises(RuntimeError, "Numba", numba.__version__, "berlyne"):
        jit._stamp_cache(OtherDispatcher(), "anything")
    monkeypatch.setattr(jit.numba, "njit", lambda **options: lambda function: OtherDispatcher())
    for decorator in (kernel, callback):
        with raises(RuntimeError, "Numba", "berlyne"):
            decorator(lambda x: x)


def test_kernels_and_callbacks_are_stamped_with_all_sources():
    for decorator in (kernel, callback):
        assert decorator(lambda x: x)._cache._cache_file._source_stamp == jit._hash_of_sources()


def test_inline_functions_are_not_cached_and_become_part_of_kernels():
    @inline
    def twice(x):
        return 2 * x

    @callback
    def thrice(x):
        return 3 * x

    @kernel
    def total(values):
        return twice(values[0]) + thrice(values[1])

    assert type(twice._cache).__name__ == "NullCache"
    assert total(np.array([1.0, 10.0])) == 32.0


KERNELS = """
from berlyne.engine.jit import kernel

@kernel
def twice(x):
    return 2 * x

@kernel
def thrice(x):
    return 3 * x
"""
"""A module with two kernels, which compile sooner than the engine."""

NOTICE = """
import importlib.util, sys
if {terminal}:
    sys.stderr.isatty = lambda: True
{before}
spec = importlib.util.spec_from_file_location("berlyne.kernels_of_a_test", {path!r})
module = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = module
spec.loader.exec_module(module)
assert module.twice(1.0) + module.thrice(1.0) == 5.0
"""

NOTEBOOK = """
from ipykernel.iostream import OutStream
sys.stderr = OutStream.__new__(OutStream)  # without its thread; it prints to the pipe
sys.stderr._isatty, sys.stderr.write, sys.stderr.flush = False, sys.__stderr__.write, sys.__stderr__.flush
"""


@pytest.mark.parametrize(
    ("terminal", "before", "lines"),
    [
        (True, "", 1),
        (False, "", 0),
        (False, NOTEBOOK, 1),
        (False, NOTEBOOK + "sys.stderr = sys.__stderr__", 0),
    ],
    ids=["terminal", "pipe", "notebook", "captured in a notebook"],
)
def test_the_first_compilation_is_announced_in_one_line_to_people_only(terminal, before, lines, tmp_path):
    path = tmp_path / "kernels_of_a_test.py"
    path.write_text(KERNELS)
    script = NOTICE.format(terminal=terminal, before=before, path=str(path))
    again = lines and amount(terminal, True)  # a second process finds everything in the cache
    for expected in (lines, 0) if again else (lines,):
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        )
        assert done.stderr.splitlines() == ["compiling berlyne's engine, once per installation ..."] * expected
