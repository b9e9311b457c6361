"""Internal models in the form that the tasks read: estimates in the slots of a graph.

Models of one world with the same prior share their graph, so what depends on the graph alone is computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import types

from berlyne.engine.blocks import Block, CompiledFunction, call, type_of
from berlyne.engine.jit import COMPILING, kernel
from berlyne.engine.row_beliefs import (
    FIRST,
    SEEN,
    TOTAL,
    Belief,
    build_belief,
    count,
    family_of,
    is_compiled_prior,
)
from berlyne.engine.successor_graph import build_graph, slot_weights
from berlyne.engine.tasks.eliminate import Elimination, list_elimination
from berlyne.engine.tasks.lanes import Chain
from berlyne.frozen import read_only
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import CompiledPrior
from berlyne.sparse import Counts, Rows, Support, checked_counts
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

Model = InternalModel | Counts | Rows | FloatArray
"""A model to plan with: `Counts` are read with the world's prior, and an array is `theta_hat[a, s, s_next]`."""

Models = Sequence[Model] | IntArray
"""Several models, or counts `(K, M, N, N)`."""

LARGEST = np.iinfo(np.int32).max
"""Largest number of observations of a row in a `Belief`."""


class Layout:
    """A graph, and the elimination that solves linear equations on it.

    Parameters
    ----------
    support : Support
        The possible transitions.

    Attributes
    ----------
    graph : Graph
        The graph, without padding slots.
    search : Block or None
        Scratch for policy iteration, to be copied; None until it is first needed.
    """

    def __init__(self, support: Support) -> None:
        self.graph = build_graph(support, multiple=1)
        self.search: Block | None = None

    @cached_property
    def elimination(self) -> Elimination:
        """The operations of `berlyne.engine.tasks.eliminate` on this graph."""
        return list_elimination(self.graph)

    def chain(self, rows: Rows) -> Chain:
        """Return the probabilities of `rows` on this graph, which must contain all their transitions."""
        return Chain(self.graph, read_only(slot_weights(self.graph, rows)))


class ObservedCounts(NamedTuple):
    """Counts of K models.

    Attributes
    ----------
    begin : ndarray of int, shape (K + 1,)
        The counts of model m are `begin[m]:begin[m + 1]` in the other arrays.
    row, s_next, n : ndarray of int
        As in `berlyne.sparse.Counts`.
    """

    begin: IntArray
    row: IntArray
    s_next: IntArray
    n: IntArray
    out: FloatArray


class Reader:
    """Read the estimates of internal models of one world.

    Parameters
    ----------
    world : World
        The true world.

    Attributes
    ----------
    rows : Rows
        The true world; a terminal state leads to itself.
    truth : Layout
        Layout of the true world.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.rows = _absorbing_rows(world)
        self.truth = Layout(self.rows.support)
        self._prior_cache: dict[int, tuple[CompiledPrior, Layout, Block]] = {}

    def read(self, models: Models) -> Iterator[tuple[Layout, FloatArray]]:
        """Yield layout and estimates `(K, slots * stride)` of K models at a time, in the order of `models`.

        All transitions out of terminal states are zero.
        """
        for layout, weights in self._estimates(models):
            yield layout, self.stop_at_ends(layout, weights)

    def stop_at_ends(self, layout: Layout, weights: FloatArray) -> FloatArray:
        """Return probabilities `(K, slots * stride)` without the transitions out of terminal states."""
        if not len(self.world.terminal):
            return weights
        graph, weights = layout.graph, weights.copy()
        for s in self.world.terminal:
            weights[:, graph.start[s] * graph.stride : (graph.start[s] + graph.length[s]) * graph.stride] = 0.0
        return weights

    def _estimates(self, models: Models) -> Iterator[tuple[Layout, FloatArray]]:
        """Yield what `read` does, with the transitions out of terminal states."""
        if not len(models):
            raise ValueError("there are no models; give at least one")
        if isinstance(models, np.ndarray) and np.issubdtype(models.dtype, np.integer):
            readable = self._split(models)
        else:
            readable = [self._prior_and_counts(model) for model in models]
        for _, group in groupby(readable, key=lambda pair: id(pair[0])):
            batch = list(group)
            if batch[0][0] is None:
                for _, rows in batch:
                    layout = Layout(rows.support)
                    yield layout, layout.chain(rows).weight[None]
            else:
                prior, layout, estimator = self._prior_data(batch[0][0])
                yield layout, _estimates(prior, estimator.copy(), [counts for _, counts in batch])

    def _prior_and_counts(self, model: Model) -> tuple[Any, Any]:
        """Return a compiled prior and counts, or None and rows."""
        prior = self.world.prior if isinstance(model, Counts) else getattr(model, "prior", None)
        if isinstance(model, Counts | InternalModel):
            self._check_size(model.n_actions, model.n_states)
            counts = model.sparse_counts if isinstance(model, InternalModel) else checked_counts(model)
            if is_compiled_prior(prior):
                return prior, counts
            if prior is None:
                raise ValueError("counts need a prior; give the world a prior, or give a model instead of counts")
            model = InternalModel.from_counts(prior, counts, {}).theta_hat
        rows = World(model).rows
        self._check_size(rows.n_actions, rows.n_states)
        return None, rows

    def _split(self, counts: IntArray) -> list[tuple[Any, Any]]:
        """Return pairs as `_prior_and_counts` does for counts `(K, M, N, N)`, which are validated together."""
        if counts.ndim != 4 or counts.shape[2] != counts.shape[3]:
            raise ValueError(
                f"counts have shape {counts.shape}; the shape must be (n_models, n_actions, n_states, n_states)"
            )
        n_models, n_actions, n_states, _ = counts.shape
        by_row = counts.transpose(0, 2, 1, 3).reshape(n_models, n_states * n_actions, n_states)
        model, row, s_next = np.nonzero(by_row)
        all_ = checked_counts(Counts(n_actions, n_states, row, s_next, by_row[model, row, s_next].astype(np.int64)))
        ends = np.searchsorted(model, np.arange(n_models + 1))
        slices = [slice(begin, end) for begin, end in pairwise(ends.tolist())]
        split = [Counts(n_actions, n_states, row[part], s_next[part], all_.n[part]) for part in slices]
        if not is_compiled_prior(self.world.prior):
            return [self._prior_and_counts(counts_of_model) for counts_of_model in split]
        self._check_size(n_actions, n_states)
        return [(self.world.prior, counts_of_model) for counts_of_model in split]

    def _check_size(self, n_actions: int, n_states: int) -> None:
        size = self.world.n_actions, self.world.n_states
        if (n_actions, n_states) != size:
            raise ValueError(
                f"the model has {n_actions} actions and {n_states} states; the world has {size[0]} and {size[1]}"
            )

    def _prior_data(self, prior: CompiledPrior) -> tuple[CompiledPrior, Layout, Block]:
        """Return a prior, its layout and its belief without observations, computed once per prior.

        The cache holds the prior, because the id of a deleted object can be used again.
        """
        if id(prior) not in self._prior_cache:
            shared = prior.support.same_entries(self.rows.support)
            layout = self.truth if shared else Layout(prior.support)
            belief = build_belief(prior, prior.compiled_spec(None), layout.graph, np.empty(0), None, False)
            self._prior_cache[id(prior)] = prior, layout, _new_estimator(prior, belief)
        return self._prior_cache[id(prior)]


def _absorbing_rows(world: World) -> Rows:
    """Return the rows of a world, with every action in a terminal state leading to the state itself."""
    rows, n_actions = world.rows, world.n_actions
    if not len(world.terminal):
        return rows
    row, ends = rows.row_numbers(), np.repeat(world.terminal, n_actions)
    has_successors = ~world.episodes.is_terminal[row // n_actions]
    of_ends = ends * n_actions + np.tile(np.arange(n_actions), len(world.terminal))
    return Rows.from_entries(
        n_actions,
        world.n_states,
        np.concatenate([row[has_successors], of_ends]),
        np.concatenate([rows.indices[has_successors], ends]),
        np.concatenate([rows.data[has_successors], np.ones(len(ends))]),
    )


class Estimator(NamedTuple):
    """A belief without utilities, and functions of its prior, see `berlyne.engine.row_beliefs.Family`."""

    belief: Belief
    find_slot: Any
    update_row: Any


def _new_estimator(prior: CompiledPrior, belief: Belief) -> Block:
    family, kind = family_of(prior), type_of(belief) if COMPILING else None
    find_slot = CompiledFunction(family.find_slot, kind, types.int64, types.int64, types.int64)
    numbers = (types.int64,) * 4
    return Block.of(Estimator(belief, find_slot, CompiledFunction(family.update_row, kind, *numbers)))


def _estimates(prior: CompiledPrior, estimator: Block, counts: list[Counts]) -> FloatArray:
    """Return estimates of K models, `(K, slots * stride)`; the counts of `estimator` are overwritten."""
    begin = np.concatenate([[0], np.cumsum([len(c.row) for c in counts])]).astype(np.int64)
    row, s_next, n = (np.concatenate([getattr(c, name) for c in counts]) for name in ("row", "s_next", "n"))
    belief: Belief = estimator.record.belief
    out = np.empty((len(counts), len(belief.weight)))
    observed = Block.around(ObservedCounts(begin, row, s_next, n, out))
    done = call(estimate, estimator, observed, 0)
    while done < len(counts):  # the prior raises an error that names the row, unless it can estimate it
        out[done] = slot_weights(belief.graph, Rows.from_dense(prior.estimate(counts[done].dense())))
        done = call(estimate, estimator, observed, done + 1)
    return out


@kernel
def estimate(estimator: Estimator, observed: ObservedCounts, first: int) -> int:
    """Write estimates of the models from `first` on into `out[m]`; return the first that it cannot count."""
    belief, out = estimator.belief, observed.out
    n_states, n_actions, stride = len(belief.graph.start), belief.graph.n_actions, belief.graph.stride
    for m in range(first, len(out)):
        for i in range(len(belief.n)):
            belief.n[i] = min(belief.n[i], 0)
        for r in range(len(belief.row_stats)):
            belief.row_stats[r, TOTAL] = belief.row_stats[r, SEEN] = belief.row_stats[r, FIRST] = 0
        for e in range(observed.begin[m], observed.begin[m + 1]):
            s, a, s_next = observed.row[e] // n_actions, observed.row[e] % n_actions, observed.s_next[e]
            slot = estimator.find_slot(belief, s, a, s_next)
            too_many = belief.row_stats[s * stride + a, TOTAL] + observed.n[e] > LARGEST
            if slot < 0 or too_many or belief.n[slot * stride + a] != 0:
                return m
            count(belief, s, a, s_next, slot, observed.n[e])
        for s in range(n_states):
            for a in range(n_actions):
                estimator.update_row(belief, s, a, 0, 0)
        for i in range(len(belief.weight)):
            out[m, i] = belief.weight[i]
    return len(out)
