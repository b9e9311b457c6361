"""Utilities that are a function of the counts of a row, compiled; see `berlyne.strategies.indices`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core.errors import NumbaError

from berlyne.engine.action_selection import ChoiceState
from berlyne.engine.blocks import CompiledFunction
from berlyne.engine.jit import COMPILING, callback, inline, user_function, why_not_compiled
from berlyne.engine.row_beliefs import SEEN, TOTAL, Belief, Family
from berlyne.strategies.indices import NO_SURPRISE, Row, reads
from berlyne.validation import OWN_UTILITY, FloatArray, IntArray

_I, _F = types.int64, types.float64
_COUNTS = types.Array(_I, 1, "C")
_ROW: Any = types.NamedTuple((_I, _F, _I, _I, _COUNTS, _COUNTS, _I, _F, _F), Row)  # type: ignore[no-untyped-call]  # Numba has no types

NOT_FINITE = f"an index returned a value that is not finite; it must return a finite number for every row{OWN_UTILITY}"
NO_INDEX, ROW_INDEX, GLOBAL_INDEX = 0, 1, 2
"""Whether the utility is an index, and if so, whether an observation changes that of its row only or of all rows."""


class CompiledIndex(NamedTuple):
    """An index, and scratch to call it.

    Attributes
    ----------
    value : CompiledFunction
        `value(row)`: the index of a `berlyne.strategies.indices.Row`.
    kappa : CompiledFunction
        Of the prior, see `berlyne.engine.row_beliefs.Family`.
    counts, visits : ndarray of int, shape (N,)
        Scratch for the fields of a row.
    state_rarity : ndarray of shape (N + 1,)
        Rarity of every state in bits, then their sum; empty if the index does not read rarity.
    surprise : ndarray of shape (rows,)
        Surprise of the last outcome of each row in bits, NaN if it was never tried; empty if surprise is not read.
    """

    value: Any
    kappa: Any
    counts: IntArray
    visits: IntArray
    state_rarity: FloatArray
    surprise: FloatArray


def new_index(function: Callable[..., Any], family: Family, belief: Any, n_states: int, n_rows: int) -> CompiledIndex:
    """Return an index for beliefs of type `belief`, with this number of rows, padding included."""
    scratch = np.zeros(n_states, dtype=np.int64), np.zeros(n_states, dtype=np.int64)
    state_rarity = np.zeros(n_states + 1 if reads(function, "rarity") else 0)
    surprise = np.full(n_rows if reads(function, "surprise") else 0, np.nan)
    functions = compile_index(function), CompiledFunction(family.kappa, belief, _I, _I)
    return CompiledIndex(*functions, *scratch, state_rarity, surprise)


@cache
def compile_index(function: Callable[..., Any]) -> Any:
    """Compile a function of a row."""
    if not COMPILING:
        return function
    compiled = CompiledFunction(user_function(function), _ROW)
    if not isinstance(compiled.type.result, types.Float | types.Integer | types.Boolean):
        raise TypeError(f"it returns {compiled.type.result}, not a number")
    return compiled


@cache
def can_compile_index(name: str, function: Callable[..., Any]) -> bool:
    """Whether an index can be compiled; if not, warn once."""
    try:
        compile_index(function)
    except (NumbaError, TypeError) as error:
        warnings.warn(
            f"the index {name} cannot be compiled, so it runs in plain NumPy, which is slower; "
            f"Numba: {why_not_compiled(error)}{OWN_UTILITY}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@inline
def rarity_of_row(belief: Belief, index: CompiledIndex, s: int, a: int) -> float:
    """Compute the expected rarity of the next state of row (a, s); NaN if the index does not read it."""
    if len(index.state_rarity) == 0:
        return math.nan
    graph, n_states = belief.graph, len(belief.graph.start)
    base_weight = belief.base_weight[s * graph.stride + a] if len(belief.base_weight) else 0.0
    total, others, first = 0.0, index.state_rarity[n_states], graph.start[s]
    for k in range(first, first + graph.length[s]):
        rarity = index.state_rarity[graph.succ[k]]
        total += (base_weight + belief.weight[k * graph.stride + a]) * rarity
        others -= rarity
    return total + base_weight * others if graph.length[s] < n_states else total


@inline
def surprise_of_row(belief: Belief, index: CompiledIndex, s: int, a: int) -> float:
    """Return the surprise of the last outcome of row (a, s), or its entropy if untried; NaN if it is not read."""
    if len(index.surprise) == 0:
        return math.nan
    graph = belief.graph
    r, first = s * graph.stride + a, graph.start[s]
    known: float = index.surprise[r]
    if not math.isnan(known):
        return known if known > NO_SURPRISE else 0.0
    base_weight = belief.base_weight[r] if len(belief.base_weight) else 0.0
    bits, n_others = 0.0, len(graph.start) - graph.length[s]
    for k in range(first, first + graph.length[s]):
        p = base_weight + belief.weight[k * graph.stride + a]
        if p > 0.0:
            bits -= p * math.log2(p)
    if base_weight > 0.0:
        bits -= n_others * base_weight * math.log2(base_weight)
    return bits if bits > NO_SURPRISE else 0.0


@inline
def estimated_probability(belief: Belief, s: int, a: int, s_next: int) -> float:
    """Estimated probability of the outcome s_next of row (a, s)."""
    graph = belief.graph
    p: float = belief.base_weight[s * graph.stride + a] if len(belief.base_weight) else 0.0
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        if graph.succ[k] == s_next:
            p += belief.weight[k * graph.stride + a]
    return p


@inline
def value_of_row(belief: Belief, choice: ChoiceState, index: CompiledIndex, s: int, a: int) -> float:
    """Compute the index of row (a, s)."""
    graph, counts, visits, n_seen = belief.graph, index.counts, index.visits, 0
    r, first = s * graph.stride + a, graph.start[s]
    for k in range(first, first + graph.length[s]):
        n = belief.n[k * graph.stride + a]
        if n > 0:
            counts[n_seen] = n
            visits[n_seen] = choice.visits[graph.succ[k]]
            n_seen += 1
    n_row: Any = np.int64(belief.row_stats[r, TOTAL])  # counts are int32
    n_outcomes: Any = np.int64(belief.row_stats[r, SEEN])
    lists = counts[:n_seen], visits[:n_seen]
    kappa, n_obs, n_visits = index.kappa(belief, s, a), choice.n_obs[0], choice.visits[s]
    rarity, surprise = rarity_of_row(belief, index, s, a), surprise_of_row(belief, index, s, a)
    row = Row(n_row, kappa, n_outcomes, n_obs, lists[0], lists[1], n_visits, rarity, surprise)
    value: float = index.value(row)
    if not math.isfinite(value):
        raise ValueError(NOT_FINITE)
    return value


@callback
def apply_index(belief: Belief, choice: ChoiceState, index: CompiledIndex, s: int, a: int) -> None:
    """Set the utility of row (a, s), or of all rows if s is negative; those of terminal states stay as they are.

    If the index reads surprise, that of row (a, s) follows from `choice.predicted`, the probability of its outcome.
    """
    stride = belief.graph.stride
    if len(index.state_rarity):
        total, n_states = 0.0, len(belief.graph.start)
        largest = math.log2(choice.visits[-1] + n_states)
        for state in range(n_states):
            index.state_rarity[state] = largest - math.log2(1.0 + choice.visits[state])
            total += index.state_rarity[state]
        index.state_rarity[n_states] = total
    if s >= 0:
        if len(index.surprise):
            index.surprise[s * stride + a] = -math.log2(choice.predicted[0])
        belief.utility[s * stride + a] = value_of_row(belief, choice, index, s, a)
        return
    for state in range(len(belief.graph.start)):
        if not choice.terminal[state]:
            for action in range(len(choice.values)):
                belief.utility[state * stride + action] = value_of_row(belief, choice, index, state, action)
