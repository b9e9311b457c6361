"""The page shows the numbers that Python computes, at any time, in all three classes of worlds."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from playwright.sync_api import Browser, Page

import berlyne
from berlyne.figures.style import look
from browser.conftest import scrub, settle
from browser.expected import brief, colour, explorer_at, missing_of_rows, model_at, number, visits

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]
CLASSES = ("maze", "dense", "1-2-3")
TIMES = (0, 1, 57, 200, 299, 300)

PIXEL = """([panel, x, y]) => {
  const { map } = berlyne.panels[panel];
  return [...map.context.getImageData(Math.round(x * map.ratio), Math.round(y * map.ratio), 1, 1).data].slice(0, 3);
}"""


def pixel(page: Page, panel: int, x: float, y: float) -> Any:
    return np.array(page.evaluate(PIXEL, [panel, x, y]))


def place_of(page: Page, panel: int, s: int) -> tuple[float, float, float]:
    """Return the centre and the radius of a drawn state."""
    x, y, reach = page.evaluate(
        "([i, s]) => { const m = berlyne.panels[i].map; return [...m.point(s), m.radius]; }", [panel, s]
    )
    return x, y, reach


@pytest.mark.parametrize("name", CLASSES)
def test_scrubbing_shows_the_state_the_missing_information_and_the_shades_of_that_time(
    name: str, opened: Open, runs: Runs
) -> None:
    page = opened(name)
    ramp, top = page.evaluate("() => [berlyne.ramps.light, berlyne.maxMissing]")
    for t in TIMES:
        scrub(page, t)
        for i, run in enumerate(runs[name]):
            label = page.locator(".now").nth(i).inner_text()
            assert label == f"step {t} · {brief(run.missing_information[t])} bits missing"
            expected = missing_of_rows(run, t).sum(axis=0)
            np.testing.assert_allclose(page.evaluate("i => [...berlyne.panels[i].shade]", i), expected, atol=1e-9)
            here = int(run.states[t])
            x, y, _ = place_of(page, i, here)
            assert page.evaluate("i => berlyne.panels[i].map.agent", i) == pytest.approx([x, y], abs=1e-6)
            away = [s for s in range(len(expected)) if s != here]
            right = 0
            for s in away:
                x, y, reach = place_of(page, i, s)
                shown = pixel(page, i, x - 0.74 * reach, y + 0.3 * reach)  # beside wedges and labels
                right += bool(np.abs(shown - colour(expected[s] / top, ramp)).max() <= 3.0)
            assert right >= 0.85 * len(away), (t, i)  # the trail may lie over some
            own = np.multiply(to_rgb(look(run.strategy.name).colour), 255)  # as in figures
            assert np.abs(pixel(page, i, *_on_agent(page, i)) - own).max() <= 3.0


def _on_agent(page: Page, panel: int) -> tuple[float, float]:
    """A place that has the agent's colour: the middle of its disc, or on its ring around a state of a graph."""
    x, y = page.evaluate("i => berlyne.panels[i].map.agent", panel)
    is_maze, reach = page.evaluate("i => [Boolean(berlyne.world.maze), berlyne.panels[i].map.radius]", panel)
    return (x, y) if is_maze else (x, y - reach - 2)


def test_a_room_is_drawn_where_it_lies_with_its_walls(opened: Open, runs: Runs) -> None:
    page = opened("maze")
    maze = runs["maze"][0].world.geometry
    assert maze is not None
    wall = np.array([0x23, 0x25, 0x2C])
    left = page.evaluate("() => (berlyne.panels[0].map.width - 6 * berlyne.panels[0].map.unit) / 2")
    for s in range(36):
        line, column = divmod(s, 6)
        x, y, reach = place_of(page, 0, s)
        assert (x, y) == pytest.approx((left + (2 * column + 1) * reach, 4 + (2 * line + 1) * reach), abs=0.6)
        sides = {0: (x - 0.6 * reach, y - reach), 1: (x - 0.6 * reach, y + reach)}
        sides |= {2: (x - reach, y - 0.6 * reach), 3: (x + reach, y - 0.6 * reach)}
        for d, (px, py) in sides.items():
            dark = np.abs(pixel(page, 0, px, py) - wall).max() < 40
            assert dark != maze.passages[s, d], (s, d)


def test_a_step_between_distant_rooms_is_drawn_as_a_jump(opened: Open, runs: Runs) -> None:
    page = opened("maze")
    maze = runs["maze"][0].world.geometry
    assert maze is not None
    for s in range(36):
        walked = {int(z) for z, open_ in zip(maze.destination[s], maze.passages[s], strict=True) if open_}
        for s_next in {s, *maze.destination[s].tolist()}:
            jumps = s_next != s and s_next not in walked
            assert page.evaluate("([s, z]) => berlyne.world.isJump(s, z)", [s, s_next]) == jumps, (s, s_next)
            way = np.array(page.evaluate("([s, z]) => berlyne.panels[0].map.path(s, z)", [s, s_next]))
            offset = np.linalg.norm(way[1] - (way[0] + way[2]) / 2)
            assert offset == pytest.approx(0.28 * np.linalg.norm(way[2] - way[0]) if jumps else 0.0, abs=1e-9)
    width = page.evaluate("() => berlyne.panels[0].map.width")
    for s, s_next in ((0, 5), (5, 0), (5, 35), (35, 5), (35, 30), (30, 35), (30, 0), (0, 30), (0, 29)):  # along edges
        way = np.array(page.evaluate("([s, z]) => berlyne.panels[0].map.path(s, z)", [s, s_next]))
        assert way.min() >= 0 and way.max() <= width, (s, s_next)


@pytest.mark.parametrize(("kind", "t"), [("visits", 0), ("visits", 120), ("utility", 0), ("utility", 120)])
@pytest.mark.parametrize("name", ["maze", "dense", "1-2-3", "ends"])
def test_states_are_shaded_by_visits_or_by_the_utility_of_their_best_action(
    kind: str, t: int, name: str, opened: Open, runs: Runs
) -> None:
    page = opened(name)
    scrub(page, t)
    page.locator(f"input[value={kind}]").check(force=True)
    settle(page)
    tops = []
    for i, run in enumerate(runs[name]):
        if kind == "visits":
            expected = visits(run, t)
        else:
            utility = run.strategy.utility or "PIG"
            values = berlyne.UTILITIES[utility].of(model_at(run, t))
            values[:, run.world.terminal] = 0.0
            expected = values.max(axis=0)
        np.testing.assert_allclose(
            page.evaluate("i => [...berlyne.panels[i].shade]", i), expected, rtol=1e-9, atol=1e-12
        )
        tops.append((run.strategy.utility or "PIG" if kind == "utility" else "", expected.max()))
    for i, (of, _) in enumerate(tops):
        top = max(value for other, value in tops if other == of)
        assert page.locator(".top-of-scale").nth(i).inner_text().split()[0] == brief(top)


def shown_outcomes(page: Page, panel: int, a: int) -> dict[str, tuple[float, float]]:
    """True and estimated probability by next state, as they are said to those who cannot see them."""
    chart = page.locator(".details").nth(panel).locator(f"[data-a='{a}'] .bars")
    shown = {}
    for part in (chart.get_attribute("aria-label") or "").split("; "):
        match = re.fullmatch(r"to (?:room|state) (\S+): (.+) true, (.+) estimated", part)
        assert match, part
        shown[match[1]] = number(match[2]), number(match[3])
    return shown


@pytest.mark.parametrize("name", CLASSES)
def test_hovering_a_state_shows_its_distributions_values_and_utilities(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name)
    t, s = 211, 8
    scrub(page, t)
    page.locator(".states").first.locator(f"button[data-s='{s}']").hover()
    settle(page)
    for i, run in enumerate(runs[name]):
        place = page.locator(".details").nth(i)
        assert place.locator("h3").inner_text() == ("Room 8" if name == "maze" else "State 8")
        theta_hat, theta = model_at(run, t).theta_hat, run.world.theta
        utility = berlyne.UTILITIES[run.strategy.utility or "PIG"].of(model_at(run, t))
        for a in range(run.world.n_actions):
            shown = shown_outcomes(page, i, a)
            possible = np.flatnonzero(theta[a, s] + theta_hat[a, s] > 0)
            assert set(map(str, possible)) <= set(shown)
            for s_next in possible:
                expected = theta[a, s, s_next], theta_hat[a, s, s_next]
                assert shown[str(s_next)] == pytest.approx(expected, abs=5.1e-4)
            block = place.locator(f"[data-a='{a}']")
            line = block.locator(".worth").inner_text()
            assert f"{run.strategy.utility or 'PIG'} {brief(utility[a, s])}" in line
            assert (
                block.locator(".tried").inner_text()
                == f"tried {model_at(run, t).counts[a, s].sum()}\N{MULTIPLICATION SIGN}"
            )
            if run.strategy.name in ("PIG(VI)", "CB", "PEIG(Q)", "LTA"):
                assert line.startswith(f"value {brief(explorer_at(run, t).action_values(s)[a])} ")
    page.mouse.move(1, 1)
    settle(page)
    assert page.locator(".details h3").first.inner_text().endswith("where the agent is")


def described(page: Page) -> list[tuple[dict[str, tuple[float, ...]], str]]:
    """Return for each action the numbers shown by next state, and the text about the other states."""
    rows = []
    for block in page.locator("article:visible .details .block").all():
        chart = block.locator(".bars")
        label_parts = (chart.get_attribute("aria-label") or "").split("; ") if chart.count() else []
        each = {}
        for part in label_parts:
            if match := re.fullmatch(r"to state (\S+): (?:(.+) true, )?(.+) estimated", part):
                each[match[1]] = tuple(number(p) for p in match.groups()[1:] if p)
        rest = block.locator(".more").all_inner_texts()
        assert rest == label_parts[len(each) :] or not label_parts
        rows.append((each, rest[0] if rest else ""))
    return rows


def test_the_most_different_outcomes_are_shown_and_the_others_summarised(browser: Browser, tmp_path: Path) -> None:
    n = 100
    theta = np.zeros((3, n, n))
    theta[0, :, 7], theta[0, :, 90] = 0.75, 0.25
    theta[1] = 1 / n
    theta[2, :, : n - 1] = np.arange(1, n) / np.arange(1, n).sum()
    world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=n, n_actions=3))
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(berlyne.explore(world, "Random", n_steps=1, seed=0).watch(tmp_path / "many.html").as_uri() + "#t=0&s=4")
    settle(page)
    few, even, many = described(page)
    assert few == (
        {"7": (0.75, 0.01), "90": (0.25, 0.01)},
        "98 more outcomes, each 0 true, 0.010 estimated",
    )
    assert even == ({}, "all 100 outcomes, each 0.010 true, 0.010 estimated")
    assert set(many[0]) == {str(s) for s in range(89, 99)}
    assert many[1] == "90 more outcomes, each at most 0.018 true, 0.010 estimated"
    for names in page.locator(".bars").all():
        boxes = [box for box in (label.bounding_box() for label in names.locator(".to").all()) if box]
        assert all(one["x"] + one["width"] <= other["x"] + 0.5 for one, other in pairwise(boxes))
    page.get_by_role("button", name="Take over").click()
    settle(page)
    assert described(page) == [({}, "all 100 outcomes, each 0.010 estimated")] * 3
    page.close()


def test_outcomes_that_all_have_room_have_names_that_do_not_overlap(opened: Open) -> None:
    for width in (1060, 390):
        page = opened("1-2-3", "#t=50", width=width)
        for names in page.locator(".bars").all():
            boxes = [box for box in (label.bounding_box() for label in names.locator(".to").all()) if box]
            assert len(boxes) == 20
            assert all(one["x"] + one["width"] <= other["x"] + 0.5 for one, other in pairwise(boxes))


def test_more_than_sixty_states_without_positions_lie_in_lines_without_arrows(browser: Browser, tmp_path: Path) -> None:
    prior = berlyne.Dirichlet(1.0, n_states=61, n_actions=1)
    page = browser.new_page()
    world = berlyne.World(np.roll(np.eye(61), 1, axis=1)[None], prior)
    page.goto(berlyne.explore(world, "Random", n_steps=9, seed=0).watch(tmp_path / "lines.html").as_uri())
    settle(page)
    x, y = np.array(page.evaluate("() => berlyne.world.states.map((_, s) => berlyne.panels[0].map.point(s))")).T
    assert np.ptp(y[:8]) == 0 and np.all(np.diff(x[:8]) > 0) and y[8] > y[7] and x[8] == x[0]
    assert page.evaluate("() => berlyne.panels[0].map.arrows.length") == 0
    assert page.locator(".thinned").inner_text().startswith("States lie in rows")
    page.close()


def values_in(page: Page, run: int, t: int, s: int) -> Any:
    return page.evaluate("([i, t, s]) => berlyne.valuesOf(berlyne.runs[i], t, s)", [run, t, s])


@pytest.mark.parametrize("name", [*CLASSES, "ends"])
def test_values_are_those_of_an_explorer_with_the_same_observations(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name)
    for i, run in enumerate(runs[name]):
        if run.strategy.sees_world:
            continue
        for t in (0, 3, 118):
            explorer, here = explorer_at(run, t), int(run.states[t])
            explorer.ends_in(run.world.terminal.tolist())
            explorer._agent.tell_starts(run.world.episodes.distribution)  # known in a simulated world
            walked = t > 0 and run.next_states[t - 1] == here  # else only the page knows of the visit
            for s in {here, 0, 2} if walked or run.strategy.name != "CB" else {here}:
                pairs = run.strategy.relocates
                expected = explorer.action_values()[s] if pairs else explorer.action_values(s)
                np.testing.assert_allclose(values_in(page, i, t, s), expected, rtol=1e-9, atol=1e-12)


def test_values_planned_with_the_true_world_are_those_of_a_replay(opened: Open, runs: Runs) -> None:
    page = opened("dense")
    run = runs["dense"][1]
    assert run.strategy.name == "PIG(VI+)"
    thought = berlyne.replay(run.world, run, "PIG(VI+)").action_values.values
    for t in (0, 40, 299):
        np.testing.assert_allclose(values_in(page, 1, t, int(run.states[t])), thought[t], rtol=1e-9)


def test_arrows_show_the_best_action_in_every_room(opened: Open, runs: Runs) -> None:
    page = opened("maze", "#t=150")
    assert page.evaluate("() => berlyne.panels[0].bestActions") is None
    page.locator("input[value=utility]").check(force=True)
    settle(page)
    for i, name in ((0, "PIG(VI)"), (3, "PEIG(Q)")):
        run = runs["maze"][i]
        assert run.strategy.name == name
        values = np.array([explorer_at(run, 150).action_values(s) for s in range(36)])
        best = values.max(axis=1, keepdims=True)
        alone = np.sum(values >= best - 1e-12 * np.abs(best), axis=1) == 1
        assert (
            page.evaluate("i => berlyne.panels[i].bestActions", i)
            == np.where(alone, values.argmax(axis=1), -1).tolist()
        )
    assert page.evaluate("() => berlyne.panels[1].bestActions") is None  # any action is alike to Random


def test_the_best_action_and_the_one_taken_next_are_marked(opened: Open, runs: Runs) -> None:
    page = opened("maze")
    run = runs["maze"][0]
    for t in (60, 61, 200):
        scrub(page, t)
        values = explorer_at(run, t).action_values(int(run.states[t]))
        best = np.flatnonzero(values >= values.max() * (1 - 1e-12))
        place = page.locator(".details").first
        marked = [a for a in range(4) if place.locator(f"[data-a='{a}'] .best").count()]
        assert marked == best.tolist()
        assert place.locator(f"[data-a='{run.actions[t]}'] .tag", has_text="taken next").count() == 1
