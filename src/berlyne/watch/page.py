"""One HTML file that holds data, code and style, and asks nobody for anything."""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from pathlib import Path

from berlyne.exploration.run import Run
from berlyne.serialization import atomic_write
from berlyne.watch.data import check_runs, page_data

MODULES = (
    "data", "plan", "belief", "colour", "edges", "map", "curve", "details", "panel", "controls", "takeover", "main",
)  # fmt: skip
"""The modules of the page, each after those that it imports."""
WARNING_SIZE = 3_000_000
"""Bytes of a page beyond which it is said how large it is."""
SUFFIXES = (".html", ".htm")
"""What the name of a page ends in."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def watch(
    runs: Run | Iterable[Run], path: str | os.PathLike[str] | None = None, *, open_browser: bool | None = None
) -> Path:
    """Make a page that replays one to four runs in the same world, side by side.

    Parameters
    ----------
    runs : as `berlyne.explore` or `Results.run` return them.
    path : where to write it, in a folder that is there, a name in .html; None for a temporary file.
    open_browser : whether to show it; by default if no path is given.

    Returns
    -------
    Path of the page: one file, which needs nothing else. Of one above 3 MB, a warning says how large it is.
    """
    if path is not None:
        path = check_page_path(path)
    page = render_page(runs).encode("utf-8")
    if len(page) > WARNING_SIZE:
        warnings.warn(size_warning(len(page)), stacklevel=2)
    show = path is None if open_browser is None else open_browser
    if path is None:
        path = Path(tempfile.gettempdir(), f"berlyne-{os.urandom(8).hex()}.html")
    atomic_write(path, page)
    if show:
        import webbrowser  # here, so that `import berlyne` stays quick

        webbrowser.open(Path(path).resolve().as_uri())
    return Path(path)


def size_warning(size: int) -> str:
    """What is said of a page of so many bytes, and what would make it smaller."""
    return (
        f"the page is {size / 1e6:.1f} MB, a lot to mail or to load; fewer runs or steps make it smaller, "
        "and so does a prior that knows which states can follow, Dirichlet(alpha, support)"
    )


def check_page_path(path: object) -> Path:
    """Where a page can be written, or a `ValueError`: a name in .html, in a folder that is there."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path is {path!r}; it must be the name of a file, such as 'replay.html'")
    place = Path(path)
    if place.is_dir():
        raise ValueError(f"{place} is a folder; a page is one file, such as {place / 'replay.html'}")
    if place.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{place} would hold a page; its name must end in {' or '.join(SUFFIXES)}")
    if not place.parent.is_dir():
        raise ValueError(f"there is no folder {place.parent} to write {place.name} into; make it first")
    return place


def render_page(runs: Run | Iterable[Run], seed: int = 0) -> str:
    """The page as text; `seed` draws what happens to a person who takes over."""
    checked = check_runs(runs)
    data = page_data(checked, seed)
    names = " and ".join(run["name"] for run in data["runs"])
    title = escape(f"{data['world']['name']}: {names}")
    return _filled(_static("template.html"), {**_code(), "TITLE": title, "DATA": script_safe_json(data)})


def page_template() -> str:
    """The page without what it shows: `{{DATA}}` stands where `script_safe_json(page_data(runs))` goes."""
    return _filled(_static("template.html"), {**_code(), "TITLE": "Exploration", "DATA": "{{DATA}}"})


def _filled(template: str, parts: dict[str, str]) -> str:
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], template)


def _code() -> dict[str, str]:
    return {"STYLE": _static("style.css"), "SCRIPT": "\n".join(_module(name) for name in MODULES)}


def script_safe_json(value: object) -> str:
    """JSON that is safe within a script element: no text in it can end or open one."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _static(name: str) -> str:
    return files("berlyne.watch").joinpath("static", name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """A module without its imports and exports: all of them become one."""
    return f"// {name}.js\n{_EXPORT.sub('', _IMPORT.sub('', _static(f'{name}.js')))}"
