"""Start states of episodes are drawn exactly by inversion, in compiled and plain code."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, InternalModel, World
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.engine.records import RunRecord
from berlyne.strategies.registry import get_strategy
from berlyne.worlds.episodes import Episodes

LAST = float(np.nextafter(1.0, 0.0))


def ending(prior):
    """Every step ends an episode; the next begins in 0 or in 1, with equal chance."""
    theta = np.zeros((1, 3, 3))
    theta[0, :, 2] = 1.0
    return World(theta, prior, start={0: 0.5, 1: 0.5}, terminal=[2])


@pytest.mark.parametrize("engine", ["compiled", "numpy", "growing"])
def test_every_agent_draws_the_same_start_states(engine):
    u_start = np.array([0.0, 0.4999, 0.5, 0.25, LAST, 0.5])
    prior = ChineseRestaurant(1.0) if engine == "growing" else Dirichlet(1.0, n_states=3, n_actions=1)
    world, strategy = ending(prior), get_strategy("PIG(VI)")
    if engine == "growing":
        agent = make_open_state_agent(prior, 1, strategy)
        agent.discover(0)
    else:
        agent = make_agent(InternalModel(prior), strategy, world, engine)
    record = RunRecord.allocate(6, 0, 1.0, 1.0)
    assert agent.run(world, record, np.zeros((6, 2)), np.array([0.0, 0.3, 0.5, LAST, 0.1, 0.2]), u_start) == 6
    assert record.states.tolist() == [0, 0, 0, 1, 0, 1, 1] and record.outcomes.tolist() == [2] * 6


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_outcomes_on_the_edge_belong_to_the_next_state(engine):
    theta = np.full((1, 2, 2), 0.5)
    prior = Dirichlet(1.0, n_states=2, n_actions=1)
    agent = make_agent(InternalModel(prior), get_strategy("Random"), None, engine)
    record = RunRecord.allocate(4, 0, 1.0, 1.0)
    agent.run(World(theta, prior), record, np.zeros((4, 2)), np.array([0.5, np.nextafter(0.5, 0.0), LAST, 0.0]))
    assert record.outcomes.tolist() == [1, 0, 1, 0]


def test_the_last_beginning_takes_what_rounding_leaves():
    from berlyne.labels import Labels

    for n in range(2, 60):
        episodes = Episodes(Labels("state", n + 1), np.append(np.full(n, 1.0 / n), 0.0), [n])
        if episodes.starts[1][-1] < 1.0:
            break
    assert episodes.starts[1][-1] <= LAST
    assert episodes.draw(LAST) == n - 1


def test_start_probabilities_are_normalised():
    world = ending(Dirichlet(1.0, n_states=3, n_actions=1)).replace(start=np.array([0.25, 0.7500008, 0.0]))
    assert world.episodes.distribution.sum() == pytest.approx(1.0, abs=1e-15)
    assert world.episodes.distribution[0] == pytest.approx(0.25 / 1.0000008, abs=1e-15)
    assert world.episodes.starts[1][-1] == pytest.approx(1.0, abs=1e-15)
