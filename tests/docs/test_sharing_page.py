"""The page on sharing between rows: its tables are those of the stored results."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sharing():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import sharing
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return sharing


def test_the_tables_are_those_of_the_stored_results(sharing):
    text, results = sharing.PAGE.read_text(encoding="utf-8"), sharing.read(sharing.FILE)
    assert set(results) == set(sharing.PIECES)
    assert sharing.with_tables(text, results) == text
    changed = text.replace("| effects | ", "| effects | 1", 1)
    assert changed != text
    assert sharing.with_tables(changed, results) != changed


def test_a_difference_is_paired(sharing):
    columns = {"Unembodied": [1.0, 2.0], "paper": [2.0, 8.0], "effects": [1.0, 6.0]}
    assert sharing.table(columns) == [
        ["paper", "3.000 ± 1.000", ""],
        ["effects", "2.000 ± 1.000", "-1.000 ± 0.000"],
    ]


def test_a_share_of_the_labels_is_wrong(sharing):
    import berlyne

    labels = berlyne.labels_of(berlyne.maze(0), "moves")
    for share, low, high in ((0.0, 0.0, 0.0), (0.5, 0.3, 0.5), (1.0, 0.7, 1.0)):
        wrong = sharing.shuffled(labels, share, np.random.default_rng(0))
        assert low <= np.mean(wrong.labels != labels.labels) <= high  # some get the same label again
        np.testing.assert_array_equal(np.sort(wrong.labels), np.sort(labels.labels))


def test_labels_are_exchanged_among_transitions_with_the_same_number_of_labels(sharing):
    import berlyne

    labels = berlyne.labels_of(berlyne.maze(0))
    number = np.sum(labels.labels >= 0, axis=0)
    assert len(np.unique(number)) > 1
    wrong = sharing.shuffled_by_number(labels, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sum(wrong.labels >= 0, axis=0), number)
    for n in np.unique(number):  # labels of one transition stay together
        sets = [sorted(map(tuple, kind.labels[:, number == n].T.tolist())) for kind in (labels, wrong)]
        assert sets[0] == sets[1]
    assert np.mean(np.any(wrong.labels != labels.labels, axis=0)) > 0.7


def test_the_exact_law_against_rejection_sampling(sharing):
    """Dirichlet rows in which the own outcome is the largest, drawn and selected."""
    rng = np.random.default_rng(0)
    for n, own in (((0, 0, 0), 0), ((3, 1, 0, 0), 1), ((1, 2, 0, 4), 0)):
        rows = rng.dirichlet(0.25 + np.array(n), 200_000)
        rows = rows[np.argmax(rows, axis=1) == own]
        error = rows.std(axis=0) / len(rows) ** 0.5
        assert np.all(np.abs(sharing.sorted_mean(n, own, 0.25) - rows.mean(axis=0)) < 4 * error)


def test_the_gain_of_all_rows_is_at_least_that_of_one(sharing):
    """With fixed weights it is PIG; with weights that are learned, other rows are expected to change, too."""
    import berlyne

    world = berlyne.maze(0, side=2, n_transporters=2)
    labels, counts = berlyne.labels_of(world), np.zeros((4, 4, 4), dtype=int)
    counts[0, 0, labels.support.row(0, 0)[0]] = 4
    prior = berlyne.SharedDirichlet(labels, 0.25).fit(counts)
    model = berlyne.InternalModel(prior)
    model.observe_many([(0, 0, int(labels.support.row(0, 0)[0]))] * 4)
    gains = sharing.expected_gains(prior, counts)
    assert np.any(gains > 1.05 * berlyne.pig(model))
    fixed = berlyne.SharedDirichlet(labels, 0.25, shape=1e6, strength=1e12)  # such weights are never learned
    np.testing.assert_allclose(
        sharing.expected_gains(fixed, counts), berlyne.pig(_observed(fixed, counts)), rtol=1e-3, atol=1e-6
    )


def _observed(prior, counts):
    import berlyne

    model = berlyne.InternalModel(prior)
    for a, s, s_next in np.argwhere(counts):
        model.observe_many([(int(s), int(a), int(s_next))] * int(counts[a, s, s_next]))
    return model
