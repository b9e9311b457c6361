"""How a strategy values actions, as far as a page needs to be told to work it out at any time and in any state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from berlyne.agents.base import make_open_state_agent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.exploration.run import Run
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.coordination import (
    CounterBased,
    Greedy,
    LeastTaken,
    QLearning,
    Relocating,
    TrueModel,
    UniformChoice,
    ValueIteration,
    has_values,
)
from berlyne.strategies.registry import Strategy
from berlyne.validation import FloatArray

SIMPLE = {Greedy: "utility", Relocating: "utility", LeastTaken: "taken", CounterBased: "visits", UniformChoice: "same"}
"""Methods whose values follow from utilities, counts or visits."""


def describe_method(run: Run) -> dict[str, Any]:
    """What a page needs to know of a run's method.

    kind : "plan" (with `steps_back`, `gamma`, and `truth` if it plans with the true world), "utility", "taken",
        "visits", "same"; "learned", with Q-learning's `first` table (M N,) by rows and the `entries` (T,), one of which
        every step changes; "here", with `values` (T + 1, M) in the state of each step; or "unknown".
    """
    method = run.strategy.coordinate
    kind, knows = type(method), type(method) is TrueModel
    if kind in SIMPLE:
        return {"kind": SIMPLE[kind]}
    plans = kind is ValueIteration or (knows and type(method.inner) is ValueIteration)
    if plans and not _grows(run):  # what is elsewhere even when all is discovered is not in the page
        plan = method.inner if knows else method
        return {"kind": "plan", "steps_back": plan.steps_back, "gamma": float(plan.gamma), "truth": knows}
    if kind is QLearning and not _grows(run):
        first, entries = _learned(run)
        return {"kind": "learned", "first": first, "entries": entries}
    if not has_values(method):
        return {"kind": "unknown"}
    return {"kind": "here", "values": _here(run)}


def _grows(run: Run) -> bool:
    return discovers_states(run.world.prior)


def _agent(run: Run, strategy: Strategy) -> NumpyAgent | OpenStateAgent:
    """A mind that has seen nothing yet, whose method is its own."""
    strategy = replace(strategy, coordinate=copy.deepcopy(strategy.coordinate))
    world, prior = run.world, run.world.prior
    assert prior is not None
    agent: NumpyAgent | OpenStateAgent
    if _grows(run):
        agent = make_open_state_agent(prior, world.n_actions, strategy)
        agent.discover(int(run.states[0]))
    else:
        model = InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions)
        agent = NumpyAgent(model, strategy, world if strategy.sees_world else None)
    if len(world.terminal):
        agent.mark_terminal(world.terminal)
    return agent


def _learned(run: Run) -> tuple[FloatArray, FloatArray]:
    """Q-learning's table at first, by rows r = s M + a, and the entry (a, s) that each step left behind."""
    agent = _agent(run, run.strategy)
    assert isinstance(agent, NumpyAgent)
    first = np.ascontiguousarray(agent.view.memory.T).ravel()
    entries = np.empty(run.n_steps)
    for t in range(run.n_steps):
        s, a = int(run.states[t]), int(run.actions[t])
        agent.observe(s, a, int(run.next_states[t]))
        entries[t] = agent.view.memory[a, s]
    return first, entries


def _here(run: Run) -> FloatArray:
    """The values (T + 1, M) of the actions in the state of each step, before it is made, and in the last one."""
    agent, values = _agent(run, run.strategy), np.empty((run.n_steps + 1, run.world.n_actions))
    for t in range(run.n_steps):
        s = int(run.states[t])
        values[t] = agent.action_values(s)
        agent.observe(s, int(run.actions[t]), int(run.next_states[t]))
        if isinstance(agent, OpenStateAgent):
            agent.discover(int(run.states[t + 1]))
    values[-1] = agent.action_values(int(run.states[-1]))
    return values
