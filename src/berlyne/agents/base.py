"""Which agent runs a strategy: compiled, in plain NumPy, or one that discovers its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Union

from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.models.internal_model import InternalModel
from berlyne.priors import Prior
from berlyne.strategies.registry import Strategy
from berlyne.validation import (
    ENGINE,
    UNKNOWN_STATES,
)
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from berlyne.agents.compiled_agent import CompiledAgent


Engine = Literal["auto", "compiled", "numpy"]


AnyAgent = Union["CompiledAgent", NumpyAgent, OpenStateAgent]


def make_agent(
    model: InternalModel, strategy: Strategy, world: World | None, engine: Engine = "auto"
) -> CompiledAgent | NumpyAgent:
    """The mind that runs a strategy; only one that may see the world is handed it to plan with.

    Where the episodes of the world end, it is told.
    """
    from berlyne.agents.compiled_agent import CompiledAgent  # here, so that `import berlyne` need not import Numba

    if hasattr(model.prior, "grows"):
        raise ValueError(
            f"{model.prior!r} has a number of cells, the last of which is no state; leave n_states out of the prior, "
            f"so that states are discovered{UNKNOWN_STATES}"
        )
    compiled = _is_compiled(model.prior, strategy, engine)
    if strategy.sees_world and world is None:
        raise ValueError(f"{strategy} plans with the true world, which is not known here; use one without +")
    agent: CompiledAgent | NumpyAgent
    if compiled:
        agent = CompiledAgent(model, strategy, world)
    else:
        agent = NumpyAgent(model, strategy, world if strategy.sees_world else None)
    if world is not None and len(world.terminal):
        agent.mark_terminal(world.terminal)
    return agent


def make_open_state_agent(prior: Any, n_actions: int, strategy: Strategy, engine: Engine = "auto") -> OpenStateAgent:
    """The mind that runs a strategy where states are discovered."""
    return OpenStateAgent(prior, n_actions, strategy, _is_compiled(prior.sized(1, n_actions), strategy, engine))


def _is_compiled(prior: Prior, strategy: Strategy, engine: Engine) -> bool:
    """Whether kernels run a strategy with this prior."""
    from berlyne.agents.compiled_agent import can_compile

    if engine not in ("auto", "compiled", "numpy"):
        raise ValueError(f"engine is {engine!r}; it must be 'auto', 'compiled' or 'numpy'")
    compilable = can_compile(prior, strategy)
    if engine == "compiled" and not compilable:
        raise ValueError(
            f"{strategy} with {prior!r} has a part that no kernel knows, which only engine='numpy' can run{ENGINE}"
        )
    return compilable and engine != "numpy"
