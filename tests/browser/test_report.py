"""Replays in the report of a reproduction: they are folded, and loaded when they are opened."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import berlyne
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.replays import replay_data, replays
from berlyne.paper.reproduction.paper_run import PaperRun
from browser.expected import brief


@pytest.fixture(scope="module")
def paper_run(tmp_path_factory: pytest.TempPathFactory) -> PaperRun:
    folder = tmp_path_factory.mktemp("reproduction")
    names = ("Random", "LTA", "PIG(VI)")
    berlyne.Experiment(strategies=names, n_worlds=2, n_steps=50).run(folder / "results.zarr", progress=False)
    return PaperRun(folder, 2, 0)


def test_a_replay_is_loaded_when_it_is_unfolded(paper_run: PaperRun, browser: Browser, tmp_path: Path) -> None:
    shown = PageContext(paper_run, {})
    script = files("berlyne.paper.reproduction").joinpath("report.js").read_text(encoding="utf-8")
    place = tmp_path / "report.html"
    place.write_text(
        f"<!doctype html><title>t</title><main>{replays(shown)}</main>{replay_data(shown)}<script>{script}</script>",
        encoding="utf-8",
    )
    page, errors = browser.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(place.as_uri())
    assert page.locator("iframe").count() == 0
    for name in ("dense", "maze", "1-2-3"):
        fold = page.locator(f"[id='replay-{name}']")
        fold.locator("summary").click()
        inside = page.frame_locator(f"[id='replay-{name}'] iframe")
        inside.locator("#slider").fill("33")
        runs = [paper_run.results.run(f"{name}/000", strategy) for strategy in ("PIG(VI)", "Random")]
        for i, run in enumerate(runs):
            assert inside.locator("h2").nth(i).inner_text() == run.strategy.name
            now = f"step 33 · {brief(run.missing_information[33])} bits missing"
            inside.locator(".now", has_text=now).nth(0).wait_for()
        fold.locator("summary").click()
        fold.locator("summary").click()  # folded and unfolded again, it is as it was left
        assert inside.locator("#slider").input_value() == "33"
    assert page.locator("iframe").count() == 3
    assert errors == []
    page.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_replay_is_as_high_as_what_it_shows(
    paper_run: PaperRun, width: int, browser: Browser, tmp_path: Path
) -> None:
    shown, package = PageContext(paper_run, {}), files("berlyne.paper.reproduction")
    script, style = (package.joinpath(f"report.{kind}").read_text(encoding="utf-8") for kind in ("js", "css"))
    place = tmp_path / "report.html"
    place.write_text(
        f"<!doctype html><title>t</title><style>{style}</style><main>{replays(shown)}</main>{replay_data(shown)}"
        f"<script>{script}</script>",
        encoding="utf-8",
    )
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(place.as_uri())
    for name in ("maze", "1-2-3"):
        page.locator(f"[id='replay-{name}'] summary").click()
        frame = page.locator(f"[id='replay-{name}'] iframe")
        inside = page.frame_locator(f"[id='replay-{name}'] iframe")
        for act in (lambda: None, inside.get_by_role("button", name="Take over").first.click):
            act()
            page.wait_for_timeout(400)
            root = inside.locator("html")
            high, seen = root.evaluate("root => [root.scrollHeight, innerHeight]")
            assert high == seen and root.evaluate("root => root.scrollWidth <= innerWidth")
            assert (frame.bounding_box() or {})["height"] == pytest.approx(seen + 2, abs=1)
            assert seen > 600
    page.close()


def test_a_reproduction_without_explorations_has_nothing_to_watch(tmp_path: Path) -> None:
    shown = PageContext(PaperRun(tmp_path, 2, 0), {})
    assert replays(shown) == replay_data(shown) == ""
