"""Priors that are refitted: agents agree, and an interrupted exploration is the same as an uninterrupted one."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import berlyne
from amounts import amount
from berlyne import STRATEGIES, ChineseRestaurant, Dirichlet, Explorer, InternalModel, LabBook, Refit, explore, replay
from berlyne.agents.make import make_agent
from berlyne.strategies.registry import get_strategy
from berlyne.watch.beliefs import belief_events
from berlyne.watch.data import _belief
from oracles.test_refit import corridor
from parity.random_worlds import random_mask, random_strategy, random_theta

WORLDS = {
    "maze": lambda: berlyne.maze(1, side=3, n_transporters=3),
    "many states": lambda: berlyne.dense_world(1, n_states=40, n_actions=2, alpha=0.3),
    "with a terminal state": lambda: corridor().replace(start=0),  # an explorer does not know the start distribution
}
SCHEDULES = {"every step": Refit(200, 0.0, 1e-3), "by growth": Refit(5, 0.3)}
FOUND = (
    "action_values", "probabilities", "log_likelihood", "utilities",
    "expected_missing_information", "expected_missing_information_after",
)  # fmt: skip


def learning(world, schedule=SCHEDULES["by growth"], start=3.0):
    return world.with_prior(Dirichlet("ml", world.prior.support, start=start, schedule=schedule))


def finite(values):
    return np.where(np.isfinite(values), values, 0.0)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "PEIG(greedy, untried=0.5)", "PIG(VI, temperature=0.1)"])
@pytest.mark.parametrize("name", WORLDS)
def test_agents_agree(name, strategy):
    world = learning(WORLDS[name]())
    fast, plain = (
        explore(world, strategy, n_steps=amount(45, 90), seed=4, engine=engine) for engine in ("compiled", "numpy")
    )
    for path in ("states", "actions", "next_states"):
        assert np.array_equal(getattr(fast, path), getattr(plain, path)), path
    for curve in ("learned", "missing_information", "l1_distance"):
        assert getattr(fast, curve) == pytest.approx(getattr(plain, curve), rel=1e-7), curve
    one, other = (make_agent(InternalModel(world.prior), fast.strategy, world, e) for e in ("compiled", "numpy"))
    for agent in (one, other):
        for s, a, s_next in zip(fast.states[:-1], fast.actions, fast.next_states, strict=True):
            agent.observe(int(s), int(a), int(s_next))
    assert one.prior.alpha == pytest.approx(other.prior.alpha, rel=1e-7) and one.prior.alpha == fast.learned[-1]
    assert finite(one.utility()) == pytest.approx(finite(other.utility()), rel=1e-6, abs=1e-9)
    for s in np.setdiff1d(np.unique(fast.states), world.terminal).tolist():
        values = finite(one.action_values(s)), finite(other.action_values(s))
        assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), always=st.integers(0, 30), growth=st.floats(0.0, 2.0), tolerance=st.floats(0.0, 0.2)
)
def test_agents_agree_in_random_worlds(seed, always, growth, tolerance):
    rng = np.random.default_rng(seed)
    n_actions, n_states = int(rng.integers(1, 4)), int(rng.integers(2, 7))
    mask = random_mask(rng, n_actions, n_states)
    prior = Dirichlet("ml", mask, start=float(10.0 ** rng.uniform(-2, 1)), schedule=Refit(always, growth, tolerance))
    theta = random_theta(rng, n_actions, n_states, mask)
    terminal = [n_states - 1] if rng.random() < 0.5 else []
    world, strategy = berlyne.World(theta, prior, terminal=terminal, start=0), random_strategy(rng, False)
    fast, plain = (explore(world, strategy, n_steps=50, seed=seed, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(fast.states, plain.states) and np.array_equal(fast.actions, plain.actions)
    assert fast.learned == pytest.approx(plain.learned, rel=1e-7)
    assert fast.missing_information == pytest.approx(plain.missing_information, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "PEIG(VI)", "Unembodied", "CB"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", WORLDS)
def test_an_explorer_that_is_undone_saved_and_loaded_goes_on_as_the_run(name, schedule, strategy, tmp_path):
    world = learning(WORLDS[name](), SCHEDULES[schedule])
    run, path = explore(world, strategy, n_steps=60, seed=6), tmp_path / "e.npz"
    explorer = Explorer(world.prior, strategy, seed=6)
    explorer.ends_in(world.terminal)
    for t in range(60):
        s, a, s_next = int(run.states[t]), int(run.actions[t]), int(run.next_states[t])
        chosen = explorer.choose_pair() if explorer.strategy.relocates else (s, explorer.act(s))
        assert chosen == (s, a)
        assert explorer.model.prior.alpha == run.learned[t]
        explorer.observe(s, a, s_next)
        if t == 25:
            for s_next in (world.prior.support.row(0, 0)[i] for i in (0, -1, 0)):
                explorer.observe(0, 0, int(s_next))
            explorer.undo(3)
        if t in (12, 40):
            utility, values = explorer.utility(), None if explorer.strategy.relocates else explorer.action_values(0)
            explorer.save(path)
            explorer = Explorer.load(path)
            assert np.array_equal(explorer.utility(), utility)
            assert values is None or np.array_equal(explorer.action_values(0), values)
            assert explorer.prior.describe().parameters == world.prior.describe().parameters
    assert explorer.model.missing_information(world) == pytest.approx(run.missing_information[-1], rel=1e-9)
    before = explorer.utility()
    explorer.undo(20)
    again = run.states[40:60], run.actions[40:], run.next_states[40:]
    explorer.observe_many(tuple(np.asarray(column, dtype=np.int64) for column in again))
    assert np.array_equal(explorer.utility(), before)


def test_a_lab_book_learns_the_concentration_too(tmp_path):
    world = learning(WORLDS["maze"](), SCHEDULES["every step"])
    run, path = explore(world, "PIG(VI)", n_steps=25, seed=1), tmp_path / "book.lab"
    book = LabBook.new(path, world.prior, "PIG(VI)", 1)
    for t, (s, a, s_next) in enumerate(run.history):
        assert book.ask(s) == a
        book.tell(s, a, s_next)
        if t % 7 == 3:
            book = LabBook(path)
            assert book.explorer.model.prior.alpha == run.learned[t + 1]


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(greedy)", "PIG(Q)", "Unembodied", "CB"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", WORLDS)
def test_replays_agree_with_explorers(name, schedule, strategy):
    world = learning(WORLDS[name](), SCHEDULES[schedule])
    run = explore(world, "Random", n_steps=70, seed=4)
    fast, plain = (replay(world, run, strategy, engine=engine) for engine in ("compiled", "numpy"))
    for found in FOUND:
        one, other = (finite(seen[found].values) for seen in (fast, plain))
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9), found
    explorer = Explorer(world.prior, strategy)
    explorer.ends_in(world.terminal)
    for t, (s, a, s_next) in enumerate(run.history):
        bits = explorer.expected_missing_information().bits
        assert fast.expected_missing_information.values[t] == pytest.approx(bits, rel=1e-9)
        assert fast.utilities.values[t] == pytest.approx(explorer.utility()[:, s], rel=1e-12)
        explorer.observe(s, a, s_next)
        bits = explorer.expected_missing_information().bits
        assert fast.expected_missing_information_after.values[t] == pytest.approx(bits, rel=1e-9)


def test_a_terminal_state_that_is_none_is_valued_with_the_concentration_in_force():
    """Its rows were not valued while it was taken as terminal, and the concentration has changed since."""
    world = learning(WORLDS["maze"](), SCHEDULES["every step"])
    run = explore(world, "Random", n_steps=80, seed=2)
    for engine in ("compiled", "numpy"):
        model, strategy = InternalModel(world.prior), get_strategy("PIG(greedy)")
        marked, other = (make_agent(model, strategy, None, engine) for _ in range(2))
        untried = int(np.setdiff1d(np.arange(9), run.states[:30])[0])
        marked.mark_terminal(np.array([untried]))
        for s, a, s_next in run.history[:30]:
            marked.observe(s, a, s_next)
            other.observe(s, a, s_next)
        assert np.all(marked.utility()[:, untried] == 0.0) and marked.prior.alpha == other.prior.alpha != 3.0
        marked.unmark_terminal(untried)
        assert marked.utility() == pytest.approx(other.utility(), rel=1e-12)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_imagined_steps_do_not_refit_the_prior(engine):
    world = learning(WORLDS["maze"](), SCHEDULES["every step"])
    agent = make_agent(InternalModel(world.prior), get_strategy("PIG(VI)"), None, engine)
    for s, a, s_next in explore(world, "Random", n_steps=120, seed=2).history:
        agent.observe(s, a, s_next)
    alpha, rng, imagined = agent.prior.alpha, np.random.default_rng(0), agent.copy()
    imagined.imagine(0, rng.random((30, 2)), rng.random(30), rng.random(30))
    assert imagined.counts().n.sum() == 150 and imagined.prior.alpha == alpha == agent.prior.alpha
    agent.observe(0, 0, int(world.prior.support.row(0, 0)[0]))
    assert agent.prior.alpha != alpha and agent.counts().n.sum() == 121


def test_the_gain_of_imagined_steps_is_that_with_the_concentration_in_force():
    world = learning(WORLDS["maze"](), SCHEDULES["every step"])
    explorer = Explorer(world.prior, "PIG(VI)", seed=3)
    run = explore(world, "PIG(VI)", n_steps=50, seed=3)
    explorer.observe_many(run)
    fixed = Explorer(Dirichlet(explorer.model.prior.alpha, world.prior.support), "PIG(VI)", seed=3)
    fixed.observe_many(run)
    assert explorer.expected_gain(20) == pytest.approx(fixed.expected_gain(20), rel=1e-9)


@pytest.mark.parametrize("prior", ["Dirichlet", "ChineseRestaurant"])
def test_models_at_any_time_use_the_prior_in_force(prior):
    maze = WORLDS["maze"]()
    world = learning(maze) if prior == "Dirichlet" else maze.with_prior(ChineseRestaurant("ml"))
    run = explore(world, "PIG(VI)", n_steps=60, seed=2)
    assert run.learned.shape == (61,) and len(np.unique(run.learned)) > 3
    without = dataclasses.replace(run, learned=None)
    for t in (0, 1, 5, 17, 60):
        for model in (run.model_at(t), without.model_at(t)):
            assert model.prior.learned == run.learned[t]
            assert model.missing_information(world) == pytest.approx(run.missing_information[t], rel=1e-9)
    assert run.model.prior.learned == run.learned[-1]


def test_long_runs_and_snapshots_do_not_change_the_learned_concentration():
    """The engine makes room for more observations between the parts of a run."""
    world = learning(WORLDS["maze"](), SCHEDULES["every step"])
    whole = explore(world, "PIG(VI)", n_steps=1500, seed=1)
    parts = explore(world, "PIG(VI)", n_steps=1500, seed=1, snapshots=[1, 2, 10, 300, 301, 1100])
    assert np.array_equal(whole.learned, parts.learned) and np.array_equal(whole.actions, parts.actions)
    explorer = Explorer(world.prior, "PIG(VI)", seed=1)
    explorer.observe_many(whole)
    assert explorer.model.prior.alpha == whole.learned[-1]


def test_a_page_shows_the_beliefs_with_the_concentration_in_force():
    world = learning(WORLDS["with a terminal state"](), SCHEDULES["every step"])
    run = explore(world, "PIG(VI)", n_steps=60, seed=2)
    events, n = belief_events(run), world.n_states
    for t in (0, 7, 33, 60):
        theta_hat, missing = np.zeros((n * world.n_actions, n)), np.zeros(n * world.n_actions)
        until = events.time <= t
        theta_hat[events.row[until]], missing[events.row[until]] = events.estimates[until], events.missing[until]
        by_row = run.model_at(t).theta_hat.transpose(1, 0, 2).reshape(-1, n)
        assert theta_hat == pytest.approx(by_row, rel=1e-6)
        assert missing.sum() == pytest.approx(run.missing_information[t], rel=1e-6)
    assert _belief(world) is None  # the page cannot compute these beliefs from counts


def test_a_study_learns_the_concentration(tmp_path):
    toml = tmp_path / "study.toml"
    toml.write_text(
        'strategies = ["PIG(VI)", "Random"]\nn_worlds = 1\nn_steps = 40\n\n[worlds.river_swim]\nalpha = "ml"\n'
    )
    results = berlyne.Experiment.from_toml(toml).run(tmp_path / "results.zarr")
    stored = results.run("river_swim/000", "PIG(VI)")
    assert stored.world.prior.alpha == 1 / 6 and stored.world.prior.schedule == Refit()
    missing = stored.model.missing_information(stored.world)
    assert stored.model.prior.alpha != 1 / 6
    assert stored.missing_information[-1] == pytest.approx(missing, rel=1e-6)


def test_an_environment_is_explored_with_a_learned_concentration():
    gymnasium = pytest.importorskip("gymnasium")
    run = berlyne.explore_env(
        gymnasium.make("FrozenLake-v1"), "PIG(VI)", n_steps=150, seed=0,
        prior=Dirichlet("ml", n_states=16, n_actions=4, schedule=Refit(growth=0.0)),
    )  # fmt: skip
    explorer, counts = run.explorer, run.explorer.model.sparse_counts
    expected = berlyne.fit_alpha(counts)
    assert explorer.model.prior.alpha == pytest.approx(expected, rel=1e-5) and abs(expected - 1 / 16) > 1e-3
    curve = run.expected_missing_information
    assert curve[-1] == pytest.approx(explorer.expected_missing_information().bits, rel=1e-9)
