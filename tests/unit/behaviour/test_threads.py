"""Replays and fits in threads: each replay once, the same numbers with any number of threads, errors as they are."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import berlyne.behaviour as bb
from berlyne.behaviour.terms import Drive
from berlyne.behaviour.threads import map_items, n_threads
from messages import raises
from unit.behaviour.people import walkers


def test_items_keep_their_order_and_are_shared_by_threads() -> None:
    barrier = threading.Barrier(2)

    def work(i: int) -> tuple[int, str]:
        barrier.wait(timeout=60)  # passes only if two threads are here
        return i, threading.current_thread().name

    results = map_items(work, range(4), 2)
    assert [i for i, _ in results] == [0, 1, 2, 3]
    assert len({name for _, name in results}) == 2
    assert map_items(lambda i: threading.current_thread().name, [0, 1], 1) == [threading.current_thread().name] * 2


def test_the_error_of_an_item_is_raised_and_no_more_items_begin() -> None:
    begun = []

    def work(i: int) -> None:
        begun.append(i)
        raise KeyError(i)

    with pytest.raises(KeyError):
        map_items(work, range(1000), 2)
    assert len(begun) < 1000


def test_a_number_of_threads_is_checked() -> None:
    assert n_threads(None) >= 1
    with raises(ValueError, "jobs", 0):
        n_threads(0)
    with raises(ValueError, "jobs", 0):
        bb.fit(bb.read(walkers(1, 30), keep=["rt"]), bb.bias(), jobs=0)


def test_each_setting_is_replayed_once_for_all_models_folds_and_threads(monkeypatch: Any) -> None:
    replayed: list[tuple[tuple[str, float], ...]] = []
    values = Drive.values

    def counted(self: Drive, data: Any, settings: Any) -> Any:
        replayed.append(tuple(settings.items()))
        return values(self, data, settings)

    monkeypatch.setattr(Drive, "values", counted)
    drive = bb.model("PIG(VI)", bb.crp(c=[0.3, 1.0]), gamma=[0.5, 0.9])
    models = {"bias": drive + bb.bias(), "repeat": drive + bb.bias() + bb.repeat()}
    criteria = [bb.cv("people", 2), bb.cv("blocks", 2, pool="all")]
    tables = []
    for jobs in (1, 3):
        data = bb.read(walkers(4, 40), keep=["rt"])
        tables.append(bb.compare(data, models, by=criteria, jobs=jobs).pointwise)
    assert len(replayed) == 8
    assert len(set(replayed)) == 4
    assert np.array_equal(tables[0], tables[1])


def test_progress_is_shown_on_terminals_only_unless_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert map_items(lambda i: i + 1, range(3), 2, "fits", None) == [1, 2, 3]
    assert capsys.readouterr().err == ""  # not a terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    map_items(lambda i: i, range(3), 1, "fits", False)
    assert capsys.readouterr().err == ""
    map_items(lambda i: i, range(3), 1, "fits", None)
    assert "fits" in capsys.readouterr().err
    map_items(lambda i: i, [0], 1, "fits", None)
    assert capsys.readouterr().err == ""  # one item needs no bar
