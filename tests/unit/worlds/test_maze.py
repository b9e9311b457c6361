import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from berlyne import maze
from messages import raises

UP, DOWN, LEFT, RIGHT = range(4)
SEEDS = range(20)


def one_push(geometry, s, direction):
    """Return where a push leads, according to the paper."""
    line, column = divmod(s, geometry.side)
    if geometry.passages[s, direction]:
        step = {UP: (-1, 0), DOWN: (1, 0), LEFT: (0, -1), RIGHT: (0, 1)}[direction]
        return (line + step[0]) * geometry.side + column + step[1]
    return geometry.base if geometry.transporters[s, direction] else s


@pytest.mark.parametrize("law", ["outcomes", "directions"])
@pytest.mark.parametrize("seed", SEEDS)
def test_walls_transporters_and_base(seed, law):
    geometry = maze(seed, law=law).geometry
    walls = ~geometry.passages
    assert geometry.passages.sum() == 2 * 35  # each passage seen from both of its rooms
    assert walls.sum() == 74
    assert geometry.transporters.sum() == 30 and not np.any(geometry.transporters & geometry.passages)
    assert 0 <= geometry.base < 36


@pytest.mark.parametrize("seed", SEEDS)
def test_passages_form_a_spanning_tree(seed):
    """35 passages that connect 36 rooms, each open from both sides, none through the outer wall."""
    geometry = maze(seed).geometry
    room = np.arange(36).reshape(6, 6)
    outer = [(room[0], UP), (room[-1], DOWN), (room[:, 0], LEFT), (room[:, -1], RIGHT)]
    assert not any(np.any(geometry.passages[rooms, side]) for rooms, side in outer)
    s, direction = np.nonzero(geometry.passages)
    other = s + np.array([-6, 6, -1, 1])[direction]
    opposite = np.array([DOWN, UP, RIGHT, LEFT])[direction]
    assert np.all(geometry.passages[other, opposite])
    graph = sp.coo_array((np.ones(len(s)), (s, other)), shape=(36, 36))
    assert connected_components(graph, directed=False)[0] == 1


@pytest.mark.parametrize("law", ["outcomes", "directions"])
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_reach_exactly_the_rooms_one_push_away(seed, law):
    world = maze(seed, law=law)
    for s in range(36):
        reach = {one_push(world.geometry, s, direction) for direction in range(4)}
        for a in range(4):
            assert set(np.flatnonzero(world.theta[a, s])) == reach
            assert set(world.prior.support.row(a, s)) == reach
            assert world.geometry.destination[s, a] == one_push(world.geometry, s, a)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_actions_own_direction_is_its_likeliest_outcome(seed):
    world = maze(seed)
    for a, s in np.ndindex(4, 36):
        assert world.theta[a, s, one_push(world.geometry, s, a)] == world.theta[a, s].max()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_actions_own_direction_has_at_least_a_quarter_if_directions_are_drawn(seed):
    """The largest of four goes to it; two other directions that lead to one room may still add up to more."""
    world = maze(seed, law="directions")
    for a, s in np.ndindex(4, 36):
        assert world.theta[a, s, one_push(world.geometry, s, a)] >= 0.25


def test_defaults_are_the_papers():
    world = maze(0)
    assert (world.n_actions, world.n_states, world.prior.alpha) == (4, 36, 0.25)
    assert maze(0, alpha=2.0).prior.alpha == 2.0


def test_the_smallest_mazes():
    """One room has four wall faces; pushes against a wall or through a transporter both stay there."""
    for n_transporters in (0, 4):
        world = maze(0, side=1, n_transporters=n_transporters)
        assert world.theta.tolist() == [[[1.0]]] * 4
    two = maze(0, side=2, n_transporters=10).geometry
    assert two.passages.sum() == 2 * 3 and np.array_equal(two.transporters, ~two.passages)


@pytest.mark.parametrize("side", [2, 3, 7])
def test_a_maze_of_any_side_has_its_number_of_wall_faces(side):
    geometry = maze(1, side=side, n_transporters=2 * side**2 + 2).geometry
    assert geometry.passages.sum() == 2 * (side**2 - 1)
    assert geometry.transporters.sum() == 2 * side**2 + 2
    with raises(ValueError, f"side {side}", 2 * side**2 + 2, "wall faces"):
        maze(1, side=side, n_transporters=2 * side**2 + 3)


@pytest.mark.parametrize("law", ["outcomes", "directions"])
@pytest.mark.parametrize("alpha", [1e-9, 0.002, 0.05])
def test_small_concentrations_keep_the_support(alpha, law):
    world = maze(0, alpha=alpha, law=law)
    assert np.all(world.rows.data > 0)
    assert world.rows.row_sums(world.rows.data) == pytest.approx(np.ones(144))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"side": 0}, ("side", "0", "1")),
        ({"side": 2.5}, ("side", "2.5")),
        ({"n_transporters": 75}, ("n_transporters", "75", "6", "74")),
        ({"n_transporters": -1}, ("n_transporters", "-1", "0")),
        ({"alpha": 0}, ("alpha", "0", "1e-300")),
        ({"law": "rooms"}, ("law", "'rooms'", "'outcomes'", "'directions'")),
    ],
)
def test_parameters_outside_their_range_are_refused(arguments, message):
    with raises(ValueError, *message):
        maze(0, **arguments)
