"""A person takes over an agent: same world, same prior, Bayes' rule, and no more information than the agent has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import berlyne
from browser.conftest import settle
from browser.expected import brief, mulberry32

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]


def begun(page: Page, panel: int = 0) -> None:
    page.get_by_role("button", name="Take over").nth(panel).click()
    settle(page)


@pytest.mark.parametrize("name", ["maze", "dense", "1-2-3", "house", "ends"])
def test_beliefs_of_a_person_are_those_of_the_model(name: str, opened: Open, runs: Runs) -> None:
    page, run = opened(name), runs[name][1]
    world = run.world
    begun(page, 1)
    model = berlyne.InternalModel(world.prior)
    rng, uniform = np.random.default_rng(1), mulberry32(0)
    s, missing = int(run.states[0]), [model.missing_information(world)]
    for _ in range(40):
        a = int(rng.integers(world.n_actions))
        expected = world.sample(a, s, next(uniform))
        assert page.evaluate("a => berlyne.takeover.take(a)", a) == expected
        model.observe(s, a, expected)
        s = world.episodes.draw(next(uniform)) if world.episodes.is_terminal[expected] else expected
        missing.append(model.missing_information(world))
    assert page.evaluate("() => berlyne.person.stateAt(berlyne.person.nSteps)") == s
    np.testing.assert_allclose(page.evaluate("() => berlyne.person.curve"), missing, atol=1e-9)
    believed = page.evaluate(
        """() => Array.from({ length: berlyne.world.nRows }, (_, row) => {
          const p = berlyne.person.estimate(row), all = Array(berlyne.world.nStates).fill(0);
          berlyne.person.support(row).forEach((s, i) => { all[s] = p[i]; });
          return [all, berlyne.person.utility(row), berlyne.person.expectedMissing(row)];
        })"""
    )
    shape = world.n_states, world.n_actions, world.n_states
    theta_hat = np.array([row[0] for row in believed]).reshape(shape).transpose(1, 0, 2)
    np.testing.assert_allclose(theta_hat, model.theta_hat, atol=1e-9)
    for column, of in ((1, berlyne.pig), (2, berlyne.parameter_gain)):
        values = np.array([row[column] for row in believed]).reshape(shape[:2]).T
        known = of(model)
        known[:, world.terminal] = 0.0
        np.testing.assert_allclose(values, known, atol=1e-9)


def test_outcomes_that_are_given_are_learned(opened: Open, runs: Runs) -> None:
    page, run = opened("maze"), runs["maze"][0]
    begun(page)
    for i in range(300):
        step = [int(run.actions[i]), int(run.next_states[i])]
        page.evaluate("([a, s]) => berlyne.person.take(a, s)", step)
    shown = page.evaluate("() => berlyne.person.curve")
    np.testing.assert_allclose(shown, run.missing_information, atol=1e-9)


def test_arrow_keys_push_and_buttons_do_the_same(opened: Open, runs: Runs) -> None:
    page, run = opened("maze"), runs["maze"][0]
    begun(page)
    assert page.locator("article:visible").count() == 1
    keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowLeft"]
    for key in keys:
        page.keyboard.press(key)
    page.get_by_role("button", name="down", exact=True).click()
    settle(page)
    assert page.evaluate("() => berlyne.person.actions") == [0, 1, 2, 3, 2, 1]
    uniform, s = mulberry32(0), int(run.states[0])
    for a in [0, 1, 2, 3, 2, 1]:
        s = run.world.sample(a, s, next(uniform))
    assert page.locator("article:visible h3").inner_text().startswith(f"Room {s}")
    bits = [run.missing_information[6] for run in runs["maze"]]
    others = ", ".join(f"{r.strategy} {brief(b)}" for r, b in zip(runs["maze"], bits, strict=True))
    mine = brief(page.evaluate("() => berlyne.person.curve[6]"))
    assert (
        page.locator("#score").inner_text()
        == f"After 6 steps you still have {mine} bits to learn. The agents at the same step: {others}."
    )
    page.get_by_role("button", name="Start over").click()
    assert page.evaluate("() => berlyne.person.nSteps") == 0
    page.get_by_role("button", name="Back to the replay").click()
    settle(page)
    assert page.locator("article:visible").count() == 4  # without steps of your own there is nothing to keep


def test_number_keys_act_in_worlds_without_directions(opened: Open) -> None:
    page = opened("house")
    begun(page)
    for key in ("0", "1", "1", "2", "ArrowUp", "x"):
        page.keyboard.press(key)
    assert page.evaluate("() => berlyne.person.actions") == [0, 1, 1]


def test_the_truth_is_hidden_from_a_person(opened: Open, runs: Runs) -> None:
    page, world = opened("dense"), runs["dense"][0].world
    begun(page)
    for _ in range(5):
        page.keyboard.press("1")
    settle(page)
    article = page.locator("article:visible")
    assert article.locator(".truth").count() == 0
    assert "true" not in (article.locator(".bars").first.get_attribute("aria-label") or "")
    shade = page.evaluate("() => [...berlyne.takeover.panel.shade]")
    model = berlyne.InternalModel(world.prior)
    path = page.evaluate("() => [berlyne.person.states, berlyne.person.actions, berlyne.person.nextStates]")
    model.observe_many(np.stack([path[0][:-1], path[1], path[2]], axis=1))
    np.testing.assert_allclose(shade, berlyne.parameter_gain(model).sum(axis=0), atol=1e-9)
    drawn = page.evaluate("() => berlyne.takeover.panel.map.arrows.map(({ s, sNext }) => [s, sNext])")
    assert {tuple(pair) for pair in drawn} <= set(zip(path[0][:-1], path[2], strict=True))  # only what was seen
    for kind in ("visits", "utility"):  # chosen before
        page.evaluate("kind => berlyne.setShading(kind)", kind)
        settle(page)
    assert page.evaluate("() => [...berlyne.takeover.panel.shade]") == pytest.approx(berlyne.pig(model).max(axis=0))


BLUE = """([x, y, reach]) => {
  const { map } = berlyne.visiblePanels[0];
  const [left, top, size] = [x - reach + 3, y - reach + 3, 2 * reach - 6].map((v) => Math.round(v * map.ratio));
  const { data } = map.context.getImageData(left, top, size, size);
  let [n, sx, sy] = [0, 0, 0];
  for (let i = 0; i < data.length; i += 4) {
    if (Math.hypot(data[i] - 0x1f, data[i + 1] - 0x5f, data[i + 2] - 0xbf) > 12) continue;
    n += 1;
    sx += (i / 4) % size;
    sy += Math.floor(i / 4 / size);
  }
  return n > 8 ? [sx / n / size - 0.5, sy / n / size - 0.5] : null;
}"""


def blue_in_rooms(page: Page) -> list[list[float] | None]:
    """Return the centre of the blue pixels of each room, as a share of its size; None if there are none."""
    places = page.evaluate(
        "() => { const [{ map }] = berlyne.visiblePanels; "
        "return berlyne.world.states.map((_, s) => [...map.point(s), map.radius]); }"
    )
    return [page.evaluate(BLUE, place) for place in places]


def test_a_person_sees_which_rooms_may_lead_to_the_base_but_not_by_which_wall(opened: Open, runs: Runs) -> None:
    page, world = opened("maze"), runs["maze"][0].world
    geometry = world.geometry
    assert geometry is not None
    base = geometry.base
    shown = blue_in_rooms(page)
    with_bars = {s for s in range(36) if geometry.transporters[s].any()}
    assert {s for s, is_marked in enumerate(shown) if is_marked} == with_bars | {base}
    begun(page)
    shown = blue_in_rooms(page)
    may = {s for s in range(36) if base in geometry.destination[s] and s != base}
    may -= {s for s in may if base in geometry.destination[s][geometry.passages[s]]}  # there one may as well walk
    assert 5 < len(may) < 30
    assert {s for s, is_marked in enumerate(shown) if is_marked} == may | {base}
    where = np.array([shown[s] for s in may])
    assert np.ptp(where, axis=0).max() < 0.02  # the same place in all of them, whichever wall it is
    assert "may lead to the base" in page.locator("#hint").inner_text()


def test_positions_of_states_do_not_reveal_transitions_to_a_person(browser: Browser, tmp_path: Path) -> None:
    theta = np.zeros((2, 8, 8))
    order = [0, 5, 2, 7, 4, 1, 6, 3]  # neighbours in a line
    for i, s in enumerate(order):
        theta[0, s, order[min(i + 1, 7)]] = theta[1, s, order[max(i - 1, 0)]] = 1.0
    world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=8, n_actions=2))
    page = browser.new_page()
    page.goto(berlyne.explore(world, "Random", n_steps=5, seed=0).watch(tmp_path / "line.html").as_uri())
    settle(page)
    places = "() => berlyne.world.states.map((_, s) => berlyne.visiblePanels[0].map.point(s))"
    gap = np.linalg.norm(np.diff(np.array(page.evaluate(places))[order], axis=0), axis=1)
    np.testing.assert_allclose(gap, gap.mean(), rtol=0.05)
    begun(page)
    positions = np.array(page.evaluate(places))
    around = np.linalg.norm(positions - np.roll(positions, 1, axis=0), axis=1)
    np.testing.assert_allclose(around, around[0], rtol=1e-9)  # a circle in the order of their numbers
    assert page.locator("#keys button").all_inner_texts() == ["0: action 0", "1: action 1"]
    page.close()


def test_the_axes_fit_the_contest(opened: Open, runs: Runs) -> None:
    page, top = opened("maze", "#t=100"), max(run.missing_information.max() for run in runs["maze"])
    assert page.evaluate("() => berlyne.axes") == {"steps": [0, 300], "bits": [0, pytest.approx(top)]}
    keys, own = page.locator("#replay-keys"), page.locator("#your-keys")
    assert keys.is_visible() and not own.is_visible()
    begun(page)
    page.keyboard.press("ArrowUp")
    settle(page)
    assert page.locator("article:visible h3 .tag").inner_text() == "where you are"
    assert not keys.is_visible() and own.inner_text().startswith("Use the arrow keys or the buttons above.")
    lines = [run.missing_information[100:161] for run in runs["maze"]]
    lines.append(np.array(page.evaluate("() => berlyne.person.curve"))[100:])
    low, high = min(map(np.min, lines)), max(map(np.max, lines))
    rim = max(0.06 * (high - low), 0.01 * high)
    axes = page.evaluate("() => berlyne.axes")
    assert axes == {"steps": [100, 160], "bits": pytest.approx([low - rim, high + rim])}
    ends = "([t, bits]) => berlyne.takeover.panel.curve.toPixels(t, bits)"
    assert page.evaluate(ends, [100, axes["bits"][0]])[1] == 102 and page.evaluate(ends, [100, axes["bits"][1]])[1] == 8
    page.get_by_role("button", name="Back to the replay").click()
    settle(page)
    assert keys.is_visible() and not own.is_visible()
    assert page.locator("article:visible h3 .tag").first.inner_text() == "where the agent is"


def test_number_keys_are_explained_in_worlds_without_directions(opened: Open) -> None:
    page = opened("house")
    begun(page)
    assert page.locator("#your-keys").inner_text().startswith("Use the number keys or the buttons above.")
