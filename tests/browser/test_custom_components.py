"""Custom priors and methods on the page: known values are shown, and unknown ones are marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

import berlyne
from berlyne.strategies.coordination import Greedy, View
from berlyne.validation import FloatArray, IntArray
from browser.conftest import settle
from browser.expected import brief, colour, missing_of_rows, model_at
from browser.test_numbers import pixel, place_of


class Cautious:
    """A method that says values."""

    def values(self, view: View, s: int) -> FloatArray:
        return np.asarray(view.utility[:, s] - 0.1 * view.counts[:, s].sum(axis=1))


class Pooled:
    """A prior under which an action does the same in all states."""

    rows_are_independent = False

    def estimate(self, counts: IntArray) -> FloatArray:
        pooled = 1.0 + counts.sum(axis=1, keepdims=True)
        return np.repeat(pooled / pooled.sum(axis=-1, keepdims=True), counts.shape[1], axis=1)


@pytest.fixture(scope="module")
def runs() -> list[berlyne.Run]:
    theta = np.random.default_rng(2).dirichlet(np.ones(4), size=(2, 4))
    flat = berlyne.Dirichlet(1.0, n_states=4, n_actions=2)
    mine = berlyne.Strategy("Cautious", Cautious(), "PIG")
    function = berlyne.Strategy("A function", lambda view, s, u: int(u[0] < 0.5), None)
    asked = [(mine, flat), (function, flat), ("PIG(VI)", Pooled()), ("PIG(VI)", berlyne.ChineseRestaurant(1.0))]
    return [
        berlyne.explore(berlyne.World(theta, prior, start=1), strategy, n_steps=30, seed=3) for strategy, prior in asked
    ]


def test_unknown_values_are_marked(runs: list[berlyne.Run], browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(berlyne.watch(runs, tmp_path / "own.html").as_uri() + "#t=20")
    settle(page)
    assert page.get_by_role("button", name="Take over").count() == 2  # the page knows Bayes' rule for two of the priors
    thought = berlyne.replay(runs[0].world, runs[0], runs[0].strategy).action_values.values[20]
    lines = page.locator(".details").nth(0).locator(".worth").all_inner_texts()
    assert [line.split(" · ")[0] for line in lines] == [f"value {brief(value)}" for value in thought]
    away = next(s for s in range(4) if all(s != run.states[20] for run in runs[:1]))
    page.locator(".states").first.locator(f"button[data-s='{away}']").hover()
    settle(page)
    for i in (0, 1):
        lines = page.locator(".details").nth(i).locator(".worth").all_inner_texts()
        assert [line.split(" · ")[0] for line in lines] == ["value not known here"] * 2
    page.close()


def cost(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """A utility that is never positive."""
    return float(-theta_hat.max())


def balance(theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """One that is positive where little is known, and negative elsewhere."""
    return float(0.25 - theta_hat.max())


@pytest.mark.parametrize(("utility", "highest"), [(cost, 0.0), (balance, 0.25)])
def test_utilities_below_zero_are_shaded_from_their_least(
    utility: Any, highest: float, browser: Browser, tmp_path: Path
) -> None:
    prior = berlyne.Dirichlet(1.0, n_states=6, n_actions=2)
    world = berlyne.World(np.random.default_rng(4).dirichlet(np.ones(6), size=(2, 6)), prior)
    run = berlyne.explore(world, berlyne.Strategy("Mine", Greedy(), utility), n_steps=40, seed=1)
    page = browser.new_page()
    page.goto(berlyne.watch(run, tmp_path / "signed.html").as_uri() + "#t=25")
    page.locator("input[value=utility]").check(force=True)
    settle(page)
    expected = highest - model_at(run, 25).theta_hat.max(axis=2).min(axis=0)
    low, top = min(expected.min(), 0.0), max(expected.max(), 0.0)
    assert low < 0 and (top > 0) == (highest > 0)
    np.testing.assert_allclose(page.evaluate("() => [...berlyne.panels[0].shade]"), expected, rtol=1e-9)
    assert page.locator(".low-of-scale").inner_text() == brief(low)
    assert page.locator(".top-of-scale").inner_text() == brief(top)
    ramp, right = page.evaluate("() => berlyne.ramps.light"), 0
    for s in range(6):
        x, y, reach = place_of(page, 0, s)
        shown = pixel(page, 0, x - 0.74 * reach, y + 0.3 * reach)
        right += bool(np.abs(shown - colour((expected[s] - low) / (top - low), ramp)).max() <= 3.0)
    assert right == 6
    page.locator("button[data-s='0']").focus()
    assert page.locator(":focus").get_attribute("aria-label", timeout=1000) == (
        f"state 0, {brief(expected[0])} {utility.__name__} of the best action"
    )
    page.close()


def test_rows_that_depend_on_each_other_are_planned_with(
    runs: list[berlyne.Run], browser: Browser, tmp_path: Path
) -> None:
    page, run = browser.new_page(), runs[2]
    page.goto(berlyne.watch(run, tmp_path / "pooled.html").as_uri() + "#t=20")
    settle(page)
    explorer = berlyne.Explorer(run.world.prior, "PIG(VI)", n_states=4, n_actions=2)
    explorer.observe_many(np.stack([run.states[:20], run.actions[:20], run.next_states[:20]], axis=1).astype(np.int64))
    for s in range(4):
        shown = page.evaluate("s => berlyne.valuesOf(berlyne.runs[0], 20, s)", s)
        np.testing.assert_allclose(shown, explorer.action_values(s), rtol=1e-9)
        for a in range(2):
            estimate = page.evaluate("([a, s]) => [...berlyne.runs[0].estimate(2 * s + a, 20)]", [a, s])
            np.testing.assert_allclose(estimate, model_at(run, 20).theta_hat[a, s], rtol=1e-12)
    shade = page.evaluate("() => [...berlyne.panels[0].shade]")
    np.testing.assert_allclose(shade, missing_of_rows(run, 20).sum(axis=0), atol=1e-9)
    remedy = "world.with_prior(berlyne.Dirichlet(1 / 4, n_states=4, n_actions=2))"
    assert page.locator("#not-offered").is_visible() and remedy in page.locator("#not-offered").inner_text()
    page.keyboard.press("?")
    assert remedy in page.locator("#help").inner_text()
    page.close()
