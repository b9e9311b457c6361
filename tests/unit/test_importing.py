"""`import berlyne` is sufficient and fast."""

from __future__ import annotations

import subprocess
import sys

import pytest

import berlyne
from amounts import amount
from messages import raises
from waiting import LIMIT

HEAVY = ("matplotlib", "numba", "pandas", "xarray", "zarr", "gymnasium", "scipy")


def python(script):
    """Run a script in a new interpreter and return its output."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    return done.stdout.strip()


def test_importing_berlyne_imports_nothing_heavy_and_none_of_the_modules_that_come_later():
    later = tuple(f"berlyne.{name}" for name in ("bounds", "figures", "claims", "tasks"))
    script = f"import sys, berlyne; print([m for m in {HEAVY + later} if m in sys.modules])"
    assert python(script) == "[]"


PARTS = {"bounds": "fluid", "figures": "draw_world", "stats": "friedman", "claims": "CLAIMS", "tasks": "reward_loss"}


@pytest.mark.parametrize("names", amount([list(PARTS)], [[name] for name in PARTS]))
def test_modules_are_imported_when_they_are_used(names):
    lines = [f"assert {name!r} in dir(berlyne) and hasattr(berlyne.{name}, {PARTS[name]!r})" for name in names]
    assert python("\n".join(["import berlyne", *lines, "print('all')"])) == "all"


def test_a_star_import_gives_exactly_the_listed_names():
    assert not {"figures", "claims"} & set(berlyne.__all__)
    assert [name for name in berlyne.__all__ if not hasattr(berlyne, name)] == []


def test_missing_attributes_raise_the_usual_error():
    with raises(AttributeError, "'berlyne'", "'figurs'") as error:
        _ = berlyne.figurs
    assert error.value.name == "figurs" and error.value.obj is berlyne  # so that Python can say what is nearest


def test_importing_takes_less_than_half_a_second():
    """The best of three, less an interpreter that imports NumPy alone; by the time of the processor."""
    script = "import time, numpy; t = time.process_time(); import berlyne; print(time.process_time() - t)"
    assert any(float(python(script)) < 0.5 for _ in range(3))
