"""Import modules and objects of the user by name: "mymodule", or "mymodule:name".

The current folder is searched first, then the folder of the file that contains the name, then the path of Python.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any


def check_modules(names: Any) -> tuple[str, ...]:
    """Return names of modules as a tuple, or raise a `ValueError` about `imports`."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"imports is {names!r}; it must be a list of names of modules, such as ['mymodule']")
    checked: tuple[str, ...] = tuple(names)
    for name in checked:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            hint = "; leave out the part after the colon" if isinstance(name, str) and ":" in name else ""
            raise ValueError(f"imports contains {name!r}; it must be the name of a module, such as 'mymodule'{hint}")
    return checked


def import_modules(names: Iterable[str], beside: Path) -> None:
    """Import modules, for example to register indices and methods; `beside` as in `import_object`."""
    for name in names:
        _import_module(name, name, beside)


def import_object(text: str, beside: Path, *, classes: bool = False) -> Any:
    """Import the object "module:name".

    Parameters
    ----------
    text : str
        Module and name, separated by a colon.
    beside : Path
        The folder of the file that contains the name.
    classes : bool
        Whether it may be a class.

    Returns
    -------
    object
        The object.

    Raises
    ------
    ValueError
        If there is no such object, its module cannot be imported, or it is a class.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ValueError(f"{text!r} is not the name of an object; write module:name, such as mylab:prior")
    imported = _import_module(module, text, beside)
    if not hasattr(imported, name):
        raise ValueError(f"{text!r} cannot be found: {module} has no {name}")
    value = getattr(imported, name)
    if isinstance(value, type) and not classes:
        raise ValueError(
            f"{text!r} is a class; create an object of it and use its name, such as my_prior = {name}(...) in {module}"
        )
    return value


def _import_module(module: str, text: str, beside: Path) -> ModuleType:
    """Import a module; `text` is the name that the user gave, for error messages."""
    kind = "an object in a module" if ":" in text else "a module"
    folders = [os.getcwd(), str(beside.absolute())]
    _check_not_shadowed(module.partition(".")[0], folders)
    sys.path[:0] = folders
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise ValueError(f"{text!r} cannot be imported: {_describe_error(error)}") from None
        raise ValueError(f"{text!r} cannot be found ({error}); it must be {kind} on the path") from None
    except (Exception, SystemExit) as error:
        raise ValueError(f"{text!r} cannot be imported: {_describe_error(error)}") from None
    finally:
        for folder in folders:
            sys.path.remove(folder)


def _check_not_shadowed(module: str, folders: list[str]) -> None:
    """Raise a ValueError if another module of the same name was imported before: Python would return that one."""
    wanted = getattr(PathFinder.find_spec(module, folders), "origin", None)
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if wanted and loaded and os.path.exists(loaded) and not os.path.samefile(loaded, wanted):
        raise ValueError(f"{wanted} cannot be imported, because {loaded} has the same name and was imported before")


def _describe_error(error: BaseException) -> str:
    """Return type, message and place of an exception that the import of a module of the user raised."""
    skipped = (__file__, importlib.__file__)
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename not in skipped and f.filename[0] != "<"
    ]
    place = f" in {Path(frames[0].filename).name}, line {frames[0].lineno}" if frames else ""
    message = f": {error}" if str(error) else ""
    return f"{type(error).__name__}{message}{place}"
