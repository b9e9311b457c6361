"""States coloured by quantities, and the trail of an agent: artists found by their gid."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, World, explore, four_rooms, maze
from berlyne.figures.map_layout import map_of, map_of_model
from berlyne.figures.path import trail_segments
from berlyne.figures.state_quantities import model_quantity
from berlyne.worlds import places


@pytest.fixture(scope="module")
def run():
    return explore(maze(3, side=4, n_transporters=9), "PIG(VI)", n_steps=200, seed=0)


@pytest.fixture(scope="module")
def episodes():
    theta = np.zeros((2, 4, 4))
    theta[0] = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]]
    theta[1] = [[0.5, 0.5, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    world = World(theta, Dirichlet(1.0, n_states=4, n_actions=2), states=list("abcd"), start="a", terminal=["d"])
    return explore(world, "Random", n_steps=60, seed=0)


@pytest.fixture
def ax():
    return Figure().subplots()


def artists(ax, gid):
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def coloured(ax):
    (collection,) = artists(ax, "states")
    return np.asarray(
        collection.get_array().filled(np.nan) if np.ma.isMA(collection.get_array()) else collection.get_array()
    )


def bar_label(ax):
    (bar,) = [other for other in ax.figure.axes if other is not ax]
    return bar.get_ylabel() or bar.get_xlabel()


def test_rooms_have_the_missing_information_of_their_rows(run, ax):
    model = run.model_at(50)
    assert model.plot("missing information", ax, world=run.world) is ax
    theta, theta_hat, possible = run.world.theta, model.theta_hat, run.world.theta > 0
    bits = np.zeros(theta.shape)
    bits[possible] = theta[possible] * np.log2(theta[possible] / theta_hat[possible])
    np.testing.assert_allclose(coloured(ax), bits.sum(axis=(0, 2)), atol=1e-12)
    assert coloured(ax).sum() == pytest.approx(run.missing_information[50])
    assert bar_label(ax) == "missing information (bits)"


def test_visits_are_counted_and_utilities_have_a_part_for_each_action(run):
    ax = run.model.plot("visits", world=run.world)
    np.testing.assert_array_equal(coloured(ax), np.bincount(run.states[:-1], minlength=16))
    ax = run.model.plot("PIG", world=run.world)
    np.testing.assert_array_equal(coloured(ax), berlyne.pig(run.model).T.ravel())
    assert bar_label(ax) == "PIG (bits)"
    middle = artists(ax, "states")[0].get_paths()[4 * 5 + 3].vertices[:-1].mean(axis=0) - places(run.world)[5]
    assert middle[0] > 0.2 and abs(middle[1]) < 1e-9  # room 5, action 3, "right"
    ax = run.model.plot("PMC", world=run.world, rows=False)
    np.testing.assert_array_equal(coloured(ax), berlyne.pmc(run.model).max(axis=0))
    assert bar_label(ax) == "largest PMC"


def test_expected_missing_information_needs_no_world(run):
    ax = run.model.plot()
    np.testing.assert_allclose(coloured(ax), berlyne.parameter_gain(run.model).sum(axis=0))
    assert bar_label(ax) == "expected missing information (bits)" and artists(ax, "labels")


def test_custom_values_by_state_and_by_row(episodes):
    by_state, by_row = np.arange(4.0), np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(coloured(episodes.model.plot(by_state)), by_state)
    ax = episodes.model.plot(by_row, world=episodes.world)
    np.testing.assert_array_equal(coloured(ax), by_row.T.ravel())
    first, second = (path.vertices.mean(axis=0) - places(episodes.world)[0] for path in _paths(ax)[:2])
    assert first[0] > 0 > second[0]  # clockwise from the top
    np.testing.assert_array_equal(coloured(episodes.model.plot(by_row, rows=False)), by_row.max(axis=0))


def _paths(ax):
    return artists(ax, "states")[0].get_paths()


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        ("missing information", {}, r"^missing information needs the true world; pass world="),
        (
            "boredom",
            {},
            r"^`what` is 'boredom'; it must be an array, or one of missing information, expected .* rarity, .*$",
        ),
        (
            np.zeros(3),
            {},
            r"^`what` is an array of shape \(3,\); it must have one number for each state, \(4,\), or for each",
        ),
        (["x"], {}, r"^`what` is \['x'\]; it must have one number"),
        (np.zeros(4), {"rows": True}, r"^`what` has one number for each state; rows=True needs one for each row"),
        ("visits", {"world": four_rooms()}, r"^the world has 104 states and the model 4; they must be the same$"),
    ],
)
def test_invalid_quantities_give_one_sentence(episodes, quantity, options, message):
    with pytest.raises(ValueError, match=message):
        episodes.model.plot(quantity, **options)


def test_ends_of_episodes_have_no_colour(episodes):
    values = coloured(episodes.model.plot("visits", world=episodes.world))
    assert np.isnan(values[3]) and not np.any(np.isnan(values[:3]))


def test_more_actions_than_a_node_has_room_for_show_the_largest():
    world = World(np.full((9, 3, 3), 1 / 3))
    model = berlyne.InternalModel(Dirichlet(1.0, n_states=3, n_actions=9))
    values = np.random.default_rng(0).random((9, 3))
    np.testing.assert_array_equal(coloured(model.plot(values, world=world)), values.max(axis=0))


def test_squares_have_their_parts_on_the_sides_that_actions_are_named_after():
    world = four_rooms()
    ax = berlyne.InternalModel(world.prior).plot("PIG", world=world)
    for a, (dx, dy) in enumerate([(0, -1), (0, 1), (-1, 0), (1, 0)]):  # up, down, left, right
        middle = _paths(ax)[4 * 7 + a].vertices[:-1].mean(axis=0) - places(world)[7]
        np.testing.assert_allclose(middle, [dx / 3, dy / 3])


def test_a_matrix_has_a_line_for_each_action(ax):
    model = berlyne.InternalModel(Dirichlet(1.0, n_states=80, n_actions=3), actions=["l", "m", "r"])
    model.observe(4, "m", 5)
    model.plot("visits", ax, rows=True)
    (image,) = artists(ax, "matrix")
    expected = np.zeros((3, 80))
    expected[1, 4] = 1.0
    np.testing.assert_array_equal(image.get_array(), expected)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["l", "m", "r"]


def test_an_explorer_shows_its_own_utility_and_where_it_is(episodes, ax):
    explorer = Explorer(episodes.world.prior, "PMC(greedy)", states=list("abcd"))
    assert explorer.here is None and artists(explorer.plot(), "agent") == []
    explorer.observe("a", 0, "b")
    assert explorer.here == "b" and explorer.plot(ax=ax, world=episodes.world) is ax
    np.testing.assert_array_equal(coloured(ax)[:6], explorer.utility().T.ravel()[:6])
    (agent,) = artists(ax, "agent")
    np.testing.assert_array_equal(np.ravel(agent.get_data()), places(episodes.world)[1])
    assert bar_label(ax) == "PMC"
    expected = explorer.expected_missing_information().rows.sum(axis=0)
    np.testing.assert_allclose(coloured(explorer.plot("expected missing information")), expected)


def test_states_that_are_not_discovered_have_no_colour():
    world = maze(0, side=3, n_transporters=5).with_prior(ChineseRestaurant())
    run = explore(world, "Random", n_steps=4, seed=0)
    values = coloured(run.model.plot("visits", world=world))
    met = set(run.states.tolist())
    assert set(np.flatnonzero(~np.isnan(values)).tolist()) == met
    assert values[run.states[0]] == np.count_nonzero(run.states[:-1] == run.states[0])
    assert run.model.plot() is not None


def test_a_path_has_a_piece_for_every_step_and_jumps_where_rooms_are_not_neighbours(run):
    drawn = map_of(run.world)
    pieces = trail_segments(drawn, run, 150, 150)
    assert [piece.t for piece in pieces] == list(range(150))
    side = run.world.geometry.side
    s, z = run.states[:150], run.next_states[:150]
    apart = np.abs(s // side - z // side) + np.abs(s % side - z % side)
    assert [piece.jump for piece in pieces] == (apart > 1).tolist() and (apart > 1).any()
    for i, piece in enumerate(pieces):
        assert np.linalg.norm(piece.path.vertices[0] - places(run.world)[s[i]]) < 0.2
        assert np.linalg.norm(piece.path.vertices[-1] - places(run.world)[z[i]]) < 0.2


@pytest.mark.parametrize("world", [maze(3), berlyne.dense_world(3)])
def test_no_jump_leaves_the_map(world):
    drawn = map_of(world)
    left, right, top, bottom = drawn.frame
    jumps = [
        piece.path
        for piece in trail_segments(drawn, explore(world, "Unembodied", n_steps=400, seed=2), 400, 400)
        if piece.jump
    ]
    assert len(jumps) > 100
    u = np.linspace(0, 1, 20)[:, None]
    for begin, by, end in (np.asarray(path.vertices) for path in jumps):
        x, y = ((1 - u) ** 2 * begin + 2 * u * (1 - u) * by + u**2 * end).T
        assert left <= x.min() and x.max() <= right and top <= y.min() and y.max() <= bottom


def test_arrows_are_fainter_than_the_trail_that_goes_over_them():
    world = berlyne.dense_world(1)
    exploration = explore(world, "PIG(VI)", n_steps=50, seed=0)
    opaque, faded = (artists(ax, "arrows")[0].get_edgecolor()[:, 3] for ax in (world.plot(), exploration.plot_path(50)))
    assert opaque.min() == 1.0 and faded.max() < 0.6
    many = World(np.roll(np.eye(61), 1, axis=1)[None], Dirichlet(1.0, n_states=61, n_actions=1))
    assert len(artists(explore(many, "Random", n_steps=5).plot_path(5), "matrix")) == 1


def test_names_of_small_nodes_that_are_divided_are_beside_them():
    explorer = Explorer(Dirichlet(1.0, n_states=60, n_actions=3), "PIG(VI)")
    for ax, beside in ((explorer.plot(), True), (explorer.plot(rows=False), False)):
        ax.figure.draw_without_rendering()
        places_, radius = map_of_model(explorer.model).places, map_of_model(explorer.model).radius
        texts = [text for text in ax.texts if text.get_gid() == "labels"]
        assert [text.get_text() for text in texts] == [str(s) for s in range(60)]
        boxes = [text.get_window_extent().transformed(ax.transData.inverted()) for text in texts]
        for s, box in enumerate(boxes):
            near = np.clip(places_, [box.x0, min(box.y0, box.y1)], [box.x1, max(box.y0, box.y1)])
            touched = np.flatnonzero(np.linalg.norm(near - places_, axis=1) < radius)
            assert touched.tolist() == ([] if beside else [s])
            assert np.linalg.norm(np.array(texts[s].get_position()) - places_, axis=1).argmin() == s
        assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_the_beginning_of_another_episode_is_a_jump(episodes):
    pieces = trail_segments(map_of(episodes.world), episodes, 60, 60)
    resets = [piece.t for piece in pieces if piece.jump]
    assert resets == np.flatnonzero(episodes.next_states == 3).tolist() and resets


def test_the_agent_and_its_trail_are_drawn_at_the_given_time(run, ax):
    assert run.plot_path(120, ax, last=7) is ax
    (agent,), (walks,), (leaps,) = artists(ax, "agent"), artists(ax, "walks"), artists(ax, "leaps")
    np.testing.assert_array_equal(np.ravel(agent.get_data()), places(run.world)[run.states[120]])
    assert len(walks.get_paths()) + len(leaps.get_paths()) == 7
    alpha = walks.get_edgecolor()[:, 3]
    assert np.all(np.diff(alpha) > 0)  # the older the fainter
    end = run.plot_path()
    np.testing.assert_array_equal(np.ravel(artists(end, "agent")[0].get_data()), places(run.world)[run.states[-1]])
    start = run.plot_path(0)
    assert artists(start, "walks")[0].get_paths() == []


def test_a_path_can_be_coloured_by_missing_information_at_that_time(run, ax):
    run.plot_path(40, ax, what="missing information")
    assert coloured(ax).sum() == pytest.approx(run.missing_information[40])


def test_a_path_among_many_states_is_dots_on_the_matrix(ax):
    n = 70
    world = World(np.roll(np.eye(n), 1, axis=1)[None], Dirichlet(1.0, n_states=n, n_actions=1), start=0)
    explore(world, "Random", n_steps=20, seed=0).plot_path(10, ax, last=3)
    (dots,), (agent,) = artists(ax, "dots"), artists(ax, "agent")
    np.testing.assert_array_equal(dots.get_offsets(), [[8, 7], [9, 8], [10, 9]])
    assert agent.get_ydata()[0] == 10


@pytest.mark.parametrize(
    ("t", "last", "message"),
    [(201, 3, r"^t is 201; it must be a whole number from 0 to 200$"), (3, -1, r"^last is -1; it must be a whole")],
)
def test_invalid_times_are_refused(run, t, last, message):
    with pytest.raises(ValueError, match=message):
        run.plot_path(t, last=last)


def test_rows_add_up_or_show_their_largest():
    model = berlyne.InternalModel(Dirichlet(1.0, n_states=3, n_actions=2))
    model.observe_many([(0, 1, 2), (0, 0, 1), (0, 0, 2)])
    assert model_quantity(model, "visits").values.tolist() == [3.0, 0.0, 0.0]
    assert model_quantity(model, "visits", rows=True).values.tolist() == [[2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_array_equal(model_quantity(model, "utility").values, berlyne.pig(model))
