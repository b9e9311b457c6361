"""Controls of the page: playing, stepping, scrubbing and selecting by pointer, keyboard and touch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

import berlyne
from browser.conftest import NARROW, scrub, settle
from browser.expected import brief

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]


def time(page: Page) -> int:
    return int(page.locator(".now").first.inner_text().split()[1].replace(",", ""))


def agent(page: Page) -> list[float]:
    return page.evaluate("() => berlyne.panels[0].map.agent")


def test_playing_moves_the_agent_and_pausing_stops_it(opened: Open, runs: Runs) -> None:
    page = opened("maze")
    page.locator("#speed").select_option("200")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => berlyne.index >= 40")
    page.get_by_role("button", name="Pause").click()
    settle(page)
    t = time(page)
    assert t >= 40
    x, y = agent(page)
    line, column = divmod(int(runs["maze"][0].states[t]), 6)
    unit, width = page.evaluate("() => [berlyne.panels[0].map.unit, berlyne.panels[0].map.width]")
    left = (width - 6 * unit) / 2  # in the middle of the panel
    assert (x, y) == pytest.approx((left + (column + 0.5) * unit, 4 + (line + 0.5) * unit), abs=0.01)
    page.wait_for_timeout(150)
    assert time(page) == t


def test_it_plays_at_the_speed_that_is_chosen_and_stops_at_the_end(opened: Open) -> None:
    page = opened("maze")
    page.locator("#speed").select_option("600")
    played = """(seconds) => {  // frames come when they are said to
      Object.assign(berlyne, { playing: true, lastFrame: null, position: 0 });
      berlyne._tick(5000);
      for (let i = 1; i <= 10; i += 1) berlyne._tick(5000 + 100 * seconds * i);
      return [berlyne.position, berlyne.playing];
    }"""
    assert page.evaluate(played, 0.2) == [pytest.approx(120.0), True]
    assert page.evaluate(played, 0.6) == [300, False]
    settle(page)
    assert time(page) == 300
    page.evaluate("() => berlyne.setMode('race')")
    levels = page.evaluate("() => berlyne.levels.length")
    assert page.evaluate(played, 0.2) == [pytest.approx(0.4 * levels), True]  # as much of the whole
    page.evaluate("() => { berlyne.pause(); berlyne.setMode('step'); berlyne.seek(berlyne.last); }")
    page.get_by_role("button", name="Play").click()  # begins anew
    page.wait_for_function("() => berlyne.index > 0 && berlyne.index < 200")


def test_the_agent_is_seen_to_walk_unless_motion_is_unwelcome(opened: Open, runs: Runs) -> None:
    moving = int(np.flatnonzero(runs["maze"][0].states[:-1] != runs["maze"][0].next_states)[5])
    for calm, between in (("no-preference", True), ("reduce", False)):
        page = opened("maze", f"#t={moving}", reduced_motion=calm)
        at = agent(page)
        walked = page.evaluate(
            """() => {
              Object.assign(berlyne, { playing: true, position: berlyne.position + 0.5 });
              berlyne.drawNow(0);
              return berlyne.panels[0].map.agent;
            }"""
        )
        assert (np.hypot(*(np.array(walked) - at)) > 5) == between


def test_keys_play_step_and_go_to_the_ends(opened: Open) -> None:
    page = opened("maze")
    pressed = [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("Shift+ArrowRight", 12),
        ("ArrowLeft", 11),
        ("End", 300),
        ("Home", 0),
    ]
    for key, t in [*pressed, ("ArrowLeft", 0)]:
        page.keyboard.press(key)
        settle(page)
        assert time(page) == t, key
    page.keyboard.press("Space")
    assert page.evaluate("() => berlyne.playing")
    page.keyboard.press("Space")
    assert not page.evaluate("() => berlyne.playing")


def test_buttons_step_and_the_slider_takes_keys(opened: Open) -> None:
    page = opened("dense")
    page.get_by_role("button", name="Step forward").click(click_count=3)
    page.get_by_role("button", name="Step back").click()
    settle(page)
    assert time(page) == 2
    page.locator("#slider").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    assert time(page) == 3
    page.keyboard.press("End")
    settle(page)
    assert time(page) == 300


def test_states_are_reached_by_keys_in_the_direction_of_the_arrow(opened: Open) -> None:
    page = opened("maze", "#t=100")
    states = page.locator(".states").first
    assert states.locator("button[tabindex='0']").count() == 1
    states.locator("button[tabindex='0']").focus()
    for key, s in (("ArrowRight", 1), ("ArrowDown", 7), ("ArrowDown", 13), ("ArrowLeft", 12), ("ArrowUp", 6)):
        page.keyboard.press(key)
        settle(page)
        focused = page.evaluate("() => document.activeElement.dataset.s")
        assert focused == str(s)
        assert page.locator(".details h3").first.inner_text() == f"Room {s}"
    assert time(page) == 100  # arrows within the map leave the time alone
    shade = page.evaluate("() => berlyne.panels[0].shade[6]")
    assert page.locator(":focus").get_attribute("aria-label") == f"room 6, {brief(shade)} bits missing"
    page.keyboard.press("Enter")
    assert page.evaluate("() => location.hash") == "#t=100&s=6"


def test_the_address_carries_time_and_selection_both_ways(opened: Open) -> None:
    page = opened("maze", "#t=42&s=14")
    assert time(page) == 42
    assert page.locator(".details h3").first.inner_text() == "Room 14"
    scrub(page, 77)
    assert page.evaluate("() => location.hash") == "#t=77&s=14"
    page.locator(".states").nth(1).locator("button[data-s='9']").click()
    assert page.evaluate("() => location.hash") == "#t=77&s=9"
    page.evaluate("() => { location.hash = '#t=5&s=3'; }")
    page.wait_for_function("() => berlyne.index === 5 && berlyne.pinned === 3")
    for nonsense in ("#t=99999&s=99999", "#t=-4&s=x", "#bits=1e9", "#t=NaN"):
        page.evaluate("hash => { location.hash = hash; }", nonsense)
        settle(page)
        assert 0 <= page.evaluate("() => berlyne.index") <= page.evaluate("() => berlyne.last")


def test_a_link_without_a_state_keeps_none(opened: Open, runs: Runs) -> None:
    page = opened("maze", "#t=42&s=14")
    page.evaluate("() => { location.hash = '#t=5'; }")
    page.wait_for_function("() => berlyne.index === 5")
    settle(page)
    here = runs["maze"][0].states[5]
    assert page.locator(".details h3").first.inner_text().startswith(f"Room {here}")
    assert page.locator(".details h3 .tag").first.inner_text() == "where the agent is"


def test_keys_play_and_step_after_something_was_chosen_by_pointer(opened: Open) -> None:
    page = opened("maze")
    for label in ("Visits", "Race", "In step", "In step"):  # once more what is chosen already
        page.get_by_text(label, exact=True).click()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("() => berlyne.index") == 2, label
        page.keyboard.press("Space")
        assert page.evaluate("() => berlyne.playing"), label
        page.keyboard.press("Space")
        page.keyboard.press("End")
        assert page.evaluate("() => berlyne.index === berlyne.last"), label
    assert page.evaluate("() => berlyne.shading") == "visits"


def test_within_a_group_of_choices_arrow_keys_choose_and_other_keys_play(opened: Open) -> None:
    page = opened("maze", "#t=7")
    page.locator("input[value=missing]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.evaluate("() => [berlyne.shading, berlyne.index]") == ["utility", 7]
    assert page.locator(":focus").get_attribute("value") == "utility"
    page.keyboard.press("End")
    assert page.evaluate("() => berlyne.index") == 300
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.evaluate("() => [berlyne.playing, document.activeElement.value]") == [True, "utility"]
    page.keyboard.press("Space")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("() => [berlyne.shading, berlyne.playing]") == ["visits", False]


def test_touching_plays_scrubs_and_selects(opened: Open) -> None:
    page = opened("maze", width=NARROW, has_touch=True, is_mobile=True)
    page.get_by_role("button", name="Play").tap()
    page.wait_for_function("() => berlyne.index >= 5")
    page.get_by_role("button", name="Pause").tap()
    box = page.locator("#slider").bounding_box()
    assert box is not None
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settle(page)
    assert time(page) == pytest.approx(150, abs=12)
    page.locator(".states").first.locator("button[data-s='21']").tap()
    settle(page)
    assert page.locator(".details h3").first.inner_text() == "Room 21"
    assert page.evaluate("() => location.hash").endswith("&s=21")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW


def test_dragging_along_a_learning_curve_scrubs(opened: Open) -> None:
    page = opened("dense")
    canvas = page.locator(".curve canvas").nth(1)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    left, right = 38, 10
    at = box["x"] + left + (box["width"] - left - right) / 3
    page.mouse.move(at, box["y"] + 40)
    page.mouse.down()
    settle(page)
    assert time(page) == pytest.approx(100, abs=2)
    page.mouse.move(box["x"] + box["width"] + 50, box["y"] + 40)
    settle(page)
    assert time(page) == 300
    page.mouse.up()


@pytest.mark.parametrize("name", ["maze", "dense", "1-2-3"])
def test_a_race_shows_each_where_it_first_missed_no_more_than_the_level(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name)
    page.locator("input[value=race]").check(force=True)
    levels = page.evaluate("() => berlyne.levels")
    curves = [run.missing_information for run in runs[name]]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] <= max(curve[0] for curve in curves) and levels[-1] >= min(curve.min() for curve in curves)
    for i, curve in enumerate(curves):
        for level in (
            curve[0],
            curve[150],
            curve.min(),
            curve.min() - 1e-9,
        ):  # as much is reached
            first = int(np.argmax(curve <= level)) if curve.min() <= level else -1
            assert page.evaluate("([i, bits]) => berlyne.runs[i].timeAt(bits)", [i, float(level)]) == first
    for place in (0, 1, 2, len(levels) // 3, len(levels) - 1):
        scrub(page, place)
        level = levels[place]
        assert page.locator("#place").inner_text() == f"race to {level:,.12g} bits"
        times = [int(np.argmax(curve <= level)) if curve.min() <= level else None for curve in curves]
        for i, t in enumerate(times):
            label = page.locator(".now").nth(i)
            reached = f"step {t} · reached {level:,.12g} bits"
            assert label.inner_text() == (f"never reached {level:,.12g} bits" if t is None else reached)
            won = t is not None and t == min(other for other in times if other is not None)
            assert ("won" in (label.get_attribute("class") or "")) == won
        assert page.evaluate("() => location.hash") == f"#bits={level:g}"


def test_a_race_comes_back_to_the_same_moment(opened: Open, runs: Runs) -> None:
    page = opened("maze", "#t=200")
    page.locator("input[value=race]").check(force=True)
    settle(page)
    level = page.evaluate("() => berlyne.level")
    assert level == pytest.approx(runs["maze"][0].missing_information[200], abs=1.0)
    page.locator("input[value=step]").check(force=True)
    settle(page)
    curve = runs["maze"][0].missing_information
    assert time(page) == int(np.argmax(curve <= level))
