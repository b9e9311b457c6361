"""Small studies and helpers that compare stores."""

from __future__ import annotations

import io
import pickle
import sys
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest

import berlyne
from berlyne.experiments import store
from berlyne.experiments.work_unit import _WORLD_CACHE

WORLDS = {"maze": {"side": 3, "n_transporters": 4}, "dense": {"n_states": 4}}
STEPS = {"maze": 30, "dense": 20}


def study(**changes):
    """Two classes, three strategies (one of which relocates), four worlds of each: quick, and nothing is trivial."""
    settings = {
        "worlds": WORLDS,
        "strategies": ["Random", "PIG(VI)", "Unembodied"],
        "n_worlds": 4,
        "n_steps": STEPS,
        "seed": 1,
        "snapshots": (0.5, 0, 7, 1.0),
    }
    return berlyne.Experiment(**{**settings, **changes})


def files(folder):
    """Every file below a folder, its content by its path."""
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


FINISHED = {}
"""The files of finished studies, by the size of blocks, the shard and the settings."""


def put_finished(place, shard=None, **changes):
    """Put the finished `study(**changes)`, or a shard of it, at `place`; each process of pytest computes it once."""
    key = pickle.dumps((store.BLOCK, shard, changes))
    if key not in FINISHED:
        study(**changes).run(place, jobs=1, shard=shard)
        FINISHED[key] = files(place)
        return
    for name, content in FINISHED[key].items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)


def assert_same_store(one, other):
    """Byte by byte; if they differ, the failure names the array and the label."""
    import xarray as xr

    mine, theirs = files(one), files(other)
    if mine and mine == theirs:
        return
    with xr.open_zarr(one, chunks=None) as a, xr.open_zarr(other, chunks=None) as b:
        assert set(a.variables) == set(b.variables)
        for name in a.variables:
            assert a[name].dtype == b[name].dtype, name
            np.testing.assert_array_equal(a[name].values, b[name].values, err_msg=name)
        xr.testing.assert_identical(a, b)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if mine[name] != theirs[name]] == []


def command(*arguments):
    """Exit code, standard output and standard error of `berlyne` with these arguments, in this process."""
    from berlyne.cli import main

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["berlyne", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as end:  # as the interpreter would
            code = end.code or 0
            if isinstance(code, str):
                code = print(code, file=err) or 1
    return code, out.getvalue(), err.getvalue()


def count_explorations(monkeypatch):
    """A list that grows by "class/strategy/n_steps" whenever the machinery explores."""
    from berlyne.experiments import work_unit

    made, explore = [], work_unit.explore

    def counted(world, strategy, **options):
        made.append((world.name, strategy.name, options["n_steps"]))
        return explore(world, strategy, **options)

    monkeypatch.setattr(work_unit, "explore", counted)
    return made


def forget_worlds():
    """Draw every world again from here on."""
    with _WORLD_CACHE.lock:
        _WORLD_CACHE.cached.clear()
        _WORLD_CACHE.entries = 0


@pytest.fixture
def small_blocks(monkeypatch):
    """Pieces of three worlds, so that a small study has several and the last is not full."""
    monkeypatch.setattr(store, "BLOCK", 3)
