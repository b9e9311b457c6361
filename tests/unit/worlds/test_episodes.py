"""Worlds with terminal states and start distributions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from amounts import amount
from berlyne import (
    STRATEGIES,
    Dirichlet,
    Experiment,
    Explorer,
    InternalModel,
    World,
    dense_world,
    explore,
    maze,
    missing_information,
    one_two_three_world,
    open_results,
)
from berlyne.experiments.worlds import fingerprint
from berlyne.exploration.streams import streams
from berlyne.strategies.registry import get_strategy
from berlyne.worlds.structure import reachable
from messages import raises, warns
from unit.archives import rewrite_archive


def corridor(n=5, start=0, terminal=(4,), prior=True, **more):
    """Action 0 steps right, action 1 stays or slips left; the right end is terminal."""
    theta = np.zeros((2, n, n))
    for s in range(n):
        theta[0, s, min(s + 1, n - 1)] = 1.0
        theta[1, s, s] += 0.5
        theta[1, s, max(s - 1, 0)] += 0.5
    return World(
        theta, Dirichlet(0.5, n_states=n, n_actions=2) if prior else None, start=start, terminal=terminal, **more
    )


def by_hand(world, run):
    """Missing information after each step from dense arrays; rows of terminal states do not count."""
    model, going_on = InternalModel(world.prior), np.setdiff1d(np.arange(world.n_states), world.terminal)
    curve = [missing_information(world.theta[:, going_on], model.theta_hat[:, going_on])]
    for s, a, s_next in zip(run.states[:-1], run.actions, run.next_states, strict=True):
        model.observe(int(s), int(a), int(s_next))
        curve.append(missing_information(world.theta[:, going_on], model.theta_hat[:, going_on]))
    return curve


@pytest.mark.pairwise
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("name", list(STRATEGIES))
def test_an_episode_ends_in_a_terminal_state_and_the_next_begins_at_the_start(name, engine):
    world = corridor(start={0: 0.5, 2: 0.5})
    run = explore(world, name, n_steps=150, seed=2, engine=engine)
    ended = run.next_states == 4
    assert ended.sum() > 2 or name.endswith("(Q)")  # which may settle in a corner
    assert not np.any(run.states == 4)
    if not STRATEGIES[name].relocates:
        np.testing.assert_array_equal(run.states[1:][~ended], run.next_states[~ended])
        assert set(run.states[1:][ended].tolist()) <= {0, 2}
    np.testing.assert_allclose(run.missing_information, by_hand(world, run), atol=1e-9)
    assert run.counts.dense()[:, 4].sum() == 0 and run.counts.dense().sum() == 150  # a reset is no transition


@pytest.mark.pairwise
@pytest.mark.parametrize("name", list(STRATEGIES))
@pytest.mark.parametrize(
    "make", [corridor, lambda: ended(dense_world(3)), lambda: ended(maze(1, side=4, n_transporters=9))]
)
def test_the_engine_agrees_with_its_twin(name, make):
    world = make()
    one, other = (
        explore(world, name, n_steps=amount(120, 300), seed=5, engine=engine) for engine in ("compiled", "numpy")
    )
    for array_name in ("states", "actions", "next_states", "episode"):
        np.testing.assert_array_equal(getattr(one, array_name), getattr(other, array_name))
    np.testing.assert_allclose(one.missing_information, other.missing_information, atol=1e-8)
    np.testing.assert_allclose(one.l1_distance, other.l1_distance, atol=1e-8)


def ended(world, terminal=(2, 5)):
    return World(world.rows, world.prior, terminal=terminal, positions=world.geometry)


class Pooled:
    """Rows depend on each other: all share one histogram."""

    def estimate(self, counts):
        pooled = 1.0 + counts.sum(axis=(0, 1))
        return np.broadcast_to(pooled / pooled.sum(), counts.shape).copy()


@pytest.mark.parametrize("name", ["PIG(VI)", "Unembodied"])
def test_rows_that_depend_on_each_other_leave_terminal_states_alone(name):
    world = World(corridor().theta, Pooled(), start=0, terminal=[4])
    run = explore(world, name, n_steps=30, seed=1)
    model = InternalModel(Pooled(), n_states=5, n_actions=2)
    model.observe_many(run.history)
    assert np.any(run.next_states == 4) and not np.any(run.states == 4)
    expected = missing_information(world.theta[:, :4], model.theta_hat[:, :4])
    assert run.missing_information[-1] == pytest.approx(expected)
    assert run.l1_distance[-1] == pytest.approx(np.abs(world.theta - model.theta_hat)[:, :4].sum())
    explorer = Explorer(Pooled(), n_states=5, n_actions=2)
    explorer.observe(0, 0, 4, ended=True)
    explorer.observe(0, 0, 1)
    assert np.all(explorer.utility()[:, 4] == 0.0) and np.all(explorer.utility()[:, :4] > 0.0)


def test_episodes_are_numbered_and_their_first_steps_listed():
    run = explore(corridor(), "PIG(VI)", n_steps=60, seed=0)
    ended = np.flatnonzero(run.next_states == 4)
    begins = [0, *(ended + 1)]
    assert run.episode_starts.tolist() == [t for t in begins if t < 60]
    assert run.episode[0] == 0 and run.episode[ended[0]] == 0 and run.episode[ended[0] + 1] == 1
    assert explore(maze(0), "Random", n_steps=9).episode.tolist() == [0] * 9
    assert explore(maze(0), "Random", n_steps=0).episode_starts.tolist() == []


def test_starts_are_drawn_as_often_as_they_are_likely():
    chances = np.array([0.1, 0.0, 0.6, 0.3, 0.0])
    run = explore(corridor(start=chances), "Random", n_steps=40_000, seed=1)
    begun = np.bincount(run.states[run.episode_starts], minlength=5)
    n = begun.sum()
    assert begun[1] == begun[4] == 0
    chi2 = np.sum((begun - n * chances)[chances > 0] ** 2 / (n * chances[chances > 0]))
    assert n > 2000 and chi2 < 13.8  # 99.9 % of chi-square with two degrees of freedom


def test_without_a_start_episodes_begin_anywhere_but_in_terminal_states():
    run = explore(corridor(start=None), "Random", n_steps=8000, seed=1)
    begun = np.bincount(run.states[run.episode_starts], minlength=5)
    assert begun[4] == 0 and np.all(np.abs(begun[:4] / begun.sum() - 0.25) < 0.04)


def test_a_start_can_be_a_distribution_without_terminal_states():
    world = World(dense_world(0).rows, dense_world(0).prior, start={3: 0.25, 7: 0.75})
    firsts = [explore(world, "Random", n_steps=0, seed=i).states[0] for i in range(400)]
    assert set(firsts) == {3, 7} and 0.68 < np.mean(np.array(firsts) == 7) < 0.82
    assert explore(world, "Random", n_steps=0, start=5).states[0] == 5


@pytest.mark.parametrize("name", ["PIG(VI)", "PIG(Q)", "PIG(greedy)", "CB"])
def test_an_explorer_with_declared_terminal_states_repeats_the_exploration(name):
    world = corridor()
    run = explore(world, name, n_steps=80, seed=6)
    explorer = Explorer(world.prior, name, seed=6)
    explorer.ends_in([4])
    for s, a, s_next in run.history:
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next, ended=s_next == 4)
    assert np.all(explorer.utility()[:, 4] == 0.0)


def test_an_explorer_learns_terminal_states(tmp_path):
    explorer = Explorer(corridor().prior, "PIG(VI)")
    assert np.all(explorer.utility()[:, 4] > 0.0)
    explorer.observe(3, 0, 4, ended=True)
    assert np.all(explorer.utility()[:, 4] == 0.0) and np.all(explorer.utility()[:, :4] > 0.0)
    explorer.save(tmp_path / "e.npz")
    assert np.all(Explorer.load(tmp_path / "e.npz").utility()[:, 4] == 0.0)


@pytest.mark.parametrize("name", ["PIG(VI)", "PEIG(greedy)", "PIG(Q)"])
@pytest.mark.parametrize("prior", [Dirichlet(0.5, n_states=5, n_actions=2), Pooled()])
def test_a_state_in_which_an_action_is_requested_is_not_terminal(name, prior):
    strategy = get_strategy(name, initial=0.7) if name == "PIG(Q)" else name
    closed, never = (Explorer(prior, strategy, 3, n_states=5, n_actions=2) for _ in range(2))
    closed.ends_in([2, 4])
    for explorer in (closed, never):
        explorer.observe(0, 1, 3)
    assert np.all(closed.utility()[:, [2, 4]] == 0.0)
    s = 4
    for s_next in (2, 1, 4, 0, 2, 3, 4, 4, 1):
        a = never.act(s)
        assert closed.act(s) == a or s != 2  # 2 is closed at first, so other states may be planned for otherwise
        for explorer in (closed, never):
            explorer.observe(s, a, s_next)
        s = s_next
    np.testing.assert_array_equal(closed.utility(), never.utility())
    assert [closed.act(s) for s in range(5)] == [never.act(s) for s in range(5)]


def test_resets_are_learned_on_request():
    world = corridor(start={0: 0.25, 2: 0.75})
    changed = world.with_resets()
    expected = world.theta
    expected[:, 4] = [0.25, 0.0, 0.75, 0.0, 0.0]
    np.testing.assert_array_equal(changed.theta, expected)
    assert len(changed.terminal) == 0 and changed.prior is world.prior
    run = explore(changed, "PIG(VI)", n_steps=200, seed=0)
    assert run.counts.dense()[:, 4, [0, 2]].sum() > 0
    np.testing.assert_array_equal(run.states[1:], run.next_states)


def test_resets_widen_the_support_of_a_prior():
    tight = corridor(prior=False)
    world = World(tight.rows, Dirichlet(1.0, tight.rows.support), start=1, terminal=[4])
    changed = world.with_resets()
    mask = tight.theta > 0
    mask[:, 4, 1] = True
    np.testing.assert_array_equal(changed.prior.estimate(np.zeros((2, 5, 5), int)) > 0, mask)


def test_labels_name_starts_and_ends():
    world = corridor(states=list("abcde"), start={"a": 1.0}, terminal=["e"])
    assert world.terminal.tolist() == [4] and world.start.tolist() == [1, 0, 0, 0, 0]
    other = world.with_prior(None)
    assert other.terminal.tolist() == [4] and other.start.tolist() == [1, 0, 0, 0, 0]
    assert explore(world, "Random", n_steps=3, start="c").states[0] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": 4}, ("start", "4", "terminal")),
        ({"start": {4: 1.0}}, ("start", "4", "terminal")),
        ({"start": [0.5, 0.4, 0, 0, 0]}, ("start", "0.9", "1")),
        ({"start": [1.0]}, ("start", "5", "each state")),
        ({"start": [1.5, -0.5, 0, 0, 0]}, ("start", "5", "not negative")),
        ({"start": np.array([np.nan] * 5)}, ("start", "5", "not negative")),
        ({"start": {7: 1.0}}, ("start", "7", "0", "4")),
        ({"terminal": [9]}, ("terminal", "9", "0", "4")),
        ({"terminal": 4}, ("terminal", "4")),
        ({"terminal": range(5)}, ("all states", "terminal")),
    ],
)
def test_starts_and_ends_that_cannot_be_are_refused(arguments, message):
    with raises(ValueError, *message):
        corridor(**arguments)


def test_exploration_cannot_start_in_a_terminal_state():
    with raises(ValueError, "start", "4", "terminal"):
        explore(corridor(), "Random", n_steps=1, start=4)


def test_states_out_of_reach_are_warned_of_once():
    world = corridor(n=8, start=1, terminal=[4])
    np.testing.assert_array_equal(reachable(world, np.array([1])), np.arange(8) <= 4)
    with warns(UserWarning, "3", "8", "'world'"):
        explore(world, "Random", n_steps=1, rows="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(world, "Random", n_steps=1, rows="all")
        explore(world, "Random", n_steps=1)  # their rows do not count


def one_way(n):
    """A world of two actions that lead on, the last state to itself."""
    theta = np.zeros((2, n, n))
    theta[:, np.arange(n), np.minimum(np.arange(n) + 1, n - 1)] = 1.0
    return World(theta, Dirichlet(1.0, n_states=n, n_actions=2))


def test_states_that_a_given_start_cannot_reach_give_a_warning():
    world = one_way(6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(world, "Random", n_steps=1)  # it may begin where all can be reached
        explore(world, "Random", n_steps=1, start=0)
    with warns(UserWarning, "4", "6", "'world'"):
        explore(world, "Random", n_steps=1, start=4, rows="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(world, "Random", n_steps=1, start=4)
        explore(world, "Random", n_steps=1, start=4, rows="all")


def test_a_world_in_parts_that_no_way_joins_is_warned_of():
    theta = np.zeros((1, 5, 5))
    theta[0, [0, 1, 2, 3, 4], [1, 0, 3, 4, 2]] = 1.0
    with warns(UserWarning, "3", "5"):
        explore(World(theta, Dirichlet(1.0, n_states=5, n_actions=1)), "Random", n_steps=1, start=1, rows="all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(World(theta, Dirichlet(1.0, n_states=5, n_actions=1)), "Unembodied", n_steps=1)
    with warns(UserWarning, "5 states"):  # whichever part it begins in
        explore(World(theta, Dirichlet(1.0, n_states=5, n_actions=1)), "Random", n_steps=1)


def test_terminal_states_out_of_reach_are_not_counted():
    with warns(UserWarning, "2", "8", "'world'"):
        explore(corridor(n=8, terminal=[4, 7]), "Random", n_steps=1, rows="all")


def test_a_start_is_drawn_by_inversion():
    episodes = corridor(start={0: 0.5, 2: 0.5}).episodes
    assert [episodes.draw(u) for u in (0.0, 0.499, 0.5, 0.999)] == [0, 0, 2, 2]


def test_all_four_streams_differ():
    assert len({generator.random() for generator in streams(0)}) == 4


def test_no_warning_if_all_states_can_be_reached():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_way = one_two_three_world(0, ergodic=False, p_escape=0.1)  # never left, but it may begin anywhere
        parts = one_two_three_world(0, n_states=7, n_actions=1, ergodic=False)  # as it was asked for
        for world in (corridor(), maze(0), dense_world(0), one_two_three_world(0), one_way, parts):
            explore(world, "Random", n_steps=1)


def test_a_study_stores_next_states(tmp_path):
    world = corridor()
    study = Experiment(worlds={"corridor": [world]}, strategies=["Random", "PIG(VI)"], n_worlds=1, n_steps=50, seed=3)
    study.run(tmp_path / "r.zarr")
    results = open_results(tmp_path / "r.zarr")
    for name in ("Random", "PIG(VI)"):
        lines = results.history("corridor/000", name)
        assert np.any(lines[:, 2] == 4) and not np.any(lines[:, 0] == 4)
        for s, a, s_next in lines:
            assert world.theta[a, s, s_next] > 0


def test_worlds_that_begin_or_end_otherwise_are_not_taken_for_one_another():
    worlds = [corridor(), corridor(start=1), corridor(start={0: 0.5, 1: 0.5}), corridor(start={0: 0.4, 1: 0.6})]
    worlds += [corridor(terminal=[3, 4]), corridor(terminal=())]
    assert len({fingerprint(world) for world in worlds}) == 6
    assert fingerprint(corridor()) == fingerprint(corridor())


@pytest.mark.parametrize("closed", [[5], [-1], [0.5], [[1]]])
def test_a_file_whose_ends_lie_outside_is_refused(closed, tmp_path):
    path = tmp_path / "e.npz"
    Explorer(corridor().prior).save(path)
    rewrite_archive(path, lambda settings, arrays: arrays.update(closed=np.array(closed)))
    with raises(ValueError, "explorer", "damaged"):
        Explorer.load(path)
