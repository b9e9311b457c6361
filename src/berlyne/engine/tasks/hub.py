"""Models in which every state may follow every other, as sparse chains with a hub.

Under a prior over all states, the outcomes of a row that were never observed have the same probability b. So a step is
a step to anywhere, with probability N b, or to one of the few observed outcomes. A step to anywhere passes through one
more state, the hub, at no further cost, and leads from there to each of the N states with probability 1 / N.
The expected steps to a target are the same in both chains. The chain with the hub has as many entries as transitions
were observed, so its equations are solved in a small part of N^3 / 3 operations (`berlyne.engine.tasks.eliminate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from berlyne.engine.tasks.models import Layout
from berlyne.sparse import Rows
from berlyne.validation import FloatArray

SMALLEST = 64
"""Number of states from which a hub is worth its setup."""
DENSEST = 0.25
"""Largest part of all pairs of states that may be left as entries of their own."""


def through_hubs(batches: Iterable[tuple[Layout, FloatArray]]) -> Iterator[tuple[Layout, FloatArray]]:
    """Yield models one by one with a hub where that saves work, and all other batches as they are."""
    for layout, weights in batches:
        n_states = len(layout.graph.start)
        if n_states < SMALLEST or np.any(layout.graph.length != n_states):
            yield layout, weights
        else:
            for weight in weights:
                yield _through_hub(layout, weight)


def _through_hub(layout: Layout, weight: FloatArray) -> tuple[Layout, FloatArray]:
    """Return the chain with a hub, if it is sparse; otherwise the chain itself. All its slots must exist."""
    n_states, n_actions = len(layout.graph.start), layout.graph.n_actions
    p = weight.reshape(n_states, n_states, -1)[:, :, :n_actions].transpose(0, 2, 1).reshape(-1, n_states)
    anywhere = p.min(axis=1)  # of every row s M + a
    p = p - anywhere[:, np.newaxis]
    row, s_next = np.nonzero(p)
    if len(np.unique(row // n_actions * n_states + s_next)) > DENSEST * n_states**2:
        return layout, weight[np.newaxis]
    to_hub, from_hub = np.flatnonzero(anywhere), n_states * n_actions + np.arange(n_actions)
    rows = Rows.from_entries(
        n_actions,
        n_states + 1,
        np.concatenate([row, to_hub, np.repeat(from_hub, n_states)]),
        np.concatenate([s_next, np.full(len(to_hub), n_states), np.tile(np.arange(n_states), n_actions)]),
        np.concatenate([p[row, s_next], n_states * anywhere[to_hub], np.full(n_states * n_actions, 1.0 / n_states)]),
    )
    with_hub = Layout(rows.support)
    return with_hub, with_hub.chain(rows).weight[np.newaxis]
