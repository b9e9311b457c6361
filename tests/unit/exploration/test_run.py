"""A run in a world and a run in an environment have the same path, measures, models and pictures."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest
from matplotlib.figure import Figure

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, World, dense_world, explore, explore_env
from berlyne.information import kl_divergence
from messages import raises

gymnasium = pytest.importorskip("gymnasium")
from berlyne.envs.world_env import WorldEnv  # noqa: E402  # needs Gymnasium

WORLD = World(dense_world(2).rows, dense_world(2).prior, terminal=[4], start=1, name="dense")
PRIORS = {"known": WORLD.prior, "discovered": ChineseRestaurant(1.0)}


class Wrapped(gymnasium.Wrapper):
    """A wrapper that might change any transition."""


def in_environment(prior=WORLD.prior, n_steps=60, wrapped=False, seed=5):
    env = WorldEnv(WORLD)
    return explore_env(Wrapped(env) if wrapped else env, "PIG(VI)", n_steps=n_steps, seed=seed, prior=prior)


def by_hand(run, world):
    """Missing information and L1 distance of counts made by hand, from dense arrays, at every time."""
    counts, goes_on = np.zeros((4, 10, 10)), np.delete(np.arange(10), world.terminal)
    missing, distance = [], []
    for t in range(run.n_steps + 1):
        theta_hat = (counts + world.prior.alpha) / (counts + world.prior.alpha).sum(axis=-1, keepdims=True)
        missing.append(kl_divergence(world.theta, theta_hat)[:, goes_on].sum())
        distance.append(np.abs(world.theta - theta_hat)[:, goes_on].sum())
        if t < run.n_steps:
            counts[run.actions[t], run.states[t], run.next_states[t]] += 1
    return missing, distance


@pytest.mark.parametrize("kind", ["world", "environment"])
def test_missing_information_and_distance_follow_from_the_path(kind):
    run = explore(WORLD, "PIG(VI)", n_steps=60, seed=5) if kind == "world" else in_environment()
    assert run.n_episodes > 2
    missing, distance = by_hand(run, WORLD)
    np.testing.assert_allclose(run.missing_information, missing, rtol=1e-12)
    np.testing.assert_allclose(run.l1_distance, distance, rtol=1e-12)
    computed = dataclasses.replace(run, curves={})  # nothing was measured on the way
    np.testing.assert_allclose(computed.missing_information, missing, rtol=1e-12)
    np.testing.assert_allclose(computed.l1_distance, distance, rtol=1e-12)
    assert run.area == pytest.approx(np.sum(missing)) and run.learning_curve is run.missing_information


def test_curves_of_discovered_states_follow_from_the_path():
    """`explore` measured them on the way; its models at some times are a second answer."""
    run = explore(WORLD.with_prior(ChineseRestaurant(1.0)), "PIG(VI)", n_steps=40, seed=1)
    computed = dataclasses.replace(run, curves={})
    np.testing.assert_allclose(computed.missing_information, run.missing_information, rtol=1e-12)
    np.testing.assert_allclose(computed.l1_distance, run.l1_distance, rtol=1e-12)
    for t in (0, 7, 40):
        assert run.model_at(t).missing_information(run.world) == pytest.approx(run.missing_information[t])


@pytest.mark.parametrize("prior", PRIORS)
def test_a_world_and_its_environment_expect_what_an_explorer_expects(prior):
    """In a world the ends are known from the start, in an environment once an episode ended there."""
    world = WORLD.with_prior(PRIORS[prior])
    for run in (explore(world, "PIG(VI)", n_steps=60, seed=3), in_environment(PRIORS[prior])):
        explorer = Explorer(PRIORS[prior], "LTA", n_actions=4, n_states=None if prior == "discovered" else 10)
        if run.explorer is None and prior == "known":
            explorer.ends_in([4])
        for t, (s, a, s_next) in enumerate(run.history):
            if prior == "discovered":
                explorer.discover([s])
            expected = explorer.expected_missing_information().bits
            assert run.expected_missing_information[t] == pytest.approx(expected, rel=1e-9)
            explorer.observe(s, a, s_next, ended=s_next == 4)
        assert len(run.expected_missing_information) == 61 and run.terminated.sum() > 1


@pytest.mark.parametrize("prior", PRIORS)
def test_a_run_without_steps_is_a_curve_of_one_point(prior):
    world = WORLD.with_prior(PRIORS[prior])
    run, other = explore(world, "PIG(VI)", n_steps=0), in_environment(PRIORS[prior], n_steps=0)
    explorer = Explorer(PRIORS[prior], n_actions=4, n_states=None if prior == "discovered" else 10)
    if prior == "discovered":
        explorer.discover([1])
    assert other.expected_missing_information == pytest.approx([explorer.expected_missing_information().bits])
    if prior == "known":
        explorer.ends_in([4])
    assert run.expected_missing_information == pytest.approx([explorer.expected_missing_information().bits])
    assert run.states.tolist() == other.states.tolist() == [1] or prior == "discovered"
    assert (run.n_episodes, other.n_episodes, run.n_steps, len(run.episode_starts)) == (0, 0, 0, 0)


@pytest.mark.parametrize("prior", PRIORS)
def test_models_of_an_environment_are_those_of_its_explorer_on_the_way(prior):
    run = in_environment(PRIORS[prior])
    np.testing.assert_array_equal(run.model.counts, run.explorer.model.counts)
    np.testing.assert_allclose(run.model.theta_hat, run.explorer.model.theta_hat, rtol=1e-12)
    assert list(run.model.states) == list(run.explorer.model.states)
    explorer = Explorer(PRIORS[prior], "LTA", n_actions=4, n_states=None if prior == "discovered" else 10)
    for line in run.history[:23]:
        explorer.observe(*line)
    np.testing.assert_allclose(
        run.model_at(23).theta_hat_row(0, run.history[0][0])[:2], explorer.model.theta_hat_row(0, run.history[0][0])[:2]
    )
    assert run.counts.n.sum() == run.n_steps
    run.explorer.observe(*run.history[0])  # the explorer goes on, the run does not
    assert run.model.n_obs == run.model_at(60).n_obs == 60


def test_the_last_state_is_where_the_next_action_is_taken():
    for run in (explore(WORLD, "PIG(VI)", n_steps=60, seed=5), in_environment()):
        ends = np.flatnonzero(run.terminated)
        np.testing.assert_array_equal(ends, np.flatnonzero(run.next_states == 4))
        np.testing.assert_array_equal(run.states[1:], np.where(run.next_states == 4, 1, run.next_states))
        np.testing.assert_array_equal(run.episode_starts, [0, *(t + 1 for t in ends if t < 59)])
        assert run.n_episodes == len(run.episode_starts)


def test_the_world_of_an_environment_is_that_of_its_table_if_it_holds():
    lake = gymnasium.make("FrozenLake-v1")
    run = explore_env(lake, "LTA", n_steps=50)
    np.testing.assert_array_equal(run.world.theta, berlyne.from_gymnasium(lake).theta)
    assert run.world.prior is run.prior is run.explorer.prior and run.rewards.shape == (50,)
    unknown = (
        explore_env(Wrapped(lake), "LTA", n_steps=5),
        explore_env(lake, "LTA", n_steps=5, observe=lambda s: 15 - s),
        explore_env(lake, "LTA", n_steps=5, prior=ChineseRestaurant(1.0)),
        explore_env("Blackjack-v1", "LTA", n_steps=5),
    )
    for run in unknown:
        assert run.world is None and not hasattr(run, "missing_information") and not hasattr(run, "l1_distance")
        with raises(AttributeError, "missing_information", "unknown"):
            _ = run.missing_information
        assert run.learning_curve is run.expected_missing_information and run.area == run.learning_curve.sum()


def test_a_table_that_the_steps_contradict_is_not_the_world():
    class Broken(WorldEnv):
        def step(self, action):
            self.state = (self.state + 1) % 10
            return np.int64(self.state), 0.0, self.state == self.over, False, {}

    ring = World(np.roll(np.eye(10), 1, axis=1)[None].repeat(4, axis=0), WORLD.prior, terminal=[4], start=1)
    for over, holds in ((4, True), (5, False)):
        env = Broken(ring)
        env.over = over
        assert (explore_env(env, "LTA", n_steps=20).world is not None) == holds
    lost = World(np.eye(10)[None].repeat(4, axis=0), WORLD.prior, terminal=[4], start=1)
    env = Broken(lost)
    env.over = 4
    assert explore_env(env, "LTA", n_steps=1).world is None


def test_a_world_run_can_be_pickled_and_its_arrays_cannot_be_changed():
    run = explore(WORLD, "PIG(VI)", n_steps=20, seed=5)
    copy = pickle.loads(pickle.dumps(run))
    for name in ("states", "actions", "next_states", "episode", "terminated", "missing_information", "l1_distance"):
        np.testing.assert_array_equal(getattr(copy, name), getattr(run, name))
        with raises(ValueError, "read-only"):
            getattr(copy, name)[0] = 1
    assert copy.rewards is None and copy.explorer is None and copy.snapshots == {}


@pytest.mark.parametrize("prior", PRIORS)
def test_an_unknown_world_is_drawn_from_the_model(prior, tmp_path):
    run = in_environment(PRIORS[prior], wrapped=True)
    assert run.world is None
    ax = run.plot_path(30, Figure().subplots(), what="visits")
    visits = next(c.get_array() for c in ax.collections if c.get_gid() == "states")
    expected = {run.labels[0][s]: n for s, n in enumerate(np.bincount(run.states[:30], minlength=10))}
    drawn = dict(zip(run.model.states, visits.tolist(), strict=True))
    met = {run.labels[0][s] for s in run.states[:31].tolist()} | {line[2] for line in run.history[:30]}
    for state in met:
        assert drawn[state] == expected[state]
    film = run.animate(n_frames=2)
    film.save(tmp_path / "run.gif", writer="pillow", dpi=20)
    labels = [ax.get_title(loc="right") for ax in film._fig.axes]
    assert any(f"{run.expected_missing_information[-1]:.1f} bits expected to be missing" in text for text in labels)
    ax = run.plot(Figure().subplots())
    assert ax.get_ylabel() == "expected missing information (bits)" and ax.get_title() == ""
    assert "expected missing information" in run._repr_html_()


def test_a_page_of_an_environment_shows_an_end_when_it_is_known():
    """Utilities on the page are those of the explorer at that time; before the first end, state 4 is worth visiting."""
    from berlyne.watch import page_data
    from unit.watch.decoding import beliefs_at

    run = in_environment()
    data = page_data([run])["runs"][0]
    explorer, known = Explorer(WORLD.prior, "PIG(VI)"), []
    for t in range(run.n_steps + 1):
        utility = beliefs_at(data, t, 10)[1].reshape(10, 4).T
        np.testing.assert_allclose(utility, explorer.utility(), rtol=1e-12)
        known.append(bool(np.all(utility[:, 4] == 0.0)))
        if t < run.n_steps:
            s, a, s_next = run.history[t]
            explorer.observe(s, a, s_next, ended=s_next == 4)
    first = int(np.flatnonzero(run.terminated)[0])
    assert known == [t > first for t in range(run.n_steps + 1)] and first > 0


def test_runs_of_a_world_and_of_its_environment_share_a_page():
    from berlyne.watch import page_data

    assert len(page_data([explore(WORLD, "LTA", n_steps=5), in_environment(n_steps=5)])["runs"]) == 2


def test_a_model_of_dirichlet_rows_is_that_of_counts_made_by_hand():
    run, model = in_environment(wrapped=True), InternalModel(Dirichlet(WORLD.prior.alpha, n_states=10, n_actions=4))
    for s, a, s_next in run.history:
        model.observe(s, a, s_next)
    np.testing.assert_allclose(run.model.theta_hat, model.theta_hat, rtol=1e-12)
