"""The page explains itself: the panel behind "?", the legend, the words at the scale, notes, and readable numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import berlyne
from berlyne.figures.style import BLUE, look
from browser.conftest import NARROW, scrub, settle
from browser.expected import model_at

Open = Callable[..., Page]


def terms(page: Page) -> dict[str, str]:
    names, texts = (page.locator(f"#help {tag}").all_inner_texts() for tag in ("dt", "dd"))
    return dict(zip(names, texts, strict=True))


def test_a_panel_explains_strategies_and_signs_and_closes_again(opened: Open) -> None:
    page = opened("maze")
    button = page.get_by_role("button", name="What does this page show?")
    assert not page.locator("#help").is_visible() and button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    shown = terms(page)
    for name in ("PIG(VI)", "Random", "CB", "PEIG(Q)"):
        assert shown[name].endswith(".") and shown[name].count(". ") == 0, name  # one sentence
    assert "10 steps ahead" in shown["PIG(VI)"] and "equal probability" in shown["Random"]
    for word in ("Missing information", "Shading", "PIG", "Value", "Trail", "Race", "Maze", "Take over"):
        assert len(shown[word]) > 40, word
    assert "transporter" in shown["Maze"] and "base" in shown["Maze"]
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("?")
    assert not page.locator("#help").is_visible()


def test_the_legend_names_what_the_map_shows(opened: Open) -> None:
    maze = opened("maze").locator("#legend").inner_text()
    assert all(word in maze for word in ("the agent", "last 16 steps", "transporter to the base", "base", "wall"))
    lake = opened("lake").locator("#legend").inner_text()
    assert all(word in lake for word in ("start", "hole", "goal", "episodes end here")) and "base" not in lake
    assert "a transition" in opened("1-2-3").locator("#legend").inner_text()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_tell_which_end_of_the_scale_is_which(theme: str, opened: Open) -> None:
    page = opened("maze", "#t=50", color_scheme=theme)
    for kind, words in [
        ("missing", ("known", "unknown")),
        ("visits", ("never", "often")),
        ("utility", ("low", "high")),
        ("value", ("low", "high")),
    ]:
        page.locator(f"input[value={kind}]").check(force=True)
        settle(page)
        scale = page.locator(".scale").first
        assert (scale.locator(".low-word").inner_text(), scale.locator(".high-word").inner_text()) == words
        low, high = scale.locator(".low-word").bounding_box(), scale.locator(".high-word").bounding_box()
        ramp = scale.locator(".ramp").bounding_box()
        assert low and high and ramp
        assert low["x"] + low["width"] < ramp["x"] and ramp["x"] + ramp["width"] < high["x"]  # on their sides


def test_notes_are_shown_when_their_step_is_reached(browser: Browser, tmp_path: Path) -> None:
    run = berlyne.explore(berlyne.maze(7), "Random", n_steps=60, seed=7)
    notes = {10: "Guess <b>first</b>.", 42: "Why does it go back?"}
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(run.watch(tmp_path / "noted.html", notes=notes).as_uri())
    settle(page)
    note = page.locator("#note")
    top = page.locator(".panel").bounding_box()
    for t, text in ((0, ""), (9, ""), (10, notes[10]), (41, notes[10]), (42, notes[42]), (60, notes[42]), (5, "")):
        scrub(page, t)
        assert note.inner_text() == text, t
        assert page.locator(".panel").bounding_box() == top  # nothing moves
    scrub(page, 60)
    page.locator("input[value=race]").check(force=True)
    settle(page)
    assert note.inner_text() == ""  # a race has no common step
    page.locator("input[value=step]").check(force=True)
    scrub(page, 60)
    page.get_by_role("button", name="Take over").click()
    settle(page)
    assert not note.is_visible()
    page.close()


def test_a_page_without_notes_has_no_place_for_them(opened: Open) -> None:
    assert not opened("maze").locator("#note").is_visible()


def test_a_very_small_number_is_described_in_words(browser: Browser, tmp_path: Path) -> None:
    world = berlyne.World(np.array([[[0.5, 0.5]] * 2]), berlyne.Dirichlet(1.0, n_states=2, n_actions=1))
    run = berlyne.explore(world, "PIG(VI)", n_steps=400, seed=0)
    page = browser.new_page()
    for t in (30, 400):
        page.goto(run.watch(tmp_path / f"small-{t}.html").as_uri() + f"#t={t}&s=0")
        settle(page)
        gain = berlyne.pig(model_at(run, t))[0, 0]
        assert (gain < 0.001) == (t == 400)
        expected = "less than 0.001" if t == 400 else f"{gain:.3f}"
        assert page.locator(".worth").inner_text().endswith(f" · PIG {expected} bits")
    page.close()


def test_colours_are_those_of_figures(opened: Open) -> None:
    page = opened("dense")
    for i, name in enumerate(("PIG(VI)", "PIG(VI+)", "LTA", "Unembodied")):
        assert page.evaluate("i => berlyne.runs[i].colour.light", i) == look(name).colour
        line = look(name).line
        dash = [] if line == "-" else [1.2 * x for x in line[1]]
        assert page.evaluate("i => berlyne.runs[i].dash", i) == pytest.approx(dash)
        swatch = page.locator(".panel .swatch").nth(i).evaluate("e => getComputedStyle(e).backgroundColor")
        assert swatch == f"rgb({', '.join(str(int(look(name).colour[k : k + 2], 16)) for k in (1, 3, 5))})"
    assert page.evaluate("() => document.documentElement.style.getPropertyValue('--warp')") == BLUE


def test_the_panel_fits_a_telephone(opened: Open) -> None:
    page = opened("maze", width=NARROW)
    page.locator("#ask").click()
    settle(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= NARROW
