"""Records in one block of memory, which kernels take by pointer; and compiled functions that records carry.

A record is a NamedTuple of numbers, arrays, other records and compiled functions. `Block.of(record)` lays it out:

- a *header* of 8-byte words: a number is one word; an array is the address of its data and its shape (C order, so the
  strides follow); another record or a function is its address;
- behind the header, aligned to cache lines, the data of every array that can be written.

Read-only arrays are shared: the header holds their address, and the block keeps them alive. A block is copied by
copying its memory, because the addresses of its parts move together. Agents of the same prior and strategy start as
copies of one block. `Block.around(record)` makes the header only, and all arrays stay where they are.

In a kernel `block.weight` is a load from the header. The words of a header never change while the block is in use, so
LLVM may move and merge these loads (`!invariant.load`). Only the contents of arrays change.

A kernel is compiled for types of records, not for sizes. A function in a record is known by its signature, in which
records are named by class. So a record may carry functions that take the record itself. A field named to `hide_fields`
is a record of any class: kernels only pass it on, to functions that were compiled for it.

With compilation off (NUMBA_DISABLE_JIT) kernels run as plain Python on `block.record`.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, typing
from numba.core.errors import TypingError
from numba.core.imputils import impl_ret_untracked
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

from berlyne.engine.jit import COMPILING, kernel

WORD = 8
"""Bytes of one word."""
LINE = 8
"""Words of one cache line, to which arrays are aligned."""

_I64 = ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_tools: Any = cgutils
_populate_array: Any = populate_array
_untracked: Any = impl_ret_untracked
_signature: Any = typing.templates.signature


# Types that Numba sees


class RecordType(types.Type):
    """The Numba type of a pointer to a record.

    Attributes
    ----------
    record : type
        The class of the record.
    fields : dict
        For each field its first word in the header and its Numba type.
    """

    def __init__(self, record: Any, kinds: tuple[Any, ...]) -> None:
        self.record, self.fields, self.n_words = record, {}, 0
        for name, kind in zip(record._fields, kinds, strict=True):
            self.fields[name] = self.n_words, kind
            self.n_words += 1 + kind.ndim if isinstance(kind, types.Array) else 1
        layout = f"{record.__module__}.{record.__qualname__} {self.fields}"
        # types are compared by name, which is part of every symbol and should be short
        super().__init__(name=f"Record[{record.__name__}.{hashlib.sha256(layout.encode()).hexdigest()[:16]}]")


class OpaqueType(types.Type):
    """The Numba type of a pointer to a record of unknown class."""

    def __init__(self) -> None:
        super().__init__(name="OpaqueRecord")


OPAQUE = OpaqueType()


class FunctionType(types.Callable):
    """The Numba type of a function that a record carries.

    Attributes
    ----------
    result : numba type
        What the function returns.
    arguments : tuple
        Numba types; for a record its class, or `OPAQUE`.
    """

    def __init__(self, result: Any, arguments: tuple[Any, ...]) -> None:
        self.result, self.arguments = result, arguments
        names = ", ".join(getattr(argument, "__name__", str(argument)) for argument in arguments)
        super().__init__(name=f"Function[{result}({names})]")

    @property
    def key(self) -> Any:
        """The key by which function types are compared."""
        return self.result, self.arguments

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Return the signature of a call, whose arguments are converted to 64 bits."""
        wide = tuple(map(_widened, args))
        if tuple(map(_class_or_type, wide)) != self.arguments:
            raise TypingError(f"{self} is called with {wide}")
        return _signature(self.result, *wide, recvr=self)

    def get_call_signatures(self) -> Any:
        """Return no fixed signatures."""
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        """Return the key under which the call is implemented."""
        return FunctionType


def _widened(kind: Any) -> Any:
    """Return the type that an argument is converted to before a call by pointer."""
    if isinstance(kind, types.Boolean):
        return types.boolean
    return types.int64 if isinstance(kind, types.Integer) else types.float64 if kind in types.number_domain else kind


def _class_or_type(kind: Any) -> Any:
    """Return what the type of a function holds of an argument."""
    return kind.record if isinstance(kind, RecordType) else kind


@register_model(RecordType)
@register_model(FunctionType)
@register_model(OpaqueType)
class AddressModel(models.PrimitiveModel):
    """How a pointer to a record, or a function, is passed: as an address."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BYTES)  # type: ignore[no-untyped-call]  # Numba has no types


_RECORD_TYPES: dict[Any, RecordType] = {}
_SPECIAL_TYPES: dict[Any, type[RecordType]] = {}


def set_record_type(record: Any, kind: type[RecordType]) -> None:
    """Let a class of records have a type of its own, which can have more attributes than the record has fields."""
    _SPECIAL_TYPES[record] = kind


def record_type(record: Any, kinds: tuple[Any, ...]) -> RecordType:
    """Return the type of a record whose fields have these Numba types; there is one object for each."""
    key = record, *map(id, kinds)  # Numba has one object for equal types, and takes long to hash them
    if key not in _RECORD_TYPES:
        _RECORD_TYPES[key] = _SPECIAL_TYPES.get(record, RecordType)(record, kinds)  # which keeps them alive
    return _RECORD_TYPES[key]


_HIDDEN: dict[Any, tuple[str, ...]] = {}


def hide_fields(record: Any, *names: str) -> None:
    """Let these fields of a class of records hold records of any class, which kernels only pass on."""
    _HIDDEN[record] = names


def type_of(value: Any) -> Any:
    """Return the Numba type of a record, or of one field of it."""
    if isinstance(value, np.ndarray):
        return _array_type(value.dtype, value.ndim)
    if isinstance(value, CompiledFunction | NoFunction):
        return value.type
    if isinstance(value, tuple):
        record: Any = type(value)
        hidden = _HIDDEN.get(record, ())
        fields = zip(record._fields, value, strict=True)
        return record_type(record, tuple(OPAQUE if name in hidden else type_of(field) for name, field in fields))
    if isinstance(value, bool):
        return types.boolean
    if not COMPILING and callable(value):
        return OPAQUE
    return types.float64 if isinstance(value, float) else types.int64


@cache
def _array_type(dtype: Any, ndim: int) -> Any:
    return types.Array(numba.from_dtype(dtype), ndim, "C")


# Blocks


class _Array(NamedTuple):
    """An array inside a block."""

    first_word: int
    dtype: Any
    shape: tuple[int, ...]


class _Tree(NamedTuple):
    """The class of a record and its fields, in which an `_Array` stands for an array and a `_Tree` for a record."""

    record: Any
    fields: list[Any]

    def restored(self, words: Any, parts: dict[Any, Any]) -> Any:
        """Return the record with views of the arrays in `words`; `parts` are those restored already."""
        if id(self) not in parts:
            parts[id(self)] = self.record(*[self._field(value, words, parts) for value in self.fields])
        return parts[id(self)]

    @staticmethod
    def _field(value: Any, words: Any, parts: dict[Any, Any]) -> Any:
        if type(value) is _Array:
            if value not in parts:  # the shape counts: an empty array begins where the next one does
                parts[value] = np.ndarray(value.shape, value.dtype, words, value.first_word * WORD)
            return parts[value]
        return value.restored(words, parts) if type(value) is _Tree else value


class _Schema(NamedTuple):
    """How a record lies in a block; shared by all copies of the block.

    Attributes
    ----------
    type : RecordType
        The type of the record.
    n_words : int
        Words of the block.
    moving : ndarray
        The words of the headers that hold addresses inside the block.
    tree : _Tree
        How the record is restored.
    """

    type: RecordType
    n_words: int
    moving: Any
    tree: _Tree


class Block:
    """A record in memory that kernels can read.

    Attributes
    ----------
    address : int
        Where the header of the record begins.
    type : RecordType
        The Numba type of a pointer to it.
    """

    __slots__ = ("__weakref__", "_record", "_schema", "_words", "address", "type")

    def __init__(self, schema: _Schema, source: Any, base: int) -> None:
        buffer = np.empty(schema.n_words + LINE, dtype=np.int64)
        self.address, first = _copy_words(source, base, schema.n_words, schema.moving, buffer)
        self._schema, self._words, self.type = schema, buffer[first:], schema.type
        self._record: Any = None

    @classmethod
    def of(cls, record: Any) -> Block:
        """Lay out a record. Arrays that can be written are copied into the block; read-only ones are shared."""
        return _Builder(record).block()

    @classmethod
    def around(cls, record: Any) -> Block:
        """Lay out a record of arrays, which stay where they are; it can hold nothing else."""
        block: Any = cls.__new__(cls)
        key: list[Any] = [type(record)]
        words: list[int] = []
        for array in record:
            _check_array(array)
            form = array.dtype.num, array.ndim
            key.append(form)
            words.append((_ADDRESSES.get(form) or _address_function(array))(array))
            words += array.shape
        kind = _TYPES_AROUND.get(tuple(key))
        if kind is None:
            kind = _TYPES_AROUND[tuple(key)] = type_of(record)
        block._schema, block._words, block.type, block._record = None, np.array(words, dtype=np.int64), kind, record
        block.address = (_ADDRESSES.get(_WORDS) or _address_function(block._words))(block._words)
        laid_out: Block = block
        return laid_out

    def copy(self) -> Block:
        """Return a copy with arrays of its own."""
        return Block(self._schema, self._words, self.address)

    def with_function(self, name: str, function: CompiledFunction) -> Block:
        """Return a copy in which a field of the record is another function of the same type."""
        word, kind = self.type.fields[name]
        assert kind == function.type
        record, fields = self._schema.tree
        fields = [function if field == name else value for field, value in zip(record._fields, fields, strict=True)]
        copied = Block(self._schema._replace(tree=_Tree(record, fields)), self._words, self.address)
        copied._words[word] = function.address  # the header of the record comes first
        return copied

    @property
    def record(self) -> Any:
        """The record again, with views of the arrays inside the block."""
        if self._record is None:
            self._record = self._schema.tree.restored(self._words, {})
        return self._record

    def __reduce__(self) -> Any:  # addresses mean nothing in another process
        return (Block.around if self._schema is None else Block.of), (self.record,)


_WORDS = np.dtype(np.int64).num, 1
_ADDRESSES: dict[tuple[int, int], Any] = {}
_TYPES_AROUND: dict[Any, RecordType] = {}


@kernel
def _address(array: Any) -> int:
    return array.ctypes.data  # type: ignore[no-any-return]  # arrays are Any here, an address is an int


def _address_function(array: Any) -> Any:
    """Return a function for the address of arrays of this kind; NumPy's own answer takes ten times as long."""
    function: Any = _address
    if COMPILING:
        kind = (type_of(array),)
        _address.compile(kind)  # type: ignore[attr-defined]
        function = _address.get_overload(kind)  # type: ignore[attr-defined]
    _ADDRESSES[array.dtype.num, array.ndim] = function
    return function


def _check_array(array: Any) -> None:
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned and array.dtype.isnative):
        raise ValueError("kernels take aligned arrays in C order, of native numbers")


class _Builder:
    """Lays out one record and the records inside it; a part that occurs twice is laid out once."""

    def __init__(self, record: Any) -> None:
        self._words: list[int] = []
        self._moving: list[int] = []
        self._arrays: list[tuple[int, list[Any], int, Any]] = []  # word, fields, position among them, array
        self._records: dict[int, tuple[int, _Tree]] = {}
        _, self._tree = self._add_record(record)
        self._type = type_of(record)

    def _add_record(self, record: Any) -> tuple[int, _Tree]:
        """Return first word and tree of a record, whose header follows those before it."""
        if id(record) in self._records:
            return self._records[id(record)]
        n_words = [1 + value.ndim if isinstance(value, np.ndarray) else 1 for value in record]
        word = first = len(self._words)
        self._words += [0] * sum(n_words)
        tree = _Tree(type(record), [])
        for value, n in zip(record, n_words, strict=True):
            self._add_field(word, value, tree.fields)
            word += n
        self._records[id(record)] = first, tree
        return first, tree

    def _add_field(self, word: int, value: Any, fields: list[Any]) -> None:
        """Write one field at a word of the header, and note how it is restored."""
        fields.append(value)
        if isinstance(value, np.ndarray):
            _check_array(value)
            self._words[word + 1 : word + 1 + value.ndim] = value.shape
            if value.flags.writeable:
                self._moving.append(word)
                self._arrays.append((word, fields, len(fields) - 1, value))
            else:
                self._words[word] = value.__array_interface__["data"][0]
        elif isinstance(value, CompiledFunction | NoFunction):
            self._words[word] = value.address
        elif isinstance(value, tuple):
            first, fields[-1] = self._add_record(value)
            self._words[word] = first * WORD
            self._moving.append(word)
        elif isinstance(value, float):
            self._words[word] = int.from_bytes(struct.pack("d", value), sys.byteorder, signed=True)
        elif COMPILING or not callable(value):
            self._words[word] = int(value)

    def block(self) -> Block:
        """Return the block."""
        n_header = n_words = len(self._words)
        first_word: dict[int, int] = {}
        for word, fields, i, array in self._arrays:
            if id(array) not in first_word:
                first_word[id(array)] = -(-n_words // LINE) * LINE
                n_words = first_word[id(array)] - (-array.nbytes // WORD)
            self._words[word] = first_word[id(array)] * WORD
            fields[i] = _Array(first_word[id(array)], array.dtype, array.shape)
        source = np.zeros(n_words, dtype=np.int64)
        source[:n_header] = self._words
        for _, _, _, array in self._arrays:
            first = first_word[id(array)]
            source[first : first - (-array.nbytes // WORD)].view(np.uint8)[: array.nbytes] = array.reshape(-1).view(
                np.uint8
            )
        moving = np.array(self._moving, dtype=np.int64)
        return Block(_Schema(self._type, n_words, moving, self._tree), source, 0)


@kernel
def _copy_words(source: Any, base: int, n_words: int, moving: Any, target: Any) -> tuple[int, int]:
    """Copy a block, which began at address `base`, to the first cache line of `target`.

    Returns the new address, and the word of `target` at which it is.
    """
    first = -(target.ctypes.data // WORD) % LINE
    address = target.ctypes.data + first * WORD
    for i in range(n_words):
        target[first + i] = source[i]
    for i in range(len(moving)):
        target[first + moving[i]] += address - base
    return address, first


# Functions in records


class CompiledFunction:
    """A compiled function of records and numbers, which a record carries and kernels call through its address.

    Parameters
    ----------
    function : Callable
        A function made by `berlyne.engine.jit.callback`.
    *arguments : numba types
        The types of its arguments; a record type inside `Opaque` is hidden from callers.
    """

    __slots__ = ("address", "arguments", "function", "library", "type")
    _compiled: ClassVar[dict[Any, Any]] = {}

    def __new__(cls, function: Any, *arguments: Any) -> Any:
        """Return the one object for a function and the types of its arguments, compiled on first use."""
        if not COMPILING:
            return function
        key = function, arguments
        if key not in cls._compiled:
            compiled = super().__new__(cls)
            compiled._compile(function, arguments)
            cls._compiled[key] = compiled  # last, so that other threads see it whole
        return cls._compiled[key]

    def _compile(self, function: Any, arguments: tuple[Any, ...]) -> None:
        kinds = tuple(kind.type if type(kind) is Opaque else kind for kind in arguments)
        function.compile(kinds)
        overload = function.overloads[kinds]
        self.function, self.arguments = function, arguments
        self.library = overload.library  # which owns the code
        # by Numba's own calling convention, which passes exceptions on
        self.address = self.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
        known = (OPAQUE if type(kind) is Opaque else _class_or_type(kind) for kind in arguments)
        self.type = FunctionType(overload.signature.return_type, tuple(known))

    def __reduce__(self) -> Any:
        return CompiledFunction, (self.function, *self.arguments)


class NoFunction(NamedTuple):
    """In place of a function that is never called."""

    type: FunctionType
    address: int = 0


class Opaque(NamedTuple):
    """The type of an argument of which callers know only that it is a record."""

    type: Any


_ENTRY_POINTS: dict[Any, Any] = {}
_SCALARS: dict[type, Any] = {bool: types.boolean, int: types.int64, float: types.float64}


def call(kernel: Any, *arguments: Any) -> Any:
    """Call a kernel with blocks and Python numbers.

    The kernel is compiled for the types of the blocks, and then looked up by them: Numba's own look-up of types takes
    longer than a step of an explorer.
    """
    key = kernel, *[id(a.type) if type(a) is Block else type(a) for a in arguments]
    entry_point = _ENTRY_POINTS.get(key)
    if entry_point is None:
        if not COMPILING:
            return kernel(*[a.record if type(a) is Block else a for a in arguments])
        kinds = tuple(a.type if type(a) is Block else _SCALARS[type(a)] for a in arguments)
        kernel.compile(kinds)
        entry_point = _ENTRY_POINTS[key] = kernel.get_overload(kinds)
    return entry_point(*arguments)


# How Numba reads blocks


@typeof_impl.register(Block)
def _type_of_block(value: Any, c: Any) -> Any:
    return value.type


@unbox(RecordType)  # type: ignore[no-untyped-call, untyped-decorator]  # here and below: Numba has no types
def _unbox_record(kind: Any, obj: Any, c: Any) -> Any:
    number = c.pyapi.object_getattr_string(obj, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    is_error = _tools.is_not_null(c.builder, c.pyapi.err_occurred())
    return NativeValue(address, is_error=is_error)  # type: ignore[no-untyped-call]


@infer_getattr
class _Fields(typing.templates.AttributeTemplate):
    key = RecordType

    def generic_resolve(self, kind: Any, name: str) -> Any:  # type: ignore[override]
        return kind.fields[name][1] if name in kind.fields else None


@lower_getattr_generic(RecordType)  # type: ignore[no-untyped-call, untyped-decorator]
def _load_field(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
    first, field = kind.fields[name]
    header = builder.bitcast(value, _I64.as_pointer())
    no_metadata = builder.module.add_metadata([])

    def word(i: int) -> Any:
        place = builder.gep(header, [ir.Constant(ir.IntType(32), first + i)], inbounds=True)
        loaded = builder.load(place, align=WORD)
        loaded.set_metadata("invariant.load", no_metadata)
        return loaded

    if isinstance(field, types.Array):
        shape = [word(1 + i) for i in range(field.ndim)]
        item_size = context.get_abi_sizeof(context.get_data_type(field.dtype))
        strides = [ir.Constant(_I64, item_size)]
        for n in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], n))
        array = context.make_array(field)(context, builder)
        data = builder.inttoptr(word(0), context.get_data_type(field.dtype).as_pointer())
        _populate_array(array, data, shape, strides, item_size, None)  # no owner: counting its references costs nothing
        return _untracked(context, builder, field, array._getvalue())
    if isinstance(field, types.Float):
        return builder.bitcast(word(0), ir.DoubleType())
    if isinstance(field, types.Boolean):
        return builder.icmp_signed("!=", word(0), ir.Constant(_I64, 0))
    if isinstance(field, types.Integer):
        return word(0)
    return builder.inttoptr(word(0), _BYTES)


@lower_builtin(FunctionType, types.VarArg(types.Any))  # type: ignore[no-untyped-call, untyped-decorator]
def _call_function(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Call a function through its address; an exception goes on to the caller."""
    function, arguments = sig.args[0], sig.args[1:]
    convention = context.call_conv
    kind = convention.get_function_type(function.result, arguments)
    code = builder.bitcast(args[0], kind.as_pointer())
    status, result = convention.call_function(builder, code, function.result, arguments, args[1:])
    with _tools.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return result
