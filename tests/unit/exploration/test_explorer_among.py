"""Explorers that choose among given actions, with labels and terminal states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import berlyne
from berlyne import Dirichlet, Explorer, Strategy
from berlyne.strategies.registry import get_strategy
from messages import raises

COLOURS, MOVES = ["red", "green", "blue"], ["l", "r", "stay", "jump"]


def labelled(strategy="PIG(VI)", **more):
    return Explorer(Dirichlet(1.0, n_states=3, n_actions=4), strategy, states=COLOURS, actions=MOVES, **more)


def test_the_best_of_the_possible_actions_is_chosen():
    explorer = labelled("PIG(greedy)", seed=3)
    explorer.observe_many([("red", "l", "blue")] * 3 + [("red", "r", "blue")] * 2 + [("red", "jump", "red")])
    worth = dict(zip(MOVES, explorer.action_values("red"), strict=True))
    assert worth["stay"] > worth["jump"] > worth["r"] > worth["l"]
    assert explorer.act("red") == "stay"
    assert explorer.act("red", among=["l", "jump", "r"]) == "jump"
    assert explorer.act("red", among=["l"]) == "l"
    assert explorer.act("red") == "stay"  # as before


@pytest.mark.parametrize(
    "strategy", ["Random", "PIG(greedy)", get_strategy("PIG(greedy)", temperature=0.5, lapse=0.1)], ids=str
)
def test_probabilities_among_given_actions_are_equal_for_equal_values(strategy):
    chosen = [labelled(strategy, seed=i).act("red", among=["r", "jump"]) for i in range(400)]
    assert set(chosen) == {"r", "jump"}
    assert stats.binomtest(chosen.count("r"), 400).pvalue > 1e-4


def test_q_learning_explores_among_the_possible_only():
    explorer = labelled(get_strategy("PIG(Q)", epsilon=1.0))
    for i in range(60):
        assert explorer.act("blue", among=["l", "stay"]) in ("l", "stay")
        explorer.observe("blue", "l", COLOURS[i % 3])


def trained_explorer(strategy, seed=0):
    explorer = labelled(strategy, seed=seed)
    explorer.observe_many([("red", "l", "blue")] * 3 + [("red", "r", "blue")] * 2 + [("red", "jump", "red")])
    return explorer


@pytest.mark.parametrize("among", [["l", "jump", "r"], ["jump", "l", "jump"], ["stay"], MOVES, iter(["r", "stay"])])
def test_probabilities_among_given_actions_are_a_softmax_over_them(among):
    explorer = trained_explorer(get_strategy("PIG(VI)", temperature=0.05, lapse=0.2))
    among = list(among)
    possible = np.array([move in among for move in MOVES])
    weight = np.exp(explorer.action_values("red") / 0.05) * possible
    expected = 0.8 * weight / weight.sum() + 0.2 * possible / possible.sum()
    assert explorer.probabilities("red", iter(among)) == pytest.approx(expected, abs=1e-12)
    whole = trained_explorer(get_strategy("PIG(VI)", temperature=0.05)).probabilities(
        "red"
    )  # without lapses: renormalised
    renormalised = np.where(possible, whole, 0.0) / whole[possible].sum()
    assert trained_explorer(get_strategy("PIG(VI)", temperature=0.05)).probabilities("red", among) == pytest.approx(
        renormalised
    )
    assert np.array_equal(explorer.probabilities("red", MOVES), explorer.probabilities("red"))


def test_probabilities_among_given_actions_include_ties_and_epsilon():
    nothing_tried = ["l", "r", "jump"]
    assert labelled("LTA").probabilities("red", nothing_tried) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    assert labelled(get_strategy("LTA", ties="first")).probabilities("red", ["jump", "r"]).tolist() == [0, 1, 0, 0]
    assert trained_explorer("LTA").probabilities("red", ["l", "r"]).tolist() == [0, 1, 0, 0]
    assert trained_explorer("Random").probabilities("red", ["l", "stay"]).tolist() == [0.5, 0, 0.5, 0]
    explorer = trained_explorer(get_strategy("PIG(Q)", epsilon=0.3))
    values = explorer.action_values("red")
    best = max(values[0], values[1])
    greedy = np.array([values[0] == best, values[1] == best, 0, 0], dtype=float)
    expected = 0.7 * greedy / greedy.sum() + 0.3 * np.array([0.5, 0.5, 0, 0])
    assert explorer.probabilities("red", ["l", "r"]) == pytest.approx(expected)


def test_unknown_probabilities_among_given_actions_are_refused():
    explorer = labelled()
    with raises(ValueError, "among", "empty"):
        explorer.probabilities("red", [])
    with raises(ValueError, "action", "'jmp'"):
        explorer.probabilities("red", ["jmp"])
    with raises(ValueError, "mine", "among="):
        labelled(Strategy("mine", lambda view, s, u: 0)).probabilities("red", ["l"])
    with raises(ValueError, "Unembodied", "among"):
        labelled("Unembodied").probabilities(among=["l"])


def test_a_state_labelled_none_is_a_state():
    explorer = Explorer(Dirichlet(1.0, n_states=2, n_actions=2), "LTA", states=["here", None])
    explorer.observe(None, 1, "here")
    assert explorer.action_values(None).tolist() == [0, -1] and explorer.probabilities(None).tolist() == [1, 0]
    with raises(ValueError, "LTA", "probabilities(s)"):
        labelled("LTA").probabilities()


def test_bad_choices_are_refused():
    explorer = labelled()
    with raises(ValueError, "among", "empty"):
        explorer.act("red", among=[])
    with raises(ValueError, "action", "'jmp'", "'jump'"):
        explorer.act("red", among=["jmp"])
    mine = labelled(Strategy("mine", lambda view, s, u: 0))
    with raises(ValueError, "mine", "among="):
        mine.act("red", among=["l"])


def test_a_history_is_in_labels_and_learned_from_them():
    explorer = labelled()
    trained_explorer = [("red", "l", "blue"), ("blue", "stay", "blue"), ("red", "l", "red")]
    explorer.observe_many(trained_explorer)
    assert explorer.history == trained_explorer
    repeated = labelled()
    repeated.observe_many(explorer.history)
    assert np.array_equal(repeated.utility(), explorer.utility())
    explorer.undo()
    assert explorer.history == trained_explorer[:2]
    assert Explorer(Dirichlet(1.0, n_states=2, n_actions=1)).history == []
    gain = explorer.expected_gain(2, s="red")
    assert gain.bits > 0 and explorer.expected_gain(2) == explorer.expected_gain(2, s="blue")


def test_terminal_states_have_no_missing_information_until_undo():
    explorer = labelled()
    whole = explorer.expected_missing_information()
    explorer.observe("red", "l", "blue", ended=True)
    closed = explorer.expected_missing_information()
    assert closed.rows[:, 2].tolist() == [0.0] * 4 and closed.bits == pytest.approx(closed.rows[:, :2].sum())
    assert closed.variance < whole.variance
    explorer.undo()
    assert explorer.expected_missing_information().bits == pytest.approx(whole.bits)
    assert np.all(explorer.utility() > 0)
    explorer.ends_in(["green"])
    explorer.observe("red", "l", "green")
    explorer.undo()
    assert not explorer.utility()[:, 1].any()


def test_a_simulated_episode_restarts_in_the_first_simulated_state():
    """Everything leads to the end, so every step is one from the beginning."""
    explorer = Explorer(Dirichlet(1e-9, n_states=3, n_actions=1), "Random")
    explorer.observe_many([(0, 0, 2)] * 5)
    explorer.ends_in([2])
    gain = explorer.expected_gain(20, s=0, n_samples=10)
    assert gain.bits == pytest.approx(0.0, abs=1e-6)
    assert explorer.expected_missing_information().rows[0, 2] == 0.0


@pytest.mark.parametrize("ended", [False, True])
def test_a_file_contains_labels_history_and_terminal_states(ended, tmp_path):
    explorer = labelled("PEIG(Q)", seed=4)
    explorer.ends_in(["green"])
    explorer.observe("red", "l", "blue", ended=ended)
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    assert loaded.history == [("red", "l", "blue")] and np.array_equal(loaded.utility(), explorer.utility())
    for e in (explorer, loaded):
        e.undo()
    assert np.array_equal(loaded.utility(), explorer.utility()) and not loaded.utility()[:, 1].any()
    assert loaded.utility()[:, 2].any()


def test_a_world_with_labels_explores_as_one_without():
    theta = np.random.default_rng(0).dirichlet(np.ones(3), (4, 3))
    named = berlyne.World(theta, Dirichlet(1.0, n_states=3, n_actions=4), states=COLOURS, actions=MOVES)
    plain = berlyne.World(theta, Dirichlet(1.0, n_states=3, n_actions=4))
    one, other = (berlyne.explore(w, "PIG(VI)", n_steps=50, seed=1) for w in (named, plain))
    assert np.array_equal(one.actions, other.actions) and np.array_equal(
        one.missing_information, other.missing_information
    )
