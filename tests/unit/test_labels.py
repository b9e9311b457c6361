"""Labels of states and actions in all objects."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from berlyne import Dirichlet, Explorer, InternalModel, OneTwoThree, World, dense_world, explore, maze, pig
from berlyne.labels import Labels, TransitionError, label_from_json, label_to_json
from messages import raises

THETA = np.array([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.25, 0.5, 0.25]], [[1.0, 0.0, 0.0]] * 3])
STATES, ACTIONS = ["red", "blue", ("a", 1)], ["l", "r"]


def coloured(**more):
    return World(THETA, Dirichlet(1.0, n_states=3, n_actions=2), states=STATES, actions=ACTIONS, **more)


def test_a_label_is_looked_up_both_ways():
    labels = Labels("state", 3, STATES)
    assert [labels.number(label) for label in STATES] == [0, 1, 2]
    assert [labels[i] for i in range(3)] == STATES
    assert labels.all == tuple(STATES) == labels.custom


@pytest.mark.parametrize("labels_given", [None, range(4), [0, 1, 2, 3], np.arange(4)])
def test_numbers_stay_numbers_without_a_dictionary(labels_given):
    labels = Labels("state", 4, labels_given)
    assert labels.custom is None and labels._number is None and labels.all == range(4)
    assert labels.number(3) == 3 and labels[3] == 3


def test_other_numbers_and_bools_are_labels():
    assert Labels("state", 2, [False, True]).number(True) == 1
    assert Labels("state", 2, [1, 0]).number(1) == 0
    assert Labels("state", 2, np.array(["x", "y"])).all == ("x", "y")
    assert type(Labels("state", 2, np.array([7, 9])).all[0]) is int


@pytest.mark.parametrize(
    ("labels_given", "message"),
    [
        (["a", "b"], ("2", "3")),
        (["a", "b", "a"], ("0", "2", "'a'")),
        (["a", ["b"], "c"], ("['b']", "state 1", "hashable")),
        ("abc", ("states", "'abc'")),
        (5, ("states", "5")),
        (["a", float("nan"), "c"], ("nan", "state 1", "NaN")),
    ],
)
def test_labels_that_cannot_be_are_refused(labels_given, message):
    with raises(ValueError, *message):
        World(THETA, states=labels_given)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("rde", ("s", "'rde'", "'red'")),
        (0, ("s", "0", "'red'", "'blue'", "('a', 1)")),
        ([], ("s", "[]", "'red'")),
    ],
)
def test_an_unknown_label_gives_the_nearest_one(label, message):
    with raises(ValueError, *message):
        Explorer(coloured().prior, states=STATES, actions=ACTIONS).act(label)


def test_a_message_lists_a_few_labels_only():
    with raises(ValueError, "'s0', 's1', 's2', 's3', 's4', 's5', ..."):
        Labels("state", 9, [f"s{i}" for i in range(9)]).number(7.5)


def test_a_world_uses_labels():
    world = coloured(start="blue")
    assert world.states == tuple(STATES) and world.actions == tuple(ACTIONS) and world.start == 1
    changed = world.with_prior(None)
    assert changed.states == world.states and changed.actions == world.actions and changed.start == 1
    assert maze(0).states == range(36)
    with raises(ValueError, "start", "'green'", "'red'"):
        coloured(start="green")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((1, 2, 0, 0.5), ("(a='r', s=('a', 1))", "theta", "0.5", "1")),
        ((0, 1, 0, -0.5), ("(a='l', s='blue')", "-0.5", "state 'red'")),
    ],
)
def test_errors_name_labels(change, message):
    theta = THETA.copy()
    theta[change[:3]] = change[3]
    with raises(ValueError, *message):
        World(theta, states=STATES, actions=ACTIONS)


def test_errors_of_priors_name_labels():
    prior = Dirichlet(1.0, (np.arange(3) < 2) & np.ones((2, 3, 3), dtype=bool))
    with raises(ValueError, "(a='l', s='blue')", "('a', 1)"):
        World(THETA, prior, states=STATES, actions=ACTIONS)
    for learner in (
        InternalModel(prior, states=STATES, actions=ACTIONS),
        Explorer(prior, states=STATES, actions=ACTIONS),
    ):
        with raises(ValueError, "action 'r'", "state 'red'", "('a', 1)"):
            learner.observe("red", "r", ("a", 1))


def test_only_numbers_of_states_and_actions_are_replaced_by_labels():
    states, actions = Labels("state", 2, ["x", "y"]), Labels("action", 2)
    template = "row (a={a}, s={s}) holds {p:g} for state {s_next}, not state {last}; 1 states, {text}"
    error = TransitionError(
        template, {"s": 1, "s_next": np.int32(0), "last": 7}, {"a": 1}, {"p": 1.0, "text": "{a} s=1"}
    )
    plain = "row (a=1, s=1) holds 1 for state 0, not state 7; 1 states, {a} s=1"
    labelled = "row (a=1, s='y') holds 1 for state 'x', not state 7; 1 states, {a} s=1"
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert (str(same), str(same.with_labels(states, actions))) == (plain, labelled)
        assert str(same.with_labels(Labels("state", 2), actions)) == plain


def test_errors_of_the_one_two_three_prior_name_the_absorbing_state_by_its_label():
    states = ["home", "b", "c", "d"]
    for p_escape, word in ((0.0, "always"), (1.0, "never")):
        theta = np.full((2, 4, 4), 0.25)
        with raises(ValueError, "(a=0, s='home')", "1/1", "state 'home'", word):
            World(theta, OneTwoThree(4, 2, p_escape), states=states)


def test_a_labelled_exploration_is_the_same_in_numbers():
    plain, labelled = World(THETA, coloured().prior), coloured()
    one = explore(plain, "PIG(VI)", n_steps=50, seed=3, start=1)
    other = explore(labelled, "PIG(VI)", n_steps=50, seed=3, start="blue")
    np.testing.assert_array_equal(one.states, other.states)
    np.testing.assert_array_equal(one.missing_information, other.missing_information)
    assert other.history[0] == ("blue", ACTIONS[one.actions[0]], STATES[one.next_states[0]])
    assert one.history == [(s, a, z) for s, a, z in zip(one.states, one.actions, one.next_states, strict=False)]
    assert other.model.states == tuple(STATES)
    np.testing.assert_array_equal(other.model.theta_hat_row("r", "blue"), one.model.theta_hat[1, 1])


def test_a_model_observes_labels():
    model = InternalModel(coloured().prior, states=STATES, actions=ACTIONS)
    model.observe("red", "r", "blue")
    model.observe_many([("red", "r", "blue"), ["blue", "l", ("a", 1)]])
    counts = np.zeros((2, 3, 3))
    counts[1, 0, 1], counts[0, 1, 2] = 2, 1
    np.testing.assert_array_equal(model.counts, counts)
    numbered = InternalModel(coloured().prior)
    numbered.observe_many([(0, 1, 1), (0, 1, 1), (1, 0, 2)])
    np.testing.assert_array_equal(model.theta_hat_after("r", "red"), numbered.theta_hat_after(1, 0))
    np.testing.assert_array_equal(pig(model), pig(numbered))
    for wrong in [("red", "r"), "red"]:
        with raises(ValueError, "line 0", "(s, a, s_next)"):
            model.observe_many([wrong])
    with raises(ValueError, "a", "'u'", "'l'", "'r'"):
        model.observe("red", "u", "red")
    with raises(ValueError, "line 1", "a", "'u'"):
        model.observe_many([("red", "r", "blue"), ("red", "u", "red")])


def test_custom_utilities_read_labelled_models():
    class Own:
        def estimate(self, counts):
            return (counts + 1.0) / (counts + 1.0).sum(axis=-1, keepdims=True)

        rows_are_independent = False

    labelled = InternalModel(Own(), states=STATES, actions=ACTIONS)  # as many as there are labels
    numbered = InternalModel(Own(), n_states=3, n_actions=2)
    assert (labelled.n_states, labelled.n_actions) == (3, 2)
    np.testing.assert_allclose(pig(labelled), pig(numbered))


def test_an_explorer_acts_and_observes_in_labels():
    world = dense_world(1, n_states=3, n_actions=2)
    numbered, labelled = Explorer(world.prior, seed=4), Explorer(world.prior, seed=4, states=STATES, actions=ACTIONS)
    rng, s = np.random.default_rng(0), 0
    for _ in range(30):
        a = numbered.act(s)
        assert labelled.act(STATES[s]) == ACTIONS[a]
        s_next = world.sample(a, s, rng.random())
        numbered.observe(s, a, s_next)
        labelled.observe(STATES[s], ACTIONS[a], STATES[s_next])
        s = s_next
    np.testing.assert_array_equal(labelled.model.counts, numbered.model.counts)
    assert labelled.model.states == labelled.states == tuple(STATES) and labelled.actions == tuple(ACTIONS)


def test_unembodied_names_the_pair():
    s, a = Explorer(coloured().prior, "Unembodied", states=STATES, actions=ACTIONS).choose_pair()
    assert s in STATES and a in ACTIONS


def test_an_explorer_keeps_its_labels_in_a_file(tmp_path):
    states, actions = ["red", ("a", (1, None)), 2.5, True], [None, 3]
    explorer = Explorer(Dirichlet(1.0, n_states=4, n_actions=2), states=states, actions=actions)
    explorer.observe("red", None, ("a", (1, None)))
    explorer.observe(2.5, 3, True, ended=True)
    explorer.save(tmp_path / "e.npz")
    loaded = Explorer.load(tmp_path / "e.npz")
    assert loaded.states == tuple(states) and loaded.actions == tuple(actions)
    assert list(map(type, loaded.states)) == [str, tuple, float, bool]
    np.testing.assert_array_equal(loaded.utility(), explorer.utility())
    assert [loaded.act("red") for _ in range(5)] == [explorer.act("red") for _ in range(5)]


def test_a_label_that_json_cannot_hold_is_refused_when_saved(tmp_path):
    explorer = Explorer(Dirichlet(1.0, n_states=2, n_actions=1), states=[frozenset("ab"), "c"])
    with raises(ValueError, "frozenset(", "strings, numbers, bools"):
        explorer.save(tmp_path / "e.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("label", ["x", 3, 2.5, True, None, (), ("x", (1, None))])
def test_plain_values_come_back(label):
    assert label_from_json(label_to_json(label)) == label and type(label_from_json(label_to_json(label))) is type(label)
