"""The page in general: it makes no requests, escapes text, and is accessible."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import berlyne
from berlyne.figures.style import SHADES
from browser.conftest import NARROW, WIDE, settle

Open = Callable[..., Page]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("name", ["maze", "lake", "house"])
def test_axe_finds_nothing(name: str, width: int, theme: str, browser: Browser, files: dict[str, Path]) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{files[name].as_uri()}#t=30&s=2")
    settle(page)
    page.locator("#ask").click()
    page.locator("input[value=value]").check(force=True)
    settle(page)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    page.get_by_role("button", name="Take over").first.click()
    settle(page)
    report = Axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    context.close()


def test_a_label_that_looks_like_a_script_stays_text(opened: Open) -> None:
    page = opened("house", "#t=12&s=2")
    assert page.title() == "A <i>house</i>: PIG(VI) and Random"
    assert page.locator("#title").inner_text() == "A <i>house</i>"
    assert page.locator(".details h3").first.inner_text() == "<script>document.title='harm'</script>"
    assert page.locator("[data-a='1'] b").first.inner_text() == "<b>pull</b>"
    assert page.evaluate("() => document.scripts.length") == 2
    assert page.locator("i:has-text('house'), b:has-text('pull') b").count() == 0


def test_labels_are_shown_as_they_are_given(browser: Browser, tmp_path: Path) -> None:
    world = berlyne.World(np.full((2, 2, 2), 0.5), berlyne.Dirichlet(1.0, n_states=2, n_actions=2), states=["a", "A"])
    page = browser.new_page()
    address = berlyne.explore(world, "Random", n_steps=2, seed=0).watch(tmp_path / "letters.html").as_uri()
    for s, label in enumerate(world.states):
        page.goto(f"{address}#t=1&s={s}")
        page.reload()
        settle(page)
        assert page.locator(".details h3").first.inner_text() == label
    page.close()


def test_the_colours_are_even_steps_that_grow_darker_or_lighter_throughout(opened: Open) -> None:
    page = opened("house")
    for theme, ramp in page.evaluate("() => berlyne.ramps").items():
        lab = np.array([_cielab(np.array(stop) / 255) for stop in ramp])
        steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
        assert steps.max() / steps.min() < 1.15
        assert np.all(np.diff(lab[:, 0]) * (-1 if theme == "light" else 1) > 0)
    figure = np.array([SHADES(x)[:3] for x in np.linspace(0, 1, 9)])  # from a table of 256 colours
    np.testing.assert_allclose(np.array(page.evaluate("() => berlyne.ramps.light")) / 255, figure, atol=1.5 / 255)


def _cielab(srgb: np.ndarray) -> np.ndarray:
    """CIELAB of a colour (3,) of sRGB, for daylight D65."""
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / np.array([0.9505, 1.0, 1.089]))  # no colour here is nearly black
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_a_moment_late_in_a_run_costs_no_more_than_an_early_one(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = berlyne.maze(3)
    names = ("PIG(VI)", "Random", "LTA", "CB")
    runs = [berlyne.explore(world, name, n_steps=2500, seed=1) for name in names]
    place = berlyne.watch(runs, tmp_path / "four.html")
    assert place.stat().st_size < 3_000_000
    page = browser.new_page(viewport={"width": WIDE, "height": 900})
    page.goto(place.as_uri())
    settle(page)
    draw = """([from, to]) => {
      const took = [];
      for (let k = 0; k < 160; k += 1) {
        berlyne.position = from + ((to - from) * k) / 160;
        const begin = performance.now();
        berlyne.drawNow(1e12);
        took.push(performance.now() - begin);
      }
      return took.sort((a, b) => a - b)[80];
    }"""
    page.evaluate(draw, [0, 2400])
    early, late = page.evaluate(draw, [0, 160]), page.evaluate(draw, [2300, 2460])
    page.evaluate("() => { berlyne.position = 0; berlyne.speed = 20; berlyne.start(); }")
    page.wait_for_timeout(1500)
    frames = page.evaluate("() => berlyne.frames.sort((a, b) => a - b)")
    with capsys.disabled():
        print(
            f"\nfour mazes: {early:.2f} ms to draw an early moment, {late:.2f} ms a late one; "
            f"{1000 / np.mean(frames):.0f} frames a second, median {np.median(frames):.1f} ms apart"
        )
    assert late < 3 * early + 2
    page.close()


def test_runs_without_steps_and_worlds_without_secrets_are_shown(browser: Browser, tmp_path: Path) -> None:
    known = berlyne.Dirichlet(1.0, np.eye(3)[None])
    still = berlyne.explore(
        berlyne.World(np.eye(3)[None], known, start={0: 1 / 3, 1: 1 / 3, 2: 1 / 3}), "PIG(VI)", n_steps=0
    )
    quick = berlyne.explore(
        berlyne.World(np.eye(3)[None], known, start={0: 1 / 3, 1: 1 / 3, 2: 1 / 3}), "LTA", n_steps=4
    )
    page, errors = browser.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(berlyne.watch([still, quick], tmp_path / "still.html").as_uri())
    page.keyboard.press("End")
    settle(page)
    assert page.locator(".now").all_inner_texts() == ["step 0 · 0 bits missing", "step 4 · 0 bits missing"]
    page.locator("input[value=race]").check(force=True)
    page.keyboard.press("End")
    settle(page)
    assert page.locator(".now").all_inner_texts() == ["step 0 · reached 0 bits"] * 2
    assert errors == []
    page.close()


def test_drawings_have_text_for_screen_readers(opened: Open) -> None:
    page = opened("maze")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.getElementById('status').textContent !== ''")
    assert page.locator("#status").text_content().startswith("PIG(VI) at step 1 in room ")  # type: ignore[union-attr]  # it is there
    assert page.locator("#status").get_attribute("role") == "status"
    for name in ("Play", "Step back", "Step forward"):
        assert page.get_by_role("button", name=name, exact=True).count() == 1
    assert page.get_by_role("slider", name="Time").get_attribute("aria-valuetext") == "step 1 of 300"
