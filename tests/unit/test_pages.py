"""Messages that a page explains end with its address."""

from pathlib import Path

import numpy as np
import pytest

import berlyne
from berlyne import pages
from berlyne.experiments.settings import SettingsError

ROOT = Path(__file__).parents[2]
NAMED = {name: said for name, said in vars(pages).items() if name.isupper()}


@pytest.mark.parametrize("said", NAMED.values(), ids=NAMED.keys())
def test_every_page_that_messages_name_is_there(said):
    address = said.removeprefix("; see ")
    assert address.startswith("docs/")
    assert (ROOT / address).is_file()


@pytest.mark.parametrize("name", NAMED)
def test_every_page_is_named_by_some_message(name):
    files = [file for file in (ROOT / "src").rglob("*.py") if file.name != "pages.py"]
    assert any(f"{{{name}}}" in file.read_text(encoding="utf-8") for file in files)


def test_messages_end_with_the_address():
    world = berlyne.World(np.array([[[0.5, 0.5], [1.0, 0.0]]]))
    with pytest.raises(ValueError, match=r"; see docs/how-to/own-worlds\.md$"):
        berlyne.explore(world, "Random", n_steps=1)
    with pytest.raises(ValueError, match=r"; see docs/how-to/own-prior\.md$"):
        berlyne.InternalModel(object())
    with pytest.raises(ValueError, match=r"; see docs/how-to/own-utility\.md$"):
        berlyne.Strategy("mine", berlyne.STRATEGIES["PIG(VI)"].coordinate, lambda x: 0.0)
    with pytest.raises(ValueError, match=r"; see docs/how-to/own-method\.md$"):
        berlyne.Strategy("mine", object())
    with pytest.raises(SettingsError, match=r"; see docs/how-to/own-measure\.md$"):
        berlyne.Experiment(worlds=["maze"], strategies=["Random"], n_worlds=1, measures=3)
