"""Labels of transitions, against hand-worked mazes and a plain statement of every kind."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, World, labels_of, maze, maze_from_text
from berlyne.priors.transition_labels import TransitionLabels
from berlyne.sparse import Support
from messages import raises

FOUR_ROOMS = """
    +---+---+
    |   | B |
    +   +   +
    |<      |
    +---+---+
"""
EFFECTS_BY_HAND = {
    0: {0: {"up", "left", "right"}, 2: {"down"}},
    1: {1: {"up", "left", "right"}, 3: {"down"}},
    2: {0: {"up"}, 2: {"down"}, 1: {"left"}, 3: {"right"}},
    3: {1: {"up"}, 3: {"down", "right"}, 2: {"left"}},
}
MOVES_BY_HAND = {
    0: {0: "stay", 2: "down"},
    1: {1: "stay", 3: "down"},
    2: {0: "up", 2: "stay", 1: "jump", 3: "right"},
    3: {1: "up", 3: "stay", 2: "left"},
}
STEPS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
DIRECTIONS = ("up", "down", "left", "right")


def all_names(labels):
    """The names of the classes of every possible transition, by (s, a, s_next)."""
    dense = np.asarray(labels)
    dense = dense[None] if dense.ndim == 3 else dense
    names = {}
    for a, s, s_next in np.ndindex(dense.shape[1:]):
        classes = [int(c) for c in dense[:, a, s, s_next] if c >= 0]
        assert tuple(labels.names[c] for c in classes) == labels.names_of(a, s, s_next)
        if s_next in labels.support.row(a, s):
            names[s, a, s_next] = [labels.names[c] for c in classes]
        else:
            assert not classes
    return names


def move(world, s, s_next):
    """What a transition does, by the positions alone."""
    (x, y), (x_next, y_next) = world.positions[s], world.positions[s_next]
    if s == s_next:
        return "stay"
    for name, step in STEPS.items():
        if (x_next - x, y_next - y) == step:
            return name
    return "jump"


def maze_pushes(world, s, s_next):
    """The directions in which a push leads from s to s_next, by passages and transporters."""
    geometry, pushes = world.geometry, set()
    for d, name in enumerate(DIRECTIONS):
        if geometry.passages[s, d]:
            leads_there = move(world, s, s_next) == name
        elif geometry.transporters[s, d]:
            leads_there = s_next == geometry.base
        else:
            leads_there = s_next == s
        if leads_there:
            pushes.add(name)
    return pushes


def grid_pushes(world, s, s_next):
    """The same in a grid without walls between its cells."""
    cells = {tuple(position) for position in world.positions.tolist()}
    x, y = world.positions[s]
    pushes = {name for name, (dx, dy) in STEPS.items() if s == s_next and (x + dx, y + dy) not in cells}
    return pushes | ({move(world, s, s_next)} & set(STEPS))


def test_effects_of_a_maze_by_hand():
    labels = labels_of(maze_from_text(FOUR_ROOMS))
    expected = {
        (s, a, s_next): {(a, push) for push in pushes}
        for s, row in EFFECTS_BY_HAND.items()
        for s_next, pushes in row.items()
        for a in range(4)
    }
    assert {key: set(names) for key, names in all_names(labels).items()} == expected
    assert labels.names == tuple((a, name) for a in range(4) for name in DIRECTIONS)
    assert labels.n_features == 4
    assert labels.dense().shape == (4, 4, 4, 4)


def test_moves_of_a_maze_by_hand():
    labels = labels_of(maze_from_text(FOUR_ROOMS), "moves")
    rows = MOVES_BY_HAND.items()
    expected = {(s, a, to): [(a, name)] for s, row in rows for to, name in row.items() for a in range(4)}
    assert all_names(labels) == expected
    assert labels.dense().shape == (4, 4, 4)


def test_a_transporter_to_a_neighbour_or_to_the_same_room():
    text = """
        +---+---+
        |  >| B>|
        +   +   +
        |       |
        +---+---+
    """
    world = maze_from_text(text)
    effects, moves = all_names(labels_of(world)), all_names(labels_of(world, "moves"))
    assert effects[0, 0, 1] == [(0, "right")]  # through the transporter, past the wall
    assert moves[0, 0, 1] == [(0, "right")]
    assert set(effects[1, 2, 1]) == {(2, "up"), (2, "left"), (2, "right")}  # two walls, and a transporter to itself
    assert moves[1, 2, 1] == [(2, "stay")]


@pytest.mark.parametrize("seed", range(4))
def test_mazes_against_a_plain_statement(seed):
    world = maze(seed, side=5, n_transporters=12)
    effects, moves, shifts = (all_names(labels_of(world, kind)) for kind in ("effects", "moves", "shifts"))
    assert len(effects) == world.prior.support.sizes.sum()
    for s, a, s_next in effects:
        assert set(effects[s, a, s_next]) == {(a, push) for push in maze_pushes(world, s, s_next)}
        assert moves[s, a, s_next] == [(a, move(world, s, s_next))]
        assert shifts[s, a, s_next] == [(a, tuple((world.positions[s_next] - world.positions[s]).tolist()))]


def test_grid_against_a_plain_statement():
    world = berlyne.four_rooms()
    effects, moves = all_names(labels_of(world)), all_names(labels_of(world, "moves"))
    assert len(effects) == 4 * 104**2  # the support is not known
    for s, a, s_next in effects:
        action, pushes = world.actions[a], grid_pushes(world, s, s_next)
        unexplained = "stay" if s == s_next else "jump"
        assert set(effects[s, a, s_next]) == {(action, push) for push in pushes or {unexplained}}
        assert moves[s, a, s_next] == [(action, move(world, s, s_next))]


def test_walls_between_cells_follow_from_the_support():
    """Two cells side by side: a push to the right stays if the prior excludes that step."""
    support = np.array([[[True, False], [True, True]], [[True, True], [True, True]]])
    world = World(np.full((2, 2, 2), 0.5), positions=[(0, 0), (1, 0)])
    names = all_names(labels_of(world, support=support))
    assert set(names[0, 0, 0]) == {(0, "left"), (0, "right")}  # border and wall
    assert names[0, 1, 0] == [(1, "left")]
    assert names[0, 1, 1] == [(1, "right")]
    assert (0, 0, 1) not in names


def test_a_line_has_no_up_and_down():
    labels = labels_of(berlyne.river_swim())
    assert labels.n_features == 2
    assert all_names(labels)[0, 0, 0] == [("left", "left")]
    assert all_names(labels)[2, 1, 2] == [("right", "stay")]
    assert all_names(labels)[2, 1, 5] == [("right", "jump")]


def test_targets_need_no_positions():
    world = berlyne.dense_world(seed=0, n_states=3)
    assert all_names(labels_of(world, "targets"))[0, 1, 2] == [(1, 2)]
    assert labels_of(world, "targets").n_classes == 3 * world.n_actions


def test_labels_do_not_depend_on_the_probabilities():
    world = maze(3)
    rng = np.random.default_rng(0)
    shuffled = world.prior.sample(rng)  # other probabilities for the same transitions
    others = world.replace(theta=shuffled), maze(3, law="directions")
    for kind in ("effects", "moves", "shifts", "targets"):
        expected = labels_of(world, kind)
        for other in others:
            assert not np.allclose(other.theta, world.theta)
            np.testing.assert_array_equal(labels_of(other, kind), expected)
            assert labels_of(other, kind).names == expected.names
    # nor on which transitions have a probability of zero, if the prior does not know it
    grid, open_grid = berlyne.four_rooms(p_slip=0.0), berlyne.four_rooms(p_slip=0.5)
    np.testing.assert_array_equal(labels_of(grid), labels_of(open_grid))


def test_computed_positions_are_not_used():
    world = berlyne.n_arms()
    with raises(ValueError, "kind", "'effects'", "positions", "'targets'", "docs/explanation/sharing.md"):
        labels_of(world)
    with raises(ValueError, "kind", "'moves'", "positions"):
        labels_of(world, "moves")


@pytest.mark.parametrize(
    "positions",
    [
        [(0, 0), (1, 0), (1, 1)],
        np.array([[0, 0], [1, 0], [1, 1]]),
        {"c": (1, 1), "a": (0, 0), "b": (1, 0)},
        lambda state: {"a": (0, 0), "b": (1, 0), "c": (1, 1)}[state],
    ],
)
def test_forms_of_positions(positions):
    world = World(np.full((1, 3, 3), 1 / 3), states=["a", "b", "c"], actions=["go"])
    labels = labels_of(world, "moves", positions=positions)
    names = {key: names for key, (names,) in all_names(labels).items()}
    assert names[0, 0, 1] == ("go", "right")
    assert names[1, 0, 2] == ("go", "down")
    assert names[2, 0, 0] == ("go", "jump")
    assert all_names(labels_of(world, "shifts", positions=positions))[2, 0, 0] == [("go", (-1, -1))]


def test_positions_replace_those_of_the_world_and_its_walls():
    world = maze_from_text(FOUR_ROOMS)
    names = all_names(labels_of(world, positions=[0.0, 1.0, 2.0, 3.0]))
    assert names[2, 0, 1] == [(0, "left")]  # one step on the line; the transporter is not known
    assert names[2, 0, 0] == [(0, "jump")]


def test_more_than_two_dimensions():
    positions = [(0, 0, 0), (0, 0, 1), (0, 1, 1)]
    names = all_names(labels_of(World(np.full((1, 3, 3), 1 / 3)), "moves", positions=positions))
    assert names[0, 0, 1] == [(0, (0, 0, 1))]
    assert names[2, 0, 1] == [(0, (0, -1, 0))]
    assert names[0, 0, 2] == [(0, "jump")]


def test_shifts_of_positions_that_are_not_exact():
    world = World(np.full((1, 3, 3), 1 / 3), positions=[(0.1, 0), (0.2, 0), (0.3, 0)])
    assert labels_of(world, "shifts").names == tuple((0, (x, 0)) for x in (-0.2, -0.1, 0, 0.1, 0.2))


def test_effects_of_positions_that_are_not_exact():
    world = World(np.full((1, 2, 2), 0.5), positions=[(0.1 + 0.2, 0), (1.3, 0)])
    assert labels_of(world).names_of(0, 0, 1) == ((0, "right"),)
    assert labels_of(world).names_of(0, 1, 0) == ((0, "left"),)  # 1.3 - 1 is 0.1 + 0.2, and not 0.3


def test_functions_of_labels():
    world = World(np.full((2, 2, 2), 0.5), states=["on", "off"], actions=["press", "wait"])
    calls = []

    def function(s, a, s_next):
        calls.append((s, a, s_next))
        return None if a == "wait" else np.int64(3) if s == s_next else "flip"

    labels = labels_of(world, function)
    assert set(calls) == {(s, a, to) for s in ("on", "off") for a in ("press", "wait") for to in ("on", "off")}
    assert labels.names == (3, "flip")
    assert type(labels.names[0]) is int
    np.testing.assert_array_equal(labels.dense()[0], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(labels.dense()[1], -1)
    assert labels.support.is_full  # a transition without a label stays possible


def test_functions_see_possible_transitions_only():
    world, calls = maze(0), []
    labels_of(world, lambda *transition: calls.append(transition))
    support = world.prior.support
    rows = support.row_numbers()
    assert calls == list(zip((rows // 4).tolist(), (rows % 4).tolist(), support.entries()[1].tolist(), strict=True))


def test_a_list_makes_several_features():
    world = maze_from_text(FOUR_ROOMS)
    labels = labels_of(world, ["effects", "moves", lambda s, a, s_next: (a, "up") if s == 0 else None])
    assert labels.n_features == 6
    assert labels.names_of(0, 0, 2) == ((0, "down"), (0, "down"), (0, "up"))  # equal names are one class
    assert labels.n_classes == 16 + 8  # staying and jumping, for each action
    named = [[labels.names[c] for c in feature] for feature in labels.labels[4:5]]
    alone = labels_of(world, "moves")
    assert named == [[alone.names[c] for c in alone.labels[0]]]


def test_support_of_the_prior_or_another():
    world = maze_from_text(FOUR_ROOMS)
    assert labels_of(world, "moves").support.same_entries(world.prior.support)
    assert labels_of(world, "moves", support="all").support.is_full
    assert labels_of(world.with_prior(None), "moves").support.is_full
    assert labels_of(world, "moves", support=world.rows).support.same_entries(world.rows.support)
    everywhere = np.ones((4, 4, 4), dtype=bool)
    np.testing.assert_array_equal(
        labels_of(world, "moves", support=everywhere), labels_of(world, "moves", support="all")
    )


def test_large_worlds_keep_possible_transitions_only():
    world = maze(0, side=200, n_transporters=100)
    labels = labels_of(world)
    assert labels.labels.shape == (4, int(world.prior.support.sizes.sum()))
    with raises(ValueError, "labels", 40000, "labels.labels"):
        labels.dense()
    with raises(ValueError, "support", 40000, "support="):
        labels_of(world, support="all")


def test_frozen_lake_has_cells_and_names_of_actions():
    labels = labels_of("FrozenLake-v1")
    names = all_names(labels)
    assert set(names[0, 0, 0]) == {("left", "up"), ("left", "left")}  # the corner: walls above and to the left
    assert names[0, 1, 4] == [("down", "down")]
    assert names[0, 2, 15] == [("right", "jump")]
    same = labels_of(gymnasium.make("FrozenLake-v1", is_slippery=False))
    np.testing.assert_array_equal(same, labels)


def test_gymnasium_by_functions_of_observations():
    env = gymnasium.make("Taxi-v3") if "Taxi-v3" in gymnasium.registry else gymnasium.make("Taxi-v4")
    taxi = {s: tuple(int(x) for x in env.unwrapped.decode(s)) for s in range(500)}  # line, column, passenger, goal
    cells = np.array(list(taxi.values()))
    change = np.abs(cells[:, None] - cells[None])  # (s, s_next, 4)
    is_near = (change[..., :2].sum(axis=2) < 2) & (change[..., 2:].sum(axis=2) == 0)
    support = np.broadcast_to(is_near, (6, 500, 500))
    by_function = labels_of(
        env, lambda s, a, s_next: (a, taxi[s_next][1] - taxi[s][1], taxi[s_next][0] - taxi[s][0]), support=support
    )
    assert by_function.n_classes == 6 * 5
    by_positions = labels_of(env, "shifts", positions=lambda s: taxi[s][1::-1], support=support)
    assert by_positions.n_classes == 6 * 5
    pairs = set(zip(by_function.labels[0].tolist(), by_positions.labels[0].tolist(), strict=True))
    assert len(pairs) == 30  # the same classes
    assert ("south", (0, 1)) in by_positions.names


def without_table(**spaces):
    discrete = gymnasium.spaces.Discrete
    spaces = {"observation_space": discrete(3), "action_space": discrete(2), **spaces}
    return SimpleNamespace(reset=None, step=None, **spaces)


def test_environments_without_a_table():
    labels = labels_of(without_table(), lambda s, a, s_next: s_next - s)
    np.testing.assert_array_equal(labels.dense()[1], [[0, 1, 2], [3, 0, 1], [4, 3, 0]])
    box = gymnasium.spaces.Box(0.0, 1.0)
    with raises(ValueError, "observation_space", "Box", "Discrete"):
        labels_of(without_table(observation_space=box), lambda s, a, s_next: s_next - s)
    with raises(ValueError, "action_space", "Discrete(2, start=1)", "Discrete"):
        labels_of(without_table(action_space=gymnasium.spaces.Discrete(2, start=1)), lambda s, a, s_next: 0)


def test_invalid_arguments():
    world = maze(0)
    with raises(ValueError, "world", 3):
        labels_of(3)
    for kind in ("move", 3, ["moves", "move"]):
        with raises(ValueError, "kind", "'effects'", "'moves'", "'shifts'", "'targets'", "function"):
            labels_of(world, kind)
    with raises(ValueError, "kind", []):
        labels_of(world, [])
    with raises(ValueError, "support", "'none'", "'all'"):
        labels_of(world, support="none")
    with raises(ValueError, "positions", "(35, 2)", "(36, D)"):
        labels_of(world, positions=world.positions[1:])
    with raises(ValueError, "positions", "(36, D)"):
        labels_of(world, positions="here")
    with raises(ValueError, "positions", "finite", "(36, D)"):
        labels_of(world, positions=np.full((36, 2), np.nan))
    with raises(ValueError, "positions", 35):
        labels_of(world, positions=dict.fromkeys(range(35), (0, 0)))
    with raises(ValueError, 0, 1, "(0.0, 0.0)"):
        labels_of(world, positions=np.zeros((36, 2)))
    with raises(ValueError, "positions", "1 apart"):
        labels_of(world, positions=3 * world.positions)


@pytest.mark.parametrize("label", [[1], float("nan"), {"a": 1}, np.zeros(2)])
def test_labels_of_a_function_must_be_hashable(label):
    world = World(np.full((1, 2, 2), 0.5), states=["on", "off"], actions=["go"])
    with raises(ValueError, "(s, a, s_next)", ("on", "go", "off"), "hashable"):
        labels_of(world, lambda s, a, s_next: label if s_next == "off" else 0)


def test_transition_labels_are_checked_and_frozen():
    support = Support(1, 2)
    labels = TransitionLabels(support, np.array([[0, 1, -1, 0]]), ("a", "b"))
    np.testing.assert_array_equal(np.asarray(labels), [[[0, 1], [-1, 0]]])
    assert np.asarray(labels, dtype=float).dtype == float
    assert repr(labels) == "TransitionLabels(2 classes, 1 feature, 4 transitions)"
    copied = pickle.loads(pickle.dumps(labels))
    np.testing.assert_array_equal(copied.labels, labels.labels)
    assert copied.names == labels.names
    for one in (labels, copied):
        with raises(ValueError, "read-only"):
            one.labels[0, 0] = 1
    with raises(ValueError, "shape", "(1, 3)", "(n_features, 4)"):
        TransitionLabels(support, np.zeros((1, 3), dtype=int), ("a",))
    with raises(ValueError, "float64", "whole numbers"):
        TransitionLabels(support, np.zeros((1, 4)), ("a",))
    with raises(ValueError, "labels", 2, "names", 2):
        TransitionLabels(support, np.array([[0, 1, 2, 0]]), ("a", "b"))
    with raises(ValueError, "labels", -2, "-1"):
        TransitionLabels(support, np.array([[0, -2, 1, 0]]), ("a", "b"))
    with raises(ValueError, "copy", False):
        np.asarray(labels, copy=False)
    named = TransitionLabels(support, labels.labels, labels.names, states=["on", "off"], actions=["go"])
    assert named.states.number("off") == 1 and list(named.actions.all) == ["go"]
    with raises(ValueError, 1, "state", 2):
        TransitionLabels(support, labels.labels, labels.names, states=["on"])


def test_labels_are_made_for_the_prior_of_the_world():
    prior = Dirichlet(0.25, maze(1).prior.support)
    np.testing.assert_array_equal(labels_of(maze(1).with_prior(prior)), labels_of(maze(1)))


@pytest.mark.parametrize("kind", ["effects", "moves", lambda s, a, s_next: "stay" if s == s_next else None])
def test_the_shared_prior_accepts_labels_with_their_support(kind):
    world = maze_from_text(FOUR_ROOMS)
    labels = labels_of(world, kind)
    prior = berlyne.SharedDirichlet(labels, 0.25)
    assert prior.support.same_entries(world.prior.support)
    expected = berlyne.SharedDirichlet(labels.dense(), 0.25, support=world.prior.support)
    counts = np.zeros((4, 4, 4), dtype=int)
    counts[0, 0, 0], counts[1, 2, 2] = 5, 3
    np.testing.assert_array_equal(prior.fit(counts).alphas, expected.fit(counts).alphas)
    run = berlyne.explore(world.with_prior(prior), "PIG(VI)", n_steps=20, seed=0)
    assert len(run.actions) == 20


def test_another_support_replaces_that_of_the_labels():
    world = maze_from_text(FOUR_ROOMS)
    labels = labels_of(world, "moves", support="all")
    prior = berlyne.SharedDirichlet(labels, 0.25, support=world.prior.support)
    known = labels_of(world, "moves")
    names = [[labels.names[c] for c in prior.labels[0]], [known.names[c] for c in known.labels[0]]]
    assert names[0] == names[1]
