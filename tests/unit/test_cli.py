import os
import socket
import subprocess
import sys
from collections import Counter

import pytest

import berlyne
from messages import check_names, raises
from unit.experiments.studies import command
from waiting import LIMIT


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "code", "output", "errors"),
    [
        (["--version"], 0, f"berlyne, version {berlyne.__version__}\n", ""),
        (["show", "r.zarr"], 1, "", "berlyne: there are no results at r.zarr\n"),
    ],
)
def test_the_process_ends_with_its_code_and_one_line(arguments, code, output, errors):
    """The other tests call the commands in this process."""
    done = subprocess.run(
        [sys.executable, "-m", "berlyne", *arguments], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, output, errors)
    assert command(*arguments) == (code, output, errors)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("reproduce", "--preset", "huge"), "'huge' is not one of"),
        (("reproduce", "--seed", "-1"), "-1 is not in the range"),
        (("reproduce", "taken"), "'taken' is a file"),
        (("reproduce", "--only", "fig9"), "unknown part 'fig9'; choose from explorations,"),
        (("report", "."), ". contains no reproduction"),
        (("reproduce", "taken/inside"), "berlyne: Not a directory: taken/inside"),
    ],
)
def test_mistakes_are_reported_without_a_traceback(tmp_path, arguments, why):
    (tmp_path / "taken").touch()
    code, output, errors = command(*arguments)
    assert (code in (1, 2), output) == (True, "") and why in errors


def test_strategies_are_listed_with_their_privileges():
    """Strategies that see the true world, or act in any state, are marked as controls."""
    from berlyne.commands.listing import _strategies

    headings, lines = _strategies()
    assert headings == ("name", "coordination", "control")
    controls = {name: control for name, _, control in lines if control}
    anywhere = "may go anywhere"
    assert controls == {"Unembodied": anywhere, "PIG(VI+)": "plans with the true world", "Generative": anywhere}
    assert [name for name, _, _ in lines] == list(berlyne.STRATEGIES)


def test_privileges_are_printed():
    printed = command("list", "strategies")[1].splitlines()
    (unembodied,) = (line for line in printed if line.startswith("Unembodied"))
    assert "anywhere" in " ".join(printed[printed.index(unembodied) :][:3])
    (random,) = (line for line in printed if line.startswith("Random"))
    assert "world" not in random and "anywhere" not in random


@pytest.mark.parametrize("topic", ["worlds", "benchmarks", "strategies", "utilities", "measures", "assumptions"])
@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 120, 200])
def test_lists_never_cut_text(topic, width):
    from berlyne.commands.listing import _LISTS, format_listing

    headings, lines = _LISTS[topic]()
    text = format_listing(headings, lines, width)
    words = Counter(text.split())
    assert not Counter(" ".join(" ".join(line) for line in lines).split()) - words
    printed = [f"{line} " for line in text.split("\n")]
    assert all(any(line.startswith(f"{name} ") for line in printed) for name, *_ in lines)
    longest = max(len(word) for line in lines for word in " ".join(line).split())
    assert max(map(len, text.split("\n"))) <= max(width, longest + 4)
    assert width < 120 or text.startswith(f"{headings[0]} ")  # a table where there is room


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_a_study_that_is_a_pipe_is_refused(tmp_path, kind):
    path = tmp_path / "study.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("study.toml")
    else:
        path.symlink_to("/dev/zero")
    code, _, errors = command("run", "study.toml", "r.zarr")
    assert code == 1 and errors.count("\n") == 1
    check_names(errors.rstrip("\n"), "berlyne", "study.toml", kind)
    with raises(ValueError, "study.toml", kind):
        berlyne.Experiment.from_toml(path)


def test_results_that_are_a_pipe_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text("n_worlds = 1\nn_steps = 3")
    os.mkfifo(tmp_path / "r.zarr")
    code, _, errors = command("run", "study.toml", "r.zarr")
    assert code == 1 and errors.count("\n") == 1
    check_names(errors.rstrip("\n"), "berlyne", "r.zarr", "not a store")


@pytest.mark.parametrize(
    "name",
    [
        "PIG(VI, steps_back=99999999999999999999)",
        "PIG(VI+, steps_back=9999999999)",
        f"PEIG(Q, initial={'9' * 400})",
        f"PEIG(VI, untried={'9' * 400})",
        f"PIG(VI, gamma={'9' * 5000})",
    ],
)
def test_numbers_too_large_for_a_strategy_give_one_sentence(tmp_path, name):
    (tmp_path / "study.toml").write_text(f'strategies = ["{name}"]\nn_worlds = 1\nn_steps = 3')
    code, _, errors = command("run", "study.toml", "r.zarr")
    assert code == 1 and errors.startswith("berlyne: strategies[0]: ") and errors.count("\n") == 1
    with raises(ValueError, "strategies[0]"):
        berlyne.Experiment(strategies=[name])
