"""The action-perception loop: one exploration of one world by one strategy.

Paper: Sec. 2.1 and 2.2. At every step the agent chooses an action, the world returns the next
state, the agent learns from the transition, and the missing information is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import Engine, make_agent, make_open_state_agent, tell_world
from berlyne.engine.records import NOTHING_LEARNED, RunRecord
from berlyne.exploration.run import Run, count_transitions
from berlyne.exploration.stopping import StoppingRule
from berlyne.exploration.streams import method_seed, streams
from berlyne.labels import IMPOSSIBLE_TRANSITION, as_list
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import discovers_states
from berlyne.priors.refit import learned_values
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import FloatArray, Seed, check_count
from berlyne.worlds.episodes import draw_initial_state
from berlyne.worlds.from_gymnasium import is_environment
from berlyne.worlds.structure import warn_if_unreachable
from berlyne.worlds.world import NO_PRIOR, MeasuredRows, World, check_world

MAX_STEPS = 2**31 - 2
"""Counts of observations are int32."""
CHUNK = 1 << 16
"""Number of steps for which random numbers are drawn at once; the results do not depend on it."""


MAX_LEARNED = 1 << 24
"""Largest number of learned parameters that a run records; beyond it `Run.learned` is None."""
STOPPING_CHUNK = 1 << 9
"""Number of steps between two looks at a stopping rule."""


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
    rows: MeasuredRows | None = None,
    horizon: int | None = None,
    n_episodes: int | None = None,
    until: Any = None,
) -> Run:
    """Explore a world with a strategy: choose, transition, learn and measure, `n_steps` times.

    Parameters
    ----------
    world : World
        World to explore; it must have a prior. A Gymnasium environment is explored by `berlyne.explore_env`, with its
        default settings.
    strategy : str or Strategy
        A strategy, or its name, such as "PIG(VI)".
    n_steps : int
        Number of actions to take; with `n_episodes` or `until`, the largest number.
    seed : int, SeedSequence or Generator
        Seed. The agent, the world, the start state and the resets draw from separate streams.
    start : object, mapping or array_like of shape (N,), optional
        The first state, or probabilities of states, as a mapping from states or an array. By default the first state
        comes from the start distribution of the world or, if it has none, is drawn uniformly (reading R13).
    snapshots : iterable of int
        Times, in steps, at which to store the counts; `Run.snapshots` contains the counts by time.
    engine : {"auto", "compiled", "numpy"}
        "auto" runs compiled kernels if they support the prior, the utility and the method, and plain NumPy otherwise.
        "compiled" and "numpy" force one of them.
    rows : {"reachable", "all"}, optional
        Rows that count as missing information: those of states that can be reached from where exploration starts, or
        all. By default `world.measured`, which is "reachable" unless you change it. `Run.rows` says which.
    horizon : int, optional
        Number of steps after which an episode is cut and another one begins, as in `World.with_horizon`.
    n_episodes : int, optional
        Stop after this number of episodes.
    until : object or callable, optional
        Stop when a step leads to this state, or to one for which this function of its label returns true.

    Returns
    -------
    Run
        The path, and the missing information before the first and after every step.

    Raises
    ------
    ValueError
        If an argument is invalid, the world has no prior, or a transition has probability zero under the prior.

    Examples
    --------
    >>> import berlyne
    >>> run = berlyne.explore(berlyne.maze(0), "PIG(VI)", n_steps=2500, seed=0)
    >>> len(run.missing_information)
    2501
    """
    strategy = get_strategy(strategy)
    if is_environment(world):
        if start is not None or tuple(snapshots) or engine != "auto" or rows is not None or horizon is not None:
            raise ValueError(
                "start, snapshots, engine, rows and horizon are not available in an environment; leave them out (for a "
                "horizon, set max_episode_steps in gymnasium.make)"
            )
        from berlyne.exploration.explore_env import explore_env  # it imports this module

        return explore_env(world, strategy, n_steps, seed, n_episodes=n_episodes, until=until)
    if isinstance(world, str):
        raise ValueError(
            f"world is {world!r}; it must be a World, such as berlyne.maze() returns; to explore a Gymnasium "
            f"environment by its id, call berlyne.explore_env({world!r})"
        )
    if check_world(world).prior is None:
        raise ValueError(NO_PRIOR)
    world = world if horizon is None else world.with_horizon(horizon)
    n_steps, times = _check_times(n_steps, snapshots)
    stop = StoppingRule(world.state_labels, n_episodes, until)
    for_start, for_agent, for_world, for_resets = streams(seed)
    first = draw_initial_state(world, start, for_start)
    world = world if rows is None else world.with_measured(rows)
    if start is not None:
        world = world.started_from(world.episodes.with_start(start).starts[0])
    if not strategy.relocates:  # a relocating strategy reaches every state
        warn_if_unreachable(world, first)
    agent, measures = _make_agent(world, strategy, first, engine, method_seed(for_agent))
    record = RunRecord.allocate(n_steps, first, *measures, _recorded_values(agent.prior, n_steps))
    done, counts = 0, {}
    for time in [*times, n_steps]:
        while done < time:
            n = min(time - done, STOPPING_CHUNK if stop.is_active else CHUNK)
            u = for_agent.random((n, 2))
            if strategy.ties == "first":
                u[:, 0] = 0.0
            u_start = for_resets.random(n if world.episodes.begin_again else 0)
            made = agent.run(world, record.between(done, done + n), u, for_world.random(n), u_start)
            if made < n:
                raise ValueError(f"step {done + made}: {IMPOSSIBLE_TRANSITION}")
            done += n
            if stop.is_active:
                path = record.outcomes[:done]
                last = stop.first(path, world.episodes.ends(path)[1], done - n)
                if last is not None:
                    record, n_steps = record.between(0, last), last
                    break
        if time in times and time <= n_steps:
            counts[time] = _count_until(world, record, time) if agent.discovers_states else agent.counts()
        if done >= n_steps:
            break
    # rounding errors of many summed gains can leave a value slightly below zero if the world is fully known
    missing, l1 = np.maximum(record.missing, 0.0), np.maximum(record.l1, 0.0)
    learned = None
    if record.learned.shape[1]:
        learned = record.learned if np.ndim(agent.prior.learned) else record.learned[:, 0]
    curves = {"missing_information": missing, "l1_distance": l1}
    return Run.in_world(world, strategy, (record.states, record.actions, record.outcomes), curves, counts, learned)


def _recorded_values(prior: Any, n_steps: int) -> FloatArray:
    """Return the parameters that a prior has learned, (P,); empty if a record of them for all steps is too large."""
    values = learned_values(prior)
    return values if len(values) * (n_steps + 1) <= MAX_LEARNED else NOTHING_LEARNED


def _make_agent(
    world: World, strategy: Strategy, first: int, engine: Engine, seed: np.random.SeedSequence
) -> tuple[Agent, tuple[float, float]]:
    """Return an agent in its first state, and its missing information and L1 distance there."""
    prior: Any = world.prior
    if discovers_states(prior):
        labels = world.state_labels, world.action_labels
        agent = make_open_state_agent(prior, world.n_actions, strategy, engine, seed, labels)
        agent.discover(first)
        tell_world(agent, world)
        return agent, agent.measures(world)
    model = InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions)
    return make_agent(model, strategy, world, engine, seed), initial_measures(world, model)


def _count_until(world: World, record: RunRecord, until: int) -> Counts:
    """Count the transitions before time `until`, with the state numbers of the world."""
    path = record.states[:until], record.actions[:until], record.outcomes[:until]
    return count_transitions(world.n_actions, world.n_states, *path)


def _check_times(n_steps: int, snapshots: Iterable[int]) -> tuple[int, list[int]]:
    """Validate the number of steps and the snapshot times; return the number and the sorted times."""
    if (n_steps := check_count("n_steps", n_steps, 0)) > MAX_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MAX_STEPS}, since counts are 32-bit integers")
    times = sorted({check_count("a snapshot", t, 0) for t in as_list("snapshots", snapshots)})
    if times and times[-1] > n_steps:
        raise ValueError(f"snapshots contains step {times[-1]}, which is after the last step {n_steps}")
    return n_steps, times


_MEASURES: WeakKeyDictionary[World, tuple[float, float]] = WeakKeyDictionary()


def initial_measures(world: World, model: InternalModel) -> tuple[float, float]:
    """Return missing information (bits) and L1 distance of a model without observations; computed once per world."""
    if world not in _MEASURES:
        _MEASURES[world] = model.missing_information(world), model.l1_distance(world)
    return _MEASURES[world]
