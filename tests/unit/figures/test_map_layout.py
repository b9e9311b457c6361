"""Maps of worlds: artists found by their gid."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import berlyne
from berlyne import Dirichlet, World, dense_world, four_rooms, maze, one_two_three_world, river_swim
from berlyne.figures.arrows import choose_bends, curved_arrow, least_crowded_direction
from berlyne.figures.map_layout import Map, map_of, map_of_model, points_per_unit
from berlyne.figures.style import BLUE, PROBABILITY, SHADES
from berlyne.worlds import places
from messages import raises

NAMES = ["kitchen", "hall", "a bedroom with a very long name", "garden", "$\\frac{<script>}"]


def house(**more):
    theta = np.zeros((2, 5, 5))
    theta[0] = np.roll(np.eye(5), 1, axis=1)
    theta[1] = 0.75 * np.eye(5) + 0.25 * np.roll(np.eye(5), 1, axis=1)
    more = {"states": NAMES, "actions": ["go", "wait"], "start": "hall", "terminal": ["garden"], **more}
    return World(theta, Dirichlet(1.0, n_states=5, n_actions=2), **more)


def line(n):
    """States in a ring, with no positions."""
    return World(np.stack([np.roll(np.eye(n), 1, axis=1)]))


def artists(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.mark.parametrize(
    ("world", "kind"),
    [
        (maze(0), "maze"),
        (four_rooms(), "grid"),
        (berlyne.grid_world(11), "grid"),
        (river_swim(), "graph"),
        (dense_world(0), "graph"),
        (one_two_three_world(0), "graph"),
        (house(), "graph"),
        (house(positions=[(0, 0), (1, 0), (2, 0), (2, 1), (0, 1)]), "graph"),  # in lines, but it jumps about
        (line(60), "graph"),
        (line(61), "matrix"),
        (maze(0, side=9), "maze"),
    ],
)
def test_every_world_has_the_map_that_fits_it(world, kind):
    drawn = map_of(world)
    assert drawn.kind == kind
    np.testing.assert_array_equal(drawn.places, places(world))
    ax = Figure().subplots()
    assert world.plot(ax) is ax and world.plot(ax=ax) is ax
    assert bool(artists(ax, "states")) == (kind != "matrix") and bool(artists(ax, "matrix")) == (kind == "matrix")


def test_transitions_are_as_probable_as_the_best_action_makes_them_or_the_one_asked_for():
    world = house()
    both, go = map_of(world), map_of(world, "wait")
    theta = world.theta
    for drawn, expected in ((both, theta.max(axis=0)), (go, theta[1])):
        strongest = np.zeros((5, 5))
        strongest[drawn.begin, drawn.end] = drawn.p
        np.testing.assert_array_equal(strongest, expected)
    with raises(ValueError, "action", "'jump'", "'go'", "'wait'"):
        world.plot(action="jump")


def test_a_graph_has_an_arrow_for_each_transition_as_dark_as_it_is_probable():
    ax = Figure().subplots()
    house().plot(ax, action="wait", bar=False)
    (arrows,) = artists(ax, "arrows")
    assert len(arrows.get_paths()) == 10
    expected = sorted([PROBABILITY(0.75 / 0.8)] * 5 + [PROBABILITY(0.25 / 0.8)] * 5)  # 0.8 is black
    np.testing.assert_allclose(sorted(map(tuple, arrows.get_edgecolor())), expected)


@pytest.mark.parametrize(("n_states", "each"), [(10, 10), (12, 12), (20, 8), (60, 2)])
def test_only_the_likeliest_transitions_are_drawn_if_there_are_many(n_states, each):
    ax = Figure().subplots()
    world = dense_world(0, n_states=n_states)
    world.plot(ax, bar=False)
    (arrows,), most = artists(ax, "arrows"), world.theta.max(axis=0)
    drawn = np.sort(np.sort(most, axis=1)[:, -each:].ravel())
    darkest = np.ceil(5 * most.max()) / 5
    np.testing.assert_allclose(arrows.get_edgecolor(), PROBABILITY(drawn / darkest))
    assert [text.get_text() for text in artists(ax, "note")] == (
        [f"arrows: {each} likeliest transitions\nfrom each state"] if each < n_states else []
    )


def test_few_transitions_are_all_drawn_even_if_one_state_has_many():
    theta = np.zeros((1, 30, 30))
    theta[0, :, 0] = 1.0
    theta[0, 0] = 1 / 30
    ax = Figure().subplots()
    World(theta).plot(ax, bar=False)
    (arrows,) = artists(ax, "arrows")
    assert len(arrows.get_paths()) == 59 and not artists(ax, "note")


def test_labels_are_written_as_they_are_shortened_and_fit():
    world = house()
    ax = world.plot()
    texts = artists(ax, "labels")
    written = [text.get_text() for text in texts]
    assert written == ["kitchen", "hall", "a bedroom w…", "garden", "$\\frac{<scr…"]
    figure, drawn = ax.figure, map_of(world)
    figure.canvas.draw()
    inside = 2 * drawn.radius * points_per_unit(ax, drawn) * figure.dpi / 72
    for text in texts:
        box = text.get_window_extent()
        assert box.width < 1.12 * inside
        assert text.get_fontsize() >= 4.2
    for one, other in combinations(texts, 2):
        assert not one.get_window_extent().overlaps(other.get_window_extent())
    assert not artists(world.plot(labels=False), "labels")


@pytest.mark.parametrize("n", [3, 12, 30, 60])
def test_numbers_of_states_can_be_read_and_nodes_do_not_touch(n):
    rng = np.random.default_rng(n)
    theta = np.roll(np.eye(n), 1, axis=1) + (rng.random((n, n)) < 1.5 / n)
    world = World((theta / theta.sum(axis=1, keepdims=True))[None])
    ax, drawn = world.plot(), map_of(world)
    assert all(text.get_fontsize() >= 4.2 for text in artists(ax, "labels"))
    apart = np.linalg.norm(drawn.places[:, None] - drawn.places[None], axis=2) + 99 * np.eye(n)
    assert apart.min() > 2 * drawn.radius
    left, right, top, bottom = drawn.frame
    assert np.all((drawn.places - drawn.radius > (left, top)) & (drawn.places + drawn.radius < (right, bottom)))
    assert ax.get_ylim() == (bottom, top)  # y points down


def test_where_episodes_begin_and_end_is_marked():
    ax = Figure().subplots()
    world = house()
    world.plot(ax)
    for gid, s, colour in (("starts", 1, BLUE), ("ends", 3, "black")):
        (marks,) = artists(ax, gid)
        np.testing.assert_allclose([path.vertices[:-1].mean(axis=0) for path in marks.get_paths()], [places(world)[s]])
        assert to_rgba(colour) == tuple(marks.get_edgecolor()[0])
    anywhere = Figure().subplots()
    dense_world(0).plot(anywhere)
    assert artists(anywhere, "starts")[0].get_paths() == []


def test_a_grid_has_walls_where_nothing_leads_across():
    ax = Figure().subplots()
    world = four_rooms()
    world.plot(ax, action="up")
    (walls,), (lines,) = artists(ax, "walls"), artists(ax, "lines")
    cells = {tuple(place) for place in places(world).tolist()}
    faces = [(x, y, dx, dy) for x, y in cells for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    outer = [face for face in faces if (face[0] + face[2], face[1] + face[3]) not in cells]
    inner = [face for face in faces if (face[0] + face[2], face[1] + face[3]) in cells]
    assert (len(walls.get_segments()), len(lines.get_segments())) == (len(outer), len(inner) // 2)
    middles = sorted(map(tuple, np.mean(walls.get_segments(), axis=1).tolist()))
    assert middles == sorted((x + dx / 2, y + dy / 2) for x, y, dx, dy in outer)


def test_a_jump_between_squares_is_dashed():
    pytest.importorskip("gymnasium")
    ax = Figure().subplots()
    cliff = berlyne.from_gymnasium("CliffWalking-v1")
    cliff.plot(ax)
    (jumps,) = artists(ax, "jumps")
    s, z = np.nonzero(cliff.theta.max(axis=0))
    apart = np.abs(cliff.positions[s] - cliff.positions[z]).sum(axis=1)
    assert len(jumps.get_paths()) == np.count_nonzero(apart > 1) > 0
    assert jumps.get_linestyle()[0][1] is not None


def test_a_matrix_shows_every_transition_and_blocks_their_largest():
    ax = Figure().subplots()
    world = line(70)
    world.plot(ax)
    (image,) = artists(ax, "matrix")
    np.testing.assert_array_equal(image.get_array().filled(0.0), world.theta[0])
    large = Figure().subplots()
    line(1000).plot(large)
    block = artists(large, "matrix")[0].get_array().filled(0.0)
    assert block.shape == (400, 400) and set(np.unique(block)) == {0.0, 1.0}
    assert set(zip(*np.nonzero(block), strict=True)) == {
        (s * 400 // 1000, (s + 1) % 1000 * 400 // 1000) for s in range(1000)
    }


def test_a_model_without_a_world_lies_still_while_it_learns():
    prior = maze(0, side=3, n_transporters=3).prior
    model = berlyne.InternalModel(prior)
    before = map_of_model(model)
    assert len(before.begin) == 0
    s = 0
    s_next = int(prior.support.indices[0])
    model.observe(s, 0, s_next)
    after = map_of_model(model)
    np.testing.assert_array_equal(before.places, after.places)
    assert (after.begin.tolist(), after.end.tolist(), after.p.tolist()) == ([s], [s_next], [1.0])


def test_arrows_keep_clear_of_states_in_between():
    where = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 5.0]])
    begin, end = np.array([0, 0, 2]), np.array([1, 2, 0])
    bends = choose_bends(where, begin, end, 0.2)
    assert bends[0] == 0.12 and bends[1] == bends[2] > 0.12
    for s, z, bend in zip(begin, end, bends, strict=True):
        by = (where[s] + where[z]) / 2 + bend * (where[z] - where[s]) @ [[0, 1], [-1, 0]]
        for u in np.linspace(0.1, 0.9, 50):
            point = (1 - u) ** 2 * where[s] + 2 * u * (1 - u) * by + u**2 * where[z]
            assert all(np.linalg.norm(point - where[k]) > 0.2 for k in range(4) if k not in (s, z))
    alone = curved_arrow(where[0], where[2], 0.2, 1.0, 0.24)
    box = alone.path.get_extents()
    np.testing.assert_allclose(alone.extent().min(axis=0), box.min, atol=0.02)
    np.testing.assert_allclose(alone.extent().max(axis=0), box.max, atol=0.02)


def test_loops_go_where_there_is_room():
    here = np.zeros(2)
    for others, expected in (([[0, -1], [1, 0], [-1, 0]], (0, 1)), ([[0, 1], [1, 0], [-1, 0]], (0, -1))):
        np.testing.assert_allclose(
            least_crowded_direction(here, np.array(others, float), np.ones(3, bool)), expected, atol=1e-9
        )
    assert least_crowded_direction(here, np.array([[0.0, 1.0]]), np.ones(1, bool))[1] < 0.5
    assert least_crowded_direction(here, np.empty((0, 2)), np.ones(0, bool)).shape == (2,)


def lightness(colours):
    """L* a* b* of colours (n, 3), by the formulae of CIE 1976 for the white D65."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    f = np.cbrt(linear @ np.array(to_xyz).T / [0.95047, 1.0, 1.08883])
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_shades_are_even_to_the_eye_and_ever_darker_in_grey():
    lightnesses = lightness(SHADES(np.linspace(0, 1, 17))[:, :3])
    steps = np.linalg.norm(np.diff(lightnesses, axis=0), axis=1)
    assert steps.max() / steps.min() < 1.25
    assert np.all(np.diff(lightnesses[:, 0]) < -1.0) and lightnesses[-1, 0] > 45  # black lines stay visible


def test_a_map_of_one_state():
    world = World(np.ones((1, 1, 1)))
    assert isinstance(map_of(world), Map) and world.plot() is not None


@pytest.mark.parametrize(
    ("starts", "ends", "drawn"),
    [
        ("bc", "d", [1, 2]),  # two of three
        ("abc", "d", []),  # anywhere but at the end
        ("ab", "", [0, 1]),
        ("abc", "", []),
        ("a", "bcd", [0]),
        ("ab", "cd", []),
    ],
)
def test_starts_are_drawn_if_they_are_at_most_half_of_the_states_that_are_no_ends(starts, ends, drawn):
    chances = {label: 1 / len(starts) for label in starts}
    world = World(np.full((1, 4, 4), 0.25), states=list("abcd"), start=chances, terminal=list(ends))
    assert map_of(world).starts == drawn
    (marks,) = artists(world.plot(), "starts")
    assert len(marks.get_paths()) == len(drawn)
