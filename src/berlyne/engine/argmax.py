"""Select one of several values: the largest, with random ties, or one drawn from the softmax.

`berlyne.strategies.choice.ChoiceRule` defines the selection in plain NumPy. A tournament tree finds the best of all
rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from berlyne.engine.jit import inline
from berlyne.strategies import choice
from berlyne.validation import BoolArray, FloatArray, IntArray

tie_threshold = inline(choice.tie_threshold)


@inline
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
    index = 0
    for i in range(len(values)):
        if values[i] >= bound:
            if wanted == 0:
                index = i
            wanted -= 1
    return index


@inline
def random_index(values: FloatArray, u: float) -> int:
    """Index drawn uniformly by `u` in [0, 1) from all values except -inf, which cannot be chosen."""
    n_possible = 0
    for i in range(len(values)):
        n_possible += values[i] > -np.inf
    wanted, index = int(u * n_possible), 0
    for i in range(len(values)):
        if values[i] > -np.inf:
            if wanted == 0:
                index = i
            wanted -= 1
    return index


@inline
def softmax_weight(value: float, largest: float, temperature: float) -> float:
    """Weight of a value in the softmax, at most 1."""
    return math.exp((value - largest) / temperature)


@inline
def softmax_total(values: FloatArray, temperature: float) -> tuple[float, float]:
    """Return the largest value and the sum of all softmax weights."""
    largest, total = values[0], 0.0
    for i in range(1, len(values)):
        largest = max(largest, values[i])
    for i in range(len(values)):
        total += softmax_weight(values[i], largest, temperature)
    return largest, total


@inline
def sample_softmax(values: FloatArray, temperature: float, u: float) -> int:
    """Index drawn from the softmax of the values by inversion of `u` in [0, 1); never one of probability zero."""
    largest, total = softmax_total(values, temperature)
    index, last, below = -1, 0, 0.0
    for i in range(len(values)):
        weight = softmax_weight(values[i], largest, temperature)
        below += weight
        if weight > 0.0:
            last = i
            if index < 0 and u * total < below:
                index = i
    return index if index >= 0 else last


class Tree(NamedTuple):
    """A tournament of all rows, as a binary tree. The arrays are empty unless the agent may relocate.

    The children of node i are 2 i and 2 i + 1; the leaves are the second half of the arrays.

    Attributes
    ----------
    top : ndarray
        The largest utility below each node.
    ties : ndarray of int
        How many rows below each node are tied with its largest utility.
    low : ndarray
        The smallest utility among those tied rows.
    stack : ndarray of int
        Scratch.
    """

    top: FloatArray
    ties: IntArray
    low: FloatArray
    stack: IntArray


def new_tree(n_nodes: int) -> Tree:
    """Allocate a tournament with this number of nodes; fill it with `grow_tree`."""
    top, ties = np.full(n_nodes, -np.inf), np.zeros(n_nodes, dtype=np.int64)
    return Tree(top, ties, top.copy(), np.zeros(n_nodes.bit_length() + 2, dtype=np.int64))


NO_TREE = new_tree(0)


@inline
def tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """Return how many rows below a node have a utility of at least `bound`, and the smallest of these utilities.

    `bound` must be at least the bound of the node itself, so only rows that are tied in the node can count. If some
    but not all of them count, the search continues below the node.
    """
    n_ties, low = 0, np.inf
    if tree.low[node] >= bound:
        n_ties, low = tree.ties[node], tree.low[node]
    elif tree.top[node] >= bound:
        n_ties, low = some_tied_below(tree, node, bound)
    return n_ties, low


@inline
def some_tied_below(tree: Tree, node: int, bound: float) -> tuple[int, float]:
    """Compute `tied_below` by descending to nodes where all or none of the tied rows count."""
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


@inline
def join(tree: Tree, node: int) -> None:
    """Update an inner node of the tournament from its two children."""
    left, right = 2 * node, 2 * node + 1
    tree.top[node] = max(tree.top[left], tree.top[right])
    bound = tie_threshold(tree.top[node])
    n_left, low_left = tied_below(tree, left, bound)
    n_right, low_right = tied_below(tree, right, bound)
    tree.ties[node], tree.low[node] = n_left + n_right, min(low_left, low_right)


@inline
def grow_tree(tree: Tree, utility: FloatArray, possible: BoolArray) -> None:
    """Fill the tournament from the utilities of possible rows; padding has utility -inf and is ignored."""
    n_leaves = len(tree.top) // 2
    for i in range(n_leaves):
        inside = i < len(utility) and possible[i] and utility[i] > -np.inf
        tree.top[n_leaves + i] = tree.low[n_leaves + i] = utility[i] if inside else -np.inf
        tree.ties[n_leaves + i] = 1 if inside else 0
    for node in range(n_leaves - 1, 0, -1):
        join(tree, node)


@inline
def leaves(tree: Tree) -> FloatArray:
    """Return the utilities of all rows, -inf for those that are not possible and for padding."""
    return tree.top[len(tree.top) // 2 :]


@inline
def update_tree(tree: Tree, row: int, value: float) -> None:
    """Set the utility of one row, and update the path from it to the root."""
    node = len(tree.top) // 2 + row
    tree.top[node] = tree.low[node] = value
    while node > 1:
        node //= 2
        join(tree, node)


@inline
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
