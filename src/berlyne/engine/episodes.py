"""Values and visits of one episode in a known world, if rows have rewards; for `berlyne.bounds.prices`.

An explorer may stop at any step, and gets nothing then. With j steps left before the cut, the value of state s is

    u_j(s) = max(0, max_a [reward(a, s) + sum over s' of theta(s') u_{j-1}(s')]),

where u is `restart` after the cut, and in terminal states. With a temperature t > 0 each maximum of values x is
replaced by t log(sum of exp(x / t)). This is larger, and a smooth function of the rewards.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from berlyne.engine.jit import inline, kernel
from berlyne.validation import BoolArray, FloatArray, IntArray


class EpisodeGraph(NamedTuple):
    """A world for the kernels of this module.

    Attributes
    ----------
    first : ndarray of int, shape (N + 1,)
        The rows of state s are `rows[first[s]]`, ..., `rows[first[s + 1] - 1]`.
    rows : ndarray of int
        Numbers of rows, s M + a, of the states that can be reached.
    indptr, indices, data : ndarray
        Transition probabilities of all rows, by row.
    terminal : ndarray of bool, shape (N,)
        Whether a state is terminal.
    start : ndarray of shape (N,)
        Distribution of the first state.
    """

    first: IntArray
    rows: IntArray
    indptr: IntArray
    indices: IntArray
    data: FloatArray
    terminal: BoolArray
    start: FloatArray


@inline
def row_value(graph: EpisodeGraph, reward: FloatArray, after: FloatArray, r: int) -> float:
    """Reward of row r and the expected value of the next state; `after` (N,) holds the values of states."""
    value = reward[r]
    for e in range(graph.indptr[r], graph.indptr[r + 1]):
        value += graph.data[e] * after[graph.indices[e]]
    return float(value)


@kernel
def episode_values(
    graph: EpisodeGraph, reward: FloatArray, restart: float, temperature: float, values: FloatArray
) -> float:
    """Write the values u_j(s) into `values` (H + 1, N); return the expected value of the first state.

    Parameters
    ----------
    graph : EpisodeGraph
        The world.
    reward : ndarray of shape (N M,)
        Reward of each row.
    restart : float
        Value of the end of an episode.
    temperature : float
        0 for maxima.
    values : ndarray of shape (H + 1, N)
        Output.
    """
    n_states, total = len(graph.terminal), 0.0
    for j in range(len(values)):
        for s in range(n_states):
            best = 0.0
            for k in range(graph.first[s], graph.first[s + 1]) if j > 0 else range(0):
                best = max(best, row_value(graph, reward, values[j - 1], graph.rows[k]))
            if temperature > 0.0 and j > 0:
                weight = math.exp(-best / temperature)
                for k in range(graph.first[s], graph.first[s + 1]):
                    value = row_value(graph, reward, values[j - 1], graph.rows[k])
                    weight += math.exp((value - best) / temperature)
                best += temperature * math.log(weight)
            values[j, s] = restart if j == 0 or graph.terminal[s] else best
    for s in range(n_states):
        total += graph.start[s] * values[-1, s]
    return total


@inline
def spread(graph: EpisodeGraph, r: int, mass: float, is_last: bool, visits: FloatArray, after: FloatArray) -> float:
    """Move probability `mass` through row r into `after` (N,); return the share that ends the episode."""
    visits[r] += mass
    ended = 0.0
    for e in range(graph.indptr[r], graph.indptr[r + 1]):
        s = graph.indices[e]
        if is_last or graph.terminal[s]:
            ended += mass * graph.data[e]
        else:
            after[s] += mass * graph.data[e]
    return ended


@kernel
def episode_visits(
    graph: EpisodeGraph, reward: FloatArray, temperature: float, values: FloatArray, visits: FloatArray
) -> tuple[float, float]:
    """Write the expected visits of all rows in one episode into `visits`; return two numbers.

    The policy is that of `values`: the best action, or with a temperature each action with a probability that grows
    with the exponential of its value. Stopping is one of the actions.

    Parameters
    ----------
    graph, reward, temperature, values : object
        As for `episode_values`, which has filled `values`.
    visits : ndarray of shape (N M,)
        Output.

    Returns
    -------
    ended : float
        Probability that the episode goes on to its end.
    n_steps : float
        Expected number of steps.
    """
    n_states, ended, n_steps = len(graph.terminal), 0.0, 0.0
    now, after = graph.start.copy(), graph.start.copy()
    visits[:] = 0.0
    for j in range(len(values) - 1, 0, -1):
        after[:] = 0.0
        for s in range(n_states):
            if now[s] <= 0.0:
                continue
            best, row = 0.0, -1
            for k in range(graph.first[s], graph.first[s + 1]):
                r = graph.rows[k]
                value = row_value(graph, reward, values[j - 1], r)
                if temperature > 0.0:
                    mass = now[s] * math.exp((value - values[j, s]) / temperature)
                    n_steps += mass
                    ended += spread(graph, r, mass, j == 1, visits, after)
                elif value > best:
                    best, row = value, r
            if row >= 0:
                n_steps += now[s]
                ended += spread(graph, row, now[s], j == 1, visits, after)
        now[:] = after
    return ended, n_steps
