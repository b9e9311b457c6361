"""Cached compiled code is used only if none of its sources has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import berlyne
from waiting import LIMIT

SCRIPT = """
from berlyne import Explorer, dense_world
explorer = Explorer(dense_world(0).prior, "PIG(greedy)")
explorer.observe(0, 0, 1)
print(repr(float(explorer.utility()[0, 0])))
"""


FORMULA, KERNEL = (
    "return gain / (row.kappa * (row.kappa + 1.0)) / LN2",
    "belief.utility[r] = belief.value(sums)",
)


EDITS = {
    "engine/row_beliefs.py": (KERNEL, KERNEL.replace("= ", "= 2.0 * ")),
    "priors/closed_forms.py": (FORMULA, FORMULA.replace("gain", "2.0 * gain")),
}


@pytest.mark.slow
def test_a_change_of_one_file_reaches_the_kernels_that_contain_it(tmp_path):
    """Numba by itself looks only at the file of the outermost kernel, here `loop.py`."""
    copy = tmp_path / "berlyne"
    shutil.copytree(Path(berlyne.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def utility():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
        return float(done.stdout)

    first = utility()
    for file, (line, doubled) in EDITS.items():
        source = (copy / file).read_text()
        assert line in source
        (copy / file).write_text(source.replace(line, doubled))
        assert utility() == 2.0 * first > 0.0, file
        (copy / file).write_text(source)


QUICK = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import numpy as np
    from berlyne.worlds.maze_generator import carve
    from berlyne.worlds.maze import _neighbours
    print(int(carve(_neighbours(5), 3, np.linspace(0, 0.99, 25)).sum()), *(str(w.message) for w in said))
"""


def carved(**environment):
    done = subprocess.run(
        [sys.executable, "-c", QUICK],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder with compiled code."""
    folder = tmp_path_factory.mktemp("cache")
    assert carved(NUMBA_CACHE_DIR=str(folder)) == "48"
    return folder


@pytest.mark.parametrize("damage", [lambda old: b"", lambda old: old[: len(old) // 2], lambda old: b"nonsense" * 100])
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_damaged_cached_code_is_discarded(cache, tmp_path, kind, damage):
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    damaged = {file: damage(file.read_bytes()) for file in tmp_path.rglob(kind)}
    for file, content in damaged.items():
        file.write_bytes(content)
    assert carved(NUMBA_CACHE_DIR=str(tmp_path)) == "48"
    assert damaged and all(file.read_bytes() != content for file, content in damaged.items())  # it is compiled again


def test_without_a_cache_folder_code_is_compiled_with_one_warning(tmp_path):
    """Numba finds no folder: neither beside the sources, nor at home, nor where the environment says."""
    script = (
        """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""
        + QUICK
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=LIMIT)
    number, warning = done.stdout.strip().split(" ", 1)
    assert number == "48" and warning.count("no directory for compiled code is writable") == 1
