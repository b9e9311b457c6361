"""From values to one of them: the best, with ties broken, or one drawn from the softmax.

What it means is said in plain NumPy by `berlyne.strategies.choice.ChoiceRule`. A tournament finds the best of all rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import jit_inline, jit_nrt_off
from berlyne.strategies import choice
from berlyne.validation import FloatArray, IntArray

tie_threshold = jit_inline(choice.tie_threshold)


@jit_inline
def random_argmax(values: FloatArray, u: float) -> int:
    """Index of the largest value, ties broken uniformly by `u` in [0, 1)."""
    largest = values[0]
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    bound = tie_threshold(largest)
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


@jit_nrt_off
def any_of(values: FloatArray, u: float) -> int:
    """Index of any value but -inf, which cannot be chosen, the one that `u` in [0, 1) points at."""
    n_possible = 0
    for i in range(len(values)):
        n_possible += values[i] > -np.inf
    wanted, found = int(u * n_possible), 0
    for i in range(len(values)):
        if values[i] > -np.inf:
            if wanted == 0:
                found = i
            wanted -= 1
    return found


@jit_inline
def weight_of(value: float, largest: float, temperature: float) -> float:
    """What the chance of a value is in proportion to."""
    return math.exp((value - largest) / temperature)


@jit_nrt_off
def all_weights(values: FloatArray, temperature: float) -> tuple[float, float]:
    """The largest value, and the weights of all of them together."""
    largest, total = values[0], 0.0
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    for i in range(len(values)):
        total += weight_of(values[i], largest, temperature)
    return largest, total


@jit_nrt_off
def sample_softmax(values: FloatArray, temperature: float, u: float) -> int:
    """Index drawn from the softmax of the values by inversion of `u` in [0, 1); never one of no chance."""
    largest, total = all_weights(values, temperature)
    found, last, below = -1, 0, 0.0
    for i in range(len(values)):
        weight = weight_of(values[i], largest, temperature)
        below += weight
        if weight > 0.0:
            last = i
            if found < 0 and u * total < below:
                found = i
    return found if found >= 0 else last


class Tree(NamedTuple):
    """A tournament of all rows; leaves begin in the middle of the arrays. Empty unless the agent may relocate.

    top : the largest utility below each node.
    ties, low : how many rows are tied with it, and the least utility among those.
    stack : scratch.
    """

    top: FloatArray
    ties: IntArray
    low: FloatArray
    stack: IntArray


def new_tree(n_nodes: int) -> Tree:
    """A tournament that is yet to be grown."""
    top, ties = np.full(n_nodes, -np.inf), np.zeros(n_nodes, dtype=np.int64)
    return Tree(top, ties, top.copy(), np.zeros(n_nodes.bit_length() + 2, dtype=np.int64))


NO_TREE = new_tree(0)


@jit_inline
def tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """How many rows below a node have at least `bound`, and the least utility among them.

    `bound` is at least that of the node itself, so rows that are not tied with its largest do not count either.
    Only where some, but not all, of its tied rows count must one look further down.
    """
    n_ties, low = 0, np.inf
    if tree.low[node] >= bound:
        n_ties, low = tree.ties[node], tree.low[node]
    elif tree.top[node] >= bound:
        n_ties, low = some_tied_below(tree, node, bound)
    return n_ties, low


@jit_nrt_off
def some_tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """The same by going down to where all or none of a node's tied rows count."""
    n_ties, low, depth = 0, np.inf, 0
    tree.stack[0] = node
    while depth >= 0:
        node = tree.stack[depth]
        if tree.low[node] >= bound:
            n_ties += tree.ties[node]
            low = min(low, tree.low[node])
            depth -= 1
        elif tree.top[node] < bound:
            depth -= 1
        else:
            tree.stack[depth] = 2 * node
            tree.stack[depth + 1] = 2 * node + 1
            depth += 1
    return n_ties, low


@jit_inline
def join(tree: Tree, node: int) -> None:
    """Renew an inner node of the tournament from its two children."""
    left, right = 2 * node, 2 * node + 1
    tree.top[node] = max(tree.top[left], tree.top[right])
    bound = tie_threshold(tree.top[node])
    n_left, low_left = tied_below(tree, left, bound)
    n_right, low_right = tied_below(tree, right, bound)
    tree.ties[node], tree.low[node] = n_left + n_right, min(low_left, low_right)


@jit_nrt_off
def grow_tree(tree: Tree, utility: FloatArray) -> None:
    """Fill the tournament from all utilities; padding, at -inf, takes no part."""
    n_leaves = len(tree.top) // 2
    for i in range(n_leaves):
        inside = i < len(utility) and utility[i] > -np.inf
        tree.top[n_leaves + i] = tree.low[n_leaves + i] = utility[i] if inside else -np.inf
        tree.ties[n_leaves + i] = 1 if inside else 0
    for node in range(n_leaves - 1, 0, -1):
        join(tree, node)


@jit_nrt_off
def update_tree(tree: Tree, row: int, value: float) -> None:
    """Renew the path from one row to the root."""
    node = len(tree.top) // 2 + row
    tree.top[node] = tree.low[node] = value
    while node > 1:
        node //= 2
        join(tree, node)


@jit_nrt_off
def best_row(tree: Tree, u: float) -> int:
    """Row of the largest utility, ties broken uniformly in the order of rows."""
    n_leaves, node = len(tree.top) // 2, 1
    bound, wanted = tie_threshold(tree.top[1]), int(u * tree.ties[1])
    while node < n_leaves:
        node *= 2
        in_left = tied_below(tree, node, bound)[0]
        if wanted >= in_left:
            wanted -= in_left
            node += 1
    return node - n_leaves
