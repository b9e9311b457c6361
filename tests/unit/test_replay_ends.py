"""Replays in which episodes end: what was known or learned of ends counts, however the history is given."""

import numpy as np
import pandas
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer

ARRAYS = ("action_values", "probabilities", "utilities", "expected_missing_information")


@pytest.fixture(scope="module")
def lake():
    return berlyne.explore_env("FrozenLake-v1", "PIG(VI)", n_steps=300, seed=0)


def frame(run, **more):
    columns = {"s": run.states, "a": run.actions, "s_next": run.next_states}
    return pandas.DataFrame({**columns, **more})


def test_choices_in_an_environment_are_those_of_its_explorer(lake):
    """An explorer that is asked and told again, step by step, is the oracle."""
    assert lake.n_episodes > 5
    explorer = Explorer(lake.explorer.prior, "PIG(VI)")
    chances = []
    for s, a, s_next, ended in zip(lake.states, lake.actions, lake.next_states, lake.terminated, strict=True):
        chances.append(explorer.probabilities(int(s))[a])
        explorer.observe(int(s), int(a), int(s_next), ended=bool(ended))
    found = berlyne.replay(lake.explorer.prior, lake, "PIG(VI)")
    assert np.allclose(np.exp(found.log_likelihood), chances, rtol=1e-12)
    assert np.all(np.isin(np.round(np.exp(found.log_likelihood), 9), np.round([1, 1 / 2, 1 / 3, 1 / 4], 9)))


def test_a_frame_may_say_where_episodes_ended(lake):
    told = berlyne.replay(lake.explorer.prior, frame(lake, ended=lake.terminated), "PIG(VI)")
    untold = berlyne.replay(lake.explorer.prior, frame(lake), "PIG(VI)")
    same = berlyne.replay(lake.explorer.prior, lake, "PIG(VI)")
    for name in ARRAYS:
        assert np.array_equal(told[name], same[name]), name
    assert not np.array_equal(untold.action_values, same.action_values)


def test_a_run_brings_the_ends_of_its_world():
    """The compiled replay of the world is the oracle."""
    world = berlyne.from_gymnasium("FrozenLake-v1")
    run = berlyne.explore(world, "PIG(VI)", n_steps=200, seed=1)
    of_world, of_prior = berlyne.replay(world, run, "PIG(VI)"), berlyne.replay(world.prior, run, "PIG(VI)")
    for name in ARRAYS:
        assert np.allclose(of_world[name], of_prior[name], rtol=1e-9, atol=1e-11), name


def test_a_run_brings_its_ends_where_states_are_discovered():
    """The replay that is told the world is the oracle."""
    world = berlyne.from_gymnasium("FrozenLake-v1").with_prior(ChineseRestaurant(1.0))
    run = berlyne.explore(world, "PIG(VI)", n_steps=150, seed=1)
    of_world = berlyne.replay(world, run, "PIG(VI)")
    of_prior = berlyne.replay(world.prior, run, "PIG(VI)", n_actions=4)
    for name in ARRAYS:
        assert np.allclose(of_world[name], of_prior[name], rtol=1e-9, atol=1e-11), name


def test_states_may_be_discovered_as_well():
    run = berlyne.explore_env("FrozenLake-v1", "PIG(VI)", n_steps=200, seed=0, prior=ChineseRestaurant(1.0))
    found = berlyne.replay(ChineseRestaurant(1.0), run, "PIG(VI)", n_actions=4)
    assert np.all(np.isfinite(found.log_likelihood))


def test_what_is_impossible_is_still_told_by_its_line():
    world = berlyne.maze(0, side=3, n_transporters=2)
    table = pandas.DataFrame({"s": [0, 0], "a": [0, 0], "s_next": [0, 8], "ended": [True, False]})
    with pytest.raises(ValueError, match=r"^line 1 of the history, counted from 0, says that action 0 in state 0 led"):
        berlyne.replay(world.prior, table, "PIG(VI)")


@pytest.mark.parametrize("bad", [2, "yes", None, float("nan")])
def test_other_than_true_or_false_is_refused(bad):
    table = pandas.DataFrame({"s": [0, 0], "a": [0, 0], "s_next": [0, 0], "ended": [True, bad]})
    with pytest.raises(ValueError, match=r"^ended is .* in line 1 of the history, counted from 0; it must be true"):
        berlyne.replay(Dirichlet(1.0, n_states=2, n_actions=1), table, "PIG(VI)")
