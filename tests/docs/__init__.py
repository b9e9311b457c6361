"""Load the module that builds the site, `docs/build.py`."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def _module(name: str) -> ModuleType:
    file = Path(__file__).parents[2] / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"berlyne_docs_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    loaded = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


build = _module("build")
