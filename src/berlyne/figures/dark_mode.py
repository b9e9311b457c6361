"""The dark copy of a figure: the same pixels with lightness turned round and hues kept.

No figure knows of it. White becomes the dark ground, black nearly white, and a colour as much brighter than the ground
as it was darker than the paper. The map is linear along every mixture with white, so edges stay as smooth as they were.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

GROUND, INK = "#14171c", "#eceef1"
"""What white and black become."""


def dark(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What pixels (..., 3), drawn for white paper, become in the dark."""
    ground, ink = (255 * np.array(to_rgb(colour), dtype=np.float32) for colour in (GROUND, INK))
    drawn = np.flatnonzero((pixels[..., 0] & pixels[..., 1] & pixels[..., 2]).ravel() < 255)  # most of it is paper
    rgb = pixels.reshape(-1, 3)[drawn].astype(np.float32).T
    lightness = (np.maximum(np.maximum(*rgb[:2]), rgb[2]) + np.minimum(np.minimum(*rgb[:2]), rgb[2])) / 2
    turned = (ink + (ground - ink) * (lightness / 255)[:, None]).T + (rgb - lightness)
    found = np.empty_like(pixels).reshape(-1, 3)
    found[:] = np.round(ground)
    found[drawn] = np.round(np.clip(turned, 0, 255)).T
    return found.reshape(pixels.shape)
