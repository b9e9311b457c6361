"""Positions of states: given, known, or laid out."""

from __future__ import annotations

import pickle
import sys
import zipfile

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import eye_array
from scipy.spatial.distance import pdist, squareform

import berlyne
from berlyne import Dirichlet, World, dense_world, from_gymnasium, load_world, maze, one_two_three_world
from berlyne.worlds.layout import (
    MIN_DISTANCE,
    _majorize,
    _push_apart,
    action_directions,
    grid_passages,
    is_grid,
    places,
)
from messages import raises

THETA = np.roll(np.eye(3), 1, axis=1)[None]
NAMED = {"states": ["a", "b", "c"]}
PAIRS = {"c": (5, 6), "a": (1, 2), "b": (3, 4)}


def ring(n):
    """A world whose one action goes round, and another the other way."""
    return World(np.stack([np.roll(np.eye(n), 1, axis=1), np.roll(np.eye(n), -1, axis=1)]))


def random_graph(n, degree, seed):
    """Every state leads to the next, so that all is joined, and to some others."""
    rng = np.random.default_rng(seed)
    theta = 1e-9 + np.roll(np.eye(n), 1, axis=1)
    for s in range(n):
        theta[s, rng.integers(n, size=degree)] += rng.random(degree)
    theta[theta < 1e-6] = 0.0
    return World((theta / theta.sum(axis=1, keepdims=True))[None])


def test_rooms_of_a_maze_lie_in_lines_and_columns():
    world = maze(0, side=3, n_transporters=4)
    expected = [(x + 0.5, y + 0.5) for y in range(3) for x in range(3)]
    np.testing.assert_array_equal(places(world), expected)
    np.testing.assert_array_equal(world.positions, expected)


def test_positions_are_given_by_state_or_in_order():
    for positions in (PAIRS, [(1, 2), (3, 4), (5, 6)], np.array([[1, 2], [3, 4], [5, 6]])):
        np.testing.assert_array_equal(places(World(THETA, **NAMED, positions=positions)), [[1, 2], [3, 4], [5, 6]])


def test_positions_belong_to_the_world_and_do_not_change():
    positions = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    world = World(THETA, positions=positions)
    positions[:] = 0.0
    assert places(world)[2].tolist() == [5.0, 6.0]
    with raises(ValueError, "read-only"):
        places(world)[0] = 1.0
    with raises(ValueError, "read-only"):
        places(ring(5))[0] = 1.0


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"a": (1, 2), "b": (3, 4)}, ("positions", "'c'", "(x, y)")),
        ({**PAIRS, "d": (7, 8)}, ("positions", "'d'", "'a', 'b', 'c'")),
        ({**PAIRS, "a": 1}, ("'a'", "1", "(x, y)")),
        ({**PAIRS, "a": "xy"}, ("'a'", "'xy'", "pair")),
        ({**PAIRS, "b": (1, np.inf)}, ("'b'", "(1.0, inf)", "finite")),
        ({**PAIRS, "b": (1, "x")}, ("positions", "(3, 2)")),
        ({**PAIRS, "c": (1, 2)}, ("'a'", "'c'", "(1.0, 2.0)")),
        (np.zeros((3, 3)), ("positions", "(3, 3)", "(3, 2)")),
        (np.zeros((2, 2)), ("positions", "(2, 2)", "(3, 2)")),
        ("left", ("positions", "pairs")),
        (maze(0, side=2, n_transporters=1).geometry, ("maze", "4", "3")),
    ],
)
def test_wrong_positions_are_refused_in_a_sentence(positions, message):
    with raises(ValueError, *message):
        World(THETA, **NAMED, positions=positions)


def test_positions_are_preserved(tmp_path):
    world = World(THETA, Dirichlet(1.0, n_states=3, n_actions=1), **NAMED, start="a", terminal=["c"], positions=PAIRS)
    world.save(tmp_path / "w.npz")
    copies = [
        world.with_prior(None),
        world.with_resets(),
        load_world(tmp_path / "w.npz"),
        pickle.loads(pickle.dumps(world)),
    ]
    for other in copies:
        np.testing.assert_array_equal(other.positions, world.positions)
    rooms = maze(1, side=3, n_transporters=2)
    assert rooms.with_prior(None).geometry is rooms.geometry
    np.testing.assert_array_equal(rooms.with_prior(None).positions, rooms.positions)


def test_a_file_without_positions_is_still_read(tmp_path):
    World(THETA).save(tmp_path / "old.npz")
    with zipfile.ZipFile(tmp_path / "old.npz") as stored:
        assert "positions.npy" not in stored.namelist()
    loaded = load_world(tmp_path / "old.npz")
    assert loaded.positions is None and places(loaded).shape == (3, 2)


def test_a_ring_is_laid_out_round_and_a_path_straight():
    positions = places(ring(12))
    radius = np.linalg.norm(positions - positions.mean(axis=0), axis=1)
    np.testing.assert_allclose(radius, radius.mean(), rtol=0.03)
    np.testing.assert_allclose(np.linalg.norm(positions - np.roll(positions, 1, axis=0), axis=1), 1.0, rtol=0.1)
    n = 9
    theta = np.zeros((2, n, n))
    theta[0, np.arange(n), np.minimum(np.arange(n) + 1, n - 1)] = 1.0
    theta[1, np.arange(n), np.maximum(np.arange(n) - 1, 0)] = 1.0
    path = places(World(theta))
    assert np.ptp(path[:, 1]) < 0.05
    np.testing.assert_allclose(np.diff(path[:, 0]), 1.0, rtol=0.02)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 30, 60])
@pytest.mark.parametrize("degree", [1, 2])
def test_states_that_are_laid_out_keep_apart_and_neighbours_near(n, degree):
    world = random_graph(n, degree, seed=n)
    positions = places(world)
    assert positions.shape == (n, 2) and np.isfinite(positions).all()
    distance = squareform(pdist(positions)) if n > 1 else np.zeros((1, 1))
    assert np.all(distance[~np.eye(n, dtype=bool)] >= MIN_DISTANCE * (1 - 1e-6))
    joined = (world.theta[0] > 0) & ~np.eye(n, dtype=bool)
    if n > 3:
        assert 0.6 < np.median(distance[joined]) < 1.7
        assert np.median(distance[joined]) < 0.75 * np.median(distance[~joined & ~np.eye(n, dtype=bool)]) or n < 12


def test_a_layout_is_made_once_and_again_the_same():
    world = one_two_three_world(0)
    assert places(world) is places(world)
    np.testing.assert_array_equal(places(world), places(one_two_three_world(0)))


def test_states_of_nearly_complete_graphs_lie_in_a_circle():
    positions = places(dense_world(0))
    np.testing.assert_allclose(np.linalg.norm(positions, axis=1), np.linalg.norm(positions[0]), rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(positions[1] - positions[0]), 1.0)
    assert positions[0, 0] == 0 and positions[0, 1] < 0 and positions[1, 0] > 0  # clockwise from the top


def test_unconnected_parts_lie_apart():
    theta = np.zeros((1, 8, 8))
    theta[0, :4, :4], theta[0, 4:, 4:] = np.roll(np.eye(4), 1, axis=1), np.roll(np.eye(4), 1, axis=1)
    positions = places(World(theta))
    between = np.linalg.norm(positions[:4].mean(axis=0) - positions[4:].mean(axis=0))
    assert between > 1.5
    assert places(World(np.eye(5)[None])).shape == (5, 2)


def test_unlikely_neighbours_lie_further_away():
    theta = np.zeros((2, 6, 6))
    theta[0, np.arange(6), [1, 2, 2, 4, 5, 5]] = theta[1, np.arange(6), [0, 0, 1, 3, 3, 4]] = 1.0
    theta[0, 2, [2, 3]] = theta[1, 3, [3, 2]] = 0.99, 0.01  # between the two halves
    gaps = np.linalg.norm(np.diff(places(World(theta)), axis=0), axis=1)
    np.testing.assert_allclose(gaps, [1, 1, 2, 1, 1], rtol=0.05)  # 1 - log10(p) / 2


def test_very_many_states_lie_in_lines():
    positions = places(World([eye_array(1001, format="csr")]))
    assert positions[0].tolist() == [0, 0] and positions[31].tolist() == [31, 0] and positions[32].tolist() == [0, 1]


def test_majorisation_never_raises_the_stress():
    """Against the stress as SciPy's distances say it, from a bad beginning."""
    lengths = np.abs(np.subtract.outer(np.arange(7.0), np.arange(7.0)))
    begin = np.random.default_rng(0).normal(size=(7, 2))
    pairs = np.triu_indices(7, 1)

    def stress(coordinates):
        return np.sum(((pdist(coordinates) - lengths[pairs]) / lengths[pairs]) ** 2)

    assert stress(_majorize(lengths, begin)) < 0.01 * stress(begin)


def test_states_in_one_place_are_parted():
    separated = _push_apart(np.zeros((7, 2)))
    assert pdist(separated).min() >= MIN_DISTANCE * (1 - 1e-6)


def test_benchmarks_have_natural_positions():
    four = berlyne.four_rooms()
    assert [tuple(pair[::-1]) for pair in places(four).astype(int).tolist()] == list(four.states)
    assert places(berlyne.river_swim()).tolist() == [[s, 0] for s in range(6)]
    assert places(berlyne.double_chain_russo(2)).tolist() == [[0, 1], [1, 0], [2, 0], [1, 2], [2, 2]]
    for world in (berlyne.double_chain_kaufmann(), berlyne.storck()):
        assert places(world).tolist() == [[s, 0] for s in range(world.n_states)]


def test_grid_environments_have_positions():
    pytest.importorskip("gymnasium")
    lake = from_gymnasium("FrozenLake-v1")
    assert lake.positions.tolist() == [[x, y] for y in range(4) for x in range(4)]
    cliff = from_gymnasium("CliffWalking-v1")
    assert cliff.positions[12].tolist() == [0, 1] and cliff.positions[-1].tolist() == [11, 3]
    taxi = from_gymnasium("Taxi-v4").positions
    for s in range(0, 500, 11):  # row, column, passenger, destination, as Taxi counts its states
        line, column, passenger, destination = s // 100, s // 20 % 5, s // 4 % 5, s % 4
        assert taxi[s].tolist() == [column + 6 * passenger, line + 6 * destination]


def test_marks_of_environments():
    pytest.importorskip("gymnasium")
    lake = from_gymnasium("FrozenLake-v1")
    assert lake.marks == {0: "S", 5: "H", 7: "H", 11: "H", 12: "H", 15: "G"}
    cliff = from_gymnasium("CliffWalking-v1")
    assert cliff.marks == {36: "S", **dict.fromkeys(range(37, 47), "C"), 47: "G"}
    taxi = from_gymnasium("Taxi-v4").marks
    places = [(0, 0), (0, 4), (4, 0), (4, 3)]  # R, G, Y and B
    for s in range(500):
        here, passenger, destination = (s // 100, s // 20 % 5), s // 4 % 5, s % 4
        waits = passenger < 4 and here == places[passenger]
        assert taxi.get(s) == ("D" if here == places[destination] else "P" if waits else None), s


def test_marks_belong_to_the_world_and_are_saved(tmp_path):
    world = World(np.eye(3)[None], states=["a", "b", "c"], marks={"c": "end", "a": "S"})
    assert world.marks == {0: "S", 2: "end"} and list(world.marks) == [0, 2]
    assert world.with_prior(None).marks == world.with_resets().marks == world.marks
    world.save(tmp_path / "world.npz")
    assert load_world(tmp_path / "world.npz").marks == world.marks
    World(np.eye(3)[None]).save(tmp_path / "plain.npz")
    assert load_world(tmp_path / "plain.npz").marks == {}
    for marks, names in [
        (["S"], ("marks", ["S"], "mapping")),
        ({"a": ""}, ("mark of state", "1 to 3")),
        ({"a": "long"}, ("mark of state", "'long'", "1 to 3")),
        ({"a": 3}, ("mark of state", 3, "1 to 3")),
        ({"d": "S"}, ("state of marks", "'d'")),
    ]:
        with raises(ValueError, *names):
            World(np.eye(3)[None], states=["a", "b", "c"], marks=marks)


def test_actions_named_after_directions_have_them():
    theta = np.tile(np.eye(2), (5, 1, 1))
    world = World(theta, actions=["North", "left", "jump", 3, "down"])
    assert action_directions(world) == [(0, -1), (-1, 0), None, None, (0, 1)]
    assert action_directions(maze(0, side=2, n_transporters=0)) == [(0, -1), (0, 1), (-1, 0), (1, 0)]
    assert action_directions(one_two_three_world(0, n_states=4)) == [None] * 3


def test_grids_are_worlds_on_a_lattice_that_move_step_by_step():
    for world in (berlyne.four_rooms(), berlyne.grid_world(4), berlyne.n_room(2, 3), from_gymnasium("CliffWalking-v1")):
        assert is_grid(world), world
    for world in (maze(0, side=3, n_transporters=0), berlyne.river_swim(), berlyne.deep_sea(4), dense_world(0)):
        assert not is_grid(world), world
    jumps = World(np.full((1, 9, 9), 1 / 9), positions=[(s % 3, s // 3) for s in range(9)])
    assert not is_grid(jumps)


def test_passages_of_a_grid_are_where_a_transition_leads_across():
    lines = ["##  ", "    ", " ## "]  # cells are blanks
    cells = [(i, j) for i, line in enumerate(lines) for j, cell in enumerate(line) if cell == " "]
    number = {cell: s for s, cell in enumerate(cells)}
    theta = np.zeros((2, len(cells), len(cells)))
    for (i, j), s in number.items():
        theta[0, s, number.get((i, j + 1), s)] = 1.0  # right
        theta[1, s, s] = 1.0
    theta[1, number[2, 0]] = np.eye(len(cells))[number[1, 0]]  # up, from one cell only
    world = World(theta, positions=[(j, i) for i, j in cells])
    open_sides = {cell: grid_passages(world)[s].tolist() for cell, s in number.items()}
    assert open_sides[0, 2] == [False, False, False, True] and open_sides[0, 3] == [False, False, True, False]
    assert open_sides[1, 0] == [False, True, False, True] and open_sides[2, 0] == [True, False, False, False]
    assert open_sides[1, 3] == [False, False, True, False] and open_sides[2, 3] == [False] * 4


def test_there_is_no_wall_between_two_terminal_states():
    lake = from_gymnasium("FrozenLake-v1")  # it has no walls; 7, 11 and 15 lie below each other and end episodes
    sides = grid_passages(lake)
    for s in range(16):
        line, column = divmod(s, 4)
        assert sides[s].tolist() == [line > 0, line < 3, column > 0, column < 3]


def test_large_worlds_are_not_laid_out(monkeypatch):
    module = sys.modules["berlyne.worlds.layout"]  # whose name in the package is that of the function
    monkeypatch.setattr(module, "_path_lengths", lambda closeness: pytest.fail("it was laid out"))
    world = ring(61)
    positions = places(world)
    assert positions[0].tolist() == [0, 0] and positions[7].tolist() == [7, 0] and positions[8].tolist() == [0, 1]
    plt.close(world.plot().figure)
    assert "<svg" in world._repr_html_()
    with pytest.raises(pytest.fail.Exception, match="laid out"):
        places(ring(60))
