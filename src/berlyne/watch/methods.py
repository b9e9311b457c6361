"""Describe coordination methods, so that a page can compute action values at any time and in any state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.agents.numpy_agent import NumpyAgent
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
from berlyne.watch.beliefs import known_world, prepare_agent

SIMPLE_METHODS = {
    Greedy: "utility",
    Relocating: "utility",
    LeastTaken: "taken",
    CounterBased: "visits",
    UniformChoice: "same",
}
"""Methods whose action values follow from utilities, counts or visits."""


def describe_method(run: Run) -> dict[str, Any]:
    """Return the data that a page needs to compute the action values of a run's method.

    Returns
    -------
    dict
        `kind` is one of

        - "plan", with `steps_back`, `gamma`, `after_end`, and `truth`, which is true if it plans with the true world;
        - "utility", "taken", "visits" or "same";
        - "learned", with Q-learning's `first` table (M N,) by rows, and the new `entries` (T,), one for each step;
        - "here", with `values` (T + 1, M) in the state at each time;
        - "unknown".
    """
    method = run.strategy.coordinate
    kind, true_model = type(method), type(method) is TrueModel
    if kind in SIMPLE_METHODS:
        return {"kind": SIMPLE_METHODS[kind]}
    plans = kind is ValueIteration or (true_model and type(method.inner) is ValueIteration)
    plans = plans and not getattr(method, "keeps_plans", False)  # a kept plan depends on when it was made
    if plans and _page_can_plan(run):
        plan = method.inner if true_model else method
        settings = {"steps_back": plan.steps_back, "gamma": float(plan.gamma), "after_end": plan.after_end}
        return {"kind": "plan", **settings, "truth": true_model}
    if kind is QLearning and not _discovers_states(run):
        first, entries = _q_learning_entries(run)
        return {"kind": "learned", "first": first, "entries": entries}
    if not has_values(method):
        return {"kind": "unknown"}
    return {"kind": "here", "values": _values_along_path(run)}


def describe_planning(run: Run) -> dict[str, Any] | None:
    """Return the data that a page needs to plan for a run with any number of steps; None if it cannot.

    Returns
    -------
    dict or None
        `ends` lists triples of a time, a state, and whether it is terminal from then on; `starts` lists triples of a
        time, a state in which episodes begin, and its weight.
    """
    return {"ends": _ends(run), "starts": _starts(run)} if _page_can_plan(run) else None


def _page_can_plan(run: Run) -> bool:
    """Return whether plans depend on nothing but beliefs and utilities, so that the page can compute them."""
    is_cut = run.explorer is None and known_world(run).horizon is not None  # plans depend on the steps that are left
    return not is_cut and not _discovers_states(run)  # the page has no cell for undiscovered states


def _discovers_states(run: Run) -> bool:
    return discovers_states(run.prior)


def _ends(run: Run) -> list[list[int]]:
    """Return when each state became terminal or not, as triples of a time, a state and 1 or 0."""
    changes = [change for t in sorted(run.terminal_changes) for change in run.terminal_changes[t]]
    return [[change.t, change.s, int(change.is_terminal)] for change in changes]


def _starts(run: Run) -> list[list[float]]:
    """Return the states in which episodes begin, as triples of a time, a state and its weight."""
    if run.explorer is None:
        p = known_world(run).episodes.distribution
        return [[0, int(s), float(p[s])] for s in np.flatnonzero(p)] if run.terminal_changes else []
    begins = np.ones(run.n_steps + 1, dtype=bool)
    begins[1:] = (run.states[1:] != run.next_states) | run.terminated
    return [[int(t), int(run.states[t]), 1.0] for t in np.flatnonzero(begins)]


def _agent(run: Run) -> Agent:
    """Return an agent without data, in the first state of the run."""
    strategy = _own_strategy(run)
    agent: Agent
    if _discovers_states(run):
        agent = make_open_state_agent(run.prior, run.labels[1].size, strategy, labels=run.labels)
        agent.discover(int(run.states[0]))
    else:
        agent = make_agent(_empty_model(run), strategy, known_world(run) if strategy.sees_world else None)
    prepare_agent(run, agent)
    return agent


def _numpy_agent(run: Run) -> NumpyAgent:
    """Return an agent without data, for a world whose states are known."""
    strategy = _own_strategy(run)
    agent = NumpyAgent(_empty_model(run), strategy, known_world(run) if strategy.sees_world else None)
    prepare_agent(run, agent)
    return agent


def _empty_model(run: Run) -> InternalModel:
    """Return a model without observations."""
    world = known_world(run)
    return InternalModel(run.prior, n_states=world.n_states, n_actions=world.n_actions)


def _own_strategy(run: Run) -> Strategy:
    """Return the strategy of a run with a copy of its coordination method."""
    return replace(run.strategy, coordinate=copy.deepcopy(run.strategy.coordinate))


def _q_learning_entries(run: Run) -> tuple[FloatArray, FloatArray]:
    """Return Q-learning's initial table by rows r = s M + a, and the entry (a, s) after each step."""
    agent = _numpy_agent(run)
    first = np.ascontiguousarray(agent.view.memory.T).ravel()
    entries = np.empty(run.n_steps)
    for t in range(run.n_steps):
        s, a = int(run.states[t]), int(run.actions[t])
        agent.observe(s, a, int(run.next_states[t]))
        agent.change_terminal(run.terminal_changes.get(t + 1, ()))
        entries[t] = agent.view.memory[a, s]
    return first, entries


def _values_along_path(run: Run) -> FloatArray:
    """Return the action values (T + 1, M) in the state before each step, and in the last state."""
    agent, values = _agent(run), np.empty((run.n_steps + 1, run.labels[1].size))
    for t in range(run.n_steps):
        s = int(run.states[t])
        values[t] = agent.action_values(s)
        agent.observe(s, int(run.actions[t]), int(run.next_states[t]))
        if run.terminated[t]:
            agent.end_episode()
        agent.discover(int(run.states[t + 1]))
        agent.change_terminal(run.terminal_changes.get(t + 1, ()))
    values[-1] = agent.action_values(int(run.states[-1]))
    return values
