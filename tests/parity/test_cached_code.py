"""Cached compiled code is used only if none of its sources has changed."""

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import caching

import berlyne
from amounts import amount
from berlyne.engine import jit
from berlyne.worlds import maze_generator
from berlyne.worlds.maze import _neighbours
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
        """The utility as a new process computes it."""
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
    for file, (line, doubled) in list(EDITS.items())[: amount(1, None)]:  # each compiles for seconds
        source = (copy / file).read_text()
        assert line in source
        (copy / file).write_text(source.replace(line, doubled))
        assert utility() == 2.0 * first > 0.0, file
        (copy / file).write_text(source)


@pytest.mark.parametrize("file", EDITS)
def test_the_cache_depends_on_the_engine_and_on_the_formulas_of_priors(file, tmp_path, monkeypatch):
    """Without compiling: their sources decide which code is valid."""
    copy = tmp_path / "berlyne"
    shutil.copytree(Path(berlyne.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(copy / "engine" / "jit.py"))
    before = jit._hash_of_sources()
    assert before == jit._SOURCES
    line, doubled = EDITS[file]
    (copy / file).write_text((copy / file).read_text().replace(line, doubled))
    assert jit._hash_of_sources() != before


CARVED = 48
"""Passages of a maze of 25 rooms, each counted from both sides."""


def carve_again(monkeypatch, folder):
    """Carve a maze as a new process does, which decorates the kernel; return how often code was found."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))
    monkeypatch.setattr(maze_generator, "_carve", jit.kernel(maze_generator._carve.py_func))
    assert maze_generator.carve(_neighbours(5), 3, np.linspace(0, 0.99, 25)).sum() == CARVED
    return sum(maze_generator._carve.stats.cache_hits.values())


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """A folder with compiled code."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert not carve_again(monkeypatch, folder)
        assert carve_again(monkeypatch, folder)  # compiled code is found there
    return folder


@pytest.mark.parametrize("damage", [lambda old: b"", lambda old: old[: len(old) // 2], lambda old: b"nonsense" * 100])
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_damaged_cached_code_is_discarded(cache, tmp_path, monkeypatch, kind, damage):
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    damaged = {file: damage(file.read_bytes()) for file in tmp_path.rglob(kind)}
    for file, content in damaged.items():
        file.write_bytes(content)
    assert not carve_again(monkeypatch, tmp_path)
    assert damaged and all(file.read_bytes() != content for file, content in damaged.items())  # it is compiled again


def test_without_a_cache_folder_code_is_compiled_with_one_warning(tmp_path, monkeypatch):
    """Numba finds no folder: neither beside the sources, nor at home, nor where the environment says."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(jit, "_warn_once", lru_cache(jit._warn_once.__wrapped__))  # as if nothing had been warned of
    with pytest.warns(RuntimeWarning, match="no directory for compiled code is writable") as warned:
        n_found = [carve_again(monkeypatch, tmp_path) for _ in range(2)]  # the second time without a warning
    assert len(warned) == 1 and n_found == [0, 0]
