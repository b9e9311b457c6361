"""Coordination methods of the user, compiled; see `berlyne.strategies.own_methods`.

A method reads a `MethodView`, which has the attributes and methods of `berlyne.strategies.coordination.View` that do
not grow with the square of the number of states. They are functions of the belief's own arrays: nothing is copied.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.extending import overload_attribute, overload_method, register_jitable, register_model

from berlyne.engine.blocks import (
    AddressModel,
    CompiledFunction,
    FunctionType,
    NoFunction,
    RecordType,
    set_record_type,
    type_of,
)
from berlyne.engine.jit import COMPILING, callback, user_function, why_not_compiled
from berlyne.engine.row_beliefs import TOTAL, Belief
from berlyne.sparse import Support
from berlyne.strategies.own_methods import OwnMethod, RegisteredMethod
from berlyne.validation import OWN_METHOD, BoolArray, FloatArray, IndexArray, IntArray
from berlyne.worlds.world import World

_I, _F = types.int64, types.float64

BAD_SHAPE = (
    f"a method returned another number of values than there are actions; it must return one for each{OWN_METHOD}"
)
NOT_FINITE = f"a method returned values of which one is NaN, or the largest is not finite{OWN_METHOD}"
NO_SUCH_ROW = f"a method asked for a state or an action that does not exist{OWN_METHOD}"
BAD_STATE_VALUES = f"view.expected(v) needs one value for each state{OWN_METHOD}"


class ViewType(RecordType):
    """The Numba type of a view: only the memory of the method can be written."""

    def __init__(self, record: Any, kinds: tuple[Any, ...]) -> None:
        pairs = zip(record._fields, kinds, strict=True)
        locked = (k.copy(readonly=True) if isinstance(k, types.Array) and f != "table" else k for f, k in pairs)
        super().__init__(record, tuple(locked))


register_model(ViewType)(AddressModel)


# What the methods of a view compute


@register_jitable
def _check_row(view: MethodView, a: int, s: int) -> None:
    """Raise an `IndexError` unless there is such a row."""
    if not (0 <= a < view.n_actions and 0 <= s < view.n_known[0]):
        raise IndexError(NO_SUCH_ROW)


@register_jitable
def _base(view: MethodView, a: int, s: int) -> float:
    """Return the estimate of every state without a slot."""
    return view.base_weight[s * view.stride + a] if len(view.base_weight) else 0.0


@register_jitable
def _add_expected(view: MethodView, v: FloatArray, total: float, s: int, out: FloatArray) -> None:
    """Add to `out` (M,) the expected value of the state after each action in state s; `total` is the sum of `v`."""
    stride, first = view.stride, view.start[s]
    for a in range(view.n_actions):
        out[a] += _base(view, a, s) * total
    for k in range(first, first + view.length[s]):
        for a in range(view.n_actions):
            out[a] += view.weight[k * stride + a] * v[view.succ[k]]


@register_jitable
def _sum_of(view: MethodView, v: FloatArray) -> float:
    """Return the sum of the values of all states if it is needed, else 0."""
    if len(v) != view.n_known[0]:
        raise ValueError(BAD_STATE_VALUES)
    return v.sum() if len(view.base_weight) else 0.0


@register_jitable
def _expected_in(view: MethodView, v: FloatArray, s: int) -> FloatArray:
    """Return the expected value of the state after each action in state s, (M,)."""
    _check_row(view, 0, s)
    out = np.zeros(view.n_actions)
    _add_expected(view, v, _sum_of(view, v), s, out)
    return out


@register_jitable
def _expected_everywhere(view: MethodView, v: FloatArray) -> FloatArray:
    """Return the expected value of the next state, `[a, s]`."""
    out, total = np.zeros((view.n_known[0], view.n_actions)), _sum_of(view, v)
    for s in range(view.n_known[0]):
        _add_expected(view, v, total, s, out[s])
    return out.T


class MethodView(NamedTuple):
    """The knowledge of a compiled method: arrays of its agent, in the layout of `Belief` and `ChoiceState`.

    Its properties and methods are those of `berlyne.strategies.coordination.View`.

    Attributes
    ----------
    n_known, weight, base_weight, n_in_slot, row_stats, utilities : ndarray
        `n_states`, `weight`, `base_weight`, `n`, `row_stats` and `utility` of the belief.
    start, length, succ, n_actions, stride : ndarray, ndarray, ndarray, int, int
        Of the belief's graph.
    visits_and_sum, n_obs, is_terminal, possible_rows : ndarray
        `visits`, `n_obs`, `terminal` and `possible` of the choice state.
    table : ndarray
        `[s * stride + a]`, the memory of the method.
    """

    n_known: IntArray
    weight: FloatArray
    base_weight: FloatArray
    n_in_slot: IndexArray
    row_stats: IndexArray
    utilities: FloatArray
    start: IntArray
    length: IndexArray
    succ: IndexArray
    n_actions: int
    stride: int
    visits_and_sum: IntArray
    n_obs: IntArray
    is_terminal: BoolArray
    possible_rows: BoolArray
    table: FloatArray

    @property
    def n_states(self) -> int:
        """Number of states, N."""
        return self.n_known[0]  # type: ignore[no-any-return]  # NumPy's types are too narrow here

    @property
    def t(self) -> Any:
        """Number of observations."""
        return self.n_obs[0]

    @property
    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`."""
        return self.utilities.reshape((len(self.start), self.stride))[: self.n_known[0], : self.n_actions].T

    @property
    def memory(self) -> FloatArray:
        """The memory of the method, `[a, s]`."""
        return self.table.reshape((len(self.start), self.stride))[: self.n_known[0], : self.n_actions].T

    @property
    def possible(self) -> BoolArray:
        """Whether each action can be taken, `[a, s]`."""
        return self.possible_rows.reshape((len(self.start), self.stride))[: self.n_known[0], : self.n_actions].T

    @property
    def n(self) -> IndexArray:
        """Number of observations of each row, `[a, s]`."""
        by_state = self.row_stats.reshape((len(self.start), self.stride, 4))
        return by_state[: self.n_known[0], : self.n_actions, TOTAL].T

    @property
    def visits(self) -> IntArray:
        """Number of visits of each state."""
        return self.visits_and_sum[: self.n_known[0]]

    @property
    def terminal(self) -> BoolArray:
        """Whether episodes end in each state."""
        return self.is_terminal[: self.n_known[0]]

    def outcomes(self, a: int, s: int) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the observed outcomes of row (a, s), ascending, their counts, and their estimated probabilities."""
        _check_row(self, a, s)
        n_seen, first = 0, self.start[s]
        last = first + self.length[s]
        for k in range(first, last):
            n_seen += self.n_in_slot[k * self.stride + a] > 0
        s_next, counts, p = np.empty(n_seen, dtype=np.int64), np.empty(n_seen, dtype=np.int64), np.empty(n_seen)
        n_seen = 0
        for k in range(first, last):
            n = self.n_in_slot[k * self.stride + a]
            if n > 0:
                j = n_seen
                while j > 0 and s_next[j - 1] > self.succ[k]:  # slots are in the order of discovery
                    s_next[j], counts[j], p[j] = s_next[j - 1], counts[j - 1], p[j - 1]
                    j -= 1
                s_next[j], counts[j], p[j] = self.succ[k], n, _base(self, a, s) + self.weight[k * self.stride + a]
                n_seen += 1
        return s_next, counts, p

    def probability(self, a: int, s: int, s_next: int) -> float:
        """Return the estimated probability of one outcome of row (a, s)."""
        _check_row(self, a, s)
        _check_row(self, a, s_next)
        p, first = _base(self, a, s), self.start[s]
        for k in range(first, first + self.length[s]):
            if self.succ[k] == s_next:
                p += self.weight[k * self.stride + a]
                break  # padding slots repeat the last outcome
        return p

    def expected(self, v: FloatArray, s: int | None = None) -> FloatArray:
        """Return the expected value of the next state; see `berlyne.strategies.coordination.View.expected`."""
        return _expected_everywhere(self, v) if s is None else _expected_in(self, v, s)


set_record_type(MethodView, ViewType)


# How Numba sees the properties and methods of a view


def _computed_by(function: Any) -> Any:
    compiled = register_jitable(function)
    return lambda view: lambda view: compiled(view)


for _name in ("n_states", "t", "utility", "memory", "possible", "n", "visits", "terminal"):
    overload_attribute(ViewType, _name)(_computed_by(getattr(MethodView, _name).fget))

_outcomes, _probability = register_jitable(MethodView.outcomes), register_jitable(MethodView.probability)


@overload_method(ViewType, "outcomes")
def _type_outcomes(view, a, s):  # type: ignore[no-untyped-def]  # Numba compares the parameters
    return lambda view, a, s: _outcomes(view, a, s)


@overload_method(ViewType, "probability")
def _type_probability(view, a, s, s_next):  # type: ignore[no-untyped-def]
    return lambda view, a, s, s_next: _probability(view, a, s, s_next)


@overload_method(ViewType, "expected")
def _type_expected(view, v, s=None):  # type: ignore[no-untyped-def]
    if s is None or isinstance(s, types.Omitted | types.NoneType):
        return lambda view, v, s=None: _expected_everywhere(view, v)
    return lambda view, v, s=None: _expected_in(view, v, s)


def new_view(belief: Belief, choice: Any, table: FloatArray) -> MethodView:
    """Return the view of an agent's belief and `ChoiceState`, and of the memory of its method."""
    graph = belief.graph
    slots = belief.n_states, belief.weight, belief.base_weight, belief.n, belief.row_stats, belief.utility
    states = graph.start, graph.length, graph.succ, graph.n_actions, graph.stride
    return MethodView(*slots, *states, choice.visits, choice.n_obs, choice.terminal, choice.possible, table)


class OwnMemory(NamedTuple):
    """View, memory and functions of a compiled method.

    Attributes
    ----------
    knowledge : MethodView
        What it sees.
    q : ndarray
        `[s * stride + a]`, its memory.
    values, learn : CompiledFunction
        Its functions, see `berlyne.strategies.own_methods.OwnMethod`.
    learns : bool
        Whether it has a function `learn`.
    """

    knowledge: MethodView
    q: FloatArray
    values: Any
    learn: Any
    learns: bool


def new_own_memory(
    coordinate: RegisteredMethod, belief: Belief, choice: Any, support: Support, world: World | None
) -> OwnMemory:
    """Return the memory of a method before any data."""
    definition = coordinate.definition
    q = np.full(len(belief.utility), definition.initial)
    values, learn = compile_method(definition)
    return OwnMemory(new_view(belief, choice, q), q, values, learn, definition.learn is not None)


@cache
def _view_type() -> Any:
    """Return the type of all views."""
    f, i, h, rows = np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), np.empty((0, 4), np.int32)
    flags = np.empty(0, np.bool_)
    return type_of(MethodView(i, f, f, h, rows, f, i, h, h, 0, 0, i, i, flags, flags, f))


@cache
def compile_method(definition: OwnMethod) -> tuple[Any, Any]:
    """Compile the functions `values` and `learn` of a method."""
    none = NoFunction(FunctionType(types.none, (MethodView, _I, _I, _I, _F)))
    if not COMPILING:
        return definition.values, definition.learn or none
    values = CompiledFunction(user_function(definition.values), _view_type(), _I)
    result = values.type.result
    numbers = isinstance(result, types.Array) and isinstance(result.dtype, types.Float | types.Integer | types.Boolean)
    if not numbers or result.ndim != 1:
        raise TypeError(f"it returns {result}, not an array of numbers with one axis")
    if definition.learn is None:
        return values, none
    learn = CompiledFunction(user_function(definition.learn), _view_type(), _I, _I, _I, _F)
    if learn.type.result != types.none:
        raise TypeError(f"learn returns {learn.type.result}; it must return nothing")
    return values, learn


@cache
def can_compile_method(name: str, definition: OwnMethod) -> bool:
    """Whether a method can be compiled; if not, warn once."""
    try:
        compile_method(definition)
    except (NumbaError, TypeError) as error:
        warnings.warn(
            f"the method {name} cannot be compiled, so it runs in plain NumPy, which is slower; "
            f"Numba: {why_not_compiled(error)}{OWN_METHOD}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@callback
def own_values(belief: Belief, choice: Any, memory: OwnMemory, s: int) -> None:
    """The values that the method returns; those of actions that are not possible are not checked."""
    values = memory.values(memory.knowledge, s)
    if len(values) != len(choice.values):
        raise ValueError(BAD_SHAPE)
    largest, n_possible = -np.inf, 0
    for a in range(len(values)):
        value = float(values[a])
        if choice.possible[s * belief.graph.stride + a]:
            if math.isnan(value):
                raise ValueError(NOT_FINITE)
            largest = max(largest, value)
            n_possible += 1
        choice.values[a] = value
    if n_possible > 0 and not math.isfinite(largest):
        raise ValueError(NOT_FINITE)


@callback
def learn_own(belief: Belief, choice: Any, memory: OwnMemory, s: int, a: int, s_next: int, reward: float) -> None:
    """Let the method learn."""
    if memory.learns:
        memory.learn(memory.knowledge, s, a, s_next, reward)
