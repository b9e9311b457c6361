"""Write one HTML file that contains data, code and style, and needs no network."""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from pathlib import Path

from berlyne.exploration.run import Run
from berlyne.serialization import atomic_write
from berlyne.watch.data import check_runs, page_data
from berlyne.watch.inline import WatchPage, in_notebook

MODULES = (
    "numbers", "data", "belief", "person", "plan", "whatif", "colour", "edges", "labels", "rooms", "map", "curve",
    "details", "panel", "controls", "help", "record", "takeover", "address", "notes", "main",
)  # fmt: skip
"""JavaScript modules of the page, each after its imports."""
WARNING_SIZE = 3_000_000
"""Size in bytes above which a page gives a warning."""
SUFFIXES = (".html", ".htm")
"""Valid endings of the name of a page."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def watch(
    runs: Run | Iterable[Run],
    path: str | os.PathLike[str] | None = None,
    *,
    open_browser: bool | None = None,
    notes: Mapping[int, str] | None = None,
) -> WatchPage:
    """Write a page that replays one to four runs in the same world, side by side.

    A notebook shows the page inline, if the call is the last line of a cell.

    Parameters
    ----------
    runs : Run or iterable of Run
        Runs from `berlyne.explore` or `Results.run`.
    path : str or PathLike, optional
        File to write, with a name that ends in .html, in an existing directory; by default a temporary file.
    open_browser : bool, optional
        Whether to open the page in a browser; by default only if no path is given, and not in a notebook.
    notes : mapping of int to str, optional
        Texts by step, such as `{0: "Guess first.", 420: "Why does it go back?"}`. Each is shown from its step on, until
        the next one.

    Returns
    -------
    WatchPage
        Path of the page, which notebooks show inline. It is one file that needs no other. Pages above 3 MB give a
        warning with their size.
    """
    if path is not None:
        path = check_page_path(path)
    return write_page(render_page(runs, notes=notes), path, open_browser)


def write_page(text: str, path: Path | None, open_browser: bool | None = None) -> WatchPage:
    """Write a page to a file with a valid name, by default a temporary one, and open it as `watch` does."""
    page = text.encode("utf-8")
    if len(page) > WARNING_SIZE:
        warnings.warn(size_warning(len(page)), stacklevel=3)
    show = path is None and not in_notebook() if open_browser is None else open_browser
    if path is None:
        path = Path(tempfile.gettempdir(), f"berlyne-{os.urandom(8).hex()}.html")
    atomic_write(path, page)
    if show:
        import webbrowser  # imported here to keep `import berlyne` fast

        webbrowser.open(Path(path).resolve().as_uri())
    return WatchPage(path)


def size_warning(size: int) -> str:
    """Return the warning for a page of this size in bytes, with ways to make it smaller."""
    return (
        f"the page is {size / 1e6:.1f} MB, which is large for mail and browsers; use fewer runs or steps, or a prior "
        "with a support, Dirichlet(alpha, support)"
    )


def check_page_path(path: object) -> Path:
    """Return the path of a page; raise a `ValueError` unless it ends in .html and its directory exists."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path is {path!r}; it must be the name of a file, such as 'replay.html'")
    page = Path(path)
    if page.is_dir():
        raise ValueError(f"{page} is a directory; give the name of a file, such as {page / 'replay.html'}")
    if page.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{page} is not the name of a page; it must end in {' or '.join(SUFFIXES)}")
    if not page.parent.is_dir():
        raise ValueError(f"directory {page.parent} does not exist; create it first to write {page.name}")
    return page


def render_page(
    runs: Run | Iterable[Run], seed: int = 0, notes: Mapping[int, str] | None = None, *, estimated: bool = False
) -> str:
    """Return the page as text; the parameters are those of `page_data`."""
    checked = check_runs(runs)
    data = page_data(checked, seed, notes, estimated=estimated)
    names = " and ".join(run["name"] for run in data["runs"])
    title = escape(f"{data['world']['name']}: {names}")
    return _fill(_read_static("template.html"), {**_code(), "TITLE": title, "DATA": script_safe_json(data)})


def page_template() -> str:
    """Return the page without data; replace `{{DATA}}` by `script_safe_json(page_data(runs))`."""
    return _fill(_read_static("template.html"), {**_code(), "TITLE": "Exploration", "DATA": "{{DATA}}"})


def _fill(template: str, parts: dict[str, str]) -> str:
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda match: parts[match[1]], template)


def _code() -> dict[str, str]:
    return {"STYLE": _read_static("style.css"), "SCRIPT": "\n".join(_module(name) for name in MODULES)}


def script_safe_json(value: object) -> str:
    """Return JSON that is safe in a script element: no text in it can open or close an element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _read_static(name: str) -> str:
    return files("berlyne.watch").joinpath("static", name).read_text(encoding="utf-8")


def _module(name: str) -> str:
    """Return a JavaScript module without imports and exports, because all modules are joined into one."""
    return f"// {name}.js\n{_EXPORT.sub('', _IMPORT.sub('', _read_static(f'{name}.js')))}"
