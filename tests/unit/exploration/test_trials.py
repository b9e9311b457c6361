"""Trials without states, in memory and in a lab book."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import berlyne
from berlyne import Explorer, LabBook, trials
from messages import raises

CONDITIONS, OUTCOMES = ["soft", "medium", "loud"], ["heard", "not heard"]


def expected_missing(counts, alpha):
    """Expected divergence of a Dirichlet row from its mean, in bits, from SciPy."""
    c = np.asarray(counts) + alpha
    mean = c / c.sum()
    return float(
        sum(
            m * (special.digamma(k + 1) - special.digamma(c.sum() + 1) - np.log(m))
            for m, k in zip(mean, c, strict=True)
        )
    ) / np.log(2)


def test_trials_are_rows_of_one_state():
    explorer = trials(CONDITIONS, OUTCOMES, alpha=0.5)
    lines = [("soft", "heard"), ("loud", "heard"), ("loud", "not heard"), ("loud", "heard")]
    for line in lines:
        explorer.tell(*line)
    assert explorer.conditions == tuple(CONDITIONS) and explorer.outcomes == tuple(OUTCOMES)
    expected = [expected_missing(counts, 0.5) for counts in ((1, 0), (0, 0), (2, 1))]
    missing = explorer.expected_missing_information()
    np.testing.assert_allclose(missing.rows[:, 0], expected, rtol=1e-9)
    assert missing.bits == pytest.approx(sum(expected)) and not missing.rows[:, 1:].any()
    assert explorer.ask() == "medium" and explorer.ask(among=["loud", "soft"]) == "soft"
    np.testing.assert_allclose(explorer.model.theta_hat_row("loud", "trial")[1:], [2.5 / 4, 1.5 / 4])
    assert explorer.history == [("trial", *line) for line in lines]


def test_trials_look_ahead_stop_and_can_be_saved(tmp_path):
    explorer = trials(CONDITIONS, OUTCOMES, 1.0, seed=3)
    assert explorer.expected_gain(5, n_samples=20).bits > 0.0 and not explorer.knows_enough(0.1)
    rng = np.random.default_rng(0)
    while not explorer.knows_enough(0.1):
        explorer.tell(explorer.ask(), OUTCOMES[int(rng.random() < 0.3)])
    counts = explorer.model.counts[:, 0].sum(axis=1)
    assert explorer.n_obs < 200 and np.ptp(counts) < 0.4 * counts.sum()
    explorer.undo()
    explorer.save(tmp_path / "e.npz")
    loaded = type(explorer).load(tmp_path / "e.npz")
    assert loaded.ask() == explorer.ask() and isinstance(explorer, Explorer)
    assert explorer.expected_gain(3, n_samples=5) == loaded.expected_gain(3, n_samples=5)


def test_conditions_have_costs():
    explorer = trials(CONDITIONS, OUTCOMES, costs={"loud": 3, "medium": 2})
    asked = []
    for _ in range(12):
        asked.append(explorer.ask())
        explorer.tell(asked[-1], "heard" if len(asked) % 2 else "not heard")
    assert asked.count("soft") > asked.count("medium") >= asked.count("loud") >= 1


@pytest.mark.parametrize("strategy", ["PIG(greedy)", "PIG(VI)", "Random"])
def test_a_book_of_trials(strategy, tmp_path):
    book = LabBook.new(tmp_path / "lab", strategy=strategy, conditions=CONDITIONS, outcomes=OUTCOMES, alpha=0.5, seed=2)
    twin = trials(CONDITIONS, OUTCOMES, 0.5, strategy, seed=2)
    for outcome in ("heard", "not heard", "heard"):
        condition = LabBook(tmp_path / "lab").ask()
        assert condition == book.ask() == twin.ask()
        book.tell(condition, outcome)
        twin.tell(condition, outcome)
    book.tell("soft", lost=True)
    batch = book.ask_many(4)
    assert set(batch) <= set(CONDITIONS) and len(book.pending) == 4
    book.tell(batch[0], "heard", note="late")
    twin.tell(batch[0], "heard")
    for opened in (book, LabBook(tmp_path / "lab")):
        assert opened.explorer.history == twin.history and len(opened.pending) == 3
        assert opened.explorer.expected_missing_information().bits == twin.expected_missing_information().bits
    assert book.undo() == ("trial", batch[0], "heard")


def test_mistakes_name_the_argument(tmp_path):
    for wrong, names in (
        (lambda: trials(CONDITIONS, ["yes"]), ("outcomes", "two")),
        (lambda: trials([], OUTCOMES), ("conditions", "[]")),
        (lambda: trials(CONDITIONS, ["trial", "x"]), ("outcome", "'trial'")),
        (lambda: trials("abc", OUTCOMES), ("conditions", "'abc'", "list")),
        (lambda: trials(CONDITIONS, OUTCOMES).tell("mute", "heard"), ("'mute'",)),
        (lambda: LabBook.new(tmp_path / "x", conditions=CONDITIONS), ("conditions=", "outcomes=")),
        (lambda: LabBook.new(tmp_path / "x", conditions=CONDITIONS, outcomes=OUTCOMES, n_states=3), ("outcomes=",)),
        (lambda: LabBook.new(tmp_path / "y", berlyne.Dirichlet(1.0, n_states=2, n_actions=2)).ask(), ("s", "missing")),
    ):
        with raises(ValueError, *names):
            wrong()
    assert not (tmp_path / "x").exists()
