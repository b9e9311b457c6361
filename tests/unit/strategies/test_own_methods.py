"""Coordination methods that are registered by name: compiled and in plain NumPy."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, Strategy, World, explore, replay
from berlyne.agents.make import make_agent
from berlyne.strategies.coordination import METHODS_BY_NAME, QLearning
from berlyne.strategies.own_methods import OWN_METHODS
from berlyne.strategies.registry import get_strategy
from messages import raises, warns
from waiting import LIMIT


def rare(view, s):
    return view.utility[:, s] / (1.0 + view.expected(view.visits, s))


def plan(view, s):
    q = view.utility.copy()
    for _ in range(4):
        v = np.zeros(view.n_states)
        for z in range(view.n_states):
            if not view.terminal[z]:
                v[z] = q[:, z].max()
        q = view.utility + 0.9 * view.expected(v)
    return q[:, s]


def seen(view, s):
    values = np.zeros(view.n_actions)
    for a in range(view.n_actions):
        s_next, counts, p = view.outcomes(a, s)
        for i in range(len(s_next)):
            values[a] += counts[i] * p[i] / (1 + view.visits[s_next[i]]) - view.probability(a, s, s_next[i]) / 3
        values[a] -= view.n[a, s] / (1 + view.t) + view.probability(a, s, 0)
    return values


def learned(view, s):
    return view.memory[:, s]


def learn(view, s, a, s_next, reward):
    later = 0.0 if view.terminal[s_next] else view.memory[:, s_next].max()
    view.memory[a, s] += 0.5 * (reward + 0.9 * later - view.memory[a, s])


METHODS = {"rare": (rare, None), "plan": (plan, None), "seen": (seen, None), "learned": (learned, learn)}
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


@pytest.fixture(autouse=True)
def registered():
    for name, (function, learning) in METHODS.items():
        berlyne.method(name, learn=learning)(function)


@pytest.mark.pairwise
@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("strategy", ["PIG({})", "parameter_gain({}, temperature=0.1, lapse=0.1)", "{}", "rows({})"])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", WORLDS)
def test_compiled_and_plain_agents_take_the_same_actions(kind, name, strategy):
    berlyne.index("rows")(lambda row: 1.0 / (1.0 + row.n + row.state_visits))
    world, n_steps = WORLDS[kind](), 25 if kind == "many states" else 60
    compiled, plain = (explore(world, strategy.format(name), n_steps, 5, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(compiled.actions, plain.actions) and np.array_equal(compiled.states, plain.states)
    np.testing.assert_allclose(compiled.missing_information, plain.missing_information, atol=1e-9)


@pytest.mark.parametrize("kind", ["maze", "many states"])
def test_a_compiled_view_shows_what_the_history_says(kind):
    """Everything is counted here again, from the history alone; the estimate is that of a Dirichlet prior."""

    @berlyne.method("probe")
    def probe(view, s):
        rows = np.zeros(view.n_actions)
        for a in range(view.n_actions):
            s_next, counts, p = view.outcomes(a, s)
            rows[a] = view.n[a, s] + 10.0 * len(s_next) + 1000.0 * view.t + view.utility[a, s] / 16.0
            for i in range(len(s_next)):
                rows[a] += s_next[i] * counts[i] * p[i] * (1.0 + i) + 0.1 * view.visits[s_next[i]]
            rows[a] += 7.0 * view.probability(a, s, (s + 1) % view.n_states) + 3.0 * view.memory[a, s]
        return rows + view.expected(np.arange(view.n_states) ** 2, s)

    world = WORLDS[kind]()
    n_states, n_actions, alpha = world.n_states, world.n_actions, float(world.prior.alpha)
    agent = make_agent(InternalModel(world.prior), get_strategy("probe"), None, "compiled")
    support = np.zeros((n_actions, n_states, n_states), dtype=bool)
    for a, s in np.ndindex(n_actions, n_states):
        support[a, s, world.prior.support.row(a, s)] = True
    counts, visits = np.zeros(support.shape, dtype=int), np.zeros(n_states, dtype=int)
    history = explore(world, "Random", n_steps=120, seed=2).history
    visits[history[0][0]] += 1
    for t, (s, a, s_next) in enumerate(history):
        theta_hat = (counts + alpha) * support
        theta_hat /= theta_hat.sum(axis=-1, keepdims=True)
        expected = np.zeros(n_actions)
        for b in range(n_actions):
            observed = np.flatnonzero(counts[b, s])
            expected[b] = (
                counts[b, s].sum() + 10 * len(observed) + 1000 * t + theta_hat[b, s] @ np.arange(n_states) ** 2
            )
            for i, z in enumerate(observed):
                expected[b] += z * counts[b, s, z] * theta_hat[b, s, z] * (1 + i) + 0.1 * visits[z]
            expected[b] += 7 * theta_hat[b, s, (s + 1) % n_states]
        np.testing.assert_allclose(agent.action_values(s), expected, rtol=1e-10)
        agent.observe(s, a, s_next)
        counts[a, s, s_next] += 1
        visits[s_next] += 1


@pytest.mark.parametrize("kind", ["maze", "many states", "1-2-3", "with ends"])
@pytest.mark.filterwarnings("ignore:.*cannot be reached")
def test_a_method_that_learns_like_q_learning_is_q_learning(kind):
    mine, theirs = (explore(WORLDS[kind](), name, 300, 4) for name in ("PIG(learned, lapse=0.2)", "PIG(Q)"))
    assert QLearning() == QLearning(0.5, 0.9, 0.2, 0.0)  # the parameters of `learn`
    assert np.array_equal(mine.actions, theirs.actions)


def test_a_method_that_plans_like_value_iteration_is_value_iteration():
    strategies = "parameter_gain(plan)", "parameter_gain(VI, steps_back=4, gamma=0.9)"
    mine, theirs = (explore(berlyne.maze(3), name, 400, 4) for name in strategies)
    assert np.array_equal(mine.actions, theirs.actions)


def test_methods_work_by_name_in_explorers_replays_studies_and_lab_books(tmp_path):
    world = berlyne.maze(0, side=3, n_transporters=4)
    run = explore(world, "PIG(learned)", n_steps=40, seed=1)
    frames = [replay(world, run, strategy="PIG(learned)", engine=e) for e in ("compiled", "numpy")]
    assert np.all(frames[0]["log_likelihood"].values > np.log(0.2))
    np.testing.assert_allclose(frames[0]["action_values"].values, frames[1]["action_values"].values, atol=1e-12)
    explorer = Explorer(world.prior, "PIG(learned)", seed=2)
    for s, a, s_next in run.history:
        explorer.act(s)
        explorer.observe(s, a, s_next)
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    values = [[e.action_values(s) for s in range(world.n_states)] for e in (explorer, loaded)]
    assert np.array_equal(*values) and np.any(np.array(values[0]) != 0.0)
    before = explorer.action_values(0)
    assert explorer.expected_gain(5, 0, n_samples=4).bits > 0.0
    assert np.array_equal(explorer.action_values(0), before)
    results = berlyne.Experiment({"w": [world]}, ["PIG(plan)", "seen"], n_steps=30).run(tmp_path / "r.zarr", jobs=1)
    assert list(results.strategies) == ["PIG(plan)", "seen"]
    book = berlyne.LabBook.new(tmp_path / "b.lab", world.prior, "PIG(rare)")
    a = book.ask(0)
    book.tell(0, a, int(world.prior.support.row(a, 0)[0]))
    assert berlyne.LabBook(tmp_path / "b.lab").ask(0) == book.ask(0)


@pytest.mark.parametrize("name", METHODS)
def test_states_may_be_discovered(name):
    world = berlyne.maze(0, side=3, n_transporters=4).with_prior(ChineseRestaurant(1.0))
    compiled, plain = (explore(world, f"PIG({name})", 40, 3, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(compiled.actions, plain.actions)


def test_slots_may_be_added_on_the_way():
    """A world of many states has few slots at the start, and the view must follow when there are more."""
    prior = Dirichlet(1.0, n_states=200, n_actions=2)
    compiled, plain = (
        make_agent(InternalModel(prior), get_strategy("PIG(seen)"), None, e) for e in ("compiled", "numpy")
    )
    capacity = compiled.belief.graph.capacity
    for s_next in range(1, 60):
        compiled.observe(0, s_next % 2, s_next)
        plain.observe(0, s_next % 2, s_next)
        np.testing.assert_allclose(compiled.action_values(0), plain.action_values(0), rtol=1e-9)
    assert compiled.belief.graph.capacity > capacity


def test_any_size_of_world_works():
    prior = Dirichlet(1.0, n_states=30_000, n_actions=4)  # dense arrays would take 29 GB
    explorer = Explorer(prior, "PIG(rare)")
    for t in range(200):
        a = explorer.act(t % 7)
        explorer.observe(t % 7, a, (t + 1) % 7)
    assert explorer.n_obs == 200


def test_only_the_memory_can_be_written():
    @berlyne.method("vandal")
    def vandal(view, s):
        view.utility[0, s] = 5.0
        return view.utility[:, s]

    world = berlyne.dense_world(0, n_states=4)
    with warns(RuntimeWarning, "vandal", "setitem"):  # noqa: SIM117
        with raises(ValueError, "read-only"):
            explore(world, "PIG(vandal)", 10)


def test_a_method_that_cannot_be_compiled_runs_in_numpy_with_one_warning():
    @berlyne.method("words")
    def words(view, s):
        return np.vectorize({True: "1", False: "0"}.get)(view.n[:, s] < 2).astype(float)

    world = berlyne.dense_world(0, n_states=4)
    with warns(RuntimeWarning, "words", "NumPy", "Numba"):
        explore(world, "words", 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        explore(world, "words", 10)
    with raises(ValueError, "cannot be compiled"):
        explore(world, "words", 10, engine="compiled")
    explorer = Explorer(ChineseRestaurant(1.0, n_actions=2), "words")
    with raises(ValueError, "custom component", "saved"):
        explorer.save("never.npz")


def test_the_warning_tells_how_to_compile_a_function_that_a_method_calls():
    def half(x):
        return x / 2

    @berlyne.method("halved")
    def halved(view, s):
        return half(view.utility[:, s])

    with warns(RuntimeWarning, "halved", "register_jitable", "own-method.md"):
        explore(berlyne.dense_world(0, n_states=4), "PIG(halved)", 10)


@pytest.mark.parametrize(
    ("function", "compiled", "plain"),
    [
        (lambda view, s: np.zeros(2), "number of values", "(2,)"),
        (lambda view, s: np.full(4, np.nan), "NaN", "NaN"),
        (lambda view, s: np.full(4, np.inf), "the largest", "the largest must be finite"),
        (lambda view, s: np.full(4, -np.inf), "the largest", "the largest must be finite"),
        (lambda view, s: view.utility[:, s + 99], "out of bounds", "out of bounds"),
        (lambda view, s: view.expected(np.zeros(3), s), "one value for each state", "3"),
        (lambda view, s: view.expected(np.zeros(3))[:, s], "one value for each state", "3"),
        (lambda view, s: np.full(4, view.probability(9, s, 0)), "does not exist", "out of bounds"),
        (lambda view, s: view.outcomes(0, s + 99)[2], "does not exist", "out of bounds"),
    ],
    ids=["shape", "nan", "inf", "-inf", "index", "expected", "expected everywhere", "probability", "outcomes"],
)
def test_bad_returns_and_bad_questions_are_refused_by_both_engines(function, compiled, plain):
    berlyne.method("bad")(function)
    world = berlyne.dense_world(0)
    for engine, message in (("compiled", compiled), ("numpy", plain)):
        with raises((ValueError, IndexError), message):
            explore(world, "PIG(bad)", 3, engine=engine)


def test_values_of_minus_infinity_are_impossible_actions():
    @berlyne.method("half")
    def half(view, s):
        values = view.utility[:, s].copy()
        values[2:] = -np.inf
        return values

    for engine in ("compiled", "numpy"):
        assert set(explore(berlyne.dense_world(0), "PIG(half)", 60, engine=engine).actions) == {0, 1}


@pytest.mark.parametrize("returned", [1.0, (1.0, 2.0), [[1.0]]])
def test_a_method_must_return_an_array(returned):
    array = np.array(returned) if isinstance(returned, list) else None
    berlyne.method("bad")((lambda view, s: returned) if array is None else lambda view, s: array)
    with warns(RuntimeWarning, "Numba", "one axis"):  # noqa: SIM117
        with raises(ValueError, "values of shape"):
            explore(berlyne.dense_world(0), "PIG(bad)", 3)


@pytest.mark.parametrize("name", ["", "a(b", "a,b", "a=b", "a:b", " a", 3])
def test_invalid_names_are_refused(name):
    with raises(ValueError, "name of a method", "brackets, commas"):
        berlyne.method(name)


def test_invalid_definitions_are_refused():
    with raises(ValueError, "'VI'", "built-in method"):
        berlyne.method("VI")
    with raises(ValueError, "values", "bad", "3", "view and s"):
        berlyne.method("bad")(3)
    with raises(ValueError, "values", "bad", "view and s"):
        berlyne.method("bad")(lambda view: 0)
    with raises(ValueError, "learn", "bad", "view, s, a, s_next"):
        berlyne.method("bad", learn=rare)
    with raises(ValueError, "initial", "nan"):
        berlyne.method("bad", learn=learn, initial=float("nan"))
    with raises(ValueError, "PIG(rare)", "'gamma'", "ties, temperature, lapse"):
        get_strategy("PIG(rare, gamma=0.5)")
    with raises(ValueError, "'PIG(mine)'", "registers mine"):
        get_strategy("PIG(mine)")


def test_a_name_may_be_registered_again():
    world = berlyne.dense_world(0)
    berlyne.method("mine")(lambda view, s: view.n[:, s])
    most = explore(world, "mine", 40)
    berlyne.method("mine")(lambda view, s: -view.n[:, s])
    least = explore(world, "mine", 40)
    taken = [np.bincount(run.states[:-1] * 4 + run.actions).max() for run in (most, least)]
    assert taken[0] > taken[1]


def test_the_initial_memory_is_what_was_asked_for():
    berlyne.method("eager", learn=learn, initial=3.0)(learned)
    for engine in ("compiled", "numpy"):
        agent = make_agent(InternalModel(berlyne.maze(0).prior), get_strategy("PIG(eager)"), None, engine)
        assert agent.action_values(5).tolist() == [3.0] * 4


def test_files_and_other_processes_know_the_name_only(tmp_path):
    world = berlyne.dense_world(0, n_states=4)
    explorer = Explorer(world.prior, "PIG(learned)")
    explorer.observe(0, 1, 2)
    explorer.save(tmp_path / "e.npz")
    strategy = pickle.loads(pickle.dumps(get_strategy("PIG(learned)")))
    assert explore(world, strategy, 5).n_steps == 5
    del OWN_METHODS["learned"], METHODS_BY_NAME["learned"]
    with raises(ValueError, "e.npz", "PIG(learned)", "method learned", "import"):
        Explorer.load(tmp_path / "e.npz")
    for engine in ("auto", "numpy"):
        with raises(ValueError, "method learned", "import"):
            explore(world, strategy, 5, engine=engine)
    berlyne.method("learned", learn=learn)(learned)
    assert Explorer.load(tmp_path / "e.npz").n_obs == 1


def test_a_strategy_object_may_use_a_registered_method():
    world = berlyne.maze(0)
    method = get_strategy("PIG(rare)").coordinate
    mine = Strategy("mine", method, lambda theta_hat: float(theta_hat.max()))  # a utility of estimates: plain NumPy
    assert explore(world, mine, 20).n_steps == 20


def test_results_do_not_leak_memory():
    """Each call returns a new array, which the engine must release."""
    script = """
import resource, numpy as np, berlyne
@berlyne.method("large")
def large(view, s):
    return np.ones(4 + 0 * view.t) + np.zeros(100_000)[:4]
world = berlyne.dense_world(0)
berlyne.explore(world, "large", 100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
berlyne.explore(world, "large", 1_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    assert int(done.stdout) < 100_000  # kB; a leak would be 0.8 GB
