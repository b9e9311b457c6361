"""The compiled engine takes the same actions as the plain NumPy twin, with the same measures."""

import sys
from collections import OrderedDict

import numpy as np
import pytest

from amounts import amount
from berlyne import explore, maze
from berlyne.engine import caches, value_iteration
from berlyne.priors import closed_forms
from parity.cases import AWKWARD, CLASSES, EVERY, OURS, PLANNING

NAMED = {"ids": str}


def check_parity(world, strategy, n_steps, seed):
    settings = {"n_steps": n_steps, "seed": seed, "snapshots": [n_steps // 3, n_steps]}
    fast, plain = (explore(world, strategy, engine=engine, **settings) for engine in ("compiled", "numpy"))
    assert fast.actions.tolist() == plain.actions.tolist()
    assert fast.states.tolist() == plain.states.tolist()
    assert fast.next_states.tolist() == plain.next_states.tolist()
    assert np.abs(fast.missing_information - plain.missing_information).max() < 1e-9
    assert np.abs(fast.l1_distance - plain.l1_distance).max() < 1e-9
    for t, counts in fast.snapshots.items():
        assert np.array_equal(counts.dense(), plain.snapshots[t].dense())


@pytest.mark.pairwise
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("strategy", EVERY, **NAMED)
@pytest.mark.parametrize("kind", CLASSES)
def test_in_the_worlds_of_the_paper(kind, strategy, seed):
    check_parity(CLASSES[kind](seed), strategy, amount(60, 120), seed)


@pytest.mark.pairwise
@pytest.mark.parametrize("strategy", OURS, **NAMED)
@pytest.mark.parametrize("kind", AWKWARD)
def test_in_awkward_worlds(kind, strategy):
    check_parity(AWKWARD[kind](5), strategy, amount(45, 80), 7)


@pytest.mark.parametrize("kind", CLASSES)
def test_over_a_whole_run_of_the_paper(kind):
    check_parity(CLASSES[kind](3), "PIG(VI)", 2500, 3)


@pytest.mark.parametrize("strategy", PLANNING, **NAMED)
def test_in_worlds_too_large_for_lists_of_repairs(strategy, monkeypatch):
    monkeypatch.setattr(value_iteration, "MAX_LISTED", 0)
    check_parity(maze(1, side=8), strategy, amount(50, 100), 1)
    check_parity(AWKWARD["5 actions"](1), strategy, amount(50, 100), 1)


def test_with_counts_beyond_the_table_of_logarithms(monkeypatch):
    monkeypatch.setattr(closed_forms, "TABLE_SIZE", 3)
    monkeypatch.setattr(caches, "_SHARED_CACHES", OrderedDict())
    closed_forms.table_over_counts.cache_clear()
    for utility in ("PIG", "PEIG", "parameter_gain", "PLC"):
        for kind in ("1 action", "33 states", "5 actions"):
            check_parity(AWKWARD[kind](2), f"{utility}(VI)", 300, 2)
    assert closed_forms.table_over_counts(1.0, "PIG").shape == (3, 2)
    closed_forms.table_over_counts.cache_clear()


def test_in_pieces(monkeypatch):
    """Random numbers are drawn a chunk at a time; where chunks end moves nothing."""
    whole = explore(maze(0), "PIG(VI)", n_steps=300, seed=0, snapshots=[100])
    monkeypatch.setattr(sys.modules["berlyne.exploration.explore"], "CHUNK", 7)
    pieces = explore(maze(0), "PIG(VI)", n_steps=300, seed=0)
    assert whole.actions.tolist() == pieces.actions.tolist()
    assert np.array_equal(whole.missing_information, pieces.missing_information)
    assert np.array_equal(whole.l1_distance, pieces.l1_distance)
