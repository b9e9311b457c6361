"""More states for an agent that discovers them.

An agent has a cell for each discovered state, and a last one for all others. It is laid out for more cells than there
are: `belief.n_states` cells exist, and rows of all others have utility -inf. A discovery adds one cell and values all
rows again, because each has one more possible outcome. If there is no room, the agent moves to a layout for twice as
many cells, so that moving costs a constant time per discovery on average. The first discovery moves it to the smallest
layout whose slots are added when outcomes are seen (`berlyne.engine.agent_state.MAX_EXPLICIT_STATES`).
"""

from __future__ import annotations

import numpy as np

from berlyne.engine.action_selection import is_possible
from berlyne.engine.agent_state import MAX_EXPLICIT_STATES, AgentState, refresh_all
from berlyne.engine.jit import inline, kernel
from berlyne.engine.row_beliefs import SIZE, TOTAL, count, find_or_add_slot, revalue_restaurant
from berlyne.engine.successor_graph import slot_of


def layout_size(n_cells: int) -> int:
    """Return the number of cells that an agent with `n_cells` cells is laid out for."""
    return max(2 * MAX_EXPLICIT_STATES, 1 << (n_cells - 1).bit_length())


@kernel
def move(agent: AgentState, to: AgentState) -> bool:
    """Copy observations, visits, starts and horizon to a new agent with more cells; return whether it has enough slots.

    The memory of the method is not copied.
    """
    belief, wide, stride = agent.belief, to.belief, agent.belief.graph.stride
    n_cells, choice, wide_choice = belief.n_states[0], agent.choice, to.choice
    for s in range(n_cells):
        wide_choice.visits[s] = choice.visits[s]
        wide_choice.starts.weight[s] = choice.starts.weight[s]
        wide_choice.starts.states[s] = choice.starts.states[s]
        first = belief.graph.start[s]
        for k in range(first, first + belief.graph.length[s]):
            for a in range(belief.graph.n_actions):
                if belief.n[k * stride + a] > 0:
                    slot = find_or_add_slot(wide, s, a, belief.graph.succ[k], True)
                    if slot < 0:
                        return False
                    count(wide, s, a, belief.graph.succ[k], slot, belief.n[k * stride + a])
        for r in range(s * stride, (s + 1) * stride):
            wide.last[r] = belief.last[r]
    for r in range(n_cells * stride, len(wide.utility)):
        wide.utility[r] = -np.inf
    wide_choice.visits[-1], wide_choice.starts.weight[-1] = choice.visits[-1], choice.starts.weight[-1]
    wide_choice.left[0], wide_choice.left[1] = choice.left[0], choice.left[1]
    wide_choice.starts.n[0], wide_choice.starts.n[1] = choice.starts.n[0], choice.starts.n[1]
    wide_choice.current_state[0], wide_choice.n_obs[0] = choice.current_state[0], choice.n_obs[0]
    return True


@kernel
def set_cells(agent: AgentState, n_cells: int, c: float, untried: float, elsewhere: float) -> None:
    """Set the number of cells and the concentration, and value all rows again; everything is possible then.

    `untried` is the utility of a row without observations, and `elsewhere` that of a row of the last cell.
    """
    agent.belief.numbers[0], agent.choice.n_impossible[0] = c, 0
    for s in range(n_cells):
        make_possible(agent, s)
    value_cells(agent, n_cells, untried, elsewhere)
    refresh_all(agent)


@inline
def make_possible(agent: AgentState, s: int) -> None:
    """Let a cell be not terminal, and all of its actions possible; the number of impossible rows is not changed."""
    choice, stride = agent.choice, agent.belief.graph.stride
    choice.terminal[s] = False
    for r in range(s * stride, s * stride + agent.belief.graph.n_actions):
        choice.possible[r] = True


@inline
def value_cells(agent: AgentState, n_cells: int, untried: float, elsewhere: float) -> None:
    """Set the number of cells, and value all rows again, except if the utility is an index; see `set_cells`."""
    belief, stride = agent.belief, agent.belief.graph.stride
    belief.n_states[0] = n_cells
    for s in range(n_cells):
        for a in range(belief.graph.n_actions):
            r = s * stride + a
            belief.row_stats[r, SIZE] = n_cells
            if belief.row_stats[r, TOTAL] > 0:
                before = belief.n[slot_of(belief.graph, s, belief.last[r]) * stride + a] - 1
                revalue_restaurant(belief, s, a, belief.last[r], before)
                continue
            if len(belief.base_weight):
                belief.base_weight[r] = 1.0 / n_cells
            belief.utility[r] = untried if s < n_cells - 1 else elsewhere


@kernel
def expected_missing(agent: AgentState, known: AgentState) -> float:
    """Sum the utilities of `known`, as `missing_of_cells` does."""
    return missing_of_cells(agent, known)


@inline
def missing_of_cells(agent: AgentState, known: AgentState) -> float:
    """Sum the utilities of `known`, expected missing information, over all rows that are possible for an agent."""
    belief, total = known.belief, 0.0
    for s in range(belief.n_states[0] - 1):
        for a in range(belief.graph.n_actions):
            r = s * belief.graph.stride + a
            if is_possible(agent.choice, r):
                total += belief.utility[r]
    return total
