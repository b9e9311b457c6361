"""What a method in plain NumPy sees: random numbers, times, episodes, and arrays that it cannot change."""

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, Strategy, World, explore
from berlyne.sparse import Rows
from berlyne.strategies.coordination import View
from messages import raises

PRIOR = Dirichlet(1.0, n_states=4, n_actions=3)


class Drawing:
    """Draws its values, and remembers what it drew while it learned."""

    def start(self, view):
        view.memory = [view.rng.random()]

    def learn(self, view, s, a, s_next, reward):
        view.memory.append(view.rng.random())

    def values(self, view, s):
        return view.rng.random(view.n_actions)


class Watching:
    """Notes the time and the beginning of the episode before every choice."""

    def __init__(self):
        self.notes = []

    def values(self, view, s):
        self.notes.append((view.t, view.episode_began, s, view.terminal.tolist()))
        return np.zeros(view.n_actions)


def drawing(**options):
    return Strategy("drawing", Drawing(), **options)


def test_random_numbers_depend_on_the_seed_alone():
    world = berlyne.dense_world(0)
    same = [explore(world, drawing(), 50, seed=3).actions.tolist() for _ in range(2)]
    assert same[0] == same[1] != explore(world, drawing(), 50, seed=4).actions.tolist()


def test_an_explorer_draws_what_an_exploration_draws():
    world = berlyne.dense_world(0)
    run = explore(world, drawing(), 30, seed=3)
    explorer = Explorer(world.prior, drawing(), seed=3)
    for s, a, s_next in run.history:
        assert explorer.act(s) == a
        explorer.observe(s, a, s_next)


def test_questions_change_no_choice():
    """Values are the same until the next observation, and new after it."""
    quiet, asked = (Explorer(PRIOR, drawing(), seed=1) for _ in range(2))
    drawn = []
    for t in range(20):
        values = [asked.action_values(t % 4) for _ in range(3)]
        asked.probabilities(t % 4), asked.expected_gain(3, 0, n_samples=2)
        assert np.array_equal(values[0], values[1]) and np.array_equal(values[0], values[2])
        drawn.append(values[0].tolist())
        assert asked.act(t % 4) == quiet.act(t % 4) == int(np.argmax(values[0]))
        for explorer in (asked, quiet):
            explorer.observe(t % 4, 0, (t + 1) % 4)
    assert len({number for values in drawn for number in values}) == 60


def test_learning_and_choosing_draw_different_numbers():
    explorer = Explorer(PRIOR, drawing(), seed=1)
    values = [explorer.action_values(0)[0]]
    for t in range(10):
        explorer.observe(t % 4, 0, (t + 1) % 4)
        values.append(explorer.action_values(0)[0])
    learned = explorer._agent.view.memory
    assert len(learned) == 11 and len({*values, *learned}) == 22


def test_undo_rewinds_the_numbers():
    explorer = Explorer(PRIOR, drawing(), seed=1)
    explorer.observe(0, 1, 2)
    before = explorer.action_values(2)
    explorer.observe(2, 0, 1)
    explorer.undo()
    assert np.array_equal(explorer.action_values(2), before)


def test_imagined_futures_draw_different_numbers():
    """The values have no ties, so choices depend on the uniform numbers of a future only through `view.rng`."""
    explorer = Explorer(PRIOR, drawing(), seed=1)
    paths = set()
    for seed in (1, 2, 3, 4, 1):
        imagined = explorer._agent.copy()
        imagined.imagine(0, np.random.default_rng(seed).random((10, 2)), np.full(10, 0.5), np.full(10, 0.5))
        paths.add(imagined.counts().dense().tobytes())
    assert len(paths) == 4
    gains = [explorer.expected_gain(5, 0, n_samples=5, seed=s) for s in (1, 1, 2)]
    assert gains[0] == gains[1] != gains[2]


def test_discovered_states_keep_the_random_numbers_of_the_exploration():
    world = berlyne.maze(0, side=3, n_transporters=4).with_prior(ChineseRestaurant(1.0))
    runs = [explore(world, drawing(), 40, seed=s).actions.tolist() for s in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_times_and_episodes():
    """The world is a chain 0, 1, 2 in which 2 is terminal; an episode begins in 0."""
    theta = np.zeros((1, 3, 3))
    theta[0, [0, 1, 2], [1, 2, 2]] = 1.0
    method = Watching()
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1), start=0, terminal=[2])
    explore(world, Strategy("watching", method), 6)
    assert [note[:3] for note in method.notes] == [(0, 0, 0), (1, 0, 1), (2, 2, 0), (3, 2, 1), (4, 4, 0), (5, 4, 1)]
    assert all(note[3] == [False, False, True] for note in method.notes)


def test_the_prior_is_in_the_view():
    class Asking:
        def values(self, view, s):
            assert view.prior is PRIOR
            return np.zeros(3)

    assert Explorer(PRIOR, Strategy("asking", Asking())).act(0) in (0, 1, 2)


@pytest.mark.parametrize("name", ["utility", "theta_hat", "counts", "visits", "terminal"])
@pytest.mark.parametrize("hook", ["start", "learn", "values"])
def test_arrays_cannot_be_changed(name, hook):
    class Vandal:
        def values(self, view, s):
            return np.zeros(3)

    def write(self, view, *arguments):
        array = getattr(view, name)
        array[...] = 0
        return np.zeros(3)

    setattr(Vandal, hook, write)
    with raises(ValueError, "read-only"):  # any of these calls the hook
        explorer = Explorer(PRIOR, Strategy("vandal", Vandal(), "PIG"))
        explorer.observe(0, 1, 2)
        explorer.action_values(2)
        explorer.ends_in([3])


def test_arrays_follow_the_explorer():
    explorer = Explorer(PRIOR, Strategy("watching", Watching(), "PIG"))
    view = explorer._agent.view
    explorer.observe(0, 1, 2)
    assert view.counts[1, 0, 2] == 1 and view.theta_hat[1, 0, 2] == 0.4 and view.t == 1
    assert view.visits.tolist() == [1, 0, 1, 0] and view.n[1].tolist() == [1, 0, 0, 0]
    assert view.utility[1, 0] < view.utility[1, 1]


def test_a_posterior_sample_needs_a_prior_that_draws_it():
    class NoSamples:
        def estimate(self, counts):
            return PRIOR.estimate(counts)

    class Samples(NoSamples):
        def sample(self, seed, counts):
            return np.full(counts.shape, seed.random())

    class SampledRows(NoSamples):
        def sample(self, seed, counts):
            return Rows.from_dense(PRIOR.estimate(counts))

    view = View(np.zeros((3, 4)), np.zeros((3, 4, 4)), np.zeros((3, 4, 4), dtype=int), np.zeros(4, dtype=int))
    view.prior = NoSamples()
    with raises(ValueError, "NoSamples", "sample(seed, "):
        view.sample()
    view.prior = Samples()
    first, second = view.sample(), view.sample()
    assert first.shape == (3, 4, 4) and first[0, 0, 0] != second[0, 0, 0]
    view.prior = SampledRows()
    assert np.array_equal(view.sample(), PRIOR.estimate(view.counts))
