"""Files of a drawing, and its colours in dark mode."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from berlyne.figures.dark_mode import GROUND, INK, dark
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from berlyne.figures.figure_data import FILES, Drawing
from berlyne.figures.style import UTILITY_COLOURS, panels


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


def test_a_drawing_is_four_files_and_leaves_no_parts_behind(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path, "it")
    assert {path.name for path in tmp_path.iterdir()} == {"it.png", "it-dark.png", "it.svg", "it.csv"}
    assert {file.format(name="it") for file in FILES} == {path.name for path in tmp_path.iterdir()}
    with (tmp_path / "it.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "value"], ["third", repr(1 / 3)], ["whole", "2"]]
    assert "<svg" in (tmp_path / "it.svg").read_text()[:1000]


def test_the_dark_copy_has_a_dark_ground_and_light_lines_where_they_were_black(
    drawing: Drawing, tmp_path: Path
) -> None:
    drawing.save(tmp_path, "it")
    light, night = pixels(tmp_path / "it.png"), pixels(tmp_path / "it-dark.png")
    assert light.shape == night.shape == (500, 1440, 3)
    assert light[0, 0].tolist() == [255, 255, 255]
    assert night[0, 0].tolist() == [0x14, 0x17, 0x1C]
    black = (light == 0).all(axis=2)
    assert black.sum() > 1000
    assert night[black].min() > 220


def test_saving_changes_nothing_that_a_second_saving_would_show(drawing: Drawing, tmp_path: Path) -> None:
    drawing.save(tmp_path, "first")
    engine = drawing.figure.get_layout_engine()
    drawing.save(tmp_path, "second")
    assert drawing.figure.get_layout_engine() is engine
    for file in ("{}.png", "{}-dark.png", "{}.csv"):
        assert (tmp_path / file.format("first")).read_bytes() == (tmp_path / file.format("second")).read_bytes()


def test_a_figure_without_layout_is_saved_too(tmp_path: Path) -> None:
    Drawing(Figure(figsize=(1, 1)), ("x",)).save(tmp_path, "it")
    assert (tmp_path / "it-dark.png").is_file()


def in_the_dark(colour: str) -> np.ndarray:
    rgb = np.array([[[round(255 * part) for part in to_rgb(colour)]]], dtype=np.uint8)
    return dark(rgb)[0, 0].astype(float)


def luminance(rgb: np.ndarray) -> float:
    part = rgb / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_white_becomes_the_ground_and_black_the_ink() -> None:
    for colour, expected in (("white", GROUND), ("black", INK)):
        np.testing.assert_allclose(in_the_dark(colour), 255 * np.array(to_rgb(expected)), atol=0.5)


def test_colours_stand_out_from_the_dark_ground_and_from_each_other() -> None:
    dark_colours = {name: in_the_dark(colour) for name, colour in UTILITY_COLOURS.items()}
    for rgb in dark_colours.values():
        assert (luminance(rgb) + 0.05) / (luminance(in_the_dark("white")) + 0.05) > 3.0
    pairs = [(one, other) for one in dark_colours for other in dark_colours if one < other]
    assert min(np.linalg.norm(dark_colours[one] - dark_colours[other]) for one, other in pairs) > 60


def test_edges_stay_as_smooth_as_they_were() -> None:
    for colour in ("#1a9641", "#2b55c4", "black"):
        mixtures = np.linspace(np.array(to_rgb(colour)), np.ones(3), 30)
        converted = dark(np.round(255 * mixtures).astype(np.uint8)).astype(float)
        np.testing.assert_allclose(converted, np.linspace(converted[0], converted[-1], 30), atol=2)
