"""Rarity, surprise and count bonuses against plain statements from the history, in all engines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import berlyne
from amounts import amount
from berlyne import ChineseRestaurant, Dirichlet, Explorer, InternalModel, OneTwoThree, World, explore, replay
from berlyne.agents.make import make_agent
from berlyne.strategies.drives import DRIVES
from berlyne.strategies.indices import BUILT_IN
from berlyne.strategies.registry import get_strategy

SUPPORT = np.random.default_rng(5).random((3, 6, 6)) < 0.6
SUPPORT |= np.eye(6, dtype=bool)
PRIORS = {
    "full": Dirichlet(0.4, n_states=6, n_actions=3),
    "support": Dirichlet(0.4, SUPPORT),
    "wide": Dirichlet(0.1, n_states=80, n_actions=3),  # states that were not met have no slots of their own
    "1-2-3": OneTwoThree(n_states=6, n_actions=3),
}


def path(prior, n=60):
    """A path that is possible under the prior, at random."""
    rng, model, s = np.random.default_rng(3), InternalModel(prior), 0
    for _ in range(n):
        a = int(rng.integers(3))
        s_next = int(rng.choice(prior.n_states, p=model.theta_hat[a, s]))
        model.observe(s, a, s_next)
        yield s, a, s_next
        s = s_next


def expected(drive, prior, history):
    """The drive from its definition; what the model predicted is kept on the way."""
    model, visits = InternalModel(prior), np.zeros(prior.n_states)
    surprise = np.full((3, prior.n_states), np.nan)
    visits[history[0][0]] += 1 if history else 0
    for s, a, s_next in history:
        surprise[a, s] = -math.log2(model.theta_hat[a, s, s_next])
        model.observe(s, a, s_next)
        visits[s_next] += 1
    theta_hat, n = model.theta_hat, model.counts.sum(axis=-1)
    if drive == "rarity":
        probability = (visits + 1) / (visits.sum() + prior.n_states)
        return -theta_hat @ np.log2(probability)
    if drive == "surprise":
        safe = np.where(theta_hat > 0, theta_hat, 1.0)
        return np.where(np.isnan(surprise), -(safe * np.log2(safe)).sum(axis=-1), surprise)
    return 1 / np.sqrt(1 + n) if drive == "count_bonus" else -np.log2(1 + n)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("drive", DRIVES)
def test_drives_are_their_definition(drive, kind, engine):
    prior = PRIORS[kind]
    history = list(path(prior, 20 if kind == "wide" else 60))
    agent = make_agent(InternalModel(prior), get_strategy(f"{drive}(greedy)"), None, engine)
    for t, (s, a, s_next) in enumerate(history):
        agent.observe(s, a, s_next)
        if t % 7 == 0:
            wanted = expected(drive, prior, history[: t + 1])
            np.testing.assert_allclose(agent.utility(), wanted, rtol=1e-9, atol=1e-10)


def test_rarity_by_hand():
    """Visits 2, 1, 0 of three states: (3, 2, 1) of 6; a row that was tried once and led to the second state."""
    explorer = Explorer(Dirichlet(1.0, n_states=3, n_actions=1), "rarity(greedy)")
    explorer.observe(0, 0, 0)
    explorer.observe(0, 0, 1)
    rarity = np.log2([6 / 3, 6 / 2, 6 / 1])
    assert explorer.utility()[0] == pytest.approx([np.dot([2, 2, 1], rarity) / 5, rarity.mean(), rarity.mean()])


def test_surprise_by_hand():
    """Dir(1) over two states: the first outcome had 1/2, the same once more 2/3, the other one then 1/4."""
    explorer = Explorer(Dirichlet(1.0, n_states=2, n_actions=1), "surprise(greedy)")
    assert explorer.utility()[0].tolist() == [1.0, 1.0]  # the entropy of 1/2, 1/2
    for s_next, p in ((1, 1 / 2), (1, 2 / 3), (0, 1 / 4)):
        explorer.observe(0, 0, s_next)
        assert explorer.utility()[0, 0] == pytest.approx(-np.log2(p))


def ending():
    world = berlyne.maze(4, side=3, n_transporters=4)
    return World(world.rows, world.prior, start=0, terminal=[4, 8])


WORLDS = {
    "maze": lambda: berlyne.maze(1),
    "1-2-3": lambda: berlyne.one_two_three_world(3),
    "ends": ending,
    "learned": lambda: berlyne.river_swim(alpha="ml"),
    "discovered": lambda: berlyne.maze(2, side=3, n_transporters=4).with_prior(ChineseRestaurant(0.7)),
}


@pytest.mark.filterwarnings("ignore:.*cannot be reached")
@pytest.mark.parametrize("kind", WORLDS)
@pytest.mark.parametrize("strategy", [f"{drive}(VI)" for drive in DRIVES] + ["rarity(Q)", "surprise(greedy)"])
def test_engines_agree(strategy, kind):
    world = WORLDS[kind]()
    compiled, plain = (explore(world, strategy, amount(45, 80), 5, engine=engine) for engine in ("compiled", "numpy"))
    assert np.array_equal(compiled.actions, plain.actions)
    fast, slow = (replay(world, compiled, strategy, engine=engine) for engine in ("compiled", "numpy"))
    np.testing.assert_allclose(fast.utilities, slow.utilities, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("drive", DRIVES)
def test_drives_survive_files_and_undo(drive, tmp_path):
    explorer = Explorer(PRIORS["support"], f"{drive}(VI)")
    history = list(path(PRIORS["support"]))
    explorer.observe_many(history)
    explorer.save(tmp_path / "explorer.npz")
    loaded = Explorer.load(tmp_path / "explorer.npz")
    np.testing.assert_allclose(loaded.utility(), explorer.utility(), rtol=1e-9)
    explorer.undo(20)
    np.testing.assert_allclose(explorer.utility(), expected(drive, PRIORS["support"], history[:-20]), rtol=1e-9)


def test_an_index_of_the_user_may_read_rarity_and_surprise():
    berlyne.index("mixed")(lambda row: 2.0 * row.rarity + row.surprise)
    try:
        history = list(path(PRIORS["full"], 20))
        parts = []
        for name in ("mixed", "rarity", "surprise"):
            explorer = Explorer(PRIORS["full"], f"{name}(greedy)")
            explorer.observe_many(history)
            parts.append(explorer.utility())
        assert parts[0] == pytest.approx(2.0 * parts[1] + parts[2])
    finally:
        del berlyne.UTILITIES["mixed"]


def test_names_of_drives_are_taken():
    assert {*DRIVES, "BEB", "R-max", "log_visits", "AME"} == BUILT_IN <= set(berlyne.UTILITIES)
    with pytest.raises(ValueError, match="'rarity', which is a built-in utility"):
        berlyne.index("rarity")
