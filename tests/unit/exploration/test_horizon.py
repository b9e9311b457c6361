"""Episodes that are cut after a number of steps, and explorations that stop early."""

import numpy as np
import pandas as pd
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, InternalModel, OneTwoThree, World
from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.strategies.registry import get_strategy
from oracles.plans_by_enumeration import best_plans

N, M = 5, 2


def world(**more):
    theta = np.random.default_rng(4).dirichlet(np.full(N, 0.7), size=(M, N))
    more = {"start": {0: 0.5, 1: 0.5}, "prior": Dirichlet(0.5, n_states=N, n_actions=M), **more}
    return World(theta, **more)


def by_hand(run, horizon, terminal=()):
    """Episode numbers, and which steps were cut, counted step by step."""
    episode, cut, number, length = [], [], 0, 0
    for s_next in run.next_states.tolist():
        episode.append(number)
        length += 1
        ended = s_next in terminal
        cut.append(length == horizon and not ended)
        if ended or length == horizon:
            number, length = number + 1, 0
    return episode, cut


@pytest.mark.parametrize("strategy", ["PIG(VI)", "Random", "CB", "PIG(Q)", "PEIG(VI)"])
@pytest.mark.parametrize("terminal", [(), (4,)])
@pytest.mark.parametrize("horizon", [1, 3, 20])
def test_episodes_are_cut_and_begin_at_the_start(strategy, terminal, horizon):
    place = world(terminal=terminal)
    runs = [berlyne.explore(place, strategy, 200, seed=2, horizon=horizon, engine=e) for e in ("compiled", "numpy")]
    for name in ("states", "actions", "next_states", "missing_information"):
        np.testing.assert_allclose(getattr(runs[0], name), getattr(runs[1], name), rtol=1e-9, atol=1e-9)
    run = runs[0]
    episode, cut = by_hand(run, horizon, terminal)
    assert run.episode.tolist() == episode and run.truncated.tolist() == cut
    assert run.terminated.tolist() == [s in terminal for s in run.next_states]
    assert np.isin(run.states[run.episode_starts], [0, 1]).all()
    going_on = ~(run.truncated | run.terminated)
    assert np.array_equal(run.states[1:][going_on], run.next_states[going_on])
    assert run.model.missing_information(place) == pytest.approx(run.missing_information[-1])
    replayed = berlyne.replay(place.with_horizon(horizon), run, strategy)
    assert np.isfinite(replayed.log_likelihood).all()


@pytest.mark.parametrize("kind", ["complete", "by reach", "shared"])
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_plans_see_no_more_steps_than_are_left(kind, engine):
    """With a horizon of 3, the plans before the three steps of an episode have 2, 1 and 0 later steps."""
    support = np.ones((M, N, N), dtype=bool)
    support[:, :, 4] = False
    prior = {
        "complete": Dirichlet(0.5, n_states=N, n_actions=M),
        "by reach": Dirichlet(0.5, support),
        "shared": OneTwoThree(N, M),
    }[kind]
    agent = make_agent(InternalModel(prior), get_strategy("PIG(VI)", gamma=0.9), None, engine)
    agent.set_horizon(3)
    free = make_agent(InternalModel(prior), get_strategy("PIG(greedy)"), None, "numpy")
    everything, none = np.ones((M, N), dtype=bool), np.zeros(N, dtype=bool)
    path = [(0, 0, 1), (1, 1, 2), (2, 0, 0), (0, 0, 1), (3, 1, 0)]
    left = [2, 1, 0, 2, 2]  # the fourth step begins an episode where the third led; the fifth jumps
    for (s, a, s_next), n_later in zip(path, left, strict=True):
        problem = (free.model().theta_hat, free.utility(), everything, none, None)
        for _ in range(2):  # a question changes nothing
            assert agent.action_values(s) == pytest.approx(best_plans(problem, s, n_later, 0.9), rel=1e-9)
            assert agent.action_values(4 if kind == "complete" else 3).shape == (M,)
        agent.observe(s, a, s_next)
        free.observe(s, a, s_next)


def test_open_states_have_horizons_too():
    agents = [
        make_open_state_agent(ChineseRestaurant(0.5), M, get_strategy("PIG(VI)"), e) for e in ("compiled", "numpy")
    ]
    for agent in agents:
        agent.set_horizon(4)
    for s, a, s_next in [(0, 0, 1), (1, 1, 2), (2, 0, 7), (7, 1, 0), (0, 0, 3), (3, 1, 1)]:
        values = [agent.action_values(s) for agent in agents]
        assert values[0] == pytest.approx(values[1], rel=1e-9)
        for agent in agents:
            agent.observe(s, a, s_next)
    runs = [
        berlyne.explore(world(prior=ChineseRestaurant(0.5)), "PIG(VI)", 60, horizon=5, engine=e)
        for e in ("compiled", "numpy")
    ]
    assert np.array_equal(runs[0].states, runs[1].states) and runs[0].n_episodes == 12


def test_a_cut_teaches_nothing_about_ends():
    run = berlyne.explore(world(), "PIG(VI)", 50, horizon=5)
    assert not run.terminated.any() and run.terminal_changes == {} and run.n_episodes == 10
    assert run.expected_missing_information[0] == pytest.approx(
        InternalModel(run.prior).expected_missing_information().bits
    )


def test_a_horizon_is_part_of_a_world(tmp_path):
    place = world().with_horizon(7)
    assert (
        place.horizon == 7 and place.with_prior(place.prior).horizon == 7 and place.with_horizon(None).horizon is None
    )
    place.save(tmp_path / "w.npz")
    assert berlyne.load_world(tmp_path / "w.npz").horizon == 7
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="horizon"):
            place.with_horizon(wrong)


def test_explorations_stop_after_episodes_or_at_a_state():
    place = world(terminal=[4])
    whole = berlyne.explore(place, "PIG(VI)", 2000, seed=1)
    for n in (1, 3, 10):
        run = berlyne.explore(place, "PIG(VI)", 2000, seed=1, n_episodes=n)
        last = np.flatnonzero(whole.terminated)[n - 1]
        assert run.n_episodes == n and run.n_steps == last + 1
        assert np.array_equal(run.states, whole.states[: last + 2])
        assert np.array_equal(run.missing_information, whole.missing_information[: last + 2])
    first = int(np.flatnonzero(whole.next_states == 3)[0]) + 1
    assert berlyne.explore(place, "PIG(VI)", 2000, seed=1, until=3).n_steps == first
    assert berlyne.explore(place, "PIG(VI)", 2000, seed=1, until=lambda s: s in (3, 4)).n_steps <= first
    assert berlyne.explore(place, "PIG(VI)", 5, seed=1, n_episodes=1000).n_steps == 5
    assert (
        berlyne.explore(place, "PIG(VI)", 100, seed=1, horizon=7, until=lambda s: False, n_episodes=3).n_episodes == 3
    )
    with pytest.raises(ValueError, match="until"):
        berlyne.explore(place, until=9, strategy="Random")


def test_environments_stop_in_the_same_way():
    run = berlyne.explore_env("FrozenLake-v1", "Random", 500, n_episodes=4)
    assert run.n_episodes == 4 and run.terminated[-1]
    run = berlyne.explore_env("FrozenLake-v1", "Random", 500, until=5)
    assert run.next_states[-1] == 5 and np.count_nonzero(run.next_states == 5) == 1
    run = berlyne.explore_env("FrozenLake-v1", "Random", 500, until=lambda s: s in (1, 4))
    assert run.next_states[-1] in (1, 4)


@pytest.mark.parametrize("form", ["own world", "class", "toml"])
def test_studies_have_horizons(tmp_path, form):
    if form == "own world":
        study = berlyne.Experiment({"mine": world()}, ["PIG(VI)"], n_steps=40, horizon={"mine": 5})
    elif form == "class":
        study = berlyne.Experiment("maze", ["PIG(VI)"], n_worlds=1, n_steps=40, horizon=5)
    else:
        (tmp_path / "study.toml").write_text(
            'worlds = ["maze"]\nstrategies = ["PIG(VI)"]\nn_worlds = 1\nn_steps = 40\nhorizon = 5\n'
        )
        study = berlyne.Experiment.from_toml(tmp_path / "study.toml")
    study.run(tmp_path / "store", progress=False)
    results = berlyne.open_results(tmp_path / "store")
    name = study.classes[0].name
    run = results.run(f"{name}/000", "PIG(VI)")
    assert run.world.horizon == 5 and run.n_episodes == 8
    direct = berlyne.explore(run.world, "PIG(VI)", 40, seed=0)
    assert direct.n_episodes == 8
    assert run.truncated.sum() == 8 and run.missing_information[-1] == pytest.approx(
        run.model.missing_information(run.world)
    )
    with pytest.raises(ValueError, match="horizon"):
        berlyne.Experiment("maze", ["Random"], horizon=0)
    with pytest.raises(ValueError, match=r"horizon\.other"):
        berlyne.Experiment("maze", ["Random"], horizon={"other": 3})


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("possible", [None, {1: [0], 3: [1]}])
@pytest.mark.parametrize("terminal", [(), (4,)])
@pytest.mark.parametrize("prior", [Dirichlet("ml", n_states=N, n_actions=M), ChineseRestaurant(1.0)])
def test_a_replay_with_a_prior_alone_knows_what_the_explorer_of_the_run_knew(prior, terminal, possible, engine):
    """Horizon, possible actions and starts come from the world of the run, so no choice of its own is impossible."""
    place = world(terminal=terminal, possible=possible, prior=prior, horizon=4)
    run = berlyne.explore(place, "PIG(VI)", 150, seed=2)
    sizes = {"n_actions": M} if isinstance(prior, ChineseRestaurant) else {}
    alone = berlyne.replay(prior, run, "PIG(VI)", engine=engine, **sizes)
    assert np.isfinite(alone.log_likelihood).all()
    np.testing.assert_allclose(alone.action_values, berlyne.replay(place, run, "PIG(VI)").action_values, rtol=1e-9)


def test_a_replay_reorders_the_starts_of_a_run_with_its_labels():
    names, other = list("abcde"), list("ecabd")
    place = world(terminal=["e"], states=names, start={"a": 0.9, "b": 0.1}, horizon=6)
    run = berlyne.explore(place, "PIG(VI)", 150, seed=3)
    replayed = berlyne.replay(place.prior, run, "PIG(VI)", states=other)
    np.testing.assert_allclose(replayed.action_values, berlyne.replay(place, run, "PIG(VI)").action_values, rtol=1e-9)


def frame_of(run):
    columns = {"s": run.states[:-1], "a": run.actions.astype(float), "s_next": run.next_states, "episode": run.episode}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("prior", [Dirichlet(0.5, n_states=N, n_actions=M), ChineseRestaurant(1.0)])
@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_a_step_without_its_action_uses_up_a_step_of_the_episode(engine, prior):
    """The last choice of an episode plans no further step, so its value is its utility."""
    place = world(prior=prior, horizon=5)
    frame = frame_of(berlyne.explore(place, "PIG(VI)", 40, seed=1))
    frame.loc[frame.index % 5 == 1, "a"] = np.nan
    replayed = berlyne.replay(place, frame, "PIG(VI)", engine=engine)
    np.testing.assert_allclose(replayed.action_values[4::5], replayed.utilities[4::5], rtol=1e-9)
    assert (replayed.action_values[3::5].max("action") > replayed.utilities[3::5].max("action")).all()


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_an_episode_of_a_frame_has_all_its_steps_left_where_the_last_one_was_left(engine):
    place = world(horizon=3)
    steps = [(0, 0, 1, 0), (1, 1, 0, 0), (0, 1, 2, 1), (2, 0, 3, 1), (3, 0, 0, 1), (0, 0, 0, 2)]
    frame = pd.DataFrame(steps, columns=["s", "a", "s_next", "episode"])
    replayed = berlyne.replay(place, frame, "PIG(VI)", engine=engine)
    is_last = np.isclose(replayed.action_values, replayed.utilities, rtol=1e-9).all(axis=1)
    assert is_last.tolist() == [False, False, False, False, True, False]
