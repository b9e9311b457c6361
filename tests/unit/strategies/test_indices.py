"""Indices: utilities that are a function of the counts of a row, compiled and in plain NumPy."""

import math
import subprocess
import sys
import warnings

import numpy as np
import pytest

import berlyne
from berlyne import UTILITIES, ChineseRestaurant, Dirichlet, Explorer, InternalModel, World, explore, replay
from berlyne.agents.make import make_agent
from berlyne.strategies.indices import Row, is_global, make_row
from berlyne.strategies.registry import get_strategy
from messages import raises, warns
from waiting import LIMIT


def beb(row):
    """Bayesian exploration bonus."""
    return 1.0 / (1.0 + row.n)


def mean_variance(row):
    return 1.0 / (row.kappa + 1.0)


def good_turing(row):
    singletons = 0
    for i in range(len(row.counts)):
        singletons += row.counts[i] == 1
    return (singletons + 1.0) / (row.n + 1.0) + row.n_outcomes


def ucb(row):
    return math.sqrt(math.log(row.t + 1.0) / (row.n + 1.0))


def rare_states(row):
    total = 1.0
    for i in range(row.n_outcomes):
        total += row.counts[i] / (row.n * (1.0 + row.visits[i]))
    return total


def ucb_of_state(row):
    return math.sqrt(math.log(row.state_visits + 1.0) / (row.n + 1.0))


INDICES = {
    "bonus": beb,
    "variance": mean_variance,
    "Good-Turing": good_turing,
    "UCB": ucb,
    "rare": rare_states,
    "UCB of the state": ucb_of_state,
}
WORLDS = {
    "maze": lambda: berlyne.maze(1),
    "dense": lambda: berlyne.dense_world(2),
    "many states": lambda: berlyne.dense_world(0, n_states=40),
    "1-2-3": lambda: berlyne.one_two_three_world(3),
    "with ends": lambda: ending(),
}


def ending():
    world = berlyne.maze(4, side=3, n_transporters=4)
    return World(world.rows, world.prior, start=0, terminal=[4, 8])


@pytest.mark.pairwise
@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("method", ["greedy", "VI", "VI+", "Q"])
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind) for name in INDICES for kind in WORLDS if (name, kind) != ("variance", "1-2-3")
    ],  # kappa is NaN there
)
def test_compiled_and_plain_agents_take_the_same_actions(name, kind, method):
    berlyne.index(name)(INDICES[name])
    world = WORLDS[kind]()
    n_steps = 25 if kind == "many states" else 60
    compiled, plain = (explore(world, f"{name}({method})", n_steps, 5, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(compiled.actions, plain.actions) and np.array_equal(compiled.states, plain.states)
    np.testing.assert_allclose(compiled.missing_information, plain.missing_information, atol=1e-9)


@pytest.mark.parametrize("name", INDICES)
def test_utilities_along_a_run_are_the_definition(name):
    """Rows are counted here again, from the history alone."""
    berlyne.index(name)(INDICES[name])
    world = berlyne.maze(2, side=4, n_transporters=5)
    agent = make_agent(InternalModel(world.prior), get_strategy(f"{name}(greedy)"), world, "compiled")
    rng, s = np.random.default_rng(0), 3
    counts, visits = np.zeros((4, 16, 16), dtype=int), np.zeros(16, dtype=int)
    visits[s] += 1
    for t in range(80):
        a = agent.act(s, rng.random(2))
        s_next = world.sample(a, s, rng.random())
        agent.observe(s, a, s_next)
        counts[a, s, s_next] += 1
        visits[s_next] += 1
        s = s_next
        if t % 8 == 0:
            sizes = world.prior.support.sizes.reshape(16, 4).T
            for b, z in np.ndindex(4, 16):
                seen = np.flatnonzero(counts[b, z])
                n = int(counts[b, z].sum())
                row = Row(n, 0.25 * sizes[b, z] + n, len(seen), t + 1, counts[b, z, seen], visits[seen], visits[z])
                assert agent.utility()[b, z] == pytest.approx(INDICES[name](row), rel=1e-12)


def test_an_index_is_a_utility_by_name_in_explorers_replays_studies_and_lab_books(tmp_path):
    berlyne.index("bonus")(beb)
    world = berlyne.maze(0, side=3, n_transporters=4)
    run = explore(world, "bonus(VI)", n_steps=40, seed=1)
    probabilities = replay(world, run, strategy="bonus(VI)")["log_likelihood"].values
    assert np.all(probabilities > np.log(0.2))
    explorer = Explorer(world.prior, "bonus(VI)", seed=2)
    for s, a, s_next in run.history:
        explorer.act(s)
        explorer.observe(s, a, s_next)
    explorer.save(tmp_path / "e.npz")
    assert np.array_equal(Explorer.load(tmp_path / "e.npz").utility(), explorer.utility())
    results = berlyne.Experiment({"w": [world]}, ["bonus(VI)", "Random"], n_steps=30).run(tmp_path / "r.zarr", jobs=1)
    assert list(results.strategies) == ["bonus(VI)", "Random"]
    book = berlyne.LabBook.new(tmp_path / "b.lab", world.prior, "bonus(greedy)")
    a = book.ask(0)
    book.tell(0, a, int(world.prior.support.row(a, 0)[0]))
    again = berlyne.LabBook(tmp_path / "b.lab")
    assert again.ask(0) == book.ask(0)


def test_an_explorer_of_a_global_index_is_restored(tmp_path):
    berlyne.index("UCB")(ucb)
    world = berlyne.maze(0, side=3, n_transporters=4)
    explorer = Explorer(world.prior, "UCB(VI)", seed=2)
    for s, a, s_next in explore(world, "Random", n_steps=30).history:
        explorer.observe(s, a, s_next)
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    assert np.array_equal(loaded.utility(), explorer.utility())
    assert loaded.act(0) == explorer.act(0)


def test_q_learning_of_a_global_index_learns_from_what_it_is_told():
    """The reward is the index when the transition is told, although nobody asked for an action."""
    berlyne.index("UCB")(ucb)
    world = berlyne.maze(0, side=3, n_transporters=4)
    history = explore(world, "Random", n_steps=40).history
    agents = [make_agent(InternalModel(world.prior), get_strategy("UCB(Q)"), world, e) for e in ("compiled", "numpy")]
    for s, a, s_next in history:
        for agent in agents:
            agent.observe(s, a, s_next)
        np.testing.assert_allclose(agents[0].action_values(s), agents[1].action_values(s), rtol=1e-12)


def test_states_may_be_discovered():
    berlyne.index("bonus")(beb)
    world = berlyne.maze(0, side=3, n_transporters=4).with_prior(ChineseRestaurant(1.0))
    compiled, plain = (explore(world, "bonus(VI)", 40, 3, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(compiled.actions, plain.actions)


def test_only_fields_that_all_rows_share_make_an_index_global():
    assert [is_global(function) for function in INDICES.values()] == [False, False, False, True, True, True]

    def hidden(row):
        return beb(row)

    assert is_global(hidden)  # it may read anything


def test_a_row_has_the_data_of_its_definition():
    prior = Dirichlet(0.5, n_states=4, n_actions=2)
    counts, visits = np.array([0, 3, 0, 1]), np.array([9, 8, 7, 6])
    row = make_row(prior, counts, visits, 30, 1, 2)
    assert (row.n, row.kappa, row.n_outcomes, row.t) == (4, 6.0, 2, 30)
    assert row.counts.tolist() == [3, 1] and row.visits.tolist() == [8, 6] and row.state_visits == 7
    assert make_row(ChineseRestaurant(0.7, 0.1, n_states=4, n_actions=2), counts, visits, 30, 1, 2).kappa == 4.7


def test_an_index_that_returns_an_integer_is_compiled():
    @berlyne.index("taken")
    def taken(row):
        return -row.n

    world = berlyne.dense_world(1)
    for seed in range(3):
        mine, lta = (explore(world, name, 50, seed) for name in ("taken(greedy)", "LTA"))
        counts = [np.bincount(run.states[:-1] * 4 + run.actions, minlength=40) for run in (mine, lta)]
        assert [np.ptp(c.reshape(10, 4), axis=1).max() for c in counts] == [1, 1]


def test_an_index_that_cannot_be_compiled_runs_in_numpy_with_one_warning():
    worth = {"few": 1.0, "many": 0.1}

    @berlyne.index("words")
    def words(row):
        return worth["few" if row.n < 2 else "many"]  # Numba takes no dictionary from outside, and says so at once

    world = berlyne.dense_world(0, n_states=4)
    with warns(RuntimeWarning, "words", "NumPy", "Numba"):
        explore(world, "words(VI)", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(world, "words(VI)", 10)
    with raises(ValueError, "cannot be compiled"):
        explore(world, "words(VI)", 10, engine="compiled")


@pytest.mark.parametrize("name", ["", "a(b", "a,b", "a=b", "a:b", " a", 3])
def test_invalid_names_are_refused(name):
    with raises(ValueError, "name of an index", "brackets, commas"):
        berlyne.index(name)


def test_built_in_names_are_refused_and_own_names_may_be_defined_again():
    with raises(ValueError, "'PIG'", "built-in utility"):
        berlyne.index("PIG")
    world = berlyne.dense_world(0)
    berlyne.index("mine")(lambda row: float(row.n))
    most = explore(world, "mine(greedy)", 40)
    berlyne.index("mine")(lambda row: -float(row.n))
    least = explore(world, "mine(greedy)", 40)
    assert (
        np.bincount(most.states[:-1] * 4 + most.actions).max()
        > np.bincount(least.states[:-1] * 4 + least.actions).max()
    )


def test_an_index_must_be_a_function_that_returns_a_number():
    with raises(ValueError, "mine", "3", "function of a row"):
        berlyne.index("mine")(3)
    berlyne.index("text")(lambda row: "much")
    with raises(ValueError, "'much'", "one number"):
        explore(berlyne.dense_world(0, n_states=3), "text(VI)", 3, engine="numpy")


@pytest.mark.parametrize(
    "function",
    [lambda row: 1.0 / row.n, lambda row: 1.0 / math.sqrt(row.n), lambda row: math.inf, lambda row: math.nan * row.n],
    ids=["1/n", "1/sqrt", "inf", "nan"],
)
def test_an_index_that_is_not_finite_for_untried_rows_is_refused_by_both_engines(function):
    berlyne.index("bonus")(function)
    world = berlyne.dense_world(0, n_states=3)
    with raises(ValueError, "bonus", "never tried", "n is 0"):
        explore(world, "bonus(VI)", 3, engine="compiled")
    with raises(ValueError, "<lambda>", "n = 0", "finite"):
        explore(world, "bonus(VI)", 3, engine="numpy")


def test_an_index_that_becomes_infinite_is_refused_by_both_engines():
    berlyne.index("bonus")(lambda row: 1.0 / (2.0 - row.n))
    world = berlyne.dense_world(0, n_states=3)
    with raises(ValueError, "index", "not finite"):
        explore(world, "bonus(greedy)", 30, engine="compiled")
    with raises(ValueError, "<lambda>", "inf", "n = 2", "finite"):
        explore(world, "bonus(greedy)", 30, engine="numpy")


def test_an_explorer_whose_index_is_not_defined_is_not_called_damaged(tmp_path):
    berlyne.index("mine")(beb)
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=2), "mine(VI)")
    explorer.observe(0, 1, 2)
    explorer.save(tmp_path / "e.npz")
    del UTILITIES["mine"]
    with raises(ValueError, "e.npz", "mine(VI)", "utility mine", "import"):
        Explorer.load(tmp_path / "e.npz")
    berlyne.index("mine")(beb)
    assert Explorer.load(tmp_path / "e.npz").n_obs == 1


def test_meanings_come_from_the_docstring_or_the_decorator():
    berlyne.index("bonus")(beb)
    berlyne.index("other", meaning="another one", unit="bits")(beb)
    assert UTILITIES["bonus"].meaning == "Bayesian exploration bonus."
    assert (UTILITIES["other"].meaning, UTILITIES["other"].unit) == ("another one", "bits")


def test_a_changed_index_is_compiled_again_in_the_next_process(tmp_path):
    """The code of an index is not cached on disk: what it calls may change without a trace."""
    script = tmp_path / "mine.py"
    text = """
import berlyne
@berlyne.index("mine")
def mine(row):
    return {} * row.n
print(berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=2, n_actions=1), "mine(VI)").probabilities(0).sum())
e = berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=2, n_actions=1), "mine(VI)")
e.observe(0, 0, 1)
print(e.utility()[0, 0])
"""
    for factor in (2.0, 3.0):
        script.write_text(text.format(factor))
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=LIMIT, cwd=tmp_path
        )
        assert done.stdout.split() == ["1.0", str(factor)]
