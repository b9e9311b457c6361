"""What is drawn, not how it looks: artists are found by their gid."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import berlyne
from berlyne.figures.maze import draw_maze, shade_rooms


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
            shades[direction] = float(line.get_color())
            assert (kind == "passage") == maze.passages[s, direction]
            assert (kind == "transporter") == maze.transporters[s, direction]
    probability = world.theta[a, s, maze.destination[s]]
    assert sorted(shades, key=shades.get) == np.argsort(-probability).tolist()


def test_rows_are_two_telling_ones_or_those_asked_for(world, ax):
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
    with pytest.raises(ValueError, match="is not a maze"):
        draw_maze(berlyne.dense_world(seed=0), ax)


@pytest.mark.parametrize(("row", "wrong"), [((4, 0), "a is 4"), ((0, 36), "s is 36"), ((-1, 0), "a is -1")])
def test_rows_that_do_not_exist_are_refused(world, ax, row, wrong):
    with pytest.raises(ValueError, match=f"{wrong}; it must be a whole number from 0"):
        draw_maze(world, ax, rows=[row])


def test_a_utility_of_the_wrong_shape_is_refused(world, ax):
    with pytest.raises(ValueError, match=r"must be \(4, 36\)"):
        shade_rooms(world, np.zeros((36, 4)), ax)
