"""How an action is chosen: ties, the tournament of all rows, and the heuristics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.compile import bare_kernel, inlined

RANDOM, LEAST_TAKEN, COUNTER, GREEDY, VALUE_ITERATION, Q_LEARNING, RELOCATE = 0, 1, 2, 3, 4, 5, 6
TIE = 1e-12
"""Values this close to the largest, relative to it if it exceeds one, are tied (reading R8)."""


class Agent(NamedTuple):
    """What the coordination method remembers besides the belief.

    visits : (N + 1,), how often each state was occupied; the last entry is their sum.
    q : [s * stride + a], Q-learning's table; empty for other methods.
    top, ties : tournament tree over rows for relocation: the largest utility below each node and
        how many rows share it; leaves from `len(top) // 2`; empty for other methods.
    scratch : (M,), values of the actions of one state.
    place : [0] the state the agent is in, -1 for unknown.
    """

    visits: IntArray
    q: FloatArray
    top: FloatArray
    ties: IntArray
    scratch: FloatArray
    place: IntArray
    method: int
    n_actions: int
    learning_rate: float
    gamma: float
    epsilon: float


@inlined
def lower_bound(largest: float) -> float:
    """The least value that is tied with the largest."""
    return largest - TIE * max(1.0, abs(largest))


@inlined
def best_of(values: FloatArray, u: float) -> int:
    """Index of the largest value, ties broken uniformly by `u` in [0, 1)."""
    largest = values[0]
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    bound = lower_bound(largest)
    n_ties = 0
    for i in range(len(values)):
        n_ties += values[i] >= bound
    wanted = int(u * n_ties)
    found = 0
    for i in range(len(values)):
        if values[i] >= bound:
            if wanted == 0:
                found = i
            wanted -= 1
    return found


@bare_kernel
def join(top: FloatArray, ties: IntArray, node: int) -> None:
    """Renew an inner node of the tournament tree from its two children."""
    left, right = 2 * node, 2 * node + 1
    largest = max(top[left], top[right])
    bound = lower_bound(largest)
    top[node] = largest
    ties[node] = (ties[left] if top[left] >= bound else 0) + (ties[right] if top[right] >= bound else 0)


@bare_kernel
def grow_tree(top: FloatArray, ties: IntArray, utility: FloatArray) -> None:
    """Fill the tournament tree from all utilities; padding, at -inf, takes no part."""
    n_leaves = len(top) // 2
    for i in range(n_leaves):
        inside = i < len(utility) and utility[i] > -np.inf
        top[n_leaves + i] = utility[i] if inside else -np.inf
        ties[n_leaves + i] = 1 if inside else 0
    for node in range(n_leaves - 1, 0, -1):
        join(top, ties, node)


@bare_kernel
def update_tree(top: FloatArray, ties: IntArray, row: int, value: float) -> None:
    """Renew the path from one row to the root."""
    node = len(top) // 2 + row
    top[node] = value
    while node > 1:
        node //= 2
        join(top, ties, node)


@bare_kernel
def best_row(top: FloatArray, ties: IntArray, u: float) -> int:
    """Row of the largest utility, ties broken uniformly in the order of rows."""
    n_leaves = len(top) // 2
    bound = lower_bound(top[1])
    wanted = int(u * ties[1])
    node = 1
    while node < n_leaves:
        left = 2 * node
        here = ties[left] if top[left] >= bound else 0
        if wanted < here:
            node = left
        else:
            wanted -= here
            node = left + 1
    return node - n_leaves


@bare_kernel
def expected_visits(
    start: IntArray,
    length: IndexArray,
    succ: IndexArray,
    weight: FloatArray,
    share: FloatArray,
    visits: IntArray,
    stride: int,
    s: int,
    scratch: FloatArray,
) -> None:
    """Minus the expected count of the next state under each action, into `scratch` (Sec. 3.5, CB)."""
    for a in range(len(scratch)):
        scratch[a] = -share[s * stride + a] * visits[-1] if len(share) else 0.0
    for k in range(start[s], start[s] + length[s]):
        for a in range(len(scratch)):
            scratch[a] -= weight[k * stride + a] * visits[succ[k]]


@inlined
def arrive(visits: IntArray, place: IntArray, s: int) -> None:
    """Count the visit if the agent is found in a state that its last step did not lead to."""
    if place[0] != s:
        place[0] = s
        visits[s] += 1
        visits[-1] += 1
