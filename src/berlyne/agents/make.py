"""Make the agent that runs a strategy: compiled, in plain NumPy, or one that discovers its states."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from berlyne.agents.base import Agent, KnownStatesAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.labels import Labels
from berlyne.models.internal_model import InternalModel
from berlyne.priors import Prior
from berlyne.strategies.registry import Strategy, check_defined
from berlyne.validation import (
    ENGINE,
    UNKNOWN_STATES,
)
from berlyne.worlds.world import World

Engine = Literal["auto", "compiled", "numpy"]
"""The kernels ("compiled") or plain NumPy ("numpy"); "auto" compiles if it can."""


def make_agent(
    model: InternalModel,
    strategy: Strategy,
    world: World | None,
    engine: Engine = "auto",
    seed: np.random.SeedSequence | None = None,
) -> KnownStatesAgent:
    """Make the agent that runs a strategy in a world whose states are known.

    Parameters
    ----------
    model : InternalModel
        The initial model, without observations if the agent is compiled.
    strategy : Strategy
        The strategy to run.
    world : World or None
        The true world, if it is known. Only a strategy that may see the world plans with it. Every agent is told what
        is possible in it, its terminal states, and where episodes begin. A strategy that relocates does not act in
        states whose rows do not count.
    engine : {"auto", "compiled", "numpy"}, default="auto"
        Whether kernels or plain NumPy run the strategy. "auto" uses kernels if all parts can be compiled.
    seed : numpy.random.SeedSequence, optional
        Seed for methods that draw random numbers.

    Returns
    -------
    CompiledAgent or NumpyAgent
        An agent that knows what is possible in `world`.

    Raises
    ------
    ValueError
        If the prior is for an open state set, if the strategy needs a world that is None, or if `engine` cannot run
        the strategy.
    """
    if hasattr(model.prior, "grows"):
        raise ValueError(
            f"{model.prior!r} has a fixed number of cells, and the last cell stands for undiscovered states; "
            f"to discover states, create the prior without n_states{UNKNOWN_STATES}"
        )
    compiled = _is_compiled(model.prior, strategy, engine)
    if strategy.sees_world and world is None:
        raise ValueError(
            f"{strategy} plans with the true world, which is unknown; use a strategy without a + in its name, such as "
            "PIG(VI)"
        )
    agent: KnownStatesAgent
    if compiled:
        from berlyne.agents.compiled_agent import CompiledAgent  # keeps Numba out of `import berlyne`

        agent = CompiledAgent(model, strategy, world, seed)
    else:
        agent = NumpyAgent(model, strategy, world if strategy.sees_world else None, seed)
    if world is not None:
        tell_world(agent, world)
    return agent


def tell_world(agent: Agent, world: World) -> None:
    """Tell an agent without observations what is possible in a world, where episodes begin, and when they are cut."""
    if not world.allows_all:
        agent.allow_in(world)
        agent.tell_starts(world.episodes.distribution)
    if agent.strategy.relocates and not world.measures_all:
        agent.mark_terminal(np.flatnonzero(~world.is_measured))
    if world.horizon is not None:
        agent.set_horizon(world.horizon)


def make_open_state_agent(
    prior: Any,
    n_actions: int,
    strategy: Strategy,
    engine: Engine = "auto",
    seed: np.random.SeedSequence | None = None,
    labels: tuple[Labels, Labels] | None = None,
) -> OpenStateAgent:
    """Make the agent that runs a strategy and discovers its states.

    Parameters
    ----------
    prior : ChineseRestaurant or SharedRestaurant
        A prior without a number of states.
    n_actions : int
        Number of actions, M.
    strategy : Strategy
        The strategy to run.
    engine : {"auto", "compiled", "numpy"}, default="auto"
        Whether kernels or plain NumPy run the strategy, as for `make_agent`.
    seed : numpy.random.SeedSequence, optional
        Seed for methods that draw random numbers, as for `make_agent`.
    labels : tuple of (Labels, Labels), optional
        Labels of the states, which may grow, and of the actions, for a prior that reads them. By default their numbers.
    """
    compiled = _is_compiled(prior.sized(1, n_actions), strategy, engine)
    return OpenStateAgent(prior, n_actions, strategy, compiled, seed, labels)


def _is_compiled(prior: Prior, strategy: Strategy, engine: Engine) -> bool:
    """Return whether kernels run a strategy with this prior."""
    if engine not in ("auto", "compiled", "numpy"):
        raise ValueError(f"engine is {engine!r}; it must be 'auto', 'compiled' or 'numpy'")
    check_defined(strategy)
    if engine == "numpy":
        return False
    from berlyne.agents.compiled_agent import can_compile  # keeps Numba out

    compilable = can_compile(prior, strategy)
    if engine == "compiled" and not compilable:
        raise ValueError(
            f"{strategy} with {prior!r} has a part that cannot be compiled; use engine='numpy' or 'auto'{ENGINE}"
        )
    return compilable
