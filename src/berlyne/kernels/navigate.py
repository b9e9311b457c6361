"""Navigation to twelve targets at a time: the best policy of a model, and how it fares in the world.

Paper: Sec. 3.7; reading R18. Policy iteration on the expected number of steps, each policy
evaluated by elimination (`berlyne.kernels.eliminate`). The answer is the set of best actions of
every state, which does not depend on the policy that one starts from.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.arrays import BoolArray, FloatArray, IndexArray, IntArray
from berlyne.kernels.choose import TIE
from berlyne.kernels.compile import inlined, kernel
from berlyne.kernels.dozen import LANES, mixed, weighted
from berlyne.kernels.eliminate import Elimination, solve

GIVE_UP = 1e-30
"""Chance per step of giving up: a target that cannot be reached is worth 1e30 steps rather than infinitely many."""
ERROR, RELATIVE_ERROR = 1e-6, 1e-9
"""Largest error of an expected number of steps, and share of it, that comes from not making every sweep."""
CHECK = 16
"""Sweeps from one check to the next."""
MOST = 1000
"""Policies tried at most; a few are enough."""


class Chain(NamedTuple):
    """Transition probabilities of all actions in slots.

    start, length : (N,), first slot and number of slots of each state.
    succ : next state of each slot.
    weight : [slot * M + a], its probability under each action.
    """

    start: IntArray
    length: IndexArray
    succ: IndexArray
    weight: FloatArray
    n_actions: int


@kernel
def best_actions(
    model: Chain, todo: Elimination, target: int, lowest: bool, policy: IndexArray, q: FloatArray, share: FloatArray
) -> None:
    """Into `share[s * M + a, lane]`: how often action a is taken in s by the best policy for a target.

    Lane l heads for state `target + l`; lanes beyond the last state are idle. `policy[s, lane]` is where policy
    iteration starts and ends. Tied actions share evenly, or only the `lowest` is taken.
    """
    start, length, succ, weight, n_actions = model.start, model.length, model.succ, model.weight, model.n_actions
    place, n_states, n_going = todo.place, len(start), min(LANES, len(start) - target)
    p_now, p = np.zeros(todo.n_places * LANES), np.empty(todo.n_places * LANES)
    leave, cost = np.empty(n_states * LANES), np.empty(n_states * LANES)
    inverse, values = np.empty(n_states * LANES), np.empty(n_states * LANES)
    for s in range(n_states):
        for lane in range(LANES):
            if s != target + lane:
                enter(start, length, weight, place, n_actions, s, lane, policy[s * LANES + lane], p_now)
    for i in range(MOST):
        p[:] = p_now
        leave[:] = GIVE_UP
        cost[:] = 1.0
        for lane in range(n_going):
            leave[(target + lane) * LANES + lane] = 1.0
            cost[(target + lane) * LANES + lane] = 0.0
        solve(todo, p, leave, cost, inverse, values)
        changed = False
        for s in range(n_states):
            weighted(q, succ, weight, values, start[s], start[s] + length[s], n_actions)
            for lane in range(n_going):
                a = better(q, n_actions, lane, policy[s * LANES + lane])
                if a != policy[s * LANES + lane] and s != target + lane and i + 1 < MOST:
                    policy[s * LANES + lane] = a
                    enter(start, length, weight, place, n_actions, s, lane, a, p_now)
                    changed = True
            if not changed:  # of use only if no state changes: then these are the final values
                share_ties(q, n_actions, lowest, s, share)
        if not changed:
            break


@inlined
def enter(
    start: IntArray,
    length: IndexArray,
    weight: FloatArray,
    place: IntArray,
    n_actions: int,
    s: int,
    lane: int,
    a: int,
    p: FloatArray,
) -> None:
    """Enter into `p[place, lane]` the transitions of action a in state s."""
    for k in range(start[s], start[s] + length[s]):
        if place[k] >= 0:
            p[place[k] * LANES + lane] = weight[k * n_actions + a]


@inlined
def better(q: FloatArray, n_actions: int, lane: int, now: int) -> int:
    """The action of least expected steps `q[a, lane]` (less one), or the present one if that is as good."""
    best, least = now, q[now * LANES + lane] - TIE * (1.0 + q[now * LANES + lane])
    for a in range(n_actions):
        if q[a * LANES + lane] < least:
            best, least = a, q[a * LANES + lane]
    return best


@kernel
def share_ties(q: FloatArray, n_actions: int, lowest: bool, s: int, share: FloatArray) -> None:
    """Even shares for the actions of state s whose expected steps `q[a, lane]` (less one) are least."""
    for lane in range(LANES):
        least = q[lane]
        for a in range(1, n_actions):
            least = min(least, q[a * LANES + lane])
        bound = least + TIE * (1.0 + least)
        n_tied = 0
        for a in range(n_actions):
            tied = q[a * LANES + lane] <= bound and not (lowest and n_tied > 0)
            n_tied += tied
            share[(s * n_actions + a) * LANES + lane] = 1.0 if tied else 0.0
        for a in range(n_actions):
            share[(s * n_actions + a) * LANES + lane] /= n_tied


@kernel
def follow(truth: Chain, share: FloatArray, target: int, steps: FloatArray) -> None:
    """Into `steps[slot, lane]`: the probability of each transition of a policy; none out of its target."""
    n_actions = truth.n_actions
    for s in range(len(truth.start)):
        for k in range(truth.start[s], truth.start[s] + truth.length[s]):
            for lane in range(LANES):
                steps[k * LANES + lane] = 0.0
            for a in range(n_actions):
                w = truth.weight[k * n_actions + a]
                for lane in range(LANES):
                    steps[k * LANES + lane] += w * share[(s * n_actions + a) * LANES + lane]
            if 0 <= s - target < LANES:
                steps[k * LANES + s - target] = 0.0


@kernel
def geometric(decay: float, n: int) -> float:
    """Sum of r, r^2, ..., r^n for r = 1 - decay."""
    if decay * n < 1e-14:
        return float(n)
    if decay >= 1.0:
        return 0.0
    return -math.expm1(n * math.log1p(-decay)) / decay * (1.0 - decay)


@kernel
def times(truth: Chain, steps: FloatArray, going: BoolArray, target: int, cap: int, out: FloatArray) -> None:
    """Into `out[s, lane]`, for lanes that are `going`: u_cap = E[min(T, cap)] of the time T to the target.

    u_0 = 0 and u_{t + 1} = 1 + Q u_t, sweep by sweep, until `close` knows the rest.
    Each lane stops by itself, so that its answer does not depend on the others.
    """
    start, length, succ = truth.start, truth.length, truth.succ
    n_states = len(start)
    before, now, after = np.zeros(n_states * LANES), np.zeros(n_states * LANES), np.zeros(n_states * LANES)
    step = np.ones(n_states * LANES)
    for lane in range(min(LANES, n_states - target)):
        step[(target + lane) * LANES + lane] = 0.0
    for t in range(1, cap + 1):
        for s in range(n_states):
            mixed(after, s, step, succ, steps, now, start[s], start[s] + length[s])
        if t % CHECK == 0 or t == cap:
            close(before, now, after, going, cap - t, out)
            if not going.any():
                break
        before, now, after = now, after, before


@kernel
def close(before: FloatArray, now: FloatArray, after: FloatArray, going: BoolArray, n: int, out: FloatArray) -> None:
    """Write u_{t + n} into `out` and stop the lane, where it is known well enough from three u in a row.

    The increments y_t = u_{t + 1} - u_t = P(T > t) follow y_{t + 1} = Q y_t. If low y_t <= y_{t + 1} <= high y_t in
    all states then so it stays, because Q has no negative entry: the n increments left lie between two
    geometric sums, and are their mean once these hardly differ.
    """
    fast, slow, most, longest = np.zeros(LANES), np.ones(LANES), np.zeros(LANES), np.zeros(LANES)
    for first in range(0, len(now), LANES):
        for lane in range(LANES):
            y, y_next = now[first + lane] - before[first + lane], after[first + lane] - now[first + lane]
            decay = (y - y_next) / y if y > 0.0 else 0.0
            fast[lane] = max(fast[lane], decay) if y > 0.0 else fast[lane]
            slow[lane] = min(slow[lane], decay) if y > 0.0 else slow[lane]
            most[lane] = max(most[lane], y_next)
            longest[lane] = max(longest[lane], after[first + lane])
    for lane in range(LANES):
        if going[lane]:
            high, low = geometric(slow[lane], n), geometric(fast[lane], n)
            if most[lane] * (high - low) <= 2.0 * (ERROR + RELATIVE_ERROR * longest[lane]):
                going[lane] = False
                for i in range(lane, len(now), LANES):
                    out[i] = after[i] + (after[i] - now[i]) * 0.5 * (low + high)


@kernel
def navigate(
    model: Chain,
    weights: FloatArray,
    truth: Chain,
    todo: Elimination,
    cap: int,
    lowest: bool,
    start_policy: IndexArray,
    known_share: FloatArray,
    known_times: FloatArray,
    policy: IndexArray,
    share: FloatArray,
    out: FloatArray,
) -> None:
    """Steps in the true world of the policies that are best for each model, twelve targets after twelve.

    Block b holds the targets 12 b, ..., 12 b + 11.

    model : slots of all the models; weights : (K, slots M), their probabilities.
    todo : the elimination of those slots.
    start_policy : (B, N 12), from which every policy iteration starts.
    known_share, known_times : (B, N M 12) and (B, N 12), policies that need not be evaluated again; may be (0, 0).
    policy, share : (B, N 12) and (B, N M 12), those of the last model.
    out : (K, B, N 12), E[min(T, cap)].
    """
    n_states, n_actions = len(truth.start), truth.n_actions
    steps, q = np.empty(len(truth.succ) * LANES), np.empty(n_actions * LANES)
    going = np.empty(LANES, dtype=np.bool_)
    for m in range(len(weights)):
        here = Chain(model.start, model.length, model.succ, weights[m], n_actions)
        for b in range(out.shape[1]):
            target = b * LANES
            policy[b] = start_policy[b]
            best_actions(here, todo, target, lowest, policy[b], q, share[b])
            for lane in range(LANES):
                going[lane] = target + lane < n_states
            if len(known_share):
                out[m, b] = known_times[b]
                mark_new(share[b], known_share[b], target, n_actions, going)
            if going.any():
                follow(truth, share[b], target, steps)
                times(truth, steps, going, target, cap, out[m, b])


@kernel
def mark_new(share: FloatArray, known: FloatArray, target: int, n_actions: int, going: BoolArray) -> None:
    """Keep `going` only the lanes whose policy differs from the known one before it arrives."""
    new = np.zeros(LANES, dtype=np.bool_)
    for i in range(len(share)):
        lane, s = i % LANES, i // (LANES * n_actions)
        if share[i] != known[i] and s != target + lane:
            new[lane] = True
    for lane in range(LANES):
        going[lane] = going[lane] and new[lane]
