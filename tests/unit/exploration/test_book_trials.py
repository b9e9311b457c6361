"""Everything that a lab book records about trials, and that nothing can be learned without its log."""

from __future__ import annotations

import datetime
import os
import pickle

import numpy as np
import pandas
import pytest

import berlyne
from berlyne import ChineseRestaurant, Dirichlet, Explorer, LabBook
from berlyne.serialization import StoreError
from messages import raises
from unit.exploration.test_log_file import HEADER, written

PRIOR = Dirichlet(1.0, n_states=3, n_actions=2)
ROOMS = {"states": ["hall", "den", "nest"], "actions": ["go", "stay"]}
OPEN = ChineseRestaurant(1.0, n_actions=2)


def same(one, other):
    """Whether two explorers know the same and choose the same."""
    assert [(*t, t.ended, t.timed_out) for t in one.history] == [(*t, t.ended, t.timed_out) for t in other.history]
    assert list(one.states) == list(other.states) and np.array_equal(one.utility(), other.utility())
    assert np.array_equal(one.allowed, other.allowed) and one.episode_is_over == other.episode_is_over
    for s in one.states:
        assert one.act(s) == other.act(s)


@pytest.mark.parametrize(
    ("method", "arguments", "instead"),
    [
        ("observe", (0, 1, 2), "tell"),
        ("observe_many", ([(0, 1, 2)],), "tell_many"),
        ("undo", (), "undo"),
        ("ends_in", ([2],), "ends_in"),
        ("discover", ([7],), "discover"),
        ("allow", (0, [1]), "allow"),
    ],
)
def test_the_explorer_of_a_book_is_read_only(method, arguments, instead, tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    book.tell(0, 0, 1)
    before = (tmp_path / "lab").read_bytes()
    with raises(AttributeError, "read-only", method, instead):
        getattr(book.explorer, method)(*arguments)
    with raises(AttributeError, "n_obs", "cannot be changed"):
        book.explorer.n_obs = 7
    same(book.explorer, LabBook(tmp_path / "lab").explorer)
    assert (tmp_path / "lab").read_bytes() == before


def test_the_view_answers_every_query_and_follows_the_book(tmp_path):
    book, twin = LabBook.new(tmp_path / "lab", PRIOR, seed=3), Explorer(PRIOR, seed=3)
    view = book.explorer
    for line in ((0, 1, 2), (2, 0, 1), (1, 1, 1)):
        book.tell(*line)
        twin.observe(*line)
    book.undo()
    twin.undo()
    same(view, twin)
    assert isinstance(view, Explorer) and view.n_obs == 2 and view.here == 1
    assert view.expected_gain(3, n_samples=4) == twin.expected_gain(3, n_samples=4)
    assert view.knows_enough(100) and view.model.n_obs == 2 and "<" in view._repr_html_()
    view.save(tmp_path / "e.npz")
    same(Explorer.load(tmp_path / "e.npz"), twin)


@pytest.mark.parametrize("prior", [PRIOR, OPEN])
def test_declarations_are_in_the_log(prior, tmp_path):
    book = LabBook.new(tmp_path / "lab", prior, seed=2)
    twin = Explorer(prior, seed=2)
    if prior is OPEN:
        book.discover([0, 1, 2])
        twin.discover([0, 1, 2])
    for explorer, learn in ((book, book.tell), (twin, twin.observe)):
        learn(0, 1, 1)
        explorer.ends_in([2])
        explorer.allow(1, [0])
        learn(1, 0, 0, timed_out=True)
    same(book.explorer, twin)
    same(LabBook(tmp_path / "lab").explorer, twin)
    book.undo(2)
    twin.undo(2)
    same(book.explorer, twin)
    same(LabBook(tmp_path / "lab").explorer, twin)


def test_a_refused_declaration_is_not_recorded(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    book.tell(0, 1, 2)
    before = (tmp_path / "lab").read_bytes()
    for wrong, names in (
        (lambda: book.ends_in([7]), ("terminal state", "7")),
        (lambda: book.ends_in("ab"), ("states", "list")),
        (lambda: book.discover([0]), ("fixed number of states",)),
        (lambda: book.allow(0, [0]), ("action 1", "state 0")),
        (lambda: book.allow(0, []), ("no action", "state 0")),
    ):
        with raises(ValueError, *names):
            wrong()
    assert (tmp_path / "lab").read_bytes() == before
    same(book.explorer, LabBook(tmp_path / "lab").explorer)


def test_a_declaration_that_the_disk_refuses_is_taken_back(tmp_path, monkeypatch):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    book.tell(0, 1, 2)
    view = book.explorer

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("berlyne.exploration.log_file._sync", full)
    for use in (lambda: book.ends_in([2]), lambda: book.tell_many([(0, 1, 1), (1, 0, 2)]), lambda: book.tell(0, 0, 0)):
        with raises(OSError, "lab", "no space"):
            use()
    for use in (lambda: book.ask_many(2, 0), book.undo):
        with raises(OSError, "lab", "no space"):
            use()
    monkeypatch.undo()
    for explorer in (view, book.explorer):
        same(explorer, LabBook(tmp_path / "lab").explorer)
    assert book.trials == [(0, 1, 2)] and book.pending == []
    book.ends_in([2])
    assert not view.utility()[:, 2].any()


def test_trials_have_times_notes_and_ends(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, **ROOMS)
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    book.tell("hall", "go", "den", note="a door banged")
    book.tell("den", "go", "nest", ended=True)
    book.tell("hall", "stay", "hall", timed_out=True)
    book.tell("hall", "stay", lost=True, note="the camera was off")
    after = datetime.datetime.now(datetime.UTC)
    for opened in (book, LabBook(tmp_path / "lab")):
        first, ended, cut, lost = opened.trials
        assert opened.history == [first, ended, cut] == opened.explorer.history
        assert [(t.ended, t.timed_out, t.lost) for t in opened.trials] == [
            (False, False, False), (True, False, False), (False, True, False), (False, False, True),
        ]  # fmt: skip
        assert first.note == "a door banged" and ended.note is None and lost == ("hall", "stay", None)
        assert all(before <= datetime.datetime.fromisoformat(t.time) <= after for t in opened.trials)
        assert repr(lost) == "('hall', 'stay', None, lost=True)"
        again = pickle.loads(pickle.dumps(lost))
        assert again == lost and vars(again) == vars(lost)
    assert book.explorer.n_obs == 3 and book.explorer.episode_is_over


def test_a_lost_trial_teaches_nothing_and_must_be_possible(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, **ROOMS, possible={"den": ["go"]})
    before = book.explorer.utility()
    book.tell("hall", "go", lost=True)
    assert np.array_equal(book.explorer.utility(), before) and book.explorer.n_obs == 0
    for wrong, names in (
        (lambda: book.tell("hall", "fly", lost=True), ("'fly'",)),
        (lambda: book.tell("attic", "go", lost=True), ("'attic'",)),
        (lambda: book.tell("den", "stay", lost=True), ("'stay'", "'den'")),
        (lambda: book.tell("hall", "go", "den", lost=True), ("s_next", "'den'", "lost")),
        (lambda: book.tell("hall", "go"), ("s_next", "missing", "lost=True")),
        (lambda: book.tell("hall", "go", "den", note=3), ("note", "3", "text")),
        (lambda: book.tell("hall", "go", "den", ended=True, timed_out=True), ("ended", "timed_out")),
    ):
        with raises(ValueError, *names):
            wrong()
    assert LabBook(tmp_path / "lab").trials == [("hall", "go", None)]


def test_undo_takes_back_lost_trials_and_lines_of_many(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    book.tell_many([(0, 1, 1), (1, 1, 2), (2, 0, 0)])
    book.tell(0, 0, lost=True)
    book.tell(0, 0, 2)
    assert book.undo() == (0, 0, 2)
    assert book.undo(2) == [(2, 0, 0), (0, 0, None)]
    for opened in (book, LabBook(tmp_path / "lab")):
        assert opened.trials == opened.explorer.history == [(0, 1, 1), (1, 1, 2)]
    with raises(ValueError, "n", 3, 2):
        book.undo(3)


@pytest.mark.parametrize("prior", [PRIOR, OPEN])
@pytest.mark.parametrize("form", ["lines", "frame", "explorer"])
def test_tell_many_is_one_line_that_teaches_what_single_lines_teach(prior, form, tmp_path):
    single, many = LabBook.new(tmp_path / "single", prior, seed=4), LabBook.new(tmp_path / "many", prior, seed=4)
    told = [(0, 1, 2, False), (2, 0, 1, True), (0, 0, 0, False)]
    explorer = Explorer(prior)
    for *line, ended in told:
        single.tell(*line, ended=ended)
        explorer.observe(*line, ended=ended)
    frame = pandas.DataFrame(told, columns=["s", "a", "s_next", "ended"])
    many.tell_many({"lines": told, "frame": frame, "explorer": explorer.history}[form], note="pilot")
    assert len((tmp_path / "many").read_bytes().splitlines()) == 2
    for opened in (many, LabBook(tmp_path / "many")):
        same(opened.explorer, single.explorer)
        assert {trial.note for trial in opened.trials} == {"pilot"}


def test_tell_many_records_all_or_nothing(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, possible={1: [0]})
    before = (tmp_path / "lab").read_bytes()
    for wrong, names in (
        ([(0, 1, 1), (0, 9, 1)], ("a", "9", "line 1")),
        ([(0, 1, 1), (1, 1, 1)], ("action 1", "state 1")),
        ([(0, 1, 1), (1, None, 1)], ("action", "line 1", "missing")),
    ):
        with raises(ValueError, *names):
            book.tell_many(wrong)
    assert (tmp_path / "lab").read_bytes() == before and book.explorer.n_obs == 0 and book.trials == []
    book.tell_many([(0, 1, 1), (1, 0, None)])
    assert [trial.lost for trial in book.trials] == [False, True] and book.explorer.n_obs == 1


def test_a_run_brings_its_terminal_states(tmp_path):
    world = berlyne.maze(2).replace(terminal=[5])
    run = berlyne.explore(world, "PIG(VI)", n_steps=30, seed=1)
    book, twin = LabBook.new(tmp_path / "lab", world.prior), Explorer(world.prior)
    book.tell_many(run)
    twin.observe_many(run)
    same(book.explorer, twin)
    same(LabBook(tmp_path / "lab").explorer, twin)


def test_a_copy_has_the_same_history_under_another_prior(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, seed=5, **ROOMS)
    book.tell("hall", "go", "den", note="x", client="rig 1")
    book.tell("den", "go", "hall")
    book.undo()
    book.ends_in(["nest"])
    book.tell("den", "stay", "nest", ended=True)
    book.tell("hall", "go", lost=True)
    book.ask_many(2, "hall")
    other = book.copy(tmp_path / "sharp", prior=Dirichlet(0.1, n_states=3, n_actions=2))
    twin = Explorer(Dirichlet(0.1, n_states=3, n_actions=2), seed=5, **ROOMS)
    twin.ends_in(["nest"])
    twin.observe_many(book.history)
    for opened in (other, LabBook(tmp_path / "sharp")):
        assert [vars(t) for t in opened.trials] == [vars(t) for t in book.trials] and opened.trials == book.trials
        assert opened.pending == [] and opened.explorer.prior.alpha == 0.1
        assert np.allclose(opened.explorer.utility(), twin.utility())
    same(book.copy(tmp_path / "twin").explorer, LabBook(tmp_path / "lab").explorer)
    assert str(book.copy(tmp_path / "random", strategy="Random", seed=9).explorer.strategy) == "Random"
    with raises(StoreError, "already exists"):
        book.copy(tmp_path / "lab")
    burrow = berlyne.maze(seed=5, side=3, n_transporters=6)
    full = LabBook.new(tmp_path / "full", Dirichlet(1.0, n_states=9, n_actions=4))
    far = next(s for s in range(9) if s not in burrow.prior.support.row(0, 0))
    full.tell(0, 0, far)
    with raises(ValueError, "line 1", "probability zero"):
        full.copy(tmp_path / "maze", prior=burrow.prior)
    assert not (tmp_path / "maze").exists()


def test_a_book_of_the_first_format_is_read_and_a_later_one_is_refused(tmp_path):
    (tmp_path / "old").write_bytes(
        written({**HEADER, "format": 1}, {"told": [0, 0, 1]}, {"told": [1, 0, 2]}, {"undo": 1})
    )
    book = LabBook(tmp_path / "old")
    assert book.history == [(0, 0, 1)] and book.history[0].time is None
    (tmp_path / "later").write_bytes(written({**HEADER, "format": 3}))
    with raises(StoreError, "later", "format 3", "1 and 2"):
        LabBook(tmp_path / "later")


@pytest.mark.parametrize(
    "line",
    [{"told": [0, 0, 1], "undo": 1}, {"told": [0, 0, 1], "time": 3}, {"told": [0, 0, 1], "trial": "x"},
     {"told": [0, 0, 1], "ended": True, "timed_out": True}, {"lost": [0, 0, 1]}, {"allow": [0]}, {"ends_in": 3},
     {"asked": [[0, 0]]}, {"asked": [0], "first": 1}, {"given_up": 1}, {"given_up": ["1"]}, {"many": 3},
     {"many": [{"undo": 1}]}, {"many": [3]}, {"undo": 0}, {"undo": True}],
    ids=str,
)  # fmt: skip
def test_lines_of_the_new_kinds_are_validated(line, tmp_path):
    (tmp_path / "lab").write_bytes(written(HEADER, {"told": [0, 0, 1]}, line))
    with raises(StoreError, "line 3", "not a valid line"):
        LabBook(tmp_path / "lab")


def test_a_repeated_call_with_the_same_key_is_recorded_once(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    for opened in (book, book, LabBook(tmp_path / "lab")):
        opened.tell(0, 1, 2, key="trial 17")
    LabBook(tmp_path / "lab").tell(0, 1, 2, key="trial 18")
    assert book.explorer.n_obs == 1
    book.catch_up()
    assert book.explorer.n_obs == 2 and os.path.exists(tmp_path / "lab")


def test_a_key_of_another_trial_is_refused(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    book.tell(0, 1, 2, key="1")
    for opened in (book, LabBook(tmp_path / "lab")):
        with raises(ValueError, "key", "'1'", "(0, 1, 2)", "a new key"):
            opened.tell(0, 1, 1, key="1")
        for flags in ({"ended": True}, {"timed_out": True}):
            with raises(ValueError, "key", "'1'"):
                opened.tell(0, 1, 2, key="1", **flags)
        with raises(ValueError, "key", "'1'"):
            opened.tell(0, 1, lost=True, key="1")
    assert LabBook(tmp_path / "lab").trials == [(0, 1, 2)]


def test_the_key_of_an_undone_trial_can_be_used_again(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR)
    for opened, s_next in ((book, 2), (book, 2), (LabBook(tmp_path / "lab"), 1), (LabBook(tmp_path / "lab"), 0)):
        opened.tell(0, 1, s_next, key="1")
        assert LabBook(tmp_path / "lab").history == [(0, 1, s_next)]
        opened.undo()
    assert LabBook(tmp_path / "lab").history == []


def test_a_trial_that_could_not_be_written_is_recorded_when_it_is_told_again(tmp_path, monkeypatch):
    """Otherwise a client whose disk was full for a moment would be told that the trial is in the book."""
    book = LabBook.new(tmp_path / "lab", PRIOR)

    def full(line):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(book._log, "add", full)
        with pytest.raises(OSError, match="No space"):
            book.tell(0, 1, 2, key="1")
    book.tell(0, 1, 2, key="1")
    assert book.history == LabBook(tmp_path / "lab").history == [(0, 1, 2)]


def test_trials_without_states_have_no_time_outs(tmp_path):
    book = LabBook.new(tmp_path / "lab", conditions=["soft", "loud"], outcomes=["heard", "not heard"])
    before = (tmp_path / "lab").read_bytes()
    with raises(ValueError, "timed_out", "no episodes"):
        book.tell("soft", "heard", timed_out=True)
    with raises(ValueError, "timed_out", "no episodes"):
        book.tell("soft", lost=True, timed_out=True)
    assert (tmp_path / "lab").read_bytes() == before


def test_the_view_of_trials_answers_what_their_explorer_answers(tmp_path):
    names = {"conditions": ["soft", "loud"], "outcomes": ["heard", "not heard", "unsure"]}
    book, twin = LabBook.new(tmp_path / "lab", None, "PIG(greedy)", **names), berlyne.trials(*names.values(), 1.0)
    for told in (book, twin):
        told.tell("soft", "heard")
    view = book.explorer
    assert (view.conditions, view.outcomes, repr(view)) == (twin.conditions, twin.outcomes, repr(twin))
    assert "2 conditions, 3 outcomes, 1 observations" in repr(view)
    assert view.expected_gain(5).bits == twin.expected_gain(5).bits and view.ask() == twin.ask() == book.ask()
    with raises(AttributeError, "read-only", "tell"):
        view.tell("soft", "heard")
    assert view.n_obs == 1
