"""Terms of a model, checked by hand, and drives against explorers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import berlyne
import berlyne.behaviour as bb
from berlyne.behaviour.terms import Term
from unit.behaviour.people import COLUMNS, WORLD, table, walkers

DATA = bb.read(table(), group="goal", **COLUMNS)
ANN = slice(*DATA.begin[DATA.subjects.index("ann") :][:2])


def test_bias_prefers_each_action_but_the_first() -> None:
    values = bb.bias().values(DATA, {})
    assert bb.bias().weight_names(DATA.actions) == ["bias[y]"]
    assert (values == np.array([[0.0], [1.0]])).all()


def test_repeat_follows_the_last_action_of_the_episode() -> None:
    values = bb.repeat().values(DATA, {})[ANN, :, 0]
    assert values.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0], [0, 1]]


def test_habit_counts_actions_in_the_state() -> None:
    """Ann: A x, B y, A and no action, B y, B y."""
    values = bb.habit().values(DATA, {})[ANN, :, 0]
    log = np.log
    assert values == pytest.approx(np.array([[0, 0], [0, 0], [log(2), 0], [0, log(2)], [0, log(3)]]))


@pytest.mark.parametrize("prior", [bb.crp(c=0.5), WORLD.prior])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PIG(greedy)", "CB"])
def test_a_drive_has_the_values_of_an_explorer_that_walks_along(strategy: str, prior: object) -> None:
    data = bb.read(walkers(2, 40), keep=["rt"])
    model = bb.model(strategy, prior)  # type: ignore[arg-type]
    (drive,) = model.terms
    settings = {name: grid.values[0] for name, grid in model.settings().items()}
    own = model.of_term(0, settings)
    replayed, walked = drive.values(data, own), Term.values(drive, data, own)
    assert replayed.shape == (80, 4, 1)
    assert replayed == pytest.approx(walked)
    assert replayed.std() > 0


def test_settings_reach_prior_and_strategy() -> None:
    data = bb.read(walkers(1, 30), keep=["rt"])
    model = bb.model("PIG(VI)", bb.crp(c=[0.1, 3.0]), gamma=[0.5, 0.9], steps_back=4)
    assert list(model.settings()) == ["PIG(VI): c", "PIG(VI): d", "PIG(VI): gamma", "PIG(VI): steps_back"]
    settings = {"PIG(VI): c": 3.0, "PIG(VI): d": 0.0, "PIG(VI): gamma": 0.9, "PIG(VI): steps_back": 4}
    expected = berlyne.replay(
        berlyne.ChineseRestaurant(3.0),
        data.frame[["s", "a", "s_next"]],
        "PIG(VI, gamma=0.9, steps_back=4)",
        actions=range(4),
    )
    assert model.values(data, settings)[:, :, 0] == pytest.approx(expected.action_values.to_numpy())
    assert len(data.cache) == 1
    model.values(data, settings)
    assert len(data.cache) == 1
    assert not np.allclose(model.values(data, {**settings, "PIG(VI): c": 0.1})[:, :, 0], expected.action_values)


def test_terms_add_up_and_drives_are_numbered() -> None:
    slow, fast = bb.model("PIG(VI)", bb.crp(), gamma=0.9), bb.model("PIG(VI)", bb.crp(), gamma=0.1)
    model = slow + fast + bb.bias() + bb.lapse()
    assert model.weight_names((0, 1, 2)) == ["PIG(VI)", "PIG(VI) 2", "bias[1]", "bias[2]"]
    assert model.is_drive((0, 1, 2)) == [True, True, False, False]
    assert model.has_lapse and not slow.has_lapse
    assert "PIG(VI) 2: gamma" in model.settings()
    assert repr(model) == "PIG(VI) + PIG(VI) + bias + lapse"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: bb.model("PIG(VI+)", bb.crp()), ["PIG(VI+)", "sees the world"]),
        (lambda: bb.model("PIG(VI, temperature=0.1)", bb.crp()), ["temperature"]),
        (lambda: bb.model("PIG(VI)", bb.crp(), speed=3), ["speed", "gamma"]),
        (lambda: bb.model("PIG(VI)", bb.crp(), gamma="high"), ["gamma", "high"]),
        (lambda: bb.bias() + bb.bias(), ["twice"]),
        (lambda: bb.crp(c=[]), ["c is", "bb.grid"]),
        (lambda: bb.grid(2, 1, 5), ["high", "1"]),
    ],
)
def test_invalid_terms_are_named(make: object, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        make()  # type: ignore[operator]
    for word in words:
        assert word in str(error.value)


def test_grids_are_logarithmic_unless_they_begin_at_zero() -> None:
    assert bb.grid(0.1, 10, 3).values == (0.1, 1.0, 10.0)
    assert bb.grid(0, 0.9, 4).values == (0.0, 0.3, 0.6, 0.9)


def test_a_new_episode_begins_without_a_last_action() -> None:
    frame = pd.DataFrame({"s": 0, "a": [0, 1, 1, 0], "s_next": 0, "episode": [1, 1, 2, 2]})
    assert bb.repeat().values(bb.read(frame), {})[:, :, 0].tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
