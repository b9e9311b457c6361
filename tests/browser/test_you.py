"""Taking over from now: your run stays as "You", can be downloaded and read back, and every action has a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import berlyne
from browser.conftest import scrub, settle
from browser.expected import brief, mulberry32
from browser.test_takeover import begun

Open = Callable[..., Page]
Runs = dict[str, list[berlyne.Run]]


def back(page: Page) -> None:
    page.get_by_role("button", name="Back to the replay").click()
    settle(page)


@pytest.mark.parametrize(("name", "panel"), [("maze", 0), ("1-2-3", 1), ("ends", 2), ("dense", 3), ("lake", 1)])
def test_you_begin_at_the_step_that_is_shown_with_the_beliefs_of_the_agent(
    name: str, panel: int, opened: Open, runs: Runs
) -> None:
    page, run, t = opened(name, "#t=70"), runs[name][panel], 70
    world = run.world
    begun(page, panel)
    assert page.evaluate("() => [berlyne.person.nSteps, berlyne.person.begin]") == [t, t]
    assert page.evaluate("() => berlyne.person.stateAt(70)") == run.states[t]
    np.testing.assert_allclose(page.evaluate("() => berlyne.person.curve"), run.missing_information[: t + 1], atol=1e-9)
    model = berlyne.InternalModel(world.prior)
    model.observe_many(np.stack([run.states[:t], run.actions[:t], run.next_states[:t]], axis=1).astype(np.int64))
    uniform, s, missing = mulberry32(0), int(run.states[t]), []
    for a in [0, 1, 1, 0, 1, 0, 0, 1]:
        s_next = world.sample(a, s, next(uniform))
        assert page.evaluate("a => berlyne.takeover.take(a)", a) == s_next
        model.observe(s, a, s_next)
        s = world.episodes.draw(next(uniform)) if world.episodes.is_terminal[s_next] else s_next
        missing.append(model.missing_information(world))
    np.testing.assert_allclose(page.evaluate("() => berlyne.person.curve.slice(71)"), missing, atol=1e-9)
    score = page.locator("#score").inner_text()
    assert score.startswith(
        f"After 8 steps of your own, at step 78, you still have {brief(missing[-1])} bits to learn."
    )
    for other in runs[name]:
        assert f"{other.strategy} {brief(other.missing_information[78])}" in score
    page.get_by_role("button", name="Start over").click()
    assert page.evaluate("() => berlyne.person.nSteps") == t  # where you began, not the start of the run


def test_your_run_stays_in_the_replay_with_its_beliefs_at_every_step(opened: Open, runs: Runs) -> None:
    page, run = opened("maze", "#t=40"), runs["maze"][1]
    world = run.world
    begun(page, 1)
    for i in range(25):
        page.evaluate("a => berlyne.takeover.take(a)", i % 4)
    path = page.evaluate("() => [berlyne.person.states, berlyne.person.actions, berlyne.person.nextStates]")
    curve = page.evaluate("() => berlyne.person.curve")
    back(page)
    names = page.locator("article:visible h2").all_inner_texts()
    assert names == ["PIG(VI)", "Random", "CB", "PEIG(Q)", "You"]
    assert page.locator("#place").inner_text() == "step 65 of 300"  # the end of your run
    for t in (0, 41, 52, 65):
        scrub(page, t)
        assert page.locator(".now").nth(4).inner_text() == f"step {t} · {brief(curve[t])} bits missing"
        model = berlyne.InternalModel(world.prior)
        model.observe_many(np.stack([path[0][:t], path[1][:t], path[2][:t]], axis=1).astype(np.int64))
        missing = berlyne.kl_divergence(world.theta, model.theta_hat).sum(axis=0)
        np.testing.assert_allclose(page.evaluate("() => [...berlyne.panels[4].shade]"), missing, atol=1e-9)
        page.locator("input[value=visits]").check(force=True)
        settle(page)
        visits = np.bincount([path[0][0], *path[2][:t]], minlength=36)
        assert page.evaluate("() => [...berlyne.panels[4].shade]") == visits.tolist()
        page.locator("input[value=missing]").check(force=True)
        settle(page)
    scrub(page, 200)
    assert page.locator(".now").nth(4).inner_text() == f"step 65 · {brief(curve[65])} bits missing"  # its last step
    lines = page.evaluate("() => berlyne.linesFor(berlyne.panels[0]).map(({ name, curve }) => [name, curve.length])")
    assert lines[-1] == ["You", 66]


def test_you_take_part_in_the_race(opened: Open, runs: Runs) -> None:
    page = opened("maze")
    before = page.evaluate("() => berlyne.levels.length")
    begun(page)
    for i in range(200):
        page.evaluate("a => berlyne.takeover.take(a)", i % 4)
    curve = np.array(page.evaluate("() => berlyne.person.curve"))
    back(page)
    page.locator("input[value=race]").check(force=True)
    levels = page.evaluate("() => berlyne.levels")
    assert levels and before
    curves = [*(run.missing_information for run in runs["maze"]), curve]
    for place in (3, len(levels) // 4, len(levels) - 1):
        scrub(page, place)
        level = levels[place]
        times = [int(np.argmax(one <= level)) if one.min() <= level else None for one in curves]
        text = page.locator(".now").nth(4).inner_text()
        reached = f"step {times[4]} · reached {level:,.12g} bits"
        assert text == (reached if times[4] is not None else f"never reached {level:,.12g} bits")
        won = times[4] is not None and times[4] == min(t for t in times if t is not None)
        assert ("won" in (page.locator(".now").nth(4).get_attribute("class") or "")) == won


def test_you_may_go_on_from_any_step_of_your_own_run(opened: Open) -> None:
    page = opened("maze", "#t=10")
    begun(page)
    for a in (0, 1, 2, 3, 0):
        page.evaluate("a => berlyne.takeover.take(a)", a)
    mine = page.evaluate("() => [...berlyne.person.states]")
    back(page)
    scrub(page, 13)
    page.get_by_role("button", name="Go on from now").click()
    settle(page)
    assert page.evaluate("() => [...berlyne.person.states]") == mine[:14]
    page.keyboard.press("ArrowUp")
    back(page)
    assert page.locator("article:visible h2").all_inner_texts().count("You") == 1


@pytest.mark.parametrize("name", ["maze", "lake"])
def test_a_downloaded_run_is_read_back(name: str, opened: Open, runs: Runs, tmp_path: Path) -> None:
    page, run = opened(name, "#t=20"), runs[name][0]
    for person, actions in (("Anna", [0, 1, 2, 3, 3]), ("Änne & Co", [2, 2, 1]), ("", [3])):
        begun(page)
        for a in actions:
            page.evaluate("a => berlyne.takeover.take(a)", a)
        page.locator("#name").fill(person)
        with page.expect_download(timeout=20_000) as waiting:
            page.get_by_role("button", name="Download your run").click()
        assert (
            waiting.value.suggested_filename == {"Anna": "Anna", "Änne & Co": "Änne-Co", "": "my"}[person] + "-run.json"
        )
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
        page.get_by_role("button", name="Back to the replay").click()
        scrub(page, 20)
    read = berlyne.read_runs(str(tmp_path / "*.json"))
    assert sorted(one.name for one in read) == ["Anna", "my", "Änne & Co"]
    anna = next(one for one in read if one.name == "Anna")
    assert (anna.begin, anna.n_steps, anna.began_with) == (20, 25, "PIG(VI)")
    assert anna.actions.tolist() == [*run.actions[:20].tolist(), 0, 1, 2, 3, 3]
    model = berlyne.InternalModel(run.world.prior)
    bits = [model.missing_information(run.world)]
    for s, a, s_next in zip(anna.states[:-1], anna.actions, anna.next_states, strict=True):
        model.observe(int(s), int(a), int(s_next))
        bits.append(model.missing_information(run.world))
    np.testing.assert_allclose(anna.missing_information, bits, atol=1e-9)
    for other in runs[name]:
        np.testing.assert_allclose(anna.agents[other.strategy.name], other.missing_information[:26], atol=1e-12)
    drawn = [line.get_xydata() for line in read.plot().get_lines() if line.get_gid() == "person"]
    assert len(drawn) == 3
    assert any(np.array_equal(data[:, 1], anna.missing_information[20:]) for data in drawn)


def test_typing_a_name_takes_no_action(opened: Open) -> None:
    page = opened("house")
    begun(page)
    page.locator("#name").click()
    page.keyboard.type("b0b 1")
    assert page.evaluate("() => berlyne.person.nSteps") == 0 and page.locator("#name").input_value() == "b0b 1"


def test_arrow_keys_act_in_every_world_whose_actions_are_directions(opened: Open) -> None:
    for name, actions in (("lake", [3, 1, 0, 2]), ("cliff", [0, 2, 3, 1]), ("rooms", [0, 1, 2, 3]), ("tv", [0, 1])):
        page = opened(name)
        begun(page)
        keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] if len(actions) == 4 else ["ArrowLeft", "ArrowRight"]
        for key in keys:
            page.keyboard.press(key)
        assert page.evaluate("() => berlyne.person.actions") == actions, name
        page.keyboard.press("1")  # numbers agree with actions everywhere
        assert page.evaluate("() => berlyne.person.actions.at(-1)") == 1
        signs = page.locator("#keys .cross button").all_inner_texts()
        assert sorted(signs) == sorted("▲▼◀▶" if len(actions) == 4 else "◀▶")
        boxes = {sign: page.locator(f"#keys .cross button:has-text('{sign}')").bounding_box() for sign in signs}
        assert boxes["◀"]["x"] < boxes["▶"]["x"]  # type: ignore[index]  # they are visible
    assert page.locator("#keys .others button").all_inner_texts() == ["2: zap"]


def test_more_than_nine_actions_have_keys_and_buttons(opened: Open) -> None:
    page = opened("arms")
    begun(page)
    labels = page.locator("#keys button").all_inner_texts()
    keys = [*"0123456789", "a", "b"]
    assert labels == [f"{key}: action {a}" for a, key in enumerate(keys)]
    for key in keys:
        page.keyboard.press(key)
    assert page.evaluate("() => berlyne.person.actions") == list(range(12))
    page.locator("#keys button").nth(11).click()
    assert page.evaluate("() => berlyne.person.actions.at(-1)") == 11
    assert "letters follow" in page.locator("#hint").inner_text()


def test_keys_are_the_names_of_actions_if_these_are_single_characters(browser: Browser, tmp_path: Path) -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(3), size=(3, 3))
    prior = berlyne.Dirichlet(1.0, n_states=3, n_actions=3)
    page = browser.new_page()
    for names, keys, actions in ((["3", "1", "2"], "123", [1, 2, 0]), (["x", "A", "b"], "abx", [1, 2, 0])):
        world = berlyne.World(theta, prior, actions=names)
        page.goto(berlyne.explore(world, "Random", n_steps=3, seed=0).watch(tmp_path / f"{names[0]}.html").as_uri())
        begun(page)
        for key in keys:
            page.keyboard.press(key)
        assert page.evaluate("() => berlyne.person.actions") == actions
    page.close()


def test_an_action_that_is_not_possible_cannot_be_taken(browser: Browser, tmp_path: Path) -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 3))
    possible = np.array([[True, True, True], [False, True, True]])
    world = berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=3, n_actions=2), start=0, possible=possible)
    page = browser.new_page()
    page.goto(berlyne.explore(world, "Random", n_steps=3, seed=0).watch(tmp_path / "possible.html").as_uri())
    begun(page)
    model = berlyne.InternalModel(world.prior)
    assert page.evaluate("() => berlyne.person.curve[0]") == pytest.approx(model.missing_information(world))
    page.keyboard.press("1")
    assert page.evaluate("() => berlyne.person.nSteps") == 0
    assert page.locator("#keys button").nth(1).is_disabled() and page.locator("#keys button").nth(0).is_enabled()
    page.keyboard.press("0")
    assert page.evaluate("() => berlyne.person.nSteps") == 1
    page.close()


def test_the_file_is_plain_json_with_the_world_it_belongs_to(opened: Open, tmp_path: Path) -> None:
    page = opened("lake")
    begun(page)
    page.keyboard.press("0")
    with page.expect_download(timeout=20_000) as waiting:
        page.get_by_role("button", name="Download your run").click()
    waiting.value.save_as(tmp_path / "run.json")
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert record["kind"] == "run of a person" and record["world"]["name"] == "FrozenLake-v1"
    assert len(record["world"]["fingerprint"]) == 16 and [one["name"] for one in record["agents"]] == [
        "PIG(VI)",
        "Random",
    ]


def test_your_run_can_be_downloaded_after_you_went_back(opened: Open, tmp_path: Path) -> None:
    page = opened("lake", "#t=20")
    begun(page)
    page.locator("#name").fill("Anna")
    page.locator("#hint").click()
    page.evaluate("a => berlyne.takeover.take(a)", 2)
    assert "your last 16 steps" in page.locator("#legend").inner_text()
    back(page)
    assert page.locator("article:visible h3 .tag").last.inner_text() == "where you were"
    with page.expect_download(timeout=20_000) as waiting:
        page.get_by_role("button", name="Download your run").click()
    waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    (anna,) = berlyne.read_runs(tmp_path / "Anna-run.json")
    assert (anna.name, anna.begin, anna.actions[20:].tolist()) == ("Anna", 20, [2])


def test_space_plays_after_you_went_back(opened: Open) -> None:
    page = opened("maze", "#t=20")
    begun(page)
    page.keyboard.press("ArrowUp")
    page.get_by_role("button", name="Back to the replay").press("Enter")
    settle(page)
    page.keyboard.press("Space")
    assert page.evaluate("() => [berlyne.taking, berlyne.playing]") == [False, True]


def test_help_opens_by_key_while_you_act_but_not_while_you_type(opened: Open) -> None:
    page = opened("maze", "#t=20")
    begun(page)
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    page.locator("#name").click()
    page.keyboard.type("who?")
    assert not page.locator("#help").is_visible() and page.locator("#name").input_value() == "who?"


def test_map_and_scale_are_on_a_projector_while_you_act(opened: Open) -> None:
    page = opened("maze", "#t=20", 1280)
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    begun(page)
    for key in ("ArrowUp", "ArrowLeft"):
        page.keyboard.press(key)
    settle(page)
    box = page.locator("article:visible .scale").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 720
