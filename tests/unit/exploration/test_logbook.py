"""The lab book: contents, invalid input, and several writers."""

from __future__ import annotations

import os

import numpy as np
import pytest
from click.testing import CliRunner

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, LabBook, Strategy, explore
from berlyne.cli import commands
from berlyne.serialization import StoreError, exclusive_lock
from messages import raises


def lines(run):
    return np.stack([run.states[:-1], run.actions, run.next_states], axis=1).tolist()


@pytest.mark.parametrize("make", [berlyne.maze, berlyne.dense_world, berlyne.one_two_three_world])
@pytest.mark.parametrize("strategy", ["PIG(VI)", "PEIG(Q)", "Random"])
def test_a_book_opened_anew_for_every_line_is_one_exploration(make, strategy, tmp_path):
    """As if the computer crashed after every line: the book repeats the run of `explore` with the same seed."""
    world = make(1)
    run = explore(world, strategy, n_steps=25, seed=6)
    LabBook.new(tmp_path / "lab", world.prior, strategy, seed=6)
    for s, a, s_next in lines(run):
        assert LabBook(tmp_path / "lab").ask(s) == a
        LabBook(tmp_path / "lab").tell(s, a, s_next)
    book = LabBook(tmp_path / "lab")
    assert np.array_equal(book.explorer.history, lines(run)) and repr(book.explorer) in repr(book)


def test_undone_lines_stay_in_the_log_without_effect(tmp_path):
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    book = LabBook.new(tmp_path / "lab", prior, "Random", seed=2)
    asked = []
    for s_next in (1, 2, 0):
        asked.append(book.ask(0))
        book.tell(0, 1, s_next)
    assert book.undo() == (0, 1, 0) and book.undo() == (0, 1, 2)
    reopened = LabBook(tmp_path / "lab")
    assert reopened.ask(0) == book.ask(0) == asked[1]
    assert reopened.explorer.history == [(0, 1, 1)]
    assert len((tmp_path / "lab").read_text().splitlines()) == 6
    reopened.undo()
    with raises(ValueError, "lab", "undo"):
        reopened.undo()


def test_several_may_use_a_book(tmp_path, monkeypatch):
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    one = LabBook.new(tmp_path / "lab", prior)
    other = LabBook(tmp_path / "lab")
    one.tell(0, 1, 2)
    other.tell(2, 0, 1)
    one.undo()
    other.tell(2, 1, 0)
    assert one.ask(1) == other.ask(1)
    assert one.explorer.history == other.explorer.history == [(0, 1, 2), (2, 1, 0)]
    monkeypatch.setattr("berlyne.exploration.log_file.LOCK_TIMEOUT", 0.1)
    with (
        exclusive_lock(tmp_path / "lab"),
        raises(StoreError, "lab", "0.1 seconds", f"process {os.getpid()}", "nothing was written"),
    ):
        one.tell(0, 0, 0)
    assert one.explorer.n_obs == 2


def test_labels_and_terminal_states_are_stored(tmp_path):
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    states, actions = [("room", 1), "hall", None], ["go", 7]
    book = LabBook.new(tmp_path / "lab", prior, states=states, actions=actions)
    book.tell(("room", 1), 7, None, ended=True)
    book.tell("hall", "go", ("room", 1))
    reopened = LabBook(tmp_path / "lab")
    assert reopened.explorer.history == [(("room", 1), 7, None), ("hall", "go", ("room", 1))]
    assert not reopened.explorer.utility()[:, 2].any() and np.array_equal(
        reopened.explorer.utility(), book.explorer.utility()
    )
    assert reopened.ask("hall", among=["go"]) == "go"


class Own:
    """A prior that only its owner can bring back."""

    n_states, n_actions = 3, 2

    def estimate(self, counts):
        return (counts + 0.5) / (counts + 0.5).sum(axis=-1, keepdims=True)


def test_custom_components_are_passed_again_or_imported(tmp_path, monkeypatch):
    mine = Strategy("mine", lambda view, s, u: 1)
    book = LabBook.new(tmp_path / "lab", Own(), mine)
    book.tell(0, book.ask(0), 2)
    with raises(StoreError, "your own prior", "Own", "LabBook(path, prior)"):
        LabBook(tmp_path / "lab")
    with raises(StoreError, "your own strategy", "mine", "LabBook(path, strategy="):
        LabBook(tmp_path / "lab", Own())
    assert LabBook(tmp_path / "lab", Own(), mine).explorer.n_obs == 1
    (tmp_path / "mylab.py").write_text("import berlyne\nprior = berlyne.Dirichlet(0.5, n_states=4, n_actions=1)\n")
    monkeypatch.chdir(tmp_path)
    LabBook.new("looked-up", "mylab:prior").tell(3, 0, 1)
    assert LabBook("looked-up").explorer.prior.alpha == 0.5
    for wrong, why in (("mylab:nothing", "found"), ("mylab", "name of an object")):
        with raises(ValueError, repr(wrong), why):
            LabBook.new("other", wrong)
    assert not (tmp_path / "other").exists()


def test_refused_observations_are_not_written(tmp_path):
    world = berlyne.maze(0)
    book = LabBook.new(tmp_path / "lab", world.prior)
    before = (tmp_path / "lab").read_bytes()
    far = next(s for s in range(36) if s not in world.prior.support.row(0, 0))
    impossible = "action 0", "state 0", f"state {far}", "prior"
    for wrong, named in (((0, 0, far), impossible), ((0, 9, 0), ("a", "9"))):
        with raises(ValueError, *named):
            book.tell(*wrong)
    assert (tmp_path / "lab").read_bytes() == before and book.explorer.n_obs == 0
    with raises(StoreError, "already exists"):
        LabBook.new(tmp_path / "lab", world.prior)
    with raises(StoreError, "no lab book"):
        LabBook(tmp_path / "none")


def test_an_end_is_true_or_false(tmp_path):
    book = LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=3, n_actions=2))
    before = (tmp_path / "lab").read_bytes()
    for wrong in (1.0, None, "no"):
        with raises(ValueError, "ended", "True", "False"):
            book.tell(0, 1, 2, ended=wrong)
    assert (tmp_path / "lab").read_bytes() == before and book.explorer.n_obs == 0
    book.tell(0, 1, 2, ended=np.True_)
    book.tell(0, 1, 1, ended=np.False_)
    reopened = LabBook(tmp_path / "lab").explorer
    assert reopened.history == book.explorer.history == [(0, 1, 2), (0, 1, 1)]
    assert not reopened.utility()[:, 2].any() and reopened.utility()[:, 1].any()


def test_a_disk_that_is_full_leaves_book_and_explorer_as_they_were(tmp_path, monkeypatch):
    book = LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=3, n_actions=2))
    book.tell(0, 0, 1)
    before = (tmp_path / "lab").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("berlyne.exploration.log_file._sync", full)
    with raises(OSError, "lab", "no space", "not added"):
        book.tell(0, 0, 2)
    monkeypatch.undo()
    assert (tmp_path / "lab").read_bytes() == before and book.explorer.n_obs == 1
    book.tell(0, 0, 2)
    assert LabBook(tmp_path / "lab").explorer.n_obs == 2


def test_an_incomplete_line_is_dropped_and_overwritten(tmp_path):
    path = tmp_path / "lab"
    book = LabBook.new(path, Dirichlet(1.0, n_states=3, n_actions=2))
    book.tell(0, 0, 1)
    whole = path.read_bytes()
    book.tell(0, 1, 2)
    longer = path.read_bytes()
    for n in range(len(whole), len(longer)):
        path.write_bytes(longer[:n])
        assert LabBook(path).explorer.n_obs == 1
    LabBook(path).tell(0, 1, 1)
    assert LabBook(path).explorer.history == [(0, 0, 1), (0, 1, 1)]


def test_damage_is_refused_by_its_line(tmp_path):
    path = tmp_path / "lab"
    book = LabBook.new(path, Dirichlet(1.0, n_states=3, n_actions=2))
    for s_next in (0, 1, 2):
        book.tell(0, 0, s_next)
    whole = path.read_bytes()
    rows = whole.splitlines(keepends=True)
    for changed, line in (
        (b"".join([rows[0], rows[2], rows[1], rows[3]]), 2),
        (b"".join([rows[0], rows[1], rows[3]]), 3),
        (whole.replace(b"[0,0,2]", b"[0,1,2]"), 4),
        (whole.replace(b'"seed":0', b'"seed":1'), 1),
    ):
        path.write_bytes(changed)
        with raises(StoreError, f"line {line}", "lab", "damaged"):
            LabBook(path)
    rng = np.random.default_rng(0)
    for _ in range(200):
        place = int(rng.integers(len(whole)))
        path.write_bytes(whole[:place] + bytes([int(rng.integers(256))]) + whole[place + 1 :])
        try:
            assert LabBook(path).explorer.n_obs in (2, 3)  # the last line may look cut off, or nothing changed
        except StoreError:
            continue
    path.write_bytes(b"")
    with raises(StoreError, "first line", "cut off"):
        LabBook(path)


def run(*arguments):
    result = CliRunner().invoke(commands, [str(a) for a in arguments])
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_the_command_line_asks_and_tells(tmp_path):
    path = tmp_path / "rats.lab"
    assert "3 states, 2 actions" in run("lab", "new", path, "--states", "a,b,c", "--actions", "l,r", "--seed", 4)
    twin = Explorer(Dirichlet("ml", n_states=3, n_actions=2), seed=4, states=list("abc"), actions=list("lr"))
    for s, s_next in (("a", "b"), ("b", "b"), ("b", "c")):
        answer = run("lab", "ask", path, s)
        assert answer == twin.act(s)
        assert run("lab", "ask", path, s, "--among", "r") == "r"
        assert run("lab", "tell", path, s, answer, s_next).endswith(f"{s} {answer} {s_next}")
        twin.observe(s, answer, s_next)
    assert LabBook(path).explorer.history == twin.history
    output = run("lab", "status", path)
    assert "3 observations" in output and f"{twin.expected_missing_information().bits:.2f} bits expected" in output
    assert run("lab", "undo", path) == f"Removed b {twin.history[-1][1]} c; 2 left"
    assert (
        run("lab", "new", tmp_path / "n", "--states", 3, "--actions", 2)
        and run("lab", "ask", tmp_path / "n", 0) in "01"
    )
    free = tmp_path / "free"
    run("lab", "new", free, "--states", "a,b", "--actions", "l,r", "--strategy", "Unembodied")
    assert run("lab", "ask", free) in ("a l", "a r", "b l", "b r")


@pytest.mark.parametrize("begun", [("--states", "3"), ("--discover",)])
def test_status_answers_after_an_episode(begun, tmp_path):
    path = tmp_path / "s.lab"
    run("lab", "new", path, *begun, "--actions", "2")
    run("lab", "tell", path, 0, 1, 2, "--ended")
    output = run("lab", "status", path)
    assert "bits expected, " in output and "expected to be learned" not in output
    assert "not available between episodes" in output and output.endswith("0 1 2 ended")
    explorer = LabBook(path).explorer
    assert explorer.episode_is_over and not Explorer(Dirichlet(1.0, n_states=3, n_actions=2)).episode_is_over
    run("lab", "tell", path, 0, 1, 1)
    assert "expected to be learned" in run("lab", "status", path)


def test_status_of_a_strategy_that_may_go_anywhere_looks_ahead_after_an_episode(tmp_path):
    run("lab", "new", tmp_path / "u.lab", "--states", 3, "--actions", 2, "--strategy", "Unembodied")
    run("lab", "tell", tmp_path / "u.lab", 0, 1, 2, "--ended")
    assert "expected to be learned" in run("lab", "status", tmp_path / "u.lab")
    assert not LabBook(tmp_path / "u.lab").explorer.episode_is_over


@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=3, n_actions=2), ChineseRestaurant(1.0, n_actions=2)])
def test_scalars_of_numpy_are_the_values_that_they_stand_for(prior, tmp_path):
    book = LabBook.new(tmp_path / "lab", prior)
    book.tell(np.int64(1), np.int32(0), np.int64(2))
    reopened = LabBook(tmp_path / "lab")
    assert list(map(tuple, reopened.explorer.history)) == list(map(tuple, book.explorer.history)) == [(1, 0, 2)]
    assert reopened.ask(np.int64(1)) == book.ask(1)


def test_labels_may_be_scalars_of_numpy(tmp_path):
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    book = LabBook.new(tmp_path / "lab", prior, states=np.arange(1, 4), actions=np.array(["l", "r"]))
    book.tell(np.int64(3), np.str_("r"), 1)
    assert LabBook(tmp_path / "lab").explorer.history == [(3, "r", 1)]
    places = [(np.int64(0), np.float64(0.5)), (np.str_("a"), np.True_), (1, (np.int8(2), 3))]
    other = LabBook.new(tmp_path / "other", prior, states=places)
    other.tell(places[0], 0, places[2])
    explorer = LabBook(tmp_path / "other").explorer
    assert repr(explorer.states) == repr(other.explorer.states) == "((0, 0.5), ('a', True), (1, (2, 3)))"
    assert repr(explorer.history) == "[((0, 0.5), 0, (1, (2, 3)))]"
    for wrong in ("abc", 3):
        with raises(ValueError, "states", "list"):
            LabBook.new(tmp_path / "third", prior, states=wrong)
    with raises(ValueError, "label", "datetime.date(2020, 1, 1)", "saved"):
        LabBook.new(tmp_path / "third", prior, states=np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[D]"))
    assert not (tmp_path / "third").exists()


def test_a_scalar_of_numpy_is_one_discovered_state():
    day = np.datetime64("2020-01-01")
    explorer = Explorer(ChineseRestaurant(1.0, n_actions=1))
    explorer.observe(day, 0, (np.int64(1), np.str_("a")))
    explorer.observe(day, 0, (1, "a"))
    assert explorer.n_states == 2 and repr(explorer.states[1]) == "(1, 'a')"


STICKY = """
import berlyne
import numpy as np

class Sticky:
    def estimate(self, counts):
        pseudo_counts = counts + 1.0 + 3.0 * np.eye(counts.shape[-1])
        return pseudo_counts / pseudo_counts.sum(axis=-1, keepdims=True)

prior = Sticky()
restaurant = berlyne.ChineseRestaurant(1.0)
"""


def refused(*arguments):
    result = CliRunner().invoke(commands, [str(a) for a in arguments])
    assert result.exit_code == 1, result.output
    return str(result.exception)


def test_sizes_are_passed_for_a_prior_without_sizes(tmp_path, monkeypatch):
    (tmp_path / "sticky_lab.py").write_text(STICKY)
    monkeypatch.chdir(tmp_path)
    assert "3 states, 2 actions" in run("lab", "new", "x", "--prior", "sticky_lab:prior", "--states", 3, "--actions", 2)
    run("lab", "tell", "x", 0, 1, 2)
    assert run("lab", "ask", "x", 2) in "01" and "1 observations" in run("lab", "status", "x")
    run("lab", "new", "y", "--prior", "sticky_lab:prior", "--states", "a,b,c", "--actions", 2)
    run("lab", "tell", "y", "a", 1, "c")
    assert (LabBook("y").explorer.n_states, LabBook("y").explorer.n_actions) == (3, 2)
    run("lab", "new", "g", "--prior", "sticky_lab:restaurant", "--states", "a,b", "--actions", "2")
    assert LabBook("g").explorer.states == ["a", "b"]
    assert refused("lab", "new", "z", "--prior", "sticky_lab:prior", "--actions", 2) == (
        "sticky_lab:prior does not define the number of states; set it with --states"
    )
    assert refused("lab", "new", "z", "--prior", "sticky_lab:prior", "--states", 3).endswith("set it with --actions")
    assert refused("lab", "new", "z", "--prior", "sticky_lab:prior", "--states", 3, "--actions", 2, "--alpha", 1) == (
        "--alpha sets the built-in prior and cannot be combined with --prior; leave one of them out"
    )
    assert not (tmp_path / "z").exists()


def test_sizes_are_stored_in_the_book(tmp_path):
    book = LabBook.new(tmp_path / "lab", Own(), n_states=np.int64(3))
    book.tell(0, 1, 2)
    assert LabBook(tmp_path / "lab", Own()).explorer.n_states == 3
    for wrong, named in ((4, ("n_states", "4", "n_states=3")), (0, ("n_states", "0"))):
        with raises(ValueError, *named):
            LabBook.new(tmp_path / "other", Own(), n_states=wrong)
    LabBook.new(tmp_path / "grows", ChineseRestaurant(1.0), n_actions=2).tell("here", 1, "there")
    assert LabBook(tmp_path / "grows").explorer.n_actions == 2
    with raises(ValueError, "discovers its states"):
        LabBook.new(tmp_path / "other", ChineseRestaurant(1.0), n_states=3, n_actions=2)
    LabBook.new(tmp_path / "plain", Dirichlet(1.0, n_states=3, n_actions=2))
    assert (tmp_path / "plain").read_bytes().count(b"n_states") == 1  # as books were before sizes could be given
    assert not (tmp_path / "other").exists()


def test_errors_of_the_command_line_name_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("lab", "new", "rats.lab", "--states", "a,b", "--actions", "l,r")
    run("lab", "new", "u.lab", "--states", "a,b", "--actions", "l,r", "--strategy", "Unembodied")
    assert refused("lab", "ask", "rats.lab") == (
        "PIG(VI) acts in the current state; give the state: berlyne lab ask rats.lab STATE"
    )
    assert refused("lab", "ask", "u.lab", "a") == (
        "Unembodied chooses the state as well as the action; leave the state out: berlyne lab ask u.lab"
    )
    assert refused("lab", "ask", "u.lab", "--among", "l") == (
        "--among is l, but Unembodied chooses among all pairs of a state and an action; leave --among out"
    )


def test_a_file_that_is_not_a_lab_book_is_reported(tmp_path):
    for content in (b"import berlyne\n\nprint(1)\n", b"\xff\xfe\n", b'{"berlyne": "study"}\n', b"x" * 50):
        (tmp_path / "some.py").write_bytes(content)
        with raises(StoreError, "some.py", "not a lab book"):
            LabBook(tmp_path / "some.py")


def test_status_shows_no_interval_that_the_prior_does_not_give(tmp_path, monkeypatch):
    more = "class More(Sticky):\n    def expected_missing_information(self, counts):\n"
    more += "        return np.full(counts.shape[:2], 2.0)\n\nmore = More()\n"
    (tmp_path / "more_lab.py").write_text(STICKY + more)
    monkeypatch.chdir(tmp_path)
    run("lab", "new", "x", "--prior", "more_lab:more", "--states", 3, "--actions", 2)
    output = run("lab", "status", "x")
    assert "12.00 bits expected" in output and "nan" not in output


def test_typed_integers_equal_integers_from_python(tmp_path):
    """With unknown states, if all known states are integers."""
    path = tmp_path / "d.lab"
    LabBook.new(path, ChineseRestaurant(1.0), actions=["l", "r"]).tell(1, "l", 2)
    run("lab", "tell", path, 2, "r", 3)
    run("lab", "tell", path, 3, "r", -1)
    book = LabBook(path)
    assert book.explorer.states == [1, 2, 3, -1]
    book.tell(-1, "l", 3)
    assert LabBook(path).explorer.n_states == 4
    run("lab", "tell", path, 3, "l", "hall")
    run("lab", "tell", path, "hall", "l", 4)
    assert LabBook(path).explorer.states == [1, 2, 3, -1, "hall", "4"]


def test_typed_values_match_integers_and_other_labels(tmp_path):
    run("lab", "new", tmp_path / "d.lab", "--discover", "--actions", "l,r")
    run("lab", "tell", tmp_path / "d.lab", 0, "l", 1)
    LabBook(tmp_path / "d.lab").tell(1, "r", 0)
    assert LabBook(tmp_path / "d.lab").explorer.states == [0, 1]
    prior = Dirichlet(1.0, n_states=3, n_actions=2)
    LabBook.new(tmp_path / "named.lab", prior, states=["1", None, 2.5], actions=["0", "1"])
    run("lab", "tell", tmp_path / "named.lab", 1, 0, "None")
    run("lab", "tell", tmp_path / "named.lab", "None", 1, "2.5")
    assert LabBook(tmp_path / "named.lab").explorer.history == [("1", "0", None), (None, "1", 2.5)]


def test_a_state_may_be_called_minus_one(tmp_path):
    path = tmp_path / "neg.lab"
    LabBook.new(path, Dirichlet(1.0, n_states=3, n_actions=2), states=[-1, 0, 1], actions=["-x", "go"])
    assert run("lab", "ask", path, -1, "--among", "go") == run("lab", "ask", "--among", "go", path, -1) == "go"
    assert run("lab", "ask", path, "--among=-x", "--", "-1") == "-x"
    run("lab", "tell", path, -1, "-x", -1)
    run("lab", "tell", path, "--ended", -1, "go", 1)
    explorer = LabBook(path).explorer
    assert explorer.history == [(-1, "-x", -1), (-1, "go", 1)] and explorer.episode_is_over
    for wrong in (("ask", path, "--amongst"), ("tell", path, 0, "go", "--end"), ("tell", path, 0, "go", 1, "--end")):
        result = CliRunner().invoke(commands, ["lab", *map(str, wrong)])
        assert result.exit_code == 2 and wrong[-1] in result.output
    assert LabBook(path).explorer.n_obs == 2
    assert "Usage" in run("lab", "ask", "--help")
