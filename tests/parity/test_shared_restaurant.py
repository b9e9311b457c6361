"""Shared weights in worlds with unknown states: explorers, files, replays, books, studies and pages agree."""

from __future__ import annotations

import dataclasses

import gymnasium
import numpy as np
import pytest

import berlyne
from berlyne import Explorer, LabBook, Refit, SharedRestaurant, explore, replay
from berlyne.serialization import StoreError
from berlyne.watch.beliefs import belief_events
from messages import raises

WORLD = berlyne.maze(2, side=3, n_transporters=3)
LABELS = berlyne.labels_of(WORLD, ["moves", "targets"], support="all")


def same_place(s, a, s_next):
    return s == s_next


def sharing(labels=LABELS, **options):
    return WORLD.with_prior(SharedRestaurant(labels, 0.2, 1.5, 0.7, **options))


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "Unembodied", "Random"])
def test_an_explorer_that_is_undone_saved_and_loaded_goes_on_as_the_run(strategy, tmp_path):
    world, path = sharing(schedule=Refit(5, 0.3, 1e-3)), tmp_path / "e.npz"
    run = explore(world, strategy, n_steps=50, seed=6)
    explorer = Explorer(world.prior, strategy, seed=6)
    explorer.discover([int(run.states[0])])
    for t, (s, a, s_next) in enumerate(run.history):
        assert (explorer.choose_pair() if explorer.strategy.relocates else (s, explorer.act(s))) == (s, a)
        if t % 15 == 0:
            assert explorer.model.prior.weights == run.model_at(t).prior.weights
        explorer.observe(s, a, s_next)
        if t == 25:
            for s_next in (8, 0, 8):
                explorer.observe(0, 0, s_next)
            explorer.undo(3)
        if t in (2, 35):
            utility, weights = explorer.utility(), explorer.model.prior.weights
            explorer.save(path)
            explorer = Explorer.load(path)
            assert np.array_equal(explorer.utility(), utility) and explorer.model.prior.weights == weights
            assert explorer.prior.describe().parameters == world.prior.describe().parameters
    assert (*explorer.states, "elsewhere") == explorer.model.states and 4 < explorer.n_states <= 9
    before = explorer.utility()
    explorer.undo(20)
    explorer.observe_many(run.history[30:])
    assert np.array_equal(explorer.utility(), before)


@pytest.mark.parametrize("engine", ["compiled", "numpy"])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(greedy)", "Unembodied"])
def test_replays_agree_with_explorers(strategy, engine):
    world = sharing()
    run = explore(world, "Random", n_steps=50, seed=4)
    seen = replay(world, run, strategy, engine=engine)
    explorer = Explorer(world.prior, strategy)
    explorer.discover([run.history[0][0]])
    for t, (s, a, s_next) in enumerate(run.history):
        bits = explorer.expected_missing_information().bits
        assert seen.expected_missing_information.values[t] == pytest.approx(bits, rel=1e-9)
        assert seen.utilities.values[t] == pytest.approx(explorer.utility()[:, list(explorer.states).index(s)])
        explorer.observe(s, a, s_next)


def test_a_model_at_any_time_has_the_missing_information_of_the_run():
    run = explore(sharing(), "PIG(VI)", n_steps=60, seed=2)
    for t in (0, 1, 9, 30, 60):
        model = run.model_at(t)
        known = [s for s in model.states if s != "elsewhere"]
        theta_hat, missing = model.theta_hat, 0.0
        for s, a, z in np.ndindex(9, 4, 9):
            row, column = (known.index(i) if i in known else len(known) for i in (s, z))
            p = theta_hat[a, row, column] / (1 if z in known else 9 - len(known))
            if WORLD.theta[a, s, z] > 0:
                missing += WORLD.theta[a, s, z] * np.log2(WORLD.theta[a, s, z] / p)
        assert run.missing_information[t] == pytest.approx(missing, rel=1e-9)
    assert run.missing_information[60] < run.missing_information[0]


def test_labels_are_those_of_the_names_of_states(tmp_path):
    """Numbers of states would give other labels, or errors."""

    def letter(s, a, z):
        return a, s[0] == z[0]

    names = ["an", "be", "at", "by", "as", "ba", "ab", "bu", "of"]
    world = WORLD.replace(states=names, actions=["l", "r", "u", "d"], prior=SharedRestaurant(letter, 0.2))
    run = explore(world, "PIG(VI)", n_steps=40, seed=3)
    explorer = Explorer(world.prior, "PIG(VI)", actions=world.actions)
    explorer.observe_many(run.history)
    assert set(explorer.model.prior.weights) == {"elsewhere", *((a, same) for a in "lrud" for same in (True, False))}
    assert run.model.prior.weights == explorer.model.prior.weights
    assert run.model_at(11).prior.weights != run.model.prior.weights
    without_curves = dataclasses.replace(run, curves={})
    assert without_curves.missing_information == pytest.approx(run.missing_information, rel=1e-9)
    assert belief_events(run).missing[-1] > 0
    assert berlyne.watch(run, tmp_path / "page.html", open_browser=False).stat().st_size > 10_000


def test_imagined_steps_discover_states_without_labels_and_change_nothing():
    asked, plain = [], berlyne.labels_of(WORLD, "moves", support="all")

    def label(s, a, s_next):
        asked.append((s, s_next))
        return plain.names_of(a, s, s_next)[0]

    explorer = Explorer(SharedRestaurant(label, 0.2), n_actions=4)
    explorer.observe_many(explore(sharing(), "Random", n_steps=12, seed=1).history)
    utility, n_asked, n_known = explorer.utility(), len(asked), explorer.n_states
    gain = explorer.expected_gain(12, n_samples=30)
    assert gain.bits > 0 and len(asked) == n_asked and explorer.n_states == n_known < 9
    assert np.array_equal(explorer.utility(), utility)


def test_books_keep_labels_of_worlds_and_ask_for_functions_again(tmp_path):
    run = explore(sharing(), "PIG(VI)", n_steps=20, seed=1)
    functions = SharedRestaurant([lambda s, a, z: (a, z - s)], 0.2)
    for prior, again in ((sharing().prior, None), (functions, functions)):
        path = tmp_path / f"{again is None}.lab"
        book = LabBook.new(path, prior, "PIG(VI)", 1, n_actions=4)
        for s, a, s_next in run.history:
            book.tell(s, a, s_next)
        weights = book.explorer.model.prior.weights
        assert LabBook(path, again).explorer.model.prior.weights == weights
    with raises(StoreError, "SharedRestaurant", "LabBook(path, prior)"):
        LabBook(path)
    for other in (SharedRestaurant(functions.labels, 0.3), SharedRestaurant(same_place, 0.2), sharing().prior):
        with raises(StoreError, "SharedRestaurant"):
            LabBook(path, other)
    with raises(ValueError, "label functions", "labels_of", "LabBook"):
        LabBook(path, functions).explorer.save(tmp_path / "e.npz")


def test_worlds_are_saved_with_the_prior(tmp_path):
    world = sharing(schedule=Refit(3, 0.5))
    labelled = berlyne.grid_world(5)
    shared = SharedRestaurant(berlyne.labels_of(labelled, "moves", support="all"), 0.1)
    for original in (world, labelled.with_prior(shared)):
        original.save(tmp_path / "w.npz")
        loaded = berlyne.load_world(tmp_path / "w.npz")
        assert loaded.prior.describe().parameters == original.prior.describe().parameters
        one, other = (explore(w, "PIG(VI)", n_steps=40, seed=3) for w in (original, loaded))
        assert np.array_equal(one.states, other.states) and one.model.prior.weights == other.model.prior.weights
    with raises(ValueError, "label functions", "labels_of", "with_prior(None)"):
        WORLD.with_prior(SharedRestaurant(lambda s, a, z: 0, 0.1)).save(tmp_path / "f.npz")


def test_a_study_in_two_parts_equals_a_study_in_one(tmp_path):
    worlds = {"labels": [sharing()], "functions": [sharing(lambda s, a, z: (a, z == s))]}
    experiment = berlyne.Experiment(worlds, ["PIG(VI)", "Random"], n_steps=40, n_runs=2, seed=1)
    whole = experiment.run(tmp_path / "whole.zarr", jobs=1)
    berlyne.Experiment(worlds, ["Random"], n_steps=40, n_runs=2, seed=1).run(tmp_path / "parts.zarr", jobs=1)
    parts = experiment.run(tmp_path / "parts.zarr", jobs=1)
    for strategy in ("PIG(VI)", "Random"):
        curves = [results.dataset["missing_information"].sel(strategy=strategy).values for results in (whole, parts)]
        assert np.array_equal(*curves, equal_nan=True)
    assert parts.run("labels/000/run-001", "PIG(VI)").world.prior.weights == worlds["labels"][0].prior.weights


def test_a_page_shows_the_beliefs_with_the_weights_in_force():
    run = explore(sharing(), "PIG(VI)", n_steps=40, seed=2)
    events = belief_events(run)
    for t in (0, 7, 40):
        missing = np.zeros(36)
        until = events.time <= t
        missing[events.row[until]] = events.missing[until]
        assert missing.sum() == pytest.approx(run.missing_information[t], rel=1e-6)


def test_an_environment_whose_observations_are_positions_is_explored():
    class Room(gymnasium.Env):
        """A walk in a plane: three of four actions move, and the last one stays."""

        action_space = gymnasium.spaces.Discrete(4)
        observation_space = gymnasium.spaces.Box(-50, 50, (2,), np.int64)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.at = np.zeros(2, dtype=np.int64)
            return self.at.copy(), {}

        def step(self, action):
            self.at = np.clip(self.at + [(1, 0), (0, 1), (-1, -1), (0, 0)][int(action)], -3, 3)
            return self.at.copy(), 0.0, False, False, {}

    def shift(s, a, z):
        return a, z[0] - s[0], z[1] - s[1]

    options = {"n_steps": 60, "seed": 0, "observe": lambda observation: tuple(map(int, observation))}
    shared = berlyne.explore_env(Room(), "PIG(VI)", prior=SharedRestaurant(shift, 0.1), **options)
    alone = berlyne.explore_env(Room(), "PIG(VI)", prior=berlyne.ChineseRestaurant("ml"), **options)
    weights = shared.explorer.model.prior.weights
    assert max(weights, key=weights.get) in {(0, 1, 0), (1, 0, 1), (2, -1, -1), (3, 0, 0)}
    known = [
        explorer.model.theta_hat_row(3, s)[list(explorer.model.states).index(s)]
        for explorer in (shared.explorer, alone.explorer)
        for s in [explorer.states[-1]]
    ]
    assert known[0] > known[1]
    assert shared.expected_missing_information[-1] == pytest.approx(
        shared.explorer.expected_missing_information().bits, rel=1e-9
    )
