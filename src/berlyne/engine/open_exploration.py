"""Exploration of a world whose states are discovered.

The agent numbers its states by cells, in the order of discovery, and the world by its own numbers. `OpenTruth` knows
both. Kernels explore in half-steps, as `berlyne.engine.loop.replay` does. They return to Python when a step leads to a
state that has no cell yet, because a discovery may move the agent (`berlyne.engine.discovery`).

The last cell stands for all undiscovered states, which share its probability equally. A discovery changes the estimates
of all rows. Rows that were tried are then measured again one by one. All others have the same estimate, so sums over
them are kept. Otherwise one row is measured after each step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from berlyne.engine.agent_state import AgentState
from berlyne.engine.caches import cache_for
from berlyne.engine.environment import draw, episode_arrays
from berlyne.engine.jit import inline, kernel
from berlyne.engine.loop import Draws, arrive_and_choose, observe_step
from berlyne.engine.records import RunRecord
from berlyne.engine.row_beliefs import SEEN, SIZE, TOTAL, Belief
from berlyne.engine.successor_graph import slot_of
from berlyne.validation import BoolArray, FloatArray, IndexArray, IntArray
from berlyne.worlds.world import World

NEW_STATE = -3
"""Why half-steps stop: a state has no cell yet. Others are `berlyne.engine.row_beliefs.IMPOSSIBLE` and `FULL`."""


ROWS, ENTROPY, P_HIDDEN, N_SEEN, N_HIDDEN = range(5)
"""Entries of `OpenTruth.untried`."""


class OpenTruth(NamedTuple):
    """Sparse rows `r = s * M + a` of a world, as in `Truth`, and the cells of its states.

    Attributes
    ----------
    indptr, indices, data, cumulative : ndarray
        The rows.
    ends, counted, starts, start_indptr, start_cumulative : ndarray
        As in `berlyne.engine.environment.Truth`, but `counted` is never empty.
    entropy : ndarray of shape (M N,)
        Entropy of each row in bits.
    into_indptr, into_rows, into_theta : ndarray
        The transitions by the state that they lead to: their rows, and their probabilities.
    smallest : ndarray of shape (1,)
        Smallest positive probability.
    cells, states : ndarray of int, shape (N,)
        The cell of each state, -1 if it is not discovered, and the state of each cell.
    is_tried, tried, n_tried : ndarray of shape (M N,), (M N,) and (1,)
        Whether each row was tried and counts, the numbers of these rows, and how many there are.
    missing, l1 : ndarray of shape (M N,)
        Missing information in bits and L1 distance of each row that was tried, kept up to date.
    untried : ndarray of shape (5,)
        Sums over all other rows that count: their number, their entropy in bits, the probability that they lead to
        an undiscovered state, and the numbers of their transitions to discovered and to undiscovered states.
    """

    indptr: IntArray
    indices: IndexArray
    data: FloatArray
    cumulative: FloatArray
    ends: BoolArray
    counted: BoolArray
    starts: IntArray
    start_indptr: IntArray
    start_cumulative: FloatArray
    entropy: FloatArray
    into_indptr: IntArray
    into_rows: IndexArray
    into_theta: FloatArray
    smallest: FloatArray
    cells: IntArray
    states: IntArray
    is_tried: BoolArray
    tried: IntArray
    n_tried: IntArray
    missing: FloatArray
    l1: FloatArray
    untried: FloatArray


def new_open_truth(world: World, discovered: Sequence[int]) -> OpenTruth:
    """Return the truth about a world of which some states are discovered; `prepare` must complete it."""
    rows, n_rows, ends, _, *starts = world.rows, world.n_states * world.n_actions, *episode_arrays(world)
    cache = cache_for(world)
    if "by outcome" not in cache:  # it takes about as much memory as the rows
        cache["by outcome"] = _by_outcome(world)
    arrays = rows.indptr, rows.indices, rows.data, rows.cumulative, ends, world.measured_rows, *starts
    cells, states = np.full(world.n_states, -1), np.full(world.n_states, -1)
    cells[discovered], states[: len(discovered)] = np.arange(len(discovered)), discovered
    tried = np.zeros(n_rows, dtype=np.bool_), np.zeros(n_rows, dtype=np.int64), np.zeros(1, dtype=np.int64)
    measures = np.zeros(n_rows), np.zeros(n_rows), np.zeros(5)
    return OpenTruth._make((*arrays, *cache["by outcome"], cells, states, *tried, *measures))


def _by_outcome(world: World) -> tuple[Any, ...]:
    """Return `entropy`, `into_indptr`, `into_rows`, `into_theta` and `smallest`."""
    rows, n_rows = world.rows, world.n_states * world.n_actions
    row = rows.row_numbers()
    entropy = np.bincount(row, -rows.data * np.log2(rows.data), n_rows)
    order = np.argsort(rows.indices, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=world.n_states))])
    return entropy, indptr, row[order].astype(np.int32), rows.data[order], rows.data.min(keepdims=True)


@inline
def restaurant_probability(belief: Belief, s: int, a: int, s_next: int) -> float:
    """Probability of an outcome of row (a, s), which was tried, under a Chinese-restaurant prior.

    It is computed from counts. The difference of weights that planning uses loses digits if c is large.
    """
    graph, r = belief.graph, s * belief.graph.stride + a
    c, d, n_obs, n_seen = belief.numbers[0], belief.numbers[1], belief.row_stats[r, TOTAL], belief.row_stats[r, SEEN]
    slot = slot_of(graph, s, s_next)
    n = belief.n[slot * graph.stride + a] if slot >= 0 else 0
    if n > 0:
        return (n - d) / (c + n_obs)  # type: ignore[no-any-return]
    return (c + d * n_seen) / ((belief.row_stats[r, SIZE] - n_seen) * (c + n_obs))  # type: ignore[no-any-return]


@inline
def measure_row(agent: AgentState, truth: OpenTruth, row: int) -> None:
    """Measure row s M + a of the world: its missing information and its L1 distance from the estimate."""
    belief, n_actions = agent.belief, agent.belief.graph.n_actions
    n_cells, a = belief.n_states[0], row % n_actions
    elsewhere, n_hidden = n_cells - 1, max(len(truth.cells) - (n_cells - 1), 1)
    cell = truth.cells[row // n_actions]
    s = cell if cell >= 0 else elsewhere
    is_tried = belief.row_stats[s * belief.graph.stride + a, TOTAL] > 0
    loss, distance = 0.0, 1.0
    p_seen, p_hidden = 1.0 / n_cells, 1.0 / (n_cells * n_hidden)  # of a row without observations
    if is_tried:
        p_hidden = restaurant_probability(belief, s, a, elsewhere) / n_hidden
    log_seen, log_hidden = math.log2(p_seen), math.log2(p_hidden)
    for e in range(truth.indptr[row], truth.indptr[row + 1]):
        theta, cell_next = truth.data[e], truth.cells[truth.indices[e]]
        if cell_next < 0:
            p, log_p = p_hidden, log_hidden
        elif is_tried:
            p = restaurant_probability(belief, s, a, cell_next)
            log_p = math.log2(p)
        else:
            p, log_p = p_seen, log_seen
        loss -= theta * log_p
        distance += abs(theta - p) - p
    truth.missing[row], truth.l1[row] = loss - truth.entropy[row], distance


@inline
def add_untried(truth: OpenTruth, row: int, n: int) -> None:
    """Add a row without observations to the sums over these rows, or with n = -1 subtract it."""
    sums = truth.untried
    sums[ROWS] += n
    sums[ENTROPY] += n * truth.entropy[row]
    for e in range(truth.indptr[row], truth.indptr[row + 1]):
        if truth.cells[truth.indices[e]] < 0:
            sums[P_HIDDEN] += n * truth.data[e]
            sums[N_HIDDEN] += n
        else:
            sums[N_SEEN] += n


@inline
def begin_row(agent: AgentState, truth: OpenTruth, row: int) -> None:
    """Measure a row before its first observation, and list it as tried."""
    measure_row(agent, truth, row)
    truth.tried[truth.n_tried[0]] = row
    truth.n_tried[0] += 1
    truth.is_tried[row] = True


@kernel
def prepare(agent: AgentState, truth: OpenTruth) -> None:
    """List the rows that the agent has tried, measure them, and sum over all others."""
    belief = agent.belief
    for row in range(len(truth.counted)):
        s, a = divmod(row, belief.graph.n_actions)
        if not truth.counted[row]:
            continue
        if truth.cells[s] >= 0 and belief.row_stats[truth.cells[s] * belief.graph.stride + a, TOTAL] > 0:
            begin_row(agent, truth, row)
        else:
            add_untried(truth, row, 1)


@kernel
def add_cell(truth: OpenTruth, s: int, cell: int) -> None:
    """Give state s its cell, before the agent has it."""
    truth.cells[s], truth.states[cell] = cell, s
    for e in range(truth.into_indptr[s], truth.into_indptr[s + 1]):
        row = truth.into_rows[e]
        if truth.counted[row] and not truth.is_tried[row]:
            truth.untried[P_HIDDEN] -= truth.into_theta[e]
            truth.untried[N_HIDDEN] -= 1
            truth.untried[N_SEEN] += 1


@kernel
def measure_all(agent: AgentState, truth: OpenTruth) -> tuple[float, float]:
    """Measure all rows that were tried; return missing information in bits and L1 distance of all rows that count.

    With K cells, a row without observations gives 1 / K to each discovered state. If no probability is smaller, then
    its L1 distance is 2 minus twice what it gives to its true outcomes, and sums suffice.
    """
    missing, l1, sums = 0.0, 0.0, truth.untried
    for i in range(truth.n_tried[0]):
        row = truth.tried[i]
        measure_row(agent, truth, row)
        missing += truth.missing[row]
        l1 += truth.l1[row]
    n_cells = agent.belief.n_states[0]
    n_hidden = max(len(truth.cells) - (n_cells - 1), 1)
    if n_cells * truth.smallest[0] >= 1.0:
        missing += sums[ROWS] * math.log2(n_cells) + sums[P_HIDDEN] * math.log2(n_hidden) - sums[ENTROPY]
        return missing, l1 + 2.0 * (sums[ROWS] - (sums[N_SEEN] + sums[N_HIDDEN] / n_hidden) / n_cells)
    for row in range(len(truth.counted)):
        if truth.counted[row] and not truth.is_tried[row]:
            measure_row(agent, truth, row)
            missing += truth.missing[row]
            l1 += truth.l1[row]
    return missing, l1


@inline
def try_action(agent: AgentState, truth: OpenTruth, record: RunRecord, draws: Draws, t: int) -> bool:
    """Choose the action of step t and draw its outcome; return whether this state is discovered."""
    cell, a = arrive_and_choose(agent, truth.cells[record.states[t]], draws.agent[t, 0], draws.agent[t, 1])
    s = truth.states[cell]
    s_next = truth.indices[draw(truth.indptr, truth.cumulative, s * agent.belief.graph.n_actions + a, draws.world[t])]
    record.states[t], record.actions[t], record.outcomes[t] = s, a, s_next
    return bool(truth.cells[s_next] >= 0)


@inline
def learn_outcome(agent: AgentState, truth: OpenTruth, record: RunRecord, draws: Draws, t: int) -> int:
    """Learn the outcome of step t, begin the next episode if it ended, and measure; return as `observe_step` does."""
    s, a, s_next = record.states[t], record.actions[t], record.outcomes[t]
    row = s * agent.belief.graph.n_actions + a
    if truth.counted[row] and not truth.is_tried[row]:
        begin_row(agent, truth, row)
        add_untried(truth, row, -1)
    before = observe_step(agent, truth.cells[s], a, truth.cells[s_next])
    if before < 0:
        return before
    record.states[t + 1] = s_next
    if agent.choice.current_state[0] < 0 or (len(truth.ends) and truth.ends[s_next]):
        record.states[t + 1] = truth.starts[draw(truth.start_indptr, truth.start_cumulative, 0, draws.start[t])]
    missing, l1 = truth.missing[row], truth.l1[row]
    if truth.counted[row]:
        measure_row(agent, truth, row)
    record.missing[t + 1] = record.missing[t] + (truth.missing[row] - missing)
    record.l1[t + 1] = record.l1[t] + (truth.l1[row] - l1)
    return before


@kernel
def explore_cells(
    agent: AgentState, truth: OpenTruth, record: RunRecord, draws: Draws, begin: int, end: int
) -> tuple[int, int]:
    """Explore in half-steps: 2 t chooses an action and draws its outcome, and 2 t + 1 learns and measures it.

    Returns the first half-step not made, or `end`, and why: 0, IMPOSSIBLE, FULL or NEW_STATE. With NEW_STATE, the state
    to be discovered is the outcome of step t before half-step 2 t + 1, and the state of step t before half-step 2 t.
    """
    for half_step in range(begin, end):
        t = half_step // 2
        if half_step % 2 == 0:
            if not try_action(agent, truth, record, draws, t):
                return half_step + 1, NEW_STATE
        else:
            before = learn_outcome(agent, truth, record, draws, t)
            if before < 0:
                return half_step, before
            if truth.cells[record.states[t + 1]] < 0:
                return half_step + 1, NEW_STATE
    return end, 0
