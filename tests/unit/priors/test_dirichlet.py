import numpy as np
import pytest
import scipy.sparse as sp

from berlyne import Dirichlet, InternalModel, World, fit_alpha
from berlyne.sparse import Rows, Support
from messages import raises

MASK = np.array([[[1, 1, 0], [0, 1, 0], [1, 1, 1]], [[0, 0, 1], [1, 1, 1], [1, 0, 1]]]) > 0


def test_laplace_smoothing_by_hand():
    """Eq. 7 with N = 3: (1 + 2) / (2 + 3), then 1/5 each."""
    counts = np.zeros((1, 3, 3), dtype=int)
    counts[0, 1, 2] = 2
    estimate = Dirichlet(1.0, n_states=3, n_actions=1).estimate(counts)
    assert estimate[0, 1] == pytest.approx([0.2, 0.2, 0.6])
    assert estimate[0, 0] == pytest.approx([1 / 3] * 3)


def test_smoothing_on_a_support_by_hand():
    """Eq. 8 with N_as = 2: (0.25 + 1) / (1 + 0.5) and 0.25 / 1.5; nothing outside."""
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[0, 0, 1] = 1
    assert Dirichlet(0.25, MASK).estimate(counts)[0, 0] == pytest.approx([1 / 6, 5 / 6, 0.0])


@pytest.mark.parametrize(
    "support",
    [
        MASK,
        MASK.astype(int).tolist(),
        Support.from_mask(MASK),
        Rows.from_dense(MASK / MASK.sum(axis=-1, keepdims=True)),
        [sp.csr_array(MASK[0]), sp.coo_array(MASK[1])],
        World(MASK / MASK.sum(axis=-1, keepdims=True)).rows,
    ],
    ids=["mask", "list", "Support", "Rows", "sparse", "world.rows"],
)
def test_a_support_may_come_in_any_form(support):
    prior = Dirichlet(0.5, support)
    assert (prior.n_actions, prior.n_states) == (2, 3)
    assert np.array_equal(prior.estimate(np.zeros((2, 3, 3), dtype=int)) > 0, MASK)
    assert np.array_equal(prior.sample(0).dense() > 0, MASK)


def test_a_full_mask_is_the_same_as_sizes():
    counts = np.random.default_rng(0).integers(3, size=(2, 3, 3))
    masked, sized = Dirichlet(0.7, np.ones((2, 3, 3))), Dirichlet(0.7, n_states=3, n_actions=2)
    assert np.array_equal(masked.estimate(counts), sized.estimate(counts))
    assert np.array_equal(masked.sample(1).dense(), sized.sample(1).dense())


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan"), float("inf"), "one", None])
def test_concentrations_are_positive_numbers(alpha):
    with raises(ValueError, "alpha", "[1e-300, 1e+12]"):
        Dirichlet(alpha, n_states=2, n_actions=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, ("Dirichlet", "n_states", "n_actions")),
        ({"n_states": 3}, ("n_states", "n_actions")),
        ({"n_states": 0, "n_actions": 1}, ("n_states", "0", "1")),
        ({"n_states": 2, "n_actions": 1.5}, ("n_actions", "1.5")),
        ({"support": np.ones((2, 3))}, ("support", "(2, 3)", "(n_actions, n_states, n_states)")),
        ({"support": np.ones((1, 2, 3))}, ("support", "(1, 2, 3)")),
        ({"support": np.array([[[1, 0], [0, 0]]])}, ("support", "(a=0, s=1)", "empty")),
        ({"support": MASK, "n_states": 4}, ("n_states", "4", "n_states=3")),
    ],
)
def test_supports_that_make_no_sense_are_refused(arguments, message):
    with raises(ValueError, *message):
        Dirichlet(1.0, **arguments)


def test_counts_of_another_size_are_refused():
    prior = Dirichlet(1.0, MASK)
    for method in (prior.estimate, prior.expected_missing_information, prior.log_marginal_likelihood):
        with raises(ValueError, "counts", "1 actions", "2 states", "prior", "2 actions", "3 states"):
            method(np.zeros((1, 2, 2), dtype=int))


def test_counts_outside_the_support_have_likelihood_zero_and_no_estimate():
    prior = Dirichlet(1.0, MASK)
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[0, 1, 2] = 1
    assert prior.log_marginal_likelihood(counts) == -np.inf
    for method in (prior.estimate, prior.expected_missing_information):
        with raises(ValueError, "(a=0, s=1)", "state 2"):
            method(counts)


def test_likelihood_of_two_equal_tosses_by_hand():
    """1/2 then 2/3."""
    prior = Dirichlet(1.0, n_states=2, n_actions=1)
    assert prior.log_marginal_likelihood(np.array([[[2, 0], [0, 0]]])) == pytest.approx(np.log(1 / 3))
    assert prior.log_marginal_likelihood(np.zeros((1, 2, 2), dtype=int)) == 0.0


@pytest.mark.parametrize("alpha", [1e-12, 1e-4, 0.01, 0.25, 1.0, 1e12])
def test_samples_fill_the_support_for_every_concentration(alpha):
    theta = Dirichlet(alpha, MASK).sample(3).dense()
    assert np.array_equal(theta > 0, MASK)
    assert theta.sum(axis=-1) == pytest.approx(np.ones((2, 3)))


def test_extreme_concentrations_give_certain_and_even_rows():
    assert np.all(Dirichlet(1e-12, MASK).sample(0).dense().max(axis=-1) > 1 - 1e-12)
    assert Dirichlet(1e12, MASK).sample(0).dense() == pytest.approx(MASK / MASK.sum(-1, keepdims=True), abs=1e-4)


def test_the_support_decides_what_is_admitted():
    prior = Dirichlet(1.0, MASK)
    assert [prior.admits(0, 0, (), s) for s in range(3)] == [True, True, False]
    assert Dirichlet(1.0, n_states=3, n_actions=1).admits(0, 0, (), 2)


def test_repr_shows_alpha_and_support():
    assert repr(Dirichlet(0.25, MASK)) == "Dirichlet(alpha=0.25, n_actions=2, n_states=3, support of 12 transitions)"
    assert repr(Dirichlet(1, n_states=3, n_actions=2)) == "Dirichlet(alpha=1, n_actions=2, n_states=3, all states)"


def test_fit_returns_its_start_while_no_row_was_tried_twice():
    assert fit_alpha(np.zeros((1, 3, 3), dtype=int), start=0.3) == 0.3
    assert fit_alpha(np.eye(3, dtype=int)[None], start=0.3) == 0.3
    single = np.array([[[9, 0, 0], [0, 0, 0], [0, 0, 0]]])
    reach_one = np.array([[[1, 0, 0], [1, 1, 1], [1, 1, 1]]]) > 0
    assert fit_alpha(single, reach_one, start=0.3) == 0.3  # the only outcome that row has
    assert fit_alpha(single, start=0.3) != 0.3


def test_fit_takes_sparse_counts_and_any_support():
    model = InternalModel(Dirichlet(1.0, MASK))
    model.observe_many([(0, 0, 0), (0, 0, 0), (0, 0, 1), (2, 1, 2), (2, 1, 2)])
    fitted = fit_alpha(model.counts, MASK)
    assert fit_alpha(model.sparse_counts, model.prior.support) == fitted
    assert fit_alpha(model.counts) != pytest.approx(fitted)  # all states: another support, another answer


def test_fit_stays_inside_its_bounds():
    certain = np.array([[[9, 0], [0, 9]]])
    assert fit_alpha(certain, bounds=(0.1, 10.0)) == 0.1


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (2.0, 1.0), (-1.0, 1.0)])
def test_fit_refuses_bounds_that_enclose_nothing(bounds):
    with raises(ValueError, "[1e-300, 1e+12]"):
        fit_alpha(np.array([[[2, 0], [0, 0]]]), bounds=bounds)


def test_fit_refuses_counts_outside_the_support_or_of_another_size():
    counts = np.zeros((2, 3, 3), dtype=int)
    counts[1, 0, 0] = 3
    with raises(ValueError, "(a=1, s=0)", "state 0"):
        fit_alpha(counts, MASK)
    with raises(ValueError, "n_states", "2", "n_states=3"):
        fit_alpha(np.ones((2, 2, 2), dtype=int), MASK)
