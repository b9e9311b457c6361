"""Existing files in the folder of a reproduction are neither trusted nor written through."""

import os
import re

import pytest

from berlyne.experiments.store import StoreError
from berlyne.paper.reproduction import report, run
from berlyne.paper.reproduction.build_stamps import BuildStamps
from berlyne.paper.reproduction.claims_file import read_verdicts
from berlyne.paper.reproduction.paper_run import PaperRun


@pytest.mark.parametrize("text", ["[1]", "{", '{"a": "x"}', '{"a": null}', "[" * 100_000, "\udcff", '{"a": [1]}'])
def test_damaged_seconds_give_one_sentence(tmp_path, text):
    (tmp_path / "seconds.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(
        StoreError, match=r"seconds\.json is damaged; remove it \(it contains only the durations of the parts\)$"
    ):
        report._stored_seconds(tmp_path)


def test_seconds_are_stored_and_may_be_missing(tmp_path):
    assert report._stored_seconds(tmp_path) == {}
    (tmp_path / "seconds.json").write_text('{"claims": 2}')
    assert report._stored_seconds(tmp_path) == {"claims": 2.0}


def test_seconds_that_are_a_pipe_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "seconds.json")
    with pytest.raises(StoreError, match=r"seconds\.json is a pipe; it must be a file$"):
        report._stored_seconds(tmp_path)


@pytest.mark.parametrize("name", ["report.html", "seconds.json"])
def test_links_beside_the_report_are_refused(tmp_path, monkeypatch, name):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / f"{name}.partial").symlink_to(tmp_path / "notes")
    monkeypatch.setattr(report, "_page", lambda *_: "<p>page</p>")
    with pytest.raises(StoreError, match=rf"{name}\.partial is a symbolic link, but berlyne needs a file there"):
        report.write_report(PaperRun(tmp_path, 1, 0), {})
    assert (tmp_path / "notes").read_text() == "mine"


def test_a_link_beside_the_claims_is_refused(tmp_path, monkeypatch):
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "claims.json.partial").symlink_to(tmp_path / "notes")
    monkeypatch.setattr(PaperRun, "verdicts", {})
    paper_run = PaperRun(tmp_path, 1, 0)
    with pytest.raises(StoreError, match=r"claims\.json\.partial is a symbolic link, but berlyne needs a file there"):
        run._check(paper_run, BuildStamps(paper_run))
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{", "[3]", '[{"id": "cb"}]', "[" * 9999])
def test_a_damaged_claims_file_gives_one_sentence(tmp_path, text):
    with pytest.raises(StoreError, match=r"claims\.json is damaged; remove it and run the reproduction again"):
        read_verdicts(tmp_path / "claims.json", text.encode())


@pytest.mark.parametrize("text", ["{", "[3]", "[" * 99999, "\udcff"])
def test_damaged_stamps_are_as_good_as_none(tmp_path, text):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "made.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    made = BuildStamps(PaperRun(tmp_path, 1, 0))
    assert made.stamps == {}
    made.record("fig3", ())
    assert BuildStamps(PaperRun(tmp_path, 1, 0)).is_current("fig3", ())
    assert not BuildStamps(PaperRun(tmp_path, 2, 0)).is_current("fig3", ())
    assert not made.is_current("fig3", (), "figures/fig3.png")


@pytest.mark.parametrize("kind", [".png", "-dark.png", ".svg", ".csv"])
def test_links_beside_a_figure_are_refused_before_it_is_drawn(tmp_path, kind):
    (tmp_path / "figures").mkdir()
    (tmp_path / "notes").write_text("mine")
    name = next(iter(run.FIGURES))
    (tmp_path / "figures" / f"{name}{kind}.partial").symlink_to(tmp_path / "notes")
    with pytest.raises(
        StoreError, match=rf"{name}{re.escape(kind)}\.partial is a symbolic link, but berlyne needs a file there"
    ):
        run._draw(PaperRun(tmp_path, 1, 0), [name], BuildStamps(PaperRun(tmp_path, 1, 0)))
    assert (tmp_path / "notes").read_text() == "mine"
