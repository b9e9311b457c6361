"""Take the picture of the page of `berlyne watch` again (needs Chromium, and the extra `browser`)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import berlyne

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Two strategies in a maze, after 900 steps, with a room chosen."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        raise SystemExit(f"watch.png needs one of {', '.join(BROWSERS)}; on Debian: apt-get install chromium")
    world = berlyne.maze(7)
    runs = [berlyne.explore(world, name, n_steps=2500, seed=7) for name in ("PIG(VI)", "Random")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = berlyne.watch(runs, Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1180}, color_scheme="light")
        page.goto(f"{place.as_uri()}#t=900&s=13")
        page.wait_for_timeout(500)
        bottom = page.evaluate("() => document.getElementById('panels').getBoundingClientRect().bottom")
        clip = {"x": 0, "y": 0, "width": 1440, "height": bottom + 16}
        page.screenshot(path=HERE / "watch.png", clip=clip, full_page=True)  # type: ignore[arg-type]  # a plain dict
        browser.close()


if __name__ == "__main__":
    main()
