"""The learning curve on the page: its numbers fit, and a point on it selects one time."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import berlyne
from browser.conftest import settle

WRITTEN = """
const { fillText } = CanvasRenderingContext2D.prototype;
window.written = [];
CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
  const share = { left: 0, center: 0.5, right: 1 }[this.textAlign] ?? 0;
  written.push([text, x - share * this.measureText(text).width]);
  fillText.call(this, text, x, ...more);
};
"""


pytestmark = pytest.mark.filterwarnings("ignore:the page is")  # 625 states are a large page


def shown(browser: Browser, folder: Path, run: berlyne.Run, width: int = 1440) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.add_init_script(WRITTEN)
    page.goto(run.watch(folder / "curve.html").as_uri())
    settle(page)
    return page


def in_a_grid(side: int) -> berlyne.Run:
    return berlyne.explore(berlyne.grid_world(side), "Random", n_steps=50, seed=0)


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize(("side", "label"), [(5, "200"), (25, "10,000")])
def test_numbers_of_bits_are_whole(side: int, label: str, width: int, browser: Browser, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, in_a_grid(side), width)
    labels = page.evaluate("() => written")
    axis = labels[: [text for text, _ in labels].index("bits missing, by step")]
    assert label in [text for text, _ in axis]
    assert min(left for _, left in axis) >= 0
    page.close()


def test_the_curve_leaves_space_for_longer_numbers(browser: Browser, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, in_a_grid(5))
    left = """(bits) => {
      const { curve } = berlyne.panels[0];
      const line = { curve: [bits, 0], nSteps: 1, colour: "black", dash: [], own: true };
      written.length = 0;
      curve.draw({ lines: [line], axes: { bits: [0, bits], steps: [0, 1] }, t: 0, level: null, key: bits });
      return [curve.toPixels(0, 0)[0], Math.min(...written.map(([, x]) => x))];
    }"""
    (few, in_sight), (many, still), repeated = (page.evaluate(left, bits) for bits in (100.0, 12_345_678.0, 100.0))
    assert few < many and min(in_sight, still) >= 0 and repeated == [few, in_sight]
    page.close()


@pytest.mark.parametrize("side", [5, 25])
def test_a_place_on_the_curve_stands_for_its_time(side: int, browser: Browser, tmp_path: Path) -> None:
    page = shown(browser, tmp_path, in_a_grid(side))
    times = page.evaluate("""() => {
      const { curve } = berlyne.panels[0];
      return Array.from({ length: 51 }, (_, t) => curve.timeAt(curve.toPixels(t, 0)[0]));
    }""")
    assert times == list(range(51))
    page.close()
