"""What is worked out once per prior and per world, and kept with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from berlyne.arrays import FloatArray
from berlyne.engine.graph import Graph, graph_of, spread
from berlyne.engine.plan import Repairs, list_repairs
from berlyne.priors.prior import CompiledPrior
from berlyne.rows import Support
from berlyne.worlds.world import World

SMALL = 1 << 20
"""Largest arrays that are kept between runs rather than made again."""
ALIKE = 64
"""Priors told by a few numbers, of which what follows is kept."""

_GRAPHS: WeakKeyDictionary[Support, Graph] = WeakKeyDictionary()
_REPAIRS: WeakKeyDictionary[Support, dict[int, Repairs]] = WeakKeyDictionary()
_TRUTHS: WeakKeyDictionary[World, FloatArray] = WeakKeyDictionary()
_OF_PRIORS: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_OF_ALIKE: OrderedDict[tuple[Any, ...], dict[Any, Any]] = OrderedDict()
_OF_WORLDS: WeakKeyDictionary[World, dict[Any, Any]] = WeakKeyDictionary()


def kept_graph(support: Support) -> Graph:
    """The graph of a support."""
    if support not in _GRAPHS:
        _GRAPHS[support] = graph_of(support)
    return _GRAPHS[support]


def kept_repairs(support: Support, graph: Graph, depth: int) -> Repairs:
    """What steps can change on the graph of a support."""
    by_depth = _REPAIRS.setdefault(support, {})
    if depth not in by_depth:
        by_depth[depth] = list_repairs(graph, depth)
    return by_depth[depth]


def graph_and_truth(world: World, support: Support) -> tuple[Graph, FloatArray]:
    """A graph of the support of a world, and its true probabilities there."""
    graph = kept_graph(support)
    weight = _TRUTHS.get(world)
    if weight is None:
        weight = spread(graph, world.rows)
        if weight.size <= SMALL:
            _TRUTHS[world] = weight
    return graph, weight


def kept_of_prior(prior: CompiledPrior) -> dict[Any, Any]:
    """Where to keep what follows from a prior alone; priors that a few numbers describe share it."""
    said = prior.describe()
    if said.arrays:
        return _OF_PRIORS.setdefault(prior, {})
    key = (said.kind, prior.n_states, prior.n_actions, *said.parameters.values())
    kept = _OF_ALIKE.setdefault(key, {})
    while len(_OF_ALIKE) > ALIKE:
        _OF_ALIKE.popitem(last=False)
    return kept


def kept_of_world(world: World) -> dict[Any, Any]:
    """Where to keep what follows from a world and its prior."""
    return _OF_WORLDS.setdefault(world, {})
