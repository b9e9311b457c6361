"""Learning curves of a study: strategies have different styles, and all their names are in the figure."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from amounts import amount
from berlyne.appearance import MIN_COLOUR_DISTANCE, SPARE_COLOURS, distinct_looks
from berlyne.figures import draw_bands, draw_curves
from berlyne.figures.style import look
from berlyne.strategies.registry import STRATEGIES

SOFT = "PIG(VI, temperature=0.05, lapse=0.1)"


def apart(one: str, other: str) -> float:
    return float(np.sqrt(sum((x - y) ** 2 for x, y in zip(to_rgb(one), to_rgb(other), strict=True))))


@pytest.mark.parametrize("names", [["Random", "PIG(VI)", SOFT, "CB"], [SOFT, "CB", "PIG(VI)", "Random"]])
def test_a_strategy_keeps_its_style_beside_a_variant_with_another_style(names: list[str]) -> None:
    looks = distinct_looks(names)
    assert list(looks) == names
    assert all(looks[name] == look(name) for name in ("Random", "PIG(VI)", "CB"))
    assert looks[SOFT].colour in SPARE_COLOURS and looks[SOFT].name == SOFT
    assert all(apart(looks[SOFT].colour, looks[name].colour) > MIN_COLOUR_DISTANCE for name in names if name != SOFT)


def test_the_first_of_a_sweep_keeps_its_look_if_none_is_plain() -> None:
    names = ["Random", *(f"PIG(VI, gamma={gamma})" for gamma in (0.5, 0.7, 0.9, 0.95, 0.99))]
    looks = distinct_looks(names)
    assert looks[names[1]] == replace(look("PIG(VI)"), name=names[1])
    assert min(apart(one.colour, other.colour) for one, other in combinations(looks.values(), 2)) > MIN_COLOUR_DISTANCE


def test_red_is_close_to_red_and_not_to_blue() -> None:
    assert apart("#d1495b", "#d7191c") < MIN_COLOUR_DISTANCE < apart("#1b6ca8", "#d7191c")


def test_colours_come_again_only_when_all_are_in_use() -> None:
    names = ["PIG(VI)", *(f"PIG(VI, gamma=0.{i})" for i in range(10, 30))]
    colours = [one.colour for one in distinct_looks(names).values()]
    assert len(set(colours[:11])) == 11 and set(colours) == {look("PIG(VI)").colour, *SPARE_COLOURS}
    assert max(map(colours.count, SPARE_COLOURS)) == 2


def test_strategies_that_look_different_keep_their_looks() -> None:
    names = ["PIG(VI)", "PIG(greedy)", "PEIG(VI)", "LTA", "Unembodied", "mine"]
    assert distinct_looks(names) == {name: look(name) for name in names}
    assert distinct_looks([]) == {}


def long_names(n: int, length: int) -> list[str]:
    return [f"PIG(VI, gamma={i})".ljust(length, "m") for i in range(n)]


def figure_of(names: list[str], dpi: float = 200) -> Figure:
    """Curves of strategies with these names."""
    values = {name: (("strategy", "time"), np.ones((len(names), 3))) for name in ("mean", "sem")}
    axes = draw_bands({name: xr.Dataset(values, {"strategy": names}) for name in ("maze", "dense")}, "bits")
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    figure.set_dpi(dpi)
    figure.draw_without_rendering()
    return figure


def assert_in_sight(figure: Figure) -> None:
    """All names are in the figure, beside each other and below panels that are still there."""
    names, bounds = [text.get_window_extent() for text in figure.legends[0].get_texts()], figure.bbox
    assert all(name.x0 >= 0 and name.x1 <= bounds.x1 and name.y0 >= 0 for name in names)
    assert not any(one.overlaps(other) for one, other in combinations(names, 2))
    for ax in figure.axes:
        assert ax.get_window_extent().y0 > max(name.y1 for name in names)
        assert ax.get_window_extent().height > 1.2 * figure.dpi


@pytest.mark.parametrize("dpi", amount([50, 300], [50, 72, 100, 200, 300]))
@pytest.mark.parametrize(("n", "length"), [(1, 10), (2, 70), (6, 65), (7, 14), (9, 30), (20, 65), (2, 300)])
def test_all_names_of_a_legend_are_in_the_figure(n: int, length: int, dpi: float) -> None:
    figure = figure_of(long_names(n, length), dpi)
    assert_in_sight(figure)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert ["".join(name.split()) for name in names] == ["".join(name.split()) for name in long_names(n, length)]
    assert length > 100 or names == long_names(n, length)  # in one line if that is at all possible


def test_all_strategies_of_the_table_have_their_names_in_the_figure() -> None:
    assert_in_sight(figure_of(list(STRATEGIES)))


def test_short_names_stand_in_one_line_and_the_figure_keeps_its_height() -> None:
    figure = figure_of(["Random", "PIG(VI)", "CB", "LTA"])
    lines = {round(text.get_window_extent().y0) for text in figure.legends[0].get_texts()}
    assert len(figure.legends) == 1 and len(lines) <= 2 and figure.get_figheight() == 3.2


def test_a_study_that_has_explored_nothing_is_drawn_without_names() -> None:
    values = {name: (("strategy", "time"), np.full((2, 3), np.nan)) for name in ("mean", "sem")}
    (ax,) = draw_bands({"maze": xr.Dataset(values, {"strategy": ["Random", "PIG(VI)"]})}, "bits")
    figure = ax.get_figure(root=True)
    assert figure is not None and figure.legends[0].get_texts() == []


@pytest.mark.parametrize("minus", [None, "Random"])
def test_the_curves_of_the_paper_have_all_their_names_in_the_figure(minus: str | None) -> None:
    names = [*long_names(5, 65), "Random"]
    table = xr.Dataset({"missing_information": (("strategy", "world", "time"), np.ones((6, 2, 3)))})
    table = table.assign_coords(strategy=names)
    results: Any = SimpleNamespace(strategies=names, classes=["maze", "dense"])
    results.by_world = lambda *_: table["missing_information"]
    figure = draw_curves(results, minus=minus).figure
    figure.draw_without_rendering()
    assert_in_sight(figure)
    drawn = [line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")]
    assert len({line.get_color() for line in drawn}) == len(names) == 6  # all but Random are variants of one


@pytest.mark.parametrize(("n", "columns", "rows"), [(1, 1, 1), (4, 4, 1), (5, 3, 2), (7, 4, 2), (9, 3, 3)])
def test_five_classes_or_more_are_drawn_in_rows(n, columns, rows):
    times = xr.Dataset(
        {name: (("strategy", "time"), np.ones((1, 3))) for name in ("mean", "sem")}, {"strategy": ["Random"]}
    )
    axes = draw_bands({f"class {i}": times for i in range(n)}, "missing_information", "bits")
    grids = [ax.get_subplotspec() for ax in axes]
    assert [(grid.rowspan.start, grid.colspan.start) for grid in grids] == [divmod(i, columns) for i in range(n)]
    assert grids[-1].rowspan.stop == rows and axes[0].figure.axes == axes  # empty places have no panel
    labelled = [bool(ax.get_ylabel()) for ax in axes]
    assert labelled == [i % columns == 0 for i in range(n)]
