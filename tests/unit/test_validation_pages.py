"""Error messages end with the path of the page that explains them."""

from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne import validation
from berlyne.experiments.spec import SettingsError
from berlyne.paper.reproduction.assumptions import parse_assumptions
from messages import raises

ROOT = Path(__file__).parents[2]
NAMED = {name: text for name, text in vars(validation).items() if isinstance(text, str) and text.startswith("; see ")}


@pytest.mark.parametrize("page_address", NAMED.values(), ids=NAMED.keys())
def test_every_page_that_messages_name_exists(page_address):
    address = page_address.removeprefix("; see ")
    assert address.startswith("docs/")
    assert (ROOT / address).is_file()


@pytest.mark.parametrize("name", NAMED)
def test_every_page_is_named_by_some_message(name):
    files = [file for file in (ROOT / "src").rglob("*.py") if file.name != "validation.py"]
    assert any(f"{{{name}}}" in file.read_text(encoding="utf-8") for file in files)


def test_messages_end_with_the_address():
    world = berlyne.World(np.array([[[0.5, 0.5], [1.0, 0.0]]]))
    with raises(ValueError, "docs/how-to/own-worlds.md"):
        berlyne.explore(world, "Random", n_steps=1)
    with raises(ValueError, "docs/how-to/own-prior.md"):
        berlyne.InternalModel(object())
    with raises(ValueError, "docs/how-to/own-utility.md"):
        berlyne.Strategy("mine", berlyne.STRATEGIES["PIG(VI)"].coordinate, lambda x: 0.0)
    with raises(ValueError, "docs/how-to/own-method.md"):
        berlyne.Strategy("mine", object())
    with raises(SettingsError, "docs/how-to/own-measure.md"):
        berlyne.Experiment(worlds=["maze"], strategies=["Random"], n_worlds=1, measures=3)


def small_study(**settings):
    return berlyne.Experiment(**{"worlds": ["maze"], "strategies": ["Random"], "n_worlds": 1, **settings})


@pytest.mark.parametrize(
    ("wrong", "slip", "page"),
    [
        (lambda: berlyne.strategy("x"), lambda: berlyne.strategy("PIG(IV)"), "how-to/own-method"),
        (lambda: small_study(measures=["foo"]), lambda: small_study(measures=["l1_distence"]), "how-to/own-measure"),
        (lambda: small_study(worlds=["ring"]), lambda: small_study(worlds=["mazes"]), "how-to/run-a-study"),
        (lambda: parse_assumptions(["x=1"]), lambda: parse_assumptions(["gama=1"]), "how-to/change-an-assumption"),
    ],
    ids=["strategy", "measure", "class of worlds", "assumption"],
)
def test_an_unknown_name_ends_with_the_address_unless_it_is_a_slip(wrong, slip, page):
    with raises(ValueError, f"docs/{page}.md"):
        wrong()
    with raises(ValueError, "did you mean"):
        slip()


def test_an_unknown_key_of_a_study_ends_with_the_address_unless_it_is_a_slip(tmp_path):
    for key, end in (("x", "docs/how-to/run-a-study.md"), ("strategy", "strategies")):
        (tmp_path / "study.toml").write_text(f"{key} = 1\n")
        with raises(SettingsError, key, "unknown key", end):
            berlyne.Experiment.from_toml(tmp_path / "study.toml")
