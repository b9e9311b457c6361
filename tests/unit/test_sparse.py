import numpy as np
import pytest
import scipy.sparse as sp

from berlyne.sparse import Counts, Rows, Support, by_action
from messages import raises

THETA = np.array([[[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.25, 0.75]]])  # [a, s, s_next]


def test_rows_of_one_state_lie_together():
    rows = Rows.from_dense(THETA)
    assert rows.indptr.tolist() == [0, 2, 3, 4, 6]  # (a=0, s=0), (a=1, s=0), (a=0, s=1), (a=1, s=1)
    assert rows.indices.tolist() == [0, 1, 0, 1, 0, 1]
    assert rows.data.tolist() == [0.5, 0.5, 1.0, 1.0, 0.25, 0.75]
    assert rows.row_numbers().tolist() == [0, 0, 1, 2, 3, 3]
    assert by_action(np.arange(4), 2).tolist() == [[0, 2], [1, 3]]


def test_dense_and_sparse_forms_are_the_same_rows():
    dense = Rows.from_dense(THETA)
    sparse = Rows.from_sparse([sp.coo_array(THETA[0]), sp.csc_array(THETA[1])])
    for rows in (dense, sparse):
        assert np.array_equal(rows.dense(), THETA)
    assert np.array_equal(sparse.indptr, dense.indptr) and np.array_equal(sparse.indices, dense.indices)


def test_entries_in_any_order_are_the_same_rows():
    dense = Rows.from_dense(THETA)
    order = np.array([4, 0, 5, 2, 1, 3])
    rows = Rows.from_entries(2, 2, dense.row_numbers()[order], dense.indices[order], dense.data[order])
    assert np.array_equal(rows.dense(), THETA)
    assert np.array_equal(rows.indptr, dense.indptr) and np.array_equal(rows.indices, dense.indices)


def test_a_row_and_its_running_sum():
    rows = Rows.from_dense(THETA)
    s_next, p = rows.row(a=1, s=1)
    assert s_next.tolist() == [0, 1] and p.tolist() == [0.25, 0.75]
    assert rows.cumulative.tolist() == [0.5, 1.0, 1.0, 1.0, 0.25, 1.0]
    assert rows.row_sums(np.ones(6)).tolist() == [2, 1, 1, 2]


def test_stored_zeros_and_duplicates_of_sparse_matrices_disappear():
    where = np.array([0, 3, 4]), np.array([1, 1, 0, 0])  # row 0: state 1 twice, state 0 with nothing
    twice = sp.csr_array((np.array([0.5, 0.5, 0.0, 1.0]), where[1], where[0]), shape=(2, 2))
    for matrix in (twice, twice.tocoo()):
        rows = Rows.from_sparse([matrix])
        assert rows.indices.tolist() == [1, 0] and rows.data.tolist() == [1.0, 1.0]


def test_support_of_rows_and_of_everything():
    support = Rows.from_dense(THETA).support
    assert support.row(a=0, s=1).tolist() == [1]
    assert support.sizes.tolist() == [2, 1, 1, 2]
    assert support.contains(np.array([1, 1, 2]), np.array([0, 1, 0])).tolist() == [True, False, False]
    everything = Support(n_actions=2, n_states=3)
    assert everything.is_full and everything.row(0, 0).tolist() == [0, 1, 2] and everything.sizes.tolist() == [3] * 6
    assert everything.contains(np.array([5]), np.array([2])).tolist() == [True]
    assert not support.is_full


def test_supports_are_the_same_by_content():
    support, copied = Rows.from_dense(THETA).support, Rows.from_dense(THETA).support
    assert copied.indices is not support.indices and support.same_entries(copied) and support.same_entries(support)
    moved = Rows.from_dense(THETA[:, :, ::-1]).support  # as many entries, elsewhere
    assert len(moved.indices) == len(support.indices) and not support.same_entries(moved)
    full, explicit = Support(2, 2), Rows.from_dense(np.full((2, 2, 2), 0.5)).support
    assert full.same_entries(explicit) and explicit.same_entries(full) and full.same_entries(Support(2, 2))
    assert not full.same_entries(support) and not support.same_entries(full)
    assert not full.same_entries(Support(1, 2)) and not full.same_entries(Support(2, 3))
    assert not Support(8, 1).same_entries(full)  # as many entries


def test_counts_know_totals_distinct_outcomes_and_single_entries():
    dense = np.array([[[2, 1], [0, 0]], [[0, 0], [0, 5]]])
    counts = Counts.from_dense(dense)
    assert counts.totals.tolist() == [3, 0, 0, 5]
    assert counts.n_seen.tolist() == [2, 0, 0, 1]
    assert counts.at(np.array([0, 0, 1, 3]), np.array([0, 1, 0, 1])).tolist() == [2, 1, 0, 5]
    assert np.array_equal(counts.dense(), dense)


def test_counts_without_observations():
    counts = Counts.from_dense(np.zeros((1, 2, 2), dtype=int))
    assert counts.at(np.array([0, 1]), np.array([0, 0])).tolist() == [0, 0]
    assert counts.totals.tolist() == [0, 0]


def test_keys_may_come_in_any_order():
    counts = Counts.from_keys(1, 3, np.array([7, 0]), np.array([2, 4]))  # row 2 state 1, row 0 state 0
    assert counts.row.tolist() == [0, 2] and counts.s_next.tolist() == [0, 1] and counts.n.tolist() == [4, 2]


@pytest.mark.parametrize("bad", [-1, 0.5, float("nan")])
def test_counts_are_whole_numbers(bad):
    counts = np.zeros((1, 2, 2))
    counts[0, 1, 1] = bad
    with raises(ValueError, "counts", "at least 0"):
        Counts.from_dense(counts)


@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 3)])
def test_counts_and_supports_have_three_axes_of_which_two_are_equal(shape):
    with raises(ValueError, "(n_actions, n_states, n_states)"):
        Counts.from_dense(np.zeros(shape, dtype=int))
    with raises(ValueError, "(n_actions, n_states, n_states)"):
        Support.from_mask(np.ones(shape, dtype=bool))


def test_large_counts_are_not_made_dense():
    counts = Counts.from_keys(4, 10_000, np.array([0]), np.array([1]))
    with raises(ValueError, "counts", "4 x 10000 x 10000"):
        counts.dense()
