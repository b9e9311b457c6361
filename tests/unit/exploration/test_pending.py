"""Trials that are out: batches, several clients, outcomes in any order, and trials that are given up."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from berlyne import ChineseRestaurant, Dirichlet, Explorer, LabBook, Strategy
from berlyne.exploration import pending
from berlyne.exploration.book_lines import PendingTrial
from berlyne.exploration.pending import choose_besides, imagine_outcomes
from messages import raises
from waiting import LIMIT

PRIOR = Dirichlet(1.0, n_states=3, n_actions=4)


def out(*pairs):
    return [PendingTrial(i + 1, s, a, None, None) for i, (s, a) in enumerate(pairs)]


def test_without_pending_trials_a_client_gets_the_usual_answer(tmp_path):
    book, twin = LabBook.new(tmp_path / "lab", PRIOR, seed=4), Explorer(PRIOR, seed=4)
    for s_next in (1, 2, 0):
        assert book.ask(0) == twin.act(0) == book.ask(0, client="rig 1")
        a = twin.act(0)
        book.tell(0, a, s_next, client="rig 1")
        twin.observe(0, a, s_next)
    assert book.pending == [] and book.explorer.act(0) == twin.act(0)


def test_a_batch_tries_each_action_before_it_repeats_one(tmp_path):
    """All rows are alike, and a second observation of a row is expected to teach less than the first."""
    book = LabBook.new(tmp_path / "lab", PRIOR, "PIG(greedy)", seed=1)
    batch = book.ask_many(8, 0)
    assert sorted(batch[:4]) == [0, 1, 2, 3] == sorted(batch[4:])
    assert [(trial.s, trial.a) for trial in LabBook(tmp_path / "lab").pending] == [(0, a) for a in batch]
    assert book.explorer.n_obs == 0 and book.ask(0) == book.ask(0) == LabBook(tmp_path / "lab").ask(0)
    for a in reversed(batch):  # in any order
        book.tell(0, a, 2)
    assert book.pending == LabBook(tmp_path / "lab").pending == [] and book.explorer.n_obs == 8


def test_the_values_are_expectations_over_the_outcomes_of_pending_trials(monkeypatch):
    """Enumeration: the mean value over both outcomes of the trial that is out, weighted by their probability."""
    monkeypatch.setattr(pending, "N_IMAGINED", 4000)
    lines = [(0, 1, 1), (1, 0, 1), (1, 0, 0), (1, 0, 0), (1, 0, 0), (1, 0, 0)]
    explorer = Explorer(Dirichlet(0.5, n_states=2, n_actions=2), "PIG(VI)", seed=3)
    explorer.observe_many(lines)
    p = explorer.model.theta_hat[1, 0]
    expected = np.zeros(2)
    for s_next in (0, 1):
        twin = Explorer(explorer.prior, "PIG(VI)")
        twin.observe_many([*explorer.history, (0, 1, s_next)])
        expected += p[s_next] * twin.action_values(0)
    copies = [imagine_outcomes(explorer, out((0, 1)), i) for i in range(4000)]
    drawn = np.array([copy.action_values(0) for copy in copies])
    error = 4.0 * drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-9
    assert np.all(np.abs(drawn.mean(axis=0) - expected) < error) and error[1] > 1e-5
    assert choose_besides(explorer, out((0, 1)), 2, 0)[1] == expected.argmax()
    assert explorer.history == lines


def test_asking_changes_nothing_that_is_told_later(tmp_path):
    asked, silent = (LabBook.new(tmp_path / name, PRIOR, seed=2) for name in ("asked", "silent"))
    for line in ((0, 1, 2), (2, 3, 0), (0, 0, 0)):
        asked.ask_many(3, line[0])
        for book in (asked, silent):
            book.tell(*line)
    for trial in asked.pending:
        asked.give_up(trial)
    assert asked.ask(1) == silent.ask(1)
    assert np.array_equal(asked.explorer.utility(), silent.explorer.utility())


def test_clients_get_other_trials_and_their_own_again(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, "PIG(greedy)", seed=3)
    answers = {client: book.ask(0, client=client) for client in ("rig 1", "rig 2", "rig 3", "rig 4")}
    assert sorted(answers.values()) == [0, 1, 2, 3]
    assert {client: LabBook(tmp_path / "lab").ask(0, client=client) for client in answers} == answers
    assert [trial.client for trial in book.pending] == list(answers) and all(t.time for t in book.pending)
    for wrong, names in (
        (lambda: book.ask(1, client="rig 2"), ("'rig 2'", answers["rig 2"], 0, "give_up")),
        (lambda: book.tell(0, (answers["rig 2"] + 1) % 4, 1, client="rig 2"), ("'rig 2'", answers["rig 2"], "give_up")),
        (lambda: book.ask(0, client=""), ("client", "text")),
    ):
        with raises(ValueError, *names):
            wrong()
    book.tell(0, answers["rig 3"], 2, client="rig 3")
    assert [trial.client for trial in book.pending] == ["rig 1", "rig 2", "rig 4"]
    assert book.trials[0].client == "rig 3" and LabBook(tmp_path / "lab").trials[0].client == "rig 3"


def test_trials_are_given_up_or_lost(tmp_path):
    book = LabBook.new(tmp_path / "lab", PRIOR, seed=3)
    a, b, c = book.ask_many(3, 0)
    d = book.ask(0, client="rig 2")
    first = book.pending[0]
    assert book.give_up(first) == [first] and [t.number for t in book.pending] == [2, 3, 4]
    assert [t.number for t in book.give_up(client="rig 2")] == [4]
    book.tell(0, b, lost=True)
    for opened in (book, LabBook(tmp_path / "lab")):
        assert [(t.number, t.a) for t in opened.pending] == [(3, c)] and opened.explorer.n_obs == 0
    for wrong, names in (
        (lambda: book.give_up(1), ("trial 1", "not pending", "3")),
        (lambda: book.give_up(client="rig 2"), ("'rig 2'", "pending")),
        (lambda: book.give_up(), ("either", "client=")),
        (lambda: book.ask_many(0, 0), ("k", 0)),
    ):
        with raises(ValueError, *names):
            wrong()
    book.ask_many(1, 0)
    assert [t.number for t in book.pending] == [3, 5] and {a, b, c, d} == {0, 1, 2, 3}  # numbers are never used again


def test_an_outcome_without_a_client_answers_a_trial_without_one_first(tmp_path):
    book = LabBook.new(tmp_path / "lab", Dirichlet(1.0, n_states=2, n_actions=1))
    book.ask(0, client="rig 1")
    book.ask_many(1, 0)
    book.tell(0, 0, 1)
    assert [t.client for t in book.pending] == ["rig 1"]
    book.tell(0, 0, 1)
    assert book.pending == []


@pytest.mark.parametrize("prior", [Dirichlet(1.0, n_states=3, n_actions=2), ChineseRestaurant(1.0, n_actions=2)])
@pytest.mark.parametrize("strategy", ["Unembodied", "PEIG(Q)", "CB", "Random", "PIG(VI)"])
def test_every_strategy_hands_out_batches(prior, strategy, tmp_path):
    book = LabBook.new(tmp_path / "lab", prior, strategy, seed=1)
    book.tell_many([(0, 1, 1), (1, 0, 2), (2, 1, 0, True)])
    batch = book.ask_many(6) if strategy == "Unembodied" else book.ask_many(6, 1)
    assert len(batch) == 6 and len(book.pending) == 6
    if strategy == "Unembodied":
        assert len(set(batch)) >= 3 and book.ask_pair(client="x") == LabBook(tmp_path / "lab").ask_pair(client="x")
        with raises(ValueError, "Unembodied", "ask_many()"):
            book.ask_many(2, 1)
    else:
        assert book.ask_many(2, 1, among=[1]) == [1, 1]
        with raises(ValueError, strategy, "ask_many(s)"):
            book.ask_many(2)


def test_a_method_that_chooses_itself_hands_out_batches(tmp_path):
    mine = Strategy("mine", lambda view, s, u: int(view.counts[:, s].sum(axis=1).argmin()))
    book = LabBook.new(tmp_path / "lab", PRIOR, mine)
    assert book.ask_many(4, 0) == [0, 1, 2, 3]


RIG = """
import sys
from berlyne import LabBook

path, client, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
book = LabBook(path)
for i in range(n):
    a = book.ask(0, client=client)
    overlap = [trial for trial in book.pending if trial.client != client and trial.a == a]
    book.tell(0, a, (a + i) % 3, client=client)
    print(a, len(overlap), flush=True)
"""


def test_two_rigs_in_two_processes_do_different_trials(tmp_path):
    """Each asks, does its trial and tells it, at its own speed; nothing is lost, and never do both try the same."""
    LabBook.new(tmp_path / "lab", PRIOR, "PIG(greedy)", seed=6)
    command = [sys.executable, "-c", RIG, str(tmp_path / "lab")]
    rigs = [subprocess.Popen([*command, f"rig {i}", "12"], stdout=subprocess.PIPE, text=True) for i in (1, 2)]
    printed = [rig.communicate(timeout=LIMIT)[0].splitlines() for rig in rigs]
    assert [rig.returncode for rig in rigs] == [0, 0] and [len(lines) for lines in printed] == [12, 12]
    book = LabBook(tmp_path / "lab")
    assert book.pending == [] and book.explorer.n_obs == 24
    for client, lines in zip(("rig 1", "rig 2"), printed, strict=True):
        told = [trial[1] for trial in book.trials if trial.client == client]
        assert told == [int(line.split()[0]) for line in lines]
    assert sum(int(line.split()[1]) for lines in printed for line in lines) <= 4  # late trials may be worth repeating
    assert np.ptp(book.explorer.model.counts[:, 0].sum(axis=1)) <= 2
