"""Replays in the report of a reproduction: they are folded, and loaded when they are opened."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Literal

import pytest
from PIL import Image
from playwright.sync_api import Browser

import berlyne
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.page.context import PageContext
from berlyne.paper.reproduction.page.environment import static_file
from berlyne.paper.reproduction.page.replays import replay_data
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.report import page as report_page
from berlyne.paper.reproduction.report import section
from browser.expected import brief


@pytest.fixture(scope="module")
def paper_run(tmp_path_factory: pytest.TempPathFactory) -> PaperRun:
    folder = tmp_path_factory.mktemp("reproduction")
    names = ("Random", "LTA", "PIG(VI)")
    berlyne.Experiment(strategies=names, n_worlds=2, n_steps=50).run(folder / "results.zarr", progress=False)
    return PaperRun(folder, 2, 0)


def write_page(paper_run: PaperRun, folder: Path) -> str:
    """Write a page with the replays alone, and return its address."""
    shown = PageContext(paper_run, {})
    data = [f'<script type="application/json" id="{id_}">{text}</script>' for id_, text in replay_data(shown).items()]
    style, script = static_file("report.css"), static_file("report.js")
    (folder / "report.html").write_text(
        f"<!doctype html><title>t</title><style>{style}</style><main>{section(shown, 'watch')}</main>{''.join(data)}"
        f"<script>{script}</script>",
        encoding="utf-8",
    )
    return (folder / "report.html").as_uri()


def test_a_replay_is_loaded_when_it_is_unfolded(paper_run: PaperRun, browser: Browser, tmp_path: Path) -> None:
    page, errors = browser.new_page(), []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(write_page(paper_run, tmp_path))
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
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(write_page(paper_run, tmp_path))
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
    assert section(shown, "watch") == "" and replay_data(shown) == {}


@pytest.mark.parametrize(("scheme", "expected"), [("light", [255, 255, 255]), ("dark", [23, 23, 23])])
def test_the_white_of_a_figure_is_the_background_of_the_page(
    scheme: Literal["light", "dark"], expected: list[int], browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "figures").mkdir()
    for name in FIGURES:
        Image.new("RGB", (40, 30), "white").save(tmp_path / "figures" / f"{name}.png")
    (tmp_path / "report.html").write_text(report_page(PageContext(PaperRun(tmp_path, 2, 0), {})), encoding="utf-8")
    page = browser.new_page(color_scheme=scheme)
    page.goto((tmp_path / "report.html").as_uri())
    for name in ("fig1", "fig8"):
        content = page.locator(f"[id='figure-{name}'] img").screenshot()
        with Image.open(io.BytesIO(content)) as picture:
            seen = picture.convert("RGB").getpixel((picture.width // 2, picture.height // 2))
        assert list(seen) == pytest.approx(expected, abs=2)
    page.close()
