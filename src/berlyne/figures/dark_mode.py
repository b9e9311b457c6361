"""Dark copies of figures: the same pixels with inverted lightness and the same hues.

Figures are drawn for white paper and need no changes. White becomes the dark background and black becomes nearly white.
A colour becomes as much brighter than the background as it was darker than the paper. The map is linear along every
mixture with white, so antialiased edges stay smooth.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgb
from numpy.typing import NDArray

GROUND, INK = "#14171c", "#eceef1"
"""Dark colours of white and of black."""


def dark(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the dark version of pixels (..., 3) that were drawn for white paper."""
    white, black = (255 * np.array(to_rgb(colour), dtype=np.float32) for colour in (GROUND, INK))
    drawn = np.flatnonzero((pixels[..., 0] & pixels[..., 1] & pixels[..., 2]).ravel() < 255)  # most pixels are white
    rgb = pixels.reshape(-1, 3)[drawn].astype(np.float32).T
    lightness = (np.maximum(np.maximum(*rgb[:2]), rgb[2]) + np.minimum(np.minimum(*rgb[:2]), rgb[2])) / 2
    inverted = (black + (white - black) * (lightness / 255)[:, None]).T + (rgb - lightness)
    result = np.empty_like(pixels).reshape(-1, 3)
    result[:] = np.round(white)
    result[drawn] = np.round(np.clip(inverted, 0, 255)).T
    return result.reshape(pixels.shape)
