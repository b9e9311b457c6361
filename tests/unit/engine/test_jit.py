"""Compilation of kernels, and the private features of Numba that it needs."""

import numba
import numpy as np
import pytest
from numba.core.options import DefaultOptions

from berlyne.engine import jit
from berlyne.engine.jit import dispatch, entry_point, jit_inline, jit_nrt_off, kernel


def test_a_numba_without_the_option_to_count_no_references_is_refused(monkeypatch):
    monkeypatch.delattr(DefaultOptions, "_nrt")
    with pytest.raises(RuntimeError, match=f"Numba {numba.__version__} has no option _nrt"):
        jit_nrt_off(lambda x: x)


def test_bare_kernels_count_no_references():
    """A kernel without the runtime that counts references cannot create an array."""

    @kernel
    def make(n):
        return np.zeros(n)

    @jit_nrt_off
    def make_barely(n):
        return np.zeros(n)

    assert make(3).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(numba.TypingError, match="Only accept returning of array passed into the function"):
        make_barely(3)


def test_a_numba_that_keeps_its_cache_otherwise_is_refused(monkeypatch):
    class Otherwise:
        _cache = None

    with pytest.raises(RuntimeError, match="has another disk cache"):
        jit._stamp_cache(Otherwise(), "anything")
    monkeypatch.setattr(jit.numba, "njit", lambda **options: lambda function: Otherwise())
    with pytest.raises(RuntimeError, match="has another disk cache"):
        kernel(lambda x: x)


def test_kernels_are_stamped_with_all_sources():
    assert kernel(lambda x: x)._cache._cache_file._source_stamp == jit._hash_of_sources()


@pytest.mark.parametrize("inline", [False, True])
def test_one_of_several_functions_is_chosen_by_its_number(inline):
    chosen = dispatch([lambda x: x + 1.0, lambda x: 2.0 * x, lambda x: -x], inline=inline)
    ask = kernel(lambda code, x: chosen(code, x))
    assert [ask(code, 5.0) for code in range(3)] == [6.0, 10.0, -5.0]


def test_an_entry_point_is_the_kernel_itself():
    @jit_inline
    def twice(x):
        return 2 * x

    @jit_nrt_off
    def sum_of(values, k):
        total = 0.0
        for i in range(len(values)):
            total += twice(values[i])
        return total + k

    arguments = np.arange(4.0), 3
    assert entry_point(sum_of, arguments)(*arguments) == sum_of(*arguments) == 15.0
