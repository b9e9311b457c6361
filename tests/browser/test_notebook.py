"""The page in a real JupyterLab: shown below the cell that made it, without a server of its own and without files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser

from browser.expected import brief
from waiting import wait_until

CODE = """
import berlyne

run = berlyne.explore(berlyne.maze(7), "PIG(VI)", n_steps=40, seed=7)
page = berlyne.watch(run, notes={0: "Guess first."})
page
"""
TEXT = "print(page.path.is_file(), page.path.name, run.missing_information[7])"
LIMIT = 60_000
"""Milliseconds to wait for JupyterLab, which takes a few seconds on an idle machine."""


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a JupyterLab with one notebook, and return the address of the notebook."""
    folder = tmp_path_factory.mktemp("jupyter")
    cells = [nbformat.v4.new_code_cell(CODE.strip()), nbformat.v4.new_code_cell(TEXT)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "lesson.ipynb")
    own = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    options = [
        "--no-browser",
        "--ip=127.0.0.1",
        "--port=0",
        "--IdentityProvider.token=t",
        f"--ServerApp.root_dir={folder}",
    ]
    options += [
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--allow-root",
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, **own, "BROWSER": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        address: list[str] = []

        def answers() -> bool:
            """Whether the file with the address is there, and the server answers."""
            assert server.poll() is None, "JupyterLab did not start"
            try:
                (file,) = (folder / "jupyter_runtime_dir").glob("jpserver-*.json")
                address[:] = [json.loads(file.read_text(encoding="utf-8"))["url"]]
                with urllib.request.urlopen(f"{address[0]}api/status?token=t", timeout=60) as answer:
                    return bool(answer.status == 200)
            except (ValueError, OSError):
                return False

        wait_until(answers, "JupyterLab answers", pause=0.1)
        yield address[0]
    finally:
        server.terminate()
        server.wait(timeout=60)


def test_jupyterlab_shows_the_page_below_its_cell(jupyterlab: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    page, asked = context.new_page(), []
    page.goto(f"{jupyterlab}lab/tree/lesson.ipynb?token=t", timeout=LIMIT)
    page.locator(".jp-Notebook .jp-Cell").nth(1).wait_for(timeout=LIMIT)
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for(timeout=LIMIT)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).first.click()
    frame = page.locator(".jp-OutputArea-output iframe")
    frame.wait_for(timeout=LIMIT)
    page.on("request", lambda request: asked.append(request.url))
    inside = page.frame_locator(".jp-OutputArea-output iframe")
    inside.locator("#slider").fill("7", timeout=LIMIT)
    printed = page.locator(".jp-OutputArea-output pre", has_text="True berlyne-").inner_text(timeout=LIMIT)
    assert printed.split()[1].endswith(".html")
    bits = brief(float(printed.split()[2]))
    inside.locator(".now", has_text=f"step 7 · {bits} bits missing").wait_for(timeout=LIMIT)
    assert inside.locator("#note").inner_text() == "Guess first."
    inside.get_by_role("button", name="Play", exact=True).click()
    inside.get_by_role("button", name="Pause", exact=True).click()
    width, height = inside.locator("html").evaluate("root => [root.scrollWidth - innerWidth, innerHeight]")
    assert width <= 0 and height == pytest.approx(718, abs=2)  # a frame of 720 pixels with its border
    assert [url for url in asked if ".html" in url or "berlyne" in url] == []
    assert page.locator("iframe[src]").count() == 0
    context.close()
