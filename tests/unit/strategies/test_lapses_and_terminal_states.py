"""Strategies that may act in any state never select a terminal state, not even by a lapse."""

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, Strategy, dense_world, explore, replay
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import Relocating
from messages import raises

ANYWHERE = Strategy("anywhere", Relocating(), "PIG", lapse=0.9)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_no_action_is_taken_in_a_terminal_state(engine):
    world = dense_world(0).replace(terminal=[3, 7])
    run = explore(world, ANYWHERE, n_steps=300, seed=0, engine=engine)
    assert not set(run.states[:-1].tolist()) & {3, 7} and len(set(run.states.tolist())) == 8
    assert run.missing_information[-1] == pytest.approx(run.model.missing_information(world), rel=1e-9)
    assert run.l1_distance[-1] == pytest.approx(run.model.l1_distance(world), rel=1e-9)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_no_action_is_taken_elsewhere(engine):
    world = dense_world(0).with_prior(ChineseRestaurant(1.0))
    run = explore(world, ANYWHERE, n_steps=100, seed=0, engine=engine)
    assert run.n_steps == 100


def test_probabilities_agree_with_the_actions_taken():
    explorer = Explorer(Dirichlet(1.0, n_states=4, n_actions=2), ANYWHERE, seed=0)
    explorer.ends_in([1])
    chance = explorer.probabilities()
    assert chance[1].tolist() == [0.0, 0.0] and chance.sum() == pytest.approx(1.0)
    assert chance[0, 0] == pytest.approx(1 / 6)  # all six are alike
    drawn = []
    for seed in range(200):
        other = Explorer(Dirichlet(1.0, n_states=4, n_actions=2), ANYWHERE, seed=seed)
        other.ends_in([1])
        drawn.append(other.choose_pair())
    assert {s for s, _ in drawn} == {0, 2, 3}


@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=10, n_actions=4), ChineseRestaurant(1.0)], ids=repr)
def test_a_replay_returns_the_probabilities_of_the_explorer(prior):
    world = dense_world(0, n_actions=4).replace(terminal=[3], prior=prior)
    run = explore(world, ANYWHERE, n_steps=30, seed=0)
    seen = replay(world, run, ANYWHERE)
    sizes = {} if hasattr(prior, "n_states") and prior.n_states else {"n_actions": 4}
    explorer = Explorer(prior, ANYWHERE, seed=0, **sizes)
    if not sizes:
        explorer.ends_in([3])
    for t, (s, a, s_next) in enumerate(run.history):
        if sizes:
            explorer.discover([s])
        chance = explorer.probabilities()[list(explorer.states).index(s)]
        assert seen.probabilities.values[t] == pytest.approx(chance, rel=1e-9), t
        explorer.observe(s, a, s_next, ended=bool(sizes) and s_next == 3)


def test_the_choice_rule_excludes_impossible_pairs():
    rule, values = ChoiceRule(lapse=0.5), np.array([-np.inf, 1.0, 0.0, -np.inf])
    assert rule.probabilities(values).tolist() == [0.0, 0.75, 0.25, 0.0]
    assert [rule.choose(values, np.array([u, 0.1])) for u in (0.0, 0.49, 0.5, 0.99)] == [1, 1, 2, 2]
    assert [ChoiceRule(lapse=1.0).choose(np.zeros(4), np.array([u, 0.0])) for u in (0.0, 0.3, 0.99)] == [0, 1, 3]


@pytest.mark.parametrize("lapse", [0.0, 0.5])
@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=2, n_actions=2), ChineseRestaurant(1.0)], ids=repr)
def test_all_states_terminal_is_an_error(prior, lapse):
    sizes = {} if isinstance(prior, Dirichlet) else {"n_actions": 2}
    explorer = Explorer(prior, Strategy("anywhere", Relocating(), "PIG", lapse=lapse), **sizes)
    if sizes:
        with raises(ValueError, "anywhere", "discover"):
            explorer.choose_pair()
    explorer.ends_in([0, 1])
    for ask in (explorer.choose_pair, explorer.probabilities, lambda: explorer.expected_gain(3)):
        with raises(ValueError, "anywhere", "terminal"):
            ask()
    explorer.observe(1, 0, 0)  # where one can go on after all
    assert explorer.choose_pair()[0] == 1 and explorer.probabilities()[0].tolist() == [0.0, 0.0]
