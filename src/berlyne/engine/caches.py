"""What is worked out once per prior and per world, and kept with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from berlyne.engine.successor_graph import Graph, graph_of, spread
from berlyne.engine.value_iteration import Repairs, list_repairs
from berlyne.priors.protocols import CompiledPrior
from berlyne.sparse import Support
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

SMALL = 1 << 20
"""Largest arrays that are kept between runs rather than made again."""
ALIKE = 64
"""Priors told by a few numbers, of which what follows is kept."""

_KEPT: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_OF_ALIKE: OrderedDict[tuple[Any, ...], dict[Any, Any]] = OrderedDict()


def kept_with(what: Support | World | CompiledPrior) -> dict[Any, Any]:
    """Where to keep what follows from a support, a prior, or a world and its prior, as long as they live."""
    return _KEPT.setdefault(what, {})


def kept_graph(support: Support) -> Graph:
    """The graph of a support."""
    kept = kept_with(support)
    if "graph" not in kept:
        kept["graph"] = graph_of(support)
    graph: Graph = kept["graph"]
    return graph


def kept_repairs(support: Support, graph: Graph, depth: int) -> Repairs:
    """What steps can change on the graph of a support."""
    kept = kept_with(support)
    if ("repairs", depth) not in kept:
        kept["repairs", depth] = list_repairs(graph, depth)
    repairs: Repairs = kept["repairs", depth]
    return repairs


def graph_and_truth(world: World, support: Support) -> tuple[Graph, FloatArray]:
    """A graph of the support of a world, and its true probabilities there."""
    graph, kept = kept_graph(support), kept_with(world)
    weight: FloatArray = kept["weight"] if "weight" in kept else spread(graph, world.rows)
    if weight.size <= SMALL:
        kept["weight"] = weight
    return graph, weight


def kept_of_prior(prior: CompiledPrior) -> dict[Any, Any]:
    """Where to keep what follows from a prior alone; priors that a few numbers describe share it."""
    said = prior.describe()
    if said.arrays:
        return kept_with(prior)
    key = (said.kind, prior.n_states, prior.n_actions, *said.parameters.values())
    kept = _OF_ALIKE.setdefault(key, {})
    while len(_OF_ALIKE) > ALIKE:
        _OF_ALIKE.popitem(last=False)
    return kept
