"""Plans that are kept for more than one step, compiled; see `berlyne.strategies.coordination.ValueIteration`.

A plan computes Q_j of all rows for all numbers j of backward steps, and stores them until the next plan is made. Its
model is the estimate, relative frequencies (`RewardFree`, `RMax`) or a world drawn from the posterior
(`PosteriorSampling`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from berlyne.engine.blocks import FunctionType, NoFunction
from berlyne.engine.jit import callback, inline
from berlyne.engine.row_beliefs import TOTAL, Belief, renew_utilities
from berlyne.engine.value_iteration import MAX_VALUES
from berlyne.priors import dirichlet_draws
from berlyne.priors.dirichlet_draws import IMPOSSIBLE
from berlyne.strategies.coordination import SCHEDULES, ValueIteration
from berlyne.strategies.planning import BONUSES, PosteriorSampling, RewardFree, RMax
from berlyne.validation import FloatArray, IntArray

ESTIMATE, FREQUENCIES, SAMPLE = range(3)
UCRL, EXPRESS, ENTROPY, STATE_ENTROPY, UTILITY, KNOWN = range(6)
"""Rewards; the first are in the order of `BONUSES`, and the last is that of `RMax`."""
STEP, EPISODE, DOUBLING, CUBIC, EVERY = range(5)
UNCUT = 1 << 61
"""More steps than this are left only if episodes are never cut."""

begin_stream: Any = inline(dirichlet_draws.begin_stream)
draw_log_gamma: Any = inline(dirichlet_draws.draw_log_gamma)
NO_KAPPA = FunctionType(types.float64, (Belief, types.int64, types.int64))


class KeptPlans(NamedTuple):
    """A plan, and what is needed to make the next one.

    Attributes
    ----------
    levels : ndarray
        `[(j * N + s) * stride + a]`, Q_j of all rows.
    n_planned : ndarray of int
        `[s * stride + a]`, observations of each row when the plan was made.
    since : ndarray of shape (1,)
        Number of observations since then.
    v : ndarray of shape (N,)
        Scratch, values of all states.
    sampled : ndarray
        `[(s * M + a) * N + s_next]`, the world drawn from the posterior; empty if none is drawn.
    seeds, state, u : ndarray of shape (2,), (2,), (4,)
        As in `berlyne.priors.dirichlet_draws`.
    kappa : CompiledFunction
        Sum of the pseudo-counts of a row, see `berlyne.engine.row_beliefs.Family`.
    steps_back, gamma, discount, restarts : int, float, float, bool
        As in `ValueIteration`; `discount` is the factor of the next state's value.
    schedule, every : int
        When to plan; `every` is a number of steps.
    model, reward : int
        What plans are made with.
    delta, cap, scale : float
        As in `RewardFree`.
    m : int
        As in `RMax`.
    """

    levels: FloatArray
    n_planned: IntArray
    since: IntArray
    v: FloatArray
    sampled: FloatArray
    seeds: IntArray
    state: IntArray
    u: FloatArray
    kappa: Any
    steps_back: int
    gamma: float
    discount: float
    restarts: bool
    schedule: int
    every: int
    model: int
    reward: int
    delta: float
    cap: float
    scale: float
    m: int


def new_kept_plans(coordinate: ValueIteration, belief: Belief) -> KeptPlans:
    """Return the memory of a method that keeps its plans, before the first one."""
    graph, is_sampled, settings = belief.graph, type(coordinate) is PosteriorSampling, vars(coordinate)
    is_free, counts_known = type(coordinate) is RewardFree, type(coordinate) is RMax
    n_states, n_levels = len(graph.start), coordinate.steps_back + 1
    n_values = n_levels * n_states * graph.stride + (n_states**2 * graph.n_actions if is_sampled else 0)
    if n_values > MAX_VALUES:
        raise ValueError(
            f"{coordinate.steps_back} steps back in {n_states} states need {n_values} values; "
            f"at most {MAX_VALUES} are possible, so use fewer steps"
        )
    by_name = isinstance(coordinate.replan, str)
    return KeptPlans(
        np.zeros(n_levels * n_states * graph.stride),
        np.zeros(n_states * graph.stride, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(n_states),
        np.zeros(n_states**2 * graph.n_actions if is_sampled else 0),
        dirichlet_draws.seeds_of(None),
        np.zeros(2, dtype=np.int64),
        np.zeros(4),
        NoFunction(NO_KAPPA),
        coordinate.steps_back,
        float(coordinate.gamma),
        float(coordinate._discount),
        coordinate.after_end == "restart",
        SCHEDULES.index(coordinate.replan) if by_name else EVERY,
        1 if by_name else int(coordinate.replan),
        SAMPLE if is_sampled else FREQUENCIES if is_free or counts_known else ESTIMATE,
        BONUSES.index(settings["bonus"]) if is_free else KNOWN if counts_known else UTILITY,
        float(settings.get("delta", 0.0)),
        float(settings.get("cap", 0.0)),
        float(settings.get("scale", 0.0)),
        int(settings.get("m", 0)),
    )


@inline
def largest_value(plans: KeptPlans, j: int) -> float:
    """Largest value of a reward between 0 and 1 over j + 1 steps."""
    if plans.reward == EXPRESS:
        return 1.0 / (15.0 * (plans.steps_back + 1))
    if plans.gamma == 1.0:
        return j + 1.0
    return (1.0 - plans.gamma ** (j + 1)) / (1.0 - plans.gamma)


@inline
def largest_log(belief: Belief, choice: Any, plans: KeptPlans) -> float:
    """Largest reward of the two entropies without optimism, the logarithm of a number of visits."""
    n_actions = belief.graph.n_actions if plans.reward == ENTROPY else 1
    return math.log(choice.n_obs[0] + belief.n_states[0] * n_actions)


@inline
def entropy_reward(belief: Belief, choice: Any, plans: KeptPlans, r: int, j: int) -> float:
    """Reward of row r = s * stride + a for the entropy of visits of pairs or states, with optimism."""
    graph, n_states = belief.graph, belief.n_states[0]
    n, seen, highest = float(belief.row_stats[r, TOTAL]), 0.0, largest_log(belief, choice, plans)
    if plans.reward == ENTROPY:
        seen = n
    else:
        first = r // graph.stride * graph.stride
        for k in range(first, first + graph.n_actions):
            seen += belief.row_stats[k, TOTAL]
    size = n_states * graph.n_actions * (plans.steps_back + 1) / plans.delta
    beta = math.log(4.0 * size) + (n_states - 1) * (1.0 + math.log1p(n / max(n_states - 1, 1)))
    optimism = plans.scale * highest * largest_value(plans, j) * math.sqrt(beta / max(n, 1.0))
    return highest - math.log(seen + 1.0) + optimism


@inline
def reward_of_row(belief: Belief, choice: Any, plans: KeptPlans, r: int, j: int) -> float:
    """Reward of row r = s * stride + a with j steps to follow."""
    if plans.reward == UTILITY:
        return belief.utility[r]  # type: ignore[no-any-return]
    if plans.reward == KNOWN:
        return largest_value(plans, j) if belief.row_stats[r, TOTAL] < plans.m else 0.0
    if plans.reward == ENTROPY or plans.reward == STATE_ENTROPY:
        return entropy_reward(belief, choice, plans, r, j)
    n, n_states, horizon = float(belief.row_stats[r, TOTAL]), belief.n_states[0], plans.steps_back + 1
    size = n_states * belief.graph.n_actions * horizon / plans.delta
    if plans.reward == EXPRESS:
        beta = math.log(3.0 * size) + n_states * math.log(8.0 * math.e * (n + 1.0))
        return beta / max(n, 1.0)  # type: ignore[no-any-return]
    beta = math.log(2.0 * size) + (n_states - 1) * (1.0 + math.log1p(n / max(n_states - 1, 1)))
    return plans.gamma * largest_value(plans, j) * math.sqrt(beta / max(n, 1.0))


@inline
def sample_world(belief: Belief, choice: Any, plans: KeptPlans) -> None:
    """Draw a world from the posterior, row by row."""
    graph, n_states, sampled = belief.graph, belief.n_states[0], plans.sampled
    begin_stream(plans.state, plans.seeds, choice.n_obs[0])
    for s in range(n_states):
        for a in range(graph.n_actions):
            first, r = (s * graph.n_actions + a) * n_states, s * graph.stride + a
            base = belief.base_weight[r] if len(belief.base_weight) else 0.0
            for z in range(n_states):
                sampled[first + z] = base
            for k in range(graph.start[s], graph.start[s] + graph.length[s]):
                sampled[first + graph.succ[k]] += belief.weight[k * graph.stride + a]
            kappa, largest, total = plans.kappa(belief, s, a), -np.inf, 0.0
            if math.isnan(kappa):
                kappa = belief.row_stats[r, TOTAL] + 1.0
            for z in range(n_states):
                p = sampled[first + z]
                log = draw_log_gamma(kappa * p, plans.state, plans.u) if p > IMPOSSIBLE else -np.inf
                sampled[first + z] = log
                largest = max(largest, log)
            for z in range(n_states):
                sampled[first + z] = math.exp(sampled[first + z] - largest)
                total += sampled[first + z]
            for z in range(n_states):
                sampled[first + z] /= total


@inline
def value_states(belief: Belief, choice: Any, plans: KeptPlans, j: int) -> float:
    """Write the values of all states with j steps to follow into `v`; return their sum."""
    n_states, stride, v, total = belief.n_states[0], belief.graph.stride, plans.v, 0.0
    first, masked = j * len(plans.v) * stride, choice.n_impossible[0] > 0
    for s in range(n_states):
        best = -np.inf
        for r in range(s * stride, s * stride + belief.graph.n_actions):
            if not masked or choice.possible[r]:
                best = max(best, plans.levels[first + r])
        v[s] = best
    if masked:
        after, weight, starts = 0.0, 0.0, choice.starts
        if plans.restarts:
            for i in range(starts.n[0]):
                s = starts.states[i]
                if not choice.terminal[s]:
                    after += starts.weight[s] * v[s]
                    weight += starts.weight[s]
        for s in range(n_states):
            if choice.terminal[s]:
                v[s] = after / weight if weight > 0.0 else 0.0
    highest = plans.cap * largest_value(plans, j)
    if plans.reward == ENTROPY or plans.reward == STATE_ENTROPY:
        highest *= largest_log(belief, choice, plans)
    for s in range(n_states):
        if plans.cap > 0.0:
            v[s] = min(v[s], highest)
        total += v[s]
    return total


@inline
def expected_value(belief: Belief, plans: KeptPlans, s: int, a: int, total: float) -> float:
    """Expected value of the state after row (a, s); `total` is the sum of the values of all states."""
    graph, v, n_states = belief.graph, plans.v, belief.n_states[0]
    r, expected = s * graph.stride + a, 0.0
    if plans.model == SAMPLE:
        first = (s * graph.n_actions + a) * n_states
        for z in range(n_states):
            expected += plans.sampled[first + z] * v[z]
        return expected
    if plans.model == FREQUENCIES:
        n = belief.row_stats[r, TOTAL]
        if n < plans.m:
            return 0.0  # an unknown row of R-max, whose reward contains the later ones
        if n == 0:
            return total / n_states  # type: ignore[no-any-return]
        for k in range(graph.start[s], graph.start[s] + graph.length[s]):
            expected += max(belief.n[k * graph.stride + a], 0) * v[graph.succ[k]]
        return expected / n  # type: ignore[no-any-return]
    if len(belief.base_weight):
        expected = belief.base_weight[r] * total
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        expected += belief.weight[k * graph.stride + a] * v[graph.succ[k]]
    return expected


@inline
def make_plan(belief: Belief, choice: Any, plans: KeptPlans) -> None:
    """Compute Q_j of all rows, for all j."""
    n_states, graph, total = belief.n_states[0], belief.graph, 0.0
    if plans.model == SAMPLE:
        sample_world(belief, choice, plans)
    for j in range(plans.steps_back + 1):
        if j > 0:
            total = value_states(belief, choice, plans, j - 1)
        first = j * len(plans.v) * graph.stride
        for s in range(n_states):
            renew_utilities(belief, s)
            for a in range(graph.n_actions):
                r = s * graph.stride + a
                q = reward_of_row(belief, choice, plans, r, j)
                if j > 0:
                    q += plans.discount * expected_value(belief, plans, s, a, total)
                plans.levels[first + r] = q
    for r in range(n_states * graph.stride):
        plans.n_planned[r] = belief.row_stats[r, TOTAL]
    plans.since[0] = 0


@inline
def is_cube(n: int) -> bool:
    """Whether n is a cube."""
    root = round(n ** (1.0 / 3.0))
    return bool(root * root * root == n)


@inline
def is_due(belief: Belief, choice: Any, plans: KeptPlans, s: int, a: int, s_next: int) -> bool:
    """Whether a new plan is made after this observation."""
    left, r = choice.left[0], s * belief.graph.stride + a
    if plans.schedule == STEP:
        return True
    if plans.schedule == EPISODE:
        over = left > UNCUT and plans.since[0] > plans.steps_back
        return over or choice.terminal[s_next] or left == 1  # type: ignore[no-any-return]
    if plans.schedule == DOUBLING:
        before = plans.n_planned[r]
        return belief.row_stats[r, TOTAL] - before >= max(1, before)  # type: ignore[no-any-return]
    if plans.schedule == CUBIC:
        return is_cube(choice.n_obs[0])
    return plans.since[0] >= plans.every  # type: ignore[no-any-return]


@callback
def kept_values(belief: Belief, choice: Any, plans: KeptPlans, s: int) -> None:
    """Q(., s) of the last plan into `choice.values`, with the steps that are left."""
    left = choice.left[0]
    n_steps = min(plans.steps_back, left - 1)
    if plans.schedule == EPISODE and left > UNCUT:
        n_steps = plans.steps_back - plans.since[0]
    first = (n_steps * len(plans.v) + s) * belief.graph.stride
    for a in range(len(choice.values)):
        choice.values[a] = plans.levels[first + a]


@callback
def plan_if_due(belief: Belief, choice: Any, plans: KeptPlans, s: int, a: int, s_next: int, reward: float) -> None:
    """Make a new plan if it is due."""
    plans.since[0] += 1
    if is_due(belief, choice, plans, s, a, s_next):
        make_plan(belief, choice, plans)


@callback
def plan_again(belief: Belief, choice: Any, plans: KeptPlans) -> None:
    """Make a new plan after utilities, or what is possible, have changed."""
    make_plan(belief, choice, plans)
