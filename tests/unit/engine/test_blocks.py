"""Records in blocks of memory: what kernels read and write, copies, and functions in records."""

import gc
import pickle
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numba import types

from berlyne.engine.blocks import (
    OPAQUE,
    Block,
    CompiledFunction,
    FunctionType,
    NoFunction,
    Opaque,
    call,
    hide_fields,
    record_type,
    type_of,
)
from berlyne.engine.jit import callback, kernel
from berlyne.frozen import read_only
from messages import raises


class Inner(NamedTuple):
    weight: Any
    shared: Any
    n: int


class Outer(NamedTuple):
    inner: Inner
    again: Inner
    matrix: Any
    flags: Any
    empty: Any
    alias: Any
    x: float
    ok: bool


class Sums(NamedTuple):
    numbers: Any


def test_records_of_one_class_have_one_type_if_their_fields_have_the_same_types():
    floats, ints = Block.of(Sums(np.zeros(3))), Block.of(Sums(np.zeros(3, np.int64)))
    assert floats.type is Block.of(Sums(np.ones(2))).type is type_of(Sums(np.ones(1)))
    assert floats.type is not ints.type and ints.type.fields["numbers"][1].dtype is types.int64


def test_the_type_of_a_record_keeps_those_of_its_fields():
    """They are looked up by their ids, which other objects get when they are gone."""
    kind = FunctionType(types.int16, (types.uint8, types.int16))
    alive = weakref.ref(kind)
    record_type(Sums, (kind,))
    del kind
    gc.collect()
    assert alive() is not None


@kernel
def read_all(outer, sums):
    out = sums.numbers
    out[0] = outer.inner.weight[2]
    out[1] = outer.inner.shared[1]
    out[2] = outer.inner.n
    out[3] = outer.matrix[1, 2]
    out[4] = len(outer.matrix) * 100 + outer.matrix.shape[1]
    out[5] = 1.0 if outer.flags[1] else 0.0
    out[6] = len(outer.empty)
    out[7] = outer.x
    out[8] = 1.0 if outer.ok else 0.0
    outer.inner.weight[0] += 1.0
    outer.again.weight[0] += 10.0
    outer.alias[0] += 100.0


def outer():
    inner = Inner(np.arange(3, dtype=float), read_only(np.array([7, 8, 9])), -5)
    matrix, flags = np.arange(6, dtype=np.int32).reshape(2, 3), np.array([False, True, False])
    return Outer(inner, inner, matrix, flags, np.empty(0, dtype=np.int32), inner.weight, -2.5, True)


def test_kernels_read_and_write_every_kind_of_field():
    block, sums = Block.of(outer()), np.zeros(9)
    call(read_all, block, Block.around(Sums(sums)))
    assert sums.tolist() == [2.0, 8.0, -5.0, 5.0, 203.0, 1.0, 0.0, -2.5, 1.0]


def test_a_part_that_occurs_twice_is_laid_out_once():
    block = Block.of(outer())
    call(read_all, block, Block.around(Sums(np.zeros(9))))
    record = block.record
    assert record.inner is record.again and record.alias is record.inner.weight
    assert record.inner.weight.tolist() == [111.0, 1.0, 2.0]


def test_arrays_that_can_be_written_are_copied_and_read_only_ones_are_shared():
    original = outer()
    block = Block.of(original)
    call(read_all, block, Block.around(Sums(np.zeros(9))))
    assert original.inner.weight.tolist() == [0.0, 1.0, 2.0]
    assert block.record.inner.shared is original.inner.shared
    assert not np.shares_memory(block.record.inner.weight, original.inner.weight)
    assert block.record.empty.shape == (0,) and block.record.matrix.tolist() == original.matrix.tolist()


def test_arrays_begin_at_cache_lines():
    for copy in (Block.of(outer()), Block.of(outer()).copy().copy()):
        for array in (copy.record.inner.weight, copy.record.matrix, copy.record.flags):
            assert array.ctypes.data % 64 == 0


def test_copies_are_independent_of_each_other():
    first = Block.of(outer())
    call(read_all, first, Block.around(Sums(np.zeros(9))))
    second = first.copy()
    call(read_all, second, Block.around(Sums(np.zeros(9))))
    assert first.record.inner.weight[0] == 111.0 and second.record.inner.weight[0] == 222.0
    assert second.record.alias is second.record.again.weight and second.type is first.type
    assert second.record.inner.shared is first.record.inner.shared


def test_a_block_keeps_what_it_points_to_alive():
    original = outer()
    shared = weakref.ref(original.inner.shared)
    copy = Block.of(original).copy()
    del original
    gc.collect()
    assert shared() is not None
    sums = np.zeros(9)
    call(read_all, copy, Block.around(Sums(sums)))
    assert sums[1] == 8.0


def test_arrays_around_which_a_block_is_made_stay_where_they_are():
    numbers = np.zeros(9)
    block = Block.around(Sums(numbers))
    assert block.record.numbers is numbers
    call(read_all, Block.of(outer()), block)
    assert numbers[7] == -2.5


@pytest.mark.parametrize("make", [Block.of, Block.around])
def test_arrays_that_kernels_cannot_read_are_refused(make):
    for array in (np.arange(10.0)[::2], np.asfortranarray(np.ones((2, 3))), np.ones(3, dtype=">f8")):
        with raises(ValueError, "aligned", "C order", "native"):
            make(Sums(array))


def test_blocks_and_their_copies_are_pickled_by_value():
    for block in (Block.of(outer()), Block.of(outer()).copy()):
        call(read_all, block, Block.around(Sums(np.zeros(9))))
        restored, sums = pickle.loads(pickle.dumps(block)), np.zeros(9)
        assert restored.record.inner.weight[0] == 111.0 and restored.record.alias is restored.record.inner.weight
        call(read_all, restored, Block.around(Sums(sums)))
        assert sums[0] == 2.0 and restored.record.inner.weight[0] == 222.0 and block.record.inner.weight[0] == 111.0
    numbers = pickle.loads(pickle.dumps(Block.around(Sums(np.arange(3.0)))))
    assert numbers.record.numbers.tolist() == [0.0, 1.0, 2.0]


@given(
    arrays.arrays(
        st.sampled_from([np.float64, np.int32, np.int64, np.bool_]),
        arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
    ),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
)
def test_records_are_restored_as_they_were(array, integer, number):
    class Record(NamedTuple):
        array: Any
        n: int
        x: float

    record = Block.of(Record(array, integer, number)).copy().record
    assert record.array.dtype == array.dtype and np.array_equal(record.array, array, equal_nan=array.dtype == float)
    assert record.n == integer and (record.x == number or number != number)


class Counter(NamedTuple):
    n: Any


class Memory(NamedTuple):
    values: Any


class Machine(NamedTuple):
    memory: Any
    values: Any
    step: Any


hide_fields(Machine, "memory")


@callback
def add(machine, memory, k):
    memory.n[0] += k
    if k > 90:
        raise ValueError("too far")
    return machine.values[0] + memory.n[0]


@callback
def multiply(machine, memory, k):
    memory.values[1] *= k
    return memory.values[1]


@callback
def double(machine, memory, k):
    return 2.0 * k


@kernel
def run(machine, k):
    return machine.step(machine, machine.memory, k)


def machine(function, memory):
    """A record that carries a function of itself and of a memory of any class."""
    step = FunctionType(types.float64, (Machine, OPAQUE, types.int64))
    kind = record_type(Machine, (OPAQUE, types.Array(types.float64, 1, "C"), step))
    compiled = CompiledFunction(function, kind, Opaque(Block.of(memory).type), types.int64)
    return Block.of(Machine(memory, np.array([0.5]), compiled))


def test_one_kernel_calls_the_functions_that_records_carry():
    first, second = machine(add, Counter(np.zeros(1))), machine(multiply, Memory(np.ones(2)))
    assert first.type is second.type
    n_compiled = len(run.signatures)
    assert [call(run, first, 3), call(run, first, 4)] == [3.5, 7.5]
    assert [call(run, second, 3), call(run, second.copy(), 4), call(run, second, 5)] == [3.0, 12.0, 15.0]
    assert len(run.signatures) <= n_compiled + 1


def test_an_exception_of_a_function_reaches_the_caller():
    with raises(ValueError, "too far"):
        call(run, machine(add, Counter(np.zeros(1))), 91)


def test_functions_are_compiled_once_and_pickled_by_name():
    block = machine(add, Counter(np.zeros(1)))
    assert machine(add, Counter(np.ones(1))).record.step is block.record.step
    restored = pickle.loads(pickle.dumps(block))
    assert restored.record.step is block.record.step and call(run, restored, 2) == 2.5


def test_a_function_that_is_never_called_has_a_type_and_no_address():
    class Optional(NamedTuple):
        function: Any

    kind = FunctionType(types.float64, (types.float64,))
    assert Block.of(Optional(NoFunction(kind))).type.fields["function"] == (0, kind)


def test_arguments_of_other_types_are_refused_when_a_kernel_is_compiled():
    @kernel
    def wrong(machine):
        return machine.step(machine, machine.memory)

    with pytest.raises(Exception, match="is called with"):
        call(wrong, machine(add, Counter(np.zeros(1))))


def test_a_copy_can_carry_another_function():
    block = machine(add, Counter(np.zeros(1)))
    other = machine(double, Counter(np.ones(1))).record.step
    copied = block.with_function("step", other)
    assert [call(run, copied, 3), call(run, block, 3)] == [6.0, 3.5]
    assert copied.record.step is other and block.record.step is not other
    assert call(run, copied.copy(), 2) == 4.0 and call(run, pickle.loads(pickle.dumps(copied)), 5) == 10.0
