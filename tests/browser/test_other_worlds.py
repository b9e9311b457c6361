"""Worlds of others: grids as grids, marks, believed arrows, readable labels, and everything on a projector's screen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

import berlyne
from browser.conftest import NARROW, scrub, settle
from browser.expected import model_at
from browser.test_arrows import SAID
from browser.test_numbers import pixel, place_of

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]
WALL = np.array([0x23, 0x25, 0x2C])


def sides_of(page: Page, s: int) -> list[bool]:
    """Whether there is a wall above, below, to the left and to the right of a square, in pixels."""
    x, y, reach = place_of(page, 0, s)
    places = [(x + 0.3 * reach, y - reach), (x + 0.3 * reach, y + reach)]
    places += [(x - reach, y + 0.3 * reach), (x + reach, y + 0.3 * reach)]
    return [bool(np.abs(pixel(page, 0, *place) - WALL).max() < 60) for place in places]


@pytest.mark.parametrize(
    ("name", "width", "height", "squares"),
    [
        ("lake", 4, 4, {5: (1, 1), 15: (3, 3)}),
        ("cliff", 12, 4, {36: (0, 3), 47: (11, 3)}),
        ("rooms", 11, 11, {0: (0, 0)}),
    ],
)
def test_grids_are_drawn_as_squares_with_walls(
    name: str, width: int, height: int, squares: dict[int, tuple[int, int]], opened: Open, runs: Runs
) -> None:
    page, world = opened(name), runs[name][0].world
    unit, box = page.evaluate("() => [berlyne.panels[0].map.unit, berlyne.panels[0].map.box]")
    assert (box[2] - box[0], box[3] - box[1]) == (width, height)
    x0, y0, _ = place_of(page, 0, next(iter(squares)))
    for s, (column, line) in squares.items():
        x, y, reach = place_of(page, 0, s)
        first = next(iter(squares.values()))
        assert (x - x0, y - y0) == pytest.approx(((column - first[0]) * unit, (line - first[1]) * unit), abs=0.01)
        assert reach == pytest.approx(unit / 2)
    cells = {tuple(map(int, place)): s for s, place in enumerate(world.positions)}
    most, ends = world.theta.max(axis=0), world.terminal.tolist()
    for (column, line), s in list(cells.items())[::5]:
        beside = [cells.get((column + dx, line + dy)) for dx, dy in ((0, -1), (0, 1), (-1, 0), (1, 0))]
        walls = [z is None or bool(most[s, z] == 0 and most[z, s] == 0 and not {s, z} <= set(ends)) for z in beside]
        assert sides_of(page, s) == walls, s
    assert page.evaluate("() => berlyne.panels[0].map.arrows.length") == 0
    assert not page.locator("#arrows").is_visible()


def said_in(page: Page, s: int) -> list[str]:
    """The texts that are written in a square."""
    x, y, reach = place_of(page, 0, s)
    return page.evaluate(
        """([x, y, reach]) => {
          const { map } = berlyne.panels[0], written = [], { fillText } = CanvasRenderingContext2D.prototype;
          map.context.fillText = function (text, tx, ty) {
            if (Math.abs(tx - x) < reach && Math.abs(ty - y) < reach) written.push(text);
          };
          berlyne.drawNow(0);
          delete map.context.fillText;
          return written;
        }""",
        [x, y, reach],
    )


def test_holes_goal_cliff_and_numbers_are_written_in_their_squares(opened: Open) -> None:
    lake = opened("lake")
    written = [said_in(lake, s) for s in range(16)]
    letters = dict(enumerate("SFFFFHFHFFFHHFFG"))
    assert written == [([] if letters[s] == "F" else [letters[s]]) + [str(s)] for s in range(16)]
    cliff = opened("cliff")
    assert [said_in(cliff, s)[0] for s in (36, 37, 46, 47)] == ["S", "C", "C", "G"]
    maze = opened("maze", width=1440)
    assert [said_in(maze, s) for s in (0, 7, 35)] == [["0"], ["7"], ["35"]]  # rooms have numbers


def test_the_cliff_is_empty_and_not_shaded(opened: Open) -> None:
    page = opened("cliff")
    x, y, reach = place_of(page, 0, 40)
    soft = pixel(page, 0, x - 0.7 * reach, y + 0.5 * reach)
    assert np.abs(soft - [0xF0, 0xF1, 0xEC]).max() <= 3


def test_the_map_of_taxi_has_its_streets_for_each_passenger_and_destination() -> None:
    world = berlyne.from_gymnasium("Taxi-v4", alpha=0.01)
    run = berlyne.explore(world, "Random", n_steps=3, seed=0)
    data = berlyne.watch.__globals__["page_data"]([run])["world"]
    assert data["kind"] == "grid" and data["directions"] == [(0, 1), (0, -1), (1, 0), (-1, 0), None, None]
    positions = np.asarray(world.positions)
    assert len(np.unique(positions, axis=0)) == 500
    for s in range(0, 500, 7):
        line, column, passenger, destination = (s // 100, s // 20 % 5, s // 4 % 5, s % 4)
        assert positions[s].tolist() == [column + 6 * passenger, line + 6 * destination]


def test_arrows_are_what_the_explorer_has_seen(opened: Open, runs: Runs) -> None:
    page = opened("1-2-3")
    arrows = "i => berlyne.panels[i].map.arrows.map(({ s, sNext, p }) => [s, sNext, p])"
    for t in (0, 1, 12, 40):
        scrub(page, t)
        for i, run in enumerate(runs["1-2-3"]):
            theta_hat = model_at(run, t).theta_hat
            seen: dict[tuple[int, int], float] = {}
            for s, a, z in zip(run.states[:t], run.actions[:t], run.next_states[:t], strict=True):
                pair = int(s), int(z)
                seen[pair] = max(seen.get(pair, 0.0), theta_hat[a, s, z])
            shown = {(s, z): p for s, z, p in page.evaluate(arrows, i)}
            assert shown == pytest.approx(seen)
    assert page.locator(".thinned").first.inner_text() == "Arrows: transitions seen so far."
    page.get_by_text("True", exact=True).click()
    settle(page)
    most = runs["1-2-3"][0].world.theta.max(axis=0)
    shown = {(s, z): p for s, z, p in page.evaluate(arrows, 0)}
    assert shown == pytest.approx({(int(s), int(z)): most[s, z] for s, z in np.argwhere(most > 0)})
    assert page.locator(".thinned").first.inner_text() == "Arrows: true transitions."


def test_every_channel_of_the_noisy_tv_has_its_name_and_room(opened: Open) -> None:
    page = opened("tv", width=1280)
    page.add_init_script(SAID)
    page.reload()
    settle(page)
    names = [*map(str, range(10)), *(f"tv {i}" for i in range(10))]
    assert set(names) <= set(page.evaluate("() => said"))
    places = np.array(page.evaluate("() => berlyne.world.states.map((_, s) => berlyne.panels[0].map.point(s))"))
    reach = page.evaluate("() => berlyne.panels[0].map.radius")
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + 1e3 * np.eye(20)
    assert reach >= 12 and gaps.min() > 2 * reach  # large enough to read, and apart


@pytest.mark.parametrize("name", ["maze", "1-2-3", "lake", "cliff", "tv", "dense"])
def test_a_projector_shows_map_curve_and_details(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name, "#t=50", width=1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    for kind in (".map", ".scale", ".curve"):
        for i in range(len(runs[name])):
            box = page.locator(kind).nth(i).bounding_box()
            assert box and box["y"] > 0 and box["y"] + box["height"] <= 720, (kind, i)
    for i in range(len(runs[name])):
        for part in ("h3", ".facts", "[data-a='0'] .worth", "[data-a='0'] .bars"):
            box = page.locator(".details").nth(i).locator(part).first.bounding_box()
            assert box and box["y"] + box["height"] <= 720, (part, i)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 1280
    if len(runs[name]) == 2 and name in ("maze", "1-2-3", "lake"):
        last = page.locator(".details").first.locator(".block").last.bounding_box()
        assert last and last["y"] + last["height"] <= 720  # all actions


@pytest.mark.parametrize("width", [1440, 1280, NARROW])
def test_the_time_slider_has_a_line_of_its_own(width: int, opened: Open) -> None:
    page = opened("1-2-3", width=width)
    slider = page.locator("#slider").bounding_box()
    assert slider and slider["width"] > 0.75 * width
    for part in ("#play", "#speed", "fieldset"):
        for one in page.locator(part).all():
            box = one.bounding_box()
            assert box is None or box["y"] + box["height"] <= slider["y"] or box["y"] >= slider["y"] + slider["height"]
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
