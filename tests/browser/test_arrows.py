"""Graphs on the page: directions of transitions, and loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import berlyne
from browser.conftest import settle

ARROWS = "() => berlyne.panels[0].map.arrows.map(({ s, sNext, p, head, path }) => ({ s, sNext, p, head, path }))"
INK = """(points) => {
  const { context, ratio } = berlyne.panels[0].map;
  const corner = (c) => Math.round(c * ratio) - 1;
  return points.map(([x, y]) => Math.max(...context.getImageData(corner(x), corner(y), 3, 3).data));
}"""
SAID = """
const { fillText } = CanvasRenderingContext2D.prototype;
window.said = [];
CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
  said.push(text);
  fillText.call(this, text, ...at);
};
"""


def shown(browser: Browser, folder: Path, world: berlyne.World) -> Page:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(berlyne.explore(world, "Random", n_steps=12, seed=0).watch(folder / "graph.html").as_uri())
    settle(page)
    if not page.locator("#arrows").is_hidden():
        page.get_by_text("True", exact=True).click()
        settle(page)
    return page


def centres(page: Page, n: int) -> Any:
    return np.array(page.evaluate("n => Array.from({ length: n }, (_, s) => berlyne.panels[0].map.point(s))", n))


def rooms() -> berlyne.World:
    """A ring of four: "go" leads on, "wait" stays with 0.8, but in state 2, which it leaves for sure."""
    s = np.arange(4)
    theta = np.zeros((2, 4, 4))
    theta[0, s, (s + 1) % 4] = 1.0
    theta[1, s, s], theta[1, s, (s + 2) % 4] = 0.8, 0.2
    theta[1, 2] = [1.0, 0.0, 0.0, 0.0]
    return berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=4, n_actions=2), actions=["go", "wait"])


@pytest.mark.parametrize("world", [rooms(), berlyne.worlds.river_swim()], ids=["ring", "line"])
def test_every_arrow_points_at_where_it_leads(world: berlyne.World, browser: Browser, tmp_path: Path) -> None:
    page, n = shown(browser, tmp_path, world), world.n_states
    arrows, centre = page.evaluate(ARROWS), centres(page, n)
    most = world.theta.max(axis=0)
    assert {(one["s"], one["sNext"]): one["p"] for one in arrows} == {
        (int(s), int(z)): most[s, z] for s, z in zip(*most.nonzero(), strict=True)
    }
    reach = page.evaluate("() => berlyne.panels[0].map.radius")
    width, height = page.evaluate("() => [berlyne.panels[0].map.width, berlyne.panels[0].map.height]")
    for one in arrows:
        tip, *corners = np.array(one["head"])
        far = [np.linalg.norm(point - centre[one["sNext"]]) for point in (tip, *corners)]
        assert reach <= far[0] <= reach + 3 < min(far[1:]) + 2  # at the rim, and the corners behind it
        assert far[0] < min(far[1:])
        beside = [0.1 * tip + 0.8 * corners[i] + 0.1 * corners[1 - i] for i in (0, 1)]  # off the line
        assert min(page.evaluate(INK, [point.tolist() for point in beside])) > 0
        assert (np.array(one["head"]) > 0).all() and (np.array(one["head"]) < [width, height]).all()
    page.close()


def test_a_loop_is_drawn_only_for_transitions_to_the_same_state(browser: Browser, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, rooms())
    outermost = page.evaluate("""() => [0, 1, 2, 3].map((s) => {
      const [p, c, d, q] = berlyne.panels[0].map.path(s, s);
      return [0, 1].map((i) => (p[i] + 3 * c[i] + 3 * d[i] + q[i]) / 8);
    })""")
    centre, reach = centres(page, 4), page.evaluate("() => berlyne.panels[0].map.radius")
    assert (np.linalg.norm(np.array(outermost) - centre, axis=1) > reach + 8).all()
    out = centre - centre.mean(axis=0)
    assert (np.sum((outermost - centre) * out, axis=1) > 0.99 * reach * np.linalg.norm(out, axis=1)).all()
    assert [ink > 0 for ink in page.evaluate(INK, outermost)] == [True, True, False, True]
    page.close()


def test_loops_leave_room_for_labels_below(browser: Browser, tmp_path: Path) -> None:
    ring = rooms()
    world = berlyne.World(ring.theta, ring.prior, states=["kitchen", "hall", "a long garden", "attic"])
    page = shown(browser, tmp_path, world)
    low = int(np.argmax(centres(page, 4)[:, 1]))
    reach = page.evaluate("() => berlyne.panels[0].map.radius")
    loop = np.array(page.evaluate("s => berlyne.panels[0].map.path(s, s)", low))
    lowest = (np.array([1, 3, 3, 1]) / 8) @ loop - centres(page, 4)[low]
    assert abs(lowest[0]) > reach and lowest[1] < reach / 2
    page.close()


def test_only_likely_arrows_have_heads_if_there_are_many(browser: Browser, tmp_path: Path) -> None:
    world = berlyne.dense_world(1)
    page, most = shown(browser, tmp_path, world), world.theta.max(axis=0)
    arrows = page.evaluate(ARROWS)
    assert {(one["s"], one["sNext"]) for one in arrows if one["head"]} == set(
        zip(*(index.tolist() for index in (most >= 0.25).nonzero()), strict=True)
    )
    assert len([one for one in arrows if one["s"] == one["sNext"]]) == (np.diag(most) >= 0.25).sum()
    page.close()


def test_one_explorer_fills_the_page_and_its_beliefs_are_visible(browser: Browser, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, berlyne.maze(7))
    around, seen, details = (page.locator(name).bounding_box() for name in (".panel", ".map", ".details"))
    assert around is not None and seen is not None and details is not None
    assert around["width"] > 0.8 * 1440 and abs(2 * around["x"] + around["width"] - 1440) < 30
    assert details["x"] > seen["x"] + seen["width"] and details["y"] + details["height"] < 900
    page.set_viewport_size({"width": 390, "height": 900})
    settle(page)
    seen, details = (page.locator(name).bounding_box() for name in (".map", ".details"))
    assert seen is not None and details is not None
    assert details["y"] > seen["y"] + seen["height"] and abs(details["x"] - seen["x"]) < 1
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_the_axis_of_one_step_has_whole_steps(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    page.add_init_script(SAID)
    run = berlyne.explore(rooms(), "Random", n_steps=1)
    page.goto(run.watch(tmp_path / "one.html").as_uri())
    settle(page)
    labels = page.evaluate("() => said")
    assert "1" in labels[: labels.index("bits missing, by step")] and not {"0.2", "0.4", "0.5"} & set(labels)
    page.close()


@pytest.mark.parametrize(("n_states", "each"), [(10, None), (20, 8), (60, 2)])
def test_only_the_likeliest_transitions_are_drawn_if_there_are_many(
    n_states: int, each: int | None, browser: Browser, tmp_path: Path
) -> None:
    world = berlyne.dense_world(0, n_states=n_states)
    page = shown(browser, tmp_path, world)
    most, arrows = world.theta.max(axis=0), page.evaluate(ARROWS)
    assert [one["p"] for one in arrows] == sorted(one["p"] for one in arrows)
    for s in range(n_states):
        likeliest = np.argsort(most[s])[-each:] if each else range(n_states)
        loops = {s} if most[s, s] < 0.25 else set()  # faint ones are left out where it is crowded
        assert {one["sNext"] for one in arrows if one["s"] == s} - loops == set(likeliest) - loops
    note = (
        f"Arrows: the {each} most probable true transitions from each state." if each else "Arrows: true transitions."
    )
    assert page.locator(".thinned").all_inner_texts() == [note]
    page.close()


@pytest.mark.parametrize("names", [None, [f"room {s}" for s in range(24)]], ids=["numbers", "names"])
@pytest.mark.parametrize("width", [1440, 1060, 390])
def test_many_outcomes_have_whole_names_and_one_base_line(
    names: list[str] | None, width: int, browser: Browser, tmp_path: Path
) -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(24), size=(3, 24))
    world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=24, n_actions=3), states=names)
    page = shown(browser, tmp_path, world)
    page.set_viewport_size({"width": width, "height": 900})
    settle(page)
    boxes = np.array(
        page.evaluate("""() => [...document.querySelectorAll(".blocks .to")].map((e) => {
      const written = document.createRange();
      written.selectNodeContents(e);
      const { left, right } = written.getBoundingClientRect();
      return [left, right];
    })""")
    ).reshape(3, 24, 2)
    assert (boxes[:, 1:, 0] - boxes[:, :-1, 1]).min() > 0  # side by side
    labels = page.locator(".blocks .to").all_inner_texts()
    assert labels == 3 * (names or [str(s) for s in range(24)])
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    feet = page.evaluate("""() => [...document.querySelectorAll(".bars")].map((bars) =>
      [...bars.querySelectorAll(".pair")].map((e) => e.getBoundingClientRect().bottom))""")
    assert np.ptp(feet, axis=1).max() < 1
    page.close()


def test_every_state_has_its_name_in_little_space(browser: Browser, tmp_path: Path) -> None:
    twins = ["Wirtschaftskeller 1", "Wirtschaftskeller 2"]
    names = [*(f"room {s}" for s in range(21)), "a long name", *twins]
    theta = np.random.default_rng(0).dirichlet(np.ones(24), size=(1, 24))
    world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=24, n_actions=1), states=names)
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(SAID.replace("said.push(text)", "said.push([text, this.measureText(text).width])"))
    page.goto(berlyne.explore(world, "Random", n_steps=2, seed=0).watch(tmp_path / "named.html").as_uri())
    settle(page)
    wide = 1.8 * page.evaluate("() => berlyne.panels[0].map.radius")
    fitting_names = {text for text, width in page.evaluate("() => said") if width <= wide}
    assert {*names[:21], "a long", "name"} <= fitting_names
    cut = sorted(text for text in fitting_names if "…" in text)
    assert len(cut) == 2 and min(map(len, cut)) > 4  # told apart by their ends
    for text, name in zip(cut, twins, strict=True):
        begin, end = text.split("…")
        assert name.startswith(begin) and name.endswith(end) and begin and end
    titles = [page.locator(f".states button[data-s='{s}']").get_attribute("title") for s in (22, 23)]
    assert titles == twins  # the full text on hover
    page.close()
