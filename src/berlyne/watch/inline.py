"""A page as a notebook shows it: a frame with the whole document, which needs no server and no other file."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

FRAME_HEIGHT = 720
"""Height of the frame in pixels; `static/main.js` fits maps to it."""

if TYPE_CHECKING:
    _SystemPath = Path
else:
    _SystemPath = type(Path())  # before Python 3.12, only the path class of the system can be subclassed


class WatchPage(_SystemPath):
    """Path of a page, which a notebook shows inline.

    It is a `pathlib.Path` in every other respect. JupyterLab, JupyterHub and VS Code show the page in a frame. The
    frame contains the whole document, so it also works in a copy of the notebook.
    """

    @property
    def path(self) -> Path:
        """Path of the file."""
        return Path(self)

    def _repr_html_(self) -> str | None:
        return frame_of(self.read_text(encoding="utf-8")) if self.is_file() else None


def frame_of(page: str, title: str = "Replay of an exploration") -> str:
    """Return a frame that contains a whole page as an attribute.

    Parameters
    ----------
    page : str
        The document.
    title : str
        Name of the frame for screen readers.

    Returns
    -------
    str
        An `iframe` element.
    """
    style = f"width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #8884; border-radius: 6px; resize: vertical"
    return f'<iframe title="{escape(title)}" style="{style}" srcdoc="{escape(page)}"></iframe>'


def in_notebook() -> bool:
    """Return whether the code runs in the kernel of a notebook, which can show the page itself."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
