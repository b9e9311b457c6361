"""Figures of people's choices draw the numbers that they are given."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import berlyne.behaviour as bb
from unit.behaviour.people import WORLD, walkers


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_recovery_has_a_panel_for_each_parameter_and_marks_bounds() -> None:
    true = pd.DataFrame({"w": [1.0, 2.0, 3.0], "lapse": [0.1, 0.2, 0.3]})
    at_bound = pd.DataFrame({"w": [False] * 3, "lapse": [True, False, False]})
    axes = bb.Recovery(true, true * 1.1, at_bound).plot().axes
    assert [ax.get_xlabel() for ax in axes[:2]] == ["w", "lapse"]
    assert "at bound 33%" in axes[1].get_title() and "r 1.00" in axes[0].get_title()
    _, inside, bound = axes[1].lines
    assert inside.get_ydata().tolist() == pytest.approx([0.22, 0.33])
    assert bound.get_ydata().tolist() == pytest.approx([0.11])


def test_confusion_writes_its_numbers() -> None:
    names = ["PIG", "CB"]
    figure = bb.Confusion(pd.DataFrame([[1.0, 0.0], [0.5, 0.5]], names, names), "bic").plot()
    texts = [[text.get_text() for text in ax.texts] for ax in figure.axes]
    assert texts == [["1.00", "0.00", "0.50", "0.50"], ["0.67", "0.00", "0.33", "1.00"]]


def test_long_names_are_turned_and_short_ones_are_not() -> None:
    for names, angle in ((["PIG", "CB"], 0), (["parameter_gain(VI)", "CB"], 40)):
        confusion = bb.Confusion(pd.DataFrame(np.eye(2), names, names), "bic").plot()
        selection = bb.bms(np.zeros((3, 2)), names=names).plot()
        for ax in (*confusion.axes, *selection.axes):
            assert [label.get_rotation() for label in ax.get_xticklabels()] == [angle] * 2


def test_weights_profiles_differences_and_frequencies_are_drawn() -> None:
    data = bb.read(walkers(4, 60), keep=["rt"])
    fit = bb.fit(data, bb.model("PIG(VI)", WORLD, gamma=[0.5, 0.9]) + bb.repeat())
    axes = fit.plot().axes
    assert [ax.get_title() for ax in axes] == ["PIG(VI)", "repeat"]
    drawn = np.concatenate([line.get_ydata() for line in axes[0].lines[1:]])
    assert sorted(drawn) == pytest.approx(sorted(fit.people["PIG(VI)"]))
    (profile,) = fit.plot("settings").axes
    assert profile.get_xlabel() == "PIG(VI): gamma"
    assert profile.lines[1].get_xdata().tolist() == [0.5, 0.9]
    comparison = bb.compare(data, {"PIG": bb.model("PIG(VI)", WORLD), "repeat": bb.repeat()})
    heights = [bar.get_height() for bar in comparison.plot("PIG", "repeat").axes[0].patches]
    d = comparison.scores()["PIG"] - comparison.scores()["repeat"]
    assert heights == pytest.approx(sorted(d))
    selection = comparison.bms()
    (ax,) = selection.plot().axes
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(selection.frequency.tolist())
    assert "prior count 1" in ax.get_title()
    with pytest.raises(ValueError, match="no settings"):
        bb.fit(data, bb.repeat()).plot("settings")


def test_predictions_and_separation_are_drawn() -> None:
    values = {"steps": np.array([[1.0, 2.0], [3.0, 4.0]])}
    axes = bb.Predictive(values, {"steps": np.array([[2.0, 3.0]] * 3)}).plot().axes
    assert axes[0].get_title() == "steps"
    assert axes[0].lines[-1].get_ydata().tolist() == [2.0, 3.0]
    matrices = {"a": np.array([[0.0, 0.1], [0.3, 0.0]]), "b": np.array([[0.0, 0.2], [0.3, 0.0]])}
    (ax,) = bb.Separation(("x", "y"), matrices).plot().axes
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.2, 0.1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]
