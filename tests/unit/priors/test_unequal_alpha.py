"""Dirichlet priors with an alpha for each row or transition: input, files, and every way to use them."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import berlyne
from berlyne import Dirichlet, Explorer, InternalModel, LabBook, World, explore, load_world, maze, replay
from berlyne.experiments.worlds import fingerprint
from berlyne.priors.registry import prior_from_description
from berlyne.sparse import Support
from messages import raises

MASK = np.array([[[1, 1, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [1, 0, 1]]]) > 0
ALPHA = np.arange(1.0, 19.0).reshape(2, 3, 3) / 4.0
FLAT = [0.25, 0.5, 3.0, 1.25, 3.25, 3.5, 3.75, 1.75, 2.0, 2.25, 4.0, 4.5]
"""ALPHA on MASK, by state and then by action."""


def world_with_unequal_alpha(seed=0, **sizes):
    """A maze whose transitions have alphas between 0.1 and 2."""
    world = maze(seed, **sizes)
    shape = (world.n_actions, world.n_states, world.n_states)
    return world.with_prior(Dirichlet(np.random.default_rng(seed).uniform(0.1, 2.0, size=shape), world.prior.support))


def test_estimates_by_hand():
    """(1.25 + 1) / (1.25 + 1.5 + 1), where 1.25 and 1.5 are alphas of possible transitions."""
    alpha = np.ones((2, 3, 3))
    alpha[0, 0] = [1.25, 1.5, 77.0]
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[0, 0, 0] = 1
    assert Dirichlet(alpha, MASK).estimate(counts)[0, 0] == pytest.approx([0.6, 0.4, 0.0])


def test_alpha_may_belong_to_rows_transitions_or_possible_transitions():
    assert Dirichlet(ALPHA, MASK).alpha.tolist() == FLAT
    assert Dirichlet(ALPHA.tolist(), MASK).alpha.tolist() == FLAT
    assert Dirichlet(np.array(FLAT), MASK).alpha.tolist() == FLAT
    by_row = Dirichlet(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), MASK)
    assert by_row.alpha.tolist() == [1, 1, 4, 2, 5, 5, 5, 3, 3, 3, 6, 6]
    full = Dirichlet(ALPHA, n_states=3, n_actions=2)
    assert full.alpha.tolist() == ALPHA.transpose(1, 0, 2).ravel().tolist() and full.support.is_full


def test_values_outside_the_support_are_ignored():
    ignored = np.where(MASK, ALPHA, np.nan)
    assert Dirichlet(ignored, MASK).alpha.tolist() == FLAT
    equal = Dirichlet(np.where(MASK, 0.5, -3.0), MASK)
    assert equal.alpha == 0.5 and isinstance(equal.alpha, float)
    assert equal.describe().parameters == {"alpha": 0.5}


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        (np.ones((3, 2)), ("alpha", "(3, 2)", "(2, 3)", "(2, 3, 3)")),
        (np.ones(11), ("alpha", "(11,)", "(12,)")),
        (np.ones((1, 2, 3, 3)), ("alpha", "(1, 2, 3, 3)")),
        ([], ("alpha", "(0,)")),
        ([[1.0, 2.0, 3.0], [4.0, 5.0]], ("alpha", "list", "rows")),
        ([["a", "b", "c"]] * 2, ("alpha", "list")),
        (np.where(ALPHA == 3.5, 0.0, ALPHA), ("(a=1, s=1)", "0", "state 1")),
        (np.where(ALPHA == 3.5, -1.0, ALPHA), ("(a=1, s=1)", "-1", "state 1")),
        (np.where(ALPHA == 3.5, np.nan, ALPHA), ("alpha", "(a=1, s=1)", "nan", "state 1", "[1e-140, 1e+12]")),
        (np.where(ALPHA == 3.5, np.inf, ALPHA), ("(a=1, s=1)", "inf", "state 1")),
        (np.where(ALPHA == 3.5, 1e-150, ALPHA), ("(a=1, s=1)", "1e-150", "state 1")),
    ],
)
def test_invalid_arrays_are_refused(alpha, message):
    with raises(ValueError, *message):
        Dirichlet(alpha, MASK)


def test_the_array_is_a_copy_that_cannot_be_changed():
    mine = np.array(FLAT)
    prior = Dirichlet(mine, MASK)
    mine[0] = 9.0
    assert prior.alpha.tolist() == FLAT
    for same in (prior, copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        with raises(ValueError, "read-only"):
            same.alpha[0] = 9.0
        assert same.alpha.tolist() == FLAT


def test_repr_shows_the_range_and_replace_keeps_the_array():
    prior = Dirichlet(ALPHA, MASK)
    expected = "Dirichlet(alpha=array of 0.25 to 4.5, n_actions=2, n_states=3, support of 12 transitions)"
    assert repr(prior) == expected == repr(dataclasses.replace(prior))
    assert dataclasses.replace(prior, alpha=2.0).alpha == 2.0


@pytest.mark.parametrize("support", [MASK, None], ids=["support", "full"])
def test_a_description_is_complete(support):
    sizes = {} if support is not None else {"n_states": 3, "n_actions": 2}
    prior = Dirichlet(ALPHA, support, **sizes)
    described = prior.describe()
    stored = {"kind": described.kind, **described.parameters, "n_states": 3, "n_actions": 2}
    same = prior_from_description(stored, {**described.arrays, "unrelated": np.zeros(3)})
    assert np.array_equal(same.alpha, prior.alpha) and same.support.same_entries(prior.support)
    assert same.support.is_full == (support is None)


def test_files_of_worlds_and_explorers_keep_the_array(tmp_path):
    world = world_with_unequal_alpha()
    world.save(tmp_path / "world.npz")
    same = load_world(tmp_path / "world.npz")
    assert np.array_equal(same.prior.alpha, world.prior.alpha)
    explorer = Explorer(world.prior, "PIG(VI)", seed=1)
    run = explore(world, "PIG(VI)", n_steps=100, seed=0)
    explorer.observe_many(run)
    explorer.save(tmp_path / "explorer.npz")
    loaded = Explorer.load(tmp_path / "explorer.npz")
    assert np.array_equal(loaded.prior.alpha, world.prior.alpha)
    assert np.array_equal(loaded.utility(), explorer.utility())
    for s in range(10):
        assert loaded.act(s) == explorer.act(s)


def test_a_lab_book_keeps_the_array(tmp_path):
    prior = Dirichlet(ALPHA, MASK)
    book = LabBook.new(tmp_path / "x.lab", prior)
    book.tell(0, 0, 1)
    assert np.array_equal(LabBook(tmp_path / "x.lab").explorer.prior.alpha, prior.alpha)


def test_replay_and_expected_gain_know_the_prior():
    world = world_with_unequal_alpha(1, side=4, n_transporters=3)
    run = explore(world, "PIG(VI)", n_steps=200, seed=0)
    replayed = replay(world, run, "PIG(VI)")
    assert float(replayed.log_likelihood.min()) > np.log(0.24)
    model = InternalModel(world.prior)
    for t in (0, 50, 199):
        model = run.model_at(t)
        expected = model.expected_missing_information().bits
        assert float(replayed.expected_missing_information[t]) == pytest.approx(expected, rel=1e-9)
    explorer = Explorer(world.prior, "PIG(greedy)")
    explorer.observe_many(run)
    gain = explorer.expected_gain(1, s=3, n_samples=4000)
    expected = berlyne.pig(explorer.model)[:, 3].max()  # Theorem 2
    assert gain.bits == pytest.approx(expected, abs=5 * gain.standard_error) and gain.standard_error < 0.1 * expected


def test_worlds_that_differ_in_alpha_have_different_fingerprints():
    one, other = world_with_unequal_alpha(0), world_with_unequal_alpha(0)
    assert fingerprint(one) == fingerprint(other)
    alpha = one.prior.alpha.copy()
    alpha[3] *= 2.0
    changed = one.with_prior(Dirichlet(alpha, one.prior.support))
    assert len({fingerprint(one), fingerprint(changed), fingerprint(maze(0))}) == 3


def test_resets_get_the_mean_alpha_of_their_row():
    theta = np.zeros((1, 3, 3))
    theta[0, 0, [0, 1]], theta[0, 1, 2], theta[0, 2, 2] = 0.5, 1.0, 1.0
    support = np.array([[[1, 1, 0], [0, 1, 1], [0, 1, 1]]])
    alpha = np.array([[[1.0, 2.0, 0.0], [0.0, 3.0, 4.0], [0.0, 5.0, 6.0]]])
    world = World(theta, Dirichlet(alpha, support), start=0, terminal=[2]).with_resets()
    assert world.prior.alpha.tolist() == [1.0, 2.0, 3.0, 4.0, 5.5, 5.0, 6.0]


def test_a_page_shows_the_run(tmp_path):
    run = explore(world_with_unequal_alpha(0, side=3, n_transporters=2), "PIG(VI)", n_steps=30, seed=0)
    run.watch(tmp_path / "page.html", open_browser=False)
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_a_support_lists_the_positions_of_its_transitions():
    support = Support.from_mask(MASK)
    row, s_next = np.divmod(np.arange(18), 3)
    expected = np.full((6, 3), -1)
    expected[MASK.transpose(1, 0, 2).reshape(6, 3)] = np.arange(12)
    assert support.positions(row, s_next).tolist() == expected.ravel().tolist()
    assert support.row_numbers().tolist() == [0, 0, 1, 2, 3, 3, 3, 4, 4, 4, 5, 5]
    assert Support(2, 3).positions(row, s_next).tolist() == list(range(18))
