"""`import berlyne` is enough, and quick."""

from __future__ import annotations

import subprocess
import sys

import pytest

import berlyne
from waiting import LIMIT

HEAVY = ("matplotlib", "numba", "pandas", "xarray", "zarr", "gymnasium", "scipy")


def python(script):
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    return done.stdout.strip()


def test_importing_berlyne_imports_nothing_heavy_and_none_of_the_modules_that_come_later():
    later = tuple(f"berlyne.{name}" for name in ("figures", "claims", "tasks"))
    script = f"import sys, berlyne; print([m for m in {HEAVY + later} if m in sys.modules])"
    assert python(script) == "[]"


@pytest.mark.parametrize(
    ("name", "part"), [("figures", "draw_world"), ("stats", "friedman"), ("claims", "CLAIMS"), ("tasks", "reward_loss")]
)
def test_modules_are_there_when_they_are_used(name, part):
    script = f"import berlyne; assert {name!r} in dir(berlyne); print(hasattr(berlyne.{name}, {part!r}))"
    assert python(script) == "True"


def test_all_that_is_listed_is_there_and_a_star_imports_no_more():
    assert not {"figures", "claims"} & set(berlyne.__all__)
    assert [name for name in berlyne.__all__ if not hasattr(berlyne, name)] == []


def test_what_is_not_there_is_missed_in_the_usual_way():
    with pytest.raises(AttributeError, match=r"^module 'berlyne' has no attribute 'figurs'$") as found:
        _ = berlyne.figurs
    assert found.value.name == "figurs" and found.value.obj is berlyne  # so that Python can say what is nearest


def test_importing_takes_less_than_half_a_second():
    """The best of three, less an interpreter that imports NumPy alone; by the time of the processor."""
    script = "import time, numpy; t = time.process_time(); import berlyne; print(time.process_time() - t)"
    assert min(float(python(script)) for _ in range(3)) < 0.5
