"""Files of explorers with unknown states: next actions, labels, and declared states."""

from __future__ import annotations

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Explorer, World, load_world
from messages import raises
from unit.archives import rewrite_archive

TOLD = [(("a", 1), 0, "b"), ("b", 1, "c"), ("c", 0, 7), (7, 1, "b"), ("b", 0, None), (None, 1, "b"), ("b", 1, "b")]


def lived(strategy, c=0.7):
    """An explorer that was told of states and ends between its observations."""
    explorer = Explorer(ChineseRestaurant(c, 0.2), strategy, seed=3, actions=["l", "r"])
    for t, (s, a, s_next) in enumerate(TOLD):
        if not explorer.strategy.relocates:
            explorer.act(s)
        explorer.observe(s, "lr"[a], s_next, ended=t == 4)
        if t == 2:
            explorer.discover(["told", "b"])
        if t == 3:
            explorer.ends_in(["end", "told"])
    return explorer


def answers(explorer, n=25):
    """Return the next actions of an explorer that visits given states, some of them new."""
    rng, collected, s = np.random.default_rng(9), [], "b"
    for _ in range(n):
        s, a = explorer.choose_pair() if explorer.strategy.relocates else (s, explorer.act(s))
        s_next = ("b", "c", 7, "told", "d", ("e", 2))[rng.integers(6)]
        explorer.observe(s, a, s_next)
        collected.append((s, a))
        s = s_next
    return collected


@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(Q)", "PEIG(Q)", "CB", "PMC(greedy)", "Unembodied", "Random"])
@pytest.mark.parametrize("c", [0.7, "ml"])
def test_a_loaded_explorer_continues_exactly(strategy, c, tmp_path):
    explorer = lived(strategy, c)
    explorer.save(tmp_path / "saved.npz")
    loaded = Explorer.load(tmp_path / "saved.npz")
    assert list(loaded.states) == list(explorer.states) == [("a", 1), "b", "c", 7, "told", "end", None]
    assert loaded.history == explorer.history and list(loaded.actions) == ["l", "r"]
    assert repr(loaded) == repr(explorer) and repr(loaded.prior) == repr(explorer.prior)
    assert np.array_equal(loaded.utility(), explorer.utility())
    assert loaded.model.prior.c == explorer.model.prior.c
    assert loaded.expected_missing_information().bits == explorer.expected_missing_information().bits
    loaded.save(tmp_path / "again.npz")
    assert answers(Explorer.load(tmp_path / "again.npz")) == answers(loaded) == answers(explorer)
    loaded.undo(25)
    explorer.undo(25)
    assert list(loaded.states) == list(explorer.states) == [("a", 1), "b", "c", 7, "told", "end", None]
    assert answers(loaded) == answers(explorer)


def test_random_numbers_of_a_pending_choice_are_drawn_again(tmp_path):
    explorer = lived("Random")
    asked = explorer.act("b")
    explorer.save(tmp_path / "saved.npz")
    assert Explorer.load(tmp_path / "saved.npz").act("b") == asked == explorer.act("b")


def test_one_that_has_seen_nothing_is_saved_too(tmp_path):
    Explorer(ChineseRestaurant(1.0), n_actions=2, seed=8).save(tmp_path / "new.npz")
    loaded = Explorer.load(tmp_path / "new.npz")
    assert loaded.n_states == 0 and loaded.n_obs == 0
    assert answers(loaded) == answers(Explorer(ChineseRestaurant(1.0), n_actions=2, seed=8))


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path):
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.observe(np.int64(4), 0, np.str_("x"))
    explorer.save(tmp_path / "saved.npz")
    assert [(type(s), s) for s in Explorer.load(tmp_path / "saved.npz").states] == [(int, 4), (str, "x")]


DAMAGE = {
    "a line outside": lambda settings, arrays: arrays["history"].__setitem__((0, 0), 99),
    "an action outside": lambda settings, arrays: arrays["history"].__setitem__((0, 1), 2),
    "another order": lambda settings, arrays: arrays.update(history=arrays["history"][::-1]),
    "a label too few": lambda settings, arrays: settings["states"].pop(),
    "a label twice": lambda settings, arrays: settings["states"].__setitem__(1, "c"),
    "a label more": lambda settings, arrays: settings["states"].append("unknown"),
    "told too late": lambda settings, arrays: arrays["told_states"].__setitem__((0, 1), 50),
    "told of an unknown state": lambda settings, arrays: arrays["told_closed"].__setitem__((0, 0), 50),
    "no history": lambda settings, arrays: arrays.pop("history"),
    "an impossible c": lambda settings, arrays: settings["prior"].__setitem__("c", "most"),
}


@pytest.mark.parametrize("key", DAMAGE)
def test_a_damaged_file_is_refused(key, tmp_path):
    lived("PIG(VI)").save(tmp_path / "saved.npz")
    rewrite_archive(tmp_path / "saved.npz", DAMAGE[key], tmp_path / "bad.npz")
    with raises(ValueError, "bad.npz", "explorer", "damaged"):
        Explorer.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("strategy", ["PIG(Q)", "PIG(VI)"])
def test_undo_keeps_declared_states_and_their_times(strategy):
    """As one who never made the last observations, and was told the same."""
    explorer, other = (Explorer(ChineseRestaurant(1.0), strategy, seed=2, n_actions=2) for _ in range(2))
    for one, lines in ((explorer, TOLD), (other, TOLD[:2])):
        for t, line in enumerate(lines):
            one.observe(*line)
            if t == 0:
                one.discover(["early"])
        if one is explorer:
            one.undo(2)
            one.discover(["late", "known"])
            one.ends_in(["late", "over"])
            one.undo(3)
        else:
            one.discover(["late", "known"])
            one.ends_in(["late", "over"])
    assert list(explorer.states) == list(other.states) == [("a", 1), "b", "early", "c", "late", "known", "over"]
    assert np.array_equal(explorer.utility(), other.utility()) and not explorer.utility()[:, [4, 6]].any()
    assert answers(explorer) == answers(other)


def test_a_declared_terminal_state_is_discovered():
    explorer = Explorer(ChineseRestaurant(1.0), n_actions=2)
    explorer.ends_in(["goal", "pit"])
    assert list(explorer.states) == ["goal", "pit"]
    explorer.observe("a", 0, "b")
    assert not explorer.utility()[:, :2].any() and explorer.utility()[:, 2:].all()


def test_a_world_whose_states_are_discovered_is_saved_with_its_prior(tmp_path):
    for c in (0.5, "ml"):
        World(np.eye(3)[None], ChineseRestaurant(c, 0.1), states=["x", "y", "z"]).save(tmp_path / "world.npz")
        prior = load_world(tmp_path / "world.npz").prior
        assert prior.grows and repr(prior) == repr(ChineseRestaurant(c, 0.1))
    World(np.eye(3)[None], ChineseRestaurant(1.0, n_actions=1, n_states=3)).save(tmp_path / "world.npz")
    assert not load_world(tmp_path / "world.npz").prior.grows
