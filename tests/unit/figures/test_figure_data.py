"""Files of a drawing."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from berlyne.figures.figure_data import FILES, Drawing
from berlyne.figures.style import panels


@pytest.fixture
def drawing() -> Drawing:
    figure, (left, right) = panels(2)
    left.plot([0, 1], [0, 1], color="black", linewidth=4)
    right.set_title("right")
    drawing = Drawing(figure, ("name", "value"))
    drawing.add([("third", 1 / 3), ("whole", 2)])
    return drawing


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("RGB"))


def test_a_drawing_is_three_files_and_leaves_no_parts_behind(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path, "it")
    assert {path.name for path in tmp_path.iterdir()} == {"it.png", "it.svg", "it.csv"}
    assert {file.format(name="it") for file in FILES} == {path.name for path in tmp_path.iterdir()}
    with (tmp_path / "it.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "value"], ["third", repr(1 / 3)], ["whole", "2"]]
    assert "<svg" in (tmp_path / "it.svg").read_text()[:1000]


def test_the_picture_has_black_lines_on_white(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path, "it")
    picture = pixels(tmp_path / "it.png")
    assert picture.shape == (500, 1440, 3)
    assert picture[0, 0].tolist() == [255, 255, 255]
    assert (picture == 0).all(axis=2).sum() > 1000


def test_saving_changes_nothing_that_a_second_saving_would_show(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path, "first")
    engine = drawing.figure.get_layout_engine()
    drawing.save(tmp_path, "second")
    assert drawing.figure.get_layout_engine() is engine
    for file in ("{}.png", "{}.csv"):
        assert (tmp_path / file.format("first")).read_bytes() == (tmp_path / file.format("second")).read_bytes()


def test_a_figure_without_layout_is_saved_too(tmp_path: Path) -> None:
    Drawing(Figure(figsize=(1, 1)), ("x",)).save(tmp_path, "it")
    assert (tmp_path / "it.png").is_file()
