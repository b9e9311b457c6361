"""A world file contains exactly the world that was saved, for any labels and any world."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from berlyne import World, load_world

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
labels = plain | st.tuples(plain, plain)
words = st.text(st.characters(codec="utf-8"), min_size=1)


def drawn(seed, n_states, n_actions):
    rng = np.random.default_rng(seed)
    theta = rng.random((n_actions, n_states, n_states)) * (rng.random((n_actions, n_states, n_states)) < 0.6)
    theta[:, np.arange(n_states), np.arange(n_states)] += 0.1
    return theta / theta.sum(axis=-1, keepdims=True)


def returned(world, name):
    with tempfile.TemporaryDirectory() as folder:
        world.save(Path(folder) / name)
        return load_world(Path(folder) / name)


@settings(max_examples=60, deadline=None)
@given(st.lists(labels, min_size=1, max_size=6, unique=True), st.integers(0, 2**32), st.data())
def test_every_label_comes_back_from_an_archive(states, seed, data):
    n = len(states)
    ends = data.draw(st.lists(st.sampled_from(states), max_size=n - 1, unique=True))
    start = data.draw(st.none() | st.sampled_from([s for s in states if s not in ends]))
    world = World(drawn(seed, n, 2), states=states, terminal=ends, start=None if start is None else {start: 1.0})
    loaded = returned(world, "w.npz")
    assert loaded.states == world.states and list(map(type, loaded.states)) == list(map(type, world.states))
    np.testing.assert_array_equal(loaded.rows.data, world.rows.data)
    np.testing.assert_array_equal(loaded.terminal, world.terminal)
    np.testing.assert_array_equal(loaded.episodes.distribution, world.episodes.distribution)


@settings(max_examples=60, deadline=None)
@given(st.lists(words, min_size=1, max_size=5, unique=True), st.integers(0, 2**32))
def test_every_word_comes_back_from_a_table(states, seed):
    world = World(drawn(seed, len(states), 2), states=states, actions=["a", "b"])
    try:
        loaded = returned(world, "w.csv")
    except ValueError as refused:
        message = str(refused)
    else:
        message = ""
    numbers, blanks = all(str(s).lstrip("-").isdigit() for s in states), any(s != s.strip() for s in states)
    if message:
        assert (numbers and "would be read as numbers" in message) or (
            blanks and "begins or ends with a blank" in message
        )
        return
    assert loaded.states == world.states and loaded.actions == world.actions
    np.testing.assert_array_equal(loaded.theta, world.theta)
