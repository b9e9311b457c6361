"""The commands of `berlyne lab`: what they print, their exit codes, and messages in the words of the user."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pandas
import pytest

import berlyne
from amounts import amount
from berlyne import LabBook
from berlyne.commands.lab_status import book_run
from berlyne.exploration import logbook
from messages import check_names
from unit.experiments.studies import command
from waiting import LIMIT


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def done(*arguments):
    """What a command prints, without its last newline; it must succeed."""
    code, output, errors = command("lab", *arguments)
    assert (code, errors) == (0, ""), (output, errors)
    return output.rstrip("\n")


def refused(*arguments, code=1):
    """The one line of an error, without "berlyne: "."""
    actual, output, errors = command("lab", *arguments)
    assert (actual, output) == (code, "") and errors.count("\n") == 1 and errors.startswith("berlyne: "), errors
    return errors.removeprefix("berlyne: ").rstrip("\n")


def rats(*more):
    done("new", "rats.lab", "--states", "left,middle,right", "--actions", "push,pull", *more)


@pytest.mark.parametrize(
    ("arguments", "code", "names"),
    [
        (("ask", "rats.lab", "midle"), 1, ("state 'midle' is unknown", "did you mean 'middle'?")),
        (("ask", "rats.lab", "zebra"), 1, ("state 'zebra' is unknown", "'left'", "'right'")),
        (("tell", "rats.lab", "left", "pusch", "left"), 1, ("action 'pusch' is unknown", "did you mean 'push'?")),
        (("tell", "rats.lab", "left", "push", "rigth"), 1, ("state 'rigth' is unknown", "did you mean 'right'?")),
        (("ask", "rats.lab", "left", "--among", "pul"), 1, ("action 'pul' is unknown", "did you mean 'pull'?")),
        (("ask", "none.lab", "left"), 1, ("no lab book none.lab",)),
        (("undo", "rats.lab"), 1, ("rats.lab", "no trial")),
        (("ask", "rats.lab"), 2, ("PIG(VI)", "STATE")),
        (("tell", "rats.lab", "left", "push"), 2, ("STATE ACTION NEXT_STATE",)),
        (("tell", "rats.lab", "left", "push", "left", "--lost"), 2, ("STATE ACTION",)),
        (("tell", "rats.lab", "left", "push", "left", "--ended", "--timed-out"), 2, ("--ended", "--timed-out")),
        (("tell", "rats.lab", "left", "push", "left", "--endet"), 2, ("--endet",)),
        (("tell", "rats.lab"), 2, ("Missing argument", "'STATE ACTION [NEXT_STATE]'")),
        (("status", "rats.lab", "--enough", "-1"), 2, ("--enough", "-1", "at least 0")),
        (("status", "rats.lab", "--enough", "8", "--confidence", "2"), 2, ("--confidence", "2", "from 0 to 1")),
        (("status", "rats.lab", "--confidence", "0.9"), 2, ("--confidence", "--enough")),
        (("new", "x.lab", "--states", "3"), 2, ("states and actions",)),
        (("new", "x.lab", "--states", "3", "--actions", "2", "--seed", "-1"), 2, ("--seed", "-1")),
        (("new", "x.lab", "--states", "3", "--actions", "a,b", "--costs", "a=-1"), 2, ("--costs", "'a=-1'", "heat=5")),
        (("new", "x.lab", "--states", "3", "--actions", "a,b", "--costs", "c=2"), 2, ("--costs", "'c'", "'a', 'b'")),
        (("new", "x.lab", "--states", "3", "--actions", "a,b", "--costs", "a=2,a=3"), 2, ("--costs", "'a'", "once")),
        (("new", "x.lab", "--states", "a,b,a", "--actions", "2"), 2, ("--states", "'a,b,a'", "once")),
        (("new", "x.lab", "--states", "3", "--actions", "2", "--alpha", "-1"), 2, ("--alpha", "-1", "positive", "ml")),
        (("new", "x.lab", "--states", "3", "--actions", "2", "--alpha", "nan"), 2, ("--alpha", "nan", "positive")),
        (("new", "x.lab", "--states", "3", "--actions", "2", "--alpha", "some"), 2, ("--alpha", "some", "ml")),
        (("ask", "rats.lab", "left", "--amung", "push"), 2, ("No such option", "--amung", "berlyne lab ask --help")),
        (("plot", "rats.lab", "--what", "visit"), 2, ("--what", "'visit'", "visits")),
        (("watch", "rats.lab", "-o", "x.txt"), 2, ("--output", "x.txt", ".html")),
        (("new", "x.lab", "--conditions", "a,b"), 2, ("--conditions", "--outcomes")),
        (
            ("new", "x.lab", "--conditions", "a,b", "--outcomes", "x,y", "--states", "3"),
            2,
            ("--states", "--conditions"),
        ),
        (("new", "rats.lab", "--states", "3", "--actions", "2"), 1, ("rats.lab already exists",)),
        (("give-up", "rats.lab"), 2, ("--client",)),
        (("give-up", "rats.lab", "7"), 1, ("trial 7", "not pending")),
        (("plot", "rats.lab", "-o", "x.gif"), 2, ("--output", "x.gif", ".png")),
        (("watch", "rats.lab", "-o", "x.html"), 1, ("rats.lab", "no trials")),
        (("serve", "rats.lab", "--port", "99999"), 2, ("--port", "99999")),
        (("nothing",), 2, ("No such command 'nothing'", "berlyne lab --help")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_is_one_sentence_in_the_words_of_the_user(arguments, code, names):
    rats()
    check_names(refused(*arguments, code=code), *names)


def test_the_process_has_these_exit_codes_too():
    rats()
    codes = {
        ("ask", "rats.lab", "midle"): 1,
        ("ask",): 2,
        ("--oops",): 2,
        ("status", "rats.lab", "--enough", "0.001"): 3,
    }
    for arguments, code in list(codes.items())[: amount(2, None)]:
        asked = [sys.executable, "-m", "berlyne", "lab", *arguments]
        finished = subprocess.run(asked, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert finished.returncode == code
        assert code == 3 or (finished.stderr.count("\n") == 1 and finished.stdout == "")


def test_summaries_in_help_are_not_cut_and_parts_are_listed_once():
    for arguments in ((), ("lab",), ("benchmark",)):
        _, output, _ = command(*arguments, "--help")
        assert "..." not in output.split("Commands:")[1]
    assert "in the CSV file FRAME." in " ".join(command("--help")[1].split())
    parts = command("reproduce", "--help")[1].split("Parts:\n")[1].split("\n\n")[0].replace("\n", " ").split(", ")
    assert len(parts) == len({part.strip() for part in parts}) > 10


def test_no_message_names_the_largest_float():
    explorer = berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=2, n_actions=1))
    with pytest.raises(ValueError, match=r"^bits is -1; it must be a number of at least 0$"):
        explorer.knows_enough(-1)


def test_a_new_name_that_is_like_a_known_one_asks_back():
    done("new", "a.lab", "--discover", "--actions", "go,stay")
    done("tell", "a.lab", "hall", "go", "room 1")
    before = LabBook("a.lab").explorer.n_obs
    assert refused("tell", "a.lab", "hal", "go", "hall") == "new state 'hal'; did you mean 'hall'? add --new"
    assert refused("tell", "a.lab", "hall", "go", "Hall") == "new state 'Hall'; did you mean 'hall'? add --new"
    assert refused("ask", "a.lab", "halll") == "new state 'halll'; did you mean 'hall'? add --new"
    assert LabBook("a.lab").explorer.n_obs == before
    done("tell", "a.lab", "hall", "go", "room 2")  # another number is another name
    done("tell", "a.lab", "hall", "go", "kitchen")
    done("tell", "a.lab", "hal", "go", "hall", "--new")
    done("tell", "a.lab", "hal", "go", "hall")
    assert list(LabBook("a.lab").explorer.states) == ["hall", "room 1", "room 2", "kitchen", "hal"]
    done("new", "n.lab", "--discover", "--actions", "2")
    done("tell", "n.lab", "10", "0", "100")
    done("tell", "n.lab", "101", "0", "1000")


def test_time_outs_losses_and_notes_are_recorded():
    rats()
    assert (
        done("tell", "rats.lab", "left", "push", "middle", "--timed-out", "--note", "lights off")
        == "1: left push middle timed-out"
    )
    assert done("tell", "rats.lab", "left", "pull", "--lost") == "2: left pull lost"
    done("tell", "rats.lab", "left", "pull", "right", "--ended", "--client", "rig 1")
    cut, lost, ended = LabBook("rats.lab").trials
    assert (cut.timed_out, cut.note, lost.lost, ended.ended, ended.client) == (True, "lights off", True, True, "rig 1")
    printed = done("history", "rats.lab").splitlines()
    assert len(printed) == 3 and "left push middle timed-out (lights off)" in printed[0] and "lost" in printed[1]
    assert done("undo", "rats.lab", "-n", "2").splitlines() == [
        "Removed left pull right; 1 left", "Removed left pull; 1 left",
    ]  # fmt: skip


def test_the_history_is_a_table_that_other_programs_and_replay_read():
    rats("--alpha", "1")
    for words in (("left", "push", "middle"), ("middle", "pull", "right", "--ended"), ("left", "pull", "--lost")):
        done("tell", "rats.lab", *words, "--note", 'a "quoted", note')
    done("tell", "rats.lab", "left", "push", "left")
    table = done("history", "rats.lab", "--csv")
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["next_state"] for row in rows] == ["middle", "right", "", "left"]
    assert [row["episode"] for row in rows] == ["0", "0", "1", "1"] and rows[0]["note"] == 'a "quoted", note'
    frame = pandas.read_csv(io.StringIO(table)).drop(columns=["time", "lost", "timed_out", "client", "note"])
    explorer = berlyne.Explorer(
        berlyne.Dirichlet(1.0, n_states=3, n_actions=2), states=["left", "middle", "right"], actions=["push", "pull"]
    )
    explorer.observe_many(frame, state="state", action="action", next_state="next_state")
    book = LabBook("rats.lab").explorer
    assert explorer.history == book.history and np.array_equal(explorer.utility(), book.utility())


def test_the_status_is_json_and_an_exit_code():
    rats("--alpha", "1", "--costs", "pull=3")
    done("tell", "rats.lab", "left", "push", "middle")
    done("ask", "rats.lab", "middle", "--client", "rig 2")
    status = json.loads(done("status", "rats.lab", "--json"))
    explorer = LabBook("rats.lab").explorer
    missing = explorer.expected_missing_information()
    assert status["missing"] == pytest.approx({"bits": missing.bits, "low": missing.low, "high": missing.high})
    gain = explorer.expected_gain(10)
    assert status["gain"] == pytest.approx(
        {
            "steps": 10,
            "bits": gain.bits,
            "standard_error": gain.standard_error,
            "cost": gain.cost,
            "per_cost": gain.per_cost,
        }
    )
    assert status["n_obs"] == status["n_trials"] == 1 and status["here"] == "middle"
    assert status["pending"][0]["client"] == "rig 2" and status["last"][0]["next_state"] == "middle"
    assert "pending" in done("status", "rats.lab") and "per unit of cost" in done("status", "rats.lab")
    quantile = missing.quantile(0.9)
    for bits, code in ((quantile * 1.01, 0), (quantile * 0.99, 3)):
        assert command("lab", "status", "rats.lab", "--enough", bits, "--confidence", "0.9")[0] == code
        code_json, output, _ = command("lab", "status", "rats.lab", "--enough", bits, "--confidence", ".9", "--json")
        assert code_json == code and json.loads(output)["enough"]["is_enough"] == (code == 0)


def test_trials_are_handed_out_to_clients_and_in_batches():
    rats("--strategy", "PIG(greedy)")
    one, two = (
        done("ask", "rats.lab", "left", "--client", "rig 1"),
        done("ask", "rats.lab", "left", "--client", "rig 2"),
    )
    assert {one, two} == {"push", "pull"} and done("ask", "rats.lab", "left", "--client", "rig 1") == one
    assert len(done("ask", "rats.lab", "left", "--many", "3").splitlines()) == 3
    done("tell", "rats.lab", "left", two, "right", "--client", "rig 2")
    assert done("give-up", "rats.lab", "--client", "rig 1") == f"Gave up 1: left {one}"
    assert done("give-up", "rats.lab", "4").startswith("Gave up 4: left")
    assert [trial.number for trial in LabBook("rats.lab").pending] == [3, 5]


def test_trials_without_states():
    done(
        "new", "t.lab", "--conditions", "soft,loud", "--outcomes", "heard,not heard", "--costs", "loud=2", "--seed", "3"
    )
    twin = berlyne.trials(["soft", "loud"], ["heard", "not heard"], 1.0, seed=3, costs={"loud": 2})
    for outcome in ("heard", "not heard", "heard"):
        condition = done("ask", "t.lab")
        assert condition == twin.ask()
        done("tell", "t.lab", condition, outcome)
        twin.tell(condition, outcome)
    done("tell", "t.lab", "soft", "--lost")
    assert "next 10 trials" in done("status", "t.lab") and LabBook("t.lab").history == twin.history
    assert len(done("ask", "t.lab", "--many", "4").splitlines()) == 4
    check_names(refused("tell", "t.lab", "sofd", "heard"), "condition 'sofd' is unknown", "'soft'")
    check_names(refused("tell", "t.lab", "soft", "herd"), "outcome 'herd' is unknown", "'heard'")
    check_names(refused("ask", "t.lab", "soft", code=2), "no states", "leave the state out")
    assert done("undo", "t.lab") == "Removed soft; 3 left"


def test_trials_without_states_are_shown_in_the_words_of_the_user():
    created = done("new", "t.lab", "--conditions", "soft,loud", "--outcomes", "heard,not heard,unsure")
    assert created == "Created t.lab: Explorer(PIG(greedy), 2 conditions, 3 outcomes, 0 observations)"
    done("tell", "t.lab", "soft", "not heard", "--note", "a cough")
    done("tell", "t.lab", "loud", "--lost")
    for option in ("--timed-out", "--ended"):
        check_names(refused("tell", "t.lab", "soft", "heard", option, code=2), option, "trials without states")
    (one, two), status = done("history", "t.lab").splitlines(), done("status", "t.lab")
    assert one.endswith("+00:00 soft not heard (a cough)") and two.endswith("+00:00 loud lost")
    assert "Dirichlet(1) over the outcomes of every condition" in " ".join(status.split()) and "ended" not in status
    rows = list(csv.DictReader(io.StringIO(done("history", "t.lab", "--csv"))))
    values = [[row[name] for name in ("condition", "outcome", "lost", "client", "note")] for row in rows]
    assert values == [["soft", "not heard", "0", "", "a cough"], ["loud", "", "1", "", ""]]
    assert next(iter(rows[0])) == "time" and len(rows[0]) == 6


def test_books_are_drawn_and_replayed(tmp_path):
    rats()
    for words in (("left", "push", "middle"), ("middle", "pull", "right"), ("left", "push", "left", "--timed-out")):
        done("tell", "rats.lab", *words)
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")):
        assert done("plot", "rats.lab", "-o", name) == f"Drew {name}" and (tmp_path / name).read_bytes().startswith(
            start
        )
    assert done("watch", "rats.lab", "-o", "a.html").startswith("Wrote ")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "middle" in page and "rats.lab" in page and '"estimated":true' in page


@pytest.mark.parametrize("options", [("--states", "5"), ("--discover",), ("--states", "5", "--alpha", "1")], ids=str)
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "CB", "Unembodied"])
def test_a_small_book_answers_without_compiled_code_as_with_it(options, strategy, monkeypatch):
    done("new", "x.lab", *options, "--actions", "3", "--strategy", strategy, "--seed", "2")
    rng = np.random.default_rng(5)
    for _ in range(25):
        book, compiled = LabBook("x.lab", engine="small"), LabBook("x.lab")
        assert (book._engine, compiled._engine) == ("numpy", "auto")
        if strategy == "Unembodied":
            if not book.explorer.n_states:
                book.tell(0, 0, 1)
            s, a = book.ask_pair()
            assert (s, a) == compiled.ask_pair()
        else:
            s = int(rng.integers(5))
            a = book.ask(s)
            assert a == compiled.ask(s)
        book.tell(s, a, int(rng.integers(5)))
    monkeypatch.setattr(logbook, "MAX_SMALL_BYTES", 500)
    assert LabBook("x.lab", engine="small")._engine == "auto"


def test_asking_and_telling_import_no_compiler():
    rats()
    script = (
        "import sys\nfrom berlyne.cli import commands\n"
        "commands.main(['lab', 'ask', 'rats.lab', 'left'], standalone_mode=False)\n"
        "commands.main(['lab', 'tell', 'rats.lab', 'left', 'push', 'left'], standalone_mode=False)\n"
        "print([m for m in ('numba', 'xarray', 'zarr', 'matplotlib', 'pandas', 'rich', 'jinja2') if m in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("states", [("left", "middle", "right"), (2, 0, 1)])
def test_a_book_with_terminal_states_is_replayed(tmp_path, states):
    """With numbers as labels, the label of a state must not be taken for its number."""
    first, middle, last = states
    book = LabBook.new(tmp_path / "rats.lab", states=states, actions=["push", "pull"], alpha=1.0)
    book.tell(first, "push", middle)
    book.tell(middle, "pull", last, ended=True)
    run = book_run(book)
    assert run.world.terminal.tolist() == [2] and run.world.states[2] == last
    assert done("watch", "rats.lab", "-o", "a.html").startswith("Wrote ")
    done("new", "t.lab", "--conditions", "soft,loud", "--outcomes", "heard,not heard")
    done("tell", "t.lab", "soft", "heard")
    assert done("watch", "t.lab", "-o", "t.html").startswith("Wrote ")


def test_a_misspelt_command_is_answered_by_one_question():
    code, output, errors = command("labb")
    assert (code, output, errors.count("\n")) == (2, "", 1) and "?;" not in errors
