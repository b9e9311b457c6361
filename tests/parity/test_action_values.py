"""Action values of the compiled plan, updated step by step, against full value iteration of the NumPy twin."""

import numpy as np
import pytest

from berlyne import InternalModel, explore, maze
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.engine import value_iteration
from berlyne.strategies.coordination import TrueModel
from berlyne.strategies.registry import get_strategy
from parity.cases import AWKWARD, CLASSES, PLANNING


def worst_difference(world, strategy, n_steps, seed):
    """Largest difference of Q(., s) over a run, at every step in the state the explorer is in."""
    history = explore(world, strategy, n_steps=n_steps, seed=seed)
    seen = world if strategy.sees_world else None
    fast, plain = (
        CompiledAgent(InternalModel(world.prior), strategy, world),
        NumpyAgent(InternalModel(world.prior), strategy, seen),
    )
    method = strategy.coordinate.inner if isinstance(strategy.coordinate, TrueModel) else strategy.coordinate
    u = np.zeros(2)
    worst = 0.0
    for s, a, s_next in zip(
        history.states.tolist(), history.actions.tolist(), history.next_states.tolist(), strict=False
    ):
        fast.act(s, u)
        view = plain._view_from(s)
        worst = max(worst, np.abs(fast.choice_state.values - method.action_values(view)[:, s]).max())
        fast.observe(s, a, s_next)
        plain.observe(s, a, s_next)
    assert np.abs(fast.utility() - plain.utility()).max() < 1e-10
    return worst


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", PLANNING, ids=str)
@pytest.mark.parametrize("kind", CLASSES)
def test_at_every_step_in_the_worlds_of_the_paper(kind, strategy):
    assert worst_difference(CLASSES[kind](11), strategy, 120, 4) < 1e-10


@pytest.mark.parametrize("kind", AWKWARD)
@pytest.mark.parametrize("name", ["PIG(VI)", "PEIG(VI+)", "PLC(VI, steps_back=3, gamma=0.9)"])
def test_at_every_step_in_awkward_worlds(kind, name):
    assert worst_difference(AWKWARD[kind](6), get_strategy(name), 150, 2) < 1e-10


@pytest.mark.parametrize("name", ["PIG(VI)", "PIG(VI+)", "PMC(VI)", "PIG(VI, steps_back=1)"])
def test_at_every_step_without_lists_of_repairs(name, monkeypatch):
    monkeypatch.setattr(value_iteration, "MAX_LISTED", 0)
    assert worst_difference(maze(2, side=9), get_strategy(name), 200, 0) < 1e-10


@pytest.mark.parametrize("listed", [0, 1 << 21])
def test_in_any_state_asked_for_and_after_any_observation(listed, monkeypatch):
    """An explorer may be put anywhere, asked twice, and told of transitions it did not make."""
    monkeypatch.setattr(value_iteration, "MAX_LISTED", listed)
    rng = np.random.default_rng(0)
    for make in (maze, AWKWARD["5 actions"], AWKWARD["sparse truth"], CLASSES["1-2-3"]):
        world, strategy = make(8), get_strategy("PIG(VI)")
        fast, plain = (
            CompiledAgent(InternalModel(world.prior), strategy, world),
            NumpyAgent(InternalModel(world.prior), strategy),
        )
        for _ in range(300):
            s, a, u = int(rng.integers(world.n_states)), int(rng.integers(world.n_actions)), rng.random()
            if rng.random() < 0.5:
                s_next = world.sample(a, s, u)
                fast.observe(s, a, s_next)
                plain.observe(s, a, s_next)
                s = s_next if rng.random() < 0.7 else s
            fast.act(s, np.zeros(2))
            values = strategy.coordinate.action_values(plain.view)[:, s]
            assert np.abs(fast.choice_state.values - values).max() < 1e-10
