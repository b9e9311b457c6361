"""Pages that are written once, and a real browser that opens them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

import berlyne

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE, NARROW = 1440, 390
HEIGHT = 900


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = next((path for path in map(shutil.which, NAMES) if path), None)
    if executable is None:
        pytest.fail(f"the browser tests need one of {', '.join(NAMES)}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=SWITCHES)
        yield chromium
        chromium.close()


def some_runs(world: berlyne.World, names: tuple[str, ...], n_steps: int) -> list[berlyne.Run]:
    return [berlyne.explore(world, name, n_steps=n_steps, seed=7) for name in names]


@pytest.fixture(scope="session")
def runs() -> dict[str, list[berlyne.Run]]:
    """Return the runs that the pages show, by name of the page."""
    house = berlyne.World(
        np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=(2, 5)),
        berlyne.Dirichlet(1.0, n_states=5, n_actions=2),
        states=["kitchen", "hall", "<script>document.title='harm'</script>", "garden", "attic"],
        actions=["push", "<b>pull</b>"],
        name="A <i>house</i>",
        start="hall",
    )
    return {
        "maze": some_runs(berlyne.maze(7), ("PIG(VI)", "Random", "CB", "PEIG(Q)"), 300),
        "dense": some_runs(berlyne.dense_world(7), ("PIG(VI)", "PIG(VI+)", "LTA", "Unembodied"), 300),
        "1-2-3": some_runs(berlyne.one_two_three_world(7), ("PIG(VI)", "PMC(greedy)"), 300),
        "house": some_runs(house, ("PIG(VI)", "Random"), 60),
        "lake": some_runs(_fixed(berlyne.from_gymnasium("FrozenLake-v1")), ("PIG(VI)", "Random"), 120),
        "cliff": some_runs(_fixed(berlyne.from_gymnasium("CliffWalking-v1")), ("PIG(VI)", "Random"), 120),
        "rooms": some_runs(berlyne.four_rooms(alpha=0.01), ("PIG(VI)", "Random"), 60),
        "tv": some_runs(berlyne.noisy_tv(alpha=0.05), ("PIG(VI)", "Random"), 120),
        "arms": some_runs(berlyne.n_arms(12, alpha=0.1), ("PIG(VI)", "LTA"), 60),
        "ends": _episodes(),
    }


def _fixed(world: berlyne.World) -> berlyne.World:
    """Return a world whose prior is a Dirichlet distribution with a fixed concentration."""
    n = world.n_states
    return world.with_prior(berlyne.Dirichlet(1 / n, n_states=n, n_actions=world.n_actions))


def _episodes() -> list[berlyne.Run]:
    """Runs in a world whose episodes end."""
    theta = np.zeros((2, 4, 4))
    theta[0, [0, 1, 2, 3], [1, 2, 3, 3]] = 0.8
    theta[0, :, 0] += 0.2
    theta[1] = 0.25
    prior = berlyne.Dirichlet(0.5, n_states=4, n_actions=2)
    world = berlyne.World(theta, prior, start=0, terminal=[3], name="Ends")
    return some_runs(world, ("PIG(VI)", "PIG(Q)", "CB"), 120)


@pytest.fixture(scope="session")
def files(runs: dict[str, list[berlyne.Run]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {name: berlyne.watch(of, folder / f"{name}.html") for name, of in runs.items()}


@pytest.fixture
def opened(browser: Browser, files: dict[str, Path]) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page by name. Console messages and network requests are errors at the end."""
    errors: list[str] = []
    contexts = []

    def open_(name: str, fragment: str = "", width: int = WIDE, **options: object) -> Page:
        context = browser.new_context(viewport={"width": width, "height": HEIGHT}, **options)  # type: ignore[arg-type]  # options
        contexts.append(context)
        page = context.new_page()

        def hear(message: ConsoleMessage) -> None:
            if "willReadFrequently" not in message.text:  # which is about how tests look at pixels
                errors.append(message.text)

        def see(request: Request) -> None:
            if request.url.split("#")[0] != files[name].as_uri() and not request.url.startswith("data:"):
                errors.append(request.url)

        page.on("console", hear)
        page.on("request", see)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(files[name].as_uri() + fragment)
        settle(page)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert errors == []


def settle(page: Page) -> None:
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def scrub(page: Page, t: int) -> None:
    page.locator("#slider").fill(str(t))
    settle(page)
