"""Shading by value, and values under another planning depth or another prior: equal to those of an explorer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

import berlyne
from berlyne.validation import FloatArray
from browser.conftest import scrub, settle
from browser.expected import brief, explorer_at

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]
T = 90


def shade_by_value(page: Page, t: int = T) -> None:
    scrub(page, t)
    page.locator("input[value=value]").check(force=True)
    settle(page)


def shade_of(page: Page, panel: int) -> FloatArray:
    return np.array(page.evaluate("i => [...berlyne.panels[i].shade]", panel))


def values_after(run: berlyne.Run, t: int, depth: int | None = None, alpha: float | None = None) -> FloatArray:
    """The value of the best action in each state to an explorer with the same observations, (N,)."""
    world, strategy = run.world, run.strategy
    prior = world.prior
    if alpha is not None:
        assert isinstance(prior, berlyne.Dirichlet)
        support = berlyne.InternalModel(prior).theta_hat > 0
        prior = berlyne.Dirichlet(alpha, support)
    if depth is not None:
        strategy = berlyne.strategy("PIG(VI)", steps_back=depth)
    explorer = berlyne.Explorer(prior, strategy, n_states=world.n_states, n_actions=world.n_actions)
    for i in range(t):
        explorer.observe(int(run.states[i]), int(run.actions[i]), int(run.next_states[i]))
    explorer.ends_in(world.terminal.tolist())
    explorer._agent.tell_starts(world.episodes.distribution)  # known in a simulated world
    best = [0.0 if s in world.terminal else explorer.action_values(s).max() for s in range(world.n_states)]
    return np.array(best)


@pytest.mark.parametrize("name", ["maze", "1-2-3", "ends", "lake"])
def test_states_are_shaded_by_the_value_of_their_best_action(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name)
    shade_by_value(page)
    for i, run in enumerate(runs[name]):
        if run.strategy.name == "Random":
            assert not shade_of(page, i).any()  # it prefers nothing
        elif run.strategy.name != "CB":  # of which only the page knows visits after a reset
            expected = values_after(run, T)
            np.testing.assert_allclose(shade_of(page, i), expected, rtol=1e-9, atol=1e-12)
            counted = expected[[s for s in range(len(expected)) if s not in run.world.terminal]]
            assert page.locator(".low-of-scale").nth(i).inner_text() == brief(counted.min())
            assert page.locator(".top-of-scale").nth(i).inner_text().removesuffix(" bits") == brief(counted.max())


def test_the_slope_leads_from_room_to_room_up_to_what_is_unknown(opened: Open, runs: Runs) -> None:
    page, run = opened("maze"), runs["maze"][0]
    shade_by_value(page)
    values = explorer_at(run, T)
    for s in range(36):
        best = np.asarray(values.action_values(s))
        if np.sum(best >= best.max() * (1 - 1e-12)) == 1:
            assert page.evaluate("s => berlyne.panels[0].bestActions[s]", s) == int(best.argmax())
    low, high = page.evaluate("() => berlyne.scaleEnds(berlyne.panels[0])")
    assert low > 0 and high > 1.5 * low  # from the smallest value on, else the slope would be invisible


def set_slider(page: Page, name: str, value: float) -> None:
    page.locator(f"#{name}").evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')); }", str(value)
    )
    settle(page)


@pytest.mark.parametrize("name", ["maze", "lake", "1-2-3"])
def test_the_depth_is_that_of_an_explorer_with_other_steps(name: str, opened: Open, runs: Runs) -> None:
    page = opened(name)
    shade_by_value(page)
    assert page.locator("#depth-text").inner_text() == "as each strategy plans"
    for depth in (0, 1, 4, 17):
        set_slider(page, "depth", depth)
        for i in (0, 1):
            run = runs[name][i]
            if run.strategy.utility in (None, "PIG"):
                np.testing.assert_allclose(shade_of(page, i), values_after(run, T, depth), rtol=1e-9, atol=1e-12)
    assert page.locator("#depth-text").inner_text() == "17 more steps"
    s = int(runs[name][0].states[T])
    shown = page.locator(".details").first.locator(".worth").first.inner_text().split(" · ")[0]
    world, planner = runs[name][0].world, values_after(runs[name][0], T, 17)
    values = page.evaluate("([t, s]) => berlyne.valuesOf(berlyne.panels[0].view, t, s)", [T, s])
    assert max(values) == pytest.approx(planner[s]) and shown == f"value {brief(values[0])}"
    assert len(values) == world.n_actions
    page.get_by_role("button", name="Their own settings").click()
    settle(page)
    np.testing.assert_allclose(shade_of(page, 0), values_after(runs[name][0], T), rtol=1e-9, atol=1e-12)
    assert page.locator("#depth").input_value() == "10"


@pytest.mark.parametrize("name", ["maze", "lake", "ends"])
def test_alpha_is_that_of_another_prior_with_the_same_observations(name: str, opened: Open, runs: Runs) -> None:
    page, run = opened(name), runs[name][0]
    shade_by_value(page)
    own = run.world.prior.alpha  # type: ignore[union-attr]  # a Dirichlet distribution
    assert page.locator("#alpha-text").inner_text() == f"{float(f'{own:.3g}'):g}, its own"
    for exponent, alpha in ((-2, 0.01), (0, 1.0), (0.7, 5.0)):
        set_slider(page, "alpha", exponent)
        assert page.locator("#alpha-text").inner_text() == f"{alpha:g}"
        np.testing.assert_allclose(shade_of(page, 0), values_after(run, T, None, alpha), rtol=1e-9, atol=1e-12)
    set_slider(page, "depth", 2)
    np.testing.assert_allclose(shade_of(page, 0), values_after(run, T, 2, 5.0), rtol=1e-9, atol=1e-12)
    page.locator("input[value=missing]").check(force=True)
    settle(page)
    bits = page.evaluate("() => [...berlyne.panels[0].shade].reduce((a, b) => a + b)")
    assert bits == pytest.approx(run.missing_information[T])  # only values depend on the sliders


def test_sliders_are_offered_only_where_the_page_can_compute_values(opened: Open) -> None:
    page = opened("1-2-3")
    assert not page.locator("#settings").is_visible()
    shade_by_value(page)
    assert page.locator("#depth").is_visible() and not page.locator("#alpha").is_visible()  # its prior has no alpha


def test_pointing_at_a_state_shows_probabilities_under_the_alpha_of_the_slider(opened: Open, runs: Runs) -> None:
    page, run = opened("ends"), runs["ends"][0]
    shade_by_value(page)
    set_slider(page, "alpha", 1)
    page.locator(".states").first.locator("button[data-s='1']").hover()
    settle(page)
    counts = np.zeros((2, 4))
    for i in range(T):
        if run.states[i] == 1:
            counts[run.actions[i], run.next_states[i]] += 1
    for a in range(2):
        label = page.locator(".details").first.locator(f"[data-a='{a}'] .bars").get_attribute("aria-label") or ""
        written = [part.split(" true, ")[1].removesuffix(" estimated") for part in label.split("; ")]
        assert written == [brief(p) for p in (counts[a] + 10) / (counts[a].sum() + 40)]
