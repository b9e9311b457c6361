"""The action-perception loop: one exploration of one world by one strategy.

Paper: Sec. 2.1 and 2.2. At every step the agent chooses an action, the world answers with a
state, the agent learns from it, and what it still does not know is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.agents.base import AnyAgent, Engine, make_agent, make_open_state_agent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.engine.records import RunRecord
from berlyne.exploration.run import Run, count_transitions
from berlyne.exploration.streams import streams
from berlyne.labels import as_list
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import discovers_states
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import (
    OWN_WORLDS,
    Seed,
    check_count,
)
from berlyne.worlds.episodes import draw_initial_state
from berlyne.worlds.structure import warn_if_unreachable
from berlyne.worlds.world import World, check_world

if TYPE_CHECKING:
    pass


MAX_STEPS = 2**31 - 2
CHUNK = 1 << 16
"""Steps for which random numbers are drawn at a time; the numbers do not depend on it."""

NO_PRIOR = (
    f"the world has no prior, so an explorer would have nothing to infer from; make it as World(theta, prior)"
    f"{OWN_WORLDS}"
)


def explore(
    world: World,
    /,
    strategy: str | Strategy,
    n_steps: int = 1000,
    seed: Seed = 0,
    *,
    start: Any = None,
    snapshots: Iterable[int] = (),
    engine: Engine = "auto",
) -> Run:
    """Let a strategy explore a world: choose, transition, learn, measure, `n_steps` times.

    Parameters
    ----------
    world : where to explore; it must have a prior.
    strategy : a name such as "PIG(VI)", or a `Strategy`.
    n_steps : how many actions to take.
    seed : int, `SeedSequence` or `Generator`; the agent, the world, the start state and resets draw from
        streams of their own.
    start : the first state, or probabilities of it; by default the world's, or else drawn uniformly (reading R13).
    snapshots : times at which to keep the counts.
    engine : "auto" runs compiled kernels where they know the prior, the utility and the method, and
        plain NumPy otherwise; "compiled" and "numpy" insist.

    Examples
    --------
    >>> import berlyne
    >>> run = berlyne.explore(berlyne.maze(0), "PIG(VI)", n_steps=2500, seed=0)
    >>> len(run.missing_information)
    2501
    """
    strategy = get_strategy(strategy)
    if check_world(world).prior is None:
        raise ValueError(NO_PRIOR)
    n_steps, times = _checked_times(n_steps, snapshots)
    for_start, for_agent, for_world, for_resets = streams(seed)
    first = draw_initial_state(world, start, for_start)
    if not strategy.relocates:  # else it goes wherever it likes
        warn_if_unreachable(world, first, start is not None)
    agent, measures = _begun(world, strategy, first, engine)
    record = RunRecord.allocate(n_steps, first, *measures)
    done, kept = 0, {}
    for until in [*times, n_steps]:
        while done < until:
            n = min(until - done, CHUNK)
            u = for_agent.random((n, 2))
            if strategy.ties == "first":
                u[:, 0] = 0.0
            u_start = for_resets.random(n if len(world.terminal) else 0)
            made = agent.run(world, record.between(done, done + n), u, for_world.random(n), u_start)
            if made < n:
                raise ValueError(f"step {done + made}: the observed transition has probability zero under the prior")
            done += n
        if until in times:
            kept[until] = _counts(world, record, until) if isinstance(agent, OpenStateAgent) else agent.counts()
    # sums of many gains: rounding may leave them a little below the zero of a world known for sure
    missing, l1 = np.maximum(record.missing, 0.0), np.maximum(record.l1, 0.0)
    return Run(world, strategy, missing, l1, record.states, record.actions, record.outcomes, kept)


def _begun(world: World, strategy: Strategy, first: int, engine: Engine) -> tuple[AnyAgent, tuple[float, float]]:
    """A mind in its first state, and how far it is from the truth."""
    prior: Any = world.prior
    if discovers_states(prior):
        growing = make_open_state_agent(prior, world.n_actions, strategy, engine)
        growing.discover(first)
        if len(world.terminal):
            growing.mark_terminal(world.terminal)
        return growing, growing.measures(world)
    model = InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions)
    return make_agent(model, strategy, world, engine), initial_measures(world, model)


def _counts(world: World, record: RunRecord, until: int) -> Counts:
    """Transitions made before a time, between states as the world numbers them."""
    return count_transitions(world, record.states[:until], record.actions[:until], record.outcomes[:until])


def _checked_times(n_steps: int, snapshots: Iterable[int]) -> tuple[int, list[int]]:
    if (n_steps := check_count("n_steps", n_steps, 0)) > MAX_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MAX_STEPS}, as far as observations are counted")
    times = sorted({check_count("a snapshot", t, 0) for t in as_list("snapshots", snapshots)})
    if times and times[-1] > n_steps:
        raise ValueError(f"a snapshot is asked for at step {times[-1]}, after the last step {n_steps}")
    return n_steps, times


_MEASURES: WeakKeyDictionary[World, tuple[float, float]] = WeakKeyDictionary()


def initial_measures(world: World, model: InternalModel) -> tuple[float, float]:
    """Missing information and L1 distance before any data, which `model` has not seen; worked out once per world."""
    if world not in _MEASURES:
        _MEASURES[world] = model.missing_information(world), model.l1_distance(world)
    return _MEASURES[world]
