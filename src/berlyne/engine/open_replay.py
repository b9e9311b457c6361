"""Replay of a history whose states are discovered on the way.

The lines of the history are in cells, the numbers that its states get in the order of discovery. So it is known in
advance at which half-step each cell is added, and kernels add it themselves (`berlyne.engine.discovery`). The agent
must be laid out for all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from berlyne.engine.agent_state import AgentState, refresh_all
from berlyne.engine.discovery import make_possible, missing_of_cells, value_cells
from berlyne.engine.jit import inline, kernel
from berlyne.engine.loop import History, _Comparison, learn_line, value_line
from berlyne.engine.records import ReplayRecord
from berlyne.engine.row_beliefs import probability_of_last
from berlyne.validation import FloatArray, IntArray

UNTRIED, ELSEWHERE, KNOWN_UNTRIED, KNOWN_ELSEWHERE = range(4)
"""Columns of `Discoveries.untried`."""


class Discoveries(NamedTuple):
    """The discoveries of a history.

    Attributes
    ----------
    half_steps : ndarray of int, shape (D,)
        The half-steps that discover a state, ascending.
    n_made : ndarray of int, shape (1,)
        How many of them are made.
    before : ndarray of shape (1,)
        Expected missing information before the discovery of the last half-step, if this is not complete, else NaN.
    untried : ndarray of shape (cells + 1, 4)
        With each number of cells, the utility of a row without observations, and that of a row of the last cell, of the
        agent and of the agent whose utility is the expected missing information.
    surprise : ndarray of shape (rows,)
        The array `berlyne.engine.indices.CompiledIndex.surprise` of the agent.
    """

    half_steps: IntArray
    n_made: IntArray
    before: FloatArray
    untried: FloatArray
    surprise: FloatArray


@inline
def add_cell(agent: AgentState, untried: float, elsewhere: float) -> None:
    """Add a cell, in which all actions are possible, and value all rows again, except if the utility is an index."""
    n_cells = agent.belief.n_states[0]
    make_possible(agent, n_cells)
    value_cells(agent, n_cells + 1, untried, elsewhere)


@inline
def discover(
    agent: AgentState, known: AgentState, record: ReplayRecord, discoveries: Discoveries, half_step: int
) -> None:
    """Add the cell that a half-step discovers."""
    t, n_cells, belief = half_step // 2, agent.belief.n_states[0] + 1, agent.belief
    discoveries.n_made[0] += 1
    add_cell(agent, discoveries.untried[n_cells, UNTRIED], discoveries.untried[n_cells, ELSEWHERE])
    if len(discoveries.surprise):
        for s in range(n_cells):
            for a in range(belief.graph.n_actions):
                p = probability_of_last(belief, s, a)
                discoveries.surprise[s * belief.graph.stride + a] = -math.log2(p)
    refresh_all(agent)
    if len(record.missing):
        add_cell(known, discoveries.untried[n_cells, KNOWN_UNTRIED], discoveries.untried[n_cells, KNOWN_ELSEWHERE])
        refresh_all(known)
        discoveries.before[0] = record.missing[t]
        record.missing[t] = missing_of_cells(agent, known)


@kernel
def replay_cells(
    agent: AgentState,
    known: AgentState,
    comparison: _Comparison,
    history: History,
    record: ReplayRecord,
    discoveries: Discoveries,
    begin: int,
    end: int,
) -> tuple[int, int]:
    """Follow a recorded history in half-steps, as `berlyne.engine.loop.replay` does, and discover its states.

    A line that discovers the state it leads to has not changed the expected missing information before it.
    """
    for half_step in range(begin, end):
        t, i = half_step // 2, discoveries.n_made[0]
        if i < len(discoveries.half_steps) and discoveries.half_steps[i] == half_step:
            discover(agent, known, record, discoveries, half_step)
        if half_step % 2 == 0:
            value_line(agent, comparison, record, t, history.steps[t, 0])
        else:
            before = learn_line(agent, known, history, record, t)
            if before < 0:
                return half_step, before
            if not math.isnan(discoveries.before[0]):
                record.missing[t] = discoveries.before[0]
        discoveries.before[0] = math.nan
    return end, 0
