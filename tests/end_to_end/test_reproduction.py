"""`berlyne reproduce --preset smoke`, then its figures, claims and report."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from amounts import amount
from berlyne import processes
from berlyne.experiments.spec import SettingsError
from berlyne.paper.claims import CLAIMS
from berlyne.paper.reproduction import run as reproduction
from berlyne.paper.reproduction.figure_list import FIGURES
from berlyne.paper.reproduction.paper_run import PaperRun
from berlyne.paper.reproduction.run import STAGES, reproduce
from berlyne.paper.reproduction.variants import VARIANTS
from berlyne.processes import Workers
from unit.paper.reproduction.html_page import Page
from waiting import LIMIT

from .conftest import run, run_in_new_process

ADDITIONS = Path(__file__).parents[1] / "unit" / "paper" / "reproduction" / "additions.py"


def test_the_command_prints_every_claim_and_where_the_report_is(finished: tuple[Path, str]) -> None:
    _, printed = finished
    for name in CLAIMS:
        assert name in printed
    assert "reproduction/report.html" in printed


def test_every_figure_exists_as_picture_drawing_and_numbers(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / "figures" / f"{name}.svg").read_text()[:1000]
        with (folder / "figures" / f"{name}.csv").open() as file:
            lines = list(csv.reader(file))
        assert len(lines) > 1
        assert all(len(line) == len(lines[0]) for line in lines)


def test_numbers_behind_a_figure_are_those_stored(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    dataset = xr.open_zarr(folder / "results.zarr").load()
    mazes = dataset.isel(world=np.flatnonzero(dataset["world_class"].values.astype(object) == "maze"))
    mean = mazes["missing_information"].sel(strategy="PIG(VI)").values.astype(float).mean(axis=0)
    with (folder / "figures" / "fig4.csv").open() as file:
        drawn = {
            int(line["time"]): float(line["mean"])
            for line in csv.DictReader(file)
            if (line["world_class"], line["strategy"]) == ("maze", "PIG(VI)")
        }
    assert len(drawn) == 2501
    assert np.allclose([drawn[t] for t in (0, 100, 2500)], mean[[0, 100, 2500]], rtol=1e-12)


def test_claims_are_written_as_data(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    claims = json.loads((folder / "claims.json").read_text())
    assert [claim["id"] for claim in claims] == list(CLAIMS)
    assert {claim["verdict"] for claim in claims} <= {"holds", "does not hold", "undecided"}
    assert all(claim["findings"] for claim in claims)


def test_the_report_needs_no_network_and_its_files_exist(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    html = (folder / "report.html").read_text()
    page = Page(html)
    assert page.open == [] and page.wrong == []
    files = {link for _, link in page.links if not link.startswith("#")}
    assert files == {f"figures/{name}.{kind}" for name in FIGURES for kind in ("png", "svg", "csv")}
    assert all((folder / file).is_file() for file in files)
    assert not re.search(r"https?://", html)
    assert len(html) < 6e6


def test_the_report_can_be_written_again_from_stored_results(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    report = folder / "report.html"
    before = report.read_text()
    report.unlink()
    done = run("report", folder.name, cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    assert report.read_text() == before


def test_several_processes_give_the_same_numbers(
    finished: tuple[Path, str], tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes compute everything that they can, also what is so little that they would not be used.

    Without `--full` explorations are stored already, as `tests/parity` compares those of several processes, and there
    are two variants.
    """
    folder, _ = finished
    variants = amount(VARIANTS[1:3], VARIANTS)
    monkeypatch.setattr(reproduction, "FIGURES", amount({}, FIGURES))  # one has the name of a stage
    monkeypatch.setitem(STAGES, "sensitivity", replace(STAGES["sensitivity"], variants=variants))
    if amount(True, False):
        not_stored = shutil.ignore_patterns("figures", *(f"{name}.zarr" for name in STAGES))
        shutil.copytree(folder, tmp_path / "several", ignore=not_stored)
    parts = "tasks,gains,structure,lengths,learned,sensitivity"
    monkeypatch.setattr(processes, "MIN_ITEMS", 0)
    monkeypatch.setattr(reproduction, "Workers", lambda jobs: contextlib.nullcontext(workers))
    done = run("reproduce", "several", "--preset", "smoke", "--jobs", "2", "--only", parts, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "executor" in vars(workers)
    for name in STAGES:
        ours, theirs = PaperRun(tmp_path / "several", 4, 0).stage(name), PaperRun(folder, 4, 0).stage(name)
        if name == "sensitivity":
            theirs = theirs.sel(variant=[variant.id for variant in variants])
        assert ours.identical(theirs)
    first, second = (xr.open_zarr(place / "results.zarr").load() for place in (tmp_path / "several", folder))
    assert first.identical(second)


def test_another_seed_in_the_same_folder_is_refused(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    done = run("reproduce", folder.name, "--preset", "smoke", "--seed", "1", cwd=folder.parent)
    assert done.returncode != 0
    assert "seed = 0" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_run_makes_nothing_again(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    made = [path for path in folder.rglob("*") if path.is_file() and path.name != "seconds.json"]
    before = {path: path.stat().st_mtime_ns for path in made if "lock" not in path.name}
    done = run("reproduce", folder.name, "--preset", "smoke", cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    after = {path: path.stat().st_mtime_ns for path in before}
    assert {path.name for path in before if before[path] != after[path]} <= {"reproduction.json"}
    table, second_table = (text.split("Took")[0] for text in (printed, done.stdout))
    assert second_table == table


def test_a_figure_that_is_gone_is_drawn_again_and_no_other(finished: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    (copy / "figures" / "fig3.png").unlink()
    before = {path: path.stat().st_mtime_ns for path in (copy / "figures").glob("fig[4-8]*.png")}
    reproduce(copy, 4, only=("fig3", "fig4", "fig5"))
    assert (copy / "figures" / "fig3.png").is_file()
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def forget_sources(folder: Path, *parts: str) -> None:
    """Change the recorded sources of some parts, as if the code had been edited since."""
    path = folder / "data" / "made.json"
    records = json.loads(path.read_text())
    for part in parts:
        records[part]["sources"]["berlyne/tasks.py"] = "edited"
    path.write_text(json.dumps(records))


def modified(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


def test_explorations_and_stages_of_other_sources_are_computed_again_with_the_same_numbers(
    finished: tuple[Path, str], tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    forget_sources(copy, "explorations", "gains")
    with xr.open_zarr(copy / "results.zarr") as dataset:
        before, gains = dataset.load(), PaperRun(copy, 4, 0).stage("gains")
    times = modified(copy)
    done = run("reproduce", "copy", "--preset", "smoke", "--only", "explorations,gains,structure", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recomputed, kept = done.stderr.splitlines()
    assert recomputed == "recomputing explorations, gains: src changed in berlyne/tasks.py"
    assert kept == "keeping structure"
    with xr.open_zarr(copy / "results.zarr") as dataset:
        assert dataset.load().identical(before)
    assert PaperRun(copy, 4, 0).stage("gains").identical(gains)
    changed = {path for path, time in modified(copy).items() if times.get(path) != time}
    assert {Path(path).parts[1] for path in changed if path.startswith("data/")} == {"gains.zarr", "made.json"}
    assert any(path.startswith("results.zarr/area/c") for path in changed)
    assert not any(path.startswith(("figures/", "claims.json", "report.html")) for path in changed)


def test_explorations_of_another_seed_are_refused_and_not_removed(finished: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    forget_sources(copy, "explorations")
    times = modified(copy / "results.zarr")
    done = run("reproduce", "copy", "--preset", "smoke", "--seed", "1", "--only", "explorations", cwd=tmp_path)
    assert done.returncode != 0 and "seed = 0" in done.stderr
    assert modified(copy / "results.zarr").items() >= times.items()


def test_no_report_is_made_from_stale_parts(finished: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    before = (copy / "report.html").stat().st_mtime_ns
    for part in ("tasks", "figure fig8"):
        shutil.copy(finished[0] / "data" / "made.json", copy / "data" / "made.json")
        forget_sources(copy, part)
        done = run("report", "copy", cwd=tmp_path)
        assert done.returncode != 0
        assert re.search(rf"{part}.*berlyne/tasks\.py.*berlyne reproduce", done.stderr)
    assert (copy / "report.html").stat().st_mtime_ns == before


def test_claims_alone_are_written(finished: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(finished[0], copy)
    claims = (copy / "claims.json").read_bytes()
    (copy / "claims.json").unlink()
    (copy / "report.html").unlink()
    done = run("reproduce", "copy", "--preset", "smoke", "--only", "claims", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (copy / "claims.json").read_bytes() == claims
    assert not (copy / "report.html").exists()


def test_the_groups_are_the_same_in_the_terminal_and_in_the_file(finished: tuple[Path, str]) -> None:
    folder, printed = finished
    groups = [claim["group"] for claim in json.loads((folder / "claims.json").read_text())]
    phrases = {"holds on its own": "hold on their own", "does not hold": "do not hold", "undecided": "are undecided"}
    for group in set(groups):
        text = phrases.get(group, "hold, but were used to choose a reading")
        assert re.search(rf"\b{groups.count(group)}\s+{text}".replace(" ", r"\s+"), printed)
    assert f"{len(groups)} claims:" in printed


def test_a_reproduction_is_refused_in_the_store_of_a_study(finished: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "store"
    shutil.copytree(finished[0] / "results.zarr", copy)
    before = sorted(path.relative_to(copy) for path in copy.rglob("*"))
    done = run("reproduce", "store", "--preset", "smoke", cwd=tmp_path)
    assert done.returncode != 0
    assert re.fullmatch(r"berlyne: store .*directory\n", done.stderr)
    assert [
        p for p in sorted(path.relative_to(copy) for path in copy.rglob("*")) if p.name != "reproduction.lock"
    ] == before


def test_help_lists_the_parts() -> None:
    done = run("reproduce", "--help", cwd=Path.cwd())
    for part in ("explorations", "tasks", "fig8", "figS5", "sensitivity", "claims", "report"):
        assert part in done.stdout


def test_an_unknown_assumption_gives_one_sentence_and_no_files(tmp_path: Path) -> None:
    done = amount(run, run_in_new_process)("reproduce", "new", "--set", "gama=0.9", cwd=tmp_path)
    assert done.returncode != 0
    assert re.fullmatch(r"berlyne: gama: .*gamma\?\n", done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_fewer_worlds_than_the_folder_holds_are_refused(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    with pytest.raises(SettingsError, match="more than 3 worlds"):
        reproduce(folder, 3)


def test_additional_strategies_and_worlds_change_no_number(finished: tuple[Path, str], tmp_path: Path) -> None:
    """Without `--full`, figures that compare strategies."""
    folder, figures = finished[0], amount(("fig3", "fig4", "fig8", "sensitivity"), tuple(FIGURES))
    shutil.copytree(folder, tmp_path / "beside")
    shutil.rmtree(tmp_path / "beside" / "figures")
    (tmp_path / "beside" / "claims.json").unlink()
    options = ["--preset", "smoke", "--jobs", "1", "--only", ",".join(("claims", *figures))]
    done = subprocess.run(
        [sys.executable, ADDITIONS, "reproduce", "beside", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    made = ["claims.json", *(f"figures/{name}.csv" for name in figures)]
    assert [name for name in made if (tmp_path / "beside" / name).read_bytes() != (folder / name).read_bytes()] == []
