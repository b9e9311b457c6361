"""Take the screenshot `watch.png` of the page of `berlyne watch`. Needs Chromium and the extra `browser`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import berlyne

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Show two strategies in a maze after 900 steps, with room 13 selected."""
    executable = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if executable is None:
        raise SystemExit(f"watch.png needs one of {', '.join(BROWSERS)}; on Debian run apt-get install chromium")
    world = berlyne.maze(7)
    runs = [berlyne.explore(world, name, n_steps=2500, seed=7) for name in ("PIG(VI)", "Random")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = berlyne.watch(runs, Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1180}, color_scheme="light")
        page.goto(f"{path.as_uri()}#t=900&s=13")
        page.wait_for_timeout(500)
        bottom = page.evaluate("() => document.getElementById('panels').getBoundingClientRect().bottom")
        clip = {"x": 0, "y": 0, "width": 1440, "height": bottom + 16}
        page.screenshot(path=HERE / "watch.png", clip=clip, full_page=True)  # type: ignore[arg-type]  # a plain dict
        browser.close()


if __name__ == "__main__":
    main()
