"""Artists of a drawn maze, found by their gid."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import berlyne
from berlyne.figures.maze import draw_maze, draw_maze_and_rows, shade_rooms
from messages import raises


@pytest.fixture
def world():
    return berlyne.maze(seed=0)


@pytest.fixture
def ax():
    return Figure().subplots()


def artists(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def segments(ax, gid):
    (collection,) = artists(ax, gid)
    return np.array(collection.get_segments())


def test_every_wall_is_drawn_once(world, ax):
    draw_maze(world, ax)
    walls = segments(ax, "walls")
    assert len(walls) == 2 * 6 * 7 - 35  # sides of rooms less passages
    assert len(np.unique(walls.reshape(len(walls), 4).round(6), axis=0)) == len(walls)
    np.testing.assert_allclose(np.ptp(walls, axis=1).sum(axis=1), 1.0)


def test_no_wall_stands_in_a_passage(world, ax):
    draw_maze(world, ax)
    middles = {tuple(middle) for middle in segments(ax, "walls").mean(axis=1).round(6).tolist()}
    for s in range(36):
        x, y = s % 6 + 0.5, s // 6 + 0.5
        sides = [(x, y - 0.5), (x, y + 0.5), (x - 0.5, y), (x + 0.5, y)]  # up, down, left, right
        assert [side not in middles for side in sides] == world.geometry.passages[s].tolist()


def test_transporters_lie_on_their_own_face_inside_their_room(world, ax):
    draw_maze(world, ax)
    drawn = set()
    for x, y in segments(ax, "transporters").mean(axis=1):
        inside = x % 1 - 0.5, y % 1 - 0.5  # from the centre of the room
        axis = int(np.argmax(np.abs(inside)))
        direction = (2, 0)[axis] + (inside[axis] > 0)
        drawn.add((int(y) * 6 + int(x), int(direction)))
    assert drawn == {(int(s), int(d)) for s, d in np.argwhere(world.geometry.transporters)}


def test_target_is_in_the_base_room(world, ax):
    draw_maze(world, ax)
    rings = artists(ax, "base")
    assert len(rings) == 3
    for ring in rings:
        x, y = ring.get_center()
        assert int(y) * 6 + int(x) == world.geometry.base


def test_arrows_are_darker_where_more_probable(world, ax):
    maze = world.geometry
    varied = [s for s in range(36) if len(set(maze.destination[s].tolist())) == 4 and maze.transporters[s].any()]
    a, s = 2, varied[0]  # four destinations: two passages, a wall and a transporter
    draw_maze(world, ax, rows=[(a, s)])
    shades = {}
    for kind in ("passage", "wall", "transporter"):
        for line in artists(ax, kind):
            step = np.array(line.get_xydata()[1]) - line.get_xydata()[0]
            direction = int(np.argmax([-step[1], step[1], -step[0], step[0]]))
            shades[direction] = to_rgb(line.get_color())[0]
            assert (kind == "passage") == maze.passages[s, direction]
            assert (kind == "transporter") == maze.transporters[s, direction]
    probability = world.theta[a, s, maze.destination[s]]
    assert sorted(shades, key=shades.get) == np.argsort(-probability).tolist()


def joined(world, s):
    """Directions out of a room that share their destination with another direction, by destination."""
    destination = world.geometry.destination[s].tolist()
    return {d: [i for i in range(4) if destination[i] == d] for d in destination if destination.count(d) > 1}


@pytest.mark.parametrize("s", range(36))
def test_directions_with_one_destination_are_joined_by_an_arc_from_one_to_the_other(world, ax, s):
    draw_maze(world, ax, rows=[(1, s)])
    arcs = artists(ax, "joint")
    expected = joined(world, s)
    assert len(arcs) == len(expected)
    centre = np.array([s % 6 + 0.5, s // 6 + 0.5])
    steps = np.array([[0, -1], [0, 1], [-1, 0], [1, 0]])
    for arc in arcs:
        ends = [(arc.get_xydata()[i] - centre) / 0.2 for i in (0, -1)]
        directions = {int(np.argmax(steps @ end)) for end in ends}
        assert all(np.max(steps @ end) == pytest.approx(1.0) for end in ends)
        assert any(directions <= set(group) for group in expected.values())


@pytest.mark.parametrize("s", range(36))
def test_every_probability_is_written_once(world, s):
    for a in (0, 3):
        drawn = draw_maze_and_rows(world, [(a, s)])
        written = sorted(text.get_text() for text in artists(drawn.figure.axes[0], "probability"))
        _, p = world.rows.row(a, s)
        assert written == sorted(f"{x:.2f}" if x >= 0.005 else "<.005" for x in p)
        places = [text.get_position() for text in artists(drawn.figure.axes[0], "probability")]
        apart = [np.hypot(*np.subtract(one, other)) for one in places for other in places if one is not other]
        assert min(apart, default=1.0) > 0.3


def test_a_colour_bar_shows_probabilities(world):
    drawn = draw_maze_and_rows(world, [(0, 0)])
    assert drawn.figure.axes[1].get_ylabel() == "probability of the transition"
    assert drawn.figure.axes[1].get_ylim() == (0, 1)


def test_drawn_rows_are_two_typical_ones_or_those_requested(world, ax):
    draw_maze(world, ax)
    assert len(artists(ax, "start")) == 2
    assert not artists(draw_maze(world, Figure().subplots(), rows=()), "start")


@pytest.mark.parametrize("side", [1, 2, 9])
def test_mazes_of_any_size(side):
    axes = draw_maze(berlyne.maze(seed=1, side=side, n_transporters=3), Figure().subplots())
    assert len(segments(axes, "walls")) == 2 * side * (side + 1) - (side * side - 1)


def test_triangles_carry_the_utility_of_their_action(world, ax):
    utility = np.arange(4.0 * 36).reshape(4, 36)
    shaded = shade_rooms(world, utility, ax)
    assert len(artists(ax, "walls")) == 1
    for path, value in zip(shaded.get_paths(), shaded.get_array(), strict=True):
        a, s = divmod(int(value), 36)
        x, y = path.vertices[1:3].mean(axis=0) - (s % 6 + 0.5, s // 6 + 0.5)
        assert (x, y) == pytest.approx([(0, -0.5), (0, 0.5), (-0.5, 0), (0.5, 0)][a])


def test_a_world_without_walls_is_refused(ax):
    with raises(ValueError, "not a maze"):
        draw_maze(berlyne.dense_world(seed=0), ax)


@pytest.mark.parametrize(("row", "wrong"), [((4, 0), ("a", "4")), ((0, 36), ("s", "36")), ((-1, 0), ("a", "-1"))])
def test_rows_that_do_not_exist_are_refused(world, ax, row, wrong):
    with raises(ValueError, *wrong, "0"):
        draw_maze(world, ax, rows=[row])


def test_a_utility_of_the_wrong_shape_is_refused(world, ax):
    with raises(ValueError, "(4, 36)"):
        shade_rooms(world, np.zeros((36, 4)), ax)
