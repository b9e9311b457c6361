"""Draw worlds coloured by a quantity of their states; a matrix of transitions has a column of colours beside it."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.image import AxesImage

from berlyne.figures.map_edges import MAX_MATRIX_CELLS
from berlyne.figures.map_layout import Map
from berlyne.figures.maps import colour_limits, draw_colour_bar, draw_plain, draw_shaded
from berlyne.figures.state_quantities import Quantity
from berlyne.figures.style import RC, SHADES
from berlyne.validation import FloatArray

COLUMN_BOX = (1.03, 0.0, 0.06, 1.0)
"""Left, bottom, width and height of the column, as shares of the matrix."""


def draw_coloured(
    world_map: Map,
    quantity: Quantity,
    ax: Axes | None = None,
    labels: bool | None = None,
    bar: bool = True,
) -> tuple[Axes, ScalarMappable]:
    """Draw a map coloured by a quantity, and return the axes and the coloured artist."""
    if world_map.kind != "matrix":
        return draw_shaded(world_map, quantity, ax, labels, bar)
    quantity = quantity.by_state()
    ax = draw_plain(world_map, ax, labels, bar=False)
    with mpl.rc_context(RC):
        column, n = ax.inset_axes(COLUMN_BOX, gid="column"), world_map.n_states
        image = column.imshow(_column(quantity.values), cmap=SHADES, aspect="auto", interpolation="nearest")
        image.set(extent=(0.0, 1.0, n - 0.5, -0.5), gid="states")
        image.set_clim(*colour_limits(quantity.values))
        column.set(xticks=[], yticks=[], ylim=(n - 0.5, -0.5))
        column.spines[:].set_visible(True)
        if bar:
            figure = ax.get_figure(root=True)
            assert figure is not None
            draw_colour_bar(
                ax, world_map, image, quantity.label, pad=0.12 if figure.get_layout_engine() is None else 0.03
            )
    return ax, image


def recolour(coloured: ScalarMappable, quantity: Quantity) -> None:
    """Show another quantity in an artist that `draw_coloured` returned, on the same scale."""
    if isinstance(coloured, AxesImage):
        coloured.set_data(_column(quantity.by_state().values))
    else:
        coloured.set_array(quantity.values.T.ravel())


def _column(values: FloatArray) -> FloatArray:
    """Return values of states, (N,), as a column, (N, 1); if N is too large, the largest value of each block."""
    n = len(values)
    cells = min(n, MAX_MATRIX_CELLS)
    largest = np.full(cells, np.nan)
    np.fmax.at(largest, np.arange(n) * cells // n, values)
    return largest[:, None]
