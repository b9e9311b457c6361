"""Value iteration if states that were never met are alike: one of them represents all.

If every state can follow and rows have slots only for outcomes that were seen, the rows of states that were never met
have the same utilities and estimates, so these states have the same values. The others are *listed* states: those that
were met, those in which not every action is possible, and those in which episodes begin if a plan goes on there. With n
of N states listed and a representative r,

    sum_s V_j(s) = sum_{s listed} V_j(s) + (N - n) V_j(r),

so planning costs O(n) for any N. `berlyne.engine.value_iteration` has the formulas, and the plan.
"""

from __future__ import annotations

from typing import Any

from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import TOTAL, Belief
from berlyne.engine.simd import item, set_item
from berlyne.engine.value_iteration import (
    Plan,
    back_up,
    best_value,
    note_change,
    renew_state,
    steps_ahead,
    value_after_end,
)
from berlyne.priors.closed_forms import NOISE


@inline
def plan_listed(belief: Belief, choice: Any, plan: Plan, n_levels: int, masked: bool) -> float:
    """Compute V_j for j < n_levels of the listed states and of one that represents all others.

    Returns the sum of the last level over all states; `masked` as for `plan_everywhere`.
    """
    if masked and plan.restarts:
        for i in range(choice.starts.n[0]):
            list_state(belief, choice, plan, choice.starts.states[i])
    n_computed = add_representative(belief, choice, plan)
    utility, states, depth = plan.reward if masked else belief.utility, plan.listed.states, plan.depth
    if masked:
        value_listed_ends(choice, plan, 0)
    total = sum_of_listed(plan, 0)
    n_listed = plan.listed.n[0]
    for j in range(1, n_levels):
        total_now = 0.0
        for i in range(n_computed):
            z = item(states, i)
            best = best_value(plan, utility, z, j, total, True)
            if abs(best) <= NOISE * abs(total):
                best = 0.0  # rounding noise, as in `plan_everywhere`
            set_item(plan.values, z * depth + j, plan.gamma * best)
            total_now += plan.gamma * best if i < n_listed else (len(states) - n_listed) * (plan.gamma * best)
        if masked:
            value_listed_ends(choice, plan, j)
            total_now = sum_of_listed(plan, j)
        total = total_now
    return total


@inline
def add_representative(belief: Belief, choice: Any, plan: Plan) -> int:
    """Write a state that is not listed after the listed ones, if there is any; return the number of states written."""
    listed = plan.listed
    n_listed = listed.n[0]
    if n_listed == len(listed.states):
        return int(n_listed)
    while listed.is_listed[listed.n[1]]:
        listed.n[1] += 1
    listed.states[n_listed] = listed.n[1]
    renew_state(belief, choice, plan, listed.n[1])
    return int(n_listed + 1)


@inline
def value_listed_ends(choice: Any, plan: Plan, j: int) -> None:
    """Set V_j of all terminal states, which are listed."""
    after = value_after_end(choice, plan, plan.values, j, plan.depth)
    for i in range(plan.listed.n[0]):
        z = plan.listed.states[i]
        if choice.terminal[z]:
            plan.values[z * plan.depth + j] = after


@inline
def sum_of_listed(plan: Plan, j: int) -> float:
    """Sum V_j over all states, if those that are not listed have the value of the representative."""
    states, n_listed, total = plan.listed.states, plan.listed.n[0], 0.0
    for i in range(n_listed):
        total += plan.values[states[i] * plan.depth + j]
    n_others = len(states) - n_listed
    if n_others > 0:
        total += n_others * plan.values[states[n_listed] * plan.depth + j]
    return total


@inline
def list_state(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """List state s, if it is not yet listed."""
    listed = plan.listed
    if not listed.is_listed[s]:
        listed.is_listed[s] = True
        listed.states[listed.n[0]] = s
        listed.n[0] += 1
        renew_state(belief, choice, plan, s)


@inline
def count_impossible(choice: Any, plan: Plan) -> int:
    """Count the pairs of a listed state and an action that is not possible there."""
    graph, listed, n = plan.graph, plan.listed, 0
    for i in range(listed.n[0]):
        for a in range(graph.n_actions):
            n += not choice.possible[listed.states[i] * graph.stride + a]
    return n


@inline
def list_again(belief: Belief, choice: Any, plan: Plan) -> None:
    """List all states that differ from the others now, and renew V_0 of all listed states."""
    graph, listed = plan.graph, plan.listed
    if listed.n[2] != choice.n_obs[0]:  # observations were restored
        for s in range(len(graph.start)):
            for a in range(graph.n_actions):
                if belief.row_stats[s * graph.stride + a, TOTAL] > 0:
                    list_state(belief, choice, plan, s)
            for k in range(graph.start[s], graph.start[s] + graph.length[s]):
                list_state(belief, choice, plan, graph.succ[k])
        listed.n[2] = choice.n_obs[0]
    if count_impossible(choice, plan) < choice.n_impossible[0]:
        for s in range(len(graph.start)):
            for a in range(graph.n_actions):
                if not choice.possible[s * graph.stride + a]:
                    list_state(belief, choice, plan, s)
    for i in range(listed.n[0]):
        renew_state(belief, choice, plan, listed.states[i])


@inline
def values_listed(belief: Belief, choice: Any, plan: Plan, s: int, masked: bool) -> None:
    """Q(., s) into `choice.values`, if also all states that are not listed are alike."""
    n_levels, utility, total = steps_ahead(choice, plan), plan.reward if masked else belief.utility, 0.0
    renew_state(belief, choice, plan, s)
    if n_levels > 0:
        total = plan_listed(belief, choice, plan, n_levels, masked)
    back_up(plan, utility, s, choice.values, n_levels, total)


@callback
def plan_values_listed(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_listed` without a mask."""
    values_listed(belief, choice, plan, s, False)


@callback
def plan_values_listed_masked(belief: Belief, choice: Any, plan: Plan, s: int) -> None:
    """`values_listed` with a mask."""
    values_listed(belief, choice, plan, s, True)


@callback
def list_after_observation(belief: Belief, choice: Any, plan: Plan, s: int, a: int, s_next: int, reward: float) -> None:
    """Note that a row of state `s` has changed, and list the states of the step."""
    if plan.depth > 0 or choice.n_impossible[0] > 0:
        note_change(belief, choice, plan, s)
        list_state(belief, choice, plan, s)
        list_state(belief, choice, plan, s_next)
        plan.listed.n[2] = choice.n_obs[0]


@callback
def reset_listed(belief: Belief, choice: Any, plan: Plan) -> None:
    """Discard all plans as `reset_plan` does, and renew V_0 of the listed states."""
    plan.cone_state[0], plan.cone_state[1] = -1, 0
    list_again(belief, choice, plan)


def listed_functions(masked: bool) -> tuple[Any, Any, Any]:
    """Return the functions of a plan with listed states, as `berlyne.engine.value_iteration.plan_functions` does."""
    return plan_values_listed_masked if masked else plan_values_listed, list_after_observation, reset_listed
