"""A world coloured by a quantity of its states: beside a matrix of transitions, a column of states has the colours."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.image import AxesImage

from berlyne.figures.map_edges import MAX_MATRIX_CELLS
from berlyne.figures.map_layout import Map
from berlyne.figures.maps import colour_limits, draw_colour_bar, draw_shaded, draw_world
from berlyne.figures.state_quantities import Quantity
from berlyne.figures.style import RC, SHADES
from berlyne.validation import FloatArray
from berlyne.worlds import World

BESIDE = (1.03, 0.0, 0.06, 1.0)
"""Where the column is: left, bottom, width and height, as shares of the matrix."""


def draw_coloured(
    world: World, drawn: Map, found: Quantity, ax: Axes | None = None, labels: bool | None = None, bar: bool = True
) -> tuple[Axes, ScalarMappable]:
    """The map of a world coloured by a quantity; returns the axes and the coloured parts."""
    if drawn.kind != "matrix":
        return draw_shaded(drawn, found, ax, labels, bar)
    found = found.by_state()
    ax = draw_world(world, ax, labels=labels, bar=False)
    with mpl.rc_context(RC):
        beside, n = ax.inset_axes(BESIDE, gid="column"), world.n_states
        image = beside.imshow(_column(found.values), cmap=SHADES, aspect="auto", interpolation="nearest")
        image.set(extent=(0.0, 1.0, n - 0.5, -0.5), gid="states")
        image.set_clim(*colour_limits(found.values))
        beside.set(xticks=[], yticks=[], ylim=(n - 0.5, -0.5))
        beside.spines[:].set_visible(True)
        if bar:
            figure = ax.get_figure(root=True)
            assert figure is not None
            draw_colour_bar(ax, drawn, image, found.label, pad=0.12 if figure.get_layout_engine() is None else 0.03)
    return ax, image


def recolour(coloured: ScalarMappable, found: Quantity) -> None:
    """Show another quantity in parts that were coloured before, on the same scale."""
    if isinstance(coloured, AxesImage):
        coloured.set_data(_column(found.by_state().values))
    else:
        coloured.set_array(found.values.T.ravel())


def _column(values: FloatArray) -> FloatArray:
    """Numbers of states, (N,), one below the other, (N, 1); of very many, the largest of each block of the matrix."""
    n = len(values)
    cells = min(n, MAX_MATRIX_CELLS)
    largest = np.full(cells, np.nan)
    np.fmax.at(largest, np.arange(n) * cells // n, values)
    return largest[:, None]
