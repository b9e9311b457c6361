"""Notebook cards: well-formed, escaped, fast, without figures, and with the right numbers."""

from __future__ import annotations

import time
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.sparse import csr_array

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Experiment, Explorer, InternalModel, World, explore, maze
from berlyne.figures.cards import card
from berlyne.strategies.coordination import Greedy

NASTY = ["<script>alert(1)</script>", "a & b", '"quoted"', "'", "</svg></table>"]
SVG = "{http://www.w3.org/2000/svg}"


def nasty():
    theta = np.stack([np.roll(np.eye(5), 1, axis=1), 0.5 * np.eye(5) + 0.5 * np.roll(np.eye(5), 2, axis=1)])
    prior = Dirichlet(1.0, n_states=5, n_actions=2)
    labels = {"states": NASTY, "actions": ["<b>", "&amp;"], "start": NASTY[0], "terminal": [NASTY[4]]}
    return World(theta, prior, name='<i>house</i> & "garden"', **labels)


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    world = nasty()
    run = explore(world, "PIG(VI)", n_steps=40, seed=0)
    explorer = Explorer(world.prior, "PIG(VI)", states=NASTY, actions=["<b>", "&amp;"])
    explorer.observe(NASTY[0], "<b>", NASTY[1])
    study = Experiment({"<u>": [world]}, ["PIG(VI)", "Random"], n_worlds=1, n_steps=20)
    results = study.run(tmp_path_factory.mktemp("cards") / "a<b.zarr", progress=False)
    return {
        "World": world,
        "Run": run,
        "InternalModel": run.model,
        "Explorer": explorer,
        "Experiment": study,
        "Results": results,
    }


def parsed(thing):
    """The card as a tree: it is well-formed, and what is not escaped would be an element."""
    return ElementTree.fromstring(thing._repr_html_())


def facts(thing):
    return {row.find("th").text: row.find("td").text for row in parsed(thing).iter("tr")}


@pytest.mark.parametrize("name", ["World", "Run", "InternalModel", "Explorer", "Experiment", "Results"])
def test_a_card_is_well_formed_escaped_small_and_has_a_picture(things, name):
    html = things[name]._repr_html_()
    tree = ElementTree.fromstring(html)
    allowed = {"div", "table", "caption", "tbody", "tr", "th", "td"}
    allowed |= {SVG + tag for tag in ("svg", "path", "circle", "rect", "text", "polyline")}
    assert {element.tag for element in tree.iter()} <= allowed
    assert "<script" not in html.lower() and len(html) < 25_000
    (picture,) = tree.iter(SVG + "svg")
    assert picture.get("aria-label") and picture.get("stroke") == "currentColor" and len(picture) > 1
    assert "background:none" in html and "color:inherit" in html
    assert plt.get_fignums() == []


def test_cards_leave_the_plain_repr_alone(things):
    assert repr(things["World"]).startswith("World(") and repr(things["Run"]).startswith("Run(PIG(VI) in ")
    assert repr(things["Experiment"]).startswith("Experiment(") and repr(things["Results"]).startswith("Results(")


def test_a_card_of_a_world_shows_size_starts_and_terminal_states(things):
    lines = facts(things["World"])
    assert lines["states"] == "5" and lines["actions"] == "2: <b>, &amp;" and lines["transitions"] == "15"
    assert lines["start"] == NASTY[0] and lines["terminal states"] == f"1: {NASTY[4]}"
    assert next(parsed(things["World"]).iter("caption")).text == things["World"].name
    texts = [text.text for text in parsed(things["World"]).iter(SVG + "text")]
    assert len(texts) == 5 and texts[0].startswith("<")
    node = max(float(circle.get("r")) for circle in parsed(things["World"]).iter(SVG + "circle"))
    for text in parsed(things["World"]).iter(SVG + "text"):
        assert len(text.text) * 0.56 * float(text.get("font-size")) <= 2 * node  # as wide as letters are on average


def test_a_card_of_a_run_shows_what_it_learned(things):
    run, lines = things["Run"], facts(things["Run"])
    first, last = run.missing_information[0], run.missing_information[-1]
    assert lines["missing information"] == f"{first:.1f} → {last:.1f} bits"
    assert lines["area under the curve"] == f"{run.missing_information.sum():,.0f} bits" and lines["steps"] == "40"
    met = len({*run.states.tolist(), *run.next_states.tolist()})
    assert lines["states visited"] == f"{met} of 5"
    assert lines["episodes"] == str(int(run.episode[-1]) + 1)
    (curve,) = parsed(run).iter(SVG + "polyline")
    y = np.array(curve.get("points").split(), dtype=float)[1::2]
    expected = 110 - 96 * run.missing_information / run.missing_information.max()
    np.testing.assert_allclose(y, expected, atol=0.06)


def test_cards_of_models_and_explorers_show_expected_missing_information(things):
    model, explorer = things["Run"].model, things["Explorer"]
    with pytest.warns(UserWarning, match="z = "):  # the world is more regular than its prior
        expected = model.expected_missing_information()
    lines = facts(model)
    assert (
        lines["expected missing information"] == f"{expected.bits:.1f} bits ({expected.low:.1f} to {expected.high:.1f})"
    )
    assert lines["observations"] == "40"
    tried = {(s, a) for s, a, _ in things["Run"].history}
    assert lines["rows tried"] == f"{len(tried)} of 10"
    assert facts(explorer)["current state"] == NASTY[1]
    strength = [float(c.get("fill-opacity", 0)) for c in parsed(model).iter(SVG + "circle")]
    per_state = expected.rows.sum(axis=0)
    np.testing.assert_allclose(strength, per_state / per_state.max(), atol=0.006)


def test_cards_of_studies_show_their_size_and_cards_of_results_the_best_strategy(things):
    assert facts(things["Experiment"])["explorations"] == "2"
    lines, results = facts(things["Results"]), things["Results"]
    assert lines["explorations"] == "2 of 2"
    areas = results.areas("<u>").values[0]
    best = results.strategies[int(np.argmin(areas))]
    assert lines["smallest area, <u>"] == f"{best} ({areas.min():,.0f} bits)"


def test_mazes_show_their_walls_and_grids_their_squares():
    world = maze(0, side=3, n_transporters=4)
    walls, doors = list(parsed(world).iter(SVG + "path"))
    assert walls.get("d").count("M") == 2 * 3 * 4 - 8  # sides of rooms less passages
    assert doors.get("d").count("M") == 4
    (edges,) = parsed(berlyne.four_rooms()).iter(SVG + "path")
    assert edges.get("d").count("M") == 104


def test_arrows_of_a_graph_have_heads_at_the_rims_of_where_they_lead():
    theta = np.zeros((1, 3, 3))
    theta[0, [0, 1, 2], [1, 2, 2]] = 1.0  # 0 -> 1 -> 2, which stays
    world = World(theta, Dirichlet(1.0, n_states=3, n_actions=1))
    *_, heads = parsed(world).iter(SVG + "path")
    corners = np.array([one.split() for one in heads.get("d").strip("Mz").split("zM")], dtype=float).reshape(-1, 3, 2)
    nodes = list(parsed(world).iter(SVG + "circle"))
    centre = np.array([[float(node.get(c)) for c in ("cx", "cy")] for node in nodes])
    radius = float(nodes[0].get("r"))
    far = np.linalg.norm(corners[:, :, None] - centre, axis=3)  # (heads, corners, states)
    assert sorted(far[:, 0].argmin(axis=1)) == [1, 2, 2]
    np.testing.assert_allclose(far[:, 0].min(axis=1), radius, atol=0.02)
    assert (far.min(axis=2)[:, 1:] > far.min(axis=2)[:, :1]).all()  # the tip is in front
    full = berlyne.dense_world(1)
    *_, heads = parsed(full).iter(SVG + "path")
    assert heads.get("d").count("M") == (full.theta.max(axis=0) >= 0.25).sum()


def test_a_million_states_are_numbers_alone_and_quick():
    n = 10**6
    step = csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    prior = Dirichlet(1.0, n_states=n, n_actions=1)
    card(maze(0, side=2, n_transporters=1))  # imports are not counted
    for thing in (World([step], prior), InternalModel(prior)):
        began = time.process_time()
        html = thing._repr_html_()
        assert time.process_time() - began < 1.0
        assert "<svg" not in html and "1,000,000" in html


def test_thousands_of_states_have_a_strip_and_are_quick():
    prior = Dirichlet(1.0, n_states=3000, n_actions=3)
    explorer = Explorer(prior, "PIG(VI)")
    explorer.observe(0, 0, 1)
    explorer._repr_html_()  # what is compiled is not counted
    for thing in (InternalModel(prior), explorer):
        began = time.process_time()
        html = thing._repr_html_()
        assert time.process_time() - began < 1.0 and "<svg" in html


def test_the_fullest_graph_is_quick_too_and_not_long():
    world = berlyne.dense_world(0, n_states=60)
    world._repr_html_()
    began = time.process_time()
    html = world._repr_html_()
    assert time.process_time() - began < 1.0 and len(html) < 50_000 and "<svg" in html


def test_many_states_are_a_matrix_in_a_few_bytes():
    html = World(np.roll(np.eye(100), 1, axis=1)[None])._repr_html_()
    assert "<svg" in html and len(html) < 12_000


def strengths(thing):
    """How warm each cell of a strip of states is, from left to right."""
    cells = [rect for rect in parsed(thing).iter(SVG + "rect") if rect.get("fill")]
    wide = float(cells[0].get("width"))
    shares = np.zeros(round(170 / wide))
    for rect in cells:
        shares[round(float(rect.get("x")) / wide)] = float(rect.get("fill-opacity"))
    return shares


def test_models_and_explorers_of_many_states_have_a_strip_of_states():
    world = World(np.roll(np.eye(61), 1, axis=1)[None], Dirichlet(0.5, n_states=61, n_actions=1))
    run = explore(world, "PIG(VI)", n_steps=20, seed=0)
    expected = run.model.expected_missing_information().rows.sum(axis=0)
    np.testing.assert_allclose(strengths(run.model), expected / expected.max(), atol=0.006)
    explorer = Explorer(world.prior, "PIG(VI)")
    for s in range(10):
        explorer.observe(s, 0, s + 1)
    useful = berlyne.pig(explorer.model).max(axis=0)
    np.testing.assert_allclose(strengths(explorer), useful / useful.max(), atol=0.006)
    (here,) = [path for path in parsed(explorer).iter(SVG + "path") if path.get("stroke") == "#a05fd6"]
    assert float(here.get("d")[1:].split()[0]) == pytest.approx(170 * 10.5 / 61, abs=0.01)
    prior = Dirichlet(1.0, n_states=170, n_actions=2)
    model = InternalModel(prior)
    model.observe_many([(s, 0, 3) for s in range(60) for _ in range(3)])
    with pytest.warns(UserWarning, match="z = "):
        bits = model.expected_missing_information().rows.sum(axis=0).reshape(85, 2).mean(axis=1)
    np.testing.assert_allclose(strengths(model), bits / bits.max(), atol=0.006)
    assert len(model._repr_html_()) < 16_000


def test_utilities_below_zero_are_coloured_from_their_least():
    def cost(theta_hat, theta_hat_after):
        return -theta_hat.max()

    explorer = Explorer(Dirichlet(1.0, n_states=5, n_actions=1), berlyne.Strategy("Mine", Greedy(), cost))
    for s, n in ((0, 1), (1, 4), (2, 9)):
        for _ in range(n):
            explorer.observe(s, 0, 3)
    values = -explorer.model.theta_hat.max(axis=2)[0]
    strength = [float(c.get("fill-opacity", 0)) for c in list(parsed(explorer).iter(SVG + "circle"))[:5]]
    np.testing.assert_allclose(strength, (values - values.min()) / -values.min(), atol=0.006)


def test_large_numbers_are_written_out_and_black_is_the_colour_of_the_text():
    world = World(np.eye(200)[None], Dirichlet(1.0, n_states=200, n_actions=1))  # 200 rows, log2(200) bits each
    run = explore(world, "Unembodied", n_steps=3)
    assert next(parsed(run).iter(SVG + "text")).text == "1,529 bits"
    study = Experiment("maze", ["Unembodied", "Random"], n_worlds=1, n_steps=5)
    colours = [dot.get("fill") for dot in parsed(study).iter(SVG + "circle")]
    assert colours[0] == "currentColor" and colours[1].startswith("#")


def test_unknown_numbers_are_left_out_of_cards():
    class Silent:
        """A prior that knows nothing but its estimate."""

        def estimate(self, counts):
            return np.full(counts.shape, 1.0 / counts.shape[-1])

    class Broken(World):
        def __repr__(self):
            raise RuntimeError("no")

        @property
        def n_states(self):
            raise RuntimeError("no")

    model = InternalModel(Silent(), n_states=3, n_actions=2)
    assert "expected missing information" not in facts(model) and facts(model)["observations"] == "0"
    assert "<svg" in model._repr_html_()
    assert card(object.__new__(Broken)).startswith("<pre>&lt;") and card(3) == "<pre>3</pre>"
    run = explore(maze(0, side=3, n_transporters=5).with_prior(ChineseRestaurant()), "Random", n_steps=9)
    assert "<table" in run._repr_html_() and "<table" in run.model._repr_html_()
    assert "<table" in Explorer(ChineseRestaurant(), "Random", n_actions=2)._repr_html_()


def test_no_study_that_has_not_begun_fails(tmp_path):
    study = Experiment("maze", ["Random"], n_worlds=1, n_steps=5)
    assert "<svg" in study._repr_html_() and "<table" in Experiment()._repr_html_()
