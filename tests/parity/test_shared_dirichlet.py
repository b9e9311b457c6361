"""Shared weights in all agents, files and pages: they agree, and an interrupted exploration is an uninterrupted one."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import berlyne
from amounts import amount
from berlyne import STRATEGIES, Dirichlet, Explorer, InternalModel, LabBook, Refit, SharedDirichlet, explore, replay
from berlyne.agents.make import make_agent
from berlyne.strategies.registry import get_strategy
from berlyne.watch.beliefs import belief_events
from berlyne.watch.data import _belief
from oracles.test_refit import corridor
from parity.random_worlds import random_mask, random_strategy, random_theta
from parity.test_refit import FOUND, finite


def moves(world, *, n_features=1):
    """Label of each possible transition: action and move; the second feature is whether the state changes."""
    support, n_actions = world.prior.support, world.n_actions
    s, a = np.divmod(support.row_numbers(), n_actions)
    move = support.entries()[1] - s
    labels = np.stack([np.unique(np.stack([a, move]), axis=1, return_inverse=True)[1].ravel(), 1000 + (move == 0)])
    labels[:, ::7] = -1
    return labels[:n_features]


def sharing(world, schedule=None, n_features=2):
    labels = moves(world, n_features=n_features)
    return world.with_prior(SharedDirichlet(labels, 0.3, support=world.prior.support, schedule=schedule))


WORLDS = {
    "maze": lambda: sharing(berlyne.maze(1, side=3, n_transporters=3), Refit(5, 0.3, 1e-3)),
    "unknown support": lambda: sharing(berlyne.dense_world(1, n_states=40, n_actions=2, alpha=0.3)),
    "with a terminal state": lambda: sharing(corridor().replace(start=0), Refit(200, 0.0, 1e-3)),
}


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", [*STRATEGIES, "PEIG(greedy, untried=0.5)", "PIG(VI, temperature=0.1)"])
@pytest.mark.parametrize("name", WORLDS)
def test_agents_agree(name, strategy):
    world = WORLDS[name]()
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
    assert np.array_equal(one.prior.weights, fast.learned[-1])
    for part in ("weights", "weight_sd", "mean_weight", "weight_shape"):
        assert getattr(one.prior, part) == pytest.approx(getattr(other.prior, part), rel=1e-7), part
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
    labels = rng.integers(-1, int(rng.integers(1, 8)), size=(int(rng.integers(1, 4)), *mask.shape))
    alpha, shape, strength = 10.0 ** rng.uniform((-2, -1, -1), (1, 1, 1))
    prior = SharedDirichlet(labels, alpha, shape, strength, support=mask, schedule=Refit(always, growth, tolerance))
    theta = random_theta(rng, n_actions, n_states, mask)
    terminal = [n_states - 1] if rng.random() < 0.5 else []
    world, strategy = berlyne.World(theta, prior, terminal=terminal, start=0), random_strategy(rng, False)
    fast, plain = (explore(world, strategy, n_steps=50, seed=seed, engine=e) for e in ("compiled", "numpy"))
    assert np.array_equal(fast.states, plain.states) and np.array_equal(fast.actions, plain.actions)
    assert fast.missing_information == pytest.approx(plain.missing_information, rel=1e-7, abs=1e-9)
    assert (fast.learned is None) == (len(prior.classes) == 0)
    if fast.learned is not None:
        assert fast.learned == pytest.approx(plain.learned, rel=1e-7)


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "PEIG(VI)", "Unembodied"])
@pytest.mark.parametrize("name", WORLDS)
def test_an_explorer_that_is_undone_saved_and_loaded_goes_on_as_the_run(name, strategy, tmp_path):
    world = WORLDS[name]()
    run, path = explore(world, strategy, n_steps=60, seed=6), tmp_path / "e.npz"
    explorer = Explorer(world.prior, strategy, seed=6)
    explorer.ends_in(world.terminal)
    for t in range(60):
        s, a, s_next = int(run.states[t]), int(run.actions[t]), int(run.next_states[t])
        chosen = explorer.choose_pair() if explorer.strategy.relocates else (s, explorer.act(s))
        assert chosen == (s, a)
        assert np.array_equal(explorer.model.prior.weights, run.learned[t])
        explorer.observe(s, a, s_next)
        if t == 25:
            for s_next in (world.prior.support.row(0, 0)[i] for i in (0, -1, 0)):
                explorer.observe(0, 0, int(s_next))
            explorer.undo(3)
        if t in (12, 40):
            utility, before = explorer.utility(), explorer.model.prior
            explorer.save(path)
            explorer = Explorer.load(path)
            after = explorer.model.prior
            assert np.array_equal(explorer.utility(), utility)
            assert np.array_equal(after.weights, before.weights) and np.array_equal(after.weight_sd, before.weight_sd)
            assert explorer.prior.describe().parameters == world.prior.describe().parameters
    assert explorer.model.missing_information(world) == pytest.approx(run.missing_information[-1], rel=1e-9)
    before = explorer.utility()
    explorer.undo(20)
    again = run.states[40:60], run.actions[40:], run.next_states[40:]
    explorer.observe_many(tuple(np.asarray(column, dtype=np.int64) for column in again))
    assert np.array_equal(explorer.utility(), before)


def test_a_lab_book_shares_too(tmp_path):
    world = WORLDS["maze"]()
    run, path = explore(world, "PIG(VI)", n_steps=25, seed=1), tmp_path / "book.lab"
    book = LabBook.new(path, world.prior, "PIG(VI)", 1)
    for t, (s, a, s_next) in enumerate(run.history):
        assert book.ask(s) == a
        book.tell(s, a, s_next)
        if t % 7 == 3:
            book = LabBook(path)
            assert np.array_equal(book.explorer.model.prior.weights, run.learned[t + 1])


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(greedy)", "Unembodied"])
@pytest.mark.parametrize("name", WORLDS)
def test_replays_agree_with_explorers(name, strategy):
    world = WORLDS[name]()
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


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
def test_imagined_steps_do_not_refit_the_prior(engine):
    world = sharing(berlyne.maze(1, side=3, n_transporters=3), Refit(200, 0.0, 0.0))
    agent = make_agent(InternalModel(world.prior), get_strategy("PIG(VI)"), None, engine)
    for s, a, s_next in explore(world, "Random", n_steps=120, seed=2).history:
        agent.observe(s, a, s_next)
    weights, rng, imagined = agent.prior.weights, np.random.default_rng(0), agent.copy()
    imagined.imagine(0, rng.random((30, 2)), rng.random(30), rng.random(30))
    assert imagined.counts().n.sum() == 150 and np.array_equal(imagined.prior.weights, weights)
    agent.observe(0, 0, int(world.prior.support.row(0, 0)[0]))
    assert not np.array_equal(agent.prior.weights, weights) and agent.counts().n.sum() == 121


def test_the_gain_of_imagined_steps_is_that_with_the_weights_in_force():
    world = WORLDS["maze"]()
    explorer = Explorer(world.prior, "PIG(VI)", seed=3)
    run = explore(world, "PIG(VI)", n_steps=50, seed=3)
    explorer.observe_many(run)
    fixed = Explorer(Dirichlet(explorer.model.prior.alphas, world.prior.support), "PIG(VI)", seed=3)
    fixed.observe_many(run)
    assert explorer.expected_gain(20) == pytest.approx(fixed.expected_gain(20), rel=1e-9)
    assert explorer.model.check_prior().z == pytest.approx(fixed.model.check_prior().z, rel=1e-9)


def test_models_at_any_time_use_the_weights_in_force():
    world = WORLDS["maze"]()
    run = explore(world, "PIG(VI)", n_steps=60, seed=2)
    assert run.learned.shape == (61, len(world.prior.classes)) and len(np.unique(run.learned[:, 0])) > 3
    without = dataclasses.replace(run, learned=None)
    for t in (0, 1, 5, 17, 60):
        for model in (run.model_at(t), without.model_at(t)):
            assert np.array_equal(model.prior.learned, run.learned[t])
            assert model.missing_information(world) == pytest.approx(run.missing_information[t], rel=1e-9)
    assert np.all(np.isnan(run.model.prior.weight_sd)) and np.all(without.model.prior.weight_sd > 0.0)
    assert np.array_equal(run.learned[0], world.prior.weights)


def test_snapshots_do_not_change_the_weights():
    world = WORLDS["maze"]()
    whole = explore(world, "PIG(VI)", n_steps=500, seed=1)
    parts = explore(world, "PIG(VI)", n_steps=500, seed=1, snapshots=[1, 2, 10, 300, 301])
    assert np.array_equal(whole.learned, parts.learned) and np.array_equal(whole.actions, parts.actions)


def test_a_page_shows_the_beliefs_with_the_weights_in_force():
    world = WORLDS["with a terminal state"]()
    run = explore(world, "PIG(VI)", n_steps=60, seed=2)
    events, n = belief_events(run), world.n_states
    for t in (0, 7, 33, 60):
        theta_hat, missing = np.zeros((n * world.n_actions, n)), np.zeros(n * world.n_actions)
        until = events.time <= t
        theta_hat[events.row[until]], missing[events.row[until]] = events.estimates[until], events.missing[until]
        by_row = run.model_at(t).theta_hat.transpose(1, 0, 2).reshape(-1, n)
        assert theta_hat == pytest.approx(by_row, rel=1e-6)
        assert missing.sum() == pytest.approx(run.missing_information[t], rel=1e-6)
    assert _belief(world.prior) is None  # the page cannot compute these beliefs from counts


def test_a_study_in_two_parts_equals_a_study_in_one(tmp_path):
    """One strategy is stored; the other follows in a second call."""
    worlds = [sharing(berlyne.maze(seed, side=3, n_transporters=3)) for seed in range(3)]
    experiment = berlyne.Experiment({"shared": worlds}, ["PIG(VI)", "Random"], n_steps=40, seed=1)
    whole = experiment.run(tmp_path / "whole.zarr", jobs=1)
    first = berlyne.Experiment({"shared": worlds}, ["Random"], n_steps=40, seed=1)
    first.run(tmp_path / "parts.zarr", jobs=1)
    parts = experiment.run(tmp_path / "parts.zarr", jobs=1)
    for strategy in ("PIG(VI)", "Random"):
        curves = [results.dataset["missing_information"].sel(strategy=strategy).values for results in (whole, parts)]
        assert np.array_equal(*curves, equal_nan=True)
    run = parts.run("shared/001", "PIG(VI)")
    assert np.array_equal(run.world.prior.labels, worlds[1].prior.labels)
    assert run.world.prior.describe().parameters == worlds[1].prior.describe().parameters
    assert run.model.missing_information(run.world) == pytest.approx(run.missing_information[-1], rel=1e-6)


def test_an_environment_is_explored_with_shared_weights():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1")
    labels = np.zeros((4, 16, 16), dtype=int)
    for a, s, s_next in np.ndindex(labels.shape):
        labels[a, s, s_next] = 100 * a + 8 + s_next - s if abs(s_next - s) in (0, 1, 4) else 0
    run = berlyne.explore_env(env, "PIG(VI)", n_steps=150, seed=0, prior=SharedDirichlet(labels, 1 / 16))
    explorer = run.explorer
    assert explorer.model.prior.weights.max() > 3 * explorer.model.prior.weights.min()
    curve = run.expected_missing_information
    assert curve[-1] == pytest.approx(explorer.expected_missing_information().bits, rel=1e-9)
