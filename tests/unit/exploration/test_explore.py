"""One exploration: its results, the inputs they depend on, and invalid arguments."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from berlyne import STRATEGIES, Dirichlet, InternalModel, OneTwoThree, World, dense_world, explore, maze
from berlyne.strategies.registry import get_strategy
from messages import raises
from parity.cases import CLASSES, sparse_truth

EMBODIED = [name for name, strategy in STRATEGIES.items() if not strategy.relocates]
PRIORS = {**CLASSES, "sparse truth": sparse_truth}


@pytest.mark.pairwise
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("kind", PRIORS)
def test_history_obeys_the_world(kind, name):
    """Every step is possible, and begins where the last one ended unless the strategy may relocate."""
    world = PRIORS[kind](1)
    run = explore(world, name, n_steps=200, seed=2)
    assert run.states.shape == (201,) and run.actions.shape == run.next_states.shape == (200,)
    assert run.n_steps == 200 and run.world is world and run.strategy is STRATEGIES[name]
    assert run.actions.min() >= 0 and run.actions.max() < world.n_actions
    assert np.all(world.theta[run.actions, run.states[:-1], run.next_states] > 0)
    assert run.states[-1] == run.next_states[-1]
    if not run.strategy.relocates:
        assert np.array_equal(run.states[1:], run.next_states)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("name", ["PIG(VI)", "Unembodied"])
@pytest.mark.parametrize("kind", PRIORS)
def test_model_and_snapshots_are_the_history_learned(kind, name, engine):
    world = PRIORS[kind](3)
    run = explore(world, name, n_steps=120, seed=1, snapshots=[120, 0, 7, 50, 7], engine=engine)
    history = np.stack([run.states[:-1], run.actions, run.next_states], axis=1)
    assert list(run.snapshots) == [0, 7, 50, 120]
    for t, counts in run.snapshots.items():
        rebuilt = np.zeros(world.theta.shape, dtype=int)
        np.add.at(rebuilt, (history[:t, 1], history[:t, 0], history[:t, 2]), 1)
        assert np.array_equal(counts.dense(), rebuilt)
    replayed = InternalModel(world.prior)
    replayed.observe_many(history)
    assert run.model.n_obs == 120
    assert np.array_equal(run.model.counts, replayed.counts)
    assert np.array_equal(run.model.theta_hat, replayed.theta_hat)
    assert np.array_equal(run.model.last_outcomes, replayed.last_outcomes)
    assert run.missing_information[-1] == pytest.approx(replayed.missing_information(world), abs=1e-9)
    assert run.l1_distance[-1] == pytest.approx(replayed.l1_distance(world), abs=1e-9)


def test_snapshots_change_nothing_else():
    plain = explore(maze(0), "PIG(VI)", n_steps=100)
    progress_reporter = explore(maze(0), "PIG(VI)", n_steps=100, snapshots=range(0, 101, 3))
    assert np.array_equal(plain.actions, progress_reporter.actions)
    assert np.array_equal(plain.missing_information, progress_reporter.missing_information)


@pytest.mark.parametrize("name", STRATEGIES)
def test_same_seed_same_run_beside_other_runs(name):
    """Neither the strategies run before it nor the world object make a difference."""
    alone = explore(maze(4), name, n_steps=150, seed=6)
    world = maze(4)
    for other in STRATEGIES:
        explore(world, other, n_steps=40, seed=6)
    among_others = explore(world, name, n_steps=150, seed=6)
    assert np.array_equal(alone.actions, among_others.actions)
    assert np.array_equal(alone.missing_information, among_others.missing_information)
    assert np.array_equal(alone.l1_distance, among_others.l1_distance)


def test_longer_runs_begin_like_shorter_ones():
    for name in STRATEGIES:
        short, long = (explore(maze(1), name, n_steps=n, seed=3) for n in (50, 200))
        assert np.array_equal(short.actions, long.actions[:50])
        assert np.array_equal(short.missing_information, long.missing_information[:51])


def test_agent_and_world_draw_from_streams_of_their_own():
    """Outcomes do not move the agent's numbers: Random acts alike in worlds of other transitions."""
    first, second = (explore(dense_world(seed), "Random", n_steps=200, seed=9, start=0) for seed in (0, 1))
    assert np.array_equal(first.actions, second.actions)
    assert not np.array_equal(first.states, second.states)


def test_every_form_of_seed():
    world = maze(0)
    by_int = explore(world, "Random", n_steps=50, seed=5)
    by_sequence = explore(world, "Random", n_steps=50, seed=np.random.SeedSequence(5))
    spawned = np.random.SeedSequence(5)
    spawned.spawn(3)
    assert np.array_equal(by_int.actions, by_sequence.actions)
    assert np.array_equal(by_int.actions, explore(world, "Random", n_steps=50, seed=spawned).actions)
    rng = np.random.default_rng(5)
    one, two = (explore(world, "Random", n_steps=50, seed=rng) for _ in range(2))
    assert not np.array_equal(one.actions, two.actions)  # a generator moves on
    assert not np.array_equal(by_int.actions, explore(world, "Random", n_steps=50, seed=6).actions)


def test_the_start_state_is_an_argument_or_the_worlds_or_drawn():
    world = maze(0)
    fixed = World(world.rows, world.prior, start=7)
    assert explore(world, "Random", n_steps=1, start=3).states[0] == 3
    assert explore(fixed, "Random", n_steps=1).states[0] == 7
    assert explore(fixed, "Random", n_steps=1, start=3).states[0] == 3
    drawn = [explore(world, "Random", n_steps=0, seed=seed).states[0] for seed in range(400)]
    assert set(drawn) == set(range(36))


def test_no_steps():
    for engine in ("compiled", "numpy"):
        run = explore(maze(0), "PIG(VI)", n_steps=0, snapshots=[0], engine=engine)
        model = InternalModel(maze(0).prior)
        assert run.missing_information == pytest.approx([model.missing_information(maze(0))])
        assert run.l1_distance == pytest.approx([model.l1_distance(maze(0))])
        assert run.model.n_obs == 0 and len(run.actions) == 0 and len(run.states) == 1


def test_measures_are_never_negative():
    """Rounding would leave a 1-2-3 World that is known for sure a little below zero."""
    runs = [explore(CLASSES["1-2-3"](seed, n_states=6), "PIG(VI)", n_steps=600, seed=seed) for seed in range(20)]
    assert min(run.missing_information.min() for run in runs) >= 0.0
    assert min(run.l1_distance.min() for run in runs) >= 0.0
    assert max(run.missing_information[-1] for run in runs) < 1e-9


def test_outcomes_of_probability_zero_never_happen_even_if_a_sum_falls_short():
    """Ten times 0.1 adds up to less than one: the last possible outcome takes the rest."""
    theta = np.zeros((1, 12, 12))
    theta[:, :, :10] = 0.1
    assert np.cumsum(theta[0, 0])[-1] < 1.0
    world = World(theta, Dirichlet(1.0, n_states=12, n_actions=1))
    just_below = np.nextafter(1.0, 0.0)
    assert world.sample(0, 0, just_below) == 9 and world.sample(0, 0, 0.0) == 0
    for engine in ("compiled", "numpy"):
        assert set(_outcomes(world, [just_below] * 5, engine)) == {9}
        assert set(_outcomes(world, [0.0] * 5, engine)) == {0}


def test_a_first_outcome_of_probability_zero_is_skipped():
    theta = np.zeros((1, 4, 4))
    theta[:, :, 1], theta[:, :, 2] = 0.5, 0.5
    world = World(theta, Dirichlet(1.0, n_states=4, n_actions=1))
    for engine in ("compiled", "numpy"):
        assert _outcomes(world, [0.0, 0.5, np.nextafter(0.5, 0.0)], engine) == [1, 2, 1]


def _outcomes(world, u_world, engine):
    """Return the outcomes for these uniform numbers of the world."""
    from berlyne.agents.make import make_agent
    from berlyne.engine.records import RunRecord

    agent = make_agent(InternalModel(world.prior), get_strategy("Random"), world, engine)
    record = RunRecord.allocate(len(u_world), 0, 0.0, 0.0)
    agent.run(world, record, np.zeros((len(u_world), 2)), np.array(u_world))
    return record.outcomes.tolist()


def test_plot_draws_the_learning_curve():
    run = explore(maze(0), "PIG(VI)", n_steps=20)
    ax = run.plot()
    (line,) = ax.get_lines()
    assert np.array_equal(line.get_ydata(), run.missing_information)
    assert line.get_label() == "PIG(VI)" and "bits" in ax.get_ylabel() and ax.get_title() == "Maze"
    assert run.plot(ax, label="again", color="k") is ax and len(ax.get_lines()) == 2
    plt.close(ax.figure)


def test_repr_shows_what_was_learned():
    text = repr(explore(maze(0), "PIG(VI)", n_steps=2500))
    assert text.startswith("Run(PIG(VI) in Maze: ") and text.endswith(" bits in 2,500 steps)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": -1}, ("n_steps", "-1", "0")),
        ({"n_steps": 1.5}, ("n_steps", "1.5", "0")),
        ({"start": 36}, ("start", "36", "0", "35")),
        ({"start": -1}, ("start", "-1", "0", "35")),
        ({"snapshots": [5, 11]}, ("snapshots", "step 11", "step 10")),
        ({"snapshots": [-1]}, ("snapshot", "-1", "0")),
        ({"engine": "fast"}, ("engine", "'fast'", "'auto'", "'compiled'", "'numpy'")),
        ({"seed": -3}, ("seed", "-3", "SeedSequence", "Generator")),
        ({"seed": "zero"}, ("seed", "'zero'")),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with raises(ValueError, *message):
        explore(maze(0), "PIG(VI)", **{"n_steps": 10, **arguments})


def test_a_world_without_a_prior_is_refused():
    with raises(ValueError, "world", "prior"):
        explore(World(maze(0).theta), "PIG(VI)")


def test_the_compiled_engine_refuses_custom_components():
    with raises(ValueError, "engine=", "'numpy'", "'auto'", "docs/explanation/engine.md"):
        explore(maze(0), get_strategy("PIG(VI)").__class__("mine", lambda view, s, u: 0), engine="compiled")


def test_plain_numpy_refuses_worlds_too_large_for_it():
    with raises(ValueError, "4 x 10000 x 10000"):
        explore(maze(0, side=100), "PIG(VI)", n_steps=1, engine="numpy")


def test_transitions_that_are_impossible_under_the_printed_formula_are_reported():
    """A prior that is wrong about the world is found out, and named, at the step it happens."""
    theta = np.zeros((1, 3, 3))
    theta[0, :, 1:] = 0.5
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1))
    object.__setattr__(world, "prior", OneTwoThree(3, 1))  # one target, and the world has two
    for engine in ("compiled", "numpy"):
        with raises(ValueError, "probability zero", "prior", "docs/how-to/own-prior.md"):
            explore(world, "Random", n_steps=50, engine=engine)


def test_the_id_of_an_environment_points_to_explore_env():
    with pytest.raises(ValueError, match=r"'FrozenLake-v1'.*explore_env\('FrozenLake-v1'\)"):
        explore("FrozenLake-v1", "PIG(VI)")
