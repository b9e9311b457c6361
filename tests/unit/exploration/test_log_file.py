"""Lab books that are damaged, shortened, edited, or written by several processes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from amounts import amount
from berlyne import ChineseRestaurant, Dirichlet, LabBook, OneTwoThree, Strategy
from berlyne.cli import commands
from berlyne.serialization import StoreError
from berlyne.strategies.coordination import Greedy, ValueIteration
from messages import raises
from waiting import LIMIT, Lines

PRIOR = Dirichlet(1.0, n_states=3, n_actions=2)


def written(*lines):
    """A book of these lines, with the checksums that they must have."""
    content, total = b"", 0
    for line in lines:
        text = line.encode() if isinstance(line, str) else json.dumps(line, separators=(",", ":")).encode()
        total = zlib.crc32(text, total)
        content += text + f" {total:08x}\n".encode()
    return content


# --- the file is not what it was --------------------------------------------------------------------------------------


def test_a_book_that_became_shorter_is_refused_and_not_changed(tmp_path):
    """As when a backup is restored while a process has the book open."""
    path = tmp_path / "lab"
    book = LabBook.new(path, PRIOR)
    book.tell(0, 0, 1)
    backup = path.read_bytes()
    book.tell(0, 0, 2)
    book.tell(1, 0, 2)
    path.write_bytes(backup)
    for use in (lambda: book.tell(0, 1, 1), book.undo, lambda: book.ask(0), book.catch_up):
        with raises(StoreError, "lab", "shorter"):
            use()
        assert path.read_bytes() == backup
    reopened = LabBook(path)
    reopened.tell(0, 1, 1)
    assert LabBook(path).explorer.history == [(0, 0, 1), (0, 1, 1)]


def test_a_book_that_was_replaced_is_refused_and_not_changed(tmp_path):
    """The backup was told more by others, so that it is as long, or longer."""
    path = tmp_path / "lab"
    book = LabBook.new(path, PRIOR)
    before = path.read_bytes()
    book.tell(0, 0, 2)
    for n in (1, 4):
        path.write_bytes(before)
        other = LabBook(path)
        for _ in range(n):
            other.tell(1, 1, 1)
        restored = path.read_bytes()
        for use in (lambda: book.tell(0, 1, 1), lambda: book.ask(0)):
            with raises(StoreError, "lab", "changed"):
                use()
        assert path.read_bytes() == restored and LabBook(path).explorer.n_obs == n


def test_a_missing_book_is_reported(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    (tmp_path / "lab").unlink()
    for use in (lambda: book.tell(0, 1, 1), lambda: book.ask(0)):
        with raises(StoreError, "no lab book"):
            use()
    assert not (tmp_path / "lab").exists() and book.explorer.n_obs == 0


# --- the beginning and the end of the file ----------------------------------------------------------------------------


def test_a_book_that_was_cut_off_during_creation_is_created_again(tmp_path):
    path = tmp_path / "lab"
    LabBook.new(path, PRIOR)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with raises(StoreError, "lab", "first line", "cut off"):
            LabBook(path)
        if n % 20 == 0 or n == len(whole) - 1:
            LabBook.new(path, PRIOR).tell(0, 0, 1)
            assert LabBook(path).explorer.n_obs == 1
    for other in (b"x", b"\n", b'{"berlyne":"study"}', whole):
        path.write_bytes(other)
        with raises(StoreError, "already exists"):
            LabBook.new(path, PRIOR)
        assert path.read_bytes() == other
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lab"]


def test_a_book_is_created_completely_or_not_at_all(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("berlyne.serialization._sync", full)
    with raises(OSError, "lab", "no space", "not changed"):
        LabBook.new(tmp_path / "lab", PRIOR)
    assert list(tmp_path.iterdir()) == []
    with raises(StoreError, "away", "lab", "create the directory"):
        LabBook.new(tmp_path / "away" / "lab", PRIOR)


@pytest.mark.parametrize("end", [b"\n", b"\n\n", b"  \n", b"\r\n\n", b"\n {", b" "])
def test_blank_lines_that_an_editor_left_at_the_end_do_no_harm(end, tmp_path):
    path = tmp_path / "lab"
    book = LabBook.new(path, PRIOR)
    book.tell(0, 0, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    assert LabBook(path).explorer.n_obs == 1
    book.tell(0, 1, 2)
    assert path.read_bytes().startswith(whole + b'{"told"')
    assert LabBook(path).explorer.history == [(0, 0, 1), (0, 1, 2)]
    first, rest = whole.split(b"\n", 1)
    path.write_bytes(first + b"\n\n" + rest)
    with raises(StoreError, "line 2", "lab", "damaged"):
        LabBook(path)


def test_the_lines_before_a_damaged_one_can_be_used(tmp_path):
    """As the how-to page says it."""
    path = tmp_path / "lab"
    book = LabBook.new(path, PRIOR)
    for s_next in (0, 1, 2):
        book.tell(0, 0, s_next)
    path.write_bytes(path.read_bytes().replace(b"[0,0,1]", b"[0,1,1]"))
    with raises(StoreError, "line 3"):
        LabBook(path)
    (tmp_path / "kept").write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    assert LabBook(tmp_path / "kept").explorer.history == [(0, 0, 0)]


# --- several processes ------------------------------------------------------------------------------------------------

TELLER = """
import sys
from berlyne import LabBook

book = LabBook(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for i in range(40):
    book.tell(int(sys.argv[2]), i % 2, i % 5)
    if i % 10 == 9:
        book.ask(i % 5)
"""


def test_processes_that_write_to_one_book_take_turns(tmp_path):
    LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=5, n_actions=2))
    command = [sys.executable, "-c", TELLER, str(tmp_path / "lab")]
    pipe = subprocess.PIPE
    n = amount(2, 3)
    tellers = [subprocess.Popen([*command, str(s)], stdin=pipe, stdout=pipe, stderr=pipe, text=True) for s in range(n)]
    for teller in tellers:
        assert Lines(teller.stdout.fileno()).next() == "ready\n", teller.communicate(timeout=LIMIT)[1]
    for teller in tellers:
        teller.stdin.write("go\n")
        teller.stdin.flush()
    for teller in tellers:
        _, errors = teller.communicate(timeout=LIMIT)
        assert (teller.returncode, errors) == (0, "")
    history = LabBook(tmp_path / "lab").explorer.history
    for s in range(n):
        assert [line for line in history if line[0] == s] == [(s, i % 2, i % 5) for i in range(40)]
    assert len(history) == 40 * n


# --- what is given with a book ----------------------------------------------------------------------------------------


class Own:
    n_states, n_actions = 3, 2

    def estimate(self, counts):
        return (counts + 0.5) / (counts + 0.5).sum(axis=-1, keepdims=True)


class Other(Own):
    pass


def test_a_prior_that_is_given_must_be_that_of_the_book(tmp_path):
    path = tmp_path / "lab"
    for ours, others in (
        (PRIOR, [Dirichlet(9.0, n_states=3, n_actions=2), Dirichlet(1.0, n_states=4, n_actions=2), Own()]),
        (OneTwoThree(5, 2), [OneTwoThree(5, 2, p_escape=0.5), Dirichlet(1.0, n_states=5, n_actions=2)]),
        (ChineseRestaurant(1.0, n_actions=2), [ChineseRestaurant(2.0, n_actions=2)]),
        (berlyne.maze(0).prior, [berlyne.maze(1).prior]),
    ):
        path.unlink(missing_ok=True)
        LabBook.new(path, ours)
        assert LabBook(path, ours).explorer.n_obs == 0
        for other in others:
            with raises(StoreError, "lab", "created with", "not with", "prior"):
                LabBook(path, other)
    path.unlink()
    LabBook.new(path, Own())
    assert LabBook(path, Own()).explorer.n_obs == 0
    for other in (Other(), PRIOR):
        with raises(StoreError, "your own prior", "Own"):
            LabBook(path, other)


def test_a_strategy_that_is_given_must_be_that_of_the_book(tmp_path):
    path = tmp_path / "lab"
    LabBook.new(path, PRIOR, "PIG(VI,temperature=1)")
    for same in ("PIG(VI, temperature=1.0)", berlyne.strategy("PIG(VI)", temperature=1)):
        assert LabBook(path, strategy=same).explorer.strategy.name == "PIG(VI, temperature=1.0)"
    for other in ("Random", "PIG(VI)", Strategy("mine", ValueIteration(), "PIG")):
        with raises(StoreError, "PIG(VI, temperature=1.0)", getattr(other, "name", other)):
            LabBook(path, strategy=other)
    hidden = Strategy("PIG(VI, temperature=1.0)", Greedy(), "PIG", temperature=1.0)
    with raises(StoreError, "not with your own strategy"):
        LabBook(path, PRIOR, hidden)
    path.unlink()
    mine = Strategy("mine", lambda view, s, u: 1)
    LabBook.new(path, PRIOR, mine)
    assert LabBook(path, strategy=mine).ask(0) == 1
    for other in ("Random", Strategy("yours", lambda view, s, u: 1)):
        with raises(StoreError, "your own strategy", "mine"):
            LabBook(path, strategy=other)


MYLAB = """
import berlyne
from berlyne.strategies.coordination import ValueIteration

prior = berlyne.Dirichlet(0.5, n_states=4, n_actions=1)
number = 3
name = "LTA"

def count_bonus(theta_hat, theta_hat_after, counts):
    return 1.0

how = berlyne.Strategy("bonus(VI)", ValueIteration(), count_bonus)
"""


def refused(*arguments):
    result = CliRunner().invoke(commands, [str(a) for a in arguments])
    assert result.exit_code == 1 and isinstance(result.exception, ValueError | StoreError), result.output
    return str(result.exception)


def test_modules_are_also_searched_beside_the_book(tmp_path, monkeypatch):
    away, here = tmp_path / "away", tmp_path / "here"
    away.mkdir(), here.mkdir()
    (away / "beside_lab.py").write_text(MYLAB)
    monkeypatch.chdir(here)
    path_before = list(sys.path)
    assert CliRunner().invoke(commands, ["lab", "new", "../away/x.lab", "--prior", "beside_lab:prior"]).exit_code == 0
    book = LabBook.new(away / "y.lab", "beside_lab:prior", "beside_lab:how")
    assert book.explorer.prior.alpha == 0.5 and book.explorer.strategy.name == "bonus(VI)"
    assert LabBook(away / "y.lab", "beside_lab:prior", book.explorer.strategy).explorer.n_obs == 0
    assert LabBook.new(away / "z.lab", PRIOR, "beside_lab:name").explorer.strategy.name == "LTA"
    with raises(StoreError, "Dirichlet(alpha=0.5", "Dirichlet(alpha=1"):
        LabBook(away / "y.lab", PRIOR)
    with raises(StoreError, "bonus(VI)", "Random"):
        LabBook(away / "y.lab", strategy="Random")
    sys.modules.pop("beside_lab")
    with raises(ValueError, "'beside_lab:prior'", "(No module named 'beside_lab')"):
        LabBook.new(here / "y.lab", "beside_lab:prior")
    assert sys.path == path_before


def test_modules_of_the_same_name_beside_two_books_are_separate(tmp_path):
    for i, folder in enumerate((tmp_path / "one", tmp_path / "two")):
        folder.mkdir()
        (folder / "same_name_lab.py").write_text(MYLAB.replace("0.5", f"{i + 1}.5"))
    assert LabBook.new(tmp_path / "one" / "x.lab", "same_name_lab:prior").explorer.prior.alpha == 1.5
    assert LabBook(tmp_path / "one" / "x.lab").explorer.prior.alpha == 1.5
    with raises(ValueError, "two/same_name_lab.py", "one/same_name_lab.py"):
        LabBook.new(tmp_path / "two" / "x.lab", "same_name_lab:prior")


def test_a_strategy_that_is_looked_up_must_be_one(tmp_path, monkeypatch):
    (tmp_path / "my_strategies.py").write_text(MYLAB)
    monkeypatch.chdir(tmp_path)
    for name, shown in (("count_bonus", "<function count_bonus at "), ("number", "3")):
        with raises(ValueError, f"'my_strategies:{name}'", shown, "Strategy"):
            LabBook.new("x", PRIOR, f"my_strategies:{name}")
    assert refused("lab", "new", "x", "--states", 2, "--actions", 2, "--strategy", "my_strategies:number") == (
        "'my_strategies:number' is 3; it must be a Strategy, or the name of one"
    )
    with raises(ValueError, "strategy", "3", "Strategy"):
        LabBook.new("x", PRIOR, 3)
    assert [p.name for p in tmp_path.iterdir() if p.name[0] == "x"] == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1\ny = 1 / 0\n", ("ZeroDivisionError", ".py, line 2")),
        ("import nope_mod\nx = 1\n", ("ModuleNotFoundError", "'nope_mod'", ".py, line 1")),
        ("x = = 1\n", ("SyntaxError", ".py, line 1")),
        ("import sys\nsys.exit(3)\n", ("SystemExit", "3", ".py, line 2")),
        ("import berlyne\nx = berlyne.Dirichlet(-1)\n", ("ValueError", "alpha", "-1", ".py, line 2")),
        ("def f():\n    raise RuntimeError\n\nx = f()\n", ("RuntimeError", ".py, line 4")),
    ],
)  # fmt: skip
def test_an_error_in_a_custom_module_gives_one_sentence(content, message, tmp_path, monkeypatch):
    name = f"broken_{zlib.crc32(content.encode())}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.chdir(tmp_path)
    with raises(ValueError, f"'{name}:x'", *message):
        LabBook.new("lab", f"{name}:x")
    refused("lab", "new", "lab", "--prior", f"{name}:x", "--states", 2, "--actions", 2)
    assert not (tmp_path / "lab").exists()


def test_errors_of_a_book_name_its_own_methods(tmp_path):
    free = LabBook.new(tmp_path / "free", PRIOR, "Unembodied")
    with raises(ValueError, "Unembodied", "ask_pair()"):
        free.ask(0)
    bound = LabBook.new(tmp_path / "bound", PRIOR)
    with raises(ValueError, "PIG(VI)", "ask(s)"):
        bound.ask_pair()


# --- right checksums, wrong contents ----------------------------------------------------------------------------------

HEADER = {
    "berlyne": "lab book",
    "format": 2,
    "prior": {"kind": "Dirichlet", "parameters": {"alpha": 1.0}, "arrays": {}, "n_states": 3, "n_actions": 2},
    "strategy": "PIG(VI)",
    "seed": 0,
    "states": None,
    "actions": None,
}
TOLD = {"told": [0, 0, 1]}


@pytest.mark.parametrize(
    "line",
    ["[1]", "3", '"told"', "null", "{}", {"told": 3}, {"told": [0, 0]}, {"told": [0, 0, 1, 1]}, {"told": "abc"},
     {**TOLD, "ended": "x"}, {**TOLD, "ended": 1}, {**TOLD, "ended": None}, {"undo": 2}, {"undo": "1"}, {"undo": 3}],
    ids=str,
)  # fmt: skip
def test_a_line_of_an_unknown_kind_is_reported_by_number(line, tmp_path):
    path = tmp_path / "lab"
    path.write_bytes(written(HEADER, TOLD))
    book = LabBook(path)
    path.write_bytes(written(HEADER, TOLD, line))
    for _ in range(2):  # it is refused again, not passed by
        for use in (lambda: LabBook(path), book.catch_up, lambda: book.tell(0, 0, 0)):
            with raises(StoreError, "line 3", "lab", "not a valid line"):
                use()
    assert path.read_bytes() == written(HEADER, TOLD, line) and book.explorer.n_obs == 1


@pytest.mark.parametrize("line", [{"told": [0, 0, 9]}, {"told": [[0], 0, 1]}, {"told": [{"x": 1}, 0, 1]}], ids=str)
def test_a_line_that_does_not_fit_is_reported_by_number(line, tmp_path):
    path = tmp_path / "lab"
    path.write_bytes(written(HEADER, TOLD))
    book = LabBook(path)
    path.write_bytes(written(HEADER, TOLD, line))
    for use in (lambda: LabBook(path), book.catch_up, lambda: book.tell(0, 0, 0)):
        with raises(StoreError, "line 3", "lab", "does not match"):
            use()


def test_nothing_is_undone_in_an_empty_book(tmp_path):
    path = tmp_path / "lab"
    path.write_bytes(written(HEADER))
    book = LabBook(path)
    path.write_bytes(written(HEADER, {"undo": 1}))
    for use in (lambda: LabBook(path), book.catch_up):
        with raises(StoreError, "line 2", "lab", "not a valid line"):
            use()


def with_prior(**changes):
    return {"prior": {**HEADER["prior"], **changes}}


@pytest.mark.parametrize(
    "changes",
    [{"prior": None}, {"prior": 3}, {"prior": []}, {"prior": "x"}, {"prior": {}}, with_prior(kind="Foo"),
     with_prior(kind=[1]), with_prior(parameters={"alpha": "x"}), with_prior(parameters={"beta": 1}),
     with_prior(parameters=3), with_prior(arrays=3), with_prior(n_states="x"), with_prior(n_states=-1), {"states": 3},
     {"states": [{"x": 1}, 1, 2]}, {"actions": [[1], 2]}, {"strategy": None}, {"strategy": 3}, {"strategy": {}}],
    ids=str,
)  # fmt: skip
def test_a_first_line_of_other_contents_is_one_sentence(changes, tmp_path):
    (tmp_path / "lab").write_bytes(written({**HEADER, **changes}))
    with raises(StoreError, "line 1", "lab", "header"):
        LabBook(tmp_path / "lab")


@pytest.mark.parametrize(
    "changes",
    [{"seed": "x"}, {"seed": -1}, {"strategy": "PIG(FOO)"}, {"states": ["a"]}, {"n_states": 7}, {"n_states": "x"}],
    ids=str,
)
def test_a_first_line_that_makes_no_explorer_is_one_sentence(changes, tmp_path):
    (tmp_path / "lab").write_bytes(written({**HEADER, **changes}))
    with raises(ValueError):
        LabBook(tmp_path / "lab")


@pytest.mark.parametrize("name", ["prior", "strategy", "seed", "states", "actions"])
def test_a_first_line_that_lacks_something_is_one_sentence(name, tmp_path):
    (tmp_path / "lab").write_bytes(written({key: value for key, value in HEADER.items() if key != name}))
    with raises(StoreError, "line 1", "lab", "header", f"'{name}'"):
        LabBook(tmp_path / "lab")
    assert np.array_equal(LabBook.new(tmp_path / "other", PRIOR).explorer.utility(), berlyne.Explorer(PRIOR).utility())
    assert (tmp_path / "other").read_bytes() == written(HEADER)  # which is what these tests change


def test_a_line_that_the_system_writes_in_pieces_is_complete(tmp_path, monkeypatch):
    """A raw file may take a part of what it is given; on a nearly full disk it does."""

    class InPieces(io.FileIO):
        def write(self, content):
            return super().write(bytes(content)[:7])

    monkeypatch.setattr("berlyne.exploration.logbook.now", lambda: "2026-01-01T00:00:00+00:00")
    at_once, in_pieces = (LabBook.new(tmp_path / name, PRIOR) for name in ("at once", "in pieces"))
    at_once.tell(0, 0, 1)
    monkeypatch.setattr(
        "berlyne.exploration.log_file.open", lambda path, mode, **_: InPieces(path, mode), raising=False
    )
    in_pieces.tell(0, 0, 1)
    assert in_pieces.path.read_bytes() == at_once.path.read_bytes()
