"""Existing files in the folder of a reproduction are neither trusted nor written through."""

import json
import os
import re

import pytest

from berlyne.experiments.store import StoreError
from berlyne.paper.reproduction import report, run
from berlyne.paper.reproduction.claims_file import read_verdicts
from berlyne.paper.reproduction.freshness import Freshness
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.parts import all_parts
from berlyne.processes import Workers


def freshness(folder, n_worlds=1):
    return Freshness(PaperRun(folder, n_worlds, 0), all_parts())


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": "x"}', '{"a": null}', "[" * 100_000, "\udcff", '{"a": [1]}'])
def test_damaged_seconds_give_one_sentence(tmp_path, text):
    (tmp_path / "seconds.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(StoreError, match=r"seconds\.json .*damaged"):
        report._stored_seconds(tmp_path)


def test_seconds_are_stored_and_may_be_missing(tmp_path):
    assert report._stored_seconds(tmp_path) == {}
    (tmp_path / "seconds.json").write_text('{"claims": 2}')
    assert report._stored_seconds(tmp_path) == {"claims": 2.0}


def test_seconds_that_are_a_pipe_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "seconds.json")
    with pytest.raises(StoreError, match=r"seconds\.json .*pipe"):
        report._stored_seconds(tmp_path)


@pytest.mark.parametrize("name", ["report.html", "seconds.json"])
def test_links_beside_the_report_are_refused(tmp_path, monkeypatch, name):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / f"{name}.partial").symlink_to(tmp_path / "notes")
    monkeypatch.setattr(report, "_page", lambda *_: "<p>page</p>")
    with pytest.raises(StoreError, match=rf"{name}\.partial .*symbolic link"):
        report.write_report(PaperRun(tmp_path, 1, 0), {})
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_link_beside_the_claims_is_refused(tmp_path, monkeypatch):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "claims.json.partial").symlink_to(tmp_path / "notes")
    monkeypatch.setattr(run, "verdicts_of", lambda _: {})
    with pytest.raises(StoreError, match=r"claims\.json\.partial .*symbolic link"):
        run._check(freshness(tmp_path))
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{", "[3]", '[{"id": "cb"}]', "[" * 9999])
def test_a_damaged_claims_file_gives_one_sentence(tmp_path, text):
    with pytest.raises(StoreError, match=r"claims\.json .*damaged"):
        read_verdicts(tmp_path / "claims.json", text.encode())


@pytest.mark.parametrize("text", ["{", "[3]", "[" * 99999, "\udcff"])
def test_damaged_records_are_as_good_as_none(tmp_path, text):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "made.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "claims.json").touch()
    made = freshness(tmp_path)
    assert made.records == {} and not made.is_current("claims")
    made.record("claims")
    assert freshness(tmp_path).is_current("claims")
    assert not freshness(tmp_path, n_worlds=2).is_current("claims")
    (tmp_path / "claims.json").unlink()
    assert not made.is_current("claims")


@pytest.mark.parametrize("record", [3, [], {}, {"sources": 3}, {"sources": {"berlyne/tasks.py": 3}}])
def test_a_damaged_record_of_one_part_is_as_good_as_none(tmp_path, record):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "made.json").write_text(json.dumps({"claims": record}))
    (tmp_path / "claims.json").touch()
    assert not freshness(tmp_path).is_current("claims")
    assert freshness(tmp_path).why_stale("claims")


@pytest.mark.parametrize("kind", [".png", ".svg", ".csv"])
def test_links_beside_a_figure_are_refused_before_it_is_drawn(tmp_path, kind):
    (tmp_path / "figures").mkdir()
    (tmp_path / "notes").write_text("mine")
    name = next(iter(run.FIGURES))
    (tmp_path / "figures" / f"{name}{kind}.partial").symlink_to(tmp_path / "notes")
    with pytest.raises(StoreError, match=rf"{name}{re.escape(kind)}\.partial .*symbolic link"):
        run._draw(freshness(tmp_path), [name], Workers(1))
    assert (tmp_path / "notes").read_text() == "mine"
