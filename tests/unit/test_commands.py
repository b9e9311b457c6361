"""Commands that create, show and plot a study, and their help texts."""

import shlex

import click
import numpy as np
import pytest
from click.testing import CliRunner

from berlyne import Experiment, open_results
from berlyne.cli import commands
from unit.experiments.studies import command, study


def all_commands(group=commands, path=("berlyne",)):
    """Every command and group, by the words that call it."""
    yield path, group
    for name, one in getattr(group, "commands", {}).items():
        yield from all_commands(one, (*path, name))


EVERY = dict(all_commands())


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_help_ends_in_an_example_that_parses(path, tmp_path, monkeypatch):
    code, output, errors = command(*path[1:], "--help")
    assert code == 0 and errors == ""
    lines = output.split("\nExample:\n")[1].splitlines()
    assert lines and all(line.startswith(f"  {' '.join(path)} ") for line in lines)
    monkeypatch.chdir(tmp_path)
    for name in ("results.zarr", "reproduction"):
        (tmp_path / name).mkdir()
    for name in ("study.toml", "choices.csv", "model.toml", "models.toml"):
        (tmp_path / name).touch()
    for line in lines:
        words, group = shlex.split(line)[1:], commands
        while isinstance(group, click.Group):
            group = group.commands[words.pop(0)]
        group.make_context(group.name, words)  # an error if an option or an argument is not there


def test_a_new_study_runs_as_it_is_and_nothing_is_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, output, errors = command("init")
    assert (code, errors) == (0, "") and output.startswith("Wrote study.toml; run it with: berlyne run study.toml")
    text = (tmp_path / "study.toml").read_text()
    assert sum(line.startswith("#") for line in text.splitlines()) > 10
    asked = Experiment.from_toml("study.toml")
    assert (
        asked.n_worlds == 10
        and asked.standard_measures == ("missing_information", "l1_distance")
        and not asked.custom_measures
    )
    (tmp_path / "study.toml").write_text("mine")
    code, output, errors = command("init")
    assert (code, output) == (1, "") and (tmp_path / "study.toml").read_text() == "mine"
    assert errors == "berlyne: study.toml already exists and is not overwritten; use another name\n"
    assert command("init", "other.toml")[0] == 0 and (tmp_path / "other.toml").read_text() == text
    uncommented = text.replace("# [worlds.small]\n# kind", "[worlds.small]\nkind").replace("# side", "side")
    uncommented = uncommented.replace("# n_transporters", "n_transporters").replace("# snapshots", "snapshots")
    (tmp_path / "all.toml").write_text(uncommented)
    assert [c.name for c in Experiment.from_toml("all.toml").classes] == ["maze", "dense", "small"]
    code, output, errors = command("init", "no/where.toml")
    assert code == 1 and errors == "berlyne: cannot write where.toml: directory no does not exist; create it first\n"


def test_show_prints_the_contents_of_a_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = {"last": lambda run: 0.0, "seen": ("s", lambda run: np.zeros(run.world.n_states))}
    study(n_runs=2, measures=own).run("r.zarr")
    study(n_runs=2, measures=own, strategies=["PEIG(VI)"]).run("p.zarr", shard="1/2")
    code, output, errors = command("show", "r.zarr")
    assert (code, errors) == (0, "")
    for line in (
        "Results(r.zarr: maze, dense; 48 of 48 explorations)",
        "worlds: maze (30 steps), dense (20 steps); 4 of each class, 2 runs in each",
        "seed: 1",
        "snapshots: 0.5, 0, 7, 1.0",
    ):
        assert line in output.splitlines()
    assert (
        "missing_information (time)" in output
        and "seen (s)" in output
        and "; last" in output
        and "berlyne 0." in output
    )
    results = open_results("r.zarr")
    values = results.of("maze")["missing_information"].sel(strategy="PIG(VI)").values[:, 30].astype(float).reshape(4, 2)
    mean, sem = values.mean(), values.mean(axis=1).std(ddof=1) / 2
    (line,) = (line for line in output.splitlines() if line.startswith("maze") and "PIG(VI)" in line)
    assert line.split() == ["maze", "PIG(VI)", "8", "0", f"{mean:.2f}", "±", f"{sem:.2g}", "bits"]
    part = command("show", "p.zarr")[1]
    assert "shard: 1 of 2" in part.splitlines()
    (line,) = (line for line in part.splitlines() if line.startswith("dense"))
    assert line.split()[:4] == ["dense", "PEIG(VI)", "4", "4"]


def test_show_of_an_empty_store_and_of_missing_measures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("show", "r.zarr") == (1, "", "berlyne: there are no results at r.zarr\n")
    study(measures=[], common_random_numbers=True).run("r.zarr")
    output = command("show", "r.zarr")[1]
    assert output.count("not stored") == 6 and "seed: 1; common random numbers" in output.splitlines()


def test_plot_draws_a_picture(tmp_path, monkeypatch):
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    study().run("r.zarr")
    code, output, errors = command("plot", "r.zarr")
    assert (code, output, errors) == (0, "Drew curves.png\n", "")
    with Image.open("curves.png") as picture:
        pixels = np.asarray(picture.convert("RGB"))
    assert pixels.shape[1] == 1440 and (pixels[0, 0] == 255).all()
    for colour in ((215, 25, 28), (26, 150, 65), (0, 0, 0)):  # Random, PIG(VI), Unembodied
        assert (np.abs(pixels.astype(int) - colour).sum(axis=-1) < 12).sum() > 200
    options = ("--class", "maze", "--strategy", "PIG(VI)", "--measure", "l1_distance")
    assert command("plot", "r.zarr", "-o", "one.svg", *options)[0] == 0
    text = (tmp_path / "one.svg").read_text()
    assert "PIG(VI)" in text and "l1 distance" in text and "Random" not in text and "Dense" not in text


@pytest.mark.parametrize(
    ("arguments", "exit_code", "why"),
    [
        (("-o", "x.docx"), 2, "--output is x.docx; the file name must end in .png, .svg or .pdf"),
        (("--measure", "area"), 1, "there is no measure 'area' over time in r.zarr; there are missing_information, l1"),
        (("--class", "mice"), 1, "there is no class 'mice' in r.zarr; it contains maze, dense"),
        (("--strategy", "PIG"), 1, "there is no strategy 'PIG' in r.zarr; the nearest is 'PIG(VI)'"),
        (("-o", "no/x.png"), 1, "cannot write x.png: directory no does not exist; create it first"),
    ],
)
def test_invalid_plots_give_one_sentence(tmp_path, monkeypatch, arguments, exit_code, why):
    monkeypatch.chdir(tmp_path)
    study().run("r.zarr")
    code, output, errors = command("plot", "r.zarr", *arguments)
    assert (code, output) == (exit_code, "") and errors.startswith(f"berlyne: {why}") and errors.count("\n") == 1
    assert [f.name for f in tmp_path.iterdir()] == ["r.zarr"]


def test_the_results_path_is_given_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text("n_worlds = 1\nn_steps = 3")
    assert "Missing argument 'RESULTS'" in command("run", "s.toml")[2]
    assert "Give RESULTS or --output, not both." in command("run", "s.toml", "a.zarr", "-o", "b.zarr")[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_tab_key_completes_commands(shell):
    """As the documentation says how to switch it on."""
    asked = {
        "_BERLYNE_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": "berlyne sh",
        "COMP_CWORD": "sh" if shell == "fish" else "1",
    }
    done = CliRunner().invoke(commands, env=asked, prog_name="berlyne")
    assert done.exit_code == 0 and "show" in done.stdout and "merge" not in done.stdout
